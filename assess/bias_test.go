package assess

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// reckoningOf returns the reckoning of a column whose released values are x + d.
func reckoningOf(t *testing.T, x []float64, d func(i int) float64, o Options) *reckoning {
	t.Helper()
	b := new(microdata.Block)
	b.Reset(0, 0, len(x), 1)
	copy(b.Columns[0].Alloc(len(x), false).Values, x)
	y := b.Columns[0].Mutable()
	for i := range x {
		y.Values[i] += d(i)
	}
	o.Columns, o.Sample = []Column{{Name: "x", Masked: true}}, -1
	a := newAccumulator(t, o)
	a.Add(b)
	return a.reckon(false)
}

// The square of a bias is that of the mean difference less its Monte-Carlo variance,
// Var(y − x)/n. It counts as 0 where two things hold: the bias is within three standard
// errors of 0, and that variance is more than 2 % of S_y²/n.
func TestBiasWithinItsErrorIsNone(t *testing.T) {
	const n = 400
	x := make([]float64, n)
	rng := rand.New(rand.NewPCG(3, 9))
	for i := range x {
		x[i] = 1000 + 100*rng.NormFloat64()
	}
	for _, c := range []struct {
		name          string
		spread, shift float64 // SD of y − x; its mean in standard errors
		none          bool
	}{
		{"within, and much noise", 100, 2, true},
		{"within, and a little noise", 10, 2, false}, // (10/100)² is 1 %
		{"beyond, and much noise", 100, 4, false},
		{"beyond, and a little noise", 10, 4, false},
		{"just within", 100, 2.9, true},
		{"just beyond", 100, 3.1, false},
		{"below, and much noise", 100, -2, true},
		{"far below", 100, -4, false},
		{"noise just above 2 %", 14.5, 2, true},
		{"noise just below 2 %", 13.5, 2, false},
	} {
		se := c.spread / math.Sqrt(n)
		r := reckoningOf(t, x, func(i int) float64 { return c.shift*se + c.spread*float64(1-2*(i%2)) }, Options{})
		b := r.biasOf(0)
		// The two-valued difference has exactly this mean and variance, but for rounding.
		mean, noise := c.shift*se, c.spread*c.spread/n
		want := mean*mean - noise
		if c.none {
			want = 0
		}
		near := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 1e-9*(mean*mean+noise)) {
				t.Errorf("%s: %s %v, want %v", c.name, what, got, want)
			}
		}
		near("mean²", b.mean*b.mean, mean*mean)
		near("variance", b.noise, noise)
		near("square", b.square, want)
	}
}

// Replicates on subsets give the variance of a mean for the size of a subset. The variance for the
// release is smaller by the share, and its own variance by the squared share.
func TestBiasOfReplicatesIsScaledByTheShare(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	diffs := []float64{0.5, -0.25, 1, 0.125, -0.5, 0.75}
	of := func(share float64) bias {
		r := reckoningOf(t, x, func(i int) float64 { return float64(i % 3) }, Options{})
		r.share, r.subsets = share, 1
		for _, d := range diffs {
			r.answers[0] = append(r.answers[0], replicate.Answer{Both: 4, Diff: d, SquareDiff: 2})
		}
		return r.biasOf(0)
	}
	mean, variance := 0.0, 0.0
	for _, d := range diffs {
		mean += d / float64(len(diffs))
	}
	for _, d := range diffs {
		variance += (d - mean) * (d - mean) / float64(len(diffs)-1)
	}
	for _, share := range []float64{1, 0.5, 0.1} {
		b := of(share)
		wantNoise := 2 * variance * variance / float64(len(diffs)-1) * share * share
		if !(math.Abs(b.ofMean-variance*share) <= 1e-12) || math.Abs(b.ofMeanNoise-wantNoise) > 1e-12 {
			t.Errorf("share %v: %v with variance %v, want %v with %v", share, b.ofMean, b.ofMeanNoise, variance*share, wantNoise)
		}
	}
}

// A constant column that is released unchanged has lost nothing. One with added noise, or one that
// was shifted, has.
func TestEfficiencyOfAConstantColumn(t *testing.T) {
	constant := &comoment.Pair{N: 10, Mi: 7}
	for _, c := range []struct{ variance, bias, want float64 }{{0, 0, 1}, {4, 0, 0}, {0, 2, 0}} {
		var u Utility
		if u.gate(constant, c.variance, c.bias); float64(u.EfficiencyGate) != c.want {
			t.Errorf("variance %v, bias %v: efficiency %v, want %v", c.variance, c.bias, u.EfficiencyGate, c.want)
		}
	}
	u := Utility{U: Float(math.Inf(1)), U0: Float(math.Inf(1))}
	if u.setEfficiency(); u.Efficiency != 1 {
		t.Errorf("efficiency %v, want 1", u.Efficiency)
	}
	u = Utility{U: 3, U0: 4}
	if u.setEfficiency(); u.Efficiency != 0.75 {
		t.Errorf("efficiency %v, want 0.75", u.Efficiency)
	}
}

