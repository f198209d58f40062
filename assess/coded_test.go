package assess

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// codedAccumulator has n records whose every fourth value is the code −9, and every fourth −8.
func codedAccumulator(t *testing.T, from, n int, null bool) *Accumulator {
	t.Helper()
	m := &microdata.Missing{Codes: []string{"-9", "-8", "-7"}, Null: null}
	a,
		err := New(Options{Columns: []Column{{Name: "x", Index: 0, Masked: true}}, Sample: -1, Key: keytest.Key(1),
		Coded: []CodedColumn{{Name: "x", Codes: m.Texts(), Null: null}}})
	if err != nil {
		t.Fatal(err)
	}
	var b microdata.Block
	b.Reset(0, int64(from), n, 1)
	v := b.Columns[0].Alloc(n, false)
	for i := range n {
		v.Values[i] = []float64{-9, float64(from + i), -8, float64(from+i) + 0.5}[i%4]
	}
	f := microdata.Field{Type: arrow.PrimitiveTypes.Float64, Missing: m}
	(&microdata.Layout{Schema: &microdata.Schema{Fields: []microdata.Field{f}}, Read: []microdata.Want{{}}}).ClearMissing(
		&b)
	b.Reject(0, "x", "a test")
	b.Columns[0].Coded.Drop(2)
	a.Add(&b)
	return a
}

