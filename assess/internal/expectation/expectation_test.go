package expectation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
)

// slanted is y = (1+a)x + ε, ε ~ N(0, λ²).
type slanted struct{ a, lambda float64 }

func (l slanted) Moments(x float64) (shift, square float64) {
	return l.a * x, l.a*l.a*x*x + l.lambda*l.lambda
}

func (l slanted) Below(x, t float64) float64 {
	return 0.5 * math.Erfc(((1+l.a)*x-t)/l.lambda/math.Sqrt2)
}

func (l slanted) BelowEach(x []float64) func(t float64, p []float64) {
	return func(t float64, p []float64) {
		for i, v := range x {
			p[i] = l.Below(v, t)
		}
	}
}

func (l slanted) Reach(x float64) (low, high float64) {
	return (1+l.a)*x - 8*l.lambda, (1+l.a)*x + 8*l.lambda
}

func (l slanted) Support() (low, high, step float64) { return math.Inf(-1), math.Inf(1), 0 }

func (l slanted) Fixed() bool { return false }

func skewed(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 9))
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(rng.NormFloat64())
	}
	slices.Sort(x)
	return x
}

func expected(x []float64, law Law) *Expectation {
	return New(law, tally.ExactSpectrum(x), comoment.Of(x))
}

// The sums over a column equal their definitions.
func TestSumsOfALaw(t *testing.T) {
	x := skewed(1, 500)
	law := slanted{-0.1, 0.7}
	e := expected(x, law)
	var mean, square, variance float64
	for _, v := range x {
		mean += v / 500
		square += v * v / 500
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / 499
	}
	for what, c := range map[string][2]float64{
		"bias":             {e.Bias, -0.1 * mean},
		"E(y−x)²":          {e.Typical, 0.01*square + 0.49},
		"Var(ȳ)":           {e.OfMean, 0.49 / 500},
		"E s_y²":           {e.Variance, 0.81*variance + 0.49},
		"1/U":              {e.Error, (0.81*variance+0.49)/500 + 0.01*mean*mean},
		"the sample's own": {e.BiasNoise + e.TypicalNoise + e.ErrorNoise, 0},
	} {
		if !(math.Abs(c[0]-c[1]) <= 1e-10*(1+math.Abs(c[1]))) {
			t.Errorf("%s is %v, want %v", what, c[0], c[1])
		}
	}
	square, noise := e.ByMean(3, 0)
	if want := math.Pow(0.9*mean-3, 2) + 0.49/500; !(math.Abs(square-want) <= 1e-10) || noise != 0 {
		t.Errorf("by mean %v ± %v, want %v", square, noise, want)
	}
	q := e.Seek(250, new(tally.Tally), x)
	if !q.Exact || q.Tau != x[249] || q.Noise != 0 {
		t.Errorf("the 250th value is %+v, want %v", q, x[249])
	}
	if square, safe := e.ByIndex(q); safe || !(math.Abs(square-(0.01*x[249]*x[249]+0.49)) <= 1e-12) {
		t.Errorf("by index %v, safe %v", square, safe)
	}
}

// P(y_(k) ≤ t) is the probability that at least k of independent events occur, computed here by
// adding one record after another.
func TestAtMostCountsRecords(t *testing.T) {
	for _, n := range []int{1, 2, 40, 3000} {
		x := skewed(2, n)
		law := slanted{0, 0.4}
		e := expected(x, law)
		second := 2 // where the computation is exact
		if n > exactly {
			second = 150
		}
		for _, k := range []int{1, second, (n + 1) / 2, n + 1 - second, n} {
			if k < 1 || k > n {
				continue
			}
			w := e.window(k, 1)
			for _, at := range []float64{0.02, 0.3, 0.5, 0.7, 0.98} {
				limit := w.from + at*(w.to-w.from)
				counts := make([]float64, n+1)
				counts[0] = 1
				for i, v := range x {
					p := law.Below(v, limit)
					for j := i + 1; j > 0; j-- {
						counts[j] = counts[j]*(1-p) + counts[j-1]*p
					}
					counts[0] *= 1 - p
				}
				want := 0.0
				for _, c := range counts[k:] {
					want += c
				}
				got, _ := w.atMost(limit)
				// Neighbours within a twentieth of an SD are merged into their mean. This changes
				// the distribution function of more than a few records by at most 0.05²·φ'(1)/2 =
				// 0.0003 on average. The normal approximation with skewness is as accurate if the
				// variance is tens of records.
				if !(math.Abs(got-want) <= 0.002) {
					t.Errorf("n %d, k %d, t %.3f: %v, want %v", n, k, limit, got, want)
				}
			}
		}
	}
}

