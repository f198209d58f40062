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

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// strataColumns are a category and two columns that form strata.
func strataColumns() []ColumnInfo {
	info := func(i int, name string, t arrow.DataType) ColumnInfo {
		return ColumnInfo{Name: name, Index: i, Field: microdata.Field{Name: name, Type: t, Nullable: true}, Decimals: -1}
	}
	return []ColumnInfo{info(0, "a", arrow.BinaryTypes.String), info(1, "s", arrow.BinaryTypes.String),
		info(2, "t", arrow.PrimitiveTypes.Int64)}
}

// strataBlock returns a block of records: a category, a text ("" for null) and a number each.
func strataBlock(first int64, records [][3]string) *microdata.Block {
	b := new(microdata.Block)
	b.Reset(0, first, len(records), 3)
	a, s, n := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator),
		array.NewInt64Builder(memory.DefaultAllocator)
	for _, r := range records {
		a.Append(r[0])
		if r[1] == "" {
			s.AppendNull()
		} else {
			s.Append(r[1])
		}
		n.Append(int64(len(r[2])))
	}
	b.Columns[0].Array, b.Columns[1].Array, b.Columns[2].Array = a.NewArray(), s.NewArray(), n.NewArray()
	return b
}

// counted returns the counts of the records, read in blocks of a size.
func counted(t *testing.T, m *PRAM, records [][3]string, size int) map[string]*Frequencies {
	t.Helper()
	list, err := NewFrequencies(m, strataColumns())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		for from := 0; from < len(records); from += size {
			if err := f.Count(strataBlock(int64(from), records[from:min(from+size, len(records))])); err != nil {
				t.Fatal(err)
			}
		}
	}
	return list
}

func strataRecords(n int) [][3]string {
	g := rand.New(rand.NewPCG(26, 11))
	records := make([][3]string, n)
	for i := range records {
		s := []string{"north", "north", "north", "south", ""}[g.IntN(5)]
		u := g.Float64()
		category := "z"
		switch {
		case s == "north" && u < 0.9, s == "south" && u < 0.02, s == "" && u < 0.5:
			category = "x"
		case s == "north" && u < 0.99, s == "" && u < 0.75:
			category = "y" // none in the south
		}
		records[i] = [3]string{category, s, strings.Repeat("i", g.IntN(2))}
	}
	return records
}

// twoStages is the law of a category under the two-stage procedure in a stratum with the given
// counts, by definition: the second stage draws back in proportion to the expected numbers of each
// category that became the drawn one.
func twoStages(keep float64, counts map[string]float64, from string) map[string]float64 {
	first := func(a, b string) float64 {
		if a == b {
			return keep
		}
		return (1 - keep) / 2
	}
	law := map[string]float64{}
	for _, l := range []string{"x", "y", "z"} {
		became := 0.0
		for k, n := range counts {
			became += n * first(k, l)
		}
		for k, n := range counts {
			law[k] += first(from, l) * n * first(k, l) / became
		}
	}
	return law
}

