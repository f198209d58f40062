package transform

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// displacements applies the Displacer of a chain to columns in blocks.
func displacements(t *testing.T, c *Chain, size int, columns []testColumn) []microdata.Moved {
	t.Helper()
	n := len(columns[0].Values)
	d := c.Displacer()
	for from := 0; d.NeedsSurvey() && from < n; from += size {
		if err := d.Survey(block(from, min(from+size, n), columns...)); err != nil {
			t.Fatal(err)
		}
	}
	d.EndSurvey()
	var out []microdata.Moved
	for from := 0; from < n; from += size {
		b := block(from, min(from+size, n), columns...)
		if err := d.Apply(b); err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Columns[0].Moved)
	}
	return out
}

// The expectation for every record is compared with the mean over whole releases of the chain: z =
// (mean − expectation)/SE must have the spread of a normal variable over the records, and the
// overall mean must agree.
func TestDisplacementIsThatOfReleases(t *testing.T) {
	racetest.Alone(t)
	chains := displacementChains()
	for i, name := range slices.Sorted(maps.Keys(chains)) {
		masks := chains[name]
		for _, nulls := range []bool{false, true} {
			if testing.Short() && nulls != (i%2 == 0) {
				continue // each chain once
			}
			t.Run(fmt.Sprint(name, nulls), func(t *testing.T) { compareDisplacement(t, masks, nulls) })
		}
	}
}

func compareDisplacement(t *testing.T, masks []Spec, nulls bool) {
	const n, window, replicates = 900, 300, 400
	sigma := 1.2
	if len(masks) > 1 {
		sigma = 0.5 // if there are many possible partners, the mean over the few distant ones is skewed
	}
	columns := displacementData(n, 5, sigma, nulls)
	setup := testSetup(t, columns...)
	setup.Window = window
	c := chain(t, setup, masks...)
	own := displacementOwn(t, setup, masks, columns)
	displaced := displacements(t, c, n, columns)[0]
	sum, squares, there := make([]float64, n), make([]float64, n), make([]float64, n)
	var totals, totalSquares float64
	for m := 1; m <= replicates; m++ {
		r := c.Replicate(m)
		if r.NeedsSurvey() {
			surveyed(t, r, n, columns...)
		}
		b := apply(t, r, block(0, n, columns...))
		x, y := b.Columns[0].Original, b.Columns[0].Out()
		total := 0.0
		for i := range n {
			if x.Valid.Has(i) && y.Valid.Has(i) {
				d := (x.Values[i] - y.Values[i]) * (x.Values[i] - y.Values[i])
				there[i]++
				sum[i] += d
				squares[i] += d * d
				total += d
			}
		}
		totals += total
		totalSquares += total * total
	}
	total, beyond, judged, dev := 0.0, 0, 0, make([]float64, len(displaced.Deviations))
	for i := range n {
		total += displaced.Total[i]
		for k := range dev {
			dev[k] += float64(displaced.Deviations[k][i])
		}
		if displaced.Weight[i] == 0 {
			if there[i] > 0 {
				t.Fatalf("record %d has no weight", i)
			}
			continue
		}
		// 5 standard errors of a share of 400.
		if d := math.Abs(there[i]/replicates - displaced.Weight[i]); d > 0.125 {
			t.Errorf("record %d is there in %v, want %v", i, there[i]/replicates, displaced.Weight[i])
		}
		mean := sum[i] / there[i]
		se := math.Sqrt(max(0, squares[i]/there[i]-mean*mean) / there[i])
		expected := displaced.Stay[i]*own[i] + displaced.Square[i]
		if se == 0 || there[i] < 130 {
			if mean > expected*1.5+1 && there[i] > 20 {
				t.Errorf("record %d: %v, expected %v", i, mean, expected)
			}
			continue
		}
		judged++
		if !(math.Abs(mean-expected) <= 3*(se+math.Sqrt(displaced.Noise[i])+0.05*displaced.Stay[i]*own[i])) {
			beyond++
		}
	}
	// Of normal variables 0.3 % exceed 3. Records decided by a rare exchange are skewed, and more
	// of them exceed it.
	if beyond > 3+judged/60 {
		t.Errorf("%d of %d records are beyond 3 standard errors", beyond, judged)
	}
	var noise float64
	for _, v := range dev {
		noise += v * v / float64(len(dev)*(len(dev)-1))
	}
	mean := totals / replicates
	se := math.Sqrt((totalSquares/replicates - mean*mean) / replicates)
	if !(math.Abs(mean-total) <= 4*math.Hypot(se, math.Sqrt(noise))) {
		t.Errorf("the sum is %v ± %v, expected %v ± %v", mean, se, total, math.Sqrt(noise))
	}
	if noise > 0 && math.Sqrt(noise) > 0.1*total {
		t.Errorf("the expected sum is %v ± %v", total, math.Sqrt(noise))
	}
}

