package config

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
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

// validateCalibration demands that what a mask calibrates is the pipeline's weight, of which nothing is measured.
func (l *loader) validateCalibration(p *Pipeline, path string, m transform.Params) {
	if !transform.Weighs(m) || !l.Sound(path, "weight") {
		return
	}
	for i, name := range m.Masks() {
		at := fmt.Sprintf("%s.columns[%d]", path, i)
		c := p.Columns.Named(name)
		switch {
		case c == nil:
		case p.Weight != name:
			l.Wrong(at, "must be the column of weights of the pipeline: give weight: %s", name)
		case c.Role != microdata.Other && c.Role != microdata.Identifier && c.Role != "":
			l.Wrong(at, "must have the role other, got %s: no R and U is measured of calibrated weights", c.Role)
		case slices.Contains(p.Assess.Keys, name):
			l.Wrong(at, "must not be one of assess.keys: nobody is linked by calibrated weights here")
		}
		for k, rule := range p.Gate.Rules {
			if rule.Column == name {
				l.Wrong(fmt.Sprintf("gate.rules[%d].column", k), "must not be %q: no R and U is measured of calibrated weights",
					name)
			}
		}
	}
}

// validateWeight judges the column of weights. One that leaves as it is, and that no intruder links by, is said.
func (l *loader) validateWeight(p *Pipeline) {
	c := l.listed(p, "weight", p.Weight)
	if c == nil || !l.Sound("weight", "masks", "assess") {
		return
	}
	if c.Role != microdata.Identifier && c.Role != microdata.Key && !p.masks(c.Name) &&
		!slices.Contains(p.Assess.Keys, c.Name) {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf(
				"weight: %s leaves as it is, and no risk of it is measured: an exact weight is nearly a name for whoever knows the design or an earlier release; round it, calibrate it, or give it the role key", c.Name))
	}
}
