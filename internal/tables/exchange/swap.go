package exchange

import (
	"math"
	"math/rand/v2"
	"slices"
)

// trade is a pair of rows that exchange records within some columns. Each column keeps
// its number of records in both rows together.
type trade struct {
	rows    [2]int
	columns []int
	each    int64 // number of records of each row that are exchanged
	size    [2]int64
}

// Swapped is a table after swapping.
type Swapped struct {
	frame     *Frame
	value     []float64
	trades    [][]trade   // of a pass
	matrices  [][][]int64 // inner counts before each pass and after the last one
	Published []float64
}

// Swap exchanges records between pairs of rows (Dalenius and Reiss 1982; Duncan et al. 2001,
// section 3): the share rate of the records of the smaller row, rounded up and drawn without replacement, for
// the same number of records of the other row. match marks the dimensions, other than that of the rows, in
// which both records of an exchange have the same codes: columns with different codes in them form separate
// strata, so that the counts by rows and these dimensions together do not change, and neither do the counts
// by all columns. Within a stratum each row is paired with the next one in size, without the rows that have
// no record; this uses only row sizes, which are published in any case. If their number is odd, a second pass
// pairs them differently, so that each of them is in a pair. draws returns the source of draws of a trade,
// given its inner cells and the pass.
func (f *Frame) Swap(value []float64, rate float64, match []bool, draws func(cells []int32, pass int) *rand.Rand) *Swapped {
	s := &Swapped{frame: f, value: value}
	m := f.matrix(value)
	s.matrices = append(s.matrices, cloned(m))
	strata := f.strata(match)
	for pass := range 2 {
		var list []trade
		for _, columns := range strata {
			for _, rows := range neighbours(m, columns, pass) {
				t := trade{rows: rows, columns: columns, size: [2]int64{sum(m[rows[0]], columns), sum(m[rows[1]], columns)}}
				t.each = int64(math.Ceil(rate * float64(min(t.size[0], t.size[1]))))
				var cells []int32
				for _, row := range rows {
					for _, j := range columns {
						cells = append(cells, f.inner(row, j))
					}
				}
				t.exchange(m, draws(cells, pass))
				list = append(list, t)
			}
		}
		if len(list) == 0 {
			break
		}
		s.trades, s.matrices = append(s.trades, list), append(s.matrices, cloned(m))
	}
	s.Published = f.addUp(value, m)
	return s
}

func cloned(m [][]int64) [][]int64 {
	c := make([][]int64, len(m))
	for i := range m {
		c[i] = slices.Clone(m[i])
	}
	return c
}

func sum(row []int64, columns []int) (n int64) {
	for _, j := range columns {
		n += row[j]
	}
	return n
}

// strata returns the groups of columns with the same codes in all marked dimensions.
func (f *Frame) strata(match []bool) (list [][]int) {
	alike := func(a, b []int) bool {
		for k := range a {
			if match[k] && k != f.variable && a[k] != b[k] {
				return false
			}
		}
		return true
	}
	for j, c := range f.columns {
		at := slices.IndexFunc(list, func(s []int) bool { return alike(f.columns[s[0]], c) })
		if at < 0 {
			list = append(list, nil)
			at = len(list) - 1
		}
		list[at] = append(list[at], j)
	}
	return list
}

// neighbours pairs the rows that have records in the given columns: the largest with the
// second, the third with the fourth, and so on. The second pass, if one row was left over,
// pairs the second with the third, and so on.
func neighbours(m [][]int64, columns []int, pass int) (pairs [][2]int) {
	all := ordered(len(m), func(i int) float64 { return float64(sum(m[i], columns)) })
	rows := slices.DeleteFunc(all, func(i int) bool { return sum(m[i], columns) == 0 })
	if pass > 0 && len(rows)%2 == 0 {
		return nil
	}
	for k := pass; k+1 < len(rows); k += 2 {
		pairs = append(pairs, [2]int{rows[k], rows[k+1]})
	}
	return pairs
}

// exchange draws the records and exchanges them.
func (t *trade) exchange(m [][]int64, draws *rand.Rand) {
	var leaving [2][]int64 // of a row: number of records of each column that leave it
	for side, row := range t.rows {
		deck := make([]int32, 0, t.size[side])
		for k, j := range t.columns {
			for range m[row][j] {
				deck = append(deck, int32(k))
			}
		}
		leaving[side] = make([]int64, len(t.columns))
		for i := range int(t.each) {
			k := i + draws.IntN(len(deck)-i)
			deck[i], deck[k] = deck[k], deck[i]
			leaving[side][deck[i]]++
		}
	}
	for k, j := range t.columns {
		d := leaving[1][k] - leaving[0][k]
		m[t.rows[0]][j] += d
		m[t.rows[1]][j] -= d
	}
}

