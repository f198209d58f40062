package filejob

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// growing is a source that has more records from the nth pass on.
type growing struct {
	connectors.Source
	grown  connectors.Source
	n      int
	passes int
}

func (s *growing) Read(ctx context.Context, l *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if s.passes++; s.passes >= s.n {
		return s.grown.Read(ctx, l, cut)
	}
	return s.Source.Read(ctx, l, cut)
}

type growingConfig struct {
	connectors.SourceConfig
	grown connectors.SourceConfig
	n     int
}

func (s *growingConfig) Open(ctx context.Context) (connectors.Source, error) {
	src, err := s.SourceConfig.Open(ctx)
	if err != nil {
		return nil, err
	}
	grown, err := s.grown.Open(ctx)
	return &growing{Source: src, grown: grown, n: s.n}, err
}

// If a mask of all records receives a record that it has not seen before, it refuses the block, and
// so the run, the rehearsal and the preview fail.
func TestRecordsThatAreNew(t *testing.T) {
	for name, attempt := range map[string]func(p *config.Pipeline, source connectors.SourceConfig) (bool, error){
		"a run": func(p *config.Pipeline, source connectors.SourceConfig) (bool, error) {
			ctx, o := pipeline.Options{}.Ready(t.Context())
			src, err := source.Open(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			r := &run{config: p, options: o, key: keytest.Key(1), source: src, streams: src.Streams(), started: time.Now()}
			if err := r.prepare(ctx); err != nil {
				return false, err
			}
			result, err := r.release(ctx)
			return result != nil, errors.Join(err, r.abort())
		},
		"a rehearsal": func(p *config.Pipeline, source connectors.SourceConfig) (bool, error) {
			src, err := source.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			verdict, err := (&Rehearsals{Source: src}).Rehearse(t.Context(), p, nil, keytest.Key(1), new(pipeline.Progress))
			return verdict != nil, err
		},
		"a preview": func(p *config.Pipeline, source connectors.SourceConfig) (bool, error) {
			trial := *p
			trial.Source.Config = source
			view, err := NewPreview(t.Context(), &trial, 100, new(pipeline.Progress))
			return view != nil, err
		},
	} {
		dir,
			p := job(t, "csv: {path: DIR/out.csv}",
			"\n  - noise: {columns: [income], sd: 300}\n  - suppress: {keys: [age, region], k: 3}\n",
			"gate: {allow_unchanged: 1, max_quarantined: 0.9}\n")
		write(t, filepath.Join(dir, "in.csv"), tableOf(40, 30))
		write(t, filepath.Join(dir, "grown.csv"), tableOf(60, 30))
		refused := 0
		for n := 1; n <= 8; n++ {
			done,
				err := attempt(p,
				&growingConfig{p.Source.Config,
					&csv.SourceConfig{Path: filepath.Join(dir, "grown.csv"), Types: p.Source.Config.(*csv.SourceConfig).Types}, n})
			if done != (err == nil) || err != nil &&
				!strings.Contains(err.Error(), "that the first pass did not see is there now") {
				t.Errorf("%s, more records from pass %d on: done %v, error %v", name, n, done, err)
			}
			if err != nil {
				refused++
			}
			if left := filesIn(t, dir); err != nil && slices.Contains(left, "out.csv") {
				t.Errorf("%s, more records from pass %d on: the run leaves the files %v, want no release", name, n, left)
			}
			if err := os.RemoveAll(filepath.Join(dir, "out.csv")); err != nil {
				t.Fatal(err)
			}
		}
		if refused == 0 || refused == 8 {
			t.Errorf("%s is refused in %d of 8 cases, want some but not all", name, refused)
		}
	}
}

// Refusals before the first record apply to every user of the job.
func TestJobsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, region := range []string{"north", "south"} {
		write(t, filepath.Join(dir, "in", "region="+region, "x.csv"),
			[]byte("id,income,debt,age,region\nR1,1.5,2,30,"+region+"\nR2,2.5,3,31,"+region+"\n"))
	}
	p := parse(t, dir,
		setup{source: "csv: {path: " + dir + "/in}", sink: "csv: {path: " + dir + "/out}", masks: noiseMasks})
	src, err := pipeline.OpenSource(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	// If a source does not say what divides its streams, several streams are refused, and one
	// stream is accepted.
	pl, err := (&pipeline.Job{Config: p, Source: new(faulty.Calls).Source(src)}).Plan()
	if err != nil {
		t.Fatal(err)
	}
	var wrong config.Errors
	if err := checkPartitions(pl); !errors.As(err, &wrong) || wrong[0].Path != "sink" ||
		!strings.HasPrefix(wrong[0].Text,
			"the source has 2 streams and does not say how its records are divided among them") {
		t.Errorf("two streams: error %v", err)
	}
	p.Columns.Named("region").Role = microdata.Identifier
	if result, err := Run(t.Context(), p, pipeline.Options{}); result != nil || err == nil ||
		!strings.HasPrefix(err.Error(), "sink: the source's folders are named by region") {
		t.Errorf("folders named by an identifier: result %v, error %v", result, err)
	}
	// What a run refuses is refused by a test of its connections, and by a simulation of it.
	if err := Connect(t.Context(), p); err == nil ||
		!strings.HasPrefix(err.Error(), "sink: the source's folders are named by region") {
		t.Errorf("folders named by an identifier: Connect returns %v", err)
	}
	simulated := *p
	simulated.Ledger = filepath.Join(dir, "ledger")
	write(t, simulated.Ledger, nil)
	if rep, err := Simulate(t.Context(), &simulated, pipeline.Options{}); rep != nil || err == nil ||
		!strings.HasPrefix(err.Error(), "sink: the source's folders are named by region") {
		t.Errorf("folders named by an identifier: Simulate returns %v", err)
	}
	p.Columns.Named("region").Name = "area"
	if done, err := rehearsed(t.Context(), p, new(faulty.Calls)); done || !errors.As(err, &wrong) {
		t.Errorf("missing column: done %v, error %v, want config.Errors", done, err)
	}
	const copied = "\n  - synthesise: {columns: [income], on: [age], copies: 2}\n"
	dir, p = job(t, "csv: {path: 'DIR/out-{copy}.csv'}", copied, "report: {json: DIR/file/r.json}\n")
	write(t, filepath.Join(dir, "file"), nil)
	if result, err := Run(t.Context(), p, pipeline.Options{}); result != nil || err == nil ||
		!strings.HasPrefix(err.Error(), "report: ") {
		t.Errorf("copies whose report cannot be created: result %v, error %v", result, err)
	}
	// A connection test tries the files of snapshots, and leaves what is in them.
	dir,
		p = job(t, "csv: {path: DIR/out.csv}", noiseMasks,
		"assess: {every: {records: 25}, emit: [{log: info}, {jsonl: DIR/s.jsonl}, {jsonl: DIR/more.jsonl}]}\n")
	write(t, filepath.Join(dir, "s.jsonl"), []byte("of an earlier run"))
	if err := Connect(t.Context(), p); err != nil {
		t.Errorf("snapshots: Connect returns %v, want no error", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "s.jsonl")); string(text) != "of an earlier run" {
		t.Errorf("snapshots: after Connect the file has %q (error %v)", text, err)
	}
	write(t, filepath.Join(dir, "more.jsonl", "other"), nil)
	if err := Connect(t.Context(), p); err == nil || !strings.HasPrefix(err.Error(), "assess.emit: ") {
		t.Errorf("the name of the last file of snapshots is a folder: Connect returns %v", err)
	}
	// A connection test tries the name of the first copy.
	dir, p = job(t, "csv: {path: 'DIR/out-{copy}.csv'}", copied, "")
	write(t, filepath.Join(dir, "out-2.csv", "other"), nil)
	if err := Connect(t.Context(), p); err != nil {
		t.Errorf("the name of copy 2 is a folder: Connect returns %v, want no error", err)
	}
	write(t, filepath.Join(dir, "out-1.csv", "other"), nil)
	if err := Connect(t.Context(), p); err == nil || !strings.Contains(err.Error(), "out-1.csv") {
		t.Errorf("the name of copy 1 is a folder: Connect returns %v, want an error that names it", err)
	}
}

// A warning of several copies is given once, by the first copy, and the common verdict is the worst
// one.
func TestCopiesAreToldTogether(t *testing.T) {
	found := []*report.Report{{Warnings: []string{"a"}}, {Warnings: []string{"a", "b"}},
		{Warnings: []string{"c", "b", "a", "d"}}}
	rep := together(found)
	if want := []string{"a", "copy 2: b", "copy 3: c", "copy 3: d"}; !slices.Equal(rep.Warnings, want) {
		t.Errorf("warnings are %q, want %q", rep.Warnings, want)
	}
	if len(found[0].Warnings) != 1 || len(rep.Copies) != 3 {
		t.Errorf("warnings of the first copy are %q, want one; the report has %d copies, want 3", found[0].Warnings,
			len(rep.Copies))
	}
}

// Copies that already have their names are removed again, except objects, which are named in the
// error. In a report on copies, the requested release must be one of them.
func TestCopiesAreTakenBack(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.csv"), nil)
	write(t, filepath.Join(dir, "c.csv"), nil)
	c := new(copies)
	for _, path := range []string{"s3://bucket/a.csv", filepath.Join(dir, "b.csv"), filepath.Join(dir, "c.csv"),
		"s3://bucket/d.csv"} {
		c.runs = append(c.runs, &run{config: &config.Pipeline{Sink: config.Sink{Config: &csv.SinkConfig{Path: path}}}})
	}
	cause := errors.New("no room")
	var published *PublishedError
	if err := c.takeBack(0, cause); err != cause || len(filesIn(t, dir)) != 2 {
		t.Errorf("takeBack(0) returns %v and leaves %v, want 2 files", err, filesIn(t, dir))
	}
	if err := c.takeBack(2, cause); !errors.As(err, &published) || !errors.Is(err, cause) ||
		!strings.Contains(err.Error(), "(s3://bucket/a.csv)") || !slices.Equal(filesIn(t, dir), []string{"c.csv"}) {
		t.Errorf("takeBack(2) returns %v and leaves %v, want c.csv alone", err, filesIn(t, dir))
	}
	if err := c.takeBack(4, cause); !errors.As(err, &published) ||
		!strings.Contains(err.Error(), "(s3://bucket/a.csv, s3://bucket/d.csv)") || len(filesIn(t, dir)) > 0 {
		t.Errorf("takeBack(4) returns %v and leaves %v, want no files", err, filesIn(t, dir))
	}
	dir, p := job(t, "csv: {path: 'DIR/out-{copy}.csv'}", "\n  - synthesise: {columns: [income], on: [age], copies: 2}\n",
		"report: {json: DIR/r.json}\ngate: {max_quarantined: 0.9}\n")
	if _, err := Run(t.Context(), p, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	var data *pipeline.DataError
	if v, err := Verify(t.Context(), filepath.Join(dir, "r.json"), filepath.Join(dir, "out-3.csv")); v != nil ||
		!errors.As(err, &data) || !strings.Contains(err.Error(), "about 2 copies") {
		t.Errorf("a third copy: Verify returns %v and error %v, want a DataError", v, err)
	}
	if v, err := Verify(t.Context(), filepath.Join(dir, "r.json"), filepath.Join(dir, "out-2.csv")); err != nil ||
		!v.Agree || !strings.HasPrefix(v.Words, "copy 2: ") {
		t.Errorf("copy 2: Verify returns %+v and error %v, want agreement", v, err)
	}
	if got := whole(&report.Release{Folder: true, Bytes: 7, SHA256: "x"}); got != "a folder of 7 bytes, sha256 x" {
		t.Errorf("whole returns %q", got)
	}
}

// Entries for a topic wait in an unnamed file and are returned in order, any number of times.
// Errors of writing and reading are returned.
func TestEntriesThatWait(t *testing.T) {
	q, err := newQuarantine(config.Quarantine{Kafka: &config.QuarantineTopic{Topic: "bad"}}, connectortest.Elsewhere())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.out.WriteString("first\nlast\n"); err != nil {
		t.Fatal(err)
	}
	if err := q.finish(); err != nil {
		t.Fatal(err)
	}
	for fails := range 3 {
		var got []string
		err := q.note(func(topic string, line []byte) error {
			if got = append(got, topic+" "+string(line)); len(got) == fails {
				return errors.ErrUnsupported
			}
			return nil
		})
		if want := []string{"bad first", "bad last"}; fails == 0 && (err != nil || !slices.Equal(got, want)) || fails > 0 &&
			(!errors.Is(err, errors.ErrUnsupported) || !slices.Equal(got, want[:fails])) {
			t.Errorf("note fails at entry %d: entries %q, error %v", fails, got, err)
		}
	}
	if err := q.spool.Close(); err != nil {
		t.Fatal(err)
	}
	if err := q.note(func(string, []byte) error { return nil }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the file was closed, note returns %v, want os.ErrClosed", err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	if q, err := newQuarantine(config.Quarantine{Kafka: &config.QuarantineTopic{Topic: "bad"}},
		connectortest.Elsewhere()); q != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder for temporary files: newQuarantine returns %v and error %v", q, err)
	}
}

// A snapshot that is due by time is taken with the next block. Levels that do not exist are
// refused.
func TestSnapshotsByTheClock(t *testing.T) {
	dir,
		p := job(t, "csv: {path: DIR/out.csv}", noiseMasks,
		"gate: {max_quarantined: 0.9}\nassess: {every: {interval: 30s}, emit: [{jsonl: DIR/s.jsonl}]}\n")
	for _, due := range []bool{false, true} {
		var r *run
		calls := &faulty.Calls{Name: "create", N: 1, Cancel: func() {
			if r.snapshots.interval != 30*time.Second || r.snapshots.records != 0 {
				t.Errorf("default interval %v and %d records, want 30s and 0", r.snapshots.interval, r.snapshots.records)
			}
			if r.snapshots.interval = 24 * time.Hour; due {
				r.snapshots.last = time.Now().Add(-25 * time.Hour)
			}
		}}
		if _, err := runCounted(t.Context(), calls, p, func(of *run) { r = of }); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "s.jsonl"))
		if lines := strings.Count(string(text), "\n"); err != nil || lines != map[bool]int{false: 0, true: 1}[due] {
			t.Errorf("due %v: %d snapshots were written (error %v)", due, lines, err)
		}
	}
	s := &snapshots{
		run: &run{config: &config.Pipeline{Assess: config.Assess{Emit: []config.Emit{{Log: "info"}, {Log: "loud"}}}}}}
	if err := s.open(); err == nil || len(s.log) != 1 || s.log[0] != zerolog.InfoLevel {
		t.Errorf("unknown log level: error %v, levels %v", err, s.log)
	}
	// A missing folder is created with normal permissions; only the owner can read the file.
	there, made := filepath.Join(t.TempDir(), "there"), filepath.Join(t.TempDir(), "made", "s.jsonl")
	if err := os.Mkdir(there, 0o777); err != nil {
		t.Fatal(err)
	}
	s = &snapshots{run: &run{config: &config.Pipeline{Assess: config.Assess{Emit: []config.Emit{{JSONL: made}}}}}}
	if err := s.open(); err != nil || len(s.files) != 1 {
		t.Fatalf("%d files are open (error %v), want 1", len(s.files), err)
	}
	defer s.files[0].Close()
	for path, want := range map[string]string{filepath.Dir(made): there, made: ""} {
		mode := os.FileMode(0o600)
		info, err := os.Stat(path)
		if err == nil && want != "" {
			var as os.FileInfo
			if as, err = os.Stat(want); err == nil {
				mode = as.Mode().Perm()
			}
		}
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: error %v, or the mode is not %v", filepath.Base(path), err, mode)
		}
	}
}

