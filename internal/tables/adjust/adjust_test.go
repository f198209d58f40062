package adjust

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// drawn returns a problem with counts of up to 4, of which 1 and 2 are unsafe, and every cell may change by 2 or 3.
func drawn(t *testing.T, rng *rand.Rand, set *tables.Set, cells int) Problem {
	t.Helper()
	q := tabletest.Random(t, rng, set, 5, 0)
	n := len(q.Value)
	p := Problem{Set: set, Value: q.Value, Least: make([]float64, n), Most: make([]float64, n), Unsafe: make([]bool, n),
		Down: make([]float64, n), Up: make([]float64, n), Weight: make([]float64, n)}
	width := 3.0
	if cells > 6 {
		width = 2
	}
	for c, v := range q.Value {
		p.Weight[c] = 1
		if rng.IntN(2) == 0 {
			p.Weight[c] = 1 / max(v, 1)
		}
		if v == 0 {
			continue
		}
		p.Least[c], p.Most[c] = -min(v, width), width
		if v < 3 && c > 0 {
			p.Unsafe[c], p.Down[c], p.Up[c] = true, v, float64(1+rng.IntN(2))
		}
	}
	return p
}

// everyAdjustment tries all changes of the inner cells, adds totals up from the codes, and returns the least cost of
// those that keep all bounds; +Inf if there is none.
func everyAdjustment(p Problem) float64 {
	inner, of := tabletest.Leaves(p.Set)
	z, least := make([]float64, len(p.Value)), math.Inf(1)
	var fill func(i int)
	fill = func(i int) {
		if i < len(inner) {
			c := inner[i]
			for v := p.Least[c]; v <= p.Most[c]; v++ {
				if p.Unsafe[c] && v > -p.Down[c] && v < p.Up[c] {
					continue
				}
				z[c] = v
				fill(i + 1)
			}
			return
		}
		cost := 0.0
		for c, leaves := range of {
			sum := 0.0
			for _, l := range leaves {
				sum += z[l]
			}
			if sum < p.Least[c] || sum > p.Most[c] || p.Unsafe[c] && sum > -p.Down[c] && sum < p.Up[c] {
				return
			}
			cost += p.Weight[c] * math.Abs(sum)
		}
		least = min(least, cost)
	}
	fill(0)
	return least
}

