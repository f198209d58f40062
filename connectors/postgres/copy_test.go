package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// sent returns a source with the given columns and order, for tests that provide the bytes of the
// COPY.
func sent(columns []column, order ...int) *Source {
	s := &Source{config: &SourceConfig{}, label: "table t", columns: columns, order: order, schema: &microdata.Schema{},
		seed: maphash.MakeSeed()}
	for _, c := range columns {
		s.schema.Fields = append(s.schema.Fields, c.Field)
	}
	return s
}

// readCopy passes the bytes of a COPY through the cutter in pieces of the given size, and decodes
// the resulting runs.
func readCopy(s *Source, data []byte, piece, records int) (blocks []*microdata.Block, err error) {
	layout := &microdata.Layout{Schema: s.schema}
	p := &pass{source: s, layout: layout, at: map[int]int{}, runs: make(chan *run, 1<<10)}
	for i, c := range s.columns {
		form := microdata.Array
		if c.Numeric() {
			form = microdata.Numbers
		}
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: form}, microdata.Want{Field: i, As: microdata.Array})
		p.want(i)
	}
	c := &cutter{pass: p, ctx: context.Background(), records: records, bytes: runBytes,
		hashes: make([]uint64, len(s.columns))}
	decode := func() error {
		for {
			select {
			case r := <-p.runs:
				b := new(microdata.Block)
				if err := p.place(r).Decode(b); err != nil {
					return err
				}
				blocks = append(blocks, b)
			default:
				return nil
			}
		}
	}
	for len(data) > 0 {
		n := min(piece, len(data))
		if _, err := c.Write(data[:n]); err != nil {
			return blocks, err
		}
		if err := decode(); err != nil {
			return blocks, err
		}
		data = data[n:]
	}
	if err := c.finish(); err != nil {
		return blocks, err
	}
	return blocks, decode()
}

// everyType returns a table with every type, with nulls, that a sink can write and a source can
// read.
func everyType(n int) (columns []column, arrays []arrow.Array) {
	r := rand.New(rand.NewPCG(3, 4))
	add := func(name string, oid uint32, modifier int32, value func(b array.Builder, i int)) {
		c := columnOf(name, oid, modifier, true)
		b := array.NewBuilder(memory.DefaultAllocator, c.Type)
		for i := range n {
			if name != "key" && r.IntN(4) == 0 {
				b.AppendNull()
				continue
			}
			value(b, i)
		}
		columns, arrays = append(columns, c), append(arrays, b.NewArray())
	}
	any64 := func() int64 { return int64(r.Uint64()) >> r.IntN(63) }
	add("key", oidInt4, -1, func(b array.Builder, i int) { b.(*array.Int32Builder).Append(int32(i)) })
	add("bool", oidBool, -1, func(b array.Builder, _ int) { b.(*array.BooleanBuilder).Append(r.IntN(2) > 0) })
	add("int2", oidInt2, -1, func(b array.Builder, _ int) { b.(*array.Int16Builder).Append(int16(r.Uint64())) })
	add("int8", oidInt8, -1, func(b array.Builder, _ int) { b.(*array.Int64Builder).Append(any64()) })
	add("float4", oidFloat4, -1, func(b array.Builder, _ int) {
		b.(*array.Float32Builder).Append(float32(r.NormFloat64()))
	})
	add("float8", oidFloat8, -1, func(b array.Builder, _ int) {
		b.(*array.Float64Builder).Append(math.Exp(30 * r.NormFloat64()))
	})
	add("text", oidText, -1, func(b array.Builder, i int) {
		b.(*array.StringBuilder).Append(strings.Repeat("å'\"\\\n", r.IntN(4)))
	})
	add("date", oidDate, -1, func(b array.Builder, _ int) {
		b.(*array.Date32Builder).Append(arrow.Date32(r.IntN(80_000) - 40_000))
	})
	add("timestamp", oidTimestamp, -1, func(b array.Builder, _ int) {
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(r.Int64N(4e15) - 2e15))
	})
	add("timestamptz", oidTimestamptz, -1, func(b array.Builder, _ int) {
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(r.Int64N(4e15)))
	})
	for _, t := range [][2]int32{{10, 2}, {38, 37}, {38, 0}, {5, 5}, {18, 3}} {
		add(fmt.Sprintf("numeric_%d_%d", t[0], t[1]), oidNumeric, t[0]<<16|t[1]+4, func(b array.Builder, _ int) {
			limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(r.IntN(int(t[0])+1))), nil)
			u := new(big.Int).Rem(
				new(big.Int).SetBytes(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, r.Uint64()), r.Uint64())),
				limit)
			if r.IntN(2) > 0 {
				u.Neg(u)
			}
			b.(*array.Decimal128Builder).Append(decimal128.FromBigInt(u))
		})
	}
	return columns, arrays
}