// KeptBeside reports whether swapping within the marked dimensions keeps the value of a
// cell: whether it is a sum over all rows, or over all codes of each dimension that is not
// marked.
func (f *Frame) KeptBeside(cell int32, match []bool) bool {
	nodes := f.nodes(cell)
	if nodes[f.variable] == 0 {
		return true
	}
	for k, n := range nodes {
		if n != 0 && k != f.variable && !match[k] {
			return false
		}
	}
	return true
}

// SwappedCount is a count of a swapped table with the trades that its published value
// depends on.
type SwappedCount struct {
	value int64
	parts []part
}

// part is the effect of one trade on a count: its value before and after the trade.
type part struct {
	swapLaw
	before, after int64
}

// Count returns the count of a cell with its trades.
func (s *Swapped) Count(cell int32) *SwappedCount {
	c := &SwappedCount{value: int64(s.value[cell])}
	rows, columns := s.frame.split(cell)
	for pass, trades := range s.trades {
		for i := range trades {
			t := &trades[i]
			if rows[t.rows[0]] == rows[t.rows[1]] || len(c.parts) == mostSquares {
				continue
			}
			in, out := 0, 1
			if !rows[t.rows[0]] {
				in, out = 1, 0
			}
			var set []int
			for _, j := range t.columns {
				if columns[j] {
					set = append(set, j)
				}
			}
			before, after := s.matrices[pass], s.matrices[pass+1]
			was := sum(before[t.rows[in]], set)
			p := part{
				swapLaw: swapLaw{inside: t.size[in], outside: t.size[out], each: t.each, both: was + sum(before[t.rows[out]], set)},
				before:  was, after: sum(after[t.rows[in]], set),
			}
			if low, high := p.ends(); low < high {
				c.parts = append(c.parts, p)
			}
		}
		if len(c.parts) > 0 {
			break
		}
	}
	return c
}

// Prior is the prior distribution of a count.
type Prior uint8

// Under both priors the rest of the table is distributed as under independence of rows
// and columns given their totals.
const (
	Even        Prior = iota // uniform over the counts that are possible with these totals
	Independent              // the count, too, is distributed as under independence
)

// Belief returns the posterior distribution of the count for an intruder who knows the published
// table, the pairs of rows and the rate: p[0] is the probability of the count first. Besides the
// published count it depends only on the two totals of the count's trade: with tables weighted by
// their probability under independence, a swap from one table to another is as likely as the
// reverse swap, so that no other published count carries information on the count. If the count
// has parts in trades of several passes, only the first pass that could change it is used, and the
// intruder is assumed to know the changes of the other passes, and those of trades beyond 20.
// Without this assumption the intruder knows less.
func (c *SwappedCount) Belief(p Prior) (first int64, belief []float64) { return c.belief(p, -1, -1) }

// Respondents calls add with the beliefs of respondents, who know more about the count than
// outsiders. Each trade has four places: in the count's row or the other row, and in its
// columns or the other columns. There is one belief for each place with at least one record,
// for the respondent of such a record. A respondent who is the only one in the count is
// omitted. Other counts may show a respondent whether the own record was exchanged; this is
// not taken into account.
func (c *SwappedCount) Respondents(p Prior, add func(first int64, belief []float64)) {
	for k, t := range c.parts {
		for place, n := range [4]int64{t.before, t.inside - t.before, t.both - t.before, t.outside - t.both + t.before} {
			if n > 0 && !(place == 0 && c.value == 1) {
				add(c.belief(p, k, place))
			}
		}
	}
}

// belief returns the belief of a respondent at a place of a trade; that of an outsider
// if trade is −1.
func (c *SwappedCount) belief(prior Prior, trade, place int) (first int64, belief []float64) {
	first, belief = c.value, []float64{1}
	for k, t := range c.parts {
		at := -1
		if trade == k {
			at = place
		}
		low, part := t.belief(t.after, prior, at)
		first, belief = first+low-t.before, convolved(belief, part)
	}
	return first, belief
}
