package tabling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/suppress"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// family has the tables of one value: one set of cells, protected together.
type family struct {
	of       []int             // indexes of the tables in the configuration
	table    *tabulation.Table // the first of them; the others differ only in name and rows
	set      *tables.Set
	columns  tabulate.Columns
	options  tabulate.Options
	cells    *tables.Cells
	finished *finishedColumns // if the source has finished cells
	// the classification by all variables of linked tables, which none of them shows; nil if there is none, or it is too
	// large
	frame *layer
}

// tally counts the records by their outcome.
type tally struct {
	read, malformed int64
	refused         tabulate.Refused
	unknown         map[string]int64 // by variable
	relations       []relation       // between the values of the families
}

// lostRecords returns how many records are in no table.
func (t *tally) lostRecords() int64 {
	return t.malformed + t.refused.Code + t.refused.Value + t.refused.Weight + t.refused.Holder + t.refused.Nobody
}

// families groups the tables by their value.
func (r *records) families(dimensions map[string]*tables.Dimension, s *survey) ([]*family, error) {
	var list []*family
	for i := range r.config.Tables {
		t := &r.config.Tables[i]
		at := slices.IndexFunc(list, func(f *family) bool { return f.table.Linked(t) })
		if at < 0 {
			list = append(list, &family{table: t})
			at = len(list) - 1
		}
		list[at].of = append(list[at].of, i)
	}
	for _, f := range list {
		var made []tables.Table
		for _, i := range f.of {
			t := tables.Table{Name: r.config.Tables[i].Name}
			for _, v := range r.config.Tables[i].Rows {
				t.Dimensions = append(t.Dimensions, dimensions[v])
			}
			made = append(made, t)
		}
		set, problems := tables.NewSet(made...)
		for _, p := range problems {
			r.wrong("tables", "%s", p.Error())
		}
		f.set = set
		r.fits(f)
		if s := f.table.Protect.Suppress; set != nil && s != nil && s.Effort == "optimal" &&
			set.Cells() > suppress.MaxOptimal {
			r.wrong(fmt.Sprintf("tables[%d].protect.suppress.effort", f.of[0]),
				"must be usual for tables of more than %d cells together, got optimal for %d", suppress.MaxOptimal, set.Cells())
		}
		r.columnsOf(f, s)
	}
	return list, r.check()
}

func (r *records) columnsOf(f *family, s *survey) {
	t, at := f.table, fmt.Sprintf("tables[%d]", f.of[0])
	f.options = tabulate.Options{
		Counts: t.Value == "", Most: primary.Most(tabulation.PrimaryRules(t.Unsafe)), Absolute: t.Absolute,
		Holdings:   r.config.Holding != "",
		Identities: r.config.Coalition,
	}
	if f.options.Holdings && t.Value == "" { // for what a holding knows about a count
		f.options.Most = max(f.options.Most, 1)
	}
	if c := t.Protect.CellKey; c != nil && c.Values != nil { // and the next one, in place of the largest
		f.options.Most = max(f.options.Most, len(c.Values.Units(0).Epsilon)+1)
	}
	f.options.Most = max(f.options.Most, largestKnown) // for what respondents know about a cell
	f.columns = tabulate.Columns{Value: -1, Weight: -1, Holding: -1, Request: -1}
	if t.Value != "" {
		f.columns.Value = r.want(at+".value", t.Value, microdata.Numbers, false)
		if i := r.source.Schema().Index(t.Value); i >= 0 {
			if d, fixed := r.source.Schema().Fields[i].Decimals(); fixed {
				f.options.Decimals = min(d, mostDecimals)
			}
		}
		if d, looked := s.decimals[t.Value]; looked {
			f.options.Decimals = d
		}
	}
	if t.Decimals != nil {
		f.options.Decimals = *t.Decimals
	}
	if r.config.Finished != nil {
		r.finishedColumns(f)
		return
	}
	if t.Weight != "" {
		f.columns.Weight = r.want(at+".weight", t.Weight, microdata.Numbers, true)
	}
	if r.config.Holding != "" {
		f.columns.Holding = r.want("holding", r.config.Holding, microdata.Array, true)
	}
	if r.config.Request != "" {
		f.columns.Request = r.want("request", r.config.Request, microdata.Array, true)
	}
	if r.config.OtherRecords() && r.config.Holding == "" {
		r.known(f)
	}
	if r.config.NeedsKeys(t) {
		r.keyed(f)
		if oneIn := r.config.Samples(t); len(oneIn) > 0 {
			f.options.Samples = &tabulate.Samples{OneIn: oneIn}
			f.columns.Draw = r.recordKeys().Draw
		}
	}
	if f.set == nil {
		return
	}
	a, problems := tabulate.New(f.set, f.options)
	for _, p := range problems {
		r.wrong(at, "%s", p.Error())
	}
	if a == nil {
		return
	}
	for _, d := range a.Variables() {
		f.columns.Variables = append(f.columns.Variables,
			r.want(r.variablePath(d.Name), r.config.Variable(d.Name).Leaf(), microdata.Array, false))
	}
}

// largestKnown is the least number of the largest contributors of a cell whose own parts an audit takes as known to
// them. Of the others it assumes that each has as much as the last of these.
const largestKnown = 3

