package assess

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

func measured(tb testing.TB, a *Accumulator) *Measures {
	tb.Helper()
	m, err := a.Measure(context.Background())
	must(tb, err)
	return m
}

// A release of 300,000 skewed incomes, clipped at 0, is measured from all pairs and from a sample
// of 30,000. Each R of the sample must agree with that of the whole, within the error of 100
// replicates and a sample of that size.
func TestSampledAgreesWithComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("300,000 records, 100 replicates")
	}
	const n, m, lambda, sampled = 300_000, 100, 300.0, 30_000
	key := testKey(t)
	x := make([]float64, n)
	key.Stream("income", "", 0).Normals(x, keystream.Records{})
	for i, z := range x {
		x[i] = math.Round(500 * math.Exp(0.6*z))
	}
	mask := noisy{key: key, columns: []int{0}, lambda: lambda, clip: true}
	block := release(t, x, mask)
	at := func(sample int) *ColumnMeasures {
		a := newAccumulator(t, Options{
			Columns: []Column{{Name: "income", Masked: true}},
			Targets: []string{"min", "p01", "p10", "p50", "p90", "p99", "max"},
			Sample:  sample, Key: key, Replicates: m,
			Replicate: func(m int) Masker { r := mask; r.replicate = m; return r },
		})
		a.Add(block)
		return measured(t, a).Column("income")
	}
	full, part := at(-1), at(sampled)
	// 1/U is nearly b², where b is the bias by clipping. Its standard error is that of n + m·10,000
	// draws with an SD below λ, 0.26, and that of the mean of E(y−x | x), with an SD below 60, over
	// the sample, 0.35: together 0.44, or 2·0.44/b of U.
	if r := float64(part.Utility.U / full.Utility.U); !(math.Abs(r-1) <= 5*2*0.44/float64(full.Utility.Bias)) {
		t.Errorf("U: sampled/complete = %v at a bias of %v", r, full.Utility.Bias)
	}
	if full.Utility.RealisedU != part.Utility.RealisedU || full.Original != part.Original ||
		full.Released != part.Released {
		t.Error("exact figures must not depend on the sample")
	}
	var bounds []string
	for i, f := range full.Risk {
		p := part.Risk[i]
		if f.Target != p.Target || f.Knowledge != p.Knowledge || f.Sampled {
			t.Fatalf("row %d: %+v and %+v", i, f, p)
		}
		what := f.Target + " by " + f.Knowledge
		extremal := f.Target == "min" || f.Target == "max"
		if p.Sampled != (f.Knowledge != KnowledgeIndex || !extremal) && f.Target != TargetTypical {
			t.Errorf("%s: sampled is %v", what, p.Sampled)
		}
		if f.Knowledge == KnowledgePosition {
			// Both order statistics are located to within a bin, of at most one unit.
			fd, pd := 1/math.Sqrt(float64(f.RealisedR)), 1/math.Sqrt(float64(p.RealisedR))
			if !(math.Abs(fd-pd) <= 2) {
				t.Errorf("%s: the release's error is %v, counted %v", what, fd, pd)
			}
		}
		fr, pr := float64(f.RMSE), float64(p.RMSE)
		if p.Bound {
			// What the sample cannot tell is a bound on the unsafe side.
			bounds = append(bounds, what)
			if !(pr <= fr) {
				t.Errorf("%s: RMSE sampled %v is a bound, complete %v", what, pr, fr)
			}
			continue
		}
		var tolerance float64
		switch f.Knowledge {
		case KnowledgeIndex:
			// √ of a mean of m squares: relative standard error √(1/2m) each; five of the
			// difference's. If clipping is likely the squares vary less.
			tolerance = 5 * math.Sqrt(1.0/m) * fr
			if f.Target == TargetTypical {
				tolerance = 0.02 * fr
			}
		case KnowledgeMean:
			// τ of a percentile target is a sample quantile: five standard errors
			// √(p(1−p)/30000)/f, at most 4 % of the RMSE; the rest is exact.
			tolerance = 0.05*fr + 5
		case KnowledgePosition:
			// τ̂−τ, counted over all records, has the standard error of a quantile of y given x: at
			// p99 (density 2e-5 per unit) below 5·√(0.01/300000)/2e-5 = 46, elsewhere below a fifth
			// of that. From the sample alone it would be three times that. A bin is at most one
			// unit wide.
			tolerance = 11
			if f.Target == "p99" {
				tolerance = 48
			}
			if f.Target == "min" {
				tolerance = 30
			}
			if f.Target == "max" {
				tolerance = 5 * math.Sqrt(1.0/m) * fr // replicates of the same few records
			}
		}
		if !(math.Abs(fr-pr) <= tolerance) {
			t.Errorf("%s: RMSE sampled %v, complete %v, tolerance %v", what, pr, fr, tolerance)
		}
	}
	// Nothing is known of this mask but its releases: by position, those that lie apart.
	if want := []string{"min by position", "p01 by position"}; !slices.Equal(bounds, want) {
		t.Errorf("bounds are %q, want %q", bounds, want)
	}
}

