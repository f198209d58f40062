package coding

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Records have the same combination if and only if microdata.CodeOf gives them the same codes: for
// each type of text or number, dictionaries with missing and repeated entries, slices, vectors, and
// combinations used for several blocks. The first record of each combination is the first one that
// has it.
func TestCombinationsAreThoseOfTheCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 37))
	var texts []string
	for i := range 60 {
		texts = append(texts, fmt.Sprint("a", i, "z"), fmt.Sprint(i), fmt.Sprint("a longer text ", i))
	}
	texts = append(texts, "", "\x00", "\x00\x00")
	const n = 4000
	fill := func(b array.Builder, of int) arrow.Array {
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
			case *array.Int64Builder:
				b.Append(int64(r.IntN(5)) << 60)
			case *array.Float64Builder:
				b.Append([]float64{0, math.Copysign(0, -1), 1.5, -1.5}[r.IntN(4)])
			}
		}
		return b.NewArray()
	}
	memory := memory.DefaultAllocator
	indices := array.NewInt32Builder(memory)
	for range n {
		if r.IntN(11) == 0 {
			indices.AppendNull()
		} else {
			indices.Append(int32(r.IntN(40)))
		}
	}
	ofTexts := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	var columns []microdata.Column
	for _, a := range []arrow.Array{
		fill(array.NewStringBuilder(memory), n),
		fill(array.NewLargeStringBuilder(memory), n),
		fill(array.NewStringViewBuilder(memory), n),
		fill(array.NewBinaryBuilder(memory, arrow.BinaryTypes.Binary), n),
		fill(array.NewInt64Builder(memory), n),
		fill(array.NewFloat64Builder(memory), n),
		array.NewSlice(fill(array.NewStringBuilder(memory), 2*n), 1000, 1000+n),
		array.NewDictionaryArray(ofTexts, indices.NewArray(), fill(array.NewStringBuilder(memory), 40)),
	} {
		columns = append(columns, microdata.Column{Array: a})
	}
	vector := microdata.Column{Original: microdata.Vector{Values: make([]float64, n), Valid: microdata.NewBitmap(n, nil)}}
	for i := range n {
		if vector.Original.Values[i] = float64(r.IntN(3)); r.IntN(8) == 0 {
			vector.Original.Valid.Clear(i)
		}
	}
	columns = append(columns, vector)
	var c Combinations
	for trial := range 60 {
		b := &microdata.Block{N: n, Columns: columns}
		by := r.Perm(len(columns))[:trial%4]
		if err := c.Find(b, by); err != nil {
			t.Fatal(err)
		}
		numbers, seen := map[string]int32{}, map[int32]bool{}
		for i, k := range c.Of {
			key := ""
			for _, index := range by {
				key += fmt.Sprint(codeAt(&columns[index], i)+0, " ")
			}
			known, again := numbers[key]
			switch {
			case again && known != k, !again && seen[k]:
				t.Fatalf("columns %v: record %d has combination %d, and its codes had %d", by, i, k, known)
			case !again && c.First[k] != int32(i):
				t.Fatalf("columns %v: the first record of combination %d is %d, want %d", by, k, c.First[k], i)
			}
			numbers[key], seen[k] = k, true
		}
		if len(c.Of) != n || len(by) == 0 && len(seen) != 1 || len(by) > 0 && len(seen) < 3 {
			t.Fatalf("columns %v: %d records have %d combinations", by, len(c.Of), len(seen))
		}
		for k, i := range c.First {
			if i >= 0 != seen[int32(k)] {
				t.Fatalf("columns %v: combination %d has first record %d", by, k, i)
			}
		}
	}
	list := array.NewListBuilder(memory, arrow.PrimitiveTypes.Int8)
	list.AppendEmptyValue()
	if err := c.Find(&microdata.Block{N: 1, Columns: []microdata.Column{{Array: list.NewArray()}}}, []int{0}); err == nil {
		t.Error("no error for lists, which cannot be compared")
	}
}

// codeAt is the code of value i by microdata.CodeOf.
func codeAt(col *microdata.Column, i int) float64 {
	if a := col.OutArray(); a != nil {
		return microdata.CodeOf(a, i)
	}
	if !col.Original.Valid.Has(i) {
		return math.NaN()
	}
	return col.Original.Values[i]
}
