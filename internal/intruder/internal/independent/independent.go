// Package independent finds the columns of a regression that others do not determine.
package independent

// Columns returns the indices of the columns that are not linear combinations of those before them, by Gaussian
// elimination in their order. gram is k×k, of which only the upper triangle is read. A column counts as such a
// combination if regression on those before it leaves at most the share collinear of its sum of squares.
func Columns(gram []float64, k int, collinear float64) (keep []int) {
	a := append([]float64(nil), gram...)
	for i := range k {
		pivot := a[i*k+i]
		if !(pivot > collinear*gram[i*k+i]) {
			continue
		}
		keep = append(keep, i)
		for r := i + 1; r < k; r++ {
			if f := a[i*k+r] / pivot; f != 0 {
				for c := r; c < k; c++ {
					a[r*k+c] -= f * a[i*k+c]
				}
			}
		}
	}
	return keep
}
