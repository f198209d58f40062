package audit

import (
	"errors"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Insider is a primary cell that is not protected against a respondent (knower) who
// knows other hidden cells exactly.
type Insider struct {
	Knower    int32 // number of the respondent, as in the caller's knower
	Infers    int32 // the primary cell
	Disclosed bool  // the knower can compute the cell exactly
}

// Insiders audits the primary cells for every knower, as if the cells that the knower knows
// were published. knower holds the number of the respondent who knows each cell, -1 for
// none. A knower's own cells are not audited for that knower. A table in which a cell
// deviates as far as its rule requires proves the protection against every knower whose
// cells it does not change; for the other knowers Insiders searches for further tables. It
// also reports a cell of counts for which it finds no tables of whole numbers. It returns
// the error of q.Stop or of the solver.
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

// inside is a component and the cells of it that respondents know.
type inside struct {
	q      Question
	p      *Component
	knower []int32
	own    map[int32][]int // columns that a knower knows
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

// narrow returns the knowers for whom no table was found in which column j deviates by
// up and by −down.
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

// first searches for a table in which column j deviates by d. It returns the changed columns if few columns
// suffice (in components of counts, or large ones), else all deviations z. Both are nil if no table was
// found.
func (in *inside) first(j int, d float64) (changed []int32, z []float64) {
	if columns, _ := in.around(j, d); columns != nil {
		return columns, nil
	}
	return nil, in.reach(j, d)
}

// around searches for a table in which column j deviates by d and few others do, and returns the
// changed columns and their deviations. It does so for components of counts and for large ones,
// before a program over the whole component is solved.
func (in *inside) around(j int, d float64) (columns []int32, by []float64) {
	if in.q.Counts || in.p.Huge() {
		columns, by = in.p.few(j, d)
	}
	if columns == nil && !in.q.Counts && (in.p.large || in.p.Huge()) {
		columns, by = in.p.Near(j, d, searchNear)
	}
	return columns, by
}

// misled returns, in ascending order, the knowers of at least one of the columns: only
// they can see that these columns do not have their true values.
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

// without calls do while the cells of knower k are fixed.
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

// reach returns the deviations of a table in which column j deviates by at least d or,
// for d below 0, by at most d; nil if none was found.
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

// single reports whether column j has only one possible value; false also if the solver
// fails.
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
