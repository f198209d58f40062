package audit

import (
	"errors"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Insider is a primary cell that is not protected against respondents who know other hidden cells
// exactly.
type Insider struct {
	Knowers   []int32 // numbers of the respondents who combine what they know
	Infers    int32   // the primary cell
	Disclosed bool    // they can compute the cell exactly
}

// Insiders audits the primary cells for every coalition of respondents, as if the cells that they know
// were published, and each other cell were known to be at least as much as is their own (tables.Knowers.Misled). For a
// primary cell in which they are this does not count: they need no protection from what is their own, and if a
// table of values meets the requirement, so does one between this and the true table in which the cell is their own
// part. Cells that a coalition knows are not audited for it. A table in which a cell deviates as far as its rule
// requires proves the protection against all whose cells it does not change; for the others Insiders searches for
// further tables. It also reports a cell of counts for which it finds no tables of whole numbers. It tries the tables
// in shown before it searches; those that do not agree with the published cells do not count. After a fixed amount of
// work it searches no further. It returns the error of q.Stop or of the solver.
func Insiders(q Question, p *primary.Result, knowers *tables.Knowers, shown ...Table) ([]Insider, error) {
	q = Facing(q, p, knowers)
	of, check := map[int32][]Table{}, newChecker(q)
	for _, t := range shown {
		of[t.Of] = append(of[t.Of], t)
	}
	parts, _, err := Components(q)
	if err != nil {
		return nil, err
	}
	var found []Insider
	left := int64(insidersWork)
	for i := range parts {
		in := newInside(q, &parts[i], knowers)
		in.shown, in.checker, in.left = of, check, &left
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

// inside is a component and the respondents who know cells of it.
type inside struct {
	q       Question
	p       *Component
	knowers *tables.Knowers
	column  map[int32]int // of a cell
	all     [][]int32     // the contributors of cells that somebody knows
	shown   map[int32][]Table
	checker *checker
	left    *int64 // of the work of all searches
}

// insidersWork is the limit of the work of all searches, half a minute and more; of cells for which there is none left,
// no table is found.
const insidersWork = 10_000_000_000

// work is that of all searches in the component so far.
func (in *inside) work() int64 {
	if in.p.system == nil {
		return in.p.Searched()
	}
	return in.p.Searched() + in.p.system.Work
}

func newInside(q Question, p *Component, knowers *tables.Knowers) *inside {
	in := &inside{q: q, p: p, knowers: knowers, column: map[int32]int{}}
	for j, c := range p.Cells {
		in.column[c] = j
		in.all = append(in.all, knowers.KnownBy(c)...)
	}
	slices.SortFunc(in.all, slices.Compare[[]int32])
	in.all = slices.CompactFunc(in.all, slices.Equal[[]int32])
	return in
}

// trial is the search for the tables that show how far one column can deviate, by d, against all
// coalitions.
type trial struct {
	*inside
	j      int
	d      float64
	shown  [][]float64 // deviations of all columns
	done   [][]int32   // coalitions
	failed [][]int32   // coalitions for whom no table was found
}

// narrow returns the coalitions for whom no table was found in which column j deviates by
// up and by −down.
func (in *inside) narrow(j int, up, down float64) (found []Insider, err error) {
	var failed [][]int32
	for _, d := range [2]float64{up, -down} {
		if d == 0 {
			continue
		}
		t := &trial{inside: in, j: j, d: d}
		who := in.all
		if t.shown = in.reaching(j, d); len(t.shown) == 0 {
			if z := in.reach(j, d); z != nil {
				t.shown = append(t.shown, z)
			}
		}
		if len(t.shown) > 0 {
			who = in.misled(nil, t.shown[0], j)
		}
		for _, k := range who {
			if err := t.try(k); err != nil {
				return nil, err
			}
		}
		failed = append(failed, t.failed...)
	}
	slices.SortFunc(failed, slices.Compare[[]int32])
	for _, k := range slices.CompactFunc(failed, slices.Equal[[]int32]) {
		exactly := false
		if err := in.knowing(k, j, func() { exactly = in.single(j) }); err != nil {
			return nil, err
		}
		found = append(found, Insider{k, in.p.Cells[j], exactly})
	}
	return found, in.q.Stopped()
}

// reaching returns the deviations of the tables shown for column j that agree with the published cells, and in which it
// deviates by at least d or, for d below 0, by at most d.
func (in *inside) reaching(j int, d float64) (tables [][]float64) {
	cell := in.p.Cells[j]
	for _, t := range in.shown[cell] {
		by, err := in.checker.check(in.q, t.Cells, t.By)
		if v := by[cell]; err != nil || v*d <= 0 || !(math.Abs(v) >= math.Abs(d)-rounding(d)) {
			continue
		}
		z := make([]float64, len(in.p.Cells))
		for c, v := range by {
			if k, here := in.column[c]; here {
				z[k] = v
			}
		}
		tables = append(tables, z)
	}
	return tables
}

// try searches for a table for a coalition, and then for every larger one that can see that it
// is not the true table.
func (t *trial) try(who []int32) error {
	same := func(o []int32) bool { return slices.Equal(o, who) }
	if t.knowers.Knows(who, t.p.Cells[t.j]) || slices.ContainsFunc(t.done, same) {
		return nil
	}
	if len(who) < t.knowers.Coalition {
		t.done = append(t.done, who)
	}
	d := t.d // contributors of the cell need a range that begins at their own part
	if d < 0 {
		cell := t.p.Cells[t.j]
		d = max(d, t.knowers.Part(who, cell)-t.q.Value[cell])
	}
	if d == 0 || d > 0 && t.d < 0 {
		return nil
	}
	d = t.knowers.Spared(who, t.p.Cells[t.j], d)
	at := slices.IndexFunc(t.shown, func(z []float64) bool { return t.agrees(z, who, d) })
	if at < 0 {
		var z []float64
		if err := t.knowing(who, t.j, func() { z = t.reach(t.j, d) }); err != nil {
			return err
		}
		if z == nil {
			t.failed = append(t.failed, who)
			return nil
		}
		at, t.shown = len(t.shown), append(t.shown, z)
	}
	if len(who) == t.knowers.Coalition {
		return nil
	}
	for _, more := range t.misled(who, t.shown[at], t.j) {
		if err := t.try(more); err != nil {
			return err
		}
	}
	return nil
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

// misled returns, in ascending order, the least coalitions that have all of who and see that a table, in which column j
// has the required deviation, is not the true one: only these and larger ones see it.
func (in *inside) misled(who []int32, z []float64, j int) (more [][]int32) {
	for c, d := range z {
		cell := in.p.Cells[c]
		if math.Abs(d) <= 1e-9 {
			continue
		}
		more = append(more, in.knowers.AllJoined(who, cell)...)
		if d < 0 && c != j {
			more = append(more, in.knowers.Misled(who, cell, in.q.Value[cell]+d)...)
		}
	}
	slices.SortFunc(more, slices.Compare[[]int32])
	return slices.CompactFunc(more, slices.Equal[[]int32])
}

// agrees reports whether a table shows a coalition the deviation d of column j, and it cannot see that the table is not
// the true one. If a share of the table's deviations is enough for them, a table of values between this and the true
// one serves. One that was found for contributors of the cell can show less than others need.
func (t *trial) agrees(z []float64, who []int32, d float64) bool {
	v := z[t.j]
	if v*d <= 0 || !(math.Abs(v) >= math.Abs(d)-rounding(d)) || t.q.Counts && d != t.d && v != d {
		return false
	}
	share := 1.0
	if !t.q.Counts {
		share = min(1, d/v)
	}
	return !slices.ContainsFunc(t.knowers.KnownTo(who), func(cell int32) bool {
		c, here := t.column[cell]
		return here && math.Abs(z[c]) > 1e-9
	}) && !slices.ContainsFunc(t.knowers.Parts(who), func(x tables.Own) bool {
		c, here := t.column[x.Of]
		return here && c != t.j && t.q.Value[x.Of]+share*z[c] < x.Part-1e-6*(1+x.Part)
	})
}

// knowing calls do for what a coalition knows of the cells but that of column j.
func (in *inside) knowing(who []int32, j int, do func()) error {
	var known []int
	for _, cell := range in.knowers.KnownTo(who) {
		if c, here := in.column[cell]; here {
			known = append(known, c)
		}
	}
	least := map[int]float64{}
	for _, x := range in.knowers.Parts(who) {
		if c, here := in.column[x.Of]; here && c != j && !in.knowers.Knows(who, x.Of) {
			least[c] = min(x.Part-in.q.Value[x.Of], 0)
		}
	}
	return in.p.While(known, least, do)
}

// reach returns the deviations of a table in which column j deviates by at least d or,
// for d below 0, by at most d; nil if none was found.
func (in *inside) reach(j int, d float64) []float64 {
	if *in.left <= 0 {
		return nil
	}
	defer func(before int64) { *in.left -= in.work() - before }(in.work())
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
	if *in.left <= 0 {
		return false
	}
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
