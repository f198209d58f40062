package transform

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// What each mask says of itself to differential privacy, with all that takes it away.
func TestMechanisms(t *testing.T) {
	a := []string{"a"}
	for _, c := range []struct {
		p    Params
		want Mechanism
		not  string // part of the reason
	}{
		{&Noise{Columns: a, SD: amount(3), Distribution: "laplace"}, Mechanism{Kind: Adding, Law: "laplace", SD: 3}, ""},
		{&Noise{Columns: a, SD: amount(3)}, Mechanism{Kind: Adding, Law: "normal", SD: 3}, ""},
		{&Noise{Columns: a, SD: amount(3), Distribution: "uniform"}, Mechanism{Kind: Adding, Law: "uniform", SD: 3}, ""},
		{&Noise{Columns: a, SD: percent(30)}, Mechanism{}, "depends on the data"},
		{&Noise{Columns: a}, Mechanism{}, "no standard deviation"},
		{&Noise{Columns: a, SD: amount(3), Where: "a > 1"}, Mechanism{}, "condition"},
		{&Noise{Columns: a, SD: amount(3), Tiers: []Tier{{Above: ptr(1.0), VarianceFactor: ptr(2.0)}}}, Mechanism{},
			"depends on the value"},
		{&Noise{Columns: a, SD: amount(3), Correlated: true}, Mechanism{}, "correlations of the data"},
		{(&Noise{Columns: []string{"a", "b"}, SD: percent(3), Correlated: true}).OnColumn("a"), Mechanism{},
			"depends on the data"},
		{&Truncate{Columns: a, Lower: ptr(1.0)}, Mechanism{Kind: Clipping, Lower: 1, Upper: math.Inf(1)}, ""},
		{&Truncate{Columns: a, Upper: ptr(1.0)}, Mechanism{Kind: Clipping, Lower: math.Inf(-1), Upper: 1}, ""},
		{&Truncate{Columns: a, Lower: ptr(1.0), Mode: "redraw"}, Mechanism{}, "redraw"},
		{&Truncate{Columns: a, Lower: ptr(1.0), Where: "a > 1"}, Mechanism{}, "condition"},
		{&Topcode{Columns: a, Lower: ptr(1.0), Upper: ptr(2.0)}, Mechanism{Kind: Clipping, Lower: 1, Upper: 2}, ""},
		{&Topcode{Columns: a, Upper: ptr(2.0), Replace: "bound"}, Mechanism{Kind: Clipping, Lower: math.Inf(-1), Upper: 2},
			""},
		{&Topcode{Columns: a, Upper: ptr(2.0), Replace: "label", UpperLabel: ptr("x")}, Mechanism{Kind: OwnValue}, ""},
		{&Topcode{Columns: a, Upper: ptr(2.0), Replace: "mean"}, Mechanism{}, "means of the data"},
		{&Topcode{Columns: a, UpperPercentile: ptr(99.0)}, Mechanism{}, "percentiles"},
		{&Topcode{Columns: a, LowerPercentile: ptr(1.0)}, Mechanism{}, "percentiles"},
		{&Topcode{Columns: a, Upper: ptr(2.0), Where: "a > 1"}, Mechanism{}, "condition"},
		{&Round{Columns: a, Base: ptr(5.0)}, Mechanism{Kind: Stepping, Step: 5}, ""},
		{&Round{Columns: a, Decimals: ptr(-2)}, Mechanism{Kind: Stepping, Step: 100}, ""},
		{&Round{Columns: a, Decimals: ptr(1)}, Mechanism{Kind: Stepping, Step: 0.1}, ""},
		{&Round{Columns: a, Base: ptr(5.0), Where: "a > 1"}, Mechanism{}, "condition"},
		{&Bias{Columns: a, Phi: ptr(0.1)}, Mechanism{Kind: OwnValue}, ""},
		{&Bias{Columns: a, Phi: ptr(0.1), Where: "a > 1"}, Mechanism{}, "condition"},
		{&Recode{Columns: a, Map: map[string]string{"x": "y"}}, Mechanism{Kind: OwnValue}, ""},
		{&PRAM{Columns: a, Keep: ptr(0.8), Categories: []string{"x", "y"}},
			Mechanism{Kind: Responding, Matrix: [][]float64{{0.8, 0.2}, {0.2, 0.8}}}, ""},
		{&PRAM{Columns: a, Matrix: map[string]map[string]float64{"x": {"x": 0.7, "y": 0.3}, "y": {"x": 0.5, "y": 0.5}}},
			Mechanism{Kind: Responding, Matrix: [][]float64{{0.7, 0.3}, {0.5, 0.5}}}, ""},
		{&PRAM{Columns: a, Keep: ptr(0.8), Categories: []string{"x", "y"}, Invariant: true}, Mechanism{},
			"frequencies of the data"},
		{&PRAM{Columns: a, Keep: ptr(0.8), Invariant: true, Frequencies: map[string]float64{"x": 1, "y": 2}}, Mechanism{},
			"frequencies of the data"},
		{&PRAM{Columns: a}, Mechanism{}, "not valid"},
		{&Sample{Rate: ptr(0.25)}, Mechanism{Kind: Drawing, Rate: 0.25}, ""},
		{&Sample{Rate: ptr(0.25), By: "a", Rates: map[string]float64{"x": 1}}, Mechanism{}, "depends on a column"},
		{&Date{Columns: a}, Mechanism{}, "no mechanism"},
		{filled["swap"], Mechanism{}, "other records"}, {filled["rankswap"], Mechanism{}, "other records"},
		{filled["microaggregate"], Mechanism{}, "other records"},
		{filled["suppress"], Mechanism{}, "other records"}, {filled["synthesise"], Mechanism{}, "other records"},
		{filled["recordswap"], Mechanism{}, "other records"},
	} {
		got := MechanismOf([]Spec{mask(c.p)}, 0, "a")
		if c.not != "" {
			if !strings.Contains(got.Not, c.not) {
				t.Errorf("%T %+v: %v, want a reason with %q", c.p, c.p, got, c.not)
			}
			continue
		}
		same := got.Kind == c.want.Kind && got.Not == "" && got.SD == c.want.SD && got.Law == c.want.Law &&
			got.Lower == c.want.Lower && got.Upper == c.want.Upper &&
			math.Abs(got.Step-c.want.Step) < 1e-15 && got.Rate == c.want.Rate && (len(got.Matrix) == got.Categories) &&
			slices.EqualFunc(got.Matrix, c.want.Matrix, func(p, q []float64) bool {
				return slices.EqualFunc(p, q, func(v, w float64) bool { return math.Abs(v-w) < 1e-12 })
			})
		if !same {
			t.Errorf("%T %+v: %v, want %v", c.p, c.p, got, c.want)
		}
	}
	// The matrix of many categories is not listed; its greatest ratio is the same.
	many := &PRAM{Columns: a, Keep: ptr(0.9)}
	for k := range 151 {
		many.Categories = append(many.Categories, string(rune('a'+k%26))+string(rune('a'+k/26)))
	}
	got := MechanismOf([]Spec{mask(many)}, 0, "a")
	if want := 0.1 / 150; len(got.Matrix) != 2 || got.Categories != 151 || got.Matrix[0][0] != 0.9 ||
		math.Abs(got.Matrix[0][1]-want) > 1e-15 || got.Matrix[1][0] != got.Matrix[0][1] || got.Matrix[1][1] != 0.9 {
		t.Errorf("many categories: %v", got)
	}
	for _, k := range Kinds() { // none is left out of thought: each declares one, or has a reason
		if got := MechanismOf([]Spec{mask(filled[k.Name])}, 0, "a"); got.Not == "" &&
			!slices.Contains(declaredBy["Mechanism"], k.Name) {
			t.Errorf("%s: %v without being declared", k.Name, got)
		}
	}
}
