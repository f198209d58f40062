package shard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/plantest"
	"github.com/sdlfilter/sdlfilter/transform"
)

// A state is read if its magic number, its checksum and its header are correct; each of them is
// checked.
func TestStatesAreParsed(t *testing.T) {
	const damaged = "x: is damaged or cut off: run the shard again"
	for _, c := range []struct {
		text []byte
		want string
	}{
		{[]byte("sdlfilter.shard-state/0\n{}"), "x: was written by another version of the program"},
		{[]byte("hello"), "x: is no state of a shard"},
		{nil, "x: is no state of a shard"},
		{[]byte(stateMagic), "x: is cut off"},
		{append([]byte(stateMagic), make([]byte, 8+sha256.Size-1)...), "x: is cut off"},
		{append([]byte(stateMagic), make([]byte, 8+sha256.Size)...), damaged},
		{append([]byte(stateMagic), bytes.Repeat([]byte{255}, 8+sha256.Size)...), "x: is cut off"},
		{sealed([]byte("no JSON\nassessment")), "x: is damaged: run the shard again"},
		{sealed([]byte(`{"plan":"p","shard":3}` + "\nassessment\nof lines")), ""},
		{sealed(nil), "x: is damaged: run the shard again"},
		{append(sealed([]byte(`{"plan":"p"}`+"\n")), 1), damaged},
		{append(sealed([]byte(`{"pieces":[{"bytes":2}]}`+"\n")), 1), damaged},
		{append(sealed([]byte(`{"pieces":[{"bytes":2}]}`+"\n")), 1, 2, 3), damaged},
		{append(sealed([]byte(`{"pieces":[{"bytes":-1},{"bytes":2}]}`+"\n")), 1), damaged},
		{append(sealed([]byte(`{"pieces":[{"bytes":1,"lowest":2},{"bytes":1,"lowest":1}]}`+"\n")), 1, 2), damaged},
		{
			append(
				sealed(
					[]byte(`{"plan":"p","shard":3,"pieces":[{"bytes":1,"lowest":2},{"bytes":1,"lowest":2}]}`+
						"\nassessment\nof lines")), 1, 2), ""},
	} {
		s, err := parseState("x", c.text, int64(len(c.text)))
		if c.want != "" {
			var state *StateError
			if !errors.As(err, &state) || err.Error() != c.want || s != nil {
				t.Errorf("state %q: error %v, want %s", c.text, err, c.want)
			}
			continue
		}
		if err != nil || s.Plan != "p" || s.Shard != 3 || string(s.assessment) != "assessment\nof lines" {
			t.Errorf("state %q: parseState returns %+v and error %v", c.text, s, err)
		}
	}
}

// A released assessment can be read again, and is that of the same shard and plan.
func TestAssessmentsAreReadAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	s := &State{Plan: "p", Shard: 2, assessment: []byte("measured"), exchange: []byte("exchanged")}
	if err := s.Write("2.state"); err != nil {
		t.Fatal(err)
	}
	if got, of, err := s.measured(t.Context()); err != nil || string(got) != "measured" || string(of) != "exchanged" {
		t.Errorf("measured returns %q and %q, error %v", got, of, err)
	}
	if got, of, err := (&State{}).measured(t.Context()); err != nil || got != nil || of != nil {
		t.Errorf("measured of a state without a file returns %q and error %v, want nothing", got, err)
	}
	for want, again := range map[string]*State{
		"":                          {Plan: "p", Shard: 2, path: "2.state"},
		"2.state: has changed":      {Plan: "p", Shard: 1, path: "2.state"},
		"2.state: has changed ":     {Plan: "q", Shard: 2, path: "2.state"},
		"gone.state: no such file ": {Plan: "p", Shard: 2, path: "gone.state"},
	} {
		got, of, err := again.measured(t.Context())
		if want == "" {
			if err != nil || string(got) != "measured" || string(of) != "exchanged" {
				t.Errorf("measured, read again, returns %q and %q, error %v", got, of, err)
			}
		} else if err == nil || !strings.HasPrefix(err.Error(), strings.TrimSpace(want)) || got != nil {
			t.Errorf("measured returns %q and error %v, want %s", got, err, want)
		}
	}
}

