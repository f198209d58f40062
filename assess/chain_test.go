package assess

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// The program's own masks: noise, and swaps by text keys, which a replicate sees as codes. Release
// and replicates have the same distribution, so their mean squared differences agree.
func TestReplicatesOfTheChain(t *testing.T) {
	const n, window = 12_000, 4000
	key := testKey(t)
	number := func(v float64) *float64 { return &v }
	noise := transform.Spec{Params: &transform.Noise{Columns: []string{"wage"}, SD: &transform.Amount{Value: 40}}}
	for name, c := range map[string]struct {
		masks []transform.Spec
		mixes bool
	}{
		"noise": {[]transform.Spec{noise}, false},
		"swap window": {
			[]transform.Spec{
				{Params: &transform.Swap{Keys: []string{"job"}, Attribute: "region", Columns: []string{"wage", "name"},
					Rate: number(0.4), Policy: "random", Scope: "window"}}}, true},
		"swap dataset and noise": {
			[]transform.Spec{{Params: &transform.Swap{Keys: []string{"job"}, Attribute: "region", Columns: []string{"wage"},
				Rate: number(0.4), Policy: "random", Scope: "dataset"}}, noise}, true},
	} {
		for _, sample := range []int{-1, 6000} {
			t.Run(fmt.Sprint(name, " ", sample), func(t *testing.T) {
				columns := []transform.ColumnInfo{
					{Name: "wage", Index: 0, Field: microdata.Field{Name: "wage", Type: arrow.PrimitiveTypes.Float64}, Decimals: 2,
						SD: 100, Mean: 500},
					{Name: "job", Index: 1, Field: microdata.Field{Name: "job", Type: arrow.BinaryTypes.String}},
					{Name: "region", Index: 2, Field: microdata.Field{Name: "region", Type: arrow.BinaryTypes.String}},
				}
				masked := append(columns[:3:3],
					transform.ColumnInfo{Name: "name", Index: 3, Field: microdata.Field{Name: "name", Type: arrow.BinaryTypes.String}})
				chain, err := transform.NewChain(c.masks, transform.Setup{Key: key, Columns: masked, Window: window})
				must(t, err)
				replicates, err := transform.NewChain(c.masks, transform.Setup{Key: key, Columns: columns, Window: window})
				must(t, err)
				a := newAccumulator(t, Options{
					Columns: []Column{{Name: "wage", Masked: true}}, Sample: sample, Targets: []string{"min", "p50", "max"}, Key: key,
					Replicates: 10, Replicate: func(m int) Masker {
						return replicates.Replicate(m)
					}, Mixes: c.mixes, Carry: []int{1, 2},
				})
				blocks := func(each func(b *microdata.Block)) {
					for from := 0; from < n; from += window {
						each(wages(t, key, from, window))
					}
				}
				if chain.NeedsSurvey() {
					blocks(func(b *microdata.Block) { must(t, chain.Survey(b)) })
					must(t, chain.EndSurvey())
				}
				blocks(func(b *microdata.Block) {
					must(t, chain.Apply(b))
					a.Add(b)
				})
				r := risk(t, measured(t, a).Column("wage"), TargetTypical, KnowledgeIndex)
				// Mean of (x−y)²: the relative SD of a square is below 3, so 12,000 of the release
				// and 60,000 of replicates agree within 5·3·√(1/12000+1/60000) = 15 %. A swap on
				// half of the sample finds partners as well as one on the whole.
				if ratio := float64(r.R / r.RealisedR); !(math.Abs(ratio-1) < 0.15) || float64(r.RMSE) < 30 {
					t.Errorf("R %v, realised %v", r.R, r.RealisedR)
				}
				if r.Sampled != (sample > 0) {
					t.Errorf("sampled: %v", r.Sampled)
				}
			})
		}
	}
}

// Of 40,000 records with 2,500 keys few are unique in key and region, but most of a sample of 4,000
// are. The exchanges in replicates of the sample must not be used as those of the release.
func TestSwapOfASampleDoesNotUnderstateRisk(t *testing.T) {
	const n = 40_000
	key := testKey(t)
	rate := 0.5
	masks := []transform.Spec{
		{
			Params: &transform.Swap{Keys: []string{"job"}, Attribute: "region", Columns: []string{"wage"}, Rate: &rate,
				Scope: "dataset"}}}
	setup := transform.Setup{Key: key, Window: n}
	for i, name := range []string{"wage", "job", "region"} {
		setup.Columns = append(setup.Columns,
			transform.ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64},
				Decimals: 2, SD: 100, Mean: 500})
	}
	chain, err := transform.NewChain(masks, setup)
	must(t, err)
	a := newAccumulator(t, Options{
		Columns: []Column{{Name: "wage", Masked: true}}, Sample: 4000, Targets: []string{"p90"}, Key: key,
		Replicates: 10, Replicate: func(m int) Masker { return chain.Replicate(m) }, Mixes: true, Carry: []int{1, 2},
	})
	block := func() *microdata.Block {
		b := new(microdata.Block)
		b.Reset(0, 0, n, 3)
		for c := range b.Columns {
			key.Stream("swap", fmt.Sprint(c), 0).Uniforms(b.Columns[c].Alloc(n, false).Values, keystream.Records{})
		}
		for i := range n {
			wage, job, region := &b.Columns[0].Original.Values[i], &b.Columns[1].Original.Values[i],
				&b.Columns[2].Original.Values[i]
			*wage, *job, *region = math.Round(1e5**wage)/100, math.Floor(2500**job), math.Floor(4**region)
		}
		return b
	}
	must(t, chain.Survey(block()))
	must(t, chain.EndSurvey())
	b := block()
	must(t, chain.Apply(b))
	a.Add(b)
	// The mean of (x−y)² over a few thousand exchanged records: 5·√(1/2000) = 11 %.
	if r := risk(t, measured(t, a).Column("wage"), TargetTypical,
		KnowledgeIndex); !(math.Abs(float64(r.R/r.RealisedR)-1) < 0.12) {
		t.Errorf("R %v, realised %v", r.R, r.RealisedR)
	}
}

