package core

import (
	"fmt"
	"math"
	"strconv"
)

// Correlations are those of pairs of original columns, by their names in ascending order.
type Correlations map[[2]string]float64

// Of returns the correlation of two columns; false if it is not known.
func (c Correlations) Of(a, b string) (float64, bool) {
	r, ok := c[[2]string{min(a, b), max(a, b)}]
	return r, ok && !math.IsNaN(r)
}

// NeedsCorrelations returns the columns whose correlations with one another a mask must know;
// nil if it needs none.
func NeedsCorrelations(p Params) []string {
	return Declared(p).Correlates
}

// CorrelationsOf returns the correlation matrix of some columns. A pair without a correlation
// in the data, for example because one of the two is constant, gets 0.
func CorrelationsOf(known Correlations, names []string) ([][]float64, error) {
	r := make([][]float64, len(names))
	for i, a := range names {
		r[i] = make([]float64, len(names))
		r[i][i] = 1
		for k, b := range names[:i] {
			v, ok := known[[2]string{min(a, b), max(a, b)}]
			if !ok {
				return nil, fmt.Errorf("the correlation of %s and %s is not known", strconv.Quote(a), strconv.Quote(b))
			}
			if v == v {
				v = min(1, max(-1, v))
				r[i][k], r[k][i] = v, v
			}
		}
	}
	return r, nil
}

// FactorOf returns the lower triangle L with LL' = (1 − t)r + tI, for the least t, in whole
// percent, with which this is a correlation matrix. r itself need not be one, because its
// entries are computed over pairwise complete records.
func FactorOf(r [][]float64) [][]float64 {
	for t := 0; ; t++ {
		if l, ok := cholesky(r, float64(100-t)/100); ok {
			return l
		}
	}
}

// cholesky factors the matrix with its entries off the diagonal multiplied by a factor; false
// if that is not positive semidefinite. Each row of the result has length 1, so that the
// variance of the noise is exact.
func cholesky(r [][]float64, times float64) (l [][]float64, ok bool) {
	l = make([][]float64, len(r))
	for i := range r {
		l[i] = make([]float64, len(r))
		for k := range i + 1 {
			s := r[i][k]
			if k < i {
				s = float64(s * times)
			}
			for m := range k {
				s -= float64(l[i][m] * l[k][m])
			}
			switch {
			case k == i && s < -Pivotal:
				return nil, false
			case k == i && s <= Pivotal:
				l[i][i] = 0
			case k == i:
				l[i][i] = math.Sqrt(s)
			case l[k][k] == 0 && math.Abs(s) > math.Sqrt(Pivotal):
				return nil, false // the columns that determine k do not imply this correlation with it
			case l[k][k] > 0:
				l[i][k] = s / l[k][k]
			}
		}
		length := 0.0
		for _, v := range l[i] {
			length += float64(v * v)
		}
		length = math.Sqrt(length)
		for k := range l[i] {
			l[i][k] /= length
		}
	}
	return l, true
}

// Pivotal is the limit below which a pivot counts as 0. Correlations are known to six digits;
// the noise of a column that the others determine so closely (a sum of its parts) follows from
// the noise of these.
const Pivotal = 1e-5
