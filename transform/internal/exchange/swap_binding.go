package exchange

import (
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// bind returns for the records [from, from+n) the values that their draws are bound to in
// a release: one number for all that the exchange depends on and moves, which are the present
// keys, attribute and protected values. If draws were bound to place or identity alone, somebody
// who knows all of one file would know its coins, and so which records of another file under
// the same key were exchanged at the same places.
func (s *swapColumns) bind(c *core.Chain, w *core.Work, b *microdata.Block, from, n int) []float64 {
	return core.BindTo(c, w, b, s.bound, from, n)
}
