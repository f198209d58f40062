package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/microdata"
)

func le32(v ...int64) (out [][]byte) {
	for _, x := range v {
		out = append(out, binary.LittleEndian.AppendUint32(nil, uint32(x)))
	}
	return out
}

func le64(v ...int64) (out [][]byte) {
	for _, x := range v {
		out = append(out, binary.LittleEndian.AppendUint64(nil, uint64(x)))
	}
	return out
}

func plainBytes(v ...string) (out [][]byte) {
	for _, x := range v {
		out = append(out, []byte(x))
	}
	return out
}

// fixedBytes returns numbers as two's complement of n bytes.
func fixedBytes(n int, v ...int64) (out [][]byte) {
	for _, x := range v {
		out = append(out, twosComplement(big.NewInt(x), n))
	}
	return out
}

// Every Arrow type is stored as the format defines: the physical type, the annotations, and the
// bytes of its values.
func TestStoredTypes(t *testing.T) {
	unit := func(v format.TimeUnitValue) format.TimeUnit { return format.TimeUnit{Value: v} }
	millis, micros, nanos := unit(&format.MilliSeconds{}), unit(&format.MicroSeconds{}), unit(&format.NanoSeconds{})
	stamp := func(u format.TimeUnit, utc bool) format.LogicalTypeValue {
		return &format.TimestampType{IsAdjustedToUTC: utc, Unit: u}
	}
	dec := func(p, s int32) format.LogicalTypeValue { return &format.DecimalType{Precision: p, Scale: s} }
	whole := func(bits int8, signed bool) format.LogicalTypeValue {
		return &format.IntType{BitWidth: bits, IsSigned: signed}
	}
	text := &format.StringType{}
	for _, c := range []struct {
		typ       arrow.DataType
		json      string // four values
		phys      format.Type
		length    int32
		lt        format.LogicalTypeValue
		converted int32 // −1: none
		want      [][]byte
	}{
		{arrow.FixedWidthTypes.Boolean, `[true,false,true,true]`, format.Boolean, 0, nil, -1, [][]byte{{1}, {0}, {1}, {1}}},
		{arrow.PrimitiveTypes.Int8, `[1,-1,127,-128]`, format.Int32, 0, whole(8, true), 15, le32(1, -1, 127, -128)},
		{arrow.PrimitiveTypes.Int16, `[1,-1,32767,-32768]`, format.Int32, 0, whole(16, true), 16, le32(1, -1, 32767, -32768)},
		{arrow.PrimitiveTypes.Int32, `[1,-1,2147483647,-2147483648]`, format.Int32, 0, nil, -1,
			le32(1, -1, math.MaxInt32, math.MinInt32)},
		{arrow.PrimitiveTypes.Int64, `[1,-1,9007199254740991,-5]`, format.Int64, 0, nil, -1,
			le64(1, -1, 9007199254740991, -5)},
		{arrow.PrimitiveTypes.Uint8, `[1,0,255,128]`, format.Int32, 0, whole(8, false), 11, le32(1, 0, 255, 128)},
		{arrow.PrimitiveTypes.Uint16, `[1,0,65535,128]`, format.Int32, 0, whole(16, false), 12, le32(1, 0, 65535, 128)},
		{arrow.PrimitiveTypes.Uint32, `[1,0,4294967295,128]`, format.Int32, 0, whole(32, false), 13,
			le32(1, 0, 4294967295, 128)},
		{arrow.PrimitiveTypes.Uint64, `[1,0,255,128]`, format.Int64, 0, whole(64, false), 14, le64(1, 0, 255, 128)},
		{arrow.FixedWidthTypes.Float16, `[1,-2,0,0.5]`, format.FixedLenByteArray, 2, &format.Float16Type{}, -1,
			[][]byte{{0, 0x3c}, {0, 0xc0}, {0, 0}, {0, 0x38}}},
		{arrow.PrimitiveTypes.Float32, `[1,-2,0,0.5]`, format.Float, 0, nil, -1, le32(0x3f800000, 0xc0000000, 0, 0x3f000000)},
		{arrow.PrimitiveTypes.Float64, `[1,-2,0,0.5]`, format.Double, 0, nil, -1,
			le64(0x3ff0000000000000, -0x4000000000000000, 0, 0x3fe0000000000000)},
		{arrow.BinaryTypes.String, `["a","","bc","d"]`, format.ByteArray, 0, text, 0, plainBytes("a", "", "bc", "d")},
		{arrow.BinaryTypes.LargeString, `["a","","bc","d"]`, format.ByteArray, 0, text, 0, plainBytes("a", "", "bc", "d")},
		{arrow.BinaryTypes.StringView, `["a","","bc","d"]`, format.ByteArray, 0, text, 0, plainBytes("a", "", "bc", "d")},
		{arrow.BinaryTypes.Binary, `["YQ==","","YmM=","ZA=="]`, format.ByteArray, 0, nil, -1, plainBytes("a", "", "bc", "d")},
		{arrow.BinaryTypes.LargeBinary, `["YQ==","","YmM=","ZA=="]`, format.ByteArray, 0, nil, -1,
			plainBytes("a", "", "bc", "d")},
		{arrow.BinaryTypes.BinaryView, `["YQ==","","YmM=","ZA=="]`, format.ByteArray, 0, nil, -1,
			plainBytes("a", "", "bc", "d")},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `["YWI=","Y2Q=","ZWY=","Z2g="]`, format.FixedLenByteArray, 2, nil, -1,
			plainBytes("ab", "cd", "ef", "gh")},
		{arrow.FixedWidthTypes.Date32, `["1970-01-02","1969-12-31","1970-01-01","2000-01-01"]`, format.Int32, 0,
			&format.DateType{}, 6, le32(1, -1, 0, 10957)},
		{arrow.FixedWidthTypes.Date64, `["1970-01-02","1969-12-31","1970-01-01","2000-01-01"]`, format.Int32, 0,
			&format.DateType{}, 6, le32(1, -1, 0, 10957)},
		{arrow.FixedWidthTypes.Time32s, `["00:00:01","23:59:59","00:00:00","01:00:00"]`, format.Int32, 0,
			&format.TimeType{Unit: millis}, -1, le32(1000, 86399000, 0, 3600000)},
		{arrow.FixedWidthTypes.Time32ms, `["00:00:01.5","23:59:59","00:00:00","01:00:00"]`, format.Int32, 0,
			&format.TimeType{Unit: millis}, -1, le32(1500, 86399000, 0, 3600000)},
		{arrow.FixedWidthTypes.Time64us, `["00:00:01.5","23:59:59","00:00:00","01:00:00"]`, format.Int64, 0,
			&format.TimeType{Unit: micros}, -1, le64(1500000, 86399000000, 0, 3600000000)},
		{arrow.FixedWidthTypes.Time64ns, `["00:00:01.5","23:59:59","00:00:00","01:00:00"]`, format.Int64, 0,
			&format.TimeType{Unit: nanos}, -1, le64(1500000000, 86399000000000, 0, 3600000000000)},
		{&arrow.TimestampType{Unit: arrow.Second}, `["1970-01-01 00:00:01","1969-12-31 23:59:59","1970-01-01","1970-01-02"]`,
			format.Int64, 0, stamp(millis, false), -1, le64(1000, -1000, 0, 86400000)},
		{&arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"},
			`["1970-01-01 00:00:01Z","1969-12-31 23:59:59Z","1970-01-01 00:00:00Z","1970-01-02 00:00:00Z"]`, format.Int64, 0,
			stamp(millis, true), 9, le64(1000, -1000, 0, 86400000)},
		{&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"},
			`["1970-01-01 00:00:01Z","1969-12-31 23:59:59Z","1970-01-01 00:00:00Z","1970-01-02 00:00:00Z"]`, format.Int64, 0,
			stamp(millis, true), 9, le64(1000, -1000, 0, 86400000)},
		{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
			`["1970-01-01 00:00:01Z","1969-12-31 23:59:59Z","1970-01-01 00:00:00Z","1970-01-02 00:00:00Z"]`, format.Int64, 0,
			stamp(micros, true), 10, le64(1000000, -1000000, 0, 86400000000)},
		{&arrow.TimestampType{Unit: arrow.Microsecond},
			`["1970-01-01 00:00:01","1969-12-31 23:59:59","1970-01-01","1970-01-02"]`, format.Int64, 0, stamp(micros, false), -1,
			le64(1000000, -1000000, 0, 86400000000)},
		{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
			`["1970-01-01 00:00:01Z","1969-12-31 23:59:59Z","1970-01-01 00:00:00Z","1970-01-02 00:00:00Z"]`, format.Int64, 0,
			stamp(nanos, true), -1, le64(1000000000, -1000000000, 0, 86400000000000)},
		{&arrow.Decimal32Type{Precision: 9, Scale: 2}, `["1","-1","0","327.68"]`, format.Int32, 0, dec(9, 2), 5,
			le32(100, -100, 0, 32768)},
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, `["1","-1","0","327.68"]`, format.Int64, 0, dec(18, 2), 5,
			le64(100, -100, 0, 32768)},
		{&arrow.Decimal128Type{Precision: 9, Scale: 2}, `["1","-1","0","327.68"]`, format.Int32, 0, dec(9, 2), 5,
			le32(100, -100, 0, 32768)},
		{&arrow.Decimal128Type{Precision: 10, Scale: 2}, `["1","-1","0","327.68"]`, format.Int64, 0, dec(10, 2), 5,
			le64(100, -100, 0, 32768)},
		{&arrow.Decimal128Type{Precision: 18, Scale: 18}, `["0","0","0","0"]`, format.Int64, 0, dec(18, 18), 5,
			le64(0, 0, 0, 0)},
		{&arrow.Decimal128Type{Precision: 19, Scale: 2}, `["1","-1","0","327.68"]`, format.FixedLenByteArray, 9, dec(19, 2),
			5, fixedBytes(9, 100, -100, 0, 32768)},
		{&arrow.Decimal128Type{Precision: 38, Scale: 2}, `["1","-1","0","327.68"]`, format.FixedLenByteArray, 16, dec(38, 2),
			5, fixedBytes(16, 100, -100, 0, 32768)},
		{&arrow.Decimal256Type{Precision: 39, Scale: 2}, `["1","-1","0","327.68"]`, format.FixedLenByteArray, 17, dec(39, 2),
			5, fixedBytes(17, 100, -100, 0, 32768)},
		{&arrow.Decimal256Type{Precision: 76, Scale: 2}, `["1","-1","0","327.68"]`, format.FixedLenByteArray, 32, dec(76, 2),
			5, fixedBytes(32, 100, -100, 0, 32768)},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
			`["a","b","a","c"]`, format.ByteArray, 0, text, 0, plainBytes("a", "b", "a", "c")},
	} {
		for _, nullable := range []bool{false, true} {
			elements, err := elementsOf("x", c.typ, nullable)
			if err != nil || len(elements) != 1 {
				t.Fatalf("%s: %v", c.typ, err)
			}
			e := elements[0]
			if e.Name != "x" || e.Type.V != c.phys || !e.Type.Valid || e.TypeLength.V != c.length ||
				e.TypeLength.Valid != (c.length > 0) || e.ConvertedType.Valid != (c.converted >= 0) || c.converted >= 0 &&
				e.ConvertedType.V != c.converted || (e.RepetitionType.V == format.Optional) != nullable {
				t.Errorf("%s: %+v", c.typ, e)
			}
			if !sameLogical(e.LogicalType.Value, c.lt) {
				t.Errorf("%s: %#v, want %#v", c.typ, e.LogicalType.Value, c.lt)
			}
			if d, ok := c.lt.(*format.DecimalType); ok != e.Precision.Valid || ok != e.Scale.Valid || ok &&
				(e.Precision.V != d.Precision || e.Scale.V != d.Scale) {
				t.Errorf("%s: %+v", c.typ, e)
			}
			json := c.json
			if nullable {
				json = strings.Replace(json, ",", ",null,", 1)
			}
			arr, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, strings.NewReader(json))
			if err != nil {
				t.Fatalf("%s: %v", c.typ, err)
			}
			root := fieldOf(t, arrow.Field{Name: "x", Type: c.typ, Nullable: nullable})
			got, err := arrayValues(root, arr, 0, arr.Len(), nil)
			if err != nil || len(got) != 1 || got[0].n != 4 {
				t.Fatalf("%s: %v", c.typ, err)
			}
			for i, want := range c.want {
				if b := valueAt(root.leaf, got[0], i); !bytes.Equal(b, want) {
					t.Errorf("%s: value %d is %x, want %x", c.typ, i, b, want)
				}
			}
			if nullable && !bytes.Equal(got[0].def, []byte{1, 0, 1, 1, 1}) || !nullable && got[0].def != nil {
				t.Errorf("%s: levels %v", c.typ, got[0].def)
			}
		}
	}
}

