package tablerisk

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Beliefs about all counts below 3 of a table of 10,000 inner cells and four variables: as accurate as chains make
// them.
func BenchmarkJointOfFourVariables(b *testing.B) { joint(b, 0, 10, 10, 10, 10) }

// The same until a count is disclosed beyond doubt, which less noise does.
func BenchmarkDisclosedOfFourVariables(b *testing.B) { joint(b, 0.9, 10, 10, 10, 10) }

// The same of 100,000 inner cells.
func BenchmarkDisclosedOfAHundredThousand(b *testing.B) { joint(b, 0.9, 18, 18, 18, 17) }

// The same of a million inner cells, of which no count is disclosed beyond doubt.
func BenchmarkJointOfAMillion(b *testing.B) { joint(b, 0, 32, 32, 32, 31) }

func joint(b *testing.B, limit float64, sizes ...int) {
	var dimensions []*tables.Dimension
	for k, n := range sizes {
		dimensions = append(dimensions, tabletest.Flat(b, fmt.Sprint("v", k), n))
	}
	set := tabletest.Set(b, tables.Table{Dimensions: dimensions})
	rng := rand.New(rand.NewPCG(38, 8))
	l := laws(b)[2]
	if limit > 0 {
		l = laws(b)[0]
	}
	r := Release{Set: set, Truth: make([]int64, set.Cells()), Published: make([]int64, set.Cells()), Same: true,
		Limit: limit}
	r.Likelihood = func(cell int32) (int64, []float64) { return l.likelihood(r.Published[cell]) }
	m := newMoves(set)
	codes := make([]int, 4)
	for at := range m.inner(0) {
		m.choose(rng, 0, at, codes)
		n := int64(rng.IntN(9))
		for _, cell := range m.list(codes, nil) {
			r.Truth[cell] += n
		}
	}
	var wanted []int32
	for c, v := range r.Truth {
		r.Published[c] = l.change(v, rng.Uint64())
		if v > 0 && v < 3 {
			wanted = append(wanted, int32(c))
		}
	}
	for b.Loop() {
		j, err := NewJoint(r, wanted)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(wanted)), "unsafe")
		b.ReportMetric(float64(j.Sweeps), "sweeps")
		b.ReportMetric(j.error(), "worst-se")
	}
}
