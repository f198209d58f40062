package report

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/headline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func figureOf(t *testing.T, h *headline.Headline, measure string) headline.Figure {
	t.Helper()
	for _, f := range h.Figures {
		if f.Measure == measure {
			return f
		}
	}
	t.Fatalf("no figure is about %s: %+v", measure, h.Figures)
	return headline.Figure{}
}

// column returns a masked column with SD 10, mean 100 and risks with these errors.
func column(name string, risks ...assess.Risk) assess.ColumnMeasures {
	for i := range risks {
		risks[i].R = 1 / (risks[i].RMSE * risks[i].RMSE)
	}
	return assess.ColumnMeasures{Name: name, Unit: "EUR", Masked: true,
		Original: assess.Moments{N: 100, Mean: 100, SD: 10}, Risk: risks,
		Utility: assess.Utility{Efficiency: 0.9, EfficiencyGate: 0.9, Bias: 1}}
}

func asKey(c assess.ColumnMeasures) assess.ColumnMeasures {
	c.Key = true
	return c
}

func risk(target, knowledge string, rmse float64) assess.Risk {
	return assess.Risk{Target: target, Knowledge: knowledge, RMSE: assess.Float(rmse)}
}

// TestKnownBest: the figure is the smallest error, except that by the mean, of all columns relative
// to their SDs, in any order. One that breaks a rule comes first, and its colour depends on the
// rules about this target.
func TestKnownBest(t *testing.T) {
	wide := column("wide", risk("typical", "mean", 1), risk("max", "index", 5), risk("min", "position", 4))
	near := column("near", risk("p10", "index", 0.5), risk("max", "index", 2))
	unknown := column("unknown", risk("max", "index", math.NaN()))
	rule := func(column, target, knowledge string, limit float64, passed bool) assess.RuleVerdict {
		return assess.RuleVerdict{Rule: column, Column: column, Target: target, Knowledge: knowledge, Measure: "min_rmse",
			Limit: assess.Float(limit), Passed: passed}
	}
	for _, c := range []struct {
		what    string
		columns []assess.ColumnMeasures
		rules   []assess.RuleVerdict
		column  string
		rmse    float64
		tone    headline.Tone
		note    string
	}{
		{"alone", []assess.ColumnMeasures{wide}, nil, "wide", 4, headline.Neutral, "wide; min by position"},
		{"two", []assess.ColumnMeasures{wide, near}, nil, "near", 0.5, headline.Neutral, "p10 by index"},
		{"a key beside", []assess.ColumnMeasures{wide, asKey(near)}, nil, "wide", 4, headline.Neutral,
			"wide; min by position"},
		{"a key before", []assess.ColumnMeasures{asKey(near), wide}, nil, "wide", 4, headline.Neutral,
			"wide; min by position"},
		{"keys only", []assess.ColumnMeasures{asKey(wide), asKey(near)}, nil, "near", 0.5, headline.Neutral, "p10 by index"},
		{"a key with a rule", []assess.ColumnMeasures{wide, asKey(near)},
			[]assess.RuleVerdict{rule("near", "", "", 3, false)}, "near", 0.5, headline.Bad, "p10 by index"},
		{"two, other order", []assess.ColumnMeasures{near, wide}, nil, "near", 0.5, headline.Neutral, "p10 by index"},
		{"a rule on another target", []assess.ColumnMeasures{near},
			[]assess.RuleVerdict{rule("near", "max", "index", 1, true)}, "near", 0.5, headline.Neutral, "p10 by index"},
		{"a rule on it", []assess.ColumnMeasures{near}, []assess.RuleVerdict{rule("near", "p10", "", 0.25, true)}, "near",
			0.5, headline.Good, "p10 by index"},
		{"broken for what is known less", []assess.ColumnMeasures{near, wide},
			[]assess.RuleVerdict{rule("wide", "max", "index", 6, false)}, "wide", 5, headline.Bad, "max by index"},
		{"broken for one of many", []assess.ColumnMeasures{near},
			[]assess.RuleVerdict{rule("near", "p10", "", 0.25, true), rule("near", "max", "", 3, false)}, "near", 2,
			headline.Bad, "max by index"},
		{"broken by the mean", []assess.ColumnMeasures{wide}, []assess.RuleVerdict{rule("wide", "typical", "", 2, false)},
			"wide", 1, headline.Bad, "typical by mean"},
		{"broken by what is not measured", []assess.ColumnMeasures{near},
			[]assess.RuleVerdict{rule("near", "p99", "", 2, false)}, "near", 0.5, headline.Bad, "p10 by index"},
		{"not a number", []assess.ColumnMeasures{near, unknown}, nil, "unknown", math.NaN(), headline.Amber,
			"could not be computed"},
		{"not a number first", []assess.ColumnMeasures{unknown, near}, nil, "unknown", math.NaN(), headline.Amber,
			"could not be computed"},
		{"nothing measured", []assess.ColumnMeasures{column("bare")}, nil, "bare", math.NaN(), headline.Amber,
			"nothing is known"},
	} {
		r := &Report{Columns: c.columns, Gate: assess.Verdict{Rules: c.rules}}
		f := figureOf(t, r.Headline(), "known")
		same := float64(f.Value) == c.rmse || math.IsNaN(c.rmse) && math.IsNaN(float64(f.Value))
		if f.Column != c.column || !same || f.Tone != c.tone || !strings.Contains(f.Note, c.note) {
			t.Errorf("%s: %+v, want %s to ± %v, %s, %q", c.what, f, c.column, c.rmse, c.tone, c.note)
		}
	}
	doubtful := column("doubtful", risk("max", "index", 9))
	doubtful.Risk[0].Approximate = true
	for _, columns := range [][]assess.ColumnMeasures{{doubtful, near}, {near, doubtful}} {
		f := figureOf(t, (&Report{Columns: columns}).Headline(), "known")
		if f.Column != "near" || f.Tone != headline.Amber || !strings.Contains(f.Note, "of doubtful it is not known well") {
			t.Errorf("an approximate column in addition to the worst one: %+v", f)
		}
	}
}

