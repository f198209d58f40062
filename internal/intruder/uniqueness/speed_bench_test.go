package uniqueness

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/internal/memory"
)

var speedRecords = flag.Int("records", 1_000_000, "BenchmarkSpeed: records")

// The measurements of `make bench-attack`, including the memory in addition to the data:
// frequencies, k-anonymity and individual risk on four categorical keys. Their codes form a table,
// or are too large for one, or some are missing.
func BenchmarkSpeed(b *testing.B) {
	for _, c := range []struct {
		name    string
		stretch int32
		missing float64
	}{{"table", 1, 0}, {"hash", 10_000_000, 0}, {"missing", 1, 0.02}} {
		b.Run(c.name, func(b *testing.B) {
			data := randomData(rand.New(rand.NewPCG(11, 12)), *speedRecords, []int{2, 100, 60, 100}, c.missing)
			for _, key := range data.Keys {
				for i, code := range key.Codes {
					if code > 0 {
						key.Codes[i] = code * c.stretch
					}
				}
			}
			o := Options{Alpha: 1, K: []int{2, 3, 5}}
			above := memory.Above()
			for b.Loop() {
				if _, err := Measure(b.Context(), data, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(above())/1e6, "MB-above")
		})
	}
}
