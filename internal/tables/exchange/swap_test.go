package exchange

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func keyedBy(seed uint64) func([]int32, int) *rand.Rand {
	return func(cells []int32, pass int) *rand.Rand {
		return rand.New(rand.NewPCG(seed, uint64(cells[0])<<32|uint64(cells[len(cells)-1])<<8|uint64(pass)))
	}
}

// kernel returns the tables of two rows that a swap of the given number of records can produce from
// one table, with their probabilities. It enumerates all choices of records in both rows, record by
// record.
func kernel(inner []int64, each int) map[string]float64 {
	columns := len(inner) / 2
	subsets := func(row []int64) (list [][]int64) {
		var records []int
		for j, n := range row {
			for range n {
				records = append(records, j)
			}
		}
		for bits := range 1 << len(records) {
			taken, of := 0, make([]int64, columns)
			for i, j := range records {
				if bits>>i&1 == 1 {
					taken, of[j] = taken+1, of[j]+1
				}
			}
			if taken == each {
				list = append(list, of)
			}
		}
		return list
	}
	a, b := subsets(inner[:columns]), subsets(inner[columns:])
	k := map[string]float64{}
	for _, out := range a {
		for _, in := range b {
			after := slices.Clone(inner)
			for j := range columns {
				after[j] += in[j] - out[j]
				after[columns+j] += out[j] - in[j]
			}
			k[fmt.Sprint(after)] += 1 / float64(len(a)*len(b))
		}
	}
	return k
}

// independent is the weight of a table under independence, given its totals.
func independent(inner []int64) float64 {
	w := 1.0
	for _, n := range inner {
		w /= math.Gamma(float64(n + 1))
	}
	return w
}

var swaps = []struct {
	inner []int64
	rate  float64
	each  int
}{
	{[]int64{1, 3, 4, 2}, 0.4, 2}, {[]int64{2, 1, 3, 1, 2, 2}, 0.5, 3}, {[]int64{0, 2, 3, 3, 1, 0}, 0.3, 2},
	{[]int64{1, 2, 1, 0, 2, 1, 3, 1}, 0.25, 1}, {[]int64{2, 1, 1, 2}, 1, 3},
}

// The published table has the distribution that follows from all choices of records: 20,000 draws,
// with a tolerance of five standard errors for each share; the draws are fixed.
func TestSwappedTablesHaveTheirDistribution(t *testing.T) {
	const draws = 20_000
	for _, e := range swaps {
		c := cross(t, []int{2, len(e.inner) / 2}, e.inner)
		f, seen := NewFrame(c.set, 0, 0), map[string]float64{}
		for i := range draws {
			s := f.Swap(c.value, e.rate, make([]bool, 2), keyedBy(uint64(i)))
			var inner []int64
			for _, row := range f.matrix(s.Published) {
				inner = append(inner, row...)
			}
			seen[fmt.Sprint(inner)]++
		}
		want := kernel(e.inner, e.each)
		for table := range seen {
			if want[table] == 0 {
				t.Errorf("%v became %s, which no choice of %d records makes of it", e.inner, table, e.each)
			}
		}
		for table, p := range want {
			if got := seen[table] / draws; !(math.Abs(got-p) <= 5*math.Sqrt(p*(1-p)/draws)) {
				t.Errorf("%v became %s with %v, want %v", e.inner, table, got, p)
			}
		}
	}
}