// TestPrecisionAndBias: the smallest precision and the greatest bias in SDs. A broken rule about
// another column comes first, and figures that could not be computed are amber.
func TestPrecisionAndBias(t *testing.T) {
	a, b := column("a"), column("b")
	a.Utility.EfficiencyGate, a.Utility.Bias = 0.5, -2
	rules := []assess.RuleVerdict{{Column: "b", Measure: "min_efficiency", Limit: 0.95, Found: 0.9},
		{Column: "a", Measure: "min_efficiency", Limit: 0.4, Found: 0.5, Passed: true}}
	for _, columns := range [][]assess.ColumnMeasures{{a, b}, {b, a}} {
		h := (&Report{Columns: columns}).Headline()
		if f := figureOf(t, h, "precision"); f.Column != "a" || f.Tone != headline.Neutral || f.Text != "50.0\u00a0%" {
			t.Errorf("precision: %+v", f)
		}
		if f := figureOf(t, h, "bias"); f.Column != "a" || f.Text != "−2.00\u00a0%" ||
			!strings.Contains(f.Note, "a shift of −2.00 EUR") {
			t.Errorf("bias: %+v", f)
		}
		h = (&Report{Columns: columns, Gate: assess.Verdict{Rules: rules}}).Headline()
		if f := figureOf(t, h, "precision"); f.Column != "b" || f.Tone != headline.Bad || f.Rule != "at least 95\u00a0%" {
			t.Errorf("precision beyond its rule: %+v", f)
		}
	}
	b.Utility.EfficiencyGate, b.Utility.Bias = assess.Float(math.NaN()), assess.Float(math.NaN())
	h := (&Report{Columns: []assess.ColumnMeasures{a, b}}).Headline()
	for _, measure := range []string{"precision", "bias"} {
		if f := figureOf(t, h, measure); f.Column != "b" || f.Tone != headline.Amber || f.Text != "–" {
			t.Errorf("%s that is not a number: %+v", measure, f)
		}
	}
	a.Original.Mean = 0
	if f := figureOf(t, (&Report{Columns: []assess.ColumnMeasures{a}}).Headline(), "bias"); f.Text != "–" ||
		!strings.Contains(f.Note, "a shift of −2.00 EUR") || f.Tone != headline.Neutral {
		t.Errorf("bias of a mean of 0: %+v", f)
	}
}

