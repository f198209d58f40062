package tablerisk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/rounding"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// law is a method of changing counts, with its likelihood.
type law struct {
	name       string
	change     func(count int64, draw uint64) int64
	likelihood func(published int64) (int64, []float64)
}

func laws(t testing.TB) []law {
	var list []law
	for _, n := range []perturb.Noise{{Max: 2, Variance: 1}, {Max: 1, Variance: 0.7}, {Max: 3, Variance: 1.5}} {
		table, problems := perturb.NewTable(n)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		list = append(list, law{fmt.Sprint(n), table.Perturb, table.Likelihood})
	}
	l := rounding.OfRandom(3)
	return append(list, law{"random", func(c int64, draw uint64) int64 {
		return rounding.Random(c, 3, draw)
	}, func(y int64) (int64, []float64) { return l(y) }})
}

// published draws a table of counts, and publishes it: cells with the same records alike.
type example struct {
	set       *tables.Set
	inner     []int
	leaves    [][]int // of a cell: its inner cells
	truth     []int64
	published []int64
	law       law
}

func draw(t testing.TB, rng *rand.Rand, l law, most int, ts ...tables.Table) *example {
	x := &example{set: tabletest.Set(t, ts...), law: l}
	x.inner, x.leaves = tabletest.Leaves(x.set)
	x.truth, x.published = make([]int64, x.set.Cells()), make([]int64, x.set.Cells())
	for _, c := range x.inner {
		x.truth[c] = int64(rng.IntN(most + 1))
	}
	who := map[string]uint64{}
	for c, leaves := range x.leaves {
		key, sum := "", int64(0)
		for _, leaf := range leaves {
			if n := x.truth[leaf]; n > 0 {
				key += fmt.Sprint(leaf, " ")
				sum += n
			}
		}
		if _, known := who[key]; !known {
			who[key] = rng.Uint64()
		}
		x.truth[c] = sum
		x.published[c] = l.change(sum, who[key])
	}
	return x
}

func (x *example) release() Release {
	return Release{Set: x.set, Published: x.published, Truth: x.truth, Same: true,
		Likelihood: func(cell int32) (int64, []float64) { return x.law.likelihood(x.published[cell]) }}
}

// enumerated computes the posterior of every cell from its definition: over all inner tables, the product over all sets
// of records of the probability that this set is published as it is. least is what is known of inner cells.
func (x *example) enumerated(least map[int]int64) []map[int64]float64 {
	post := make([]map[int64]float64, len(x.leaves))
	for c := range post {
		post[c] = map[int64]float64{}
	}
	p := func(cell int, count int64) float64 {
		first, l := x.law.likelihood(x.published[cell])
		if k := count - first; k >= 0 && k < int64(len(l)) {
			return l[k]
		}
		return 0
	}
	n := map[int]int64{}
	total := 0.0
	var fill func(i int)
	fill = func(i int) {
		if i < len(x.inner) {
			c := x.inner[i]
			for v := int64(0); v <= x.published[c]+5; v++ {
				if p(c, v) > 0 && v >= least[c] {
					n[c] = v
					fill(i + 1)
				}
			}
			return
		}
		w := 1.0
		sums := make([]int64, len(x.leaves))
		seen := map[uint64]int64{}
		for c, leaves := range x.leaves {
			who := uint64(0)
			for k, leaf := range x.inner {
				for _, l := range leaves {
					if l == leaf && n[leaf] > 0 {
						who |= 1 << k
						sums[c] += n[leaf]
					}
				}
			}
			shown, known := seen[who]
			if known {
				if shown != x.published[c] {
					w = 0
				}
			} else {
				w *= p(c, sums[c])
				seen[who] = x.published[c]
			}
			if w == 0 {
				return
			}
		}
		total += w
		for c := range post {
			post[c][sums[c]] += w
		}
	}
	fill(0)
	for c := range post {
		for v := range post[c] {
			post[c][v] /= total
		}
	}
	return post
}

func all(n int) (list []int32) {
	for c := range n {
		list = append(list, int32(c))
	}
	return list
}

