package truth

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// generator returns a random source seeded by a name.
func generator(name string) *rand.Rand {
	var seed [32]byte
	h := fnv.New128a()
	h.Write([]byte(name))
	h.Sum(seed[:0])
	h.Write([]byte("again"))
	h.Sum(seed[:16])
	return rand.New(rand.NewChaCha8(seed))
}

// file is a data set: a numeric column x, with NaN for missing values, and the columns for swaps:
// keys shared by many records and by few, and an attribute.
type file struct {
	name       string
	decimals   int // of x; −1: the data have no grid
	x          []float64
	many, few  []int32
	attribute  []int32
	sorted     []float64 // the values of x, ascending
	mean, s2   float64   // of x; s2 with divisor n−1
	population float64   // (1/n) Σ (x − mean)²
}

// shape draws the values of a column.
type shape struct {
	name     string
	decimals int
	draw     func(g *rand.Rand) float64
	ordered  bool    // the file is sorted by x
	nulls    float64 // share of records without a value
}

func lognormal(mu, sigma float64) func(*rand.Rand) float64 {
	return func(g *rand.Rand) float64 { return math.Exp(mu + sigma*g.NormFloat64()) }
}

// pareto has P(X > x) = (least/x)^alpha.
func pareto(least, alpha float64) func(*rand.Rand) float64 {
	return func(g *rand.Rand) float64 { return least * math.Pow(1-g.Float64(), -1/alpha) }
}

var shapes = []shape{
	{name: "normal", decimals: 2, draw: func(g *rand.Rand) float64 { return 100 + 20*g.NormFloat64() }},
	{name: "lognormal", decimals: 2, draw: lognormal(8, 1.2)},
	{name: "pareto1.2", decimals: 2, draw: pareto(1000, 1.2)},
	{name: "pareto1.5", decimals: 2, draw: pareto(100, 1.5)},
	{name: "halfzeros", decimals: 2, draw: func(g *rand.Rand) float64 {
		if g.Float64() < 0.5 {
			return 0
		}
		return lognormal(8, 1.2)(g)
	}},
	{name: "few", decimals: 0, draw: func(g *rand.Rand) float64 {
		return []float64{0, 10, 20, 30, 50, 100, 200}[min(6, int(7*math.Pow(g.Float64(), 1.5)))]
	}},
	{name: "far", decimals: -1, draw: func(g *rand.Rand) float64 { return 1e6 + g.NormFloat64() }},
	{name: "integers", decimals: 0, draw: func(g *rand.Rand) float64 { return math.Round(40 + 15*g.NormFloat64()) }},
	{name: "ordered", decimals: 2, draw: lognormal(8, 1.2), ordered: true},
	{name: "nulls", decimals: 2, draw: lognormal(8, 1.2), nulls: 0.1},
	{name: "negative", decimals: 2, draw: func(g *rand.Rand) float64 { return 500 - lognormal(6, 1.2)(g) }},
}

func shapeNamed(name string) shape {
	return shapes[slices.IndexFunc(shapes, func(s shape) bool { return s.name == name })]
}

// make draws n records. Half of the keys are correlated with x, so that the partners of a swap have
// similar values, and half are not.
func (s shape) make(n int) *file {
	g := generator(s.name + strconv.Itoa(n))
	f := &file{name: s.name, decimals: s.decimals, x: make([]float64, n)}
	for i := range f.x {
		v := s.draw(g)
		if s.decimals >= 0 {
			mult := math.Pow10(s.decimals)
			v = math.RoundToEven(v*mult) / mult
		}
		f.x[i] = v
	}
	if s.ordered {
		slices.Sort(f.x)
	}
	f.keys(g)
	if s.nulls > 0 {
		for i := range f.x {
			if g.Float64() < s.nulls {
				f.x[i] = math.NaN()
			}
		}
	}
	f.settle()
	return f
}

// ascending returns the records with a value in the order of these, equal ones in the order of the file.
func (f *file) ascending() []int {
	order := make([]int, 0, len(f.x))
	for i, v := range f.x {
		if v == v {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(f.x[i], f.x[j]) })
	return order
}

// keys gives about 100 records the same key in many, and about 3 in few.
func (f *file) keys(g *rand.Rand) {
	n := len(f.x)
	order := f.ascending()
	share := make([]float64, n) // rank of the record over n
	for k, i := range order {
		share[i] = float64(k) / float64(n)
	}
	many, few := max(2, n/100), max(2, n/3)
	f.many, f.few, f.attribute = make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range f.x {
		u := g.Float64()
		if i%2 == 0 {
			u = share[i]
		}
		f.many[i], f.few[i] = int32(u*float64(many)), int32(u*float64(few))
		f.attribute[i] = int32(g.IntN(4))
	}
}

// settle computes the moments of x.
func (f *file) settle() {
	f.sorted = f.sorted[:0]
	for _, v := range f.x {
		if v == v {
			f.sorted = append(f.sorted, v)
		}
	}
	f.mean, f.s2 = moments(f.sorted)
	slices.Sort(f.sorted)
	f.population = f.s2 * (f.n() - 1) / f.n()
}

// size is the mean of x².
func (f *file) size() float64 { return f.mean*f.mean + f.s2 }

// unit is one unit of the last decimal.
func (f *file) unit() float64 { return math.Pow10(-max(f.decimals, 0)) }

// n is the number of values.
func (f *file) n() float64 { return float64(len(f.sorted)) }

// quantile is x_(k), k = ⌈np⌉.
func (f *file) quantile(p float64) float64 {
	return f.sorted[min(len(f.sorted), max(1, int(math.Ceil(f.n()*p-1e-9))))-1]
}

// iqr is the interquartile range, the unit of the amounts.
func (f *file) iqr() float64 { return f.quantile(0.75) - f.quantile(0.25) }

// grid rounds v to the column's decimals, so that a configuration can contain it.
func (f *file) grid(v float64) float64 {
	mult := math.Pow10(max(f.decimals, 0))
	if f.decimals < 0 {
		mult = 1024
	}
	return math.Round(v*mult) / mult
}

// moments returns the mean and the variance with divisor n−1 of the present values, in two passes.
func moments(y []float64) (mean, variance float64) {
	n := 0.0
	centre := math.NaN()
	sum := 0.0
	for _, v := range y {
		if v != v {
			continue
		}
		if n == 0 {
			centre = v
		}
		n++
		sum += v - centre
	}
	mean = centre + sum/n
	var c, s float64
	for _, v := range y {
		if v == v {
			d := v - mean
			c += d
			s += d * d
		}
	}
	return mean, (s - c*c/n) / (n - 1)
}

// write writes the file as CSV, once.
func (f *file) write(t testing.TB, path string) {
	t.Helper()
	text := []byte("x,many,few,a\n")
	for i, v := range f.x {
		if v == v {
			text = strconv.AppendFloat(text, v, 'f', f.decimals, 64)
		}
		text = append(text, ",m"...)
		text = strconv.AppendInt(text, int64(f.many[i]), 10)
		text = append(text, ",f"...)
		text = strconv.AppendInt(text, int64(f.few[i]), 10)
		text = append(text, ',', 'A'+byte(f.attribute[i]), '\n')
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
