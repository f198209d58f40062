package tabling

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/workbook"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The statuses of published cells. They do not distinguish primary from secondary suppression:
// the former would say that the cell breaks a rule, and so bound its value.
const (
	published  = "published"
	suppressed = "suppressed"
	empty      = "empty" // no contributor; the value is 0
	perturbed  = "perturbed"
	rounded    = "rounded"
	simulated  = "simulated"
	swapped    = "swapped"
	sampled    = "sampled"
	adjusted   = "adjusted"
)

// publicStatus returns the published status of a cell.
func (p *protected) publicStatus(cell int32) string {
	switch {
	case p.margin != nil && p.margin(cell):
		return published
	case p.published != nil:
		return p.changed() // also for an empty or an unchanged cell
	case p.hidden(cell):
		return suppressed
	case p.isEmpty(cell):
		return empty
	}
	return published
}

// changed returns the status of every cell of a table whose counts are published changed.
func (p *protected) changed() string {
	if p.table.Protect.Round != nil {
		return rounded
	}
	if p.table.Protect.Adjust != nil {
		return adjusted
	}
	if p.table.Protect.Simulate != nil {
		return simulated
	}
	if p.table.Protect.Swap != nil {
		return swapped
	}
	if p.table.Protect.Sample != nil {
		return sampled
	}
	return perturbed
}

// number returns the value of a cell in the unit of its table.
func (p *protected) number(v float64) float64 { return v / math.Pow10(p.options.Decimals) }

// variables returns the columns of codes of the release: those of all tables, in the order in
// which the tables name them.
func (r *records) variables() (names []string) {
	for _, t := range r.config.Tables {
		for _, v := range t.Rows {
			if !slices.Contains(names, v) {
				names = append(names, v)
			}
		}
	}
	return names
}

// cellSource describes the cells to a sink, in the place of a source.
type cellSource struct {
	schema  *microdata.Schema
	rows    int64
	records connectors.Source
	sheets  func() []workbook.Sheet
}

// Sheets implements workbook.Source.
func (s *cellSource) Sheets() []workbook.Sheet { return s.sheets() }

func (s *cellSource) Schema() *microdata.Schema { return s.schema }
func (s *cellSource) Streams() []string         { return []string{"tables"} }
func (s *cellSource) Records() int64            { return s.rows }
func (s *cellSource) Rewindable() bool          { return false }
func (s *cellSource) Close() error              { return nil }

// Abilities implements connectors.Source: a release must not overwrite the file of the records.
func (s *cellSource) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{At: s.records.Abilities().At}
}

func (s *cellSource) Read(context.Context, *microdata.Layout, connectors.Cut) (connectors.Reader, error) {
	return nil, fmt.Errorf("tables: %w", io.ErrUnexpectedEOF)
}

// blockRows is how many cells are passed to the sink at once.
const blockRows = 1 << 16

