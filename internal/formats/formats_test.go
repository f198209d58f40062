package formats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/draft"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/foreign"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
)

// Every entry is complete and consistent.
func TestEntries(t *testing.T) {
	names, extensions := map[string]bool{}, map[string]string{}
	for _, f := range formats.All {
		if f.Name == "" || names[f.Name] {
			t.Errorf("%q: must be a name of its own", f.Name)
		}
		names[f.Name] = true
		if (f.NewSource == nil) != (f.SourceDoc == "") || (f.NewSink == nil) != (f.SinkDoc == "") ||
			(f.At == nil) != (len(f.Extensions) == 0) {
			t.Errorf("%s: is described by halves", f.Name)
		}
		for _, ext := range f.Extensions {
			if other, taken := extensions[ext]; taken || ext[0] != '.' || ext != strings.ToLower(ext) {
				t.Errorf("%s: extension %q, which %q has", f.Name, ext, other)
			}
			extensions[ext] = f.Name
			path := "some/file" + ext
			src := f.At(path)
			if reflect.TypeOf(src) != reflect.TypeOf(f.NewSource()) {
				t.Errorf("%s: At gives a %T, NewSource a %T", f.Name, src, f.NewSource())
			}
			if at := reflect.ValueOf(src).Elem().FieldByName("Path").String(); at != path {
				t.Errorf("%s: the source of %s reads %q", f.Name, path, at)
			}
			if ps := src.Check(); len(ps) > 0 {
				t.Errorf("%s: a path alone does not make a source: %v", f.Name, ps)
			}
		}
	}
}

