package transform

import (
	"math"
	"testing"
)

// Places are ordered by scope, then stream, then row, and only identical places are equal.
func TestPlacesAreInOrder(t *testing.T) {
	var places []place
	for _, scope := range []string{"", "a", "b"} {
		for _, stream := range []int{0, 1, 7} {
			for _, row := range []int64{0, 3, 1 << 40} {
				places = append(places, place{scope, stream, row})
			}
		}
	}
	for i, p := range places {
		for j, q := range places {
			if got, want := p.compare(q), min(1, max(-1, i-j)); got != want {
				t.Errorf("comparison of %v with %v: %d, want %d", p, q, got, want)
			}
			// Kept records are ordered by their drawn number, then by place.
			for _, order := range []uint64{0, 1, math.MaxUint64} {
				s := sources{list: []place{{q.scope, q.stream, 0}, {p.scope, p.stream, 0}}}
				got := s.compare(swapRecord{order: order, row: p.row, source: 1}, swapRecord{order: 1, row: q.row})
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
			run := recordRun{scope: p.scope, stream: p.stream, first: p.row}
			if got, want := run.compare(q.scope, q.stream, q.row), min(1, max(-1, i-j)); got != want {
				t.Errorf("comparison of a run at %v with %v: %d, want %d", p, q, got, want)
			}
		}
	}
}
