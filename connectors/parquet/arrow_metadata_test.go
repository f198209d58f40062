package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	pqgo "github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
)

func serialised(t testing.TB, fields ...arrow.Field) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := ipc.NewWriter(&buf, ipc.WithSchema(arrow.NewSchema(fields, nil))).Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// withSchema makes a file of two columns with the given ARROW:schema. It returns the schema of the
// release.
func withSchema(t *testing.T, schema []byte) (released *arrow.Schema, err error) {
	t.Helper()
	type row struct {
		A int64   `parquet:"a"`
		L []int64 `parquet:"l,list"`
		S string  `parquet:"s"`
	}
	var file bytes.Buffer
	if err := pqgo.Write(&file, []row{{1, []int64{2}, "x"}},
		pqgo.KeyValueMetadata(arrowKey, base64.StdEncoding.EncodeToString(schema))); err != nil {
		t.Fatal(err)
	}
	out, err := carryAll(t, file.Bytes(), release{layout: layoutOf(nil, []string{"s"})})
	if err != nil {
		return nil, err
	}
	_, f := openBytes(t, out)
	for _, kv := range f.KeyValueMetadata {
		b, err := base64.StdEncoding.DecodeString(kv.Value)
		if err != nil {
			t.Fatal(err)
		}
		if released, err = arrowipc.ReadSchema(b); err != nil {
			t.Fatal(err)
		}
	}
	return released, nil
}

func openBytes(t *testing.T, b []byte) ([]byte, *footer) {
	t.Helper()
	f, err := readFooter(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return b, f
}

// The release keeps only the part of an Arrow schema that describes the released columns. If the
// schema describes other columns, it is dropped, so that none of its text is trusted.
func TestArrowSchemaDescribes(t *testing.T) {
	a := arrow.Field{Name: "a", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}}
	l := arrow.Field{Name: "l", Type: arrow.ListOfField(arrow.Field{Name: "canary", Type: arrow.PrimitiveTypes.Int64})}
	s := arrow.Field{Name: "s", Type: arrow.BinaryTypes.LargeString}
	got, err := withSchema(t, serialised(t, s, l, a))
	if err != nil || got == nil || got.NumFields() != 2 || !arrow.TypeEqual(got.Field(0).Type, a.Type) ||
		strings.Contains(got.String(), "canary") {
		t.Errorf("got %v, %v", got, err)
	}
	for name, field := range map[string]arrow.Field{
		"another type":             {Name: "a", Type: arrow.BinaryTypes.String},
		"a time zone that is text": {Name: "a", Type: &arrow.TimestampType{TimeZone: "the wage of N. N. is 1,234"}},
		"a structure": {
			Name: "a", Type: arrow.StructOf(arrow.Field{Name: "canary", Type: arrow.PrimitiveTypes.Int64})},
		"another name": {Name: "b", Type: arrow.PrimitiveTypes.Int64},
	} {
		if got, err := withSchema(t, serialised(t, field, l, s)); err != nil || got != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	for name, other := range map[string]arrow.DataType{
		"no list": arrow.PrimitiveTypes.Int64, "a map": arrow.MapOf(arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64),
		"a list of text":  arrow.ListOf(arrow.BinaryTypes.String),
		"a list of lists": arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int64)),
	} {
		if got, err := withSchema(t, serialised(t, a, arrow.Field{Name: "l", Type: other}, s)); err != nil || got != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// bomb returns a schema of n fields that all refer to the same table, with a name of `text` bytes.
// This table has `children` references to one table below it, and so on down to a depth.
func bomb(n, depth, children, text int) []byte {
	le := binary.LittleEndian
	b := make([]byte, 80)
	put16 := func(at int, v ...uint16) {
		for i, x := range v {
			le.PutUint16(b[at+2*i:], x)
		}
	}
	ref := func(at, to int) { le.PutUint32(b[at:], uint32(to-at)) }
	put16(4, 12, 16, 4, 6, 8)
	ref(0, 24) // the message
	le.PutUint32(b[24:], 20)
	put16(28, 4) // version 5
	b[30] = 1    // a schema
	ref(32, 60)
	put16(40, 8, 12, 0, 4)
	le.PutUint32(b[60:], 20)
	from, k := 64, n // the schema's fields
	var names []int
	for level := range depth + 1 {
		ref(from, len(b))
		b = le.AppendUint32(b, uint32(k))
		at := len(b)
		field := (at+4*k+7)/8*8 + 16
		for i := range k {
			b = le.AppendUint32(b, uint32(field-at-4*i))
		}
		b = append(b, make([]byte, field+48-len(b))...)
		put16(field-16, 16, 24, 4, 0, 8, 12, 0, 16) // name, kind, type, children
		le.PutUint32(b[field:], 16)
		names = append(names, field+4)
		b[field+8] = 13 // a structure
		ref(field+12, field+32)
		put16(field+24, 4, 4)
		le.PutUint32(b[field+32:], 8)
		from, k = field+16, children
		if level == depth {
			b[field+8] = 1 // null
			put16(field-16, 14)
		}
	}
	for _, at := range names {
		ref(at, len(b))
	}
	b = le.AppendUint32(b, uint32(text))
	b = append(b, bytes.Repeat([]byte{'x'}, text)...)
	b = append(b, make([]byte, 8-len(b)%8)...)
	return append(le.AppendUint32(le.AppendUint32(nil, 0xFFFFFFFF), uint32(len(b))), b...)
}

// A schema of a few kilobytes must not allocate gigabytes. The error names the limit.
func TestSchemaBomb(t *testing.T) {
	for _, b := range [][]byte{bomb(2000, 0, 0, 8000), bomb(20000, 0, 0, 100_000), bomb(1, 20, 8, 4), bomb(1, 60, 3, 4)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := withSchema(t, b)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("a schema of %d bytes used %d MB", len(b), used>>20)
		}
		if !errors.Is(err, arrowipc.ErrSchemaBound) || !strings.Contains(err.Error(), "in.parquet") ||
			!strings.Contains(err.Error(), "16 MB") {
			t.Errorf("%d bytes of schema: %v", len(b), err)
		}
	}
	if s, err := arrowipc.ReadSchema(bomb(3, 2, 2, 8)); err != nil || s.NumFields() != 3 ||
		s.Field(2).Type.ID() != arrow.STRUCT {
		t.Errorf("a schema that shares a little: %v, %v", s, err)
	}
	// A schema with thousands of columns is not refused.
	var fields []arrow.Field
	for i := range 20_000 {
		fields = append(fields,
			arrow.Field{Name: fmt.Sprintf("column_with_a_rather_long_name_%d", i),
				Type:     arrow.ListOf(arrow.PrimitiveTypes.Float64),
				Metadata: arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{fmt.Sprint(i)})})
	}
	if s, err := arrowipc.ReadSchema(serialised(t, fields...)); err != nil || s.NumFields() != len(fields) {
		t.Errorf("20,000 columns: %v", err)
	}
}
