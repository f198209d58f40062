package assess

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// noises returns chains of noise with several SDs on column "wage", in the test data of wages: job
// and region are in columns 1 and 2.
func noises(tb testing.TB, key keystream.Key, decimals int, sds ...float64) []*transform.Chain {
	tb.Helper()
	var chains []*transform.Chain
	for _, sd := range sds {
		chain, err := transform.NewChain(
			[]transform.Spec{{Params: &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: sd}}}},
			transform.Setup{Key: key, Columns: []transform.ColumnInfo{
				{Name: "wage", Field: microdata.Field{Name: "wage", Type: arrow.PrimitiveTypes.Float64}, Decimals: decimals,
					SD: 100, Mean: 500},
			}})
		must(tb, err)
		chains = append(chains, chain)
	}
	return chains
}

func grid(chains []*transform.Chain) func(m int) []Masker {
	return func(m int) []Masker {
		var maskers []Masker
		for _, c := range transform.Replicates(chains, m) {
			maskers = append(maskers, c)
		}
		return maskers
	}
}

// On the whole data a point of a map has the same R and U, bit by bit, as Measure for a release
// with those masks.
func TestExploreFindsWhatMeasureFinds(t *testing.T) {
	const n, m = 3000, 20
	key := testKey(t)
	chains := noises(t, key, 2, 10, 40, 160)
	originals := func() *microdata.Block { return wages(t, key, 0, n) }
	o := Options{Columns: []Column{{Name: "wage", Masked: true}}, Sample: -1, Key: key,
		Targets: []string{"min", "p10", "p99", "max"}, Replicates: m}
	a := newAccumulator(t, o)
	a.Add(originals())
	found,
		err := a.Explore(context.Background(),
		Exploration{Points: len(chains), Replicate: grid(chains), From: 1, Replicates: m})
	must(t, err)
	for p, chain := range chains {
		o.Replicate = func(m int) Masker { return chain.Replicate(m) }
		released := newAccumulator(t, o)
		b := originals()
		must(t, chain.Apply(b))
		released.Add(b)
		want := measured(t, released).Column("wage")
		got := found[p][0]
		if got.Utility.U != want.Utility.U || got.Utility.SE != want.Utility.SE ||
			got.Utility.Efficiency != want.Utility.Efficiency || got.Utility.Bias != want.Utility.Bias {
			t.Errorf("point %d: %+v, want %+v", p, got.Utility, want.Utility)
		}
		if !math.IsNaN(float64(got.Utility.RealisedU)) {
			t.Errorf("point %d: a release that was never made has U %v", p, got.Utility.RealisedU)
		}
		for i, r := range got.Risk {
			w := want.Risk[i]
			if r.Target != w.Target || r.Knowledge != w.Knowledge || r.R != w.R || r.SE != w.SE || r.RMSE != w.RMSE ||
				!math.IsNaN(float64(r.RealisedR)) {
				t.Errorf("point %d: %+v, want %+v", p, r, w)
			}
		}
	}
}

// With more records than the sample, a point of a map has the same R and U, bit by bit, as Measure
// for a release with those masks. They equal those of all records: R within five of both standard
// errors, where that of a mean of m squares is √(2/m).
func TestExploreOfASample(t *testing.T) {
	const n, m = 60_000, 60
	key := testKey(t)
	chains := noises(t, key, 2, 30, 100)
	o := Options{Columns: []Column{{Name: "wage", Masked: true}}, Key: key, Targets: []string{"min", "p10", "p90", "max"},
		Replicates: m}
	explored := func(sample int) [][]Explored {
		o.Sample = sample
		a := newAccumulator(t, o)
		a.Add(wages(t, key, 0, n))
		found, err := a.Explore(context.Background(), Exploration{Points: 2, Replicate: grid(chains), From: 1, Replicates: m,
			Law: func(point int, column string) Law { return lawOf(chains[point])(column) }})
		must(t, err)
		return found
	}
	full, part := explored(-1), explored(5_000)
	for p, chain := range chains {
		f, s := full[p][0], part[p][0]
		o.Sample, o.Replicate, o.Law = 5_000, func(m int) Masker { return chain.Replicate(m) }, lawOf(chain)
		b := wages(t, key, 0, n)
		must(t, chain.Apply(b))
		a := newAccumulator(t, o)
		a.Add(b)
		c := measured(t, a).Column("wage")
		if c.Utility.U != s.Utility.U || c.Utility.Bias != s.Utility.Bias ||
			c.Utility.EfficiencyGate != s.Utility.EfficiencyGate {
			t.Errorf("point %d: U %v, of a release %v", p, s.Utility, c.Utility)
		}
		if r := float64(s.Utility.U / f.Utility.U); !(math.Abs(r-1) <= 5*float64(f.Utility.SE/f.Utility.U)) {
			t.Errorf("point %d: U %v of that of all", p, r)
		}
		for i, r := range s.Risk {
			if own := c.Risk[i]; own.R != r.R || own.Errs != r.Errs || own.Target != r.Target || own.Knowledge != r.Knowledge {
				t.Errorf("point %d: %+v, of a release %+v", p, r, own)
			}
			// An estimate of R from a mean of m squares is skewed: √(2/m) of both.
			w, se := f.Risk[i], float64(r.SE)
			if e := math.Hypot(se, float64(w.SE)) + math.Sqrt(2./m)*0.5*float64(w.R); !(math.Abs(float64(r.R-w.R)) < 4*e) {
				t.Errorf("point %d, %s by %s: R %v ± %v, of all %v ± %v", p, r.Target, r.Knowledge, r.R, se, w.R, w.SE)
			}
		}
	}
}