func sameLogical(a, b format.LogicalTypeValue) bool {
	x, y := schemaElement{Name: "x"}, schemaElement{Name: "x"}
	x.LogicalType.Value, y.LogicalType.Value = a, b
	var p, q bytes.Buffer
	return marshal(&p, &x) == nil && marshal(&q, &y) == nil && bytes.Equal(p.Bytes(), q.Bytes())
}

// labelled is an extension type that is stored as texts.
type labelled struct{ arrow.ExtensionBase }

func (*labelled) ArrayType() reflect.Type                    { return reflect.TypeFor[labelledArray]() }
func (*labelled) ExtensionName() string                      { return "labelled" }
func (*labelled) ExtensionEquals(o arrow.ExtensionType) bool { return o.ExtensionName() == "labelled" }
func (*labelled) Serialize() string                          { return "" }
func (*labelled) Deserialize(arrow.DataType, string) (arrow.ExtensionType, error) {
	return nil, errors.New("is not read")
}

type labelledArray struct{ array.ExtensionArrayBase }

// An extension type is stored and described as its storage type.
func TestExtensionsAreStored(t *testing.T) {
	typ := &labelled{arrow.ExtensionBase{Storage: arrow.BinaryTypes.String}}
	texts, _, err := array.FromJSON(memory.DefaultAllocator, arrow.BinaryTypes.String, strings.NewReader(`["a","bc"]`))
	if err != nil {
		t.Fatal(err)
	}
	root := fieldOf(t, arrow.Field{Name: "x", Type: typ})
	got, err := arrayValues(root, array.NewExtensionArrayWithStorage(typ, texts), 0, 2, nil)
	if err != nil || string(got[0].bytes(0)) != "a" || string(got[0].bytes(1)) != "bc" || root.typ.ID() != arrow.STRING {
		t.Errorf("%v, %v", got, err)
	}
	f := bare(arrow.Field{Name: "x", Type: typ, Metadata: arrow.NewMetadata([]string{"a"}, []string{"b"})})
	if f.Type.ID() != arrow.STRING || f.HasMetadata() {
		t.Errorf("%v", f)
	}
}

