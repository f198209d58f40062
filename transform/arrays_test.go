package transform

import (
	"fmt"
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

// movableTypes are types whose values can be keys and can be exchanged.
var movableTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeBinary,
	arrow.BinaryTypes.StringView, arrow.BinaryTypes.BinaryView,
	&arrow.FixedSizeBinaryType{ByteWidth: 3},
	&arrow.Decimal128Type{Precision: 20, Scale: 2}, &arrow.Decimal256Type{Precision: 50, Scale: 2},
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Time32s,
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.PrimitiveTypes.Int64},
}

// testArray makes an array of n values of the type, some null, sliced out of a
// longer one so that its offset is not 0. Values repeat.
func testArray(tb testing.TB, typ arrow.DataType, n int, seed uint64) arrow.Array {
	tb.Helper()
	r := rand.New(rand.NewPCG(seed, 4))
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	for range n + 7 {
		if r.IntN(6) == 0 {
			b.AppendNull()
			continue
		}
		k := r.IntN(40)
		var text string
		switch id := typ.ID(); id {
		case arrow.BOOL:
			text = fmt.Sprint(k%2 == 0)
		case arrow.DATE32, arrow.DATE64:
			text = fmt.Sprintf("2020-01-%02d", 1+k%28)
		case arrow.TIMESTAMP:
			text = fmt.Sprintf("2020-01-%02dT00:00:00Z", 1+k%28)
		case arrow.TIME32:
			text = fmt.Sprintf("00:00:%02d", k)
		case arrow.FIXED_SIZE_BINARY:
			text = "AQI" + string(rune('A'+k%26)) // base64 of three bytes
		case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
			text = "AQI" + string(rune('A'+k%26)) + strings.Repeat("AQID", k%7)
		case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
			text = strings.Repeat("x", k) // "", and longer than a view holds inline
		default:
			text = fmt.Sprint(k)
		}
		if err := b.AppendValueFromString(text); err != nil {
			tb.Fatalf("%s: %v", typ, err)
		}
	}
	return array.NewSlice(b.NewArray(), 7, int64(n)+7)
}

func strs(a arrow.Array) []string {
	s := make([]string, a.Len())
	for i := range s {
		s[i] = "null"
		if a.IsValid(i) {
			s[i] = "=" + a.ValueStr(i)
		}
	}
	return s
}