// unreadable is a sink that cannot read its release again, or cannot finish it.
type unreadable struct {
	connectors.Sink
	full error
}

func (u unreadable) Finish(context.Context) error { return u.full }

func (unreadable) Abilities() connectors.SinkAbilities {
	return connectors.SinkAbilities{Content: func(context.Context) (*publish.Content, error) {
		return nil, errors.ErrUnsupported
	}}
}

// A release that cannot be completed or read again has no report. Numbers are shown with the digits
// of their type.
func TestReleasesAreRead(t *testing.T) {
	full := errors.New("no space left")
	for _, c := range []struct {
		sink unreadable
		want error
	}{{unreadable{}, errors.ErrUnsupported}, {unreadable{full: full}, full}} {
		wait, stop := (&run{sink: c.sink}).complete(t.Context())
		if content, err := wait(); content != nil || !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "sink: ") {
			t.Errorf("content %v, error %v, want %v", content, err, c.want)
		}
		stop()
	}
	v := microdata.Vector{Values: []float64{float64(float32(0.1)), math.MaxFloat32}}
	for want, f := range map[string]arrow.DataType{"0.1": arrow.PrimitiveTypes.Float32,
		"0.10000000149011612": arrow.PrimitiveTypes.Float64} {
		if got := number(v, 0, microdata.Output{Field: microdata.Field{Type: f}}); got != want {
			t.Errorf("number of type %s is written %s, want %s", f, got, want)
		}
	}
}

