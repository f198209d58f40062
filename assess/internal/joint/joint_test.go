package joint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
)

// world makes columns of n records.
type world struct {
	r *rand.Rand
	n int
}

func newWorld(seed uint64, n int) *world { return &world{rand.New(rand.NewPCG(seed, 36)), n} }

func (w *world) of(f func(i int) float64) []float64 {
	v := make([]float64, w.n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}

// incomes are lognormal amounts in cents.
func (w *world) incomes() []float64 {
	return w.of(func(int) float64 { return math.Round(100*math.Exp(6+0.5*w.r.NormFloat64())) / 100 })
}

func (w *world) noisy(x []float64, sd float64) []float64 {
	return w.of(func(i int) float64 { return math.Round(100*(x[i]+sd*w.r.NormFloat64())) / 100 })
}

func columns(values ...[]float64) (list []Column) {
	for i, v := range values {
		list = append(list, Column{Name: fmt.Sprint("c", i), Values: v})
	}
	return list
}

// leastSquares is the mean squared error of least squares by Gaussian elimination of the normal
// equations, divided by n − p − 1.
func leastSquares(x []float64, z ...[]float64) float64 {
	p, n := len(z)+1, len(x)
	at := func(i, j int) float64 {
		if j == 0 {
			return 1
		}
		return z[j-1][i]
	}
	a := make([][]float64, p)
	for j := range a {
		a[j] = make([]float64, p+1)
		for i := range x {
			for k := range p {
				a[j][k] += at(i, j) * at(i, k)
			}
			a[j][p] += at(i, j) * x[i]
		}
	}
	for c := range p {
		for j := c + 1; j < p; j++ {
			if math.Abs(a[j][c]) > math.Abs(a[c][c]) {
				a[c], a[j] = a[j], a[c]
			}
		}
		for j := range p {
			if j != c {
				f := a[j][c] / a[c][c]
				for k := c; k <= p; k++ {
					a[j][k] -= f * a[c][k]
				}
			}
		}
	}
	sum := 0.0
	for i := range x {
		e := x[i]
		for j := range p {
			e -= at(i, j) * a[j][p] / a[j][j]
		}
		sum += e * e
	}
	return sum / float64(n-p)
}

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s: got %v, want %v ± %v %%", what, got, want, 100*relative)
	}
}

// The linear estimator is that of least squares on random linear worlds: the same figure to rounding,
// whatever the place of the sought column.
func TestLinearEstimatorIsLeastSquares(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(seed, 500+int(seed)*100)
		p := 2 + int(seed)%6
		base := w.of(func(int) float64 { return 100 * w.r.NormFloat64() })
		x := w.of(func(i int) float64 { return base[i] + 30*w.r.NormFloat64() })
		z := [][]float64{w.of(func(i int) float64 { return x[i] + 50*w.r.NormFloat64() })}
		for range p - 1 {
			k, s := w.r.NormFloat64(), 20+100*w.r.Float64()
			z = append(z, w.of(func(i int) float64 { return 1000 + k*base[i] + s*w.r.NormFloat64() }))
		}
		want := leastSquares(x, z...)
		for _, own := range []int{0, p - 1, p / 2} {
			list := slices.Insert(slices.Clone(z[1:]), own, z[0])
			r := New(columns(list...), w.n, true).Estimate(x, z[0], own, nil)
			near(t, fmt.Sprintf("seed %d, own %d", seed, own), r.Linear, want, 1e-9)
			if r.Exact {
				t.Errorf("seed %d: exact by %v", seed, r.Tells)
			}
		}
	}
}

// The released value alone is used with the mean: S²λ²/(S² + λ²).
func TestReleasedValueAloneIsShrunk(t *testing.T) {
	w := newWorld(1, 50_000)
	x := w.of(func(int) float64 { return 1000 * w.r.NormFloat64() })
	y := w.of(func(i int) float64 { return x[i] + 1000*w.r.NormFloat64() })
	r := New(columns(y), w.n, true).Estimate(x, y, 0, []Target{{X: 0, Row: 3}, {X: 4500, Row: -1}})
	// Relative SD √(2/50,000) = 0.63 %; five of them.
	near(t, "square", r.Square, 500_000, 0.032)
	near(t, "index", r.Index, 1e6, 0.032)
	if len(r.Tells) > 0 || r.Exact {
		t.Errorf("tells %v, exact %v", r.Tells, r.Exact)
	}
	// Near 0 the estimate is y/2: 250,000, from 200 records (relative SD 10 %; 4.5 of them).
	near(t, "square at the median", r.Of[0].Square, 250_000, 0.45)
	if !(r.Of[1].Square > 1e6) || r.Of[1].Realised == r.Of[1].Realised {
		t.Errorf("extreme: %+v", r.Of[1])
	}
	d := 0 - (y[3]*0.5 + 0)
	near(t, "realised", math.Sqrt(r.Of[0].Realised), math.Abs(d), 0.2)
}

