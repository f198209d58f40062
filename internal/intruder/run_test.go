package intruder

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func run(t *testing.T, p Problem, o Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %.17g, want %.17g within %g", what, got, want, tolerance)
	}
}

// One key, φ = 0, σ = 1, x₀ = 10: densities are in proportion e^(-0.005), e^(-0.5),
// e^(-2), by hand.
func TestByHand(t *testing.T) {
	p := Problem{Targets: [][]float64{{10}}, Released: [][]float64{{11, 10.1, 8}}, Truth: []int32{0}}
	total := math.Exp(-0.005) + math.Exp(-0.5) + math.Exp(-2)
	r := run(t, p, Options{Keys: []Key{{Sigma: 1}}})
	near(t, "posterior", r.PerTarget[0].Posterior, math.Exp(-0.5)/total, 1e-14)
	near(t, "best", r.PerTarget[0].Best, math.Exp(-0.005)/total, 1e-14)
	near(t, "ten best", r.PerTarget[0].TopTen, 1, 1e-14)
	near(t, "rank", r.PerTarget[0].Rank, 2, 0)
	if r.Rank != [11]float64{1: 1} || r.Correct != 0 || r.Links != 1 || r.Knowledge != "d.1" {
		t.Errorf("rank %v, %g of %d links correct, %s", r.Rank, r.Correct, r.Links, r.Knowledge)
	}
	// With bias: V = 100·0.01 + 1 = 2, factor 1 + (z−10)·0.05 under E|θ|.
	r = run(t, p, Options{Keys: []Key{{Phi: 0.1, Sigma: 1}}})
	f := func(z float64) float64 { return math.Exp(-(z-10)*(z-10)/4) * (1 + (z-10)*10*0.01/2) }
	near(t, "posterior with bias", r.PerTarget[0].Posterior, f(11)/(f(11)+f(10.1)+f(8)), 1e-14)
}

func TestThreshold(t *testing.T) {
	p := Problem{Targets: [][]float64{{10}}, Released: [][]float64{{10, 12}}, Truth: []int32{0}}
	best := 1 / (1 + math.Exp(-2))
	for _, c := range []struct {
		t     float64
		links int
	}{{0, 1}, {best - 1e-9, 1}, {best + 1e-9, 0}, {1, 0}} {
		r := run(t, p, Options{Keys: []Key{{Sigma: 1}}, Threshold: c.t})
		if r.Links != c.links || r.Correct != float64(c.links) {
			t.Errorf("t = %g: %d links, %g correct, want %d", c.t, r.Links, r.Correct, c.links)
		}
		near(t, "expected", r.ExpectedCorrect, best*float64(c.links), 1e-12)
	}
	r := run(t, p, Options{Keys: []Key{{Sigma: 1}}})
	// The posterior is 0.8808: thresholds 0 to 0.88 make the link.
	if last := r.Curve[len(r.Curve)-1]; last.Threshold != 0.88 || last.Precision != 1 || last.Recall != 1 {
		t.Errorf("the curve ends with %+v", last)
	}
}

// Three records at the same distance, on both sides: each rank is shared.
func TestTiesShare(t *testing.T) {
	p := Problem{Targets: [][]float64{{10}}, Released: [][]float64{{10.1, 9.9, 10.1, 10, 14}}, Truth: []int32{1}}
	r := run(t, p, Options{Keys: []Key{{Sigma: 1}}})
	for j, want := range []float64{0, 1. / 3, 1. / 3, 1. / 3, 0} {
		near(t, "share of a rank", r.Rank[j], want, 1e-15)
	}
	near(t, "rank", r.PerTarget[0].Rank, 3, 0)
	p.Released[0][3] = 20
	r = run(t, p, Options{Keys: []Key{{Sigma: 1}}})
	near(t, "correct", r.Correct, 1./3, 1e-15)
}

// Neither bias nor noise: an exact copy is found with certainty and, if there is none,
// the nearest record.
func TestNoMaskIsALimit(t *testing.T) {
	p := Problem{Targets: [][]float64{{10, 20, 0}}, Released: [][]float64{{10, 20.01, 19.5, 0}}, Truth: []int32{0, 1, 3}}
	for _, key := range []Key{{}, {Phi: 1e-200}, {Sigma: 1e-200}} {
		r := run(t, p, Options{Keys: []Key{key}})
		if r.Correct != 3 || r.PosteriorOfCorrect.Mean != 1 {
			t.Errorf("%+v: %g correct with posterior %g", key, r.Correct, r.PosteriorOfCorrect.Mean)
		}
	}
}

