package config

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// UniquenessWeight returns the column of weights by which frequencies of the population are estimated from
// those of keys: that of the intruder's uniqueness, or of the pipeline; "" if neither names one.
func (p *Pipeline) UniquenessWeight() string {
	if in := p.Assess.Intruder; in != nil && in.Uniqueness != nil && in.Uniqueness.Weight != "" {
		return in.Uniqueness.Weight
	}
	return p.Weight
}

// PopulationWeight returns the column of weights for population uniques; "" if the size of the population is
// given, or nothing.
func (p *Pipeline) PopulationWeight() string {
	of := p.Assess.Intruder.Population
	switch {
	case of.Weight != "":
		return of.Weight
	case of.Size != 0:
		return ""
	}
	return p.UniquenessWeight()
}

// CountsUniqueness reports whether uniqueness is measured: it is named, or keys are given and nothing is.
func (p *Pipeline) CountsUniqueness() bool {
	in := p.Assess.Intruder
	return in != nil && in.Uniqueness != nil || !in.Named() && len(p.Assess.IntruderKeys()) > 0
}

// validateWeight judges the column of weights. One that leaves as it is, and that no intruder links by, is said.
func (l *loader) validateWeight(p *Pipeline) {
	c := l.listed(p, "weight", p.Weight)
	if c == nil || !l.Sound("weight", "masks", "assess") {
		return
	}
	if c.Role != microdata.Identifier && c.Role != microdata.Key && !p.masks(c.Name) && !slices.Contains(p.Assess.Keys, c.Name) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("weight: %s leaves as it is, and no risk of it is measured: an exact weight is nearly a name for whoever knows the design or an earlier release; round it, calibrate it, or give it the role key", c.Name))
	}
}
