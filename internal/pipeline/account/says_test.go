package account

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// fields is a source that only returns its columns.
type fields []microdata.Field

func (f fields) Schema() *microdata.Schema { return &microdata.Schema{Fields: f} }
func (fields) Streams() []string           { return nil }
func (fields) Records() int64              { return -1 }
func (fields) Rewindable() bool            { return true }
func (fields) Close() error                { return nil }
func (fields) Abilities() (none connectors.SourceAbilities) {
	return none
}
func (fields) Read(context.Context, *microdata.Layout, connectors.Cut) (connectors.Reader, error) {
	return nil, io.ErrUnexpectedEOF
}

// reporterOf returns the reporter of a run with some masks on two numeric columns, wage and debt,
// next to categories.
func reporterOf(t *testing.T, masks ...transform.Params) *Reporter {
	t.Helper()
	p := &config.Pipeline{Name: "n"}
	for _, m := range masks {
		p.Masks = append(p.Masks, transform.Spec{Params: m})
	}
	setup := transform.Setup{Key: keytest.Key(1), Window: 8}
	var source fields
	for i, name := range []string{"wage", "debt", "age", "size"} {
		f := microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}
		if i > 1 {
			f.Type = arrow.PrimitiveTypes.Int32
		}
		source = append(source, f)
		setup.Columns = append(setup.Columns,
			transform.ColumnInfo{Name: name, Index: i, Field: f, Decimals: 0, SD: 100, Mean: 500})
		p.Columns = append(p.Columns, config.Column{Name: name, Role: microdata.Key})
	}
	source = append(source, microdata.Field{Name: "region", Type: arrow.BinaryTypes.String})
	p.Columns = append(p.Columns, config.Column{Name: "region", Role: microdata.Key},
		config.Column{Name: "gone", Role: microdata.Key})
	chain, err := transform.NewChain(p.Masks, setup)
	if err != nil {
		t.Fatal(err)
	}
	return &Reporter{Config: p, Chain: chain, Plan: &pipeline.Plan{Config: p, Source: source}}
}

func noiseOn(columns ...string) *transform.Noise {
	return &transform.Noise{Columns: columns, SD: &transform.Amount{Value: 10}}
}

// Warnings for each mask and column, first and last: masks that changed nothing although there were
// values, records identified by their place, and keys that were omitted. A snapshot contains only
// warnings that can still be acted on.
func TestWarnings(t *testing.T) {
	bound := 1e9
	none := &transform.Truncate{Columns: []string{"wage"}, Upper: &bound}
	sampled := &transform.Sample{}
	for _, c := range []struct {
		name         string
		masks        []transform.Params
		touched      []int64
		records      int64
		unidentified int64
		left         []string
		interim      bool
		want         []string
	}{
		{"nothing to warn of", []transform.Params{noiseOn("wage"), noiseOn("debt")}, []int64{3, 3}, 3, 0, nil, false, nil},
		{"the first changes nothing", []transform.Params{noiseOn("wage"), noiseOn("debt")}, []int64{0, 3}, 3, 0, nil, false,
			[]string{"masks[0].noise: changed no record"}},
		{"the last changes nothing", []transform.Params{noiseOn("wage"), noiseOn("debt")}, []int64{1, 0}, 3, 0, nil, false,
			[]string{"masks[1].noise: changed no record"}},
		{"there is nothing to change", []transform.Params{noiseOn("empty")}, []int64{0}, 3, 0, nil, false, nil},
		{"bounds and samples", []transform.Params{none, sampled, noiseOn("debt")}, []int64{0, 0, 0}, 3, 0, nil, false,
			[]string{"masks[2].noise: changed no record"}},
		{"no records", []transform.Params{noiseOn("wage")}, []int64{0}, 0, 0, []string{"tags"}, false, nil},
		{"a snapshot", []transform.Params{noiseOn("wage")}, []int64{0}, 3, 2, []string{"tags"}, true,
			[]string{
				"identity: 2 records have no value in any identity column and are identified by their place: once they move they have new noise"}},
		{"one without identity, and keys that are left out", []transform.Params{noiseOn("wage")}, []int64{1}, 3, 1,
			[]string{"tags"}, false,
			[]string{"identity: 1 records have no value in any identity column", "k, individual risk and SUDA2 leave out tags"}},
	} {
		r := reporterOf(t, noiseOn("wage"))
		r.Interim, r.Plan.Intruder.Left = c.interim, c.left
		r.Config.Masks = nil
		for _, m := range c.masks {
			r.Config.Masks = append(r.Config.Masks, transform.Spec{Params: m})
		}
		m := &assess.Measures{
			Records: c.records, Columns: []assess.ColumnMeasures{{Name: "wage"}, {Name: "debt"}, {Name: "empty"}}}
		m.Columns[0].Original.N, m.Columns[1].Original.N = 3, 3
		got := r.warnings(m, Effect{Changed: c.touched, Unidentified: c.unidentified})
		if len(got) != len(c.want) {
			t.Errorf("%s: warnings are %q, want beginnings %q", c.name, got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: warning %q, want one that begins with %q", c.name, got[i], want)
			}
		}
	}
}

