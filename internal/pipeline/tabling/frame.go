package tabling

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
)

// mostFrame is the greatest number of cells of a frame.
const mostFrame = 400

// frameOf returns the frame of linked tables: the classification by all of their variables. No table shows its cells,
// but everybody knows that they are not below 0, which the sums of the tables alone do not tell.
func (r *records) frameOf(f *family, a *tabulate.Accumulator) (*layer, error) {
	s := f.table.Protect.Suppress
	if s == nil || s.Effort == "optimal" || len(f.set.Tables) < 2 {
		return nil, nil
	}
	size := 1
	for _, d := range a.Variables() {
		if size *= len(d.Codes); size > mostFrame {
			return nil, nil
		}
	}
	if slices.ContainsFunc(f.set.Tables, func(t tables.Table) bool { return len(t.Dimensions) == len(a.Variables()) }) {
		return nil, nil
	}
	set, problems := tables.NewSet(tables.Table{Of: "by all variables", Dimensions: a.Variables()})
	if len(problems) > 0 {
		return nil, nil
	}
	cells, err := a.Onto(set)
	if err != nil || cells.Negative != nil {
		return nil, err
	}
	l := &layer{family: family{table: f.table, set: set, options: f.options, cells: cells}, release: -1, framed: true,
		vintages: 1}
	for cell := range set.Cells() {
		l.shown = append(l.shown, shows(f.set, set, cell))
	}
	return l, nil
}

// shows reports whether a table of a set has a cell of another set.
func shows(s, of *tables.Set, cell int) bool {
	at, nodes := of.Home(cell)
	return slices.ContainsFunc(s.Tables, func(t tables.Table) bool {
		for k, d := range of.Tables[at].Dimensions {
			if nodes[k] > 0 && !slices.ContainsFunc(t.Dimensions, func(own *tables.Dimension) bool {
				return own.Name == d.Name
			}) {
				return false
			}
		}
		return true
	})
}

// extend adds to groups what is known beside them: earlier releases, or else the frames of linked tables.
func (r *records) extend(groups []*group, families []*family) ([]*group, error) {
	groups, err := r.before.extend(groups, families)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(groups)
	for i, g := range groups {
		if g.system != nil || g.apart || !slices.ContainsFunc(g.families, func(f *family) bool { return f.frame != nil }) {
			continue
		}
		s := &system{earlier: &earlier{records: r, union: r.config}}
		for _, f := range g.families {
			x := &valued{family: *f, now: f, parts: map[uint32]*layer{}}
			if f.frame != nil {
				x.parts[1] = f.frame
			}
			s.values = append(s.values, x)
		}
		s.earlier.values = s.values
		framed := &group{families: slices.Clone(g.families), system: s}
		if err := s.join(framed, groups); err != nil {
			return nil, err
		}
		if !framed.apart {
			list[i] = framed
		}
	}
	return list, nil
}

// hideEmpty hides the empty cells that no table shows: it is not known that they are empty.
func (sh *shadow) hideEmpty() {
	shown := sh.layer.shown
	for cell, status := range sh.rules.Status {
		if status == tables.Empty && !shown[cell] {
			sh.rules.Status[cell] = tables.Free
		}
	}
}
