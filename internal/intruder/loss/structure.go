package loss

import (
	"context"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// DefaultRankTolerance is the share of the greatest eigenvalue up to which an
// eigenvalue of a correlation matrix is taken as 0. Rounding errors are about p·2⁻⁵² of
// the greatest one; an eigenvalue at the tolerance still has six or more correct
// digits.
const DefaultRankTolerance = 1e-9

// Moments describes the values of a column that are not missing. Mean is nil if there
// is no value, SD (divisor n−1) if there are fewer than two.
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

// MomentsOf computes the moments of values in two passes; NaN is a missing value.
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

// Structure compares second moments. Each entry is computed from the records that have
// both columns (pairwise complete), separately for each side.
type Structure struct {
	// Covariance holds |s_jk(x) − s_jk(y)| / (S_xj·S_xk) over the entries j ≤ k,
	// including variances. It has no unit, so that it can be averaged over columns.
	Covariance Differences `json:"covariance"`
	// Correlation holds |r_jk(x) − r_jk(y)| over the pairs j < k.
	Correlation Differences `json:"correlation"`
	// Eigen is Σ |e_j − f_j|/e_j over the eigenvalues e of the original's and f of
	// the released's correlation matrix, each in decreasing order: sdcMicro's
	// eigen. Its matrix is s_jk/(S_j·S_k), with s_jk pairwise complete and S_j over all values of the column;
	// if values are missing, it differs from the matrix of Correlation. In the direction of an e_j at or
	// below RankTolerance·e_1 the original does not vary, and a quotient by e_j is only rounding error
	// (sdcMicro reports 10¹⁴ for collinear columns). These e_j are omitted. nil if none remains.
	Eigen        *float64 `json:"eigen"`
	EigenLeftOut int      `json:"eigen_left_out" doc:"number of eigenvalues that were left out because they are 0 up to rounding"`
	Rank         int      `json:"rank"` // number of eigenvalues that are not omitted
	// LeftOut names columns without variance on one side, or without complete records
	// in common with another column: they have no correlation.
	LeftOut []string `json:"left_out,omitempty"`

	// The compared matrices, p×p, NaN if an entry is undefined.
	CovarianceOriginal, CovarianceReleased   [][]float64 `json:"-"`
	CorrelationOriginal, CorrelationReleased [][]float64 `json:"-"`
}

// Differences summarises absolute differences of the entries of two matrices.
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
// DefaultRankTolerance. It returns ctx's error if ctx ends.
func StructureOf(ctx context.Context, p Pair, tolerance float64) (Structure, error) {
	if tolerance == 0 {
		tolerance = DefaultRankTolerance
	}
	var s Structure
	k := len(p.Names)
	for _, m := range []*[][]float64{&s.CovarianceOriginal, &s.CovarianceReleased, &s.CorrelationOriginal,
		&s.CorrelationReleased} {
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

// fill computes the entries (j, l) and (l, j) of the covariance and the correlation
// matrix.
func fill(cov, cor, columns [][]float64, j, l int) {
	c, r := covariance(columns[j], columns[l])
	if j == l && r == r {
		r = 1
	}
	cov[j][l], cov[l][j], cor[j][l], cor[l][j] = c, c, r, r
}

// covariance returns covariance (divisor n−1) and correlation over the records with
// both values, NaN if they are undefined.
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

// eigen compares the spectra of the correlation matrices of the columns that have all
// correlations with each other on both sides.
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

// spectrum returns the eigenvalues, the greatest first, of the kept rows and columns of
// a covariance matrix, scaled to a diagonal of 1. It returns false if no column is kept
// or if the eigenvalues do not converge.
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

// Correlation returns Pearson's correlation over the records with both values, NaN if it is not defined.
func Correlation(a, b []float64) float64 {
	_, r := covariance(a, b)
	return r
}
