package joint

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/cores"
)

// ExchangedRecords stands among what tells for the values of other records that may be a record's own.
const ExchangedRecords = "the records with which values were exchanged"

// Exchange says that values of several columns moved together from record to record. A snooper who compares what moved
// with what stayed sees which records lost theirs, and to whom: each column tells little of it, and all of them much.
type Exchange struct {
	Moved   []int // columns whose values moved together
	Within  []int // of columns in which the records that exchange agree
	Apart   []int // and of those in which they differ
	Couples bool  // two records have exchanged, each has the other's values
	Ranks   bool  // the values of one column, each with one of similar rank
}

// Matched is what a snooper takes for a row's own values of a column that moved.
type Matched struct {
	Likeliest []float64 // by row, the value of the record that most probably has the row's own
	Mean      []float64 // by row, the mean over all records that may have it, by their probabilities
}

const (
	mostMoved   = 30         // numbers made of the columns that moved
	mostStayed  = 60         // features made of those that stayed
	leastModel  = 20         // rows for each of these features
	mostModel   = 5000       // rows to which a law is fitted
	mostTrials  = 500        // rows in which scales are compared
	leastChosen = 500        // rows in which features are chosen, at least
	chooseWork  = 40_000_000 // rows · features · (numbers + 1) · features chosen, at most
	matchWork   = 4_000_000  // records compared · numbers, at most
	leastRivals = 30         // records with which each is compared, however many there are
)

// Matched returns for each column of e that has originals what a snooper takes for its own values, found by the normal
// law of what moved given what stayed: of the numbers, of their logarithms, or of their normal scores, whichever tells
// most in some rows. Each part of the rows goes by the law of the other parts. originals are by column, nil where they
// are not known.
func (f *Frame) Matched(e Exchange, originals [][]float64) []*Matched {
	originals = slices.Clone(originals)
	for c, x := range originals {
		if x != nil { // of further rows they are not known
			originals[c] = append(slices.Clone(x), slices.Repeat([]float64{math.NaN()}, f.all-len(x))...)
		}
	}
	ways := make([]*matching, len(scales))
	cores.Each(len(scales), func(k int) { ways[k] = f.matching(e, originals, scales[k]) })
	few := f.some(mostTrials)
	var best *matching
	least := math.Inf(1)
	for _, m := range ways {
		if m == nil {
			continue
		}
		if left := m.left(few); left < least {
			best, least = m, left
		}
	}
	if best == nil {
		return make([]*Matched, len(e.Moved))
	}
	return best.matched(f.some(f.all))
}

// some returns up to n rows, evenly spread.
func (f *Frame) some(n int) []int {
	rows := make([]int, f.all)
	for i := range rows {
		rows[i] = i
	}
	return thinned(rows, n)
}

// left is how much of the variance of what moved the means leave, in rows.
func (m *matching) left(rows []int) (left float64) {
	for c, of := range m.matched(rows) {
		if of != nil {
			x := m.originals[m.e.Moved[c]]
			left += squareTo(x, of.Mean) / squareTo(x, slices.Repeat([]float64{meanOf(x)}, len(x)))
		}
	}
	return left
}