// TestRecordsLost: any loss is amber, a loss beyond the rule is red, and a loss within the rule is
// never green.
func TestRecordsLost(t *testing.T) {
	rule := func(passed bool) []assess.RuleVerdict {
		return []assess.RuleVerdict{{Measure: "max_quarantined", Limit: 0.01, Passed: passed}}
	}
	for _, c := range []struct {
		lost  int64
		rules []assess.RuleVerdict
		want  headline.Tone
	}{{0, nil, headline.Neutral}, {0, rule(true), headline.Good}, {1, nil, headline.Amber},
		{1, rule(true), headline.Amber}, {9, rule(false), headline.Bad}} {
		r := &Report{Records: Records{Counts: microdata.Counts{Read: 100, Quarantined: c.lost}},
			Gate: assess.Verdict{Rules: c.rules}}
		if f := figureOf(t, r.Headline(), "max_quarantined"); f.Tone != c.want {
			t.Errorf("%d lost: %+v, want %s", c.lost, f, c.want)
		}
	}
}

// TestNoRuleIsLeftOut: every rule of the gate appears in the headline, even one about a measure that
// this package does not know.
func TestNoRuleIsLeftOut(t *testing.T) {
	r := &Report{Gate: assess.Verdict{Rules: []assess.RuleVerdict{
		{Rule: "wage: values unchanged at most 0.02", Column: "wage", Measure: "max_unchanged", Limit: 0.02, Found: 0.5},
		{Rule: "a measure of tomorrow at most 3", Measure: "tomorrow", Limit: 3, Found: 2, Passed: true},
	}}}
	h := r.Headline()
	if f := figureOf(t, h, "max_unchanged"); f.Tone != headline.Bad || f.Label != "wage: values unchanged at most 0.02" {
		t.Errorf("%+v", f)
	}
	if f := figureOf(t, h, "tomorrow"); f.Tone != headline.Good || f.Text != "2.000" {
		t.Errorf("%+v", f)
	}
}

// TestMeasuredElsewhere: no view of a foreign release says that anything was released or that it
// passed a gate.
func TestMeasuredElsewhere(t *testing.T) {
	for unmatched, tone := range map[int64]headline.Tone{0: headline.Neutral, 2: headline.Amber} {
		r := &Report{Name: "assess", Foreign: &Foreign{Unmatched: unmatched},
			Records: Records{Counts: microdata.Counts{Read: 100, Released: 98}},
			Columns: []assess.ColumnMeasures{column("wage", risk("max", "index", 3))},
			Gate:    assess.Judge(nil, &assess.Measures{})}
		if h := r.Headline(); h.Word != "Measured" || h.Tone != tone ||
			strings.Contains(h.Line, "2 original records have") != (unmatched == 2) {
			t.Errorf("%+v", h)
		}
		if h := r.Public(nil).Headline(); h.Word != "Measured" || h.Tone != headline.Neutral {
			t.Errorf("public: %+v", h)
		}
		var terminal bytes.Buffer
		r.Summary(&terminal, false, 0, nil)
		views := map[string][]byte{"terminal": terminal.Bytes()}
		for name, make := range map[string]func() ([]byte, error){"html": r.HTML, "json": r.JSON,
			"public html": r.Public(nil).HTML, "public json": r.Public(nil).JSON} {
			text, err := make()
			if err != nil {
				t.Fatal(err)
			}
			views[name] = text
		}
		for name, text := range views {
			if !bytes.Contains(text, []byte("Measured")) {
				t.Errorf("%s does not say that the release was measured", name)
			}
			for _, wrong := range []string{"Released, nothing", "Gate passed", "Gate not passed", "and nobody judged it",
				"in quarantine", "[masked microdata]"} {
				if bytes.Contains(text, []byte(wrong)) && !(wrong == "[masked microdata]" && strings.HasPrefix(name, "public")) {
					t.Errorf("%s contains %q about a release made elsewhere", name, wrong)
				}
			}
		}
	}
}

