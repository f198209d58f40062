package assess

import (
	"context"
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// momentsOf contains the mean and SD of a statistic over many assessments, and the mean of its
// reported standard error.
type momentsOf struct{ n, mean, c, se float64 }

func (m *momentsOf) add(v, se float64) {
	m.n++
	d := v - m.mean
	m.mean += d / m.n
	m.c += d * (v - m.mean)
	m.se += (se - m.se) / m.n
}

func (m *momentsOf) sd() float64 { return math.Sqrt(m.c / (m.n - 1)) }

// assessments measures the same data with one column k times, each time with another set of m
// replicates and, if the sample is a part, with another release, because the expected values then
// depend on its draw.
func assessments(t *testing.T, n, sample, k, m, limit int, clip bool) (risks map[[2]string]*momentsOf,
	utility *momentsOf) {
	t.Helper()
	key := testKey(t)
	x := make([]float64, n)
	key.Stream("x", "", 0).Normals(x, keystream.Records{})
	for i, z := range x {
		x[i] = 100 + 15*z
	}
	risks, utility = map[[2]string]*momentsOf{}, &momentsOf{}
	for set := range k {
		mask := noisy{key: key, columns: []int{0}, lambda: 12, clip: clip, lower: 95}
		a := newAccumulator(t, Options{
			Columns: numbered(1), Sample: sample, Extremes: 5, Key: key, Targets: []string{"p50", "p90", "max"},
			Replicates: m, Replicate: func(i int) Masker { r := mask; r.replicate = 1 + set*m + i; return r },
		})
		b := new(microdata.Block)
		b.Reset(0, 0, n, 1)
		copy(b.Columns[0].Alloc(n, false).Values, x)
		if mask.replicate = 0; sample > 0 {
			mask.replicate = 1 + k*m + set + 1
		}
		must(t, mask.Apply(b))
		a.Add(b)
		got, err := a.measure(context.Background(), limit)
		must(t, err)
		c := got.Column("c0")
		utility.add(float64(c.Utility.U), float64(c.Utility.SE))
		for _, r := range c.Risk {
			id := [2]string{r.Target, r.Knowledge}
			if risks[id] == nil {
				risks[id] = &momentsOf{}
			}
			risks[id].add(float64(r.R), float64(r.SE))
		}
	}
	return risks, utility
}

// Standard errors equal the spread of R and U over independent sets of replicates.
//
// The SD of k = 300 values with kurtosis κ has the relative standard error √((κ−1)/4k): 4.1 % at κ
// = 3, 5 % for R, a mean of squares with κ up to 4, and 11 % if a statistic is the square of one
// normal variable, κ = 15. The tolerance is five of them. The delta method omits terms of order
// cv²/M = 2/40, and more in the mean of R²·sd: another 10 %.
func TestStandardErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("1,200 assessments")
	}
	const k, m = 300, 40
	const usual, square = 5*0.05 + 0.1, 5*0.11 + 0.1
	for name, c := range map[string]struct {
		n, sample, limit int
		clip             bool
	}{
		"complete, unbiased": {1500, -1, 0, false},
		"complete, clipped":  {1500, -1, 0, true},
		"sampled, unbiased":  {4000, 1000, 250, false},
		"sampled, clipped":   {4000, 1000, 250, true},
	} {
		risks, utility := assessments(t, c.n, c.sample, k, m, c.limit, c.clip)
		check := func(what string, s *momentsOf, least, most float64) {
			t.Helper()
			r := s.se / s.sd()
			if !(r >= least && r <= most) {
				t.Errorf("%s, %s: the standard error is %.3g of %.4g, the spread %.3g: ratio %.2f, must be %.2f to %.2f", name,
					what, s.se, s.mean, s.sd(), r, least, most)
			}
		}
		// If the true b may be 0, the standard error of b² is that for any b compatible with the
		// data, which overestimates it: by up to √(4 max(0, b̂²−v)v + 2v²) relative to 2v², a
		// factor √2. For a sample, where the estimate of b² is set to 0, by more.
		beyond := func(least, most float64) (float64, float64) {
			if c.sample > 0 {
				return least, math.Inf(1)
			}
			return least, most * math.Sqrt2
		}
		least, most := 1-usual, 1+usual
		if !c.clip {
			least, most = beyond(1-square, 1+square)
		}
		check("U", utility, least, most)
		if len(risks) != 11 {
			t.Fatalf("%d risks", len(risks))
		}
		for id, s := range risks {
			least, most := 1-usual, 1+usual
			switch target, knowledge := id[0], id[1]; {
			case target == TargetTypical && knowledge == KnowledgeMean && !c.clip,
				target == "p50" && knowledge == KnowledgeMean && !c.clip:
				least, most = beyond(1-square, 1+square)
			case target == "p50" && knowledge == KnowledgePosition && c.sample > 0:
				least, most = beyond(1-square, 0) // max(d², v) for a d near 0
			}
			check(id[0]+" by "+id[1], s, least, most)
		}
	}
}

