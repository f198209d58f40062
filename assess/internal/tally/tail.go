package tally

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// tail keeps the most extreme original values at one end of a column: in skewed data a few of
// them determine the mean squared errors, and all of them matter for an extreme. Tails can be
// merged.
type tail struct {
	keep   int
	wide   bool    // among many columns
	sign   float64 // +1: the greatest values; −1: the least
	values []float64
	bound  float64 // once keep values are held: the bound beyond which a further one is kept
}

// The number of values kept at either end of a masked column, and their greatest memory in all
// columns together.
const (
	tailValues = 10_000
	tailBytes  = 64 << 20
)

// wide is the number of masked columns above which memory matters more than the time of pruning.
const wide = 16

func newTail(sign float64, masked int) tail {
	keep := max(100, min(tailValues, tailBytes/(2*2*8*max(masked, 1))))
	return tail{keep: keep, wide: masked > wide, sign: sign, bound: math.Inf(-int(sign))}
}

// add adds finite values.
func (t *tail) add(values []float64) {
	bound := t.bound
	if t.sign > 0 {
		for _, v := range values {
			if v > bound {
				t.values = append(t.values, v)
			}
		}
	} else {
		for _, v := range values {
			if v < bound {
				t.values = append(t.values, v)
			}
		}
	}
	t.bind()
}

// bind prunes if the most values are held.
func (t *tail) bind() {
	if len(t.values) >= t.most() {
		t.prune()
	}
}

// most is the number of values at which those beyond keep are dropped.
func (t *tail) most() int {
	if t.wide {
		return t.keep + max(1, t.keep/2)
	}
	return 2 * t.keep
}

// prune drops all values that are not to be kept.
func (t *tail) prune() {
	if len(t.values) < t.keep {
		return
	}
	if t.sign > 0 {
		n := len(t.values) - t.keep
		t.bound = orderstat.Nth(t.values, n)
		t.values = append(t.values[:0], t.values[n:]...)
		return
	}
	t.bound = orderstat.Nth(t.values, t.keep-1)
	t.values = t.values[:t.keep]
}

// sorted returns the values in ascending order.
func (t *tail) sorted() []float64 {
	t.prune()
	rank.Sort(t.values)
	return t.values
}

func (t *tail) merge(o *tail) { t.add(o.values) }

// reset empties the tail.
func (t *tail) reset() { t.values, t.bound = t.values[:0], math.Inf(-int(t.sign)) }

// inherit makes the tail, which is empty, keep only what o would keep.
func (t *tail) inherit(o *tail) {
	o.prune()
	t.bound = o.bound
}
