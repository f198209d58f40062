package shard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/plantest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/quarantined"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// inTheWay makes a folder with the name of a future file.
func inTheWay(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(name, "in the way"), 0o700); err != nil {
		t.Error(err)
	}
}

// If anything disturbs a plan, a shard or a commit, at any of its checks, the result is an error
// and nothing else, or the work is complete.
func TestWhateverComesInTheWay(t *testing.T) {
	racetest.Further(t)
	defer func(n int) { mostHeld = n }(mostHeld)
	mostHeld = 0 // files that are read again can be gone by then
	changed := func(*testing.T) error {
		f, err := os.OpenFile("in.csv", os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("R,1.5,2,north\n")
			err = errors.Join(err, f.Close())
		}
		return err
	}
	every := func(pattern string) func(*testing.T) error {
		return func(*testing.T) error {
			paths, err := filepath.Glob(pattern)
			for _, path := range paths {
				err = errors.Join(err, os.RemoveAll(path))
			}
			return err
		}
	}
	folder := func(name string) func(*testing.T) error {
		return func(t *testing.T) error { inTheWay(t, name); return nil }
	}
	// Each attempt begins with a copy of the previous stage's output.
	before := map[string]fs.FS{}
	var m *Manifest
	for _, stage := range []string{"plan", "shard", "commit"} {
		if stage == "plan" {
			prepare(t, "csv", 60, "")
			m = planned(t, 1)
		} else if stage == "commit" {
			runShard(t, m, 0)
		}
		base := t.TempDir()
		if err := os.CopyFS(base, os.DirFS(".")); err != nil {
			t.Fatal(err)
		}
		before[stage] = os.DirFS(base)
	}
	job := func(stage string, question int, do func(*testing.T) error) (questions int, err error) {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, before[stage]); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		ctx := eventually.AtQuestion(t.Context(), question, func() {
			if err := do(t); err != nil {
				t.Error(err)
			}
		})
		var done bool
		switch stage {
		case "plan":
			var again *Manifest
			again, err = Plan(ctx, load(t), "pipeline.yaml", nil, 1, options)
			done = again != nil
		case "shard":
			var s *State
			s, err = Run(ctx, load(t), m, 0, nil, options)
			if done = s != nil; done && err == nil {
				if _, missing := os.Stat(filepath.Join(m.hidden("released"), s.Files[0].Name)); missing != nil && question != -1 {
					t.Errorf("%s, check %d: the part is missing: %v", stage, question, missing)
				}
			}
		case "commit":
			result, failed := Commit(ctx, load(t), m, "states", options)
			if done, err = result != nil, failed; done && err == nil {
				for _, name := range []string{"report.json", "quarantine.jsonl", "released/part-00000.csv"} {
					if info, missing := os.Stat(name); missing != nil || info.IsDir() {
						t.Errorf("%s, check %d: %s is missing: %v", stage, question, name, missing)
					}
				}
			}
		}
		if done != (err == nil) {
			t.Errorf("%s, check %d: done %v, error %v", stage, question, done, err)
		}
		return ctx.Questions(), err
	}
	for i, c := range []struct {
		stage, name string
		do          func(*testing.T) error
		want        string // the error at some check
	}{
		{"plan", "another source", changed, "source: "},
		{"shard", "another source", changed, "source: "},
		{"shard", "no folder of its own", every(".released.shards-*/.attempt-*"), "sink: "},
		{"commit", "another source", changed, "source: "},
		{"commit", "no parts", every(".released.shards-*"), "shard 0: part-00000.csv, which it wrote, is not there"},
		{"commit", "no state", every("states/*"), "0.state: no such file"},
		{"commit", "no name of the report before its own", every(publish.TempName("report.json")), "report: "},
		{"commit", "a folder for the report", folder("report.json"), "report: "},
		{"commit", "a folder for the quarantine", folder("quarantine.jsonl"), "quarantine: "},
		{"commit", "a folder for the release", func(t *testing.T) error {
			write(t, "released/other.txt", nil)
			return nil
		}, "sink: "},
	} {
		total, err := job(c.stage, 0, nil)
		if err != nil || total < 2 {
			t.Fatalf("%s: %d checks of the context (error %v), want at least 2", c.stage, total, err)
		}
		reported := false
		for n := 1; n <= total; n++ {
			if n > 6 && n < total-16 && n%8 > 0 {
				continue // the middle is the pass; other tests let its calls fail
			}
			if testing.Short() && n > 2 && n < total-2 && (n+i)%5 > 0 {
				continue // the checks take turns
			}
			if _, err := job(c.stage, n, c.do); err != nil && strings.Contains(err.Error(), c.want) {
				reported = true
			}
		}
		if !reported {
			t.Errorf("%s, %s: no error contains %q, with the fault at any of %d checks", c.stage, c.name, c.want, total)
		}
	}
}

