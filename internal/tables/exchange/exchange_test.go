package exchange

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// crossed is a table and the values of all its cells. cross makes it from the number of codes of each
// variable and the inner counts (the last variable varies fastest).
type crossed struct {
	set   *tables.Set
	value []float64
}

func cross(t *testing.T, sizes []int, inner []int64) crossed {
	t.Helper()
	var d []*tables.Dimension
	for k, n := range sizes {
		d = append(d, tabletest.Flat(t, string(rune('a'+k)), n))
	}
	c := crossed{set: tabletest.Set(t, tables.Table{Name: "t", Dimensions: d})}
	c.value = c.total(inner)
	return c
}

// total computes all cells from the inner counts.
func (c crossed) total(inner []int64) []float64 {
	d := c.set.Tables[0].Dimensions
	value := make([]float64, c.set.Cells())
	for cell := range value {
		_, nodes := c.set.Home(cell)
		for at, n := range inner {
			inside := true
			for k, rest := len(d)-1, at; k >= 0; k-- {
				leaves := d[k].Leaves(0)
				inside = inside && slices.Contains(d[k].Leaves(nodes[k]), leaves[rest%len(leaves)])
				rest /= len(leaves)
			}
			if inside {
				value[cell] += float64(n)
			}
		}
	}
	return value
}

// all lists the inner counts of all tables that have the same counts by the first variable and
// by all others together.
func all(rows int, inner []int64) (list [][]int64) {
	columns := len(inner) / rows
	row, column := make([]int64, rows), make([]int64, columns)
	for at, n := range inner {
		row[at/columns] += n
		column[at%columns] += n
	}
	var try func(table []int64)
	try = func(table []int64) {
		if len(table) == len(inner) {
			list = append(list, slices.Clone(table))
			return
		}
		i, j := len(table)/columns, len(table)%columns
		for n := int64(0); n <= min(row[i], column[j]); n++ {
			if j == columns-1 && n != row[i] || i == rows-1 && n != column[j] {
				continue
			}
			row[i], column[j] = row[i]-n, column[j]-n
			try(append(table, n))
			row[i], column[j] = row[i]+n, column[j]+n
		}
	}
	try(nil)
	return list
}

var examples = []struct {
	sizes []int
	inner []int64
}{
	{[]int{2, 3}, []int64{1, 2, 0, 3, 1, 2}},
	{[]int{3, 2}, []int64{1, 0, 2, 2, 0, 3}},
	{[]int{2, 2, 2}, []int64{1, 2, 0, 3, 1, 0, 2, 1}},
	{[]int{2, 2}, []int64{1, 2, 1, 0}},
}

// Every table with the margins is drawn with its probability in the exact distribution: 20,000 draws,
// with a tolerance for a share p of five standard errors √(p(1−p)/20,000), which one share in 1.7
// million exceeds; the draws are fixed.
func TestSimulatedTablesHaveTheExactDistribution(t *testing.T) {
	const draws = 20_000
	for _, e := range examples {
		c := cross(t, e.sizes, e.inner)
		f := NewFrame(c.set, 0, 0)
		share, sum := map[string]float64{}, 0.0
		key := func(value []float64) string {
			var b []byte
			for _, v := range value {
				b = append(b, byte(v))
			}
			return string(b)
		}
		for _, table := range all(e.sizes[0], e.inner) {
			w := 1.0
			for _, n := range table {
				w /= math.Gamma(float64(n + 1))
			}
			share[key(c.total(table))] = w
			sum += w
		}
		rng := rand.New(rand.NewPCG(16, 1))
		count := map[string]float64{}
		for range draws {
			count[key(f.Simulate(c.value, rng))]++
		}
		for k := range count {
			if share[k] == 0 {
				t.Fatalf("%v: drawn, and it has other margins or does not add up: %v", e.inner, []byte(k))
			}
		}
		for k, w := range share {
			p := w / sum
			if got := count[k] / draws; !(math.Abs(got-p) <= 5*math.Sqrt(p*(1-p)/draws)) {
				t.Errorf("%v: %v drawn with %v, has %v", e.inner, []byte(k), got, p)
			}
		}
	}
}