// add tabulates all records into all families in one pass.
func (r *records) add(ctx context.Context, list []*family, progress *pipeline.Progress) (*tally, error) {
	// There are as many sets of accumulators as workers. Their sums are exact, in any order.
	workers := runtime.GOMAXPROCS(0)
	free := make(chan *bench, workers)
	for range workers {
		b, err := newBench(list)
		if err != nil {
			return nil, err
		}
		free <- b
	}
	err := r.pass(ctx, "tabulate", progress, func(block *microdata.Block) error {
		b := <-free
		defer func() { free <- b }()
		b.read += int64(block.N)
		b.malformed += int64(block.N - block.Kept())
		var contributions [][]int64
		for i, f := range list {
			if err := b.accumulators[i].AddBlock(block, f.columns); err != nil {
				return f.tooLarge(err)
			}
			contributions = append(contributions, b.accumulators[i].Last())
		}
		b.related.Add(contributions)
		return nil
	})
	if err != nil {
		return nil, err
	}
	first := <-free
	for range workers - 1 {
		if err := first.merge(list, <-free); err != nil {
			return nil, err
		}
	}
	if err := r.cells(list, first); err != nil {
		return nil, err
	}
	first.relations = first.related.Find()
	return &first.tally, r.refuse(list, &first.tally)
}

// bench is where one worker tabulates records: an accumulator of each family.
type bench struct {
	accumulators []*tabulate.Accumulator
	related      *tabulate.Relations
	tally
}

func newBench(list []*family) (*bench, error) {
	b := &bench{related: tabulate.NewRelations(len(list))}
	for _, f := range list {
		a, problems := tabulate.New(f.set, f.options)
		if len(problems) > 0 {
			return nil, fmt.Errorf("tables: %v", problems)
		}
		b.accumulators = append(b.accumulators, a)
	}
	return b, nil
}

// merge adds the accumulators of another worker.
func (b *bench) merge(list []*family, o *bench) error {
	b.read += o.read
	b.malformed += o.malformed
	b.related.Merge(o.related)
	for i, f := range list {
		if err := b.accumulators[i].Merge(o.accumulators[i]); err != nil {
			return f.tooLarge(err)
		}
	}
	return nil
}

// cells computes the cells of each family, counts the refused records, and refuses a variable
// whose codes follow from those of another one.
func (r *records) cells(list []*family, b *bench) (err error) {
	b.unknown = map[string]int64{}
	for i, f := range list {
		a := b.accumulators[i]
		if f.cells, err = a.Cells(); err != nil {
			return f.tooLarge(err)
		}
		if f.frame, err = r.frameOf(f, a); err != nil {
			return f.tooLarge(err)
		}
		b.count(a)
		for _, pair := range a.Determined() {
			what, by := a.Variables()[pair[0]].Name, a.Variables()[pair[1]].Name
			r.wrong(r.variablePath(what),
				"must be one variable with %s, whose codes always tell its codes: their cells are linked; say so as a hierarchy (columns: [%s, %s])",
				by, r.config.Variable(what).Leaf(), r.config.Variable(by).Leaf())
		}
	}
	return nil
}

// tooLarge adds to an error of the tabulation the place of its table, and what can be done.
func (f *family) tooLarge(err error) error {
	switch {
	case errors.Is(err, tabulate.ErrTooLarge):
		return pipeline.DataErrorf("tables[%d]: %v; fewer decimals make room", f.of[0], err)
	case errors.Is(err, tabulate.ErrTooMany):
		return pipeline.DataErrorf("tables[%d]: %v; fewer variables in the linked tables make room", f.of[0], err)
	}
	return fmt.Errorf("tables[%d]: %w", f.of[0], err)
}

// count returns the greatest number of records that a family has refused: several families can
// refuse one record.
func (t *tally) count(a *tabulate.Accumulator) {
	n := a.Refused()
	t.refused.Code = max(t.refused.Code, n.Code)
	t.refused.Value = max(t.refused.Value, n.Value)
	t.refused.Weight = max(t.refused.Weight, n.Weight)
	t.refused.Holder = max(t.refused.Holder, n.Holder)
	t.refused.Nobody = max(t.refused.Nobody, n.Nobody)
	for v, d := range a.Variables() {
		t.unknown[d.Name] = max(t.unknown[d.Name], a.Unknown()[v])
	}
}

// refuse returns an error with all reasons why records are in no table, unless the configuration
// allows it.
func (r *records) refuse(list []*family, t *tally) error {
	switch {
	case t.read == 0 && r.windowed:
		return errNoRecords
	case t.read == 0:
		r.wrong("source", "has no record")
	}
	if r.config.Unknown == "drop" || t.lostRecords() == 0 {
		return r.check()
	}
	const way = "; mend them, or leave them out (unknown: drop)"
	if t.malformed > 0 {
		r.wrong("source", "%s cannot be read%s", recordsOf(t.malformed), way)
	}
	for _, f := range list {
		at := fmt.Sprintf("tables[%d]", f.of[0])
		if f.columns.Value >= 0 && t.refused.Value > 0 {
			r.wrong(at+".value", "%s of no value in %s%s", recordsOf(t.refused.Value), f.table.Value, way)
		}
		if f.columns.Weight >= 0 && t.refused.Weight > 0 {
			r.wrong(at+".weight", "%s of no weight of at least 1 in %s%s", recordsOf(t.refused.Weight), f.table.Weight, way)
		}
	}
	if t.refused.Holder > 0 {
		r.wrong("holding", "%s of no holding in %s%s", recordsOf(t.refused.Holder), r.config.Holding, way)
	}
	if t.refused.Nobody > 0 {
		r.wrong("identity", "%s of no identity%s", recordsOf(t.refused.Nobody), way)
	}
	for _, name := range slices.Sorted(maps.Keys(t.unknown)) {
		if n := t.unknown[name]; n > 0 {
			r.wrong(r.variablePath(name), "%s with a code that %s does not have as a leaf, or with none%s", recordsOf(n), name,
				way)
		}
	}
	return r.check()
}

func recordsOf(n int64) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}
