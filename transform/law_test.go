package transform

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// The law of a chain at a value is compared with the chain's release of many records of that value:
// moments within five of the draws' standard errors, and the distribution function at every tenth
// of the draws within five standard errors of a share. Without draws the two are equal.
func TestLawIsThatOfTheChain(t *testing.T) {
	const n = 6_000
	chains := lawChains()
	for i, typ := range lawTypes {
		for j, name := range slices.Sorted(maps.Keys(chains)) {
			specs := chains[name]
			for k, x := range []float64{0, 3, 95, 100, 101, 250} {
				if testing.Short() && (i+j+k)%3 > 0 {
					continue // each chain of each type at two values, at each value two or more types of a chain
				}
				values := testColumn{Values: repeat(x, n), Type: typ.of, Decimals: typ.decimals}
				setup := testSetup(t, values)
				setup.Columns[0].SD, setup.Columns[0].Mean = 20, 100
				c := chain(t, setup, specs...)
				law, ok := c.Law("a")
				if !ok {
					t.Fatalf("%s: has no law", name)
				}
				what := fmt.Sprintf("%s of %s at %v", name, typ.name, x)
				y := apply(t, c, block(0, len(values.Values), values)).Columns[0].Out().Values
				checkLaw(t, what, law, x, y)
			}
		}
	}
}

// lawChains are masks on column "a" in many orders.
func lawChains() map[string][]Spec {
	noise := func(sd float64, distribution string, tiers ...Tier) Spec {
		return mask(&Noise{Columns: []string{"a"}, SD: amount(sd), Distribution: distribution, Tiers: tiers})
	}
	clip := func(lower, upper float64, mode string) Spec {
		return mask(&Truncate{Columns: []string{"a"}, Lower: ptr(lower), Upper: ptr(upper), Mode: mode})
	}
	base := func(b float64) Spec { return mask(&Round{Columns: []string{"a"}, Base: &b}) }
	bias := func(phi float64) Spec { return mask(&Bias{Columns: []string{"a"}, Phi: &phi}) }
	chains := map[string][]Spec{
		"bias": {bias(0.2)}, "bias, little": {bias(0.001)},
		"bias, noise": {bias(0.1), noise(20, "")}, "noise, noise": {noise(0.6, ""), noise(0.5, "")},
		"clip": {clip(90, 110, "")}, "round": {base(10)}, "clip, round": {clip(93, 112, ""), base(10)},
		"round, clip": {base(10), clip(93, 112, "")},
		"bias, clip":  {bias(0.2), clip(60, 104, "")}, "bias, round": {bias(0.05), base(20)},
		"clip, noise, clip": {clip(95, 105, ""), noise(9, ""), clip(90, 110, "")},
		"round, noise":      {base(50), noise(9, "")},
	}
	tiers := []Tier{{Above: ptr(99.0), VarianceFactor: ptr(0.0)}, {Above: ptr(101.0), VarianceFactor: ptr(9.0)}}
	for name, chain := range map[string][]Spec{
		"bias, tiers":               {bias(0.05), noise(4, "", tiers...)},
		"bias, tiers, clip":         {bias(0.05), noise(4, "", tiers...), clip(90, 108, "")},
		"little bias, tiers, round": {bias(0.001), noise(4, "", tiers...), base(2)},
		"bias, noise, tiers":        {bias(0.03), noise(3, ""), noise(0.4, "", tiers...)},
		"noise, bias":               {noise(3, ""), bias(0.03)},
		"wide noise, bias":          {noise(60, ""), bias(0.08)},
		"laplace, normal":           {noise(3, "laplace"), noise(2, "")},
		"normal, laplace":           {noise(2, ""), noise(5, "laplace", tiers...)},
		"uniform, normal":           {noise(20, "uniform"), noise(3, "")},
		"bias, uniform":             {bias(0.05), noise(20, "uniform")},
		"uniform, uniform":          {noise(6, "uniform"), noise(20, "uniform", tiers...)},
		"noise, clip, noise":        {noise(9, ""), clip(95, 104, ""), noise(2, "")},
		"noise, round, noise":       {noise(9, ""), base(10), noise(2, "")},
		"noise, clip, round, bias":  {noise(9, ""), clip(93, 112, ""), base(10), bias(0.01), clip(80, 105, "")},
		"noise, round, clip, noise": {noise(9, ""), base(10), clip(93, 112, ""), noise(2, ""), base(5)},
		"noise, one value, noise":   {clip(95, 108, ""), noise(0.3, "uniform"), clip(96, 102, ""), base(10), noise(2, "")},
		"clip, far, noise":          {noise(0.3, "uniform"), clip(95, 102, ""), noise(2, "uniform")},
		"redraw, noise":             {noise(9, ""), clip(95, 104, "redraw"), noise(2, "")},
		"redraw, tiers, clip": {noise(90, "laplace"), clip(95, 104, "redraw"), noise(2, "", tiers...),
			clip(96, 103, "")},
		"far redraw, noise": {noise(2, ""), clip(40, 60, "redraw"), noise(2, "")},
		"little, noise":     {noise(1, "laplace"), noise(25, "", tiers...)},
		"noise, little":     {noise(25, "laplace"), noise(0.1, "")},
	} {
		chains["two draws: "+name] = chain
	}
	for _, d := range []string{"normal", "laplace", "uniform"} {
		for _, sd := range []float64{0, 0.1, 0.7, 3, 25} {
			with := func(more ...Spec) []Spec { return append([]Spec{noise(sd, d)}, more...) }
			at := fmt.Sprintf("%s %v", d, sd)
			chains[at] = with()
			chains[at+", clip"] = with(clip(97, 108, ""))
			chains[at+", redraw"] = with(clip(97, 108, "redraw"))
			chains[at+", redraw, clip"] = with(clip(97, 108, "redraw"), clip(99, 105, ""))
			chains[at+", round"] = with(base(10))
			chains[at+", clip, round"] = with(clip(97, 128, ""), base(10))
			chains[at+", tiers"] = []Spec{noise(sd, d, Tier{Above: ptr(100.0), VarianceFactor: ptr(4.0)}), clip(90, 140, "")}
		}
	}
	return chains
}

