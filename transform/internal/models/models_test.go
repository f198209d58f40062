package models

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
)

// codedData returns a number a, categories b (1, 2, 3) that depend on a, a number c that depends on
// both, coded c with two values, d, and strata e in which all dependencies are reversed.
func codedData(n int, seed uint64) [5][]float64 {
	r := rand.New(rand.NewPCG(seed, 16))
	var columns [5][]float64
	for k := range columns {
		columns[k] = make([]float64, n)
	}
	for i := range n {
		s := float64(i % 2)
		a := r.NormFloat64() + 0.5*r.ExpFloat64()
		w := []float64{1, math.Exp(0.3 + (1-2*s)*a), math.Exp(-1 + 0.5*a)}
		u, b := r.Float64()*(w[0]+w[1]+w[2]), 0
		for u -= w[0]; u >= 0 && b < 2; u -= w[b] {
			b++
		}
		c := 3*float64(b%2) + 0.5*a + r.NormFloat64()
		columns[0][i], columns[1][i], columns[2][i], columns[4][i] = a, float64(b+1), c, s
		if r.Float64() < 1/(1+math.Exp(-(c-1)-2*float64(b/2))) {
			columns[3][i] = 1
		}
	}
	return columns
}

// bentData returns a number and another that follows its square.
func bentData(n int, seed uint64) (x, y []float64) {
	r := rand.New(rand.NewPCG(seed, 17))
	for range n {
		a := 2*r.Float64() - 1
		x, y = append(x, a), append(y, 3*a*a+(0.1+0.3*math.Abs(a))*r.NormFloat64())
	}
	return x, y
}

func repeat(x float64, n int) []float64 { return slices.Repeat([]float64{x}, n) }

