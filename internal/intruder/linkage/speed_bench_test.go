package linkage

import (
	"flag"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/internal/memory"
)

// Sizes of BenchmarkSpeed, after -args or given to the built test binary.
var (
	speedTargets  = flag.Int("targets", 1000, "BenchmarkSpeed: targets that are sought in the release")
	speedReleased = flag.Int("released", 1_000_000, "BenchmarkSpeed: released records that targets are sought in")
	speedNearest  = flag.Int("nearest", 100_000, "BenchmarkSpeed: records of which each seeks its nearest")
)

// The measurements of `make bench-attack`, including the memory in addition to the data: a few
// targets in a large release, and the nearest record of every record. Four keys.
func BenchmarkSpeed(b *testing.B) {
	for _, c := range []struct {
		name              string
		targets, released int
		noise             float64
		method            method
	}{
		{"few", *speedTargets, *speedReleased, 0.1, byCost},
		{"tree/noise=10", *speedNearest, *speedNearest, 0.1, byTree},
		{"blocks/noise=10", *speedNearest, *speedNearest, 0.1, byBlocks},
		{"tree/noise=100", *speedNearest, *speedNearest, 1, byTree},
		{"blocks/noise=100", *speedNearest, *speedNearest, 1, byBlocks},
	} {
		b.Run(c.name, func(b *testing.B) {
			targets, released := noisy(c.released, min(c.targets, c.released), 4, c.noise)
			above := memory.Above()
			for b.Loop() {
				if _, err := Link(b.Context(), targets, released, Options{method: c.method}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(above())/1e6, "MB-above")
		})
	}
}
