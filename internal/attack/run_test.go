package attack_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/transform"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestFewByHand computes every part of four respondents on paper.
func TestFewByHand(t *testing.T) {
	d, o := few()
	r := run(t, d, o)
	if r.Targets != 4 || r.Records != 4 || r.Sampled != 0 || strings.Join(r.Keys, ",") != "a" {
		t.Fatalf("targets %d, records %d, sampled %d, keys %v", r.Targets, r.Records, r.Sampled, r.Keys)
	}
	// 1 and 10 are identified; 2 and 3 are confused with each other, in single and in joint
	// linkage.
	near(t, "linked", r.Linkage.ExpectedCorrect, 2)
	near(t, "share", r.Linkage.CorrectShare, 0.5)
	near(t, "one to one", *r.Linkage.OneToOneCorrect, 2)
	// Without bias the density decreases with the distance: 1 and 10 rank first, 3 has 2 as its
	// second, and for 2 its own 3 is as far as 1, so they share ranks 2 and 3.
	near(t, "correct", r.Bayes.Correct, 2)
	for i, want := range []float64{2, 1.5, 0.5, 0} {
		near(t, fmt.Sprintf("rank %d", i+1), r.Bayes.Rank[i], want)
	}
	// Two classes of two, and no weights: each is identified with probability 1/2; the first two
	// live together: 1 − (1 − 1/2)² = 3/4 for each of them.
	u := r.Uniqueness
	near(t, "k", u.MinFrequency, 2)
	near(t, "risk", u.MaxIndividualRisk, 0.5)
	near(t, "found", u.ExpectedReidentifications, 2)
	near(t, "household", u.Household.ExpectedReidentifications, 0.75+0.75+0.5+0.5)
	if u.Violations[2] != 0 || u.Violations[3] != 4 || u.LDiversity["s"].DistinctMin != 1 {
		t.Errorf("violations %v, diversity %+v", u.Violations, u.LDiversity["s"])
	}
	// S² = (9 + 4 + 1 + 36)/3, on both sides: 0.2·S = 0.82 and 0.3·S = 1.22.
	s := math.Sqrt(50.0 / 3)
	near(t, "interval 0.2", r.Interval["0.2"], 0.5)
	near(t, "interval 0.3", r.Interval["0.3"], 1)
	near(t, "sound 0.2", r.IntervalSound["0.2"], 0.5)
	near(t, "IL1s", r.Utility.IL1s, 2/(math.Sqrt2*s))
	near(t, "IL1s per cell", r.Utility.IL1sPerCell, 2/(math.Sqrt2*s)/4)
	near(t, "KS", r.Utility.KS["a"], 0)
	near(t, "Wasserstein", r.Utility.Wasserstein["a"], 0)
	// Means with the earlier release are 1, 2, 3, 10: the originals themselves.
	c := r.Averaging.Columns[0]
	if r.Averaging.Releases != 2 || c.Name != "a" || c.Equal {
		t.Errorf("averaging: %+v", r.Averaging)
	}
	near(t, "MSE of one", float64(c.MSE[0]), 0.5)
	near(t, "MSE of two", float64(c.MSE[1]), 0)
	near(t, "linked by one", r.Averaging.Linkage.Single.ExpectedCorrect, 2)
	near(t, "linked by the mean", r.Averaging.Linkage.Averaged.ExpectedCorrect, 4)
	if !r.Inversion.Passed {
		t.Errorf("noise of a whole SD was inverted: %+v", r.Inversion)
	}
	id := r.Identity()
	near(t, "identity: linked", float64(id.Linked), 0.5)
	near(t, "identity: links", float64(id.CorrectLinks), 2)
	near(t, "identity: k", float64(id.MinK), 2)
	near(t, "identity: risk", float64(id.MaxIndividualRisk), 0.5)
	if id.Inverted == nil || *id.Inverted != 0 {
		t.Errorf("identity: inverted %v", id.Inverted)
	}
}