// The beliefs about all cells are those that the definition gives, in 500 random tables: of one to three variables, of
// a hierarchy, of one part only, and of many cells of 0.
func TestBeliefsAreThoseOfAllTables(t *testing.T) {
	trials := 500
	if testing.Short() {
		trials = 120
	}
	rng := rand.New(rand.NewPCG(38, 5))
	list := laws(t)
	apart := 0.0
	same := 0
	for trial := range trials {
		x := random(t, rng, list[trial%len(list)], trial)
		j, err := NewJoint(x.release(), all(len(x.truth)))
		if err != nil || !j.Exact {
			t.Fatal("not exact", err)
		}
		want := x.enumerated(nil)
		for c := range want {
			b := j.Belief(int32(c))
			for v, q := range want[c] {
				got := 0.0
				if k := v - b.First; k >= 0 && k < int64(len(b.P)) {
					got = b.P[k]
				}
				if apart = max(apart, math.Abs(got-q)); math.Abs(got-q) > 1e-9 {
					t.Fatalf("trial %d: %s is %d with the probability %v, want %v", trial, x.set.Name(c), v, got, q)
				}
			}
			for k, q := range b.P {
				if _, possible := want[c][b.First+int64(k)]; q > 0 && !possible {
					t.Fatalf("trial %d: %s cannot be %d", trial, x.set.Name(c), b.First+int64(k))
				}
			}
		}
		for c := range x.leaves {
			for d := range c {
				if len(x.leaves[c]) != len(x.leaves[d]) && x.truth[c] == x.truth[d] && x.truth[c] > 0 {
					same++
					break
				}
			}
		}
	}
	if same < trials/2 {
		t.Errorf("%d totals of one part: too few for this test", same)
	}
	t.Logf("%d tables, the greatest difference is %.2g; %d totals of one part", trials, apart, same)
}

// random draws a table small enough for enumeration.
func random(t testing.TB, rng *rand.Rand, l law, trial int) *example {
	flat := func(k, n int) *tables.Dimension { return tabletest.Flat(t, fmt.Sprint("v", k), n) }
	split := tabletest.Dimension(t, "h",
		tables.Hierarchy{
			Edges: []tables.Edge{{Child: "x", Parent: "p"}, {Child: "y", Parent: "p"}, {Child: "z"}, {Child: "p"}}})
	shapes := [][]*tables.Dimension{
		{flat(0, 2), flat(1, 2)}, {flat(0, 2), flat(1, 3)}, {flat(0, 5)}, {split, flat(1, 2)}, {flat(0, 3), flat(1, 2)},
		{split}, {flat(0, 1), flat(1, 4)},
	}
	if l.name != "random" && l.name != "{3 1.5 0}" {
		shapes = append(shapes, []*tables.Dimension{flat(0, 2), flat(1, 2), flat(2, 2)})
	}
	most := []int{1, 2, 3, 6}[rng.IntN(4)]
	set := []tables.Table{{Dimensions: shapes[trial%len(shapes)]}}
	if d := set[0].Dimensions; rng.IntN(3) == 0 && len(d) > 1 { // and one of its margins as another table
		set = append(set, tables.Table{Name: "u", Dimensions: d[1:]})
	}
	return draw(t, rng, l, most, set...)
}

