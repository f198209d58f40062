package microdata

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// fromJSON makes an array of a type from its JSON form.
func fromJSON(t *testing.T, dt arrow.DataType, s string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	if err := b.UnmarshalJSON([]byte(s)); err != nil {
		t.Fatalf("%s: %v", dt, err)
	}
	return b.NewArray()
}

var numericTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	&arrow.Decimal32Type{Precision: 7, Scale: 2}, &arrow.Decimal64Type{Precision: 15, Scale: 3},
	&arrow.Decimal128Type{Precision: 38, Scale: 18}, &arrow.Decimal256Type{Precision: 60, Scale: 30},
	&arrow.Decimal128Type{Precision: 5, Scale: -2},
}

// Every numeric type is unchanged after conversion to Numbers form and back, with nulls and with
// records left out.
func TestArrayRoundTrip(t *testing.T) {
	for _, dt := range numericTypes {
		var a arrow.Array
		if dt.ID() == arrow.FLOAT16 || dt.ID() == arrow.FLOAT32 || dt.ID() == arrow.FLOAT64 {
			a = fromJSON(t, dt, `[100, null, 0.5, -120.25, null, 100]`)
		} else if slices.Contains([]arrow.Type{arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64}, dt.ID()) {
			a = fromJSON(t, dt, `[100, null, 0, -120, null, 127]`)
		} else if _, ok := dt.(arrow.DecimalType); ok {
			a = fromJSON(t, dt, `["100", null, "0", "12000", null, "100"]`)
		} else {
			a = fromJSON(t, dt, `[100, null, 0, 120, null, 255]`)
		}
		f := Field{Name: "x", Type: dt}
		var c Column
		if bad := NumbersOf(a, &c); len(bad) > 0 {
			t.Fatalf("%s: rows %v are reported as not representable", dt, bad)
		}
		if got := ToArray(c.Original, 6, f, nil); !array.Equal(got, a) {
			t.Errorf("%s: %v became %v", dt, a, got)
		}
		odd := func(i int) bool { return i%2 == 1 }
		got := ToArray(c.Original, 6, f, odd)
		if got.Len() != 3 || !got.IsNull(0) || got.IsNull(1) || got.IsNull(2) || got.ValueStr(1) != a.ValueStr(3) ||
			got.ValueStr(2) != a.ValueStr(5) {
			t.Errorf("%s: kept rows 1, 3, 5 of %v: %v", dt, a, got)
		}
		// A slice is read from its own start.
		if NumbersOf(array.NewSlice(a, 2, 4), &c); c.Original.Values[1] != 120 && c.Original.Values[1] != 12000 &&
			c.Original.Values[1] != -120 && c.Original.Values[1] != -120.25 {
			t.Errorf("%s: slice read %v", dt, c.Original.Values)
		}
		if got := ToArray(c.Original, 0, f, nil); got.Len() != 0 {
			t.Errorf("%s: empty array has %d values", dt, got.Len())
		}
	}
}

func TestNotRepresentable(t *testing.T) {
	for _, c := range []struct {
		dt   arrow.DataType
		json string
		want []int
	}{
		{arrow.PrimitiveTypes.Int64, `[9007199254740992, -9007199254740992, 9007199254740993, null, -9223372036854775808]`,
			[]int{2, 4}},
		{arrow.PrimitiveTypes.Uint64, `[9007199254740992, 18446744073709551615]`, []int{1}},
		{&arrow.Decimal128Type{Precision: 38, Scale: 0},
			`["99999999999999999999999999999999999999", null, "9007199254740993", "9007199254740992"]`, []int{0, 2}},
		// The neighbours of 85·10^12 are 2^-6 apart: not every cent there is a float64.
		{&arrow.Decimal64Type{Precision: 16, Scale: 2}, `["85000000000000.01", "85000000000000.02", "12345678901234.56"]`,
			[]int{0}},
		{&arrow.Decimal256Type{Precision: 70, Scale: 2}, `["1.25", "99999999999999999999999999999999999999999999999999.01"]`,
			[]int{1}},
		{&arrow.Decimal128Type{Precision: 38, Scale: 18},
			`["1234.567890000000000000", "1234.567890000000000001", "-0.000000000000000001"]`, []int{1}},
	} {
		var col Column
		got := NumbersOf(fromJSON(t, c.dt, c.json), &col)
		if len(got) > 0 && got[0] != c.want[0] || len(got) != len(c.want) {
			t.Errorf("%s %s: rows %v, want %v", c.dt, c.json, got, c.want)
		}
		for _, i := range got {
			if col.Original.Values[i] != 0 {
				t.Errorf("%s: row %d holds a value", c.dt, i)
			}
		}
	}
}