// copyOf returns the COPY that a sink writes for the arrays, all in one block.
func copyOf(t testing.TB, columns []column, arrays []arrow.Array) []byte {
	t.Helper()
	s := &sink{label: "table t"}
	b := new(microdata.Block)
	b.Reset(0, 0, arrays[0].Len(), len(arrays))
	for i, c := range columns {
		s.columns = append(s.columns, microdata.Output{Field: c.Field, Source: i, Column: i})
		s.forms = append(s.forms, microdata.Array)
		b.Columns[i].Array = arrays[i]
	}
	rows, err := s.Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	out := append(append(bytes.Clone(signature), 0, 0, 0, 0, 0, 0, 0, 0), rows.([]byte)...)
	return append(out, 0xff, 0xff)
}

// A source reads what a sink writes, in pieces and runs of any length.
func TestCopyRoundTrip(t *testing.T) {
	columns, arrays := everyType(300)
	data := copyOf(t, columns, arrays)
	for _, c := range [][2]int{{1, 1000}, {7, 1}, {len(data), 64}, {1000, 300}, {4096, 299}} {
		blocks, err := readCopy(sent(columns, 0), data, c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		row := 0
		for _, b := range blocks {
			if b.N > c[1] || b.First != int64(row) {
				t.Fatalf("a run of %d records from %d, where %d are and %d is", b.N, b.First, c[1], row)
			}
			for i := range columns {
				got, want := b.Columns[2*i+1].Array, array.NewSlice(arrays[i], int64(row), int64(row+b.N))
				if !array.Equal(got, want) {
					t.Errorf("column %s, records from %d differ", columns[i].Name, row)
				}
			}
			// Numbers outside the range of a float64 reject their records.
			for _, r := range b.Rejects {
				if name := r.Column; name != "int8" && !strings.HasPrefix(name, "numeric_38") && name != "numeric_18_3" {
					t.Errorf("rejected: %+v", r)
				}
			}
			row += b.N
		}
		if row != 300 {
			t.Errorf("%d records", row)
		}
	}
}

// A COPY that is truncated or damaged anywhere is an error without values.
func TestCopyCutOff(t *testing.T) {
	columns, arrays := everyType(6)
	data := copyOf(t, columns, arrays)
	for n := range len(data) {
		if _, err := readCopy(sent(columns, 0), data[:n], 50, 3); err == nil {
			t.Fatalf("%d of %d bytes are no error", n, len(data))
		}
	}
	if _, err := readCopy(sent(columns, 0), append(bytes.Clone(data), 0), 50, 3); err == nil {
		t.Error("an extra byte after the end is accepted")
	}
	more := append(columns, columnOf("more", oidInt4, -1, true))
	if _, err := readCopy(sent(more, 0), data, 50, 3); err == nil {
		t.Error("a row with fewer columns is no error")
	}
}

// Records with equal values in the columns of the order are refused, wherever they stand and
// however the values are written. Two nulls count as equal. Other records are accepted.
func TestTies(t *testing.T) {
	numeric := func(texts ...string) arrow.Array {
		b := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 9, Scale: 2})
		for _, s := range texts {
			if s == "" {
				b.AppendNull()
				continue
			}
			v, err := decimal128.FromString(s, 9, 2)
			if err != nil {
				t.Fatal(err)
			}
			b.Append(v)
		}
		return b.NewArray()
	}
	words := func(texts ...string) arrow.Array {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(texts, nil)
		return b.NewArray()
	}
	n, s, c := columnOf("n", oidNumeric, 9<<16|2+4, true), columnOf("s", oidText, -1, true),
		columnOf("c", oidBpchar, -1, true)
	for name, of := range map[string]struct {
		columns []column
		arrays  []arrow.Array
		order   []int
		tied    bool
	}{
		"the first two": {[]column{s}, []arrow.Array{words("a", "a", "b")}, []int{0}, true},
		"the last two":  {[]column{s}, []arrow.Array{words("a", "b", "b")}, []int{0}, true},
		"none":          {[]column{s}, []arrow.Array{words("a", "b", "ba")}, []int{0}, false},
		"the second column differ": {[]column{s, n}, []arrow.Array{words("a", "a", "b"), numeric("1", "2", "1")}, []int{0, 1},
			false},
		"of both": {[]column{n, s}, []arrow.Array{numeric("1", "1", "2"), words("b", "b", "a")}, []int{1, 0},
			true},
		"nulls":                    {[]column{n}, []arrow.Array{numeric("1", "", "")}, []int{0}, true},
		"blanks":                   {[]column{c}, []arrow.Array{words("a", "a ", "b")}, []int{0}, true},
		"blanks of text":           {[]column{s}, []arrow.Array{words("a", "a ", "b")}, []int{0}, false},
		"values that run together": {[]column{s, s}, []arrow.Array{words("a", "ab"), words("bc", "c")}, []int{0, 1}, false},
	} {
		_, err := readCopy(sent(of.columns, of.order...), copyOf(t, of.columns, of.arrays), 13, 2)
		if (err != nil) != of.tied || err != nil &&
			!strings.Contains(err.Error(), "has the same values in the columns of its order") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// 1.0 and 1.00 differ in the protocol but are equal in the order.
	data := copyOf(t, []column{n}, []arrow.Array{numeric("1", "1")})
	data[len(data)-2-2-1]-- // the scale of the second one
	if _, err := readCopy(sent([]column{n}, 0), data, 100, 2); err == nil {
		t.Error("1.0 and 1.00 count as different")
	}
}