// Near the middle, noise moves an order statistic only by chance. If the order statistic of the
// release happens to lie nearer to its target than its standard error over the mask, that standard
// error is the expected error, and not less.
func TestPositionIsNotKnownBetterThanByChance(t *testing.T) {
	const n = 40_000
	key := testKey(t)
	x := make([]float64, n)
	key.Stream("x", "", 0).Normals(x, keystream.Records{})
	mask := noisy{key: key, columns: []int{0}, lambda: 1}
	targets := []string{"p30", "p35", "p40", "p45", "p50", "p55", "p60", "p65", "p70"}
	a := newAccumulator(t, Options{
		Columns: []Column{{Name: "x", Masked: true}}, Targets: targets, Sample: 4000, Key: key, Replicates: 40,
		Replicate: func(m int) Masker { r := mask; r.replicate = m; return r },
	})
	a.Add(release(t, x, mask))
	c := measured(t, a).Column("x")
	raised := 0
	for _, target := range targets {
		r := risk(t, c, target, KnowledgePosition)
		// The order statistics are known to a bin each, of at most 1/2048 of values below 1: R is that of the least distance.
		if least := 1/math.Sqrt(float64(r.RealisedR)) - 2.0/2048; !(float64(r.RMSE) >= least) {
			t.Errorf("%s: R %v above that of the release, %v", target, r.R, r.RealisedR)
		}
		// Var y_(k) given x is at least a quarter of that without, p(1−p)/(n f²) with f ≤ 0.29: an
		// RMSE of at least ½·0.45/(200·0.29).
		if float64(r.RMSE) < 0.0038*0.5 {
			t.Errorf("%s: RMSE %v", target, r.RMSE)
		}
		if r.R < r.RealisedR*(1-1e-9) {
			raised++
		}
	}
	if raised == 0 {
		t.Error("no target is raised to its standard error: none can be this far off by chance")
	}
}

// The result does not depend on the number of cores, and a second Measure gives the same result.
func TestMeasureIsReproducible(t *testing.T) {
	for _, n := range []int{900, 20_000} {
		a := accumulated(t, 2, n, Options{Sample: 12_000, Replicates: 9, Targets: tableTargets})
		first := measured(t, a)
		before := runtime.GOMAXPROCS(1)
		second := measured(t, a)
		runtime.GOMAXPROCS(before)
		one, err := json.Marshal(first)
		must(t, err)
		two, err := json.Marshal(second)
		must(t, err)
		if !bytes.Equal(one, two) {
			t.Errorf("%d records: two measurements differ", n)
		}
	}
}

// unchanged releases every value unchanged.
type unchanged struct{}

func (unchanged) NeedsSurvey() bool             { return false }
func (unchanged) Survey(*microdata.Block) error { return nil }
func (unchanged) EndSurvey() error              { return nil }
func (unchanged) Apply(*microdata.Block) error  { return nil }

func TestWithoutMaskingRiskIsInfinite(t *testing.T) {
	x := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	for name, replicate := range map[string]func(int) Masker{"no replicates": nil, "replicates": func(int) Masker {
		return unchanged{}
	}} {
		a := newAccumulator(t, Options{Columns: []Column{{Name: "x", Masked: true}}, Targets: []string{"min", "p50", "max"},
			Key: testKey(t), Replicates: 3, Replicate: replicate})
		a.Add(release(t, x, unchanged{}))
		m := measured(t, a)
		c := m.Column("x")
		for _, r := range c.Risk {
			infinite := r.Knowledge != KnowledgeMean
			if math.IsInf(float64(r.R), 1) != infinite || math.IsInf(float64(r.RealisedR), 1) != infinite || infinite &&
				r.RMSE != 0 {
				t.Errorf("%s: %s by %s: R %v, realised %v", name, r.Target, r.Knowledge, r.R, r.RealisedR)
			}
			if (replicate == nil) != (r.Replicates == 0) {
				t.Errorf("%s: %d replicates", name, r.Replicates)
			}
		}
		if !(math.Abs(float64(c.Utility.Efficiency)-1) <= 1e-15*8) || c.Utility.Bias != 0 {
			t.Errorf("%s: %+v", name, c.Utility)
		}
		// x̄ = 3.875: eq. 3 leaves the population variance.
		if got, want := 1/float64(risk(t, c, "typical", "mean").R), variance(x)*7/8; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: typical by mean: 1/R = %v, want %v", name, got, want)
		}
		if got, want := float64(risk(t, c, "max", "mean").RMSE), 9-3.875; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: max by mean: RMSE %v, want %v", name, got, want)
		}
	}
}

