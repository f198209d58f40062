package transform

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// drawnBy returns which records a sample releases, in blocks of a size.
func drawnBy(t *testing.T, setup Setup, m *Sample, size int, columns ...testColumn) []bool {
	t.Helper()
	c := chain(t, setup, mask(m))
	n := len(columns[0].Values)
	kept := make([]bool, n)
	left := 0
	for from := 0; from < n; from += size {
		b := apply(t, c, block(from, min(from+size, n), columns...))
		for i := range b.N {
			kept[from+i] = !b.Rejected(i)
		}
		left += b.LeftOut()
	}
	if got := c.Touched()[0].Records; got != int64(left) {
		t.Errorf("%d records are reported as left out, %d are", got, left)
	}
	return kept
}

func share(kept []bool, of func(i int) bool) (drawn, n float64) {
	for i, k := range kept {
		if of(i) {
			n++
			if k {
				drawn++
			}
		}
	}
	return drawn, n
}

// far reports whether a count of n draws with probability p differs from np by more than 5 standard
// deviations √(np(1−p)), which happens less than once in a million.
func far(drawn, n, p float64) bool { return math.Abs(drawn-n*p) > 5*math.Sqrt(n*p*(1-p)) }

// Each record is drawn with the probability of its stratum, independently of its neighbours,
// wherever the blocks are cut.
func TestSampleDrawsTheRates(t *testing.T) {
	const n = 60_000
	strata, other := floats(0, make([]float64, n)...), floats(2, incomes(n, 3)...)
	for i := range strata.Values {
		strata.Values[i] = float64(i % 3)
	}
	setup := testSetup(t, other, strata)
	m := &Sample{Rate: ptr(0.1), By: "b", Rates: map[string]float64{"1": 0.5, "2": 1}}
	kept := drawnBy(t, setup, m, n, other, strata)
	for s, rate := range []float64{0.1, 0.5, 1} {
		drawn, of := share(kept, func(i int) bool { return i%3 == s })
		if far(drawn, of, rate) {
			t.Errorf("stratum %d: %v of %v drawn, rate %v", s, drawn, of, rate)
		}
	}
	both := 0.0 // of record 3j+1 and the next one of its stratum
	for i := 1; i+3 < n; i += 6 {
		if kept[i] && kept[i+3] {
			both++
		}
	}
	if far(both, n/6, 0.25) {
		t.Errorf("%v of %d pairs drawn together, want a quarter", both, n/6)
	}
	for _, size := range []int{1, 777, 4096, 50_000} {
		if size == 1 {
			if got := drawnBy(t, setup, m, size, floats(2, other.Values[:300]...),
				floats(0, strata.Values[:300]...)); !slices.Equal(got, kept[:300]) {
				t.Error("single records: another sample")
			}
		} else if got := drawnBy(t, setup, m, size, other, strata); !slices.Equal(got, kept) {
			t.Errorf("blocks of %d records: another sample", size)
		}
	}
	// Another key and another name draw other records: independent samples both contain a record
	// with probability 1/4.
	setup.Key = testKey(t, 200)
	another := drawnBy(t, setup, m, n, other, strata)
	twice, of := 0.0, 0.0
	for i := 1; i < n; i += 3 {
		of++
		if kept[i] && another[i] {
			twice++
		}
	}
	if far(twice, of, 0.25) {
		t.Errorf("another key: %v of %v in both samples, want a quarter", twice, of)
	}
}

// A sample with a smaller rate is a subset of one with a greater rate, whatever the values are, so
// several releases together reveal no more records.
func TestSamplesAreNested(t *testing.T) {
	const n = 5000
	a, b := floats(2, incomes(n, 3)...), floats(2, incomes(n, 4)...)
	setup := testSetup(t, a)
	few, many := drawnBy(t, setup, &Sample{Rate: ptr(0.2)}, n, a), drawnBy(t, setup, &Sample{Rate: ptr(0.6)}, n, b)
	for i := range few {
		if few[i] && !many[i] {
			t.Fatalf("record %d is in a sample of 20 %% and not in one of 60 %%", i)
		}
	}
	if all := drawnBy(t, setup, &Sample{Rate: ptr(1.0)}, n, a); slices.Contains(all, false) {
		t.Error("with rate 1 a record is left out")
	}
}

