// Package totals computes what published sums of a column tell of its values beside estimates of each of them.
package totals

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// Table is a published table of sums of the column, by variables.
type Table struct {
	Codes  [][]int32   // by variable and record: the leaf
	Nodes  [][][]int32 // by variable and node: the leaves below it, ascending
	Hidden []int64     // the places of the cells that are held back, row-major over the nodes, the last variable fastest
}

// Limits of what is computed. The equations of a component that no single one of them solves take the cube of their
// number.
const (
	mostPlaces    = 5_000_000 // groups, times the cells that each is in
	mostEquations = 1500      // of a component
)

// ErrTooMany is returned for tables that have too many cells which are linked with each other.
var ErrTooMany = errors.New("they have too many cells that are linked with each other")

// System has the sums of some tables as equations. A group are the records with the same codes of all variables.
type System struct {
	groups    int
	of        []int32   // by record: its group
	equations [][]int32 // by published cell: its groups, ascending; each set once
}

// New finds the groups and equations of n records.
func New(n int, tables []Table) (*System, error) {
	s := &System{of: make([]int32, n)}
	first := s.group(tables)
	s.groups = len(first)
	seen, work := map[string]bool{}, 0
	for k := range tables {
		cells, places := tables[k].cells(first, mostPlaces-work)
		if cells == nil {
			return nil, ErrTooMany
		}
		work += places
		for _, groups := range cells {
			key := make([]byte, 0, 4*len(groups))
			for _, g := range groups {
				key = binary.LittleEndian.AppendUint32(key, uint32(g))
			}
			if !seen[string(key)] {
				seen[string(key)], s.equations = true, append(s.equations, groups)
			}
		}
	}
	slices.SortFunc(s.equations, func(a, b []int32) int { // maps have no order
		if d := len(a) - len(b); d != 0 {
			return d
		}
		return slices.Compare(a, b)
	})
	return s, nil
}

// group finds the group of each record, and returns the first record of each.
func (s *System) group(tables []Table) (first []int32) {
	known := map[string]int32{}
	for i := range s.of {
		var key []byte
		for _, t := range tables {
			for _, codes := range t.Codes {
				key = binary.LittleEndian.AppendUint32(key, uint32(codes[i]))
			}
		}
		g, there := known[string(key)]
		if !there {
			g = int32(len(first))
			known[string(key)], first = g, append(first, int32(i))
		}
		s.of[i] = g
	}
	return first
}

// cells returns the groups of each cell that is published, and how many places these have in all cells; nil if they
// have more than most. first has a record of each group.
func (t *Table) cells(first []int32, most int) (cells map[int64][]int32, places int) {
	above := make([][][]int64, len(t.Nodes)) // by variable and leaf: the nodes that have it
	for v, nodes := range t.Nodes {
		for node, leaves := range nodes {
			for _, leaf := range leaves {
				for int(leaf) >= len(above[v]) {
					above[v] = append(above[v], nil)
				}
				above[v][leaf] = append(above[v][leaf], int64(node))
			}
		}
	}
	for _, i := range first {
		of := 1
		for v := range t.Nodes {
			of *= len(above[v][t.Codes[v][i]])
		}
		if places += of; places > most {
			return nil, places
		}
	}
	cells = map[int64][]int32{}
	for g, i := range first {
		list := []int64{0}
		for v := range t.Nodes {
			var next []int64
			for _, at := range list {
				for _, node := range above[v][t.Codes[v][i]] {
					next = append(next, at*int64(len(t.Nodes[v]))+node)
				}
			}
			list = next
		}
		for _, at := range list {
			cells[at] = append(cells[at], int32(g))
		}
	}
	for _, at := range t.Hidden {
		delete(cells, at)
	}
	return cells, places
}

// Told is what the sums tell of each record, beside its estimate: a further observation of its value with an error of
// its own, and the best linear combination of both. NaN where they tell nothing, and where a record has no value.
type Told struct {
	Seen, SD []float64 // the observation, and the standard deviation of its error; 0: it is the value
	Best     []float64
	Mean     []float64 // of the values of its group, as the sums and the estimates give it
}

