package rank

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// columns returns n values of each kind that columns have.
func columns(n int) map[string][]float64 {
	r := rand.New(rand.NewPCG(uint64(n), 5))
	of := func(f func(i int) float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = f(i)
		}
		return values
	}
	last := 0.0
	odd := []float64{math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.SmallestNonzeroFloat64,
		-math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, 1, -1, math.Nextafter(1, 2)}
	return map[string][]float64{
		"normal": of(func(int) float64 { return r.NormFloat64() }),
		"wages":  of(func(int) float64 { return math.Round(math.Exp(8 + r.NormFloat64())) }),
		"any bits": of(func(int) float64 {
			if x := math.Float64frombits(r.Uint64()); x == x {
				return x
			}
			return 3
		}),
		"few values": of(func(int) float64 { return float64(r.IntN(5) - 2) }),
		"one value":  of(func(int) float64 { return -7 }),
		"odd values": of(func(int) float64 { return odd[r.IntN(len(odd))] }),
		"ascending":  of(func(i int) float64 { return float64(i) }),
		"descending": of(func(i int) float64 { return -float64(i) }),
		"neighbours": of(func(int) float64 { return math.Float64frombits(math.Float64bits(1) + r.Uint64N(100)) }),
		"far and near": of(func(i int) float64 { // beside a few far away the others differ in their last bits alone
			if i%1000 == 3 {
				return -math.MaxFloat64
			}
			return math.Float64frombits(math.Float64bits(1) + uint64(n-i))
		}),
		"far and nearly in order": of(func(i int) float64 {
			if i == n/2 {
				return -math.MaxFloat64
			}
			return math.Float64frombits(math.Float64bits(1) + uint64(i^1))
		}),
		"even, by twos": of(func(i int) float64 { // of two neighbours in value the greater one comes first
			if i%2 == 1 {
				return last
			}
			last = r.Float64()
			return math.Nextafter(last, 1)
		}),
		"small numbers": of(func(int) float64 { return float64(r.IntN(2_000_000)) * math.SmallestNonzeroFloat64 }),
	}
}

// Rows have the order of a stable sort: for few and many rows, for all rows and for some in any
// order.
func TestOrder(t *testing.T) {
	for _, n := range []int{0, 1, 2, few - 1, few, few + 1, 5000, 100_000} {
		for name, values := range columns(n) {
			r := rand.New(rand.NewPCG(7, uint64(n)))
			all := make([]int32, n)
			for i := range all {
				all[i] = int32(i)
			}
			mixed := slices.Clone(all)
			r.Shuffle(n, func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			for what, rows := range map[string][]int32{"all": all, "mixed": mixed, "some": slices.Clone(mixed[:n/2])} {
				want := slices.Clone(rows)
				slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(values[a], values[b]) })
				Order(rows, values, nil)
				if !slices.Equal(rows, want) {
					t.Errorf("%s, %s of %d rows: the order differs", name, what, n)
				}
			}
		}
	}
}

// Where leading bits say little, rows are left as they were after a bounded number of moves.
func TestLeadingBitsGiveUp(t *testing.T) {
	const n = 50_000
	for name, want := range map[string]bool{"normal": true, "wages": true, "far and near": false,
		"far and nearly in order": true} {
		values, rows := columns(n)[name], make([]int32, n)
		for i := range rows {
			rows[i] = int32(i)
		}
		before := slices.Clone(rows)
		if got := byLeadingBits(rows, values); got != want || !got && !slices.Equal(rows, before) {
			t.Errorf("%s: sorted %v, want %v", name, got, want)
		}
	}
}

// Cells are used where values lie evenly enough, and left where they do not, or have no finite extent.
func TestCellsGiveUp(t *testing.T) {
	const n = 50_000
	for name, want := range map[string]bool{
		"normal": true, "even, by twos": true, "ascending": true, "neighbours": true, "wages": false, "far and near": false,
		"one value":  false,
		"odd values": false, "any bits": false,
	} {
		values, rows := columns(n)[name], make([]int32, n)
		for i := range rows {
			rows[i] = int32(n - 1 - i)
		}
		before := slices.Clone(rows)
		if got := byCells(rows, values); got != want || !got && !slices.Equal(rows, before) {
			t.Errorf("%s: sorted %v, want %v", name, got, want)
		}
	}
}

