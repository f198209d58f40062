package config

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/form"
)

// LooseningAllowed returns an error for each setting that loosens a configuration of tables, unless
// that is allowed.
func (t *Tabulation) LooseningAllowed(allowed bool) error {
	return looseningAllowed(t.Loosened, allowed)
}

// loosenedTables lists the settings that loosen a configuration of tables.
func (l *loader) loosenedTables(t *Tabulation) []Loosening {
	p := &Pipeline{Source: t.Source, Sink: Sink(t.Sink)}
	return l.loosenedBy(func(c form.Change) bool { return (&change{c, p}).loosensTables() })
}

// tableRuleFields are the fields of a rule on tables that may be added; two more rules always apply.
var tableRuleFields = []string{"table", "max_disclosed", "min_range", "min_efficiency", "max_risk", "min_utility"}

// loosensTables judges a setting as loosens does: no change of the tables, their variables, rules and
// protection is known to let less out.
func (c *change) loosensTables() bool {
	switch names := c.Names; names[0] {
	case "version", "name", "map", "report":
		return false
	case "source":
		return c.loosensSource(names)
	case "sink":
		return c.loosensSink(names)
	case "unknown":
		return c.Now != "fail"
	case "gate":
		field := names[len(names)-1]
		if c.Added {
			return !slices.Contains(tableRuleFields, field)
		}
		return !c.tighter(field)
	}
	return true
}
