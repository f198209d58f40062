package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	pqgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// A truncated footer is an error, wherever it ends. Bytes after its end are not read.
func TestFooterEndsTooEarly(t *testing.T) {
	path, _ := variedFile(t)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	footer := file[footerAt(file) : len(file)-8]
	var whole, more fileMetaData
	n, err := unmarshal(footer, &whole)
	if err != nil || n != len(footer) {
		t.Fatalf("%d of %d bytes: %v", n, len(footer), err)
	}
	if n, err := unmarshal(append(bytes.Clone(footer), 0xff, 0xff), &more); err != nil || n != len(footer) ||
		!reflect.DeepEqual(whole, more) {
		t.Errorf("with more bytes after it: %d of %d bytes, %v", n, len(footer), err)
	}
	for k := range footer {
		if _, err := skipStruct(footer[:k], 0, 0); !errors.Is(err, errShort) {
			t.Fatalf("the first %d of %d bytes: %v", k, len(footer), err)
		}
	}
}

// Every type of the Thrift compact protocol is skipped up to its exact end. A value cut off at any
// length, a length beyond the input, and an unknown type are errors.
func TestThriftIsWalked(t *testing.T) {
	field := func(typ thrift.Type) byte { return 1<<4 | byte(typ) }
	nested := func(n int) []byte { return append(bytes.Repeat([]byte{field(thrift.STRUCT)}, n), make([]byte, n+1)...) }
	// A field with a list of a list of … an empty list.
	lists := func(n int) []byte {
		return append(append([]byte{field(thrift.LIST)}, bytes.Repeat([]byte{1<<4 | byte(thrift.LIST)}, n)...),
			byte(thrift.I8), 0)
	}
	mixed := append(bytes.Repeat([]byte{field(thrift.LIST), 1<<4 | byte(thrift.STRUCT)}, 40), make([]byte, 41)...)
	for _, c := range []struct {
		name string
		b    []byte
	}{
		{"nothing", []byte{0}},
		{"truth", []byte{field(thrift.TRUE), field(thrift.FALSE), 0}},
		{"a byte", []byte{field(thrift.I8), 7, 0}},
		{"numbers", []byte{field(thrift.I16), 0x80, 1, field(thrift.I32), 2, field(thrift.I64), 0xff, 0xff, 3, 0}},
		{"a double", append([]byte{field(thrift.DOUBLE)}, make([]byte, 9)...)},
		{"a UUID", append([]byte{field(thrift.UUID)}, make([]byte, 17)...)},
		{"a text", []byte{field(thrift.BINARY), 3, 'a', 'b', 'c', 0}},
		{"an empty text", []byte{field(thrift.BINARY), 0, 0}},
		{"a structure", []byte{field(thrift.STRUCT), field(thrift.I8), 1, 0, 0}},
		{"a list", []byte{field(thrift.LIST), 3<<4 | byte(thrift.I8), 1, 2, 3, 0}},
		{"a list of truths", []byte{field(thrift.LIST), 2<<4 | byte(thrift.TRUE), 1, 2, 0}},
		{"a long list", append([]byte{field(thrift.SET), 15<<4 | byte(thrift.I8), 16}, make([]byte, 17)...)},
		{"a list of structures",
			[]byte{field(thrift.LIST), 2<<4 | byte(thrift.STRUCT), field(thrift.I8), 1, 0, field(thrift.I8), 2, 0, 0}},
		{"an empty map", []byte{field(thrift.MAP), 0, 0}},
		{"a long field number", []byte{byte(thrift.I8), 0x80, 2, 9, 0}},
		{"as deep as may be", nested(64)},
		{"lists as deep as may be", lists(63)},
	} {
		if n, err := skipStruct(append(bytes.Clone(c.b), 0x55), 0, 0); err != nil || n != len(c.b) {
			t.Errorf("%s: ends at %d of %d, %v", c.name, n, len(c.b), err)
		}
		for k := range c.b {
			if n, err := skipStruct(c.b[:k:k], 0, 0); !errors.Is(err, errShort) || n != 0 {
				t.Errorf("%s, the first %d bytes: ends at %d, %v", c.name, k, n, err)
			}
		}
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"lists too deep":               {lists(64), "nested too deeply"},
		"lists of lists for ever":      {lists(4 << 20), "nested too deeply"},
		"lists of structures too deep": {mixed, "nested too deeply"},
		"too deep":                     {nested(65), "nested too deeply"},
		"a map":                        {[]byte{field(thrift.MAP), 1, 0x55, 1, 1, 0}, "a map"},
		"a type that is none":          {[]byte{field(14), 0, 0}, "type 14"},
		"a number too long": {append([]byte{field(thrift.I64)}, bytes.Repeat([]byte{0xff}, 12)...),
			"more than 64 bits"},
		"a field number too long": {append([]byte{byte(thrift.I8)}, bytes.Repeat([]byte{0xff}, 12)...),
			"more than 64 bits"},
		"a text too long": {append([]byte{field(thrift.BINARY)}, bytes.Repeat([]byte{0xff}, 12)...),
			"more than 64 bits"},
		"a list too long": {
			append([]byte{field(thrift.LIST), 15<<4 | byte(thrift.I8)}, bytes.Repeat([]byte{0xff}, 12)...), "more than 64 bits"},
		"more structures than can be": {[]byte{field(thrift.LIST), 2<<4 | byte(thrift.STRUCT), 0, 0, 0, 0, 0},
			errShort.Error()},
		"a list of what is none":          {[]byte{field(thrift.LIST), 1<<4 | 14, 0, 0}, "type 14"},
		"a text longer than what is left": {[]byte{field(thrift.BINARY), 3, 'a', 'b'}, errShort.Error()},
	} {
		if n, err := skipStruct(c.b, 0, 0); err == nil || n != 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d, %v, want %s", name, n, err, c.want)
		}
		var m fileMetaData
		if n, err := unmarshal(c.b, &m); err == nil || n != 0 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	// Well-formed Thrift data may still be no valid footer.
	var m fileMetaData
	if n, err := unmarshal([]byte{field(thrift.BINARY), 1, 'a', 0}, &m); err == nil || n != 0 ||
		!strings.Contains(err.Error(), "not a structure of the Parquet format") {
		t.Errorf("%d, %v", n, err)
	}
	for _, b := range [][]byte{nil, {0x80}, bytes.Repeat([]byte{0xff}, 12)} {
		if u, n, err := uvarint(b); err == nil || u != 0 || n != 0 {
			t.Errorf("%x: %d of %d bytes, %v", b, u, n, err)
		}
	}
}

