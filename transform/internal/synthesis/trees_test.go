package synthesis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// bentData returns a number a, a number b near 3a² with a spread that grows with |a|, a category c
// that is 1 near a = 0 and 2 elsewhere, and strata d in which b has the opposite sign.
func bentData(n int, seed uint64) []testColumn {
	r := rand.New(rand.NewPCG(seed, 17))
	columns := make([]testColumn, 4)
	for k, decimals := range []int{-1, -1, 0, 0} {
		columns[k] = floats(decimals, make([]float64, n)...)
	}
	for i := range n {
		s := float64(i % 2)
		a := 2*r.Float64() - 1
		columns[0].Values[i], columns[3].Values[i] = a, s
		columns[1].Values[i] = (1 - 2*s) * (3*a*a + (0.1+0.3*math.Abs(a))*r.NormFloat64())
		columns[2].Values[i] = 2
		if r.Float64() < 0.9 && math.Abs(a) < 0.4 {
			columns[2].Values[i] = 1
		}
	}
	return columns
}

// Trees reproduce dependencies that regressions cannot: b is not linear in a, and c depends on the
// distance from 0. Means are kept, no original number is released, and within a stratum the release
// is not correlated with the record's own value if no column stays.
func TestSynthesiseByTreesFollowsWhatBends(t *testing.T) {
	n := thin(40_000)
	columns := bentData(n, 4)
	root := math.Sqrt(float64(n))
	share := func(a, c []float64) (inside, outside float64) {
		var in, out, nIn, nOut float64
		for i, v := range c {
			one := 0.0
			if v == 1 {
				one = 1
			}
			if math.Abs(a[i]) < 0.4 {
				in, nIn = in+one, nIn+1
			} else {
				out, nOut = out+one, nOut+1
			}
		}
		return in / nIn, out / nOut
	}
	for _, m := range []Synthesise{
		{Columns: []string{"a", "b", "c"}, By: []string{"d"}, Categories: []string{"c"}, Method: "cart"},
		{Columns: []string{"c", "b"}, On: []string{"a"}, By: []string{"d"}, Categories: []string{"c"}, Method: "cart"},
	} {
		out := whole(t, chain(t, testSetup(t, columns...), synthesise(m)), 5000, columns...)
		again := whole(t, chain(t, testSetup(t, columns...), synthesise(m)), 777, columns...)
		for k := range out {
			if !slices.Equal(out[k], again[k]) {
				t.Errorf("%v: column %d depends on the blocks", m.Columns, k)
			}
		}
		for k := range 2 {
			if !slices.Contains(m.Columns, string(rune('a'+k))) {
				continue
			}
			there := map[float64]bool{}
			for _, v := range columns[k].Values {
				there[v] = true
			}
			for i, v := range out[k] {
				if there[v] {
					t.Fatalf("%v: column %d, record %d: an original value", m.Columns, k, i)
				}
			}
			mean, sd := meanSD(columns[k].Values)
			got, gotSD := meanSD(out[k])
			// In addition to the draw's own error, which is at least as large: the number of
			// records in each leaf.
			if math.Abs(got-mean) > 7*sd/root || math.Abs(gotSD/sd-1) > 7/root+0.01 {
				t.Errorf("%v: column %d has mean %v and SD %v, want %v and %v", m.Columns, k, got, gotSD, mean, sd)
			}
		}
		for s := range 2 {
			var x, y, u, v []float64
			for i := s; i < n; i += 2 {
				x, y = append(x, columns[0].Values[i]*columns[0].Values[i]), append(y, columns[1].Values[i])
				u, v = append(u, out[0][i]*out[0][i]), append(v, out[1][i])
			}
			if before, after := correlation(x, y), correlation(u, v); math.Abs(before-after) > 0.03+5/root {
				t.Errorf("%v, stratum %d: correlation of b with a² is %v, was %v", m.Columns, s, after, before)
			}
			if len(m.On) == 0 {
				if r := correlation(y, v); math.Abs(r) > 5*math.Sqrt2/root {
					t.Errorf("stratum %d: correlation %v of the release with the original", s, r)
				}
			}
		}
		in, far := share(columns[0].Values, columns[2].Values)
		nowIn, nowFar := share(out[0], out[2])
		// Leaves outside contain a few records from inside, because no leaf has only one category.
		if math.Abs(in-nowIn) > 0.06 || nowFar > 0.06 || far != 0 {
			t.Errorf("%v: %v of those inside are 1 and %v of others, was %v and %v", m.Columns, nowIn, nowFar, in, far)
		}
	}
}

