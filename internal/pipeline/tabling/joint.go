package tabling

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/suppress"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// group has families whose values depend on one another: cells of one of them can be computed from
// cells of the others. A family that depends on none is a group of its own.
type group struct {
	families  []*family
	relations []relation  // between the values of the group
	words     []string    // the relations
	apart     bool        // the families cannot be protected together
	set       *tables.Set // all cells; nil if the group has one family
	from      []int32     // the first cell of each family
	system    *system     // earlier releases of the same values; nil if there are none
}

// relation is a linear relation between the values of families: the sum of the values times their factors is 0.
type relation = []*big.Int

// groups divides the families by the relations that were found and the equations that are declared.
func (r *records) groups(families []*family, found []relation) ([]*group, error) {
	all := slices.Clone(found)
	for i, text := range r.config.Equations {
		for _, rel := range declared(text, families) {
			all = append(all, rel)
			groups, err := divided(families, []relation{rel})
			if err != nil {
				return nil, err
			}
			for _, g := range groups {
				if wrong := g.wrong(); len(wrong) > 0 {
					r.wrong(fmt.Sprintf("equations[%d]", i), "must hold in the records: it does not in cell %s, nor in %d others",
						wrong[0], len(wrong)-1)
				}
			}
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	list, err := divided(families, all)
	for _, g := range list {
		g.apart = g.apart || len(g.wrong()) > 0 // found modulo a prime only
	}
	return list, err
}

// divided divides the families by relations.
func divided(families []*family, all []relation) (list []*group, err error) {
	leader := make([]int, len(families))
	for i := range leader {
		leader[i] = i
	}
	for _, rel := range all {
		first := -1
		for i, f := range rel {
			switch {
			case f.Sign() == 0:
			case first < 0:
				first = leader[i]
			default:
				for k, from := 0, leader[i]; k < len(leader); k++ {
					if leader[k] == from {
						leader[k] = first
					}
				}
			}
		}
	}
	for i := range families {
		if slices.Contains(leader[:i], leader[i]) {
			continue
		}
		g := &group{}
		var members []int
		for k, f := range families {
			if leader[k] == leader[i] {
				members, g.families = append(members, k), append(g.families, f)
			}
		}
		for _, rel := range all {
			var own relation
			for _, k := range members {
				own = append(own, rel[k])
			}
			if slices.ContainsFunc(own, func(f *big.Int) bool { return f.Sign() != 0 }) {
				g.relations = append(g.relations, g.scaled(own))
			}
		}
		if err := g.join(); err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, nil
}

// declared returns an equation of the configuration, for the tables of each weight.
func declared(text string, families []*family) (list []relation) {
	total, parts, _ := tabulation.Equation(text)
	for _, t := range families {
		if t.table.Value != total {
			continue
		}
		rel := zeros(len(families))
		complete := true
		for _, name := range append([]string{total}, parts...) {
			at := slices.IndexFunc(families, func(f *family) bool {
				return f.table.Value == name && f.table.Weight == t.table.Weight
			})
			if complete = complete && at >= 0; !complete {
				break
			}
			rel[at] = pow10(mostDecimals - families[at].options.Decimals)
			if name == total {
				rel[at].Neg(rel[at])
			}
		}
		if complete {
			list = append(list, rel)
		}
	}
	return list
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// scaled returns a relation between values in units of the most decimals of the group.
func (g *group) scaled(rel relation) (scaled relation) {
	for i, f := range rel {
		scaled = append(scaled, new(big.Int).Mul(f, pow10(g.families[i].options.Decimals)))
	}
	return scaled
}

// join makes one set of the cells of all families, and finds out whether they can be protected together.
func (g *group) join() (err error) {
	if len(g.families) == 1 {
		return nil
	}
	var sets []*tables.Set
	decimals, counts := 0, false
	for _, f := range g.families {
		s := f.table.Protect.Suppress
		g.apart = g.apart || s == nil || s.Effort == "optimal" || *s != *g.families[0].table.Protect.Suppress
		sets, decimals, counts = append(sets, f.set), max(decimals, f.options.Decimals), counts || f.options.Counts
	}
	g.apart = g.apart || counts && decimals > 0
	all := make([]bool, len(sets))
	for i := range all {
		all[i] = true
	}
	for _, rel := range tabulate.Within(g.relations, all) {
		g.words = append(g.words, g.say(rel))
	}
	g.set, g.from, err = tables.Join(g.equations, sets...)
	return err
}

// equations returns the relations between some families as equations. If one has another form, the families cannot be
// protected together.
func (g *group) equations(has []bool) []tables.Equation {
	list, fits := between(g.relations, has)
	g.apart = g.apart || !fits
	return list
}

// between returns relations between some values as equations; fits is false if one has another form.
func between(relations []relation, has []bool) (list []tables.Equation, fits bool) {
	fits = true
	for _, rel := range tabulate.Within(relations, has) {
		var sides [2][]int // of factors 1 and -1
		for i, f := range rel {
			fits = fits && f.CmpAbs(big.NewInt(1)) <= 0
			switch f.Sign() {
			case 1:
				sides[0] = append(sides[0], i)
			case -1:
				sides[1] = append(sides[1], i)
			}
		}
		if len(sides[0]) == 1 {
			sides[0], sides[1] = sides[1], sides[0]
		}
		switch {
		case len(sides[0])+len(sides[1]) < 2: // all values are 0
		case len(sides[1]) != 1:
			fits = false
		default:
			list = append(list, tables.Equation{Total: sides[1][0], Parts: sides[0]})
		}
	}
	return list, fits
}

// say returns a relation in words.
func (g *group) say(rel relation) string {
	var sides [2][]string
	for i, f := range rel {
		name := g.families[i].words()
		if f.CmpAbs(big.NewInt(1)) > 0 {
			name = new(big.Int).Abs(f).String() + " " + name
		}
		switch f.Sign() {
		case 1:
			sides[0] = append(sides[0], name)
		case -1:
			sides[1] = append(sides[1], name)
		}
	}
	if len(sides[0]) == 1 || len(sides[1]) == 0 {
		sides[0], sides[1] = sides[1], sides[0]
	}
	if len(sides[0]) == 0 {
		sides[0] = []string{"0"}
	}
	return strings.Join(sides[1], " + ") + " = " + strings.Join(sides[0], " + ")
}

// words names the value of a family.
func (f *family) words() string {
	name := f.table.Value
	if name == "" {
		name = "the number of records"
	}
	if f.table.Weight != "" {
		name += " × " + f.table.Weight
	}
	return name
}

// scales returns, for each family, how many units of the most decimals of the group its unit is.
func (g *group) scales() (scales []float64) {
	decimals := 0
	for _, f := range g.families {
		decimals = max(decimals, f.options.Decimals)
	}
	for _, f := range g.families {
		scales = append(scales, math.Pow10(decimals-f.options.Decimals))
	}
	return scales
}

// wrong names the cells in which a relation does not hold.
func (g *group) wrong() (names []string) {
	if g.set == nil {
		return nil
	}
	var value []float64
	for i, scale := range g.scales() {
		for _, v := range g.families[i].cells.Value {
			value = append(value, v*scale)
		}
	}
	for i := range g.set.Sums() {
		s := g.set.Sum(i)
		difference, size := -value[s.Total], math.Abs(value[s.Total])
		for _, p := range s.Parts {
			difference += value[p]
			size += math.Abs(value[p])
		}
		if math.Abs(difference) > 1e-12*size {
			names = append(names, g.set.Name(int(s.Total)))
		}
	}
	return names
}

// joint is the tables of a group as one set, in units of the most decimals.
type joint struct {
	list     []*protected
	from     []int32   // the first cell of each family
	scale    []float64 // of each family
	question audit.Question
	rules    *primary.Result
	knowers  *tables.Knowers
	costs    []float64 // nil if no family has costs of its own
}

// joint joins what is known of the families of a group.
func (r *records) joint(g *group, list []*protected) *joint {
	set, from := g.set, g.from
	j := &joint{list: list, from: from, scale: g.scales(), rules: &primary.Result{Published: make([]bool, set.Cells())}}
	j.question = audit.Question{Set: set, Stop: list[0].question.Stop}
	var cells []*tables.Cells
	own := slices.ContainsFunc(list, func(p *protected) bool { return p.costs != nil })
	for i, p := range list {
		q := &p.question
		cells = append(cells, p.cells)
		j.question.Counts = j.question.Counts || q.Counts
		j.question.Hidden = append(j.question.Hidden, q.Hidden...)
		j.rules.Status = append(j.rules.Status, p.rules.Status...)
		copy(j.rules.Published[from[i]:], p.rules.Published)
		for c, v := range q.Value {
			lower := 0.0
			if q.Lower != nil {
				lower = q.Lower[c]
			}
			j.question.Value = append(j.question.Value, v*j.scale[i])
			j.question.Lower = append(j.question.Lower, lower*j.scale[i])
			j.rules.Up, j.rules.Down = append(j.rules.Up, p.rules.Up[c]*j.scale[i]),
				append(j.rules.Down, p.rules.Down[c]*j.scale[i])
			if own {
				j.costs = append(j.costs, p.costOf()(int32(c)))
			}
		}
	}
	if list[0].knowers != nil {
		j.knowers = tables.NewKnowers(r.config.Coalition, cells...)
		for i, p := range list {
			j.knowers.Scale(int(from[i]), len(p.question.Value), j.scale[i])
		}
	}
	return j
}

// part returns the index of the family of a cell, and the cell there.
func (j *joint) part(cell int32) (family int, at int32) {
	for family+1 < len(j.from) && cell >= j.from[family+1] {
		family++
	}
	return family, cell - j.from[family]
}

// take gives each family its part of an audit.
func (j *joint) take(ranges *audit.Ranges, verdict audit.Verdict, insiders []audit.Insider) {
	for i, p := range j.list {
		n := len(p.question.Value)
		of := func(all []float64) []float64 {
			part := slices.Clone(all[j.from[i]:][:n])
			for c := range part {
				part[c] /= j.scale[i]
			}
			return part
		}
		own := *ranges
		own.Low, own.High, own.ShownLow, own.ShownHigh = of(ranges.Low), of(ranges.High), of(ranges.ShownLow),
			of(ranges.ShownHigh)
		p.ranges, p.verdict, p.insiders = &own, audit.Verdict{}, nil
	}
	for _, l := range []struct {
		from []int32
		to   func(v *audit.Verdict) *[]int32
	}{
		{verdict.Disclosed, func(v *audit.Verdict) *[]int32 { return &v.Disclosed }},
		{verdict.Narrow, func(v *audit.Verdict) *[]int32 { return &v.Narrow }},
		{verdict.Unproven, func(v *audit.Verdict) *[]int32 { return &v.Unproven }},
	} {
		for _, cell := range l.from {
			i, at := j.part(cell)
			list := l.to(&j.list[i].verdict)
			*list = append(*list, at)
		}
	}
	for _, in := range insiders {
		i, at := j.part(in.Infers)
		in.Infers = at
		j.list[i].insiders = append(j.list[i].insiders, in)
	}
}

// protectGroup protects the families of a group together and audits the result.
func (r *records) protectGroup(ctx context.Context, g *group) (list []*protected, err error) {
	if g.system != nil {
		return r.protectSystem(ctx, g)
	}
	if len(g.families) == 1 || g.apart {
		for _, f := range g.families {
			p, err := r.protect(ctx, f)
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
		g.mark(list)
		return list, nil
	}
	for _, f := range g.families {
		p, err := r.unsafe(ctx, f)
		if err != nil {
			return nil, err
		}
		p.setBounds(f.table.Protect.Suppress.Zeros != "never" || p.hidesZeros())
		p.mayHideEmpty()
		list = append(list, p)
	}
	g.mark(list)
	j := r.joint(g, list)
	o := list[0].suppression(j.costs)
	o.Knowers = j.knowers
	pattern, problems, err := suppress.Protect(j.question, j.rules, o)
	if err != nil {
		return nil, err
	}
	for i, p := range list {
		if len(problems) > 0 {
			p.leaveOpen(problems)
			continue
		}
		n := len(p.question.Value)
		p.status, p.cutShort = slices.Clone(pattern.Status[j.from[i]:][:n]), pattern.Short
		copy(p.question.Hidden, j.question.Hidden[j.from[i]:])
	}
	if len(problems) == 0 {
		j.take(pattern.Ranges, pattern.Verdict, pattern.Insiders)
	}
	return list, nil
}

// auditGroup audits the cells that are held back in the tables of a group.
func (r *records) auditGroup(ctx context.Context, g *group, list []*protected) error {
	if g.system != nil {
		return r.auditSystem(ctx, g, list)
	}
	g.mark(list)
	for _, p := range list {
		p.foreignBounds()
	}
	if len(list) == 1 || g.apart {
		for _, p := range list {
			if err := p.auditForeign(); err != nil {
				return err
			}
		}
		return nil
	}
	return r.auditJoint(r.joint(g, list))
}

// auditJoint audits the cells that are held back in joint tables.
func (r *records) auditJoint(j *joint) error {
	pattern, err := suppress.Audit(j.question, j.rules, j.knowers)
	if err != nil {
		return err
	}
	j.take(pattern.Ranges, pattern.Verdict, pattern.Insiders)
	return nil
}

// mark tells the families of a group on which relations they depend.
func (g *group) mark(list []*protected) {
	for _, p := range list {
		p.related, p.unjoined = g.words, nil
		if g.apart {
			p.unjoined = list
		}
	}
}

// dependent reports whether a table depends on tables with which it could not be protected
// together, although some of their cells are held back or changed.
func (p *protected) dependent() bool {
	return slices.ContainsFunc(p.unjoined, func(o *protected) bool {
		return o.published != nil || slices.Contains(o.question.Hidden, true)
	})
}