// A page is carried unchanged only if its compressed form has no room for hidden bytes.
func TestPackingThatHidesNothing(t *testing.T) {
	gzip := func(flags byte, time uint32) []byte {
		b := []byte{0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 0xff}
		binary.LittleEndian.PutUint32(b[4:], time)
		return b
	}
	for _, c := range []struct {
		codec format.CompressionCodec
		src   []byte
		want  bool
	}{
		{format.Uncompressed, nil, true}, {format.Snappy, nil, true}, {format.Lz4Raw, nil, true},
		{format.Brotli, nil, false}, {format.Lz4, nil, false},
		{format.Gzip, gzip(0, 0), true}, {format.Gzip, gzip(0, goTime), true}, {format.Gzip, gzip(0, 1), false},
		{format.Gzip, gzip(0, goTime+1), false},
		{format.Gzip, gzip(8, 0), false}, {format.Gzip, gzip(1, 0), false}, {format.Gzip, gzip(0, 0)[:9], false},
		{format.Gzip, nil, false},
	} {
		if got := exactPacking(c.codec, c.src); got != c.want {
			t.Errorf("%s %x: %v", c.codec, c.src, got)
		}
	}
}

// The uncompressed length of a page must equal its header, in every codec: neither shorter nor
// longer. A truncated or empty page is an error.
func TestUnpackedLength(t *testing.T) {
	data := bytes.Repeat([]byte("abcdefgh"), 100)
	for _, codec := range []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Zstd,
		format.Lz4Raw, format.Brotli} {
		src := data
		if codec != format.Uncompressed {
			var err error
			if src, err = pqgo.LookupCompressionCodec(codec).Encode(nil, data); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range []int{0, 1, len(data) - 1, len(data), len(data) + 1, 2 * len(data)} {
			dst := make([]byte, n)
			_, err := decompress(codec, dst, src)
			if (err == nil) != (n == len(data)) || err == nil && !bytes.Equal(dst, data) {
				t.Errorf("%s into %d of %d bytes: %v", codec, n, len(data), err)
			}
		}
		for k := range len(src) {
			if _, err := decompress(codec, make([]byte, len(data)), src[:k]); err == nil {
				t.Errorf("%s: the first %d of %d bytes are taken for the whole", codec, k, len(src))
			}
		}
	}
	if _, err := decompress(99, make([]byte, 1), []byte{1}); err == nil ||
		!strings.Contains(err.Error(), "is not supported") {
		t.Errorf("an unknown codec: %v", err)
	}
}