// A report describes its configuration, key and masks, lists the loosened rules and the columns
// that are codes, judges the rules of its kind, and is withheld if one fails.
func TestReports(t *testing.T) {
	limit, half := 0.5, 0.5
	r := reporterOf(t, noiseOn("wage"), noiseOn("debt"))
	r.Version, r.KeyID = "v", "k"
	r.Config.Loosened = []config.Loosening{{Path: "a", Origin: "first", To: "x"}, {Path: "b", Origin: "last", To: "y"}}
	r.Config.Gate.Rules = []assess.Rule{{MaxLinked: &limit}, {Column: "wage", MinRMSE: &limit}}
	r.Plan.Masked = []string{"wage", "debt"}
	r.Chain.Resume([]int64{7, 5}, 2, nil)
	measures := func() *assess.Measures { return &assess.Measures{Records: 9} }
	rep := r.Report(report.Records{Counts: microdata.Counts{Read: 9, Released: 9}}, measures())
	if rep.Name != "n" || rep.Version != "v" || rep.KeyID != "k" || rep.IdentifiedByPlace != 2 || rep.Records.Read != 9 ||
		rep.Finished.IsZero() {
		t.Errorf("the report is %+v", rep)
	}
	if len(rep.Loosened) != 2 || rep.Loosened[0].Path != "a" || rep.Loosened[1].Origin != "last" {
		t.Errorf("loosened settings of the report: %+v", rep.Loosened)
	}
	if len(rep.Masks) != 2 || len(rep.Gate.Rules) != 2 || len(rep.Warnings) != 1 {
		t.Errorf("the report has %d masks, %d rules and the warnings %q, want 2, 2 and one warning", len(rep.Masks),
			len(rep.Gate.Rules), rep.Warnings)
	}
	codes := func(want ...string) {
		t.Helper()
		if got := r.codes(); !slices.Equal(got, want) {
			t.Errorf("columns of codes are %v, want %v", got, want)
		}
	}
	codes("age", "size")
	r.Config.Columns.Named("age").Unit = "years"
	codes("size")
	r.Config.Columns.Named("size").Role = microdata.Sensitive
	codes()
	r.Config.Assess.Intruder = &config.Intruder{Categorical: []string{"wage", "age", "gone", "region"}}
	codes("age", "region")
	r.Plan.Masked = []string{"debt", "age"}
	codes("wage", "region")

	r.Interim = true
	if rep := r.Judged(report.Records{Counts: microdata.Counts{Read: 4, Released: 1, Quarantined: 3}},
		measures()); len(rep.Gate.Rules) != 1 || rep.Records.MaxQuarantined != nil {
		t.Errorf("a snapshot is judged by the rules %+v, want one rule and no limit on the quarantine", rep.Gate.Rules)
	}
	r.Interim, r.Config.Gate.Rules = false, nil
	for _, c := range []struct {
		stated   *float64
		lost     int64
		limit    float64
		withheld bool
	}{{nil, 0, config.MaxQuarantined, false}, {nil, 3, config.MaxQuarantined, true}, {&half, 2, 0.5, false},
		{&half, 3, 0.5, true}} {
		r.Config.Gate.MaxQuarantined = c.stated
		rep := r.Judged(report.Records{Counts: microdata.Counts{Read: 4, Released: 4 - c.lost, Quarantined: c.lost}},
			measures())
		if (rep.Withheld != "") != c.withheld || rep.Gate.Passed == c.withheld || rep.Records.MaxQuarantined == nil ||
			float64(*rep.Records.MaxQuarantined) != c.limit {
			t.Errorf("%d records lost, limit %v: withheld because %q", c.lost, c.limit, rep.Withheld)
		}
	}
}

