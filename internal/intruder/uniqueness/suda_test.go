package uniqueness

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// bruteMSUs returns the minimal sample uniques of each record, as sets of keys, by
// checking all sets and all pairs of records.
func bruteMSUs(keys []Column, maxSize int) [][]uint64 {
	n := len(keys[0].Codes)
	msus := make([][]uint64, n)
	sets := make([]uint64, 0, 1<<len(keys))
	for set := uint64(1); set < 1<<len(keys); set++ {
		if bits.OnesCount64(set) <= maxSize {
			sets = append(sets, set)
		}
	}
	slices.SortStableFunc(sets, func(a, b uint64) int { return bits.OnesCount64(a) - bits.OnesCount64(b) })
	for i := range n {
	next:
		for _, set := range sets {
			for _, smaller := range msus[i] {
				if smaller&^set == 0 {
					continue next
				}
			}
			for rest := set; rest != 0; rest &= rest - 1 {
				if keys[bits.TrailingZeros64(rest)].Codes[i] < 0 {
					continue next
				}
			}
			for other := range n {
				equal := other != i
				for rest := set; rest != 0 && equal; rest &= rest - 1 {
					codes := keys[bits.TrailingZeros64(rest)].Codes
					equal = codes[i] == codes[other]
				}
				if equal {
					continue next
				}
			}
			msus[i] = append(msus[i], set)
		}
		slices.Sort(msus[i])
	}
	return msus
}

// searchMSUs returns the same sets, as found by the search.
func searchMSUs(t *testing.T, keys []Column, maxSize, workers int) [][]uint64 {
	t.Helper()
	g := &grouper{}
	c := newClasses(g, fieldsOf(keys), nil)
	table := newSUDATable(g, c)
	byClass := make([][]uint64, len(c.count))
	err := table.search(context.Background(), maxSize, workers, func(row int32, set uint64) {
		named := uint64(0)
		table.keysOf(set, func(key int) { named |= 1 << key })
		byClass[row] = append(byClass[row], named)
	})
	if err != nil {
		t.Fatal(err)
	}
	msus := make([][]uint64, len(c.of))
	for i, k := range c.of {
		msus[i] = byClass[k]
		slices.Sort(msus[i])
	}
	return msus
}

func TestMSUsAgainstAllSubsets(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	total := 0
	for _, cards := range [][]int{{9}, {4, 30}, {3, 3, 3}, {2, 2, 2, 2, 2, 2, 2, 2}, {1, 4, 9, 2, 3, 6},
		{2, 3, 2, 3, 2, 3, 2, 3, 2, 3}} {
		for _, n := range []int{1, 2, 7, 60, 150} {
			for _, missing := range []float64{0, 0.15} {
				for _, maxSize := range []int{1, 3, len(cards)} {
					if maxSize > len(cards) {
						continue
					}
					keys := randomData(random, n, cards, missing).Keys
					got, want := searchMSUs(t, keys, maxSize, 1+n%3), bruteMSUs(keys, maxSize)
					for i := range want {
						total += len(want[i])
						if !slices.Equal(got[i], want[i]) {
							t.Fatalf("%v, %d records, missing %v, up to %d keys, record %d: got %b, want %b", cards, n, missing, maxSize, i,
								got[i], want[i])
						}
					}
				}
			}
		}
	}
	if total < 10000 {
		t.Errorf("only %d sets were compared", total)
	}
}

// As many keys as bits of a word: record 1 is unique on the last key, record 2 on the
// first, record 0 on both together.
func TestMSUsOf64Keys(t *testing.T) {
	var keys []Column
	for j := range asked.Keys {
		keys = append(keys, Column{string(rune('0' + j)), make([]int32, 3)})
	}
	keys[63].Codes[1], keys[0].Codes[2] = 1, 1
	got := searchMSUs(t, keys, asked.Keys, 2)
	if want := [][]uint64{{1<<63 | 1}, {1 << 63}, {1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// Small files of four keys with values −1 … 2, one byte a record.
func FuzzAgainstPairs(f *testing.F) {
	f.Add([]byte{0, 1, 2, 255, 1, 64})
	f.Add([]byte("\x1b\x1b\x6c\xb1\x00\x55\xaa\xff"))
	f.Fuzz(func(t *testing.T, records []byte) {
		if len(records) == 0 || len(records) > 40 {
			return
		}
		keys := make([]Column, 4)
		for j := range keys {
			keys[j].Name = string(rune('a' + j))
			for _, b := range records {
				keys[j].Codes = append(keys[j].Codes, int32(b>>(2*j)&3)-1)
			}
		}
		data := Data{Keys: keys}
		r := measure(t, data, Options{Alpha: 0.5})
		if want, _ := bruteFrequencies(data, 0.5); !slices.Equal(r.SampleFrequency, want) {
			t.Errorf("f = %v, want %v", r.SampleFrequency, want)
		}
		got, want := searchMSUs(t, keys, 4, 2), bruteMSUs(keys, 4)
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("record %d: MSUs %b, want %b", i, got[i], want[i])
			}
		}
	})
}

// The examples of Elliot et al.: with five keys and sets of up to 3, a set of one
// weighs (5−1)(5−2)(5−3) = 24, of two 6, of three 2.
func TestSizeWeights(t *testing.T) {
	for _, test := range []struct {
		scores     Scores
		n, maxSize int
		want       []float64
	}{
		{ScoresElliot, 5, 3, []float64{24, 6, 2}},
		{ScoresElliot, 5, 2, []float64{12, 3}},
		{ScoresElliot, 4, 4, []float64{6, 2, 1, 1}},
		{ScoresElliot, 1, 1, []float64{1}},
		{ScoresIHSN, 3, 3, []float64{1, 1. / 3, 0}},
	} {
		got := sizeWeights(test.scores, test.n, test.maxSize)
		for k := range test.want {
			if !(math.Abs(got[k]-test.want[k]) <= 1e-15) {
				t.Errorf("%v of %d keys: %v, want %v", test.scores, test.n, got, test.want)
				break
			}
		}
	}
}

// One unique with score s and n₂ pairs: it gets all of the odds, 2n₂(1 − π)/π, for
// every score; two uniques share them by score^Q.
func TestDISScores(t *testing.T) {
	odds := disOdds([]int64{1, 2, 2, 3, 1}, 0.1)
	if !(math.Abs(odds-36) <= 1e-12) {
		t.Fatalf("odds %v, want 2·2·0.9/0.1", odds)
	}
	if got := disScores([]float64{5, 0}, 8, odds); !(math.Abs(got[0]-1./37) <= 1e-15) || got[1] != 0 {
		t.Errorf("got %v", got)
	}
	// Q = 1 with 8 keys: Σ s^−Q = 1/2 + 1/6 = 2/3.
	got := disScores([]float64{2, 6}, 8, odds)
	for i, want := range []float64{1 / (1 + 36/(2*2./3)), 1 / (1 + 36/(6*2./3))} {
		if !(math.Abs(got[i]-want) <= 1e-15) {
			t.Errorf("score %d: got %v, want %v", i, got[i], want)
		}
	}
}
