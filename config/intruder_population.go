package config

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// validatePopulation judges the log-linear model of population uniques.
func (l *loader) validatePopulation(p *Pipeline, path string) {
	in := p.Assess.Intruder
	of := in.Population
	var ps check.Problems
	if l.Given(path + ".size") {
		ps.Whole("size", of.Size, 1, 1<<50)
	}
	l.Within(path, ps)
	at := path + ".weight"
	switch {
	case !l.Sound(path, at, path+".size", "assess.intruder.uniqueness", "weight"):
	case of.Weight != "" && l.Given(path+".size"):
		l.Wrong(at, "must be left out with size, which gives each record the same weight")
	case of.Weight != "":
		l.listed(p, at, of.Weight)
	case p.PopulationWeight() == "" && of.Size == 0:
		l.Wrong(path,
			"needs weight, the column that says how many persons of the population a record stands for, or size, the number of persons in the population")
	}
	l.validateFormula(p, path)
}

// validateFormula demands terms of keys.
func (l *loader) validateFormula(p *Pipeline, path string) {
	of, keys := p.Assess.Intruder.Population, p.Assess.IntruderKeys()
	at := path + ".formula"
	if !l.Sound(at, "columns", "assess.keys") || l.Misspelt("assess", "keys") {
		return
	}
	f := asked.MainEffects(keys)
	if l.Given(at) {
		var err error
		if f, err = asked.ParseFormula(of.Formula); err != nil {
			l.Wrong(at, "%v", err)
			return
		}
		for _, name := range f.Variables() {
			if !slices.Contains(keys, name) {
				l.Wrong(at, "must have terms of %s, got %q%s", p.Assess.keysWords(), name, form.Instead(name, keys))
				return
			}
		}
		if of.Model == asked.IPF.String() && f.Interactions() {
			l.Wrong(at, "must not have interactions with model: ipf; model: default fits the same by another way")
		}
	}
	for i, name := range of.Linear {
		at := fmt.Sprintf("%s.linear[%d]", path, i)
		switch {
		case !l.Sound(at):
		case !slices.Contains(f.Variables(), name):
			l.Wrong(at, "must be a key of the formula, got %q%s", name, form.Instead(name, f.Variables()))
		case slices.Contains(of.Linear[:i], name):
			l.Wrong(at, "must not repeat a key, got %q again", name)
		case slices.Contains(p.Assess.Intruder.Categorical, name):
			l.Wrong(at, "must be a numeric key, and intruder.categorical lists it")
		case of.Model == asked.IPF.String():
			l.Wrong(at, "must be left out with model: ipf, which takes all keys as categories")
		}
	}
}
