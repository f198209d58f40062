package fileorder

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Every bin of every level equals the result of two passes over its records, in a complete file and
// in a file with a record that must be left out.
func TestOrderBinsAreThoseOfTheirRecords(t *testing.T) {
	const n, step = 6000, 777
	const left = 5201 // after the place from which bins of several records are summed
	for _, missing := range []string{"nothing", "null original", "null released", "NaN", "infinite", "rejected"} {
		rng := rand.New(rand.NewPCG(5, 7))
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = math.Exp(8 + 1.2*rng.NormFloat64())
			y[i] = x[i] + 500*rng.NormFloat64()
		}
		switch missing {
		case "NaN":
			y[left] = math.NaN()
		case "infinite":
			x[left] = math.Inf(-1)
		}
		out := func(i int) bool {
			return i == left && missing != "nothing"
		}
		o := New(4096)
		for from := 0; from < n; from += step {
			to := min(n, from+step)
			b := new(microdata.Block)
			b.Reset(0, int64(from), to-from, 1)
			original, released := microdata.Vector{Values: x[from:to]}, microdata.Vector{Values: y[from:to]}
			var keep microdata.Bitmap
			if from <= left && left < to {
				marks := microdata.NewBitmap(to-from, nil)
				marks.Clear(left - from)
				switch missing {
				case "null original":
					original.Valid = marks
				case "null released":
					released.Valid = marks
				case "rejected":
					keep = marks
				}
			}
			o.Add(&place.Origin{}, b, original, released, keep)
		}
		checkOrderBins(t, missing, o, x, y, out)
	}
}

func checkOrderBins(t *testing.T, what string, o *Order, x, y []float64, out func(i int) bool) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b)+1e-6 || a == b }
	long := 0
	for l := range o.levels {
		shift := l * orderBits
		for key, bins := range o.levels[l].stretches {
			for at, bin := range bins {
				from := int(key.index<<stretchBits+int64(at)) << shift
				var k, sx, sy, square float64
				for i := from; i < min(len(x), from+1<<shift); i++ {
					if !out(i) {
						k, sx, sy = k+1, sx+x[i], sy+y[i]
					}
				}
				for i := from; i < min(len(x), from+1<<shift); i++ {
					if !out(i) {
						square += (x[i] - sx/k) * (x[i] - sx/k)
					}
				}
				if k == 0 {
					sx, sy, k = 0, 0, 1
				} else if l > 0 {
					long++
				}
				if bin.n > 0 && bin.n != k || !near(bin.x, sx/k) || !near(bin.y, sy/k) || !near(bin.square, square) {
					t.Errorf("%s: records %d to %d: %v, want %v records of means %v and %v, squares %v",
						what, from, from+1<<shift, bin, k, sx/k, sy/k, square)
				}
			}
		}
	}
	if long < 50 {
		t.Errorf("%s: only %d bins have several records, too few for this test", what, long)
	}
}
