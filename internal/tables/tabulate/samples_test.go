package tabulate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// The count of a cell in a sample of one in n is the number of its records whose draw is below 2⁶⁴/n,
// however the records are divided among accumulators. Without samples there are no such counts.
func TestSamplesAreCounted(t *testing.T) {
	set := linked(t)
	rng := rand.New(rand.NewPCG(16, 93))
	records := draw(rng, 400, false)
	draws := make([]uint64, len(records))
	for i := range draws {
		draws[i] = rng.Uint64()
	}
	for _, holdings := range []bool{false, true} {
		o := Options{Counts: true, Holdings: holdings, Samples: &Samples{OneIn: []int{2, 7}}}
		var whole *Accumulator
		for part := range 4 {
			a, problems := New(set, o)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			r := columns(a, records[100*part:100*part+100], o, false)
			r.Draws = draws[100*part : 100*part+100]
			if err := a.Add(r); err != nil {
				t.Fatal(err)
			}
			if whole == nil {
				whole = a
			} else if err := whole.Merge(a); err != nil {
				t.Fatal(err)
			}
		}
		cells, err := whole.Cells()
		if err != nil {
			t.Fatal(err)
		}
		for k, oneIn := range o.Samples.OneIn {
			for cell := range set.Cells() {
				table, nodes := set.Home(cell)
				want := int64(0)
				for i, x := range records {
					inside := float64(draws[i])*float64(oneIn) < math.Ldexp(1, 64)
					for d, n := range nodes {
						dimension := set.Tables[table].Dimensions[d]
						inside = inside && in(dimension.Codes[n], map[string]string{"region": x.region, "nace": x.nace}[dimension.Name])
					}
					if inside {
						want++
					}
				}
				if got := cells.Sampled[k][cell]; got != want {
					t.Errorf("one in %d, %s: %d, want %d", oneIn, set.Name(cell), got, want)
				}
			}
		}
	}
	a, _ := New(set, Options{Counts: true})
	if err := a.Add(columns(a, records, Options{Counts: true}, false)); err != nil {
		t.Fatal(err)
	}
	var none *tables.Cells
	if none, _ = a.Cells(); none.Sampled != nil {
		t.Error("samples of which there are none")
	}
}
