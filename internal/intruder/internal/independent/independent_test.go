package independent

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A column that others before it determine is left out, at the first place, the middle and the last; its
// first occurrence stays.
func TestColumns(t *testing.T) {
	const n, k = 50, 5
	r := rand.New(rand.NewPCG(5, 1))
	for _, c := range []struct {
		make func(row []float64)
		want []int
	}{
		{func([]float64) {}, []int{0, 1, 2, 3, 4}},
		{func(row []float64) { row[0] = 0 }, []int{1, 2, 3, 4}},
		{func(row []float64) { row[1] = 3 * row[0] }, []int{0, 2, 3, 4}},
		{func(row []float64) { row[4] = row[0] - 2*row[2] + row[3] }, []int{0, 1, 2, 3}},
		{func(row []float64) { row[2], row[3] = row[0]+row[1], row[0]-row[1] }, []int{0, 1, 4}},
	} {
		gram := make([]float64, k*k)
		for range n {
			row := make([]float64, k)
			for i := range row {
				row[i] = r.NormFloat64()
			}
			c.make(row)
			for i := range k {
				for j := i; j < k; j++ {
					gram[i*k+j] += row[i] * row[j]
				}
			}
		}
		if got := Columns(gram, k, 1e-12); !slices.Equal(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}
