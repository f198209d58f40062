package audit

import (
	"maps"
	"math"
	"slices"
)

// Possible says which counts a cell can have: Value[i] is true if Low + i is possible.
type Possible struct {
	Low   int64
	Value []bool
}

// Values determines, for every wanted cell of counts, which values occur in a table of
// whole numbers that agrees with the question. It searches for each value separately. A
// value that is not found within valueSteps steps, or that is further than most from the
// true value, is reported as impossible; so the result can overstate what an intruder
// infers, but not understate it. The true value is always possible. Ranges holds for each
// wanted cell its least and greatest possible value, and for all others the bounds of the
// shuttle. It returns the error of q.Stop.
func Values(q Question, wanted []bool) (map[int32]Possible, *Ranges, error) {
	parts, _, err := Components(q)
	if err != nil {
		return nil, nil, err
	}
	found := map[int32]Possible{}
	r := &Ranges{Components: len(parts)}
	r.Low, r.High = append([]float64(nil), q.Value...), append([]float64(nil), q.Value...)
	for c, w := range wanted {
		if w {
			found[int32(c)] = Possible{int64(q.Value[c]), []bool{true}}
		}
	}
	for i := range parts {
		p := &parts[i]
		r.Largest = max(r.Largest, len(p.Cells))
		for j, c := range p.Cells {
			low, high := math.Ceil(p.Low[j]-1e-6), math.Floor(p.High[j]+1e-6)
			if !wanted[c] {
				r.Low[c], r.High[c] = q.Value[c]+low, q.Value[c]+high
				continue
			}
			if err := q.Stopped(); err != nil {
				return nil, nil, err
			}
			possible := p.values(j, max(low, -most), min(high, most))
			possible.Low += int64(q.Value[c])
			found[c] = possible
			r.Low[c], r.High[c] = float64(possible.Low), float64(possible.Low)+float64(len(possible.Value)-1)
		}
	}
	r.ShownLow, r.ShownHigh = r.Low, r.High
	return found, r, q.Stopped()
}

const (
	most       = 200 // greatest distance of a value from the true value in the search
	valueSteps = 300 // number of partial tables in the search for one value
)

// values searches for each deviation of column j from low to high. The result starts
// and ends with a possible deviation.
func (p *Component) values(j int, low, high float64) Possible {
	found := Possible{0, []bool{true}}
	below := 0
	for d := -1.0; d >= low; d-- {
		if p.allows(j, d) {
			for range int(-d) - below {
				found.Value = append([]bool{false}, found.Value...)
			}
			below = int(-d)
			found.Value[0] = true
		}
	}
	found.Low = int64(-below)
	for d := 1.0; d <= high; d++ {
		if p.allows(j, d) {
			for len(found.Value)-below < int(d) {
				found.Value = append(found.Value, false)
			}
			found.Value = append(found.Value, true)
		}
	}
	return found
}

// allows reports whether a table of whole numbers was found in which column j deviates by
// d. It tries tables in which one inner cell changes with all of its totals, then two
// inner cells of one line, then WholeTable.
func (p *Component) allows(j int, d float64) bool {
	for _, leaf := range p.under(j) {
		moved := map[int]float64{}
		p.move(moved, leaf, d)
		if moved[j] == d && p.satisfies(moved) {
			return true
		}
		for _, i := range p.rowsOf(leaf) {
			for _, x := range p.rows[i] {
				if x.Value < 0 || x.Column == leaf || d < 0 && p.High[x.Column] < -d || d > 0 && p.Low[x.Column] > -d {
					continue
				}
				both := map[int]float64{}
				p.move(both, leaf, d)
				p.move(both, x.Column, -d)
				if both[j] == d && p.satisfies(both) {
					return true
				}
			}
		}
	}
	return p.WholeTable(j, d, valueSteps) != nil
}

// Upward searches for a table in which column j deviates by d, inner cells below it deviate
// by d together, all totals above these cells deviate with them, and no other column
// deviates. It returns the columns and their deviations, or nil if there is no such table or
// a fixed column would have to change.
func (p *Component) Upward(j int, d float64) (columns []int32, by []float64) {
	moved := map[int]float64{}
	rest := d
	for _, leaf := range p.under(j) {
		part := min(max(rest, math.Ceil(p.Low[leaf]-1e-6)), math.Floor(p.High[leaf]+1e-6))
		if part == 0 || p.fixed != nil && p.fixed[leaf] {
			continue
		}
		p.move(moved, leaf, part)
		if rest -= part; rest == 0 {
			break
		}
	}
	if moved[j] != d || !p.satisfies(moved) {
		return nil, nil
	}
	for c := range moved {
		if p.fixed != nil && p.fixed[c] {
			return nil, nil
		}
	}
	for _, c := range slices.Sorted(maps.Keys(moved)) {
		columns, by = append(columns, int32(c)), append(by, moved[c])
	}
	return columns, by
}

// few searches for a table of counts in which column j and few others deviate, column j
// by d. It returns nil if none was found.
func (p *Component) few(j int, d float64) (columns []int32, by []float64) {
	if columns, by = p.Upward(j, d); columns == nil {
		columns, by, _ = p.Quick(j, d, searchQuick)
	}
	return columns, by
}

// under returns up to 20 inner cells (columns that are not totals) below column j;
// column j itself if it is not a total.
func (p *Component) under(j int) (leaves []int) {
	seen := map[int]bool{j: true}
	for queue := []int{j}; len(queue) > 0 && len(leaves) < 20; queue = queue[1:] {
		leaf := true
		for _, i := range p.rowsOf(queue[0]) {
			for _, x := range p.rows[i] {
				if x.Value > 0 || x.Column != queue[0] {
					continue
				}
				leaf = false
				for _, y := range p.rows[i] {
					if y.Value > 0 && !seen[y.Column] {
						seen[y.Column] = true
						queue = append(queue, y.Column)
					}
				}
			}
		}
		if leaf {
			leaves = append(leaves, queue[0])
		}
	}
	return leaves
}

// move adds d in moved to column j and to every total above it.
func (p *Component) move(moved map[int]float64, j int, d float64) {
	seen := map[int]bool{j: true}
	for queue := []int{j}; len(queue) > 0; queue = queue[1:] {
		moved[queue[0]] += d
		for _, i := range p.rowsOf(queue[0]) {
			part, total := false, -1
			for _, x := range p.rows[i] {
				part = part || x.Column == queue[0] && x.Value > 0
				if x.Value < 0 {
					total = x.Column
				}
			}
			if part && total >= 0 && !seen[total] {
				seen[total] = true
				queue = append(queue, total)
			}
		}
	}
}

// satisfies reports whether the deviations satisfy all ends and sums.
func (p *Component) satisfies(moved map[int]float64) bool {
	for j, d := range moved {
		if d < p.Low[j]-1e-6 || d > p.High[j]+1e-6 {
			return false
		}
	}
	for j, d := range moved {
		if d == 0 {
			continue
		}
		for _, i := range p.rowsOf(j) {
			sum := 0.0
			for _, x := range p.rows[i] {
				sum += x.Value * moved[x.Column]
			}
			if sum != 0 {
				return false
			}
		}
	}
	return true
}
