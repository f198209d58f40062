package audit

import (
	"maps"
	"math"
	"slices"
)

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
