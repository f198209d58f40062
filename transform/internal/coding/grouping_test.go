package coding

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// randomBlock returns random records of two keys and an attribute, in three columns of numbers.
func randomBlock(n int, seed uint64, keys, attributes int) *microdata.Block {
	r := rand.New(rand.NewPCG(seed, 2))
	b := new(microdata.Block)
	b.Reset(0, 0, n, 3)
	var to [3][]float64
	for k := range to {
		to[k] = b.Columns[k].Alloc(n, true).Values
	}
	for i := range n {
		to[0][i], to[1][i], to[2][i] = float64(r.IntN(keys)), float64(r.IntN(3)), float64(r.IntN(attributes))
	}
	return b
}

// A reader of a grouping returns the existing codes, and no code for new values.
func TestReaderOfAGrouping(t *testing.T) {
	b, unknown := randomBlock(200, 7, 20, 3), randomBlock(200, 7, 20, 3)
	for i := range 100 {
		unknown.Columns[0].Original.Values[2*i] += 1000
	}
	var g Grouping
	if err := g.Find(b, []int{0, 1, 2}, 0, 200); err != nil {
		t.Fatal(err)
	}
	combos, groups := slices.Clone(g.Combo), slices.Clone(g.Group)
	r := g.Reader()
	for _, from := range []int{0, 150} {
		if err := r.Find(b, []int{0, 1, 2}, from, 200-from); err != nil || !slices.Equal(r.Combo, combos[from:]) ||
			!slices.Equal(r.Group, groups[from:]) {
			t.Errorf("from %d: different codes (%v)", from, err)
		}
	}
	if err := r.Find(unknown, []int{0, 1, 2}, 0, 200); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		want := combos[i]
		if i%2 == 0 {
			want = -1
		}
		if r.Combo[i] != want {
			t.Errorf("record %d: code %d, want %d", i, r.Combo[i], want)
		}
	}
	// With one key the codes of its values are the groups: a reader adds none, neither to its own
	// nor to the grouping that it reads.
	var one Grouping
	if err := one.Find(b, []int{0, 2}, 0, 200); err != nil {
		t.Fatal(err)
	}
	groups = slices.Clone(one.Group)
	r = one.Reader()
	if err := r.Find(unknown, []int{0, 2}, 0, 200); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if want := groups[i]; i%2 == 0 && r.Group[i] != -1 || i%2 == 1 && r.Group[i] != want {
			t.Errorf("record %d: group %d, had %d", i, r.Group[i], want)
		}
	}
	if err := one.Find(b, []int{0, 2}, 0, 200); err != nil || !slices.Equal(one.Group, groups) {
		t.Errorf("the groups differ after marshalling and reading (%v)", err)
	}
}

// Groups equal those of a map of the values.
func TestGrouping(t *testing.T) {
	b := randomBlock(5000, 6, 300, 5)
	for _, i := range []int{1, 2, 3, 700, 701, 4000} {
		b.Columns[0].Original.Valid.Clear(i)
		b.Columns[0].Original.Values[i] = 0
	}
	keys := b.Columns[1].Original.Values
	for i, x := range keys { // −0 is 0, NaN is NaN
		switch x {
		case 0:
			keys[i] = math.Copysign(0, float64(i%2)-1)
		case 1:
			keys[i] = math.NaN()
		}
	}
	var g Grouping
	for range 2 { // codes do not depend on values coded before a reset
		g.Reset()
		if err := g.Find(b, []int{0, 1, 2}, 100, 4900); err != nil {
			t.Fatal(err)
		}
		groups, combos := map[string]int32{}, map[string]int32{}
		for i := range 4900 {
			key := fmt.Sprint(b.Columns[0].Original.Valid.Has(100+i), b.Columns[0].Original.Values[100+i], keys[100+i]+0)
			combo := key + fmt.Sprint(" ", b.Columns[2].Original.Values[100+i])
			for _, c := range []struct {
				codes map[string]int32
				key   string
				got   int32
			}{{groups, key, g.Group[i]}, {combos, combo, g.Combo[i]}} {
				want, ok := c.codes[c.key]
				if !ok {
					want = int32(len(c.codes))
					c.codes[c.key] = want
				}
				if c.got != want {
					t.Fatalf("record %d, %s: code %d, want %d", i, c.key, c.got, want)
				}
			}
		}
	}
}

// The codes of texts are consecutive in order of appearance, and equal if and only if the texts are
// equal, whichever texts are cached: lengths above and below the limit of the cache, trailing
// zeros, more texts than it has room for, and again after a reset.
func TestTextsHaveCodesOfTheirOwn(t *testing.T) {
	var texts []string
	for length := range 10 {
		for _, fill := range []byte{0, 1, 'a', 0xff} {
			b := make([]byte, length)
			for i := range b {
				b[i] = fill
			}
			if length == 0 && fill > 0 {
				continue // the same
			}
			texts = append(texts, string(b))
		}
	}
	for i := range 300 {
		texts = append(texts, fmt.Sprint("t", i), fmt.Sprint("village ", i))
	}
	var c Coder
	for round := range 2 {
		seen := map[string]int32{}
		for k := range 5 * len(texts) {
			s := texts[k*k%len(texts)]
			if round == 1 {
				s = texts[len(texts)-1-k*k%len(texts)]
			}
			want, ok := seen[s]
			if !ok {
				want = int32(len(seen)) + 1
				seen[s] = want
			}
			if got := c.text([]byte(s)); got != want {
				t.Fatalf("round %d: text %d has code %d, want %d", round, k, got, want)
			}
		}
		c.reset()
	}
}
