package assess

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// survey is a small typical file: skewed wages with decimals, some null or not finite; hours with
// many ties; a class and a region for swaps; two streams of two topics, with gaps; some rejected
// records.
type survey struct {
	columns  [4][]float64
	rejected map[int]bool
}

func newSurvey(n int, seed uint64, clean bool) *survey {
	rng := rand.New(rand.NewPCG(seed, 12))
	s := &survey{rejected: map[int]bool{}}
	for i := range n {
		wage, hours := math.Round(100*math.Exp(5+0.8*rng.NormFloat64()))/100, float64(8*rng.IntN(6)+rng.IntN(3))
		if !clean && rng.IntN(23) == 0 {
			wage = math.NaN()
		}
		if !clean && rng.IntN(31) == 0 {
			s.rejected[i] = true
		}
		for c, v := range []float64{wage, hours, float64(rng.IntN(4)), float64(rng.IntN(3))} {
			s.columns[c] = append(s.columns[c], v)
		}
	}
	return s
}

const surveyBlock = 60

// blocks divides the survey into blocks.
func (s *survey) blocks(do func(b *microdata.Block)) {
	n := len(s.columns[0])
	for k, from := 0, 0; from < n; k, from = k+1, from+surveyBlock {
		to := min(n, from+surveyBlock)
		b := new(microdata.Block)
		b.Reset(k%2, int64(from), to-from, 4)
		if k%3 == 2 {
			b.Scope, b.Places = "second", make([]int64, to-from)
			for i := range b.Places {
				b.Places[i] = int64(from + 2*i)
			}
		}
		for c := range s.columns {
			v := b.Columns[c].Alloc(to-from, true)
			for i := range to - from {
				if x := s.columns[c][from+i]; x == x {
					v.Values[i] = x
				} else {
					v.Valid.Clear(i)
				}
			}
		}
		for i := from; i < to; i++ {
			if s.rejected[i] {
				b.Reject(i-from, "wage", "not finite")
			}
		}
		do(b)
	}
}

// chain prepares masks for a survey.
func (s *survey) chain(tb testing.TB, key keystream.Key, masks ...transform.Params) *transform.Chain {
	tb.Helper()
	var specs []transform.Spec
	for i, m := range masks {
		specs = append(specs, transform.Spec{Name: fmt.Sprint(i), Params: m})
	}
	setup := transform.Setup{Key: key, Window: surveyBlock}
	for i, name := range []string{"wage", "hours", "class", "region"} {
		info := transform.ColumnInfo{Name: name, Index: i,
			Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}, Decimals: 2, SD: 150, Mean: 200}
		if i > 0 {
			info.Decimals = 0
		}
		setup.Columns = append(setup.Columns, info)
	}
	c, err := transform.NewChain(specs, setup)
	must(tb, err)
	return c
}

// exchangeOf is an exchange with prescribed results, like a swap.
type exchangeOf struct{ of float64 }

func (x exchangeOf) Typical(column string) (square, se float64, ok bool) {
	return 40*x.of + float64(len(column)), 3, column == "wage"
}

func (x exchangeOf) At(column, target string, tau float64, scope string, stream int, row int64) (square, se float64,
	ok bool) {
	return x.of*tau + float64(len(target)+len(scope)+3*stream) + float64(row), 2, target != "p10"
}

func (x exchangeOf) Group(column string, n int, record func(i int) (scope string, stream int, row int64)) (square,
	se float64, ok bool) {
	for i := range n {
		scope, stream, row := record(i)
		square += x.of + float64(len(scope)+5*stream) + float64(row)/100
	}
	return square / float64(n), 1, column == "wage"
}

func amount(v float64) *transform.Amount { return &transform.Amount{Value: v} }

var figureTargets = []string{"min", "p01", "p10", "p50", "p90", "p99.5", "max"}