// lawOf returns the laws of a chain for Options.
func lawOf(c *transform.Chain) func(string) Law {
	return func(column string) Law {
		if l, ok := c.Law(column); ok {
			return l
		}
		return nil
	}
}

// lift adds its region's number times 10 to every value: each group is known exactly.
type lift struct{ shift }

func (lift) Apply(b *microdata.Block) error {
	v := b.Columns[0].Mutable()
	for i := range v.Values {
		if v.Valid.Has(i) {
			v.Values[i] += 10 * (1 + b.Columns[2].Original.Values[i])
		}
	}
	return nil
}

func TestExploreByGroup(t *testing.T) {
	const n = 1200
	build := func(nulls bool) *Accumulator {
		b := new(microdata.Block)
		b.Reset(0, 0, n, 3)
		x := b.Columns[0].Alloc(n, nulls)
		job, region := b.Columns[1].Alloc(n, false), b.Columns[2].Alloc(n, true)
		for i := range n {
			x.Values[i] = float64((i * 7919) % n)
			job.Values[i], region.Values[i] = float64(i%2), float64(i%3)
			if nulls && i%5 == 0 {
				x.Valid.Clear(i)
			}
		}
		region.Valid.Clear(7) // in no group
		a := newAccumulator(t,
			Options{Columns: []Column{{Name: "x", Masked: true}}, Carry: []int{1, 2}, Sample: -1, Key: testKey(t),
				Targets: []string{"min", "p50", "max"}})
		a.Add(b)
		return a
	}
	for _, nulls := range []bool{false, true} {
		found, err := build(nulls).Explore(context.Background(), Exploration{
			Points: 1, From: 1, Replicates: 3, By: []int{2, 1},
			Replicate: func(int) []Masker { return []Masker{lift{}} },
		})
		must(t, err)
		groups := found[0][0].Groups
		if len(groups) != 6 {
			t.Fatalf("%d groups, want 3 regions × 2 jobs", len(groups))
		}
		total := 0
		for i, g := range groups {
			total += g.Records
			if want := []float64{float64(i / 2), float64(i % 2)}; !slices.Equal(g.Codes, want) {
				t.Errorf("group %d is of %v, want %v", i, g.Codes, want)
			}
			moved := 10 * (1 + g.Codes[0])
			for _, r := range g.Risk {
				if r.Knowledge == KnowledgeMean {
					continue
				}
				// Every value of the group moved by the same amount, and so did its order
				// statistics.
				if !(math.Abs(float64(r.RMSE)-moved) <= 1e-9) {
					t.Errorf("group %v, %s by %s: RMSE %v, want %v", g.Codes, r.Target, r.Knowledge, r.RMSE, moved)
				}
			}
			if !(math.Abs(float64(g.Utility.Bias)-moved) <= 1e-9) {
				t.Errorf("group %v: bias %v, want %v", g.Codes, g.Utility.Bias, moved)
			}
			if want := 1 / (1/float64(g.Utility.U0) + moved*moved); !(math.Abs(float64(g.Utility.U)/want-1) <= 1e-9) {
				t.Errorf("group %v: U %v, want %v", g.Codes, g.Utility.U, want)
			}
		}
		if total != n-1 {
			t.Errorf("%d records in groups, want %d", total, n-1)
		}
	}
}