func TestNumeric(t *testing.T) {
	for _, c := range []struct {
		unscaled string
		scale    int32
		text     string
	}{
		{"0", 0, "0"}, {"0", 5, "0"}, {"1", 0, "1"}, {"-1", 2, "-0.01"}, {"10000", 0, "10000"}, {"10000", 4, "1"},
		{"123456789", 4, "12345.6789"},
		{"1", 9, "0.000000001"}, {"99999999", 8, "0.99999999"}, {"-100000000", 0, "-100000000"}, {"12", -3, "12000"},
		{"10203", 3, "10.203"},
		{"99999999999999999999999999999999999999", 0, "99999999999999999999999999999999999999"},
		{"99999999999999999999999999999999999999", 38, "0.99999999999999999999999999999999999999"},
	} {
		u, _ := new(big.Int).SetString(c.unscaled, 10)
		wire := appendNumeric(nil, u, c.scale)
		n, ok := parseNumeric(wire[4:])
		if !ok || int(binary.BigEndian.Uint32(wire)) != len(wire)-4 || n.text() != c.text {
			t.Errorf("%s e-%d is read as %q, want %q", c.unscaled, c.scale, n.text(), c.text)
		}
		if c.scale < 0 {
			continue
		}
		if back, ok := n.unscaled(c.scale); !ok || back.Cmp(u) != 0 {
			t.Errorf("%s e-%d comes back as %v", c.unscaled, c.scale, back)
		}
		if small, ok := n.small(c.scale); ok && (!u.IsInt64() || small != u.Int64()) {
			t.Errorf("%s e-%d is small as %d", c.unscaled, c.scale, small)
		}
	}
	// The bytes that PostgreSQL 15 sends for 12345.6789, -0.0001 and NaN (from COPY).
	for wire, want := range map[string]string{
		"\x00\x03\x00\x01\x00\x00\x00\x04\x00\x01\x09\x29\x1a\x85": "12345.6789",
		"\x00\x01\xff\xff\x40\x00\x00\x04\x00\x01":                 "-0.0001",
	} {
		if n, ok := parseNumeric([]byte(wire)); !ok || n.text() != want {
			t.Errorf("%q is %s, want %s", wire, n.text(), want)
		}
	}
	for _, wire := range []string{"", "\x00\x01\x00\x00\x00\x00\x00\x00", "\x00\x01\x00\x00\x00\x00\x00\x00\x27\x10",
		"\x00\x00\x00\x00\x12\x34\x00\x00"} {
		if _, ok := parseNumeric([]byte(wire)); ok {
			t.Errorf("%q is taken for a number", wire)
		}
	}
}