// A million records, most of them thousands of standard deviations away, two keys: the
// densities range from e^-1e12 to 1 and the posterior is the same as without these
// records.
func TestNoUnderflow(t *testing.T) {
	const n = 1_000_000
	z := [][]float64{make([]float64, n), make([]float64, n)}
	for i := range n {
		z[0][i], z[1][i] = 1e6+float64(i), -1e6
	}
	z[0][n-2], z[1][n-2] = 1001, 2 // exponent ½ of the second key's
	z[0][n-1], z[1][n-1] = 1000, 3
	p := Problem{Targets: [][]float64{{1000, 5e5}, {2, 7}}, Released: z, Truth: []int32{n - 1, 17}}
	r := run(t, p, Options{Keys: []Key{{Sigma: 1}}})
	near(t, "posterior", r.PerTarget[0].Posterior, 0.5, 1e-13)
	// The second target is 250,000 SDs from the nearest two, which share it; its own
	// record is 500,017 SDs away on one key and 1e6 on the other, so 18 places: the two
	// near ones and the 17 nearer ones come first.
	near(t, "best of the far target", r.PerTarget[1].Best, 1, 1e-12)
	near(t, "posterior of the far target", r.PerTarget[1].Posterior, 0, 0)
	near(t, "rank of the far target", r.PerTarget[1].Rank, 20, 0)
}

func masked(seed uint64, n, keys int, phi, sigma float64) Problem {
	p := noisyRelease(seed, n, n/4, keys, phi, sigma)
	for a := range p.Truth {
		if a%17 == 3 {
			p.Truth[a] = -1
		}
	}
	for j := range p.Released {
		for i := j; i < n; i += 41 {
			p.Released[j][i] = math.NaN()
		}
		for a := j; a < n/4; a += 53 {
			p.Targets[j][a] = math.NaN()
		}
	}
	return p
}

func everyModel() map[string]Options {
	return map[string]Options{
		"d.1": {Keys: []Key{{Phi: 0.02, Sigma: 0.3}}, Population: 1000},
		"d.2": {Keys: []Key{{PhiPrior: &Prior{10, 0.004}, SigmaPrior: &Prior{8, 0.7}}}, Population: 1000},
		"correlated": {Keys: []Key{{Phi: 0.02}}, Covariance: [][]float64{{0.09, 0.05, 0}, {0.05, 0.09, 0}, {0, 0, 0.09}},
			Population: 1000},
		"inexact": {Model: InexactTarget, Keys: []Key{{Phi: 0.02, Sigma: 0.3}}, Population: 1000},
		"gamma": {Model: InexactTarget, Keys: []Key{{PhiPrior: &Prior{10, 25000}, SigmaPrior: &Prior{8, 80}}},
			Population: 1000},
	}
}

// Neither the number of goroutines nor the order of the records has an influence.
func TestGoroutinesAndOrder(t *testing.T) {
	n := 120
	if testing.Short() {
		n = 40
	}
	p := masked(3, n, 3, 0.02, 0.3)
	rng := rand.New(rand.NewPCG(9, 9))
	order := rng.Perm(n)
	q := Problem{Targets: p.Targets, Truth: make([]int32, len(p.Truth))}
	for _, z := range p.Released {
		moved := make([]float64, n)
		for i, to := range order {
			moved[to] = z[i]
		}
		q.Released = append(q.Released, moved)
	}
	for a, i := range p.Truth {
		q.Truth[a] = -1
		if i >= 0 {
			q.Truth[a] = int32(order[i])
		}
	}
	for name, o := range everyModel() {
		one := runtime.GOMAXPROCS(1)
		r := run(t, p, o)
		runtime.GOMAXPROCS(4)
		s := run(t, p, o)
		moved := run(t, q, o)
		runtime.GOMAXPROCS(one)
		if !reflect.DeepEqual(r, s) {
			t.Errorf("%s: 1 and 4 goroutines differ", name)
		}
		for a := range r.PerTarget {
			x, y := r.PerTarget[a], moved.PerTarget[a]
			// Sums of 120 densities in another order: 120 ulps are 3e-14.
			if x.Rank != y.Rank || x.Ties != y.Ties || !(math.Abs(x.Posterior-y.Posterior) <= 1e-12*(1e-3+x.Posterior)) ||
				math.Abs(x.Outside-y.Outside) > 1e-10 {
				t.Fatalf("%s: target %d is %+v, with records in another order %+v", name, a, x, y)
			}
		}
	}
}

