package exchange

import (
	"math"
	"math/rand/v2"
	"slices"
)

// trade is a pair of rows whose records exchange their columns, among some columns, which
// all keep their number of records in both rows together.
type trade struct {
	rows    [2]int
	columns []int
	each    int64 // how many records of each row are exchanged for as many of the other
	size    [2]int64
}

// Swapped is a table after swapping.
type Swapped struct {
	frame     *Frame
	value     []float64
	trades    [][]trade   // of a pass
	matrices  [][][]int64 // inner counts before a pass, and after the last one
	Published []float64
}

// Swap exchanges records between pairs of rows (Dalenius and Reiss 1982; Duncan et al. 2001,
// section 3): rate of the records of the smaller row, rounded up, drawn without
// replacement, for as many of the other. match marks the dimensions, other than that of the
// rows, in which both records of an exchange are alike: columns of other codes in them are
// swapped apart, so that the counts by rows and these dimensions together stay, as do those
// by all columns. Within the columns that are swapped together rows are paired with the next
// one in size, rows without a record left out, since the size of a row is published anyway. Where they are odd in number, a second
// pass pairs them otherwise, so that each of them is in a pair. draws gives those of a
// trade, by its inner cells and the pass.
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

// strata are the columns that are alike in all marked dimensions.
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

// neighbours pairs the rows that have records in some columns, the largest with the next one
// and so on; in a second pass, if one was left over, the second with the third and so on.
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
	var leaving [2][]int64 // of a row: how many of each column leave it
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

// KeptBeside reports whether a cell keeps its value when records swap that are alike in the
// marked dimensions: it is a sum over all rows, or over all codes of the dimensions that are
// not marked.
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

// SwappedCount is a count of a swapped table with what its published value depends on.
type SwappedCount struct {
	value int64
	parts []part
}

// part is what one trade did to a count: its value before and after the trade.
type part struct {
	swapLaw
	before, after int64
}

// Count looks a count up.
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

// Prior is what somebody believes of a count before it is published.
type Prior uint8

// Both leave to the rest of the table what it is under independence of rows and columns
// given their totals.
const (
	Even        Prior = iota // every count that these totals leave is as likely as any other
	Independent              // the count, too, is what it is under independence
)

// Belief is what is believed of the count by who knows the published table, which rows were
// paired and the rate: p[0] is the probability of the count first. It depends on no other
// count of the table than the two totals of its trade. For a swap from one table to another is as
// likely as one back where tables are weighed by their probability under independence, by which
// what is published is all that tells of the count. Where the count has parts in trades of several
// passes it is the first pass that could change it, and he is told what the others did, and
// of parts in more than 20 trades those beyond. Who is not told knows less.
func (c *SwappedCount) Belief(p Prior) (first int64, belief []float64) { return c.belief(p, -1, -1) }

// Respondents calls add with the beliefs of those who know more of the count than outsiders
// do: one for each of the four places, in the count's row or the other one and in its columns
// or the others, of its trades in which there is a record, hers. Who is alone in the count is
// not asked. Other counts may tell her whether her own record was exchanged; that is left out.
func (c *SwappedCount) Respondents(p Prior, add func(first int64, belief []float64)) {
	for k, t := range c.parts {
		for place, n := range [4]int64{t.before, t.inside - t.before, t.both - t.before, t.outside - t.both + t.before} {
			if n > 0 && !(place == 0 && c.value == 1) {
				add(c.belief(p, k, place))
			}
		}
	}
}

// belief is that of a respondent at a place of a trade; of nobody where the trade is −1.
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
