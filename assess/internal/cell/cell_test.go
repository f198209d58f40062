package cell

import (
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestAtAndPresent(t *testing.T) {
	v := microdata.Vector{Values: []float64{1, math.NaN(), math.Inf(-1), 0, 5}, Valid: microdata.NewBitmap(5, nil)}
	v.Valid.Clear(3)
	got := Gather(nil, v, []int32{4, 3, 2, 1, 0})
	if got[0] != 5 || got[4] != 1 || !math.IsNaN(got[1]) || !math.IsNaN(got[2]) || !math.IsNaN(got[3]) {
		t.Errorf("gathered %v", got)
	}
	if p := Present(got); !slices.Equal(p, []float64{5, 1}) || !math.IsNaN(got[1]) {
		t.Errorf("present %v of %v", p, got)
	}
	all := []float64{2, 1}
	if p := Present(all); &p[0] != &all[0] {
		t.Error("values that are all there are copied")
	}
	for x, want := range map[float64]bool{1: true, math.MaxFloat64: true, math.Inf(1): false, math.Inf(-1): false} {
		if Finite(x) != want {
			t.Errorf("%v is finite: %v", x, !want)
		}
	}
	if Finite(math.NaN()) {
		t.Error("NaN is finite")
	}
}

func TestAllSet(t *testing.T) {
	if !AllSet(nil, 0, 1000) {
		t.Error("no bitmap lacks a bit")
	}
	for gap := range 300 {
		b := microdata.NewBitmap(300, nil)
		b.Clear(gap)
		for _, part := range [][2]int{{0, 300}, {64, 100}, {128, 64}, {192, 108}, {256, 1}} {
			want := gap < part[0] || gap >= part[0]+part[1]
			if got := AllSet(b, part[0], part[1]); got != want {
				t.Fatalf("gap %d in %d bits from %d: %v", gap, part[1], part[0], got)
			}
		}
	}
}

// Equal values have equal codes in every representation; different values have different codes.
func TestCode(t *testing.T) {
	text := array.NewStringBuilder(memory.DefaultAllocator)
	text.AppendValues([]string{"north", "south", "north", "", ""}, []bool{true, true, true, true, false})
	binary := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	binary.AppendValues([][]byte{[]byte("north")}, nil)
	words := array.NewDictionaryBuilder(memory.DefaultAllocator,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	for _, w := range []string{"south", "north"} {
		if err := words.AppendString(w); err != nil {
			t.Fatal(err)
		}
	}
	a := &microdata.Column{Array: text.NewArray()}
	d := &microdata.Column{Array: words.NewArray()}
	b := &microdata.Column{Array: binary.NewArray()}
	north, south, empty := Code(a, 0), Code(a, 1), Code(a, 3)
	if north != Code(a, 2) || north != Code(d, 1) || north != Code(b, 0) || south != Code(d, 0) {
		t.Error("equal values have different codes")
	}
	if north == south || south == empty || north == empty {
		t.Error("different values have the same code")
	}
	if !math.IsNaN(Code(a, 4)) {
		t.Error("null has a code")
	}
	for _, c := range []float64{north, south, empty} {
		if c != math.Trunc(c) || c < 0 || c >= 1<<53 {
			t.Errorf("code %v is no number of 53 bits", c)
		}
	}
	n := &microdata.Column{Original: microdata.Vector{Values: []float64{42}}}
	if Code(n, 0) != 42 {
		t.Errorf("a number's code is %v", Code(n, 0))
	}
}

// Every category is beyond the numbers, and finite; two are equal if their codes are.
func TestEveryCategoryIsOne(t *testing.T) {
	last := math.Nextafter(Categories, 0)
	for _, code := range []float64{0, 1, 2, 1 << 30, 1<<50 - 1, 1 << 52, 1<<53 - 1} {
		v := Category(code)
		if !(v >= Categories) || math.IsInf(v, 0) || !(v > last) {
			t.Errorf("code %v: %v", code, v)
		}
		last = v
	}
}