// displacementOwn estimates E(x − y)² of the masks that move nothing, from 500 replicates.
func displacementOwn(t *testing.T, setup Setup, masks []Spec, columns []testColumn) []float64 {
	n := len(columns[0].Values)
	own := make([]float64, n)
	rest := Unmixed(masks)
	if len(rest) == 0 {
		return own
	}
	c := chain(t, setup, rest...)
	for m := 5001; m <= 5500; m++ {
		b := apply(t, c.Replicate(m), block(0, n, columns...))
		for i, y := range b.Columns[0].Out().Values {
			own[i] += (y - columns[0].Values[i]) * (y - columns[0].Values[i]) / 500
		}
	}
	return own
}

// A rejected record is not released: it has no weight and is no one's partner. The result for one
// column does not depend on the number of other columns that a swap moves.
func TestDisplacementOfRejectedRecordsAndFurtherColumns(t *testing.T) {
	const n = 400
	columns := displacementData(n, 9, 1, true)
	rejected := 150
	for slices.Contains(columns[0].Null, rejected) {
		rejected++
	}
	columns = append(columns, floats(0, columns[0].Values...))
	fewer := make([]testColumn, len(columns))
	for k, c := range columns {
		fewer[k] = testColumn{Values: append(append([]float64{}, c.Values[:rejected]...), c.Values[rejected+1:]...),
			Type: c.Type}
		for _, i := range c.Null {
			if i != rejected {
				fewer[k].Null = append(fewer[k].Null, i-btoi(i > rejected))
			}
		}
	}
	for _, policy := range []string{"unique", "random"} {
		for _, scope := range []string{"", "dataset"} {
			of := func(columns []testColumn, swapped []string, reject bool) microdata.Moved {
				m := swapMask(policy, scope, 0.5)
				m.Columns = swapped
				d := chain(t, testSetup(t, columns...), mask(m)).Displacer()
				b := block(0, len(columns[0].Values), columns...)
				if reject {
					b.Reject(rejected, "d", "test")
				}
				if err := d.Survey(b); err != nil {
					t.Fatal(err)
				}
				d.EndSurvey()
				if err := d.Apply(b); err != nil {
					t.Fatal(err)
				}
				return b.Columns[0].Moved
			}
			with, two, without := of(columns, []string{"a"}, true), of(columns, []string{"e", "a"}, true),
				of(fewer, []string{"a"}, false)
			if with.Weight[rejected] != 0 || with.Total[rejected] != 0 || !math.IsNaN(with.Square[rejected]) {
				t.Errorf("%s %s: a rejected record has weight %v", policy, scope, with.Weight[rejected])
			}
			for i := range n - 1 {
				k := i + btoi(i >= rejected)
				for _, pair := range [][2]float64{{with.Total[k], without.Total[i]}, {with.Weight[k], without.Weight[i]},
					{with.Total[k], two.Total[k]}} {
					if !(math.Abs(pair[0]-pair[1]) <= 1e-9*math.Abs(pair[0])) {
						t.Fatalf("%s %s: record %d: %v", policy, scope, i, pair)
					}
				}
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// If results are wanted for some records only, they equal those for all records: any value in a
// window may move to one of them.
func TestDisplacementOfWantedRecords(t *testing.T) {
	const n, window = 240, 80
	columns := displacementData(n, 4, 0.5, true)
	many := func(i int) bool { return i%3 == 1 || i > window-4 }
	few := func(i int) bool { return i == 0 || i%30 == 29 || i == window-1 }
	for _, scope := range []string{"window", "dataset"} {
		for k, policy := range []string{"random", "unique", "random", "unique"} {
			wanted := many
			if k > 1 {
				wanted = few
			}
			setup := testSetup(t, columns...)
			setup.Window = window
			c := chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: amount(3)}), mask(swapMask(policy, scope, 0.7)))
			d := c.Displacer()
			blocks := func(do func(b *microdata.Block) error) {
				for from := 0; from < n; from += window {
					if err := do(block(from, from+window, columns...)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if d.NeedsSurvey() {
				blocks(d.Survey)
			}
			d.EndSurvey()
			var all []microdata.Moved
			blocks(func(b *microdata.Block) error {
				err := d.Apply(b)
				all = append(all, b.Columns[0].Moved)
				return err
			})
			k, moving := 0, 0
			blocks(func(b *microdata.Block) error {
				err := d.ApplyTo(b, wanted)
				got, want := b.Columns[0].Moved, all[k]
				k++
				same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) || a != a && b != b }
				for i := range b.N {
					if !wanted(i) {
						if scope == "dataset" &&
							(got.Weight[i] != 0 || got.Total[i] != 0 || got.Stay[i] == got.Stay[i] || got.Square[i] == got.Square[i] ||
								got.Noise[i] == got.Noise[i]) {
							t.Errorf("%s: record %d, which is not wanted, has a result", policy, i)
						}
						continue
					}
					if !same(got.Stay[i], want.Stay[i]) || !same(got.Square[i], want.Square[i]) ||
						!same(got.Weight[i], want.Weight[i]) || !same(got.Total[i], want.Total[i]) {
						t.Fatalf("%s, %s: record %d stays with %v and %v, and with %v and %v where all are wanted", scope, policy, i,
							got.Stay[i], got.Total[i], want.Stay[i], want.Total[i])
					}
					if want.Stay[i] < 1 {
						moving++
					}
				}
				return err
			})
			if moving == 0 {
				t.Errorf("%s, %s: no record moves", scope, policy)
			}
		}
	}
}

// The result for a record does not depend on the limits of the blocks.
func TestDisplacementInPieces(t *testing.T) {
	const n = 2*core.Batch/4 + 37
	columns := displacementData(n, 4, 0.5, true)
	setup := testSetup(t, columns...)
	results := func(size int) (all []microdata.Moved) {
		d := chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: amount(3)}),
			mask(swapMask("random", "dataset", 0.7))).Displacer()
		if err := d.Survey(block(0, n, columns...)); err != nil {
			t.Fatal(err)
		}
		d.EndSurvey()
		for from := 0; from < n; from += size {
			b := block(from, min(from+size, n), columns...)
			if err := d.Apply(b); err != nil {
				t.Fatal(err)
			}
			for i := range b.N {
				m := b.Columns[0].Moved
				all = append(all, microdata.Moved{Stay: m.Stay[i : i+1], Square: m.Square[i : i+1], Weight: m.Weight[i : i+1],
					Total: m.Total[i : i+1]})
			}
		}
		return all
	}
	whole, parts := results(n), results(500)
	for i := range whole {
		a, b := whole[i], parts[i]
		if math.Float64bits(a.Stay[0]) != math.Float64bits(b.Stay[0]) ||
			math.Float64bits(a.Total[0]) != math.Float64bits(b.Total[0]) || a.Weight[0] != b.Weight[0] {
			t.Fatalf("record %d: stays with %v, and with %v in blocks of 500", i, a.Stay[0], b.Stay[0])
		}
	}
	if len(whole) != n || len(parts) != n {
		t.Errorf("%d and %d records", len(whole), len(parts))
	}
}