// Of many names the first ten are listed and the others counted.
func TestFewNames(t *testing.T) {
	names := strings.Fields("a b c d e f g h i j k l")
	for n, want := range map[int]string{1: "a", 2: "a, b", 10: "a, b, c, d, e, f, g, h, i, j",
		11: "a, b, c, d, e, f, g, h, i, j and 1 more", 12: "a, b, c, d, e, f, g, h, i, j and 2 more"} {
		if got := few(names[:n]); got != want {
			t.Errorf("few of %d names returns %s", n, got)
		}
	}
}

// Errors of reading omit the path in the system's error, which may contain a value. Errors that
// callers check for stay the same.
func TestErrorsOfFilesHaveNoPath(t *testing.T) {
	secret := &fs.PathError{Op: "open", Path: "region=canary/x.csv", Err: fs.ErrPermission}
	if err := unpathed(secret); err != fs.ErrPermission {
		t.Errorf("unpathed returns %v, want the cause alone", err)
	}
	if err := unpathed(fmt.Errorf("x: %w", secret)); err != fs.ErrPermission {
		t.Errorf("unpathed returns %v, want the cause alone", err)
	}
	if plain := errors.New("x"); unpathed(plain) != plain {
		t.Error("unpathed changes an error without a path")
	}
	for _, known := range []error{objects.ErrAbsent, objects.ErrDenied, objects.ErrCondition, context.Canceled,
		context.DeadlineExceeded} {
		if err := unreadable("file 1", fmt.Errorf("canary: %w", known)); !errors.Is(err, known) ||
			strings.Contains(err.Error(), "canary") || !strings.HasPrefix(err.Error(), "file 1: cannot be read: ") {
			t.Errorf("unreadable of %v returns %v", known, err)
		}
	}
	if err := unreadable("file 1", secret); err.Error() != "file 1: cannot be read" {
		t.Errorf("unreadable of another error returns %v", err)
	}
}

// A manifest with missing or additional content is damaged; the manifest equals only itself.
func TestManifestsAreParsed(t *testing.T) {
	prepare(t, "csv", 20, "")
	m := planned(t, 1)
	text, err := os.ReadFile("plan.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{strings.Replace(string(text), "{", `{"more": 1,`, 1), "x: is damaged: json: unknown field"},
		{strings.Replace(string(text), `"schema"`, `"shards": 7, "schema"`, 1), "x: is damaged: "},
		{`{"schema": 7}`, "x: is no manifest"}, {`{}`, "x: is no manifest"}, {"[]", "x: is no manifest"},
	} {
		var data *pipeline.DataError
		if _, err := parse("x", []byte(c.text)); !errors.As(err, &data) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.text[:min(30, len(c.text))], err, c.want)
		}
	}
	if !m.is(text) || m.is([]byte("hello")) || m.is([]byte(strings.Replace(string(text), "shards", "shards2", 1))) {
		t.Error("is does not know its manifest, or accepts another")
	}
	var data *pipeline.DataError
	if _, err := Read(t.Context(), "gone.json"); !errors.As(err, &data) ||
		!strings.HasPrefix(err.Error(), "the manifest cannot be read: ") {
		t.Errorf("missing manifest: error %v", err)
	}
	if err := (&Manifest{Columns: []Column{{Name: "x", SD: assess.Float(1)}}}).Write("nowhere/\x00/plan.json"); err ==
		nil {
		t.Error("Write to a path that does not exist gives no error")
	}
}

