package transform

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

func countSame(x, y []float64) (n float64) {
	for i := range x {
		if x[i] == y[i] {
			n++
		}
	}
	return n
}

// The law gives the number of unchanged values under noise: the count of a simulation lies within 6
// of its standard errors, √Σp(1−p), plus 1.
func TestKeepingGivesWhatStays(t *testing.T) {
	n := thin(200_000)
	rng := rand.New(rand.NewPCG(5, 1))
	ages, bytes, wages := make([]float64, n), make([]float64, n), incomes(n, 3)
	for i := range ages {
		ages[i] = math.Round(20 + 50*rng.Float64())
		bytes[i] = float64(rng.IntN(4)) * 85 // many at 0 and 255, the ends of their type
	}
	a := []string{"a"}
	int64s, uint8s := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint8
	for name, tt := range map[string]struct {
		column testColumn
		masks  []Spec
	}{
		"one step": {typed(ages, nil, int64s, 0), []Spec{mask(&Noise{Columns: a, SD: amount(1)})}},
		"laplace": {typed(ages, nil, int64s, 0),
			[]Spec{mask(&Noise{Columns: a, SD: amount(3), Distribution: "laplace"})}},
		"uniform": {typed(ages, nil, int64s, 0),
			[]Spec{mask(&Noise{Columns: a, SD: amount(2), Distribution: "uniform"})}},
		"tiers": {typed(ages, nil, int64s, 0),
			[]Spec{mask(&Noise{Columns: a, SD: amount(2), Tiers: []Tier{{Above: ptr(40.0), VarianceFactor: ptr(9.0)}}})}},
		"rounded behind": {typed(ages, nil, int64s, 0),
			[]Spec{mask(&Noise{Columns: a, SD: amount(2)}), mask(&Round{Columns: a, Base: ptr(1.0)})}},
		"two": {typed(ages, nil, int64s, 0),
			[]Spec{mask(&Noise{Columns: a, SD: amount(40)}), mask(&Truncate{Columns: a, Lower: ptr(30.0)})}},
		"redraw": {typed(ages, nil, int64s, 0),
			[]Spec{mask(&Noise{Columns: a, SD: amount(15)}),
				mask(&Truncate{Columns: a, Lower: ptr(18.0), Upper: ptr(80.0), Mode: "redraw"})}},
		"ends of the type": {typed(bytes, nil, uint8s, 0), []Spec{mask(&Noise{Columns: a, SD: amount(9)})}},
		"bias": {typed(wages, nil, arrow.PrimitiveTypes.Float64, 2),
			[]Spec{mask(&Bias{Columns: a, Phi: ptr(0.001)})}},
		"bias with zeros": {typed(bytes, nil, int64s, 0), []Spec{mask(&Bias{Columns: a, Phi: ptr(0.1)})}},
		"continuous values": {typed(wages, nil, arrow.PrimitiveTypes.Float64, -1),
			[]Spec{mask(&Noise{Columns: a, SD: amount(0.5)})}},
	} {
		setup := testSetup(t, tt.column)
		c := chain(t, setup, tt.masks...)
		y := apply(t, c, block(0, n, tt.column)).Columns[0].Out().Values
		law := c.Keeping("a", math.Hypot(setup.Columns[0].Mean, setup.Columns[0].SD), true)
		var mean, variance float64
		for _, x := range tt.column.Values {
			p := law.Share(x)
			mean, variance = mean+p, variance+p*(1-p)
		}
		got := countSame(tt.column.Values, y)
		if !(math.Abs(got-mean) <= 6*math.Sqrt(variance)+1) {
			t.Errorf("%s: %v values stay, the law expects %.1f ± %.1f", name, got, mean, math.Sqrt(variance))
		}
		if tt.column.Decimals >= 0 && mean == 0 {
			t.Errorf("%s: the law must explain the unchanged values", name)
		}
	}
}

// Masks without effect explain nothing, at any place.
func TestKeepingExplainsNothingWhereNothingIsMasked(t *testing.T) {
	a := []string{"a"}
	f64, f32, i32 := arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Int32
	ages := []float64{20, 30, 40, 50, 61}
	idle := mask(&Noise{Columns: a, SD: amount(0)})
	for name, tt := range map[string]struct {
		column testColumn
		masks  []Spec
	}{
		"sd 0":         {typed(ages, nil, f64, 2), []Spec{idle}},
		"sd 1e-300":    {typed(ages, nil, f64, 2), []Spec{mask(&Noise{Columns: a, SD: amount(1e-300)})}},
		"no decimals":  {typed(ages, nil, f64, -1), []Spec{mask(&Noise{Columns: a, SD: amount(1e-300)})}},
		"integers":     {typed(ages, nil, i32, 0), []Spec{mask(&Noise{Columns: a, SD: amount(0.1)})}},
		"great values": {typed(repeat(1e20, 5), nil, f64, -1), []Spec{mask(&Noise{Columns: a, SD: amount(1)})}},
		"ends of float32": {typed([]float64{math.MaxFloat32, -math.MaxFloat32}, nil, f32, -1),
			[]Spec{mask(&Noise{Columns: a, SD: amount(1)})}},
		"laplace": {typed(ages, nil, i32, 0),
			[]Spec{mask(&Noise{Columns: a, SD: amount(0.1), Distribution: "laplace"})}},
		"rounded away": {typed([]float64{100, 200, 300}, nil, i32, 0),
			[]Spec{mask(&Noise{Columns: a, SD: amount(5)}), mask(&Round{Columns: a, Base: ptr(100.0)})}},
		"behind a truncation": {typed(ages, nil, i32, 0), []Spec{mask(&Truncate{Columns: a, Upper: ptr(60.0)}), idle}},
		"before one":          {typed(ages, nil, i32, 0), []Spec{idle, mask(&Truncate{Columns: a, Upper: ptr(60.0)})}},
		"bias 0":              {typed(ages, nil, f64, 2), []Spec{mask(&Bias{Columns: a, Phi: ptr(0.0)})}},
		"bias of integers":    {typed(ages, nil, i32, 0), []Spec{mask(&Bias{Columns: a, Phi: ptr(0.001)})}},
		"rounding to what is": {typed(ages, nil, i32, 0), []Spec{mask(&Round{Columns: a, Decimals: ptr(0)})}},
		"bounds of nothing":   {typed(ages, nil, i32, 0), []Spec{mask(&Truncate{Columns: a, Upper: ptr(100.0)})}},
		"tier without noise": {typed(ages, nil, i32, 0),
			[]Spec{mask(&Noise{Columns: a, SD: amount(5), Tiers: []Tier{{Above: ptr(0.0), VarianceFactor: ptr(0.0)}}})}},
	} {
		c := chain(t, testSetup(t, tt.column), tt.masks...)
		y := apply(t, c, block(0, len(tt.column.Values), tt.column)).Columns[0].Out().Values
		law := c.Keeping("a", math.Abs(tt.column.Values[0]), true)
		for i, x := range tt.column.Values {
			if x == y[i] && law.Share(x) != 0 {
				t.Errorf("%s: the law explains %v of %v", name, law.Share(x), x)
			}
		}
		if countSame(tt.column.Values, y) == 0 {
			t.Errorf("%s: no value is unchanged, so the case tests nothing", name)
		}
	}
}

