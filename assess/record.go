package assess

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/joint"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/internal/cores"
)

// OrderOfRecords stands in Risk.Tells for the order in which the records are released.
const OrderOfRecords = joint.OrderOfRecords

// quickRecords is the number of records of the sample on which the risk by the whole record is
// computed for a snapshot.
const quickRecords = 10_000

// mostBeside is the number of released columns that are looked at together.
const mostBeside = 200

// byRecord adds to the risks of each masked column those of an intruder who uses all released
// columns of the record. limit > 0: of a part of the sample.
func (r *reckoning) byRecord(columns []ColumnMeasures, limit int) {
	f := r.recordFrame(nil, limit, false, nil)
	if f == nil {
		return
	}
	cores.Each(len(columns), func(c int) {
		if r.a.opts.Columns[c].Masked {
			f.add(c, &columns[c].Risk)
		}
	})
	r.byAllReleases(f, columns, limit)
}

// mostRounds bounds how often relations are sought with the values that earlier ones gave.
const mostRounds = 3

// recovering looks for columns that a relation gives or nearly gives, and for others with them beside. The result is
// by column sought the frames in which it is to be attacked: one that has the recovered values of the others, of a
// column that a relation gives only those that were found before. Where that frame has estimates of others, a second
// one is without them: many columns may hide what few tell. Each has one with what is near in many records of
// others, too. With entirely, as where a relation does not give all values, a column that one gives has a second one
// with all that was found of others.
func recovering(base *joint.Frame, sought []joint.Sought, entirely bool) [][]*joint.Frame {
	n := len(sought)
	frames := slices.Repeat([]*joint.Frame{base}, n)
	list := make([][]*joint.Frame, n)
	done := make([]bool, n)
	values := make([]joint.Column, n)  // those recovered, or estimates of those that are known closely
	often := make([][]joint.Column, n) // what is near in many records
	for range mostRounds {
		if n < 2 { // a column does not tell of itself
			break
		}
		found, is := make([]joint.Column, n), make([]bool, n)
		cores.Each(n, func(c int) {
			if !done[c] {
				found[c], is[c] = frames[c].Recover(sought[c])
			}
		})
		for c := range n {
			if is[c] {
				done[c], values[c] = true, found[c]
			}
		}
		all := withOthers(base, values, -1)
		if !slices.Contains(is, true) {
			if !known(frames, sought, all.Factors(sought), done, values, often) {
				break
			}
			all = withOthers(base, values, -1)
		}
		for c := range n {
			switch {
			case done[c]:
			case values[c].Values != nil:
				frames[c] = withOthers(base, values, c)
			default:
				frames[c] = all
			}
		}
	}
	given, estimated := slices.Clone(values), false
	for c := range n {
		if !done[c] {
			estimated = estimated || values[c].Values != nil
			given[c] = joint.Column{}
		}
	}
	without := base
	if estimated {
		without = withOthers(base, given, -1)
	}
	for c := range n {
		list[c] = frames[c : c+1 : c+1]
		switch {
		case done[c] && entirely:
			list[c] = append(list[c], withOthers(base, values, c))
		case !done[c] && estimated:
			list[c] = append(list[c], without)
		}
		var near []joint.Column
		for o, columns := range often {
			if o != c && (entirely || values[o].Values == nil) { // in mean square what is known closely tells as much
				near = append(near, columns...)
			}
		}
		if len(near) > 0 {
			list[c] = append(list[c], withOthers(base, values, c).With(near...))
		}
	}
	return list
}

// withMatched is recovering where columns were moved between records: the frame of each has what comparing the records
// tells of it, if it tells more than its own released value; it is also returned.
func withMatched(base *joint.Frame, sought []joint.Sought, entirely bool) ([][]*joint.Frame, []*joint.Matched) {
	list, matched := recovering(base, sought, entirely), matchedOf(base, sought)
	for c, m := range matched {
		if m != nil && m.Tells(sought[c]) {
			list[c] = append([]*joint.Frame{list[c][0].With(m.Expected())}, list[c][1:]...)
		}
	}
	return list, matched
}

// matchedOf returns for each column sought what comparing records that may have exchanged values tells of it; nil where
// it is not moved.
func matchedOf(f *joint.Frame, sought []joint.Sought) []*joint.Matched {
	matched := make([]*joint.Matched, len(sought))
	originals := make([][]float64, f.Columns())
	for _, s := range sought {
		if s.Own >= 0 {
			originals[s.Own] = s.X
		}
	}
	found := make([][]*joint.Matched, len(f.Exchanges))
	cores.Each(len(found), func(k int) { found[k] = f.Matched(f.Exchanges[k], originals) })
	for k, e := range f.Exchanges {
		for at, m := range found[k] {
			if c := slices.IndexFunc(sought, func(s joint.Sought) bool { return s.Own == e.Moved[at] }); m != nil {
				matched[c] = m
			}
		}
	}
	return matched
}

