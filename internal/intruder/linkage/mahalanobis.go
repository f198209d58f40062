package linkage

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

const (
	// leastMasked is the variance, in variances of the released keys, below which
	// a direction counts as masked by so much (see OfDifferences): an SD of 10⁻⁶
	// lies far above what the transformation of coordinates rounds off and far
	// below any masking that would be worth the name.
	leastMasked = 1e-12
	// leastReleased is the eigenvalue, beside the greatest, below which a
	// direction of the released keys is rounding and dropped.
	leastReleased = 1e-10
)

// mahalanobis turns the keys into coordinates in which the Mahalanobis distance
// is Euclidean: standardised by the released SDs, turned to the eigenvectors of
// the covariance matrix, divided by the roots of its eigenvalues. The matrix is
// made of exact sums, so that it does not depend on the order of the file.
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
			return nil, nil, fmt.Errorf("mahalanobis: the covariance of the differences of %d keys needs more than %d targets that are in the release, got %d", p, p, pairs)
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
// some keys.
func eigenOf(covariance *mat.SymDense, keys []int) (values []float64, vectors *mat.Dense, err error) {
	for k, key := range keys {
		if v := covariance.At(k, k); math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, nil, fmt.Errorf("mahalanobis: the covariance of key %d is beyond the range of numbers", key)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, nil, fmt.Errorf("mahalanobis: the eigenvalues of the covariance matrix of %d keys do not converge", len(keys))
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors, nil
}

// along is the coordinate of each record along eigenvector l.
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

// differences are released less original of the true pairs, in released SDs.
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

// covarianceOf has divisor n−1.
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
