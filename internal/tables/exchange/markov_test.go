package exchange

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// drawsOf returns separate draws for every square.
func drawsOf(seed uint64) func([4]int32, int) *rand.Rand {
	return func(cells [4]int32, pass int) *rand.Rand {
		return rand.New(rand.NewPCG(seed, uint64(cells[0])<<32|uint64(cells[3])<<8|uint64(pass)))
	}
}

// The squares of a pass have no cell in common, and every inner cell is in a square of at least one
// pass.
func TestEveryInnerCellIsInASquare(t *testing.T) {
	for rows := 2; rows <= 7; rows++ {
		for columns := 2; columns <= 7; columns++ {
			inner := make([]int64, rows*columns)
			rng := rand.New(rand.NewPCG(uint64(rows), uint64(columns)))
			for i := range inner {
				inner[i] = rng.Int64N(9)
			}
			c := cross(t, []int{rows, columns}, inner)
			p := NewFrame(c.set, 0, 0).Perturb(c.value, 0.5, drawsOf(1))
			covered := map[[2]int]bool{}
			for pass := range p.squares {
				seen := map[[2]int]bool{}
				for _, s := range p.squares[pass] {
					for k := range 4 {
						at := [2]int{s.rows[k/2], s.columns[k%2]}
						if seen[at] {
							t.Errorf("%d × %d, pass %d: %v is in two squares", rows, columns, pass, at)
						}
						seen[at], covered[at] = true, true
					}
				}
			}
			if len(covered) != rows*columns {
				t.Errorf("%d × %d: %d inner cells are in squares", rows, columns, len(covered))
			}
			for cell, v := range p.Published {
				if v < 0 || p.frame.Kept(int32(cell)) && v != c.value[cell] {
					t.Errorf("%d × %d, %s: %v, was %v", rows, columns, c.set.Name(cell), v, c.value[cell])
				}
			}
			if problems := c.set.CheckSums(p.Published, 0); len(problems) > 0 {
				t.Errorf("%d × %d: %v", rows, columns, problems)
			}
		}
	}
}

// The expectation of every count does not change, even if three passes change the count: 8,000 draws,
// with a tolerance of five standard errors of their mean.
func TestCountsKeepTheirExpectation(t *testing.T) {
	const draws = 8_000
	for _, e := range []struct {
		sizes []int
		inner []int64
	}{{[]int{3, 3}, []int64{1, 6, 2, 7, 9, 3, 2, 4, 1}}, {[]int{3, 2, 2}, []int64{1, 6, 2, 7, 9, 3, 2, 4, 1, 8, 2, 2}}} {
		c := cross(t, e.sizes, e.inner)
		f := NewFrame(c.set, 0, 0)
		sum, square := make([]float64, len(c.value)), make([]float64, len(c.value))
		for i := range draws {
			for cell, v := range f.Perturb(c.value, 0.6, drawsOf(uint64(i))).Published {
				d := v - c.value[cell]
				sum[cell], square[cell] = sum[cell]+d, square[cell]+d*d
			}
		}
		changed := 0
		for cell := range sum {
			if square[cell] > 0 {
				changed++
			}
			if mean := sum[cell] / draws; !(math.Abs(mean) <= 5*math.Sqrt(square[cell])/draws) {
				t.Errorf("%s: changes by %v on average", c.set.Name(cell), mean)
			}
		}
		if changed < len(e.inner) {
			t.Errorf("%d cells of %d changed", changed, len(sum))
		}
	}
}