// exchangesOf are exchanges by the places of their columns in a list; columns that are not in it are left out.
func exchangesOf(together []MovedTogether, list []joint.Column) (of []joint.Exchange) {
	at := func(names []string) (places []int) {
		for _, name := range names {
			if k := slices.IndexFunc(list, func(c joint.Column) bool { return c.Name == name && !c.GroupOnly }); k >= 0 {
				places = append(places, k)
			}
		}
		return places
	}
	for _, e := range together {
		of = append(of, joint.Exchange{Moved: at(e.Moved), Within: at(e.Within), Apart: at(e.Apart), Couples: e.Couples,
			Ranks: e.Ranks})
	}
	return of
}

// known adds the estimates of columns that are known closely, of those of whose originals others are a function, and
// reports whether there are any new ones. It adds those near in many records to another list.
func known(frames []*joint.Frame, sought []joint.Sought, factors []joint.Factor, done []bool,
	estimates []joint.Column, often [][]joint.Column) bool {
	is := make([]bool, len(sought))
	cores.Each(len(sought), func(c int) {
		if done[c] || estimates[c].Values != nil || factors[c] == joint.NoFactor {
			return
		}
		of, near := frames[c].Closely(sought[c], factors[c] == joint.Summand)
		if estimates[c], is[c] = of, of.Values != nil; len(near) > 0 {
			often[c] = near
		}
	})
	return slices.Contains(is, true)
}

// withOthers returns a frame that has estimates of the other columns than c.
func withOthers(f *joint.Frame, estimates []joint.Column, c int) *joint.Frame {
	var others []joint.Column
	for o, e := range estimates {
		if o != c && e.Values != nil {
			others = append(others, e)
		}
	}
	if len(others) == 0 {
		return f
	}
	return f.With(others...)
}

// WithRecord adds to the risks of a masked column, of masks that are only explored, those of an intruder
// who uses all released columns of the record. p has the values that the masks release of the sample
// (Masked); the released values of categories are taken to be the original ones, which tell no less.
func (a *Accumulator) WithRecord(p Pairs, column string, risks []Risk) []Risk {
	c := slices.IndexFunc(a.opts.Columns, func(c Column) bool { return c.Name == column && c.Masked })
	if c < 0 {
		return risks
	}
	f := a.reckon(true).recordFrame(p.Released, 0, false, nil)
	if f == nil {
		return risks
	}
	f.add(c, &risks)
	return risks
}

// recordFrame is the released columns of the sample, and of the records that hold targets.
type recordFrame struct {
	*reckoning
	frames   [][]*joint.Frame // by measured column
	rows     []int32          // of the sample
	released [][]float64      // by measured column and row
	holders  map[*sample.Extreme]int
	complete bool
	own      []int                // by measured column, its place among the released ones; −1: not released
	together bool                 // whether it has all releases
	earlier  []earlierColumn      // of earlier releases, where they are looked at
	lean     map[int]*joint.Frame // by measured column of which totals were published: what these tell, alone
	not      string               // why it is not known what all releases tell; "" if it is
}