// Chains estimate the same beliefs: within six of their standard errors, which end below enough for the most
// probable count, and 0.01. The risk, at its unsafe end, may be too high where a count is almost certain, because
// chains seldom see the others; not too low. (A difference of six errors of eight chains has a probability of 0.0005;
// the seeds are fixed.)
func TestChainsEstimateTheSameBeliefs(t *testing.T) {
	trials := 60
	if testing.Short() {
		trials = 12
	}
	rng := rand.New(rand.NewPCG(38, 6))
	list := laws(t)
	furthest := 0.0
	for trial := range trials {
		x := random(t, rng, list[trial%len(list)], trial)
		if trial%3 == 0 { // two tables with one variable in common, whose inner cells are linked
			flat := func(k, n int) *tables.Dimension { return tabletest.Flat(t, fmt.Sprint("v", k), n) }
			a, b, c := flat(0, 2), flat(1, 2), flat(2, 2)
			full := draw(t, rng, x.law, 3, tables.Table{Dimensions: []*tables.Dimension{a, b, c}})
			x.set = tabletest.Set(t, tables.Table{Name: "t", Dimensions: []*tables.Dimension{a, b}},
				tables.Table{Name: "u", Dimensions: []*tables.Dimension{a, c}})
			x.truth, x.published = full.in(x.set, full.truth), full.in(x.set, full.published)
		}
		if trial%3 == 1 { // of more cells than can be enumerated
			n := []int{8, 3}[trial%2]
			x = draw(t, rng, x.law, 4,
				tables.Table{Dimensions: []*tables.Dimension{tabletest.Flat(t, "v0", 12/n+1), tabletest.Flat(t, "v1", n)}})
		}
		exact, err := newJoint(x.release(), all(len(x.truth)), nil, 16*mostEdges)
		if err != nil || !exact.Exact {
			t.Fatal("not exact", err)
		}
		j, err := newJoint(x.release(), all(len(x.truth)), nil, 0)
		if err != nil || j.Exact {
			t.Fatal("exact", err)
		}
		for c := range x.truth {
			want, got := exact.Belief(int32(c)), j.Belief(int32(c))
			for k, q := range got.P {
				p := 0.0
				if at := got.First + int64(k) - want.First; at >= 0 && at < int64(len(want.P)) {
					p = want.P[at]
				}
				if p == 0 && q > 0 {
					t.Errorf("trial %d: %s cannot be %d", trial, x.set.Name(c), got.First+int64(k))
				}
				se := got.standardError(func(p []float64) float64 { return p[k] })
				furthest = max(furthest, math.Abs(p-q))
				if math.Abs(p-q) > 6*se+0.01 {
					t.Errorf("trial %d, %d sweeps: %s is %d with the probability %v ± %v, want %v", trial, j.Sweeps, x.set.Name(c),
						got.First+int64(k), q, se, p)
				}
			}
			if risk, _ := want.Risk(); !math.IsInf(risk, 1) {
				if high, by := got.Risk(); high+by < 0.95*risk || high-by > 1.25*risk+3*by {
					t.Errorf("trial %d: the risk of %s is %v, %v above the estimate, want %v", trial, x.set.Name(c), high, by, risk)
				}
			}
		}
	}
	t.Logf("the greatest difference is %.3g", furthest)
}

// in returns values of the cells of a set with fewer variables.
func (x *example) in(set *tables.Set, value []int64) []int64 {
	list := make([]int64, set.Cells())
	for c := range list {
		table, nodes := set.Home(c)
		codes := make([]string, len(x.set.Tables[0].Dimensions))
		for k, d := range x.set.Tables[0].Dimensions {
			codes[k] = d.Codes[0]
			for m, o := range set.Tables[table].Dimensions {
				if o.Name == d.Name {
					codes[k] = o.Codes[nodes[m]]
				}
			}
		}
		at, err := x.set.At(0, codes...)
		if err != nil {
			panic(err)
		}
		list[c] = value[at]
	}
	return list
}

