package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// streamSnapshots emits the measures of a stream so far, and of the records since the last
// snapshot (the window). A snapshot is taken with a commit and covers exactly what is
// committed by then.
type streamSnapshots struct {
	stream   *stream
	options  assess.Options
	emits    bool // whether snapshots have a destination
	records  int64
	interval time.Duration

	open, window *assess.Accumulator // of the open transaction, and since the last snapshot
	last         time.Time
	before       report.Records // at the last snapshot
	number       int64
	live         time.Time // when the live page last got measures

	pending    *report.Report // of the transaction that is being committed
	line       []byte         // pending as a line of JSON
	pageUpdate *monitor.Shown // for the live page, after the commit

	files  []*os.File
	topics []string
	log    []zerolog.Level
}

const (
	// liveEvery is how often the live page gets new measures.
	liveEvery = 3 * time.Second
	// windowSample bounds the sample of the part since the last snapshot.
	windowSample = 20_000
)

func newStreamSnapshots(s *stream, f *inForce) (*streamSnapshots, error) {
	a := f.config.Assess
	n := &streamSnapshots{
		stream: s, options: f.masked.Options, emits: len(a.Emit) > 0 && f.measures,
		records: int64(a.Every.Records), interval: time.Duration(a.Every.Interval), last: time.Now(),
	}
	if n.records == 0 && n.interval == 0 {
		n.interval = account.SnapshotInterval
	}
	if err := n.fresh(); err != nil {
		return nil, err
	}
	for _, e := range a.Emit {
		switch {
		case e.Kafka != nil:
			n.topics = append(n.topics, e.Kafka.Topic)
		case e.JSONL != "":
			f, err := appendTo(e.JSONL)
			if err != nil {
				return nil, errors.Join(err, n.close())
			}
			n.files = append(n.files, f)
		default:
			level, err := zerolog.ParseLevel(e.Log)
			if err != nil {
				return nil, errors.Join(err, n.close())
			}
			n.log = append(n.log, level)
		}
	}
	return n, nil
}

// fresh starts a new window.
func (n *streamSnapshots) fresh() (err error) {
	if !n.emits {
		return nil
	}
	if n.window, err = n.empty(); err != nil {
		return err
	}
	n.open, err = n.empty()
	return err
}

func (n *streamSnapshots) empty() (*assess.Accumulator, error) {
	return assess.New(n.windowOptions())
}

// add adds the pairs of a block of the open transaction.
func (n *streamSnapshots) add(b *microdata.Block) {
	if n.emits && !n.stream.holding {
		n.open.Add(b)
	}
}

// due reports whether the next commit should emit a snapshot.
func (n *streamSnapshots) due() bool {
	if !n.emits {
		return false
	}
	pending := n.stream.counts().Read - n.before.Read
	return pending > 0 && (n.records > 0 && pending >= n.records || n.interval > 0 && time.Since(n.last) >= n.interval)
}

// emit takes a snapshot if one is due. What goes to topics becomes part of the open
// transaction; the rest is written after its commit.
func (n *streamSnapshots) emit(ctx context.Context) error {
	s := n.stream
	due, live := n.due(), s.options.Monitor != nil && time.Since(n.live) >= liveEvery
	if !s.measures || !due && !live {
		return nil
	}
	whole, err := s.whole(true)
	if err != nil || whole == nil {
		return err
	}
	measures, err := whole.MeasureQuick(ctx)
	if err != nil {
		return err
	}
	if err := s.invert(ctx, whole, measures); err != nil {
		return err
	}
	counts := s.counts()
	rep := s.report(counts, measures, false)
	if !due {
		return n.show(ctx, rep)
	}
	window, err := assess.Merged(n.windowOptions(), n.window, n.open)
	if err != nil {
		return err
	}
	part, err := window.MeasureQuick(ctx)
	if err != nil {
		return err
	}
	rep.Snapshot = n.number + 1
	rep.Window = &report.Window{
		Started: n.last, Finished: time.Now(), Columns: report.Columns(part.Columns), Correlation: part.Correlation,
		Records: report.Records{Counts: counts.Minus(n.before.Counts)},
	}
	if err := n.show(ctx, rep); err != nil {
		return err
	}
	n.pending = rep
	text, err := json.Marshal(rep)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	for _, topic := range n.topics {
		s.kafka.Note(ctx, topic, kafka.Partition{}, line.Bytes())
	}
	n.line = append(line.Bytes(), '\n')
	return nil
}

// show prepares what the live page shows after the commit, and stores it with the transaction.
func (n *streamSnapshots) show(ctx context.Context, rep *report.Report) error {
	n.pageUpdate = n.stream.options.Monitor.Reduce(rep)
	return n.stream.keepLive(ctx)
}

func (n *streamSnapshots) windowOptions() assess.Options {
	o := n.options
	if o.Sample < 0 || o.Sample == 0 || o.Sample > windowSample {
		o.Sample = windowSample
	}
	return o
}

// committed writes the snapshot that was taken with the transaction.
func (n *streamSnapshots) committed() error {
	if n.pageUpdate != nil {
		n.stream.options.Monitor.Show(n.pageUpdate)
		n.live, n.pageUpdate = time.Now(), nil
	}
	if !n.emits {
		return nil
	}
	if n.pending == nil {
		if err := n.window.Merge(n.open); err != nil {
			return err
		}
		var err error
		n.open, err = n.empty()
		return err
	}
	rep := n.pending
	n.pending, n.number = nil, rep.Snapshot
	n.last, n.before = rep.Window.Finished, rep.Records
	for _, f := range n.files {
		if _, err := f.Write(n.line); err != nil {
			return err
		}
	}
	for _, level := range n.log {
		account.LogSnapshot(n.stream.options.Log, level, rep)
	}
	return n.fresh()
}

// rollback drops what belongs to a transaction that is not committed.
func (n *streamSnapshots) rollback() error {
	n.pending, n.pageUpdate = nil, nil
	if !n.emits {
		return nil
	}
	var err error
	n.open, err = n.empty()
	return err
}

// follow continues the counts and times of other snapshots.
func (n *streamSnapshots) follow(old *streamSnapshots) {
	n.number, n.last, n.before, n.live = old.number, old.last, old.before, old.live
}

func (n *streamSnapshots) close() error {
	if n == nil {
		return nil
	}
	files := n.files
	n.files = nil
	return account.CloseAll(files)
}