// The bounds of a cell from the margins are attained by tables with these margins, and so is each
// value between them; also for a respondent who knows the cell of the own record.
func TestPossibleCounts(t *testing.T) {
	for _, e := range examples {
		c := cross(t, e.sizes, e.inner)
		f := NewFrame(c.set, 0, 0)
		list := all(e.sizes[0], e.inner)
		for cell := range c.value {
			took := func(own int) (low, high int64) {
				taken := map[int64]bool{}
				for _, table := range list {
					if own < 0 || table[own] > 0 {
						taken[int64(c.total(table)[cell])] = true
					}
				}
				low, high = math.MaxInt64, math.MinInt64
				for v := range taken {
					low, high = min(low, v), max(high, v)
				}
				if int(high-low)+1 != len(taken) {
					t.Errorf("%v, %s: takes %v", e.inner, c.set.Name(cell), taken)
				}
				return low, high
			}
			low, high := took(-1)
			if l, h := f.Possible(c.value, int32(cell)); l != low || h != high {
				t.Errorf("%v, %s: %d to %d, want %d to %d", e.inner, c.set.Name(cell), l, h, low, high)
			}
			kept := true
			for _, table := range list {
				kept = kept && c.total(table)[cell] == c.value[cell]
			}
			if f.Kept(int32(cell)) && !kept {
				t.Errorf("%v, %s: is declared as unchanged", e.inner, c.set.Name(cell))
			}
		}
	}
}