// TestUnmaskedIsFound: linkage finds every record with unique keys and shares the
// credit among the others; columns that no mask changes are computed back.
func TestUnmaskedIsFound(t *testing.T) {
	d := respondents(1500)
	masks := []transform.Spec{noise(0, "wage")}
	d = masked(t, d, 1, masks...)
	r := run(t, d, everything(masks, 0, 0, 0))
	distinct := map[[3]float64]bool{}
	keys := map[[3]int32]int{}
	for i := range d.Numeric[0].Original {
		distinct[[3]float64{d.Numeric[0].Original[i], d.Numeric[1].Original[i], d.Numeric[2].Original[i]}] = true
		keys[[3]int32{d.Categorical[0].Original[i], d.Categorical[1].Original[i], d.Categorical[2].Original[i]}]++
	}
	// Each of m tied records has 1/m: one per class.
	near(t, "linked", r.Linkage.ExpectedCorrect, float64(len(distinct)))
	near(t, "one to one", *r.Linkage.OneToOneCorrect, float64(len(distinct)))
	near(t, "correct links", r.Bayes.Correct, float64(len(distinct)))
	if len(distinct) < 1490 {
		t.Fatalf("only %d respondents differ", len(distinct))
	}
	uniques := 0
	for _, k := range keys {
		if k == 1 {
			uniques++
		}
	}
	if uniques == 0 || r.Uniqueness.Violations[2] != uniques || r.Uniqueness.MinFrequency != 1 ||
		r.Uniqueness.MaxIndividualRisk != 1 {
		t.Errorf("uniques %d, want %d, k %v, risk %v", r.Uniqueness.Violations[2], uniques, r.Uniqueness.MinFrequency,
			r.Uniqueness.MaxIndividualRisk)
	}
	near(t, "interval", r.Interval["0.01"], 1)
	near(t, "loss", r.Utility.IL1s, 0)
	if len(r.Inversion.Columns) != 1 || r.Inversion.Passed || *r.Identity().Inverted != 1500 {
		t.Errorf("inversion: %+v", r.Inversion)
	}
}

// TestMasksHideRespondents: with noise of one SD on three keys few respondents are
// found, but more than by guessing, and nothing is computed back.
func TestMasksHideRespondents(t *testing.T) {
	masks := []transform.Spec{noise(1, "wage", "education", "experience")}
	d := masked(t, respondents(1500), 1, masks...)
	var sigma []float64
	for _, c := range d.Numeric {
		sigma = append(sigma, *loss.MomentsOf(c.Original).SD)
	}
	r := run(t, d, everything(masks, sigma...))
	// The intruder with σ known expects 11 of 1,500 links to be right, under this key and
	// 28 others; Poisson counts of mean 11 exceed 30 with probability under 1e-6.
	if l := r.Linkage.ExpectedCorrect; !(l < 30) {
		t.Errorf("linkage finds %v", l)
	}
	if b := r.Bayes; !(b.Correct > 0 && b.Correct < 30) ||
		!(math.Abs(b.Correct-b.ExpectedCorrect) < 5*math.Sqrt(b.ExpectedCorrect)) {
		t.Errorf("%v links are right, %v expected", b.Correct, b.ExpectedCorrect)
	}
	if !r.Inversion.Passed || len(r.Inversion.Columns) != 3 {
		t.Errorf("inversion: %+v", r.Inversion)
	}
	if !(r.Interval["0.05"] < 0.01 && r.Utility.IL1sPerCell > 0.4) {
		t.Errorf("interval %v, loss %v", r.Interval, r.Utility.IL1sPerCell)
	}
}

