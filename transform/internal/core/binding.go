package core

import (
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// BindTo returns one number for each of the records [from, from+n), computed from the columns
// with the given indexes in Block.Columns.
func BindTo(c *Chain, w *Work, b *microdata.Block, columns []int, from, n int) []float64 {
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
