package transform

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// Replicates that take turns in memory, many at a time, of other masks, numbers of records and blocks, are those of
// chains that have memory of their own; and what one mask keeps for others (microaggregation draws nothing) is not
// overwritten.
func TestReplicatesTakeTurnsInMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 91))
	type trial struct {
		of      *Chain
		columns []testColumn
		size    int
		want    [][]float64
		m       int
	}
	run := func(c *Chain, columns []testColumn, size int) (values [][]float64) {
		n := len(columns[0].Values)
		for from := 0; from < n; from += size {
			if err := c.Survey(block(from, min(from+size, n), columns...)); err != nil {
				t.Error(err)
				return nil
			}
		}
		if err := c.EndSurvey(); err != nil {
			t.Error(err)
			return nil
		}
		values = make([][]float64, len(columns))
		for from := 0; from < n; from += size {
			b := block(from, min(from+size, n), columns...)
			if err := c.Apply(b); err != nil {
				t.Error(err)
				return nil
			}
			for k := range columns {
				values[k] = append(values[k], b.Columns[k].Out().Values...)
			}
		}
		return values
	}
	var trials []*trial
	for _, n := range []int{300, 900} {
		columns := []testColumn{floats(1), floats(1), floats(0), floats(-1)}
		for i := range n {
			z := r.NormFloat64()
			columns[0].Values = append(columns[0].Values, math.Round(100+50*z)/10)
			columns[1].Values = append(columns[1].Values, math.Round(max(0, 100*z+50*r.NormFloat64()))/10)
			columns[2].Values = append(columns[2].Values, float64(i%3))
			columns[3].Values = append(columns[3].Values, z+r.NormFloat64())
		}
		columns[1].Null = []int{1, n / 2, n - 1}
		setup := testSetup(t, columns...)
		for _, masks := range [][]Spec{
			{mask(&RankSwap{Columns: []string{"a", "b"}, P: ptr(0.2)})},
			{mask(&Shuffle{Columns: []string{"a", "b"}, On: []string{"d"}})},
			{mask(&Synthesise{Columns: []string{"a", "b"}, On: []string{"d"}, By: []string{"c"}})},
			{mask(&Synthesise{Columns: []string{"a", "b"}, On: []string{"d"}, Method: "cart"})},
			{mask(&Synthesise{Columns: []string{"c", "a"}, Categories: []string{"c"}, Method: "normal"})},
			{mask(&Microaggregate{Columns: []string{"a"}, K: ptr(3)}), mask(&RankSwap{Columns: []string{"d"}, P: ptr(0.1)})},
			{mask(&Microaggregate{Columns: []string{"a", "d"}, K: ptr(4)})},
		} {
			c := chain(t, setup, masks...)
			for _, size := range []int{n, 128} {
				for m := 1; m <= 2; m++ {
					trials = append(trials,
						&trial{of: c, columns: columns, size: size, want: run(c.Replicate(m), columns, size), m: m})
				}
			}
		}
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for k := range 2 * len(trials) {
				of := trials[(k*(2*worker+1)+worker)%len(trials)]
				c := of.of.Replicate(of.m)
				got := run(c, of.columns, of.size)
				c.Discard()
				for col := range of.want {
					if !slices.EqualFunc(got[col], of.want[col], func(a, b float64) bool {
						return math.Float64bits(a) == math.Float64bits(b)
					}) {
						t.Errorf("%s of %d records in blocks of %d: other values in column %d", of.of.Labels, len(got[col]), of.size, col)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	last := trials[0]
	c := last.of.Replicate(1)
	run(c, last.columns, last.size)
	c.Discard()
	if err := c.Apply(block(0, 10, last.columns...)); err == nil || !strings.Contains(err.Error(), "needs a survey") {
		t.Errorf("a chain that has given its memory away masks on: %v", err)
	}
	surveyed(t, last.of, last.size, last.columns...)
	last.of.Discard() // a release has nothing to give away
	apply(t, last.of, block(0, 10, last.columns...))
}

// A block whose records all have values is released as one whose records are taken one by one: where the survey had
// other blocks, in several runs, and where it begins within one. A value that the survey did not see is an error in
// both, as is a record.
func TestBlocksAreReleasedAsRecordsAre(t *testing.T) {
	const n = 700
	x, other := make([]float64, n), make([]float64, n)
	r := rand.New(rand.NewPCG(8, 3))
	for i := range x {
		x[i], other[i] = math.Round(100*r.NormFloat64())/10, r.NormFloat64()
	}
	columns := []testColumn{floats(1, x...), floats(-1, other...)}
	setup := testSetup(t, columns...)
	c := surveyed(t, chain(t, setup, mask(&RankSwap{Columns: []string{"a", "b"}, P: ptr(0.3)})), 128, columns...)
	want := [2][]float64{}
	for i := range n { // of one record each, found by itself
		b := apply(t, c, block(i, i+1, columns...))
		for k := range want {
			want[k] = append(want[k], b.Columns[k].Out().Values[0])
		}
	}
	s := c.Steps[0].(*gathered.Step)
	for _, at := range [][2]int{{0, n}, {0, 64}, {1, 66}, {100, 300}, {n - 65, n}} {
		all, each := block(at[0], at[1], columns...), block(at[0], at[1], columns...)
		for i := range each.N { // with places of their own
			each.Places = append(each.Places, each.First+int64(i))
		}
		apply(t, c, each)
		apply(t, c, all)
		for k := range want {
			got, plain := all.Columns[k].Out().Values, each.Columns[k].Out().Values
			if !slices.Equal(got, want[k][at[0]:at[1]]) || !slices.Equal(got, plain) {
				t.Errorf("records %v, column %d: other values", at, k)
			}
		}
		changed := 0
		for i := at[0]; i < at[1]; i++ {
			if want[0][i] != x[i] || want[1][i] != other[i] {
				changed++
			}
		}
		if all.Touched[0] != int64(changed) {
			t.Errorf("records %v: %d changed, want %d", at, all.Touched[0], changed)
		}
	}
	if err := c.Apply(block(0, 10, floats(1, make([]float64, 10)...), floats(-1, make([]float64, 10)...))); err != nil {
		t.Error(err) // other values, but as many
	}
	s.Data.Values[1][40] = math.NaN()
	if err := c.Apply(block(0, n, columns...)); err == nil ||
		!strings.Contains(err.Error(), "a value that the first pass did not see") {
		t.Errorf("a value that was missing in the survey: %v", err)
	}
	late := block(0, 100, columns...)
	late.First = n - 50
	if err := c.Apply(late); err == nil || !strings.Contains(err.Error(), "a record that the first pass did not see") {
		t.Errorf("records that were not there in the survey: %v", err)
	}
}
