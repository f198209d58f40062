package assess

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

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
