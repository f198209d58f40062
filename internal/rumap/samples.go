package rumap

import "github.com/sdlfilter/sdlfilter/assess"

// Rebase makes the point one of a map of several samples: of is the map of its own sample, and u0 is U₀ of the
// greatest sample, which its efficiency is then a share of. What min_efficiency is held against stays that of a
// run, which knows its own records only.
func (p *Point) Rebase(of *Map, u0 assess.Float) {
	p.Records, p.U0, p.Efficiency = of.Records, of.U0, p.U/u0
}