// allOf recognises one run of the maximum level and nothing else.
func TestOneRunOfALevel(t *testing.T) {
	for _, c := range []struct {
		src   []byte
		width int
		level uint8
		n     int
		want  bool
	}{
		{[]byte{20 << 1, 1}, 1, 1, 20, true}, {[]byte{21 << 1, 1}, 1, 1, 20, true}, {[]byte{19 << 1, 1}, 1, 1, 20, false},
		{[]byte{20 << 1, 0}, 1, 1, 20, false}, {[]byte{20<<1 | 1, 1}, 1, 1, 20, false}, {[]byte{20 << 1}, 1, 1, 20, false},
		{nil, 1, 1, 0, false},
		{[]byte{0x80}, 1, 1, 0, false}, {[]byte{20 << 1, 3}, 9, 3, 20, false}, {[]byte{20 << 1, 3}, 8, 3, 20, true},
		{[]byte{0xc8, 1, 2, 9}, 2, 2, 100, true},
	} {
		if got := allOf(c.src, c.width, c.level, c.n); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A page of packed differences is an error if it is truncated anywhere or contains impossible
// sizes. An empty page has no numbers, and the bytes after it are returned.
func TestDeltaEndsTooEarly(t *testing.T) {
	var values []int64
	for i := range 300 {
		values = append(values, int64(i*i%97)-40)
	}
	src, err := new(delta.BinaryPackedEncoding).EncodeInt64(nil, values)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]int64, len(values))
	n, rest, err := decodeDelta(dst, append(bytes.Clone(src), 7))
	if err != nil || n != len(values) || !reflect.DeepEqual(dst, values) || !bytes.Equal(rest, []byte{7}) {
		t.Errorf("%d numbers, %x follows, %v", n, rest, err)
	}
	for k := range src {
		if _, _, err := decodeDelta(dst, src[:k:k]); err == nil {
			t.Errorf("the first %d of %d bytes are taken for the whole", k, len(src))
		}
	}
	if _, _, err := decodeDelta(dst[:299], src); err == nil || !strings.Contains(err.Error(), "more values") {
		t.Errorf("one value too many: %v", err)
	}
	head := func(block, minis, total uint64, more ...byte) []byte {
		var b []byte
		for _, u := range []uint64{block, minis, total, 0} {
			b = binary.AppendUvarint(b, u)
		}
		return append(b, more...)
	}
	for _, c := range []struct {
		src  []byte
		want string
	}{
		{head(0, 4, 2), "blocks of 0"}, {head(64, 1, 2), "blocks of 64"}, {head(1<<20+128, 1, 2), "blocks of"},
		{head(128, 0, 2), "in 0 parts"}, {head(128, 3, 2), "in 3 parts"}, {head(128, 8, 2), "in 8 parts"},
		{head(128, 1, 2, 0, 65), "a bit width of 65"},
	} {
		if _, _, err := decodeDelta(dst, c.src); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%x: %v, want %s", c.src, err, c.want)
		}
	}
	for _, total := range []uint64{0, 1} {
		if n, rest, err := decodeDelta(dst, head(128, 4, total, 9)); err != nil || n != int(total) ||
			!bytes.Equal(rest, []byte{9}) {
			t.Errorf("%d values: %d, %x follows, %v", total, n, rest, err)
		}
	}
	// Blocks of the maximum size, with parts as wide as a number.
	if n, _, err := decodeDelta(dst[:2],
		head(1<<20, 1<<15, 2, append([]byte{0, 64}, make([]byte, 1<<15-1+256)...)...)); err != nil || n != 2 {
		t.Errorf("the largest block: %d, %v", n, err)
	}
}