// TestLostBesideItsLimit: without a configured limit, the figure is compared with the default. A
// share beyond the limit is not formatted like the limit, and a loss of all records is not within
// any limit.
func TestLostBesideItsLimit(t *testing.T) {
	byDefault, loose := assess.Float(0.01), assess.Float(1)
	none := []assess.RuleVerdict{{Rule: "at least one record is released", Measure: "min_released", Limit: 1}}
	for _, c := range []struct {
		read, lost int64
		limit      *assess.Float
		rules      []assess.RuleVerdict
		tone       headline.Tone
		text, rule string
	}{
		{1000, 0, nil, nil, headline.Neutral, "0~%", ""},
		{1000, 0, &byDefault, nil, headline.Good, "0~%", "at most 1~%, by default"},
		{400, 1, &byDefault, nil, headline.Amber, "0.25~%", "at most 1~%, by default"},
		{100000, 999, &byDefault, nil, headline.Amber, "0.999~%", "at most 1~%, by default"},
		{100000, 1001, &byDefault, nil, headline.Bad, "1.1~%", "at most 1~%, by default"},
		{100000, 1001, &byDefault, []assess.RuleVerdict{{Measure: "max_quarantined", Limit: 0.01, Found: 0.01001}},
			headline.Bad, "1.1~%", "at most 1~%"},
		{100000, 1001, &loose, []assess.RuleVerdict{{Measure: "max_quarantined", Limit: 1, Found: 0.01001, Passed: true}},
			headline.Amber, "1.1~%", "at most 100~%"},
		{7, 7, &loose, none, headline.Bad, "100~%", "at least one record is released"},
		{0, 0, &byDefault, nil, headline.Neutral, "–", ""},
	} {
		r := &Report{Records: Records{Counts: microdata.Counts{Read: c.read, Quarantined: c.lost}, MaxQuarantined: c.limit},
			Gate: assess.Verdict{Rules: c.rules}}
		h := r.Headline()
		f := figureOf(t, h, "max_quarantined")
		shown := 2 // recovered values and lost records
		for _, m := range assess.RespondentMeasures {
			if m.ByDefault && !m.Loss {
				shown++
			}
		}
		if got := strings.ReplaceAll(f.Text+" "+f.Rule, "\u00a0", "~"); f.Tone != c.tone || got != c.text+" "+c.rule ||
			len(h.Figures) != shown {
			t.Errorf("%d of %d lost: %+v among %d figures, want %s, %q, %q", c.lost, c.read, f, len(h.Figures), c.tone, c.text,
				c.rule)
		}
	}
}

// TestBesideItsLimit: a figure that breaks a rule by a small amount is not formatted like the
// limit, in the headline and among the rules. The effect of two standard errors is stated.
func TestBesideItsLimit(t *testing.T) {
	c := column("wage", risk("max", "index", 4999.96))
	c.Utility.EfficiencyGate = 0.79996
	rules := []assess.RuleVerdict{
		{Column: "wage", Measure: "min_rmse", Limit: 5000, Found: 4999.96},
		{Column: "wage", Measure: "min_efficiency", Limit: 0.8, Found: 0.79996},
		{Measure: "max_individual_risk", Limit: 0.09, Found: 0.090001},
		{Measure: "max_linked", Limit: 0.05, Found: 0.0500001},
		{Column: "wage", Measure: "max_unchanged", Limit: 0.1, Found: 0.100001},
		{Column: "wage", Measure: "max_risk", Limit: 4e-8, Found: 4.00006e-8},
	}
	r := &Report{Columns: []assess.ColumnMeasures{c}, Gate: assess.Verdict{Rules: rules}}
	h := r.Headline()
	for measure, want := range map[string]string{
		"known": "± 4,999.96 at least ± 5,000 EUR", "precision": "79.9~% at least 80~%",
		"max_individual_risk": "0.090001 at most 0.09", "max_linked": "5.1~% at most 5~% of those sought",
	} {
		f := figureOf(t, h, measure)
		if got := strings.ReplaceAll(f.Text+" "+f.Rule, "\u00a0", "~"); got != want || f.Tone != headline.Bad {
			t.Errorf("%s: %q, %s; want %q", measure, got, f.Tone, want)
		}
	}
	for i, want := range []string{"± 4,999.96 EUR; ± 5,000 EUR", "79.9~%; 80~%", "0.090001; 0.09",
		"5.1~% of those sought; 5~% of those sought",
		"10.1~%; 10~%", "R = 4.0001×10⁻⁸, known to ± 4,999.96 EUR; R = 4×10⁻⁸, known to ± 5,000.00 EUR"} {
		v := r.ruleView(i, rules[i])
		if got := strings.ReplaceAll(v.Found.Text+v.FoundInUnit+"; "+v.Limit.Text+v.LimitInUnit, "\u00a0", "~"); got != want {
			t.Errorf("rule %d: found %q, want %q", i, got, want)
		}
	}
	c = column("wage", assess.Risk{Target: "max", Knowledge: "index", R: 1.0 / 36, SE: 0.002, RMSE: 6, Sampled: true})
	r = &Report{Columns: []assess.ColumnMeasures{c},
		Gate: assess.Verdict{Rules: []assess.RuleVerdict{{Column: "wage", Measure: "min_rmse", Limit: 5.9, Found: 5.5}}}}
	if f := figureOf(t, r.Headline(), "known"); f.Tone != headline.Bad || f.Text != "± 6.00" ||
		!strings.Contains(f.Note, "judged at two standard errors, ± 5.50 EUR") {
		t.Errorf("broken by its standard error: %+v", f)
	}
}