// A shard uses the properties of each column from the plan, first and last, and refuses other
// columns.
func TestShardsTakeWhatThePlanFound(t *testing.T) {
	columns := func(names ...string) (list []transform.ColumnInfo) {
		for _, name := range names {
			var c transform.ColumnInfo
			c.Name = name
			list = append(list, c)
		}
		return list
	}
	m := &Manifest{
		Columns: []Column{{Name: "a", SD: 1, Mean: 2, Decimals: 3},
			{Name: "b", SD: assess.Float(math.NaN()), Mean: 5, Decimals: 6}},
		Correlations: []Correlation{{[2]string{"a", "b"}, 0.5}},
	}
	pl := &pipeline.Plan{Columns: columns("a", "b")}
	if err := m.settle(pl); err != nil {
		t.Fatal(err)
	}
	a, b := pl.Columns[0], pl.Columns[1]
	if a.SD != 1 || a.Mean != 2 || a.Decimals != 3 || b.SD == b.SD || b.Mean != 5 || b.Decimals != 6 {
		t.Errorf("the plan's columns are %+v", pl.Columns)
	}
	if list := settledCorrelations(pl); len(list) != 1 || list[0] != m.Correlations[0] {
		t.Errorf("the correlations are %v, want that of the manifest", list)
	}
	if list := settledColumns(pl); len(list) != 2 || list[0] != m.Columns[0] || list[1].Name != "b" || list[1].Mean != 5 {
		t.Errorf("the settled columns are %+v", list)
	}
	for _, names := range [][]string{{"a"}, {"a", "b", "c"}, {"x", "b"}, {"a", "x"}, {"b", "a"}} {
		if err := m.settle(&pipeline.Plan{Columns: columns(names...)}); !errors.Is(err, errOther) {
			t.Errorf("columns %v: settle returns %v, want errOther", names, err)
		}
	}
	known := transform.Correlations{}
	for _, of := range [][2]string{{"b", "c"}, {"a", "c"}, {"a", "b"}} {
		known[of] = 0.25
	}
	pl.SetCorrelations(known)
	if list := settledCorrelations(pl); len(list) != 3 || !slices.IsSortedFunc(list, func(x, y Correlation) int {
		return slices.Compare(x.Of[:], y.Of[:])
	}) {
		t.Errorf("the correlations are not in order: %v", list)
	}
}

// The parts of a release are numbered over all shards.
func TestPartsAreNumbered(t *testing.T) {
	m := &Manifest{Shards: make([]Shard, 3)}
	for i, n := range []int{2, 0, 3} {
		m.Shards[i].Parts = slices.Grow(m.Shards[i].Parts, n)[:n]
	}
	for want, at := range map[string][2]int{"part-00000.csv": {0, 0}, "part-00001.csv": {0, 1}, "part-00002.csv": {2, 0},
		"part-00004.csv": {2, 2}} {
		if got := m.partName(at[0], at[1], ".csv"); got != want {
			t.Errorf("the name of part %d of shard %d is %s, want %s", at[1], at[0], got, want)
		}
	}
}

// Releases that shards cannot make are refused, with their place, whatever other errors there are.
func TestWhatAPlanRefuses(t *testing.T) {
	for _, c := range []struct {
		name, old, with, want string
		change                func(*config.Pipeline)
	}{
		{name: "a percentile", old: "masks:\n", with: "masks:\n  - topcode: {columns: [wage], upper_percentile: 90}\n",
			want: "masks: a mask takes a percentile or a mean of all records first"},
		{name: "frequencies", old: "masks:\n",
			with: "masks:\n  - pram: {columns: [region], keep: 0.5, categories: [a, b], invariant: true}\n",
			want: "masks: a mask counts the categories of all records first"},
		{name: "a mean, last", old: "sink:", with: "  - topcode: {columns: [age], upper: 60, replace: mean}\nsink:",
			want: "masks: a mask takes a percentile or a mean of all records first"},
		{name: "a topic", old: "sink: {csv: {path: released}}", with: `sink: {kafka: {brokers: ["localhost:9"], topic: out}}`,
			want: "sink.kafka: cannot be written in parts"},
		{name: "a quarantine in a topic", change: func(p *config.Pipeline) {
			p.Quarantine.Kafka = &config.QuarantineTopic{Topic: "bad"}
		}, want: "quarantine.kafka: a release in shards lists its quarantine in a file"},
		{name: "snapshots", change: func(p *config.Pipeline) {
			p.Assess.Emit = make([]config.Emit, 1)
		}, want: "assess.emit: snapshots are of one run"},
		{name: "folders with names", old: "in.csv", with: "in",
			want: "source.csv.path: the files lie in folders named by kind"},
		{name: "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			prepare(t, "csv", 20, "")
			text, err := os.ReadFile("pipeline.yaml")
			if err != nil {
				t.Fatal(err)
			}
			in, err := os.ReadFile("in.csv")
			if err != nil {
				t.Fatal(err)
			}
			write(t, "in/kind=a/x.csv", in)
			if c.with != "" {
				text = []byte(strings.Replace(string(text), c.old, c.with, 1))
			}
			write(t, "pipeline.yaml", append(text, "unlisted: drop\n"...))
			p := load(t)
			if c.change != nil {
				c.change(p)
			}
			pl := plantest.New(t, p)
			var wrong config.Errors
			if err := check(pl); c.want == "" && err != nil || c.want != "" &&
				(!errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("check returns %v, want %s", err, c.want)
			}
		})
	}
}