// A point of a map contains every row of a release with its masks, including the last.
func TestExploreHasEveryRow(t *testing.T) {
	const n, m = 200, 4
	key := testKey(t)
	chain := noises(t, key, 2, 10)[0]
	o := Options{Columns: []Column{{Name: "wage", Masked: true}}, Sample: -1, Key: key,
		Targets: []string{"min", "p10", "p50", "p99", "max"}, Replicates: m}
	a := newAccumulator(t, o)
	a.Add(wages(t, key, 0, n))
	found,
		err := a.Explore(context.Background(),
		Exploration{Points: 1, Replicate: grid(noises(t, key, 2, 10)), From: 1, Replicates: m})
	must(t, err)
	o.Replicate = func(m int) Masker { return chain.Replicate(m) }
	released := newAccumulator(t, o)
	b := wages(t, key, 0, n)
	must(t, chain.Apply(b))
	released.Add(b)
	rows := func(list []Risk) string {
		var names []string
		for _, r := range list {
			names = append(names, r.Target+" by "+r.Knowledge)
		}
		return strings.Join(names, ", ")
	}
	got, want := rows(found[0][0].Risk), rows(measured(t, released).Column("wage").Risk)
	if got != want {
		t.Errorf("the rows of a map are %s, those of a release %s", got, want)
	}
	for _, target := range append([]string{TargetTypical}, o.Targets...) {
		if !strings.Contains(got, target+" by "+KnowledgeIndex) || !strings.Contains(got, target+" by "+KnowledgeMean) {
			t.Errorf("no rows of %s: %s", target, got)
		}
	}
}

// A histogram shows where the values are, whatever their place and scale: no bin holds
// most of them, and the outermost edges are no farther out than a round number needs.
func TestHistogramShowsTheShape(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, scale := range []float64{1e-6, 1, 5e7} {
		for _, place := range []float64{0, 10 * scale, -1000 * scale} {
			x, y := make([]float64, 5000), make([]float64, 5000)
			for i := range x {
				x[i] = place + scale*rng.NormFloat64()
				y[i] = x[i] + 0.3*scale*rng.NormFloat64()
			}
			h := histogram(x, y)
			if h == nil {
				t.Fatal("no histogram")
			}
			last := len(h.Edges) - 1
			if last < 15 {
				t.Errorf("scale %v at %v: %d bins", scale, place, last)
			}
			for i, n := range h.Original {
				// A bin of 0.2 SD contains at most 8 % of normal values, a bin of 0.5 SD at most 20 %.
				if n > 5000/4 {
					t.Errorf("scale %v at %v: bin %d holds %d", scale, place, i, n)
				}
			}
			low, high := math.Inf(1), math.Inf(-1)
			for i := range x {
				low, high = min(low, x[i], y[i]), max(high, x[i], y[i])
			}
			// A round number is at most 2.5 times what it is above; the grid adds less than
			// one bin.
			edge := func(k int) float64 { return float64(h.Edges[k]) }
			if over, room := edge(last)-high, 1.5*(high-edge(last-1))+scale; over < 0 || over > room {
				t.Errorf("scale %v at %v: the last edge is %v beyond the greatest value, want at most %v", scale, place, over, room)
			}
			if over, room := low-edge(0), 1.5*(edge(1)-low)+scale; over < 0 || over > room {
				t.Errorf("scale %v at %v: the first edge is %v beyond the least value, want at most %v", scale, place, over, room)
			}
		}
	}
}

// State that an earlier version of the program wrote must not be misread: a change of the written form
// must raise the version number and change this test.
func TestEncodingSaysItsVersion(t *testing.T) {
	text, err := newAccumulator(t, Options{Columns: []Column{{Name: "x", Masked: true}}}).MarshalBinary()
	if err != nil || len(text) < 5 || string(text[:5]) != "sdlA\x08" {
		t.Errorf("begins with %q, %v", text[:min(5, len(text))], err)
	}
}

// The square of an estimated distance from the mean is too large by the Monte-Carlo variance of the
// estimate, which is subtracted: E(τ−ȳ)² is d² − v plus the variance of the mean, and never less
// than the latter.
func TestMonteCarloVarianceIsTakenOff(t *testing.T) {
	for _, c := range []struct{ tau, square float64 }{
		{8, 3*3 - 0.5},
		{14, 3*3 - 0.5},
		{10.5, 0}, // d = 0.5 is within its error
		{11, 0},
	} {
		r := reckoningOf(t, []float64{1, 2, 3, 4}, func(int) float64 { return 1 }, Options{Targets: []string{"max"}})
		r.partial, r.subsets, r.share = true, 1, 1
		table := &riskTable{reckoning: r, factor: 1, of: view{
			x: &comoment.Pair{N: 4, Mi: 10}, y: &comoment.Pair{N: 4, Mi: 11}, replicated: true,
			targets: []located{{target: r.targets[0][0].target, tau: c.tau}},
			answers: []replicate.Answer{{Mean: 1, Position: []float64{0}, Linked: []float64{0}},
				{Mean: 2, Position: []float64{1}, Linked: []float64{1}}},
		}}
		table.target(0, bias{mean: 1, noise: 0.5, ofMean: 0.25, ofMeanNoise: 0.125})
		row := table.list[0]
		want := 1 / (c.square + 0.25)
		// The variance of d² is 4·(d² − v)·v + 2·v²; d² − v counts as at least 0.
		se := want * want * math.Sqrt(4*c.square*0.5+2*0.5*0.5+0.125)
		if row.Knowledge != KnowledgeMean || !(math.Abs(float64(row.R)-want) <= 1e-12*want) ||
			math.Abs(float64(row.SE)-se) > 1e-12*se {
			t.Errorf("τ = %v: %+v, want R %v and SE %v", c.tau, row, want, se)
		}
	}
}