// TestAveraging: independent noise averages out, and earlier releases help linkage.
func TestAveraging(t *testing.T) {
	plain := respondents(800)
	d := masked(t, plain, 1, noise(0.3, "wage", "education", "experience"))
	for seed := byte(2); seed < 10; seed++ {
		e := masked(t, plain, seed, noise(0.3, "wage", "education", "experience"))
		d.Earlier = append(d.Earlier, [][]float64{e.Numeric[0].Released, e.Numeric[1].Released, e.Numeric[2].Released})
	}
	r := run(t, d, attack.Options{Averaging: true, Linkage: &attack.Linkage{}, Targets: 400})
	if r.Averaging.Releases != 9 {
		t.Fatalf("%d releases", r.Averaging.Releases)
	}
	for _, c := range r.Averaging.Columns {
		// Var/9 of normal noise: a ratio of two means over 800 squares, SD √(2/800) each,
		// five of them are 40 %; the noise of whole years is rounded, which adds little.
		if ratio := float64(c.MSE[8]/c.MSE[0]) * 9; !(ratio > 0.6 && ratio < 1.5) || c.Compared != 800 {
			t.Errorf("%s: the mean of 9 leaves %v of 1/9", c.Name, ratio)
		}
	}
	l := r.Averaging.Linkage
	if l.Single.ExpectedCorrect != r.Linkage.ExpectedCorrect ||
		!(l.Averaged.ExpectedCorrect > 2*l.Single.ExpectedCorrect) {
		t.Errorf("linkage %v, first release %v, means %v", r.Linkage.ExpectedCorrect, l.Single.ExpectedCorrect,
			l.Averaged.ExpectedCorrect)
	}
	// The same release again, as one with identity in the configuration gives.
	d.Earlier = [][][]float64{{d.Numeric[0].Released, d.Numeric[1].Released, d.Numeric[2].Released}}
	r = run(t, d, attack.Options{Averaging: true})
	for _, c := range r.Averaging.Columns {
		if !c.Equal || c.MSE[1] != c.MSE[0] {
			t.Errorf("%s: the same release twice gives more than once: %+v", c.Name, c)
		}
	}
	if r.Averaging.Linkage != nil {
		t.Error("linkage, which was not asked for")
	}
}

// TestTargets: targets are spread evenly, and their results are the same as among all records.
func TestTargets(t *testing.T) {
	d := masked(t, respondents(600), 1, noise(0.2, "wage", "education", "experience"))
	d.Categorical[1].Released = append([]int32(nil), d.Categorical[1].Original...)
	for i := range d.Categorical[1].Released {
		d.Categorical[1].Released[i] = max(0, d.Categorical[1].Released[i]-1)
	}
	for _, distance := range []linkage.Distance{linkage.Standardised, linkage.Gower, linkage.Ranks} {
		o := attack.Options{Linkage: &attack.Linkage{Distance: distance},
			Bayes: &intruder.Options{Keys: []intruder.Key{{Phi: 0.1, Sigma: 5}}}}
		all := run(t, d, o)
		o.Targets = 100
		some := run(t, d, o)
		if some.Targets != 100 || all.Targets != 600 || some.Linkage.ExpectedCorrect == all.Linkage.ExpectedCorrect {
			t.Fatalf("%v: %d and %d targets", distance, some.Targets, all.Targets)
		}
		for i := range 100 {
			record := 6*i + 3 // the middle of six
			if got, want := some.Linkage.Linked[i], all.Linkage.Linked[record]; got != want {
				t.Errorf("%v: target %d has %v, record %d has %v", distance, i, got, record, want)
			}
			if got, want := some.Bayes.PerTarget[i], all.Bayes.PerTarget[record]; got != want {
				t.Errorf("bayes: target %d has %+v, record %d has %+v", i, got, record, want)
			}
		}
		if gower := distance == linkage.Gower; (len(some.Categorical) == 3) != gower {
			t.Errorf("%v: categorical keys %v", distance, some.Categorical)
		}
		for _, w := range some.Bayes.Worst {
			if w.Record != 6*w.Target+3 {
				t.Errorf("worst: target %d is record %d", w.Target, w.Record)
			}
		}
		o.Targets = 1000
		if most := run(t, d, o); most.Targets != 600 {
			t.Errorf("%d of 600 targets", most.Targets)
		}
	}
}

// TestSampleEstimatesThePopulation: a record of a sample stands for Records/n.
func TestSampleEstimatesThePopulation(t *testing.T) {
	d, o := few()
	o = attack.Options{Uniqueness: o.Uniqueness}
	d.Records = 12
	for _, c := range []struct {
		weights []float64
		want    [4]float64
	}{{nil, [4]float64{6, 6, 6, 6}}, {[]float64{1, 2, 1, 1}, [4]float64{9, 9, 6, 6}}} {
		d.Weights = c.weights
		r := run(t, d, o)
		if r.Records != 12 || r.Sampled != 4 || r.Uniqueness.MinFrequency != 2 {
			t.Errorf("%d records, %d sampled, k %v", r.Records, r.Sampled, r.Uniqueness.MinFrequency)
		}
		for i, want := range c.want {
			near(t, "F_k", r.Uniqueness.PopulationFrequency[i], want)
			near(t, "risk", r.Uniqueness.Risk[i], uniqueness.IndividualRisk(2, 2/want))
		}
	}
}