// In every stratum a category is released as each other with the probability of the two-stage law,
// and every count keeps its expectation. A share of n records has the standard deviation
// √(p(1−p)/n), and a count the root of the sum of n·p(1−p) over its original categories. Five of
// them are exceeded less than once in a million, and there are about sixty figures.
func TestInvariantInStrata(t *testing.T) {
	records := strataRecords(150_000)
	m := &PRAM{Columns: []string{"a"}, Keep: ptr(0.7), Categories: []string{"x", "y", "z"}, Invariant: true,
		By: []string{"s", "t"}}
	if ps := m.Check(); len(ps) > 0 {
		t.Fatal(ps)
	}
	frequencies := counted(t, m, records, 7_777)
	c := chain(t, Setup{Key: testKey(t, 3), Columns: strataColumns(), Frequencies: frequencies}, mask(m))
	original, released := map[[2]string]map[string]float64{}, map[[2]string]map[string]map[string]float64{}
	const size = 10_000
	for from := 0; from < len(records); from += size {
		b := apply(t, c, strataBlock(int64(from), records[from:from+size]))
		out := b.Columns[0].OutArray().(*array.String)
		for i, r := range records[from : from+size] {
			stratum := [2]string{r[1], r[2]}
			if original[stratum] == nil {
				original[stratum], released[stratum] = map[string]float64{},
					map[string]map[string]float64{"x": {}, "y": {}, "z": {}}
			}
			original[stratum][r[0]]++
			released[stratum][r[0]][out.Value(i)]++
			if b.Rejected(i) {
				t.Fatalf("record %d is rejected", from+i)
			}
		}
	}
	if len(original) != 6 || len(frequencies) != 1 {
		t.Fatalf("%d strata, %d counts", len(original), len(frequencies))
	}
	for _, f := range frequencies {
		if f.Strata() != 6 {
			t.Errorf("%d strata are counted", f.Strata())
		}
	}
	for stratum, counts := range original {
		expected, variance, got := map[string]float64{}, map[string]float64{}, map[string]float64{}
		for from, n := range counts {
			for to, p := range twoStages(0.7, counts, from) {
				share, sd := released[stratum][from][to]/n, math.Sqrt(p*(1-p)/n)
				if !(math.Abs(share-p) <= 5*sd+1e-12) {
					t.Errorf("%q: %s is released as %s with share %v, want %v ± %v", stratum, from, to, share, p, sd)
				}
				expected[to] += n * p
				variance[to] += n * p * (1 - p)
				got[to] += released[stratum][from][to]
			}
		}
		for to, n := range got {
			if !(math.Abs(expected[to]-counts[to]) <= 1e-9*float64(len(records))) ||
				!(math.Abs(n-counts[to]) <= 5*math.Sqrt(variance[to])) {
				t.Errorf("%q: %v of %s, %v expected, of %v", stratum, n, to, expected[to], counts[to])
			}
		}
	}
}

// The draws depend neither on the order of the records nor on the limits of the blocks. A different
// count gives different draws.
func TestFrequenciesNameDraws(t *testing.T) {
	records := strataRecords(2_000)
	m := &PRAM{Columns: []string{"a"}, Keep: ptr(0.7), Categories: []string{"x", "y", "z"}, Invariant: true,
		By: []string{"s"}}
	done := func(m *PRAM, records [][3]string, size int) string {
		return chain(t, Setup{Key: testKey(t, 3), Columns: strataColumns(), Frequencies: counted(t, m, records, size)},
			mask(m)).Done()
	}
	want := done(m, records, 100)
	turned := slices.Clone(records)
	slices.Reverse(turned)
	if done(m, turned, 333) != want {
		t.Error("the draws depend on the order of the records")
	}
	for name, other := range map[string]string{
		"a record less": done(m, records[1:], 100),
		"without strata": done(&PRAM{Columns: m.Columns, Keep: m.Keep, Categories: m.Categories, Invariant: true}, records,
			100),
		"another keep": done(&PRAM{Columns: m.Columns, Keep: ptr(0.6), Categories: m.Categories, Invariant: true,
			By: m.By}, records, 100),
		"not invariant": done(&PRAM{Columns: m.Columns, Keep: m.Keep, Categories: m.Categories}, records, 100),
		"by another column": done(&PRAM{Columns: m.Columns, Keep: m.Keep, Categories: m.Categories, Invariant: true,
			By: []string{"t"}}, records, 100),
	} {
		if other == want {
			t.Errorf("%s: draws with different frequencies have the same name", name)
		}
	}
}

// In replicates strata are codes, and each record stays in its stratum.
func TestStrataOfCodes(t *testing.T) {
	records := strataRecords(300)
	m := &PRAM{Columns: []string{"a"}, Keep: ptr(0.7), Categories: []string{"x", "y", "z"}, Invariant: true,
		By: []string{"s", "t"}}
	arrays := strataBlock(0, records)
	codes := new(microdata.Block)
	codes.Reset(0, 0, len(records), 3)
	for k := range codes.Columns {
		v := codes.Columns[k].Alloc(codes.N, true)
		for i := range v.Values {
			x := microdata.CodeOf(arrays.Columns[k].Array, i)
			if v.Values[i] = x; x == x {
				v.Valid.Set(i)
			} else {
				v.Valid.Clear(i)
			}
		}
	}
	for _, f := range counted(t, m, records, 50) {
		w := new(core.Work)
		strata, err := f.Find(w, arrays, []int{1, 2})
		if err != nil {
			t.Fatal(err)
		}
		strata = slices.Clone(strata)
		again, err := f.Find(w, codes, []int{1, 2})
		if err != nil || !slices.Equal(strata, again) || slices.Max(strata) != 5 || slices.Min(strata) != 0 {
			t.Errorf("%v\n%v, %v", strata, again, err)
		}
		codes.Columns[2].Original = microdata.Vector{}
		if _, err := f.Find(w, codes, []int{1, 2}); err != core.ErrNoStratum {
			t.Errorf("a block without a column: %v", err)
		}
	}
}