// write writes every cell of every table, in its public form, under a temporary name.
func (r *records) write(ctx context.Context, list []*protected) (connectors.Sink, error) {
	w := &cellWriter{records: r, variables: r.variables()}
	text := func(name string) microdata.Field { return microdata.Field{Name: name, Type: arrow.BinaryTypes.String} }
	number := microdata.Field{Name: "value", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	for _, p := range list {
		w.rows += p.rows()
		if p.options.Decimals > 0 {
			number.Type = arrow.PrimitiveTypes.Float64
		}
	}
	w.whole = number.Type == arrow.PrimitiveTypes.Int64
	schema := &microdata.Schema{}
	for _, name := range w.front() {
		schema.Fields = append(schema.Fields, text(name))
	}
	number.Name, w.back = "value", []string{"status"}
	if w.config.SDMX != nil {
		number.Name, w.back = "OBS_VALUE", []string{"OBS_STATUS", "CONF_STATUS"}
	}
	schema.Fields = append(schema.Fields, number)
	for _, name := range w.back {
		schema.Fields = append(schema.Fields, text(name))
	}
	layout := &microdata.Layout{Schema: schema}
	for i, f := range schema.Fields {
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
		layout.Release = append(layout.Release, microdata.Output{Field: f, Source: i, Column: i, Masked: true, Decimals: -1})
	}
	var err error
	w.sink,
		err = r.config.Sink.Config.Create(ctx,
		connectors.Plan{Source: &cellSource{schema, w.rows, r.source, func() []workbook.Sheet { return r.sheets(list) }},
			Layout: layout})
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	if err := w.all(ctx, list); err != nil {
		return w.sink, fmt.Errorf("sink: %w", err)
	}
	if err := w.sink.Finish(ctx); err != nil {
		return w.sink, fmt.Errorf("sink: %w", err)
	}
	return w.sink, nil
}

// rows returns the number of cells of all tables; a cell in two tables counts twice.
func (p *protected) rows() (n int64) {
	for t := range p.set.Tables {
		n += int64(p.size(t))
	}
	return n
}

// size returns how many cells a table has.
func (p *protected) size(table int) int {
	n := 1
	for _, d := range p.set.Tables[table].Dimensions {
		n *= len(d.Codes)
	}
	return n
}

// cellWriter collects cells into blocks.
type cellWriter struct {
	*records
	variables []string
	whole     bool // values are whole numbers
	rows      int64
	sink      connectors.Sink

	first    int64
	n        int
	back     []string               // names of the columns after the value
	columns  []*array.StringBuilder // the columns of front and of back
	whole64  *array.Int64Builder
	decimals *array.Float64Builder
}

// all writes the tables in the order of the configuration.
func (w *cellWriter) all(ctx context.Context, list []*protected) error {
	w.columns = make([]*array.StringBuilder, len(w.front())+len(w.back))
	for i := range w.columns {
		w.columns[i] = array.NewStringBuilder(memory.DefaultAllocator)
	}
	w.whole64, w.decimals = array.NewInt64Builder(memory.DefaultAllocator),
		array.NewFloat64Builder(memory.DefaultAllocator)
	for i := range w.config.Tables {
		p, t := tableOf(list, i)
		dimensions := p.set.Tables[t].Dimensions
		place := make([]int, len(w.variables)) // of a variable: its dimension, -1 if the table sums over it
		for k, v := range w.variables {
			place[k] = slices.IndexFunc(dimensions, func(d *tables.Dimension) bool { return d.Name == v })
		}
		nodes := make([]int, len(dimensions))
		for at := range p.size(t) {
			for k, rest := len(dimensions)-1, at; k >= 0; k-- {
				nodes[k], rest = rest%len(dimensions[k].Codes), rest/len(dimensions[k].Codes)
			}
			before := w.constants(w.config.Tables[i].Name)
			for k, text := range before {
				w.columns[k].Append(text)
			}
			for k, v := range w.variables {
				if place[k] < 0 {
					w.columns[len(before)+k].Append(w.config.Variable(v).Total)
				} else {
					w.columns[len(before)+k].Append(dimensions[place[k]].Codes[nodes[place[k]]])
				}
			}
			w.value(p, p.set.Cell(t, at))
			if w.n++; w.n == blockRows {
				if err := w.flush(ctx); err != nil {
					return err
				}
			}
		}
	}
	return w.flush(ctx)
}

func (w *cellWriter) value(p *protected, cell int32) {
	status := p.publicStatus(cell)
	for k, text := range w.statuses(status, p.status[cell] == tables.Primary) {
		w.columns[len(w.columns)-len(w.back)+k].Append(text)
	}
	v := p.number(p.publishedValue(cell))
	switch {
	case status == suppressed && w.whole:
		w.whole64.AppendNull()
	case status == suppressed:
		w.decimals.AppendNull()
	case w.whole:
		w.whole64.Append(int64(v))
	default:
		w.decimals.Append(v)
	}
}

func (w *cellWriter) flush(ctx context.Context) error {
	if w.n == 0 {
		return nil
	}
	b := new(microdata.Block)
	b.Reset(0, w.first, w.n, len(w.columns)+1)
	value := len(w.columns) - len(w.back)
	for i, c := range w.columns {
		at := i
		if i >= value {
			at++
		}
		b.Columns[at].Array = c.NewArray()
	}
	if w.whole {
		b.Columns[value].Array = w.whole64.NewArray()
	} else {
		b.Columns[value].Array = w.decimals.NewArray()
	}
	w.first, w.n = w.first+int64(w.n), 0
	encoded, err := w.sink.Encode(b)
	if err != nil {
		return err
	}
	return w.sink.Write(ctx, encoded)
}

// tableOf returns the family of a configured table, and its place there.
func tableOf(list []*protected, i int) (*protected, int) {
	for _, p := range list {
		if t := slices.Index(p.of, i); t >= 0 {
			return p, t
		}
	}
	panic("tabling: a table of no family")
}
