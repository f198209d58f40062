package audit

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// A table that was found for contributors of a cell, who need no range below their own part, shows less than others
// need and does not serve these. Of counts, a table that shows more does not serve the contributors.
func TestATableServesThoseWhomItShowsEnough(t *testing.T) {
	for _, k := range []struct {
		counts    bool
		shows, d  float64
		wantServe bool
	}{
		{true, -3, -3, true}, {true, -2, -3, false}, {true, -2, -2, true}, {true, -3, -2, false}, {true, 3, -3, false},
		{true, -4, -3, true},
		{false, -3, -3, true}, {false, -2, -3, false}, {false, -3, -2, true}, {false, 3, -3, false},
	} {
		in := &inside{knowers: new(tables.Knowers), q: Question{Value: []float64{5, 5}, Counts: k.counts},
			p: &Component{Cells: []int32{0, 1}}, column: map[int32]int{0: 0, 1: 1}}
		if got := (&trial{inside: in, j: 0, d: -3}).agrees([]float64{k.shows, -k.shows}, nil, k.d); got != k.wantServe {
			t.Errorf("counts %v: a table that shows %v serves those who need %v: %v", k.counts, k.shows, k.d, got)
		}
	}
}