func rowsUpTo(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// numbers returns columns as numeric predictors.
func numbers(columns [][]float64) []Predictor {
	list := make([]Predictor, len(columns))
	for k, values := range columns {
		list[k].Values = values
	}
	return list
}

// The fit maximises the penalised likelihood, which is concave: by definition no step in any
// direction increases it, and the constants give each category its share.
func TestLogisticIsTheMaximum(t *testing.T) {
	const n = 500
	columns := codedData(n, 1)
	x := numbers([][]float64{columns[0], columns[2], repeat(4, n)})
	two := 2.0
	for name, of := range map[string]struct {
		x    []Predictor
		y    []float64
		list []float64
	}{
		"three categories": {x, columns[1], []float64{1, 2, 3}},
		"two":              {x, columns[3], []float64{0, 1}},
		"by categories":    {append(slices.Clone(x), Predictor{columns[1], &two}), columns[3], []float64{0, 1}},
		"by nothing":       {nil, columns[1], []float64{1, 2, 3}},
		"separated":        {numbers([][]float64{columns[1]}), columns[1], []float64{1, 2, 3}},
	} {
		m := FitLogistic(of.x, of.y, of.list, rowsUpTo(n), nil)
		shares := make([]float64, len(of.list))
		likelihood := func() float64 {
			sum := 0.0
			clear(shares)
			for i := range n {
				weights, total := []float64{1}, 1.0
				for _, slopes := range m.slopes {
					s := slopes[0]
					for k, p := range of.x {
						v := p.Values[i]
						if p.Of != nil {
							v = map[bool]float64{true: 1}[v == *p.Of]
						}
						mean, square := 0.0, 0.0
						for r := range n {
							mean += p.At(int32(r)) / n
						}
						for r := range n {
							square += (p.At(int32(r)) - mean) * (p.At(int32(r)) - mean) / n
						}
						if square > 0 {
							s += slopes[k+1] * (v - mean) / math.Sqrt(square)
						}
					}
					weights, total = append(weights, math.Exp(s)), total+math.Exp(s)
				}
				for c, v := range of.list {
					shares[c] += weights[c] / total
					if of.y[i] == v {
						sum += math.Log(weights[c] / total)
					}
				}
			}
			for _, slopes := range m.slopes {
				for _, v := range slopes[1:] {
					sum -= v * v / 200
				}
			}
			return sum
		}
		top := likelihood()
		for c, v := range of.list {
			count := 0.0
			for _, y := range of.y {
				if y == v {
					count++
				}
			}
			if !(math.Abs(shares[c]-count) <= 1e-4*n) {
				t.Errorf("%s: %v records expected in category %v, %v are", name, shares[c], v, count)
			}
		}
		for _, slopes := range m.slopes {
			for k := range slopes {
				for _, by := range []float64{-0.02, 0.02} {
					slopes[k] += by
					if at := likelihood(); at > top {
						t.Errorf("%s: the likelihood is %v, and %v next to it", name, top, at)
					}
					slopes[k] -= by
				}
			}
		}
	}
}

// One fit of five categories on ten columns, with as many records as the demo.
func BenchmarkLogistic(b *testing.B) {
	const n = 28_155
	r := rand.New(rand.NewPCG(1, 1))
	columns, y := make([][]float64, 10), make([]float64, n)
	for k := range columns {
		columns[k] = make([]float64, n)
	}
	for i := range n {
		s := r.NormFloat64()
		for k := range columns {
			columns[k][i] = r.NormFloat64()
			s += columns[k][i] / 3
		}
		y[i] = max(0, min(4, math.Round(2+s)))
	}
	rows := rowsUpTo(n)
	for b.Loop() {
		FitLogistic(numbers(columns), y, []float64{0, 1, 2, 3, 4}, rows, nil)
	}
}

// With rare categories and skewed predictors a full Newton step often overshoots, and without
// shorter steps the result is far from the maximum, where the derivatives are 0. A fit ends when a
// step would gain less than 1e-12·n, which is half the squared derivative over the curvature (at
// most n/4), so derivatives of up to 1e-6·n remain.
func TestLogisticOfRareCategories(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, sigma := 100+r.IntN(400), 3*r.Float64()
		columns := make([][]float64, 1+r.IntN(3))
		for k := range columns {
			columns[k] = make([]float64, n)
			for i := range n {
				columns[k][i] = math.Exp(sigma * r.NormFloat64())
			}
		}
		categories, y, of := make([]float64, 2+r.IntN(3)), make([]float64, n), make([]int, n)
		for c := range categories {
			categories[c] = float64(c)
			for i := range 2 + r.IntN(4) {
				at := r.IntN(n)
				if i == 0 {
					at = n - 1 - c
				}
				y[at], of[at] = float64(c), c
			}
		}
		x := numbers(columns)
		_, score, _ := FitLogistic(x, y, categories, rowsUpTo(n), nil).slope(x, of, rowsUpTo(n), nil)
		for i, s := range score {
			if !(math.Abs(s) <= 1e-6*float64(n)) {
				t.Errorf("seed %d, %d records of %d categories, %d predictors: derivative %d is %v", seed, n, len(categories),
					len(x), i, s)
				break
			}
		}
	}
}

// A record whose predictor is missing has the shares for the predictor's mean; a constant
// predictor has no effect, whatever value a further record has.
func TestSharesOfAMissingPredictor(t *testing.T) {
	x := numbers([][]float64{{1, 2, 3, 6, math.NaN(), 3, 3}, {0, 5, 1, 2, 2, math.NaN(), 2}, {4, 4, 4, 4, 4, 4, 9}})
	m := FitLogistic(x, []float64{0, 1, 0, 1}, []float64{0, 1}, rowsUpTo(4), nil)
	of := func(r int32) []float64 {
		u, share := make([]float64, 4), make([]float64, 2)
		m.Standard(u, x, r)
		m.Shares(share, u)
		return share
	}
	mean := of(6) // 3 and 2 are the means of the four records of the fit
	if !(math.Abs(of(0)[1]-mean[1]) > 0.01) {
		t.Errorf("the predictors have no effect: %v and %v", of(0), mean)
	}
	for r := int32(4); r < 6; r++ {
		if got := of(r); !(math.Abs(got[0]-mean[0]) <= 1e-12) || math.Abs(got[1]-mean[1]) > 1e-12 {
			t.Errorf("record %d: shares %v, want %v", r, got, mean)
		}
	}
	for _, slopes := range m.slopes {
		if slopes[3] != 0 {
			t.Errorf("a constant has the slope %v", slopes[3])
		}
		slopes[3] = 5 // whatever it were
	}
	if got := of(6); !slices.Equal(got, mean) {
		t.Errorf("shares %v with a constant predictor, want %v", got, mean)
	}
}