// Types that Parquet does not have are refused, wherever in a column they stand.
func TestTypesThatCannotBeStored(t *testing.T) {
	interval := arrow.FixedWidthTypes.MonthInterval
	f := arrow.Field{Name: "y", Type: interval}
	for _, typ := range []arrow.DataType{
		interval, arrow.StructOf(), arrow.StructOf(f), arrow.ListOf(interval),
		arrow.MapOf(interval, arrow.PrimitiveTypes.Int8), arrow.MapOf(arrow.PrimitiveTypes.Int8, interval),
		arrow.ListOf(arrow.StructOf()),
		&arrow.Decimal128Type{Precision: 5, Scale: 6}, &arrow.Decimal128Type{Precision: 5, Scale: -1},
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: interval},
	} {
		if _, err := elementsOf("x", typ, false); err == nil || !strings.Contains(err.Error(), "Parquet") ||
			!strings.Contains(err.Error(), "column ") {
			t.Errorf("%s: %v", typ, err)
		}
	}
	for p, want := range map[int32]int32{1: 1, 2: 1, 3: 2, 18: 8, 19: 9, 38: 16, 39: 17, 76: 32} {
		if got := decimalBytes(p); got != want {
			t.Errorf("%d digits take %d bytes, want %d", p, got, want)
		}
	}
	for p := int32(1); p <= 76; p++ { // 10^p − 1 and its negative fit, and one byte less would not be enough
		most := new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p)), nil), big.NewInt(1))
		n := int(decimalBytes(p))
		if twosComplement(most, n) == nil || twosComplement(new(big.Int).Neg(most), n) == nil || n > 1 &&
			twosComplement(most, n-1) != nil {
			t.Errorf("%d digits in %d bytes", p, n)
		}
	}
	one, err := elementsOf("m", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), true)
	if err != nil || len(one) != 4 || one[1].Name != "key_value" || one[1].RepetitionType.V != format.Repeated ||
		one[1].NumChildren.V != 2 || one[2].Name != "key" || one[2].RepetitionType.V != format.Required ||
		one[3].Name != "value" || one[0].ConvertedType.V != convertedMap || one[0].NumChildren.V != 1 || !isMap(one[0]) ||
		isList(one[0]) {
		t.Errorf("%+v, %v", one, err)
	}
	two, err := elementsOf("l", arrow.ListOf(arrow.PrimitiveTypes.Int64), false)
	if err != nil || len(two) != 3 || two[1].Name != "list" || two[1].RepetitionType.V != format.Repeated ||
		two[1].NumChildren.V != 1 || two[2].Name != "element" || two[2].RepetitionType.V != format.Optional ||
		two[0].ConvertedType.V != convertedList || two[0].NumChildren.V != 1 || !isList(two[0]) || isMap(two[0]) {
		t.Errorf("%+v, %v", two, err)
	}
	null, err := elementsOf("n", arrow.Null, true)
	if err != nil || null[0].Type.V != format.Int32 || !sameLogical(null[0].LogicalType.Value, &format.NullType{}) ||
		null[0].ConvertedType.Valid {
		t.Errorf("%+v, %v", null, err)
	}
}

