package sample

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
)

// A large sample drops a few records in each of many steps and moves others into their places. At
// every step it contains the lowest records, with their own values, and no record twice.
func TestSampleOfManySteps(t *testing.T) {
	type entry struct {
		priority uint32
		stream   int32
		row      int64
	}
	for _, c := range []struct {
		name     string
		k        int
		streams  int32
		priority func(*rand.Rand) uint32
	}{
		{"of one stream", 6000, 1, (*rand.Rand).Uint32},
		{"of three streams", 6000, 3, (*rand.Rand).Uint32},
		{"many ties", 5003, 2, func(r *rand.Rand) uint32 { return r.Uint32N(9) }},
		{"all the same", 4097, 1, func(*rand.Rand) uint32 { return 7 }},
		{"all the last", 100, 2, func(*rand.Rand) uint32 { return 1<<32 - 1 }},
		{"near 0", 5000, 1, func(r *rand.Rand) uint32 { return uint32(r.ExpFloat64() * 1000) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(31, uint64(c.k)))
			var origins place.Origins
			s := New(c.k, 2)
			var all []entry
			for step := range 60 {
				stream := rng.Int32N(c.streams)
				for range 1 + rng.IntN(1500) {
					e := entry{c.priority(rng), stream, int64(len(all))}
					all = append(all, e)
					if e.priority > s.Limit {
						continue
					}
					s.note(origins.Of("", stream), e.row, e.priority)
					s.Values[0] = append(s.Values[0], float64(e.row))
					s.Values[1] = append(s.Values[1], -float64(e.row))
				}
				s.Bound()
				if s.Len() > c.k+max(c.k/4, min(c.k, 1024)) {
					t.Fatalf("step %d: %d records held of %d", step, s.Len(), c.k)
				}
			}
			s.Settle()
			slices.SortFunc(all, func(a, b entry) int {
				return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.stream, b.stream), cmp.Compare(a.row, b.row))
			})
			all = all[:min(c.k, len(all))]
			if len(all) != s.Len() || all[len(all)-1].priority != s.Limit {
				t.Fatalf("%d records below %d, want %d below %d", s.Len(), s.Limit, len(all), all[len(all)-1].priority)
			}
			slices.SortFunc(all, func(a, b entry) int {
				return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.row, b.row))
			})
			for i, e := range all {
				if s.From[i].Stream != e.stream || s.Row[i] != e.row || s.Priority[i] != e.priority ||
					s.Values[0][i] != float64(e.row) || s.Values[1][i] != -float64(e.row) {
					t.Fatalf("record %d is %d/%d of priority %d, want %+v", i, s.From[i].Stream, s.Row[i], s.Priority[i], e)
				}
			}
		})
	}
}
