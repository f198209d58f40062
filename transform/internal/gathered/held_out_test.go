package gathered

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/masktest"
)

// In a topic with gaps, records are set aside by their places, as without gaps.
func TestHeldOutOfPlaces(t *testing.T) {
	key := masktest.Setup(t).Key
	g := &Data{
		N: 6,
		runs: []recordRun{{scope: "t", stream: 2, first: 10, n: 3, from: 0},
			{scope: "t", stream: 2, first: 20, places: []int64{20, 25, 31}, from: 3, n: 3}}}
	set := core.HeldOut{Share: 0.5, Draw: core.NewHeldDraw(key)}
	held := g.HeldOut(key, 0.5)
	for i, place := range []int64{10, 11, 12, 20, 25, 31} {
		if held[i] != set.Of("t", 2, place) {
			t.Errorf("place %d: %v", place, held[i])
		}
	}
	// A run of more records than are drawn at a time.
	const n = 2*core.Batch + 7
	long := &Data{N: n, runs: []recordRun{{scope: "t", stream: 2, first: 3, n: n}}}
	for i, out := range long.HeldOut(key, 0.5) {
		if out != set.Of("t", 2, int64(3+i)) {
			t.Fatalf("record %d of a long run: set aside is %v", i, out)
		}
	}
	if g.HeldOut(key, 0) != nil {
		t.Error("none is to be set aside")
	}
}

// The name of a fitted model contains a checksum of the records and of the set aside. Each
// different set gives another checksum, and with no record set aside it is that of the records.
func TestSumsOfWhoIsSetAside(t *testing.T) {
	records := Digest{}.with([]byte("records"))
	if got := SumWith(records, nil); got != records {
		t.Errorf("where none is set aside: %x", got)
	}
	sums := map[Digest][]bool{records: nil}
	for n := range 4 {
		for bits := range 1 << n {
			held := make([]bool, n)
			for i := range held {
				held[i] = bits>>i&1 == 1
			}
			if n == 0 {
				continue
			}
			sum := SumWith(records, held)
			if other, there := sums[sum]; there {
				t.Errorf("%v and %v have the same sum", held, other)
			}
			sums[sum] = held
		}
	}
}