// With many groups the points are computed in parts. This changes no result, and each point of each
// replicate is reported once.
func TestExploreInParts(t *testing.T) {
	const n, m = 2000, 20
	key := testKey(t)
	var sds []float64
	for i := range 50 {
		sds = append(sds, float64(10+i))
	}
	chains := noises(t, key, 2, sds...)
	a := newAccumulator(t,
		Options{Columns: []Column{{Name: "wage", Masked: true}}, Sample: -1, Key: key, Targets: []string{"p10"},
			Carry: []int{3}})
	b := wages(t, key, 0, n)
	groups := b.Columns[3].Alloc(n, false)
	b.Columns[3].Array = nil
	for i := range groups.Values {
		groups.Values[i] = float64(i % 500)
	}
	a.Add(b)
	if m*500*len(sds) <= answersAtOnce {
		t.Fatal("all points are in one part, so this tests nothing")
	}
	var done atomic.Int64
	e := Exploration{Points: len(chains), Replicate: grid(chains), From: 1, Replicates: m, By: []int{3},
		Done: func(points int) { done.Add(int64(points)) }}
	all, err := a.Explore(context.Background(), e)
	must(t, err)
	if done.Load() != int64(m*len(sds)) {
		t.Errorf("%d of %d reported", done.Load(), m*len(sds))
	}
	for p := range chains {
		if p%7 > 0 && p != len(chains)-1 {
			continue
		}
		e := e
		e.Points, e.Replicate = 1, grid(chains[p:p+1])
		one, err := a.Explore(context.Background(), e)
		must(t, err)
		if got, want := fmt.Sprint(all[p]), fmt.Sprint(one[0]); got != want {
			t.Errorf("point %d differs from its result alone", p)
		}
	}
}

func TestExploreDoesNotDependOnCores(t *testing.T) {
	key := testKey(t)
	chains := noises(t, key, 2, 10, 40)
	run := func() string {
		a := newAccumulator(t,
			Options{Columns: []Column{{Name: "wage", Masked: true}}, Sample: 2000, Key: key, Targets: []string{"p10", "max"}})
		a.Add(wages(t, key, 0, 6000))
		found, err := a.Explore(context.Background(), Exploration{Points: 2, Replicate: grid(chains), From: 5, Replicates: 9})
		must(t, err)
		return fmt.Sprint(found)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := run()
	runtime.GOMAXPROCS(4)
	if four := run(); one != four {
		t.Error("the results on one core and on four differ")
	}
}

func TestExploreRefuses(t *testing.T) {
	key := testKey(t)
	full := func() *Accumulator {
		a := newAccumulator(t, Options{Columns: []Column{{Name: "x", Masked: true}}, Sample: 10, Key: key, Mixes: true})
		a.Add(wages(t, key, 0, 100))
		return a
	}
	one := func(int) []Masker { return []Masker{unchanged{}} }
	a := newAccumulator(t, Options{Columns: []Column{{Name: "x", Masked: true}}, Key: key})
	a.Add(wages(t, key, 0, 100))
	const few = "needs at least 1 point and 2 replicates from number 1 on"
	for _, c := range []struct {
		name string
		a    *Accumulator
		e    Exploration
		want string
	}{
		{"no records", newAccumulator(t, Options{Columns: []Column{{Name: "x", Masked: true}}}),
			Exploration{Points: 1, Replicate: one, From: 1, Replicates: 2}, "there are no records"},
		{"no points", a, Exploration{Replicate: one, From: 1, Replicates: 2}, few},
		{"one replicate", a, Exploration{Points: 1, Replicate: one, From: 1, Replicates: 1}, few},
		{"the release", a, Exploration{Points: 1, Replicate: one, Replicates: 2}, few},
		{"a part for swaps", full(), Exploration{Points: 1, Replicate: one, From: 1, Replicates: 2},
			"need all records in the sample"},
		{"nothing wrong", a, Exploration{Points: 1, Replicate: one, From: 1, Replicates: 2}, ""},
	} {
		if _, err := c.a.Explore(context.Background(), c.e); (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := a.Explore(context.Background(),
		Exploration{Points: 1, Replicate: one, From: 1, Replicates: 2, By: []int{9}}); err == nil {
		t.Error("groups by a column that is not there: no error")
	}
}

// BenchmarkExplore measures a realistic map: 200 replicates of 20 grid points on 100,000 records of
// one column with 6 targets.
func BenchmarkExplore(b *testing.B) {
	key := testKey(b)
	var sds []float64
	for i := range 20 {
		sds = append(sds, 5+5*float64(i))
	}
	chains := noises(b, key, 2, sds...)
	a := newAccumulator(b,
		Options{Columns: []Column{{Name: "wage", Masked: true}}, Sample: -1, Key: key,
			Targets: []string{"min", "p01", "p10", "p90", "p99", "max"}})
	a.Add(wages(b, key, 0, 100_000))
	for b.Loop() {
		_, err := a.Explore(context.Background(), Exploration{Points: 20, Replicate: grid(chains), From: 1, Replicates: 200})
		must(b, err)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/(200*20*100_000), "ns/value")
}