// Adjustments of 300 small tables are held against all possible ones: one is found wherever there is one, it keeps all
// bounds, it is the cheapest where the directions alone decide (two dimensions), and the lower bound is one.
func TestSolveAgainstEveryAdjustment(t *testing.T) {
	sets := tabletest.Small(t)
	for _, name := range []string{"line", "3x3", "2x2x2", "4x2", "linked"} {
		rng := rand.New(rand.NewPCG(38, uint64(len(name))))
		inner, of := tabletest.Leaves(sets[name])
		found, none, cheapest := 0, 0, 0
		for range 60 {
			p := drawn(t, rng, sets[name], len(inner))
			least := everyAdjustment(p)
			a, err := Solve(p)
			if errors.Is(err, ErrNone) {
				if none++; !math.IsInf(least, 1) {
					t.Errorf("%s: no adjustment found, but there is one: %v", name, p.Value)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			found++
			cost := 0.0
			for c, v := range a.Value {
				sum := 0.0
				for _, l := range of[c] {
					sum += a.Value[l]
				}
				z := v - p.Value[c]
				cost += p.Weight[c] * math.Abs(z)
				if v != sum || v < 0 || v != math.Trunc(v) || z < p.Least[c] || z > p.Most[c] || p.Unsafe[c] && z > -p.Down[c] &&
					z < p.Up[c] {
					t.Fatalf("%s: cell %d of %v becomes %v, the sum of its parts %v", name, c, p.Value[c], v, sum)
				}
			}
			if !(math.Abs(cost-a.Cost) <= 1e-9) || !(a.AtLeast <= least+1e-9) || cost < least-1e-9 {
				t.Errorf("%s: cost %v, said to be %v and at least %v; the least is %v", name, cost, a.Cost, a.AtLeast, least)
			}
			if cost <= least+1e-9 {
				cheapest++
			} else if name == "line" || name == "3x3" {
				t.Errorf("%s: cost %v, the least is %v: %v", name, cost, least, p.Value)
			}
		}
		t.Logf("%s: %d found, %d the cheapest; %d have none", name, found, cheapest, none)
		if found < 20 || cheapest < found*9/10 {
			t.Errorf("%s: %d found, %d the cheapest; %d have none", name, found, cheapest, none)
		}
	}
}

// large is a table of n × n counts of mean 5 with their margins, of which 1 and 2 are unsafe.
func large(t testing.TB, n int) Problem {
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", n), tabletest.Flat(t, "b", n)}})
	rng := rand.New(rand.NewPCG(38, 5))
	cells := set.Cells()
	p := Problem{Set: set, Value: make([]float64, cells)}
	for i := range n {
		for j := range n {
			v := math.Floor(rng.ExpFloat64() * 15)
			for _, c := range []int{0, (n + 1) * (i + 1), j + 1, (n+1)*(i+1) + j + 1} {
				p.Value[c] += v
			}
		}
	}
	p.unsafeBelow3()
	return p
}

// unsafeBelow3 makes the counts 1 and 2 unsafe, to be published as 0 or at least 5, and lets every count change by 6.
func (p *Problem) unsafeBelow3() {
	n := len(p.Value)
	p.Least, p.Most, p.Unsafe, p.Down, p.Up, p.Weight = make([]float64, n), make([]float64, n), make([]bool, n),
		make([]float64, n), make([]float64, n), make([]float64, n)
	for c, v := range p.Value {
		if p.Weight[c] = 1 / max(v, 1); v > 0 {
			p.Least[c], p.Most[c] = -min(v, 6), 6
		}
		if v > 0 && v < 3 {
			p.Unsafe[c], p.Down[c], p.Up[c] = true, v, 5-v
		}
	}
}

// A search that is cut short at once still gives an adjustment, that of the heuristic.
func TestSolveWithoutSearch(t *testing.T) {
	p := large(t, 12)
	p.Work = 1
	a, err := Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	if !(a.AtLeast <= a.Cost) {
		t.Errorf("cost %v, at least %v", a.Cost, a.AtLeast)
	}
	p.Work = 0
	b, err := Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("without search %v, with it %v, at least %v", a.Cost, b.Cost, b.AtLeast)
	if !(b.Cost <= a.Cost) || !(b.AtLeast <= b.Cost) {
		t.Errorf("cost without search %v, with it %v, at least %v", a.Cost, b.Cost, b.AtLeast)
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{10, 30, 50} {
		p := large(b, n)
		b.Run("", func(b *testing.B) {
			for b.Loop() {
				a, err := Solve(p)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(a.Cost, "cost")
				b.ReportMetric(a.AtLeast, "least")
			}
		})
	}
}

// Tables of three variables and of magnitudes: whole numbers are found, all bounds hold (Solve checks them), and the
// same problem has the same answer.
func TestSolveLargeTables(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "abc",
			Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 6), tabletest.Flat(t, "b", 6), tabletest.Flat(t, "c", 4)}})
	inner, of := tabletest.Leaves(set)
	for _, scale := range []float64{1, 1e6} {
		rng := rand.New(rand.NewPCG(38, 6))
		n := set.Cells()
		p := Problem{Set: set, Value: make([]float64, n), Least: make([]float64, n), Most: make([]float64, n),
			Unsafe: make([]bool, n), Down: make([]float64, n), Up: make([]float64, n), Weight: make([]float64, n)}
		x := map[int]float64{}
		for _, c := range inner {
			x[c] = math.Floor(scale * (1 + rng.ExpFloat64()*20))
		}
		for c, leaves := range of {
			for _, l := range leaves {
				p.Value[c] += x[l]
			}
			v := p.Value[c]
			p.Weight[c], p.Least[c], p.Most[c] = 1/v, -math.Floor(v*0.5), math.Floor(v*0.5+2)
			if p.Unsafe[c] = len(leaves) == 1 && rng.IntN(8) == 0; p.Unsafe[c] {
				p.Up[c] = math.Ceil(v * 0.15)
				p.Down[c] = p.Up[c]
			}
		}
		if scale == 1 { // change less than one unit: not adjustable
			for c, v := range p.Value {
				p.Unsafe[c] = p.Unsafe[c] && v > 4
			}
		}
		for c := range p.Weight {
			p.Weight[c] *= scale
		}
		p.Work = 50_000_000
		a, err := Solve(p)
		if err != nil {
			t.Fatal(scale, err)
		}
		b, err := Solve(p)
		if err != nil || !slices.Equal(a.Value, b.Value) {
			t.Errorf("scale %v: another answer, error %v", scale, err)
		}
		t.Logf("scale %v: cost %v, at least %v", scale, a.Cost, a.AtLeast)
	}
}

// What does not keep a bound, a sum or the distance of an unsafe cell is no adjustment, whatever a program says.
func TestCheck(t *testing.T) {
	set := tabletest.Set(t, tables.Table{Name: "a", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 2)}})
	p := Problem{Set: set, Value: []float64{12, 2, 10}, Least: []float64{-3, -2, -4}, Most: []float64{3, 4, 4},
		Unsafe: []bool{false, true, false}, Down: []float64{0, 2, 0}, Up: []float64{0, 3, 0}}
	for x, good := range map[[3]float64]bool{{12, 0, 12}: true, {12, 5, 7}: true, {12, 4, 8}: false, {12, 1, 11}: false,
		{12, 5, 8}: false, {11, 6, 5}: false, {8, 0, 8}: false, {16, 5, 11}: false, {12, 5.5, 6.5}: false} {
		if err := p.check(x[:]); (err == nil) != good {
			t.Errorf("%v: %v", x, err)
		}
	}
}
