package papers

import (
	"math"
	"slices"
	"testing"
)

// betaBinomial is the beta-binomial distribution on low … high with parameters a and b: the family of
// priors that Duncan et al. (2001), section 4, propose. a = b = 1 is the uniform distribution.
func betaBinomial(low, high int, a, b float64) []float64 {
	logBeta := func(x, y float64) float64 {
		p, _ := math.Lgamma(x)
		q, _ := math.Lgamma(y)
		r, _ := math.Lgamma(x + y)
		return p + q - r
	}
	n := float64(high - low)
	p := make([]float64, high+1)
	for v := low; v <= high; v++ {
		k := float64(v - low)
		p[v] = math.Exp(-math.Log(n+1) - logBeta(n-k+1, k+1) + logBeta(k+a, n-k+b) - logBeta(a, b))
	}
	return p
}

// What the square of section 4 discloses to beta-binomial priors on its bounds, 1 … 15, of the same mean
// as table 4, 2.7, from vague to firm, and to the uniform prior. Under Markov perturbation the likelihood
// has most of the say; under suppression, where there is nothing but the prior, U ranges over a factor of
// 15. A prior of table 4's mean and variance has its U under suppression, which is a second moment.
func TestBetaBinomialPriors(t *testing.T) {
	moments := func(p []float64) (mean, variance float64) {
		total := 0.0
		for v, share := range p {
			total += share
			mean += float64(v) * share
			variance += float64(v*v) * share
		}
		near(t, "sum of a prior", total, 1, 1e-9)
		return mean, variance - mean*mean
	}
	_, table4Variance := moments(table4)
	// Mean 1 + 14a/(a+b); variance 14ab(a+b+14)/((a+b)²(a+b+1)).
	share := 1.7 / 14
	priors := []struct {
		name string
		a, b float64
	}{{"uniform", 1, 1}, {"vague", share * 2, (1 - share) * 2}, {"of table 4's variance", 0, 0},
		{"firm", share * 100, (1 - share) * 100}}
	for low, high := 0.01, 1000.0; ; { // a + b for the variance of table 4, by bisection
		s := math.Sqrt(low * high)
		_, v := moments(betaBinomial(1, 15, share*s, (1-share)*s))
		if high/low < 1+1e-12 {
			priors[2].a, priors[2].b = share*s, (1-share)*s
			break
		}
		if v > table4Variance {
			low = s
		} else {
			high = s
		}
	}
	got := map[string][2]float64{}
	for _, prior := range priors {
		p := betaBinomial(1, 15, prior.a, prior.b)
		if mean, variance := moments(p); prior.name != "uniform" {
			near(t, "mean of "+prior.name, mean, 2.7, 1e-9)
			if prior.a == priors[2].a {
				near(t, "variance", variance, table4Variance, 1e-6)
			}
		} else {
			near(t, "uniform mean", mean, 8, 1e-9)
			near(t, "uniform share", p[15], 1.0/15, 1e-9)
		}
		for _, theta := range []float64{0.05, 0.1, 0.2, -1} {
			likelihood := SuppressedLikelihood(square.Bounds())
			if theta >= 0 {
				sq := square
				sq.Theta = theta
				var err error
				if likelihood, err = sq.Likelihood(3); err != nil {
					t.Fatal(err)
				}
			}
			post, err := CellPosterior(p, likelihood)
			if err != nil {
				t.Fatal(err)
			}
			got[prior.name+map[float64]string{0.05: " 0.05", 0.1: " 0.1", 0.2: " 0.2", -1: " suppressed"}[theta]] = [2]float64{
				CellUtility(post, 1), CellRisk(post)}
		}
	}
	for name, want := range betaBinomialFigures {
		v := got[name]
		if !(math.Abs(v[0]-want[0]) <= 0.00051) || !(math.Abs(v[1]-want[1]) <= 0.00051) {
			t.Errorf("%s: U %.3f, R %.3f, docs/ru-map.md has %v", name, v[0], v[1], want)
		}
	}
	if len(betaBinomialFigures) != len(got) {
		t.Errorf("%d figures, the documentation has %d", len(got), len(betaBinomialFigures))
	}
}

