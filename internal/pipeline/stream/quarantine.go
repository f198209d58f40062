package stream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/quarantined"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// streamQuarantine notes the messages that could not be masked: in a topic, as part of the
// transaction that passes them, or in a file, which is written just before the commit, so that
// an entry may be there twice after a crash.
type streamQuarantine struct {
	stream *kafka.Stream
	topic  string
	file   *os.File
	lines  bytes.Buffer // of the open transaction, for the file
	rows   bool         // a message may hold several records
}

func (q *streamQuarantine) open(c config.Quarantine, stream *kafka.Stream, rows bool) (err error) {
	q.stream, q.rows = stream, rows
	if c.Kafka != nil {
		q.topic = c.Kafka.Topic
		return nil
	}
	if c.JSONL == "" {
		return nil
	}
	q.file, err = appendTo(c.JSONL)
	return err
}

// confidential is the mode of a file that only its owner may read.
const confidential os.FileMode = 0o600

// appendTo opens a confidential file to add lines to.
func appendTo(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, confidential)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(confidential); err != nil { // it may have been there before
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// add notes the rejected records of a block.
func (q *streamQuarantine) add(ctx context.Context, p kafka.Partition, b *microdata.Block) error {
	if len(b.Rejects) == 0 || q.topic == "" && q.file == nil {
		return nil
	}
	inOrder := slices.SortedFunc(slices.Values(b.Rejects), func(x, y microdata.Reject) int {
		return cmp.Compare(x.Row, y.Row)
	})
	for _, r := range inOrder {
		line, err := json.Marshal(quarantined.EntryOf(p, b, r, q.rows))
		if err != nil {
			return err
		}
		if q.topic != "" {
			q.stream.Note(ctx, q.topic, p, line)
			continue
		}
		q.lines.Write(line)
		q.lines.WriteByte('\n')
	}
	return nil
}

// flush writes and syncs the entries of the open transaction.
func (q *streamQuarantine) flush() error {
	if q.file == nil || q.lines.Len() == 0 {
		return nil
	}
	defer q.lines.Reset()
	if _, err := q.file.Write(q.lines.Bytes()); err != nil {
		return err
	}
	return q.file.Sync()
}

// forget drops the entries of a transaction that is not committed.
func (q *streamQuarantine) forget() { q.lines.Reset() }

func (q *streamQuarantine) close() error {
	if q.file == nil {
		return nil
	}
	err := q.file.Close()
	q.file = nil
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