func TestOf(t *testing.T) {
	for path, want := range map[string]string{
		"a.csv": "csv a", "A.CSV": "csv A", "a.tsv.gz": "csv a", "a.csv.ZST": "csv a", "b/a.pq": "parquet b/a",
		"data.parquet/": "parquet data",
		"d/*.jsonl.gz":  "jsonl d/*", "a.ndjson": "jsonl a", "x.ipc": "arrow x", "x.feather": "arrow x",
		"x.arrows":     "arrow x",
		"x.toys":       "toy x",
		"a.parquet.gz": "", "kafka": "", "csv": "", "a.csv/b": "", "": "", "a.json": "", "topic.kafka": "", "a.csv.gz.gz": "",
	} {
		f, base, err := formats.Of(path)
		got := strings.TrimSpace(f.Name + " " + base)
		if err != nil {
			got = ""
			if !strings.Contains(err.Error(), ".parquet, .pq, .csv, ") || !strings.Contains(err.Error(), " or .mute") {
				t.Errorf("%q: the error does not list the extensions: %v", path, err)
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// toys writes 400 records with a wage, a region and a secret.
func toys(t *testing.T, name string) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	text := "wage region\n# a remark\n"
	for range 400 {
		text += fmt.Sprintf("%.2f %d\n", 500*math.Exp(0.5*r.NormFloat64()), r.IntN(4))
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "k"),
		[]byte("MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load returns a configuration of toys.
func load(t *testing.T, in, source, sink string) (*config.Pipeline, error) {
	t.Helper()
	dir := filepath.Dir(in)
	text := strings.ReplaceAll(
		"version: 1\nkey: {file: DIR/k}\ncolumns: {wage: {role: sensitive, decimals: 2}, region: {role: other}}\n"+
			"masks: [{noise: {columns: [wage], sd: 35%}}]\nassess: {replicates: 5}\nreport: {json: DIR/r.json}\nsource: {"+
			source+
			"}\nsink: {"+sink+"}\n", "DIR", dir)
	return config.Parse(filepath.Join(dir, "pipeline.yaml"), []byte(strings.ReplaceAll(text, "IN", in)), config.Options{})
}

// TestToy: a listed format is known everywhere.
func TestToy(t *testing.T) {
	in := toys(t, "in.toy")
	dir := filepath.Dir(in)

	schema, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{`"toy"`, `"toys to be"`, "what lines begin with that are no records"} {
		if !strings.Contains(string(schema), word) {
			t.Errorf("the schema does not know %s", word)
		}
	}

	// A first configuration, and a complete one.
	src, err := formats.SourceOf(in)
	if err != nil {
		t.Fatal(err)
	}
	d, err := draft.Of(t.Context(), in, src)
	if err != nil {
		t.Fatal(err)
	}
	if want := `source: {toy: {path: ` + in + `, marks: "#"}}`; !strings.Contains(d.Write(), want) ||
		!strings.Contains(d.Write(), "sink: {toy: {path: release/in.toy}}") {
		t.Errorf("init does not write %s:\n%s", want, d.Write())
	}
	if !slices.ContainsFunc(formats.Options(), func(o formats.Option) bool {
		return o.Name == "marks" && o.Format == "toy"
	}) {
		t.Error("the command line does not have the format's option")
	}
	p, err := load(t, in, `toy: {path: IN, marks: "#", streams: 3}`, "toy: {path: DIR/out.toy}")
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.Pipeline(t.Context(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Report.Records.Released != 400 {
		t.Errorf("%d records are released", res.Report.Records.Released)
	}
	// The sink does not describe its content, so the report makes no claim about it.
	if res.Report.Release != nil {
		t.Errorf("the report contains a digest of a release that does not describe its content: %+v", res.Report.Release)
	}

	// A release made by another tool.
	original := &toyConfig{Path: in, Marks: "#"}
	released, err := formats.SourceOf(filepath.Join(dir, "out.toy"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := foreign.Assess(t.Context(), foreign.Release{Original: original, Released: released}, new(pipeline.Progress))
	if err != nil {
		t.Fatal(err)
	}
	if m.OriginalN != 400 || m.Released != 400 {
		t.Errorf("measured %d and %d records", m.OriginalN, m.Released)
	}

	// Errors of the configuration contain its text, and its source is not overwritten.
	if _, err := load(t, in, "toy: {path: IN, mark: 3}", "toy: {path: DIR/out.toy}"); err == nil ||
		!strings.Contains(err.Error(), "source.toy.mark") {
		t.Errorf("got %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	for _, sink := range []string{"csv", "jsonl", "parquet", "arrow", "toy"} {
		p, err := load(t, in, `toy: {path: IN, marks: "#"}`, sink+": {path: "+link+"}")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Pipeline(t.Context(), p, pipeline.Options{}); err == nil ||
			!strings.Contains(err.Error(), "the place of its own source") {
			t.Errorf("%s: a release in the place of its source: %v", sink, err)
		}
	}
}

// TestNothingIsSaid: an ability that a connector does not declare is treated as missing, and a
// release that needs it is refused.
func TestNothingIsSaid(t *testing.T) {
	in := toys(t, "in.mute")
	attempt := func(source, sink string) error {
		p, err := load(t, in, source, sink)
		if err != nil {
			return err
		}
		_, err = run.Pipeline(t.Context(), p, pipeline.Options{})
		return err
	}
	dir := filepath.Dir(in)
	for _, c := range []struct{ source, sink, want string }{
		{`mute: {path: IN, marks: "#"}`, "toy: {path: DIR/out.toy}", "does not say whether its data change"},
		{`mute: {path: IN, marks: "#"}`, "csv: {path: DIR/out.csv}", "does not say whether its data change"},
		{`mute: {path: IN, marks: "#", streams: 2}`, "toy: {path: DIR/out.toy}",
			"does not say how its records are divided among them"},
		{"kafka: {topics: [a], brokers: [127.0.0.1:1]}", "toy: {path: DIR/out.toy}",
			"must be kafka or parquet (rolling files)"},
	} {
		if err := attempt(c.source, c.sink); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s into %s: %v, want an error that %s", c.source, c.sink, err, c.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out*")); len(left) > 0 {
		t.Errorf("a release was published: %q", left)
	}
}
