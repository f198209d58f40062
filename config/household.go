package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Levels of a column.
const (
	OfHousehold = "household"
	OfPerson    = "person"
)

// HouseholdColumn returns the column with the household of each respondent: that of the pipeline, or of
// the intruder's uniqueness; "" if neither names one.
func (p *Pipeline) HouseholdColumn() string {
	if in := p.Assess.Intruder; p.Household == "" && in != nil && in.Uniqueness != nil {
		return in.Uniqueness.Household
	}
	return p.Household
}

// UniquenessHousehold returns the column with the households whose risk is counted: that of the intruder's
// uniqueness, or of the pipeline; "" if neither names one.
func (p *Pipeline) UniquenessHousehold() string {
	if in := p.Assess.Intruder; in != nil && in.Uniqueness != nil && in.Uniqueness.Household != "" {
		return in.Uniqueness.Household
	}
	return p.Household
}

// UniquenessPerson returns the columns that tell whose each record is, for k of all records of a person together; nil
// if none are named.
func (p *Pipeline) UniquenessPerson() []string {
	if in := p.Assess.Intruder; in != nil && in.Uniqueness != nil {
		return in.Uniqueness.Person
	}
	return nil
}

// DrawsByHousehold reports whether a mask makes one draw or one decision for all members of a household.
func (p *Pipeline) DrawsByHousehold() bool {
	if p.Household == "" {
		return false
	}
	return slices.ContainsFunc(p.Masks, func(m transform.Spec) bool {
		return transform.ByHousehold(m.Params) || slices.ContainsFunc(m.Params.Masks(), p.ofHousehold)
	})
}

// Identifies reports whether draws depend on who or which household a column names.
func (p *Pipeline) Identifies(name string) bool {
	return name != "" && (slices.Contains(p.Identity, name) || name == p.Household && p.DrawsByHousehold())
}

// ofHousehold reports whether a column is said to be the same for all members of a household.
func (p *Pipeline) ofHousehold(name string) bool {
	c := p.Columns.Named(name)
	return c != nil && c.Level == OfHousehold
}

func (l *loader) validateHousehold(p *Pipeline) {
	if p.Household != "" {
		l.listed(p, "household", p.Household)
	}
	for _, c := range p.Columns {
		path := form.Join("columns", c.Name)
		l.validateSameAs(p, path+".same_as", c)
		if at := path + ".level"; c.Level != "" && p.Household == "" && l.Sound(at) && l.Sound("household") {
			l.Wrong(at, "must not be given without household, the column that tells households apart, got %s", c.Level)
		}
	}
	if p.Household == "" {
		return
	}
	transform.OfHouseholds(p.Masks)
	for i, m := range p.Masks {
		path := fmt.Sprintf("masks[%d].%s.combinations", i, m.Kind())
		if s, ok := m.Params.(*transform.Suppress); ok && s.Combinations != nil && l.Sound(path) {
			l.Wrong(path,
				"must not be given with household: each combination of all keys then is that of records of at least k households, for whoever knows some of the keys as well")
		}
		if m.Params != nil {
			l.validateLevels(p, fmt.Sprintf("masks[%d].%s", i, m.Kind()), m.Params)
		}
	}
	if (p.Streaming() || p.Source.Config == nil) && l.Sound("masks") {
		p.warnOfLevels()
	}
}

// validateLevels demands that a mask treats all members of a household alike on columns that are the same
// for all of them: otherwise their released values would differ, and together tell more than one.
func (l *loader) validateLevels(p *Pipeline, path string, m transform.Params) {
	if path += "." + transform.ColumnsField(m); !l.Sound(path) {
		return
	}
	masked := m.Masks()
	at := slices.IndexFunc(masked, p.ofHousehold)
	switch {
	case at < 0 && !transform.LeavesOut(m):
		return
	case transform.ByHousehold(m) && !transform.LeavesOut(m):
		return
	case !transform.LeavesOut(m) && transform.ScopeOf(m) != transform.ScopeRecord:
		l.Wrong(path,
			"must not have %q, which is of level household: each member of a household would get a value of its own, and their mean would tell more than one; "+
				"leave the column to a mask that takes each record by itself, or say level: person, and the risk counts the members' mean", masked[at])
		return
	}
	for _, name := range transform.DependsOn(m) {
		if !p.ofHousehold(name) && name != p.Household {
			of := "the sample, which draws whole households"
			if at >= 0 {
				of = fmt.Sprintf("%q, which is of level household", masked[at])
			}
			l.Wrong(strings.TrimSuffix(path, "."+transform.ColumnsField(m)),
				"must not depend on %q: it may differ between members of a household, and then so would what becomes of %s; "+
					"say columns.%s.level: household if it is the same for all members", name, of, name)
			return
		}
	}
}

// warnOfLevels names the masked columns of which nobody says whether they are the same within
// households, where no pass over the data can find it.
func (p *Pipeline) warnOfLevels() {
	if open := p.OpenLevels(); len(open) > 0 {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf(
				"household is given, but not whether all members of a household have the same value of %s, and no pass over the data can find it: "+
					"say level: household or level: person under columns; without it each member has a draw of its own",
				strings.Join(open, ", ")))
	}
}

// OpenLevels returns the columns that are masked with a draw or a place for each record, and of which the
// configuration does not say whether all members of a household have the same value.
func (p *Pipeline) OpenLevels() (open []string) {
	if p.Household == "" {
		return nil
	}
	for _, m := range p.Masks {
		for _, name := range m.Params.Masks() {
			if c := p.Columns.Named(name); transform.ByRecord(m.Params, name) && c != nil && c.Level == "" &&
				name != p.Household && !slices.Contains(open, name) {
				open = append(open, name)
			}
		}
	}
	return open
}

func (l *loader) validateSameAs(p *Pipeline, path string, c Column) {
	if c.SameAs == "" || !l.Sound(path) {
		return
	}
	other := l.listed(p, path, c.SameAs)
	switch {
	case other == nil:
	case c.SameAs == c.Name:
		l.Wrong(path, "must name another column, got the column itself")
	case other.SameAs != "":
		l.Wrong(path, "must name a column that has no same_as itself, got %q, which is the same as %q", c.SameAs,
			other.SameAs)
	case slices.ContainsFunc(p.Columns, func(o Column) bool { return o.Name != c.Name && o.SameAs == c.SameAs }):
		l.Wrong(path, "must be named by one column only, got %q, which another one names as well", c.SameAs)
	case other.Role != c.Role:
		l.Wrong(path, "must be a column of the same role, got %q", c.SameAs)
	}
}

// Counterpart returns the column that is the same as a column, or that it is the same as; "" for none.
func (p *Pipeline) Counterpart(name string) string {
	for _, c := range p.Columns {
		switch {
		case c.Name == name && c.SameAs != "":
			return c.SameAs
		case c.SameAs == name:
			return c.Name
		}
	}
	return ""
}