// Tell computes what the sums of the values x tell beside estimates of them, whose errors have expectation 0, are
// independent of each other and have the given variances. A value that is NaN is in no sum. Values of one group with
// the same original and the same released value y have one draw, and so the same error.
func (s *System) Tell(x, y, estimates, variances []float64) (*Told, error) {
	n := len(s.of)
	told := &Told{Seen: make([]float64, n), SD: make([]float64, n), Best: make([]float64, n), Mean: make([]float64, n)}
	p := s.gather(x, y, estimates, variances)
	if err := p.solve(); err != nil {
		return nil, err
	}
	for i := range n {
		told.Seen[i], told.SD[i], told.Best[i], told.Mean[i] = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		g := s.of[i]
		if x[i] != x[i] || estimates[i] != estimates[i] {
			continue
		}
		told.Best[i] = estimates[i]
		if !(p.information[g] > 0) {
			continue
		}
		told.Mean[i] = (p.estimated[g] + p.variance[g]*p.gain[g]) / p.records[g]
		alike := p.alike[unitOf(g, i, x, y)]
		v, q, gain := variances[i], p.information[g]*alike*alike, p.gain[g]*alike
		told.Best[i] += v * gain
		// An observation beside one of variance v that leaves v − v²q has the variance 1/q − v.
		told.Seen[i], told.SD[i] = estimates[i]+gain/q, math.Sqrt(max(1/q-v, 0))
		if 1/q-v <= 1e-9*v {
			told.SD[i], told.Best[i] = 0, x[i]
			told.Seen[i] = x[i]
		}
	}
	return told, nil
}

// Within returns, of some records, at most one of a group, the standard deviation of the error of Tell's observation
// for somebody who also knows the value of one other record of each group, that of which estimates tell least; NaN
// where the sums tell nothing. That is no less than what any one respondent knows, who is in one group.
func (s *System) Within(x, y, estimates, variances []float64, of []int) ([]float64, error) {
	p := s.gather(x, y, estimates, variances)
	least := make([]float64, p.groups) // what a group's variance is less
	own := make([]unit, p.groups)
	for _, i := range of {
		own[s.of[i]] = unitOf(s.of[i], i, x, y)
	}
	for i, g := range s.of {
		if x[i] != x[i] || estimates[i] != estimates[i] {
			continue
		}
		if u := unitOf(g, i, x, y); u != own[g] {
			least[g] = max(least[g], p.alike[u]*p.alike[u]*variances[i])
		}
	}
	for g := range p.variance {
		if left := p.variance[g] - least[g]; left > 1e-12*p.variance[g] {
			p.variance[g] = left
		} else {
			p.variance[g] = 0
		}
	}
	if err := p.solve(); err != nil {
		return nil, err
	}
	sds := make([]float64, len(of))
	for k, i := range of {
		g := s.of[i]
		sds[k] = math.NaN()
		if p.information[g] > 0 && x[i] == x[i] && estimates[i] == estimates[i] {
			alike := p.alike[own[g]]
			left := 1/(p.information[g]*alike*alike) - variances[i]
			if sds[k] = math.Sqrt(max(left, 0)); left <= 1e-9*variances[i] {
				sds[k] = 0
			}
		}
	}
	return sds, nil
}

// unit are the records of a group that have the same value and released value, and so the same error.
type unit struct {
	group           int32
	value, released float64
	record          int // of one without a released value
}

func unitOf(g int32, i int, x, y []float64) unit {
	if y[i] != y[i] {
		return unit{group: g, record: i + 1}
	}
	return unit{group: g, value: x[i], released: y[i]}
}

// problem is a system with the values and estimates of one column, by group.
type problem struct {
	*System
	total, estimated []float64 // sums of values, and of estimates
	variance         []float64 // of the difference of both
	records          []float64
	alike            map[unit]float64 // how many records a unit has
	positive         bool             // no value is below 0

	information []float64 // of the group's total by the equations: 1/variance if they give it, 0 if they tell nothing
	gain        []float64 // what a record's estimate moves by for each unit of its variance
}