// Twelve waves of one value: the mean has RMSE λ/√12 before it is drawn to the mean.
func TestWaves(t *testing.T) {
	for _, own := range []int{0, 5, 11} {
		w := newWorld(2, 3000)
		x := w.incomes()
		var waves [][]float64
		for range 12 {
			waves = append(waves, w.noisy(x, 200))
		}
		r := New(columns(waves...), w.n, true).Estimate(x, waves[own], own, nil)
		if rmse := math.Sqrt(r.Square); !(rmse > 53 && rmse < 60) {
			t.Errorf("own %d: RMSE %v, want a little below 57.7", own, rmse)
		}
		if len(r.Tells) != 11 || slices.Contains(r.Tells, fmt.Sprint("c", own)) {
			t.Errorf("own %d: tells %v", own, r.Tells)
		}
	}
}

// Exact relations are found whatever the order of the columns, beside columns that tell nothing.
func TestRelations(t *testing.T) {
	w := newWorld(3, 3000)
	x, b, c, d := w.incomes(), w.incomes(), w.incomes(), w.incomes()
	cents := func(f func(i int) float64) []float64 {
		return w.of(func(i int) float64 { return math.Round(100*f(i)) / 100 })
	}
	large := w.of(func(int) float64 { return math.Round(1e8 * w.r.Float64()) })
	grade := w.of(func(i int) float64 { return float64(w.r.IntN(12)) })
	step := w.of(func(i int) float64 { return float64(w.r.IntN(5)) })
	employer := w.of(func(i int) float64 { return cell.Category(float64(1000 + w.r.IntN(300))) })
	pay := func(i int) float64 { return 1000 + math.Mod(7919*grade[i], 4001) }
	for name, test := range map[string]struct {
		x     []float64
		with  [][]float64
		tells int
	}{
		"total − b":            {x, [][]float64{b, cents(func(i int) float64 { return x[i] + b[i] })}, 2},
		"b − total":            {x, [][]float64{cents(func(i int) float64 { return b[i] - x[i] }), b}, 2},
		"three parts":          {x, [][]float64{b, c, d, cents(func(i int) float64 { return x[i] + b[i] + c[i] + d[i] })}, 4},
		"copy":                 {x, [][]float64{b, x}, 1},
		"twice":                {x, [][]float64{cents(func(i int) float64 { return 2 * x[i] }), b}, 1},
		"any ratio":            {x, [][]float64{w.of(func(i int) float64 { return 1.19 * x[i] })}, 1},
		"beside large amounts": {x, [][]float64{large, cents(func(i int) float64 { return x[i] + large[i] })}, 2},
		"product":              {x, [][]float64{b, w.of(func(i int) float64 { return x[i] / b[i] })}, 2},
		"constant by grade":    {w.of(pay), [][]float64{b, grade}, 1},
		"by grade and step": {w.of(func(i int) float64 { return 1000 + math.Mod(7919*(grade[i]*5+step[i]+1), 4001) }),
			[][]float64{grade, step}, 2},
		"by employer": {w.of(func(i int) float64 { return 1000 + math.Mod(employer[i]/cell.Categories*7919, 4001) }),
			[][]float64{employer}, 1},
		"most records": {x, [][]float64{b, cents(func(i int) float64 {
			if i%10 == 3 {
				return x[i] + b[i] + c[i]
			}
			return x[i] + b[i]
		})}, 2},
		"most records, odd coefficients": {x, [][]float64{b, w.of(func(i int) float64 {
			if i%10 == 3 {
				return 1.7*x[i] + 0.3*b[i] + c[i]
			}
			return 1.7*x[i] + 0.3*b[i]
		})}, 2},
		"some missing": {x, [][]float64{b, w.of(func(i int) float64 {
			if i%3 == 0 {
				return math.NaN()
			}
			return math.Round(100*(x[i]+b[i])) / 100
		})}, 2},
	} {
		y := w.noisy(test.x, 200)
		noise := w.of(func(int) float64 { return w.r.NormFloat64() })
		for _, list := range [][][]float64{
			append([][]float64{y, noise}, test.with...), append(slices.Clone(test.with), noise, y),
		} {
			own := slices.IndexFunc(list, func(v []float64) bool { return &v[0] == &y[0] })
			r := New(columns(list...), w.n, true).Estimate(test.x, y, own, []Target{{X: test.x[7], Row: 7}})
			if !r.Exact || r.Square != 0 || r.Of[0].Square != 0 || len(r.Tells) < test.tells ||
				slices.Contains(r.Tells, fmt.Sprint("c", own)) {
				t.Errorf("%s: exact %v, square %v, tells %v, target %+v", name, r.Exact, r.Square, r.Tells, r.Of[0])
			}
		}
	}
}