// The belief about every count, of outsiders and of respondents, agrees with Bayes' theorem over all
// tables that the squares allow, each with the product of the probabilities of all squares.
func TestBeliefs(t *testing.T) {
	for _, e := range []struct {
		sizes []int
		inner []int64
	}{{[]int{2, 2}, []int64{1, 3, 4, 6}}, {[]int{2, 4}, []int64{1, 3, 2, 1, 2, 4, 5, 3}},
		{[]int{2, 2, 2}, []int64{2, 1, 3, 2, 1, 4, 1, 1}}, {[]int{4, 2}, []int64{1, 2, 3, 1, 2, 2, 4, 3}}} {
		c := cross(t, e.sizes, e.inner)
		f := NewFrame(c.set, 0, 0)
		for seed := range uint64(25) {
			p := f.Perturb(c.value, 0.8, drawsOf(seed))
			if len(p.squares) != 1 {
				t.Fatal("more than one pass")
			}
			tables, chances := agreeing(f, p, 0)
			for cell := range c.value {
				at := fmt.Sprintf("%v, %s", e.inner, c.set.Name(cell))
				counts, err := p.Counts([]int32{int32(cell)}, true, nil)
				if err != nil {
					t.Fatal(err)
				}
				count := counts[int32(cell)]
				b := count.Belief()
				compare(t, at, b.First, b.P, believe(c, tables, chances, cell, -1))
				var want []map[int64]float64
				for own, n := range e.inner {
					inside := c.total(unit(e.inner, own))[cell] == 1
					if n == 0 || inside && c.value[cell] == 1 || !depends(count, own) {
						continue
					}
					want = append(want, believe(c, tables, chances, cell, own))
				}
				count.Respondents(func(b *tablerisk.Belief) {
					first, belief := b.First, b.P
					found := slices.IndexFunc(want, func(w map[int64]float64) bool { return agrees(first, belief, w) })
					if found < 0 {
						t.Fatalf("%s: a respondent believes %v from %d on, want one of %v", at, belief, first, want)
					}
					want = slices.Delete(want, found, found+1)
				})
				if len(want) > 0 {
					t.Errorf("%s: no respondent believes %v", at, want)
				}
			}
		}
	}
}

func unit(inner []int64, at int) []int64 {
	u := make([]int64, len(inner))
	u[at] = 1
	return u
}

// depends reports whether an inner cell is in a square on which a count depends.
func depends(c *Count, own int) bool {
	return slices.ContainsFunc(c.shares, func(s *share) bool { return slices.Contains(s.component.cells, own) })
}

// agreeing returns all tables in which every square of a pass has its margins, with the
// probability of becoming the result of the pass.
func agreeing(f *Frame, p *Perturbed, pass int) (list [][]int64, chances []float64) {
	columns := len(f.columns)
	after := make([]int64, len(f.rows)*columns)
	for at := range after {
		after[at] = int64(p.Published[f.inner(at/columns, at%columns)])
	}
	places := func(s *square) (at [4]int) {
		for k := range 4 {
			at[k] = s.rows[k/2]*columns + s.columns[k%2]
		}
		return at
	}
	for later := len(p.squares) - 1; later > pass; later-- {
		for i := range p.squares[later] {
			s := &p.squares[later][i]
			for k, at := range places(s) {
				after[at] += []int64{1, -1, -1, 1}[k] * (s.before - s.after)
			}
		}
	}
	list, chances = [][]int64{after}, []float64{1}
	for i := range p.squares[pass] {
		s := &p.squares[pass][i]
		at := places(s)
		var longer [][]int64
		var with []float64
		for i, table := range list {
			a, b, c, d := table[at[0]], table[at[1]], table[at[2]], table[at[3]]
			low, high := max(0, a-d), a+min(b, c)
			for n := low; n <= high; n++ {
				next := slices.Clone(table)
				next[at[0]], next[at[1]], next[at[2]], next[at[3]] = n, a+b-n, a+c-n, d+n-a
				longer = append(longer, next)
				with = append(with, chances[i]*chance(low, high, n, a, s.law.theta))
			}
		}
		list, chances = longer, with
	}
	return list, chances
}

// believe returns the posterior of a cell over the tables in list, for a respondent who knows of a
// record in the inner cell own; own is negative for an outsider.
func believe(c crossed, list [][]int64, chances []float64, cell, own int) map[int64]float64 {
	b, sum := map[int64]float64{}, 0.0
	for i, table := range list {
		if own < 0 || table[own] > 0 {
			b[int64(c.total(table)[cell])] += chances[i]
			sum += chances[i]
		}
	}
	for v := range b {
		b[v] /= sum
	}
	return b
}

func agrees(first int64, belief []float64, want map[int64]float64) bool {
	sum := 0.0
	for k, p := range belief {
		if !(math.Abs(p-want[first+int64(k)]) <= 1e-11) {
			return false
		}
		sum += p
	}
	return math.Abs(sum-1) < 1e-9
}

func compare(t *testing.T, at string, first int64, belief []float64, want map[int64]float64) {
	t.Helper()
	if !agrees(first, belief, want) {
		t.Errorf("%s: believed %v from %d on, want %v", at, belief, first, want)
	}
}
