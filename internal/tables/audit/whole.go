package audit

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// searchSteps is how many partial tables a search for one whole table looks at.
const searchSteps = 20_000

// search looks for tables of whole numbers in which the cells reach as far as asked,
// and enters what it finds among what was shown.
func (v *Verdict) search(q Question, r *Ranges, p *primary.Result, missing []int32) error {
	parts, _, err := Components(q)
	if err != nil {
		return err
	}
	for i := range parts {
		for j, cell := range parts[i].Cells {
			if _, wanted := slices.BinarySearch(missing, cell); !wanted {
				continue
			}
			x := q.Value[cell]
			up := r.ShownHigh[cell] >= x+p.Up[cell] || parts[i].WholeTable(j, p.Up[cell], searchSteps) != nil
			if up {
				r.ShownHigh[cell] = max(r.ShownHigh[cell], x+p.Up[cell])
			}
			down := r.ShownLow[cell] <= x-p.Down[cell] || parts[i].WholeTable(j, -p.Down[cell], searchSteps) != nil
			if down {
				r.ShownLow[cell] = min(r.ShownLow[cell], x-p.Down[cell])
			}
			if !up || !down {
				v.Narrow = append(v.Narrow, cell)
				v.Unproven = append(v.Unproven, cell)
			}
		}
	}
	slices.Sort(v.Narrow)
	slices.Sort(v.Unproven)
	return nil
}

// WholeTable returns the deviations of a table of whole numbers in which column j
// deviates by d: by implicit enumeration with the shuttle (Dobra 2001), cells that
// can take the fewest values first and the least deviations first, since most of a
// table need not change. Columns that are fixed do not deviate. It gives up, and
// returns nil as where there is none, after as many partial tables as steps.
func (p *Component) WholeTable(j int, d float64, steps int) []float64 {
	e := enumeration{p: p, rowsOf: make([][]int32, len(p.Cells)), steps: steps}
	for i, row := range p.rows {
		for _, x := range row {
			e.rowsOf[x.Column] = append(e.rowsOf[x.Column], int32(i))
		}
	}
	low, high := make([]float64, len(p.Cells)), make([]float64, len(p.Cells))
	for k := range low {
		if p.fixed == nil || !p.fixed[k] {
			low[k], high[k] = math.Ceil(p.Low[k]-1e-6), math.Floor(p.High[k]+1e-6)
		}
	}
	if d < low[j] || d > high[j] {
		return nil
	}
	return e.with(low, high, j, d)
}

type enumeration struct {
	p      *Component
	rowsOf [][]int32
	steps  int
}

// with fixes column j at d, follows what that implies, and goes on with the next
// open column.
func (e *enumeration) with(low, high []float64, j int, d float64) []float64 {
	if e.steps--; e.steps < 0 {
		return nil
	}
	low, high = slices.Clone(low), slices.Clone(high)
	low[j], high[j] = d, d
	if !e.follow(low, high, j) {
		return nil
	}
	next, fewest := -1, math.Inf(1)
	for k := range low {
		if open := high[k] - low[k]; open > 0 && open < fewest {
			next, fewest = k, open
		}
	}
	if next < 0 {
		return low // every sum was followed, so every sum holds
	}
	nearest := max(low[next], min(high[next], 0))
	for step := 0.0; nearest-step >= low[next] || nearest+step <= high[next]; step++ {
		if nearest+step <= high[next] {
			if z := e.with(low, high, next, nearest+step); z != nil {
				return z
			}
		}
		if step > 0 && nearest-step >= low[next] {
			if z := e.with(low, high, next, nearest-step); z != nil {
				return z
			}
		}
		if e.steps < 0 {
			return nil
		}
	}
	return nil
}

// follow narrows the ends along sums from column j on; false where a column is left
// without any value, or where that takes too long.
func (e *enumeration) follow(low, high []float64, j int) bool {
	queue := slices.Clone(e.rowsOf[j])
	for n := 0; n < len(queue); n++ {
		if n > 1000*len(e.p.rows) {
			return false // ends that rise for ever, as where nothing bounds them from above
		}
		row := e.p.rows[queue[n]]
		for _, x := range row {
			othersLow, othersHigh := 0.0, 0.0
			for _, y := range row {
				if y.Column == x.Column {
					continue
				}
				if y.Value > 0 {
					othersLow, othersHigh = othersLow+low[y.Column], othersHigh+high[y.Column]
				} else {
					othersLow, othersHigh = othersLow-high[y.Column], othersHigh-low[y.Column]
				}
			}
			from, to := -othersHigh, -othersLow
			if x.Value < 0 {
				from, to = othersLow, othersHigh
			}
			c := x.Column
			if from > high[c] || to < low[c] {
				return false
			}
			if from <= low[c] && to >= high[c] {
				continue
			}
			low[c], high[c] = max(low[c], from), min(high[c], to)
			queue = append(queue, e.rowsOf[c]...)
		}
	}
	return true
}
