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
	l.judged = map[int64]bool{}
	for _, r := range l.tables() {
		if slices.Contains(l.config.Gate.AllowTables, r.Name()) || l.follow(r.Tables, notYet, 0) {
			continue
		}
		totals, why := l.totalsOf(pl, &r)
		if why != "" {
			l.judged = nil
			return l.unjudged(&r, why)
		}
		list = append(list, totals...)
		l.judged[r.Number] = true
	}
	if at, why := pl.WithTotals(list, len(l.judged)); why != "" {
		l.judged = nil
		tables := l.tables()
		return l.unjudged(&tables[slices.IndexFunc(tables, func(r ledger.Listed) bool {
			return r.Number == list[at].Entry
		})], why)
	}
	return ""
}

// unjudged says of tables why it is not judged what they tell together with records.
func (l *Ledger) unjudged(r *ledger.Listed, why string) string {
	return fmt.Sprintf("the tables of entry %d of the ledger (%s) are of the same respondents, and what they tell "+
		"together with records is not judged: %s; whoever takes that upon himself says so (gate.allow_tables: [%s])", r.Number, r.Name(), why,
		r.Name())
}

// totalsOf returns the sums of an entry of tables. Those of counts tell nothing of values, nor of keys that leave as
// they are; they need none. why says what keeps it from being computed what they tell beside records.
func (l *Ledger) totalsOf(pl *pipeline.Plan, r *ledger.Listed) (list []assess.Totals, why string) {
	of := r.Tables
	before, err := l.config.Before(fmt.Sprintf("entry %d of the ledger", r.Number), of.Releasing)
	if err != nil {
		return nil, oneLine(err)
	}
	if of.Records == 0 {
		return nil, "it is not known of how many records they were made"
	}
	for i := range of.Tables {
		t := &of.Tables[i]
		if len(t.Columns) == 0 || len(t.Variables) != len(t.Rows) {
			return nil, fmt.Sprintf("of table %s it is not known how its cells add up", t.Name)
		}
		if t.Weight != "" {
			return nil, fmt.Sprintf("table %s is weighted", t.Name)
		}
		for _, m := range before.Masks {
			for _, name := range m.Params.Masks() {
				if slices.Contains(t.Columns, name) {
					return nil, fmt.Sprintf("table %s is made of masked values of %s", t.Name, name)
				}
			}
		}
		for _, name := range t.Columns {
			if name == t.Value {
				continue
			}
			if why := l.hidesMember(pl, name); why != "" {
				return nil, why
			}
			// Sums by what is not released tell of that, where they are of values that are.
			if t.Value != "" && !l.releasedPlain(pl, name, of.Records) {
				return nil, fmt.Sprintf("no release has %s, by which table %s has sums", name, t.Name)
			}
		}
		if t.Value == "" {
			continue
		}
		if t.Protect != "suppress" && t.Protect != "none" {
			return nil, fmt.Sprintf("the sums of table %s were changed (%s)", t.Name, t.Protect)
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
	return list, ""
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

// releasedPlain reports whether this release has a column as it is, or an earlier one of as many records.
func (l *Ledger) releasedPlain(pl *pipeline.Plan, name string, records int64) bool {
	return slices.ContainsFunc(pl.Layout.Release, func(out microdata.Output) bool {
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
