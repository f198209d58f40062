package foreign

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// textsOf returns an array of texts; "" is a missing value.
func textsOf(texts ...string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for _, s := range texts {
		if s == "" {
			b.AppendNull()
		} else {
			b.Append(s)
		}
	}
	return b.NewArray()
}

// A dictionary column has the same codes as the column of its texts, for any order of the
// dictionary, with entries that no record uses, and with a null entry.
func TestCategoriesOfDictionaries(t *testing.T) {
	indices := array.NewInt8Builder(memory.DefaultAllocator)
	for _, i := range []int8{2, 1, 2, -1, 0, 3, 4} {
		if i < 0 {
			indices.AppendNull()
		} else {
			indices.Append(i)
		}
	}
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	dictionary := array.NewDictionaryArray(typ, indices.NewArray(), textsOf("c", "b", "a", "", "d", "nobody"))
	plain := textsOf("a", "b", "a", "", "c", "", "d")
	of := func(c *category, a arrow.Array) []int32 {
		return c.add(nil, &microdata.Column{Array: a}, a.Len())
	}
	fresh := func() *category { return &category{texts: map[string]int32{}} }
	// If two columns are numbered together, a code has the same text in both.
	for _, first := range []arrow.Array{plain, dictionary} {
		c := fresh()
		before := of(c, first)
		if a, b := of(c, plain), of(c, dictionary); !slices.Equal(a, b) || !slices.Equal(a, before) {
			t.Errorf("codes of texts are %v, codes of a dictionary %v, want %v", a, b, before)
		}
		if want := []int{3, 5}; before[want[0]] != -1 || before[want[1]] != -1 ||
			slices.Min(append(slices.Clone(before[:3]), before[4], before[6])) < 0 {
			t.Errorf("only the codes at %v may be −1, codes are %v", want, before)
		}
		if before[0] != before[2] || before[0] == before[1] || before[4] == before[6] || before[0] == before[4] {
			t.Errorf("the codes are %v, want equal codes for equal texts alone", before)
		}
	}
	if got := fresh().add([]int32{7}, &microdata.Column{Array: dictionary}, dictionary.Len()); len(got) != 8 ||
		got[0] != 7 {
		t.Errorf("codes appended to one code are %v, want 8 codes, the first 7", got)
	}
}

// The data kept of a file contain no infinite number and nothing of an unreadable record.
func TestWhatIsHeldOfAFile(t *testing.T) {
	h := &table{numbers: make([][]float64, 1), codes: make([][]int32, 1)}
	c := &category{texts: map[string]int32{}}
	for _, xs := range [][]float64{{1, math.Inf(1), 3, math.Inf(-1)}, {5, math.NaN(), 7, 8}} {
		b := &microdata.Block{N: 4, Columns: make([]microdata.Column, 2)}
		b.Columns[0].Original.Values = xs
		b.Columns[1].Array = textsOf("a", "b", "a", "b")
		b.Reject(2, "", "malformed")
		h.add(b, []*category{c})
		h.n += b.N
	}
	want, codes := []float64{1, math.NaN(), math.NaN(), math.NaN(), 5, math.NaN(), math.NaN(), 8},
		[]int32{0, 1, -1, 1, 0, 1, -1, 1}
	if !slices.EqualFunc(h.numbers[0], want, func(a, b float64) bool { return a == b || a != a && b != b }) ||
		!slices.Equal(h.codes[0], codes) || h.malformed != 2 {
		t.Errorf("the table has the numbers %v, the codes %v and %d malformed records, want 2 malformed", h.numbers[0],
			h.codes[0], h.malformed)
	}
}

// A record without an identity, or with the identity of another record, is an error with its place
// in the file and without its content. An unreadable record has no identity.
func TestIdentitiesOfAFile(t *testing.T) {
	block := func(first int64, ids ...string) *microdata.Block {
		b := &microdata.Block{N: len(ids), First: first, Columns: make([]microdata.Column, 1)}
		b.Columns[0].Array = textsOf(ids...)
		return b
	}
	h := &table{row: map[string]int{}, n: 100}
	bad := block(0, "x", "x", "y")
	bad.Reject(1, "", "malformed")
	if err := h.identify(bad, "in.csv"); err != nil || h.row["x"] != 100 || h.row["y"] != 102 ||
		!slices.Equal(h.ids, []string{"x", "", "y"}) {
		t.Errorf("identify returns %v, rows %v and identities %v", err, h.row, h.ids)
	}
	for _, c := range []struct {
		block  *microdata.Block
		record int64
		reason string
	}{
		{block(40, "u", "canary", "canary"), 43, "the column that matches the records repeats a value"},
		{block(0, "x"), 1, "the column that matches the records repeats a value"},
		{block(50, "v", "", "w"), 52, "the column that matches the records has no value"},
	} {
		err := h.identify(c.block, "in.csv")
		var at *connectors.RecordError
		if !errors.As(err, &at) || at.Record != c.record || at.Reason != c.reason || at.Stream != "in.csv" ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("error %v, want record %d: %s", err, c.record, c.reason)
		}
	}
}

// A number has the same identity in every type, up to its last digit.
func TestIdentitiesOfNumbers(t *testing.T) {
	floats, singles, whole := array.NewFloat64Builder(memory.DefaultAllocator),
		array.NewFloat32Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
	for _, v := range []int64{7, -12, 16_777_216, 0} {
		floats.Append(float64(v))
		singles.Append(float32(v))
		whole.Append(v)
	}
	a, b, c := floats.NewArray(), singles.NewArray(), whole.NewArray()
	for i, want := range []string{"7", "-12", "16777216", "0"} {
		if idOf(a, i) != want || idOf(b, i) != want || idOf(c, i) != want {
			t.Errorf("the identity of %s is %s, %s and %s in the three types", want, idOf(a, i), idOf(b, i), idOf(c, i))
		}
	}
	floats.AppendValues([]float64{1.5, 1e21}, nil)
	singles.Append(1.5)
	if f, s := floats.NewArray(), singles.NewArray(); idOf(f, 0) != "1.5" || idOf(s, 0) != "1.5" ||
		idOf(f, 1) != "1000000000000000000000" {
		t.Errorf("identities of fractions are %s, %s and %s", idOf(f, 0), idOf(s, 0), idOf(f, 1))
	}
}

// Columns of lists are neither numbers nor categories.
func TestNestedColumnsAreRefused(t *testing.T) {
	schema := &microdata.Schema{
		Fields: []microdata.Field{{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64)},
			{Name: "wage", Type: arrow.PrimitiveTypes.Float64}}}
	for numeric, want := range map[bool]string{
		true:  `column "list" of the released file is list<item: float64, nullable>, and must be numeric`,
		false: `column "list" of the released file is nested (list<item: float64, nullable>)`,
	} {
		err := needs("released", schema, numeric, "wage", "list")
		var data *pipeline.DataError
		if !errors.As(err, &data) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("numeric %v: %v", numeric, err)
		}
		if err := needs("released", schema, numeric, "wage"); err != nil {
			t.Errorf("numeric %v: %v", numeric, err)
		}
	}
}

// The numbers of SplitMix64 equal those of its authors' program for the states 0 and 1234567
// (Vigna, splitmix64.c).
func TestMixedIsSplitMix64(t *testing.T) {
	const golden = 0x9e3779b97f4a7c15
	for state, want := range map[uint64]uint64{0: 0xe220a8397b1dcdaf, 1234567: 6457827717110365317,
		1234567 + golden: 3203168211198807973} {
		if got := mixed(state); got != want {
			t.Errorf("mixed(%d) = %d, want %d", state, got, want)
		}
	}
}
