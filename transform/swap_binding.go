package transform

import (
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// bind gives the records [from, from+n) the values that their draws are bound to in
// a release: one number of all that the exchange depends on and moves, keys,
// attribute and protected values as they stand. Were it the place alone, or the
// identity, who knows one file wholly would know its coins, and with them which
// records another file under the key has exchanged there.
func (s *swapColumns) bind(c *Chain, w *work, b *microdata.Block, from, n int) []float64 {
	return bindTo(c, w, b, s.bound, from, n)
}

// bindTo gives the records [from, from+n) one number each of the columns, given by
// their indexes in Block.Columns.
func bindTo(c *Chain, w *work, b *microdata.Block, columns []int, from, n int) []float64 {
	if w.binding == nil {
		w.binding = c.setup.Key.Binding()
	}
	w.binding.Begin(n, len(columns))
	for _, index := range columns {
		col := &b.Columns[index]
		if a := col.OutArray(); a != nil {
			part := array.NewSlice(a, int64(from), int64(from+n))
			w.binding.Array(part)
			part.Release()
			continue
		}
		v, valid := col.Out(), (func(i int) bool)(nil)
		if v.Valid != nil {
			valid = func(i int) bool { return v.Valid.Has(from + i) }
		}
		w.binding.Numbers(v.Values[from:from+n], valid)
	}
	values := w.floats(n)
	w.binding.Values(values)
	return values
}
