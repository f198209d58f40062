package tabling

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// finishedColumns asks for the columns of finished cells.
func (r *records) finishedColumns(f *family) {
	c := r.config.Finished
	f.finished = &finishedColumns{value: f.columns.Value, table: -1, codes: map[string]int{},
		count: r.want("finished.count", c.Count, microdata.Numbers, false)}
	for i, name := range c.Largest {
		f.finished.largest = append(f.finished.largest,
			r.want(fmt.Sprintf("finished.largest[%d]", i), name, microdata.Numbers, true))
	}
	for i, name := range c.Who {
		f.finished.who = append(f.finished.who, r.want(fmt.Sprintf("finished.who[%d]", i), name, microdata.Array, true))
	}
	for _, name := range r.variables() {
		f.finished.codes[name] = r.want(r.variablePath(name), r.config.Variable(name).Leaf(), microdata.Array, false)
	}
	if len(r.config.Tables) > 1 {
		f.finished.table = r.want("finished", tabulation.TableColumn, microdata.Array, false)
	}
}

// finishedColumns are the indexes of the columns of finished cells in a block.
type finishedColumns struct {
	value, count, table int // -1: none
	largest, who        []int
	codes               map[string]int // by variable
}

// finishedLeaf reports whether a code of finished cells may be a leaf: it is not the total, nor shorter than the codes
// of the last level.
func finishedLeaf(v *tabulation.Variable, code string) bool {
	return code != v.Total && (len(v.Prefix) == 0 || utf8.RuneCountInString(code) == v.Prefix[len(v.Prefix)-1])
}

// finished reads finished cells in the place of records.
func (r *records) finished(ctx context.Context, list []*family, progress *pipeline.Progress) (*tally, error) {
	f := list[0] // validateFinished has demanded one value
	in := &finishedCells{records: r, family: f}
	if err := r.pass(ctx, "cells", progress, in.add); err != nil {
		return nil, err
	}
	slices.SortFunc(in.rows, func(a, b finishedRow) int { return a.compare(b.finishedPlace) })
	slices.SortFunc(in.wrong, func(a, b finishedWrong) int { return a.compare(b.finishedPlace) })
	var problems []string
	for _, w := range in.wrong {
		where := fmt.Sprintf("row %d", w.place+1)
		if streams := r.source.Streams(); len(streams) > 1 {
			where = streams[w.stream] + ", " + where
		}
		problems = append(problems, where+" "+w.text)
	}
	if len(problems) == 0 {
		problems = r.fromGiven(f, in)
	}
	for i, text := range problems {
		if i == mostWrong {
			r.wrong("source", "and %d problems more", len(problems)-i)
			break
		}
		r.wrong("source", "%s", text)
	}
	if in.read == 0 {
		r.wrong("source", "has no row")
	}
	return &tally{read: in.read}, r.check()
}

// fromGiven makes the cells of the family of the rows, or returns what contradicts itself.
func (r *records) fromGiven(f *family, in *finishedCells) (problems []string) {
	c := r.config.Finished
	o := tables.GivenOptions{
		Decimals: f.options.Decimals, Counts: f.options.Counts, Largest: len(c.Largest), Named: len(c.Who) > 0,
		Most: largestKnown, Identities: r.config.Coalition,
	}
	given := make([]tables.Given, len(in.rows))
	for i, row := range in.rows {
		given[i] = row.Given
	}
	cells, wrong := tables.FromGiven(f.set, o, given)
	for _, p := range wrong {
		problems = append(problems, "cell "+p.Error())
	}
	f.cells = cells
	return problems
}

// finishedCells collects the rows of finished cells, which come in any order.
type finishedCells struct {
	*records
	family *family
	mutex  sync.Mutex
	read   int64
	rows   []finishedRow
	wrong  []finishedWrong
}

// finishedPlace is the place of a row.
type finishedPlace struct {
	stream int
	place  int64
}

func (p finishedPlace) compare(o finishedPlace) int {
	return cmp.Or(cmp.Compare(p.stream, o.stream), cmp.Compare(p.place, o.place))
}

type finishedRow struct {
	finishedPlace
	tables.Given
}

type finishedWrong struct {
	finishedPlace
	text string // without a code or a value, which may stand in the wrong column
}

// add adds the rows of a block.
func (in *finishedCells) add(b *microdata.Block) error {
	c := in.family.finished
	codes := map[string]func(int) (string, bool){}
	for name, index := range c.codes {
		codes[name] = tabulate.Texts(&b.Columns[index])
	}
	text := func(index int) func(int) (string, bool) { return tabulate.Texts(&b.Columns[index]) }
	var who []func(int) (string, bool)
	for _, index := range c.who {
		who = append(who, text(index))
	}
	table := func(int) (string, bool) { return in.config.Tables[0].Name, true }
	if c.table >= 0 {
		table = text(c.table)
	}
	number := func(index, row int) float64 {
		if out := b.Columns[index].Out(); out.Valid.Has(row) {
			return out.Values[row]
		}
		return math.NaN()
	}
	var rows []finishedRow
	var wrong []finishedWrong
	for i := range b.N {
		at := finishedPlace{b.Stream, b.Place(i)}
		if b.Rejected(i) {
			wrong = append(wrong, finishedWrong{at, "cannot be read"})
			continue
		}
		name, _ := table(i)
		cell, why := in.cell(name, func(v string) string { s, _ := codes[v](i); return s })
		if why != "" {
			wrong = append(wrong, finishedWrong{at, why})
			continue
		}
		row := finishedRow{at, tables.Given{Cell: cell, Count: number(c.count, i)}}
		if c.value >= 0 {
			row.Value = number(c.value, i)
		}
		for _, index := range c.largest {
			row.Largest = append(row.Largest, number(index, i))
		}
		for _, w := range who {
			s, _ := w(i)
			row.Who = append(row.Who, strings.Clone(s))
		}
		rows = append(rows, row)
	}
	in.mutex.Lock()
	defer in.mutex.Unlock()
	in.read += int64(b.N)
	in.rows, in.wrong = append(in.rows, rows...), append(in.wrong, wrong...)
	return nil
}

// cell returns the cell of a row, or why it has none. Of a variable that its table does not have, a row has the total
// or nothing.
func (in *finishedCells) cell(table string, code func(variable string) string) (cell int, why string) {
	t := slices.IndexFunc(in.family.of, func(i int) bool { return in.config.Tables[i].Name == table })
	if t < 0 {
		return 0, "is of no table of the configuration (column " + tabulation.TableColumn + ")"
	}
	dimensions := in.family.set.Tables[t].Dimensions
	at := 0
	for _, name := range in.variables() {
		k := slices.IndexFunc(dimensions, func(d *tables.Dimension) bool { return d.Name == name })
		if c := code(name); k < 0 && c != "" && c != in.config.Variable(name).Total {
			return 0, "has a code of " + name + ", which is no variable of its table"
		}
	}
	for _, d := range dimensions {
		n, known := d.Node(code(d.Name))
		if !known {
			return 0, "has a code that " + d.Name + " does not have, or none"
		}
		at = at*len(d.Codes) + n
	}
	return int(in.family.set.Cell(t, at)), ""
}