func meanOf(x []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range x {
		if v == v {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

// Expected is the mean over all records as a column of a frame. What is likeliest is no column: it is right in many
// records and far off in the others, and would count as known in all of them.
func (m *Matched) Expected() Column { return Column{Name: ExchangedRecords, Values: m.Mean} }

// Tells reports whether the means leave less of the originals than a line through the row's own released values does.
func (m *Matched) Tells(s Sought) bool {
	n, x, y, xx, yy, xy := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for i, v := range s.X {
		if d := v - s.Y[i]; d == d {
			n++
			a, b := v-x, s.Y[i]-y
			x, y = x+a/n, y+b/n
			xx, yy, xy = xx+a*(v-x), yy+b*(s.Y[i]-y), xy+a*(s.Y[i]-y)
		}
	}
	left := xx
	if yy > 0 {
		left -= xy * xy / yy
	}
	return squareTo(s.X, m.Mean)*n < (1-betterBy)*left
}

func squareTo(x, of []float64) float64 {
	sum, n := 0.0, 0.0
	for i, v := range x {
		if d := v - of[i]; d == d {
			sum, n = sum+d*d, n+1
		}
	}
	return sum / n
}

func equal(x, of []float64) (n int) {
	for i, v := range x {
		if v == of[i] {
			n++
		}
	}
	return n
}

// cells returns the rows of the sample among which values may have been exchanged, and which of them is each row's.
func (f *Frame) cells(e Exchange) (cells [][]int32, of []int32) {
	type key [4]float64
	at := map[key]int32{}
	of = make([]int32, f.all)
	for i := range of {
		var k key
		for c, column := range e.Within[:min(len(e.Within), len(k))] {
			if k[c] = f.columns[column].Values[i]; k[c] != k[c] {
				k[c] = math.Inf(-1)
			}
		}
		cell, there := at[k]
		if !there {
			cell, at[k] = int32(len(cells)), int32(len(cells))
			cells = append(cells, nil)
		}
		if of[i] = cell; i < f.rows {
			cells[cell] = append(cells[cell], int32(i))
		}
	}
	return cells, of
}

// matched compares rows with the records of their cells; what is found of other rows is NaN.
func (m *matching) matched(rows []int) []*Matched {
	out := make([]*Matched, len(m.e.Moved))
	for c, column := range m.e.Moved {
		if m.originals[column] != nil {
			none := slices.Repeat([]float64{math.NaN()}, m.f.all)
			out[c] = &Matched{none, slices.Clone(none)}
		}
	}
	rivals := max(leastRivals, matchWork/max(1, len(rows)*m.dims))
	match := m.matchByRank
	if m.byRank != nil {
		rivals = min(rivals, mostRivals)
	} else {
		cells, of := m.f.cells(m.e)
		match = func(row, most int, out []*Matched) float64 { return m.match(row, cells[of[row]], most, out) }
	}
	for range 2 {
		kept := 0.0
		for _, row := range rows {
			kept += match(row, rivals, out)
		}
		if m.counted {
			break
		}
		m.setStay(kept / float64(len(rows))) // a further mask hides which values have stayed
	}
	return out
}

// match sets what a row's own values are taken for, by up to most records of its cell, and returns the probability that
// it has kept them. Where not all are looked at, that with the row's own values is.
func (m *matching) match(row int, cell []int32, most int, out []*Matched) float64 {
	m.logs, m.near = m.logs[:0], m.near[:0]
	add := func(of int, log float64) {
		m.logs, m.near = append(m.logs, log), append(m.near, int32(of))
	}
	add(row, math.Log(m.stay)+m.ratio(row, row))
	looked := min(len(cell), most)
	other := func(of int) {
		if of == row || m.agree(row, of) {
			return
		}
		log := m.ratio(row, of)
		if m.couples {
			log += m.other(row, of)
		}
		add(of, log)
	}
	holder, there := m.holderOf(row)
	for k := range looked {
		of := int(cell[(row+k*len(cell)/looked)%len(cell)])
		there = there && of != holder
		other(of)
	}
	each := math.Log(1-m.stay) - math.Log(float64(max(1, len(m.logs)-1)))
	for k := range m.logs[1:] {
		m.logs[k+1] += each
	}
	last, rest := len(m.logs), math.Log(float64(looked)/float64(max(1, len(cell)))) // one stands for itself alone
	switch {
	case there:
		other(holder)
	case !m.f.complete && !m.holds(row): // the record that has the row's own values may be outside the sample
		log := m.original(row)
		if m.couples {
			log += m.others[row%len(m.others)]
		}
		add(-1, log)
		rest += math.Log(cmp.Or(m.f.Share, 1))
	}
	for k := range m.logs[last:] {
		m.logs[last+k] += each + rest
	}
	return m.take(row, out)
}

// holds reports whether it is known which record of the sample has a row's own values.
func (m *matching) holds(row int) bool {
	_, there := m.holderOf(row)
	return there
}

// take sets what a row's own values are taken for by the records that have been added.
func (m *matching) take(row int, out []*Matched) float64 {
	most, likeliest, all := slices.Max(m.logs), 0, 0.0
	for k, l := range m.logs {
		if l == most {
			likeliest = k
		}
		m.logs[k] = math.Exp(l - most)
		all += m.logs[k]
	}
	for c, column := range m.e.Moved {
		if out[c] == nil {
			continue
		}
		value := func(k int) float64 {
			if m.near[k] < 0 {
				return m.originals[column][row]
			}
			return m.f.columns[column].Values[m.near[k]]
		}
		sum, weight := 0.0, 0.0
		for k, w := range m.logs {
			if v := value(k); v == v {
				sum, weight = sum+w*v, weight+w
			}
		}
		out[c].Mean[row], out[c].Likeliest[row] = sum/weight, value(likeliest)
	}
	return m.logs[0] / all
}