// losing is a source of topics; an action is performed on a topic before it is read.
type losing struct {
	*kafka.Source
	lose func()
}

func (s *losing) Read(ctx context.Context, l *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	s.lose()
	return s.Source.Read(ctx, l, cut)
}

// Any error of entries for topics is returned with its subject: entries lost before or after the
// release, and brokers that accept none.
func TestNotesThatAreLost(t *testing.T) {
	t.Parallel()
	const topics, file = `kafka: {brokers: ["BROKER"], topics: [in], group: g, until: latest}`, "csv: {path: DIR/out.csv}"
	const entries = "quarantine: {kafka: {topic: bad}}\n"
	for _, c := range []struct {
		name, source, sink, extra, want string
		lost                            bool // the entries; otherwise the brokers accept nothing
		published                       bool
	}{
		{"entries in the transaction", "csv: {path: DIR/in.csv, types: {debt: float64}}",
			`kafka: {brokers: ["BROKER"], topic: out}`, entries, "quarantine: ", true, false},
		{"entries behind the release", topics, file, entries, "quarantine: ", true, true},
		{"entries that the broker refuses", topics, file, entries, "quarantine: ", false, true},
		{"snapshots that the broker refuses", topics, file,
			"assess: {every: {records: 25}, emit: [{kafka: {topic: snaps}}]}\n", "assess.emit: ", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBrokers(t)
			for i := range 60 {
				debt := fmt.Sprint(i)
				if i%30 == 29 {
					debt = `"canary"`
				}
				value := fmt.Sprintf(`{"id":"R%d","income":%d.5,"debt":%s,"age":%d,"region":"r"}`, i, 1000+i, debt, 20+i%5)
				if err := b.client.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte(value)}).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			dir := t.TempDir()
			write(t, filepath.Join(dir, "in.csv"), tableOf(60, 30))
			in := strings.NewReplacer("DIR", dir, "BROKER", b.address).Replace
			write(t, filepath.Join(dir, "k"),
				[]byte(base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))))
			p, err := config.Parse("p.yaml", []byte(fmt.Sprintf(`version: 1
key: {file: %s/k}
source: {%s}
sink: {%s}
columns: {id: {role: identifier}, income: {role: sensitive, decimals: 1}, debt: {role: sensitive, decimals: 0}, age: {role: key}, region: {role: key}}
masks: [{noise: {columns: [income, debt], sd: 300}}]
gate: {max_quarantined: 0.5}
%s`, dir, in(c.source), in(c.sink), c.extra)), config.Options{Environ: func() []string { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			ctx, o := pipeline.Options{}.Ready(t.Context())
			src, err := pipeline.OpenSource(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			r := &run{config: p, options: o, key: keytest.Key(1), source: src, streams: src.Streams(), started: time.Now()}
			lose := func() {
				// Writing to the file continues; reading from it fails.
				if !c.lost {
					return
				}
				kept := r.quarantine.spool
				t.Cleanup(func() { kept.Close() })
				closed, err := os.Create(filepath.Join(dir, "closed"))
				if err := errors.Join(err, closed.Close(), os.Remove(closed.Name())); err != nil {
					t.Error(err)
				}
				r.quarantine.spool = closed
			}
			if of, is := src.(*kafka.Source); is {
				r.source = &losing{of, lose}
			} else {
				r.source = (&faulty.Calls{Name: "read", N: 1, Cancel: lose}).Source(src)
			}
			if !c.lost {
				defer b.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed, Count: -1}).
					Remove()
			}
			if err := r.prepare(ctx); err != nil {
				t.Fatal(err)
			}
			result, err := r.release(ctx)
			if result != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("result %v and error %v, want no result and %s", result, err, c.want)
			}
			if err := r.abort(); c.lost != errors.Is(err, os.ErrClosed) || !c.lost && err != nil {
				t.Error(err)
			}
			if published := slices.Contains(filesIn(t, dir), "out.csv"); published != c.published {
				t.Errorf("release published: %v, want the opposite", published)
			}
			if got := b.committed("out"); len(got) > 0 {
				t.Errorf("%d messages are released, want none", len(got))
			}
		})
	}
}