// Every model against its definition: all densities computed directly and normalised.
func TestAgainstDefinition(t *testing.T) {
	p := noisyRelease(5, 60, 20, 2, 0.02, 0.3)
	keys := []Key{{Phi: 0.05, Sigma: 0.3}, {Phi: 0.1, Sigma: 0.2}}
	one := func(j int, x0, z float64) float64 { return exactDensity(x0, z, keys[j].Phi, keys[j].Sigma) }
	for name, c := range map[string]struct {
		o Options
		f func(j int, x0, z float64) float64
	}{
		"d.1":                 {Options{Keys: keys}, one},
		"diagonal covariance": {Options{Keys: keys, Covariance: [][]float64{{0.09, 0}, {0, 0.04}}}, one},
		"inexact": {Options{Model: InexactTarget, Keys: keys}, func(j int, x0, z float64) float64 {
			return normal(x0, z, math.Hypot(keys[j].Sigma, z*keys[j].Phi))
		}},
	} {
		r := run(t, p, c.o)
		for a := range r.PerTarget {
			total, own, before := 0.0, 0.0, 0
			for i := range p.Released[0] {
				f := c.f(0, p.Targets[0][a], p.Released[0][i]) * c.f(1, p.Targets[1][a], p.Released[1][i])
				total += f
				if i == a {
					own = f
				}
			}
			for i := range p.Released[0] {
				if c.f(0, p.Targets[0][a], p.Released[0][i])*c.f(1, p.Targets[1][a], p.Released[1][i]) > own*(1+1e-9) {
					before++
				}
			}
			near(t, name+": posterior", r.PerTarget[a].Posterior, own/total, 1e-11)
			near(t, name+": rank", r.PerTarget[a].Rank, float64(before+1), 0)
		}
	}
}

// Correlated noise and bias: the density of z given x₀ by Monte Carlo over θ, for two
// keys; 4.5 standard errors.
func TestCorrelatedAgainstMonteCarlo(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	s11, s22, s12 := 4.0, 9.0, 4.2
	x := [2]float64{20, -30}
	z := [2][2]float64{{21, -27}, {18, -34}}
	phi := [2]float64{0.1, 0.15}
	const k = 300_000
	var sum, squares [2]float64
	det := s11*s22 - s12*s12
	for range k {
		a, b := 1+phi[0]*rng.NormFloat64(), 1+phi[1]*rng.NormFloat64()
		for i := range z {
			u, v := z[i][0]-a*x[0], z[i][1]-b*x[1]
			f := math.Abs(a*b) * math.Exp(-(s22*u*u-2*s12*u*v+s11*v*v)/(2*det))
			sum[i] += f
			squares[i] += f * f
		}
	}
	r := run(t,
		Problem{Targets: [][]float64{{x[0]}, {x[1]}}, Released: [][]float64{{z[0][0], z[1][0]}, {z[0][1], z[1][1]}},
			Truth: []int32{0}},
		Options{Keys: []Key{{Phi: phi[0]}, {Phi: phi[1]}}, Covariance: [][]float64{{s11, s12}, {s12, s22}}})
	ratio := sum[0] / sum[1]
	relative := func(i int) float64 { return (squares[i]/k/(sum[i]/k)/(sum[i]/k) - 1) / k }
	se := ratio * math.Sqrt(relative(0)+relative(1)) // the two share draws: a bound where they agree, near it where not
	got := r.PerTarget[0].Posterior / (1 - r.PerTarget[0].Posterior)
	near(t, "ratio of densities", got, ratio, 4.5*se)
}

// A key that no record has must not change the posterior, in any unit.
func TestMissingKeyDropsOut(t *testing.T) {
	p := noisyRelease(8, 50, 10, 2, 0.02, 0.3)
	for name, o := range everyModel() {
		o.Population = 0
		if o.Covariance != nil {
			o.Covariance = [][]float64{{0.09, 0.05}, {0.05, 0.09}}
		}
		q := Problem{Targets: [][]float64{p.Targets[0], make([]float64, 10)}, Released: p.Released, Truth: p.Truth}
		for a := range q.Targets[1] {
			q.Targets[1][a] = math.NaN()
		}
		alone := Problem{Targets: p.Targets[:1], Released: p.Released[:1], Truth: p.Truth}
		single := o
		if o.Covariance != nil {
			single.Covariance = [][]float64{{0.09}}
		}
		r, s := run(t, q, o), run(t, alone, single)
		for a := range r.PerTarget {
			near(t, name, r.PerTarget[a].Posterior, s.PerTarget[a].Posterior, 1e-12)
		}
	}
	// Records without the only key are all alike: each has the mean density, so the 10 of
	// 50 together have the posterior 10/50.
	q := Problem{Targets: p.Targets[:1], Released: [][]float64{append([]float64(nil), p.Released[0]...)},
		Truth: []int32{40, 41, 42, 43, 44, 45, 46, 47, 48, 49}}
	for i := 40; i < 50; i++ {
		q.Released[0][i] = math.NaN()
	}
	for name, o := range everyModel() {
		o.Population = 0
		if o.Covariance != nil {
			o.Covariance = [][]float64{{0.09}}
		}
		for a, v := range run(t, q, o).PerTarget {
			near(t, name, v.Posterior, 1./50, 1e-10)
			if v.Ties != 10 {
				t.Errorf("%s: target %d ties with %d records, want 10", name, a, v.Ties)
			}
		}
	}
}

