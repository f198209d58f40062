package foreign

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/picture"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Release is a release that any tool made: the original and the released
// records, matched by position or by an identifying column.
type Release struct {
	Original, Released connectors.SourceConfig
	ID                 string   // "" matches by position
	Columns            []string // numeric columns to measure; none: all that both files have
	Targets            []string
	Missing            map[string]*microdata.Missing // declared codes for missing values, by column
	Pictures           bool                          // whether the columns are to be drawn
}

// Measured is the assessment of a foreign release.
type Measured struct {
	Measures            *assess.Measures
	OriginalN, Released int64
	Unmatched           int64 // original records without a released record
	Pictures            []picture.Pair

	draw *drawer
}

// Assess measures R and U of the release itself: the masks that made it
// are not known, so nothing can be replicated.
func Assess(ctx context.Context, f Release, progress *pipeline.Progress) (*Measured, error) {
	original, err := openNamed(ctx, "original", f.Original)
	if err != nil {
		return nil, err
	}
	defer original.Close()
	released, err := openNamed(ctx, "released", f.Released)
	if err != nil {
		return nil, err
	}
	defer released.Close()
	for _, src := range []connectors.Source{original, released} {
		if err := pipeline.DeclareCodes(src.Schema(), f.Missing); err != nil {
			return nil, err
		}
	}
	names, err := f.columns(original.Schema(), released.Schema())
	if err != nil {
		return nil, err
	}
	var columns []assess.Column
	for i, name := range names {
		columns = append(columns, assess.Column{Name: name, Index: i, Masked: true})
	}
	o := assess.Options{Columns: columns, Targets: f.Targets, Record: true}
	beside := f.beside(names, released.Schema(), &o)
	acc, err := assess.New(o)
	if err != nil {
		return nil, err
	}
	a, err := newRecords(ctx, original, names, nil, f.ID)
	if err != nil {
		return nil, err
	}
	defer a.close()
	b, err := newRecords(ctx, released, names, beside, f.ID)
	if err != nil {
		return nil, err
	}
	defer b.close()
	progress.Start("assess", original.Records())
	res := &Measured{}
	if f.Pictures {
		res.draw = newDrawer(names)
	}
	if f.ID == "" {
		err = res.byPosition(ctx, a, b, len(columns), acc, progress)
	} else {
		err = res.byID(ctx, a, b, len(columns), acc, progress)
	}
	if err != nil {
		return nil, err
	}
	res.Pictures = res.draw.pictures()
	res.Measures, err = acc.Measure(ctx)
	return res, err
}

// columns returns the numeric columns to be measured.
func (f Release) columns(a, b *microdata.Schema) ([]string, error) {
	numeric := func(s *microdata.Schema, name string) bool {
		i := s.Index(name)
		return i >= 0 && s.Fields[i].Numeric()
	}
	var both []string
	for _, field := range a.Fields {
		if field.Name != f.ID && numeric(a, field.Name) && numeric(b, field.Name) {
			both = append(both, field.Name)
		}
	}
	for _, name := range f.Columns {
		if !slices.Contains(both, name) {
			return nil,
				pipeline.DataErrorf("column %q is not a numeric column of both files%s", name, check.SuggestPlace(name, a.Names()))
		}
	}
	for _, file := range []struct {
		words  string
		schema *microdata.Schema
	}{{"original", a}, {"released", b}} {
		if f.ID != "" && file.schema.Index(f.ID) < 0 {
			return nil, pipeline.DataErrorf("column %q, which is to match the records, is not in the %s file%s", f.ID,
				file.words, check.SuggestPlace(f.ID, file.schema.Names()))
		}
	}
	if len(f.Columns) > 0 {
		both = f.Columns
	}
	if len(both) == 0 {
		return nil, pipeline.DataErrorf("the two files have no numeric column in common")
	}
	return both, nil
}

// mostBeside is the number of released columns, beside the measured ones, that are looked at.
const mostBeside = 200

// mostPieces is the number of columns of texts of which pieces are looked at as well.
const mostPieces = 20

// shown is what is looked at of a column: the whole value, or a piece of its texts (assess.BesideColumn), which follows
// it.
type shown struct {
	name  string
	piece int
}

