package interop

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
)

func dayText(day int32) string {
	return time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly)
}

var arrowSchema = arrow.NewSchema([]arrow.Field{
	{Name: "name", Type: arrow.BinaryTypes.String},
	{Name: "wage", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "debt", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "amount", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}, Nullable: true},
	{Name: "age", Type: arrow.PrimitiveTypes.Uint8, Nullable: true},
	{Name: "weight", Type: arrow.PrimitiveTypes.Float32},
	{Name: "region", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "code", Type: &arrow.FixedSizeBinaryType{ByteWidth: 5}, Nullable: true},
	{Name: "rented", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "born", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
	{Name: "asked", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	{Name: "visits", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
	{Name: "place", Type: arrow.StructOf(
		arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
		arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true}), Nullable: true},
}, nil)

var arrowColumns = []string{"wage", "debt", "amount", "age", "weight", "region", "code", "rented", "born", "asked",
	"visits", "place"}

// arrowRecord returns n rows with every type of arrowSchema.
func arrowRecord(n int, nulls bool) arrow.Record {
	rng := rand.New(rand.NewPCG(7, 8))
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowSchema)
	defer b.Release()
	for i := range n {
		for c, f := range arrowSchema.Fields() {
			if f.Nullable && nulls && rng.IntN(7) == 0 {
				b.Field(c).AppendNull()
				continue
			}
			appendValue(b.Field(c), i, rng)
		}
	}
	return b.NewRecord()
}

func appendValue(b array.Builder, row int, rng *rand.Rand) {
	switch b := b.(type) {
	case *array.Float64Builder:
		b.Append(float64(rng.IntN(900_000)) / 100)
	case *array.Float32Builder:
		b.Append(float32(rng.NormFloat64()))
	case *array.Int64Builder:
		b.Append(rng.Int64N(1e6) - 2000)
	case *array.Int32Builder:
		b.Append(rng.Int32())
	case *array.Int16Builder:
		b.Append(int16(rng.IntN(1000)))
	case *array.Uint8Builder:
		b.Append(uint8(rng.IntN(256)))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(rng.Int64N(1e8) - 1000))
	case *array.StringBuilder:
		b.Append([]string{fmt.Sprintf("Respondent-%05d", row), "north", "éast", ""}[min(row%4, int(rng.IntN(4)))])
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte(fmt.Sprintf("%05d", rng.IntN(100_000))))
	case *array.BooleanBuilder:
		b.Append(rng.IntN(3) == 0)
	case *array.Date32Builder:
		b.Append(arrow.Date32(rng.IntN(30_000) - 10_000))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(rng.Int64N(2e15)))
	case *array.ListBuilder:
		b.Append(true)
		for range rng.IntN(4) {
			appendValue(b.ValueBuilder(), row, rng)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			if rng.IntN(5) == 0 {
				b.FieldBuilder(i).AppendNull()
			} else {
				appendValue(b.FieldBuilder(i), row, rng)
			}
		}
	default:
		panic(fmt.Sprintf("no values for %T", b))
	}
}

// agree compares a release with its source record.
func agree(t *testing.T, source arrow.Record, release arrow.Table, noise bool) {
	t.Helper()
	if int(release.NumCols()) != len(arrowColumns) || release.NumRows() != source.NumRows() {
		t.Fatalf("%d rows of %d columns, want %d of %d", release.NumRows(), release.NumCols(), source.NumRows(),
			len(arrowColumns))
	}
	for i, name := range arrowColumns {
		col := release.Column(i)
		if col.Name() != name {
			t.Fatalf("column %d is %s, want %s", i, col.Name(), name)
		}
		want := source.Column(arrowSchema.FieldIndices(name)[0])
		got, err := array.Concatenate(col.Data().Chunks(), memory.DefaultAllocator)
		if source.NumRows() == 0 {
			err, got = nil, want
		}
		if err != nil {
			t.Fatal(err)
		}
		if !sameType(col.DataType(), want.DataType()) {
			t.Errorf("%s: type %v, want %v", name, col.DataType(), want.DataType())
			continue
		}
		if noise && (name == "wage" || name == "debt" || name == "amount") {
			w, wv := asNumbers(want)
			g, gv := asNumbers(got)
			masked(t, name, w, g, wv, gv)
			continue
		}
		if !sameValues(want, got) {
			t.Errorf("%s: values changed", name)
		}
	}
}

