package transform

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// conditional are masks that can have a condition, with a function that gives their result for a value, or nil if that is drawn.
func conditional(where string) map[string]struct {
	mask  Spec
	fixed func(v float64) float64
} {
	type of = struct {
		mask  Spec
		fixed func(v float64) float64
	}
	return map[string]of{
		"noise":    {mask(&Noise{Columns: []string{"a"}, SD: amount(20), Where: where}), nil},
		"laplace":  {mask(&Noise{Columns: []string{"a"}, SD: amount(20), Distribution: "laplace", Where: where}), nil},
		"bias":     {mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.2), Where: where}), nil},
		"round":    {mask(&Round{Columns: []string{"a"}, Base: ptr(50.0), Where: where}), func(v float64) float64 { return 50 * math.RoundToEven(v/50) }},
		"truncate": {mask(&Truncate{Columns: []string{"a"}, Lower: ptr(80.0), Upper: ptr(130.0), Where: where}), func(v float64) float64 { return max(80, min(130, v)) }},
	}
}

func conditionalData(n int) testColumn {
	r := rand.New(rand.NewPCG(37, 5))
	c := floats(1, make([]float64, n)...)
	for i := range n {
		if r.IntN(2) == 0 {
			c.values[i] = math.Round(1000+200*r.NormFloat64()) / 10
		}
	}
	c.values[2] = 40.04 // between the steps of the grid: its decimals are those of the release
	c.null = []int{0, 7, n - 1}
	return c
}

// Records whose original value does not meet the condition are released unchanged, the others as the mask has them, for any
// mask before it and in blocks of any size; a replicate does the same. The count is of the changed records.
func TestConditionsChooseTheRecords(t *testing.T) {
	const n = 3000
	c := conditionalData(n)
	met := func(v float64) bool { return v > 60 && v != 100 }
	before := mask(&Truncate{Columns: []string{"a"}, Upper: ptr(59.0)}) // behind it no value meets the condition any more
	for name, m := range conditional("a > 60 and a != 100") {
		for _, masks := range [][]Spec{{m.mask}, {Spec{Name: "before", Params: before.Params}, m.mask}} {
			release := chain(t, testSetup(t, c), masks...)
			for which, chain := range map[string]*Chain{"release": release, "replicate": release.Replicate(3)} {
				changed := 0
				for _, size := range []int{n, 700} {
					for from := 0; from < n; from += size {
						v := apply(t, chain, block(from, min(from+size, n), c)).Columns[0].Out()
						for i, y := range v.Values {
							x := c.values[from+i]
							if len(masks) > 1 {
								x = min(x, 59)
							}
							x = math.RoundToEven(10*x) / 10
							switch {
							case slices.Contains(c.null, from+i):
								if v.Valid.Has(i) {
									t.Fatalf("%s, %s: record %d has a value", name, which, from+i)
								}
								continue
							case !met(c.values[from+i]) && y != x:
								t.Fatalf("%s, %s: record %d does not meet the condition and is %v, want %v", name, which, from+i, y, x)
							case met(c.values[from+i]) && m.fixed != nil && y != m.fixed(x):
								t.Fatalf("%s, %s: record %d meets the condition and is %v, want %v", name, which, from+i, y, m.fixed(x))
							}
							if y != x {
								changed++
							}
						}
					}
				}
				if got := chain.Touched()[len(masks)-1].Records; changed == 0 || got != int64(changed) {
					t.Errorf("%s, %s: %d records counted, %d have changed", name, which, got, changed)
				}
			}
		}
	}
}

// Noise of the records that meet the condition has mean 0 and the SD of the mask, to five standard errors.
func TestConditionalNoiseIsTheNoise(t *testing.T) {
	c := conditionalData(20_000)
	v := apply(t, chain(t, testSetup(t, c), conditional("a > 0")["noise"].mask), block(0, len(c.values), c)).Columns[0].Out()
	var e []float64
	for i, x := range c.values {
		if x > 0 && v.Valid.Has(i) {
			e = append(e, v.Values[i]-x)
		}
	}
	mean, sd := meanSD(e)
	if root := math.Sqrt(float64(len(e))); math.Abs(mean) > 5*20/root || math.Abs(sd-20) > 5*20/root {
		t.Errorf("mean %v and SD %v", mean, sd)
	}
}

