package rumap

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Rebase makes the point one of a map of several samples: of is the map of its own sample, and u0 is U₀ of the
// greatest sample, which its efficiency is then a share of. What min_efficiency is held against stays that of a
// run, which knows its own records only.
func (p *Point) Rebase(of *Map, u0 assess.Float) {
	p.Records, p.U0, p.Efficiency = of.Records, of.U0, p.U/u0
}

// own is the efficiency of a point within its own sample, as a run reports it.
func (p *Point) own() assess.Float {
	if p.U0 > 0 {
		return p.U / p.U0
	}
	return p.Efficiency
}

// within returns the map with the efficiency of each point within its own sample.
func (m *Map) within() *Map {
	if m.Samples == 0 {
		return m
	}
	one := *m
	one.Points = slices.Clone(m.Points)
	for i := range one.Points {
		one.Points[i].Efficiency = one.Points[i].own()
	}
	return &one
}
