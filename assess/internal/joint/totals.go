package joint

import (
	"cmp"
	"math"
	"slices"
)

// A column may hold the total of the sought one over the records of a unit: the income of a household beside the
// wages of its members. What the released values lack of it is divided among them, and whoever lives alone has all
// of it.

const (
	mostTotals   = 12  // columns that may be totals of a unit
	bestTotals   = 3   // features of totals in an estimator
	sameInUnits  = 0.9 // share of the records of a unit in which a total is the same
	leastInUnits = 0.1 // share of the records that have others in their unit
)

// shares divide what is lacking of a total: evenly, by the size of the released values, or by their squares, as
// noise in percent has its variance.
var shares = []func(y float64) float64{
	func(float64) float64 { return 1 },
	math.Abs,
	func(y float64) float64 { return y * y },
}

// rest is what a total of a unit leaves for a record once the released values of the others are taken away.
type rest struct {
	unit   *grouping
	column int
	values []float64 // by row; NaN where that is not known
}

// rests returns what each column leaves that is the same for all records of a unit, as their total and as their mean.
func (s *sought) rests() []rest {
	if s.rested || s.Frame == nil || !s.complete {
		return s.rest
	}
	s.rested = true
	s.sameInUnits(func(unit *grouping, column int) {
		z := s.columns[column].numbers
		for _, mean := range []bool{false, true} {
			s.rest = append(s.rest, rest{unit, column, s.restOf(unit, z, mean)})
		}
	})
	return s.rest
}

// totalled returns a column that is the total, or the mean, of x over the records of a unit, where the sample does not
// hold all of them: how much it tells is not known then. In the units of several records that it holds entirely
// they agree: in more than agree with the column of another unit, by five standard errors.
func (s *sought) totalled() *exact {
	if s.complete {
		return nil
	}
	var found *exact
	s.sameInUnits(func(unit *grouping, column int) {
		z := s.columns[column].numbers
		sums, n := make([]float64, unit.groups), make([]float64, unit.groups)
		of := make([]float64, unit.groups)
		for i, at := range unit.of[:s.Frame.rows] {
			if at >= 0 {
				sums[at], n[at], of[at] = sums[at]+s.x[i], n[at]+1, z[i]
			}
		}
		var total, mean, chance float64
		before := math.NaN() // what the column has in another unit
		for at, m := range n {
			if m < 2 || sums[at] != sums[at] {
				continue
			}
			agrees := func(v, of float64) bool { return math.Abs(v-of) < 1e-3*math.Abs(of) }
			switch {
			case agrees(sums[at], of[at]):
				total++
			case agrees(sums[at]/m, of[at]):
				mean++
			}
			if agrees(sums[at], before) || agrees(sums[at]/m, before) {
				chance++
			}
			before = of[at]
		}
		if max(total, mean) >= leastRows+chance+5*math.Sqrt(chance) {
			found = &exact{tells: s.names(append(slices.Clone(unit.columns), column)), open: true}
		}
	})
	return found
}

// sameInUnits visits the columns that have one value in each unit: those that a column numbers, the parts of them in
// which the column has one value (a household in one year), and the records with this value, whoever they are.
func (s *sought) sameInUnits(visit func(unit *grouping, column int)) {
	rows := s.tried()
	same := func(unit *grouping, column int) bool {
		share, _, judged := s.constant(unit, rows, s.columns[column].numbers)
		if share >= sameInUnits && float64(judged) >= leastInUnits*float64(len(rows)) {
			visit(unit, column)
			return true
		}
		return false
	}
	columns := slices.DeleteFunc(s.Frame.others(s.own), func(c int) bool {
		return !slices.ContainsFunc(s.groups, func(g grouping) bool { return g.columns[0] == c })
	})
	columns = columns[:min(len(columns), 2*mostTotals)]
	for k := range s.groups {
		unit := &s.groups[k]
		if !unit.identifies || slices.Contains(unit.columns, s.own) {
			continue
		}
		tried := 0
		for _, c := range columns {
			if tried == mostTotals {
				break
			}
			if c != unit.columns[0] && (same(unit, c) || same(s.withValue(unit, c), c)) {
				tried++
			}
		}
	}
	for k := range s.groups {
		if unit := &s.groups[k]; slices.Contains(columns, unit.columns[0]) && unit.groups*leastPart > s.Frame.rows {
			same(unit, unit.columns[0])
		}
	}
}

