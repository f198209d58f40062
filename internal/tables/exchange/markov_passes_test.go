package exchange

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// perturbed returns the distribution of the published table that a table becomes, pass after pass and square
// after square, from the definitions: the largest row is paired with the smallest, and so on, and columns likewise; of
// an odd number the middle one is left out first, then the first, then the last.
func perturbed(rows int, inner []int64, theta float64) map[string]float64 {
	columns := len(inner) / rows
	by := func(n int, size func(int) int64) (list []int) {
		for i := range n {
			list = append(list, i)
		}
		slices.SortStableFunc(list, func(a, b int) int { return int(size(b) - size(a)) })
		return list
	}
	row := by(rows, func(i int) int64 { return sumOf(inner[i*columns : (i+1)*columns]) })
	column := by(columns, func(j int) (n int64) {
		for i := range rows {
			n += inner[i*columns+j]
		}
		return n
	})
	in := func(order []int, pass int) []int {
		if n := len(order); n%2 == 1 {
			left := n / 2
			if pass == 1 {
				left = 0
			} else if pass == 2 {
				left = n - 1
			}
			return slices.Delete(slices.Clone(order), left, left+1)
		}
		return order
	}
	passes := 1
	if rows%2 == 1 {
		passes++
	}
	if columns%2 == 1 {
		passes++
	}
	tables := map[string][]int64{fmt.Sprint(inner): inner}
	chances := map[string]float64{fmt.Sprint(inner): 1}
	for pass := range passes {
		r, c := in(row, pass), in(column, pass)
		for i := 0; 2*i+1 < len(r); i++ {
			for j := 0; 2*j+1 < len(c); j++ {
				at := [4]int{r[i]*columns + c[j], r[i]*columns + c[len(c)-1-j], r[len(r)-1-i]*columns + c[j],
					r[len(r)-1-i]*columns + c[len(c)-1-j]}
				next, with := map[string][]int64{}, map[string]float64{}
				for key, table := range tables {
					out, enter := min(table[at[0]], table[at[3]]), min(table[at[1]], table[at[2]])
					for by, p := range moves(out, enter, theta) {
						t := slices.Clone(table)
						t[at[0]], t[at[1]], t[at[2]], t[at[3]] = t[at[0]]+by, t[at[1]]-by, t[at[2]]-by, t[at[3]]+by
						k := fmt.Sprint(t)
						next[k] = t
						with[k] += chances[key] * p
					}
				}
				tables, chances = next, with
			}
		}
	}
	return chances
}

// moves returns the distribution of the change of a count that some records can leave and others can enter, record
// by record.
func moves(out, enter int64, theta float64) map[int64]float64 {
	if out == 0 || enter == 0 {
		return map[int64]float64{0: 1}
	}
	less := float64(min(out, enter))
	d := map[int64]float64{0: 1}
	for range out {
		next := map[int64]float64{}
		for k, p := range d {
			q := theta * less / float64(out)
			next[k-1] += p * q
			next[k] += p * (1 - q)
		}
		d = next
	}
	for range enter {
		next := map[int64]float64{}
		for k, p := range d {
			q := theta * less / float64(enter)
			next[k+1] += p * q
			next[k] += p * (1 - q)
		}
		d = next
	}
	return d
}

// posteriors are the beliefs in a count over all tables: of outsiders, and of those who know that an inner cell is not
// 0.
func posteriors(c crossed, list [][]int64, chances []float64, inner []int64, cell int) (outsider map[int64]float64,
	insiders map[int]map[int64]float64) {
	insiders = map[int]map[int64]float64{}
	for own, n := range inner {
		if n > 0 {
			insiders[own] = believe(c, list, chances, cell, own)
		}
	}
	return believe(c, list, chances, cell, -1), insiders
}

