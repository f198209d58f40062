package audit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// randomSet makes one to three tables over some of four variables, of one or two
// hierarchies each.
func randomSet(t *testing.T, rng *rand.Rand) *tables.Set {
	var dims []*tables.Dimension
	for v := range 4 {
		var rows, other [][]string
		for i := range 2 + rng.IntN(3) {
			leaf := fmt.Sprint("l", i)
			rows = append(rows, []string{fmt.Sprint("A", i/2), leaf})
			other = append(other, []string{fmt.Sprint("B", i%2), leaf})
		}
		h := []tables.Hierarchy{tables.FromLevels("first", rows)}
		if rng.IntN(3) == 0 {
			h = append(h, tables.FromLevels("second", other))
		}
		dims = append(dims, tabletest.Dimension(t, fmt.Sprint("v", v), h...))
	}
	var ts []tables.Table
	for i := range 1 + rng.IntN(3) {
		var d []*tables.Dimension
		for _, v := range rng.Perm(4)[:1+rng.IntN(3)] {
			d = append(d, dims[v])
		}
		ts = append(ts, tables.Table{Name: fmt.Sprint("t", i), Dimensions: d})
	}
	return tabletest.Set(t, ts...)
}

// randomValues fills a set from one hypercube of all leaves, so that linked tables
// agree: skewed turnovers with decimals, many of them 0.
func randomValues(rng *rand.Rand, set *tables.Set) []float64 {
	of := map[string]*tables.Dimension{}
	for _, t := range set.Tables {
		for _, d := range t.Dimensions {
			of[d.Name] = d
		}
	}
	value := make([]float64, set.Cells())
	for range 100 + rng.IntN(100) {
		leaf := map[string]int32{}
		for v := range 4 {
			name := fmt.Sprint("v", v)
			pick := rng.IntN(1 << 20)
			if d := of[name]; d != nil {
				leaf[name] = d.Leaves(0)[pick%len(d.Leaves(0))]
			}
		}
		x := math.Round(10 * math.Exp(2*rng.NormFloat64()))
		for c := range value {
			table, nodes := set.Home(c)
			in := true
			for k, n := range nodes {
				d := set.Tables[table].Dimensions[k]
				under := false
				for _, l := range d.Leaves(n) {
					under = under || d.Codes[l] == of[d.Name].Codes[leaf[d.Name]]
				}
				in = in && under
			}
			if in {
				value[c] += x
			}
		}
	}
	return value
}

// All bounds of 200 random tables equal those of HiGHS to 1e-6 of the largest value.
func TestBoundsEqualHiGHS(t *testing.T) {
	rng := rand.New(rand.NewPCG(2026, 11))
	var questions []audit.Question
	var cells [][]int32
	for trial := range 200 {
		set := randomSet(t, rng)
		q := audit.Question{Set: set, Value: randomValues(rng, set), Hidden: make([]bool, set.Cells())}
		var ask []int32
		share := 1 - 0.5*rng.Float64()*rng.Float64()
		for c := range q.Hidden {
			q.Hidden[c] = rng.Float64() < share && (c > 0 || trial%5 == 0)
		}
		for _, c := range rng.Perm(set.Cells())[:min(60, set.Cells())] {
			ask = append(ask, int32(c))
		}
		if trial%4 == 0 { // known beforehand within some percent, some not at all
			q.Lower, q.Upper = make([]float64, len(q.Value)), make([]float64, len(q.Value))
			for c, v := range q.Value {
				q.Lower[c], q.Upper[c] = v*(0.5+0.4*rng.Float64()), v*(1.1+rng.Float64())
				if rng.IntN(6) == 0 {
					q.Lower[c], q.Upper[c] = math.Inf(-1), math.Inf(1)
				}
			}
		}
		questions, cells = append(questions, q), append(cells, ask)
	}
	low, high := tabletest.HiGHS(t, questions, cells)
	hidden, wide, endless := 0, 0, 0
	for i, q := range questions {
		r, err := audit.Audit(q)
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range cells[i] {
			eps := 1e-6 * (1 + math.Abs(q.Value[0]))
			if same := func(a, b float64) bool { return a == b || math.Abs(a-b) <= eps }; !same(r.Low[c], low[i][k]) ||
				!same(r.High[c], high[i][k]) {
				t.Fatalf("table %d, %s: %v to %v, HiGHS %v to %v", i, q.Set.Name(int(c)), r.Low[c], r.High[c], low[i][k],
					high[i][k])
			}
			switch {
			case !q.Hidden[c]:
				continue
			case math.IsInf(r.High[c], 1):
				endless++
			case r.High[c] > r.Low[c]:
				wide++
			}
			hidden++
		}
	}
	t.Logf("%d hidden cells, %d with a range, %d without an end", hidden, wide, endless)
	if wide < 1000 || endless < 50 || hidden-wide-endless < 500 {
		t.Error("the tables show too little")
	}
}
