package transform

import (
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// bind returns for the records [from, from+n) the values that their draws are bound to in
// a release: one number for all that the exchange depends on and moves, which are the present
// keys, attribute and protected values. If draws were bound to place or identity alone, somebody
// who knows all of one file would know its coins, and so which records of another file under
// the same key were exchanged at the same places.
func (s *swapColumns) bind(c *core.Chain, w *core.Work, b *microdata.Block, from, n int) []float64 {
	return bindTo(c, w, b, s.bound, from, n)
}

// bindTo returns one number for each of the records [from, from+n), computed from the columns
// with the given indexes in Block.Columns.
func bindTo(c *core.Chain, w *core.Work, b *microdata.Block, columns []int, from, n int) []float64 {
	if w.Binding == nil {
		w.Binding = c.Setup.Key.Binding()
	}
	w.Binding.Begin(n, len(columns))
	for _, index := range columns {
		col := &b.Columns[index]
		if a := col.OutArray(); a != nil {
			part := array.NewSlice(a, int64(from), int64(from+n))
			w.Binding.Array(part)
			part.Release()
			continue
		}
		v, valid := col.Out(), (func(i int) bool)(nil)
		if v.Valid != nil {
			valid = func(i int) bool { return v.Valid.Has(from + i) }
		}
		w.Binding.Numbers(v.Values[from:from+n], valid)
	}
	values := w.Floats(n)
	w.Binding.Values(values)
	return values
}
