package parquet

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// BenchmarkSplice copies a file and decodes and re-encodes four columns of doubles.
// SDLFILTER_BENCH_FILE names a Parquet file with columns f1 … f4.
func BenchmarkSplice(b *testing.B) {
	path := os.Getenv("SDLFILTER_BENCH_FILE")
	if path == "" {
		b.Skip("SDLFILTER_BENCH_FILE is not set")
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	out := os.Getenv("SDLFILTER_BENCH_OUT")
	if out == "" {
		out = filepath.Join(b.TempDir(), "out.parquet")
	}
	b.SetBytes(info.Size())
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := cpu()
	for b.Loop() {
		r := release{
			from: SourceConfig{Path: path}, to: SinkConfig{Path: out},
			layout: layoutOf([]string{"f1", "f2", "f3", "f4"}, []string{"i1"}),
			mask: func(b *microdata.Block) {
				for i := range b.Columns {
					v := b.Columns[i].Mutable()
					for k := range v.Values {
						v.Values[k] *= 1.0001
					}
				}
			},
		}
		if err := r.run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpu()-before).Seconds()/float64(b.N), "cpu-s/op")
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		b.ReportMetric(float64(u.Maxrss)/1024, "peak-MB")
	}
}
