package arrowipc

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// seeds returns small inputs with every kind of column, in both formats.
func seeds(f *testing.F) (inputs [][]byte) {
	dir := f.TempDir()
	text := jsonArray(f, arrow.BinaryTypes.String, `["one", null, "three"]`)
	columns := []arrow.Array{
		jsonArray(f, arrow.PrimitiveTypes.Float64, `[1.5, null, -3]`),
		text,
		jsonArray(f, arrow.BinaryTypes.StringView, `["a view that is long", null, "short"]`),
		jsonArray(f, arrow.ListOf(arrow.PrimitiveTypes.Int16), `[[1, 2], null, []]`),
		jsonArray(f, arrow.StructOf(arrow.Field{Name: "x", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}),
			`[{"x": true}, null, {"x": null}]`),
		jsonArray(f, &arrow.Decimal128Type{Precision: 9, Scale: 2}, `["1.25", null, "-7"]`),
		dictionary(f, arrow.PrimitiveTypes.Int8, `[0, null, 1]`, `["a", "b"]`),
	}
	for i, c := range columns {
		for _, name := range []string{"x.arrow", "x.arrows"} {
			for _, options := range [][]ipc.Option{nil, {ipc.WithZstd()}, {ipc.WithLZ4()}} {
				if options != nil && i > 1 {
					continue
				}
				p := filepath.Join(dir, name)
				store(f, p, []arrow.RecordBatch{batchOf(c), batchOf(c)}, options...)
				raw, err := os.ReadFile(p)
				if err != nil {
					f.Fatal(err)
				}
				inputs = append(inputs, raw)
			}
		}
	}
	return inputs
}

// Any input gives an error or a release, never a panic, and the release can be read.
func FuzzRead(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, decode bool) {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in.arrow"), filepath.Join(dir, "out.arrow")
		if err := os.WriteFile(in, data, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := (&SourceConfig{Path: in}).Open(t.Context())
		if err != nil {
			return
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		// Columns of nulls can have any length without any bytes of data.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := release{from: &SourceConfig{Path: in}, to: &SinkConfig{Path: out, Compression: "none"}, decode: decode,
			cut:    connectors.Cut{Records: 2, Exact: true},
			reject: func(i int64) bool { return i == 1 }}
		if r.run(ctx) != nil {
			return
		}
		again := release{from: &SourceConfig{Path: out}, to: &SinkConfig{Path: filepath.Join(dir, "again.arrows")}}
		if err := again.run(t.Context()); err != nil {
			t.Errorf("the release cannot be read: %v", err)
		}
	})
}

// The walk over metadata ends and stays within bounds, for any bytes.
func FuzzMetadata(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Only record batches have a length, and a message that passed the check has that length.
		if f := flat(data); checkMessage(data) == nil {
			batch := f[f.field(f.root(), slotHeaderType)] == headerBatch
			if rows, err := batchRows(data); (err == nil) != batch || rows < 0 {
				t.Errorf("a message that passed the check and is a batch (%v) has %d records: %v", batch, rows, err)
			}
		}
		if _, _, err := checkFooter(data); err != nil && err != errFlat {
			t.Error(err)
		}
	})
}
