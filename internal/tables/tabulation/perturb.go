package tabulation

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/sampling"
)

// validatePerturbed checks a table whose cells are published with other values than
// their own.
func (l *loader) validatePerturbed(t *Config, table *Table, at string) {
	if !table.Protect.Perturbs() {
		return
	}
	if table.Protect.Adjust != nil {
		l.validateAdjust(table, at)
		return
	}
	path := form.Join(at+".protect", table.Protect.Name())
	c := table.Protect.CellKey
	switch {
	case c != nil && c.Values != nil:
		l.validateKeyedValues(t, table, at, path)
	case c != nil && table.Value != "" && l.Sound(path):
		l.Wrong(at+".value",
			"must be left out with cell_key without values, which is for counts; values: {most: 0.5} changes tables of values")
	case table.Value != "":
		l.Wrong(at+".value",
			"must be left out with %s, which is for counts; tables of values are protected by suppress, cell_key or adjust",
			table.Protect.Name())
	}
	if table.Weight != "" {
		l.Wrong(at+".weight",
			"must be left out with %s, which is for counts without weights; weighted ones are protected by suppress or adjust",
			table.Protect.Name())
	}
	if c != nil && c.Values == nil && c.PTable != "" {
		for _, f := range []string{"max", "variance", "least"} {
			if l.Given(path + "." + f) {
				l.Wrong(path+"."+f, "must be left out beside p_table, which has all changes")
			}
		}
	} else if c != nil && c.Values == nil {
		_, problems := perturb.NewTable(c.Noise())
		l.Within(path, problems)
	}
	l.validateExchange(t, table, at)
	if c := table.Protect.Sample; c != nil && l.Given(path+".one_in") && l.Sound(path+".one_in") {
		l.Within(path, sampling.Check(c.OneIn))
	}
	if c := table.Protect.Round; c != nil && l.Given(path+".base") && l.Sound(path+".base") {
		var ps check.Problems
		ps.Whole("base", c.Base, 2, 10_000)
		l.Within(path, ps)
	}
	if c := table.Protect.Round; c != nil && c.Mode != "controlled" && l.Given(path+".patience") && l.Sound(path) {
		l.Wrong(path+".patience", "must be left out with mode %s, which searches for nothing", c.Mode)
	}
}

// validateKeyedValues checks a table of values that are changed by cell keys.
func (l *loader) validateKeyedValues(t *Config, table *Table, at, path string) {
	if table.Value == "" && l.Sound(at+".value") {
		l.Wrong(path+".values", "must be left out of a table of counts")
	}
	for _, f := range []string{"max", "variance", "least", "p_table"} {
		if l.Given(path + "." + f) {
			l.Wrong(path+"."+f, "must be left out beside values: it is for counts")
		}
	}
	if l.Given(path + ".respondents") {
		l.Wrong(path+".respondents",
			"must be left out beside values, which are audited against somebody who knows all contributions but one")
	}
	if t.Map != nil {
		l.Wrong(path+".values", "must be left out beside map, which does not compare it")
	}
	v := table.Protect.CellKey.Values
	if l.Given(path+".values.large") != l.Given(path+".values.point") {
		l.Wrong(path+".values", "must have both large and point, or none of them")
		return
	}
	if l.Given(path+".values.most") && l.Sound(path+".values") {
		var ps check.Problems
		for _, p := range v.Units(0).Check() {
			p.Path = "values." + p.Path
			ps = append(ps, p)
		}
		l.Within(path, ps)
	}
}

// validateExchange checks a table in which records change places.
func (l *loader) validateExchange(t *Config, table *Table, at string) {
	if !table.Protect.Exchanges() {
		return
	}
	path := form.Join(at+".protect", table.Protect.Name())
	if m := table.Protect.Markov; m != nil && l.Given(path+".theta") && l.Sound(path+".theta") {
		var ps check.Problems
		if !(m.Theta > 0 && m.Theta <= 1) {
			ps.Addf("theta", "must be above 0 and at most 1, got %v", m.Theta)
		}
		l.Within(path, ps)
	}
	known := t.variablesOf(table)
	l.validateSwap(table, known, path)
	if l.Given(at+".rows") && l.Sound(at+".rows") && len(known) == 1 {
		l.Wrong(path,
			"must be another method, or rows must name a second variable: with one variable alone an exchange of its codes changes no count")
	}
	if t.Holding != "" && table.Protect.respondents() == "protect" {
		l.Wrong(path+".respondents",
			"must be ignore with holding: for this method, the audit does not cover what a holding with records in several cells can infer")
	}
	name := table.Protect.Exchanged()
	if name == "" || !l.Sound(path+".variable") {
		return
	}
	if !slices.Contains(known, name) {
		l.Wrong(path+".variable", "must be a variable of the table, got %q%s", name, form.Instead(name, known))
	}
}

// Name is that of the method in a configuration.
func (p *Protect) Name() string {
	switch {
	case p.Suppress != nil:
		return "suppress"
	case p.CellKey != nil:
		return "cell_key"
	case p.Round != nil:
		return "round"
	case p.Adjust != nil:
		return "adjust"
	case p.Simulate != nil:
		return "simulate"
	case p.Markov != nil:
		return "markov"
	case p.Swap != nil:
		return "swap"
	case p.Sample != nil:
		return "sample"
	}
	return "none"
}

// Keyed reports whether a table needs keys of records.
func (t *Config) Keyed() bool {
	return slices.ContainsFunc(t.Tables, func(table Table) bool { return t.NeedsKeys(&table) })
}

// validateRecordKeys demands a key and an identity where tables need them, and nowhere else:
// without an identity the same respondent would be changed otherwise in another release.
func (l *loader) validateRecordKeys(t *Config) {
	if !l.Sound("tables") {
		return
	}
	if l.Given("key") {
		l.Within("key", t.Key.Check())
	}
	for i, name := range t.Identity {
		if name == "" || slices.Contains(t.Identity[:i], name) {
			l.Wrong(fmt.Sprintf("identity[%d]", i), "must be a column of its own, got %q", name)
		}
	}
	var by string
	for i := range t.Tables {
		if t.Tables[i].Protect.Keyed() {
			by = fmt.Sprintf("tables[%d].protect.%s", i, t.Tables[i].Protect.Name())
			break
		}
	}
	if by == "" {
		by = t.Map.keyedMethod()
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"key", l.Given("key")}, {"identity", l.Given("identity") && len(t.Identity) > 0}} {
		switch {
		case f.name == "identity" && t.OtherRecords() && t.Pipeline == "" && by == "":
		case f.given && by == "" && t.Map == nil:
			l.Wrong(f.name, "must be left out: no table is protected by cell_key, markov, swap or sample, or rounded at random")
		case f.given && t.Pipeline != "":
			l.Wrong(f.name, "must not stand beside pipeline, which brings its own")
		case !f.given && by != "" && t.Pipeline == "" && !l.Misspelt("", f.name):
			l.WrongAt("", f.name, "is required by %s: the same contributors must get the same change in every table and release",
				by)
		}
	}
}

// validateTableRisk checks the limits of risk and utility.
func (l *loader) validateTableRisk(r TableRule, at string) {
	var ps check.Problems
	if r.MaxRisk != nil {
		ps.Above("max_risk", *r.MaxRisk, 0)
	}
	if r.MinUtility != nil {
		ps.Above("min_utility", *r.MinUtility, 0)
	}
	l.Within(at, ps)
}