// If the remaining columns determine a value, trees must not reveal it, however many ties there are.
func TestTreesRevealNoValueThatIsDetermined(t *testing.T) {
	const n = 600
	r := rand.New(rand.NewPCG(5, 17))
	a, b, c := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		a[i] = float64(r.IntN(20))
		if c[i] = 1; a[i] > 9 {
			c[i], b[i] = 2, 1000+a[i]
		}
	}
	// 1010 among other values in a leaf is not released as 1010. Whether a record has a 0, which half of all have, is
	// drawn as a category is.
	columns := []testColumn{floats(0, a...), floats(-1, b...), floats(0, c...)}
	out := whole(t,
		chain(t, testSetup(t, columns...),
			synthesise(Synthesise{Columns: []string{"b", "c"}, On: []string{"a"}, Categories: []string{"c"}, Method: "cart",
				Leaf: ptr(5)})), 100, columns...)
	changed, moved := 0, 0
	for i := range n {
		if b[i] != 0 && out[1][i] == b[i] {
			t.Fatalf("record %d: the original value", i)
		}
		if out[2][i] != c[i] {
			changed++
		}
		if (out[1][i] == 0) != (b[i] == 0) {
			moved++
		}
	}
	// each side keeps 5 % of the index .5, so at least about 1.3 % of a leaf change; here .5 of all
	if changed < n/50 || moved < n/50 {
		t.Errorf("of %d records %d categories and %d zeros have changed", n, changed, moved)
	}
}

func TestSynthesiseByTreesIsRefused(t *testing.T) {
	for want, m := range map[string]*Synthesise{
		`method: must be one of parametric, normal, cart, got "forest"`: {Columns: []string{"a"}, Method: "forest"},
		"leaf: must be given with method: cart only":                    {Columns: []string{"a"}, Leaf: ptr(10)},
		"leaf: must be at least 5 and at most 1000000, got": {Columns: []string{"a"}, Leaf: ptr(4),
			Method: "cart"},
	} {
		if ps := m.Check(); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), want) {
			t.Errorf("got %v, want %s", ps, want)
		}
	}
	columns := bentData(200, 6)
	for i := range 100 { // one value in the second stratum, with a rounded mean
		columns[1].Values[2*i+1], columns[2].Values[2*i+1] = 0.1, 2
	}
	for want, m := range map[string]Synthesise{
		"masks[0].synthesise.columns[0]: must not be determined by on, nor be one value alone": {Columns: []string{"b"},
			By: []string{"d"}, Method: "cart"},
		"masks[0].synthesise.columns[1]: must not be determined by on, nor be one value alone": {
			Columns: []string{"a", "c"}, By: []string{"d"}, Categories: []string{"c"}, Method: "cart"},
		"masks[0].synthesise.columns[0]: must have at least 101 records, in each stratum": {Columns: []string{"a"},
			By: []string{"d"}, Method: "cart", Leaf: ptr(101)},
		"masks[0].synthesise.columns[0]: must have at most 50 categories": {Columns: []string{"a"},
			Categories: []string{"a"}, Method: "cart"},
		"masks[0].synthesise.columns[0]: must not be determined by on, nor be one value alone in ": {Columns: []string{"b"},
			By: []string{"d"}},
	} {
		c := chain(t, testSetup(t, columns...), synthesise(m))
		if err := c.Survey(block(0, 200, columns...)); err != nil {
			t.Fatal(err)
		}
		if err := c.EndSurvey(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", m, err, want)
		}
	}
}

// The statistics of a leaf for the smoothed bootstrap, by definition, together with other records.
// The spread is as accurate far from 0 as near it.
func TestSmoothingOfALeaf(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 15))
	y := make([]float64, 60)
	var leaf []int32
	for i := range y {
		if y[i] = 3 * r.NormFloat64(); i%3 > 0 {
			leaf = append(leaf, int32(i))
		}
	}
	n := float64(len(leaf))
	want := math.Sqrt(impurity(y, leaf, false) / n)
	for _, far := range []float64{0, -7, 1e9} {
		for i := range y {
			y[i] += far
		}
		mean := 0.0
		for _, r := range leaf {
			mean += y[r] / n
		}
		s := smoothingOf(y, leaf)
		if !(math.Abs(s.sd/want-1) <= 1e-6) || s.mean != mean || s.width != bandwidth(len(leaf)) {
			t.Errorf("%v from 0: %+v, want the mean %v and the SD %v", far, s, mean, want)
		}
	}
}