// recordFrame gathers the released columns. released replaces the released values of the measured
// columns, by column and record of the sample, if the masks are only explored; nil: those of the
// release. earlier adds the columns of earlier releases, more columns of other tables.
func (r *reckoning) recordFrame(released [][]float64, limit int, earlier bool, more []Seen) *recordFrame {
	n := r.data.N
	if !r.a.opts.Record || n == 0 || !slices.ContainsFunc(r.a.opts.Columns, func(c Column) bool { return c.Masked }) {
		return nil
	}
	f := &recordFrame{reckoning: r, holders: map[*sample.Extreme]int{}, complete: r.data.Complete, together: earlier,
		lean: map[int]*joint.Frame{}}
	if limit = min(limit, n); limit <= 0 {
		limit = n
	}
	f.complete = f.complete && limit == n
	for k := range limit {
		f.rows = append(f.rows, int32(k*n/limit))
	}
	var holders []*sample.Extreme
	for c := range r.a.opts.Columns {
		for _, t := range r.targets[c] {
			if _, there := f.holders[t.record]; t.record != nil && !there && released == nil {
				f.holders[t.record] = limit + len(holders)
				holders = append(holders, t.record)
			}
		}
	}
	gather := func(from []float64, at int) []float64 {
		values := make([]float64, 0, limit+len(holders))
		for _, i := range f.rows {
			values = append(values, from[i])
		}
		for _, h := range holders {
			values = append(values, h.Values[at])
		}
		return values
	}
	var list []joint.Column
	for c, column := range r.a.opts.Columns {
		at := 2*c + 1
		from := r.data.Values[at]
		if released != nil {
			from = released[c]
		}
		f.released = append(f.released, gather(from, at))
		if column.Withheld {
			f.own = append(f.own, -1)
			continue
		}
		f.own = append(f.own, len(list))
		list = append(list, joint.Column{Name: column.Name, Values: cell.KnownValues(f.released[c])})
	}
	left := func(c BesideColumn) bool { return c.Member || c.Release > 0 && (!earlier || c.Before) }
	beside := func(i int) []float64 {
		at := r.a.layout.BesideAt(i)
		return gather(r.data.Values[at], at)
	}
	whole, unlike := make([][]float64, len(r.a.opts.Beside)), make([]bool, len(r.a.opts.Beside))
	cores.Each(len(whole), func(i int) {
		if c := r.a.opts.Beside[i]; c.Piece == 0 && !left(c) {
			whole[i] = beside(i)
			unlike[i] = cell.Apart(whole[i])
		}
	})
	apart := map[string]bool{} // the columns whose values nearly all occur once
	for i, column := range r.a.opts.Beside {
		if left(column) || column.Piece > 0 && !apart[column.Name] {
			continue
		}
		values := whole[i]
		if column.Piece == 0 {
			apart[column.Name] = unlike[i]
		} else {
			values = beside(i)
		}
		if column.Release > 0 {
			values = cell.KnownValues(values)
		}
		if column.Release > 0 && column.Piece == 0 {
			f.earlier = append(f.earlier, earlierColumn{column: column, values: values})
		}
		list = append(list, joint.Column{Name: column.Name, Values: values, GroupOnly: column.GroupOnly})
	}
	if earlier {
		var err error
		if list, err = f.withTotals(list, f.own); err != nil {
			f.not = "what tables of the ledger tell is not known: " + err.Error()
			return f
		}
	}
	list = append(list, f.further(more, holders)...)
	var sought []joint.Sought
	var originals [][]float64
	for c, column := range r.a.opts.Columns {
		if column.Masked {
			x := f.originals(c)
			sought = append(sought, joint.Sought{Name: column.Name, X: x, Y: f.released[c], Own: f.own[c]})
			originals = append(originals, x)
		}
	}
	base := joint.New(joint.WithDigits(list, limit, originals), limit, f.complete)
	base.Exchanges = exchangesOf(r.a.opts.Together, list)
	base.InOrder, base.Share = !r.a.opts.Shuffled, float64(limit)/float64(max(r.a.records, 1))
	frames, _ := withMatched(base, sought, false)
	for c, column := range r.a.opts.Columns {
		if f.frames = append(f.frames, nil); column.Masked {
			f.frames[c], frames = frames[0], frames[1:]
		}
	}
	return f
}

// originals returns the original values of column c in the rows.
func (f *recordFrame) originals(c int) []float64 {
	x := make([]float64, len(f.rows))
	for k, i := range f.rows {
		x[k] = f.data.Original(c)[i]
	}
	if f.a.opts.Columns[c].Alike {
		x = once(x, f.released[c])
	}
	return x
}

// once returns the originals without those that an earlier record has with the same released value.
func once(x, y []float64) []float64 {
	type pair struct{ x, y float64 }
	known := map[pair]bool{}
	one := slices.Clone(x)
	for i, v := range x {
		if p := (pair{v, y[i]}); known[p] {
			one[i] = math.NaN()
		} else {
			known[p] = true
		}
	}
	return one
}

// add adds the risks of column c to its list, each after that by index.
func (f *recordFrame) add(c int, list *[]Risk) {
	var targets []joint.Target
	for _, t := range f.targets[c] {
		at := joint.Target{X: t.tau, Row: -1}
		if row, there := f.holders[t.record]; there {
			at.Row = row
		}
		targets = append(targets, at)
	}
	x := f.originals(c)
	var found joint.Result
	for k, frame := range f.framesOf(c, x) {
		if r := frame.Estimate(x, f.released[c], f.own[c], targets); k == 0 || r.Square < found.Square {
			found = r
		}
	}
	if lean := f.lean[c]; lean != nil {
		if r := lean.Estimate(x, f.released[c], -1, targets); r.Square < found.Square {
			found = r
		}
	}
	rows := make([]Risk, 0, len(*list)+len(targets)+1)
	var k Risk
	for _, row := range *list {
		rows = append(rows, row)
		if row.Knowledge == KnowledgeIndex {
			k = row
		}
		if row.Knowledge != f.follows() {
			continue
		}
		of := joint.Found{Square: found.Square, Index: found.Index, Realised: found.Square}
		if k.Target != TargetTypical {
			of = found.Of[slices.IndexFunc(f.targets[c], func(t located) bool { return t.target.Name == k.Target })]
		}
		moved := k.Target == TargetTypical && (f.a.opts.Columns[c].Undoing.moves() || f.exchanged(c))
		row := f.risk(k, of, &found, moved)
		if k.Target == TargetTypical && found.Square < found.Refined {
			gain := Float(1 - found.Square/found.Refined)
			row.TreeGain = &gain
		}
		if f.together {
			row = atLeast(row, rows[len(rows)-1])
		}
		rows = append(rows, row)
	}
	stateErrors(rows)
	*list = rows
}

