package pipeline

import (
	"bufio"
	"encoding/json"
	"slices"

	"github.com/sdlfilter/sdlfilter/connectors/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// quarantine lists the records that could not be masked: their places and why,
// never a value. It counts them even where no file was asked for.
type quarantine struct {
	streams []string
	file    *publish.File
	out     *bufio.Writer
	count   int64
}

// quarantineEntry is one line of the quarantine file.
type quarantineEntry struct {
	Stream string `json:"stream"`
	Record int64  `json:"record"` // from 1
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
}

// newQuarantine opens the file; path "" means that none was asked for.
func newQuarantine(path string, streams []string) (*quarantine, error) {
	q := &quarantine{streams: streams}
	if path == "" {
		return q, nil
	}
	f, err := publish.Create(path, publish.Confidential)
	if err != nil {
		return nil, err
	}
	q.file, q.out = f, bufio.NewWriter(f)
	return q, nil
}

// add takes the rejected records of a block.
func (q *quarantine) add(b *microdata.Block) error {
	q.count += int64(len(b.Rejects))
	if q.file == nil {
		return nil
	}
	// Rejects are in the order in which they were found: column by column.
	inOrder := slices.SortedFunc(slices.Values(b.Rejects), func(x, y microdata.Reject) int { return x.Row - y.Row })
	for _, r := range inOrder {
		line, err := json.Marshal(quarantineEntry{
			Stream: q.streams[b.Stream], Record: b.First + int64(r.Row) + 1, Column: r.Column, Reason: r.Reason,
		})
		if err != nil {
			return err
		}
		if _, err := q.out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// finish completes and syncs the file under its temporary name.
func (q *quarantine) finish() error {
	if q.file == nil {
		return nil
	}
	if err := q.out.Flush(); err != nil {
		return err
	}
	return q.file.Finish()
}

func (q *quarantine) commit() error {
	if q.file == nil {
		return nil
	}
	return q.file.Commit()
}

func (q *quarantine) abort() error {
	if q.file == nil {
		return nil
	}
	return q.file.Abort()
}
