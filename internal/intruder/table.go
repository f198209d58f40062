package intruder

import "math"

// table holds the log density of one key of one target as a function of e = z − x, for
// releases with many records: cubic polynomials on intervals whose length is 1/64 of
// unit up to |e| = unit and grows in proportion to |e| + unit, so that the leading bits
// of 1 + |e|/unit give the index of the interval. The logarithm of a normal density is
// a parabola, which a cubic represents exactly; in a heavier tail the logarithm is
// smooth on the scale of e.
type table struct {
	unit  float64
	sides [2][][4]float64 // e ≥ 0, e < 0; coefficients of the cubic in the position within the interval, 0 to 1
}

const (
	intervalBits = 6 // 64 intervals while 1 + |e|/unit doubles
	intervalLow  = 52 - intervalBits
)

// typicalSD returns the SD of e at the node with the greatest weight.
func typicalSD(m *mixture) float64 {
	best := 0
	for i := range m.nodes {
		if m.nodes[i].a > m.nodes[best].a {
			best = i
		}
	}
	return math.Sqrt(1 / (2 * m.nodes[best].c))
}

func tableIndex(y float64) int {
	return int((math.Float64bits(y) - math.Float64bits(1)) >> intervalLow)
}

func tableEntries(m *mixture, low, high float64) int {
	unit := typicalSD(m)
	return tableIndex(1+math.Max(high, 0)/unit) + tableIndex(1+math.Max(-low, 0)/unit) + 2
}

// newTable builds the table for e from low to high. The second result bounds the error
// of the log density: the greatest error of the quadrature at the interpolation points,
// plus the error of the polynomials, measured between the points where the remainder of
// a cubic is greatest.
func newTable(m *mixture, low, high float64) (*table, float64) {
	t := &table{unit: typicalSD(m)}
	greatest, remainder := 0.0, 0.0
	at := func(e float64) float64 {
		l, difference := m.logDensity(e)
		greatest = math.Max(greatest, difference)
		return l
	}
	for side, reach := range [2]float64{high, -low} {
		sign := 1 - 2*float64(side)
		for i := 0; i <= tableIndex(1+math.Max(reach, 0)/t.unit); i++ {
			from, to := intervalStart(i)-1, intervalStart(i+1)-1
			from, to = from*t.unit*sign, to*t.unit*sign
			h := to - from
			f0, f1, f2, f3 := at(from), at(from+h/3), at(from+2*h/3), at(to)
			c := [4]float64{
				f0,
				-5.5*f0 + 9*f1 - 4.5*f2 + f3,
				9*f0 - 22.5*f1 + 18*f2 - 4.5*f3,
				-4.5*f0 + 13.5*f1 - 13.5*f2 + 4.5*f3,
			}
			t.sides[side] = append(t.sides[side], c)
			const u = 0.1273 // where |u(u−1/3)(u−2/3)(u−1)| is greatest
			remainder = math.Max(remainder, math.Abs(at(from+u*h)-cubic(&c, u)))
		}
	}
	return t, greatest + 1.5*remainder // times 1.5 because the fourth derivative varies within an interval
}

func intervalStart(i int) float64 {
	return math.Float64frombits(math.Float64bits(1) + uint64(i)<<intervalLow)
}

func cubic(c *[4]float64, u float64) float64 {
	return c[0] + u*(c[1]+u*(c[2]+u*c[3]))
}

func (t *table) at(e float64) float64 {
	side := &t.sides[0]
	if e < 0 {
		side, e = &t.sides[1], -e
	}
	y := 1 + e/t.unit
	bits := math.Float64bits(y)
	i := int((bits - math.Float64bits(1)) >> intervalLow)
	i = min(i, len(*side)-1)
	// The bits below the index hold the position within the interval.
	u := float64(bits&(1<<intervalLow-1)) * (1.0 / (1 << intervalLow))
	return cubic(&(*side)[i], u)
}
