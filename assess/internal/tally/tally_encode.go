package tally

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// Encode writes the tallies and the values at either end.
func (s *Counts) Encode(e *wire.Encoder) {
	s.X.encode(e)
	s.Y.encode(e)
	s.least.encode(e)
	s.most.encode(e)
}

// Decode reads what Encode wrote.
func (s *Counts) Decode(d *wire.Decoder) {
	s.X.decode(d)
	s.Y.decode(d)
	s.least.decode(d)
	s.most.decode(d)
}

// encode writes for every bin with values the difference of its code from the one before, and
// its count: two or three bytes if values are close together.
func (t *Tally) encode(e *wire.Encoder) {
	bins := 0
	t.scan(func(uint64, uint64) { bins++ })
	e.Uint(t.Seen)
	e.Uint(uint64(bins))
	before := uint64(0)
	t.scan(func(code, count uint64) {
		e.Short(code - before)
		e.Short(count)
		before = code
	})
}

// decode reads what encode wrote. Impossible data are a failure.
func (t *Tally) decode(d *wire.Decoder) {
	t.Seen = d.Uint()
	code := uint64(0)
	for i := range d.Count(2) {
		step, count := d.Short(), d.Short()
		if step >= 1<<(12+pageBits) || step == 0 && i > 0 || count == 0 || d.Failed {
			d.Failed = true
			return
		}
		code += step
		if code >= 1<<(12+pageBits) || !cell.Finite(math.Float64frombits(code<<binShift)) || count > math.MaxInt64-t.N {
			d.Failed = true
			return
		}
		t.put(code, count)
		t.N += count
	}
	// The weight of a value is 1 or rare.
	if t.N < t.Seen || t.N/rare > t.Seen {
		d.Failed = true
	}
}

// encode writes the values in ascending order, so that equal tails have the same encoding.
func (t *tail) encode(e *wire.Encoder) {
	values := t.sorted()
	e.Uint(uint64(len(values)))
	e.Floats(values...)
}

// decode reads what encode wrote.
func (t *tail) decode(d *wire.Decoder) {
	n := d.Count(8)
	if n > t.keep {
		d.Failed = true
		return
	}
	for range n {
		v := d.Float()
		if !cell.Finite(v) || len(t.values) > 0 && v < t.values[len(t.values)-1] {
			d.Failed = true
			return
		}
		t.values = append(t.values, v)
	}
	t.prune()
}
