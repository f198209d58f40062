package replicate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// shifted adds a number to every value of column 0. With holes it does not release multiples of 7.
type shifted struct {
	by    float64
	holes bool
}

func (s shifted) NeedsSurvey() bool             { return false }
func (s shifted) Survey(*microdata.Block) error { return nil }
func (s shifted) EndSurvey() error              { return nil }
func (s shifted) Apply(b *microdata.Block) error {
	if math.IsInf(s.by, 1) {
		return errors.New("no such mask")
	}
	v := b.Columns[0].Mutable()
	for i, x := range v.Values {
		if s.holes && v.Valid.Has(i) && math.Mod(x, 7) == 0 {
			b.Reject(i, "x", "a multiple of 7")
			continue
		}
		v.Values[i] += s.by
	}
	return nil
}

// someData returns 600 records of two streams; with nulls, a tenth of them have no value.
func someData(rng *rand.Rand, nulls bool) *Data {
	const n = 600
	d := &Data{N: n, Records: n, Complete: true}
	var origins place.Origins
	x := make([]float64, n)
	for i := range x {
		if x[i] = float64(rng.IntN(500)); nulls && rng.IntN(10) == 0 {
			x[i] = math.NaN()
		}
		d.From = append(d.From, origins.Of("", int32(i/400)))
		d.Row = append(d.Row, int64(i%400))
		d.Priority = append(d.Priority, rng.Uint32())
	}
	d.Values = [][]float64{x, x}
	return d
}

// Every answer equals its definition, applied to the records that the replicate masked.
func TestAnswers(t *testing.T) {
	for _, nulls := range []bool{false, true} {
		checkAnswers(t, someData(rand.New(rand.NewPCG(8, 1)), nulls))
	}
}

func checkAnswers(t *testing.T, d *Data) {
	t.Helper()
	targets := make([]orderstat.Target, 3)
	for i, name := range []string{"min", "p50", "max"} {
		var err error
		if targets[i], err = orderstat.ParseTarget(name); err != nil {
			t.Fatal(err)
		}
	}
	layout := sample.Layout{Columns: []int{0}}
	p := &Planner{Of: layout, Data: d}
	for what, subsets := range map[string][]*Subset{"whole": p.Whole(), "systematic": p.Systematic(3),
		"random": p.Random(250)} {
		records := map[string]int{"whole": 600, "systematic": 200, "random": 250}[what]
		for i, s := range subsets {
			if s.Size != records {
				t.Fatalf("%s: subset %d has %d records, want %d", what, i, s.Size, records)
			}
		}
		for _, holes := range []bool{false, true} {
			var done atomic.Int64
			q := Question{Column: 0, Targets: targets, Index: make([]*sample.Extreme, 3)}
			q.Fitted.Fit(d.Original(0))
			answers, err := Run(context.Background(), Trial{
				Of: layout, Points: 2, From: 4, Replicates: 7,
				Each: func(m int) []Masker { return []Masker{shifted{float64(m), holes}, shifted{-float64(m), holes}} },
				Done: func(points int) { done.Add(int64(points)) },
			}, subsets, []Question{q})
			if err != nil {
				t.Fatal(err)
			}
			if done.Load() != 14 {
				t.Errorf("%s: %d points done, want 14", what, done.Load())
			}
			for point, sign := range []float64{1, -1} {
				for i, list := range answers[point] {
					checkAnswer(t, what, &list[0], subsets[i%len(subsets)], sign*float64(4+i), holes)
				}
			}
		}
	}
}

func checkAnswer(t *testing.T, what string, a *Answer, s *Subset, by float64, holes bool) {
	t.Helper()
	var y []float64
	for i, x := range s.Values[0][:s.Size] {
		if s.Valid[0].Has(i) && !(holes && math.Mod(x, 7) == 0) {
			y = append(y, x+by)
		}
	}
	slices.Sort(y)
	n := float64(len(y))
	var mean, variance float64
	for _, v := range y {
		mean += v / n
	}
	for _, v := range y {
		variance += (v - mean) * (v - mean) / (n - 1)
	}
	for name, c := range map[string][2]float64{
		"n": {a.N, n}, "both": {a.Both, n}, "mean": {a.Mean, mean}, "variance": {a.Variance, variance},
		"difference": {a.Diff, by}, "its square": {a.SquareDiff, by * by},
		"least": {a.Position[0], y[0]}, "greatest": {a.Position[2], y[len(y)-1]},
		"median": {a.Position[1], y[(len(y)+1)/2-1]},
	} {
		if !(math.Abs(c[0]-c[1]) <= 1e-9*(1+math.Abs(c[1]))) {
			t.Fatalf("%s, shift %v, holes %v: %s is %v, want %v", what, by, holes, name, c[0], c[1])
		}
	}
	for _, v := range a.Linked {
		if !math.IsNaN(v) {
			t.Fatalf("%s: a target without a record is linked to %v", what, v)
		}
	}
}

