package assess

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Two wages that moved together between the two of each cell tell with what stayed whose they are: more are stated than
// have stayed. Without the columns that moved together, or by the wrong ones, the best statement is the released value,
// or that of the nearer of the two.
func TestClaimsOfWhatMovedTogether(t *testing.T) {
	const n = 600
	r := rand.New(rand.NewPCG(2, 9))
	stayed, cell := make([]float64, n), make([]float64, n)
	var x, y [4][]float64
	for i := range n {
		stayed[i], cell[i] = r.NormFloat64(), float64(i/10)
		for k := range x {
			x[k] = append(x[k], stayed[i]+r.NormFloat64())
		}
	}
	for k := range x {
		y[k] = slices.Clone(x[k])
	}
	moved := 0
	for from := 0; from < n; from += 10 {
		order := r.Perm(10)
		for k := 0; k < 10; k += 2 {
			if a, b := from+order[k], from+order[k+1]; r.Float64() < 0.7 {
				moved += 2
				for c := range y {
					y[c][a], y[c][b] = y[c][b], y[c][a]
				}
			}
		}
	}
	seen := []Seen{{Name: "cell", Values: cell, Categories: true}, {Name: "stayed", Values: stayed}}
	var sought []Sought
	var names []string
	for k, name := range []string{"a", "b", "c", "d"} {
		names = append(names, name)
		seen = append(seen, Seen{Name: name, Values: y[k]})
		sought = append(sought, Sought{Name: name, Original: x[k], Released: y[k], Own: k + 2, Distances: []float64{0.001}})
	}
	best := func(together ...MovedTogether) (most int) {
		for _, claims := range Claims(seen, sought, together, true)[0] {
			right := 0
			for i, v := range claims {
				if v == x[0][i] {
					right++
				}
			}
			most = max(most, right)
		}
		return most
	}
	alone := best()
	all := best(MovedTogether{Moved: names, Within: []string{"cell"}, Couples: true})
	one := best(MovedTogether{Moved: names[:1], Within: []string{"cell"}, Couples: true})
	unseen := best(MovedTogether{Moved: []string{"e"}, Within: []string{"f"}, Couples: true})
	// Four standard errors of a share of 600 are 0.08, 49 records.
	if alone > n-moved+49 || unseen > alone || all < alone+100 || one > all-49 {
		t.Errorf("%d have stayed; %d are stated, with what moved together %d, by one column %d", n-moved, alone, all, one)
	}
}