// Many rows, which all cores put in order by ranges of their values, are in the same order on any number of cores: of
// all kinds of values, also where more rows are alike than keys have places for.
func TestOrderOfMany(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	const n = ranged + 7
	for name, values := range columns(n) {
		rows, given := make([]int32, n), make([]int32, n)
		for i := range given {
			given[i] = int32(i * 7919 % n)
		}
		want := slices.Clone(given)
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(values[a], values[b]) })
		for _, n := range []int{1, 3} {
			runtime.GOMAXPROCS(n)
			copy(rows, given)
			if Order(rows, values, nil); !slices.Equal(rows, want) {
				t.Errorf("%s on %d cores: the order differs", name, n)
			}
		}
	}
	rows, values := make([]int32, 2*many+7), make([]float64, 2*many+7)
	for i := range rows {
		rows[i], values[i] = int32(i), float64(max(0, i%10-8))
	}
	Order(rows, values, nil)
	for i := 1; i < len(rows); i++ {
		if a, b := rows[i-1], rows[i]; values[a] > values[b] || values[a] == values[b] && a >= b {
			t.Fatalf("of %d rows number %d is out of order", len(rows), i)
		}
	}
}

// With a comparison function the order is that of a sort, of one piece and of several merged
// pieces.
func TestOrderFunc(t *testing.T) {
	for _, n := range []int{0, 1, 5, piece, piece + 1, 2 * piece, 2*piece + 1, 5*piece - 3, 8 * piece} {
		r := rand.New(rand.NewPCG(3, uint64(n)))
		rows, values := make([]int32, n), make([]float64, n)
		for i := range rows {
			rows[i], values[i] = int32(i), float64(r.IntN(n/3+1))
		}
		r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		compare := func(a, b int32) int { return cmp.Or(cmp.Compare(values[a], values[b]), cmp.Compare(a, b)) }
		want := slices.Clone(rows)
		slices.SortFunc(want, compare)
		if OrderFunc(rows, compare, func() bool { return false }); !slices.Equal(rows, want) {
			t.Errorf("%d rows: the order differs from that of a sort", n)
		}
	}
}

// A cancelled sort asks no more, at any point. It asks for each piece and, while merging, as often
// again.
func TestOrderGivesUp(t *testing.T) {
	n := 5 * piece
	rows := make([]int32, n)
	compare := func(a, b int32) int { return cmp.Compare(a, b) }
	for at := 1; ; at++ {
		for i := range rows {
			rows[i] = int32(n - i)
		}
		checks := 0
		OrderFunc(rows, compare, func() bool { checks++; return checks == at })
		if checks < at {
			if checks < 2*5 || !slices.IsSortedFunc(rows, compare) {
				t.Errorf("asks %d times for %d pieces", checks, 5)
			}
			break
		}
		if checks > at {
			t.Errorf("checks %d times more after it was cancelled", checks-at)
		}
	}
	two, values := make([]int32, 2*many), make([]float64, 2*many)
	checks := 0
	Order(two, values, func() bool { checks++; return checks == 1 })
	if checks != 1 {
		t.Errorf("asks %d times, told to give up at once", checks)
	}
}

// By all cores, with the values of a whole data set.
func BenchmarkOrderOfMany(b *testing.B) {
	for name, values := range columns(4_000_000) {
		if name != "wages" && name != "normal" {
			continue
		}
		rows := make([]int32, len(values))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for i := range rows {
					rows[i] = int32(i)
				}
				Order(rows, values, nil)
			}
		})
	}
}

func BenchmarkOrder(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		values, even := columns(n)["wages"], columns(n)["normal"]
		rows := make([]int32, n)
		for name, order := range map[string]func([]int32, []float64){
			"radix": byKeys, "cells": func(rows []int32, _ []float64) { byKeys(rows, even) }, "all bits": byAllBits,
			"compared": func(rows []int32, values []float64) {
				slices.SortFunc(rows, func(a, b int32) int { return cmp.Or(cmp.Compare(values[a], values[b]), cmp.Compare(a, b)) })
			},
		} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					for i := range rows {
						rows[i] = int32(i)
					}
					order(rows, values)
				}
			})
		}
	}
}

// Values are in the order of a comparing sort, and all their bits are kept.
func TestSort(t *testing.T) {
	for _, n := range []int{0, 1, 2, few - 1, few, few + 1, 5000, 100_000, ranged + 9} {
		for name, values := range columns(n) {
			want := slices.Clone(values)
			slices.SortFunc(want, func(a, b float64) int {
				if a == 0 && b == 0 {
					return cmp.Compare(math.Copysign(1, a), math.Copysign(1, b))
				}
				return cmp.Compare(a, b)
			})
			Sort(values)
			if !slices.EqualFunc(values, want, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
				t.Errorf("%s of %d values: the order is another one", name, n)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	for name, values := range columns(100_000) {
		own := make([]float64, len(values))
		for _, with := range []struct {
			name string
			sort func([]float64)
		}{{"radix", Sort}, {"compared", slices.Sort[[]float64]}} {
			b.Run(name+"/"+with.name, func(b *testing.B) {
				for b.Loop() {
					copy(own, values)
					with.sort(own)
				}
			})
		}
	}
}
