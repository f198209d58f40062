package coding

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/arraytest"
)

// Keys in Array form group records by their values.
func TestGroupingOfArrays(t *testing.T) {
	const n = 500
	for _, typ := range arraytest.Types {
		b := new(microdata.Block)
		b.Reset(0, 0, n, 2)
		b.Columns[0].Array = arraytest.Random(t, typ, n, 1)
		b.Columns[1].Array = arraytest.Random(t, arrow.BinaryTypes.String, n, 2)
		var g Grouping
		if err := g.Find(b, []int{0, 1}, 50, n-50); err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		keys, attributes := arraytest.Texts(b.Columns[0].Array), arraytest.Texts(b.Columns[1].Array)
		code := map[string]int32{}
		of := map[int32]string{}
		for i := range n - 50 {
			key := keys[50+i]
			if c, ok := code[key]; ok && c != g.Group[i] {
				t.Fatalf("%s: %q has two codes", typ, key)
			}
			if k, ok := of[g.Group[i]]; ok && k != key {
				t.Fatalf("%s: %q and %q have the same code", typ, key, k)
			}
			code[key], of[g.Group[i]] = g.Group[i], key
			for j := range i {
				same := keys[50+j] == key && attributes[50+j] == attributes[50+i]
				if same != (g.Combo[i] == g.Combo[j]) {
					t.Fatalf("%s: records %d and %d are compared wrongly", typ, i, j)
				}
			}
		}
	}
}

// If a dictionary has no room for values from other blocks, the result is an error that names the
// column, not a wrong release.
func TestDictionaryWithoutRoom(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	values := array.NewStringBuilder(memory.DefaultAllocator)
	indexes := array.NewInt8Builder(memory.DefaultAllocator)
	for i := range 128 {
		values.Append(fmt.Sprint("v", i))
		indexes.Append(int8(i))
	}
	full := array.NewDictionaryArray(typ, indexes.NewArray(), values.NewArray())
	if _, err := Place(full, []int32{3}, []Cell{{Bytes: []byte("v7")}}); err != nil {
		t.Errorf("a value that is there: %v", err)
	}
	if _, err := Place(full, []int32{3}, []Cell{{Bytes: []byte("new")}}); err == nil ||
		!strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v", err)
	}
}

// A dictionary accepts as many new values as its index type can count, and no more.
func TestDictionaryWithRoom(t *testing.T) {
	for _, c := range []struct {
		index arrow.DataType
		most  int
	}{{arrow.PrimitiveTypes.Int8, 128}, {arrow.PrimitiveTypes.Uint8, 256}} {
		for _, have := range []int{c.most - 2, c.most - 1, c.most} {
			values := array.NewStringBuilder(memory.DefaultAllocator)
			indexes := array.NewBuilder(memory.DefaultAllocator, c.index)
			for i := range have {
				values.Append(fmt.Sprint("v", i))
				if err := indexes.AppendValueFromString(fmt.Sprint(i % 100)); err != nil {
					t.Fatal(err)
				}
			}
			a := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: c.index, ValueType: arrow.BinaryTypes.String},
				indexes.NewArray(), values.NewArray())
			for added := range 3 {
				rows, cells := []int32{5}, []Cell{{Null: true}}
				for k := range added {
					rows, cells = append(rows, int32(10+k)), append(cells, Cell{Bytes: fmt.Append(nil, "new", k)})
				}
				rows, cells = append(rows, 20), append(cells, Cell{Bytes: []byte("v7")})
				got, err := Place(a, rows, cells)
				if fits := have+added <= c.most; (err == nil) != fits && added > 0 || added == 0 && err != nil {
					t.Errorf("%s, %d and %d more of %d: %v", c.index, have, added, c.most, err)
				}
				if err != nil {
					continue
				}
				want := arraytest.Texts(a)
				want[5], want[20] = "null", "=v7"
				for k := range added {
					want[10+k] = fmt.Sprint("=new", k)
				}
				if text := arraytest.Texts(got); !slices.Equal(text, want) {
					t.Errorf("%s, %d and %d more: %q, want %q", c.index, have, added, text, want)
				}
			}
		}
	}
}

