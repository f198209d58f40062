package keystream

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Draws of many words have the bits of those of single ones: in the middle, in both tails, at the borders between, for
// the first and the last word, and for any number of words; nothing behind them is written.
func TestNormalsOfWordsAreThoseOfSingleWords(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	words := []uint64{0, math.MaxUint64, 1 << 63, 1<<63 - 1, 1 << 12, 1<<12 - 1}
	for _, p := range []float64{0.075, 0.925} { // ½ ± 0.425
		at := uint64(p * (1 << 52))
		for d := range uint64(9) {
			words = append(words, (at+d-4)<<12)
		}
	}
	for len(words) < 2000 {
		words = append(words, r.Uint64(), r.Uint64()>>r.UintN(64), ^(r.Uint64() >> r.UintN(64)))
	}
	for _, n := range []int{0, 1, 2, 255, 256, 257, 600, len(words)} {
		to := make([]float64, n+1)
		to[n] = 7
		NormalsOfWords(to, words[:n])
		for i, w := range words[:n] {
			want := NormalQuantile((float64(w>>12) + 0.5) / (1 << 52))
			if math.Float64bits(to[i]) != math.Float64bits(want) {
				t.Fatalf("word %x, number %d of %d: %v, want %v", w, i, n, to[i], want)
			}
		}
		if to[n] != 7 {
			t.Errorf("%d words: wrote behind them", n)
		}
	}
	tails := make([]uint64, 512) // all of a batch
	to := make([]float64, len(tails))
	if NormalsOfWords(to, tails); to[0] != to[511] || to[0] != NormalQuantile(0x1p-53) {
		t.Errorf("the least draws are %v and %v", to[0], to[511])
	}
}

func BenchmarkNormalsOfWords(b *testing.B) {
	words, to := make([]uint64, 1<<14), make([]float64, 1<<14)
	r := rand.New(rand.NewPCG(8, 1))
	for i := range words {
		words[i] = r.Uint64()
	}
	b.Run("many", func(b *testing.B) {
		for b.Loop() {
			NormalsOfWords(to, words)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(words)), "ns/word")
	})
	b.Run("single", func(b *testing.B) {
		for b.Loop() {
			for i, w := range words {
				to[i] = NormalQuantile(openUnit(w))
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(words)), "ns/word")
	})
}
