package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/assess/report/internal/example"
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

var update = flag.Bool("update", false, "rewrite the golden files and the schema")

// examples are reports for many tests.
var examples = map[string]func() *report.Report{
	"released": example.Released, "withheld": example.Withheld, "hostile": example.Hostile,
	"empty": func() *report.Report { return &report.Report{} },
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (rewrite with -update)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the current output at byte %d (rewrite with -update)", path, firstDifference(got, want))
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

func must(t *testing.T) func([]byte, error) []byte {
	return func(text []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

func TestGolden(t *testing.T) {
	for _, name := range []string{"released", "withheld", "hostile"} {
		t.Run(name, func(t *testing.T) {
			r := examples[name]()
			p := r.Public([]string{"sd", "phi", "tiers", "rate"})
			base := filepath.Join("testdata", name)
			golden(t, base+".json", must(t)(r.JSON()))
			golden(t, base+".html", must(t)(r.HTML()))
			golden(t, base+".public.json", must(t)(p.JSON()))
			golden(t, base+".public.html", must(t)(p.HTML()))
			var text bytes.Buffer
			r.Summary(&text, false, 0, []string{"release  out/release.parquet"})
			golden(t, base+".txt", text.Bytes())
		})
	}
	r := example.Released()
	golden(t, filepath.Join("testdata", "ru-map.svg"),
		figure.RUMapSVG(report.MapOf(&r.Columns[0], r.Gate), figure.SVGOptions{Standalone: true}))
}

func TestSchemaIsCurrent(t *testing.T) {
	golden(t, "report.schema.json", must(t)(report.Schema()))
}

func TestReportsFollowTheSchema(t *testing.T) {
	text := must(t)(report.Schema())
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("report.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(text []byte) error {
		v, err := validator.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	for name, make := range examples {
		if err := check(must(t)(make().JSON())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	snapshot := example.Released()
	snapshot.Snapshot = 3
	snapshot.Window = &report.Window{Columns: snapshot.Columns, Records: snapshot.Records}
	if err := check(must(t)(json.Marshal(snapshot))); err != nil {
		t.Errorf("snapshot: %v", err)
	}
	good := string(must(t)(example.Released().JSON()))
	for what, change := range map[string][2]string{
		"another schema":   {report.SchemaName, "sdlfilter.report/2"},
		"unknown member":   {`"key_id"`, `"secret": 1, "key_id"`},
		"word for a count": {`"read": 28155`, `"read": "many"`},
		"word for a risk":  {`"R": 3.`, `"R": "small", "x": 3.`},
		"missing member":   {`"masked": true,`, ``},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s: the sample holds no %s", what, change[0])
		}
		if check([]byte(bad)) == nil {
			t.Errorf("%s: the schema allows it", what)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	for name, make := range examples {
		first := must(t)(make().JSON())
		r, err := report.Parse(first)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if second := must(t)(r.JSON()); !bytes.Equal(first, second) {
			t.Errorf("%s: changes on its way through Parse", name)
		}
	}
	want := example.Released()
	got, err := report.Parse(must(t)(want.JSON()))
	if err != nil {
		t.Fatal(err)
	}
	// NaN, which stands for a missing standard error, is not equal to any value.
	for i := range want.Columns {
		standardErrors := func(c *assess.ColumnMeasures) []*assess.Float {
			list := []*assess.Float{&c.Utility.SE}
			for k := range c.Risk {
				list = append(list, &c.Risk[k].SE)
			}
			return list
		}
		back := standardErrors(&got.Columns[i])
		for k, se := range standardErrors(&want.Columns[i]) {
			if math.IsNaN(float64(*se)) && math.IsNaN(float64(*back[k])) {
				*se, *back[k] = 0, 0
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("Parse does not give back the report that JSON wrote")
	}
	h, err := report.Parse(must(t)(example.Hostile().JSON()))
	if err != nil {
		t.Fatal(err)
	}
	risk := h.Columns[0].Risk
	if !math.IsInf(float64(risk[1].R), 1) || !math.IsNaN(float64(risk[2].R)) {
		t.Errorf("R = Infinity, null read back as %v, %v", risk[1].R, risk[2].R)
	}
}

func TestColumnsKeepTheirOrder(t *testing.T) {
	r := &report.Report{Columns: report.Columns{{Name: "z"}, {Name: "a"}, {Name: "m/~\"<"}}}
	got, err := report.Parse(must(t)(json.Marshal(r)))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range r.Columns {
		if got.Columns[i].Name != c.Name {
			t.Errorf("column %d is %q, want %q", i, got.Columns[i].Name, c.Name)
		}
	}
}

func TestEmptyListsAreLists(t *testing.T) {
	text := string(
		must(t)(json.Marshal(&report.Report{Columns: report.Columns{{Name: "x"}}, Masks: []report.Mask{{Mask: "noise"}}})))
	for _, want := range []string{`"rules":[]`, `"risk":[]`, `"masks":[{"mask":"noise","columns":[]`,
		`"correlation":{"columns":[],"original":[],"released":[]}`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing from %s", want, text)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                      "not JSON",
		`{"schema": "other/1"}`: `schema: must be "sdlfilter.report/1"`,
		`{"schema": "sdlfilter.report/1", "records": {"read": "4711"}}`:          "records.read",
		`{"schema": "sdlfilter.report/1", "columns": []}`:                        "must be an object",
		`{"schema": "sdlfilter.report/1", "columns": {"a": {}, "a": {}}}`:        "must be there once",
		`{"schema": "sdlfilter.report/1", "columns": {"a": {"masked": "4711"}}}`: "masked",
	} {
		_, err := report.Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want an error with %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "4711") {
			t.Errorf("the error contains a value: %v", err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, make := range examples {
		text, err := make().JSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add(
		[]byte(
			`{"schema":"sdlfilter.report/1","columns":{"a":{"risk":[{"R":"Infinity"}]}},"masks":[{"parameters":{"x":[1,{"above":2}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := report.Parse(text)
		if err != nil {
			return
		}
		first, err := r.JSON()
		if err != nil {
			return // a time that RFC 3339 cannot represent
		}
		again, err := report.Parse(first)
		if err != nil {
			t.Fatalf("cannot read its own output: %v", err)
		}
		second, err := again.JSON()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("not stable: %v", err)
		}
		for _, page := range []func() ([]byte, error){r.HTML, r.Public(nil).HTML, r.Public(nil).JSON} {
			if _, err := page(); err != nil {
				t.Fatal(err)
			}
		}
		r.Summary(&bytes.Buffer{}, true, 0, nil)
	})
}

func TestConcurrentUse(t *testing.T) {
	r := example.Released()
	want := must(t)(r.HTML())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := r.HTML()
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("differs under concurrent use: %v", err)
			}
			if _, err := r.Public([]string{"sd"}).HTML(); err != nil {
				t.Error(err)
			}
			if _, err := r.JSON(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestSetMeasuresSaysWhatIsSampled(t *testing.T) {
	var r report.Report
	r.SetMeasures(&assess.Measures{Records: 1_000_000, Sample: 100_000, Columns: []assess.ColumnMeasures{
		{Name: "x", Risk: []assess.Risk{{Target: "p10", Replicates: 200}}}}})
	text := strings.Join(r.Sampled.FromSample, " ")
	for _, want := range []string{"M = 200", "100,000 of 1,000,000", "10 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from: %s", want, text)
		}
	}
	r.SetMeasures(&assess.Measures{Records: 500, Sample: 500, Columns: []assess.ColumnMeasures{{Name: "x"}}})
	if text := strings.Join(r.Sampled.FromSample, " "); !strings.Contains(text, "no replicates") ||
		strings.Contains(text, "keyed sample") {
		t.Errorf("a release without replicates and without sampling has the text: %s", text)
	}
	if r.SetMeasures(&assess.Measures{Records: 500}); r.Sampled != nil {
		t.Errorf("a release of which nothing is measured has the text: %v", r.Sampled)
	}
}
