package assess

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/joint"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// recordBlock has the columns a (original and released), b and total, in that order.
func recordBlock(n int) *microdata.Block {
	r := rand.New(rand.NewPCG(36, 4))
	b := new(microdata.Block)
	b.Reset(0, 0, n, 3)
	var values [4][]float64
	for range n {
		a, other := math.Round(100*math.Exp(6+0.5*r.NormFloat64()))/100, math.Round(100*math.Exp(6+0.5*r.NormFloat64()))/100
		values[0] = append(values[0], a)
		values[1] = append(values[1], math.Round(100*(a+200*r.NormFloat64()))/100)
		values[2] = append(values[2], other)
		values[3] = append(values[3], math.Round(100*(a+other))/100)
	}
	b.Columns[0].Original.Values, b.Columns[0].Released.Values = values[0], values[1]
	b.Columns[1].Original.Values, b.Columns[2].Original.Values = values[2], values[3]
	return b
}

func recordOptions(t *testing.T, beside ...BesideColumn) Options {
	return Options{Columns: []Column{{Name: "a", Masked: true}}, Key: testKey(t), Targets: []string{"min", "p50", "max"},
		Record: true, Beside: beside, Gated: true}
}

// The risk by the whole record stands behind that by index for the typical record and each target: exact
// with the sum, at least that by index without; the same from parts and after encoding.
func TestRiskByRecord(t *testing.T) {
	block := recordBlock(3000)
	sum := []BesideColumn{{Name: "b", Index: 1}, {Name: "total", Index: 2}}
	for name, test := range map[string]struct {
		beside []BesideColumn
		exact  bool
	}{"with the sum": {sum, true}, "turned": {[]BesideColumn{sum[1], sum[0]}, true}, "total alone": {sum[1:], false},
		"nothing": {nil, false}} {
		a := newAccumulator(t, recordOptions(t, test.beside...))
		a.Add(block)
		m, err := a.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again := newAccumulator(t, recordOptions(t, test.beside...))
		for _, part := range [][2]int{{1000, 3000}, {0, 1000}} {
			b, one := new(microdata.Block), newAccumulator(t, recordOptions(t, test.beside...))
			block.Part(b, part[0], part[1])
			one.Add(b)
			text, err := one.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if one = newAccumulator(t, recordOptions(t, test.beside...)); one.UnmarshalBinary(text) != nil ||
				again.Merge(one) != nil {
				t.Fatal("parts do not merge")
			}
		}
		merged, err := again.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for i, k := range m.Columns[0].Risk {
			if o := merged.Columns[0].Risk[i]; math.Abs(float64(o.RMSE-k.RMSE)) > 1e-9*float64(k.RMSE) {
				t.Errorf("%s, merged: %+v, want %+v", name, o, k)
			}
			if k.Knowledge != KnowledgeRecord {
				continue
			}
			found++
			index := m.Columns[0].Risk[i-1]
			if index.Knowledge != KnowledgeIndex || index.Target != k.Target || k.R < index.R || k.RealisedR != k.RealisedR {
				t.Errorf("%s: %+v behind %+v", name, k, index)
			}
			if exact := math.IsInf(float64(k.R), 1) && k.RMSE == 0 &&
				slices.Equal(sorted(k.Tells), []string{"b", "total"}); exact != test.exact {
				t.Errorf("%s: %+v", name, k)
			}
		}
		if found != 4 {
			t.Errorf("%s: %d risks by record", name, found)
		}
	}
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// A rule of index, and one of every knowledge, is judged by the whole record, unless it says that the
// column is alone; where that was not measured, it does not hold.
func TestRulesOfIndexAreJudgedByTheRecord(t *testing.T) {
	rows := func(record ...Risk) *Measures {
		return &Measures{Gated: true, Columns: []ColumnMeasures{{Name: "a", Masked: true, Risk: append([]Risk{
			{Target: "typical", Knowledge: "index", R: 1, RMSE: 1}, {Target: "max", Knowledge: "index", R: 1, RMSE: 1},
			{Target: "max", Knowledge: "position", R: 1, RMSE: 1},
		}, record...)}}}
	}
	near := Risk{Target: "typical", Knowledge: "record", R: 100, RMSE: 0.1, Tells: []string{"b", "total"}}
	far := Risk{Target: "max", Knowledge: "record", R: 1, RMSE: 1}
	for _, c := range []struct {
		rule   Rule
		m      *Measures
		passes bool
	}{
		{Rule{Knowledge: "index"}, rows(near, far), false},
		{Rule{Knowledge: "index"}, rows(far, near), false},
		{Rule{}, rows(near, far), false},
		{Rule{Knowledge: "record"}, rows(near, far), false},
		{Rule{Knowledge: "record", Target: "max"}, rows(near, far), true},
		{Rule{Knowledge: "index", Target: "max"}, rows(near, far), true},
		{Rule{Knowledge: "index", Record: "alone"}, rows(near, far), true},
		{Rule{Record: "alone"}, rows(near, far), true},
		{Rule{Knowledge: "position"}, rows(near, far), true},
		{Rule{Knowledge: "index"}, rows(), false},
		{Rule{Knowledge: "index"}, rows(far), false},
		{Rule{Knowledge: "record"}, rows(), false},
		{Rule{}, rows(far), false},
		{Rule{Knowledge: "index", Record: "alone"}, rows(), true},
		{Rule{Knowledge: "position"}, rows(), true},
		{Rule{Knowledge: "index"},
			rows(far, Risk{Target: "typical", Knowledge: "record", R: Float(math.NaN()), RMSE: Float(math.NaN())}), false},
	} {
		c.rule.Column = "a"
		for _, limited := range []Rule{{MinRMSE: ptr(0.5)}, {MaxRisk: ptr(4)}} {
			c.rule.MinRMSE, c.rule.MaxRisk = limited.MinRMSE, limited.MaxRisk
			v := Judge([]Rule{c.rule}, c.m)
			if v.Passed != c.passes {
				t.Errorf("%+v: %+v", c.rule, v.Rules)
			}
		}
	}
	v := Judge([]Rule{{Column: "a", Knowledge: "index", MinRMSE: ptr(0.5)}}, rows(near, far)).Rules[0]
	if !strings.Contains(v.Advice, "told by b, total") || !strings.Contains(v.Rule, "typical by record") ||
		v.Found != 0.1 {
		t.Errorf("%+v", v)
	}
}

// TestValuesKnownClosely: a logarithm of two digits gives a wage closely, and with what was earned by the hour the hours,
// as whole numbers even exactly, which give the wage anew; a rent by a total. In both orders, for the risk and for what
// is stated. A column is not told by itself.
func TestValuesKnownClosely(t *testing.T) {
	const n = 1200
	r := rand.New(rand.NewPCG(36, 5))
	values := map[string][]float64{}
	add := func(name string, v float64) { values[name] = append(values[name], v) }
	waves := strings.Fields("w0 w1 w2 w3 w4 w5 w6 w7 w8 w9")
	for range n {
		wage, hours := math.Round(100*math.Exp(6.5+0.5*r.NormFloat64()))/100, float64(10+r.IntN(50))
		rent := math.Round(100*math.Exp(6+0.5*r.NormFloat64())) / 100
		add("wage", wage)
		add("hours", hours)
		add("rent", rent)
		add("log", math.Round(100*math.Log(wage))/100)
		add("hourly", math.Round(100*wage/hours)/100)
		add("total", wage+rent)
		add("noisy wage", math.Round(100*(wage+300*r.NormFloat64()))/100)
		add("noisy hours", math.Round(hours+6*r.NormFloat64()))
		add("noisy rent", math.Round(100*(rent+200*r.NormFloat64()))/100)
		add("bounded", wage)
		add("noisy bounded", min(wage, 1000))
		add("noisy hourly", values["hourly"][len(values["log"])-1]+9*r.NormFloat64())
		add("fine log", math.Round(1e5*math.Log(wage))/1e5)
		for _, wave := range waves {
			add(wave, wage*math.Exp(0.1*r.NormFloat64()))
		}
	}
	close := func(x string, d float64, claims [][]float64) (most float64) {
		for _, list := range claims {
			hits := 0.0
			for i, v := range list {
				if math.Abs(v-values[x][i]) <= d {
					hits++
				}
			}
			most = max(most, hits/n)
		}
		return most
	}
	for _, c := range []struct {
		masked, beside []string
		close          map[string]float64 // by column, the distance of nearly all
	}{
		{[]string{"wage", "hours"}, []string{"log", "hourly"}, map[string]float64{"hours": 0.5, "wage": 0.35}},
		{[]string{"hours", "wage"}, []string{"hourly", "log"}, map[string]float64{"hours": 0.5, "wage": 0.35}},
		{[]string{"rent", "wage", "hours"}, []string{"log", "hourly", "total"},
			map[string]float64{"hours": 0.5, "wage": 0.35, "rent": 0.35}},
		{[]string{"hours", "wage", "rent"}, []string{"total", "hourly", "log"},
			map[string]float64{"hours": 0.5, "wage": 0.35, "rent": 0.35}},
		// A quotient that gives most values is not all that is stated where a logarithm gives the rest.
		{[]string{"hourly", "bounded"}, []string{"fine log", "hours"}, map[string]float64{"hourly": 0.0051}},
		{[]string{"bounded", "hourly"}, []string{"hours", "fine log"}, map[string]float64{"hourly": 0.0051}},
		// Ten waves, each off by a tenth, tell 0.03 of a wage by their mean, and so of the hours.
		{[]string{"wage", "hours"}, append([]string{"hourly"}, waves...), map[string]float64{"hours": 3.2}},
		{[]string{"hours", "wage"}, append(waves[:10:10], "hourly"), map[string]float64{"hours": 3.2}},
		{[]string{"wage", "rent"}, []string{"log", "total"}, map[string]float64{"rent": 12}},
		{[]string{"rent", "wage"}, []string{"total", "log"}, map[string]float64{"rent": 12}},
	} {
		var seen []Seen
		var sought []Sought
		options := recordOptions(t)
		options.Columns = nil
		block := new(microdata.Block)
		block.Reset(0, 0, n, len(c.masked)+len(c.beside))
		for k, name := range c.masked {
			seen = append(seen, Seen{Name: name, Values: values["noisy "+name]})
			sought = append(sought, Sought{Name: name, Original: values[name], Released: values["noisy "+name], Own: k})
			options.Columns = append(options.Columns, Column{Name: name, Masked: true, Index: k})
			block.Columns[k].Original.Values, block.Columns[k].Released.Values = values[name], values["noisy "+name]
		}
		for k, name := range c.beside {
			seen = append(seen, Seen{Name: name, Values: values[name]})
			options.Beside = append(options.Beside, BesideColumn{Name: name, Index: len(c.masked) + k})
			block.Columns[len(c.masked)+k].Original.Values = values[name]
		}
		claims := Claims(seen, sought, nil, true)
		a := newAccumulator(t, options)
		a.Add(block)
		m, err := a.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for k, name := range c.masked {
			d, is := c.close[name]
			if got := close(name, d, claims[k]); is && got < 0.97 {
				t.Errorf("%v: %.3f of %s are stated within %v", c.masked, got, name, d)
			}
			for _, risk := range m.Columns[k].Risk {
				if risk.Knowledge != KnowledgeRecord || !is {
					continue
				}
				if slices.Contains(risk.Tells, name) || risk.Target == TargetTypical && !(float64(risk.RMSE) <= d) {
					t.Errorf("%v: %s known to %v, told by %v", c.masked, name, risk.RMSE, risk.Tells)
				}
			}
		}
	}
}

// TestValuesNearInManyRecords: hours that are cut at a bound give a wage closely with what was earned by the hour, and far
// off beyond the bound. So they state a rent by a total, in as many records, whether the hours are looked at too or not; also by one of three, of which a
// relation gives another.
func TestValuesNearInManyRecords(t *testing.T) {
	const n = 600
	r := rand.New(rand.NewPCG(36, 9))
	values, cut := map[string][]float64{}, 0.0
	for range n {
		wage, hours := math.Round(100*math.Exp(6.5+0.5*r.NormFloat64()))/100, float64(10+r.IntN(50))
		rent, loan := math.Round(100*math.Exp(6+0.5*r.NormFloat64()))/100, math.Round(1000*r.Float64())
		if hours > 45 {
			cut += 1.0 / n
		}
		for name, v := range map[string]float64{"wage": wage, "hours": hours, "rent": rent, "total": wage + rent,
			"hourly": math.Round(100*wage/hours) / 100, "noisy hours": min(hours, 45.5),
			"loan": loan, "square": loan * loan, "all": wage + rent + loan} {
			values[name] = append(values[name], v)
		}
		values["noisy wage"] = append(values["noisy wage"], math.Round(100*(wage+300*r.NormFloat64()))/100)
		values["noisy rent"] = append(values["noisy rent"], math.Round(100*(rent+90*r.NormFloat64()))/100)
		values["noisy loan"] = append(values["noisy loan"], math.Round(loan+300*r.NormFloat64()))
	}
	list := func(names ...string) (columns []joint.Column) {
		for _, name := range names {
			columns = append(columns, joint.Column{Name: name, Values: values[name]})
		}
		return columns
	}
	base := joint.New(list("noisy wage", "noisy rent", "total", "hourly", "noisy hours"), n, true)
	const want = 2
	for _, entirely := range []bool{false, true} { // not beside itself
		frames := recovering(base, []joint.Sought{{X: values["wage"], Y: values["noisy wage"]},
			{X: values["rent"], Y: values["noisy rent"], Own: 1}}, entirely)
		if len(frames[0]) != 1 || len(frames[1]) != want || frames[0][0] != base || frames[1][0] != base {
			t.Errorf("entirely %v: frames of a wage %d, of a rent %d", entirely, len(frames[0]), len(frames[1]))
		}
		// Beyond the bound a rent is known by what is released of it, with an SD of 90.
		least := math.Inf(1)
		for _, f := range frames[1] {
			least = min(least, f.Estimate(values["rent"], values["noisy rent"], 1, nil).Square)
		}
		if !(least < 1.2*cut*90*90) {
			t.Errorf("entirely %v: a rent is known but for %.0f, want %.0f", entirely, least, cut*90*90)
		}
	}
	for _, c := range []struct{ masked, beside []string }{
		{[]string{"rent", "wage", "hours"}, []string{"total", "hourly"}},
		{[]string{"hours", "wage", "rent"}, []string{"hourly", "total"}},
		{[]string{"wage", "rent"}, []string{"total", "hourly", "noisy hours"}},
		{[]string{"loan", "wage", "rent"}, []string{"all", "hourly", "noisy hours", "square"}},
	} {
		for _, distance := range []float64{0.5, 1} {
			var seen []Seen
			var sought []Sought
			for k, name := range c.masked {
				seen = append(seen, Seen{Name: name, Values: values["noisy "+name]})
				sought = append(sought, Sought{Name: name, Original: values[name], Released: values["noisy "+name], Own: k,
					Distances: []float64{distance}, Beside: name == "hours" || name == "loan"})
			}
			for _, name := range c.beside {
				seen = append(seen, Seen{Name: name, Values: values[name]})
			}
			for k, claims := range Claims(seen, sought, nil, true) {
				most := 0.0
				for _, list := range claims {
					hits := 0.0
					for i, v := range list {
						if math.Abs(v-values[c.masked[k]][i]) <= distance {
							hits += 1.0 / n
						}
					}
					most = max(most, hits)
				}
				if len(claims) > 0 && (most < 1-cut-0.005 || most > 1-cut+0.05) {
					t.Errorf("%v: %.3f of %s are stated within %v, want %.3f", c.masked, most, c.masked[k], distance, 1-cut)
				}
			}
		}
	}
}

// TestSumsNeedNoEstimates: what a linear estimator sees is not looked at once more: two summands, of which a total is
// released. A column that a relation gives is attacked as it was, or with the others that were found beside it.
func TestSumsNeedNoEstimates(t *testing.T) {
	block := recordBlock(600)
	a, noisy, b := block.Columns[0].Original.Values, block.Columns[0].Released.Values, block.Columns[1].Original.Values
	total := block.Columns[2].Original.Values
	r := rand.New(rand.NewPCG(36, 6))
	near, twice := make([]float64, len(b)), make([]float64, len(b))
	for i, v := range b {
		near[i], twice[i] = v+20*r.NormFloat64(), 2*v
	}
	sought := []joint.Sought{{X: a, Y: noisy}, {X: b, Y: near, Own: 1}}
	base := joint.New([]joint.Column{{Values: noisy}, {Values: near}, {Values: total}}, 600, true)
	for c, f := range recovering(base, sought, true) {
		if len(f) != 1 || f[0] != base {
			t.Errorf("column %d has other columns beside it", c)
		}
	}
	base = joint.New([]joint.Column{{Values: noisy}, {Values: near}, {Values: total}, {Values: twice}}, 600, true)
	for _, entirely := range []bool{false, true} {
		frames := recovering(base, sought, entirely)
		if f := frames[1]; frames[0][0] == base || f[0] != base || len(f) > 1 != entirely {
			t.Errorf("entirely %v: the other one as it was: %v, the given one in %d frames", entirely, frames[0][0] == base, len(f))
		}
	}
}

// TestNothingIsStatedOfColumnsBeside: of columns that only tell of others.
func TestNothingIsStatedOfColumnsBeside(t *testing.T) {
	block := recordBlock(600)
	a, b := block.Columns[0].Original.Values, block.Columns[1].Original.Values
	seen := []Seen{{Name: "a", Values: block.Columns[0].Released.Values}, {Name: "b", Values: b}}
	for _, beside := range [][2]bool{{false, true}, {true, false}, {true, true}} {
		claims := Claims(seen, []Sought{{Name: "a", Original: a, Released: seen[0].Values, Beside: beside[0]},
			{Name: "b", Original: b, Released: b, Own: 1, Beside: beside[1]}}, nil, true)
		for c, none := range beside {
			if claims != nil && (claims[c] == nil) != none || claims == nil && beside != [2]bool{true, true} {
				t.Errorf("beside %v: column %d: %d lists", beside, c, len(claims))
			}
		}
	}
}
