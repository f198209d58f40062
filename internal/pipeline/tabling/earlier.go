package tabling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// earlier is what people know beside the tables: earlier releases of the same records, or of records of which some have
// come and some have left since. The records of all times together are divided into parts by the times in which they
// are, so each cell of a release is the sum of the same cell of some parts. Whoever knows who has come and who has left
// knows all of that but the values.
type earlier struct {
	*records
	union     *tabulation.Config // the tables of today and of all releases that are held back in part
	releases  []*earlierRelease
	vintages  []*vintage // today's records first
	values    []*valued
	found     []relation       // between the values, in the records of all times
	parts     map[uint32]int64 // number of records by the set of vintages in which they are
	unaudited []string
}

// vintage is the records of one time.
type vintage struct {
	*records
	columns  []tabulate.Columns // by value
	compared []column           // what tells records apart
}

// column is the index of a column in a block, which has numbers or texts.
type column struct {
	at     int
	number bool
}

// valued is the tables of one value of all times.
type valued struct {
	family                   // of all variables; its cells are those of all records together
	now    *family           // of today; nil if no table of today is of this value
	before []*layer          // by release, nil if it has none
	parts  map[uint32]*layer // by the set of vintages in which a record is
	all    *tabulate.Accumulator
	tables []int // of the union
}

// layer is the tables of one value of one release, or of the records that are in some vintages.
type layer struct {
	family
	release  int    // -1 for a part of the records
	framed   bool   // the classification by all variables of tables of today
	shown    []bool // of its cells: whether a table of today has it
	vintages uint32 // of a part: a bit for each vintage
	columns  tabulate.Columns
	sum      *tabulate.Accumulator
}