// Minimum and maximum of doubles ignore NaN. A zero has the sign of its side: −0 as minimum, +0 as
// maximum.
func TestBoundsOfDoubles(t *testing.T) {
	put := func(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }
	nan := math.NaN()
	for _, c := range []struct {
		v       []float64
		lo, hi  float64
		none    bool
		without bool
	}{
		{v: nil, none: true}, {v: []float64{nan}, none: true, without: true},
		{v: []float64{nan, nan}, none: true, without: true},
		{v: []float64{3}, lo: 3, hi: 3}, {v: []float64{nan, 2, 1, nan}, lo: 1, hi: 2}, {v: []float64{1, 2, 3}, lo: 1, hi: 3},
		{v: []float64{3, 2, 1}, lo: 1, hi: 3},
		{v: []float64{0, 1}, lo: math.Copysign(0, -1), hi: 1}, {v: []float64{-1, math.Copysign(0, -1)}, lo: -1, hi: 0},
		{v: []float64{0}, lo: math.Copysign(0, -1), hi: 0},
		{v: []float64{math.Inf(-1), math.Inf(1)}, lo: math.Inf(-1), hi: math.Inf(1)},
	} {
		got := floats(c.v, put)
		want := pageStats{without: c.without}
		if !c.none {
			want.min, want.max = put(c.lo), put(c.hi)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %+v, want %+v", c.v, got, want)
		}
	}
	if got := integers([]int32{5, -3, 9}); binary.LittleEndian.Uint32(got.min) != math.MaxUint32-2 ||
		binary.LittleEndian.Uint32(got.max) != 9 {
		t.Errorf("%+v", got)
	}
}

// The converted types of old writers keep their meaning.
func TestConvertedTypes(t *testing.T) {
	millis, micros := format.TimeUnit{Value: &format.MilliSeconds{}}, format.TimeUnit{Value: &format.MicroSeconds{}}
	for _, c := range []struct {
		converted int32
		want      format.LogicalTypeValue
	}{
		{0, &format.StringType{}}, {4, &format.EnumType{}}, {19, &format.JsonType{}},
		{5, &format.DecimalType{Precision: 9, Scale: 2}}, {6, &format.DateType{}},
		{7, &format.TimeType{IsAdjustedToUTC: true, Unit: millis}},
		{8, &format.TimeType{IsAdjustedToUTC: true, Unit: micros}},
		{9, &format.TimestampType{IsAdjustedToUTC: true, Unit: millis}},
		{10, &format.TimestampType{IsAdjustedToUTC: true, Unit: micros}},
		{11, &format.IntType{BitWidth: 8}}, {12, &format.IntType{BitWidth: 16}}, {13, &format.IntType{BitWidth: 32}},
		{14, &format.IntType{BitWidth: 64}},
		{15, &format.IntType{BitWidth: 8, IsSigned: true}}, {16, &format.IntType{BitWidth: 16, IsSigned: true}},
		{17, &format.IntType{BitWidth: 32, IsSigned: true}}, {18, &format.IntType{BitWidth: 64, IsSigned: true}},
		{1, nil}, {2, nil}, {3, nil}, {20, nil}, {21, nil},
	} {
		var e schemaElement
		e.ConvertedType = some(c.converted)
		e.Precision, e.Scale = some[int32](9), some[int32](2)
		if got := logicalType(e); !reflect.DeepEqual(got, c.want) {
			t.Errorf("type %d is %#v, want %#v", c.converted, got, c.want)
		}
	}
	if got := logicalType(schemaElement{}); got != nil {
		t.Errorf("no type is %#v", got)
	}
}

