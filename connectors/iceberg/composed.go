package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// composedOf is what a snapshot is read from whose files are not its records as they are: some were written when the
// table had other columns, or records of them are deleted.
type composedOf struct {
	table   *table
	schema  *meta.Schema
	columns []parquet.Column
	root    string
	set     *files.Set // of data
	data    []meta.Entry
	deletes []meta.Entry
}

// composed is a source of such files: every column is decoded, what a file lacks is null, and deleted records are none.
type composed struct {
	schema  *microdata.Schema
	root    string
	parts   []*part
	records int64
}

// part is one data file.
type part struct {
	source  connectors.Source
	label   string
	columns []int   // of the file, by the table's; −1: the file lacks it
	rows    int64   // of the file
	gone    []int64 // deleted rows, ascending
}

func (c *composedOf) open(ctx context.Context) (_ connectors.Source, err error) {
	s := &composed{schema: &microdata.Schema{}, root: c.root}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for i, f := range c.schema.Fields {
		t, err := arrowType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w, where files were written with other columns or have deleted records", f.Name,
				err)
		}
		c.columns[i].Optional = true
		s.schema.Fields = append(s.schema.Fields, microdata.Field{Name: f.Name, Type: t, Nullable: !f.Required})
	}
	for i := range c.data {
		src, err := parquet.OpenTable(ctx, c.set.One(i), c.columns)
		if err != nil {
			return nil, err
		}
		p := &part{source: src, label: c.set.Files[i].Label, rows: src.Records()}
		s.parts = append(s.parts, p)
		if p.rows != rowsOf(c.data[i:i+1]) {
			return nil, fmt.Errorf("%s: has another number of records than the table's metadata say", p.label)
		}
		if err = p.match(s.schema); err == nil {
			err = c.lacks(i, p)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.label, err)
		}
	}
	if err := c.applied(ctx, s); err != nil {
		return nil, err
	}
	for _, p := range s.parts {
		s.records += p.rows - int64(len(p.gone))
	}
	return s, nil
}

// lacks is an error if the value of a column that a file lacks is in its partition: files that other programs have made
// of folders are added to tables so.
func (c *composedOf) lacks(i int, p *part) error {
	f := &c.data[i].File
	for k, at := range p.columns {
		for _, spec := range c.table.Specs {
			for _, field := range spec.Fields {
				if at < 0 && spec.ID == f.Spec && field.Source == c.schema.Fields[k].ID && field.Transform != meta.Void &&
					f.Partition[field.ID] != nil {
					return fmt.Errorf("lacks column %s, whose values the table's partitions have, which are not read from there",
						c.schema.Fields[k].Name)
				}
			}
		}
	}
	return nil
}

// match finds the columns in the file.
func (p *part) match(schema *microdata.Schema) error {
	for i := range schema.Fields {
		f := &schema.Fields[i]
		at := p.source.Schema().Index(f.Name)
		p.columns = append(p.columns, at)
		if at < 0 {
			if !f.Nullable {
				return fmt.Errorf("lacks column %s, which every record of the table must have", f.Name)
			}
			continue
		}
		of := p.source.Schema().Fields[at]
		f.Nullable = f.Nullable || of.Nullable
		if !alike(f.Type, of.Type) && !promotes(of.Type, f.Type) {
			return fmt.Errorf("column %s is %s in the file and %s in the table", f.Name, of.Type, f.Type)
		}
	}
	return nil
}

// promotes reports whether values of one type are read as another.
func promotes(from, to arrow.DataType) bool {
	return from.ID() == arrow.INT32 && to.ID() == arrow.INT64 || from.ID() == arrow.FLOAT32 && to.ID() == arrow.FLOAT64
}

// promoted is an array of values of a type that promotes to another.
func promoted(a arrow.Array, to arrow.DataType) arrow.Array {
	switch a := a.(type) {
	case *array.Int32:
		if to.ID() == arrow.INT64 {
			return mapped(a, a.Value, func(v int32) int64 { return int64(v) }, to)
		}
	case *array.Float32:
		if to.ID() == arrow.FLOAT64 {
			return mapped(a, a.Value, func(v float32) float64 { return float64(v) }, to)
		}
	}
	return a
}

func mapped[A, B any](a arrow.Array, value func(int) A, f func(A) B, to arrow.DataType) arrow.Array {
	b := array.NewBuilder(defaultAllocator, to).(interface {
		array.Builder
		Append(B)
	})
	defer b.Release()
	b.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
		} else {
			b.Append(f(value(i)))
		}
	}
	return b.NewArray()
}

