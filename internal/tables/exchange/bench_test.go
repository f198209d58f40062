package exchange

import (
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Beliefs about all counts of 1 and 2, of outsiders and of respondents, in a table of 99 × 101 inner cells after three
// passes.
func BenchmarkBeliefsAfterThreePasses(b *testing.B) {
	set := tabletest.Set(b,
		tables.Table{Name: "t", Dimensions: []*tables.Dimension{tabletest.Flat(b, "a", 99), tabletest.Flat(b, "c", 101)}})
	rng := rand.New(rand.NewPCG(38, 15))
	value := make([]float64, set.Cells())
	f := NewFrame(set, 0, 0)
	for i := range f.rows {
		for j := range f.columns {
			f.add(value, i, j, float64(rng.IntN(9)))
		}
	}
	p := f.Perturb(value, 0.5, drawsOf(1))
	var unsafe []int32
	for cell, v := range value {
		if v > 0 && v < 3 {
			unsafe = append(unsafe, int32(cell))
		}
	}
	for b.Loop() {
		counts, err := p.Counts(unsafe, true, nil)
		if err != nil {
			b.Fatal(err)
		}
		sure, worst := 0, 0.0
		for _, cell := range unsafe {
			belief := counts[cell].Belief()
			if belief.Highest() > 0.9 {
				sure++
			}
			worst = max(worst, belief.Error(int64(value[cell])))
			counts[cell].Respondents(func(*tablerisk.Belief) {})
		}
		b.ReportMetric(float64(len(unsafe)), "unsafe")
		b.ReportMetric(float64(sure), "sure")
		b.ReportMetric(worst, "worst-se")
	}
}

// The same beliefs after swaps in two passes, under both priors.
func BenchmarkBeliefsAfterSwaps(b *testing.B) {
	set := tabletest.Set(b,
		tables.Table{Name: "t", Dimensions: []*tables.Dimension{tabletest.Flat(b, "a", 99), tabletest.Flat(b, "c", 101)}})
	rng := rand.New(rand.NewPCG(38, 15))
	value := make([]float64, set.Cells())
	f := NewFrame(set, 0, 0)
	for i := range f.rows {
		for j := range f.columns {
			f.add(value, i, j, float64(rng.IntN(9)))
		}
	}
	s := f.Swap(value, 0.3, make([]bool, 2), keyedBy(1))
	for b.Loop() {
		unsafe := 0
		for cell, v := range value {
			if v == 0 || v > 2 {
				continue
			}
			unsafe++
			count := s.Count(int32(cell))
			for _, prior := range []Prior{Even, Independent} {
				count.Belief(prior)
				count.Respondents(prior, func(int64, []float64) {})
			}
		}
		b.ReportMetric(float64(unsafe), "unsafe")
	}
}