// passesExample is a random table of an odd number of rows or columns, with its published table.
func passesExample(t *testing.T, rng *rand.Rand, trial int) (c crossed, sizes []int, inner []int64, theta float64,
	p *Perturbed, published string) {
	sizes = [][]int{{3, 2}, {2, 3}, {3, 3}, {3, 2, 2}, {5, 2}, {2, 5}}[trial%6]
	n := 1
	for _, k := range sizes {
		n *= k
	}
	inner = make([]int64, n)
	for range []int{16, 16, 11, 9, 10, 10}[trial%6] {
		inner[rng.IntN(n)]++
	}
	theta = []float64{0.3, 0.6, 0.9, 1}[rng.IntN(4)]
	c = cross(t, sizes, inner)
	f := NewFrame(c.set, 0, 0)
	p = f.Perturb(c.value, theta, drawsOf(uint64(trial)))
	var after []int64
	for _, row := range f.matrix(p.Published) {
		after = append(after, row...)
	}
	return c, sizes, inner, theta, p, fmt.Sprint(after)
}

// The beliefs about all counts of tables that were perturbed in two or three passes, of outsiders and of respondents,
// are those of Bayes' theorem over all tables with the margins, with the probability of each of becoming the whole
// published table.
func TestBeliefsAfterSeveralPasses(t *testing.T) {
	trials := 300
	if testing.Short() {
		trials = 36
	}
	rng := rand.New(rand.NewPCG(38, 12))
	certain, insiders := 0, 0
	for trial := range trials {
		c, sizes, inner, theta, p, published := passesExample(t, rng, trial)
		list := all(sizes[0], inner)
		chances := make([]float64, len(list))
		for i, table := range list {
			chances[i] = perturbed(sizes[0], table, theta)[published]
		}
		var cells []int32
		for cell := range c.value {
			cells = append(cells, int32(cell))
		}
		counts, err := p.Counts(cells, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range cells {
			count := counts[cell]
			at := fmt.Sprintf("trial %d: %v with theta %v, %s", trial, inner, theta, c.set.Name(int(cell)))
			want, of := posteriors(c, list, chances, inner, int(cell))
			b := count.Belief()
			compare(t, at, b.First, b.P, want)
			if b.Chains != nil {
				t.Fatal("not exact")
			}
			if b.Highest() > 0.9 && len(b.P) > 1 {
				certain++
			}
			found := map[int]bool{}
			count.Respondents(func(b *tablerisk.Belief) {
				insiders++
				one := false
				for own, w := range of {
					if agrees(b.First, b.P, w) {
						found[own], one = true, true
					}
				}
				if !one {
					t.Errorf("%s: a respondent believes %v from %d on, want one of %v", at, b.P, b.First, of)
				}
			})
			for own := range of {
				if alone := c.total(unit(inner, own))[cell] == 1 && c.value[cell] == 1; !alone && !found[own] &&
					depends(count, own) {
					t.Errorf("%s: no respondent of %d", at, own)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	if certain < trials/6 || insiders < trials {
		t.Errorf("%d counts that are almost certain, %d beliefs of respondents: too few for this test", certain, insiders)
	}
	t.Logf("%d counts that are almost certain, %d beliefs of respondents", certain, insiders)
}

// The change of a square with very many records is taken as known, in the enumeration and by chains: the true table is
// possible, and the counts of its cells vary only as far as other squares change them.
func TestSquaresOfManyRecords(t *testing.T) {
	c := cross(t, []int{5, 2}, []int64{300, 250, 270, 260, 240, 255, 200, 180, 4, 3})
	p := NewFrame(c.set, 0, 0).Perturb(c.value, 0.4, drawsOf(3))
	part := p.components().of[0]
	fixed, free := 0, 0
	for _, squares := range part.squares {
		for k := range squares {
			if squares[k].fixed {
				fixed++
			} else {
				free++
			}
		}
	}
	if fixed != 2 || free != 2 {
		t.Fatalf("%d squares of many records, and %d of few", fixed, free)
	}
	l := &laws{theta: 0.4}
	if !part.enumerate(l, 1000) {
		t.Fatal("not enumerated")
	}
	true := 0
	for _, table := range part.tables {
		if slices.Equal(table, part.truth) {
			true++
		}
	}
	if true != 1 || len(part.tables) < 3 || len(part.tables) > 100 {
		t.Errorf("%d tables, the true one %d times", len(part.tables), true)
	}
	for cell := range part.cells {
		part.questions = append(part.questions, &share{component: part, cells: []int32{int32(cell)}, was: part.truth[cell]})
	}
	if err := part.sample(l, false, nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range part.questions {
		want, got := (&share{component: part, cells: s.cells, was: s.was}).belief(-1), s.belief(-1)
		for k, q := range want.P {
			if n := want.First + int64(k); math.Abs(got.UpTo(n)-2*got.Error(n)-q) > 6*got.Error(n)+0.01 {
				t.Errorf("cell %v: %d with %v, want %v", s.cells, n, got.UpTo(n), q)
			}
		}
	}
}

// Of two chains one has seen 3 counts of 1 and 1 of 2 while her cell was not 0, and the other 1 and 5: the ratios of
// the sums are 0.4 and 0.6. The standard error of a ratio is √(n/(n−1) Σ(both − ratio·knows)²)/Σ knows.
func TestErrorsOfRatios(t *testing.T) {
	s := &share{component: &component{}, owns: []int32{7}, tally: []*tally{
		{weights: [][]float64{{1}, {0, 3, 1}}, knows: []float64{1, 4}},
		{weights: [][]float64{{1}, {0, 1, 5}}, knows: []float64{1, 6}},
	}}
	b := s.estimated(7)
	want := math.Sqrt(2*(math.Pow(3-0.4*4, 2)+math.Pow(1-0.4*6, 2))) / 10
	if b.First != 1 || len(b.P) != 2 || math.Abs(b.P[0]-0.4) > 1e-12 || math.Abs(b.Error(1)-want) > 1e-12 ||
		math.Abs(b.UpTo(1)-0.4-2*want) > 1e-12 {
		t.Errorf("%v from %d on, the error is %v, want %v", b.P, b.First, b.Error(1), want)
	}
	s.tally[0].knows[1], s.tally[1].knows[1] = 0, 0
	if b = s.estimated(7); b.Highest() != 1 {
		t.Errorf("%v of what no chain has seen", b.P)
	}
}

// The chains estimate the same beliefs, of outsiders and of respondents: within six of their standard errors and 0.01.
// (Seeds are fixed; a difference of six errors of eight chains has a probability of 0.0005.)
func TestChainsOfPassesEstimateTheSameBeliefs(t *testing.T) {
	trials := 60
	if testing.Short() {
		trials = 12
	}
	rng := rand.New(rand.NewPCG(38, 13))
	furthest, low := 0.0, 0
	for trial := range trials {
		_, _, inner, theta, p, _ := passesExample(t, rng, trial)
		parts := p.components()
		seen := map[*component]bool{}
		for _, part := range parts.of {
			if seen[part] {
				continue
			}
			seen[part] = true
			l := &laws{theta: theta}
			if !part.enumerate(l, 1<<24) {
				t.Fatal("not enumerated")
			}
			for cell := range part.cells {
				part.questions = append(part.questions, &share{component: part, cells: []int32{int32(cell)}, was: part.truth[cell]})
			}
			half := &share{component: part} // a total of rows, in one column
			for cell, at := range part.cells {
				if at/parts.columns > 1 || at%parts.columns != part.cells[0]%parts.columns {
					continue
				}
				half.cells = append(half.cells, int32(cell))
				half.was += part.truth[cell]
			}
			part.questions = append(part.questions, half)
			if err := part.sample(l, true, nil); err != nil {
				t.Fatal(err)
			}
			for _, s := range part.questions {
				exact := &share{component: part, cells: s.cells, was: s.was}
				for _, own := range append([]int32{-1}, s.owns...) {
					want, got := exact.belief(own), s.belief(own)
					for k, q := range got.P {
						n, p := got.First+int64(k), 0.0
						if at := n - want.First; at >= 0 && at < int64(len(want.P)) {
							p = want.P[at]
						}
						se := got.Error(n)
						furthest = max(furthest, math.Abs(p-q))
						if p == 0 && q > 1e-12 || math.Abs(p-q) > 6*se+0.01 {
							t.Errorf("trial %d: %v with theta %v, cells %v, own %d: %d with %v ± %v, want %v", trial, inner, theta, s.cells,
								own, n, q, se, p)
						}
						if own < 0 && p > 0.05 && se > 0 {
							low++
						}
					}
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	if low < trials {
		t.Errorf("%d estimates with errors: too few for this test", low)
	}
	t.Logf("the greatest difference is %.3g", furthest)
}
