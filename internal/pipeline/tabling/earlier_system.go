package tabling

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/suppress"
)

// system is a group whose values are also in earlier releases: what is published today, what was published, and the
// parts of the records, of which each of these is the sum.
type system struct {
	*earlier
	values []*valued
	layers []*layer   // of all values; their families follow those of today in the group
	slots  []slotted  // the families between which the relations of values hold
	places [][3]int   // of each layer: value, release (or −1), place in the group
	list   []*shadow  // the layers with their protection
	known  []string   // cells of releases and of parts that are no longer protected, whatever is published today
	open   [][]string // per kind of breach the cells of releases and of parts: computed, narrow, respondent
}

// slotted is the families of one release, or of one part of the records, by value (−1: none), and the relations between
// them.
type slotted struct {
	families  []int
	relations []relation // by value
}

// shadow is a layer with the protection of its cells.
type shadow struct {
	*protected
	layer  *layer
	hidden []bool // cells that nobody has published
}

// extend replaces the groups whose values are in earlier releases, or depend on values that are, by groups with a
// system.
func (e *earlier) extend(groups []*group, families []*family) (list []*group, err error) {
	if e == nil || len(e.values) == 0 {
		return groups, nil
	}
	leader := e.leaders(groups)
	done := map[*group]bool{}
	for k := range e.values {
		if slices.Contains(leader[:k], leader[k]) {
			continue
		}
		s := &system{earlier: e}
		involved := false
		for i, x := range e.values {
			if leader[i] == leader[k] {
				s.values = append(s.values, x)
				involved = involved || slices.ContainsFunc(x.before, func(b *layer) bool { return b != nil })
			}
		}
		g := &group{system: s}
		for _, f := range families {
			if slices.ContainsFunc(s.values, func(x *valued) bool { return x.now == f }) {
				g.families = append(g.families, f)
			}
		}
		if !involved || len(g.families) == 0 {
			continue
		}
		for _, old := range groups {
			if slices.ContainsFunc(old.families, func(f *family) bool { return slices.Contains(g.families, f) }) {
				done[old] = true
			}
		}
		if err := s.join(g, groups); err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	for _, g := range groups {
		if !done[g] {
			list = append(list, g)
		}
	}
	return list, nil
}

// leaders joins the values that depend on one another today, or at all times; each has the number of its group.
func (e *earlier) leaders(groups []*group) []int {
	leader := make([]int, len(e.values))
	for i := range leader {
		leader[i] = i
	}
	join := func(a, b int) {
		for i, from, to := 0, leader[b], leader[a]; i < len(leader); i++ {
			if leader[i] == from {
				leader[i] = to
			}
		}
	}
	for _, g := range groups {
		first := -1
		for i, x := range e.values {
			if x.now == nil || !slices.Contains(g.families, x.now) {
				continue
			}
			if first < 0 {
				first = i
			}
			join(first, i)
		}
	}
	for _, rel := range e.found {
		first := -1
		for i, f := range rel {
			if f.Sign() != 0 && first < 0 {
				first = i
			}
			if f.Sign() != 0 {
				join(first, i)
			}
		}
	}
	return leader
}

// join makes one set of the cells of today, of the releases and of the parts of the records.
func (s *system) join(g *group, groups []*group) (err error) {
	for _, f := range g.families {
		t := f.table.Protect.Suppress
		g.apart = g.apart || *t != *g.families[0].table.Protect.Suppress
	}
	now := slotted{families: make([]int, len(s.values))}
	for i, x := range s.values {
		if now.families[i] = -1; x.now != nil {
			now.families[i] = slices.Index(g.families, x.now)
		}
	}
	for _, old := range groups { // the relations of today's values
		for _, rel := range old.relations {
			own := zeros(len(s.values))
			fits := true
			for k, f := range old.families {
				at := slices.IndexFunc(s.values, func(x *valued) bool { return x.now == f })
				if fits = fits && at >= 0; fits {
					own[at].Set(rel[k])
				}
			}
			if fits {
				now.relations = append(now.relations, own)
			}
		}
		if slices.ContainsFunc(old.families, func(f *family) bool { return slices.Contains(g.families, f) }) {
			g.apart = g.apart || old.apart
			g.words = append(g.words, old.words...)
		}
	}
	always := s.relations()
	now.relations = append(now.relations, always...)
	s.slots = []slotted{now}
	at := map[[2]uint32]int{} // of a release (below MostReleases) or of a part: its slot
	for i, x := range s.values {
		for _, l := range x.layers() {
			key := [2]uint32{uint32(l.release + 1), l.vintages}
			if _, known := at[key]; !known {
				at[key] = len(s.slots)
				slot := slotted{families: filled(len(s.values), -1), relations: always}
				if l.release < 0 && l.vintages&1 == 1 || l.release >= 0 && s.releases[l.release].vintage == 0 { // records of today
					slot.relations = now.relations
				}
				s.slots = append(s.slots, slot)
			}
			s.slots[at[key]].families[i] = len(g.families)
			s.places = append(s.places, [3]int{i, l.release, len(g.families)})
			s.layers, g.families = append(s.layers, l), append(g.families, &l.family)
		}
	}
	var sets []*tables.Set
	decimals, counts := 0, false
	for _, f := range g.families {
		sets, decimals, counts = append(sets, f.set), max(decimals, f.options.Decimals), counts || f.options.Counts
	}
	g.apart = g.apart || counts && decimals > 0
	if g.set, g.from, err = tables.Join(func(has []bool) []tables.Equation {
		return s.equations(g, has)
	}, sets...); err != nil {
		return err
	}
	g.apart = g.apart || len(g.wrong()) > 0
	return nil
}

func filled(n, v int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// relations returns the relations of all times between the values of the system, in units of the most decimals.
func (s *system) relations() (list []relation) {
	for _, rel := range s.found {
		own, fits := zeros(len(s.values)), true
		for k, f := range rel {
			if f.Sign() == 0 {
				continue
			}
			at := slices.Index(s.values, s.earlier.values[k])
			if fits = fits && at >= 0; fits {
				own[at].Mul(f, pow10(s.values[at].options.Decimals))
			}
		}
		if fits {
			list = append(list, own)
		}
	}
	return list
}

// equations returns what holds between the families that have a cell: each release, and today, is the sum of the parts
// of its records, and the relations of values hold in each of these and in each part.
func (s *system) equations(g *group, has []bool) (list []tables.Equation) {
	total := func(i, family, vintage int) {
		if family < 0 || !has[family] {
			return
		}
		e := tables.Equation{Total: family}
		for k, l := range s.layers {
			if p := s.places[k]; p[0] == i && p[1] < 0 && l.vintages>>vintage&1 == 1 && has[p[2]] {
				e.Parts = append(e.Parts, p[2])
			}
		}
		list = append(list, e)
	}
	for i := range s.values {
		total(i, s.slots[0].families[i], 0)
	}
	for k, l := range s.layers {
		if l.release >= 0 {
			total(s.places[k][0], s.places[k][2], s.releases[l.release].vintage)
		}
	}
	for _, slot := range s.slots {
		in := make([]bool, len(slot.families))
		for i, f := range slot.families {
			in[i] = f >= 0 && has[f]
		}
		equations, fits := between(slot.relations, in)
		g.apart = g.apart || !fits
		for _, e := range equations {
			at := tables.Equation{Total: slot.families[e.Total]}
			for _, p := range e.Parts {
				at.Parts = append(at.Parts, slot.families[p])
			}
			list = append(list, at)
		}
	}
	return list
}

// shade returns the layers with their protection: what a release has published is known, what it holds back must stay
// protected as that release required, and of the parts of the records nothing is published, and what is unsafe of them
// must not follow.
func (s *system) shade(ctx context.Context, r *records, suppressed *protected) (err error) {
	s.list = nil
	for _, l := range s.layers {
		sh := &shadow{layer: l, hidden: make([]bool, l.set.Cells())}
		of := l.family
		table := *suppressed.table // the methods of today
		table.Unsafe, table.Interval, table.Zeros, table.Apriori = l.table.Unsafe, l.table.Interval, l.table.Zeros, ""
		// of no table of today, or judged by its own report
		if l.table.Protect.Suppress == nil || l.release >= 0 || l.framed {
			table.Unsafe, table.Zeros = nil, "safe"
		}
		of.table, of.of = &table, nil
		if sh.protected, err = r.unsafe(ctx, &of); err != nil {
			return err
		}
		p := sh.protected
		if l.release >= 0 {
			s.published(sh)
		}
		if l.framed {
			sh.hideEmpty()
		}
		for cell := range sh.hidden {
			if p.rules.Status[cell] == tables.Free && (p.rules.Published == nil || !p.rules.Published[cell]) {
				sh.hidden[cell] = true
			}
		}
		p.setBounds(l.release < 0 || p.hidesZeros() || sh.hidesZero())
		for cell, hidden := range sh.hidden {
			if hidden { // it is held back in any case, and need not be protected itself
				p.rules.Status[cell] = tables.Primary
			}
		}
		s.list = append(s.list, sh)
	}
	return nil
}

// hidesZero reports whether a cell of value 0 is hidden.
func (sh *shadow) hidesZero() bool {
	for cell, hidden := range sh.hidden {
		if hidden && sh.question.Value[cell] == 0 {
			return true
		}
	}
	return false
}

// published enters what was published of the cells of a release, and what it required of the others.
func (s *system) published(sh *shadow) {
	l, p := s.releases[sh.layer.release], sh.protected
	p.rules.Published = make([]bool, len(p.rules.Status))
	unit := math.Pow10(p.options.Decimals)
	for k, t := range sh.layer.of {
		for key, c := range l.cells[s.union.Tables[t].Name] {
			cell, err := p.set.At(k, splitCodes(key)...)
			if err != nil {
				continue // refused before
			}
			v := p.question.Value[cell]
			switch {
			case !c.held:
				p.rules.Published[cell] = true
			case c.unsafe:
				p.rules.Status[cell] = tables.Primary
				p.rules.Up[cell], p.rules.Down[cell] = max(math.Round(c.high*unit)-v, 0), max(v-math.Round(c.low*unit), 0)
			case p.rules.Status[cell] == tables.Empty:
				p.rules.Status[cell] = tables.Free
			}
		}
	}
}

// wholly joins what is known of today's tables and of all layers.
func (s *system) wholly(ctx context.Context, r *records, g *group, list []*protected) (*joint, error) {
	if err := s.shade(ctx, r, list[0]); err != nil {
		return nil, err
	}
	all := slices.Clone(list)
	for _, sh := range s.list {
		all = append(all, sh.protected)
	}
	j := r.joint(g, all)
	s.known = nil
	if len(s.releases) == 0 { // of a frame nothing is required
		return j, nil
	}
	j.reachNoLower()
	return j, s.relax(j, len(list))
}

// reachNoLower raises the lower ends of the required ranges to what is known of each cell of the system in any case.
func (j *joint) reachNoLower() {
	if slices.ContainsFunc(j.question.Lower, func(v float64) bool { return math.IsInf(v, -1) }) {
		return
	}
	whole := &protected{family: &family{set: j.question.Set}, question: j.question, rules: j.rules, knowers: j.knowers}
	least := slices.Clone(j.question.Lower)
	for changed := true; changed; {
		changed = false
		raise := func(cell int32, to float64) {
			if to > least[cell]+1e-9 {
				least[cell], changed = to, true
			}
		}
		for i := range j.question.Set.Sums() {
			s := j.question.Set.Sum(i)
			sum, open, some := 0.0, 0, int32(-1)
			for _, p := range s.Parts {
				sum += least[p]
				if j.rules.Status[p] != tables.Empty {
					open, some = open+1, p
				}
			}
			raise(s.Total, sum)
			if open == 1 { // the others are empty
				raise(some, least[s.Total])
			}
		}
	}
	whole.reachNoLower(least)
	if j.knowers != nil {
		whole.reachNoLower(whole.knownParts(least))
	}
}

// relax requires no more than what would hold if nothing were published today: of the cells of releases and of parts
// against everybody, and of all cells against respondents who know them from earlier releases.
func (s *system) relax(j *joint, today int) error {
	q := j.question
	q.Hidden = slices.Clone(q.Hidden)
	first := len(q.Value)
	if today < len(j.from) {
		first = int(j.from[today])
	}
	for c, status := range j.rules.Status {
		published := j.rules.Published[c] && c >= first
		q.Hidden[c] = status != tables.Empty && !published
	}
	ranges, err := audit.Audit(q)
	if err != nil {
		return err
	}
	verdict, err := audit.Judge(q, ranges, j.rules)
	if err != nil {
		return err
	}
	drop := func(c int32, up, down float64) {
		i, at := j.part(c)
		if i < today || j.rules.Up[c] == 0 && j.rules.Down[c] == 0 {
			return
		}
		s.known = append(s.known, q.Set.Name(int(c)))
		j.rules.Up[c], j.rules.Down[c] = min(j.rules.Up[c], up), min(j.rules.Down[c], down)
		s.list[i-today].rules.Up[at], s.list[i-today].rules.Down[at] = j.rules.Up[c]/j.scale[i], j.rules.Down[c]/j.scale[i]
	}
	for _, c := range verdict.Disclosed {
		drop(c, 0, 0)
	}
	for _, c := range verdict.Narrow {
		if !slices.Contains(verdict.Unproven, c) {
			drop(c, ranges.ShownHigh[c]-q.Value[c], q.Value[c]-ranges.ShownLow[c])
		}
	}
	if j.knowers == nil {
		return nil
	}
	spared := map[string]bool{}
	for more := true; more; {
		insiders, err := audit.Insiders(q, j.rules, j.knowers)
		if err != nil {
			return err
		}
		more = false
		for _, in := range insiders {
			key := fmt.Sprint(in.Infers, in.Knowers)
			switch {
			case in.Disclosed:
				j.knowers.Tell(in.Knowers, in.Infers)
			case !spared[key]:
				spared[key] = true
				j.knowers.Spare(in.Knowers, in.Infers)
			default:
				continue // it is not shown that they cannot compute it
			}
			s.known, more = append(s.known, q.Set.Name(int(in.Infers))), true
		}
	}
	slices.Sort(s.known)
	s.known = slices.Compact(s.known)
	return nil
}

// today returns the families of a group that are of today.
func (g *group) today() []*family {
	if g.system == nil {
		return g.families
	}
	return g.families[:len(g.families)-len(g.system.layers)]
}

// protectSystem protects the tables of a group together with earlier releases.
func (r *records) protectSystem(ctx context.Context, g *group) (list []*protected, err error) {
	s := g.system
	for _, f := range g.today() {
		p, err := r.unsafe(ctx, f)
		if err != nil {
			return nil, err
		}
		p.setBounds(f.table.Protect.Suppress.Zeros != "never" || p.hidesZeros())
		p.mayHideEmpty()
		p.related, p.system = g.words, g
		list = append(list, p)
	}
	if g.apart {
		for _, p := range list {
			if err := p.suppress(p.costs); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	j, err := s.wholly(ctx, r, g, list)
	if err != nil {
		return nil, err
	}
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
		copy(p.question.Hidden, j.question.Hidden[j.from[i]:][:n])
	}
	if len(problems) == 0 {
		j.take(pattern.Ranges, pattern.Verdict, pattern.Insiders)
		s.judge()
	}
	return list, nil
}

// auditSystem audits what is held back in tables of another tool together with earlier releases.
func (r *records) auditSystem(ctx context.Context, g *group, list []*protected) error {
	s := g.system
	for _, p := range list {
		p.related, p.system = g.words, g
		p.foreignBounds()
	}
	if g.apart {
		for _, p := range list {
			if err := p.auditForeign(); err != nil {
				return err
			}
		}
		return nil
	}
	j, err := s.wholly(ctx, r, g, list)
	if err != nil {
		return err
	}
	for i, sh := range s.list {
		for cell, status := range sh.rules.Status {
			j.question.Hidden[int(j.from[len(list)+i])+cell] = status == tables.Primary
		}
	}
	if err := r.auditJoint(j); err != nil {
		return err
	}
	s.judge()
	return nil
}

// zeros returns n numbers 0.
func zeros(n int) relation {
	list := make(relation, n)
	for i := range list {
		list[i] = new(big.Int)
	}
	return list
}