// The inputs of a shard and of a commit are compared with the plan, and differences are reported
// with their place.
func TestWhatDoesNotFitThePlan(t *testing.T) {
	ignored := func(error) {}
	for _, c := range []struct {
		name, want string
		shard      func(t *testing.T, p *config.Pipeline, m *Manifest) // before the shard runs
		commit     func(t *testing.T, p *config.Pipeline, m *Manifest) // before the commit
		states     string
	}{
		{name: "nothing"},
		{name: "no such shard", want: "--shard must be 0 to -1, got 0",
			shard: func(_ *testing.T, _ *config.Pipeline, m *Manifest) { m.Shards = nil }},
		{name: "more records", want: "source: 60 records were read, and 61 were planned: plan again",
			shard: func(_ *testing.T, _ *config.Pipeline, m *Manifest) { m.Shards[0].Records++ }},
		{name: "other columns", want: "source: the columns of the source are not those that were planned with",
			shard: func(_ *testing.T, _ *config.Pipeline, m *Manifest) { m.Columns = nil }},
		{name: "an unknown standard deviation", want: "the standard deviation of column \"wage\" is not known",
			shard: func(_ *testing.T, _ *config.Pipeline, m *Manifest) {
				m.Columns[0].SD = assess.Float(nan)
			}},
		{name: "nothing to assess with", want: "assess: replicates: must be at least 0",
			shard: func(_ *testing.T, p *config.Pipeline, m *Manifest) {
				p.Assess.Replicates = -1
				m.ConfigSHA256 = p.SHA256()
			}},
		{name: "a file for the parts", want: "is not a folder of this user alone, made by a shard",
			shard: func(t *testing.T, _ *config.Pipeline, m *Manifest) { write(t, m.hidden("released"), nil) }},
		{name: "a folder for others", want: "is not a folder of this user alone, made by a shard",
			shard: func(t *testing.T, _ *config.Pipeline, m *Manifest) {
				ignored(errors.Join(os.Mkdir(m.hidden("released"), 0o700), os.Chmod(m.hidden("released"), 0o755)))
			}},
		{name: "nothing to measure with", want: "assess: replicates: must be at least 0",
			commit: func(_ *testing.T, p *config.Pipeline, m *Manifest) {
				p.Assess.Replicates = -1
				m.ConfigSHA256 = p.SHA256()
			}},
		{name: "another key", want: "key", commit: func(t *testing.T, _ *config.Pipeline, _ *Manifest) {
			ignored(os.Remove("test.key"))
		}},
		{name: "no states", states: "none",
			want:   "none: holds no states: run the shards first, each with --state none/NUMBER",
			commit: func(*testing.T, *config.Pipeline, *Manifest) { ignored(os.Mkdir("none", 0o700)) }},
		{name: "no folder of states", states: "in.csv", want: "in.csv: cannot be read: "},
		{name: "other files", want: "shard 0: its state names other files than the plan: run it again",
			commit: func(t *testing.T, _ *config.Pipeline, _ *Manifest) {
				restate(t, func(s *State) { s.Files[0].Name = "part-00001.csv" })
			}},
		{name: "no file", want: "states/0.state: is damaged: run the shard again",
			commit: func(t *testing.T, _ *config.Pipeline, _ *Manifest) {
				restate(t, func(s *State) { s.Files = nil })
			}},
		{name: "no assessment", want: "shard 0: assess: ", commit: func(t *testing.T, _ *config.Pipeline, _ *Manifest) {
			restate(t, func(s *State) { s.assessment = []byte("canary") })
		}},
		{name: "a folder for the quarantine", want: "quarantine: ",
			commit: func(t *testing.T, _ *config.Pipeline, _ *Manifest) { inTheWay(t, "quarantine.jsonl") }},
		{name: "a folder for the report", want: "report: ", commit: func(t *testing.T, _ *config.Pipeline, _ *Manifest) {
			inTheWay(t, "report.json")
		}},
		{name: "a file for the release", want: "sink: ", commit: func(t *testing.T, _ *config.Pipeline, _ *Manifest) {
			write(t, "released", nil)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			prepare(t, "csv", 60, "")
			m, p := planned(t, 1), load(t)
			if c.shard != nil {
				c.shard(t, p, m)
			}
			s, err := Run(t.Context(), p, m, 0, nil, options)
			if c.shard != nil {
				if s != nil || err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Run returns %v and error %v, want %s", s, err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Write("states/0.state"); err != nil {
				t.Fatal(err)
			}
			if c.commit != nil {
				c.commit(t, p, m)
			}
			if c.states == "" {
				c.states = "states"
			}
			result, err := Commit(t.Context(), p, m, c.states, options)
			if (err == nil) != (c.want == "") || (result == nil) != (err != nil) || err != nil &&
				(!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary")) {
				t.Errorf("Commit returns %v and error %v, want %s", result, err, c.want)
			}
		})
	}
}

