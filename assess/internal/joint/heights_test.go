package joint

import (
	"math"
	"slices"
	"testing"
)

// atHeight is a course of a unit's values beside a mask that leaves its height to be found.
type atHeight struct {
	name string
	mask func(x float64) float64
	// course is a column by unit, and undo what its values make of a unit's, but for the height: they are added to it, or
	// multiplied with it.
	course     func(x, out []float64)
	undo       func(z []float64) []float64
	multiplied bool
	extreme    func([]float64) float64 // of the unit, in a column of its own; nil: there is none
	// height is what the snooper of the test takes: of what each released value says, or of the extreme.
	height func([]float64) float64
}

const cutAbove, cutBelow = 1200.0, 600.0

func atMost(x float64) float64  { return min(x, cutAbove) }
func atLeast(x float64) float64 { return max(x, cutBelow) }
func toGrid(x float64) float64  { return 870 * math.Round(x/870) }

func changesOf(x, out []float64) {
	for i := range x {
		if out[i] = math.NaN(); i > 0 {
			out[i] = x[i] - x[i-1]
		}
	}
}

func addUp(z []float64) []float64 {
	out := make([]float64, len(z))
	for i := 1; i < len(z); i++ {
		out[i] = out[i-1] + z[i]
	}
	return out
}

func partsOfLast(x, out []float64) {
	for i := range x {
		if out[i] = math.NaN(); i > 0 {
			out[i] = math.Round(1e3*x[i]/x[i-1]) / 1e3
		}
	}
}

func multiplyUp(z []float64) []float64 {
	out := []float64{1}
	for _, part := range z[1:] {
		out = append(out, out[len(out)-1]*part)
	}
	return out
}

func sharesOf(x, out []float64) {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	for i, v := range x {
		out[i] = math.Round(1e3*v/sum) / 1e3
	}
}

func lessTheMean(x, out []float64) {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	for i, v := range x {
		out[i] = math.Round(v - sum/float64(len(x)))
	}
}

func asItIs(z []float64) []float64 { return z }

var (
	most  = slices.Max[[]float64]
	least = slices.Min[[]float64]
)

var heightsOfUnits = []atHeight{
	{"changes, cut above", atMost, changesOf, addUp, false, nil, most},
	{"changes, cut below", atLeast, changesOf, addUp, false, nil, least},
	{"parts of last year's, cut above", atMost, partsOfLast, multiplyUp, true, nil, most},
	{"parts of last year's, cut below", atLeast, partsOfLast, multiplyUp, true, nil, least},
	{"changes, cut above, the greatest", atMost, changesOf, addUp, false, most, nil},
	{"parts of last year's, cut below, the least", atLeast, partsOfLast, multiplyUp, true, least, nil},
	{"shares, a coarse grid, the greatest", toGrid, sharesOf, asItIs, true, most, nil},
	{"less the mean, a coarse grid, the least", toGrid, lessTheMean, asItIs, false, least, nil},
	{"shares, cut above", atMost, sharesOf, asItIs, true, nil, most},
	{"less the mean, cut below", atLeast, lessTheMean, asItIs, false, nil, least},
}

// Masks that cut or round leave the height of a unit's course where they leave one of its values, or its greatest or
// least one stands in a column. The snooper of the test knows how, and undoes it by the unit; the estimator must find
// that, and be as good but for 5 % of the error and the grids of the columns.
func TestHeightsOfUnits(t *testing.T) {
	for k, a := range heightsOfUnits {
		w := newWorld(uint64(300+k), 2400)
		p := newPanel(w, 600, 4, 0.03, 0.4)
		units := members(p.person)
		for i := range p.x {
			p.x[i] = math.Round(100*p.x[i]/4) / 100
		}
		y := w.of(func(i int) float64 { return a.mask(p.x[i]) })
		column, extreme, v := make([]float64, w.n), make([]float64, w.n), make([]float64, w.n)
		cut := 0
		for _, rows := range units {
			of := func(from []float64) (list []float64) {
				for _, i := range rows {
					list = append(list, from[i])
				}
				return list
			}
			x, z := of(p.x), make([]float64, len(rows))
			a.course(x, z)
			course := a.undo(z)
			var known []float64
			for m, i := range rows {
				column[i] = z[m]
				if known = append(known, apartBy(y[i], course[m], a.multiplied)); p.x[i] != y[i] {
					cut++
				}
			}
			height := 0.0
			if a.extreme == nil {
				height = a.height(known)
			} else {
				height = apartBy(a.extreme(x), a.extreme(course), a.multiplied)
				for _, i := range rows {
					extreme[i] = a.extreme(x)
				}
			}
			for m, i := range rows {
				if v[i] = course[m] + height; a.multiplied {
					v[i] = course[m] * height
				}
			}
		}
		if cut < w.n/10 {
			t.Fatalf("%s: the mask changes %d values", a.name, cut)
		}
		for _, person := range []bool{true, false} {
			list := columns(y, p.year, column)
			if a.extreme != nil {
				list = columns(y, p.year, column, extreme)
			}
			if person {
				list = append(list, Column{Name: "person", Values: p.person})
			}
			f := New(list, w.n, true)
			f.InOrder = !person
			got := f.Estimate(p.x, y, 0, nil)
			if error, best := math.Sqrt(got.Square), math.Sqrt(squareOf(p.x, v)); error > 1.05*best+0.5 {
				t.Errorf("%s, person known %v: error %v, the snooper's %v, the release's %v; told by %v", a.name, person, error, best,
					math.Sqrt(squareOf(p.x, y)), got.Tells)
			}
		}
	}
}

func apartBy(value, course float64, multiplied bool) float64 {
	if multiplied {
		return value / course
	}
	return value - course
}