// A respondent who knows her own record believes what the definition gives for tables in which her inner cell is not 0.
// The tables about whose true counts one of them is more certain than the limit are found exactly, and by chains
// unless the probability is near the limit.
func TestRespondentsBelieveWhatTheyKnow(t *testing.T) {
	trials := 150
	if testing.Short() {
		trials = 30
	}
	rng := rand.New(rand.NewPCG(38, 7))
	list := laws(t)
	const limit = 0.6
	sure, not, moved := 0, 0, 0
	for trial := range trials {
		x := random(t, rng, list[trial%len(list)], trial)
		exact, err := NewJoint(x.release(), all(len(x.truth)))
		if err != nil {
			t.Fatal(err)
		}
		var chains *Joint
		if trial%5 == 0 {
			if chains, err = newJoint(x.release(), all(len(x.truth)), nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		var parts []Part
		want := map[int32]float64{}
		for _, leaf := range x.inner {
			if x.truth[leaf] == 0 {
				continue
			}
			parts = append(parts, Part{int32(leaf), 1})
			if exact.Belief(int32(leaf)).from(1) > 1-1e-12 {
				continue // knows nothing more
			}
			for c, p := range x.enumerated(map[int]int64{leaf: 1}) {
				want[int32(c)] = max(want[int32(c)], p[x.truth[c]])
			}
		}
		about := all(len(x.truth))
		none := func(int32, int32) bool { return false }
		got, err := exact.Sure(parts, about, limit, none)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range about {
			is := false
			for _, g := range got {
				is = is || g == c
			}
			if want[c] != 0 && is != (want[c] > limit) {
				t.Errorf("trial %d: %s, believed with %v: sure is %v", trial, x.set.Name(int(c)), want[c], is)
			}
			if is {
				sure++
			} else {
				not++
			}
			if want[c] > limit && exact.Belief(c).UpTo(x.truth[c]) < limit {
				moved++
			}
		}
		least := map[int]int64{}
		for _, p := range parts {
			least[int(p.Cell)] = 1
		}
		together := x.enumerated(least)
		if got, err = exact.Together(parts, about, limit); err != nil {
			t.Fatal(err)
		}
		for _, c := range about {
			if is := slices.Contains(got, c); is && together[c][x.truth[c]] < limit || !is && together[c][x.truth[c]] > limit &&
				len(got) > 0 {
				t.Errorf("trial %d: %s, believed by all together with %v: sure is %v", trial, x.set.Name(int(c)),
					together[c][x.truth[c]], is)
			}
		}
		if chains == nil {
			continue
		}
		if got, err = chains.Sure(parts, about, limit, none); err != nil {
			t.Fatal(err)
		}
		for _, c := range about {
			is := false
			for _, g := range got {
				is = is || g == c
			}
			if math.Abs(want[c]-limit) > 0.05 && is != (want[c] > limit) {
				t.Errorf("trial %d: by chains: %s, believed with %v: sure is %v", trial, x.set.Name(int(c)), want[c], is)
			}
		}
	}
	if sure < trials || not < trials || moved < trials/4 {
		t.Errorf("%d sure, %d not, %d by what they know: too few for this test", sure, not, moved)
	}
}

// Two chains differ by 0.2 in a probability, so the standard error of its mean is 0.1; by hand also for the other
// figures.
func TestEstimatesAreShownAtTheirUnsafeEnd(t *testing.T) {
	b := &Belief{First: 3, P: []float64{0.5, 0.5}, Chains: [][]float64{{0.6, 0.4}, {0.4, 0.6}}}
	near(t, "highest probability", b.Highest(), 0.5+2*0.1, 1e-12)
	near(t, "expected squared error", b.SquaredError(3), 0.5-2*0.1, 1e-12)
	b = &Belief{P: []float64{0.7, 0.3}, Chains: [][]float64{{0.5, 0.5}, {0.9, 0.1}}}
	h := []float64{math.Ln2, -0.9*math.Log(0.9) - 0.1*math.Log(0.1)}
	estimate := 1 / -(0.7*math.Log(0.7) + 0.3*math.Log(0.3))
	risk, by := b.Risk()
	near(t, "risk above its estimate", by, 2*(h[0]-h[1])/2*estimate*estimate, 1e-12)
	near(t, "risk", risk, estimate+by, 1e-12)
	b.Chains = nil
	if risk, by = b.Risk(); risk != estimate || by != 0 || b.Highest() != 0.7 {
		t.Errorf("exact: risk %v, %v above the estimate, highest probability %v", risk, by, b.Highest())
	}
}

// Chains end as soon as a count is above the limit beyond doubt, and not if none is.
func TestChainsEndWithTheFirstDisclosedCount(t *testing.T) {
	a := &Joint{release: Release{Limit: 0.9}}
	for _, c := range []struct {
		chains [2]float64
		want   bool
		// errors 0, 0.005, 0.02, 0
	}{{[2]float64{0.95, 0.95}, true}, {[2]float64{0.95, 0.96}, true}, {[2]float64{0.93, 0.97}, false},
		{[2]float64{0.89, 0.89}, false}} {
		b := &Belief{First: 4}
		for _, p := range c.chains {
			b.Chains = append(b.Chains, []float64{1 - p, p})
		}
		b.P = []float64{1 - (c.chains[0]+c.chains[1])/2, (c.chains[0] + c.chains[1]) / 2}
		a.beliefs = []*Belief{{First: 1, P: []float64{0.5, 0.5}, Chains: [][]float64{{0.5, 0.5}, {0.5, 0.5}}}, b}
		if got := a.disclosed(); got != c.want {
			t.Errorf("%v: %v", c.chains, got)
		}
	}
	x := draw(t, rand.New(rand.NewPCG(38, 18)), laws(t)[1], 2,
		tables.Table{
			Dimensions: []*tables.Dimension{tabletest.Flat(t, "v0", 9), tabletest.Flat(t, "v1", 9), tabletest.Flat(t, "v2", 9)}})
	r := x.release()
	long, err := newJoint(r, all(len(x.truth)), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.Limit = 0.9
	short, err := newJoint(r, all(len(x.truth)), nil, 0)
	if err != nil || long.Short || !short.Short || short.Sweeps >= long.Sweeps || !short.disclosed() {
		t.Errorf("error %v: %d sweeps, without a limit %d", err, short.Sweeps, long.Sweeps)
	}
}

// If two margins are known and nothing else is, the beliefs are the shares of the tables that have them, by
// enumeration.
func TestBeliefsByTheMargins(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 20))
	trials := 100
	if testing.Short() {
		trials = 12 // each of six shapes twice
	}
	for trial := range trials {
		rows, columns := 2+trial%2, 2+trial%3
		x := draw(t, rng, laws(t)[0], 3,
			tables.Table{Dimensions: []*tables.Dimension{tabletest.Flat(t, "v0", rows), tabletest.Flat(t, "v1", columns)}})
		r := Release{Set: x.set, Published: x.truth, Truth: x.truth, Likelihood: func(cell int32) (int64, []float64) {
			if _, nodes := x.set.Home(int(cell)); nodes[0] == 0 || nodes[1] == 0 {
				return x.truth[cell], []float64{1}
			}
			return 0, nil
		}}
		j, err := Exactly(r, all(len(x.truth)))
		if err != nil || j == nil {
			t.Fatal("not exact", err)
		}
		n, count, share := map[int]int64{}, 0.0, make([]map[int64]float64, len(x.truth))
		for c := range share {
			share[c] = map[int64]float64{}
		}
		var fill func(i int)
		fill = func(i int) {
			if i < len(x.inner) {
				most := int64(1 << 60)
				for c, leaves := range x.leaves {
					if len(leaves) > 1 && slices.Contains(leaves, x.inner[i]) {
						left := x.truth[c]
						for _, leaf := range leaves {
							left -= n[leaf]
						}
						most = min(most, left)
					}
				}
				for v := range most + 1 {
					n[x.inner[i]] = v
					fill(i + 1)
				}
				n[x.inner[i]] = 0
				return
			}
			sums := make([]int64, len(x.truth))
			for c, leaves := range x.leaves {
				for _, leaf := range leaves {
					sums[c] += n[leaf]
				}
				if len(leaves) > 1 && sums[c] != x.truth[c] {
					return
				}
			}
			count++
			for c, v := range sums {
				share[c][v]++
			}
		}
		fill(0)
		for c := range share {
			b := j.Belief(int32(c))
			for k, q := range b.P {
				if want := share[c][b.First+int64(k)] / count; math.Abs(q-want) > 1e-9 {
					t.Fatalf("trial %d: %s is %d with %v, want %v", trial, x.set.Name(c), b.First+int64(k), q, want)
				}
			}
		}
	}
	large := make([]*tables.Dimension, 4)
	for k := range large {
		large[k] = tabletest.Flat(t, fmt.Sprint("v", k), 5)
	}
	if j, err := Exactly(draw(t, rng, laws(t)[0], 3, tables.Table{Dimensions: large}).release(), []int32{0}); j != nil ||
		err != nil {
		t.Error("625 inner counts are exact, or an error:", err)
	}
}

// Tables of up to some 160,000 inner cells get the steps that small errors need; of larger ones, chains end after a
// fixed number of steps, but never before there is something to see.
func TestSweepsEnd(t *testing.T) {
	for _, c := range []struct{ cells, want int }{{10, mostSweeps}, {10_000, 150}, {100_000, 96}, {162_000, 96},
		{325_000, 48}, {1_000_000, leastBatch}, {10_000_000, leastBatch}} {
		if got := sweepsOf(c.cells); got != c.want {
			t.Errorf("%d inner cells: %d sweeps, want %d", c.cells, got, c.want)
		}
	}
}
