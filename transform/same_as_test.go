package transform

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// changes are those of n persons in the order of a stream: what an income was before and is after, and whose
// it is. The first change of a person has no before, the last no after.
func changes(n int, seed uint64) []testColumn {
	r := rand.New(rand.NewPCG(seed, 12))
	after, before, afterID, beforeID, common := floats(2), floats(2), floats(0), floats(0), floats(0)
	next := make([]int, n) // the changes that each person has had
	income := make([]float64, n)
	add := func(c *testColumn, v float64, there bool) {
		if !there {
			c.Null, v = append(c.Null, len(c.Values)), 0
		}
		c.Values = append(c.Values, v)
	}
	for left := 5 * n; left > 0; {
		p := r.IntN(n)
		if next[p] == 5 {
			continue
		}
		left--
		old := income[p]
		if next[p] < 4 && (next[p] == 0 || r.IntN(3) > 0) {
			income[p] = float64(1000 + r.IntN(40)*50)
		}
		add(&after, income[p], next[p] < 4)
		add(&afterID, float64(p+1), next[p] < 4)
		add(&before, old, next[p] > 0)
		add(&beforeID, float64(p+1), next[p] > 0)
		add(&common, 7, true)
		next[p]++
	}
	return []testColumn{after, before, afterID, beforeID, common}
}

// A value has one draw, as after, as before, and when its record is deleted, in any order; the same value of
// another person, and another value of the same person, have others.
func TestBeforeDrawsAsAfter(t *testing.T) {
	columns := changes(400, 3)
	ends := len(columns[0].Values)
	for name, tt := range map[string]struct {
		identity, instead []int
		households        Households
	}{
		"after":              {[]int{2}, []int{3}, Households{}},
		"before":             {[]int{3}, []int{2}, Households{}},
		"with a common part": {[]int{4, 2}, []int{-1, 3}, Households{}},
		"household":          {nil, nil, Households{Index: []int{2}, Instead: []int{3}, Shared: []string{"a", "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			setup := testSetup(t, columns...)
			setup.Identity, setup.Instead, setup.Households, setup.SameAs = tt.identity, tt.instead, tt.households,
				map[string]string{"b": "a"}
			masks := []Spec{mask(&Bias{Columns: []string{"a", "b"}, Range: ptr(0.1)}),
				mask(&Noise{Columns: []string{"a", "b"}, SD: amount(100)})}
			out := whole(t, chain(t, setup, masks...), 301, columns...)
			order := make([]int, ends)
			for i := range order {
				order[i] = ends - 1 - i
			}
			back := whole(t, chain(t, setup, masks...), ends, reordered(columns, order)...)
			type of struct{ person, value float64 }
			draws, copies := map[of]float64{}, 0
			all := map[float64]bool{}
			for i := range ends {
				for k := range 2 {
					y, x := out[k][i], columns[k].Values[i]
					if slices.Contains(columns[k].Null, i) {
						continue
					}
					person := max(columns[2].Values[i], columns[3].Values[i])
					if z, known := draws[of{person, x}]; known && z != y {
						t.Fatalf("change %d: %v of person %v leaves as %v and %v", i, x, person, z, y)
					} else if known {
						copies++
					}
					if back[k][ends-1-i] != y {
						t.Fatalf("change %d has another value in the opposite order", i)
					}
					draws[of{person, x}] = y
					all[y-x] = true
				}
			}
			// Some 1,500 noises of SD 100 and more on a grid of 0.01: n²/(2·10,000·√(4π)) ≈ 30 pairs are equal.
			if copies < 1500 || len(all) < len(draws)-150 {
				t.Errorf("%d copies, %d noises of %d values", copies, len(all), len(draws))
			}
			if y := whole(t, chain(t, setup, masks...).Replicate(2), ends, columns...); y[0][0] == columns[0].Values[0] {
				t.Error("a replicate masks nothing")
			}
		})
	}
	// Without same_as the two differ.
	setup := testSetup(t, columns...)
	setup.Identity, setup.Instead = []int{2}, []int{3}
	out := whole(t, chain(t, setup, mask(&Noise{Columns: []string{"a", "b"}, SD: amount(100)})), 4096, columns...)
	same := 0
	for i := range ends {
		if columns[0].Values[i] == columns[1].Values[i] && out[0][i] == out[1][i] {
			same++
		}
	}
	if same > 5 {
		t.Errorf("%d values have one draw in both columns without same_as", same)
	}
}

// Columns that are to have the same draws and are not masked alike are refused.
func TestSameAsIsRefused(t *testing.T) {
	columns := changes(50, 4)
	both := []string{"a", "b"}
	for name, tt := range map[string]struct {
		masks []Spec
		want  string
	}{
		"one only":  {[]Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(5)})}, "changes only one"},
		"the other": {[]Spec{mask(&Noise{Columns: []string{"b"}, SD: amount(5)})}, "changes only one"},
		"two masks": {
			[]Spec{mask(&Noise{Columns: []string{"a"}, SD: amount(5)}), mask(&Noise{Columns: []string{"b"}, SD: amount(5)})},
			"changes only one"},
		"a percentage": {[]Spec{mask(&Noise{Columns: both, SD: percent(5)})}, "not masked exactly"},
		"correlated":   {[]Spec{mask(&Noise{Columns: both, SD: percent(5), Correlated: true})}, "depends on"},
		"rank swap":    {[]Spec{mask(&RankSwap{Columns: both, P: ptr(0.1)})}, "moves values between records"},
		"none":         {[]Spec{mask(&Round{Columns: []string{"e"}, Base: ptr(5.0)})}, ""},
		"alike":        {[]Spec{mask(&Round{Columns: both, Base: ptr(5.0)})}, ""},
	} {
		setup := testSetup(t, columns...)
		setup.SameAs = map[string]string{"b": "a"}
		_, err := NewChain(tt.masks, setup)
		if (err == nil) != (tt.want == "") || err != nil &&
			!(strings.Contains(err.Error(), tt.want) && strings.HasPrefix(err.Error(), "columns.b.same_as: ")) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	setup := testSetup(t, columns...)
	setup.SameAs, setup.Households = map[string]string{"b": "a"}, Households{Index: []int{2}, Shared: []string{"a"}}
	if _, err := NewChain([]Spec{mask(&Noise{Columns: both, SD: amount(5)})}, setup); err == nil {
		t.Error("one column is the household's and the other the person's")
	}
}

