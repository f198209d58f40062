package joint

import (
	"math"
	"slices"
	"testing"
)

// Dates of a person that are shifted by as much, and values of one that are multiplied by one factor, all follow where
// another column of her records tells the shift: by what it is from them on average, in the middle of its bounds, and
// at one of these. The snooper of the test takes that which is best by each person; the estimator must be as good but
// for 5 % of the error.
func TestValuesOfUnitsThatMoveAlike(t *testing.T) {
	for k, c := range []struct {
		name       string
		grid       float64 // of the released values
		multiplied bool
		beside     func(w *world, x []float64, out []float64)
		height     func(off []float64) float64
	}{
		{"beside a date within 30 days", 1, false, func(w *world, x, out []float64) {
			for i := range x {
				out[i] = x[i] + float64(w.r.IntN(61)-30)
			}
		}, func(off []float64) float64 { return (most(off) + least(off)) / 2 }},
		{"beside a date with errors", 1, false, func(w *world, x, out []float64) {
			for i := range x {
				out[i] = x[i] + math.Round(20*w.r.NormFloat64())
			}
		}, func(off []float64) float64 {
			sum := 0.0
			for _, v := range off {
				sum += v
			}
			return sum / float64(len(off))
		}},
		{"beside a day at most four before the first", 1, false, func(w *world, x, out []float64) {
			first := least(x) - float64(w.r.IntN(5))
			for i := range out {
				out[i] = first
			}
		}, func(off []float64) float64 { return most(off) + 2 }},
		{"beside a date soon after the last", 1, false, func(w *world, x, out []float64) {
			last := most(x) + float64(w.r.IntN(5))
			for i := range out {
				out[i] = last
			}
		}, func(off []float64) float64 { return least(off) - 2 }},
		{"to the week, beside a date within 30 days", 7, false, func(w *world, x, out []float64) {
			for i := range x {
				out[i] = x[i] + float64(w.r.IntN(61)-30)
			}
		}, func(off []float64) float64 { return (most(off) + least(off)) / 2 }},
		{"by a factor, beside a price within 20 %", 0.01, true, func(w *world, x, out []float64) {
			for i := range x {
				out[i] = x[i] * (0.8 + 0.4*w.r.Float64())
			}
		}, func(off []float64) float64 { return (most(off) + least(off)) / 2 }},
	} {
		w := newWorld(uint64(900+k), 2400)
		person, x, y, z := make([]float64, w.n), make([]float64, w.n), make([]float64, w.n), make([]float64, w.n)
		for i := 0; i < w.n; {
			n := min(1+w.r.IntN(12), w.n-i) // one has one date only
			shift := float64(w.r.IntN(731) - 365)
			if c.multiplied {
				shift = math.Exp(0.5 * w.r.NormFloat64())
			}
			for m := range n {
				person[i+m], x[i+m] = float64(i), float64(100+w.r.IntN(1400))
				if y[i+m] = x[i+m] + shift; c.multiplied {
					y[i+m] = x[i+m] * shift
				}
				y[i+m] = c.grid * math.Round(y[i+m]/c.grid)
			}
			c.beside(w, x[i:i+n], z[i:i+n])
			i += n
		}
		v := make([]float64, w.n)
		for _, rows := range members(person) {
			var off []float64
			for _, i := range rows {
				off = append(off, apartBy(z[i], y[i], c.multiplied))
			}
			for _, i := range rows {
				if v[i] = y[i] + c.height(off); c.multiplied {
					v[i] = y[i] * c.height(off)
				}
			}
		}
		follow := func(f *Frame, x, y []float64, of string) {
			got := f.Estimate(x, y, 0, nil)
			if error, best := math.Sqrt(got.Square), math.Sqrt(squareOf(x, v)); error > 1.05*best {
				t.Errorf("%s%s: error %v, the snooper's %v, the release's %v; told by %v", c.name, of, error, best,
					math.Sqrt(squareOf(x, y)), slices.Compact(got.Tells))
			}
		}
		f := New(append(columns(y, z), Column{Name: "person", Values: person}), w.n, true)
		follow(f, x, y, "")
		// Another column that moved with it, some way before, goes by the same shift.
		before, moved := make([]float64, w.n), make([]float64, w.n)
		for i := range before {
			off := float64(100 + w.r.IntN(300))
			before[i], moved[i] = x[i]-off, y[i]-off
			if c.multiplied {
				before[i], moved[i] = x[i]*off, c.grid*math.Round(y[i]*off/c.grid)
			}
			v[i] += before[i] - x[i]
			if c.multiplied {
				v[i] = (v[i] - before[i] + x[i]) * off
			}
		}
		f = New(append(columns(moved, y, z), Column{Name: "person", Values: person}), w.n, true)
		follow(f, before, moved, ", of another")
	}
}