type lawType struct {
	name     string
	of       arrow.DataType
	decimals int
}

var lawTypes = []lawType{
	{"cents", arrow.PrimitiveTypes.Float64, 2}, {"no decimals", arrow.PrimitiveTypes.Float64, -1},
	{"integers", arrow.PrimitiveTypes.Int32, 0}, {"single", arrow.PrimitiveTypes.Float32, 1},
	{"bytes", arrow.PrimitiveTypes.Uint8, 0},
}

func checkLaw(t *testing.T, what string, law *Law, x float64, y []float64) {
	t.Helper()
	n := float64(len(y))
	var d1, d2, d4 float64
	for _, v := range y {
		d := v - x
		d1 += d / n
		d2 += d * d / n
		d4 += d * d * d * d / n
	}
	shift, square := law.Moments(x)
	v := max(0, square-shift*shift) // if little probability lies beyond a bound, the draws cannot estimate their own error
	// Allowed are the error of the draws, and twenty draws that differ by one rounding step:
	// Moments neglects the rounding of uniform noise, 0.2 % of a variance of 16² steps or more.
	if e := 5*math.Sqrt(max(d2-d1*d1, v)/n) + 1e-9 + 1e-4*math.Sqrt(square) + 20*law.Coarse/n; !(math.Abs(shift-d1) <= e) {
		t.Errorf("%s: E(y−x) is %v, of draws %v ± %v", what, shift, d1, e/5)
	}
	if e := 5*math.Sqrt(max(d4-d2*d2, 4*shift*shift*v)/n) + 1e-9 + 2e-3*square +
		20*law.Coarse*law.Coarse/n; !(math.Abs(square-d2) <= e) {
		t.Errorf("%s: E(y−x)² is %v, of draws %v ± %v", what, square, d2, e/5)
	}
	low, high := law.Reach(x)
	least, most, _ := law.Support()
	for i := 0; i < len(y); i += len(y) / 10 {
		below := 0.0
		for _, v := range y {
			if v <= y[i] {
				below++
			}
		}
		p := law.Below(x, y[i])
		var each [2]float64
		if law.BelowEach([]float64{y[0], x})(y[i], each[:]); each[1] != p || each[0] != law.Below(y[0], y[i]) {
			t.Errorf("%s: P(y ≤ %v) is %v, of several originals together %v", what, y[i], p, each[1])
		}
		if e := 5*math.Sqrt(p*(1-p)/n) + 2/n; !(math.Abs(below/n-p) <= e) {
			t.Errorf("%s: P(y ≤ %v) is %v, of draws %v", what, y[i], p, below/n)
		}
	}
	for _, v := range y {
		if v < low || v > high || v < least || v > most {
			t.Errorf("%s: %v is released, beyond [%v, %v] or [%v, %v]", what, v, low, high, least, most)
			break
		}
	}
}

