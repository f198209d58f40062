package pipeline

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// undoing says how masks that need the whole column move the values of a column between records.
func undoing(masks []transform.Spec, column string) (u assess.Undoing) {
	alone := true
	for _, m := range masks {
		if !slices.Contains(m.Params.Masks(), column) {
			continue
		}
		switch a := transform.ActionOf(m.Params, column, 0).(type) {
		case transform.RankExchange:
			alone = alone && !u.Ranked // of two rank swaps, the second goes by the ranks that the first one left
			u.Ranked, u.Origins = true, a
		case transform.Shuffling:
			u.Shuffled, alone = true, false
		case transform.Rounding: // what is known without it is known at least as well as with it
		default:
			alone = false
		}
	}
	if !alone {
		u.Origins = nil
	}
	return u
}
