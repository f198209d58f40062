package filejob

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// snapshots emits, during the run, the measures of the records so far, and of the window since
// the last snapshot. It belongs to the assessor's goroutine.
type snapshots struct {
	run      *run
	state    *assess.Snapshots
	records  int64 // a snapshot is due after so many records; 0: never by records
	interval time.Duration
	last     time.Time
	read     report.Records // up to the last block that was added
	before   report.Records // up to the last snapshot
	files    []*os.File
	topics   []string
	log      []zerolog.Level
	part     microdata.Block // of a block within which a snapshot is due
}

// newSnapshots returns nil if the configuration asks for none.
func newSnapshots(r *run, options assess.Options) (*snapshots, error) {
	a := r.config.Assess
	if len(a.Emit) == 0 {
		return nil, nil
	}
	s := &snapshots{run: r, records: int64(a.Every.Records), interval: time.Duration(a.Every.Interval), last: time.Now()}
	var err error
	if s.state, err = assess.NewSnapshots(options, int64(a.Every.Records)); err != nil {
		return nil, err
	}
	r.masked.Measured, r.masked.Total = nil, s.total
	return s, nil
}

// open creates the files of snapshots. Unlike all other output of a run they have their names
// from the start, so that they can be read during the run; each line is written in one piece.
func (s *snapshots) open() error {
	if s == nil {
		return nil
	}
	for _, e := range s.run.config.Assess.Emit {
		if e.Kafka != nil {
			s.topics = append(s.topics, e.Kafka.Topic)
			continue
		}
		if e.JSONL == "" {
			level, err := zerolog.ParseLevel(e.Log)
			if err != nil {
				return err
			}
			s.log = append(s.log, level)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(e.JSONL), 0o777); err != nil {
			return err
		}
		f, err := os.OpenFile(e.JSONL, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
		if err := f.Chmod(0o600); err != nil {
			return err
		}
	}
	return nil
}

// add adds the pairs of a block and emits a snapshot when one is due: by number of records,
// exactly at that record, however the source cuts its blocks.
func (s *snapshots) add(ctx context.Context, b *microdata.Block) error {
	for from := 0; from < b.N; {
		to := b.N
		if s.records > 0 {
			to = int(min(int64(b.N), int64(from)+s.records-s.state.Pending()))
		}
		part := b
		if to-from < b.N {
			part = &s.part
			b.Part(part, from, to)
		}
		s.state.Add(part)
		s.read.Counts = s.read.Plus(part.Counts())
		if s.records > 0 && s.state.Due() {
			if err := s.emit(ctx); err != nil {
				return err
			}
		}
		from = to
	}
	if s.interval > 0 && time.Since(s.last) >= s.interval {
		return s.emit(ctx)
	}
	return nil
}

// total ends the snapshots: it takes a last one if records have come since the one before, and
// returns the whole for the final measures.
func (s *snapshots) total(ctx context.Context) (*assess.Accumulator, error) {
	if s.state.Pending() > 0 && s.state.Taken() > 0 {
		if err := s.emit(ctx); err != nil {
			return nil, err
		}
	}
	return s.state.Total()
}

func (s *snapshots) emit(ctx context.Context) error {
	window, whole, err := s.state.Take(ctx)
	if err != nil {
		return err
	}
	who := s.run.reporter()
	who.Interim = true
	rep := who.Judged(s.read, whole)
	rep.Withheld = "" // the gate decides only at the end
	rep.Snapshot = int64(s.state.Taken())
	w := &report.Window{Started: s.last, Finished: time.Now(), Columns: report.Columns(window.Columns),
		Correlation: window.Correlation}
	w.Records.Counts = s.read.Minus(s.before.Counts)
	rep.Window = w
	s.last, s.before = w.Finished, s.read
	if len(s.files) > 0 || len(s.topics) > 0 {
		line, err := json.Marshal(rep)
		if err != nil {
			return err
		}
		for _, topic := range s.topics {
			if err := s.run.notes.Add(ctx, topic, line); err != nil {
				return fmt.Errorf("assess.emit: %w", err)
			}
		}
		line = append(slices.Clip(line), '\n')
		for _, f := range s.files {
			if _, err := f.Write(line); err != nil {
				return fmt.Errorf("assess.emit: %w", err)
			}
		}
	}
	for _, level := range s.log {
		account.LogSnapshot(s.run.options.Log, level, rep)
	}
	return nil
}

func (s *snapshots) close() error {
	if s == nil {
		return nil
	}
	files := s.files
	s.files = nil
	return account.CloseAll(files)
}