func (s *System) gather(x, y, estimates, variances []float64) *problem {
	p := &problem{System: s, alike: map[unit]float64{}, positive: true}
	for _, list := range []*[]float64{&p.total, &p.estimated, &p.variance, &p.records, &p.information, &p.gain} {
		*list = make([]float64, s.groups)
	}
	for i, g := range s.of {
		if x[i] != x[i] || estimates[i] != estimates[i] {
			continue
		}
		p.total[g], p.estimated[g], p.records[g] = p.total[g]+x[i], p.estimated[g]+estimates[i], p.records[g]+1
		p.positive = p.positive && x[i] >= 0
		u := unitOf(g, i, x, y)
		m := p.alike[u]
		p.variance[g] += variances[i] * ((m+1)*(m+1) - m*m)
		p.alike[u] = m + 1
	}
	return p
}

// solve finds what the equations tell of each group's total. Groups of which they leave a range that is narrow beside
// what least squares leave count as given: that no value is below 0 tells more of them than least squares know.
func (p *problem) solve() error {
	given := make([]bool, p.groups)
	for {
		if err := p.fit(given); err != nil {
			return err
		}
		if !p.positive {
			return nil
		}
		low, high := p.ranges()
		again := false
		for g := range given {
			left := p.variance[g] * (1 - p.variance[g]*p.information[g])
			if !given[g] && left > 1e-9*p.variance[g] && high[g]-low[g] < 6*math.Sqrt(left) && high[g] < math.Inf(1) {
				given[g], again = true, true
			}
		}
		if !again {
			return nil
		}
	}
}

// fit solves the equations by least squares; given groups have their own totals.
func (p *problem) fit(given []bool) error {
	known := make([]bool, p.groups)
	open := make([][]int32, len(p.equations))
	rest := make([]float64, len(p.equations)) // total less estimate of the open groups
	of := make([][]int32, p.groups)
	var next []int32 // groups that have become known
	know := func(g int32) {
		if !known[g] {
			known[g], next = true, append(next, g)
			p.information[g], p.gain[g] = 0, 0
			if p.variance[g] > 0 {
				p.information[g], p.gain[g] = 1/p.variance[g], (p.total[g]-p.estimated[g])/p.variance[g]
			}
		}
	}
	left := make([]int, len(p.equations))
	for e, groups := range p.equations {
		for _, g := range groups {
			of[g] = append(of[g], int32(e))
		}
		left[e] = len(groups)
	}
	for g := range p.groups {
		p.information[g], p.gain[g] = 0, 0
		if given[g] || !(p.variance[g] > 0) {
			know(int32(g))
		}
	}
	single := func(e int32) {
		for _, g := range p.equations[e] {
			if !known[g] {
				know(g)
				return
			}
		}
	}
	for e := range p.equations {
		if left[e] == 1 {
			single(int32(e))
		}
	}
	for ; len(next) > 0; next = next[1:] {
		for _, e := range of[next[0]] {
			if left[e]--; left[e] == 1 {
				single(e)
			}
		}
	}
	for e, groups := range p.equations {
		for _, g := range groups {
			if !known[g] {
				open[e] = append(open[e], g)
				rest[e] += p.total[g] - p.estimated[g]
			}
		}
	}
	for _, component := range components(open, p.groups) {
		if len(component) > mostEquations {
			return ErrTooMany
		}
		p.least(component, open, rest)
	}
	return nil
}

// components divides the equations with open groups into parts that share none.
func components(open [][]int32, groups int) (list [][]int32) {
	parent := make([]int32, groups)
	for g := range parent {
		parent[g] = int32(g)
	}
	root := func(g int32) int32 {
		for parent[g] != g {
			parent[g] = parent[parent[g]]
			g = parent[g]
		}
		return g
	}
	for _, of := range open {
		for _, g := range of {
			parent[root(g)] = root(of[0])
		}
	}
	at := map[int32]int{}
	for e, of := range open {
		if len(of) == 0 {
			continue
		}
		r := root(of[0])
		k, there := at[r]
		if !there {
			k = len(list)
			at[r], list = k, append(list, nil)
		}
		list[k] = append(list[k], int32(e))
	}
	return list
}

