package statfile

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// wave is a file with one column of numbers.
type wave struct {
	typ     readstat.Type
	label   string
	measure int
	labels  []readstat.Label
	missing []readstat.Range
	weight  bool
	format  string
	numbers []float64
}

func (w wave) write(t *testing.T, kind readstat.Kind, path string, more ...readstat.Out) {
	t.Helper()
	var file bytes.Buffer
	target := readstat.Target{Kind: kind, Rows: int64(len(w.numbers)),
		Columns: append([]readstat.Out{{Variable: readstat.Variable{
			Name: "q", Type: w.typ, Label: w.label, Measure: w.measure, Format: w.format, Set: "q", Missing: w.missing},
			Labels: w.labels, Weight: w.weight}}, more...)}
	out, err := readstat.NewWriter(t.Context(), &file, target)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	columns := slices.Repeat([]readstat.Column{{Numbers: w.numbers, States: make([]byte, len(w.numbers))}},
		len(target.Columns))
	if err := out.Rows(t.Context(), readstat.AppendChunk(nil, columns, len(w.numbers)), 0); err != nil {
		t.Fatal(err)
	}
	if err := out.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func label(x float64, text string) readstat.Label { return readstat.Label{Number: x, Label: text} }

// numbers reads the only column, with the stream and place of each record.
func numbers(t *testing.T, src connectors.Source, cut connectors.Cut) (all []float64, places [][2]int64) {
	t.Helper()
	layout := &microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: 0, As: microdata.Numbers}}}
	r, err := src.Read(t.Context(), layout, cut)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		raw, err := r.Next(t.Context())
		if err == io.EOF {
			return all, places
		}
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		if cut.Records > 0 && b.N > cut.Records || raw.Bytes() < 1 {
			t.Errorf("a block of %d records, %d bytes", b.N, raw.Bytes())
		}
		for i := range b.N {
			all = append(all, b.Columns[0].Original.Values[i])
			places = append(places, [2]int64{int64(b.Stream), b.First + int64(i)})
		}
	}
}

// The files of a folder are read one after another, and what is said of a column is what is true in each of them.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	waves := []wave{
		{typ: readstat.Int8, label: "Income 2023", labels: []readstat.Label{label(1, "low"), label(3, "high")},
			numbers: []float64{1, 2, 3}},
		{typ: readstat.Int8, label: "Income 2023"},
		{typ: readstat.Int32, label: "Income 2024", labels: []readstat.Label{label(2, "middle"), label(3, "high")},
			numbers: []float64{70000, 3}},
		{typ: readstat.Float, label: "Income 2024", numbers: []float64{0.5, 2, 4, 5}},
	}
	for i, w := range waves {
		w.write(t, readstat.DTA, filepath.Join(dir, string(rune('a'+i))+".dta"))
	}
	src, err := (&SourceConfig{Path: dir, program: stata}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	f := src.Schema().Fields[0]
	var labels []string
	for _, v := range f.Described.Values {
		labels = append(labels, v.Label)
	}
	if src.Records() != 9 || len(src.Streams()) != 4 || f.Type.String() != "float64" ||
		f.Described.Stored != int(readstat.Double) || f.Described.Label != "" ||
		!slices.Equal(labels, []string{"low", "middle", "high"}) {
		t.Errorf("%d records, %s, %+v", src.Records(), f.Type, f.Described)
	}
	want := []float64{1, 2, 3, 70000, 3, 0.5, 2, 4, 5}
	places := [][2]int64{{0, 0}, {0, 1}, {0, 2}, {2, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}, {3, 3}}
	for _, cut := range []connectors.Cut{{}, {Records: 1}, {Records: 2}, {Records: 2, Exact: true},
		{Records: 100, Exact: true}} {
		if got, at := numbers(t, src, cut); !slices.Equal(got, want) || !slices.Equal(at, places) {
			t.Errorf("%+v: %v at %v", cut, got, at)
		}
	}
	to := filepath.Join(t.TempDir(), "o.dta")
	release(t, &SourceConfig{Path: dir, program: stata}, &StataSink{Path: to, Labels: []string{"values", "variables"}},
		nil, nil)
	if got := stored(t, &SourceConfig{Path: to, program: stata})["q"]; !slices.Equal(got.Numbers, want) {
		t.Errorf("released: %v", got.Numbers)
	}
	if d := describedAs(t, &SourceConfig{Path: to, program: stata})["q"]; len(d.Values) != 3 || d.Label != "" {
		t.Errorf("released: %+v", d)
	}
}