// Words distinguish values of at most 8 bytes by their bytes, from any start. −0 equals 0, and all
// NaNs are equal.
func TestWordsOfArrays(t *testing.T) {
	negative, nans := math.Copysign(0, -1), math.Float64frombits(0x7ff8000000000007)
	for name, c := range map[string]struct {
		of   arrow.Array
		want []uint64 // as numbers in the order of the values; equal values have equal numbers
	}{
		"truth":  {arraytest.FromJSON(t, arrow.FixedWidthTypes.Boolean, `[true, false, true]`), []uint64{1, 0, 1}},
		"bytes":  {arraytest.FromJSON(t, arrow.PrimitiveTypes.Uint8, `[7, 255, 0]`), []uint64{7, 255, 0}},
		"shorts": {arraytest.FromJSON(t, arrow.PrimitiveTypes.Int16, `[7, -1, 258]`), []uint64{7, 65535, 258}},
		"words":  {arraytest.FromJSON(t, arrow.PrimitiveTypes.Int32, `[7, -1, 66051]`), []uint64{7, 1<<32 - 1, 66051}},
		"days": {arraytest.FromJSON(t, arrow.FixedWidthTypes.Date32, `["1970-01-02", "1970-01-01", "1970-01-10"]`),
			[]uint64{1, 0, 9}},
		"longs": {arraytest.FromJSON(t, arrow.PrimitiveTypes.Int64, `[7, -1, 4295098371]`),
			[]uint64{7, math.MaxUint64, 4295098371}},
		"doubles": {
			fromValues(array.NewFloat64Builder(memory.DefaultAllocator), []float64{0, negative, 1.5, math.NaN(), nans}),
			[]uint64{0, 0, math.Float64bits(1.5), math.Float64bits(math.NaN()), math.Float64bits(math.NaN())}},
		"singles": {
			fromValues(array.NewFloat32Builder(memory.DefaultAllocator),
				[]float32{0, float32(negative), 1.5, float32(math.NaN())}),
			[]uint64{0, 0, math.Float64bits(1.5), math.Float64bits(math.NaN())}},
	} {
		n := c.of.Len()
		for from := range n {
			got := make([]uint64, n-from)
			for i := range got {
				got[i] = 99
			}
			if !wordsOf(got, c.of, from) {
				t.Fatalf("%s: no words", name)
			}
			for i, w := range got {
				if want := c.want[from+i]; w != want &&
					!(math.Float64frombits(want) != math.Float64frombits(want) && w == got[len(got)-1]) {
					t.Errorf("%s from %d: value %d is %#x, want %#x", name, from, i, w, want)
				}
			}
		}
	}
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, &arrow.FixedSizeBinaryType{ByteWidth: 3},
		&arrow.Decimal128Type{Precision: 9}} {
		if wordsOf(make([]uint64, 3), arraytest.Random(t, typ, 3, 1), 0) {
			t.Errorf("%s has words", typ)
		}
	}
}

func fromValues[T any, B interface {
	AppendValues([]T, []bool)
	NewArray() arrow.Array
}](builder B, values []T) arrow.Array {
	builder.AppendValues(values, nil)
	return builder.NewArray()
}

// The total length of texts after some of them were exchanged for shorter or longer ones.
func TestLengthWithCells(t *testing.T) {
	offsets := []int32{3, 5, 5, 12, 13} // of an array that is a slice of another
	for _, c := range []struct {
		rows  []int32
		cells []Cell
		want  int64
	}{
		{nil, nil, 10},
		{[]int32{0}, []Cell{{Bytes: []byte("abcdef")}}, 14},
		{[]int32{2}, []Cell{{Null: true}}, 3},
		{[]int32{3, 1}, []Cell{{Bytes: []byte("")}, {Bytes: []byte("xy")}}, 11},
	} {
		if got := lengthWith(offsets, c.rows, c.cells); got != c.want {
			t.Errorf("%v: %d, want %d", c.rows, got, c.want)
		}
	}
}

