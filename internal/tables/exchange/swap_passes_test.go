package exchange

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// swapped returns the distribution of the published table that a table becomes, from all choices of records
// in all trades, pass after pass: rows in order of size are paired, and if their number is odd a second time.
func swapped(rows int, inner []int64, rate float64) map[string]float64 {
	columns := len(inner) / rows
	size := make([]int64, rows)
	order := []int{}
	for i := range rows {
		size[i] = sumOf(inner[i*columns : (i+1)*columns])
		if size[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(size[b] - size[a]) })
	var pairs [][2]int
	for k := 0; k+1 < len(order); k += 2 {
		pairs = append(pairs, [2]int{order[k], order[k+1]})
	}
	if len(order)%2 == 1 {
		for k := 1; k+1 < len(order); k += 2 {
			pairs = append(pairs, [2]int{order[k], order[k+1]})
		}
	}
	tables, chances := [][]int64{inner}, []float64{1}
	for _, p := range pairs {
		least := min(size[p[0]], size[p[1]])
		each := int(rate * float64(least))
		if float64(each) < rate*float64(least) {
			each++
		}
		index := map[string]int{}
		var next [][]int64
		var with []float64
		for i, table := range tables {
			two := slices.Concat(table[p[0]*columns:(p[0]+1)*columns], table[p[1]*columns:(p[1]+1)*columns])
			for became, q := range kernelOf(two, each) {
				t := slices.Clone(table)
				copy(t[p[0]*columns:], became[:columns])
				copy(t[p[1]*columns:], became[columns:2*columns])
				key := fmt.Sprint(t)
				if _, known := index[key]; !known {
					index[key] = len(next)
					next, with = append(next, t), append(with, 0)
				}
				with[index[key]] += chances[i] * q
			}
		}
		tables, chances = next, with
	}
	result := map[string]float64{}
	for i, t := range tables {
		result[fmt.Sprint(t)] = chances[i]
	}
	return result
}

func sumOf(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}

// kernelOf is kernel with tables as keys.
func kernelOf(two []int64, each int) map[[8]int64]float64 {
	k := map[[8]int64]float64{}
	for text, p := range kernel(two, each) {
		var key [8]int64
		var values []int64
		values = append(values, fieldsOf(text)...)
		copy(key[:], values)
		k[key] += p
	}
	return k
}

func fieldsOf(text string) (list []int64) {
	for i := 0; i < len(text); {
		var n int64
		if text[i] < '0' || text[i] > '9' {
			i++
			continue
		}
		for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
			n = 10*n + int64(text[i]-'0')
		}
		list = append(list, n)
	}
	return list
}

// grouped returns a variable of the codes 1 to n, of which a total has the first half and one more, or of seven all but
// the first.
func grouped(t *testing.T, n int) *tables.Dimension {
	edges := []tables.Edge{{Child: "x"}}
	for i := range n {
		e := tables.Edge{Child: fmt.Sprint(i + 1)}
		if i <= n/2 && n < 7 || i > 0 && n == 7 {
			e.Parent = "x"
		}
		edges = append(edges, e)
	}
	return tabletest.Dimension(t, "a", tables.Hierarchy{Edges: edges})
}

// With several passes, too, the beliefs about every count, of outsiders and of respondents under both priors, are those
// of Bayes' theorem over all tables with the same totals, with the probability of each of becoming the whole published
// table: in hundreds of random tables of three rows (two passes, in which every row exchanges with another one), of
// more, and of two.
func TestBeliefsAfterSwapsInSeveralPasses(t *testing.T) {
	trials := 300
	if testing.Short() {
		trials = 40
	}
	rng := rand.New(rand.NewPCG(38, 11))
	certain, passes := 0, 0
	for trial := range trials {
		rows := []int{3, 3, 3, 2, 5, 4, 7}[trial%7]
		columns := []int{2, 3, 2, 3, 2, 2, 2}[trial%7]
		inner := make([]int64, rows*columns)
		for i := range max(rows, 9) {
			row := i // each row has a record
			if i >= rows {
				row = rng.IntN(rows)
			}
			inner[row*columns+rng.IntN(columns)]++
		}
		rate := []float64{0.2, 0.4, 0.5, 1}[rng.IntN(4)]
		c := crossed{
			set: tabletest.Set(t,
				tables.Table{Name: "t", Dimensions: []*tables.Dimension{grouped(t, rows), tabletest.Flat(t, "b", columns)}})}
		c.value = c.total(inner)
		f := NewFrame(c.set, 0, 0)
		s := f.Swap(c.value, rate, make([]bool, 2), keyedBy(uint64(trial)))
		if len(s.matrices) > 2 {
			passes++
		}
		var after []int64
		for _, row := range f.matrix(s.Published) {
			after = append(after, row...)
		}
		list := slices.DeleteFunc(all(rows, inner), func(table []int64) bool { // groups keep their totals
			for _, g := range s.groups {
				n := 0
				for _, row := range g.rows {
					n += int(table[row*columns] - inner[row*columns])
				}
				if n != 0 {
					return true
				}
			}
			return false
		})
		chances := make([]float64, len(list))
		for i, table := range list {
			chances[i] = swapped(rows, table, rate)[fmt.Sprint(after)]
		}
		for cell := range c.value {
			counts, varies := make([]int64, len(list)), false
			for i, table := range list {
				counts[i] = int64(c.total(table)[cell])
				varies = varies || counts[i] != counts[0]
			}
			count := s.Count(int32(cell))
			at := fmt.Sprintf("trial %d: %v at rate %v, %s", trial, inner, rate, c.set.Name(cell))
			for _, prior := range []Prior{Even, Independent} {
				if prior == Even && len(count.parts) > 1 {
					continue // even for each part by itself
				}
				first, belief := count.Belief(prior)
				compare(t, at, first, belief, bayes(list, chances, counts, prior, -1))
				if slices.Max(belief) > 0.9 && varies {
					certain++
				}
				var want []map[int64]float64
				for own, n := range inner {
					if n > 0 && concerns(count, own/columns) && !(c.total(unit(inner, own))[cell] == 1 && c.value[cell] == 1) {
						want = append(want, bayes(list, chances, counts, prior, own))
					}
				}
				respondents(t, at, count, prior, want)
			}
			if t.Failed() {
				return
			}
		}
	}
	if passes < trials/2 || certain < trials/4 {
		t.Errorf("%d tables of two passes, %d counts that are almost certain: too few for this test", passes, certain)
	}
	t.Logf("%d tables of two passes, %d counts that are almost certain", passes, certain)
}