// Files of which one says what is not true in another are not read together.
func TestFoldersThatDisagree(t *testing.T) {
	base := wave{typ: readstat.Double, format: "F8.2", measure: 1, labels: []readstat.Label{label(1, "canary one")},
		missing: []readstat.Range{{From: -9, To: -9}}, weight: true, numbers: []float64{1}}
	for want, change := range map[string]func(w *wave) []readstat.Out{
		"": func(w *wave) []readstat.Out { w.measure, w.labels = 2, nil; return nil },
		"column 1 has another label": func(w *wave) []readstat.Out {
			w.labels = []readstat.Label{label(1, "canary two")}
			return nil
		},
		"column 1 declares other missing codes": func(w *wave) []readstat.Out { w.missing = nil; return nil },
		"column 1 is the weight":                func(w *wave) []readstat.Out { w.weight = false; return nil },
		"column 1 is of another type":           func(w *wave) []readstat.Out { w.format = "DATE11"; return nil },
		"has 2 columns": func(w *wave) []readstat.Out {
			return []readstat.Out{{Variable: readstat.Variable{Index: 1, Name: "r", Type: readstat.Double, Format: "F8.2"}}}
		},
	} {
		dir := t.TempDir()
		base.write(t, readstat.SAV, filepath.Join(dir, "a.sav"))
		second := base
		more := change(&second)
		second.write(t, readstat.SAV, filepath.Join(dir, "b.sav"), more...)
		src, err := (&SourceConfig{Path: filepath.Join(dir, "*.sav"), program: spss}).Open(t.Context())
		if want == "" {
			if err != nil {
				t.Error(err)
			} else if d := src.Schema().Fields[0].Described; d.Measure != "" || len(d.Values) != 1 {
				t.Errorf("%+v", d)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "b.sav: "+want) || !strings.Contains(err.Error(), "a.sav") ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// The widest of two types holds the values of both.
func TestWider(t *testing.T) {
	types := []readstat.Type{readstat.Int8, readstat.Int16, readstat.Int32, readstat.Float, readstat.Double}
	greatest := []float64{100, 32740, 2147483620, 1 << 24, 1 << 53} // up to which a type holds all integers
	holds := func(t readstat.Type, x float64) bool {
		return !math.IsInf(x, 0) && greatest[slices.Index(types, t)] >= x
	}
	for i, a := range types {
		for k, b := range types {
			w := wider(a, b)
			if !holds(w, greatest[i]) || !holds(w, greatest[k]) || (a >= readstat.Float || b >= readstat.Float) &&
				w < readstat.Float {
				t.Errorf("%d and %d become %d", a, b, w)
			}
			if i == k && w != a {
				t.Errorf("%d becomes %d", a, w)
			}
		}
	}
	if wider(readstat.Int8, readstat.Float) != readstat.Float || wider(readstat.Float, readstat.Int16) != readstat.Float {
		t.Error("small integers and floats")
	}
	if wider(readstat.String, readstat.StringRef) != readstat.StringRef ||
		wider(readstat.String, readstat.String) != readstat.String {
		t.Error("texts")
	}
}

// A file that is no file of the format is told apart: a compressed one, a pipe, standard input, one in a folder named
// by a value.
func TestOtherInputs(t *testing.T) {
	dir := t.TempDir()
	plain, err := os.ReadFile("testdata/made.sav")
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "f", "year=2020"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"a.sav.gz": zipped.Bytes(), "b.sav": zipped.Bytes(), "empty.sav": nil,
		"f/year=2020/c.sav": plain} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"-": "pipe", "": "must name a file", filepath.Join(dir, "a.sav.gz"): "is compressed (gzip)",
		filepath.Join(dir, "b.sav"):     "is compressed (gzip)",
		filepath.Join(dir, "empty.sav"): "empty.sav", filepath.Join(dir, "f"): "key=value", "/dev/null": "not a regular file",
	} {
		if _, err := (&SourceConfig{Path: path, program: spss}).Open(t.Context()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
	src, err := made("made.sav").Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := src.Read(t.Context(), &microdata.Layout{Schema: src.Schema()}, connectors.Cut{Exact: true}); err == nil {
		t.Error("exact blocks of no number of records")
	}
	region := src.Schema().Index("region")
	if _, err := src.Read(t.Context(),
		&microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: region, As: microdata.Numbers}}},
		connectors.Cut{}); err == nil {
		t.Error("numbers of a column of texts")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := src.Read(ended, &microdata.Layout{Schema: src.Schema()}, connectors.Cut{}); err == nil {
		t.Error("a pass after its end")
	}
}

// A pass goes on where it was when a context ended that was only that of one call, and ends when it is closed.
func TestNextGoesOn(t *testing.T) {
	src, err := made("made.sav").Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	layout := &microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: 0, As: microdata.Array}}}
	r, err := src.Read(t.Context(), layout, connectors.Cut{Records: 16, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Next(ctx); err == nil {
			t.Fatal("the context had ended")
		}
		raw, err := r.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		for i := range b.N {
			seen = append(seen, b.Columns[0].Array.ValueStr(i))
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d records", len(seen))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(t.Context()); err == nil {
		t.Error("the pass goes on after its end")
	}
}
