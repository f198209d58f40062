package assess

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Infinite and missing numbers have a form in JSON, and are read back unchanged.
func TestFloatsInJSON(t *testing.T) {
	for _, c := range []struct {
		v    float64
		text string
	}{{math.Inf(1), `"Infinity"`}, {math.Inf(-1), `"-Infinity"`}, {math.NaN(), "null"}, {0, "0"}, {-1.5e-7, "-1.5e-07"},
		{1e21, "1e+21"}} {
		text, err := json.Marshal(Float(c.v))
		if err != nil || string(text) != c.text {
			t.Errorf("%v is written as %s, %v", c.v, text, err)
		}
		got := Float(7)
		if err := got.UnmarshalJSON([]byte(c.text)); err != nil || float64(got) != c.v &&
			!(math.IsNaN(c.v) && math.IsNaN(float64(got))) {
			t.Errorf("%s is read as %v, %v", c.text, got, err)
		}
	}
	for _, bad := range []string{`"x"`, "1e999", ""} {
		got := Float(7)
		if err := got.UnmarshalJSON([]byte(bad)); err == nil || got != 7 {
			t.Errorf("%s: %v, %v", bad, got, err)
		}
	}
}

// A rule about the order applies to the typical record only.
func TestOrderRuleHasNoOtherTarget(t *testing.T) {
	for target, want := range map[string]string{"": "", "typical": "",
		"max": `target: must be typical or left out with knowledge order, got "max"`} {
		ps := Rule{Column: "wage", MinRMSE: ptr(1), Knowledge: "order", Target: target}.Check()
		got := ""
		if len(ps) > 0 {
			got = ps[0].Error()
		}
		if got != want || len(ps) > 1 {
			t.Errorf("%q: %v", target, ps)
		}
	}
}

// The advice for a failed rule about efficiency names what costs most first, and what else exceeds
// the limit by itself.
func TestAdviceOfEfficiency(t *testing.T) {
	const n, sd = 100, 30.0
	u0 := n / (sd * sd)
	for _, c := range []struct {
		name                       string
		limit, bias, sd            float64
		noise, onesided, noiseMost bool
	}{
		// 1/U is 18 at an efficiency of 0.5, of which 9 belongs to the data, so 9 is lost. A limit of 0.8 leaves
		// 2.25 = 1.5².
		{"bias just below", 0.8, 1.49, sd, true, false, true},
		{"bias just above", 0.8, 1.51, sd, true, true, true},
		{"negative bias", 0.8, -1.51, sd, true, true, true},
		{"no bias", 0.8, 0, sd, true, false, true},
		{"as much of both", 0.8, 2.13, sd, true, true, false},          // 4.54 of 9
		{"bias, and some noise", 0.8, 2.59, sd, true, true, false},     // 6.71, and 2.29 of noise
		{"bias, and little noise", 0.8, -2.61, sd, false, true, false}, // 6.81, and 2.19 of noise
		{"all is bias", 0.8, 3, sd, false, true, false},
		{"a limit of 1", 1, 0.1, sd, false, true, true},
		{"a constant column", 0.8, 2, 0, false, true, true},
	} {
		m := &ColumnMeasures{Name: "wage", Masked: true, Original: Moments{N: n, SD: Float(c.sd)},
			Utility: Utility{U0: Float(u0), Bias: Float(c.bias), Efficiency: 0.5, EfficiencyGate: 0.5, SE: Float(math.NaN())}}
		v := Rule{Column: "wage", MinEfficiency: &c.limit}.judgeEfficiency(m)
		if v.Passed || strings.Contains(v.Advice, "so λ of at most") != c.noise ||
			strings.Contains(v.Advice, "must be less one-sided") != c.onesided {
			t.Errorf("%s: %q", c.name, v.Advice)
		}
		if strings.HasPrefix(v.Advice, "mask less: noise") != c.noiseMost {
			t.Errorf("%s: not the costliest effect first: %q", c.name, v.Advice)
		}
		if c.noise && !strings.Contains(v.Advice, "λ of at most 15") { // 30·√(1/0.8 − 1)
			t.Errorf("%s: %q", c.name, v.Advice)
		}
	}
	m := &ColumnMeasures{Utility: Utility{U0: 0, Bias: 3, EfficiencyGate: 0.1, Efficiency: 0.1, SE: Float(math.NaN())},
		Original: Moments{N: 3}}
	if v := (Rule{Column: "wage", MinEfficiency: ptr(0.8)}).judgeEfficiency(m); v.Passed {
		t.Error(v)
	}
}

