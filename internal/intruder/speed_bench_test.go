package intruder

import (
	"flag"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/internal/memory"
)

// Sizes of BenchmarkSpeed, after -args or given to the built test binary.
var (
	speedTargets  = flag.Int("targets", 1000, "BenchmarkSpeed: targets that are sought in the release")
	speedReleased = flag.Int("released", 1_000_000, "BenchmarkSpeed: released records that targets are sought in")
)

// The measurements of `make bench-attack`, including the memory in addition to the data: the
// posterior of every released record for each target, on four keys. With noise of 20 % of the keys'
// SD few records have a relevant density, with noise of 100 % most.
func BenchmarkSpeed(b *testing.B) {
	for _, c := range []struct {
		name  string
		sigma float64
	}{{"d1/noise=20", 0.2}, {"d1/noise=100", 1}} {
		b.Run(c.name, func(b *testing.B) {
			p := noisyRelease(1, *speedReleased, min(*speedTargets, *speedReleased), 4, 0.01, c.sigma)
			above := memory.Above()
			for b.Loop() {
				if _, err := Run(b.Context(), p, Options{Keys: []Key{{Phi: 0.01, Sigma: c.sigma}}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(above())/1e6, "MB-above")
		})
	}
}