// addMeasures adds all numbers of an assessment.
func addMeasures(f *pinned.Figures, name string, m *Measures) {
	f.Add(name, float64(m.Records), float64(m.Sample))
	for _, c := range m.Columns {
		at := name + " " + c.Name
		for which, s := range []Moments{c.Original, c.Released} {
			f.Add(at+[]string{" original", " released"}[which], float64(s.N), float64(s.Nulls), float64(s.Mean), float64(s.SD),
				float64(s.Min), float64(s.Max))
		}
		unchanged := []float64{}
		if c.Unchanged != nil {
			unchanged = append(unchanged, float64(*c.Unchanged), float64(*c.UnchangedExplained), truth(c.UnchangedExcess))
		}
		f.Add(at+" differences", append(unchanged, float64(c.MeanSquaredDifference))...)
		addUtility(f, at, c.Utility)
		addRisks(f, at, c.Risk)
		if o := c.Order; o != nil {
			f.Add(at+" order by "+o.Fit, float64(o.Descents), float64(o.Autocorrelation), truth(o.Departs), truth(o.Shuffled))
		}
		if h := c.Histogram; h != nil {
			var row []float64
			for i := range h.Original {
				row = append(row, float64(h.Edges[i]), float64(h.Original[i]), float64(h.Released[i]))
			}
			f.Add(at+" histogram", append(row, float64(h.Edges[len(h.Edges)-1]))...)
		}
	}
	for which, rows := range [][][]Float{m.Correlation.Original, m.Correlation.Released} {
		var all []float64
		for _, row := range rows {
			for _, v := range row {
				all = append(all, float64(v))
			}
		}
		f.Add(name+[]string{" correlation original", " correlation released"}[which], all...)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func addUtility(f *pinned.Figures, at string, u Utility) {
	f.Add(at+" utility "+u.Errs, float64(u.U), float64(u.SE), float64(u.RealisedU), float64(u.U0), float64(u.Efficiency),
		float64(u.EfficiencyGate),
		float64(u.Bias), truth(u.Sampled), truth(u.Approximate))
}

func addRisks(f *pinned.Figures, at string, risks []Risk) {
	for i, r := range risks {
		f.Add(fmt.Sprintf("%s %d %s by %s %s", at, i, r.Target, r.Knowledge, r.Errs), float64(r.R), float64(r.SE),
			float64(r.RMSE), float64(r.RealisedR),
			float64(r.Replicates), truth(r.Sampled), truth(r.Approximate))
	}
}

// figureCases are assessments of every kind: with all records and with a sample, with replicates,
// with laws and without either, with swaps, and with expectations of swaps.
func figureCases(tb testing.TB) map[string]func() (Options, *survey, *transform.Chain) {
	key := testKey(tb)
	noise := func(sd float64, columns ...string) transform.Params {
		return &transform.Noise{Columns: columns, SD: amount(sd)}
	}
	rate, lower, upper, base, step := 0.5, 60.0, 800.0, 50.0, 4.0
	swap := &transform.Swap{Keys: []string{"class"}, Attribute: "region", Columns: []string{"wage"}, Rate: &rate,
		Policy: "random"}
	clip := &transform.Truncate{Columns: []string{"wage"}, Lower: &lower, Upper: &upper}
	round := &transform.Round{Columns: []string{"wage"}, Base: &base}
	bias := &transform.Bias{Columns: []string{"wage"}, Phi: &[]float64{0.1}[0]}
	cases := map[string]func() (Options, *survey, *transform.Chain){}
	add := func(name string, n int, clean bool, change func(o *Options, c *transform.Chain), masks ...transform.Params) {
		cases[name] = func() (Options, *survey, *transform.Chain) {
			s := newSurvey(n, uint64(len(name)), clean)
			c := s.chain(tb, key, masks...)
			o := Options{Columns: []Column{{Name: "wage", Unit: "USD", Masked: true}, {Name: "hours", Index: 1}}, Key: key,
				Targets: figureTargets, Replicates: 12,
				Carry: []int{2, 3}, Extremes: 12, Replicate: func(m int) Masker { return c.Replicate(m) },
				Keeping: func(column string, typical float64) Keeping {
					k := c.Keeping(column, typical, true)
					return Keeping{Share: k.Share, Most: k.Most}
				}}
			change(&o, c)
			return o, s, c
		}
	}
	both := func(o *Options, _ *transform.Chain) { o.Columns[1].Masked = true }
	part := func(o *Options, _ *transform.Chain) { o.Sample = 110 }
	lawful := func(o *Options, c *transform.Chain) { o.Sample, o.Law = 110, lawOf(c) }
	swapped := func(o *Options, _ *transform.Chain) { o.Columns[0].Exchanged, o.Mixes = true, true }
	add("replicates of all", 300, false, both, noise(30, "wage"), noise(2, "hours"))
	add("replicates of a sample", 900, false, func(o *Options, c *transform.Chain) {
		both(o, c)
		part(o, c)
	}, noise(30, "wage"), noise(2, "hours"))
	add("no replicates", 300, false, func(o *Options, _ *transform.Chain) { o.Replicate = nil }, noise(30, "wage"))
	add("no mask", 300, false, func(o *Options, _ *transform.Chain) { o.Columns[0].Masked = false }, noise(0, "wage"))
	add("law of noise", 900, true, lawful, noise(30, "wage"))
	add("law with nulls", 900, false, lawful, noise(3, "wage"))
	add("law of little noise", 900, true, lawful, noise(0.02, "wage"))
	add("law of a clip", 900, true, lawful, clip)
	add("law of a rounding", 900, true, lawful, round)
	add("law of noise, clipped", 900, false, lawful, noise(80, "wage"), clip)
	add("law of noise, rounded", 900, false, lawful, noise(80, "wage"), round)
	add("law of a bias and noise", 900, false, lawful, bias, noise(10, "wage"))
	add("law of both columns", 900, true, func(o *Options, c *transform.Chain) {
		both(o, c)
		lawful(o, c)
	}, noise(30, "wage"), &transform.Round{Columns: []string{"hours"}, Base: &step})
	add("law of one column", 900, true, func(o *Options, c *transform.Chain) {
		both(o, c)
		lawful(o, c)
		o.Law = func(column string) Law {
			if column == "hours" {
				return nil
			}
			return lawOf(c)(column)
		}
	}, noise(30, "wage"), noise(2, "hours"))
	add("swap of all", 300, false, swapped, swap)
	add("swap of a sample", 900, false, func(o *Options, c *transform.Chain) {
		swapped(o, c)
		part(o, c)
	}, swap, noise(10, "wage"))
	add("swap, told", 300, false, func(o *Options, c *transform.Chain) {
		swapped(o, c)
		o.Mixes, o.Exchange = false, exchangeOf{3}
	}, noise(10, "wage"))
	add("swap of a sample, told", 900, false, func(o *Options, c *transform.Chain) {
		swapped(o, c)
		lawful(o, c)
		o.Mixes, o.Exchange = false, exchangeOf{3}
	}, noise(10, "wage"))
	add("swap of a sample with a law, not told", 900, false, func(o *Options, c *transform.Chain) {
		swapped(o, c)
		lawful(o, c)
	}, noise(10, "wage"))
	return cases
}

// All results of Measure and MeasureQuick for small files, and those of the accumulator after
// encoding and decoding. Other tests check that they are right; this test detects any change.
func TestFiguresOfMeasures(t *testing.T) {
	racetest.Further(t)
	cases := figureCases(t)
	for name, of := range cases {
		t.Run(name, func(t *testing.T) {
			var f pinned.Figures
			o, s, c := of()
			a := newAccumulator(t, o)
			s.blocks(func(b *microdata.Block) {
				must(t, c.Apply(b))
				a.Add(b)
			})
			data, err := a.MarshalBinary()
			must(t, err)
			again := newAccumulator(t, o)
			must(t, again.UnmarshalBinary(data))
			addMeasures(&f, "all", measured(t, again))
			if strings.Contains(name, "of all") {
				quick, err := a.measure(context.Background(), 100)
				must(t, err)
				addMeasures(&f, "quick", quick)
			}
			for _, b := range a.Brackets("wage") {
				f.Add("bracket "+b.Target, float64(b.Rank), float64(b.Count), truth(b.Holds(200)))
			}
			f.Check(t, "testdata/figures/"+fileName(name))
		})
	}
}

// The results of Explore for the masks that it tries.
func TestFiguresOfExplorations(t *testing.T) {
	racetest.Further(t)
	key := testKey(t)
	for name, c := range map[string]struct {
		sample       int
		by           []int
		lawful       bool
		expectations bool
		exchange     bool
	}{
		"all": {-1, nil, false, false, false}, "all by group": {-1, []int{2, 3}, false, false, false},
		"by group and wage told": {-1, []int{3}, false, true, true},
		"sample":                 {110, nil, false, false, false}, "sample with laws": {110, nil, true, false, false},
		"sample with laws by group": {110, []int{3}, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var f pinned.Figures
			s := newSurvey(600, 5, false)
			chains := []*transform.Chain{}
			for _, sd := range []float64{5, 40} {
				chains = append(chains,
					s.chain(t, key, &transform.Noise{Columns: []string{"wage"}, SD: amount(sd)},
						&transform.Noise{Columns: []string{"hours"}, SD: amount(sd / 10)}))
			}
			a := newAccumulator(t,
				Options{
					Columns: []Column{{Name: "wage", Masked: true, Exchanged: c.exchange}, {Name: "hours", Index: 1, Masked: true}},
					Key:     key,
					Targets: []string{"min", "p90"}, Sample: c.sample, Carry: []int{2, 3}, Extremes: 12})
			s.blocks(a.Add)
			e := Exploration{Points: 2, Replicate: grid(chains), From: 2, Replicates: 9, By: c.by}
			if c.lawful {
				e.Law = func(point int, column string) Law { return lawOf(chains[point])(column) }
			}
			if c.expectations {
				e.Exchange = []Exchange{exchangeOf{1}, exchangeOf{2}}
			}
			found, err := a.Explore(context.Background(), e)
			must(t, err)
			for p, columns := range found {
				for _, x := range columns {
					at := fmt.Sprintf("point %d %s", p, x.Column)
					addUtility(&f, at, x.Utility)
					addRisks(&f, at, x.Risk)
					for _, g := range x.Groups {
						at := fmt.Sprintf("%s of %v", at, g.Codes)
						f.Add(at, float64(g.Records))
						addUtility(&f, at, g.Utility)
						addRisks(&f, at, g.Risk)
					}
				}
			}
			f.Check(t, "testdata/figures/explored_"+fileName(name))
		})
	}
}

// The contents of a profile.
func TestFiguresOfProfiles(t *testing.T) {
	racetest.Further(t)
	var f pinned.Figures
	for _, clean := range []bool{true, false} {
		s := newSurvey(700, 8, clean)
		columns := []Column{{Name: "wage"}, {Name: "hours", Index: 1, Single: true}, {Name: "class", Index: 2}}
		parts := []*Profiler{NewProfiler(columns), NewProfiler(columns)}
		k := 0
		s.blocks(func(b *microdata.Block) {
			parts[k%2].Add(b)
			k++
		})
		must(t, parts[1].Merge(parts[0]))
		p := parts[1].Profile()
		for i, c := range p.Columns {
			at := fmt.Sprintf("clean %v %s", clean, c.Name)
			f.Add(at, float64(c.N), float64(c.Nulls), c.Mean, c.SD, c.Min, c.Max, float64(c.Decimals), float64(p.Records))
			for _, q := range c.Quantiles {
				f.Add(at+" "+q.Target, q.Value)
			}
			f.Add(at+" covariances", p.Covariance[i]...)
		}
	}
	f.Check(t, "testdata/figures/profile.txt")
}

func fileName(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "_") + ".txt"
}