var nan = func() float64 { zero := 0.0; return zero / zero }()

// restate changes the state of shard 0.
func restate(t *testing.T, change func(s *State)) {
	t.Helper()
	s := stateAt(t, "states/0.state")
	change(s)
	if err := s.Write("states/0.state"); err != nil {
		t.Fatal(err)
	}
}

// A plan needs at least one shard, a source that can be read and divided, and the key.
func TestWhatAPlanNeeds(t *testing.T) {
	prepare(t, "csv", 60, "")
	for n := range 2 {
		if m, err := Plan(t.Context(), load(t), "pipeline.yaml", nil, n, options); (m != nil) != (n > 0) ||
			(err != nil) != (n < 1) {
			t.Errorf("%d shards: Plan returns %v and error %v", n, m, err)
		}
	}
	p := load(t)
	pl := plantest.New(t, p)
	src := pl.Source
	refused := func(want string) {
		t.Helper()
		var wrong config.Errors
		if err := check(pl); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	pl.Source = new(faulty.Calls).Source(src)
	refused("source.csv: cannot be read in parts")
	pl.Source = src
	pl.Config.Source.Config, pl.Config.Sink.Config = &kafka.SourceConfig{}, &kafka.SinkConfig{}
	refused("source: is a stream, whose partitions are its shards already")
	if _, err := fingerprints(t.Context(), new(faulty.Calls).Source(src), every); !errors.Is(err,
		connectors.ErrIndivisible) {
		t.Errorf("a source that cannot be divided: error %v, want ErrIndivisible", err)
	}
	whole, err := fingerprints(t.Context(), src, every)
	if err != nil || len(whole) != 1 {
		t.Fatal(whole, err)
	}
	for _, fails := range []error{io.ErrUnexpectedEOF, context.Canceled} {
		for opens := range 2 {
			list,
				err := fingerprints(t.Context(),
				&storing{Source: src, Divisible: src.Abilities().Divisible, opens: opens == 1, fails: fails}, every)
			known := errors.Is(fails, context.Canceled) || opens == 0
			if list != nil || err == nil || errors.Is(err, fails) != known || strings.Contains(err.Error(), "canary") {
				t.Errorf("opened %v, reading fails with %v: fingerprints %v, error %v", opens == 1, fails, list, err)
			}
		}
	}
	if err := os.Remove("test.key"); err != nil {
		t.Fatal(err)
	}
	if m, err := Plan(t.Context(), load(t), "pipeline.yaml", nil, 1, options); m != nil || err == nil {
		t.Errorf("no key: Plan returns %v and error %v", m, err)
	}
	for _, err := range []error{
		(&Manifest{Survey: json.RawMessage("{")}).Write("x.json"),
		(&State{Files: []StateFile{{Upload: json.RawMessage("{")}}}).Write("x.state"),
	} {
		if err == nil {
			t.Error("a manifest that cannot be written as JSON gives no error")
		}
	}
	if left, _ := filepath.Glob("x.*"); len(left) > 0 {
		t.Errorf("the folder has the files %v, want none", left)
	}
}

// storing is a source with files that cannot be opened or cannot be read.
type storing struct {
	connectors.Source
	connectors.Divisible
	opens bool
	fails error
}

func (s *storing) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{Divisible: s}
}