// The result for a record does not depend on other records in the block if one swap of scope
// dataset and policy random moves the column, and no mask before it changes its keys.
func TestWhichColumnsAreIndependentOfOtherRecords(t *testing.T) {
	columns := displacementData(60, 2, 0.5, true)
	noise := mask(&Noise{Columns: []string{"a"}, SD: amount(3)})
	random := mask(swapMask("random", "dataset", 0.7))
	for name, c := range map[string]struct {
		masks  []Spec
		column int
		want   bool
	}{
		"random, over the data":   {[]Spec{noise, random}, 0, true},
		"random alone":            {[]Spec{random}, 0, true},
		"a key, which stays":      {[]Spec{noise, random}, 1, false},
		"no column":               {[]Spec{noise, random}, 99, false},
		"unique":                  {[]Spec{noise, mask(swapMask("unique", "dataset", 0.7))}, 0, false},
		"random, within a window": {[]Spec{noise, mask(swapMask("random", "window", 0.7))}, 0, false},
		"a swap before":           {[]Spec{mask(swapMask("random", "window", 0.3)), noise, random}, 0, false},
		"a key is changed before": {[]Spec{mask(&Bias{Columns: []string{"b"}, Phi: ptr(0.1)}), random}, 0, false},
	} {
		d := chain(t, testSetup(t, columns...), c.masks...).Displacer()
		if got := d.Independent(c.column); got != c.want {
			t.Errorf("%s: independent is %v", name, got)
		}
	}
}