// Nested types can be neither keys nor exchanged; null types and extension types can.
func TestTypesThatCannotBeMoved(t *testing.T) {
	lists := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64)
	fixedLists := array.NewFixedSizeListBuilder(memory.DefaultAllocator, 2, arrow.PrimitiveTypes.Int64)
	for range 2 {
		lists.Append(true)
		fixedLists.Append(true)
		for range 2 {
			fixedLists.ValueBuilder().(*array.Int64Builder).Append(1)
		}
	}
	for _, a := range []arrow.Array{lists.NewArray(), fixedLists.NewArray()} {
		if Movable(a.DataType()) {
			t.Errorf("%s can be moved", a.DataType())
		}
		dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: a.DataType()}
		if Movable(dictionary) ||
			Movable(
				&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8,
					ValueType: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}}) {
			t.Errorf("dictionaries of %s can be moved", a.DataType())
		}
		sw := new(Placing)
		_, err := sw.Exchange(a, []Pair{{0, 1}})
		wants(t, "exchanged", err, "cannot be exchanged")
		_, err = Place(a, []int32{0}, []Cell{{Null: true}})
		wants(t, "placed", err, "cannot be moved")
		indexes := array.NewInt8Builder(memory.DefaultAllocator)
		indexes.Append(0)
		coded := array.NewDictionaryArray(dictionary, indexes.NewArray(), a)
		_, err = Place(coded, []int32{0}, []Cell{{Bytes: []byte("x")}})
		wants(t, "a dictionary of them", err, "cannot be moved")
		var c Coder
		for _, one := range []arrow.Array{a, coded} {
			wants(t, "coded", c.codeArray(make([]int32, 1), one, 0), "cannot be compared")
		}
	}
	nulls := array.NewNull(3)
	for _, f := range []func() (arrow.Array, error){
		func() (arrow.Array, error) { return new(Placing).Exchange(nulls, []Pair{{0, 2}}) },
		func() (arrow.Array, error) { return Place(nulls, []int32{1}, []Cell{{Null: true}}) },
	} {
		if a, err := f(); err != nil || a.Len() != 3 || a.NullN() != 3 {
			t.Error(a, err)
		}
	}
	codes := []int32{7, 7, 7}
	if err := new(Coder).codeArray(codes, nulls, 0); err != nil || !slices.Equal(codes, []int32{0, 0, 0}) {
		t.Error(codes, err)
	}
	// Arrays without values.
	for _, typ := range arraytest.Types {
		a := array.NewBuilder(memory.DefaultAllocator, typ).NewArray()
		if moved, err := Place(a, nil, nil); err != nil || moved.Len() != 0 {
			t.Errorf("%s: %v", typ, err)
		}
		var c Coder
		if err := c.codeArray(nil, a, 0); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// If a null is moved into values without nulls, a bitmap is created; otherwise there is none.
func TestNullsThatComeIn(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{1, 2, 3}, nil)
	a := b.NewArray()
	for row := range int32(3) {
		got, err := Place(a, []int32{row}, []Cell{{Null: true}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if got.IsNull(i) != (i == int(row)) {
				t.Errorf("row %d: value %d is null: %v", row, i, got.IsNull(i))
			}
		}
		// The value under a null cannot be read.
		if v := got.(*array.Int64).Int64Values()[row]; v != 0 {
			t.Errorf("row %d: the value below the null is %d", row, v)
		}
	}
	got, err := Place(a, []int32{1}, []Cell{{Bytes: []byte{9, 0, 0, 0, 0, 0, 0, 0}}})
	if err != nil || got.NullN() != 0 || got.Data().Buffers()[0] != nil ||
		!slices.Equal(got.(*array.Int64).Int64Values(), []int64{1, 9, 3}) {
		t.Errorf("%v, %v", got, err)
	}
}

// wants fails if an error does not contain a text.
func wants(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: got %v, want %q in it", what, err, text)
	}
}

// Values of two arrays are compared whatever their types, nulls with nulls; of types without bytes none is the same.
func TestSameValues(t *testing.T) {
	plain := arraytest.FromJSON(t, arrow.BinaryTypes.String, `["a", null, "b", null, ""]`)
	view := arraytest.FromJSON(t, arrow.BinaryTypes.StringView, `["a", null, "c", "", null]`)
	lists := arraytest.FromJSON(t, arrow.ListOf(arrow.PrimitiveTypes.Int8), `[[1], null]`)
	same := SameValues(plain, view)
	for i, want := range []bool{true, true, false, false, false} {
		if same(i) != want || !SameValues(plain, plain)(i) {
			t.Errorf("value %d: %v", i, same(i))
		}
	}
	other := arraytest.FromJSON(t, arrow.ListOf(arrow.PrimitiveTypes.Int8), `[[1], null]`)
	if SameValues(lists, other)(1) || SameValues(plain, lists)(0) || SameValues(lists, plain)(0) ||
		!SameValues(lists, lists)(0) {
		t.Error("lists are compared")
	}
}