// A commit reads of a state what it needs: pieces beyond the limit are not looked at, and those before it must be what
// the state says. They may be in memory or, where a state is large, in the file only.
func TestPiecesOfStates(t *testing.T) {
	t.Chdir(t.TempDir())
	s := &State{Plan: "p", Shard: 2, assessment: []byte("measured"), exchange: []byte("exchanged")}
	for i, text := range []string{"one", "two", "three"} {
		sum := sha256.Sum256([]byte(text))
		s.Pieces = append(s.Pieces,
			StatePiece{Lowest: uint32(10 * i), Bytes: int64(len(text)), SHA256: sum[:], data: []byte(text)})
	}
	if err := s.Write("2.state"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("2.state")
	if err != nil {
		t.Fatal(err)
	}
	defer func(n int64) { coreAtOnce = n }(coreAtOnce)
	for name, once := range map[string]int64{"in memory": int64(len(text)), "the core": int64(len(text)) - 11,
		"one piece": int64(len(text)) - 8, "next to nothing": int64(len(stateMagic)) + 8} {
		coreAtOnce = once
		for limit, want := range map[uint32][]string{0: {"one"}, 9: {"one"}, 10: {"one", "two"},
			20: {"one", "two", "three"}} {
			got, err := readState(t.Context(), "2.state")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var pieces []string
			err = got.sample(t.Context(), func() uint32 { return limit }, func(data []byte) error {
				pieces = append(pieces, string(data))
				return nil
			})
			if err != nil || !slices.Equal(pieces, want) || string(got.assessment) != "measured" ||
				string(got.exchange) != "exchanged" {
				t.Errorf("%s, limit %d: pieces %v, error %v, want %v", name, limit, pieces, err, want)
			}
			if got.release(); got.assessment != nil || got.exchange != nil || got.Pieces[0].data != nil ||
				got.Write("again.state") == nil {
				t.Errorf("%s: a state that was released has a content", name)
			}
		}
		if once == int64(len(text)) {
			continue // what is in memory is not read again
		}
		got, err := readState(t.Context(), "2.state")
		if err != nil {
			t.Fatal(err)
		}
		broken := slices.Clone(text)
		broken[len(text)-1] ^= 1
		write(t, "2.state", broken)
		all := func() uint32 { return 20 }
		if err := got.sample(t.Context(), all, func([]byte) error { return nil }); err == nil ||
			err.Error() != "2.state: is damaged: run the shard again" {
			t.Errorf("%s: a piece that was changed: error %v", name, err)
		}
		if err := got.sample(t.Context(), func() uint32 { return 19 }, func([]byte) error { return nil }); err != nil {
			t.Errorf("%s: a piece that is not needed was changed: error %v", name, err)
		}
		write(t, "2.state", text)
		full := errors.New("for the test")
		if err := got.sample(t.Context(), all, func([]byte) error { return full }); err != full {
			t.Errorf("%s: error %v, want the one of add", name, err)
		}
	}
	for n := range text {
		write(t, "2.state", text[:n])
		if s, err := readState(t.Context(), "2.state"); s != nil || err == nil {
			t.Fatalf("%d of %d bytes: error %v", n, len(text), err)
		}
	}
}