// threeWay is a small table of counts, in the order i, j, k.
type threeWay struct {
	ni, nj, nk int
	n          []int
}

func (t threeWay) at(i, j, k int) int { return (i*t.nj+j)*t.nk + k }

// margin returns the sums over the dimensions that are not kept.
func (t threeWay) margin(i, j, k bool) map[[3]int]int {
	m := map[[3]int]int{}
	for x := range t.ni {
		for y := range t.nj {
			for z := range t.nk {
				key := [3]int{x, y, z}
				for d, keep := range []bool{i, j, k} {
					if !keep {
						key[d] = 0
					}
				}
				m[key] += t.n[t.at(x, y, z)]
			}
		}
	}
	return m
}

// reached returns all tables that moves, in either direction, lead to without a negative count.
func reached(from threeWay, moves [][]int) map[string][]int {
	key := func(n []int) string {
		b := make([]byte, len(n))
		for i, v := range n {
			b[i] = byte(v)
		}
		return string(b)
	}
	all := map[string][]int{key(from.n): from.n}
	for queue := [][]int{from.n}; len(queue) > 0; queue = queue[1:] {
		for _, move := range moves {
			for _, sign := range []int{1, -1} {
				to := slices.Clone(queue[0])
				for i, d := range move {
					to[i] += sign * d
				}
				if _, known := all[key(to)]; !known && slices.Min(to) >= 0 {
					all[key(to)] = to
					queue = append(queue, to)
				}
			}
		}
	}
	return all
}

// squares are the moves of a decomposable graph I – J – K: plus and minus one at the corners of a
// rectangle within one layer j, which keeps IJ+ and +JK.
func (t threeWay) squares() (moves [][]int) {
	for j := range t.nj {
		for i := range t.ni {
			for x := range i {
				for k := range t.nk {
					for z := range k {
						move := make([]int, len(t.n))
						move[t.at(i, j, k)], move[t.at(x, j, z)] = 1, 1
						move[t.at(i, j, z)], move[t.at(x, j, k)] = -1, -1
						moves = append(moves, move)
					}
				}
			}
		}
	}
	return moves
}

// cubes are the moves that keep all two-way margins and touch two layers of each dimension.
func (t threeWay) cubes() (moves [][]int) {
	for i := range t.ni {
		for x := range i {
			for j := range t.nj {
				for y := range j {
					for k := range t.nk {
						for z := range k {
							move := make([]int, len(t.n))
							for _, c := range [8][4]int{{i, j, k, 1}, {i, j, z, -1}, {i, y, k, -1}, {i, y, z, 1}, {x, j, k, -1},
								{x, j, z, 1}, {x, y, k, 1}, {x, y, z, -1}} {
								move[t.at(c[0], c[1], c[2])] = c[3]
							}
							moves = append(moves, move)
						}
					}
				}
			}
		}
	}
	return moves
}

// Section 4: where the published margins IJ+ and +JK are a decomposable graph, moves within squares
// reach every table that has them, and the bounds of BoundMargin are those of I+K over these tables.
func TestMovesOfADecomposableGraph(t *testing.T) {
	from := threeWay{2, 2, 3, []int{1, 0, 2, 3, 1, 0, 0, 2, 1, 1, 0, 2}}
	ij, jk := from.margin(true, true, false), from.margin(false, true, true)
	// All tables, by trying every count up to the greatest margin.
	var every [][]int
	n := make([]int, len(from.n))
	var fill func(at int)
	fill = func(at int) {
		if at == len(n) {
			x := threeWay{from.ni, from.nj, from.nk, n}
			if equal(x.margin(true, true, false), ij) && equal(x.margin(false, true, true), jk) {
				every = append(every, slices.Clone(n))
			}
			return
		}
		i, j, k := at/(from.nj*from.nk), at/from.nk%from.nj, at%from.nk
		for v := 0; v <= min(ij[[3]int{i, j, 0}], jk[[3]int{0, j, k}]); v++ {
			n[at] = v
			fill(at + 1)
		}
		n[at] = 0
	}
	fill(0)
	all := reached(from, from.squares())
	if len(all) != len(every) || len(all) < 20 {
		t.Fatalf("moves reach %d tables, there are %d", len(all), len(every))
	}
	rows := func(m map[[3]int]int, a, b int, key func(x, y int) [3]int) [][]int {
		r := make([][]int, a)
		for x := range r {
			for y := range b {
				r[x] = append(r[x], m[key(x, y)])
			}
		}
		return r
	}
	b,
		err := BoundMargin(rows(ij, 2, 2, func(x, y int) [3]int { return [3]int{x, y, 0} }),
		rows(jk, 2, 3, func(x, y int) [3]int { return [3]int{0, x, y} }))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		for k := range 3 {
			low, high := math.MaxInt, 0
			for _, n := range all {
				v := threeWay{2, 2, 3, n}.margin(true, false, true)[[3]int{i, 0, k}]
				low, high = min(low, v), max(high, v)
			}
			if low != b.Lower[i][k] || high != b.Upper[i][k] {
				t.Errorf("cell (%d, %d): the tables have %d to %d, the bounds are %d to %d", i, k, low, high, b.Lower[i][k],
					b.Upper[i][k])
			}
		}
	}
}