// concerns reports whether a row is in a group on which the count depends.
func concerns(c *SwappedCount, row int) bool {
	return slices.ContainsFunc(c.parts, func(p part) bool { return slices.Contains(p.rows, row) })
}

// Of many records the first pass that could change a count is used. It need not be the first of all: of a total of the
// two largest rows it is the second. The true count is possible.
func TestBeliefsAboutManySwaps(t *testing.T) {
	inner := []int64{60, 20, 50, 25, 30, 40, 21, 29, 20, 20}
	c := crossed{set: tabletest.Set(t, tables.Table{Name: "t", Dimensions: []*tables.Dimension{
		tabletest.Dimension(t, "a",
			tables.Hierarchy{
				Edges: []tables.Edge{{Child: "x"}, {Child: "1", Parent: "x"}, {Child: "2", Parent: "x"}, {Child: "3"}, {Child: "4"},
					{Child: "5"}}}), tabletest.Flat(t, "b", 2)}})}
	c.value = c.total(inner)
	s := NewFrame(c.set, 0, 0).Swap(c.value, 0.3, make([]bool, 2), keyedBy(1))
	changed := 0
	for cell, v := range c.value {
		count := s.Count(int32(cell))
		if len(count.parts) == 0 {
			continue
		}
		changed++
		for _, prior := range []Prior{Even, Independent} {
			first, belief := count.Belief(prior)
			if k := int64(v) - first; count.parts[0].small() || len(belief) < 2 || k < 0 || k >= int64(len(belief)) ||
				!(belief[k] > 0) {
				t.Errorf("%s: %v from %d on, the truth is %v", c.set.Name(cell), belief, first, v)
			}
			n := 0
			count.Respondents(prior, func(int64, []float64) { n++ })
			if n < 2 {
				t.Errorf("%s: %d respondents", c.set.Name(cell), n)
			}
		}
	}
	if changed != 12 {
		t.Errorf("%d counts, want those of five codes and a total, for two columns", changed)
	}
}

// Respondents far from the trades of a count know only that the margins have their own records: under the even prior
// their beliefs are those of an independent outsider, divided by the probability of the count given where the record
// is. Of thirteen rows in order of size the count has the first six.
func TestRespondentsFarFromTheTrades(t *testing.T) {
	edges := []tables.Edge{{Child: "x"}}
	var inner []int64
	for i := range 13 {
		e := tables.Edge{Child: fmt.Sprint(i + 1)}
		if i < 6 {
			e.Parent = "x"
		}
		edges = append(edges, e)
		inner = append(inner, int64(20-i), 3)
	}
	c := crossed{
		set: tabletest.Set(t,
			tables.Table{
				Name: "t", Dimensions: []*tables.Dimension{tabletest.Dimension(t, "a", tables.Hierarchy{Edges: edges}),
					tabletest.Flat(t, "b", 2)}})}
	c.value = c.total(inner)
	s := NewFrame(c.set, 0, 0).Swap(c.value, 0.3, make([]bool, 2), keyedBy(2))
	cell, err := c.set.At(0, "x", "2")
	if err != nil {
		t.Fatal(err)
	}
	count := s.Count(int32(cell))
	first, plain := count.Belief(Independent)
	if p := count.parts[0]; p.from < 1 || p.to > 11 {
		t.Fatalf("rows %d to %d: none is far", p.from, p.to)
	}
	size, all := int64(0), sumOf(inner)
	for _, n := range inner[:12] {
		size += n
	}
	for _, own := range []struct{ row, column int64 }{{1, 1}, {1, 0}, {0, 1}, {0, 0}} {
		want, total := map[int64]float64{}, 0.0
		for k, p := range plain {
			n := first + int64(k)
			marked, drawn, of, in := 39-own.column, size-own.row, all-1, n-own.row*own.column
			if q := binomials(marked, in) + binomials(of-marked, drawn-in) - binomials(of, drawn); !math.IsInf(q, -1) {
				want[n] = p / math.Exp(q)
				total += want[n]
			}
		}
		for n := range want {
			want[n] /= total
		}
		found := false
		count.Respondents(Even, func(first int64, belief []float64) {
			same := true
			for k, p := range belief {
				same = same && math.Abs(p-want[first+int64(k)]) < 1e-9
			}
			found = found || same
		})
		if !found {
			t.Errorf("nobody far away, in row %d and column %d, believes %v", own.row, own.column, want)
		}
	}
}

func binomials(n, k int64) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