// least solves the equations of a component: with M the equations by groups and W the groups' variances, of K = M W Mᵀ
// as many rows as are independent, by a Cholesky decomposition with pivots. An equation that follows from others adds
// nothing.
func (p *problem) least(component []int32, open [][]int32, rest []float64) {
	n := len(component)
	k := make([][]float64, n)
	at := map[int32][]int{} // of a group: the rows that have it
	for row, e := range component {
		k[row] = make([]float64, n)
		for _, g := range open[e] {
			at[g] = append(at[g], row)
		}
	}
	for g, rows := range at {
		for _, a := range rows {
			for _, b := range rows {
				k[a][b] += p.variance[g]
			}
		}
	}
	diagonal, scale := make([]float64, n), make([]float64, n)
	for row := range n {
		diagonal[row], scale[row] = k[row][row], k[row][row]
	}
	var pivots []int
	done := make([]bool, n)
	l := make([][]float64, n) // by row: its entries in the columns of pivots
	for len(pivots) < n {
		best := -1
		for row := range n {
			if !done[row] && diagonal[row] > 1e-9*scale[row] &&
				(best < 0 || diagonal[row] > diagonal[best]) {
				best = row
			}
		}
		if best < 0 {
			break
		}
		root := math.Sqrt(diagonal[best])
		for row := range n {
			if done[row] {
				continue
			}
			v := k[row][best]
			for c := range pivots {
				v -= l[row][c] * l[best][c]
			}
			l[row] = append(l[row], v/root)
			if row != best {
				diagonal[row] -= (v / root) * (v / root)
			}
		}
		l[best][len(pivots)] = root
		pivots, done[best] = append(pivots, best), true
	}
	forward := func(of func(row int) float64) []float64 { // L z = of
		z := make([]float64, len(pivots))
		for c, row := range pivots {
			v := of(row)
			for b := range c {
				v -= l[row][b] * z[b]
			}
			z[c] = v / l[row][c]
		}
		return z
	}
	right := forward(func(row int) float64 { return rest[component[row]] })
	for g, rows := range at {
		mine := forward(func(row int) float64 {
			if slices.Contains(rows, row) {
				return 1
			}
			return 0
		})
		q, gain := 0.0, 0.0
		for c := range mine {
			q, gain = q+mine[c]*mine[c], gain+mine[c]*right[c]
		}
		p.information[g], p.gain[g] = min(q, 1/p.variance[g]), gain
	}
}

// ranges returns ends between which the totals of groups lie if no value is below 0: each equation bounds its groups
// by what the others have at least and at most.
func (p *problem) ranges() (low, high []float64) {
	low, high = make([]float64, p.groups), make([]float64, p.groups)
	for g := range high {
		if high[g] = math.Inf(1); p.variance[g] == 0 || p.information[g]*p.variance[g] > 1-1e-9 {
			low[g], high[g] = p.total[g], p.total[g]
		}
	}
	for range 20 {
		moved := false
		for _, groups := range p.equations {
			total, least, most, open := 0.0, 0.0, 0.0, 0
			for _, g := range groups {
				total, least = total+p.total[g], least+low[g]
				if high[g] == math.Inf(1) {
					open++
				} else {
					most += high[g]
				}
			}
			for _, g := range groups {
				if low[g] == high[g] {
					continue
				}
				top := total - (least - low[g])
				bottom := 0.0
				switch {
				case open == 0:
					bottom = total - (most - high[g])
				case open == 1 && high[g] == math.Inf(1):
					bottom = total - most
				}
				if top < high[g]-1e-9*(1+math.Abs(total)) {
					if high[g] == math.Inf(1) {
						open--
					} else {
						most -= high[g]
					}
					most += max(top, low[g])
					high[g], moved = max(top, low[g]), true
				}
				if bottom > low[g]+1e-9*(1+math.Abs(total)) {
					least += min(bottom, high[g]) - low[g]
					low[g], moved = min(bottom, high[g]), true
				}
			}
		}
		if !moved {
			break
		}
	}
	return low, high
}
