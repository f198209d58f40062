package text

import (
	"context"
	"fmt"
	"io"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
)

// Divide cuts every stream of the pass into parts, at the ends of records: see
// connectors.Divisible. It reads everything. What is compressed, or has to be turned
// into UTF-8, is one part a file. What stands before a stream's first record belongs to
// the first part.
func (p *Pass) Divide(ctx context.Context, bytes int64) ([]connectors.Part, error) {
	if !p.Input.Rewindable() {
		return nil, connectors.ErrIndivisible
	}
	defer p.Close()
	parts := make([]connectors.Part, 0, p.Input.streams())
	for {
		c, stream, err := p.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		end := p.chunks.Offset()
		begin := end - int64(len(c.Data))
		c.Release()
		for len(parts) == 0 || parts[len(parts)-1].Stream < stream {
			parts = append(parts, connectors.Part{Stream: nextStream(parts), To: whole})
		}
		last := &parts[len(parts)-1]
		if begin-last.From >= bytes && last.Records > 0 && p.Input.cuttable(stream) {
			last.To = begin
			parts = append(parts, connectors.Part{Stream: stream, First: last.First + last.Records, From: begin, To: whole})
			last = &parts[len(parts)-1]
		}
		last.Records += int64(c.Records)
	}
	for len(parts) == 0 || nextStream(parts) < p.Input.streams() {
		parts = append(parts, connectors.Part{Stream: nextStream(parts), To: whole})
	}
	return parts, p.Input.unchanged()
}

func nextStream(parts []connectors.Part) int {
	if len(parts) == 0 {
		return 0
	}
	return parts[len(parts)-1].Stream + 1
}

// CheckPart returns an error where a part cannot be one of the input.
func (in *Input) CheckPart(p connectors.Part) error {
	switch {
	case in.once != nil:
		return connectors.ErrIndivisible
	case p.Stream < 0 || p.Stream >= in.streams():
		return fmt.Errorf("stream %d: the source has %d", p.Stream, in.streams())
	case !in.Opened(p.Stream):
		return in.set.Files[p.Stream].Err(files.ErrNotOpened)
	case p.First < 0 || p.Records < 0 || p.From < 0 || p.To != whole && p.To < p.From:
		return fmt.Errorf("%s: the part is none", in.Streams()[p.Stream])
	}
	return nil
}

// Stored opens the file that a stream is stored in.
func (in *Input) Stored(stream int) (connectors.Stored, error) {
	if in.once != nil {
		return connectors.Stored{}, connectors.ErrIndivisible
	}
	if !in.Opened(stream) {
		file, _, err := in.set.Files[stream].Open()
		return files.Stored(file, err)
	}
	return files.Stored(in.set.Files[stream].Reopen(in.stamps[stream], nil))
}