// TestInversionGetsItsColumns: the inversion gets the columns that a mask names and
// those that a swap compares; without a grid, a value is found to within 2⁻²⁰ of the
// SD.
func TestInversionGetsItsColumns(t *testing.T) {
	d := respondents(600)
	d.Numeric[0].Grid = 0
	swap := transform.Spec{
		Params: &transform.Swap{Keys: []string{"education", "sex"}, Attribute: "region", Columns: []string{"wage"},
			Rate: ptr(0.0), Policy: "random", Scope: "dataset"}}
	o := attack.Options{Inversion: &attack.Inversion{Masks: []transform.Spec{swap}}}
	r := run(t, d, o)
	c := r.Inversion.Columns
	if len(c) != 1 || c[0].Name != "wage" || c[0].Recovered != 600 || *r.Identity().Inverted != 600 {
		t.Errorf("columns %+v", c)
	}
	near(t, "grid", c[0].Grid, *loss.MomentsOf(d.Numeric[0].Original).SD/(1<<20))
	// With rate 1 only those whose keys leave them no partner are known not to have
	// been exchanged: that takes region, education and sex, which no mask names.
	swap.Params.(*transform.Swap).Rate = ptr(1.0)
	o.Inversion.Masks = []transform.Spec{swap}
	type group struct {
		education float64
		sex       int32
	}
	regions := map[group]map[int32]bool{}
	alone := 0
	for pass := range 2 {
		for i, e := range d.Numeric[1].Original {
			g := group{e, d.Categorical[2].Original[i]}
			switch {
			case pass == 1 && len(regions[g]) == 1:
				alone++
			case regions[g] == nil:
				regions[g] = map[int32]bool{}
				fallthrough
			default:
				regions[g][d.Categorical[0].Original[i]] = true
			}
		}
	}
	unswapped := func(r *attack.Result) int {
		for _, v := range r.Inversion.Columns[0].Inversions {
			if v.Kind == inversion.Unswapped {
				return v.Claims
			}
		}
		return 0
	}
	if got := unswapped(run(t, d, o)); alone == 0 || got != alone {
		t.Errorf("%d records cannot have been swapped, %d are alone with their keys", got, alone)
	}
	// A sample lacks possible partners of the release: no record is known to be
	// unswapped.
	d.Records = 6000
	if got := unswapped(run(t, d, o)); got != 0 {
		t.Errorf("sample: %d records are said not to have been swapped", got)
	}
	// A constant column has no SD.
	d.Records = 0
	d.Numeric = append(d.Numeric,
		attack.NumericColumn{Name: "zero", Original: make([]float64, 600), Released: make([]float64, 600)})
	o.Inversion.Masks = []transform.Spec{noise(0.1, "zero")}
	near(t, "grid of a constant", run(t, d, o).Inversion.Columns[0].Grid, 1.0/(1<<20))
}

