package assess

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
)

// Masked applies the masks of a replicate to the originals of the sample and returns the pairs,
// in place of those of a release. It serves measures that need pairs, for masks that are only
// explored. If masks move values between records, the sample must hold all records.
func (a *Accumulator) Masked(mask Masker) (Pairs, error) {
	p := a.Pairs()
	planner := &replicate.Planner{Of: a.layout, Data: a.sampleData()}
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
