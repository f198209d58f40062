package pipeline

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// The record that Expect looks for is the same as in a separate pass: it has the target's rank
// among all values, with ties and nulls. If a record is rejected, there is no expectation. Brackets
// other than those of the survey are not accepted.
func TestExpectedRecordsAreThoseOfAPass(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 9))
	var all, null []float64
	for range 900 {
		all = append(all, float64(r.IntN(40))*r.Float64())
		if r.IntN(3) == 0 {
			all[len(all)-1] = 7 // ties
		}
	}
	for range 50 {
		null = append(null, 3)
	}
	targets := []string{"min", "p10", "p50", "p90", "max"}
	located, err := assess.NewLocator([]assess.Column{{Name: "x", Masked: true}}, targets)
	if err != nil {
		t.Fatal(err)
	}
	column := &exchangedColumn{Column: assess.Column{Name: "x"}, own: ownOf, holders: map[string]movedRecord{}}
	x := &Exchange{columns: []*exchangedColumn{column}, limit: 10}
	blocks := func() (blocks []func()) {
		for from := 0; from < len(all); from += 100 {
			b := movedBlock(int64(from), slices.Concat(all[from:from+100], null[:5])...)
			b.Columns[0].Original.Valid = slices.Repeat([]uint64{^uint64(0)}, 2)
			for i := 100; i < 105; i++ {
				b.Columns[0].Original.Valid.Clear(i)
			}
			blocks = append(blocks, func() { located.Add(b); x.takeExpected(b) })
		}
		return blocks
	}
	for _, take := range blocks() {
		take()
	}
	counted := located.Brackets("x")
	if len(counted) != len(targets) || located.Values("x") != int64(len(all)) || located.Brackets("y") != nil {
		t.Fatalf("the locator has %d brackets and %d values", len(counted), located.Values("x"))
	}
	x.expect(&Plan{locator: located})
	for _, take := range blocks() {
		take()
	}
	sorted := slices.Sorted(slices.Values(all))
	for i, at := range []int{0, 89, 449, 809, 899} { // ⌈np⌉ − 1, n = 900
		s := x.expectedIn(column, counted[i])
		if s == nil {
			t.Fatalf("no seeker is expected for the target %s", targets[i])
		}
		plain := &seeker{bracket: counted[i], column: column}
		for from := 0; from < len(all); from += 100 {
			plain.take(movedBlock(int64(from), all[from:from+100]...))
		}
		got, ok := s.holder()
		want, there := plain.holder()
		if got != want || !ok || !there || got.x != sorted[at] {
			t.Errorf("the record with target %s is %v (found: %v), want %v (found: %v) with the value %v", targets[i], got, ok,
				want, there, sorted[at])
		}
	}
	other := counted[2]
	other.Count++
	if x.expectedIn(column, other) != nil {
		t.Error("expectedIn accepts a bracket with another number of values")
	}
	b := movedBlock(0, 1)
	b.Reject(0, "x", "for the test")
	if x.takeExpected(b); x.expected != nil {
		t.Error("seekers are still expected after a record was rejected")
	}
}