// Decimals in a byte array take as few bytes as possible.
func TestDecimalsTakeAsFewBytes(t *testing.T) {
	l := &leaf{phys: format.ByteArray, path: []string{"x"}, typ: &arrow.Decimal128Type{Precision: 38}}
	b := array.NewDecimal128Builder(memory.DefaultAllocator, l.typ.(*arrow.Decimal128Type))
	xs := []int64{0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 1 << 40, -(1 << 40),
		math.MaxInt64, math.MinInt64}
	for _, x := range xs {
		b.Append(decimal128.FromI64(x))
	}
	v := &values{offsets: []uint32{0}}
	put, err := putter(l, v, b.NewArray())
	if err != nil {
		t.Fatal(err)
	}
	for i := range xs {
		put(i)
	}
	numbers := &values{}
	if err := storeNumbers(l, numbers,
		[]float64{0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 1 << 40, -(1 << 40)}); err != nil {
		t.Fatal(err)
	}
	numbers.n = 15
	for i, x := range xs {
		want := twosComplement(big.NewInt(x), shortest(x))
		if got := v.bytes(i); !bytes.Equal(got, want) {
			t.Errorf("%d is stored as %x, want %x", x, got, want)
		}
		if i < 15 && !bytes.Equal(numbers.bytes(i), want) {
			t.Errorf("the number %d is stored as %x, want %x", x, numbers.bytes(i), want)
		}
	}
	for _, c := range [][3]int64{{7, 3, 2}, {-7, 3, -3}, {6, 3, 2}, {-6, 3, -2}, {0, 3, 0}, {-1, 3, -1}, {1, 3, 0}} {
		if got := floorDiv(c[0], c[1]); got != c[2] {
			t.Errorf("%d / %d is %d", c[0], c[1], got)
		}
	}
}