func (s *composed) Schema() *microdata.Schema { return s.schema }
func (s *composed) Records() int64            { return s.records }
func (s *composed) Rewindable() bool          { return true }

// Streams implements connectors.Source.
func (s *composed) Streams() []string {
	var names []string
	for _, p := range s.parts {
		names = append(names, p.label)
	}
	return names
}

// Close implements connectors.Source.
func (s *composed) Close() error {
	var errs []error
	for _, p := range s.parts {
		errs = append(errs, p.source.Close())
	}
	return errors.Join(errs...)
}

// Abilities implements connectors.Source.
func (s *composed) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{
		Unchanged: func() error {
			for _, p := range s.parts {
				if err := connectors.Unchanged(p.source); err != nil {
					return err
				}
			}
			return nil
		},
		Changed: func() (last time.Time) {
			for _, p := range s.parts {
				if at := p.source.Abilities().Changed(); at.After(last) {
					last = at
				}
			}
			return last
		},
		At: func(path string) (bool, error) {
			if within(s.root, path) {
				return true, nil
			}
			for _, p := range s.parts {
				if at, err := p.source.Abilities().At(path); at || err != nil {
					return at, err
				}
			}
			return false, nil
		},
		PartitionKeys: func() []string { return nil }, Folder: func() bool { return true },
	}
}

// windowRows is the number of rows of a file that are decoded at once.
const windowRows = 32 << 10

// window is a run of consecutive rows of a file. Blocks that share it decode it once.
type window struct {
	raw  connectors.Raw
	from int64
	n    int
	keep []int32 // the rows of it that are not deleted

	once  sync.Once
	block microdata.Block
	err   error
}

func (w *window) decoded() error {
	w.once.Do(func() { w.err = w.raw.Decode(&w.block) })
	return w.err
}

// composedPass is one pass.
type composedPass struct {
	*composed
	layout *microdata.Layout
	cut    connectors.Cut

	part   int // current
	inner  connectors.Reader
	inside *microdata.Layout // of the file
	row    int64             // of the file: of the next window
	gone   int               // deleted rows before it
	first  int64             // kept rows of the file that were handed out
	rest   *window           // that is not handed out to its end
	used   int               // of its kept rows
}

// Read implements connectors.Source.
func (s *composed) Read(ctx context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if cut.Exact && cut.Records < 1 {
		return nil, errors.New("exact blocks need a number of records")
	}
	for _, w := range layout.Read {
		if f := s.schema.Fields[w.Field]; w.As == microdata.Numbers && !f.Numeric() {
			return nil, fmt.Errorf("column %s is %s, and arithmetic needs a number", f.Name, microdata.TypeName(f.Type))
		}
	}
	return &composedPass{composed: s, layout: layout, cut: cut}, ctx.Err()
}

// size is the number of rows of a window.
func (p *composedPass) size() int64 {
	if p.cut.Records > 0 {
		return min(int64(p.cut.Records), windowRows)
	}
	return windowRows
}

// window returns the next window of the current file; nil at its end.
func (p *composedPass) window(ctx context.Context) (*window, error) {
	of := p.parts[p.part]
	if p.row == of.rows {
		return nil, nil
	}
	if p.inner == nil {
		p.inside = &microdata.Layout{Schema: of.source.Schema()}
		for _, w := range p.layout.Read {
			if at := of.columns[w.Field]; at >= 0 {
				p.inside.Read = append(p.inside.Read, microdata.Want{Field: at, As: w.As})
			}
		}
		var err error
		if p.inner, err = of.source.Read(ctx, p.inside, connectors.Cut{Records: int(p.size()), Exact: true}); err != nil {
			return nil, err
		}
	}
	raw, err := p.inner.Next(ctx)
	if err == io.EOF {
		err = fmt.Errorf("%s: has fewer records than it says", of.label)
	}
	if err != nil {
		return nil, err
	}
	w := &window{raw: raw, from: p.row, n: int(min(p.size(), of.rows-p.row))}
	for i := range w.n {
		if p.gone < len(of.gone) && of.gone[p.gone] == w.from+int64(i) {
			p.gone++
			continue
		}
		w.keep = append(w.keep, int32(i))
	}
	p.row += int64(w.n)
	return w, nil
}