// Waves of a panel are files with other places, orders and persons: a person's value that has not changed
// leaves as before, in every wave, of the person and of the household; one that has changed has independent noise.
func TestWavesShareDraws(t *testing.T) {
	const n = 3000
	r := rand.New(rand.NewPCG(9, 9))
	type person struct{ wage, rent, id, household float64 }
	first := make([]person, n)
	rents := map[float64]float64{}
	for i := range first {
		h := float64(1 + i/3)
		if rents[h] == 0 {
			rents[h] = float64(300 + r.IntN(900))
		}
		first[i] = person{float64(1000 + r.IntN(3000)), rents[h], float64(i + 1), h}
	}
	second := slices.Clone(first)
	for i := range second {
		if i%2 == 0 {
			second[i].wage += 500
		}
	}
	r.Shuffle(n, func(i, j int) { second[i], second[j] = second[j], second[i] })
	second = second[n/10:]
	wave := func(list []person, scope string, at int64) map[float64][2]float64 {
		columns := []testColumn{floats(2), floats(2), floats(0), floats(0)}
		for _, p := range list {
			for k, v := range []float64{p.wage, p.rent, p.id, p.household} {
				columns[k].Values = append(columns[k].Values, v)
			}
		}
		setup := testSetup(t, columns...)
		setup.Identity, setup.Households = []int{2}, Households{Index: []int{3}, Shared: []string{"b"}}
		places := make([]int64, len(list))
		for i := range places {
			places[i] = at + int64(i)
		}
		b := apply(t, chain(t, setup, mask(&Noise{Columns: []string{"a", "b"}, SD: amount(100)})),
			streamBlock(scope, int(at), places, 0, len(list), columns...))
		noise := map[float64][2]float64{}
		for i, p := range list {
			noise[p.id] = [2]float64{b.Columns[0].Out().Values[i] - p.wage, b.Columns[1].Out().Values[i] - p.rent}
		}
		return noise
	}
	one, two := wave(first, "", 0), wave(second, "wave-2", 5000)
	product, moved := 0.0, 0.0
	for _, p := range second {
		x, y := one[p.id], two[p.id]
		if x[1] != y[1] || int(p.id-1)%2 == 1 && math.Abs(x[0]-y[0]) > 1e-9 {
			t.Fatalf("person %v has noise %v in one wave and %v in the next", p.id, x, y)
		}
		if int(p.id-1)%2 == 0 {
			product, moved = product+x[0]*y[0]/10_000, moved+1
		}
	}
	// The mean product of independent standard draws has SD 1/√n; the limit is 5 of these.
	if mean := product / moved; math.Abs(mean) > 5/math.Sqrt(moved) {
		t.Errorf("the noise of changed values has correlation %v", mean)
	}
}