// A bound gets a remark if it is the last mask of a column with values and a known law.
func TestNoClipRemark(t *testing.T) {
	at := 900.0
	clip := func(column string) *transform.Truncate {
		return &transform.Truncate{Columns: []string{column}, Upper: &at}
	}
	laplace := func() *transform.Noise {
		return &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: 10}, Distribution: "laplace"}
	}
	redraw := &transform.Truncate{Columns: []string{"wage"}, Upper: &at, Mode: "redraw"}
	for name, c := range map[string]struct {
		masks  []transform.Params
		n      int64
		remark bool
	}{
		"no law":            {[]transform.Params{laplace(), noiseOn("wage"), laplace(), redraw, clip("wage")}, 9, false},
		"no values":         {[]transform.Params{noiseOn("wage"), clip("wage")}, 0, false},
		"no mask on it":     {[]transform.Params{noiseOn("debt"), clip("debt")}, 9, false},
		"of another column": {[]transform.Params{noiseOn("wage"), clip("debt")}, 9, false},
		"the last but one":  {[]transform.Params{noiseOn("wage"), clip("wage"), noiseOn("debt")}, 9, true},
	} {
		r := reporterOf(t, c.masks...)
		m := &assess.ColumnMeasures{Name: "wage", Masked: true, Original: assess.Moments{N: c.n, Min: 100, Max: 900},
			Risk: []assess.Risk{{Target: "max", Knowledge: "other"}, {Target: "p50", Knowledge: assess.KnowledgeIndex},
				{Target: "max", Knowledge: assess.KnowledgeIndex, RMSE: 10}}}
		if got := r.clipRemark(m); (got != "") != c.remark {
			t.Errorf("%s: the remark on the clip is %q, want a remark: %v", name, got, c.remark)
		}
		if lower, upper, ok := r.lastClip("size"); lower != 0 || upper != 0 || ok {
			t.Errorf("%s: lastClip of a column without a mask returns the bounds %v and %v, want none", name, lower, upper)
		}
	}
	if got := usual(&assess.ColumnMeasures{Risk: []assess.Risk{{Target: "max", Knowledge: "other", RMSE: 3}}},
		"max"); got != 0 {
		t.Errorf("usual for a target without a risk by index = %v, want 0", got)
	}
}

// If a sample has drawn no record, the advice differs from that for lost records.
func TestNobodyIsReleased(t *testing.T) {
	for advice, r := range map[string]report.Records{
		"no record was drawn: ":       {Counts: microdata.Counts{Read: 5, LeftOut: 5}},
		"no record could be masked: ": {Counts: microdata.Counts{Read: 5, Quarantined: 5}},
		"no record was drawn":         {Counts: microdata.Counts{Read: 5, Quarantined: 4, LeftOut: 1}},
	} {
		v := assess.Verdict{Passed: true}
		judgeLosses(&v, config.Gate{}, r)
		if v.Passed || len(v.Rules) != 1 || !strings.HasPrefix(v.Rules[0].Advice, advice) ||
			v.Rules[0].Measure != measureReleased || v.Rules[0].Limit != 1 || v.Rules[0].Found != 0 {
			t.Errorf("want a failed rule min_released with the advice %q, got %+v", advice, v.Rules)
		}
	}
	if got := ReasonOf(microdata.Reject{Column: "wage", Reason: "r"}) + ", " +
		ReasonOf(microdata.Reject{Reason: "s"}); got != "wage: r, s" {
		t.Errorf("the reasons are %q", got)
	}
}

// The page shows the map named in the configuration. A report written to a device has no public
// file. If public files cannot be removed, that is reported.
func TestWhatReportsAreMadeOf(t *testing.T) {
	dir := t.TempDir()
	var text bytes.Buffer
	if err := rumap.WriteJSON(&text, &rumap.Map{Name: "n", Column: "wage"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "map.json"), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var f Files
	if err := f.Create(
		config.Report{Map: filepath.Join(dir, "map.json"), JSON: os.DevNull, HTML: filepath.Join(dir, "r.html")}); err != nil {
		t.Fatal(err)
	}
	if len(f.alternatives) != 1 || f.alternatives[0].Column != "wage" || f.publicJSON != nil || f.publicHTML == nil ||
		!slices.Equal(f.publicPaths, []string{filepath.Join(dir, "r.public.html")}) {
		t.Errorf("the files of the report are %+v", f)
	}
	rep := &report.Report{Gate: assess.Verdict{Passed: true}}
	rep.SetMeasures(&assess.Measures{})
	if err := f.Write(rep, nil, nil); err != nil || len(rep.Alternatives) != 1 {
		t.Errorf("Write returns %v and the report has %d maps, want 1", err, len(rep.Alternatives))
	}
	if err := errors.Join(f.publicHTML.Close(), os.Remove(f.publicHTML.Name())); err != nil {
		t.Fatal(err)
	}
	if paths, err := f.Commit(false); paths != nil || !errors.Is(err, os.ErrClosed) {
		t.Errorf("Commit returns %v and error %v, want no paths and os.ErrClosed", paths, err)
	}
	f.publicHTML = nil
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	for want, r := range map[string]*Result{
		"false 0": {Report: new(report.Report)},
		"true 3":  {Report: &report.Report{Withheld: "x", Records: report.Records{Counts: microdata.Counts{Quarantined: 3}}}},
		"true 0":  {Report: new(report.Report), Held: true},
	} {
		if got := []bool{r.Refused(), strings.HasPrefix(want, "true")}; got[0] != got[1] ||
			r.Quarantined() != int64(want[len(want)-1]-'0') {
			t.Errorf("want %s; got refused %v and %d records in quarantine", want, r.Refused(), r.Quarantined())
		}
	}
}