// Timestamps are stored as days and nanoseconds if the column is an INT96 column.
func TestStampsOfOldColumns(t *testing.T) {
	l := &leaf{phys: format.Int96, width: 12, path: []string{"x"}, typ: arrow.FixedWidthTypes.Timestamp_ns}
	b := array.NewTimestampBuilder(memory.DefaultAllocator, arrow.FixedWidthTypes.Timestamp_ns.(*arrow.TimestampType))
	const day = 86_400_000_000_000
	xs := []int64{0, 1, -1, day, -day, day - 1, 3*day + 5}
	for _, x := range xs {
		b.Append(arrow.Timestamp(x))
	}
	v := &values{}
	put, err := putter(l, v, b.NewArray())
	if err != nil {
		t.Fatal(err)
	}
	for i := range xs {
		put(i)
	}
	days, nanos := []int64{0, 0, -1, 1, -1, 0, 3}, []int64{0, 1, day - 1, 0, 0, day - 1, 5}
	for i := range xs {
		d, n := int64(binary.LittleEndian.Uint32(v.data[12*i+8:]))-julian, int64(binary.LittleEndian.Uint64(v.data[12*i:]))
		if d != days[i] || n != nanos[i] {
			t.Errorf("%d is day %d and %d", xs[i], d, n)
		}
	}
	if got := words[int64](timestamps(v.data)); len(got) != len(xs) || got[2] != -1 || got[6] != 3*day+5 {
		t.Errorf("%v", got)
	}
}

