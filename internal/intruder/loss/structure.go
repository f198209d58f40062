package loss

import (
	"context"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// DefaultRankTolerance is the share of the greatest eigenvalue below which an
// eigenvalue of a correlation matrix is taken for 0. Rounding leaves about
// p·2⁻⁵² of the greatest; at the tolerance an eigenvalue still has six digits
// or more.
const DefaultRankTolerance = 1e-9

// Moments describe the values that a column has. Mean is nil without a value, SD
// (divisor n−1) without two.
type Moments struct {
	N       int64    `json:"n"`
	Missing int64    `json:"missing"`
	Mean    *float64 `json:"mean"`
	SD      *float64 `json:"sd"`
}

func (m Moments) sd() float64 {
	if m.SD == nil {
		return math.NaN()
	}
	return *m.SD
}

// MomentsOf passes twice over the values; NaN is missing.
func MomentsOf(values []float64) Moments {
	var m Moments
	var sum float64
	for _, x := range values {
		if x == x {
			sum += x
			m.N++
		}
	}
	m.Missing = int64(len(values)) - m.N
	if m.N == 0 {
		return m
	}
	mean := sum / float64(m.N)
	var square, rest float64
	for _, x := range values {
		if d := x - mean; d == d {
			square += d * d
			rest += d
		}
	}
	n := float64(m.N)
	at := mean + rest/n
	m.Mean = &at
	if m.N > 1 {
		sd := math.Sqrt(max(square-rest*rest/n, 0) / (n - 1))
		m.SD = &sd
	}
	return m
}

// Structure compares second moments. Entries are computed from the records that
// have both columns (pairwise complete), on each side for itself.
type Structure struct {
	// Covariance holds |s_jk(x) − s_jk(y)| / (S_xj·S_xk) over the entries j ≤ k,
	// variances among them: without unit, so that columns can be put together.
	Covariance Differences `json:"covariance"`
	// Correlation holds |r_jk(x) − r_jk(y)| over the pairs j < k.
	Correlation Differences `json:"correlation"`
	// Eigen is Σ |e_j − f_j|/e_j over the eigenvalues e of the original's and f of
	// the released's correlation matrix, each in decreasing order: sdcMicro's
	// eigen. Its matrix is that of s_jk, pairwise complete, over S_j·S_k of all the
	// columns' values, which is not Correlation's where values are missing. An e_j at or below RankTolerance·e_1 is no direction in which the
	// original varies; what is divided by it is rounding (sdcMicro reports 10¹⁴
	// for collinear columns). Those are left out. nil where none is left.
	Eigen        *float64 `json:"eigen"`
	EigenLeftOut int      `json:"eigen_left_out" doc:"eigenvalues that are 0 but for rounding"`
	Rank         int      `json:"rank"` // columns in the matrices less those left out
	// LeftOut names columns without variance on one side, or without a record in
	// common with another column: they have no correlation.
	LeftOut []string `json:"left_out,omitempty"`

	// CovarianceOriginal and the others are the matrices, p×p, NaN where there is
	// no entry.
	CovarianceOriginal, CovarianceReleased   [][]float64 `json:"-"`
	CorrelationOriginal, CorrelationReleased [][]float64 `json:"-"`
}

// Differences sums up absolute differences of the entries of two matrices.
type Differences struct {
	Entries int     `json:"entries"`
	Mean    float64 `json:"mean"`
	Max     float64 `json:"max"`
}

func (d *Differences) add(v float64) {
	if v != v {
		return
	}
	d.Mean = (d.Mean*float64(d.Entries) + v) / float64(d.Entries+1)
	d.Entries++
	d.Max = max(d.Max, v)
}

// StructureOf compares the second moments of a pair. tolerance 0 stands for
// DefaultRankTolerance.
func StructureOf(ctx context.Context, p Pair, tolerance float64) (Structure, error) {
	if tolerance == 0 {
		tolerance = DefaultRankTolerance
	}
	var s Structure
	k := len(p.Names)
	for _, m := range []*[][]float64{&s.CovarianceOriginal, &s.CovarianceReleased, &s.CorrelationOriginal, &s.CorrelationReleased} {
		*m = square(k)
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for j := range k {
		for l := range j + 1 {
			g.Go(func() error {
				defer bug.Guard()
				if err := within.Err(); err != nil {
					return err
				}
				fill(s.CovarianceOriginal, s.CorrelationOriginal, p.Original, j, l)
				fill(s.CovarianceReleased, s.CorrelationReleased, p.Released, j, l)
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return Structure{}, err
	}
	for j := range k {
		for l := range j + 1 {
			scale := math.Sqrt(s.CovarianceOriginal[j][j]) * math.Sqrt(s.CovarianceOriginal[l][l])
			if scale > 0 {
				s.Covariance.add(math.Abs(s.CovarianceOriginal[j][l]-s.CovarianceReleased[j][l]) / scale)
			}
			if l < j {
				s.Correlation.add(math.Abs(s.CorrelationOriginal[j][l] - s.CorrelationReleased[j][l]))
			}
		}
	}
	s.eigen(p.Names, tolerance)
	return s, nil
}

func square(k int) [][]float64 {
	m := make([][]float64, k)
	for i := range m {
		m[i] = make([]float64, k)
	}
	return m
}

// fill computes one entry of covariance and correlation, and its mirror image.
func fill(cov, cor, columns [][]float64, j, l int) {
	c, r := covariance(columns[j], columns[l])
	if j == l && r == r {
		r = 1
	}
	cov[j][l], cov[l][j], cor[j][l], cor[l][j] = c, c, r, r
}

// covariance returns covariance (divisor n−1) and correlation over the records
// with both values, NaN where they are not defined.
func covariance(a, b []float64) (cov, cor float64) {
	b = b[:len(a)]
	var n, ma, mb float64
	for i, x := range a {
		y := b[i]
		if d := x - y; d == d {
			n++
			ma += x
			mb += y
		}
	}
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	ma, mb = ma/n, mb/n
	var sab, saa, sbb, ra, rb float64
	for i, x := range a {
		u, v := x-ma, b[i]-mb
		if d := u - v; d == d {
			sab += u * v
			saa += u * u
			sbb += v * v
			ra += u
			rb += v
		}
	}
	sab -= ra * rb / n
	saa -= ra * ra / n
	sbb -= rb * rb / n
	cor = math.NaN()
	if saa > 0 && sbb > 0 {
		cor = max(-1, min(1, sab/(math.Sqrt(saa)*math.Sqrt(sbb))))
	}
	return sab / (n - 1), cor
}

// eigen compares the spectra of the correlation matrices of the columns that
// have all their correlations on both sides.
func (s *Structure) eigen(names []string, tolerance float64) {
	var keep []int
	for j, name := range names {
		ok := !math.IsNaN(s.CorrelationOriginal[j][j]) && !math.IsNaN(s.CorrelationReleased[j][j])
		for _, l := range keep {
			ok = ok && !math.IsNaN(s.CorrelationOriginal[j][l]) && !math.IsNaN(s.CorrelationReleased[j][l])
		}
		if ok {
			keep = append(keep, j)
		} else {
			s.LeftOut = append(s.LeftOut, name)
		}
	}
	before, ok := spectrum(s.CovarianceOriginal, keep)
	after, also := spectrum(s.CovarianceReleased, keep)
	if !ok || !also {
		return
	}
	var sum float64
	for i, e := range before {
		if e <= tolerance*before[0] {
			s.EigenLeftOut++
			continue
		}
		sum += math.Abs(e-after[i]) / e
		s.Rank++
	}
	if s.Rank > 0 {
		s.Eigen = &sum
	}
}

// spectrum returns the eigenvalues of the kept rows and columns of a covariance
// matrix, scaled to a diagonal of 1, the greatest first.
func spectrum(m [][]float64, keep []int) ([]float64, bool) {
	k := len(keep)
	if k == 0 {
		return nil, false
	}
	sym := mat.NewSymDense(k, nil)
	for i, a := range keep {
		for j := range i + 1 {
			b := keep[j]
			sym.SetSym(i, j, m[a][b]/(math.Sqrt(m[a][a])*math.Sqrt(m[b][b])))
		}
	}
	var e mat.EigenSym
	if !e.Factorize(sym, false) {
		return nil, false
	}
	v := e.Values(nil)
	for i, j := 0, k-1; i < j; i, j = i+1, j-1 {
		v[i], v[j] = v[j], v[i]
	}
	return v, true
}
