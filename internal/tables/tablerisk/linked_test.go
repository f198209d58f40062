package tablerisk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// linkedExample draws tables that share variables, none of which has all of them, from a table that has.
func linkedExample(t testing.TB, rng *rand.Rand, l law, trial int) *example {
	a, b, c := tabletest.Flat(t, "a", 2), tabletest.Flat(t, "b", 2), tabletest.Flat(t, "c", 2)
	shapes := [][][]*tables.Dimension{
		{{a, b}, {a, c}}, {{a}, {b}}, {{a, b}, {c}}, {{a}, {b}, {c}}, {{a, b}, {b, c}}, {{a, b}, {a, c}, {b, c}},
	}
	shape := shapes[trial%len(shapes)]
	full := draw(t, rng, l, 1+rng.IntN(2), tables.Table{Dimensions: []*tables.Dimension{a, b, c}})
	if rng.IntN(2) == 0 { // few records, which often are the same in several cells
		for c := range full.truth {
			full.truth[c] = 0
		}
		for range 1 + rng.IntN(3) {
			full.truth[full.inner[rng.IntN(1+rng.IntN(len(full.inner)))]]++
		}
		who := map[string]uint64{}
		for c, leaves := range full.leaves {
			key, sum := "", int64(0)
			for _, leaf := range leaves {
				if n := full.truth[leaf]; n > 0 {
					key, sum = key+fmt.Sprint(leaf, " "), sum+n
				}
			}
			if _, known := who[key]; !known {
				who[key] = rng.Uint64()
			}
			full.truth[c], full.published[c] = sum, l.change(sum, who[key])
		}
	}
	var ts []tables.Table
	for k, d := range shape {
		ts = append(ts, tables.Table{Name: fmt.Sprint("t", k), Dimensions: d})
	}
	x := &example{set: tabletest.Set(t, ts...), law: l}
	x.truth, x.published = full.in(x.set, full.truth), full.in(x.set, full.published)
	return x
}

// chance returns the probability that a count is published as it is.
func (x *example) chance(cell int, count int64) float64 {
	first, l := x.law.likelihood(x.published[cell])
	if k := count - first; k >= 0 && k < int64(len(l)) {
		return l[k]
	}
	return 0
}

func (x *example) totals() []bool {
	total := make([]bool, x.set.Cells())
	for i := range x.set.Sums() {
		total[x.set.Sum(i).Total] = true
	}
	return total
}

// weight returns the probability that counts that add up are published as they are, and the number of cells that are
// not totals by class of cells that must have the same records.
func (x *example) weight(count []int64) (w float64, bottoms map[int]int) {
	label := make([]int, len(count))
	for c := range label {
		label[c] = c
	}
	for changed := true; changed; {
		changed = false
		for i := range x.set.Sums() {
			s := x.set.Sum(i)
			only, some := -1, 0
			for _, part := range s.Parts {
				if count[part] > 0 {
					only, some = int(part), some+1
				}
			}
			if some != 1 || label[only] == label[s.Total] {
				continue
			}
			changed = true
			least := min(label[only], label[s.Total])
			label[only], label[s.Total] = least, least
		}
	}
	w, bottoms = 1.0, map[int]int{}
	total := x.totals()
	for c, of := range label {
		if of == c {
			w *= x.chance(c, count[c])
		} else if x.published[c] != x.published[of] {
			w = 0
		}
		if !total[c] {
			bottoms[of]++
		}
	}
	return w, bottoms
}