// A category that its stratum did not have in the first pass sends its record to quarantine, and so
// does a new stratum: nothing of the record is released unmasked.
func TestCategoriesThatWereNotCounted(t *testing.T) {
	for _, other := range []*string{nil, ptr("z")} {
		m := &PRAM{Columns: []string{"a"}, Keep: ptr(0.7), Categories: []string{"x", "y", "z"}, Invariant: true,
			By: []string{"s"}, Other: other}
		frequencies := counted(t, m, [][3]string{{"x", "n"}, {"y", "n"}, {"x", "s"}, {"w", "s"}}, 3)
		c := chain(t, Setup{Key: testKey(t, 3), Columns: strataColumns(), Frequencies: frequencies}, mask(m))
		b := apply(t, c,
			strataBlock(0, [][3]string{{"x", "n"}, {"z", "n"}, {"y", "s"}, {"x", "east"}, {"x", ""}, {"w", "s"}}))
		want := []bool{false, true, true, true, true, other == nil}
		for i, rejected := range want {
			if b.Rejected(i) != rejected {
				t.Errorf("other %v: record %d is rejected: %v", other, i, b.Rejected(i))
			}
		}
		for _, r := range b.Rejects {
			if r.Column != "a" || strings.Contains(r.Reason, "east") {
				t.Errorf("%+v", r)
			}
		}
	}
}

func TestFrequenciesAreRefused(t *testing.T) {
	invariant := func(by ...string) *PRAM {
		return &PRAM{Columns: []string{"a"}, Keep: ptr(0.7), Categories: []string{"x", "y", "z"}, Invariant: true, By: by}
	}
	for path, m := range map[string]*PRAM{
		"by":    {Columns: []string{"a"}, Keep: ptr(0.5), Categories: []string{"x", "y"}, By: []string{"s"}},
		"by[0]": invariant("a"),
		"by[1]": invariant("s", "s"),
	} {
		if ps := m.Check(); !slices.ContainsFunc(ps, func(p check.Problem) bool { return p.Path == path }) {
			t.Errorf("%s: %v", path, ps)
		}
	}
	given := invariant("s")
	given.Frequencies = map[string]float64{"x": 1, "y": 1, "z": 1}
	if ps := given.Check(); len(ps) != 1 || ps[0].Path != "by" || !strings.Contains(ps[0].Text, "with frequencies") {
		t.Errorf("%v", ps)
	}
	recode := mask(&Recode{Columns: []string{"s"}, Map: map[string]string{"north": "n"}, Other: ptr("o")})
	rates := mask(&Sample{By: "t", Rates: map[string]float64{"0": 0.5}, Rate: ptr(0.1)})
	for name, c := range map[string]struct {
		masks []Spec
		want  string // "": this order is allowed
	}{
		"behind a mask of a stratum": {[]Spec{recode, mask(invariant("s"))},
			`[1].pram: must come before recode ([0]), which changes column "s"`},
		"behind one of another column": {[]Spec{recode, mask(invariant("t"))}, ""},
		"before it":                    {[]Spec{mask(invariant("s")), recode}, ""},
		"with frequencies": {
			[]Spec{recode, mask(&PRAM{Columns: []string{"a"}, Keep: ptr(0.7), Invariant: true, Frequencies: given.Frequencies})},
			""},
		"behind a sample": {[]Spec{mask(&Sample{Rate: ptr(0.5)}), mask(invariant())}, ""},
		"behind a sample of several rates": {[]Spec{rates, mask(invariant())},
			"[1].pram: must have frequencies after sample ([0])"},
	} {
		at := slices.IndexFunc(c.masks, func(s Spec) bool { return s.Kind() == "pram" })
		list := c.masks[at].Params.(*PRAM).CheckAmong(c.masks, at)
		if c.want == "" && len(list) > 0 || c.want != "" &&
			(len(list) != 1 || !strings.HasPrefix(list[0].Path+": "+list[0].Text, c.want)) {
			t.Errorf("%s: %v", name, list)
		}
	}
	columns := strataColumns()
	if _, err := NewChain([]Spec{mask(invariant("s"))}, Setup{Key: testKey(t, 3), Columns: columns}); err == nil ||
		!strings.Contains(err.Error(), `invariant: needs the frequencies of column "a", which are not known`) {
		t.Errorf("not counted: %v", err)
	}
	for want, m := range map[string]*PRAM{
		`columns: there is no column "b"`: {Columns: []string{"b"}, Keep: ptr(0.7),
			Categories: []string{"x", "y"}, Invariant: true},
		`by[0]: there is no column "u"`: invariant("u"),
		`categories: column "t" holds numbers, and "x" is none`: {Columns: []string{"t"}, Keep: ptr(0.7),
			Categories: []string{"x", "1"}, Invariant: true},
	} {
		if _, err := NewFrequencies(m, columns); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if list, err := NewFrequencies(given, columns); list != nil || err != nil {
		t.Errorf("frequencies are given: %v, %v", list, err)
	}
	// Strata of one record each, for a mask with 2,000 categories: two matrices fit into the memory
	// limit.
	many := invariant("t")
	for i := range 2_000 {
		many.Categories = append(many.Categories, "c"+core.NumberText(float64(i)))
	}
	list, err := NewFrequencies(many, columns)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		records := [][3]string{{"x", "", ""}, {"x", "", "i"}, {"x", "", "i"}}
		if err := f.Count(strataBlock(0, records)); err != nil {
			t.Errorf("two strata: %v", err)
		}
		if err := f.Count(strataBlock(3, [][3]string{{"x", "", "ii"}})); err == nil ||
			!strings.HasPrefix(err.Error(), "must not have so many strata") {
			t.Errorf("three strata: %v", err)
		}
	}
}