// turned gives each record of a block the value of the record at the same distance from the other end,
// with an amount added.
type turned struct {
	unchanged
	added float64
}

func (m turned) Apply(b *microdata.Block) error {
	v := b.Columns[0].Mutable().Values[:b.N]
	slices.Reverse(v)
	for i := range v {
		v[i] += m.added
	}
	return nil
}

// Masks that exchange values have no bias: the rounding of the two sums is not reported as one. A small
// bias that the sums can tell is. Nor do they lose any efficiency.
func TestRoundingIsNoBias(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for _, n := range []int{2, 3, 1000, 3001} {
		for _, centre := range []float64{0, 40, -1e6} {
			x := make([]float64, n)
			for i := range x {
				x[i] = centre + math.Round(10*math.Exp(3*random.NormFloat64()))/10
			}
			for name, replicate := range map[string]func(Masker) func(int) Masker{
				"the release": func(Masker) func(int) Masker { return nil },
				"replicates":  func(m Masker) func(int) Masker { return func(int) Masker { return m } },
			} {
				utility := func(added float64) Utility {
					m := turned{added: added}
					a := newAccumulator(t,
						Options{Columns: []Column{{Name: "x", Masked: true}}, Key: testKey(t), Replicates: 2, Replicate: replicate(m)})
					a.Add(release(t, x, m))
					return measured(t, a).Column("x").Utility
				}
				if u := utility(0); u.Bias != 0 || u.EfficiencyGate != 1 {
					t.Errorf("%d records around %v, %s: a bias of %v, an efficiency of %v", n, centre, name, u.Bias, u.EfficiencyGate)
				}
				added := 1e-11 * (math.Abs(centre) + 100)
				if b := float64(utility(added).Bias); !(math.Abs(b-added) <= added/10) {
					t.Errorf("%d records around %v, %s: a bias of %v, want %v", n, centre, name, b, added)
				}
			}
		}
	}
}

// What the choice of a sample adds to the variance of a mean change is that of the change that records of one value can
// expect, without what is drawn: for y = x + 3·(x > 0) + ε it is 9/4 whatever ε, without the step 0. The SE of a
// covariance of neighbours is about Var(y − x)/√n, here (9/4 + 25)/√20,000 = 0.19; five are allowed. Missing values do
// not count.
func TestVarianceOfChoice(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for name, step := range map[string]float64{"step": 3, "none": 0} {
		a := newAccumulator(t, Options{Columns: []Column{{Name: "x", Masked: true}}, Sample: -1, Key: testKey(t)})
		const n = 20_000
		b := new(microdata.Block)
		b.Reset(0, 0, n, 1)
		x, y := make([]float64, n), make([]float64, n)
		there := microdata.NewBitmap(n, nil)
		for i := range x {
			x[i] = random.NormFloat64()
			if y[i] = x[i] + 5*random.NormFloat64(); x[i] > 0 {
				y[i] += step
			}
			if i%50 == 0 {
				y[i] = 1e6
				there.Clear(i)
			}
		}
		b.Columns[0].Original = microdata.Vector{Values: x}
		b.Columns[0].Released = microdata.Vector{Values: y, Valid: there}
		a.Add(b)
		r := a.reckon(false)
		if got := r.choice(0, func(d float64) float64 { return d }); math.Abs(got-step*step/4) > 5*0.19 {
			t.Errorf("%s: %v, want %v", name, got, step*step/4)
		}
	}
}

// Two estimates are put together by their variances; one without variance is the result. Where they are more than two
// of their SEs apart, the SE is as many times greater: 18 is three times √(4 + 32).
func TestTogether(t *testing.T) {
	for _, c := range []struct{ release, drawn, replicates, noise, mean, variance float64 }{
		{2, 4, 4, 2, 10.0 / 3, 4.0 / 3},
		{2, 0, 5, 2, 2, 0},
		{2, 4, 13, 32, 29 / 9.0, 32.0 / 9},
		{2, 4, 20, 32, 4, 9 * 32.0 / 9},
		{20, 32, 2, 4, 4, 9 * 32.0 / 9},
	} {
		if mean, variance := together(c.release, c.drawn, c.replicates, c.noise); math.Abs(mean-c.mean) > 1e-12 ||
			math.Abs(variance-c.variance) > 1e-12 {
			t.Errorf("%+v: %v with variance %v", c, mean, variance)
		}
	}
}
