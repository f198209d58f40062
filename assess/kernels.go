package assess

import (
	"math"
	"math/bits"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"gonum.org/v1/gonum/floats"
)

// plain is centred for centres of 0: the values need not be copied.
func plain(x, y []float64, lo, hi, low, high float64) runSums {
	y = y[:len(x)]
	var squares [2]float64
	pieces, same := plainPairs(x, y, lo, hi, low, high, &squares)
	su, sv := floats.Sum(x), floats.Sum(y)
	return runSums{su, sv, su - sv, squares[0] + squares[1], pieces != 0, pieces, same, len(x)}
}

// plainPairs sums the squares of x−y at even and at odd places. It returns the pieces of the run in
// which a value is beyond its bounds, as bits, and the number of pairs that are the same.
func plainPairs(x, y []float64, lo, hi, low, high float64, squares *[2]float64) (pieces uint64, same int) {
	if n := len(x); vectors && n > 0 && n%pieceLength == 0 {
		return plainAVX2(&x[0], &y[:n][0], n, lo, hi, low, high, squares)
	}
	return plainLoop(x, y, lo, hi, low, high, squares)
}

func plainLoop(x, y []float64, lo, hi, low, high float64, squares *[2]float64) (pieces uint64, same int) {
	n := len(x)
	y = y[:n]
	var sq0, sq1 float64
	i := 0
	for ; i+1 < n; i += 2 {
		x0, y0 := x[i], y[i]
		x1, y1 := x[i+1], y[i+1]
		if x0 < lo || x0 > hi || y0 < low || y0 > high || x1 < lo || x1 > hi || y1 < low || y1 > high {
			pieces |= 1 << (i / pieceLength % 64)
		}
		d0, d1 := x0-y0, x1-y1
		same += none(d0) + none(d1)
		sq0 += float64(d0 * d0)
		sq1 += float64(d1 * d1)
	}
	if i < n {
		x0, y0 := x[i], y[i]
		if x0 < lo || x0 > hi || y0 < low || y0 > high {
			pieces |= 1 << (i / pieceLength % 64)
		}
		same += none(x0 - y0)
		sq0 += float64((x0 - y0) * (x0 - y0))
	}
	squares[0], squares[1] = sq0, sq1
	return pieces, same
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
	return runSums{su0 + su1, sv0 + sv1, sd0 + sd1, sq0 + sq1, pieces != 0, pieces, same, n}
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
	pairs   int     // records with both values
}

// pieceLength is the number of records in one of the 64 pieces of a run.
const pieceLength = cell.Run / 64

// sumPairs sums the pairs of a run that are marked on both sides, without what pieces have and Σ(x−kx), Σ(y−ky).
func sumPairs(x, y []float64, inX, inY *cell.Bits, lo, hi, low, high float64) (r runSums) {
	var sums pairSums
	for at := 0; at < len(x); at += 64 {
		markX, markY := inX[at/64], inY[at/64]
		r.pairs += bits.OnesCount64(markX & markY)
		end := min(at+64, len(x))
		unchanged, out := sums.add(x[at:end], y[at:end], markX, markY, lo, hi, low, high)
		r.same += bits.OnesCount64(unchanged)
		r.beyond = r.beyond || out
	}
	r.sd = (sums.diff[0] + sums.diff[2]) + (sums.diff[1] + sums.diff[3])
	r.sdd = (sums.square[0] + sums.square[2]) + (sums.square[1] + sums.square[3])
	return r
}

// pairSums has four sums each of x−y and (x−y)², of every fourth pair: the additions do not depend
// on one another.
type pairSums struct{ diff, square [4]float64 }

// add adds those of up to 64 pairs that are marked on both sides. It returns which of them are unchanged,
// as bits, and whether a marked x is beyond [lo, hi] or a marked y beyond [low, high].
func (s *pairSums) add(x, y []float64, inX, inY uint64, lo, hi, low, high float64) (same uint64, beyond bool) {
	if vectors && len(x) == 64 {
		return pairsAVX2((*[64]float64)(x), (*[64]float64)(y), inX, inY, lo, hi, low, high, s)
	}
	return s.addLoop(x, y, inX, inY, lo, hi, low, high)
}

func (s *pairSums) addLoop(x, y []float64, inX, inY uint64, lo, hi, low, high float64) (same uint64, beyond bool) {
	y = y[:len(x)]
	both := inX & inY
	for i, v := range x {
		r := y[i]
		d := cell.Where(both>>i, v-r)
		s.diff[i&3] += d
		s.square[i&3] += float64(d * d)
		if d == 0 {
			same |= 1 << i
		}
		if (v < lo || v > hi) && inX>>i&1 == 1 || (r < low || r > high) && inY>>i&1 == 1 {
			beyond = true
		}
	}
	return same & both, beyond
}