// What is not related is not claimed, and the released value remains the best estimate.
func TestUnrelatedColumnsTellNothing(t *testing.T) {
	for seed := range uint64(30) {
		w := newWorld(100+seed, []int{30, 100, 400, 3000}[seed%4])
		x := w.incomes()
		if seed%3 == 1 {
			x = w.of(func(int) float64 { return float64(w.r.IntN(8)) })
		}
		if seed%3 == 2 {
			x = w.of(func(int) float64 { return math.Max(0, math.Round(10*w.r.NormFloat64())) })
		}
		sd := 0.5 * math.Sqrt(leastSquares(x))
		y := w.of(func(i int) float64 { return x[i] + sd*w.r.NormFloat64() })
		list := [][]float64{y}
		for range 6 {
			list = append(list, w.incomes(), w.of(func(int) float64 { return float64(w.r.IntN(8)) }),
				w.of(func(int) float64 { return cell.Category(float64(w.r.IntN(40))) }))
		}
		r := New(columns(list...), w.n, true).Estimate(x, y, 0, nil)
		want := leastSquares(x, y)
		// The corrected figure has a relative SD of √(2/n), at least, and its ratio to that of y alone less.
		// A mean of x that is curved in y (lognormal incomes, a heap at 0) is found by the square of y or by
		// the tree.
		tolerance := 5 * math.Sqrt(2/float64(w.n))
		if r.Exact || r.Linear > want*(1+tolerance) || r.Linear < want*(1-tolerance) && seed%3 != 2 || r.Square > r.Linear ||
			r.Square < 0.5*want {
			t.Errorf("seed %d, n %d: exact %v by %v, square %v, want %v", seed, w.n, r.Exact, r.Tells, r.Square, want)
		}
	}
}

// Members of a household with one value are averaged; a sample that is not complete cannot show that
// and counts as open.
func TestHouseholds(t *testing.T) {
	w := newWorld(5, 6000)
	of := w.of(func(i int) float64 { return cell.Category(float64(i / 3)) })
	incomes := w.incomes()
	x := w.of(func(i int) float64 { return incomes[i/3] })
	y := w.noisy(x, 100)
	list := append(columns(y), Column{Name: "household", Values: of, GroupOnly: true})
	r := New(list, w.n, true).Estimate(x, y, 0, nil)
	// 100/√3 = 57.7, drawn to the mean a little (S is about 230).
	if rmse := math.Sqrt(r.Square); r.Exact || !(rmse > 53 && rmse < 58.5) ||
		!slices.Equal(r.Tells, []string{"household"}) {
		t.Errorf("RMSE %v, exact %v, tells %v", rmse, r.Exact, r.Tells)
	}
	r = New(list, w.n, false).Estimate(x, y, 0, nil)
	if !r.Exact || !r.Open || !slices.Equal(r.Tells, []string{"household"}) {
		t.Errorf("incomplete: exact %v, open %v, tells %v", r.Exact, r.Open, r.Tells)
	}
}

// If the members of a household share a draw, their mean is one value, and nothing is open in a sample that
// is not complete; unless a column that goes with the value differs between them, or a few have draws of
// their own.
func TestHouseholdsThatShareADraw(t *testing.T) {
	w := newWorld(5, 6000)
	of := w.of(func(i int) float64 { return cell.Category(float64(i / 3)) })
	incomes := w.incomes()
	x := w.of(func(i int) float64 { return incomes[i/3] })
	noisy, each := w.noisy(x, 100), w.noisy(x, 100)
	y := w.of(func(i int) float64 { return noisy[i/3*3] })
	own := w.of(func(i int) float64 {
		if i/3%20 == 0 {
			return each[i]
		}
		return y[i]
	})
	household := Column{Name: "household", Values: of, GroupOnly: true}
	about := func(i int) float64 { return cell.Category(math.Floor(math.Log(x[i]) + 0.5*w.r.NormFloat64())) }
	regions := w.of(func(i int) float64 { return cell.Category(math.Floor(math.Log(x[i]) + w.r.NormFloat64())) })
	for name, c := range map[string]struct {
		list []Column
		y    []float64
		open bool
	}{
		"shared":               {append(columns(y), household), y, false},
		"beside a wage":        {append(columns(y, w.noisy(x, 1000)), household), y, true},
		"beside noise":         {append(columns(y, w.noisy(w.of(func(int) float64 { return 0 }), 100)), household), y, false},
		"a few have their":     {append(columns(own), household), own, true},
		"draws of each":        {append(columns(each), household), each, true},
		"beside an occupation": {append(columns(y, w.of(about)), household), y, true},
		"beside an occupation of few": {append(columns(y, w.of(func(i int) float64 {
			if i%9 > 1 {
				return math.NaN()
			}
			return about(i)
		})), household), y, true},
		"beside a region": {append(columns(y, w.of(func(i int) float64 { return regions[i/3*3] })), household), y, false},
		"beside a colour": {
			append(columns(y, w.of(func(int) float64 { return cell.Category(float64(w.r.IntN(40))) })), household), y, false},
		"beside a name": {append(columns(y, w.of(func(i int) float64 { return cell.Category(float64(i)) })), household), y,
			false},
		"beside nothing": {append(columns(y, w.of(func(int) float64 { return math.NaN() })), household), y, false},
	} {
		r := New(c.list, w.n, false).Estimate(x, c.y, 0, nil)
		if r.Open != c.open || !c.open && !(math.Sqrt(r.Square) > 85) {
			t.Errorf("%s: open %v, RMSE %v", name, r.Open, math.Sqrt(r.Square))
		}
	}
}

