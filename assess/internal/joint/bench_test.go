package joint

import (
	"math"
	"math/rand/v2"
	"testing"
)

// BenchmarkEstimate is one masked column of 30,000 records beside 30 others.
func BenchmarkEstimate(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 30_000
	x, y := make([]float64, n), make([]float64, n)
	columns := []Column{{Name: "own", Values: y}}
	for range 30 {
		columns = append(columns, Column{Name: "z", Values: make([]float64, n)})
	}
	for i := range n {
		x[i] = math.Round(100*math.Exp(6+0.5*r.NormFloat64())) / 100
		y[i] = x[i] + 100*r.NormFloat64()
		for c := range columns[1:] {
			columns[1+c].Values[i] = math.Round(10*(x[i]*float64(c)/40+300*r.ExpFloat64())) / 10
		}
	}
	f := New(columns, n, true)
	for b.Loop() {
		f.Estimate(x, y, 0, nil)
	}
}