// The belief about every count agrees with Bayes' theorem over all tables with the totals, under both
// priors. The likelihood of a table is its probability of becoming the whole published table, for
// respondents too.
func TestBeliefsAfterASwap(t *testing.T) {
	for _, e := range swaps {
		c := cross(t, []int{2, len(e.inner) / 2}, e.inner)
		f := NewFrame(c.set, 0, 0)
		list := all(2, e.inner)
		kernels := make([]map[string]float64, len(list))
		for i, table := range list {
			kernels[i] = kernel(table, e.each)
		}
		for cell := range c.value {
			counts := make([]int64, len(list))
			for i, table := range list {
				counts[i] = int64(c.total(table)[cell])
			}
			for seed := range uint64(12) {
				s := f.Swap(c.value, e.rate, make([]bool, 2), keyedBy(seed))
				whole := make([]float64, len(list))
				var after []int64
				for _, row := range f.matrix(s.Published) {
					after = append(after, row...)
				}
				for i := range list {
					whole[i] = kernels[i][fmt.Sprint(after)]
				}
				count := s.Count(int32(cell))
				at := fmt.Sprintf("%v, %s", e.inner, c.set.Name(cell))
				for _, prior := range []Prior{Even, Independent} {
					first, belief := count.Belief(prior)
					compare(t, at, first, belief, bayes(list, whole, counts, prior, -1))
					var want []map[int64]float64
					for own, n := range e.inner {
						if n > 0 && len(count.parts) > 0 && !(c.total(unit(e.inner, own))[cell] == 1 && c.value[cell] == 1) {
							want = append(want, bayes(list, whole, counts, prior, own))
						}
					}
					respondents(t, at, count, prior, want)
				}
			}
		}
	}
}

// respondents compares the beliefs of respondents with those in want: all of them must occur, and no
// others.
func respondents(t *testing.T, at string, count *SwappedCount, prior Prior, want []map[int64]float64) {
	t.Helper()
	found, reports := make([]bool, len(want)), 0
	count.Respondents(prior, func(first int64, belief []float64) {
		reports++
		one := false
		for i, w := range want {
			if agrees(first, belief, w) {
				found[i], one = true, true
			}
		}
		if !one {
			t.Errorf("%s: a respondent believes %v from %d on, want one of %v", at, belief, first, want)
		}
	})
	if slices.Contains(found, false) || reports > len(want) {
		t.Errorf("%s: %d respondents, some believe none of %v", at, reports, want)
	}
}

// bayes returns the posterior of a count over the tables in list, for a respondent who knows of a
// record in the inner cell own; own is negative for an outsider.
func bayes(list [][]int64, chances []float64, counts []int64, prior Prior, own int) map[int64]float64 {
	weight, share := make([]float64, len(list)), map[int64]float64{}
	for i, table := range list {
		others := slices.Clone(table)
		if own >= 0 {
			if others[own]--; others[own] < 0 {
				continue
			}
		}
		weight[i] = independent(others)
		share[counts[i]] += weight[i]
	}
	b, sum := map[int64]float64{}, 0.0
	for i, n := range counts {
		w := weight[i] * chances[i]
		if prior == Even && w > 0 {
			w /= share[n]
		}
		b[n] += w
		sum += w
	}
	for n := range b {
		b[n] /= sum
	}
	return b
}

// The example of the paper (section 3) has three rows by two columns in two layers. Swaps between the
// layers keep the total of each layer and the table of rows by columns; swaps within rows also keep
// the table of rows by layers. All sums hold, and something is changed.
func TestSwapsKeepTheirTotals(t *testing.T) {
	inner := []int64{5, 9, 3, 2, 7, 4, 6, 8, 2, 5, 1, 4}
	c := cross(t, []int{2, 3, 2}, inner) // layer, row, column
	f := NewFrame(c.set, 0, 0)
	for _, match := range [][]bool{{false, false, false}, {false, true, false}, {false, false, true},
		{false, true, true}} {
		changed := 0
		for seed := range uint64(20) {
			s := f.Swap(c.value, 0.5, match, keyedBy(seed))
			if problems := c.set.CheckSums(s.Published, 0); len(problems) > 0 {
				t.Fatal(problems)
			}
			for cell, v := range s.Published {
				_, nodes := c.set.Home(cell)
				kept := nodes[0] == 0 || (nodes[1] == 0 || match[1]) && (nodes[2] == 0 || match[2])
				if v < 0 || kept != f.KeptBeside(int32(cell), match) || kept && v != c.value[cell] {
					t.Errorf("%v, %s: %v was %v, kept %v", match, c.set.Name(cell), v, c.value[cell], kept)
				}
				if v != c.value[cell] {
					changed++
				}
				if first, belief := s.Count(int32(cell)).Belief(Even); kept && (len(belief) != 1 || first != int64(v)) {
					t.Errorf("%v, %s: %v is believed of a count that is kept", match, c.set.Name(cell), belief)
				}
			}
		}
		if all := match[1] && match[2]; (changed == 0) != all {
			t.Errorf("%v: %d counts are changed", match, changed)
		}
	}
}

