package keystream

import "math"

// Words fills dst with 64 uniform bits for each record.
func (s *Stream) Words(dst []uint64, r Records) {
	src := s.source(r, len(dst))
	defer src.close()
	for at := 0; at < len(dst); at += chunk {
		part := dst[at:min(at+chunk, len(dst))]
		blocks := src.next(at, len(part))
		for i := range blocks {
			part[i] = blocks[i].first()
		}
	}
}

// Uniforms fills dst with draws uniform on the open interval (0, 1): (k + 1/2)/2⁵²
// with k of 52 bits. These are exact float64s, symmetric about 1/2.
func (s *Stream) Uniforms(dst []float64, r Records) {
	src := s.source(r, len(dst))
	defer src.close()
	for at := 0; at < len(dst); at += chunk {
		part := dst[at:min(at+chunk, len(dst))]
		blocks := src.next(at, len(part))
		for i := range blocks {
			part[i] = uniform(blocks[i].first())
		}
	}
}

// uniform maps the upper 52 bits of w, k, to (k + 1/2)/2⁵² = (2k + 1)/2⁵³. A 53rd
// bit would leave half of the values between two float64s, and round the
// greatest to 1.
func uniform(w uint64) float64 { return float64(int64(w>>11|1)) * 0x1p-53 }

// Laplaces fills dst with standard Laplace draws (density exp(−|x|)/2, variance
// 2), by the inverse distribution function: LaplaceQuantile of what Uniforms gives.
func (s *Stream) Laplaces(dst []float64, r Records) {
	src := s.source(r, len(dst))
	defer src.close()
	for at := 0; at < len(dst); at += chunk {
		part := dst[at:min(at+chunk, len(dst))]
		blocks := src.next(at, len(part))
		for i := range blocks {
			part[i] = laplace(blocks[i].first())
		}
	}
}

// laplace returns LaplaceQuantile(uniform(w)). The uppermost bit of w says which half of (0, 1)
// u = (2k + 1)/2⁵³ lies in; if it is set u is replaced by 1 − u, without a branch.
func laplace(w uint64) float64 {
	upper := uint64(int64(w) >> 63) // all ones, or 0
	j := w>>11 | 1
	j = (j ^ upper>>11) - upper // 2⁵³ − j in the upper half
	x := logNormal(float64(int64(j))*0x1p-52, 0)
	return math.Float64frombits(math.Float64bits(x) ^ upper<<63)
}

// Normals fills dst with standard normal draws by a ziggurat of 256 layers
// (Marsaglia and Tsang 2000). Layer, sign and place in the layer are separate
// bits of the record's first word (Doornik 2005); the second word decides on points
// in the wedges and gives the tail; a rejected point is drawn anew from the next
// block of the same record.
func (s *Stream) Normals(dst []float64, r Records) {
	src := s.source(r, len(dst))
	defer src.close()
	for at := 0; at < len(dst); at += chunk {
		part := dst[at:min(at+chunk, len(dst))]
		blocks := src.next(at, len(part))
		for i := range blocks {
			w := blocks[i].first()
			l := &layers[w&0xff]
			if j := w>>11 | 1; j < l.inside {
				x := float64(int64(j)) * l.scale
				part[i] = math.Float64frombits(math.Float64bits(x) | w&signBit<<(63-signShift))
				continue
			}
			part[i] = src.edge(at+i, w, blocks[i].second())
		}
	}
}

// edge returns the draw of record i if its first point does not lie in the rectangle under the
// curve, which happens one time in 67.
func (src *source) edge(i int, w0, w1 uint64) float64 {
	for draw := uint32(1); ; draw++ {
		if x, ok := point(w0, w1); ok {
			return x
		}
		w0, w1 = src.further(i, draw)
	}
}

// point returns the normal draw for a block's two words; false if the point lies above the
// curve.
func point(w0, w1 uint64) (x float64, ok bool) {
	i := w0 & 0xff
	l := &layers[i]
	j := w0>>11 | 1
	x = float64(int64(j)) * l.scale
	switch {
	case j < l.inside:
	case i == 0:
		x = -NormalQuantile(float64(uniform(w1) * tailProbability))
	default:
		y := zigguratF[i] + float64(uniform(w1)*(zigguratF[i+1]-zigguratF[i]))
		if y >= exp(float64(-0.5*float64(x*x))) {
			return 0, false
		}
	}
	return math.Float64frombits(math.Float64bits(x) | w0&signBit<<(63-signShift)), true
}

const (
	signShift = 8
	signBit   = 1 << signShift
)

// layer has the parameters of a layer of the ziggurat for the fast path: a point j·scale, j odd
// and below 2⁵³, lies under the curve if j < inside.
type layer struct {
	inside uint64
	scale  float64
}

var layers = makeLayers()

func makeLayers() (t [256]layer) {
	for i := range t {
		t[i] = layer{
			inside: uint64(float64(zigguratX[i+1]/zigguratX[i]) * 0x1p53),
			scale:  zigguratX[i] * 0x1p-53,
		}
	}
	return t
}
