package transform

import (
	"fmt"
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

// A protected column in Array form is exchanged as one of numbers is, whatever
// its type, in windows and across blocks.
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
					b.Columns[4].Array = testArray(t, typ, 200, uint64(from)) // a dictionary of its own in every block
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
					t.Errorf("only %d records moved", moved)
				}
			})
		}
	}
}

// Keys in Array form group records as their values do.
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
				t.Fatalf("%s: %q and %q have one code", typ, key, k)
			}
			code[key], of[g.group[i]] = g.group[i], key
			for j := range i {
				same := keys[50+j] == key && attributes[50+j] == attributes[50+i]
				if same != (g.combo[i] == g.combo[j]) {
					t.Fatalf("%s: records %d and %d are told apart wrongly", typ, i, j)
				}
			}
		}
	}
}

// A dictionary that cannot count the values which come from other blocks is an
// error that names the column, not a wrong release.
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
