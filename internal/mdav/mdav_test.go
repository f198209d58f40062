package mdav

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plain is MDAV as defined, with all distances: it shares no code with Groups.
func plain(points []float64, d, k int) []int32 {
	n := len(points) / d
	group := make([]int32, n)
	var live []int
	for i := range n {
		group[i] = -1
		live = append(live, i)
	}
	distance := func(i int, q []float64) (s float64) {
		for j := range d {
			s += (points[i*d+j] - q[j]) * (points[i*d+j] - q[j])
		}
		return s
	}
	mean := func() []float64 {
		m := make([]float64, d)
		for _, i := range live {
			for j := range d {
				m[j] += points[i*d+j]
			}
		}
		for j := range m {
			m[j] /= float64(len(live))
		}
		return m
	}
	far := func(q []float64) int {
		best := live[0]
		for _, i := range live {
			if distance(i, q) > distance(best, q) {
				best = i
			}
		}
		return best
	}
	next := int32(0)
	about := func(i int) {
		q := points[i*d : (i+1)*d]
		slices.SortStableFunc(live, func(a, b int) int {
			switch x, y := distance(a, q), distance(b, q); {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return a - b
		})
		for _, j := range live[:k] {
			group[j] = next
		}
		live = slices.Sorted(slices.Values(live[k:]))
		next++
	}
	for len(live) >= 3*k {
		r := far(mean())
		about(r)
		s := far(points[r*d : (r+1)*d])
		about(s)
	}
	if len(live) >= 2*k {
		about(far(mean()))
	}
	for _, i := range live {
		group[i] = next
	}
	return group
}

// shapes of data: sums of small integers are exact, so ties are ties in both implementations.
func shapes(n, d int, seed uint64) map[string][]float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	make1 := func(f func(i, j int) float64) []float64 {
		p := make([]float64, n*d)
		for i := range n {
			for j := range d {
				p[i*d+j] = f(i, j)
			}
		}
		return p
	}
	return map[string][]float64{
		"normal":    make1(func(int, int) float64 { return r.NormFloat64() }),
		"skewed":    make1(func(int, int) float64 { return math.Exp(2 * r.NormFloat64()) }),
		"lattice":   make1(func(int, int) float64 { return float64(r.IntN(3)) }),
		"one point": make1(func(int, int) float64 { return 4 }),
		"zeros":     make1(func(i, _ int) float64 { return float64(max(0, r.IntN(40)-36)) }),
		"sorted":    make1(func(i, _ int) float64 { return float64(i) }),
		"backwards": make1(func(i, _ int) float64 { return float64(-i) }),
		"two heaps": make1(func(i, _ int) float64 { return float64(1024 * (i % 2)) }),
		"ring": make1(func(i, j int) float64 { // all equally far from the mean, up to rounding
			return math.Round(64 * math.Cos(2*math.Pi*float64(i)/float64(n)+math.Pi/2*float64(j)))
		}),
	}
}

func TestGroupsAreThoseOfThePlainAlgorithm(t *testing.T) {
	for _, n := range []int{2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 37, 130, 400} {
		for _, d := range []int{1, 2, 4} {
			for _, k := range []int{2, 3, 5, 10} {
				if n < k {
					continue
				}
				for shape, points := range shapes(n, d, uint64(n*d*k)) {
					got, groups := Groups(points, d, k, nil)
					want := plain(points, d, k)
					if !slices.Equal(got, want) {
						t.Fatalf("n = %d, d = %d, k = %d, %s:\ngot  %v\nwant %v", n, d, k, shape, got, want)
					}
					if most := slices.Max(got); int(most) != groups-1 {
						t.Fatalf("%d groups, the last is %d", groups, most)
					}
				}
			}
		}
	}
}

// Longer than the list of far records, many times.
func TestGroupsOfMoreThanAList(t *testing.T) {
	if testing.Short() {
		t.Skip("n² distances")
	}
	for _, shape := range []string{"normal", "zeros", "ring"} {
		points := shapes(2*listed, 2, 5)[shape]
		got, _ := Groups(points, 2, 25, nil)
		if !slices.Equal(got, plain(points, 2, 25)) {
			t.Errorf("%s: not the groups of the plain algorithm", shape)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, k := range []int{2, 3, 7} {
		for n := k; n < 6*k; n++ {
			for name, of := range map[string]func() ([]int32, int){
				"mdav":   func() ([]int32, int) { return Groups(shapes(n, 3, uint64(n))["skewed"], 3, k, nil) },
				"sorted": func() ([]int32, int) { return Sorted(shapes(n, 1, uint64(n))["lattice"], k, nil) },
			} {
				group, groups := of()
				sizes := make([]int, groups)
				for _, g := range group {
					sizes[g]++
				}
				if slices.Min(sizes) < k || slices.Max(sizes) >= 2*k {
					t.Errorf("%s, n = %d, k = %d: sizes %v", name, n, k, sizes)
				}
			}
		}
	}
}

func TestSortedKeepsTheOrder(t *testing.T) {
	values := []float64{5, 1, 5, 2, 9, 1, 3}
	group, groups := Sorted(values, 2, nil)
	if want := []int32{2, 0, 2, 1, 2, 0, 1}; !slices.Equal(group, want) || groups != 3 {
		t.Errorf("got %v of %d, want %v", group, groups, want)
	}
}

func TestPanics(t *testing.T) {
	for _, f := range []func(){
		func() { Groups([]float64{1, 2}, 1, 1, nil) },
		func() { Groups([]float64{1, 2}, 1, 3, nil) },
		func() { Groups([]float64{1, 2, 3}, 2, 2, nil) },
		func() { Groups(nil, 0, 2, nil) },
		func() { Sorted([]float64{1}, 2, nil) },
		func() { Sorted([]float64{1, 2}, 1, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			f()
		}()
	}
}

func BenchmarkGroups(b *testing.B) {
	for _, c := range []struct {
		shape   string
		n, d, k int
	}{
		{"normal", 100_000, 4, 3}, {"normal", 1_000_000, 4, 3}, {"normal", 1_000_000, 4, 10},
		{"skewed", 1_000_000, 4, 3}, {"lattice", 1_000_000, 4, 3}, {"zeros", 1_000_000, 4, 3}, {"one point", 1_000_000, 4, 3},
	} {
		b.Run(fmt.Sprintf("%s/n=%d/d=%d/k=%d", c.shape, c.n, c.d, c.k), func(b *testing.B) {
			points := shapes(c.n, c.d, 1)[c.shape]
			b.ResetTimer()
			for range b.N {
				Groups(points, c.d, c.k, nil)
			}
		})
	}
}

// Groups stops when told to, within the tree and between groups, and asks once per two groups.
func TestGivesUp(t *testing.T) {
	const n, k = 10_000, 25
	points := shapes(n, 3, 1)["skewed"]
	all := 0
	if group, _ := Groups(points, 3, k, func() bool { all++; return false }); group == nil || all < n/k/2 {
		t.Errorf("asks %d times for %d groups", all, n/k)
	}
	for at := 1; at <= all; at += 1 + at/5 {
		checks := 0
		group, groups := Groups(points, 3, k, func() bool { checks++; return checks >= at })
		if group != nil || groups != 0 || checks > at+2 {
			t.Errorf("cancelled at check %d it checks %d times and has %d groups", at, checks, groups)
		}
	}
}