// Exchanged values of an array of any type are each other's, and all others stay; the array that was read does not
// change.
func TestExchange(t *testing.T) {
	pairs := []Pair{{0, 99}, {5, 6}, {98, 7}, {50, 20}}
	var room Placing
	for round := range 2 {
		for _, typ := range arraytest.Types {
			a := arraytest.Random(t, typ, 100, uint64(round))
			before := arraytest.Texts(a)
			want := slices.Clone(before)
			for _, p := range pairs {
				want[p.I], want[p.J] = want[p.J], want[p.I]
			}
			got, err := room.Exchange(a, pairs)
			if err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			if text := arraytest.Texts(got); !slices.Equal(text, want) || !arrow.TypeEqual(got.DataType(), typ) ||
				!slices.Equal(arraytest.Texts(a), before) {
				t.Errorf("%s: %q, want %q", typ, text, want)
			}
			if len(room.Rows) != 2*len(pairs) || len(room.Cells) != len(room.Rows) {
				t.Errorf("%s: %d rows, %d cells", typ, len(room.Rows), len(room.Cells))
			}
		}
	}
}

// Codes are written whatever stood in their place: 0 for nulls, the same ones for equal values of an array and of its
// slices.
func TestCodesOfNulls(t *testing.T) {
	for _, typ := range arraytest.Types {
		a := arraytest.Random(t, typ, 60, 3)
		var c Coder
		for from := range 3 {
			codes := make([]int32, 60-from)
			for i := range codes {
				codes[i] = 99
			}
			if err := c.Code(codes, &microdata.Column{Array: a}, from); err != nil {
				t.Fatal(err)
			}
			text := map[int32]string{}
			for i, code := range codes {
				is := arraytest.Texts(a)[from+i]
				if was, known := text[code]; known && was != is || (code == 0) != (is == "null") || code < 0 || code == 99 {
					t.Fatalf("%s from %d: value %d, %s, has code %d, as %s", typ, from, i, is, code, was)
				}
				text[code] = is
			}
		}
		r := Grouping{}
		b := new(microdata.Block)
		b.Reset(0, 0, 60, 1)
		b.Columns[0].Array = a
		if err := r.Find(b, []int{0}, 0, 60); err != nil {
			t.Fatal(err)
		}
		known := slices.Clone(r.Combo)
		if reader := r.Reader(); reader.Find(b, []int{0}, 0, 60) != nil || !slices.Equal(reader.Combo, known) {
			t.Errorf("%s: a reader finds %v, want %v", typ, reader.Combo, known)
		}
	}
}

// Records that are rejected, and those with a declared code in a protected column, get no group, in any part of a
// block.
func TestExclude(t *testing.T) {
	for _, at := range []int{0, 1, 58, 59} {
		for _, from := range []int{0, 1, 30} {
			b := randomBlock(60, 1, 3, 4)
			b.Columns[2].Coded.Rows = []int32{int32(at)}
			var g Grouping
			if err := g.Find(b, []int{0, 1}, from, 60-from); err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(g.Group)
			if g.Exclude(b, from, []int{1}); !slices.Equal(g.Group, before) {
				t.Error("a code in a column that is not protected excludes")
			}
			check := func(out func(i int) bool) {
				t.Helper()
				for i, group := range g.Group {
					if want := out(from + i); (group < 0) != want || group >= 0 && group != before[i] {
						t.Errorf("record %d from %d: group %d, excluded %v", from+i, from, group, want)
					}
				}
			}
			g.Exclude(b, from, []int{0, 2})
			check(func(i int) bool { return i == at })
			b.Reject(33, "a", "is broken")
			g.Exclude(b, from, nil)
			check(func(i int) bool { return i == at || i == 33 })
		}
	}
}