// A chain has no law for a column if it draws more than a sum of normals. Masks of other columns do
// not count.
func TestChainsWithoutLaw(t *testing.T) {
	noise := func(column, distribution string, tiers ...Tier) Spec {
		return mask(&Noise{Columns: []string{column}, SD: amount(1), Distribution: distribution, Tiers: tiers})
	}
	bias := mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.1)})
	clip := mask(&Truncate{Columns: []string{"a"}, Lower: ptr(1.0)})
	swap := mask(&Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"a"}, Rate: ptr(0.5)})
	tier := Tier{Above: ptr(5.0), VarianceFactor: ptr(2.0)}
	top := mask(&Topcode{Columns: []string{"a"}, Upper: ptr(2.0), Replace: "mean", Share: ptr(1.0)})
	for _, tt := range []struct {
		masks []Spec
		ok    bool
	}{
		{[]Spec{noise("a", "")}, true},
		{[]Spec{noise("b", "laplace"), noise("b", "laplace"), bias, noise("a", "")}, true},
		{[]Spec{swap, bias, swap, noise("a", ""), clip, swap}, true},
		{[]Spec{swap}, true},
		{[]Spec{noise("a", ""), bias}, true},
		{[]Spec{bias, noise("a", "laplace")}, true},
		{[]Spec{bias, noise("a", "", tier), clip}, true},
		{[]Spec{noise("a", ""), clip, noise("a", "")}, true},
		{[]Spec{noise("a", ""), mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.12)})}, false},
		{[]Spec{noise("a", ""), bias, noise("a", "")}, false},
		{[]Spec{noise("a", ""), noise("a", "laplace"), noise("a", "")}, false},
		{[]Spec{bias, noise("a", ""), mask(&Truncate{Columns: []string{"a"}, Lower: ptr(1.0), Mode: "redraw"})}, false},
		{[]Spec{top}, true},
		{[]Spec{clip, top, noise("a", "laplace")}, true},
		// a jump from the bound to the mean behind it, which moments of a clip leave out
		{[]Spec{noise("a", ""), top}, false},
		{[]Spec{noise("a", ""), clip, top, noise("a", "")}, false},
	} {
		for i := range tt.masks {
			tt.masks[i].Name = fmt.Sprint(i)
		}
		col := floats(0, 1, 2, 3)
		setup := testSetup(t, col, col, col)
		setup.Sorted = map[string][]float64{"a": {0, 1, 2, 3, 4, 5}}
		_, ok := chain(t, setup, tt.masks...).Law("a")
		if ok != tt.ok {
			t.Errorf("%v: has a law is %v", tt.masks, ok)
		}
	}
}
