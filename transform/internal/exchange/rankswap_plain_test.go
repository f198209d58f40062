package exchange

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// The k-th free rank is that of a list, and exchanges are those of a plain computation, for few and many ranks, and any
// reach.
func TestRankExchangesAreThePlainOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 37))
	for _, n := range []int{1, 2, 3, 63, 64, 65, 1023, 1024, 1025, 5000} {
		for _, reach := range []int{1, 2, 7, n / 20, n - 1, n, 2 * n} {
			if reach < 1 {
				continue
			}
			values, words, order := make([]float64, n), make([]uint64, n), make([]int32, n)
			for i := range n {
				values[i], words[i], order[i] = float64(i), r.Uint64(), int32(n-1-i)
			}
			want := slices.Clone(values)
			free := slices.Repeat([]bool{true}, n)
			for k, i := range order {
				if !free[k] {
					continue
				}
				free[k] = false
				var near []int
				for j := k + 1; j < n && j <= k+reach; j++ {
					if free[j] {
						near = append(near, j)
					}
				}
				if len(near) > 0 {
					j := near[matching.Below(words[i], int64(len(near)))]
					free[j] = false
					want[i], want[order[j]] = want[order[j]], want[i]
				}
			}
			exchangeRanks(values, order, words, reach)
			if !slices.Equal(values, want) {
				t.Errorf("%d ranks, reach %d: other exchanges", n, reach)
			}
		}
	}
}

// Free ranks are found beyond the ends of parts of all sizes, from any rank up to which none is free.
func TestFreeRanksAreFoundAcrossParts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for _, n := range []int{1, 64, 1<<smallPart + 1, 1<<middlePart + 65, 1<<largePart + 1<<middlePart + 3} {
		var free freeRanks
		free.all(n + 70)
		free.all(n) // of a greater number before
		from := r.IntN(n)
		var left []int
		for rank := range n {
			if rank <= from || r.IntN(3) == 0 || rank>>smallPart == 40 { // a part of which all are taken
				free.take(rank)
			} else {
				left = append(left, rank)
			}
		}
		for range min(len(left), 2000) {
			if k := r.IntN(len(left)); free.find(from, n-1, k) != left[k] {
				t.Fatalf("%d ranks: the %d-th free one behind %d is %d, want %d", n, k, from, free.find(from, n-1, k), left[k])
			}
		}
		if last := len(left) - 1; last >= 0 && free.find(from, n-1, last) != left[last] {
			t.Errorf("%d ranks: another last one", n)
		}
	}
}

// Rows of equal values are in the order of their words, those of equal words by their places, where words differ in few
// bits too.
func TestEqualRowsAreInTheOrderOfTheirWords(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	unmixing := uint64(1)
	for range 6 { // Newton's inverse of mixing modulo 2⁶⁴
		unmixing *= 2 - mixing*unmixing
	}
	var order wordOrder
	for _, n := range []int{0, 1, 2, 3000, 3, 12, 100} {
		for kind, word := range map[string]func() uint64{
			"any": r.Uint64, "few": func() uint64 { return r.Uint64N(uint64(n)/2 + 1) }, "last bits": func() uint64 {
				return (r.Uint64N(1<<20) + 7<<40) * unmixing
			},
			"ends": func() uint64 { return (r.Uint64N(2)*math.MaxUint64 ^ r.Uint64N(3)) * unmixing },
		} {
			rows, words := make([]int32, n), make([]uint64, n)
			for i := range n {
				rows[i], words[i] = int32(i), word()
			}
			drawn := slices.Clone(words)
			order.sort(rows, drawn, nil)
			seen := map[int32]bool{}
			for i, a := range rows {
				seen[a] = true
				if drawn[i] != words[a] {
					t.Fatalf("%s: of %d rows number %d has the word of another", kind, n, i)
				}
				if i == 0 {
					continue
				}
				if b := rows[i-1]; words[b]*mixing > words[a]*mixing || words[a] == words[b] && b > a {
					t.Fatalf("%s: of %d rows number %d is out of order", kind, n, i)
				}
			}
			if len(seen) != n {
				t.Errorf("%s: %d of %d rows are left", kind, len(seen), n)
			}
		}
	}
}

// An exchange of sorted values is that of the records, one by one: with equal values, negative zeros among them, where
// all are equal, and of two records.
func TestSortedValuesAreExchangedAsThoseOfRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, n := range []int{2, 3, 40, 700} {
		for kind, value := range map[string]func() float64{
			"zeros": func() float64 { return math.Copysign(0, r.Float64()-0.5) },
			"few":   func() float64 { return []float64{-1, 0, math.Copysign(0, -1), 3, 1e300}[r.IntN(5)] },
			"one":   func() float64 { return 1e300 },
			"any":   r.NormFloat64,
		} {
			g := &gathered.Data{N: n, Values: [][]float64{nil}, Words: [][]uint64{nil}, Strata: make([]int32, n)}
			for range n {
				g.Values[0], g.Words[0] = append(g.Values[0], value()), append(g.Words[0], r.Uint64())
			}
			values, words := slices.Clone(g.Values[0]), g.Words[0]
			mask := &rankExchange{p: 0.5}
			ranks := mask.ranks(g, 0)
			if ranks.err != nil {
				t.Fatal(ranks.err)
			}
			order := make([]int32, n)
			for i := range order {
				order[i] = int32(i)
			}
			slices.SortFunc(order, func(a, b int32) int {
				return cmp.Or(cmp.Compare(values[a]+0, values[b]+0), cmp.Compare(words[a]*mixing, words[b]*mixing))
			})
			exchangeRanks(values, order, words, n/2)
			new(exchanger).exchange(g.Values[0], words, &ranks, nil)
			for i, v := range g.Values[0] {
				if math.Float64bits(v) != math.Float64bits(values[i]) {
					t.Fatalf("%s: record %d of %d has %v, want %v", kind, i, n, v, values[i])
				}
			}
		}
	}
}