// With identity a sample consists of respondents: the same ones in every order of the records, with
// all their records.
func TestSampleOfIdentities(t *testing.T) {
	const n = 3000
	a, ids := floats(2, incomes(n, 3)...), floats(0, make([]float64, n)...)
	for i := range ids.Values {
		ids.Values[i] = float64(i / 2)
	}
	setup := testSetup(t, a, ids)
	setup.Identity = []int{1}
	m := &Sample{Rate: ptr(0.3)}
	kept := drawnBy(t, setup, m, n, a, ids)
	in := map[float64]bool{}
	for i, id := range ids.Values {
		if was, known := in[id]; known && was != kept[i] {
			t.Fatalf("respondent %v: one record is drawn and another is not", id)
		}
		in[id] = kept[i]
	}
	drawn := 0.0
	for _, k := range in {
		if k {
			drawn++
		}
	}
	if far(drawn, n/2, 0.3) {
		t.Errorf("%v of %d respondents drawn, rate 0.3", drawn, n/2)
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	x, y := floats(2, make([]float64, n)...), floats(0, make([]float64, n)...)
	for i, j := range order {
		x.Values[i], y.Values[i] = a.Values[j], ids.Values[j]
	}
	for i, k := range drawnBy(t, setup, m, 512, x, y) {
		if k != kept[order[i]] {
			t.Fatal("in another order another respondent is drawn")
		}
	}
}

// A drawn record has the same release as without a sample, for masks that treat each record
// separately. Other records do not count as changed.
func TestSampleLeavesTheDrawsOfOtherMasks(t *testing.T) {
	const n = 2000
	a := floats(2, incomes(n, 5)...)
	setup := testSetup(t, a)
	noise := mask(&Noise{Columns: []string{"a"}, SD: amount(10)})
	whole := release(t, setup, []testColumn{a}, noise)
	c := chain(t, setup, mask(&Sample{Rate: ptr(0.5)}), noise)
	b := apply(t, c, block(0, n, a))
	for i, y := range b.Columns[0].Out().Values {
		if !b.Rejected(i) && y != whole[i] {
			t.Fatalf("record %d is released as %v, without a sample as %v", i, y, whole[i])
		}
	}
	if got := c.Touched()[1].Records; got > int64(b.Kept()) || got < int64(b.Kept())*9/10 {
		t.Errorf("noise is reported to have changed %d of %d released records", got, b.Kept())
	}
	if b.Kept()+b.LeftOut() != n || len(b.Rejects) != 0 {
		t.Errorf("%d kept and %d left out of %d, %d rejected", b.Kept(), b.LeftOut(), n, len(b.Rejects))
	}
	// The replicates contain the drawn records.
	r := apply(t, c.Replicate(3), block(0, n, a))
	if r.Kept() != n {
		t.Errorf("a replicate leaves out %d of %d records", n-r.Kept(), n)
	}
	if !c.Draws() ||
		chain(t, setup, mask(&Sample{Rate: ptr(0.5)}), mask(&Round{Columns: []string{"a"}, Decimals: ptr(0)})).Draws() {
		t.Error("the drawn records are reported wrongly")
	}
}

// Masks of all records use the drawn records only: groups and combinations of k consist of k
// released records.
func TestSampleBeforeMasksOfAllRecords(t *testing.T) {
	const n = 1200
	a, b := floats(0, make([]float64, n)...), floats(0, make([]float64, n)...)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range n {
		a.Values[i], b.Values[i] = math.Floor(r.Float64()*8), math.Floor(r.Float64()*8)
	}
	setup := testSetup(t, a, b)
	for name, last := range map[string]Params{
		"suppress":       &Suppress{Keys: []string{"a", "b"}, K: ptr(4), Missing: "none"},
		"microaggregate": &Microaggregate{Columns: []string{"a", "b"}, K: ptr(4)},
	} {
		c := surveyed(t, chain(t, setup, mask(&Sample{Rate: ptr(0.25)}), mask(last)), 100, a, b)
		out := apply(t, c, block(0, n, a, b))
		x, y := out.Columns[0].Out(), out.Columns[1].Out()
		counts := map[[2]float64]int{}
		for i := range n {
			if !out.Rejected(i) && x.Valid.Has(i) && y.Valid.Has(i) {
				counts[[2]float64{x.Values[i], y.Values[i]}]++
			}
		}
		for combination, k := range counts {
			if k < 4 {
				t.Errorf("%s: %v is released %d times, k = 4", name, combination, k)
			}
		}
		if len(counts) == 0 {
			t.Errorf("%s: no combination is released", name)
		}
	}
}

// Strata of text, of a dictionary and of numbers; a stratum that is not listed, and no strata.
func TestSampleStrata(t *testing.T) {
	list := []string{"x", "", "y", "z", "x"}
	build := func(typ arrow.DataType) arrow.Array {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		for i, s := range list {
			if i == 1 {
				b.AppendNull()
			} else if err := b.AppendValueFromString(s); err != nil {
				t.Fatal(err)
			}
		}
		return b.NewArray()
	}
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}} {
		setup := Setup{Key: testKey(t, 1), Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: typ}}}}
		c := chain(t, setup, mask(&Sample{By: "a", Rates: map[string]float64{"x": 1, "y": 1e-300}}))
		b := new(microdata.Block)
		b.Reset(0, 0, len(list), 1)
		b.Columns[0].Array = build(typ)
		apply(t, c, b)
		if b.Rejected(0) || b.Rejected(4) || b.LeftOut() != 1 || !b.Rejected(2) {
			t.Errorf("%s: strata of rate 1 and 0 are not distinguished", typ)
		}
		if len(b.Rejects) != 2 || b.Rejects[0].Row != 1 || b.Rejects[1].Row != 3 || b.Rejects[1].Column != "a" {
			t.Errorf("%s: rejected: %v", typ, b.Rejects)
		}
	}
}