// Population 10 times the release: of targets drawn from the whole population the
// intruder expects nine tenths to be outside, and this is correct if the release is
// normal, as the model assumes. 800 people, 720 of them outside: the SD of the expected
// number is below that of 800 independent draws, 8.5, and the release's own mean and SD,
// of 80 records, vary: 6 of those.
func TestOutside(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	const n, people = 80, 800
	for _, o := range []Options{
		{Keys: []Key{{Sigma: 0.05}}},
		{Keys: []Key{{Phi: 1e-4, Sigma: 0.05}}, Covariance: [][]float64{{0.0025, 0.001}, {0.001, 0.0025}}},
		{Keys: []Key{{PhiPrior: InverseGammaAround(1e-4), SigmaPrior: InverseGammaAround(0.05)}}},
		{Model: InexactTarget, Keys: []Key{{Sigma: 0.05}}},
	} {
		if testing.Short() && o.Keys[0].PhiPrior != nil {
			continue // two integrals for each of 64,000 pairs
		}
		p := Problem{Targets: [][]float64{make([]float64, people), make([]float64, people)},
			Released: [][]float64{make([]float64, n), make([]float64, n)}, Truth: make([]int32, people)}
		for a := range people {
			p.Truth[a] = -1
			for j := range 2 {
				p.Targets[j][a] = 10 + rng.NormFloat64()
				if a < n {
					p.Released[j][a] = p.Targets[j][a] + 0.05*rng.NormFloat64()
					p.Truth[a] = int32(a)
				}
			}
		}
		o.Population = people
		r := run(t, p, o)
		near(t, "expected outside", r.Outside, people-n, 51)
		if r.WithRecord != n || r.Population != people {
			t.Errorf("%d with a record of %d", r.WithRecord, r.Population)
		}
		if o.Keys[0].Phi == 0 && (r.Links == 0 || r.Links > 2*n) {
			t.Errorf("%d links", r.Links)
		}
	}
}

// If the model is true, the intruder's expected number of correct links is right: 400
// targets, so within 4.5·√(400·¼) = 45 of the correct ones.
func TestCalibrated(t *testing.T) {
	p := noisyRelease(12, 400, 400, 2, 0.01, 0.1)
	r := run(t, p, Options{Keys: []Key{{Phi: 0.01, Sigma: 0.1}}})
	near(t, "correct links", r.Correct, r.ExpectedCorrect, 45)
	if r.Correct < 40 {
		t.Errorf("only %g links are correct", r.Correct)
	}
}

// With many units whose records are hard to mistake the intruder learns φ and σ: the
// mean of n squared normal deviations has a relative SD of √(2/n), 0.1 at n = 200, on
// variances; the tolerance is 4.5 of them plus the effect of wrong links in EM. Without units
// the posterior is the prior.
func TestAuxiliaryUnits(t *testing.T) {
	p := noisyRelease(13, 400, 210, 3, 0, 0.02)
	q := Problem{Truth: p.Truth[:10], Released: p.Released}
	for j := range p.Targets {
		q.Targets = append(q.Targets, p.Targets[j][:10])
		q.Auxiliary = append(q.Auxiliary, p.Targets[j][10:])
	}
	prior := Key{PhiPrior: &Prior{3, 2 * 1e-8}, SigmaPrior: &Prior{3, 2 * 0.01}}
	o := Options{Keys: []Key{prior}}
	r := run(t, q, o)
	if r.Learned == nil || !r.Learned.Converged || r.Learned.Units != 200 {
		t.Fatalf("learned %+v", r.Learned)
	}
	for _, k := range r.Learned.Keys {
		variance := (k.SigmaScale - 0.02) / (k.SigmaShape - 3)
		near(t, "noise variance learned", variance/0.0004, 1, 0.5)
	}
	q.Auxiliary = nil
	unlearned := run(t, q, o)
	known := run(t, q, Options{Keys: []Key{{Sigma: 0.02}}})
	if !(unlearned.ExpectedCorrect < r.ExpectedCorrect &&
		math.Abs(r.ExpectedCorrect-known.ExpectedCorrect) < 0.2*(known.ExpectedCorrect-unlearned.ExpectedCorrect)) {
		t.Errorf("expected correct links: L = 0 %g, L = 200 %g, known parameters %g", unlearned.ExpectedCorrect,
			r.ExpectedCorrect, known.ExpectedCorrect)
	}
}