// An infinite value and no replicate have no standard error; that of a single replicate is not known, so infinite.
func TestNoStandardError(t *testing.T) {
	for _, c := range []struct {
		Run, sample int
		lambda      float64
		want        bool
	}{{0, -1, 12, false}, {1, -1, 12, false}, {1, 50, 12, false}, {2, -1, 12, true}, {2, 50, 12, true},
		{2, -1, 0, false}} {
		key := testKey(t)
		mask := noisy{key: key, columns: []int{0}, lambda: c.lambda}
		a := newAccumulator(t, Options{
			Columns: numbered(1), Sample: c.sample, Extremes: 5, Key: key, Targets: []string{"p90"}, Replicates: c.Run,
			Replicate: func(i int) Masker { r := mask; r.replicate = i; return r },
		})
		for _, b := range normalBlocks(t, 1, 300, 300, c.lambda) {
			a.Add(b)
		}
		column := measured(t, a).Column("c0")
		for _, r := range column.Risk {
			if r.Knowledge != KnowledgeIndex {
				continue
			}
			want := func(se float64) bool { return se != se }
			switch {
			case c.want:
				want = func(se float64) bool { return se > 0 && !math.IsInf(se, 1) }
			case c.Run == 1 && !math.IsInf(float64(r.R), 1):
				want = func(se float64) bool { return math.IsInf(se, 1) }
			}
			if !want(float64(r.SE)) {
				t.Errorf("%+v: R_se of %s by %s is %v", c, r.Target, r.Knowledge, r.SE)
			}
		}
		// Without noise U is finite and has no spread.
		if se := column.Utility.SE; c.Run < 2 && se == se || c.want && !(se > 0) || c.lambda == 0 && se != 0 {
			t.Errorf("%+v: U_se is %v", c, se)
		}
	}
}

// No row of a report can be taken for exact that is not: what errs on either side and has no error gets an infinite
// one, a bound one that reaches down to 0, without a claim beyond the bound. What is exact, and what has an error,
// stays.
func TestErrorsOfWhatIsNotExact(t *testing.T) {
	nan, inf := Float(math.NaN()), Float(math.Inf(1))
	for _, c := range []struct {
		name      string
		row       Risk
		se, upper Float
		bound     bool
	}{
		{"exact", Risk{R: 4, SE: nan}, nan, 4, false},
		{"law", Risk{R: 4, SE: 0, Sampled: true, Replicates: 200}, 0, 4, false},
		{"one replicate", Risk{R: 4, SE: nan, Replicates: 1}, inf, 4, false},
		{"infinite of one replicate", Risk{R: inf, SE: nan, Replicates: 1}, nan, inf, false},
		{"bound", Risk{R: 4, SE: nan, Approximate: true, Errs: ErrsSafe}, 2, 4, true},
		{"bound of a law", Risk{R: 4, SE: 0, Approximate: true, Errs: ErrsSafe, Sampled: true}, 2, 4, true},
		{"vacuous bound", Risk{R: inf, SE: nan, Approximate: true, Errs: ErrsSafe}, nan, inf, true},
		{"safe with an error", Risk{R: 4, SE: 0.5, Approximate: true, Errs: ErrsSafe}, 0.5, 16.0 / 3, false},
		{"either", Risk{R: 4, SE: nan, Approximate: true, Errs: ErrsEither}, inf, inf, false},
		{"either without variation", Risk{R: 4, SE: 0, Approximate: true, Errs: ErrsEither}, inf, inf, false},
		{"either with an error", Risk{R: 4, SE: 0.5, Approximate: true, Errs: ErrsEither}, 0.5, 16.0 / 3, false},
		{"not measured", Risk{R: nan, SE: nan, Approximate: true, Errs: ErrsEither}, nan, inf, false},
	} {
		list := []Risk{{R: 1, SE: nan}, c.row}
		stateErrors(list)
		got := list[1]
		same := func(a, b Float) bool { return a == b || a != a && b != b || math.Abs(float64(a-b)) < 1e-12 }
		if !same(got.SE, c.se) || got.Bound != c.bound || !same(got.Upper(), c.upper) || !same(got.R, c.row.R) ||
			list[0].SE == list[0].SE {
			t.Errorf("%s: %+v, at most %v", c.name, got, got.Upper())
		}
	}
}
