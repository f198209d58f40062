package exchange

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Places are ordered by scope, then stream, then row, and only identical places are equal.
func TestPlacesAreInOrder(t *testing.T) {
	var places []core.RecordPlace
	for _, scope := range []string{"", "a", "b"} {
		for _, stream := range []int{0, 1, 7} {
			for _, row := range []int64{0, 3, 1 << 40} {
				places = append(places, core.RecordPlace{Scope: scope, Stream: stream, Row: row})
			}
		}
	}
	for i, p := range places {
		for j, q := range places {
			if got, want := p.Compare(q), min(1, max(-1, i-j)); got != want {
				t.Errorf("comparison of %v with %v: %d, want %d", p, q, got, want)
			}
			// Kept records are ordered by their drawn number, then by place.
			for _, order := range []uint64{0, 1, math.MaxUint64} {
				s := sources{list: []core.RecordPlace{{Scope: q.Scope, Stream: q.Stream, Row: 0}, {Scope: p.Scope, Stream: p.Stream,
					Row: 0}}}
				got := s.compare(swapRecord{order: order, row: p.Row, source: 1}, swapRecord{order: 1, row: q.Row})
				want := min(1, max(-1, i-j))
				switch order {
				case 0:
					want = -1
				case math.MaxUint64:
					want = 1
				}
				if got != want {
					t.Errorf("comparison of kept %v with %d and %v with 1: %d, want %d", p, order, q, got, want)
				}
			}
		}
	}
}
