package joint

import (
	"math"
	"slices"
	"testing"
)

// Of several waves of a value, each with a draw of its own, an attacker takes the middle of the least and the greatest
// if the noise is uniform, and what is best of mean and median if it is that of Laplace; the mean if it is normal. The
// error that is stated is never above his by more than 3 %, wherever the waves stand and where some of them lack
// values. Waves that change are no such columns.
func TestWavesOfOneValue(t *testing.T) {
	const n, sd = 1500, 200.0
	for name, draw := range map[string]func(w *world) float64{
		"uniform": func(w *world) float64 { return sd * math.Sqrt(3) * (2*w.r.Float64() - 1) },
		"laplace": func(w *world) float64 { return sd / math.Sqrt2 * w.r.ExpFloat64() * float64(2*w.r.IntN(2)-1) },
		"normal":  func(w *world) float64 { return sd * w.r.NormFloat64() },
	} {
		for _, waves := range []int{2, 4, 8} {
			for _, first := range []bool{true, false} {
				w := newWorld(uint64(37+waves), n)
				x := w.of(func(int) float64 { return math.Round(1800 * math.Exp(0.4*w.r.NormFloat64())) })
				list := make([][]float64, waves)
				for k := range list {
					list[k] = w.of(func(i int) float64 { return x[i] + draw(w) })
				}
				mean, middle, median := make([]float64, n), make([]float64, n), make([]float64, n)
				for i := range n {
					var all []float64
					for _, v := range list {
						all = append(all, v[i])
						mean[i] += v[i] / float64(waves)
					}
					slices.Sort(all)
					middle[i], median[i] = (all[0]+all[waves-1])/2, (all[(waves-1)/2]+all[waves/2])/2
				}
				best := math.Inf(1)
				for _, e := range [][]float64{mean, middle, median} {
					square := 0.0
					for i := range e {
						square += (e[i] - x[i]) * (e[i] - x[i]) / n
					}
					best = min(best, math.Sqrt(square))
				}
				own, other := 0, w.incomes()
				values := append(slices.Clone(list), other)
				if !first {
					slices.Reverse(values)
					own = waves
				}
				result := New(columns(values...), n, true).Estimate(x, list[0], own, nil)
				if stated := math.Sqrt(result.Square); stated > 1.03*best || stated < 0.85*best {
					t.Errorf("%s, %d waves, first %t: known to ± %.4g, an attacker reaches ± %.4g", name, waves, first, stated, best)
				}
				if want := waves; len(result.Tells) < want-1 {
					t.Errorf("%s, %d waves, first %t: %v tell", name, waves, first, result.Tells)
				}
			}
		}
	}
	// With cells that are missing, and waves that rise, which are of another size.
	w := newWorld(38, n)
	x := w.incomes()
	var list [][]float64
	for k := range 8 {
		list = append(list, w.of(func(i int) float64 {
			if w.r.IntN(5) == 0 && k > 0 {
				return math.NaN()
			}
			return x[i] + 300*(2*w.r.Float64()-1)
		}))
	}
	for k := range 4 {
		list = append(list, w.of(func(i int) float64 { return (1.2 + 0.1*float64(k)) * (x[i] + 300*(2*w.r.Float64()-1)) }))
	}
	result := New(columns(list...), n, true).Estimate(x, list[0], 0, nil)
	// 6.6 waves of 8 on average: 173·√(6/(7.6·8.6)) = 52 by their middle, and the others help. Least squares of all leaves
	// 53.
	if stated := math.Sqrt(result.Square); stated > 49 {
		t.Errorf("missing cells: known to ± %.4g, by %v", stated, result.Tells)
	}
}

// Means of groups of five are nearly the values but for the few greatest. A relation that is off by less than they are
// on average tells those few, also where it lacks cells elsewhere: what is left without it is most in so few records
// that no mean is certain. The relation's own error is.
func TestRelationOfAFewFarValues(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(40+seed, 600)
		x := w.of(func(int) float64 { return math.Round(400 * math.Exp(0.6*w.r.NormFloat64())) })
		order := make([]int, len(x))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return int(x[a] - x[b]) })
		y := make([]float64, len(x))
		square := 0.0
		for from := 0; from < len(x); from += 5 {
			mean := 0.0
			for _, i := range order[from : from+5] {
				mean += x[i] / 5
			}
			for _, i := range order[from : from+5] {
				y[i] = mean
				square += (x[i] - mean) * (x[i] - mean) / float64(len(x))
			}
		}
		off := math.Sqrt(square)
		rate := w.of(func(int) float64 { return 0.7 + 0.6*w.r.Float64() })
		z := w.of(func(i int) float64 { return (x[i] + 0.6*off*w.r.NormFloat64()) * rate[i] })
		for k := range 60 {
			z[order[k*9]] = math.NaN()
			rate[order[k*9+2]] = math.NaN()
		}
		for _, list := range [][]Column{columns(y, z, rate), columns(y, rate, z)} {
			if rmse := math.Sqrt(New(list, len(x), true).Estimate(x, y, 0, nil).Square); rmse > 0.75*off {
				t.Errorf("seed %d: known to ± %.4g, by a relation to ± %.4g, as released to ± %.4g", seed, rmse, 0.6*off, off)
			}
		}
	}
}
