package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// badOutlet fails at given steps and records the steps that were called.
type badOutlet struct {
	fails map[string]error
	asked []string
}

func (o *badOutlet) step(name string) error {
	o.asked = append(o.asked, name)
	return o.fails[name]
}

func (o *badOutlet) carries() bool                                 { return false }
func (o *badOutlet) keepsTombstones() bool                         { return false }
func (o *badOutlet) due() bool                                     { return false }
func (o *badOutlet) enter(kafka.Partition, []byte) error           { return o.step("enter") }
func (o *badOutlet) committed() error                              { return o.step("committed") }
func (o *badOutlet) abort() error                                  { return o.step("abort") }
func (o *badOutlet) leave() error                                  { return o.step("leave") }
func (o *badOutlet) write(context.Context, *pipeline.Parcel) error { return o.step("write") }
func (o *badOutlet) finish(context.Context) (map[kafka.Partition][]byte, error) {
	return nil, o.step("finish")
}
func (o *badOutlet) encode(context.Context, *microdata.Block) (connectors.Encoded, error) {
	return nil, o.step("encode")
}

// failing gives a bench an outlet that fails at the named steps.
func (b *bench) failing(steps ...string) *badOutlet {
	o := &badOutlet{fails: map[string]error{}}
	for _, s := range steps {
		o.fails[s] = errors.New(s + " fails")
	}
	b.outlet = o
	return o
}

// saysAll checks that an error contains all parts; without parts there must be no error.
func saysAll(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if len(parts) == 0 && err != nil {
		t.Errorf("%s: error %v", what, err)
	}
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v, want %q in it", what, err, part)
		}
	}
}

// If the output, quarantine or judgement of a transaction fails, it is aborted: its counts are
// dropped and its lines are not written. If the abort fails too, both errors are returned.
func TestTransactionsThatCannotBeCompleted(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	rules := fmt.Sprintf(judgedTo, "stop", 0.1)
	for _, c := range []struct {
		what, more string
		ctx        context.Context
		steps      []string
		file       bool // the quarantine's file is closed
		want       []string
	}{
		{"output", "", t.Context(), []string{"finish"}, false, []string{"sink: finish fails"}},
		{"output and its removal", "", t.Context(), []string{"finish", "abort"}, false,
			[]string{"sink: finish fails", "abort fails"}},
		{"quarantine", "", t.Context(), nil, true, []string{"quarantine: ", os.ErrClosed.Error()}},
		{"judgement", rules, ended, nil, false, []string{context.Canceled.Error()}},
		{"judgement and its removal", rules, ended, []string{"abort"}, false,
			[]string{context.Canceled.Error(), "abort fails"}},
	} {
		b := benchOf(t, c.more)
		o := b.failing(c.steps...)
		if err := b.quarantine.open(config.Quarantine{JSONL: filepath.Join(t.TempDir(), "bad.jsonl")}, nil, false); err !=
			nil {
			t.Fatal(err)
		}
		if c.file {
			b.quarantine.file.Close()
		}
		b.quarantine.lines.WriteString("{}\n")
		b.feed(0, 40, 3)
		saysAll(t, c.what, b.end(c.ctx), c.want...)
		if got := b.counts(); got.Read != 0 || len(got.Reasons) != 0 || b.quarantine.lines.Len() != 0 {
			t.Errorf("%s: counts %+v and %d bytes of quarantine remain of the transaction", c.what, got,
				b.quarantine.lines.Len())
		}
		if len(o.asked) == 0 || o.asked[len(o.asked)-1] != "abort" || slices.Contains(o.asked, "committed") {
			t.Errorf("%s: the calls of the output are %v, want abort last and no commit", c.what, o.asked)
		}
		b.quarantine.close()
	}
}

// If the output of a refused transaction cannot be removed, that error is returned, and the stream
// does not begin to hold.
func TestRefusedTransactionsThatCannotBeRemoved(t *testing.T) {
	b := benchOf(t, fmt.Sprintf(judgedTo, heldTo, 1000))
	b.failing("abort")
	b.feed(0, 40)
	saysAll(t, "refused", b.end(t.Context()), "abort fails")
	if b.holding || b.refused != 40 || b.counts().Read != 0 {
		t.Errorf("holding %v, %d refused, counts %+v; want not holding and 40 refused", b.holding, b.refused, b.counts())
	}
}

