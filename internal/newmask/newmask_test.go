package newmask

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/explore"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
	"github.com/sdlfilter/sdlfilter/transform"
)

// blur masks like bias and describes nothing.
type blur struct {
	transform.Bias `yaml:"as"`
}

func (*blur) Describe() transform.Description { return transform.Description{} }

// peek is blur that reads another column without declaring where it is named.
type peek struct {
	transform.Bias `yaml:"as"`
}

func (*peek) Describe() transform.Description { return transform.Description{} }

func (*peek) Reads() []string { return []string{"secret"} }

func init() {
	transform.Register(
		transform.Kind{Name: "blur", Doc: "says nothing", New: func() transform.Params { return new(blur) }},
		transform.Kind{Name: "peek", Doc: "says nothing", New: func() transform.Params { return new(peek) }})
}

func TestNothingIsSaid(t *testing.T) {
	phi := 0.1
	of := transform.Bias{Columns: []string{"wage"}, Phi: &phi}
	for _, p := range []transform.Params{&blur{Bias: of}, &peek{Bias: of}} {
		for what, answered := range map[string]bool{
			"scope":                        transform.ScopeOf(p) != transform.ScopeUndeclared,
			"that it stays within records": !transform.MixesRecords(p),
			"that it does not compute":     !transform.Computes(p),
			"parameters":                   transform.ParametersOf(p) != nil, "action": transform.ActionOf(p, "wage", 1) != nil,
		} {
			if answered {
				t.Errorf("%T describes its %s", p, what)
			}
		}
		if fits, _ := transform.FitsData([]transform.Spec{{Params: p}}, "wage"); !fits {
			t.Errorf("%T is taken for one whose values are each a draw about their own original", p)
		}
		if _, ok := transform.MapAxis(p); ok {
			t.Errorf("%T describes an axis", p)
		}
		if _, columns := transform.RelativeTo(p); columns != nil {
			t.Errorf("%T describes the reference of its amount", p)
		}
		if _, ok := transform.Alone([]transform.Spec{{Params: p}}, "wage"); ok {
			t.Errorf("%T can be restricted to one column", p)
		}
		if left := transform.Unmixed([]transform.Spec{{Params: p}}); len(left) != 1 {
			t.Errorf("%T is taken for one that only moves values", p)
		}
	}
	for _, kind := range []string{"blur", "peek", "no such mask"} {
		if transform.PublishingKind(kind) != nil {
			t.Errorf("%s describes what may be published", kind)
		}
	}
}

// load returns a configuration of 500 wages with these masks.
func load(t *testing.T, masks string, lines ...string) (*config.Pipeline, error) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	data := "wage,region\n"
	for range 500 {
		data += fmt.Sprintf("%.2f,%d\n", 500*math.Exp(0.5*r.NormFloat64()), r.IntN(4))
	}
	write("in.csv", data)
	write("k", "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n")
	source := "csv: {path: " + dir + "/in.csv}"
	text := "version: 1\nkey: {file: " + dir +
		"/k}\ncolumns: {wage: {role: sensitive, decimals: 2}, region: {role: other}}\n" +
		"sink: {csv: {path: " + dir + "/out.csv}}\nmasks: " + masks + "\n"
	for _, line := range lines {
		if after, ok := strings.CutPrefix(line, "source: "); ok {
			source = after
			continue
		}
		text += strings.ReplaceAll(line, "DIR", dir) + "\n"
	}
	return config.Parse(filepath.Join(dir, "pipeline.yaml"), []byte(text+"source: {"+source+"}\n"), config.Options{})
}

const (
	blurred = "[{blur: {as: {columns: [wage], phi: 0.0613}}}]"
	mixed   = "[{noise: {columns: [wage], sd: 17}}, {blur: {as: {columns: [wage], phi: 0.0613}}}]"
)

// TestPublicReport: nothing follows from a mask without descriptions, whatever is to be published;
// only an efficiency that the steward names is published.
func TestPublicReport(t *testing.T) {
	for _, masks := range []string{blurred, mixed} {
		for _, publish := range []string{
			"[]", "[as]", "[sd, phi, range, tiers, distribution, as, rate, mode, lower, upper]"} {
			p, err := load(t, masks, "report: {json: DIR/r.json, html: DIR/r.html, publish: "+publish+"}",
				"assess: {replicates: 5}")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Pipeline(t.Context(), p, pipeline.Options{}); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(p.Report.JSON)
			read := func(name string) string {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			public, err := report.ParsePublic([]byte(read("r.public.json")))
			if err != nil {
				t.Fatal(err)
			}
			if wage, _ := public.Columns.Get("wage"); wage.Utility != nil {
				t.Errorf("%s, publish %s: the efficiency, from which φ follows, is published", masks, publish)
			}
			note, ok := public.Note.Columns.Get("wage")
			if !ok || note.Correction != report.CorrectionNone || note.Corrected != nil || public.Note.Programs != nil {
				t.Errorf("%s, publish %s: the note corrects %+v", masks, publish, note)
			}
			for _, s := range note.Statistics {
				if !strings.HasPrefix(s.Text, "No correction is known") {
					t.Errorf("%s, publish %s: the note about the %s: %s", masks, publish, s.Statistic, s.Text)
				}
			}
			for _, name := range []string{"r.public.json", "r.public.html"} {
				if strings.Contains(read(name), "0.0613") {
					t.Errorf("%s, publish %s: %s shows φ", masks, publish, name)
				}
			}
		}
	}
}

// TestRefusals: features that need to know the mask are refused, with its name.
func TestRefusals(t *testing.T) {
	fail := func(what, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
	_, err := load(t, blurred, "source: csv: {path: '-', types: {wage: float64}}")
	fail("a source that is read once",
		"masks[0].blur: must not be used here: standard input can be read only once, and the mask does not say that one pass is enough", err)

	_, err = load(t, "[{peek: {as: {columns: [wage], phi: 0.1}}}]")
	fail("a column that is not listed", `masks[0].peek: must be one of the listed columns, got "secret"`, err)

	_, err = load(t, blurred, "assess: {intruder: {inversion: true}}")
	fail("inversion", "assess.intruder.inversion: needs masks that say what they do to a value; masks[0].blur does not",
		err)

	p, err := load(t, blurred, "assess: {keys: [wage], intruder: {bayes: {knowledge: d1}}, replicates: 2}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Pipeline(t.Context(), p, pipeline.Options{})
	fail("a snooper who knows the masks", `assess.intruder.bayes: the mask blur does not say what it does to "wage"`, err)

	if p, err = load(t, blurred); err != nil {
		t.Fatal(err)
	}
	_, err = explore.Map(t.Context(), p, pipeline.Options{})
	var problems config.Errors
	if !errors.As(err, &problems) {
		t.Errorf("map: got %v, want a problem of the configuration", err)
	}
	fail("map", "no mask has an amount that could vary by default", err)
}

// TestGate: risk and utility are measured all the same, assuming that records are mixed, and the
// gate judges them.
func TestGate(t *testing.T) {
	p, err := load(t, blurred, "gate: {rules: [{column: wage, min_efficiency: 0.9999}]}", "assess: {replicates: 20}")
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Pipeline(t.Context(), p, pipeline.Options{})
	if err == nil && (r == nil || r.Report == nil || r.Report.Gate.Passed) {
		t.Errorf("a release with φ = .06 passed an efficiency of .9999")
	}
}