// A category is no quantity, whatever its code: where a third of the values of another column are codes for missing
// values, that column tells as much as with nulls there. As numbers of 10²⁹⁹ they would hide what it tells.
func TestCategoriesAmongNumbers(t *testing.T) {
	for _, code := range []float64{0, 1, 1 << 40, 1<<50 - 1, 1<<53 - 1} {
		w := newWorld(11, 6000)
		x := w.incomes()
		y, other := w.noisy(x, 100), w.noisy(x, 80)
		of := func(missing float64) float64 {
			z := slices.Clone(other)
			for i := range z {
				if i%3 == 0 {
					z[i] = missing
				}
			}
			r := New(columns(y, z), w.n, true).Estimate(x, y, 0, nil)
			return math.Sqrt(r.Square)
		}
		if coded, null := of(cell.Category(code)), of(math.NaN()); !(math.Abs(coded/null-1) < 0.01) || !(null < 85) {
			t.Errorf("code %v: RMSE %v with codes and %v with nulls", code, coded, null)
		}
	}
}

// A tree finds what a linear estimator does not: here the distance from the middle tells only together
// with the side, which the released value shows.
func TestTreeGains(t *testing.T) {
	w := newWorld(6, 20_000)
	x := w.of(func(int) float64 { return 1000 * w.r.Float64() })
	y := w.noisy(x, 150)
	z := w.of(func(i int) float64 { return math.Abs(x[i] - 500) })
	r := New(columns(y, z), w.n, true).Estimate(x, y, 0, nil)
	if !(r.Square < 0.9*r.Linear) {
		t.Errorf("square %v, linear %v", r.Square, r.Linear)
	}
}

// Few records, constant columns and no released values are no error.
func TestLittleData(t *testing.T) {
	nan := math.NaN()
	for n := range 8 {
		w := newWorld(7, n)
		x := w.incomes()
		y := w.noisy(x, 10)
		if n < 1 {
			continue
		}
		r := New(columns(y, x), n, true).Estimate(x, y, 0, []Target{{X: x[0], Row: 0}, {X: nan, Row: -1}})
		if n >= leastRows != r.Exact || n < leastRows && r.Square == r.Square {
			t.Errorf("%d records: %+v", n, r)
		}
	}
	w := newWorld(8, 100)
	x := w.incomes()
	none := w.of(func(int) float64 { return nan })
	one := w.of(func(int) float64 { return 5 })
	r := New(columns(none, one), w.n, true).Estimate(x, none, 0, []Target{{X: x[0], Row: 0}})
	near(t, "square without a released value", r.Square, leastSquares(x), 1e-9)
	if r.Ratio == r.Ratio || r.Index == r.Index {
		t.Errorf("without released values: %+v", r)
	}
}

// Two products that say nearly the same tell what each alone does not: a·(b + 5d) is 5·a·(b + d) − 4·a·b. The second
// explains little of what the columns leave, and all of what the first leaves.
func TestSecondProduct(t *testing.T) {
	w := newWorld(58, 1000)
	a, b := w.of(func(int) float64 { return w.r.NormFloat64() }), w.of(func(int) float64 { return w.r.NormFloat64() })
	d := w.of(func(int) float64 { return 0.05 * w.r.NormFloat64() })
	x := w.of(func(i int) float64 { return a[i] * (b[i] + 5*d[i]) })
	y := w.of(func(i int) float64 { return x[i] + w.r.NormFloat64() })
	c := w.of(func(i int) float64 { return b[i] + d[i] })
	if got := New(columns(y, a, b, c), w.n, true).Estimate(x, y, 0, nil); got.Linear > 1e-9 {
		t.Errorf("mean square %v", got.Linear)
	}
}
