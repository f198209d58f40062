package uniqueness

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
)

// benchmarkData returns a million records with four keys with 1.2 million possible
// tuples, or with codes too large for a table; a share of the codes is missing.
func benchmarkData(stretch int32, missing float64) Data {
	data := randomData(rand.New(rand.NewPCG(11, 12)), 1_000_000, []int{2, 100, 60, 100}, missing)
	for _, key := range data.Keys {
		for i, code := range key.Codes {
			if code > 0 {
				key.Codes[i] = code * stretch
			}
		}
	}
	return data
}

// Frequencies, k-anonymity and individual risk of 1,000,000 records on 4 keys: at most
// 0.6 s on 2 cores.
func BenchmarkUniqueness1M(b *testing.B) {
	for _, bench := range []struct {
		name    string
		stretch int32
		missing float64
	}{{"table", 1, 0}, {"hash", 10_000_000, 0}, {"missing", 1, 0.02}} {
		b.Run(bench.name, func(b *testing.B) {
			data := benchmarkData(bench.stretch, bench.missing)
			o := Options{Alpha: 1, K: []int{2, 3, 5}}
			for b.Loop() {
				if _, err := Measure(context.Background(), data, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The table of uniques for all combinations of three of twelve keys.
func BenchmarkCombinations(b *testing.B) {
	data := randomData(rand.New(rand.NewPCG(13, 14)), 100_000, []int{2, 9, 5, 30, 4, 6, 8, 3, 12, 2, 7, 5}, 0)
	for b.Loop() {
		if _, err := Measure(context.Background(), data, Options{Alpha: 1, Combinations: 3}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSUDA2(b *testing.B) {
	twenty := []int{2, 9, 5, 30, 4, 6, 8, 3, 12, 2, 7, 5, 2, 2, 10, 3, 4, 2, 6, 20}
	for _, bench := range []struct {
		name    string
		n       int
		cards   []int
		maxSize int
	}{
		{"1M_4keys", 1_000_000, []int{2, 100, 60, 100}, 4},
		{"100k_8keys", 100_000, twenty[:8], 8},
		{"5k_20keys_4", 5000, twenty, 4},
		{"5k_20keys_6", 5000, twenty, 6},
		{"50k_20keys_4", 50_000, twenty, 4},
		{"1k_20keys_20", 1000, twenty, 20},
	} {
		b.Run(bench.name, func(b *testing.B) {
			data := randomData(rand.New(rand.NewPCG(15, 16)), bench.n, bench.cards, 0)
			o := Options{Alpha: 1, SUDA2: &SUDA2Options{MaxSize: bench.maxSize}}
			for b.Loop() {
				if _, err := Measure(context.Background(), data, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKnown counts k from the snooper's side of 1,000,000 records with 6 keys of which 3 % of
// the cells are hidden. The benchmarks of half and of twice the patterns, and of ten times fewer
// distinct combinations, show what the time grows with.
func BenchmarkKnown(b *testing.B) {
	for _, c := range []struct {
		name   string
		cards  []int
		hidden int // keys with hidden cells
	}{
		{"6 of 6 keys hidden", []int{200, 90, 60, 20, 8, 2}, 6},
		{"3 of 6 keys hidden", []int{200, 90, 60, 20, 8, 2}, 3},
		{"few combinations", []int{10, 9, 6, 5, 4, 2}, 6},
		{"unique", []int{1_000_000, 90, 60, 20, 8, 2}, 6},
	} {
		random := rand.New(rand.NewPCG(3, 6))
		const n = 1_000_000
		data := Data{}
		for j, card := range c.cards {
			key := Column{Name: fmt.Sprint(j), Codes: make([]int32, n)}
			known := make([]int32, n)
			for i := range n {
				known[i] = int32(float64(card) * random.Float64() * random.Float64())
				key.Codes[i] = known[i]
				if j < c.hidden && random.Float64() < 0.03 {
					key.Codes[i] = -1
				}
			}
			data.Keys, data.Known = append(data.Keys, key), append(data.Known, known)
		}
		b.Run(c.name, func(b *testing.B) {
			before := cpuSeconds()
			for b.Loop() {
				if _, err := Measure(b.Context(), data, Options{Alpha: 1, K: []int{2, 3}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuSeconds()-before)/float64(b.N), "cpu-s/op")
		})
	}
}

// cpuSeconds is the time that the process has used on all processors.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return math.NaN()
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
