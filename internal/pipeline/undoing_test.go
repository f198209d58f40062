package pipeline

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// Only a rank swap that is the column's one mask, beside rounding, is undone by ranks; in either order.
func TestUndoing(t *testing.T) {
	share := 0.1
	rank := transform.Spec{Params: &transform.RankSwap{Columns: []string{"y", "x"}, P: &share}}
	other := transform.Spec{Params: &transform.RankSwap{Columns: []string{"y"}, P: &share}}
	round := transform.Spec{Params: &transform.Round{Columns: []string{"x"}, Base: &share}}
	noise := transform.Spec{Params: &transform.Noise{Columns: []string{"x"}}}
	shuffle := transform.Spec{Params: &transform.Shuffle{Columns: []string{"x"}}}
	for name, c := range map[string]struct {
		masks                     []transform.Spec
		ranked, shuffled, origins bool
	}{
		"none": {nil, false, false, false}, "of another column": {[]transform.Spec{other}, false, false, false},
		"alone":         {[]transform.Spec{other, rank}, true, false, true},
		"rounded":       {[]transform.Spec{round, rank}, true, false, true},
		"then rounded":  {[]transform.Spec{rank, round}, true, false, true},
		"twice":         {[]transform.Spec{rank, rank}, true, false, false},
		"noise first":   {[]transform.Spec{noise, rank}, true, false, false},
		"then noise":    {[]transform.Spec{rank, noise}, true, false, false},
		"shuffled":      {[]transform.Spec{shuffle}, false, true, false},
		"then shuffled": {[]transform.Spec{rank, shuffle}, true, true, false},
	} {
		if u := undoing(c.masks, "x"); u.Ranked != c.ranked || u.Shuffled != c.shuffled || (u.Origins != nil) != c.origins {
			t.Errorf("%s: %+v", name, u)
		}
	}
}