// beside returns the columns of the released file that are not measured, numbers first, and adds them to
// the options. They follow the measured ones in a block.
func (f Release) beside(names []string, released *microdata.Schema, o *assess.Options) (list []shown) {
	add := func(s shown) {
		o.Beside = append(o.Beside, assess.BesideColumn{Name: s.name, Index: len(names) + len(list), Piece: s.piece})
		list = append(list, s)
	}
	pieces := 0
	for _, numeric := range []bool{true, false} {
		for _, field := range released.Fields {
			switch {
			case field.Numeric() != numeric || field.Name == f.ID || slices.Contains(names, field.Name):
			case field.Nested() || len(list)-assess.Pieces*pieces >= mostBeside:
				o.Unseen = append(o.Unseen, field.Name)
			default:
				add(shown{name: field.Name})
				if !field.Text() || pieces == mostPieces {
					continue
				}
				pieces++
				for piece := range assess.Pieces {
					add(shown{field.Name, piece + 1})
				}
			}
		}
	}
	return list
}

// records iterates over the records of a source, block by block.
type records struct {
	source connectors.Source
	name   string
	reader connectors.Reader
	layout *microdata.Layout
	block  *microdata.Block
	at     int // next record of the block
	count  int64
	beside [][]float64 // by column beside the measured ones, what the block shows of it
	shown  []shown
	from   []int // by column beside the measured ones, its index in blocks
	id     int   // index in blocks of the column that matches
}

// newRecords starts a pass over the named numeric columns, followed by those beside them and the
// identifying one in array form.
func newRecords(ctx context.Context, src connectors.Source, names []string, beside []shown, id string) (*records,
	error) {
	schema := src.Schema()
	layout := &microdata.Layout{Schema: schema}
	for _, name := range names {
		layout.Read = append(layout.Read, microdata.Want{Field: schema.Index(name), As: microdata.Numbers, Measured: true})
	}
	var from []int
	for _, s := range beside {
		if s.piece == 0 {
			want := microdata.Want{Field: schema.Index(s.name), As: microdata.Array}
			if schema.Fields[want.Field].Numeric() {
				want.As, want.Measured = microdata.Numbers, true
			}
			layout.Read = append(layout.Read, want)
		}
		from = append(from, len(layout.Read)-1)
	}
	matches := len(layout.Read)
	if id != "" {
		layout.Read = append(layout.Read, microdata.Want{Field: schema.Index(id), As: microdata.Array})
	}
	reader, err := src.Read(ctx, layout, connectors.Cut{})
	if err != nil {
		return nil, err
	}
	return &records{source: src, name: src.Streams()[0], reader: reader, layout: layout, block: new(microdata.Block),
		beside: make([][]float64, len(beside)), shown: beside, from: from, id: matches}, nil
}

func (r *records) close() { r.reader.Close() }

// remaining returns how many records of the current block are left. It reads the next block if
// there are none; 0 at the end.
func (r *records) remaining(ctx context.Context) (int, error) {
	for r.at == r.block.N {
		raw, err := r.reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return 0, connectors.Unchanged(r.source)
		}
		if err != nil {
			return 0, err
		}
		if err := raw.Decode(r.block); err != nil {
			return 0, err
		}
		r.layout.ClearMissing(r.block)
		r.at = 0
		r.count += int64(r.block.N)
		for j := range r.beside {
			r.beside[j] = r.beside[j][:0]
			for i := range r.block.N {
				r.beside[j] = append(r.beside[j], assess.Piece(&r.block.Columns[r.from[j]], i, r.shown[j].piece))
			}
		}
	}
	return r.block.N - r.at, nil
}

func (res *Measured) byPosition(ctx context.Context, a, b *records, columns int, acc *assess.Accumulator,
	progress *pipeline.Progress) error {
	pair := new(microdata.Block)
	var first int64
	for {
		n, err := a.remaining(ctx)
		if err != nil {
			return err
		}
		m, err := b.remaining(ctx)
		if err != nil {
			return err
		}
		if n == 0 || m == 0 {
			if n != m {
				return pipeline.DataErrorf("the two files have different numbers of records; match them with --id COLUMN")
			}
			res.OriginalN, res.Released = a.count, b.count
			return nil
		}
		n = min(n, m)
		pair.Reset(0, first, n, columns+len(b.beside))
		for j, shown := range b.beside {
			pair.Columns[columns+j].Original = microdata.Vector{Values: shown[b.at : b.at+n]}
		}
		for j := range columns {
			slice(&pair.Columns[j].Original, a.block.Columns[j].Original, a.at, n)
			slice(&pair.Columns[j].Released, b.block.Columns[j].Original, b.at, n)
		}
		for i := range n {
			if a.block.Rejected(a.at+i) || b.block.Rejected(b.at+i) {
				pair.Reject(i, "", "malformed")
			}
		}
		acc.Add(pair)
		res.draw.add(pair)
		progress.Add(n)
		a.at, b.at, first = a.at+n, b.at+n, first+int64(n)
	}
}