// If one resource cannot be closed, the others are closed all the same, and each error is returned.
func TestStreamsThatCannotBeClosed(t *testing.T) {
	b := benchOf(t, fmt.Sprintf(withFiles, filepath.Join(t.TempDir(), "a.jsonl"), filepath.Join(t.TempDir(), "b.jsonl")))
	b.failing("abort")
	if err := b.quarantine.open(config.Quarantine{JSONL: filepath.Join(t.TempDir(), "bad.jsonl")}, nil, false); err !=
		nil {
		t.Fatal(err)
	}
	b.snapshots.files[1].Close()
	saysAll(t, "close", b.close(), "abort fails", os.ErrClosed.Error())
	if b.quarantine.file != nil || len(b.snapshots.files) != 0 {
		t.Error("files are still open after close")
	}
	saysAll(t, "nothing open", (&stream{}).close())
}

// Kept state of a partition is refused with its reason, step by step, and then the partition has no
// standing.
func TestPartitionsThatCannotBeTakenUp(t *testing.T) {
	b := benchOf(t, "")
	b.feed(0, 40, 3)
	kept := keptOf(b, 0)
	b.source = new(kafka.StreamSource)
	damaged := map[string][]byte{}
	for key := range kept {
		if key != totalsEntry {
			damaged[key] = []byte("damaged")
		}
	}
	for _, c := range []struct {
		what, step string
		entries    map[string][]byte
		want       string
	}{
		{"files", "enter", nil, "sink: enter fails"},
		{"assessment", "", damaged, "the assessment that is kept: "},
	} {
		clear(b.standings)
		b.failing(c.step)
		saysAll(t, c.what, b.enter(part(0), kafka.Arrival{}, c.entries), c.want)
		if len(b.standings) != 0 || b.entered {
			t.Errorf("%s: the partition was entered in spite of the error", c.what)
		}
	}
	saysAll(t, "manifest", (&fileOutlet{stream: b.stream}).enter(part(1), []byte("damaged")),
		"what was kept of the files of "+part(1).String()+" is damaged")
}

// The errors of masking and encoding a block distinguish those of the sink from others.
func TestBlocksThatCannotBeEncodedOrWritten(t *testing.T) {
	b := benchOf(t, "")
	parcel := func() *pipeline.Parcel {
		var block microdata.Block
		block.Reset(0, 0, 3, len(b.masked.Plan.Layout.Read))
		block.Columns[b.masked.Options.Columns[0].Index].Alloc(3, false)
		return &pipeline.Parcel{Block: &block}
	}
	b.options.Progress = new(pipeline.Progress)
	b.source = new(kafka.StreamSource)
	b.failing("encode")
	saysAll(t, "encode", b.mask(t.Context())(parcel()), "sink: encode fails")
	b.failing("write")
	saysAll(t, "write", b.write(t.Context())(parcel()), "sink: write fails")
	o := b.failing()
	p := parcel()
	saysAll(t, "mask", b.mask(t.Context())(p))
	saysAll(t, "both", b.write(t.Context())(p))
	if !slices.Equal(o.asked, []string{"encode", "write"}) {
		t.Errorf("the calls of the output are %v, want encode and write", o.asked)
	}
	// Records of a partition that was revoked are an interruption: another member reads them.
	clear(b.standings)
	if err := b.assess(p); !passing(err) {
		t.Errorf("without a standing, assess returns %v, want an interruption", err)
	}
}