// A mask with a condition describes nothing from which something would be computed as if it changed all records.
func TestConditionalMasksDescribeNothing(t *testing.T) {
	c := conditionalData(300)
	all := func(string) bool { return true }
	for name, m := range conditional("a > 0") {
		chain := chain(t, testSetup(t, c), m.mask)
		apply(t, chain, block(0, 300, c))
		if _, ok := chain.Law("a"); ok {
			t.Errorf("%s: has a law", name)
		}
		if _, ok := chain.ColumnLaw("a"); ok {
			t.Errorf("%s: has a law of the column", name)
		}
		if k := chain.Keeping("a", 100, true); k.Share(0) != 0 || k.Share(100) != 0 {
			t.Errorf("%s: explains unchanged values", name)
		}
		if ActionOf(m.mask.Params, "a", 50) != nil {
			t.Errorf("%s: has an action", name)
		}
		kind := PublishingKind(m.mask.Kind())
		if p := published(m.mask.Params, 50, "where", "sd", "phi", "base", "lower", "upper", "mode", "distribution"); kind.PublishedAction(p, "a") != nil || !strings.HasSuffix(kind.Words(p, "a"), "; only where a > 0") {
			t.Errorf("%s: %+v, %q", name, kind.PublishedAction(p, "a"), kind.Words(p, "a"))
		}
		if p := published(m.mask.Params, 50); kind.PublishedAction(p, "a") != nil || !strings.Contains(kind.Words(p, "a"), "not published") || strings.Contains(kind.Words(p, "a"), "> 0") {
			t.Errorf("%s, nothing published: %q", name, kind.Words(p, "a"))
		}
		if kind.EfficiencyFollows(all, all) {
			t.Errorf("%s: the efficiency follows", name)
		}
		if alone, ok := Alone([]Spec{m.mask}, "a"); !ok || ActionOf(alone[0].Params, "a", 50) != nil {
			t.Errorf("%s: alone it has lost its condition", name)
		}
	}
}

func TestConditionsAreRefused(t *testing.T) {
	for _, c := range []struct {
		mask Params
		want string
	}{
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: "a"}, "where: must be comparisons"},
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: "b > 0"}, `where: must compare the column that is masked, "a", got "b"`},
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: "a > 0 and b > 0"}, `where: must compare the column that is masked, "a", got "b"`},
		{&Noise{Columns: []string{"a"}, SD: amount(1), Where: `a = "x"`}, `where: must compare "a" with a number`},
		{&Noise{Columns: []string{"a", "b"}, SD: amount(1), Where: "a > 0"}, "where: must be of a mask of one column, got 2"},
		{&Bias{Columns: []string{"a", "b"}, Phi: ptr(0.1), Where: "b > 0"}, "where: must be of a mask of one column, got 2"},
		{&Round{Columns: []string{"a"}, Base: ptr(5.0), Where: "a >"}, "where: must be comparisons"},
		{&Truncate{Columns: []string{"a"}, Upper: ptr(5.0), Mode: "redraw", Where: "a > 0"}, "where: must not be given with mode redraw"},
	} {
		if ps := c.mask.Check(); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.mask, ps, c.want)
		}
	}
	for name, m := range conditional("a > 0") {
		for _, before := range []Params{&Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"d", "a"}, Rate: ptr(0.5)}, &RankSwap{Columns: []string{"a"}, P: ptr(0.1)}, &Synthesise{Columns: []string{"a"}}} {
			ps := CheckSpecs([]Spec{mask(&Round{Columns: []string{"a"}, Base: ptr(2.0)}), {Name: "before", Params: before}, {Name: "last", Params: m.mask.Params}})
			if len(ps) != 1 || !strings.Contains(ps[0].Error(), ".where: must not be given behind mask [1]") {
				t.Errorf("%s behind %T: %v", name, before, ps)
			}
			if ps := CheckSpecs([]Spec{{Name: "first", Params: m.mask.Params}, mask(before)}); len(ps) != 0 {
				t.Errorf("%s before %T: %v", name, before, ps)
			}
		}
		if ps := CheckSpecs([]Spec{mask(&Swap{Keys: []string{"b"}, Attribute: "c", Columns: []string{"d"}, Rate: ptr(0.5)}), m.mask}); len(ps) != 0 {
			t.Errorf("%s behind a swap of another column: %v", name, ps)
		}
	}
	ps := CheckSpecs([]Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(1), Where: "a > 0"}), mask(&Truncate{Columns: []string{"a"}, Upper: ptr(5.0), Mode: "redraw"})})
	if len(ps) != 1 || !strings.Contains(ps[0].Error(), "redraw needs a noise mask without where just before it") {
		t.Errorf("a redraw of noise with a condition: %v", ps)
	}
}