// shift adds 10 to value k of column 0 in every block and changes nothing else.
type shift struct{ row int }

func (shift) NeedsSurvey() bool             { return false }
func (shift) Survey(*microdata.Block) error { return nil }
func (shift) EndSurvey() error              { return nil }
func (s shift) Apply(b *microdata.Block) error {
	v := b.Columns[0].Mutable()
	if s.row < b.N && v.Valid.Has(s.row) {
		v.Values[s.row] += 10
	}
	return nil
}

// Among equal values, the record of an order statistic is determined by the order of places, and at
// either end it is the first one.
func TestTiesAreSettledByPlace(t *testing.T) {
	x := []float64{7, 2, 7, 2, 5, 5, 5, 2, 7}
	for _, c := range []struct {
		target string
		row    int
	}{{"min", 1}, {"max", 0}, {"p50", 5}, {"p34", 4}} { // ⌈9·0.5⌉ = 5, the second 5; ⌈9·0.34⌉ = 4, the first
		for row := range x {
			a := newAccumulator(t,
				Options{Columns: []Column{{Name: "x", Masked: true}}, Targets: []string{c.target}, Key: testKey(t),
					Replicates: 1, Replicate: func(int) Masker { return shift{row} }})
			a.Add(release(t, x, shift{row}))
			r := risk(t, measured(t, a).Column("x"), c.target, KnowledgeIndex)
			want := math.Inf(1)
			if row == c.row {
				want = 0.01
			}
			if float64(r.R) != want || float64(r.RealisedR) != want {
				t.Errorf("%s, record %d moved by 10: R %v, realised %v, want %v", c.target, row, r.R, r.RealisedR, want)
			}
		}
	}
}

func TestNullsAreLeftOut(t *testing.T) {
	table := makePairs(5, 3000, true)
	o := testOptions(t)
	o.Sample, o.Replicates = -1, 4
	o.Replicate = func(m int) Masker { return noisy{key: o.Key, columns: []int{0, 1, 2}, lambda: 2, replicate: m} }
	a := newAccumulator(t, o)
	a.Add(table.block(0, 3000))
	m := measured(t, a)
	for i, c := range m.Columns {
		var n, both, square float64
		for r, x := range table.x[i] {
			y := table.y[i][r]
			if i == 3 {
				y = x
			}
			if table.rejected[r] {
				continue
			}
			if !math.IsNaN(x) {
				n++
			}
			if !math.IsNaN(x) && !math.IsNaN(y) {
				both++
				square += (x - y) * (x - y)
			}
		}
		if float64(c.Original.N) != n || c.Original.N+c.Original.Nulls != m.Records ||
			c.Released.N+c.Released.Nulls != m.Records {
			t.Errorf("%s: n %d, nulls %d of %d records, want n %v", c.Name, c.Original.N, c.Original.Nulls, m.Records, n)
		}
		if want := square / both; !(math.Abs(float64(c.MeanSquaredDifference)-want) <= 1e-9*want) {
			t.Errorf("%s: mean squared difference %v, want %v", c.Name, c.MeanSquaredDifference, want)
		}
		for _, r := range c.Risk {
			if math.IsNaN(float64(r.R)) || math.IsNaN(float64(r.RealisedR)) && r.Knowledge != KnowledgeIndex {
				t.Errorf("%s: %s by %s: %+v", c.Name, r.Target, r.Knowledge, r)
			}
		}
	}
	if c := m.Column("constant"); c.Original.SD != 0 || !math.IsInf(float64(c.Utility.U0), 1) ||
		c.Utility.Efficiency != 1 || len(c.Risk) != 0 {
		t.Errorf("constant column: %+v", c)
	}
	for i := range m.Columns {
		for j := range m.Columns {
			v := float64(m.Correlation.Original[i][j])
			if (i == 3 || j == 3) != math.IsNaN(v) || v > 1 || v < -1 || i == j && i < 3 && math.Abs(v-1) > 1e-12 {
				t.Errorf("correlation of %d and %d: %v", i, j, v)
			}
		}
	}
}