// A swap keeps the mean, and the report says so for a release with more records than the sample.
// There the extreme records are added to the sample in every replicate, and their values are
// exchanged. Missing values are exchanged like others.
func TestSwapOfASampleHasNoBias(t *testing.T) {
	const n = 20_000
	key := testKey(t)
	rate := 0.8
	for _, scope := range []string{"window", "dataset"} {
		masks := []transform.Spec{
			{
				Params: &transform.Swap{Keys: []string{"job"}, Attribute: "region", Columns: []string{"wage"}, Rate: &rate,
					Policy: "random", Scope: scope}}}
		setup := transform.Setup{Key: key, Window: n}
		for i, name := range []string{"wage", "job", "region"} {
			setup.Columns = append(setup.Columns,
				transform.ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64},
					Decimals: 2})
		}
		chain, err := transform.NewChain(masks, setup)
		must(t, err)
		a := newAccumulator(t, Options{
			Columns: []Column{{Name: "wage", Masked: true}}, Sample: 2000, Targets: []string{"p90"}, Key: key,
			Replicates: 20, Replicate: func(m int) Masker { return chain.Replicate(m) }, Mixes: true, Carry: []int{1, 2},
		})
		block := func() *microdata.Block {
			b := new(microdata.Block)
			b.Reset(0, 0, n, 3)
			for c := range b.Columns {
				key.Stream("mean", fmt.Sprint(c), 0).Uniforms(b.Columns[c].Alloc(n, c == 0).Values, keystream.Records{})
			}
			for i := range n {
				wage, job, region := &b.Columns[0].Original.Values[i], &b.Columns[1].Original.Values[i],
					&b.Columns[2].Original.Values[i]
				*wage, *job, *region = math.Round(100 / *wage)/100, math.Floor(3**job), math.Floor(4**region)
				if i%50 == 0 {
					b.Columns[0].Original.Valid.Clear(i)
				}
			}
			return b
		}
		if chain.NeedsSurvey() {
			must(t, chain.Survey(block()))
			must(t, chain.EndSurvey())
		}
		b := block()
		must(t, chain.Apply(b))
		a.Add(b)
		for name, measure := range map[string]func(context.Context) (*Measures, error){
			"whole": a.Measure, "quick": a.MeasureQuick} {
			m, err := measure(context.Background())
			must(t, err)
			// Only rounding errors, for any draws.
			if u := m.Column("wage").Utility; !(math.Abs(float64(u.Efficiency)-1) < 1e-9) ||
				!(math.Abs(float64(u.Bias)) < 1e-9) {
				t.Errorf("%s, %s: %+v", scope, name, u)
			}
		}
	}
}

// wages has 3 jobs and 4 regions; wages differ by region.
func wages(tb testing.TB, key keystream.Key, from, n int) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, int64(from), n, 4)
	v := b.Columns[0].Alloc(n, false)
	key.Stream("wage", "", 0).Normals(v.Values, keystream.Records{First: int64(from)})
	builders := [3]*array.StringBuilder{}
	for i := range builders {
		builders[i] = array.NewStringBuilder(memory.DefaultAllocator)
	}
	for i, z := range v.Values {
		row := from + i
		v.Values[i] = math.Round(100*(500+100*z+30*float64(row%4))) / 100
		builders[0].Append(fmt.Sprint("job ", row/4%3))
		builders[1].Append(fmt.Sprint("region ", row%4))
		builders[2].Append(fmt.Sprint("person ", row))
	}
	for i, s := range builders {
		b.Columns[i+1].Array = s.NewArray()
	}
	return b
}

// The share of a release's mean of (x−y)² in that of replicates of a sample is at most 1; if the
// replicates change nothing, there is no such share.
func TestExchangedShareIsAtMostOne(t *testing.T) {
	for _, c := range []struct{ release, replicates, want float64 }{
		{2, 4, 0.5}, {4, 4, 1}, {5, 4, 1}, {0, 4, 0}, {0.25, 0.5, 0.5}, {3, 0, 1}, {0, 0, 1}, {3, math.NaN(), 1},
	} {
		if got := exchangedShare(c.release, c.replicates); got != c.want {
			t.Errorf("%v of %v: a share of %v, want %v", c.release, c.replicates, got, c.want)
		}
	}
}