// Of the pandas metadata only the types of released columns are kept. A categorical column is
// described as text, because text is written, and without a number of categories.
func TestPandasKeepsTypes(t *testing.T) {
	got,
		ok := pandasSchema(
		`{"index_columns":["id","gone",{"kind":"range"}],"pandas_version":"2.2.0","creator":{"library":"canary"},
		"column_indexes":[{"name":"canary"}],"columns":[
		{"name":"c","field_name":"c","pandas_type":"categorical","numpy_type":"int8","metadata":{"num_categories":13}},
		{"name":"x","field_name":"x","pandas_type":"float64","numpy_type":"float64","metadata":null},
		{"name":"gone","field_name":"gone","pandas_type":"float64","numpy_type":"float64","metadata":null},
		{"name":null,"field_name":"id","pandas_type":"datetimetz","numpy_type":"datetime64[ns]","metadata":{"timezone":"Europe/Rome","canary":1}}]}`, []string{"c", "x", "id"})
	want := `{"index_columns":["id"],"column_indexes":[],"columns":[` +
		`{"name":"c","field_name":"c","pandas_type":"unicode","numpy_type":"object","metadata":null},` +
		`{"name":"x","field_name":"x","pandas_type":"float64","numpy_type":"float64","metadata":null},` +
		`{"name":null,"field_name":"id","pandas_type":"datetimetz","numpy_type":"datetime64[ns]","metadata":{"timezone":"Europe/Rome"}}],"pandas_version":"2.2.0"}`
	if !ok || got != want {
		t.Errorf("%v\n%s\nwant\n%s", ok, got, want)
	}
	for _, bad := range []string{
		"", "[]", `{"columns":[{"field_name":"x","pandas_type":"canary; drop","numpy_type":"float64"}]}`} {
		if got, ok := pandasSchema(bad, []string{"x"}); ok {
			t.Errorf("%s becomes %s", bad, got)
		}
	}
}

// If every record of a run is rejected, none of them is released, whether columns are carried or
// rewritten: for the first run, the last run and all runs.
func TestWholeRunsAreRejected(t *testing.T) {
	path, _ := variedFile(t)
	rows := readVaried(t, path)
	for name, layout := range map[string]func(*microdata.Schema) *microdata.Layout{
		"carried": layoutOf([]string{"f64"}, nil), "decoded": decodeAll(false)} {
		const run = 50
		runs := (len(rows) + run - 1) / run
		for which, gone := range map[string]func(k int) bool{
			"the first": func(k int) bool { return k == 0 }, "the last": func(k int) bool {
				return k == runs-1
			}, "all": func(int) bool { return true },
		} {
			var want []varied
			for i, r := range rows {
				if !gone(i / run) {
					want = append(want, r)
				}
			}
			out := filepath.Join(t.TempDir(), "out.parquet")
			r := release{from: SourceConfig{Path: path}, to: SinkConfig{Path: out}, layout: layout,
				cut: connectors.Cut{Records: run, Exact: true}, mask: func(b *microdata.Block) {
					if gone(int(b.First) / run) {
						for i := range b.N {
							b.Reject(i, "f64", "a test")
						}
					}
				}}
			if err := r.run(t.Context()); err != nil {
				t.Fatalf("%s, %s: %v", name, which, err)
			}
			got := readVaried(t, out)
			if len(got) != len(want) {
				t.Errorf("%s, %s rejected: %d records are released, want %d", name, which, len(got), len(want))
				continue
			}
			for i := range got {
				if where := difference(got[i], want[i]); where != "" {
					t.Fatalf("%s, %s rejected: record %d: %s", name, which, i, where)
				}
			}
		}
	}
}