// Every value accepted by NumbersOf is converted back exactly, for any scale.
func TestDecimalProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for scale := int32(0); scale <= 30; scale++ {
		dt := &arrow.Decimal128Type{Precision: 38, Scale: scale}
		b := array.NewDecimal128Builder(memory.DefaultAllocator, dt)
		for range 300 {
			if err := b.AppendValueFromString(randomDecimal(r, scale)); err != nil {
				t.Fatal(err)
			}
		}
		a := b.NewArray()
		var c Column
		bad := NumbersOf(a, &c)
		got := ToArray(c.Original, a.Len(), Field{Type: dt}, nil)
		for i := range a.Len() {
			if !slices.Contains(bad, i) && got.ValueStr(i) != a.ValueStr(i) {
				t.Fatalf("scale %d: %s became %s", scale, a.ValueStr(i), got.ValueStr(i))
			}
		}
		if len(bad) > 250 {
			t.Errorf("scale %d: %d of 300 rows refused", scale, len(bad))
		}
	}
}

func randomDecimal(r *rand.Rand, scale int32) string {
	u := r.Int64N(1 << (1 + r.IntN(53)))
	digits := make([]byte, 0, 64)
	for ; u > 0; u /= 10 {
		digits = append(digits, byte('0'+u%10))
	}
	for len(digits) <= int(scale) {
		digits = append(digits, '0')
	}
	slices.Reverse(digits)
	at := len(digits) - int(scale)
	s := string(digits[:at])
	if scale > 0 {
		s += "." + string(digits[at:])
	}
	return s
}

func TestToArrayEnds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		dt   arrow.DataType
		in   []float64
		want []string
	}{
		{arrow.PrimitiveTypes.Int8, []float64{300, -300, 1.5, 2.5, nan, inf, -inf},
			[]string{"127", "-128", "2", "2", "(null)", "127", "-128"}},
		{arrow.PrimitiveTypes.Uint16, []float64{-1, 70000}, []string{"0", "65535"}},
		{arrow.PrimitiveTypes.Float32, []float64{1e300, -1e300, 0.5}, []string{"3.4028235e+38", "-3.4028235e+38", "0.5"}},
		{&arrow.Decimal32Type{Precision: 4, Scale: 2}, []float64{1e9, -1e9, 1.005, nan, inf},
			[]string{"99.99", "-99.99", "1", "(null)", "99.99"}},
		{&arrow.Decimal128Type{Precision: 38, Scale: 20}, []float64{1e300, 0.1},
			[]string{"999999999999999999.99999999999999999999", "0.1"}},
	} {
		got := ToArray(Vector{Values: c.in}, len(c.in), Field{Type: c.dt}, nil)
		for i, w := range c.want {
			if got.ValueStr(i) != w {
				t.Errorf("%s: %v became %s, want %s", c.dt, c.in[i], got.ValueStr(i), w)
			}
		}
	}
}

func TestNumbersOfDictionary(t *testing.T) {
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}
	values := fromJSON(t, arrow.PrimitiveTypes.Int64, `[7, null, 9223372036854775807]`)
	indices := fromJSON(t, arrow.PrimitiveTypes.Int8, `[0, 1, 2, null, 0]`)
	var c Column
	bad := NumbersOf(array.NewDictionaryArray(dt, indices, values), &c)
	if !slices.Equal(bad, []int{2}) {
		t.Errorf("rows %v, want 2", bad)
	}
	for i, want := range []bool{true, false, true, false, true} {
		if c.Original.Valid.Has(i) != want {
			t.Errorf("row %d: valid %v", i, !want)
		}
	}
	if c.Original.Values[4] != 7 {
		t.Errorf("row 4: %v", c.Original.Values[4])
	}
}