func (s *storing) Stored(int) (connectors.Stored, error) {
	if !s.opens {
		return connectors.Stored{}, s.fails
	}
	return connectors.Stored{ReaderAt: s, Closer: io.NopCloser(nil), Size: 7}, nil
}

func (s *storing) ReadAt([]byte, int64) (int, error) { return 0, fmt.Errorf("canary: %w", s.fails) }

// The fingerprint of a file is its size and both of its ends, or the identification given by its
// store.
func TestFingerprints(t *testing.T) {
	of := func(size int, change ...int) string {
		t.Helper()
		text := make([]byte, size)
		for _, at := range change {
			text[at] = 1
		}
		f, err := fingerprint(connectors.Stored{ReaderAt: strings.NewReader(string(text)), Size: int64(size)})
		if err != nil || f.Bytes != int64(size) || f.ETag != "" {
			t.Fatal(f, err)
		}
		return f.SHA256
	}
	const long = 3 * ends
	for _, at := range []int{0, ends - 1, long - ends, long - 1} {
		if of(long, at) == of(long) {
			t.Errorf("a change at byte %d does not change the fingerprint", at)
		}
	}
	for _, at := range []int{ends, long - ends - 1} {
		if of(long, at) != of(long) {
			t.Errorf("a change at byte %d, in the middle, changes the fingerprint", at)
		}
	}
	for _, at := range []int{0, 5, 9} {
		if of(10, at) == of(10) {
			t.Errorf("a change at byte %d of a short file does not change the fingerprint", at)
		}
	}
	if f, err := fingerprint(connectors.Stored{Size: 3, ETag: "e"}); err != nil || f != (File{Bytes: 3, ETag: "e"}) {
		t.Errorf("the fingerprint of an object is %+v (error %v), want its ETag and size", f, err)
	}
}

// Only the current user can access a folder for parts, whoever creates it.
func TestPrivateFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "file", nil)
	for name, want := range map[string]bool{"a/b/folder": true, "again": true, "file": false, "file/below": false,
		"x\x00": false, "a\x00/x": false} {
		for range 2 {
			if err := privateFolder(name); (err == nil) != want {
				t.Errorf("privateFolder(%q) returns %v", name, err)
			}
		}
	}
	for mode, want := range map[os.FileMode]bool{0o700: true, 0o500: true, 0o710: false, 0o701: false, 0o750: false} {
		if err := os.Chmod("again", mode); err != nil {
			t.Fatal(err)
		}
		if err := privateFolder("again"); (err == nil) != want {
			t.Errorf("privateFolder with the mode %v returns %v", mode, err)
		}
	}
	if err := os.Chmod("again", 0o700); err != nil {
		t.Fatal(err)
	}
	f := &folder{"again", "a"}
	if err := f.complete([]StateFile{{Name: "gone"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing part: complete returns %v, want os.ErrNotExist", err)
	}
}

// The lost records of shards are listed in the order of the shards. If the output accepts nothing,
// an error says so, early or late.
func TestEntriesOfAllShards(t *testing.T) {
	all := []*State{
		{
			Entries: []quarantined.FileEntry{{Stream: "a", Record: 1, Reason: "r"},
				{Stream: "a", Record: 3, Column: "c", Reason: "s"}}}, {},
		{Entries: []quarantined.FileEntry{{Stream: "b", Record: 2, Reason: "<"}}}}
	var out strings.Builder
	if err := writeEntries(&out, all); err != nil || out.String() != `{"stream":"a","record":1,"reason":"r"}
{"stream":"a","record":3,"column":"c","reason":"s"}
{"stream":"b","record":2,"reason":"\u003c"}
` {
		t.Errorf("writeEntries returns %v and writes\n%s", err, out.String())
	}
	for _, n := range []int{1, 300} {
		if err := writeEntries(nowhere{}, slices.Repeat(all, n)); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%d times the entries: writeEntries returns %v, want io.ErrShortWrite", n, err)
		}
	}
}

// nowhere accepts nothing.
type nowhere struct{}

func (nowhere) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
