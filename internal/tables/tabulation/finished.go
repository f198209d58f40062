package tabulation

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Finished names the columns of finished cells besides those of the variables and of the value.
type Finished struct {
	Count   string   `yaml:"count" required:"true" doc:"the column with the number of contributors of a cell; in tables without value it is what is published"`
	Largest []string `yaml:"largest" doc:"for tables with value: the columns with the largest contributions of a cell, descending, at least as many as the rules and coalition need; empty if the cell has fewer contributors"`
	Who     []string `yaml:"who" doc:"the columns with the names of the contributors in largest, in the same order (never published); in tables without value, those of cells with no more contributors than these columns, at least as many as coalition. Without it, a contributor of several cells is recognised only where sums show it"`
}

// TableColumn is the column of finished cells that names their table.
const TableColumn = "table"

// validateFinished demands of tables of finished cells that everything which needs records is left out.
func (l *loader) validateFinished(t *Config) {
	f := t.Finished
	if f == nil || !l.Sound("finished") {
		return
	}
	for _, field := range []string{"pipeline", "window", "holding", "request", "equations", "map", "key", "identity",
		"releases"} {
		if l.Given(field) {
			l.Wrong(field, "must be left out beside finished: it needs records")
		}
	}
	if t.Unknown == "drop" {
		l.Wrong("unknown", "must be fail beside finished: without a cell, the sums do not hold")
	}
	for i := range t.Hierarchies {
		if v := &t.Hierarchies[i]; len(v.Columns) > 0 {
			l.Wrong(form.Join("hierarchies", v.Name)+".columns",
				"must be left out beside finished: a row has one code of a variable, that of its cell; use prefix, file or files")
		}
	}
	for i := range t.Tables {
		l.validateFinishedTable(t, &t.Tables[i], fmt.Sprintf("tables[%d]", i))
	}
	l.validateFinishedColumns(t)
	if len(f.Who) == 0 && !l.Given("finished.who") && slices.ContainsFunc(t.Tables, func(table Table) bool {
		return table.Protect.None == nil && table.Protect.respondents() == "protect"
	}) {
		t.Warnings = append(t.Warnings,
			"finished.who is not given: a contributor of several cells is recognised only where sums show it, and what others of them infer of each other is not audited")
	}
}

func (l *loader) validateFinishedTable(t *Config, table *Table, at string) {
	f := t.Finished
	if table.Weight != "" {
		l.Wrong(at+".weight", "must be left out beside finished: the largest contributions are without weights")
	}
	if table.Absolute {
		l.Wrong(at+".absolute", "must be left out beside finished, whose contributions must not be negative")
	}
	if !table.Linked(&t.Tables[0]) {
		l.Wrong(at+".value",
			"must be that of tables[0] beside finished: what holds between several values is found in records; use a configuration for each value only if none of them follows from others")
	}
	switch p := &table.Protect; {
	case p.Exchanges() || p.Keyed():
		l.Wrong(form.Join(at+".protect", p.Name()),
			"must be another method beside finished (suppress, adjust, or round other than at random): it needs records")
	case table.Value == "":
		if len(f.Largest) > 0 && l.Sound("finished.largest") {
			l.Wrong("finished.largest", "must be left out of tables of counts")
		}
		if len(f.Who) > 0 && len(f.Who) < t.Coalition {
			l.Wrong("finished.who", "must have at least %d columns, as many as coalition, got %d", t.Coalition, len(f.Who))
		}
	default:
		need := primary.Most(PrimaryRules(table.Unsafe))
		if p.None == nil && p.respondents() == "protect" {
			need = max(need, t.Coalition)
		}
		if n := len(f.Largest); n < need || n > 100 {
			l.Wrong("finished.largest", "must have %d to 100 columns, as the rules and coalition need, got %d", need, n)
		}
		if n := len(f.Who); n > 0 && n != len(f.Largest) {
			l.Wrong("finished.who", "must have as many columns as largest, %d, got %d", len(f.Largest), n)
		}
	}
}

// validateFinishedColumns demands that no column is two things.
func (l *loader) validateFinishedColumns(t *Config) {
	seen := map[string]bool{}
	once := func(path, name string) {
		switch {
		case name == "":
			l.Wrong(path, "must be the name of a column")
		case seen[name]:
			l.Wrong(path, "must be a column of its own, got %q again", name)
		}
		seen[name] = true
	}
	if len(t.Tables) > 1 {
		seen[TableColumn] = true
	}
	for i := range t.Tables {
		for _, v := range t.Tables[i].Rows {
			seen[t.Variable(v).Leaf()] = true
		}
		if v := t.Tables[i].Value; v != "" {
			seen[v] = true
		}
	}
	once("finished.count", t.Finished.Count)
	for i, name := range t.Finished.Largest {
		once(fmt.Sprintf("finished.largest[%d]", i), name)
	}
	for i, name := range t.Finished.Who {
		once(fmt.Sprintf("finished.who[%d]", i), name)
	}
}
