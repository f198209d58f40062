package picture

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var nan = math.NaN()

// samples are columns before and after masking: skewed, integers, few values, constant, with gaps,
// beyond the ends, and all values at two places.
func samples() map[string][2][]float64 {
	r := rand.New(rand.NewPCG(1, 2))
	all := map[string][2][]float64{}
	add := func(name string, n int, x func() float64, noise float64, digits float64) {
		var a, b []float64
		for range n {
			v := math.Round(x()*digits) / digits
			a, b = append(a, v), append(b, math.Round((v+noise*r.NormFloat64())*digits)/digits)
		}
		all[name] = [2][]float64{a, b}
	}
	skewed := func() float64 { return math.Exp(6 + 0.6*r.NormFloat64()) }
	add("skewed", 20000, skewed, 100, 100)
	add("without a step", 5000, skewed, 100, 1e12)
	add("whole numbers", 3000, func() float64 { return float64(r.IntN(80)) }, 3, 1)
	add("a few values", 3000, func() float64 { return float64(r.IntN(3)) }, 0, 1)
	add("unchanged", 3000, skewed, 0, 100)
	add("few", 35, skewed, 100, 100)
	add("hardly any", 9, skewed, 100, 100)
	add("none", 0, skewed, 0, 1)
	add("constant", 500, func() float64 { return 7 }, 0, 1)
	add("huge", 500, func() float64 { return 1e300 * r.Float64() }, 0, 1)
	add("tiny", 500, func() float64 { return 1e-300 * r.Float64() }, 0, math.Inf(1))
	add("heavy", 4000, func() float64 { return math.Tan(math.Pi * (r.Float64() - 0.5)) }, 1, 1000)
	gaps := all["skewed"]
	a, b := slices.Clone(gaps[0]), slices.Clone(gaps[1])
	for i := range a {
		if i%3 == 0 {
			a[i] = nan
		}
		if i%5 == 0 {
			b[i] = nan
		}
	}
	all["gaps"] = [2][]float64{a, b}
	all["one far out"] = [2][]float64{append(slices.Clone(a[:2000]), 1e9), append(slices.Clone(b[:2000]), -1e9)}
	return all
}

// TestNobodyIsSeenInTheCells: a cell is empty or has the count of brute force, at least Least; if
// the data have a step, no record lies on an edge; nothing is lost.
func TestNobodyIsSeenInTheCells(t *testing.T) {
	drawn := 0
	for name, s := range samples() {
		d := Of(name, "", s[0], s[1]).Density
		if d == nil {
			continue
		}
		drawn++
		pairs, total := 0, 0
		for i := range s[0] {
			if !math.IsNaN(s[0][i] + s[1][i]) {
				pairs++
			}
		}
		for row, counts := range d.Counts {
			for column, n := range counts {
				want := 0
				for i := range s[0] {
					x, y := s[0][i], s[1][i]
					if x >= d.Edges[column] && x < d.Edges[column+1] && y >= d.Edges[row] && y < d.Edges[row+1] {
						want++
					}
				}
				if want < Least {
					want = 0
				}
				if n != want || n > d.Most {
					t.Errorf("%s: cell %d,%d holds %d, want %d; most %d", name, row, column, n, want, d.Most)
				}
				total += n
			}
		}
		if d.Drawn != total || d.Drawn+d.Left != pairs {
			t.Errorf("%s: %d drawn and %d left of %d pairs, %d in cells", name, d.Drawn, d.Left, pairs, total)
		}
		onEdge(t, name, d.Edges, s)
	}
	if drawn < 8 {
		t.Errorf("only %d samples have a density", drawn)
	}
	for _, name := range []string{"few", "hardly any", "none", "constant"} {
		if s := samples()[name]; Of(name, "", s[0], s[1]).Density != nil {
			t.Errorf("%s: too few, and drawn", name)
		}
	}
}

func onEdge(t *testing.T, name string, edges []float64, s [2][]float64) {
	t.Helper()
	if !slices.IsSorted(edges) {
		t.Errorf("%s: edges do not ascend: %v", name, edges)
	}
	for _, side := range s {
		for _, v := range side {
			if slices.Contains(edges, v) {
				t.Errorf("%s: a value is an edge", name)
				return
			}
		}
	}
}

// TestNobodyIsSeenInTheShares: shares equal those of brute force. Before the first step, between
// two, and after the last, there are at least Least records, or none between two.
func TestNobodyIsSeenInTheShares(t *testing.T) {
	drawn := 0
	for name, s := range samples() {
		d := Of(name, "", s[0], s[1]).Distribution
		if d == nil {
			continue
		}
		drawn++
		onEdge(t, name, d.At, s)
		for side, shares := range [][]float64{d.Original, d.Released} {
			n, last := 0, 0
			for _, v := range s[side] {
				if !math.IsNaN(v) {
					n++
				}
			}
			for i, at := range d.At {
				below := 0
				for _, v := range s[side] {
					if v < at {
						below++
					}
				}
				if math.Abs(shares[i]-float64(below)/float64(n)) > 1e-12 {
					t.Errorf("%s: share %v below %v, want %d of %d", name, shares[i], at, below, n)
				}
				if step := below - last; step > 0 && step < Least || i == 0 && step < Least {
					t.Errorf("%s: %d records between steps %d and %d", name, step, i-1, i)
				}
				last = below
			}
			if n-last < Least {
				t.Errorf("%s: %d records behind the last step", name, n-last)
			}
		}
	}
	if drawn < 8 {
		t.Errorf("only %d samples have a distribution", drawn)
	}
	for _, name := range []string{"hardly any", "none", "constant"} {
		if s := samples()[name]; Of(name, "", s[0], s[1]).Distribution != nil {
			t.Errorf("%s: too few, or all alike, and drawn", name)
		}
	}
}

// TestClasses: every record with a figure is in one class, no class has fewer than Least, equal
// figures are in one class, and the sums are right.
func TestClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 5, 19, 20, 21, 95, 104, 1000, 1009} {
		for _, kinds := range []int{1, 2, 15, 1 << 30} {
			by, of := make([]float64, n), make([]float64, n)
			with, sum := 0, 0.0
			for i := range by {
				by[i], of[i] = float64(r.IntN(kinds)), float64(r.IntN(2))
				if i%7 == 3 {
					by[i] = nan
					continue
				}
				with++
				sum += of[i]
			}
			classes := Classes(by, of, 10)
			if (classes == nil) != (with < 2*Least) {
				t.Fatalf("%d records: %d classes", with, len(classes))
			}
			if classes == nil {
				continue
			}
			records, total := 0, 0.0
			for i, c := range classes {
				if c.Records < Least || c.From > c.To || i > 0 && c.From <= classes[i-1].To {
					t.Errorf("%d of %d kinds: class %d is %+v behind %+v", with, kinds, i, c, classes[max(i-1, 0)])
				}
				records, total = records+c.Records, total+c.Sum
			}
			if records != with || total != sum || len(classes) > 11 {
				t.Errorf("%d of %d kinds: %d classes hold %d, %v of %v", with, kinds, len(classes), records, total, sum)
			}
		}
	}
}

// TestRisks: limits belong to the class below them, and every record is counted.
func TestRisks(t *testing.T) {
	classes := Risks([]float64{0, 0.001, 0.0011, 0.01, 0.5, 0.50001, 1, nan})
	var got []int
	for _, c := range classes {
		got = append(got, c.Records)
	}
	if want := []int{2, 2, 0, 0, 0, 0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