// Declared codes are counted by code in the records that are released; they are in no moment, and the sample tells the
// kept ones apart. All of that is the same after a merge and after encoding.
func TestDeclaredCodesAreCounted(t *testing.T) {
	racetest.Further(t)
	for _, null := range []bool{false, true} {
		a := codedAccumulator(t, 0, 80, null)
		if err := a.Merge(codedAccumulator(t, 100, 40, null)); err != nil {
			t.Fatal(err)
		}
		text, err := a.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		again := codedAccumulator(t, 0, 4, null)
		if err := again.UnmarshalBinary(text); err != nil {
			t.Fatal(err)
		}
		for _, a := range []*Accumulator{a, again} {
			m, err := a.Measure(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c := m.MissingCodes[0]
			if c.Column != "x" || c.As != map[bool]string{false: "keep", true: "null"}[null] ||
				!slices.Equal(c.Codes, []MissingCode{{"-9", 28}, {"-8", 30}, {"-7", 0}}) {
				t.Errorf("null %v: counted %+v", null, c)
			}
			if o := m.Columns[0].Original; o.N != 60 || o.Min != 1 || o.Nulls != 58 {
				t.Errorf("null %v: moments %+v", null, o)
			}
			if w := AbsentCodes(m.MissingCodes); len(w) != 1 || !strings.Contains(w[0], "-7") || strings.Contains(w[0], "-9") {
				t.Errorf("warnings %v", w)
			}
			p := a.Pairs()
			before, after := map[uint64]int{}, map[uint64]int{}
			for i, x := range p.Original[0] {
				if _, coded := microdata.MissingCode(x); coded {
					before[math.Float64bits(x)]++
				}
				if _, coded := microdata.MissingCode(p.Released[0][i]); coded {
					after[math.Float64bits(p.Released[0][i])]++
				}
			}
			counts := func(m map[uint64]int) (list []int) {
				for _, n := range m {
					list = append(list, n)
				}
				slices.Sort(list)
				return list
			}
			want, left := []int{28, 30}, []int{28, 28} // a code that is set missing is no category of the release
			if null {
				want, left = nil, nil
			}
			if !slices.Equal(counts(before), want) || !slices.Equal(counts(after), left) {
				t.Errorf("null %v: the sample has codes %v and %v, want %v and %v", null, counts(before), counts(after), want, left)
			}
		}
		// Another declaration is another assessment.
		other,
			err := New(Options{Columns: []Column{{Name: "x", Index: 0, Masked: true}}, Sample: -1, Key: keytest.Key(1),
			Coded: []CodedColumn{{Name: "x", Codes: []string{"-9"}, Null: null}}})
		if err != nil {
			t.Fatal(err)
		}
		if other.Merge(a) == nil || other.UnmarshalBinary(text) == nil {
			t.Error("an assessment with other codes is taken")
		}
		last := text[len(text)-8:] // how often the last code occurs, in 118 records
		for n, taken := range map[int64]bool{-1: false, 0: true, 118: true, 119: false, math.MinInt64: false} {
			binary.LittleEndian.PutUint64(last, uint64(n))
			if err := again.UnmarshalBinary(text); (err == nil) != taken {
				t.Errorf("a code that %d of 118 records have: error %v", n, err)
			}
		}
	}
}

// Accumulators with other declarations, in whatever, are not merged, and what one has counted is not read by another
// with other codes.
func TestDeclarationsMustBeTheSame(t *testing.T) {
	made := func(change func(c *CodedColumn)) *Accumulator {
		list := []CodedColumn{{Name: "x", Index: 0, Codes: []string{"-9", "-8"}},
			{Name: "y", Index: 1, Codes: []string{"refused"}}}
		if change != nil {
			change(&list[1])
		}
		a, err := New(Options{Columns: []Column{{Name: "x", Index: 0}}, Key: keytest.Key(1), Coded: list})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := made(nil)
	text, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if made(nil).Merge(a) != nil || made(nil).UnmarshalBinary(text) != nil {
		t.Fatal("the same declarations are others")
	}
	for what, c := range map[string]struct {
		change func(c *CodedColumn)
		reads  bool // the encoding has the names and the codes
	}{
		"name": {func(c *CodedColumn) { c.Name = "z" }, false}, "index": {func(c *CodedColumn) { c.Index = 2 }, true},
		"null": {func(c *CodedColumn) { c.Null = true }, true},
		"code": {func(c *CodedColumn) { c.Codes = []string{"denied"} }, false}, "one code more": {func(c *CodedColumn) {
			c.Codes = []string{"refused", "x"}
		}, false},
	} {
		other := made(c.change)
		if other.Merge(a) == nil || a.Merge(other) == nil {
			t.Errorf("another %s: merged", what)
		}
		if err := other.UnmarshalBinary(text); (err == nil) != c.reads {
			t.Errorf("another %s: read, error %v", what, err)
		}
	}
	list := []MissingCodes{{Column: "x", Codes: []MissingCode{{"-9", 1}}},
		{Column: "y", Codes: []MissingCode{{"a", 0}, {"b", 2}}}, {Column: "z", Codes: []MissingCode{{"c", 0}, {"d", 0}}}}
	if w := AbsentCodes(list); len(w) != 2 || !strings.Contains(w[0], "y: no record") ||
		!strings.Contains(w[0], "value a (") || !strings.Contains(w[1], "value c, d (") {
		t.Errorf("warnings %q", w)
	}
}

// A replicate has the codes of its records, so that swaps leave them out.
func TestReplicatesKnowCodes(t *testing.T) {
	a := codedAccumulator(t, 0, 80, false)
	seen := 0
	if _, err := a.Replay(16, func(b *microdata.Block) error {
		c := &b.Columns[0]
		for i := range b.N {
			if place := b.Place(i); c.Coded.Has(i) != (place%2 == 0) || c.Coded.Has(i) == c.Original.Valid.Has(i) {
				t.Fatalf("record %d: code %v, value %v", place, c.Coded.Has(i), c.Original.Valid.Has(i))
			}
			seen++
		}
		return nil
	}); err != nil || seen != 79 {
		t.Fatal(seen, err)
	}
}

// What a reader of the release sees of a kept code is a category; an accumulator that is used again begins at zero.
func TestKnownCodes(t *testing.T) {
	a := codedAccumulator(t, 0, 8, false)
	known := Known(a.Pairs().Released[0])
	categories := 0
	for i, x := range a.Pairs().Released[0] {
		if _, coded := microdata.MissingCode(x); coded {
			if categories++; !(known[i] >= Categories) {
				t.Errorf("a code is seen as %v", known[i])
			}
		} else if known[i] != x && x == x {
			t.Errorf("%v is seen as %v", x, known[i])
		}
	}
	if categories != 2 {
		t.Errorf("%d codes are seen", categories)
	}
	d, err := a.Delta()
	if err != nil {
		t.Fatal(err)
	}
	d.coded[0][0] = 5
	if err := a.Renew(d); err != nil || d.coded[0][0] != 0 {
		t.Errorf("a delta begins with %v, %v", d.coded, err)
	}
}
