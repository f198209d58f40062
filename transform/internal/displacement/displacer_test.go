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
	return New([]Column{{Index: 0, Swaps: []int{0}, Moments: func(float64) (shift, square float64) { return 0, 9 }}},
		[]*Swap{NewSwap([]int{1, 2, 3}, []int{0}, p)}, 100, nil)
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
	for m, want := range map[moment]bool{{0, 1, 2}: true, {3, -1, 2}: true, {3, math.Inf(1), 2}: true,
		{-1e-3, 0, 0}: false, {3.001, 0, 0}: false} {
		if m.plausible(3) != want {
			t.Errorf("%v of 3 records: want %v", m, want)
		}
	}
	if (moment{math.NaN()}).plausible(3) {
		t.Error("a probability that is no number")
	}
}

// shifted is a mask that adds a number to a column.
type shifted float64

func (s shifted) Apply(b *microdata.Block) error {
	v := b.Columns[0].Mutable()
	for i := range v.Values {
		v.Values[i] += float64(s)
	}
	return nil
}

// moved is what a Displacer says of records, as text: every number has a unique shortest form.
func moved(t *testing.T, d *Displacer, b *microdata.Block, wanted func(i int) bool) []string {
	t.Helper()
	if err := d.ApplyTo(b, wanted); err != nil {
		t.Fatal(err)
	}
	m, list := &b.Columns[0].Moved, []string{}
	for i := range b.N {
		list = append(list, fmt.Sprint(m.Weight[i], m.Total[i], m.Stay[i], m.Square[i], m.Likeliest[i], m.Mean[i]))
	}
	return list
}

// surveyOf is a Displacer that has seen records in blocks.
func surveyOf(t *testing.T, d *Displacer, records func(from, to int) *microdata.Block, from, to, size int) *Displacer {
	t.Helper()
	for ; from < to; from += size {
		if err := d.Survey(records(from, min(from+size, to))); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// Masks without a closed form are drawn: where their draws are a constant, the expectation is that of its closed form,
// in windows and in the whole data.
func TestDrawnMasks(t *testing.T) {
	const n = 400
	records := someData(n, 5)
	for _, dataset := range []bool{false, true} {
		for _, unique := range []bool{false, true} {
			of := func(moments func(float64) (float64, float64)) []string {
				p := &Pairer{Rate: 0.8, Unique: unique, Dataset: dataset}
				d := New([]Column{{Index: 0, Swaps: []int{0}, Moments: moments}}, []*Swap{NewSwap([]int{1, 2, 3}, []int{0}, p)},
					100, func(n int) (draws []Masked) {
						for range n {
							draws = append(draws, shifted(3))
						}
						return draws
					})
				if d.NeedsSurvey() != dataset {
					t.Fatal("whether it needs a survey")
				}
				if dataset {
					surveyOf(t, d, records, 0, n, 70).EndSurvey()
				}
				b := records(0, n)
				if err := d.Apply(b); err != nil {
					t.Fatal(err)
				}
				var list []string
				for i := range n {
					m := &b.Columns[0].Moved
					list = append(list, fmt.Sprintf("%.9g %.6g", m.Weight[i], m.Total[i]))
				}
				return list
			}
			closed, drawn := of(func(float64) (float64, float64) { return 3, 9 }), of(nil)
			for i := range closed {
				if closed[i] != drawn[i] {
					t.Fatalf("dataset %v, unique %v, record %d: %s drawn, %s in closed form", dataset, unique, i, drawn[i], closed[i])
				}
			}
		}
	}
}

// near reports whether two results of moved are the same but for a relative error.
func near(t *testing.T, a, b string, tolerance float64) bool {
	t.Helper()
	var x, y [6]float64
	for text, to := range map[string]*[6]float64{a: &x, b: &y} {
		if _, err := fmt.Sscan(text, &to[0], &to[1], &to[2], &to[3], &to[4], &to[5]); err != nil {
			t.Fatal(err)
		}
	}
	if a == b {
		return true
	}
	for j := range x {
		if both := x[j] != x[j] && y[j] != y[j]; !both && !(math.Abs(x[j]-y[j]) <= tolerance*(1+math.Abs(y[j]))) {
			return false
		}
	}
	return true
}

// For few wanted records, for many and for all the results are the same; a survey in parts, and decisions that another
// process takes over, give those of one survey.
func TestWantedAndParts(t *testing.T) {
	const n, first = 900, 410
	records := someData(n, 6)
	whole := surveyOf(t, ofNoise(0.7, false), records, 0, n, 100)
	whole.EndSurvey()
	want := moved(t, whole, records(0, n), nil)
	for _, every := range []int{2, 7, 9, 300} {
		got := moved(t, whole, records(0, n), func(i int) bool { return i%every == every-1 })
		for i := every - 1; i < n; i += every {
			if !near(t, got[i], want[i], 1e-12) { // sums of eight equal numbers are rounded
				t.Fatalf("every %d, record %d: %s, want %s", every, i, got[i], want[i])
			}
		}
	}
	one, two := surveyOf(t, ofNoise(0.7, false), records, 0, first, 100),
		surveyOf(t, ofNoise(0.7, false), records, first, n, 100)
	parts := [2][]byte{one.MarshalSurvey(), two.MarshalSurvey()}
	all := ofNoise(0.7, false)
	for k, records := range []int64{first, n - first} {
		if err := ofNoise(0.7, false).MergeSurvey(parts[k], records-1); err == nil {
			t.Error("more records than there can be")
		}
		if err := all.MergeSurvey(parts[k], records); err != nil {
			t.Fatal(err)
		}
	}
	all.EndSurvey()
	for k, at := range [][2]int{{0, first}, {first, n}} {
		decided, err := all.MarshalDecisions(parts[k])
		if err != nil {
			t.Fatal(err)
		}
		of := ofNoise(0.7, false)
		if err := of.UseDecisions(decided); err != nil {
			t.Fatal(err)
		}
		got := moved(t, of, records(at[0], at[1]), nil)
		for i, text := range got {
			if !near(t, text, want[at[0]+i], 1e-6) {
				t.Fatalf("record %d: %s in parts, want %s", at[0]+i, text, want[at[0]+i])
			}
		}
		for cut := 0; cut < len(decided); cut += 1 + cut/9 {
			if ofNoise(0.7, false).UseDecisions(decided[:cut]) == nil {
				t.Fatalf("%d of %d bytes are taken", cut, len(decided))
			}
		}
	}
}
