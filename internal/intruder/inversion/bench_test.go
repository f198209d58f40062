package inversion

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// BenchmarkUsualValues attacks 100,000 records, the keyed sample of a run.
func BenchmarkUsualValues(b *testing.B) {
	for _, c := range []struct {
		name, sd string
		decimals int
		of       func(*rand.Rand) float64
	}{
		{"thousands", "3000", 0, around40(1000)},
		{"whole", "3", 0, func(r *rand.Rand) float64 { return math.Round(38 + 8*r.NormFloat64()) }},
		{"cents", "30", 2, func(r *rand.Rand) float64 { return math.Round(100*math.Exp(0.6*r.NormFloat64())) / 100 }},
	} {
		masks := []transform.Spec{noiseOf("v", c.sd, "")}
		out := mask(b, []field{{"v", c.decimals, drawn(1, 100_000, c.of)}}, 0, masks)
		known := publishedMoments(out)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Attack(b.Context(), masks, known, Release{Columns: out}, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
