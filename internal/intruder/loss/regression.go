package loss

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sdlfilter/sdlfilter/internal/intruder/internal/independent"
)

// Regression specifies a linear regression that users of the data would compute.
type Regression struct {
	Response   string   `json:"response"`
	Predictors []string `json:"predictors"`
	Level      float64  `json:"level"` // of the confidence intervals; 0: 0.95
	Without    []bool   `json:"-"`     // original records that are left out (Together); nil: none
}

// Overlap compares a regression's confidence intervals from the original and from
// the release (Karr, Kohnen, Oganian, Reiter & Sanil 2006).
type Overlap struct {
	Formula    string   `json:"formula,omitempty" doc:"as it was given"`
	Response   string   `json:"response"`
	Predictors []string `json:"predictors"`
	Level      float64  `json:"level"`
	// complete records, original and released
	Records [2]int `json:"records"`
	// original records that another regression lacks, which has all others
	Dropped int `json:"dropped,omitempty" doc:"number of complete original records that are left out, because the records of another regression differ from those of this one by fewer than 10: the difference of their coefficients would tell the values of these few"`
	// of the coefficients' overlaps, the intercept's among them
	Mean         float64       `json:"mean" doc:"mean of the coefficients' overlaps"`
	Coefficients []Coefficient `json:"coefficients"`
	// LeftOut names the predictors that are linear combinations of those before them on
	// at least one side, and those whose coefficients few original records determine. They
	// are omitted on both sides, so that the coefficients have the same meaning.
	LeftOut []string `json:"left_out,omitempty"`
}

// Coefficient is one coefficient with its interval on both sides.
type Coefficient struct {
	Term     string   `json:"term"` // a predictor's name, or "(intercept)"
	Original Estimate `json:"original"`
	Released Estimate `json:"released"`
	// Overlap is the length of the intersection as a share of each interval, averaged
	// over the two intervals: 1 for equal intervals, 0 for disjoint ones. The share of
	// an interval of length 0 is 1 if it lies in the other one, else 0.
	Overlap float64 `json:"overlap"`
}

