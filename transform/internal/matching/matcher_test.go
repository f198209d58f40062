package matching

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

func TestFenwick(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{1, 2, 3, 7, 64, 65, 1000} {
		var tree Fenwick
		tree.Ones(n)
		weights := make([]int64, n)
		for i := range weights {
			weights[i] = 1
		}
		for range 50 {
			i := r.IntN(n)
			d := int64(r.IntN(5))
			if r.IntN(2) == 0 {
				d = -weights[i]
			}
			weights[i] += d
			tree.Add(i, d)
			sum := int64(0)
			for k, w := range weights {
				if got := tree.Prefix(k); got != sum {
					t.Fatalf("prefix(%d): got %d, want %d", k, got, sum)
				}
				if w > 0 && (tree.Find(sum) != k || tree.Find(sum+w-1) != k) {
					t.Fatalf("find(%d) of %v: got %d, want %d", sum, weights, tree.Find(sum), k)
				}
				sum += w
			}
		}
	}
}

// matchedByLists is Match by lists of the free records, which shares only Below and the order of candidates with it.
func matchedByLists(by Policy, group, combo []int32, drawn *Words) (pairs []coding.Pair) {
	members := map[int32][]int32{}
	for i, g := range group {
		if g >= 0 {
			members[g] = append(members[g], int32(i))
		}
	}
	for _, g := range slices.Sorted(maps.Keys(members)) {
		free := members[g]
		slices.SortStableFunc(free, func(i, j int32) int { return cmp.Compare(combo[i], combo[j]) })
		alone := map[int32]int{}
		for _, i := range free {
			alone[combo[i]]++
		}
		var seek []int32
		for _, i := range free {
			if len(alone) > 1 && (!by.Unique || alone[combo[i]] == 1) {
				seek = append(seek, i)
			}
		}
		for k := 1; k < len(seek); k++ {
			j := Below(drawn.Order[seek[k]], int64(k)+1)
			seek[k], seek[j] = seek[j], seek[k]
		}
		for _, i := range seek {
			if !slices.Contains(free, i) {
				continue
			}
			var others []int32
			for _, j := range free {
				if combo[j] != combo[i] {
					others = append(others, j)
				}
			}
			if len(others) == 0 {
				continue
			}
			j := others[Below(drawn.Partner[i], int64(len(others)))]
			free = slices.DeleteFunc(slices.Clone(free), func(r int32) bool { return r == i || r == j })
			if by.Heads(drawn.Coin[i]) {
				pairs = append(pairs, coding.Pair{I: 100 + i, J: 100 + j})
			}
		}
	}
	return pairs
}

// The pairs are those of a matching by lists, for windows of any size, with records that take no part, and one after
// another in the same memory.
func TestMatchIsThatOfLists(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 7))
	var m Matcher
	found := 0
	for trial := range 400 {
		n := r.IntN(60)
		groups, attributes := 1+r.IntN(5), 1+r.IntN(6)
		var group, combo []int32
		var drawn Words
		for range n {
			g := int32(r.IntN(groups))
			combo = append(combo, g*int32(attributes)+int32(min(r.IntN(attributes), r.IntN(attributes))))
			if r.IntN(10) == 0 {
				g = -1
			}
			group = append(group, g)
			drawn.Order, drawn.Partner, drawn.Coin = append(drawn.Order, r.Uint64()), append(drawn.Partner, r.Uint64()),
				append(drawn.Coin, r.Uint64())
		}
		by := Policy{Rate: []float64{0, 0.4, 1}[trial%3], Unique: trial%2 == 0}
		got := m.Match(nil, by, group, combo, &drawn, 100)
		if want := matchedByLists(by, group, combo, &drawn); !slices.Equal(got, want) {
			t.Fatalf("trial %d: %v, want %v", trial, got, want)
		}
		found += len(got)
	}
	if found < 500 {
		t.Errorf("only %d pairs", found)
	}
}

// A coin of rate π falls heads for the share π of all words, from the least on.
func TestHeads(t *testing.T) {
	for _, c := range []struct {
		rate float64
		word uint64
		want bool
	}{{0, 0, false}, {1, math.MaxUint64, true}, {0.5, 1<<63 - 1, true}, {0.5, 1 << 63, false}, {0x1p-53, 1<<11 - 1, true},
		{0x1p-53, 1 << 11, false}} {
		if (Policy{Rate: c.rate}).Heads(c.word) != c.want {
			t.Errorf("rate %v, word %x", c.rate, c.word)
		}
	}
}

// Each order of three elements comes from as many words, and words map to numbers evenly, the last one too.
func TestShuffleIsUniform(t *testing.T) {
	counts := map[string]int{}
	for a := range uint64(2) {
		for b := range uint64(3) {
			list := []int{0, 1, 2}
			words := []uint64{0, a << 63, b*(math.MaxUint64/3+1) + 5}
			Shuffle(list, func(i int) uint64 { return words[i] })
			counts[fmt.Sprint(list)]++
		}
	}
	if len(counts) != 6 {
		t.Errorf("%v", counts)
	}
	if Below(math.MaxUint64, 7) != 6 || Below(0, 7) != 0 || Below(1<<63, 2) != 1 || Below(1<<63-1, 2) != 0 {
		t.Error("words are mapped unevenly")
	}
}
