package assess

import (
	"math"
	"math/bits"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/microdata"
	"gonum.org/v1/gonum/floats"
)

// plain is centred for centres of 0, where the values themselves serve.
func plain(x, y []float64, lo, hi, low, high float64) runSums {
	n := len(x)
	y = y[:n]
	var sq0, sq1 float64
	var pieces uint64
	same := 0
	i := 0
	for ; i+1 < n; i += 2 {
		x0, y0 := x[i], y[i]
		x1, y1 := x[i+1], y[i+1]
		if x0 < lo || x0 > hi || y0 < low || y0 > high || x1 < lo || x1 > hi || y1 < low || y1 > high {
			pieces |= 1 << (i / pieceLength % 64)
		}
		d0, d1 := x0-y0, x1-y1
		same += none(d0) + none(d1)
		sq0 += d0 * d0
		sq1 += d1 * d1
	}
	if i < n {
		x0, y0 := x[i], y[i]
		if x0 < lo || x0 > hi || y0 < low || y0 > high {
			pieces |= 1 << (i / pieceLength % 64)
		}
		same += none(x0 - y0)
		sq0 += (x0 - y0) * (x0 - y0)
	}
	su, sv := floats.Sum(x), floats.Sum(y)
	return runSums{su, sv, su - sv, sq0 + sq1, pieces != 0, pieces, same}
}

// centred writes x−kx to u and y−ky to v and sums in the same pass. Two chains
// of sums hide the latency of the additions.
func centred(u, v, x, y []float64, kx, ky, lo, hi, low, high float64) runSums {
	n := len(x)
	u, v, y = u[:n], v[:n], y[:n]
	var su0, su1, sv0, sv1, sd0, sd1, sq0, sq1 float64
	var pieces uint64
	same := 0
	i := 0
	for ; i+1 < n; i += 2 {
		x0, x1, y0, y1 := x[i], x[i+1], y[i], y[i+1]
		if x0 < lo || x0 > hi || y0 < low || y0 > high || x1 < lo || x1 > hi || y1 < low || y1 > high {
			pieces |= 1 << (i / pieceLength % 64)
		}
		d0, d1 := x0-y0, x1-y1
		same += none(d0) + none(d1)
		u0, u1, v0, v1 := x0-kx, x1-kx, y0-ky, y1-ky
		u[i], u[i+1], v[i], v[i+1] = u0, u1, v0, v1
		su0 += u0
		su1 += u1
		sv0 += v0
		sv1 += v1
		sd0 += d0
		sd1 += d1
		sq0 += d0 * d0
		sq1 += d1 * d1
	}
	if i < n {
		x0, y0 := x[i], y[i]
		if x0 < lo || x0 > hi || y0 < low || y0 > high {
			pieces |= 1 << (i / pieceLength % 64)
		}
		same += none(x0 - y0)
		u[i], v[i] = x0-kx, y0-ky
		su0 += u[i]
		sv0 += v[i]
		sd0 += x0 - y0
		sq0 += (x0 - y0) * (x0 - y0)
	}
	return runSums{su0 + su1, sv0 + sv1, sd0 + sd1, sq0 + sq1, pieces != 0, pieces, same}
}

// none returns 1 for a difference of 0, of either sign, and else 0.
func none(d float64) int {
	_, borrow := bits.Sub64(math.Float64bits(d)<<1, 1, 0)
	return int(borrow)
}

// runSums are sums over one run of one column.
type runSums struct {
	su, sv  float64 // Σ(x−kx), Σ(y−ky)
	sd, sdd float64 // Σ(x−y), Σ(x−y)²
	beyond  bool    // some original value is beyond [lo, hi] or some released one beyond [low, high]
	pieces  uint64  // bit i: one of those is in the i-th piece of the run
	same    int     // x = y
}

// pieceLength is the number of records in one of the 64 pieces of a run.
const pieceLength = cell.Run / 64

// addPairs enters the pairs of a run, of those that are marked on both sides, and
// reports whether a marked original value is beyond [lo, hi] or a marked released one
// beyond those seen so far.
func (s *columnSums) addPairs(x, y []float64, inX, inY *cell.Bits, lo, hi float64) (beyond bool) {
	diff, square := s.diff, s.squareDiff
	for at := 0; at < len(x); at += 64 {
		markX, markY := inX[at/64], inY[at/64]
		both := markX & markY
		s.pairs += int64(bits.OnesCount64(both))
		end := min(at+64, len(x))
		xs, ys := x[at:end], y[at:end]
		ys = ys[:len(xs)]
		for i, v := range xs {
			r := ys[i]
			d := cell.Where(both>>i, v-r)
			diff -= d
			square += d * d
			if (v < lo || v > hi) && markX>>i&1 == 1 || (r < s.low || r > s.high) && markY>>i&1 == 1 {
				beyond = true
			}
		}
	}
	s.diff, s.squareDiff = diff, square
	return beyond
}

// unchangedIn counts the pairs of a block whose released value is the original.
// Values that are null, not finite or of rejected records are no pairs.
func unchangedIn(x, y microdata.Vector, keep microdata.Bitmap) (n int64) {
	for from := 0; from < len(x.Values); from += 64 {
		to := min(len(x.Values), from+64)
		xs, ys := x.Values[from:to], y.Values[from:to]
		ys = ys[:len(xs)]
		var same uint64
		for i, v := range xs {
			var bit uint64
			if v == ys[i] {
				bit = 1
			}
			same |= bit << i
		}
		// What is missing is 0 on both sides.
		same &= cell.Word(keep, from) & cell.Word(x.Valid, from) & cell.Word(y.Valid, from)
		for ; same != 0; same &= same - 1 {
			if cell.Finite(xs[bits.TrailingZeros64(same)]) {
				n++
			}
		}
	}
	return n
}

// runOf returns the n values of a vector from the given one on, a multiple of 64.
func runOf(v microdata.Vector, from, n int) microdata.Vector {
	return microdata.Vector{Values: v.Values[from : from+n], Valid: marksFrom(v.Valid, from)}
}

// marksFrom returns the bits from the given one on, a multiple of 64.
func marksFrom(b microdata.Bitmap, from int) microdata.Bitmap {
	if b == nil {
		return nil
	}
	return b[from/64:]
}