// E(τ − y_(k))² equals that of simulated releases, in the middle and at both ends.
func TestByPositionIsThatOfReleases(t *testing.T) {
	const n, releases = 300, 6000
	x := skewed(3, n)
	law := slanted{0.05, 0.5}
	e := expected(x, law)
	e.Prepare()
	ranks := []int{1, 3, 30, 150, 270, 298, 300}
	sum, square := make([]float64, len(ranks)), make([]float64, len(ranks))
	rng := rand.New(rand.NewPCG(4, 9))
	y := make([]float64, n)
	for range releases {
		for i, v := range x {
			y[i] = (1+law.a)*v + law.lambda*rng.NormFloat64()
		}
		slices.Sort(y)
		for i, k := range ranks {
			d := y[k-1] - x[k-1]
			sum[i] += d * d
			square[i] += d * d * d * d
		}
	}
	for i, k := range ranks {
		mean := sum[i] / releases
		se := math.Sqrt((square[i]/releases - mean*mean) / releases)
		got, noise, safe := e.ByPosition(e.Seek(k, new(tally.Tally), x))
		// Five standard errors of the simulation, plus 1 % for merged values.
		if !(math.Abs(got-mean) <= 5*se+0.01*mean) || noise != 0 || safe {
			t.Errorf("rank %d: %v ± %v, safe %v; simulated %v ± %v", k, got, noise, safe, mean, se)
		}
	}
}

// An order statistic that is located in a bin is off by at most half its width, which is one
// standard error of one of its records; multiples of a unit may be off by half a unit beside. A
// bin of one value is exact, and so is one in which a single multiple of the unit lies.
func TestSeekInABinOfATally(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 21))
	const n = 40_000
	x := make([]float64, n)
	for i := range x {
		if x[i] = 1000 + 1000*rng.Float64(); i%4 == 0 {
			x[i] = 500
		}
	}
	sample := slices.Clone(x[:12_000])
	counts := tally.NewCounts(1)
	counts.X.Add(x)
	slices.Sort(x)
	e := New(slanted{}, counts.Spectrum(sample, 0), comoment.Of(x))
	inBin := func(values []float64, code uint64) (n float64) {
		for _, v := range values {
			if tally.BinCode(v) == code {
				n++
			}
		}
		return n
	}
	spread := 25_000 // the rank of a value in whose bin some were sampled, which all differ
	for inBin(sample, tally.BinCode(x[spread-1])) < 3 {
		spread++
	}
	for _, k := range []int{5000, spread} {
		in, width, low := inBin(x, tally.BinCode(x[k-1])), 0.0, math.Floor(2*x[k-1])/2
		if x[k-1] != 500 {
			width = 0.5 // from 1024 to 2048 there are 2048 bins
		}
		for _, unit := range []float64{0, 0.001, 0.01, 0.2, 0.3, 0.6} {
			e.Unit = unit
			w := width
			if unit > 0 && math.Ceil((low+0.5)/unit)-math.Ceil(low/unit) == 1 { // one multiple alone
				w = 0
			}
			want := w * w / 4 / in
			if unit < w {
				want += unit * unit / 4
			}
			q := e.Seek(k, &counts.X, sample)
			if q.Exact != (w == 0) || !q.counted || q.width != w || !(math.Abs(q.Noise-want) <= 1e-12*want) ||
				!(math.Abs(q.Tau-x[k-1]) <= 0.6) {
				t.Errorf("number %d, unit %v: %+v, want the width %v, the variance %v and a value near %v", k, unit, q, w, want,
					x[k-1])
			}
		}
	}
}

// If masks make a column constant, its variance is only a rounding error: below 10⁻¹² of the
// originals' variance it becomes 0, above that it stays.
func TestVarianceThatRoundingLeaves(t *testing.T) {
	for _, n := range []int{2, 3, 500} {
		x := skewed(7, n)
		own := comoment.Of(x)
		for share, left := range map[float64]bool{0.3e-12: false, 0.7e-12: false, 1.5e-12: true, 1e-11: true, 1e-6: true} {
			e := expected(x, slanted{math.Sqrt(share) - 1, 0})
			want := share * own.Cii / float64(n-1)
			if !left {
				want = 0
			}
			if !(math.Abs(e.Variance-want) <= 0.02*want) {
				t.Errorf("%d values, a share of %v: variance %v, want %v", n, share, e.Variance, want)
			}
			if !(math.Abs(e.Error-(e.Variance/float64(n)+e.Bias*e.Bias)) <= 1e-12*e.Error) {
				t.Errorf("%d values: 1/U %v", n, e.Error)
			}
		}
	}
}

// With one record, y has the distribution of the law itself, about whichever centre its moments are
// computed.
func TestRankedOfOneRecord(t *testing.T) {
	law := slanted{0.25, 0.7}
	for _, tau := range []float64{-2, 0, 4, 5.5} {
		d := expected([]float64{4}, law).ranked(1, tau, 1)
		if !(math.Abs(d.mean-5) <= 1e-3) || !(math.Abs(d.variance/0.49-1) <= 0.01) || !(math.Abs(d.middle-5) <= 1e-6) {
			t.Errorf("about %v: mean %v, variance %v, median %v, want 5, 0.49 and 5", tau, d.mean, d.variance, d.middle)
		}
	}
}

// rare is y ~ N(0, 1) for x = 0. For other x, y is almost never greater, but then by a large
// amount.
type rare struct{ slanted }