// The weights among which steps of chains choose are those of the whole tables to which they lead, up to a factor: of
// single steps, and of steps of two kinds of records.
func TestStepsOfChainsWeighWholeTables(t *testing.T) {
	trials := 300
	if testing.Short() {
		trials = 30
	}
	rng := rand.New(rand.NewPCG(38, 17))
	list := laws(t)
	differ := 0
	for trial := range trials {
		x := linkedExample(t, rng, list[(trial/6)%len(list)], trial)
		j, err := newJoint(x.release(), nil, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := j.chains[0]
		check := func(kind string, to func(k int), back func(k int)) {
			var want, got []float64
			for k, w := range c.weight {
				to(k)
				full, bottoms := 0.0, map[int]int{}
				inside := true
				for cell, v := range c.value {
					inside = inside && v >= c.j.cells[cell].low && v <= c.j.cells[cell].high
				}
				if inside {
					full, bottoms = x.weight(c.value)
				}
				back(k)
				for _, n := range bottoms {
					if n > 1 && full > 0 {
						differ++
					}
				}
				want, got = append(want, full), append(got, w)
			}
			sums := [2]float64{}
			for k := range want {
				sums[0], sums[1] = sums[0]+want[k], sums[1]+got[k]
			}
			for k := range want {
				if math.Abs(want[k]/sums[0]-got[k]/sums[1]) > 1e-9 {
					t.Fatalf("trial %d, %s: weight %d of %d is %v, want %v", trial, kind, k, len(want), got[k]/sums[1],
						want[k]/sums[0])
				}
			}
		}
		for range 20 {
			c.sweep()
			c.moves.choose(c.rng, 0, c.rng.IntN(c.moves.inner(0)), c.codes)
			c.begin()
			c.add(c.codes, 1)
			if c.rng.IntN(2) == 0 {
				c.alter(c.other, c.codes, -1)
			}
			low, high, single := c.change()
			if len(c.cells) > 0 && high-low < window {
				c.weigh(low, high, single)
				check("a step", func(k int) { c.move(low + int64(k)) }, func(k int) { c.move(-low - int64(k)) })
			}
			c.alterAll()
			c.begin()
			c.add(c.codes, 1)
			c.add(c.other, 1)
			c.first, c.second = c.moves.list(c.codes, nil), c.moves.list(c.other, nil)
			from, to := -c.rng.Int64N(square), -c.rng.Int64N(square)
			c.weighTwo(from, to)
			for k, w := range c.weight {
				c.weight[k] = math.Exp(w)
			}
			shift := func(sign int64) func(k int) {
				return func(k int) {
					c.shift(c.first, sign*(from+int64(k/square)))
					c.shift(c.second, sign*(to+int64(k%square)))
				}
			}
			check("a step of two", shift(1), shift(-1))
		}
	}
	if differ < trials {
		t.Errorf("%d tables with classes of several: too few for this test", differ)
	}
}

// enumeratedLinked computes the posterior of every cell: over all counts that add up, of all tables together, the
// product over the classes of cells that must have the same records, because all other parts of a total are 0, of the
// probability of their published count. It reports how many classes have several cells that are not totals.
func (x *example) enumeratedLinked() (post []map[int64]float64, several float64) {
	n := x.set.Cells()
	total := x.totals()
	var inner []int
	for c := range n {
		post = append(post, map[int64]float64{})
		if !total[c] {
			inner = append(inner, c)
		}
	}
	count, known := make([]int64, n), make([]bool, n)
	all := 0.0
	// adds computes totals that follow from parts, and reports whether the known cells add up.
	take := func() {
		for c := range known {
			known[c] = !total[c]
		}
		for range n {
			for i := range x.set.Sums() {
				s := x.set.Sum(i)
				sum, complete := int64(0), true
				for _, part := range s.Parts {
					sum, complete = sum+count[part], complete && known[part]
				}
				if complete && !known[s.Total] {
					count[s.Total], known[s.Total] = sum, true
				}
				if complete && count[s.Total] != sum {
					return
				}
			}
		}
		w, bottoms := x.weight(count)
		all += w
		for _, k := range bottoms {
			if k > 1 {
				several += w
				break
			}
		}
		for c := range n {
			post[c][count[c]] += w
		}
	}
	var fill func(i int)
	fill = func(i int) {
		if i == len(inner) {
			take()
			return
		}
		c := inner[i]
		for v := int64(0); v <= x.published[c]+3; v++ {
			if x.chance(c, v) > 0 {
				count[c] = v
				fill(i + 1)
			}
		}
	}
	fill(0)
	for c := range post {
		for v := range post[c] {
			post[c][v] /= all
		}
	}
	return post, several / all
}

// In tables none of which has all variables, too, the change of cells with the same records counts once: of (a, b) and
// (a, c) where all records of a code are in one cell of each, of (a) and (b) with all records in one code of each, and
// of three tables in a circle. The exact beliefs are those of the definition, and chains estimate them within six of
// their standard errors and 0.01.
func TestChangesOfLinkedTablesCountOnce(t *testing.T) {
	trials := 300
	if testing.Short() {
		trials = 30 // of five shapes five each, and of twelve inner cells
	}
	rng := rand.New(rand.NewPCG(38, 16))
	list := laws(t)
	likely, furthest := 0, 0.0
	for trial := range trials {
		x := linkedExample(t, rng, list[(trial/6)%len(list)], trial)
		if trial%6 == 5 { // of twelve inner cells
			x = linkedExample(t, rng, list[1], trial)
		}
		want, several := x.enumeratedLinked()
		if several > 0.1 {
			likely++
		}
		exact, err := NewJoint(x.release(), all(len(x.truth)))
		if err != nil || !exact.Exact || !exact.linked {
			t.Fatal("not exact, or not linked", err)
		}
		var chains *Joint
		if trial%6 < 5 && trial%3 == 0 || trial%30 == 5 {
			if chains, err = newJoint(x.release(), all(len(x.truth)), nil, 0); err != nil || chains.Exact {
				t.Fatal("exact", err)
			}
		}
		for c := range want {
			b := exact.Belief(int32(c))
			for v, q := range want[c] {
				got := 0.0
				if k := v - b.First; k >= 0 && k < int64(len(b.P)) {
					got = b.P[k]
				}
				if math.Abs(got-q) > 1e-9 {
					t.Fatalf("trial %d: %s is %d with the probability %v, want %v", trial, x.set.Name(c), v, got, q)
				}
				if chains == nil {
					continue
				}
				got = 0
				e := chains.Belief(int32(c))
				if k := v - e.First; k >= 0 && k < int64(len(e.P)) {
					got = e.P[k]
				}
				furthest = max(furthest, math.Abs(got-q))
				if math.Abs(got-q) > 6*e.Error(v)+0.01 {
					t.Errorf("trial %d: by chains %s is %d with the probability %v ± %v, want %v", trial, x.set.Name(c), v, got,
						e.Error(v), q)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	if likely < trials/5 {
		t.Errorf("%d tables with cells of the same records: too few for this test", likely)
	}
	t.Logf("%d tables with cells of the same records; the greatest difference of chains is %.3g", likely, furthest)
}