// slice sets dst to the records [at, at+n) of v.
func slice(dst *microdata.Vector, v microdata.Vector, at, n int) {
	dst.Values, dst.Valid = v.Values[at:at+n], nil
	if v.Valid == nil {
		return
	}
	dst.Valid = microdata.NewBitmap(n, nil)
	for i := range n {
		if !v.Valid.Has(at + i) {
			dst.Valid.Clear(i)
		}
	}
}

// byID holds the released records in memory and looks each original one up.
func (res *Measured) byID(ctx context.Context, a, b *records, columns int, acc *assess.Accumulator,
	progress *pipeline.Progress) error {
	released, err := index(ctx, b, columns)
	if err != nil {
		return err
	}
	for {
		n, err := a.remaining(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			res.OriginalN, res.Released = a.count, b.count
			return nil
		}
		for j := range columns {
			a.block.Columns[j].Mutable()
		}
		unmatched, err := released.join(a, columns)
		if err != nil {
			return err
		}
		res.Unmatched += unmatched
		acc.Add(a.block)
		res.draw.add(a.block)
		progress.Add(n)
		a.at = a.block.N
	}
}

// indexed has the released records by their identity.
type indexed struct {
	rows    map[string]int
	values  [][]float64 // by column, NaN for a missing value
	matched []bool      // whether an original record has that identity
}

// index reads all records of a file.
func index(ctx context.Context, b *records, columns int) (*indexed, error) {
	x := &indexed{rows: map[string]int{}, values: make([][]float64, columns+len(b.beside))}
	for {
		n, err := b.remaining(ctx)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			x.matched = make([]bool, len(x.rows))
			return x, nil
		}
		ids := b.block.Columns[b.id].Array
		for i := range n {
			if b.block.Rejected(i) {
				continue
			}
			id, err := identity(ids, i, b, i)
			if err != nil {
				return nil, err
			}
			if _, twice := x.rows[id]; twice {
				return nil, repeated(b, i)
			}
			x.rows[id] = len(x.rows)
			for j := range columns {
				x.values[j] = append(x.values[j], valueOrNaN(b.block.Columns[j].Original, i))
			}
			for j, shown := range b.beside {
				x.values[columns+j] = append(x.values[columns+j], shown[i])
			}
		}
		b.at = b.block.N
	}
}

// join sets the released values of the original records in the current block.
func (x *indexed) join(a *records, columns int) (unmatched int64, err error) {
	ids := a.block.Columns[a.id].Array
	beside := make([][]float64, len(x.values)-columns)
	for j := range beside {
		beside[j] = make([]float64, a.block.N)
	}
	defer func() { // in place of the identity, which the assessment does not read
		a.block.Columns = a.block.Columns[:columns]
		for _, values := range beside {
			a.block.Columns = append(a.block.Columns, microdata.Column{Original: microdata.Vector{Values: values}})
		}
	}()
	for i := range a.block.N {
		if a.block.Rejected(i) {
			continue
		}
		id, err := identity(ids, i, a, i)
		if err != nil {
			return unmatched, err
		}
		row, ok := x.rows[id]
		if !ok {
			unmatched++
			a.block.Reject(i, "", "has no released record")
			continue
		}
		if x.matched[row] {
			return unmatched, repeated(a, i)
		}
		x.matched[row] = true
		for j := range columns {
			setOrNull(&a.block.Columns[j].Released, i, a.block.N, x.values[j][row])
		}
		for j := range beside {
			beside[j][i] = x.values[columns+j][row]
		}
	}
	return unmatched, nil
}

func identity(ids arrow.Array, i int, r *records, row int) (string, error) {
	if ids.IsNull(i) {
		return "",
			&connectors.RecordError{Stream: r.name, Record: r.block.First + int64(row) + 1,
				Reason: "the column that matches the records has no value"}
	}
	return idOf(ids, i), nil
}

func repeated(r *records, row int) error {
	return &connectors.RecordError{Stream: r.name, Record: r.block.First + int64(row) + 1,
		Reason: "the column that matches the records repeats a value"}
}

func valueOrNaN(v microdata.Vector, i int) float64 {
	if !v.Valid.Has(i) {
		return math.NaN()
	}
	return v.Values[i]
}

func setOrNull(v *microdata.Vector, i, n int, value float64) {
	if value == value {
		v.Values[i] = value
		if v.Valid != nil {
			v.Valid.Set(i)
		}
		return
	}
	if v.Valid == nil {
		v.Valid = microdata.NewBitmap(n, nil)
	}
	v.Values[i] = 0
	v.Valid.Clear(i)
}
