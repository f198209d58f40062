package entered

import (
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// judgeTables tells a plan of the tables of the ledger which tell more of the records than what was released of them,
// if it can be computed what they tell beside records. not says why it cannot be; "" if it can.
func (l *Ledger) judgeTables(pl *pipeline.Plan) (not string) {
	if l.held == nil {
		return ""
	}
	var list []assess.Totals
	var counts []pipeline.Counted
	l.judged = map[int64]bool{}
	for _, r := range l.tables() {
		if slices.Contains(l.config.Gate.AllowTables, r.Name()) || l.follow(r.Tables, notYet, 0) {
			continue
		}
		totals, counted, why := l.totalsOf(pl, &r)
		if why != "" {
			l.judged = nil
			return l.unjudged(&r, why)
		}
		list, counts = append(list, totals...), append(counts, counted...)
		l.judged[r.Number] = true
	}
	if entry, why := pl.WithTotals(list, counts, len(l.judged)); why != "" {
		l.judged = nil
		tables := l.tables()
		return l.unjudged(&tables[slices.IndexFunc(tables, func(r ledger.Listed) bool { return r.Number == entry })], why)
	}
	return ""
}

// unjudged says of tables why it is not judged what they tell together with records.
func (l *Ledger) unjudged(r *ledger.Listed, why string) string {
	return fmt.Sprintf("the tables of entry %d of the ledger (%s) are of the same respondents, and what they tell "+
		"together with records is not judged: %s; whoever takes that upon himself says so (gate.allow_tables: [%s])", r.Number, r.Name(), why,
		r.Name())
}

// totalsOf returns the sums of an entry of tables, and what its counts tell of columns that no release has. Counts by
// columns that leave as they are tell nothing more. why says what keeps it from being computed what they tell beside
// records.
func (l *Ledger) totalsOf(pl *pipeline.Plan, r *ledger.Listed) (list []assess.Totals, counts []pipeline.Counted,
	why string) {
	of := r.Tables
	before, err := l.config.Before(fmt.Sprintf("entry %d of the ledger", r.Number), of.Releasing)
	if err != nil {
		return nil, nil, oneLine(err)
	}
	if of.Records == 0 {
		return nil, nil, "it is not known of how many records they were made"
	}
	for i := range of.Tables {
		t := &of.Tables[i]
		if len(t.Columns) == 0 || len(t.Variables) != len(t.Rows) {
			return nil, nil, fmt.Sprintf("of table %s it is not known how its cells add up", t.Name)
		}
		if t.Weight != "" {
			return nil, nil, fmt.Sprintf("table %s is weighted", t.Name)
		}
		for _, m := range before.Masks {
			for _, name := range m.Params.Masks() {
				if slices.Contains(t.Columns, name) {
					return nil, nil, fmt.Sprintf("table %s is made of masked values of %s", t.Name, name)
				}
			}
		}
		for _, name := range t.Columns {
			if name == t.Value {
				continue
			}
			if why := l.hidesMember(pl, name); why != "" {
				return nil, nil, why
			}
			// Sums by what is not released tell of that, where they are of values that are.
			if t.Value != "" && !l.releasedPlain(pl, name, of.Records) {
				return nil, nil, fmt.Sprintf("no release has %s, by which table %s has sums", name, t.Name)
			}
		}
		if t.Value == "" {
			counted, why := l.countsOf(pl, r, t)
			if why != "" {
				return nil, nil, why
			}
			counts = append(counts, counted...)
			continue
		}
		if of.Holding != "" && t.Percent > 0 {
			return nil, nil, fmt.Sprintf("contributors to table %s are holdings (%s), of whose records together the masks hide "+
				"less than of each", t.Name, of.Holding)
		}
		if t.Protect != "suppress" && t.Protect != "none" {
			return nil, nil, fmt.Sprintf("the sums of table %s were changed (%s)", t.Name, t.Protect)
		}
		if l.hidesMember(pl, t.Value) == "" && l.releasedPlain(pl, t.Value, of.Records) {
			continue // sums of what is released
		}
		totals := assess.Totals{Entry: r.Number, Name: t.Name, Column: t.Value, Hidden: t.Hidden,
			Percent: t.Percent}
		for _, v := range t.Variables {
			totals.By = append(totals.By, assess.TotalsBy{Column: v.Column, Leaves: v.Leaves, Nodes: v.Nodes})
		}
		list = append(list, totals)
	}
	return list, counts, ""
}

// countsOf returns what a table of counts tells of columns that no release has, for those who look alike in the columns
// that a release has as they are. why says what keeps it from being computed, or what the records tell of the table:
// how many are alike in the columns that leave as they are, everybody counts, and its audit does not know.
func (l *Ledger) countsOf(pl *pipeline.Plan, r *ledger.Listed, t *ledger.Table) (list []pipeline.Counted, why string) {
	unseen := l.unseen(pl, r.Tables, t)
	if len(unseen) == 0 {
		return nil, ""
	}
	if t.Protect != "suppress" && t.Protect != "none" {
		return nil, fmt.Sprintf("the counts of table %s were changed (%s), and the records tell how many they are", t.Name,
			t.Protect)
	}
	for _, name := range unseen {
		c := pipeline.Counted{Entry: r.Number, Table: t.Name, Column: name, Joined: len(unseen) < len(t.Columns),
			Held: len(t.Hidden) > 0}
		if c.Joined || c.Held {
			list = append(list, c)
		}
	}
	if len(unseen) == len(t.Columns) {
		return list, ""
	}
	for _, at := range t.Hidden {
		if countedByAnyone(t, unseen, at) || !leaves(t) {
			return nil, fmt.Sprintf("table %s holds counts back which whoever has the records counts in them", t.Name)
		}
	}
	for _, o := range l.tables() {
		for i := range o.Tables.Tables {
			other := &o.Tables.Tables[i]
			if len(t.Hidden)+len(other.Hidden) > 0 && other.Value == "" && l.joinsCounts(pl, o.Tables, t, other, unseen) {
				return nil, fmt.Sprintf("what the counts that tables %s and %s hold back are beside those of the records is "+
					"not audited", t.Name, other.Name)
			}
		}
	}
	return list, ""
}

// leaves reports whether a table is made of the columns of its codes alone, and of none with those above them.
func leaves(t *ledger.Table) bool {
	return !slices.ContainsFunc(t.Columns, func(name string) bool {
		return name != t.Value && !slices.ContainsFunc(t.Variables, func(v ledger.Variable) bool { return v.Column == name })
	})
}

// unseen names the columns of a table that no release of as many records has as they are.
func (l *Ledger) unseen(pl *pipeline.Plan, of *ledger.Tables, t *ledger.Table) (names []string) {
	for _, name := range t.Columns {
		if !l.releasedPlain(pl, name, of.Records) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// countedByAnyone reports whether a cell has the total of all variables that are unseen, so that its records are
// counted by the others.
func countedByAnyone(t *ledger.Table, unseen []string, at int64) bool {
	for i := len(t.Variables) - 1; i >= 0; i-- {
		v := &t.Variables[i]
		node := at % int64(len(v.Nodes))
		at /= int64(len(v.Nodes))
		if slices.Contains(unseen, v.Column) && len(v.Nodes[node]) < len(v.Leaves) {
			return false
		}
	}
	return true
}

// joinsCounts reports whether another table has an unseen column of a table together with a seen one that this has not:
// the counts of the seen ones of both, which the records tell, then join what both hold back.
func (l *Ledger) joinsCounts(pl *pipeline.Plan, of *ledger.Tables, t, other *ledger.Table, unseen []string) bool {
	if !slices.ContainsFunc(other.Columns, func(name string) bool { return slices.Contains(unseen, name) }) {
		return false
	}
	hidden := l.unseen(pl, of, other)
	return slices.ContainsFunc(other.Columns, func(name string) bool {
		return !slices.Contains(hidden, name) && !slices.Contains(t.Columns, name)
	})
}

// hidesMember says that a release masks a column by which tables are made; "" if none does.
func (l *Ledger) hidesMember(pl *pipeline.Plan, name string) string {
	if slices.Contains(pl.Masked, name) {
		return fmt.Sprintf("this release masks %s, by which they are made", name)
	}
	for _, r := range l.releases {
		for _, c := range r.Release.Columns {
			if c.Name == name && c.Masked {
				return fmt.Sprintf("release %d masks %s, by which they are made", r.Number, name)
			}
		}
	}
	return ""
}

// releasedPlain reports whether this release has a column as it is, or an earlier one of as many records. pl is nil if
// there is none today.
func (l *Ledger) releasedPlain(pl *pipeline.Plan, name string, records int64) bool {
	return pl != nil && slices.ContainsFunc(pl.Layout.Release, func(out microdata.Output) bool {
		return out.Field.Name == name && !out.Masked
	}) || slices.ContainsFunc(l.releases, func(r ledger.Listed) bool {
		return r.Release.Records == records && slices.ContainsFunc(r.Release.Columns, func(c ledger.Column) bool {
			return c.Name == name && !c.Masked
		})
	})
}

// tables are those of the ledger that count as published, and those that are about to be.
func (l *Ledger) tables() []ledger.Listed {
	list := l.held.Tables()
	if l.pending != nil {
		list = append(list, ledger.Listed{Number: l.nextNumber(), Tables: l.pending, Published: true})
	}
	return list
}

func (l *Ledger) nextNumber() int64 {
	number, _ := l.held.Next()
	return number
}

// Again returns what is needed to judge a release of the ledger once more, by its own rules and together with tables
// that are about to be published: its configuration, and the ledger as if these were in it. why says what is in the
// way.
func (l *Ledger) Again(of *ledger.Listed, tables *ledger.Tables) (p *config.Pipeline, with *Ledger, why string) {
	r := of.Release
	switch {
	case len(r.Rules) == 0:
		return nil, nil, "the ledger does not have its rules"
	case r.Project != nil:
		return nil, nil, oneLine(ofProject(r))
	case r.KeyID != l.key.ID():
		return nil, nil, "it had another key"
	case r.Records != tables.Records:
		return nil, nil, fmt.Sprintf("it has %d records, and the tables are made of %d", r.Records, tables.Records)
	}
	p, err := l.config.Again(fmt.Sprintf("release %d of the ledger", of.Number), r.Releasing, r.Rules)
	if err != nil {
		return nil, nil, oneLine(err)
	}
	if len(p.Gate.Rules) == 0 {
		return nil, nil, "it had no rules"
	}
	with = &Ledger{held: l.held, releases: l.releases, config: p, key: l.key, pending: tables, log: zerolog.Nop()}
	return p, with, ""
}