// A protected column in Array form is exchanged like a column of numbers, for every type, in
// windows and across blocks.
func TestSwapOfArrays(t *testing.T) {
	const n = 600
	columns := swapData(n, 3, 40, 3)
	for _, typ := range movableTypes {
		for _, scope := range []string{"window", "dataset"} {
			t.Run(typ.String()+"/"+scope, func(t *testing.T) {
				m := swapMask("unique", scope, 0.9)
				m.Columns = []string{"a", "e"}
				setup := testSetup(t, columns...)
				setup.Window = 200
				setup.Columns = append(setup.Columns, ColumnInfo{Name: "e", Index: 4, Field: microdata.Field{Name: "e", Type: typ}})
				c := chain(t, setup, mask(m))
				var before []string
				cut := func(from int) *microdata.Block {
					b := block(from, from+200, append(slices.Clone(columns), testColumn{values: make([]float64, n)})...)
					b.Columns[4].Original = microdata.Vector{}
					b.Columns[4].Array = testArray(t, typ, 200, uint64(from)) // each block has its own dictionary
					return b
				}
				for from := 0; from < n; from += 200 {
					b := cut(from)
					before = append(before, strs(b.Columns[4].Array)...)
					if c.NeedsSurvey() {
						if err := c.Survey(b); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := c.EndSurvey(); err != nil {
					t.Fatal(err)
				}
				moved := 0
				for from := 0; from < n; from += 200 {
					b := apply(t, c, cut(from))
					got := strs(b.Columns[4].OutArray())
					if !arrow.TypeEqual(b.Columns[4].OutArray().DataType(), typ) {
						t.Fatalf("type became %s", b.Columns[4].OutArray().DataType())
					}
					if v, ok := b.Columns[4].OutArray().(interface{ ValidateFull() error }); ok && v.ValidateFull() != nil {
						t.Fatal(v.ValidateFull())
					}
					for i, v := range b.Columns[0].Out().Values {
						partner := int(v) - 1
						if partner != from+i {
							moved++
						}
						if got[i] != before[partner] {
							t.Fatalf("record %d: got %s, want that of record %d, %s", from+i, got[i], partner, before[partner])
						}
					}
					if again := strs(b.Columns[4].Array); !slices.Equal(again, before[from:from+200]) {
						t.Fatal("the original array changed")
					}
				}
				if moved < 20 {
					t.Errorf("only %d values were exchanged", moved)
				}
			})
		}
	}
}

// Keys in Array form group records by their values.
func TestGroupingOfArrays(t *testing.T) {
	const n = 500
	for _, typ := range movableTypes {
		b := new(microdata.Block)
		b.Reset(0, 0, n, 2)
		b.Columns[0].Array = testArray(t, typ, n, 1)
		b.Columns[1].Array = testArray(t, arrow.BinaryTypes.String, n, 2)
		var g grouping
		if err := g.find(b, []int{0, 1}, 50, n-50); err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		keys, attributes := strs(b.Columns[0].Array), strs(b.Columns[1].Array)
		code := map[string]int32{}
		of := map[int32]string{}
		for i := range n - 50 {
			key := keys[50+i]
			if c, ok := code[key]; ok && c != g.group[i] {
				t.Fatalf("%s: %q has two codes", typ, key)
			}
			if k, ok := of[g.group[i]]; ok && k != key {
				t.Fatalf("%s: %q and %q have the same code", typ, key, k)
			}
			code[key], of[g.group[i]] = g.group[i], key
			for j := range i {
				same := keys[50+j] == key && attributes[50+j] == attributes[50+i]
				if same != (g.combo[i] == g.combo[j]) {
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
	if _, err := placeArray(full, []int32{3}, []cell{{bytes: []byte("v7")}}); err != nil {
		t.Errorf("a value that is there: %v", err)
	}
	if _, err := placeArray(full, []int32{3}, []cell{{bytes: []byte("new")}}); err == nil || !strings.Contains(err.Error(), "no room") {
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
			a := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: c.index, ValueType: arrow.BinaryTypes.String}, indexes.NewArray(), values.NewArray())
			for added := range 3 {
				rows, cells := []int32{5}, []cell{{null: true}}
				for k := range added {
					rows, cells = append(rows, int32(10+k)), append(cells, cell{bytes: fmt.Append(nil, "new", k)})
				}
				rows, cells = append(rows, 20), append(cells, cell{bytes: []byte("v7")})
				got, err := placeArray(a, rows, cells)
				if fits := have+added <= c.most; (err == nil) != fits && added > 0 || added == 0 && err != nil {
					t.Errorf("%s, %d and %d more of %d: %v", c.index, have, added, c.most, err)
				}
				if err != nil {
					continue
				}
				want := strs(a)
				want[5], want[20] = "null", "=v7"
				for k := range added {
					want[10+k] = fmt.Sprint("=new", k)
				}
				if text := strs(got); !slices.Equal(text, want) {
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
		"truth":   {fromJSON(t, arrow.FixedWidthTypes.Boolean, `[true, false, true]`), []uint64{1, 0, 1}},
		"bytes":   {fromJSON(t, arrow.PrimitiveTypes.Uint8, `[7, 255, 0]`), []uint64{7, 255, 0}},
		"shorts":  {fromJSON(t, arrow.PrimitiveTypes.Int16, `[7, -1, 258]`), []uint64{7, 65535, 258}},
		"words":   {fromJSON(t, arrow.PrimitiveTypes.Int32, `[7, -1, 66051]`), []uint64{7, 1<<32 - 1, 66051}},
		"days":    {fromJSON(t, arrow.FixedWidthTypes.Date32, `["1970-01-02", "1970-01-01", "1970-01-10"]`), []uint64{1, 0, 9}},
		"longs":   {fromJSON(t, arrow.PrimitiveTypes.Int64, `[7, -1, 4295098371]`), []uint64{7, math.MaxUint64, 4295098371}},
		"doubles": {fromValues(array.NewFloat64Builder(memory.DefaultAllocator), []float64{0, negative, 1.5, math.NaN(), nans}), []uint64{0, 0, math.Float64bits(1.5), math.Float64bits(math.NaN()), math.Float64bits(math.NaN())}},
		"singles": {fromValues(array.NewFloat32Builder(memory.DefaultAllocator), []float32{0, float32(negative), 1.5, float32(math.NaN())}), []uint64{0, 0, math.Float64bits(1.5), math.Float64bits(math.NaN())}},
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
				if want := c.want[from+i]; w != want && !(math.Float64frombits(want) != math.Float64frombits(want) && w == got[len(got)-1]) {
					t.Errorf("%s from %d: value %d is %#x, want %#x", name, from, i, w, want)
				}
			}
		}
	}
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, &arrow.FixedSizeBinaryType{ByteWidth: 3}, &arrow.Decimal128Type{Precision: 9}} {
		if wordsOf(make([]uint64, 3), testArray(t, typ, 3, 1), 0) {
			t.Errorf("%s has words", typ)
		}
	}
}

func fromJSON(t *testing.T, of arrow.DataType, text string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, of, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
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
		cells []cell
		want  int64
	}{
		{nil, nil, 10},
		{[]int32{0}, []cell{{bytes: []byte("abcdef")}}, 14},
		{[]int32{2}, []cell{{null: true}}, 3},
		{[]int32{3, 1}, []cell{{bytes: []byte("")}, {bytes: []byte("xy")}}, 11},
	} {
		if got := lengthWith(offsets, c.rows, c.cells); got != c.want {
			t.Errorf("%v: %d, want %d", c.rows, got, c.want)
		}
	}
}
