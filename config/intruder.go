package config

import "github.com/sdlfilter/sdlfilter/internal/intruder/asked"

// What is asked of the intruders: assess.intruder and its parts, which come from their room.
type (
	Intruder           = asked.Section
	IntruderLinkage    = asked.Linkage
	IntruderBayes      = asked.Bayes
	IntruderPrior      = asked.Prior
	IntruderUniqueness = asked.Uniqueness
	IntruderPopulation = asked.Population
	IntruderAttribute  = asked.Attribute
	IntruderUtility    = asked.Utility
	IntruderRegression = asked.Regression
)

// The ways to count k, and what the Bayesian intruder knows of the masks.
const (
	CountSnooper  = asked.CountSnooper
	CountReleased = asked.CountReleased
	KnowledgeD1   = asked.KnowledgeD1
	KnowledgeD2   = asked.KnowledgeD2
)

// AttacksRelease reports whether a run measures what an intruder finds.
func (a *Assess) AttacksRelease() bool {
	return len(a.IntruderKeys()) > 0 || a.Intruder != nil && (a.Intruder.Named() || !a.uninverted)
}

// Inverts reports whether an intruder tries to undo the masks: if the file asks for it, and with a
// gate unless the file says that he does not.
func (p *Pipeline) Inverts() bool {
	if in := p.Assess.Intruder; in != nil && in.Inversion {
		return true
	}
	return p.Gate.Judges() && len(p.Masks) > 0 && !p.Assess.uninverted
}

// InvertsUnasked reports whether he does so though the file does not ask for it.
func (p *Pipeline) InvertsUnasked() bool {
	in := p.Assess.Intruder
	return p.Inverts() && (in == nil || !in.Inversion)
}
