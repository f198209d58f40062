package tabulation

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/config"
)

// LooseningAllowed returns an error for each setting that loosens a configuration of tables, unless
// that is allowed.
func (t *Config) LooseningAllowed(allowed bool) error {
	return config.LooseningAllowed(t.Loosened, allowed)
}

// tableRuleFields are the fields of a rule on tables that may be added; two more rules always apply.
var tableRuleFields = []string{"table", "max_disclosed", "min_range", "min_efficiency", "max_risk", "min_utility"}

// loosens judges a setting as loosens does: no change of the tables, their variables, rules and
// protection is known to let less out.
func (t *Config) loosens(c *config.Change) bool {
	switch names := c.Names; names[0] {
	case "version", "map", "report":
		return false
	case "name": // by it a gate of records allows tables of the pipeline's ledger
		return t.Pipeline != ""
	case "source":
		return c.OfSource()
	case "sink":
		return c.OfSink()
	case "unknown":
		return c.Now != "fail"
	case "gate":
		field := names[len(names)-1]
		if c.Added {
			return !slices.Contains(tableRuleFields, field)
		}
		return !c.Tighter(field)
	}
	return true
}