// TestErrors: errors say where, what must hold and what was found, and contain no
// value.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*attack.Data, *attack.Options)
		want   string
	}{
		"no column": {func(d *attack.Data, _ *attack.Options) { *d = attack.Data{} }, "data: must have a column of 1 to"},
		"no record": {func(d *attack.Data, _ *attack.Options) {
			*d = attack.Data{Numeric: []attack.NumericColumn{{Name: "a"}}}
		}, "got 0"},
		"lengths": {func(d *attack.Data, _ *attack.Options) {
			d.Numeric[0].Released = d.Numeric[0].Released[1:]
		}, `numeric column "a", released: must have 4 records`},
		"categorical length": {func(d *attack.Data, _ *attack.Options) {
			d.Categorical[0].Released = []int32{1}
		}, `categorical column "g", released: must have 4 records like the others, got 1`},
		"weights": {func(d *attack.Data, _ *attack.Options) {
			d.Weights = []float64{1}
		}, "weights: must have 4 records"},
		"household": {func(d *attack.Data, _ *attack.Options) {
			d.Household = []int32{1}
		}, "household: must have 4 records"},
		"person": {func(d *attack.Data, _ *attack.Options) {
			d.Person = []int32{1}
		}, "person: must have 4 records"},
		"person below": {func(d *attack.Data, _ *attack.Options) {
			d.Person = []int32{1, 0, 0, -2}
		}, "person[3]: must be a code from 0"},
		"name": {func(d *attack.Data, _ *attack.Options) {
			d.Numeric = append(d.Numeric, d.Numeric[0])
		}, `numeric[1]: must have a name of its own, got "a"`},
		"empty name": {func(d *attack.Data, _ *attack.Options) {
			d.Sensitive[0].Name = ""
		}, "sensitive[0]: must have a name"},
		"grid": {func(d *attack.Data, _ *attack.Options) { d.Numeric[0].Grid = -1 }, "must have a finite grid"},
		"linked": {func(d *attack.Data, _ *attack.Options) {
			d.Linked = []int{0, 1}
		}, "linked[1]: must be the index of one of the 1 numeric"},
		"linked twice": {func(d *attack.Data, _ *attack.Options) { d.Linked = []int{0, 0} }, "linked[1]: must be"},
		"records": {func(d *attack.Data, _ *attack.Options) {
			d.Records = 3
		}, "records: must be 0 or at least the 4"},
		"earlier": {func(d *attack.Data, _ *attack.Options) {
			d.Earlier[0] = nil
		}, "earlier[0]: must have the 1 numeric"},
		"earlier length": {func(d *attack.Data, _ *attack.Options) {
			d.Earlier[0][0] = nil
		}, `earlier[0], column "a": must have 4`},
		"no earlier": {func(d *attack.Data, _ *attack.Options) {
			d.Earlier = nil
		}, "averaging: must have numeric columns and an earlier"},
		"targets":      {func(_ *attack.Data, o *attack.Options) { o.Targets = -1 }, "targets: must be at least 1"},
		"linkage keys": {func(d *attack.Data, _ *attack.Options) { d.Linked = nil }, "linkage: must have numeric keys"},
		"gower keys": {func(d *attack.Data, o *attack.Options) {
			d.Linked, d.Categorical, o.Linkage.Distance = nil, nil, linkage.Gower
		}, "linkage: must have keys"},
		"bayes keys": {func(d *attack.Data, o *attack.Options) {
			d.Linked, o.Linkage = nil, nil
		}, "bayes: must have numeric keys"},
		"uniqueness keys": {func(d *attack.Data, o *attack.Options) {
			d.Categorical = nil
		}, "uniqueness: must have keys to count"},
		"masks": {func(_ *attack.Data, o *attack.Options) {
			o.Inversion.Masks = nil
		}, "inversion: must have the list of masks"},
		"masked columns": {func(_ *attack.Data, o *attack.Options) {
			o.Inversion.Masks[0] = noise(1, "b")
		}, "inversion: must have a numeric column or a categorical key that some mask names"},
		"of a part": {func(_ *attack.Data, o *attack.Options) { o.Bayes.Keys = nil }, "bayes: "},
		"width":     {func(_ *attack.Data, o *attack.Options) { o.Intervals[1] = -1 }, "interval"},
		"interval columns": {func(d *attack.Data, o *attack.Options) {
			d.Numeric, d.Linked, d.Earlier = nil, nil, nil
			*o = attack.Options{Intervals: []float64{1}}
		}, "interval: must have numeric"},
		"loss columns": {func(d *attack.Data, o *attack.Options) {
			d.Numeric, d.Linked, d.Earlier = nil, nil, nil
			*o = attack.Options{Loss: &loss.Options{}}
		}, "utility: must have numeric"},
	} {
		d, o := few()
		c.change(&d, &o)
		r, err := attack.Run(context.Background(), d, o)
		if err == nil || r != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	d, o := few()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := attack.Run(ctx, d, o); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}