// withValue returns the parts of units in which a column has one value, in the order of their first records. It sorts
// the records by unit, so that the values of each are told apart in a table by value, which needs no hashes.
func (s *sought) withValue(unit *grouping, column int) *grouping {
	k := slices.IndexFunc(s.groups, func(g grouping) bool { return g.columns[0] == column })
	by := &s.groups[k]
	g := &grouping{columns: []int{unit.columns[0], column}, of: make([]int32, s.all), identifies: true}
	first := make([]int32, unit.groups+1)
	for i := range g.of {
		if g.of[i] = -1; unit.of[i] >= 0 && by.of[i] >= 0 {
			first[unit.of[i]+1]++
		}
	}
	for u := range unit.groups {
		first[u+1] += first[u]
	}
	rows, next := make([]int32, first[unit.groups]), slices.Clone(first)
	for i, u := range unit.of {
		if u >= 0 && by.of[i] >= 0 {
			rows[next[u]] = int32(i)
			next[u]++
		}
	}
	leader := make([]int32, s.all) // by row: the first record of its part
	// By value: the last unit with it, from 1, and its first record there.
	seen, at := make([]int32, by.groups), make([]int32, by.groups)
	for u := range unit.groups {
		for _, i := range rows[first[u]:first[u+1]] {
			if v := by.of[i]; seen[v] != int32(u)+1 {
				seen[v], at[v] = int32(u)+1, i
			}
			leader[i] = at[by.of[i]]
		}
	}
	for i := range g.of {
		if unit.of[i] < 0 || by.of[i] < 0 {
			continue
		}
		if l := leader[i]; l < int32(i) {
			g.of[i] = g.of[l]
		} else {
			g.of[i] = int32(g.groups)
			g.groups++
		}
	}
	return g
}

// restOf returns the total z, or with mean as many times z as there are records, less the released values of the
// others.
func (s *sought) restOf(unit *grouping, z []float64, mean bool) []float64 {
	sums, n := make([]float64, unit.groups), make([]float64, unit.groups)
	missing := make([]int, unit.groups)
	for i, at := range unit.of[:s.Frame.rows] {
		if at < 0 {
			continue
		}
		n[at]++
		if v := s.y[i]; v == v {
			sums[at] += v
		} else {
			missing[at]++
		}
	}
	out := make([]float64, s.all)
	for i, at := range unit.of {
		if out[i] = math.NaN(); at < 0 {
			continue
		}
		total, others, gaps := z[i], sums[at], missing[at]
		if mean {
			total *= n[at]
		}
		if v := s.y[i]; v == v {
			others -= v
		} else {
			gaps--
		}
		if gaps <= 0 {
			out[i] = total - others
		}
	}
	return out
}

// byTotals returns features that divide what the released values lack of totals, or of means, of a unit.
func (s *sought) byTotals() []feature {
	type candidate struct {
		feature
		tells float64
	}
	var list []candidate
	tell := s.besideOf(s.y)
	rests, parts := s.rests(), make([][]float64, len(shares))
	for k, share := range shares {
		if parts[k] = make([]float64, s.all); len(rests) > 0 {
			for i, v := range s.y[:s.all] {
				parts[k][i] = share(v)
			}
		}
	}
	for _, r := range rests {
		for _, part := range parts {
			lacking := s.lacking(r, part)
			if tells := tell(lacking); tells >= beyondChance/float64(len(s.rows)) {
				from := append(slices.Clone(r.unit.columns), r.column)
				list = append(list, candidate{feature{column: r.column, from: from, values: lacking, others: true}, tells})
			} else {
				s.spare = append(s.spare, lacking)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.tells, a.tells) })
	var features []feature
	for _, c := range list[:min(len(list), bestTotals)] {
		features = append(features, c.feature)
	}
	return features
}

// lacking returns, by row, its share of what the released values of its unit lack; 0 where that is not known. parts are
// what shares make of the released values.
func (s *sought) lacking(r rest, parts []float64) []float64 {
	sums := make([]float64, r.unit.groups)
	for i, at := range r.unit.of[:s.Frame.rows] {
		if v := s.y[i]; at >= 0 && v == v {
			sums[at] += parts[i]
		}
	}
	out := s.blank()
	clear(out)
	for i, v := range r.values {
		if d := (v - s.y[i]) * parts[i]; d == d && sums[r.unit.of[i]] > 0 {
			out[i] = d / sums[r.unit.of[i]]
		}
	}
	return out
}
