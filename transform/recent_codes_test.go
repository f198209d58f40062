package transform

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Codes are microdata.CodeOf whatever is kept at hand: texts that look for each other's place, empty and
// missing ones, in each type that holds text, in dictionaries with missing and repeated entries, in slices.
func TestCodesOfArraysAreThoseOfTheirValues(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 37))
	var texts []string
	for i := range 300 {
		texts = append(texts, fmt.Sprint("a", i, "z"), fmt.Sprint(i)) // many of one length and of one end
	}
	texts = append(texts, "", "\x00", "\x00\x00")
	const n = 4000
	fill := func(b array.Builder, of int) {
		for range of {
			s := texts[min(r.IntN(len(texts)), r.IntN(len(texts)))]
			switch b := b.(type) {
			case array.StringLikeBuilder:
				if r.IntN(9) == 0 {
					b.AppendNull()
				} else {
					b.Append(s)
				}
			case *array.BinaryBuilder:
				b.Append([]byte(s))
			case *array.Float64Builder:
				b.Append(float64(r.IntN(5)))
			}
		}
	}
	made := func(b array.Builder, of int) arrow.Array { fill(b, of); return b.NewArray() }
	entries := made(array.NewStringBuilder(memory.DefaultAllocator), 40)
	indices := array.NewInt32Builder(memory.DefaultAllocator)
	for range n {
		if r.IntN(11) == 0 {
			indices.AppendNull()
		} else {
			indices.Append(int32(r.IntN(40)))
		}
	}
	typed := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	many := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range mostRemembered + 1 {
		many.Append(fmt.Sprint(i))
	}
	last := array.NewInt32Builder(memory.DefaultAllocator)
	last.AppendValues([]int32{mostRemembered, 0, mostRemembered}, nil)
	for name, a := range map[string]arrow.Array{
		"string":                made(array.NewStringBuilder(memory.DefaultAllocator), n),
		"large string":          made(array.NewLargeStringBuilder(memory.DefaultAllocator), n),
		"string view":           made(array.NewStringViewBuilder(memory.DefaultAllocator), n),
		"binary":                made(array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary), n),
		"large binary":          made(array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.LargeBinary), n),
		"numbers":               made(array.NewFloat64Builder(memory.DefaultAllocator), n),
		"slice":                 array.NewSlice(made(array.NewStringBuilder(memory.DefaultAllocator), n), 1000, 3000),
		"dictionary":            array.NewDictionaryArray(typed, indices.NewArray(), entries),
		"very great dictionary": array.NewDictionaryArray(typed, last.NewArray(), many.NewArray()),
		"nothing":               made(array.NewStringBuilder(memory.DefaultAllocator), 0),
	} {
		code := codesOfArray(a)
		for i := range a.Len() {
			got, want := code(i), microdata.CodeOf(a, i)
			if math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
				t.Fatalf("%s: value %d has code %v, want %v", name, i, got, want)
			}
		}
	}
}

// Strata are those of the map, however many keys meet in one place, of one column and of two; one that is
// added later is found.
func TestStrataAreThoseOfTheirKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 43))
	for columns := 1; columns <= 2; columns++ {
		s := strataOf{of: map[string]int32{}}
		key := make([]byte, 8*columns)
		for i := range 20_000 {
			for at := 0; at < len(key); at += 8 {
				binary.BigEndian.PutUint64(key[at:], math.Float64bits(float64(r.IntN(40))))
			}
			want, known := s.of[string(key)]
			if !known {
				want = -1
			}
			if got := s.find(key); got != want {
				t.Fatalf("%d columns, key %d: stratum %d, want %d", columns, i, got, want)
			}
			if !known && i%3 > 0 {
				s.of[string(key)] = int32(len(s.of))
			}
		}
		if len(s.of) < 39 {
			t.Errorf("%d columns: %d strata", columns, len(s.of))
		}
	}
}
