package arrowipc

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// BenchmarkCopy releases 400,000 records of six columns unchanged, on one goroutine: the cost of a
// run without masks.
func BenchmarkCopy(b *testing.B) {
	const n = 100_000
	columns := make([]arrow.Array, 6)
	for k := range columns {
		f := array.NewFloat64Builder(memory.DefaultAllocator)
		s := array.NewStringBuilder(memory.DefaultAllocator)
		for i := range n {
			f.Append(float64(i*(k+1)%9973) / 4)
			s.Append([]string{"north", "south", "east", "west"}[i*7%4])
		}
		if columns[k] = f.NewArray(); k%3 == 2 {
			columns[k] = s.NewArray()
		}
	}
	rec := batchOf(columns...)
	for _, c := range []struct {
		ext, compression string
		options          []ipc.Option
	}{
		{".arrow", "none", nil}, {".arrow", "zstd", []ipc.Option{ipc.WithZstd()}}, {".arrows", "none", nil},
		{".arrows", "lz4", []ipc.Option{ipc.WithLZ4()}},
	} {
		for _, decode := range []bool{false, true} {
			b.Run(fmt.Sprint(c.ext[1:], "/", c.compression, "/decoded=", decode), func(b *testing.B) {
				dir := b.TempDir()
				in := filepath.Join(dir, "in"+c.ext)
				store(b, in, []arrow.RecordBatch{rec, rec, rec, rec}, c.options...)
				b.ReportAllocs()
				for b.Loop() {
					r := release{from: &SourceConfig{Path: in},
						to: &SinkConfig{Path: filepath.Join(dir, "out"+c.ext), Compression: c.compression}, decode: decode}
					if err := r.run(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(4*n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrec/s")
			})
		}
	}
}