// Next implements connectors.Reader.
func (p *composedPass) Next(ctx context.Context) (connectors.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for p.part < len(p.parts) {
		b := &composedRaw{pass: p, stream: p.part, first: p.first}
		want := math.MaxInt
		if p.cut.Records > 0 {
			want = p.cut.Records
		}
		for b.n < want {
			if p.rest == nil {
				var err error
				if p.rest, err = p.window(ctx); err != nil {
					return nil, err
				}
				if p.used = 0; p.rest == nil {
					break
				}
			}
			k := min(want-b.n, len(p.rest.keep)-p.used)
			if k > 0 {
				b.pieces = append(b.pieces, piecewise{p.rest, p.rest.keep[p.used : p.used+k]})
			}
			b.n += k
			if p.used += k; p.used == len(p.rest.keep) {
				p.rest = nil
			}
			if !p.cut.Exact && b.n > 0 {
				break
			}
		}
		if b.n > 0 {
			p.first += int64(b.n)
			return b, nil
		}
		if err := p.closeFile(); err != nil {
			return nil, err
		}
		p.part++
		p.row, p.gone, p.first = 0, 0, 0
	}
	return nil, io.EOF
}

func (p *composedPass) closeFile() error {
	if p.inner == nil {
		return nil
	}
	err := p.inner.Close()
	p.inner = nil
	return err
}

// Close implements connectors.Reader.
func (p *composedPass) Close() error {
	p.part = len(p.parts)
	return p.closeFile()
}

// piecewise is some of the rows of a window.
type piecewise struct {
	*window
	rows []int32
}

// composedRaw is a block of rows of one file.
type composedRaw struct {
	pass   *composedPass
	stream int
	first  int64
	n      int
	pieces []piecewise
}

// Bytes implements connectors.Raw.
func (b *composedRaw) Bytes() (n int64) {
	for _, p := range b.pieces {
		if p.rows[0] == p.keep[0] { // the first block that needs the window
			n += p.raw.Bytes()
		}
	}
	return n
}

// Decode implements connectors.Raw.
func (b *composedRaw) Decode(to *microdata.Block) error {
	s := b.pass.composed
	of := s.parts[b.stream]
	to.Reset(b.stream, b.first, b.n, len(b.pass.layout.Read))
	for _, p := range b.pieces {
		if err := p.decoded(); err != nil {
			return err
		}
	}
	inside := 0
	for i, w := range b.pass.layout.Read {
		f, column := s.schema.Fields[w.Field], -1
		if of.columns[w.Field] >= 0 {
			column = inside
			inside++
		}
		if w.As == microdata.Numbers {
			b.numbers(&to.Columns[i], column)
			continue
		}
		if column < 0 {
			to.Columns[i].Array = arrowipc.Nulls(f.Type, b.n)
			continue
		}
		a, err := b.array(column)
		if err != nil {
			return fmt.Errorf("%s, column %s: %w", of.label, f.Name, err)
		}
		to.Columns[i].Array = promoted(a, f.Type)
	}
	at := 0
	for _, p := range b.pieces {
		rejects := map[int32]microdata.Reject{}
		for _, r := range p.block.Rejects {
			rejects[int32(r.Row)] = r
		}
		for k, row := range p.rows {
			if r, ok := rejects[row]; ok {
				to.Reject(at+k, r.Column, r.Reason)
			}
		}
		at += len(p.rows)
	}
	return nil
}

// numbers fills a column from one of the windows; −1: nulls.
func (b *composedRaw) numbers(to *microdata.Column, column int) {
	v := to.Alloc(b.n, true)
	at := 0
	for _, p := range b.pieces {
		for _, row := range p.rows {
			if column < 0 || !p.block.Columns[column].Original.Valid.Has(int(row)) {
				v.Values[at] = 0
				v.Valid.Clear(at)
			} else {
				v.Values[at] = p.block.Columns[column].Original.Values[row]
			}
			at++
		}
	}
}

// array joins the rows of a column of the windows.
func (b *composedRaw) array(column int) (arrow.Array, error) {
	var runs []arrow.Array
	for _, p := range b.pieces {
		a := p.block.Columns[column].Array
		for i := 0; i < len(p.rows); {
			j := i + 1
			for j < len(p.rows) && p.rows[j] == p.rows[j-1]+1 {
				j++
			}
			runs = append(runs, array.NewSlice(a, int64(p.rows[i]), int64(p.rows[j-1])+1))
			i = j
		}
	}
	if len(runs) == 1 {
		return runs[0], nil
	}
	return arrowipc.Join(runs)
}