// What is believed of a simulated count is what all tables with the margins say, each with its probability under
// independence; for respondents, those with their records. Random tables, some of them sparse.
func TestBeliefsInSimulatedCounts(t *testing.T) {
	trials := 300
	if testing.Short() {
		trials = 40
	}
	rng := rand.New(rand.NewPCG(38, 14))
	certain, none := 0, 0
	for trial := range trials {
		sizes := [][]int{{2, 3}, {3, 3}, {2, 2, 2}, {4, 2}}[trial%4]
		n := 1
		for _, k := range sizes {
			n *= k
		}
		inner := make([]int64, n)
		for range 4 + rng.IntN(9) {
			inner[rng.IntN(1+rng.IntN(n))]++
		}
		c := cross(t, sizes, inner)
		f := NewFrame(c.set, 0, 0)
		list := all(sizes[0], inner)
		weights := make([]float64, len(list))
		columns := len(inner) / sizes[0]
		for cell := range c.value {
			rows, cols := f.split(int32(cell))
			compareTo := func(own int, b *tablerisk.Belief) {
				for i, table := range list {
					weights[i] = independent(table)
					if own >= 0 {
						weights[i] *= float64(table[own])
					}
				}
				compare(t, fmt.Sprintf("%v, %s, own %d", inner, c.set.Name(cell), own), b.First, b.P,
					believe(c, list, weights, cell, -1))
				if b.Highest() > 0.9 && len(b.P) > 1 {
					certain++
				}
			}
			compareTo(-1, f.Believed(c.value, int32(cell), -1))
			var places [4]bool
			for own, n := range inner {
				if n > 0 {
					at := place(rows[own/columns], cols[own%columns])
					places[at] = true
					compareTo(own, f.Believed(c.value, int32(cell), at))
				}
			}
			for at, some := range places {
				if !some {
					none++
					if b := f.Believed(c.value, int32(cell), at); b != nil {
						t.Errorf("%v, %s: a respondent at %d believes %v, where nobody is", inner, c.set.Name(cell), at, b)
					}
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	if certain < trials/8 || none < trials {
		t.Errorf("%d beliefs that are almost certain, %d places without records: too few for this test", certain, none)
	}
}

// chance returns the probability that a count becomes another one, summed over all ways in
// which its records can leave and others enter.
func chance(low, high, count, to int64, theta float64) (p float64) {
	out, in := count-low, high-count
	leave, enter := 0.0, 0.0
	if fewer := float64(min(out, in)); fewer > 0 {
		leave, enter = theta*fewer/float64(out), theta*fewer/float64(in)
	}
	for ways := range 1 << (out + in) {
		q, n := 1.0, count
		for bit := range out + in {
			moves := ways>>bit&1 == 1
			chance, d := leave, int64(-1)
			if bit >= out {
				chance, d = enter, 1
			}
			if !moves {
				chance, d = 1-chance, 0
			}
			q, n = q*chance, n+d
		}
		if n == to {
			p += q
		}
	}
	return p
}

func TestLawOfASquare(t *testing.T) {
	for _, l := range []law{{0, 7, 0.3}, {2, 9, 1}, {3, 4, 0.5}, {0, 1, 0.9}, {5, 5, 0.5}} {
		for count := l.low; count <= l.high; count++ {
			mean, sum := 0.0, 0.0
			for to := l.low; to <= l.high; to++ {
				got, want := l.likelihood(count, to), chance(l.low, l.high, count, to, l.theta)
				if !(math.Abs(got-want) <= 1e-12) {
					t.Errorf("%+v: %d becomes %d with %v, want %v", l, count, to, got, want)
				}
				mean, sum = mean+got*float64(to), sum+got
			}
			if !(math.Abs(mean-float64(count)) <= 1e-9 && math.Abs(sum-1) <= 1e-9) {
				t.Errorf("%+v: %d has the mean %v, and the sum of its chances is %v", l, count, mean, sum)
			}
			const draws = 5000
			rng := rand.New(rand.NewPCG(16, uint64(count)))
			seen := map[int64]float64{}
			for range draws {
				seen[l.draw(count, rng)]++
			}
			for to := l.low; to <= l.high; to++ {
				p := l.likelihood(count, to)
				if !(math.Abs(seen[to]/draws-p) <= 5*math.Sqrt(p*(1-p)/draws)+1e-12) {
					t.Errorf("%+v: %d became %d with %v, has %v", l, count, to, seen[to]/draws, p)
				}
			}
		}
		for published := l.low; published <= l.high; published++ {
			for _, least := range []int64{l.low, l.low + 1} {
				want, sum := map[int64]float64{}, 0.0
				for count := least; count <= l.high; count++ {
					want[count] = chance(l.low, l.high, count, published, l.theta)
					sum += want[count]
				}
				if sum == 0 {
					continue
				}
				first, belief := l.belief(published, least, l.high)
				for count := l.low; count <= l.high; count++ {
					got := 0.0
					if k := count - first; k >= 0 && k < int64(len(belief)) {
						got = belief[k]
					}
					if !(math.Abs(got-want[count]/sum) <= 1e-12) {
						t.Errorf("%+v, published %d, at least %d: %d is believed with %v, want %v", l, published, least, count, got,
							want[count]/sum)
					}
				}
			}
		}
	}
}

// If all records of the first column can move and at most half of them are in the first row, the
// distribution is that of Duncan, Fienberg, Krishnan, Padman and Roehrig (2001), section 4: each of ω records leaves
// with probability θ, and each of the others enters with θr/(1−r), r their share of the column.
func TestLawOfThePaper(t *testing.T) {
	const column, theta = 18, 0.2
	binomial := func(k, n int, p float64) float64 {
		b := math.Pow(1-p, float64(n))
		for i := range k {
			b *= float64(n-i) / float64(i+1) * p / (1 - p)
		}
		return b
	}
	for count := 0; count <= column/2; count++ {
		r := float64(count) / column
		for published := 0; published <= column; published++ {
			paper := 0.0
			for stay := max(0, published-column+count); stay <= min(count, published); stay++ {
				paper += binomial(stay, count, 1-theta) * binomial(published-stay, column-count, theta*r/(1-r))
			}
			if got := (law{0, column, theta}).likelihood(int64(count), int64(published)); !(math.Abs(got-paper) <= 1e-12) {
				t.Errorf("%d becomes %d with %v, in the paper with %v", count, published, got, paper)
			}
		}
	}
}

// A belief is cut where the likelihood is negligible, and its probabilities add up to
// 1.
func TestBeliefInALargeSquare(t *testing.T) {
	first, belief := law{0, 1_000_000, 0.5}.belief(2, 0, 1_000_000)
	sum := 0.0
	for _, p := range belief {
		sum += p
	}
	if first != 1 || len(belief) > 200 || !(math.Abs(sum-1) <= 1e-9) {
		t.Errorf("%d counts from %d, sum %v", len(belief), first, sum)
	}
}
