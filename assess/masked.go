package assess

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
)

// Masked applies masks to the originals of the sample, as those of a replicate, and
// returns the pairs that they make, in place of those of a release: what is not known of
// the sums of a release can so be measured of masks that are tried. Where masks move
// values between records the sample must hold all of them.
func (a *Accumulator) Masked(mask Masker) (Pairs, error) {
	p := a.Pairs()
	planner := &replicate.Planner{Of: a.layout, Data: a.held()}
	released, err := replicate.Released(mask, a.layout, planner.Whole()[0])
	if err != nil {
		return p, err
	}
	n := len(a.opts.Columns)
	p.Released = released[:n]
	for i, index := range a.opts.Carry {
		if slices.Contains(a.opts.Released, index) {
			p.CarriedReleased[i] = released[n+i]
		}
	}
	return p, nil
}