// sameType ignores the names of list items, which depend on the format.
func sameType(a, b arrow.DataType) bool {
	if la, ok := a.(*arrow.ListType); ok {
		lb, ok := b.(*arrow.ListType)
		return ok && sameType(la.Elem(), lb.Elem())
	}
	return arrow.TypeEqual(a, b)
}

func sameValues(a, b arrow.Array) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if a.IsNull(i) != b.IsNull(i) || a.ValueStr(i) != b.ValueStr(i) {
			return false
		}
	}
	return true
}

func asNumbers(a arrow.Array) (v []float64, valid []bool) {
	for i := range a.Len() {
		x := 0.0
		if a.IsValid(i) {
			switch a := a.(type) {
			case *array.Float64:
				x = a.Value(i)
			case *array.Int64:
				x = float64(a.Value(i))
			case *array.Decimal128:
				x = a.Value(i).ToFloat64(2)
			}
		}
		v, valid = append(v, x), append(valid, a.IsValid(i))
	}
	return v, valid
}

func writeV15Parquet(t *testing.T, path string, rec arrow.Record, options ...parquet.WriterProperty) {
	t.Helper()
	var out bytes.Buffer
	table := array.NewTableFromRecords(arrowSchema, []arrow.Record{rec})
	defer table.Release()
	props := parquet.NewWriterProperties(options...)
	if err := pqarrow.WriteTable(table, &out, 400, props,
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema())); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readV15Parquet(t *testing.T, path string) arrow.Table {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func writeV15IPC(t *testing.T, path string, rec arrow.Record, stream bool, options ...ipc.Option) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	options = append(options, ipc.WithSchema(arrowSchema))
	var w interface {
		Write(arrow.Record) error
		Close() error
	}
	if stream {
		w = ipc.NewWriter(f, options...)
	} else if w, err = ipc.NewFileWriter(f, options...); err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < rec.NumRows(); at += 700 {
		if err := w.Write(rec.NewSlice(at, min(at+700, rec.NumRows()))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func readV15IPC(t *testing.T, data []byte, stream bool) arrow.Table {
	t.Helper()
	var recs []arrow.Record
	var schema *arrow.Schema
	if stream {
		r, err := ipc.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		schema = r.Schema()
		for r.Next() {
			r.Record().Retain()
			recs = append(recs, r.Record())
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	} else {
		r, err := ipc.NewFileReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		schema = r.Schema()
		for i := range r.NumRecords() {
			rec, err := r.RecordAt(i)
			if err != nil {
				t.Fatal(err)
			}
			recs = append(recs, rec)
		}
	}
	return array.NewTableFromRecords(schema, recs)
}

// readV15 reads a release of any kind that v15 supports.
func readV15(t *testing.T, path string) arrow.Table {
	t.Helper()
	if filepath.Ext(path) == ".parquet" {
		return readV15Parquet(t, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return readV15IPC(t, data, filepath.Ext(path) == ".arrows")
}

// flow writes a path as a source or a sink.
func flow(path, options string) string {
	if filepath.Ext(path) == ".parquet" {
		return fmt.Sprintf("parquet: {path: %q%s}", path, options)
	}
	return fmt.Sprintf("arrow: {path: %q%s}", path, options)
}

func release(t *testing.T, in, out, options string, rec arrow.Record, noise bool) {
	t.Helper()
	j := job{source: flow(in, ""), sink: flow(out, options), columns: arrowColumns}
	if noise {
		j.masked = []string{"wage", "debt", "amount"}
	}
	run(t, j)
	table := readV15(t, out)
	defer table.Release()
	agree(t, rec, table, noise)
}

func TestArrowV15Parquet(t *testing.T) {
	options := map[string][]parquet.WriterProperty{
		"plain":      {parquet.WithDictionaryDefault(false), parquet.WithStats(false)},
		"dictionary": {parquet.WithDictionaryDefault(true)},
		"v2":         {parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithVersion(parquet.V2_LATEST)},
		"v2 plain":   {parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithDictionaryDefault(false)},
		"delta": {parquet.WithDictionaryDefault(false), parquet.WithEncodingFor("debt", parquet.Encodings.DeltaBinaryPacked),
			parquet.WithEncodingFor("age", parquet.Encodings.DeltaBinaryPacked),
			parquet.WithEncodingFor("born", parquet.Encodings.DeltaBinaryPacked),
			parquet.WithEncodingFor("name", parquet.Encodings.DeltaByteArray),
			parquet.WithEncodingFor("region", parquet.Encodings.DeltaLengthByteArray)},
		"integer decimals": {parquet.WithStoreDecimalAsInteger(true)},
		"small pages": {parquet.WithDataPageSize(256), parquet.WithBatchSize(16),
			parquet.WithDictionaryPageSizeLimit(500)},
	}
	codecs := map[string]compress.Compression{
		"none": compress.Codecs.Uncompressed, "snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip,
		"zstd": compress.Codecs.Zstd, "brotli": compress.Codecs.Brotli,
	}
	rec := arrowRecord(1500, true)
	for name, props := range options {
		for codec, c := range codecs {
			t.Run(name+"/"+codec, func(t *testing.T) {
				dir := t.TempDir()
				in, out := filepath.Join(dir, "in.parquet"), filepath.Join(dir, "out.parquet")
				writeV15Parquet(t, in, rec, append(props, parquet.WithCompression(c))...)
				asItCame := ""
				if codec == "brotli" {
					asItCame = ", encoding: plain" // pages in Brotli are encoded again, and this reader supports only old encodings
				}
				release(t, in, out, asItCame, rec, false)
				release(t, in, out, ", encoding: plain", rec, true)
			})
		}
	}
}

func TestArrowV15IPC(t *testing.T) {
	options := map[string][]ipc.Option{"none": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}}
	for _, nulls := range []bool{false, true} {
		rec := arrowRecord(1500, nulls)
		for name, o := range options {
			for _, ext := range []string{".arrow", ".arrows"} {
				t.Run(fmt.Sprintf("%s%s/nulls=%v", name, ext, nulls), func(t *testing.T) {
					dir := t.TempDir()
					in := filepath.Join(dir, "in"+ext)
					writeV15IPC(t, in, rec, ext == ".arrows", o...)
					for _, noise := range []bool{false, true} {
						release(t, in, filepath.Join(dir, "out"+ext), "", rec, noise)
						release(t, in, filepath.Join(dir, "z"+ext), ", compression: "+name, rec, noise)
					}
				})
			}
		}
	}
}

// Between formats every column is decoded and encoded. Encoding compact, the sink's default, uses
// byte streams, which v15 does not support: its readers need plain.
func TestArrowV15BetweenFormats(t *testing.T) {
	for _, nulls := range []bool{false, true} {
		rec := arrowRecord(1500, nulls)
		dir := t.TempDir()
		sources := []string{filepath.Join(dir, "in.parquet"), filepath.Join(dir, "in.arrow"), filepath.Join(dir, "in.arrows")}
		writeV15Parquet(t, sources[0], rec)
		writeV15IPC(t, sources[1], rec, false)
		writeV15IPC(t, sources[2], rec, true)
		for _, in := range sources {
			for _, out := range []string{"out.parquet", "out.arrow", "out.arrows"} {
				t.Run(fmt.Sprintf("%s to %s/nulls=%v", filepath.Ext(in), filepath.Ext(out), nulls), func(t *testing.T) {
					options := ""
					if out == "out.parquet" {
						options = ", encoding: plain"
					}
					release(t, in, filepath.Join(t.TempDir(), out), options, rec, false)
					release(t, in, filepath.Join(t.TempDir(), out), options, rec, true)
				})
			}
		}
	}
}

// The program in a pipe.
func TestArrowV15Pipe(t *testing.T) {
	rec := arrowRecord(1500, true)
	path := filepath.Join(t.TempDir(), "in.arrows")
	writeV15IPC(t, path, rec, true)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := run(t,
		job{source: `arrow: {path: "-"}`, sink: `arrow: {path: "-"}`, columns: arrowColumns,
			masked: []string{"wage", "debt", "amount"}, stdin: data})
	table := readV15IPC(t, out, true)
	defer table.Release()
	agree(t, rec, table, true)
}
