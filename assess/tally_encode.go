package assess

import "math"

// encode writes every bin that holds something as the step of its code and its
// count: two or three bytes where values lie close.
func (t *tally) encode(e *encoder) {
	bins := 0
	t.scan(func(uint64, uint64) { bins++ })
	e.uint(t.seen)
	e.uint(uint64(bins))
	before := uint64(0)
	t.scan(func(code, count uint64) {
		e.short(code - before)
		e.short(count)
		before = code
	})
}

// decode reads what encode wrote. What cannot be is a failure.
func (t *tally) decode(d *decoder) {
	t.seen = d.uint()
	code := uint64(0)
	for i := range d.count(2) {
		step, count := d.short(), d.short()
		if step >= 1<<(12+pageBits) || step == 0 && i > 0 || count == 0 || d.failed {
			d.failed = true
			return
		}
		code += step
		if code >= 1<<(12+pageBits) || !finite(math.Float64frombits(code<<binShift)) || count > math.MaxInt64-t.n {
			d.failed = true
			return
		}
		page := &t.pages[code>>pageBits]
		if *page == nil {
			*page = new([pageBins]uint64)
		}
		(*page)[code&(pageBins-1)] = count
		t.n += count
	}
	// A value counts once, or for rare of them.
	if t.n < t.seen || t.n/rare > t.seen {
		d.failed = true
	}
}

// encode writes the values in ascending order, which makes equal tails equal in their
// encoding.
func (t *tail) encode(e *encoder) {
	values := t.sorted()
	e.uint(uint64(len(values)))
	e.floats(values...)
}

// decode reads what encode wrote.
func (t *tail) decode(d *decoder) {
	n := d.count(8)
	if n > t.keep {
		d.failed = true
		return
	}
	for range n {
		v := d.float()
		if !finite(v) || len(t.values) > 0 && v < t.values[len(t.values)-1] {
			d.failed = true
			return
		}
		t.values = append(t.values, v)
	}
	t.prune()
}