func equal(a, b map[[3]int]int) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return len(a) == len(b)
}

// With all three two-way margins the graph is not decomposable, and moves within cubes do not reach all
// tables: a table of ones along two cyclic permutations has none, and yet is not alone with its margins.
// The move that the paper prints for 3×3×3 keeps the margins, but is not needed to reach them: cubes lead
// from its plus signs to its minus signs. The moves that are needed are hard to find in larger tables;
// the program's audit uses linear programming.
func TestMovesBeyondDecomposableGraphs(t *testing.T) {
	for _, c := range []struct {
		name       string
		shape      [3]int
		move       []int
		cubes, all int // tables that are reached from the plus signs by cubes, and with the move
	}{
		{"of the paper", [3]int{3, 3, 3},
			[]int{0, 0, 0, 0, -1, 1, 0, 1, -1, 1, 0, -1, -1, 1, 0, 0, -1, 1, -1, 0, 1, 1, 0, -1, 0, 0, 0}, 3, 3},
		{"of two permutations", [3]int{2, 3, 3}, []int{1, -1, 0, 0, 1, -1, -1, 0, 1, -1, 1, 0, 0, -1, 1, 1, 0, -1}, 1, 2},
	} {
		plus, minus := make([]int, len(c.move)), make([]int, len(c.move))
		for i, d := range c.move {
			plus[i], minus[i] = max(d, 0), max(-d, 0)
		}
		from, to := threeWay{c.shape[0], c.shape[1], c.shape[2], plus}, threeWay{c.shape[0], c.shape[1], c.shape[2], minus}
		for _, keep := range [][3]bool{{true, true, false}, {true, false, true}, {false, true, true}} {
			if !equal(from.margin(keep[0], keep[1], keep[2]), to.margin(keep[0], keep[1], keep[2])) {
				t.Fatalf("the move %s changes a margin (%v)", c.name, keep)
			}
		}
		by := reached(from, from.cubes())
		with := reached(from, append(from.cubes(), c.move))
		if len(by) != c.cubes || len(with) != c.all {
			t.Errorf("the move %s: cubes reach %d tables, with it %d", c.name, len(by), len(with))
		}
	}
}

// betaBinomialFigures are U and R by prior and release, as docs/ru-map.md has them.
var betaBinomialFigures = map[string][2]float64{
	"uniform 0.05": {.209, 1.322}, "uniform 0.1": {.178, .906}, "uniform 0.2": {.135, .676},
	"uniform suppressed": {.015, .369},
	"vague 0.05":         {.234, 1.308}, "vague 0.1": {.220, .903}, "vague 0.2": {.199, .688},
	"vague suppressed":           {.092, .607},
	"of table 4's variance 0.05": {.234, 1.435}, "of table 4's variance 0.1": {.220, .996},
	"of table 4's variance 0.2": {.201, .767}, "of table 4's variance suppressed": {.159, .566},
	"firm 0.05": {.235, 1.618}, "firm 0.1": {.225, 1.115}, "firm 0.2": {.213, .860}, "firm suppressed": {.219, .621},
}