// A system with a solution is solved. An unknown that the others determine is 0, whether it is the
// first, the last or in between.
func TestSolvePositive(t *testing.T) {
	for at := range 4 {
		a, b := make([][]float64, 4), make([]float64, 4)
		want := []float64{3, -1, 4, 2}
		for i := range a {
			for k := range i + 1 {
				v := 1 / float64(1+i+k)
				if i == k {
					v++
				}
				if i == at || k == at {
					v = 0
				}
				a[i] = append(a[i], v)
			}
		}
		want[at] = 0
		for i := range a {
			for k := range a {
				b[i] += a[max(i, k)][min(i, k)] * want[k]
			}
		}
		for i, got := range solvePositive(a, b) {
			if !(math.Abs(got-want[i]) <= 1e-12) {
				t.Errorf("unknown %d is %v, want %v, where pivot %d is 0", i, got, want[i], at)
			}
		}
	}
}

func TestRegressIsLeastSquares(t *testing.T) {
	columns := codedData(300, 1)
	x := [][]float64{columns[0], columns[1]}
	rows := make([]int32, 300)
	for i := range rows {
		rows[i] = int32(i)
	}
	m := Regress(numbers(x), columns[2], rows, nil)
	want := masktest.SlopesOf(columns[2], x...)
	for i := range 300 {
		if fit := want[0] + want[1]*x[0][i] + want[2]*x[1][i]; !(math.Abs(columns[2][i]-m.Residuals[i]-fit) <= 1e-9) {
			t.Fatalf("record %d: fitted %v, want %v", i, columns[2][i]-m.Residuals[i], fit)
		}
	}
	// A duplicate column and a constant column change nothing.
	again := Regress(numbers([][]float64{x[0], x[0], repeat(3, 300), x[1]}), columns[2], rows, nil)
	for i, e := range again.Residuals {
		if !(math.Abs(e-m.Residuals[i]) <= 1e-6) {
			t.Fatalf("record %d: residual %v, want %v", i, e, m.Residuals[i])
		}
	}
}

// Predictions for many records are those for each; a missing predictor counts as its mean, and a constant one not at
// all.
func TestPredictionsAreThoseOfEach(t *testing.T) {
	const n = 203
	columns := codedData(n, 2)
	two := 2.0
	x := append(numbers([][]float64{columns[0], columns[2], repeat(4, n), columns[4], columns[3]}),
		Predictor{Values: columns[1], Of: &two})
	m := Regress(x, columns[2], rowsUpTo(n), nil)
	later := slices.Clone(columns[0])
	later[0], later[n-1] = math.NaN(), math.NaN()
	x[0].Values = later
	to := make([]float64, n)
	m.Predict(x, rowsUpTo(n), to, nil)
	mean := 0.0
	for _, v := range columns[0] {
		mean += v / n
	}
	for r, got := range to {
		if want := m.At(x, int32(r)); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("record %d: %v, want %v", r, got, want)
		}
	}
	for _, r := range []int{0, n - 1} {
		if later[r] = mean; math.Abs(m.At(x, int32(r))-to[r]) > 1e-9 {
			t.Errorf("record %d: a missing predictor counts %v, at its mean %v", r, to[r], m.At(x, int32(r)))
		}
	}
}

// How free the draws of a model are: by its definition, over all records.
func TestFree(t *testing.T) {
	const n = 120
	columns := codedData(n, 4)
	x, categories := numbers([][]float64{columns[0]}), []float64{1, 2, 3}
	m := FitLogistic(x, columns[1], categories, rowsUpTo(n), nil)
	u, share, other := make([]float64, 2), make([]float64, 3), 0.0
	var count [3]float64
	for r, y := range columns[1] {
		m.Standard(u, x, int32(r))
		m.Shares(share, u)
		other += (1 - share[int(y)-1]) / n
		count[int(y)-1]++
	}
	chance := 1.0
	for _, c := range count {
		chance -= c / n * c / n
	}
	if got := m.Free(x, columns[1], rowsUpTo(n)); math.Abs(got-other/chance) > 1e-12 {
		t.Errorf("%v, want %v", got, other/chance)
	}
}