// Every kind of mask declares what it leaves unchanged. A kind that declares nothing explains
// nothing, so that a new kind without a declaration is not treated as one that may leave everything
// unchanged.
func TestEveryKindSaysWhatItKeeps(t *testing.T) {
	for _, k := range Kinds() {
		for _, spec := range exampleSpecs(k.Name) {
			column := testColumn{Values: []float64{1, 2, 3, 4}, Type: arrow.PrimitiveTypes.Int64}
			c := chain(t, testSetup(t, column, column, column), spec...)
			for i := range c.Steps {
				if _, ok := c.Steps[i].(core.Keeper); !ok {
					t.Errorf("%s: %T does not declare which values it leaves unchanged", k.Name, c.Steps[i])
				}
			}
		}
		if exampleSpecs(k.Name) == nil {
			t.Errorf("%s: has no example here", k.Name)
		}
	}
}

func exampleSpecs(kind string) [][]Spec {
	a := []string{"a"}
	swap := func(scope string) Spec {
		return mask(&Swap{Columns: a, Keys: []string{"b"}, Attribute: "c", Rate: ptr(0.5), Scope: scope})
	}
	switch kind {
	case "sample":
		return [][]Spec{{mask(&Sample{Rate: ptr(0.5)})}}
	case "noise":
		return [][]Spec{{mask(&Noise{Columns: a, SD: amount(1)})},
			{mask(&Noise{Columns: []string{"a", "b"}, SD: percent(10), Correlated: true})}}
	case "bias":
		return [][]Spec{{mask(&Bias{Columns: a, Phi: ptr(1.0)})}}
	case "truncate":
		return [][]Spec{{mask(&Truncate{Columns: a, Upper: ptr(1.0)})}}
	case "round":
		return [][]Spec{{mask(&Round{Columns: a, Base: ptr(2.0)})}}
	case "rankswap":
		return [][]Spec{{mask(ranked(0.5, "a"))}}
	case "suppress":
		return [][]Spec{{mask(&Suppress{Keys: a, K: ptr(2)})}}
	case "recordswap":
		return [][]Spec{{mask(&RecordSwap{Hierarchy: a, Risk: []string{"b"}, Rate: ptr(0.5)})}}
	case "shuffle":
		return [][]Spec{{mask(&Shuffle{Columns: a, On: []string{"b"}})}}
	case "calibrate":
		return [][]Spec{{mask(&Calibrate{Columns: a, By: []string{"b"}})}}
	case "synthesise":
		return [][]Spec{{mask(&Synthesise{Columns: a, On: []string{"b"}})}}
	case "microaggregate":
		return [][]Spec{{mask(micro(2, "a"))}}
	case "topcode":
		return [][]Spec{{mask(&Topcode{Columns: a, Upper: ptr(2.0)})},
			{mask(&Topcode{Columns: a, Upper: ptr(2.0), Replace: "label", UpperLabel: ptr("more")})}}
	case "recode":
		return [][]Spec{{mask(&Recode{Columns: a, Breaks: []float64{0, 2, 4}, Midpoints: true})},
			{mask(&Recode{Columns: a, Map: map[string]string{"1": "2"}, Other: ptr("3")})}}
	case "pram":
		return [][]Spec{{mask(&PRAM{Columns: a, Keep: ptr(0.7), Categories: []string{"1", "2", "3", "4"}})}}
	case "date":
		return [][]Spec{{mask(&Date{Columns: a, Round: "month", Unit: "days"})},
			{mask(&Date{Columns: a, Shift: ptr(4), By: "b", Scope: "p", Unit: "days"})},
			{mask(&Date{Columns: a, Age: ptr("2024-02-28"), Unit: "days"})}}
	case "donut":
		return [][]Spec{{mask(&Donut{Columns: []string{"a", "b"}, Unit: "metres", Least: ptr(3.0), Most: ptr(9.0)})}}
	case "pseudonym":
		return [][]Spec{{mask(&Pseudonym{Columns: a, Scope: "person"})}}
	case "swap":
		return [][]Spec{{swap("window")}, {swap("dataset")}}
	}
	return nil
}
