package audit

import (
	"errors"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Insider is a primary cell that is not protected against a respondent who knows other
// hidden cells exactly.
type Insider struct {
	Knower    int32 // as the caller numbers them
	Infers    int32 // the cell
	Disclosed bool  // exactly
}

// Insiders audits the primary cells for every knower, to whom the cells that she knows are
// published (knower: her number for each cell, -1 for nobody). What she infers of her own
// cells is not asked. A table in which a cell reaches as far as its rule asks shows that to
// every knower none of whose cells it changes; for the others one more is sought. For counts
// a range that was not shown by whole tables, and for which none are found, is named as
// well.
func Insiders(q Question, p *primary.Result, knower []int32) ([]Insider, error) {
	parts, _, err := Components(q)
	if err != nil {
		return nil, err
	}
	var found []Insider
	for i := range parts {
		in := newInside(q, &parts[i], knower)
		for j, c := range parts[i].Cells {
			if p.Status[c] != tables.Primary {
				continue
			}
			if err := q.Stopped(); err != nil {
				return nil, err
			}
			narrow, err := in.narrow(j, p.Up[c], p.Down[c])
			if err != nil {
				return nil, err
			}
			found = append(found, narrow...)
		}
	}
	return found, q.Stopped()
}

// inside is a component and what respondents know of it.
type inside struct {
	q      Question
	p      *Component
	knower []int32
	own    map[int32][]int // of a knower: her columns
	all    []int32         // knowers in the component
}

func newInside(q Question, p *Component, knower []int32) *inside {
	in := &inside{q: q, p: p, knower: knower, own: map[int32][]int{}}
	for j, c := range p.Cells {
		if k := knower[c]; k >= 0 {
			if in.own[k] == nil {
				in.all = append(in.all, k)
			}
			in.own[k] = append(in.own[k], j)
		}
	}
	return in
}

// narrow lists the knowers to whom column j does not reach as far up and down as asked.
func (in *inside) narrow(j int, up, down float64) (found []Insider, err error) {
	cell := in.p.Cells[j]
	failed := map[int32]bool{}
	for _, d := range [2]float64{up, -down} {
		if d == 0 {
			continue
		}
		var shown [][]float64
		who := in.all
		if changed, z := in.first(j, d); changed != nil {
			who = in.misled(changed)
		} else if z != nil {
			shown = append(shown, z)
		}
		for _, k := range who {
			if k == in.knower[cell] || failed[k] || slices.ContainsFunc(shown, func(z []float64) bool { return in.agrees(z, k) }) {
				continue
			}
			z, err := in.without(k, func() []float64 { return in.reach(j, d) })
			if err != nil {
				return nil, err
			}
			if z != nil {
				shown = append(shown, z)
				continue
			}
			failed[k] = true
		}
	}
	for _, k := range in.all {
		if !failed[k] {
			continue
		}
		exactly := false
		if _, err := in.without(k, func() []float64 { exactly = in.single(j); return nil }); err != nil {
			return nil, err
		}
		found = append(found, Insider{k, cell, exactly})
	}
	return found, in.q.Stopped()
}

// first looks for a table in which column j deviates by d: in a component of counts, or a huge one, for the
// few columns that it takes, else for all deviations. Both are nil where none was found.
func (in *inside) first(j int, d float64) (changed []int32, z []float64) {
	if columns, _ := in.around(j, d); columns != nil {
		return columns, nil
	}
	return nil, in.reach(j, d)
}

// around looks for the columns that a table changes in which column j deviates by d, and few
// others do: in a component of counts, or a large one, before there is a program over all of it.
func (in *inside) around(j int, d float64) (columns []int32, by []float64) {
	if in.q.Counts || in.p.Huge() {
		columns, by = in.p.few(j, d)
	}
	if columns == nil && !in.q.Counts && (in.p.large || in.p.Huge()) {
		columns, by = in.p.Near(j, d, searchNear)
	}
	return columns, by
}

// misled lists those who know one of the columns, in their order: no other one sees that
// they are not the true ones.
func (in *inside) misled(columns []int32) (who []int32) {
	seen := map[int32]bool{}
	for _, c := range columns {
		if k := in.knower[in.p.Cells[c]]; k >= 0 && !seen[k] {
			seen[k] = true
			who = append(who, k)
		}
	}
	slices.Sort(who)
	return who
}

// agrees reports whether a table changes none of a knower's cells.
func (in *inside) agrees(z []float64, k int32) bool {
	return !slices.ContainsFunc(in.own[k], func(j int) bool { return math.Abs(z[j]) > 1e-9 })
}

// without does something while the cells of a knower are fixed.
func (in *inside) without(k int32, do func() []float64) (z []float64, err error) {
	for _, j := range in.own[k] {
		if err := in.p.Fix(j); err != nil {
			return nil, err
		}
	}
	z = do()
	for _, j := range in.own[k] {
		if err := in.p.Free(in.q, j); err != nil {
			return nil, err
		}
	}
	return z, nil
}

// reach returns the deviations of a table in which column j deviates by at least d, or by
// no more where d is below 0; nil where none was found.
func (in *inside) reach(j int, d float64) []float64 {
	if columns, by := in.around(j, d); columns != nil {
		z := make([]float64, len(in.p.Cells))
		for i, c := range columns {
			z[c] = by[i]
		}
		return z
	}
	s, err := in.p.Program()
	if err != nil {
		return nil
	}
	s.Reset()
	s.ToVertex = in.q.Counts
	v, err := optimize(s, j, d > 0, math.Abs(d))
	s.ToVertex = false
	if err != nil && !errors.Is(err, lp.ErrStalled) || !(math.Abs(v) >= math.Abs(d)-rounding(d)) || v*d < 0 {
		return nil
	}
	if z := s.Point(); !in.q.Counts || whole(z) {
		return slices.Clone(z)
	}
	return in.p.WholeTable(j, d, searchSteps)
}

// single reports whether column j has one value.
func (in *inside) single(j int) bool {
	s, err := in.p.Program()
	if err != nil {
		return false
	}
	var ends [2]float64
	for i, up := range [2]bool{true, false} {
		s.Reset()
		v, err := optimize(s, j, up, math.Inf(1))
		if err != nil {
			return false
		}
		ends[i] = v
	}
	high, low := ends[0], ends[1]
	if in.q.Counts {
		low, high = math.Ceil(low-1e-6), math.Floor(high+1e-6)
	}
	return high-low <= rounding(in.q.Value[in.p.Cells[j]])
}