// A rule about the order of a shuffled file is compared with the knowledge by the mean.
func TestOrderOfShuffledRecordsIsJudgedByTheMean(t *testing.T) {
	column := func(change func(c *ColumnMeasures)) *ColumnMeasures {
		// The error of the mean: 30²·99/100 + 4² = 907, an RMSE of 30.116.
		c := &ColumnMeasures{Name: "wage", Unit: "USD", Masked: true, Original: Moments{N: 100, SD: 30, Mean: 50},
			Released: Moments{N: 100, SD: 31, Mean: 54}, Order: &Order{}}
		change(c)
		return c
	}
	for _, c := range []struct {
		name   string
		rule   Rule
		column *ColumnMeasures
		passed bool
		found  float64
		advice bool
	}{
		{"RMSE below", Rule{MinRMSE: ptr(30.1)}, column(func(*ColumnMeasures) {}), true, math.Sqrt(907), false},
		{"RMSE above", Rule{MinRMSE: ptr(30.13)}, column(func(*ColumnMeasures) {}), false, math.Sqrt(907), true},
		{"risk above", Rule{MaxRisk: ptr(1 / 906.0)}, column(func(*ColumnMeasures) {}), true, 1 / 907.0, false},
		{"risk below", Rule{MaxRisk: ptr(1 / 908.0)}, column(func(*ColumnMeasures) {}), false, 1 / 907.0, true},
		{"departs, and is shuffled", Rule{MinRMSE: ptr(30)},
			column(func(c *ColumnMeasures) { c.Order.Departs, c.Order.Shuffled = true, true }), true, math.Sqrt(907), false},
		{"departs, and has no fit", Rule{MinRMSE: ptr(30)}, column(func(c *ColumnMeasures) { c.Order.Departs = true }), false,
			math.NaN(), true},
		{"not measured", Rule{MinRMSE: ptr(30)}, column(func(c *ColumnMeasures) { c.Order = nil }), false, math.NaN(), true},
		{"not masked", Rule{MinRMSE: ptr(30)}, column(func(c *ColumnMeasures) { c.Masked = false }), false, math.NaN(), true},
	} {
		c.rule.Column, c.rule.Knowledge = "wage", KnowledgeOrder
		v := c.rule.judgeRisk(c.column)
		if v.Passed != c.passed || math.Abs(float64(v.Found)-c.found) > 1e-12*c.found ||
			math.IsNaN(c.found) != math.IsNaN(float64(v.Found)) || (v.Advice != "") != c.advice {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	for _, c := range []struct {
		order, index float64
		want         string
	}{
		{0, 30, ""},
		{
			28.4, 30,
			"wage: the order of the records gives values to within 28.4 USD, the released value alone to within 30 USD; release"}, {28.6, 30, ""}, {12, 0, "wage: the order of the records gives values to within 12 USD; release"},
	} {
		m := column(func(*ColumnMeasures) {})
		for knowledge, rmse := range map[string]float64{KnowledgeOrder: c.order, KnowledgeIndex: c.index} {
			if rmse > 0 {
				m.Risk = append(m.Risk, Risk{Target: TargetTypical, Knowledge: knowledge, RMSE: Float(rmse)},
					Risk{Target: "max", Knowledge: knowledge, RMSE: 1})
			}
		}
		if got := m.OrderWarning(); got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("order %v, index %v: %q", c.order, c.index, got)
		}
	}
}

// The share of unchanged values is 1 for a column that no mask changes and 0 for a column without
// values. If it was not counted, it is not a number.
func TestUnchangedOfWhatThereIs(t *testing.T) {
	count := func(n int64) *int64 { return &n }
	explained := Float(2)
	for _, c := range []struct {
		name   string
		column ColumnMeasures
		found  float64
	}{
		{"no mask", ColumnMeasures{Original: Moments{N: 5}}, 1},
		{"no mask, no values", ColumnMeasures{}, 0},
		{"a mask, no values", ColumnMeasures{Masked: true}, 0},
		{"no pairs", ColumnMeasures{Masked: true, Original: Moments{N: 5}, Unchanged: count(0)}, 0},
		{"some", ColumnMeasures{Masked: true, Original: Moments{N: 5}, Released: Moments{N: 4}, Unchanged: count(3)}, 0.75},
		{"fewer originals",
			ColumnMeasures{Masked: true, Original: Moments{N: 4}, Released: Moments{N: 5}, Unchanged: count(3)}, 0.75},
		{"not counted", ColumnMeasures{Masked: true, Original: Moments{N: 5}, Released: Moments{N: 5}}, math.NaN()},
	} {
		for _, limit := range []float64{0, 0.5, 0.75, 1} {
			v := Rule{Column: "wage", MaxUnchanged: &limit}.judgeUnchanged(&c.column)
			if float64(v.Found) != c.found && !(math.IsNaN(c.found) && math.IsNaN(float64(v.Found))) ||
				v.Passed != (c.found <= limit) || v.Passed != (v.Advice == "") {
				t.Errorf("%s, at most %v: %+v", c.name, limit, v)
			}
		}
	}
	if v := (Rule{Column: "wage", MaxUnchanged: ptr(1)}).judgeUnchanged(nil); v.Passed {
		t.Error("a column that is not assessed passes")
	}
	// With several columns and rules each one counts, whatever its place in the list.
	excess := func(name string) ColumnMeasures {
		return ColumnMeasures{Name: name, Masked: true, Original: Moments{N: 10}, Released: Moments{N: 8},
			Unchanged: count(4), UnchangedExplained: &explained, UnchangedExcess: true}
	}
	fine := ColumnMeasures{Name: "fine", Masked: true}
	for _, c := range []struct {
		columns []ColumnMeasures
		rules   []Rule
		allowed *float64
		want    []string
		limit   float64
	}{
		{[]ColumnMeasures{excess("a"), fine}, nil, nil, []string{"a"}, 0.25},
		{[]ColumnMeasures{fine, excess("b")}, nil, nil, []string{"b"}, 0.25},
		{[]ColumnMeasures{excess("a"), excess("b")}, []Rule{{Column: "a", MaxUnchanged: ptr(1)}}, nil, []string{"b"}, 0.25},
		{[]ColumnMeasures{excess("a"), excess("b")},
			[]Rule{{Column: "a", MinRMSE: ptr(1)}, {Column: "b", MaxUnchanged: ptr(1)}}, nil, []string{"a"}, 0.25},
		{[]ColumnMeasures{excess("a"), excess("b")},
			[]Rule{{Column: "b", MaxUnchanged: ptr(1)}, {Column: "a", MaxUnchanged: ptr(1)}}, nil, nil, 0},
		{[]ColumnMeasures{excess("a")}, nil, ptr(0.4), []string{"a"}, 0.4},
		{[]ColumnMeasures{excess("a")}, nil, ptr(0.1), []string{"a"}, 0.25},
		{[]ColumnMeasures{excess("a")}, nil, ptr(0.5), nil, 0},
	} {
		var got []string
		for _, v := range judgeLaws(c.rules, &Measures{Columns: c.columns, AllowUnchanged: c.allowed}) {
			got = append(got, v.Column)
			if v.Passed || float64(v.Limit) != c.limit || float64(v.Found) != 0.5 {
				t.Errorf("%+v", v)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: broken by %v, want %v", c.rules, got, c.want)
		}
	}
	a := excess("a")
	if got, want := a.UnchangedWarning(), "a: 4 of 8 released values are the original; the law of the masks explains 2"; got != want {
		t.Errorf("%q", got)
	}
	whole := excess("a")
	*whole.Unchanged, *whole.UnchangedExplained = 8, 0
	if got, want := whole.UnchangedWarning(), "a: all of its 8 released values are the original: its masks have left each as it is"; got != want {
		t.Errorf("%q", got)
	}
	if *whole.UnchangedExplained = 2; !strings.Contains(whole.UnchangedWarning(),
		"8 of 8 released values are the original; the law of the masks explains 2") {
		t.Errorf("%q", whole.UnchangedWarning())
	}
	if got := fine.UnchangedWarning(); got != "" {
		t.Errorf("%q", got)
	}
}

// A profile with impossible content in any column is refused; one at the limit is accepted.
func TestProfilesThatCannotBe(t *testing.T) {
	column := func(name string) ColumnProfile { return ColumnProfile{Name: name} }
	profile := func(change func(p *Profile)) *Profile {
		p := &Profile{Schema: ProfileSchema, Columns: []ColumnProfile{column("a"), column("b"), column("c")},
			Covariance: [][]float64{{1, 2, 3}, {2, 1, 3}, {3, 3, 1}}}
		change(p)
		return p
	}
	for name, c := range map[string]struct {
		p    *Profile
		want string
	}{
		"as it should be":   {profile(func(p *Profile) {}), ""},
		"most decimals":     {profile(func(p *Profile) { p.Columns[2].Decimals = 9 }), ""},
		"no decimals":       {profile(func(p *Profile) { p.Columns[0].Decimals = -1 }), ""},
		"too many decimals": {profile(func(p *Profile) { p.Columns[2].Decimals = 10 }), "columns[2].decimals"},
		"decimals below":    {profile(func(p *Profile) { p.Columns[0].Decimals = -2 }), "columns[0].decimals"},
		"the first unnamed": {profile(func(p *Profile) { p.Columns[0].Name = "" }), "columns[0].name: must not be empty"},
		"the last unnamed":  {profile(func(p *Profile) { p.Columns[2].Name = "" }), "columns[2].name: must not be empty"},
		"a name twice": {profile(func(p *Profile) { p.Columns[2].Name = "a" }),
			`columns[2].name: must be given once, got "a" again`},
		"negative SD":    {profile(func(p *Profile) { p.Columns[1].SD = -1e-9 }), "columns[1].sd"},
		"infinite SD":    {profile(func(p *Profile) { p.Columns[1].SD = math.Inf(1) }), "columns[1].sd"},
		"SD of 0":        {profile(func(p *Profile) { p.Columns[1].SD = 0 }), ""},
		"unknown SD":     {profile(func(p *Profile) { p.Columns[1].SD = math.NaN() }), ""},
		"negative count": {profile(func(p *Profile) { p.Columns[2].N = -1 }), "columns[2].n"},
		"negative nulls": {profile(func(p *Profile) { p.Columns[2].Nulls = -1 }), "columns[2].n"},
		"a row too few":  {profile(func(p *Profile) { p.Covariance = p.Covariance[:2] }), "covariance: must have a row"},
		"a row too many": {profile(func(p *Profile) { p.Covariance = append(p.Covariance, nil) }),
			"covariance: must have a row"},
		"an entry too few":   {profile(func(p *Profile) { p.Covariance[2] = p.Covariance[2][:2] }), "covariance[2]"},
		"an entry too many":  {profile(func(p *Profile) { p.Covariance[0] = append(p.Covariance[0], 1) }), "covariance[0]"},
		"a schema to come":   {profile(func(p *Profile) { p.Schema += "0" }), "schema"},
		"nothing but itself": {&Profile{Schema: ProfileSchema}, ""},
	} {
		text, err := SaveProfile(c.p)
		must(t, err)
		_, err = LoadProfile(text)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if p := profile(func(*Profile) {}); p.Column("c") != &p.Columns[2] || p.Column("a") != &p.Columns[0] ||
		p.Column("d") != nil {
		t.Error("columns are not found by name")
	}
	a, b := NewProfiler([]Column{{Name: "a"}}), NewProfiler([]Column{{Name: "b"}})
	if err := a.Merge(b); err == nil {
		t.Error("profilers of different columns were merged")
	}
	empty := new(microdata.Block)
	empty.Reset(0, 0, 0, 1)
	if a.Add(empty); a.Profile().Records != 0 {
		t.Error("an empty block has records")
	}
}

// Values with a sum outside the range of float64 are profiled one by one, including the last of a
// block.
func TestProfileOfTheGreatestValues(t *testing.T) {
	for _, n := range []int{2, 3, 300} {
		p := NewProfiler([]Column{{Name: "a"}})
		b := new(microdata.Block)
		b.Reset(0, 0, n, 1)
		v := b.Columns[0].Alloc(n, false)
		for i := range v.Values {
			v.Values[i] = math.MaxFloat64 / 2
		}
		v.Values[n-1] = math.MaxFloat64
		p.Add(b)
		if c := p.Profile().Columns[0]; c.N != int64(n) || c.Min != math.MaxFloat64/2 || c.Max != math.MaxFloat64 {
			t.Errorf("%d values: %+v", n, c)
		}
	}
}

// A rejected record does not enter a profile, although its value is present: the first of a block,
// one within a run of records, the last.
func TestProfileWithoutRejectedRecords(t *testing.T) {
	const n = 700
	for _, row := range []int{0, 300, n - 1} {
		p := NewProfiler([]Column{{Name: "a"}})
		b := new(microdata.Block)
		b.Reset(0, 0, n, 1)
		v := b.Columns[0].Alloc(n, false)
		for i := range v.Values {
			v.Values[i] = float64(i % 7)
		}
		v.Values[row] = 1e6
		b.Reject(row, "a", "malformed")
		p.Add(b)
		if c := p.Profile().Columns[0]; c.N != n-1 || c.Min != 0 || c.Max != 6 {
			t.Errorf("record %d rejected: %+v", row, c)
		}
	}
}

// failingMask fails at a step: in the survey, at its end, or when it is applied.
type failingMask struct{ at string }

var errMask = errors.New("masks[0]: broken")

func (m failingMask) fail(at string) error {
	if m.at == at {
		return errMask
	}
	return nil
}
func (failingMask) NeedsSurvey() bool               { return true }
func (m failingMask) Survey(*microdata.Block) error { return m.fail("survey") }
func (m failingMask) EndSurvey() error              { return m.fail("end") }
func (m failingMask) Apply(*microdata.Block) error  { return m.fail("apply") }

// Whichever step of a mask fails, the measurement returns the error.
func TestMasksThatFail(t *testing.T) {
	s := newSurvey(200, 3, true)
	for _, at := range []string{"survey", "end", "apply", ""} {
		of := func(int) Masker { return failingMask{at} }
		o := Options{Columns: []Column{{Name: "wage", Masked: true}}, Key: testKey(t), Targets: []string{"max"},
			Replicates: 3, Replicate: of}
		a := newAccumulator(t, o)
		s.blocks(a.Add)
		for what, measure := range map[string]func() error{
			"Measure":      func() error { _, err := a.Measure(t.Context()); return err },
			"MeasureQuick": func() error { _, err := a.MeasureQuick(t.Context()); return err },
			"Explore": func() error {
				_,
					err := a.Explore(t.Context(), Exploration{Points: 1, Replicate: func(int) []Masker {
					return []Masker{failingMask{at}}
				}, From: 1, Replicates: 2})
				return err
			},
			"Snapshots": func() error {
				snapshots, err := NewSnapshots(o, 10)
				must(t, err)
				s.blocks(snapshots.Add)
				window, total, err := snapshots.Take(t.Context())
				if err != nil && (window != nil || total != nil || snapshots.Taken() != 0) {
					t.Error("a snapshot that failed was taken")
				}
				return err
			},
		} {
			if err := measure(); !errors.Is(err, errMask) && at != "" || err != nil && at == "" {
				t.Errorf("%s, %s fails: %v", what, at, err)
			}
		}
	}
}

// The law of the masks is an implicit rule, if there are other rules or a gate.
func TestJudgeHoldsTheLaw(t *testing.T) {
	explained, count := Float(2), int64(4)
	m := func(gated bool) *Measures {
		return &Measures{
			Gated: gated,
			Columns: []ColumnMeasures{
				{Name: "a", Masked: true, Original: Moments{N: 8}, Released: Moments{N: 8}, Unchanged: &count,
					UnchangedExplained: &explained, UnchangedExcess: true}}}
	}
	satisfied := Rule{Column: "a", MaxUnchanged: ptr(1)}
	elsewhere := Rule{Column: "b", MaxUnchanged: ptr(1)}
	for _, c := range []struct {
		rules    []Rule
		withGate bool
		passed   bool
		judged   int
	}{
		{nil, false, true, 0}, {nil, true, false, 1}, {[]Rule{satisfied}, false, true, 1}, {[]Rule{satisfied}, true, true, 1},
		{[]Rule{{Column: "a", MinEfficiency: ptr(0.1)}}, false, false, 2}, {[]Rule{elsewhere, satisfied}, false, false, 2},
	} {
		if v := Judge(c.rules, m(c.withGate)); v.Passed != c.passed || len(v.Rules) != c.judged {
			t.Errorf("%+v, gated %v: %+v", c.rules, c.withGate, v)
		}
	}
	one := Judge([]Rule{{Column: "a", MinRMSE: ptr(0)}}, m(false))
	if last := one.Rules[len(one.Rules)-1]; one.Passed || last.Measure != "max_unchanged" || last.Passed ||
		last.Limit != 0.25 || last.Found != 0.5 {
		t.Errorf("with one rule of another measure: %+v", one)
	}
}

// Recovered values fail under any rules, and the verdict names the method that recovers them if it
// is known.
func TestJudgeInversion(t *testing.T) {
	for _, c := range []struct {
		inverted int64
		by       []string
		advice   string
	}{
		{0, nil, ""}, {0, []string{"x"}, ""},
		{7, nil, "the masks are undone by whoever knows them"},
		{1, []string{"a by rounding"}, "the masks are undone by whoever knows them: a by rounding"},
		{9, []string{"a by x", "b by y"}, "the masks are undone by whoever knows them: a by x; b by y"},
	} {
		v := Judge(nil, &Measures{Identity: &Identity{Inverted: &c.inverted, InvertedBy: c.by}})
		if v.Passed != (c.inverted == 0) || len(v.Rules) != 1 || v.Rules[0].Advice != c.advice ||
			v.Rules[0].Passed != v.Passed || v.Rules[0].Found != Float(c.inverted) {
			t.Errorf("%v of %v: %+v", c.inverted, c.by, v)
		}
	}
	if v := Judge(nil, &Measures{Identity: &Identity{}}); !v.Passed || len(v.Rules) > 0 {
		t.Errorf("not measured, no rules: %+v", v)
	}
}
