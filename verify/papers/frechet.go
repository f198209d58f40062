package papers

// Frechet returns the bounds of the margin I+K that the margins IJ+ and +JK imply:
// given J, the margins do not restrict the other two variables further, so that
//
//	Σ_j max(0, n_ij+ + n_+jk − n_+j+) ≤ n_i+k ≤ Σ_j min(n_ij+, n_+jk),
//
// which is sharp (Dobra and Fienberg 2000; Duncan et al. 2001, §4). ij is indexed
// [i][j], jk [j][k]; both must add up to the same n_+j+.
func Frechet(ij, jk [][]float64) (lower, upper [][]float64) {
	lower, upper = make([][]float64, len(ij)), make([][]float64, len(ij))
	for i := range ij {
		lower[i], upper[i] = make([]float64, len(jk[0])), make([]float64, len(jk[0]))
		for j, a := range ij[i] {
			total := 0.0
			for _, b := range jk[j] {
				total += b
			}
			for k, b := range jk[j] {
				lower[i][k] += max(0, a+b-total)
				upper[i][k] += min(a, b)
			}
		}
	}
	return lower, upper
}