// risk returns the risk by the whole record of a target whose risk by index is k. The records near
// the target give the share of the squared error by index that remains; the draws' effect on both
// is the same, and that by index is known better. Where values are moved between records that by index is of a snooper
// who has undone what he can already, as the one who has the record has: of the two the better counts.
func (f *recordFrame) risk(k Risk, of joint.Found, found *joint.Result, moved bool) Risk {
	row := k
	row.Knowledge, row.Tells = f.states(), found.Tells
	square, noise := 1/float64(k.R), 0.0
	switch ratio := min(1, of.Square/of.Index); {
	case of.Square == 0:
		square = 0
	case of.Index == 0, of.Square != of.Square: // nothing is changed nearby, or there are too few records
		if of.Square != of.Square && of.Realised != of.Realised {
			of.Realised = 1 / float64(k.RealisedR)
		}
	case ratio == ratio && square == square && moved:
		square = min(square, of.Square)
	case ratio == ratio && square == square:
		square *= ratio
	default: // no released value
		square = of.Square
	}
	row.Bound = false
	if se := float64(k.SE); se == se && !k.Bound && square > 0 && !math.IsInf(float64(k.R), 1) {
		relative := se / float64(k.R)
		noise = square * square * relative * relative
	}
	if !f.complete || noise == 0 || moved {
		if relative := found.Noise / (found.Square * found.Square); relative == relative && square > 0 {
			noise += square * square * relative
		}
	}
	if f.together {
		noise = max(noise, f.byDraws(&row, square, found))
	}
	row.Sampled = k.Sampled || !f.complete
	if found.Open || found.Beyond {
		row.Approximate, row.Errs = true, ErrsSafe
	}
	row.R = Float(estimate.Risk(square))
	row.RMSE = Float(math.Sqrt(square))
	row.SE = Float(estimate.StandardError(float64(row.R), noise))
	row.RealisedR = Float(estimate.Risk(of.Realised))
	if f.candidate {
		row.RealisedR = Float(math.NaN())
	}
	return row
}

// Seen is a column as it is released: numbers, or codes of categories from 0; NaN if a value is missing.
type Seen struct {
	Name       string
	Values     []float64
	Categories bool
}

// Sought is a column whose originals an intruder is after.
type Sought struct {
	Name               string
	Original, Released []float64
	Alike              bool      // see Column
	Own                int       // its place among the columns that are seen; −1: it is not released
	Distances          []float64 // within which a statement counts as right
	Beside             bool      // whether it may only tell of the others: nothing is stated of it
}

// Claims returns what an intruder who has the whole released record states of the originals, by column
// sought and record: one list for each of several ways, NaN in records that were not looked at. complete
// says that the records are the whole release.
func Claims(columns []Seen, sought []Sought, together []MovedTogether, complete bool) [][][]float64 {
	if !slices.ContainsFunc(sought, func(s Sought) bool { return !s.Beside }) {
		return nil
	}
	list := columnsOf(columns)
	of, originals := make([]joint.Sought, len(sought)), make([][]float64, len(sought))
	for c, s := range sought {
		if originals[c] = s.Original; s.Alike {
			originals[c] = once(s.Original, s.Released)
		}
		of[c] = joint.Sought{Name: s.Name, X: originals[c], Y: s.Released, Own: s.Own}
	}
	n := len(sought[0].Original)
	base := joint.New(joint.WithDigits(list, n, originals), n, complete)
	base.Exchanges = exchangesOf(together, list)
	frames, matched := withMatched(base, of, true)
	claims := make([][][]float64, len(sought))
	cores.Each(len(sought), func(c int) {
		s := &sought[c]
		if s.Beside {
			return
		}
		for _, frame := range frames[c] {
			claims[c] = append(claims[c], frame.Claims(originals[c], s.Released, s.Own, s.Distances)...)
		}
		if m := matched[c]; m != nil {
			claims[c] = append(claims[c], m.Likeliest, m.Mean)
		}
	})
	return claims
}

// columnsOf are columns as a frame has them.
func columnsOf(columns []Seen) []joint.Column {
	list := make([]joint.Column, len(columns))
	for c, column := range columns {
		list[c] = joint.Column{Name: column.Name, Values: cell.KnownValues(column.Values)}
		if column.Categories {
			list[c].Values = make([]float64, len(column.Values))
			for i, v := range column.Values {
				if list[c].Values[i] = cell.Category(v); v != v {
					list[c].Values[i] = v
				}
			}
		}
	}
	return list
}
