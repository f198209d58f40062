package masktest

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Impurity is n times the variance of numbers, or Gini's index of categories, by definition.
func Impurity(y []float64, rows []int32, categories bool) float64 {
	n := float64(len(rows))
	if categories {
		count := map[float64]float64{}
		for _, r := range rows {
			count[y[r]]++
		}
		sum := n
		for _, c := range count {
			sum -= c * c / n
		}
		return sum
	}
	mean, square := 0.0, 0.0
	for _, r := range rows {
		mean += y[r] / n
	}
	for _, r := range rows {
		square += (y[r] - mean) * (y[r] - mean)
	}
	return square
}

// SlopesOf returns the least squares coefficients of a constant and columns, by another library.
func SlopesOf(y []float64, x ...[]float64) []float64 {
	design := mat.NewDense(len(y), len(x)+1, nil)
	for i := range y {
		design.Set(i, 0, 1)
		for k := range x {
			design.Set(i, k+1, x[k][i])
		}
	}
	var beta mat.Dense
	if err := beta.Solve(design, mat.NewDense(len(y), 1, slices.Clone(y))); err != nil {
		panic(err)
	}
	return mat.Col(nil, 0, &beta)
}