// A mask may release anything for a value that it cannot mask; such a record is rejected, and no
// measure may depend on it.
func TestRejectedRecordsDoNotMatter(t *testing.T) {
	measures := func(odd float64) string {
		o := testOptions(t)
		o.Sample, o.Replicates = -1, 0
		a := newAccumulator(t, o)
		b := makePairsBlock(5, 700)
		for _, row := range []int{0, 3, 600} {
			b.Columns[0].Original.Values[row], b.Columns[0].Released.Values[row] = odd, odd
			b.Reject(row, "x", "is beyond what can be masked")
		}
		a.Add(b)
		text, err := json.Marshal(measured(t, a))
		must(t, err)
		return string(text)
	}
	want := measures(1)
	for _, odd := range []float64{math.MaxFloat64, -1e200, math.Inf(1), math.NaN()} {
		if got := measures(odd); got != want {
			t.Errorf("with %v in rejected records:\n%s\nwithout:\n%s", odd, got, want)
		}
	}
}

func makePairsBlock(seed uint64, n int) *microdata.Block {
	table := makePairs(seed, n, false)
	return table.block(0, n)
}

func TestFewRecords(t *testing.T) {
	nan := math.NaN()
	for _, x := range [][]float64{nil, {nan}, {nan, nan}, {5}, {5, 5}, {5, nan}} {
		var n float64
		for _, v := range x {
			if v == v {
				n++
			}
		}
		for _, sample := range []int{-1, 1} {
			o := Options{Columns: []Column{{Name: "x", Masked: true}}, Targets: tableTargets, Sample: sample, Key: testKey(t),
				Replicates: 4}
			o.Replicate = func(m int) Masker { return noisy{key: o.Key, columns: []int{0}, lambda: 1, replicate: m} }
			a := newAccumulator(t, o)
			a.Add(release(t, x, noisy{key: o.Key, columns: []int{0}, lambda: 1}))
			c := measured(t, a).Column("x")
			if float64(c.Original.N) != n || (n == 0) != math.IsNaN(float64(c.Original.Mean)) ||
				(n < 2) != math.IsNaN(float64(c.Original.SD)) {
				t.Errorf("%v: %+v", x, c.Original)
			}
			if (n == 0) != math.IsNaN(float64(c.Original.Min)) || (n == 0) != math.IsNaN(float64(c.Released.Max)) {
				t.Errorf("%v: min %v, released max %v", x, c.Original.Min, c.Released.Max)
			}
			for _, r := range c.Risk {
				sampledAway := sample == 1 && len(x) > 1 // the one sampled record may be a null
				if (n == 0) != math.IsNaN(float64(r.R)) && !sampledAway {
					t.Errorf("%v: %s by %s: R = %v", x, r.Target, r.Knowledge, r.R)
				}
			}
			if c.Histogram != nil {
				t.Errorf("%v: a histogram of so few records", x)
			}
		}
	}
}

// Replicates with several streams mask each stream separately, and the answer for each record
// stands at its place.
func TestStreamsStayApart(t *testing.T) {
	key := testKey(t)
	mask := noisy{key: key, columns: []int{0}, lambda: 3}
	o := Options{Columns: numbered(1), Targets: []string{"min", "p50", "max"}, Key: key, Replicates: 2}
	seen := make(chan [2]int, 100)
	o.Replicate = func(m int) Masker { return watched{noisy{key: key, columns: []int{0}, lambda: 3, replicate: m}, seen} }
	a := newAccumulator(t, o)
	for stream := range 3 {
		b := normalBlocks(t, 1, 40+stream, 40+stream, 0)[0]
		b.Stream = stream
		b.Columns[0].Released = microdata.Vector{}
		must(t, mask.Apply(b))
		a.Add(b)
	}
	measured(t, a)
	close(seen)
	count := map[[2]int]int{}
	for s := range seen {
		count[s]++
	}
	for stream := range 3 {
		if count[[2]int{stream, 40 + stream}] != 2 {
			t.Errorf("blocks seen by masks: %v", count)
		}
	}
}

type watched struct {
	noisy
	seen chan [2]int
}

func (w watched) Apply(b *microdata.Block) error {
	w.seen <- [2]int{b.Stream, b.N}
	return w.noisy.Apply(b)
}

// failing returns an error like a mask.
type failing struct{ unchanged }

func (failing) Apply(*microdata.Block) error { return fmt.Errorf("masks[0].noise: broken") }

func TestMeasureReturnsErrors(t *testing.T) {
	o := Options{Columns: numbered(1), Key: testKey(t), Replicates: 5, Replicate: func(int) Masker { return failing{} }}
	a := newAccumulator(t, o)
	a.Add(release(t, []float64{1, 2, 3}, unchanged{}))
	if _, err := a.Measure(context.Background()); err == nil {
		t.Error("the error of a mask must come out")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o.Replicate = func(int) Masker { return unchanged{} }
	a = newAccumulator(t, o)
	a.Add(release(t, []float64{1, 2, 3}, unchanged{}))
	if _, err := a.Measure(ctx); err != context.Canceled && fmt.Sprint(err) == "<nil>" {
		t.Errorf("cancelled: %v", err)
	}
}