// A record that must be in every subset occurs once; if it was not drawn, it stands after the
// others. Its released value is returned.
func TestTrackedRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	d := someData(rng, true)
	d.Values[0][17] = -1e6
	var tracked []*sample.Extreme
	for _, i := range []int{17, 300, 599, 300} {
		x := d.Values[0][i]
		tracked = append(tracked, &sample.Extreme{X: x, From: d.From[i], Row: d.Row[i], Values: []float64{x, x}})
	}
	layout := sample.Layout{Columns: []int{0}}
	p := &Planner{Of: layout, Data: d, Tracked: tracked}
	subsets := p.Systematic(4)
	p50, _ := orderstat.ParseTarget("p50")
	least, _ := orderstat.ParseTarget("min")
	q := Question{Column: 0, Targets: []orderstat.Target{least, p50, p50, p50}, Index: tracked,
		Quantile: []float64{0.5, 0.5, 0.5, 0.5}}
	answers, err := Run(context.Background(), Trial{Of: layout, Points: 1, From: 1, Replicates: 4,
		Each: func(m int) []Masker { return []Masker{shifted{by: float64(m)}} }}, subsets, []Question{q})
	if err != nil {
		t.Fatal(err)
	}
	var drawn []float64
	added := 0
	for i, s := range subsets {
		for r, x := range s.Values[0][:s.Size] {
			if s.Valid[0].Has(r) {
				drawn = append(drawn, x)
			}
		}
		if got := answers[0][i][0].Position[0]; got != -1e6+float64(1+i) {
			t.Errorf("subset %d: the least released value is %v", i, got)
		}
		added += len(s.Values[0]) - s.Size
		for k, e := range tracked {
			got, want := answers[0][i][0].Linked[k], e.X+float64(1+i)
			if got != want && !(got != got && e.X != e.X) {
				t.Errorf("subset %d: record %d is released as %v, want %v", i, k, got, want)
			}
		}
	}
	if added != 3*4-3 {
		t.Errorf("%d records were added, want each of three to the subsets that have not drawn it", added)
	}
	all := slices.DeleteFunc(slices.Clone(d.Values[0]), math.IsNaN)
	slices.Sort(drawn)
	slices.Sort(all)
	if !slices.Equal(drawn, all) {
		t.Errorf("the subsets have %d values, which are not the %d of the data", len(drawn), len(all))
	}
}

func TestRunSaysWhichReplicateFails(t *testing.T) {
	d := someData(rand.New(rand.NewPCG(8, 3)), true)
	layout := sample.Layout{Columns: []int{0}}
	p := &Planner{Of: layout, Data: d}
	p50, _ := orderstat.ParseTarget("p50")
	q := []Question{{Column: 0, Targets: []orderstat.Target{p50}, Index: make([]*sample.Extreme, 1)}}
	each := func(by float64) Trial {
		return Trial{Of: layout, Points: 1, From: 9, Replicates: 1, Each: func(int) []Masker {
			return []Masker{shifted{by: by}}
		}}
	}
	if _, err := Run(context.Background(), each(math.Inf(1)), p.Whole(), q); err == nil ||
		err.Error() != "assess: replicate 9: no such mask" {
		t.Errorf("got error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, each(1), p.Whole(), q); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}

// lengthy are masks that need a decision, which ends only when it is cancelled.
type lengthy struct {
	shifted
	deciding  chan<- struct{}
	cancelled chan struct{}
}

func (m *lengthy) NeedsSurvey() bool { return true }
func (m *lengthy) EndSurvey() error {
	m.deciding <- struct{}{}
	<-m.cancelled
	return errors.New("given up")
}
func (m *lengthy) Cancel() { close(m.cancelled) }

// Masks that are still deciding when the context ends are cancelled, and the error is that of the
// context.
func TestRunCancelsMasks(t *testing.T) {
	d := someData(rand.New(rand.NewPCG(8, 2)), false)
	layout := sample.Layout{Columns: []int{0}}
	q := Question{Column: 0, Targets: nil}
	q.Fitted.Fit(d.Original(0))
	ctx, cancel := context.WithCancel(t.Context())
	deciding := make(chan struct{}, 4)
	go func() { <-deciding; cancel() }()
	_, err := Run(ctx, Trial{Of: layout, Points: 1, From: 1, Replicates: 4,
		Each: func(int) []Masker { return []Masker{&lengthy{deciding: deciding, cancelled: make(chan struct{})}} },
	}, (&Planner{Of: layout, Data: d}).Whole(), []Question{q})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v, want that of the context", err)
	}
}

// The comparison of two replicates uses the records with a value in both replicates and in the
// data.
func TestPairsOfReplicates(t *testing.T) {
	null := math.NaN()
	x := []float64{1, 2, 3, 4, 5}
	first, second := []float64{3, null, 4, 4, 6}, []float64{2, 3, null, 7, 8}
	valid := microdata.NewBitmap(5, nil)
	valid.Clear(3)
	for _, c := range []struct {
		valid microdata.Bitmap
		want  float64
	}{{nil, (2*1 + 0*3 + 1*3) / 3.0}, {valid, (2*1 + 1*3) / 2.0}} {
		r := &replicator{questions: []Question{{}, {Between: true}}}
		var a Answer
		for k, q := range r.questions {
			r.second = false
			r.pair(k, &a, x, first, c.valid)
			if !math.IsNaN(a.Between) {
				t.Errorf("of one replicate: %v", a.Between)
			}
			r.second = true
			if r.pair(k, &a, x, second, c.valid); q.Between && a.Between != c.want || !q.Between && !math.IsNaN(a.Between) {
				t.Errorf("of two, asked for %v: %v, want %v", q.Between, a.Between, c.want)
			}
		}
	}
}