// TestPublicHeadline: of the figures only the lost records are public, whatever the gate required
// and found.
func TestPublicHeadline(t *testing.T) {
	r := &Report{Records: Records{Counts: microdata.Counts{Read: 100, Released: 99, Quarantined: 1}},
		Columns: []assess.ColumnMeasures{column("wage", risk("max", "index", 3))},
		Gate: assess.Verdict{Passed: true, Rules: []assess.RuleVerdict{
			{Rule: "secret one", Measure: "max_quarantined", Limit: 0.5, Found: 0.01, Passed: true},
			{Rule: "secret two", Measure: "min_k", Limit: 7, Found: 9, Passed: true}}}}
	p := r.Public([]string{"sd", "efficiency"})
	h := p.Headline()
	if len(h.Figures) != 1 || h.Figures[0].Measure != "max_quarantined" || h.Figures[0].Rule != "" ||
		h.Tone != headline.Amber {
		t.Errorf("%+v", h)
	}
	text, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Verdict headline.Headline }
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(document.Verdict.Figures, h.Figures) || document.Verdict.Word != h.Word {
		t.Errorf("the JSON's verdict is %+v, the headline %+v", document.Verdict, h)
	}
}

// TestVerdictIsInTheJSON: programs can read what people see.
func TestVerdictIsInTheJSON(t *testing.T) {
	r := &Report{Columns: []assess.ColumnMeasures{column("wage", risk("max", "index", 3))},
		Gate: assess.Verdict{Passed: true}}
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Verdict *headline.Headline }
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if document.Verdict == nil || document.Verdict.Word != "Released, nothing was demanded" ||
		document.Verdict.Tone != headline.Neutral || len(document.Verdict.Figures) != len(r.Headline().Figures) {
		t.Errorf("%+v", document.Verdict)
	}
}

// Rules on ε have names that fit beside their figures.
func TestNamesOfRulesOnEpsilon(t *testing.T) {
	for _, c := range []struct {
		rule assess.RuleVerdict
		want string
	}{
		{assess.RuleVerdict{Measure: "max_epsilon", Column: "wage", Rule: "long"}, "ε of wage"},
		{assess.RuleVerdict{Measure: "max_epsilon", Rule: "long"}, "ε of all records of one"},
		{assess.RuleVerdict{Measure: "max_metric_epsilon", Column: "wage", Rule: "long"}, "ε by distance of wage"},
		{assess.RuleVerdict{Measure: "max_unchanged", Column: "wage", Rule: "long"}, "long"},
	} {
		if got := unshown([]assess.RuleVerdict{c.rule}, nil); len(got) != 1 || got[0].Label != c.want {
			t.Errorf("%+v: %+v", c.rule, got)
		}
	}
}
