package linkage

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

const (
	// leastMasked is the least variance of the differences in a direction, in variances
	// of the released keys; smaller ones are raised to it (see OfDifferences). Its SD
	// of 10⁻⁶ lies far above the rounding errors of the change of coordinates and far
	// below any effective masking.
	leastMasked = 1e-12
	// leastReleased is the eigenvalue, as a share of the greatest, up to which a
	// direction of the released keys counts as rounding error and is omitted.
	leastReleased = 1e-10
)

// mahalanobis transforms the keys to coordinates in which the Mahalanobis distance is
// Euclidean: it standardises them by the released SDs, projects them on the
// eigenvectors of the covariance matrix and divides by the square roots of its
// eigenvalues. The matrix is computed from exact sums, so that it does not depend on
// the order of the file. It returns an error if a key has missing values, if there are
// too few true pairs, or if the matrix is not finite or its eigenvalues do not
// converge.
func mahalanobis(targets, released Keys, o *Options) (columns []columnPair, constant []int, err error) {
	var scales, means, sds []float64
	var keys []int
	for j, column := range released.Numeric {
		if anyMissing(column) || anyMissing(targets.Numeric[j]) {
			return nil, nil, errMissing
		}
		scale := scaleOf(column)
		is := momentsOf(column, scale)
		if !(is.least < is.biggest) {
			constant = append(constant, j)
			continue
		}
		keys, scales, means, sds = append(keys, j), append(scales, scale), append(means, is.mean), append(sds, is.sd)
	}
	p := len(keys)
	if p == 0 {
		return nil, constant, nil
	}
	inSDs := func(from Keys) [][]float64 {
		z := make([][]float64, p)
		for k, j := range keys {
			z[k] = make([]float64, from.Len())
			for i, v := range from.Numeric[j] {
				z[k][i] = (v*scales[k] - means[k]) / sds[k]
			}
		}
		return z
	}
	x, y := inSDs(targets), inSDs(released)
	of := y
	if o.Covariance == OfDifferences {
		of = differences(targets, released, keys, scales, sds, o)
		if pairs := len(of[0]); pairs <= p {
			return nil, nil,
				fmt.Errorf(
					"mahalanobis: the covariance of the differences of %d keys needs more than %d targets that are in the release, got %d", p, p, pairs)
		}
	}
	values, vectors, err := eigenOf(covarianceOf(of), keys)
	if err != nil {
		return nil, nil, err
	}
	greatest := values[p-1]
	for l := p - 1; l >= 0; l-- {
		value := values[l]
		if o.Covariance == OfDifferences {
			value = max(value, leastMasked)
		} else if value <= leastReleased*greatest {
			continue
		}
		columns = append(columns, columnPair{squared, 1 / math.Sqrt(value), 1, along(x, vectors, l), along(y, vectors, l)})
	}
	return columns, constant, nil
}

// eigenOf returns the eigenvalues, ascending, and eigenvectors of the covariance matrix of
// the given keys, or an error if a variance is not finite or the eigenvalues do not
// converge.
func eigenOf(covariance *mat.SymDense, keys []int) (values []float64, vectors *mat.Dense, err error) {
	for k, key := range keys {
		if v := covariance.At(k, k); math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, nil, fmt.Errorf("mahalanobis: the covariance of key %d is beyond the range of numbers", key)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, nil,
			fmt.Errorf("mahalanobis: the eigenvalues of the covariance matrix of %d keys do not converge", len(keys))
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors, nil
}

// along returns the coordinate of each record along eigenvector l.
func along(z [][]float64, vectors *mat.Dense, l int) []float64 {
	sum := make([]float64, len(z[0]))
	for k, column := range z {
		v := vectors.At(k, l)
		for i, x := range column {
			sum[i] += float64(v * x)
		}
	}
	return sum
}

// differences returns the released minus the original values of the true pairs, by key,
// in released SDs.
func differences(targets, released Keys, keys []int, scales, sds []float64, o *Options) [][]float64 {
	d := make([][]float64, len(keys))
	for k, j := range keys {
		for i, v := range targets.Numeric[j] {
			if t := o.truth(i); t >= 0 {
				d[k] = append(d[k], (released.Numeric[j][t]*scales[k]-v*scales[k])/sds[k])
			}
		}
	}
	return d
}

// covarianceOf returns the covariance matrix of the columns, with divisor n−1.
func covarianceOf(columns [][]float64) *mat.SymDense {
	p, n := len(columns), len(columns[0])
	means := make([]float64, p)
	for k, x := range columns {
		var sum exactSum
		for _, v := range x {
			sum.add(v)
		}
		means[k] = sum.total() / float64(n)
	}
	c := mat.NewSymDense(p, nil)
	for k, x := range columns {
		for l, y := range columns[:k+1] {
			var sum exactSum
			for i, v := range x {
				sum.add(float64((v - means[k]) * (y[i] - means[l])))
			}
			c.SetSym(k, l, sum.total()/float64(n-1))
		}
	}
	return c
}

func anyMissing(column []float64) bool {
	for _, v := range column {
		if math.IsNaN(v) {
			return true
		}
	}
	return false
}