func TestSampleRefusals(t *testing.T) {
	for _, c := range []struct {
		m    Sample
		want string
	}{
		{Sample{}, "rate: must be given"},
		{Sample{Rate: ptr(0.0)}, "rate: must be a probability above 0 and at most 1, got 0"},
		{Sample{Rate: ptr(1.5)}, "rate: must be a probability above 0"},
		{Sample{Rate: ptr(math.NaN())}, "rate: must be a probability above 0"},
		{Sample{Rate: ptr(0.5), By: "a"}, "rates: must be given with by"},
		{Sample{Rates: map[string]float64{"x": 0.5}}, "by: must name the column"},
		{Sample{By: "a", Rates: map[string]float64{"x": 0.5, "y": 0}}, "rates.y: must be a probability"},
		{Sample{By: "a", Rates: map[string]float64{}}, "rates: must list at least one"},
	} {
		var all []string
		for _, p := range c.m.Check() {
			all = append(all, p.Error())
		}
		if got := strings.Join(all, "; "); !strings.HasPrefix(got, c.want) || len(all) != 1 {
			t.Errorf("%+v: %q, want %q", c.m, got, c.want)
		}
	}
	noise, one := mask(&Noise{Columns: []string{"a"}, SD: amount(1)}), mask(&Sample{Rate: ptr(0.5)})
	for _, masks := range [][]Spec{{noise, one}, {one, one}, {one, noise, one}} {
		if ps := CheckSpecs(masks); len(ps) != 1 || !strings.Contains(ps[0].Error(), ".sample: must be the first mask") {
			t.Errorf("%d masks: %v", len(masks), ps)
		}
	}
	a := floats(0, 1, 2)
	for want, m := range map[string]*Sample{
		`masks[0].sample.by: there is no column "z"`:              {By: "z", Rates: map[string]float64{"1": 0.5}},
		`masks[0].sample.rates: column "a" holds numbers`:         {By: "a", Rates: map[string]float64{"x": 0.5}},
		`masks[0].sample.rates: "1" and "1.0" are the same value`: {By: "a", Rates: map[string]float64{"1": 0.5, "1.0": 0.2}},
	} {
		if _, err := NewChain([]Spec{mask(m)}, testSetup(t, a)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