// Temporary errors are retried, and no others.
func TestWhatIsWaitedOut(t *testing.T) {
	broken := errors.New("broken")
	own := &kafka.EnterError{Partition: part(0), Err: broken}
	final := &kafka.FinalError{}
	for what, c := range map[string]struct {
		err    error
		passes bool
	}{
		"nothing":                        {interruptionOf(nil), false},
		"the connection":                 {interruptionOf(broken), true},
		"an error that is wrapped":       {fmt.Errorf("sink: %w", interruptionOf(broken)), true},
		"anything else":                  {broken, false},
		"an error of the stream's state": {interruptionOf(own), false},
		"final":                          {interruptionOf(final), false},
		"final within":                   {interruption{final}, false},
		"a registry without answers":     {&registry.Error{Kind: registry.Unavailable}, true},
		"a registry that knows none":     {&registry.Error{Kind: registry.NotFound}, false},
	} {
		if got := passing(c.err); got != c.passes {
			t.Errorf("%s: passing is %v, want %v, for the error %v", what, got, c.passes, c.err)
		}
	}
	// The end of a source is not an error, and neither is a cancellation by the stream itself.
	ended, end := context.WithCancel(t.Context())
	end()
	for what, c := range map[string]struct {
		ctx    context.Context
		err    error
		passes bool
	}{
		"nothing":          {t.Context(), nil, false},
		"the end":          {t.Context(), io.EOF, false},
		"the connection":   {t.Context(), broken, true},
		"final":            {t.Context(), final, false},
		"after the stream": {ended, broken, false},
	} {
		if got := whileReading(c.ctx, c.err); passing(got) != c.passes || !errors.Is(got, c.err) {
			t.Errorf("%s, while reading: error %v, want one that passes: %v, and wraps the given one", what, got, c.passes)
		}
	}
	if interruptionOf(nil) != nil {
		t.Error("interruptionOf(nil) is not nil")
	}
}

// The interval of commits is that of the sink, or the linger if it is longer.
func TestCommits(t *testing.T) {
	b := benchOf(t, "")
	p := *b.config
	for _, c := range []struct {
		sink     connectors.SinkConfig
		interval time.Duration
		records  int
	}{
		{&kafka.SinkConfig{Commit: kafka.Commit{Interval: connectors.Duration(7 * time.Second), Records: 11}},
			7 * time.Second, 11},
		{&parquet.SinkConfig{Roll: &parquet.Roll{Interval: connectors.Duration(9 * time.Second), Records: 3}},
			9 * time.Second, 192},
		{nil, 0, 0},
	} {
		p.Sink.Config = c.sink
		if got := streamCommit(&p); time.Duration(got.Interval) != c.interval || got.Records != c.records {
			t.Errorf("%T: commits are %+v", c.sink, got)
		}
		for _, linger := range []time.Duration{0, 8 * time.Second, time.Minute} {
			p.Window.Linger = connectors.Duration(linger)
			if got := CommitInterval(&p); got != max(linger, c.interval) {
				t.Errorf("%T with a linger of %v: the commit interval is %v", c.sink, linger, got)
			}
		}
	}
}

// A snapshot is due after a number of records or some time, and never without new records.
func TestWhenASnapshotIsDue(t *testing.T) {
	b := benchOf(t, fmt.Sprintf(withFiles, filepath.Join(t.TempDir(), "a.jsonl"), filepath.Join(t.TempDir(), "b.jsonl")))
	n := b.snapshots
	defer n.close()
	due := func(want bool, what string) {
		t.Helper()
		if got := n.due(); got != want {
			t.Errorf("%s: due is %v, want the opposite", what, got)
		}
	}
	long := time.Now().Add(-time.Hour)
	n.interval, n.last = time.Minute, long
	due(false, "an hour without records")
	n.records = 0
	due(false, "an hour without records, by time alone")
	b.feed(0, 1)
	due(true, "one record in an hour")
	n.last = time.Now().Add(time.Hour)
	due(false, "one record too soon")
	n.interval, n.last = 0, long
	due(false, "neither records nor time are asked for")
	for records, want := range map[int64]bool{1: true, 2: false} {
		n.records = records
		due(want, fmt.Sprintf("one record of %d", records))
	}
	n.records, n.interval, n.emits = 1, time.Minute, false
	due(false, "nothing is wanted")
}

