package serial

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// reader is one pass.
type reader[P Piece[P]] struct {
	*Source[P]
	layout *microdata.Layout
	cut    connectors.Cut
	ctx    context.Context // that of Read may end before that of Next; this one never does

	stream int // the file being read
	scan   *scan[P]
	left   P     // not yet part of a block
	next   []P   // of the block that comes next
	n      int   // records of next
	first  int64 // of the file, its first record
	err    error
}

// scan reads a file in a goroutine of its own.
type scan[P any] struct {
	stop   context.CancelFunc
	pieces chan P
	failed error // once pieces is closed
}

// mostRows is how many records a piece has at most.
const mostRows = 1 << 16

func (r *reader[P]) begin() error {
	in, err := r.reopen(r.stream)
	if err != nil {
		return err
	}
	rows := mostRows
	if r.cut.Records > 0 {
		rows = min(rows, r.cut.Records)
	}
	f := r.set.Files[r.stream]
	file := File{r.stream, f.Label, r.counts[r.stream], r.stamps[r.stream].Size(), in}
	ctx, stop := context.WithCancel(r.ctx)
	s := &scan[P]{stop: stop, pieces: make(chan P)}
	go func() {
		defer close(s.pieces)
		defer bug.Guard()
		err := r.format.Scan(ctx, file, r.layout, rows, func(p P) error {
			select {
			case s.pieces <- p:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		s.failed = errors.Join(err, in.Close())
	}()
	r.scan = s
	return nil
}

// end stops the scan and waits for it.
func (r *reader[P]) end() (err error) {
	if r.scan == nil {
		return nil
	}
	r.scan.stop()
	for range r.scan.pieces {
	}
	err = r.scan.failed
	r.scan = nil
	return err
}

// Next implements connectors.Reader.
func (r *reader[P]) Next(ctx context.Context) (connectors.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for r.err == nil {
		if r.stream == len(r.set.Files) {
			r.err = io.EOF
			break
		}
		done, err := r.fill(ctx)
		if err != nil {
			if ctx.Err() == nil {
				r.err = err
			}
			return nil, err
		}
		raw := &run[P]{r, r.stream, r.first, r.n, r.next}
		r.first += int64(r.n)
		r.next, r.n = nil, 0
		if done {
			r.stream, r.first = r.stream+1, 0
		}
		if raw.n > 0 {
			return raw, nil
		}
	}
	return nil, r.err
}

// fill takes the records of the next block. done says that its file has no others.
func (r *reader[P]) fill(ctx context.Context) (done bool, err error) {
	if r.scan == nil {
		if err := r.begin(); err != nil {
			return false, err
		}
	}
	for {
		if r.left.Len() == 0 {
			select {
			case p, ok := <-r.scan.pieces:
				if !ok {
					return true, r.complete()
				}
				r.left = p
				continue
			case <-ctx.Done():
				return false, ctx.Err()
			}
		}
		k := r.left.Len()
		if r.cut.Records > 0 {
			k = min(k, r.cut.Records-r.n)
		}
		r.next = append(r.next, r.left.Part(0, k))
		r.n += k
		r.left = r.left.Part(k, r.left.Len())
		if !r.cut.Exact || r.n == r.cut.Records {
			return false, nil
		}
	}
}

// complete is called when a file has no more records: an error if it should have.
func (r *reader[P]) complete() error {
	seen := r.first + int64(r.n)
	err := r.end()
	if want := r.counts[r.stream]; err == nil && want >= 0 && want != seen {
		err = fmt.Errorf("is truncated or damaged: it says that it has %d records, and %d are there", want, seen)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = errors.New(err.Error()) // nobody takes it for the end of the pass
	}
	return &connectors.RecordError{Stream: r.set.Files[r.stream].Label, Reason: fmt.Sprintf("after record %d", seen),
		Err: err}
}

// Close implements connectors.Reader.
func (r *reader[P]) Close() error {
	if r.err == nil {
		r.err = errors.New("the pass is closed")
	}
	_ = r.end() // of what nobody will read
	return nil
}

// run is a block that is not yet decoded.
type run[P Piece[P]] struct {
	reader *reader[P]
	stream int
	first  int64
	n      int
	pieces []P
}

// Bytes implements connectors.Raw: the share of the file where its records are known, otherwise the memory.
func (r *run[P]) Bytes() int64 {
	if records := r.reader.counts[r.stream]; records > 0 {
		return int64(float64(r.reader.stamps[r.stream].Size()) * float64(r.n) / float64(records))
	}
	size := int64(0)
	for _, p := range r.pieces {
		size += p.Size()
	}
	return size
}

// Decode implements connectors.Raw.
func (r *run[P]) Decode(b *microdata.Block) error {
	b.Reset(r.stream, r.first, r.n, len(r.reader.layout.Read))
	return r.reader.format.Decode(b, r.reader.layout, r.pieces)
}