func (rare) of(x float64) (mean, sd float64) {
	if x == 0 {
		return 0, 1
	}
	return -3.5e6, 1e6
}

func (l rare) Moments(x float64) (shift, square float64) {
	m, sd := l.of(x)
	return m - x, (m-x)*(m-x) + sd*sd
}

func (l rare) Below(x, t float64) float64 {
	m, sd := l.of(x)
	return 0.5 * math.Erfc((m-t)/sd/math.Sqrt2)
}

func (l rare) BelowEach(x []float64) func(t float64, p []float64) {
	return func(t float64, p []float64) {
		for i, v := range x {
			p[i] = l.Below(v, t)
		}
	}
}

func (l rare) Reach(x float64) (low, high float64) {
	m, sd := l.of(x)
	return m - 8*sd, m + 8*sd
}

// If almost all of a distribution lies in the first of many cells, that cell is halved. The moments
// of the greater of two values are compared with those of 1 − F, summed in small steps.
func TestRankedOfAHeapAtOneEnd(t *testing.T) {
	law := rare{}
	var mean, square float64
	sum := func(from, to, step float64) {
		for y := from + step/2; y < to; y += step {
			above := -math.Expm1(math.Log(law.Below(0, y)) + math.Log(law.Below(1, y)))
			if y < 0 {
				above-- // −F
			}
			mean += above * step
			square += 2 * y * above * step
		}
	}
	sum(-12, 12, 1e-3)
	sum(12, 4.5e6, 12)
	d := expected([]float64{0, 1}, law).ranked(2, 0, 1)
	// Cells are halved until width²/12, weighted by their mass, is less than a thousandth of the
	// square. So the mean may be wrong by half a width, and the square by a few thousandths.
	if got := d.variance + d.mean*d.mean; !(math.Abs(got/square-1) <= 0.01) ||
		!(math.Abs(d.mean-mean) <= math.Sqrt(3e-3*square)) {
		t.Errorf("mean %v, square %v, want %v and %v", d.mean, got, mean, square)
	}
}

// A rounding error in the width of a degenerate distribution counts as 0, relative to the size of
// its values.
func TestRankedOfNoWidth(t *testing.T) {
	for _, c := range []struct {
		tau, lambda float64
		left        bool
	}{{0, 1e-11, false}, {0, 1e-9, true}, {1e6, 1e-5, false}, {1e6, 1e-3, true}} {
		d := expected([]float64{c.tau}, slanted{0, c.lambda}).ranked(1, c.tau, 1)
		if c.left && !(math.Abs(d.variance/(c.lambda*c.lambda)-1) <= 0.01) || !c.left && d.variance != 0 {
			t.Errorf("about %v, an SD of %v: variance %v", c.tau, c.lambda, d.variance)
		}
	}
	e := expected([]float64{1, 2}, slanted{0, 1})
	if e.Prepare(); e.clusters == nil {
		t.Error("a value needed by several goroutines is missing")
	}
}

// parted keeps values up to a bound and moves all others far up.
type parted struct {
	slanted
	bound float64
}

func (l parted) Below(x, t float64) float64 {
	if x <= l.bound {
		return l.slanted.Below(x, t)
	}
	return 0
}

func (l parted) BelowEach(x []float64) func(t float64, p []float64) {
	return func(t float64, p []float64) {
		for i, v := range x {
			p[i] = l.Below(v, t)
		}
	}
}

func (l parted) Reach(x float64) (low, high float64) {
	if x <= l.bound {
		return l.slanted.Reach(x)
	}
	return x + 1e6, x + 1e6
}

// The probabilities of atoms in order are those of the law: of values that lie close together and far
// apart, of equal ones, and of a law with a step between two of them, wherever it is. Within 0.01 SDs of
// y a normal distribution function departs from its chord by at most 0.01²/8 of its greatest
// curvature, 0.242: 3e-6.
func TestBelowInOrderIsTheLaw(t *testing.T) {
	for _, n := range []int{1, 2, 17, 300, 5000} {
		for _, lambda := range []float64{0.001, 0.5, 20} {
			x := skewed(uint64(n), n)
			for i := 0; i+4 < n; i += 9 {
				x[i+1], x[i+2], x[i+3] = x[i], x[i], x[i]
			}
			slices.Sort(x)
			laws := []Law{slanted{0, lambda}}
			for _, at := range []int{0, n / 3, n / 2, n - 2, n - 1} {
				laws = append(laws, parted{slanted{0, lambda}, x[max(0, at)]})
			}
			for k, law := range laws {
				e := expected(x, law)
				for _, bound := range []float64{x[0], x[n/2] + 0.3*lambda, x[n-1] - lambda} {
					below := e.belowInOrder(bound)
					for i, v := range e.Of.X {
						if got, want := below(i), law.Below(v, bound); !(math.Abs(got-want) <= 3.1e-6) {
							t.Fatalf("%d values, λ = %v, law %d: P(y ≤ %v) of %v is %v, want %v", n, lambda, k, bound, v, got, want)
						}
					}
				}
			}
		}
	}
}