// For any number of rows, each row with records takes part in a trade if another row has records too.
// An intruder who knows the other trades of a second pass considers the true count possible.
func TestEveryRowIsInATrade(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 16))
	for rows := 2; rows <= 7; rows++ {
		inner := make([]int64, rows*4)
		for i := range inner {
			inner[i] = 1 + rng.Int64N(6)
		}
		c := cross(t, []int{rows, 2, 2}, inner)
		f := NewFrame(c.set, 0, 0)
		s := f.Swap(c.value, 0.4, []bool{false, true, false}, keyedBy(uint64(rows)))
		if want := 1 + rows%2; len(s.matrices)-1 != want {
			t.Errorf("%d rows: %d passes, want %d", rows, len(s.matrices)-1, want)
		}
		for cell, v := range c.value {
			count := s.Count(int32(cell))
			nodes := f.nodes(int32(cell))
			if single := nodes[0] != 0 && nodes[2] != 0; single != (len(count.parts) > 0) {
				t.Errorf("%d rows, %s: %d trades", rows, c.set.Name(cell), len(count.parts))
			}
			for _, prior := range []Prior{Even, Independent} {
				first, belief := count.Belief(prior)
				if k := int64(v) - first; k < 0 || k >= int64(len(belief)) || !(belief[k] > 0) {
					t.Errorf("%d rows, %s: the truth is not believed possible: %v", rows, c.set.Name(cell), belief)
				}
			}
		}
	}
}

// If whole rows are exchanged, a large count is known, wherever it moved. If few of many records move,
// the belief under independence has the mean and the variance of a reverse swap, with a relative error
// of 1e-6: the records that leave and those that enter are both hypergeometric.
func TestLargeSwaps(t *testing.T) {
	whole := swapLaw{inside: 5000, outside: 5000, each: 5000, both: 900}
	if first, p := whole.belief(100, Even, -1); first != 800 || len(p) != 1 {
		t.Errorf("%d, %v", first, p)
	}
	few := swapLaw{inside: 1_000_000, outside: 2_000_000, each: 10_000, both: 60_000}
	variance := func(all, marked, drawn float64) float64 {
		return drawn * marked / all * (1 - marked/all) * (all - drawn) / (all - 1)
	}
	for _, published := range []int64{3, 20_000, 60_000} {
		first, p := few.belief(published, Independent, -1)
		total, mean, square := 0.0, 0.0, 0.0
		for k, q := range p {
			x := float64(first + int64(k))
			total, mean, square = total+q, mean+q*x, square+q*x*x
		}
		in := float64(published)
		wantMean := in - in*0.01 + (60_000-in)*0.005
		wantVariance := variance(1e6, in, 1e4) + variance(2e6, 60_000-in, 1e4)
		if !(math.Abs(total-1) <= 1e-9 && math.Abs(mean-wantMean) <= 1e-6*wantMean &&
			math.Abs(square-mean*mean-wantVariance) <= 1e-6*square) {
			t.Errorf("%d: %d counts from %d on: sum %v, mean %v, want %v, variance %v, want %v", published, len(p), first, total,
				mean, wantMean, square-mean*mean, wantVariance)
		}
		first, p = few.belief(published, Even, -1)
		total, mean = 0, 0
		for k, q := range p {
			total, mean = total+q, mean+q*float64(first+int64(k))
		}
		if least, most := few.ends(); !(math.Abs(total-1) <= 1e-9) || first < least || first+int64(len(p))-1 > most ||
			published == 20_000 && !(math.Abs(mean-(20_000-300)/0.985) <= 1) {
			t.Errorf("%d: %d counts from %d on: sum %v, mean %v", published, len(p), first, total, mean)
		}
	}
}