// Estimate is a coefficient's estimate and confidence interval.
type Estimate struct {
	Value float64 `json:"value"`
	Error float64 `json:"std_error"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Intercept is the name of the intercept's coefficient.
const Intercept = "(intercept)"

// OverlapOf computes the regression on both sides by least squares, on the complete
// records of each side, and compares the Student confidence intervals. It returns an
// error if the pair or the level is not valid, if a column does not exist or occurs
// twice in the regression, if a side has too few complete records, or if the context
// ends.
func OverlapOf(ctx context.Context, p Pair, r Regression) (*Overlap, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if r.Level == 0 {
		r.Level = 0.95
	}
	if !(r.Level > 0 && r.Level < 1) {
		return nil, fmt.Errorf("level: must be between 0 and 1, got %v", r.Level)
	}
	o := &Overlap{Response: r.Response, Predictors: append([]string{}, r.Predictors...), Level: r.Level}
	js, err := p.indexes(append(append([]string{}, r.Predictors...), r.Response))
	if err != nil {
		return nil, err
	}
	var sides [2][][]float64
	for side, columns := range [2][][]float64{p.Original, p.Released} {
		for _, j := range js {
			sides[side] = append(sides[side], columns[j])
		}
	}
	o.leaveOut(&sides, r.Without)
	return o, o.fit(ctx, sides, make([]bool, len(r.Predictors)))
}

// fit computes the regression on both sides, whose columns are the predictors, of which some are coded (made of
// indicators), and then the response. The sides may have different numbers of records.
func (o *Overlap) fit(ctx context.Context, columns [2][][]float64, coded []bool) error {
	k := len(o.Predictors)
	estimable := make([]int, k)
	var sides [2]*leastSquares
	for side := range sides {
		s, err := newLeastSquares(ctx, columns[side])
		if err != nil {
			return err
		}
		sides[side], o.Records[side] = s, s.n
		for _, c := range independent.Columns(s.cross, k+1, collinear) {
			if c < k {
				estimable[c]++
			}
		}
	}
	var keep []int
	for c, sides := range estimable {
		if sides == 2 {
			keep = append(keep, c)
		} else {
			o.LeftOut = append(o.LeftOut, o.Predictors[c])
		}
	}
	for {
		c, err := sides[0].few(ctx, columns[0], keep, coded)
		if err != nil {
			return err
		}
		if c < 0 {
			break
		}
		o.LeftOut = append(o.LeftOut, o.Predictors[keep[c]])
		keep = slices.Delete(keep, c, c+1)
	}
	var estimates [2][]Estimate
	for side, s := range sides {
		if s.n <= len(keep)+1 {
			return fmt.Errorf("the %s data must have more than %d complete records for %d coefficients, got %d",
				[2]string{"original", "released"}[side], len(keep)+1, len(keep)+1, s.n)
		}
		var err error
		if estimates[side], err = s.solve(keep, o.Level); err != nil {
			return err
		}
	}
	for i := range estimates[0] {
		c := Coefficient{Term: Intercept, Original: estimates[0][i], Released: estimates[1][i]}
		if i > 0 {
			c.Term = o.Predictors[keep[i-1]]
		}
		c.Overlap = overlap(c.Original, c.Released)
		o.Mean += c.Overlap / float64(len(estimates[0]))
		o.Coefficients = append(o.Coefficients, c)
	}
	return nil
}

// The greatest share that one record may have of the sum of squares that is left of a predictor after regression on
// the others: of one that is coded about that of one of ten records, since an indicator and another one that differ
// in one record have a coefficient that is its response. In fewer than a hundred records more.
const (
	mostOfCoded   = 1. / 8
	mostOfNumeric = 1. / 3
	mostOfFew     = 12 // divided by the number of records
)

// few returns the place in keep of the predictor whose coefficient goes most by one record beyond what it may; −1 if
// there is none. What is left of predictor c in record i is Σ_e (ZᵀZ)⁻¹_ce z_ie/(ZᵀZ)⁻¹_cc, and its sum of squares
// 1/(ZᵀZ)⁻¹_cc (partial leverage: Belsley, Kuh and Welsch 1980, section 2.1).
func (s *leastSquares) few(ctx context.Context, columns [][]float64, keep []int, coded []bool) (int, error) {
	inverse := new(mat.SymDense)
	var chol mat.Cholesky
	if len(keep) == 0 || !chol.Factorize(symmetric(s.cross, len(s.mean), keep)) {
		return -1, nil // that they are collinear is said by solve
	}
	if err := chol.InverseTo(inverse); err != nil {
		return -1, fmt.Errorf("least squares: %w", err)
	}
	parts := make([][]float64, stretches)
	err := inStretches(ctx, len(columns[0]), func(part, from, to int) error {
		most, z := make([]float64, len(keep)), make([]float64, len(keep))
		for i := from; i < to; i++ {
			if slices.ContainsFunc(columns, func(v []float64) bool { return v[i] != v[i] }) {
				continue
			}
			for k, c := range keep {
				z[k] = (columns[c][i] - s.mean[c]) / s.sd[c]
			}
			for k := range keep {
				left := 0.0
				for e, v := range z {
					left += inverse.At(k, e) * v
				}
				most[k] = max(most[k], left*left/inverse.At(k, k))
			}
		}
		parts[part] = most
		return nil
	})
	worst, beyond := -1, 1.0
	for k, c := range keep {
		limit := mostOfNumeric
		if coded[c] {
			limit = mostOfCoded
		}
		limit = max(limit, mostOfFew/float64(s.n))
		for _, most := range parts {
			if most != nil && most[k]/limit > beyond {
				worst, beyond = k, most[k]/limit
			}
		}
	}
	return worst, err
}

// overlap returns the mean share of the two intervals that lies in their intersection.
func overlap(a, b Estimate) float64 {
	common := min(a.Upper, b.Upper) - max(a.Lower, b.Lower)
	if common < 0 {
		return 0
	}
	share := func(e Estimate) float64 {
		if length := e.Upper - e.Lower; length > 0 {
			return common / length
		}
		return 1
	}
	return (share(a) + share(b)) / 2
}

// leastSquares holds the sums that a regression needs: the columns' means and SDs, and
// the sums of products of the standardised columns. The last column is the response.
type leastSquares struct {
	n        int
	mean, sd []float64
	cross    []float64 // upper triangle
}

// newLeastSquares computes means, SDs and products in three passes over the complete
// records.
func newLeastSquares(ctx context.Context, columns [][]float64) (*leastSquares, error) {
	k := len(columns)
	s := &leastSquares{mean: make([]float64, k), sd: make([]float64, k), cross: make([]float64, k*k)}
	var err error
	if s.n, err = overComplete(ctx, columns, s.mean, func(sum []float64, i int) {
		for c, v := range columns {
			sum[c] += v[i]
		}
	}); err != nil {
		return nil, err
	}
	for c := range s.mean {
		s.mean[c] /= float64(s.n)
	}
	if _, err = overComplete(ctx, columns, s.sd, func(sum []float64, i int) {
		for c, v := range columns {
			sum[c] += (v[i] - s.mean[c]) * (v[i] - s.mean[c])
		}
	}); err != nil {
		return nil, err
	}
	for c, square := range s.sd {
		s.sd[c] = math.Sqrt(square / float64(s.n-1))
	}
	_, err = overComplete(ctx, columns, s.cross, func(sum []float64, i int) {
		for a, u := range columns {
			if s.sd[a] == 0 {
				continue
			}
			za := (u[i] - s.mean[a]) / s.sd[a]
			for b := a; b < k; b++ {
				if s.sd[b] > 0 {
					sum[a*k+b] += za * (columns[b][i] - s.mean[b]) / s.sd[b]
				}
			}
		}
	})
	return s, err
}

// overComplete calls f for every complete record, adds the sums to dst and returns the
// number of complete records. It sums in stretches, so that a sum of 1e6 terms has the
// rounding error of a sum of 1e4.
func overComplete(ctx context.Context, columns [][]float64, dst []float64, f func(sum []float64, i int)) (int, error) {
	complete := func(i int) bool {
		for _, v := range columns {
			if v[i] != v[i] {
				return false
			}
		}
		return true
	}
	sums, counts := make([][]float64, stretches), make([]int, stretches)
	err := inStretches(ctx, len(columns[0]), func(part, from, to int) error {
		sum, n := make([]float64, len(dst)), 0
		for i := from; i < to; i++ {
			if complete(i) {
				f(sum, i)
				n++
			}
		}
		sums[part], counts[part] = sum, n
		return nil
	})
	n := 0
	for part, sum := range sums {
		n += counts[part]
		for c, v := range sum {
			dst[c] += v
		}
	}
	return n, err
}

// solve returns the intercept and the coefficients of the kept predictors, with
// confidence intervals, or an error if the predictors are collinear. The covariance of
// the slopes is σ̂²(ZᵀZ)⁻¹ on standardised predictors; the intercept is ȳ − Σ b_c x̄_c,
// and ȳ is uncorrelated with the slopes.
func (s *leastSquares) solve(keep []int, level float64) ([]Estimate, error) {
	k := len(s.mean)
	last := k - 1
	df := float64(s.n - len(keep) - 1)
	quantile := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile((1 + level) / 2)
	residual := s.cross[last*k+last]
	slopes := make([]float64, len(keep))
	inverse := new(mat.SymDense)
	if len(keep) > 0 {
		right := mat.NewVecDense(len(keep), nil)
		for i, c := range keep {
			right.SetVec(i, s.cross[c*k+last])
		}
		var chol mat.Cholesky
		if !chol.Factorize(symmetric(s.cross, k, keep)) {
			return nil, errors.New("least squares: the predictors are collinear")
		}
		var b mat.VecDense
		if err := chol.SolveVecTo(&b, right); err != nil {
			return nil, fmt.Errorf("least squares: %w", err)
		}
		if err := chol.InverseTo(inverse); err != nil {
			return nil, fmt.Errorf("least squares: %w", err)
		}
		for i := range keep {
			slopes[i] = b.AtVec(i)
			residual -= slopes[i] * right.AtVec(i)
		}
	}
	scale := s.sd[last]
	variance := max(residual, 0) / df * scale * scale
	interval := func(value, variance float64) Estimate {
		se := math.Sqrt(variance)
		return Estimate{value, se, value - quantile*se, value + quantile*se}
	}
	estimates := make([]Estimate, 1+len(keep))
	at := s.mean[last]
	spread := 1 / float64(s.n)
	for i, c := range keep {
		value := slopes[i] * scale / s.sd[c]
		at -= value * s.mean[c]
		estimates[1+i] = interval(value, variance*inverse.At(i, i)/(s.sd[c]*s.sd[c]))
		for j, e := range keep {
			spread += s.mean[c] / s.sd[c] * inverse.At(i, j) * s.mean[e] / s.sd[e]
		}
	}
	estimates[0] = interval(at, variance*spread)
	return estimates, nil
}
