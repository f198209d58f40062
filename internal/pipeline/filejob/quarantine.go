package filejob

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/quarantined"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// quarantine lists the records of a file job that could not be masked: places and reasons,
// never a value.
type quarantine struct {
	source connectors.Source
	topics connectors.Numbered // the source, if it reads topics
	topic  string              // where the entries go; "": to the file, if there is one
	file   *publish.File
	spool  *os.File // the entries for the topic, which must wait for the verdict
	out    *bufio.Writer
}

func newQuarantine(c config.Quarantine, src connectors.Source) (*quarantine, error) {
	q := &quarantine{source: src, topics: src.Abilities().Numbered}
	switch {
	case c.Kafka != nil:
		spool, err := os.CreateTemp("", ".sdlfilter-*")
		if err != nil {
			return nil, err
		}
		if err := os.Remove(spool.Name()); err != nil {
			return nil, errors.Join(err, spool.Close())
		}
		q.topic, q.spool, q.out = c.Kafka.Topic, spool, bufio.NewWriter(spool)
	case c.JSONL != "":
		f, err := publish.Create(c.JSONL, publish.Confidential)
		if err != nil {
			return nil, err
		}
		q.file, q.out = f, bufio.NewWriter(f)
	}
	return q, nil
}

// add notes the rejected records of a block.
func (q *quarantine) add(b *microdata.Block) error {
	if q.out == nil {
		return nil
	}
	if q.topics == nil {
		return written(q.out, quarantined.FileEntries(q.source, b))
	}
	var entries []any
	for _, r := range quarantined.InOrder(b) {
		entries = append(entries, quarantined.EntryOf(q.topics.PartitionOf(b), b, r, q.topics.Rows()))
	}
	return written(q.out, entries)
}

// written writes each entry as a line.
func written[E any](out *bufio.Writer, entries []E) error {
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// finish completes the entries; a file is synced under its temporary name.
func (q *quarantine) finish() error {
	if q.out == nil {
		return nil
	}
	if err := q.out.Flush(); err != nil || q.file == nil {
		return err
	}
	return q.file.Stage()
}

// note sends the entries for a topic, after finish. It can be called again.
func (q *quarantine) note(add func(topic string, line []byte) error) error {
	if q.spool == nil {
		return nil
	}
	if _, err := q.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for lines := bufio.NewReader(q.spool); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = add(q.topic, line[:len(line)-1])
		}
		if err != nil {
			return err
		}
	}
}

// abort removes what has no final name; after a commit, only the spool.
func (q *quarantine) abort() error {
	var errs []error
	if q.file != nil {
		errs = append(errs, q.file.Abort())
	}
	if q.spool != nil {
		errs = append(errs, q.spool.Close())
		q.spool = nil
	}
	return errors.Join(errs...)
}