// If a snapshot's file or level is invalid, the open files are closed again.
func TestSnapshotsThatCannotBeOpened(t *testing.T) {
	b := benchOf(t, "")
	dir := t.TempDir()
	good := config.Emit{JSONL: filepath.Join(dir, "a.jsonl")}
	for what, bad := range map[string]config.Emit{"below a file": {JSONL: filepath.Join(dir, "a.jsonl", "b.jsonl")},
		"a folder": {JSONL: dir}, "a level": {Log: "loud"}} {
		p := *b.config
		p.Assess.Emit = []config.Emit{good, bad}
		f := b.inForce
		f.config = &p
		if n, err := newStreamSnapshots(b.stream, &f); err == nil || n != nil {
			t.Errorf("%s: error %v", what, err)
		}
		p.Assess.Emit = []config.Emit{good}
		n, err := newStreamSnapshots(b.stream, &f)
		if err != nil || len(n.files) != 1 || !n.emits || n.interval <= 0 {
			t.Fatalf("with the valid output alone: error %v, or not one file, or no interval", err)
		}
		saysAll(t, "close", n.close())
	}
}

// The sink of a stream is Kafka or Parquet, and groups read Kafka. A missing key is an error of the
// data before any broker is asked.
func TestStreamsThatCannotBegin(t *testing.T) {
	b := benchOf(t, "")
	p := *b.config
	p.Sink.Config = nil
	f := inForce{config: &p}
	_, err := b.newOutlet(t.Context(), &f)
	saysAll(t, "sink", err, "sink: must be kafka, or parquet")
	p = *b.config
	p.Key.File = filepath.Join(t.TempDir(), "gone")
	var data *pipeline.DataError
	if _, err := AssessGroup(t.Context(), &p, "", b.options); !errors.As(err, &data) {
		t.Errorf("without a key, AssessGroup returns %v, want a DataError", err)
	}
	if err := Connect(t.Context(), &p); !errors.As(err, &data) {
		t.Errorf("without a key, Connect returns %v, want a DataError", err)
	}
	p.Source.Config = nil
	_, err = AssessGroup(t.Context(), &p, "", b.options)
	saysAll(t, "source", err, "source: must be kafka")
}

// If a report cannot be opened, an error says so. The measures end with ctx.
func TestReportsThatCannotBeWritten(t *testing.T) {
	b := benchOf(t, "")
	b.feed(0, 40)
	b.standings[part(0)].commit()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.config.Report.JSON = filepath.Join(file, "below", "r.json")
	b.kafka = new(kafka.Stream)
	_, err := b.finish(t.Context(), false)
	saysAll(t, "below a file", err, "report: ")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.finish(ended, false); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context, finish returns %v", err)
	}
}

// A configuration that cannot be read, or that changes a setting fixed for a running stream, is
// refused with its reason, and the old one stays in force.
func TestConfigurationsThatCannotBeTaken(t *testing.T) {
	parse := func(old, with string) pipeline.Changed {
		t.Helper()
		if strings.Count(settled, old) < 1 {
			t.Fatalf("the configuration does not contain %q", old)
		}
		p,
			err := config.Parse("s.yaml", []byte(strings.Replace(settled, old, with, 1)),
			config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		return pipeline.Changed{Config: p}
	}
	for want, changed := range map[string]pipeline.Changed{
		"it cannot be read":                             {Err: errors.New("it cannot be read")},
		"name has changed, which takes a restart":       parse("version: 1", "version: 1\nname: other"),
		"key has changed, which takes a restart":        parse("{file: k}", "{file: l}"),
		"source has changed, which takes a restart":     parse("group: g", "group: h"),
		"sink has changed, which takes a restart":       parse("topic: out", "topic: other"),
		"quarantine has changed, which takes a restart": parse("sink:", "quarantine: {jsonl: bad.jsonl}\nsink:"),
	} {
		b := benchOf(t, "")
		changes := make(chan pipeline.Changed, 1)
		changes <- changed
		b.options.Reload = changes
		before := b.config
		saysAll(t, want, b.reload(t.Context()))
		if said := b.logText(); b.config != before || !strings.Contains(said, want) ||
			!strings.Contains(said, "the old one stays in force") {
			t.Errorf("want the refusal %q, the log is %s", want, said)
		}
		saysAll(t, "nothing more", b.reload(t.Context()))
		if said := b.logText(); said != "" {
			t.Errorf("without a change, the log is %s", said)
		}
	}
}