// Released numbers are stored in the column's type, for all rows or some. Values outside its range
// are refused, starting directly at the bound.
func TestStoredNumbers(t *testing.T) {
	valid := microdata.NewBitmap(6, nil)
	valid.Clear(3)
	vec := microdata.Vector{Values: []float64{1, 2, 3, 0, 5, 6}, Valid: valid}
	optional := &leaf{phys: format.Double, width: 8, maxDef: 1, typ: arrow.PrimitiveTypes.Float64, path: []string{"x"}}
	required := &leaf{phys: format.Double, width: 8, typ: arrow.PrimitiveTypes.Float64, path: []string{"x"}}
	for _, c := range []struct {
		l       *leaf
		vec     microdata.Vector
		from, n int
		keep    []int32
		want    []float64
		def     []byte
		err     error
	}{
		{optional, vec, 1, 4, nil, []float64{2, 3, 5}, []byte{1, 1, 0, 1}, nil},
		{optional, vec, 0, 6, []int32{0, 3, 5}, []float64{1, 6}, []byte{1, 0, 1}, nil},
		{optional, microdata.Vector{Values: vec.Values}, 1, 3, nil, []float64{2, 3, 0}, []byte{1, 1, 1}, nil},
		{required, microdata.Vector{Values: vec.Values}, 4, 2, nil, []float64{5, 6}, nil, nil},
		{required, microdata.Vector{Values: vec.Values}, 0, 6, []int32{1, 4}, []float64{2, 5}, []byte{1, 1}, nil},
		{required, vec, 0, 3, nil, []float64{1, 2, 3}, []byte{1, 1, 1}, nil},
		{required, vec, 0, 4, nil, nil, nil, errRequired}, {required, vec, 0, 6, []int32{2, 3}, nil, nil, errRequired},
		{required, vec, 0, 6, []int32{2}, []float64{3}, []byte{1}, nil},
	} {
		v, err := numberValues(c.l, c.vec, c.from, c.n, c.keep)
		if err != c.err {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil {
			continue
		}
		if c.l.maxDef == 0 {
			v.def, c.def = nil, nil // not examined
		}
		if got := words[float64](v.data); v.n != len(c.want) || !equalFloats(got, c.want) || !bytes.Equal(v.def, c.def) {
			t.Errorf("%+v: %v, levels %v of %d", c, got, v.def, v.n)
		}
	}
	if p := present(2*65_536 + 1); len(p) != 2*65_536+1 || bytes.Count(p, []byte{1}) != len(p) {
		t.Errorf("%d levels", len(p))
	}
	if p := present(2 * 65_536); len(p) != 2*65_536 || &p[0] != &allPresent[0] {
		t.Errorf("%d levels", len(p))
	}
	lf := func(phys format.Type, width int, typ arrow.DataType) *leaf {
		return &leaf{phys: phys, width: width, typ: typ, path: []string{"x"}}
	}
	for _, c := range []struct {
		l    *leaf
		x    float64
		want []byte // nil: out of range
	}{
		{lf(format.Float, 4, arrow.PrimitiveTypes.Float32), 2.5, le32(0x40200000)[0]},
		{lf(format.Int32, 4, arrow.PrimitiveTypes.Int8), 127, le32(127)[0]},
		{lf(format.Int32, 4, arrow.PrimitiveTypes.Int8), 128, nil},
		{lf(format.Int32, 4, arrow.PrimitiveTypes.Int8), -128, le32(-128)[0]},
		{lf(format.Int32, 4, arrow.PrimitiveTypes.Int8), -129, nil},
		{lf(format.Int32, 4, arrow.PrimitiveTypes.Uint32), math.MaxUint32, le32(math.MaxUint32)[0]},
		{lf(format.Int32, 4, arrow.PrimitiveTypes.Uint32), -1, nil},
		{lf(format.Int64, 8, arrow.PrimitiveTypes.Int64), -3, le64(-3)[0]},
		{lf(format.Int64, 8, arrow.PrimitiveTypes.Int64), microdata.MaxExact, le64(microdata.MaxExact)[0]},
		{lf(format.Int64, 8, arrow.PrimitiveTypes.Int64), microdata.MaxExact + 2, nil},
		{lf(format.Int64, 8, arrow.PrimitiveTypes.Int64), math.NaN(), nil},
		{lf(format.FixedLenByteArray, 9, &arrow.Decimal128Type{Precision: 19, Scale: 2}), -1.25, fixedBytes(9, -125)[0]},
		{lf(format.FixedLenByteArray, 1, &arrow.Decimal128Type{Precision: 3}), 127, []byte{127}},
		{lf(format.FixedLenByteArray, 1, &arrow.Decimal128Type{Precision: 3}), 128, nil},
		{lf(format.Int32, 4, &arrow.Decimal128Type{Precision: 3, Scale: 1}), 99.9, le32(999)[0]},
		{lf(format.Int32, 4, &arrow.Decimal128Type{Precision: 3, Scale: 1}), 100, nil},
		{lf(format.ByteArray, 0, &arrow.Decimal128Type{Precision: 20, Scale: 1}), 12.8, []byte{0, 128}},
	} {
		v := &values{}
		err := storeNumbers(c.l, v, []float64{c.x})
		if c.want == nil && err != errRange || c.want != nil && (err != nil || !bytes.Equal(v.data, c.want)) {
			t.Errorf("%v as %s: %x, %v, want %x", c.x, c.l.typ, v.data, err, c.want)
		}
	}
	if err := storeNumbers(lf(format.Boolean, 1, arrow.FixedWidthTypes.Boolean), &values{}, []float64{1}); err == nil ||
		!strings.Contains(err.Error(), "cannot be stored as BOOLEAN") {
		t.Errorf("%v", err)
	}
}

func equalFloats(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}

// Arrays that contradict the schema, and nulls in required columns, are refused.
func TestArraysThatDoNotFit(t *testing.T) {
	whole := arrow.PrimitiveTypes.Int64
	from := func(typ arrow.DataType, json string) arrow.Array {
		a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(json))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	required := fieldOf(t, arrow.Field{Name: "x", Type: whole})
	record := fieldOf(t,
		arrow.Field{
			Name: "s", Type: arrow.StructOf(arrow.Field{Name: "a", Type: whole}, arrow.Field{Name: "b", Type: whole})})
	list := fieldOf(t, arrow.Field{Name: "l", Type: arrow.ListOfField(arrow.Field{Name: "element", Type: whole})})
	for _, c := range []struct {
		name string
		n    *node
		a    arrow.Array
		keep []int32
		want string
	}{
		{"a null", required, from(whole, `[1,null,2]`), nil, "a null in a column that must have none"},
		{"a null that is kept", required, from(whole, `[1,null,2]`), []int32{0, 1}, "a null in a column that must have none"},
		{"a null that is not kept", required, from(whole, `[1,null,2]`), []int32{0, 2}, ""},
		{"a null in a structure", record, from(record.typ, `[{"a":1,"b":2},{"a":1,"b":2},{"a":1,"b":null}]`), nil,
			"a null in a column that must have none"},
		{"a null in a list", list, from(list.typ, `[[1],[2,3],[4,null]]`), nil, "a null in a column that must have none"},
		{"one field", record, from(arrow.StructOf(arrow.Field{Name: "a", Type: whole}), `[{"a":1},{"a":2},{"a":3}]`), nil,
			"column s: the data are struct<a: int64>, and the schema says struct<a: int64, b: int64>"},
		{"no structure", record, from(whole, `[1,2,3]`), nil, "column s: the data are int64"},
		{"a list of structures", list, from(arrow.ListOf(record.typ), `[[],[],[]]`), nil, "column element: the data are"},
		{"what cannot be stored", required,
			from(arrow.FixedWidthTypes.MonthInterval, `[{"months":1},{"months":1},{"months":1}]`), nil,
			"column x: a Parquet file cannot store month_interval"},
		{"what cannot be stored in a list", list, from(arrow.ListOf(arrow.FixedWidthTypes.MonthInterval), `[[],[],[]]`), nil,
			"column element: a Parquet file cannot store month_interval"},
	} {
		_, err := arrayValues(c.n, c.a, 0, 3, c.keep)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
