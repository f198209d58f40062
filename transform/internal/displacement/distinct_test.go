package displacement

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// If all combinations have different sizes, the sums and the rest equal those of the general loop,
// bit by bit, with as many draws: for combinations of one record or more, two to eight
// combinations, and some without free records.
func TestMeetingsOfDistinctSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	for round := range 400 {
		k := 2 + r.IntN(few-1)
		var sizes []int32
		for len(sizes) < k {
			if s := 1 + r.Int32N(int32(10+round)); !slices.Contains(sizes, s) {
				sizes = append(sizes, s)
			}
		}
		slices.SortFunc(sizes, func(a, b int32) int { return int(b - a) })
		var name []byte
		for _, s := range sizes {
			name = binary.AppendUvarint(name, uint64(s))
		}
		free := slices.Clone(sizes)
		for c := range free {
			if r.IntN(5) == 0 {
				free[c] = 0
			}
		}
		other := slices.Clone(free)
		one, two := newCohort(sizes, name), newCohort(sizes, name)
		got, want := make([]float64, k*k), make([]float64, k*k)
		for run := range 3 {
			copy(free, sizes[:run])
			copy(other, sizes[:run])
			one.meetDistinct(free, got, 1.0/3)
			two.meetFew(other, want, 1.0/3)
			if !slices.Equal(got, want) || !slices.Equal(free, other) {
				t.Fatalf("sizes %v: %v with %v left, want %v with %v", sizes, got, free, want, other)
			}
		}
		if a, b := one.random.Uint64(), two.random.Uint64(); a != b {
			t.Fatalf("sizes %v: the generators are in different states", sizes)
		}
	}
}

func BenchmarkMeet(b *testing.B) {
	sizes := []int32{110_007, 109_006, 108_005, 107_004, 106_003, 105_002, 104_001}
	for name, meet := range map[string]func(g *cohort, free []int32, pairs []float64){
		"few":      func(g *cohort, free []int32, pairs []float64) { g.meetFew(free, pairs, 1) },
		"distinct": func(g *cohort, free []int32, pairs []float64) { g.meetDistinct(free, pairs, 1) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				meet(newCohort(sizes, nil), slices.Clone(sizes), make([]float64, 49))
			}
		})
	}
}