// earlier reads the releases of the configuration, and tabulates their records; nil if there are none.
func (r *records) earlier(ctx context.Context, families []*family, o pipeline.Options) (*earlier, error) {
	if len(r.config.Releases) == 0 {
		return nil, nil
	}
	e := &earlier{records: r}
	for i := range r.config.Releases {
		if l := e.readRelease(i); l != nil {
			e.releases = append(e.releases, l)
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	union := *r.config
	union.Tables = slices.DeleteFunc(slices.Clone(union.Tables), func(t tabulation.Table) bool {
		return t.Protect.Suppress == nil
	})
	e.union = &union
	for _, l := range e.releases {
		e.chained(l)
		e.meet(l, families)
	}
	if err := r.check(); err != nil || !slices.ContainsFunc(e.releases, func(l *earlierRelease) bool {
		return len(l.tables) > 0
	}) {
		return e, err
	}
	if !r.source.Rewindable() {
		return nil,
			config.Errors{r.config.Errorf("source", "can be read only once, so it cannot be compared with earlier releases")}
	}
	defer e.close()
	if err := e.open(ctx, o); err != nil {
		return nil, err
	}
	if err := e.prepare(ctx, families, o.Progress); err != nil {
		return nil, err
	}
	if err := e.tabulate(ctx, o.Progress); err != nil {
		return nil, err
	}
	return e, e.verify()
}

// open opens the records of other times.
func (e *earlier) open(ctx context.Context, o pipeline.Options) error {
	v := *e.records
	v.identity, v.before = nil, nil
	v.config, v.problems, v.index, v.recordCount = e.union, nil, map[microdata.Want]int{}, new(atomic.Int64)
	v.layout = microdata.Layout{Schema: e.source.Schema()}
	if v.masks != nil {
		v.layout = *v.masks.SurveyLayout()
		v.layout.Read = slices.Clip(v.layout.Read)
	}
	e.vintages = []*vintage{{records: &v}}
	for i, l := range e.releases {
		from := e.config.Releases[i].Source
		if from.Config == nil {
			continue
		}
		c := *e.union
		c.Source = from
		r, err := open(ctx, &c, o)
		if err != nil {
			return fmt.Errorf("%s.source: %w", l.at, err)
		}
		r.vintage, l.vintage = len(e.vintages), len(e.vintages)
		e.vintages = append(e.vintages, &vintage{records: r})
	}
	return nil
}

// close closes the records of other times.
func (e *earlier) close() error {
	var errs []error
	for _, v := range e.vintages {
		if v.vintage > 0 {
			errs = append(errs, v.records.close())
		}
	}
	return errors.Join(errs...)
}

// place returns the place in the configuration that names the records of a vintage.
func (e *earlier) place(v *vintage) string {
	for i, l := range e.releases {
		if l.vintage == v.vintage && v.vintage > 0 {
			return fmt.Sprintf("releases[%d].source", i)
		}
	}
	return "releases"
}

// own returns an error of a vintage with its place.
func (e *earlier) own(v *vintage, err error) error {
	var list config.Errors
	if !errors.As(err, &list) {
		return err
	}
	var moved config.Errors
	for _, x := range list {
		moved = append(moved, e.config.Errorf(e.place(v), "%s", x.Text))
	}
	return moved
}

// prepare finds the codes of all times, and makes the tables of each value.
func (e *earlier) prepare(ctx context.Context, families []*family, progress *pipeline.Progress) error {
	if err := e.columnsOnce(); err != nil {
		return err
	}
	all := &survey{ways: map[string]map[string][]string{}, decimals: map[string]int{}}
	for _, v := range e.vintages {
		s, err := v.look(ctx, progress)
		if err != nil {
			return e.own(v, err)
		}
		for name, ways := range s.ways {
			if all.ways[name] == nil {
				all.ways[name] = map[string][]string{}
			}
			maps.Copy(all.ways[name], ways)
		}
		for name, d := range s.decimals {
			all.decimals[name] = max(all.decimals[name], d)
		}
	}
	dimensions, err := e.vintages[0].dimensions(all)
	if err != nil {
		return e.own(e.vintages[0], err)
	}
	for i := range e.union.Tables {
		t := &e.union.Tables[i]
		at := slices.IndexFunc(e.values, func(x *valued) bool { return x.table.Linked(t) })
		if at < 0 {
			at = len(e.values)
			x := &valued{family: family{table: t, of: []int{i}}, before: make([]*layer, len(e.releases)),
				parts: map[uint32]*layer{}}
			if k := slices.IndexFunc(families, func(f *family) bool { return f.table.Linked(t) }); k >= 0 &&
				families[k].table.Protect.Suppress != nil {
				x.now = families[k]
			}
			e.values = append(e.values, x)
		}
		e.values[at].tables = append(e.values[at].tables, i)
	}
	for _, x := range e.values {
		if err := e.make(x, dimensions, all); err != nil {
			return err
		}
	}
	for _, v := range e.vintages {
		if err := v.check(); err != nil {
			return e.own(v, err)
		}
	}
	return nil
}

// columnsOnce refuses variables of different names that are made of one column.
func (e *earlier) columnsOnce() error {
	of := map[string]string{}
	for _, t := range e.union.Tables {
		for _, name := range t.Rows {
			v := e.union.Variable(name)
			for _, c := range append(slices.Clone(v.Columns), v.Leaf()) {
				if other, taken := of[c]; taken && other != name {
					e.records.wrong("releases",
						"variables %s and %s are both made from column %s: make them one variable with several hierarchies", other, name,
						c)
				}
				of[c] = name
			}
		}
	}
	return e.check()
}

// make makes the tables of a value, as they are of all records together and of each release.
func (e *earlier) make(x *valued, dimensions map[string]*tables.Dimension, s *survey) (err error) {
	if x.set, err = e.setOf(x.tables, dimensions, ""); err != nil {
		return err
	}
	for _, v := range e.vintages {
		f := x.family
		v.columnsOf(&f, s)
		v.columns = append(v.columns, f.columns)
		f.options.Decimals = max(f.options.Decimals, x.options.Decimals)
		x.options = f.options
		v.compare(&f)
	}
	for i, l := range e.releases {
		var own []int
		for _, t := range l.tables {
			if slices.Contains(x.tables, t) {
				own = append(own, t)
			}
		}
		if len(own) == 0 {
			continue
		}
		b := &layer{family: family{table: x.table, of: own}, release: i}
		if b.set, err = e.setOf(own, dimensions, "release "+l.report.Name); err != nil {
			return err
		}
		e.vintages[l.vintage].columnsOf(&b.family, s)
		b.columns, b.options = b.family.columns, x.options
		x.before[i] = b
	}
	return nil
}

// setOf returns a set of tables of the union, of which those with the same variables are the same.
func (e *earlier) setOf(list []int, dimensions map[string]*tables.Dimension, of string) (*tables.Set, error) {
	var made []tables.Table
	seen := map[string]bool{}
	for _, i := range list {
		rows := slices.Sorted(slices.Values(e.union.Tables[i].Rows))
		if seen[joined(rows)] && of == "" {
			continue
		}
		seen[joined(rows)] = true
		t := tables.Table{Name: e.union.Tables[i].Name, Of: of}
		for _, v := range e.union.Tables[i].Rows {
			t.Dimensions = append(t.Dimensions, dimensions[v])
		}
		made = append(made, t)
	}
	set, problems := tables.NewSet(made...)
	for _, p := range problems {
		e.records.wrong("releases", "%s", p.Error())
	}
	return set, e.check()
}

// tabulate tabulates the records of all times.
func (e *earlier) tabulate(ctx context.Context, progress *pipeline.Progress) error {
	e.parts = map[uint32]int64{}
	t := &pooling{earlier: e, places: places{}, related: tabulate.NewRelations(len(e.values))}
	for _, x := range e.values {
		var err error
		if x.all, err = accumulator(&x.family); err != nil {
			return err
		}
		for _, b := range x.before {
			if b == nil {
				continue
			}
			if b.sum, err = accumulator(&b.family); err != nil {
				return err
			}
		}
	}
	for _, work := range []func(v *vintage, b *microdata.Block) error{t.enter, t.add} {
		for _, v := range e.vintages {
			err := v.pass(ctx, "earlier releases", progress, func(b *microdata.Block) error {
				t.mutex.Lock()
				defer t.mutex.Unlock()
				return work(v, b)
			})
			if err != nil {
				return err
			}
		}
	}
	e.found = t.related.Find()
	return e.sum()
}

func accumulator(f *family) (*tabulate.Accumulator, error) {
	a, problems := tabulate.New(f.set, f.options)
	if len(problems) > 0 {
		return nil, fmt.Errorf("tables: %v", problems)
	}
	return a, nil
}

// pooling is the state of the passes over the records of all times.
type pooling struct {
	*earlier
	mutex   sync.Mutex
	places  places
	related *tabulate.Relations
}

// enter notes in which vintages the records of a block are.
func (t *pooling) enter(v *vintage, b *microdata.Block) error {
	if len(t.vintages) > 1 {
		for _, p := range v.prints(b, tabulate.Kept(b)) {
			t.places.enter(v.vintage, p)
		}
	}
	return nil
}

// add tabulates the records of a block: for the releases of the vintage, and for the part of the records to which they
// belong if no vintage before has them.
func (t *pooling) add(v *vintage, b *microdata.Block) error {
	rows := tabulate.Kept(b)
	of := map[uint32][]int{1: rows}
	if len(t.vintages) > 1 {
		of = map[uint32][]int{}
		for i, p := range v.prints(b, rows) {
			if in := t.places.take(v.vintage, p); in&(1<<v.vintage-1) == 0 {
				of[in] = append(of[in], rows[i])
			}
		}
	}
	for i, l := range t.releases {
		if l.vintage != v.vintage {
			continue
		}
		for _, x := range t.values {
			if b1 := x.before[i]; b1 != nil {
				if err := b1.sum.AddRows(b, b1.columns, rows); err != nil {
					return x.tooLarge(err)
				}
			}
		}
	}
	for in, rows := range of {
		t.parts[in] += int64(len(rows))
		var contributions [][]int64
		for k, x := range t.values {
			part, err := t.part(x, in)
			if err != nil {
				return err
			}
			if err := part.sum.AddRows(b, v.columns[k], rows); err != nil {
				return x.tooLarge(err)
			}
			if err := x.all.AddRows(b, v.columns[k], rows); err != nil {
				return x.tooLarge(err)
			}
			contributions = append(contributions, x.all.Last())
		}
		t.related.Add(contributions)
	}
	return nil
}

// part returns the tables of a value of the records that are in some vintages.
func (e *earlier) part(x *valued, in uint32) (l *layer, err error) {
	if l := x.parts[in]; l != nil {
		return l, nil
	}
	l = &layer{family: x.family, release: -1, vintages: in}
	list := slices.Clone(x.set.Tables)
	for i := range list {
		list[i].Of = e.words(in)
	}
	set, problems := tables.NewSet(list...)
	if len(problems) > 0 {
		return nil, fmt.Errorf("tables: %v", problems)
	}
	l.set = set
	l.sum, err = accumulator(&l.family)
	x.parts[in] = l
	return l, err
}

// words names the records that are in some vintages.
func (e *earlier) words(in uint32) string {
	var with, without string
	for k := range e.vintages {
		name := "today"
		for _, l := range e.releases {
			if k > 0 && l.vintage == k {
				name = l.report.Name
			}
		}
		list := &without
		if in>>k&1 == 1 {
			list = &with
		}
		if *list != "" {
			*list += " and "
		}
		*list += name
	}
	if without == "" {
		return "in the records of " + with
	}
	return "in the records of " + with + ", not of " + without
}

// sum computes the cells of all layers, and refuses variables whose codes follow from those of others.
func (e *earlier) sum() (err error) {
	for _, x := range e.values {
		if x.cells, err = x.all.Cells(); err != nil {
			return x.tooLarge(err)
		}
		for _, l := range x.layers() {
			if l.cells, err = l.sum.Cells(); err != nil {
				return x.tooLarge(err)
			}
			l.sum = nil
		}
		for _, pair := range x.all.Determined() {
			what, by := x.all.Variables()[pair[0]].Name, x.all.Variables()[pair[1]].Name
			e.records.wrong("releases",
				"%s must be one variable with %s, whose codes always tell its codes: their cells are linked; say so as a hierarchy (%s)",
				what, by, form.Join("hierarchies", what))
		}
	}
	return e.check()
}

// layers returns the layers of a value: those of releases, then the parts of the records in their order.
func (x *valued) layers() (list []*layer) {
	for _, b := range x.before {
		if b != nil {
			list = append(list, b)
		}
	}
	for _, in := range slices.Sorted(maps.Keys(x.parts)) {
		list = append(list, x.parts[in])
	}
	return list
}