// Tables and node sums give the same result: a release of 1 is evaluated directly,
// one that repeats it by table.
func TestTableAndDirectAgree(t *testing.T) {
	p := noisyRelease(14, 200, 20, 2, 0.02, 0.3)
	big := Problem{Targets: p.Targets, Truth: p.Truth}
	const times = 40
	for _, z := range p.Released {
		var all []float64
		for range times {
			all = append(all, z...)
		}
		big.Released = append(big.Released, all)
	}
	o := Options{Keys: []Key{{PhiPrior: &Prior{10, 0.004}, SigmaPrior: &Prior{8, 0.7}}}}
	r, s := run(t, p, o), run(t, big, o)
	for a := range r.PerTarget {
		x, y := r.PerTarget[a], s.PerTarget[a]
		near(t, "posterior", y.Posterior*times, x.Posterior, math.Max(s.Quadrature.PosteriorError, 1e-9)*x.Posterior)
		if y.Ties != times*x.Ties {
			t.Errorf("target %d ties with %d, of 40 copies with %d", a, x.Ties, y.Ties)
		}
	}
	if s.Quadrature.PosteriorError > 1e-5 {
		t.Errorf("stated error %g", s.Quadrature.PosteriorError)
	}
}

func TestErrors(t *testing.T) {
	good := func() (Problem, Options) {
		return Problem{Targets: [][]float64{{1}}, Released: [][]float64{{1, 2}}, Truth: []int32{0}},
			Options{Keys: []Key{{Sigma: 1}}}
	}
	for want, spoil := range map[string]func(*Problem, *Options){
		"model":             func(p *Problem, o *Options) { o.Model = "x" },
		"released: must":    func(p *Problem, o *Options) { p.Released = nil },
		"released[0]":       func(p *Problem, o *Options) { p.Released = [][]float64{{1, math.Inf(1)}} },
		"targets":           func(p *Problem, o *Options) { p.Targets = append(p.Targets, p.Targets[0]) },
		"truth: must":       func(p *Problem, o *Options) { p.Truth = nil },
		"truth[0]":          func(p *Problem, o *Options) { p.Truth = []int32{2} },
		"population":        func(p *Problem, o *Options) { o.Population = 1 },
		"threshold":         func(p *Problem, o *Options) { o.Threshold = math.NaN() },
		"keys: must":        func(p *Problem, o *Options) { o.Keys = nil },
		"keys[0].sigma":     func(p *Problem, o *Options) { o.Keys[0].Sigma = -1 },
		"phi_prior.shape":   func(p *Problem, o *Options) { o.Keys[0].PhiPrior = &Prior{0, 1} },
		"sigma_prior.scale": func(p *Problem, o *Options) { o.Keys[0].SigmaPrior = &Prior{3, 0} },
		"covariance: must":  func(p *Problem, o *Options) { o.Covariance = [][]float64{} },
		"covariance[0][0]":  func(p *Problem, o *Options) { o.Covariance = [][]float64{{-1}} },
		"auxiliary: needs":  func(p *Problem, o *Options) { p.Auxiliary = [][]float64{{1}} },
		"auxiliary: must":   func(p *Problem, o *Options) { p.Auxiliary = [][]float64{{1}, {2}} },
		"worst":             func(p *Problem, o *Options) { o.Worst = -1 },
		"positive semidefin": func(p *Problem, o *Options) {
			p.Targets, p.Released = [][]float64{{1}, {1}}, [][]float64{{1, 2}, {1, 2}}
			o.Covariance = [][]float64{{1, 2}, {2, 1}}
		},
	} {
		p, o := good()
		spoil(&p, &o)
		if _, err := Run(context.Background(), p, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
	p, o := good()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, p, o); err != context.Canceled {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestJSON(t *testing.T) {
	p := noisyRelease(15, 30, 12, 1, 0.01, 0.1)
	text, err := json.Marshal(run(t, p, Options{Keys: []Key{{Phi: 0.01, Sigma: 0.1}}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{`"knowledge":"d.1"`, `"threshold":0`, `"correct":`, `"links":12`,
		`"expected_correct":`, `"posterior_of_correct":{"mean":`, `"rank":[`} {
		if !strings.Contains(string(text), member) {
			t.Errorf("%s lacks %s", text, member)
		}
	}
}