// The law of unchanged categories is the mean over their strata.
func TestCategoriesStayInStrata(t *testing.T) {
	m := &PRAM{Columns: []string{"t"}, Keep: ptr(0.5), Categories: []string{"0", "1"}, Invariant: true, By: []string{"s"}}
	records := [][3]string{{"", "n", ""}, {"", "n", ""}, {"", "n", ""}, {"", "n", "i"}, {"", "s", "i"}}
	columns := strataColumns()
	c := chain(t, Setup{Key: testKey(t, 3), Columns: columns, Frequencies: counted(t, m, records, 2)}, mask(m))
	// North has three 0 and one 1. With keep 1/2, a first draw is either value, and the second draw
	// is 0 with probability 3/4. In the south all are 1 and stay.
	law := c.Keeping("t", 1, true)
	for x, want := range map[float64]float64{0: 0.75, 1: (0.25 + 1) / 2, 7: 0} {
		if got := law.Share(x); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%v stays with %v, want %v", x, got, want)
		}
	}
}

// If no record has a category, there is no stratum and no matrix: all values stay missing, without
// an error.
func TestNothingToCount(t *testing.T) {
	for name, by := range map[string][]string{"by a column": {"s"}, "of all records": nil} {
		m := &PRAM{Columns: []string{"a"}, Keep: ptr(0.7), Categories: []string{"x", "y"}, Invariant: true, By: by,
			Other: ptr("x")}
		empty := func() *microdata.Block {
			b := strataBlock(0, strataRecords(50))
			b.Columns[0].Array = array.MakeArrayOfNull(memory.DefaultAllocator, arrow.BinaryTypes.String, b.N)
			return b
		}
		list, err := NewFrequencies(m, strataColumns())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if err := f.Count(empty()); err != nil || f.Strata() != 0 {
				t.Fatalf("%s: %v, %d strata", name, err, f.Strata())
			}
		}
		c, err := NewChain([]Spec{mask(m)}, Setup{Key: testKey(t, 4), Columns: strataColumns(), Frequencies: list})
		if err != nil {
			t.Fatal(err)
		}
		b := empty()
		if err := c.Apply(b); err != nil || len(b.Rejects) > 0 || b.Columns[0].OutArray().NullN() != b.N {
			t.Errorf("%s: %v, %v, %d missing of %d", name, err, b.Rejects, b.Columns[0].OutArray().NullN(), b.N)
		}
	}
}
