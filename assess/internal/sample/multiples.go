package sample

import (
	"math"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// multiples holds the values of a column as counts of a power of ten, in half the memory, as long
// as that is exact.
type multiples struct {
	per    float64 // counts per unit: 1, 10, …; 0: no value has been added; < 0: values are held elsewhere
	counts []int32
}

// The greatest per, and the counts that stand for NaN and for −0.
const (
	finest    = 1e6
	nothing   = math.MinInt32
	minusZero = math.MinInt32 + 1
)

// add appends values. If they are no multiples, it returns false and appends nothing.
func (m *multiples) add(s *Sample, values []float64) bool {
	if m.per < 0 {
		return false
	}
	m.per = max(m.per, 1)
	m.counts = reserved(s, m.counts, len(values))
	to := m.counts[len(m.counts) : len(m.counts)+len(values)]
	for !countsOf(to, values, m.per) {
		if !m.refine() {
			return false
		}
	}
	m.counts = m.counts[:len(m.counts)+len(values)]
	return true
}

// countsOf writes the counts of values; it returns false if not each value is that of its count.
func countsOf(counts []int32, values []float64, per float64) bool {
	for i, x := range values {
		q := x * per
		if !(math.Abs(q) < math.MaxInt32) {
			if _, coded := microdata.MissingCode(x); x == x || coded {
				return false
			}
			counts[i] = nothing
			continue
		}
		n := int32(math.RoundToEven(q))
		if n <= minusZero || float64(n)/per != x { // a product just above the least count can be rounded to it
			return false
		}
		if n == 0 && math.Signbit(x) {
			n = minusZero
		}
		counts[i] = n
	}
	return true
}

// refine makes per ten times as large; it returns false if the counts would be too large.
func (m *multiples) refine() bool {
	const most = math.MaxInt32 / 10
	if m.per >= finest {
		return false
	}
	for _, n := range m.counts {
		if (n < -most || n > most) && n > minusZero {
			return false
		}
	}
	for i, n := range m.counts {
		if n > minusZero {
			m.counts[i] = 10 * n
		}
	}
	m.per *= 10
	return true
}

// value returns value i.
func (m *multiples) value(i int32) float64 {
	switch n := m.counts[i]; n {
	case nothing:
		return math.NaN()
	case minusZero:
		return math.Copysign(0, -1)
	default:
		// The nearest float64 of a decimal, for any per at which it is whole.
		return float64(n) / m.per
	}
}

// values returns the values in the given order.
func (m *multiples) values(order []int32) []float64 {
	values := make([]float64, len(order))
	for i, from := range order {
		values[i] = m.value(from)
	}
	return values
}