// Numbers without a scale become the float64 with the same digits, or reject their record.
func TestBareNumeric(t *testing.T) {
	c := columnOf("x", oidNumeric, -1, true)
	key := columnOf("k", oidInt4, -1, false)
	numbers := []struct {
		unscaled string
		scale    int32
		want     float64
		rejected bool
	}{{"15", 1, 1.5, false}, {"123456789012345", 3, 123456789012.345, false}, {"1234567890123456789", 0, 0, true},
		{"-5", 3, -0.005, false}, {"123456789012345678", 17, 0, true}, {"0", 0, 0, false}}
	data := append(bytes.Clone(signature), 0, 0, 0, 0, 0, 0, 0, 0)
	for i, n := range numbers {
		u, _ := new(big.Int).SetString(n.unscaled, 10)
		data = appendNumeric(int4(binary.BigEndian.AppendUint16(data, 2), int32(i)), u, n.scale)
	}
	blocks, err := readCopy(sent([]column{key, c}, 0), append(data, 0xff, 0xff), 1000, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range numbers {
		if got := blocks[0].Columns[2].Original.Values[i]; blocks[0].Rejected(i) != n.rejected || !n.rejected &&
			got != n.want {
			t.Errorf("%s e-%d is %v, rejected %v", n.unscaled, n.scale, got, blocks[0].Rejected(i))
		}
	}
}

// If a value cannot be written, the error names the record and the column but not the value.
func TestEncodeRefuses(t *testing.T) {
	words := func(s string) arrow.Array {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues([]string{"fine", s}, nil)
		return b.NewArray()
	}
	nanos := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Nanosecond})
	nanos.AppendValues([]arrow.Timestamp{1000, 1001}, nil)
	for _, c := range []struct {
		a    arrow.Array
		want error
	}{{words("Canary\x00"), errNUL}, {words("Canary\xff"), errUTF8}, {nanos.NewArray(), errFine}} {
		s := &sink{label: "table t", columns: []microdata.Output{{Field: microdata.Field{Name: "x", Type: c.a.DataType()}}},
			forms: []microdata.Form{microdata.Array}}
		b := new(microdata.Block)
		b.Reset(0, 7, 2, 1)
		b.Columns[0].Array = c.a
		if _, err := s.Encode(b); err == nil || err.Error() != "table t: record 9, column x: "+c.want.Error() {
			t.Errorf("got %v", err)
		}
		b.Reject(1, "", "for a test")
		if _, err := s.Encode(b); err != nil {
			t.Errorf("a record that is not released: %v", err)
		}
	}
	for _, t2 := range []arrow.DataType{arrow.ListOf(arrow.PrimitiveTypes.Int8), arrow.StructOf(),
		arrow.FixedWidthTypes.MonthInterval} {
		if name, err := sqlType(t2); err == nil {
			t.Errorf("%s becomes %s", t2, name)
		}
	}
}

// Any bytes from a server are read, or give an error.
func FuzzCopy(f *testing.F) {
	columns, arrays := everyType(3)
	f.Add(copyOf(f, columns, arrays), byte(3))
	f.Add(append(bytes.Clone(signature), 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), byte(1))
	f.Fuzz(func(t *testing.T, data []byte, piece byte) {
		if len(data) > 1<<14 {
			return
		}
		blocks, err := readCopy(sent(columns, 0), data, int(piece)+1, 2)
		var ours *Error
		if err != nil && !errors.As(err, &ours) && !strings.Contains(err.Error(), "bytes, not ") {
			t.Errorf("%v", err)
		}
		for _, b := range blocks {
			for i := range b.Columns {
				if a := b.Columns[i].Array; a != nil && a.Len() != b.N {
					t.Errorf("%d values for %d records", a.Len(), b.N)
				}
			}
		}
	})
}
