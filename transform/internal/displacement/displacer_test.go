package displacement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// someData returns records of a skewed protected column with nulls, two keys that many, few or no records share, and an
// attribute with uneven frequencies.
func someData(n int, seed uint64) func(from, to int) *microdata.Block {
	r := rand.New(rand.NewPCG(seed, 77))
	var columns [4][]float64
	null := map[int]bool{}
	for i := range n {
		keys := max(2, n/12)
		if r.IntN(3) == 0 { // a few groups have many records
			keys = 3
		}
		x := math.Round(math.Exp(8 + 0.5*r.NormFloat64()))
		if r.IntN(6) == 0 {
			x, null[i] = 0, true
		}
		for k, v := range []float64{x, float64(r.IntN(keys)), float64(r.IntN(2)), float64(min(r.IntN(5), r.IntN(5), 3))} {
			columns[k] = append(columns[k], v)
		}
	}
	return func(from, to int) *microdata.Block {
		b := new(microdata.Block)
		b.Reset(0, int64(from), to-from, len(columns))
		for k, values := range columns {
			v := b.Columns[k].Alloc(to-from, true)
			copy(v.Values, values[from:to])
			for i := range to - from {
				if k == 0 && null[from+i] {
					v.Valid.Clear(i)
				}
			}
		}
		return b
	}
}

// ofNoise is a Displacer of one swap of a column that has noise of standard deviation 3 too.
func ofNoise(rate float64, unique bool) *Displacer {
	p := &Pairer{Rate: rate, Unique: unique, Dataset: true}
	return New([]Column{{Index: 0, Swaps: []int{0}, Moments: func(float64) (shift, square float64) { return 0, 9 }}}, []*Swap{NewSwap([]int{1, 2, 3}, []int{0}, p)}, 100, nil)
}

// The direct computation for one swap over the data equals the general step-by-step one, bit by
// bit: with few and many combinations, rejected records, missing values, records that are not
// wanted, and records alone in their group.
func TestAloneIsTheGeneralWay(t *testing.T) {
	const n = 900
	records := someData(n, 9)
	for name, rate := range map[string]float64{"random": 0.6, "unique": 0.9} {
		d := ofNoise(rate, name == "unique")
		if err := d.Survey(records(0, n)); err != nil {
			t.Fatal(err)
		}
		d.EndSurvey()
		col := &d.columns[0]
		if !col.centred || col.Moments == nil || len(col.Swaps) != 1 || d.window {
			t.Fatal("the column must have a law and be moved by one swap over all records")
		}
		several := 0
		for _, wanted := range []func(i int) bool{nil, func(i int) bool { return i%5 > 1 }} {
			for from := 0; from < n; from += 90 {
				var two [2]*microdata.Block
				for k, way := range []func(w *displacing, b *microdata.Block) error{
					func(w *displacing, b *microdata.Block) error { return d.alone(w, b, 0, 0, b.N, d.swaps[0]) },
					func(w *displacing, b *microdata.Block) error {
						d.begin(w, b, 0, 0, b.N)
						if err := d.swaps[0].find(w, b, 0, b.N); err != nil {
							return err
						}
						if err := d.swaps[0].apply(w, 0, false, false); err != nil {
							return err
						}
						several += w.batches
						d.writeColumn(w, b, 0, 0, b.N)
						return nil
					},
				} {
					b := records(from, from+90)
					b.Reject(7, "a", "a fault")
					b.Columns[col.Index].Displace(b.N)
					w := &displacing{wanted: wanted}
					if err := way(w, b); err != nil {
						t.Fatal(err)
					}
					two[k] = b
				}
				// NaN prints as NaN, and every other number has a unique shortest form.
				if a, b := fmt.Sprint(two[0].Columns[col.Index].Moved), fmt.Sprint(two[1].Columns[col.Index].Moved); a != b {
					t.Fatalf("%s, records from %d: %v, want %v", name, from, a, b)
				}
			}
		}
		if (several > 20) != (name == "random") {
			t.Errorf("%s: %d batches in 20 blocks", name, several)
		}
	}
}

// A survey of exchanged numbers is refused if it has no records or more records than possible.
func TestSumsThatCannotBe(t *testing.T) {
	records := someData(30, 3)
	of := func() *Displacer { return ofNoise(0.7, false) }
	survey := func(change func(c *displacedCombo)) []byte {
		d := of()
		if err := d.Survey(records(0, 30)); err != nil {
			t.Fatal(err)
		}
		change(&d.ofDataset()[0].combos[0])
		return d.MarshalSurvey()
	}
	for name, change := range map[string]func(c *displacedCombo){
		"nothing":                func(*displacedCombo) {},
		"no records":             func(c *displacedCombo) { c.size = 0; clear(c.sums) },
		"more than there can be": func(c *displacedCombo) { c.size = -1 },
		"other keys":             func(c *displacedCombo) { c.group++ },
		"more values":            func(c *displacedCombo) { c.sums[0][0] = float64(c.size) + 1 },
		"fewer than no values":   func(c *displacedCombo) { c.sums[0][0] = -1 },
	} {
		if err := of().MergeSurvey(survey(change), 30); (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Sums of a combination are possible if their probabilities are; great values may have made others infinite.
func TestPlausibleMoments(t *testing.T) {
	for m, want := range map[moment]bool{{0, 1, 2}: true, {3, -1, 2}: true, {3, math.Inf(1), 2}: true, {-1e-3, 0, 0}: false, {3.001, 0, 0}: false} {
		if m.plausible(3) != want {
			t.Errorf("%v of 3 records: want %v", m, want)
		}
	}
	if (moment{math.NaN()}).plausible(3) {
		t.Error("a probability that is no number")
	}
}
