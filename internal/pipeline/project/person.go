package project

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// none is the code of a key of another table's record where there is no such record. It is no missing value: that there
// is none is known.
const none = 1 << 30

// column is a key of a table's records, in the coding of that table, as it is known and as it is released.
type column struct{ known, released []int32 }

// tuples returns the keys of a table's records together with those of the records to which they refer: of an event
// those of its hospital. all: as all releases of the ledgers have them.
func (r *run) tuples(m *member, all bool) (list []column, not string) {
	t := m.part.Joined.Tuples
	if all {
		t = m.part.Joined.All
	}
	if t.Not != "" {
		return nil, fmt.Sprintf("table %s: %s", strconv.Quote(m.table.Name), t.Not)
	}
	for i := range t.Keys {
		list = append(list, column{t.Known[i], t.Keys[i].Codes})
	}
	for i := range r.config.Keys {
		k := &r.config.Keys[i]
		if k.Table != m.table.Name || r.config.below(k) {
			continue
		}
		other := r.members[k.Of]
		theirs, not := r.tuples(other, all)
		if not != "" {
			return nil, not
		}
		rows := other.rows(k.References)
		for _, c := range theirs {
			list = append(list, c.of(m.values(k.Column), rows))
		}
	}
	return list, ""
}

// values returns the original values of a column of keys, by record.
func (m *member) values(name string) []float64 {
	for i, column := range m.joins {
		if column == name && m.part.Joined.Joins != nil {
			return m.part.Joined.Joins[i]
		}
	}
	return nil
}

// nobody is the code of an empty text, which identifies nobody.
var nobody = microdata.CategoryCode(nil)

// rows returns the record of each value.
func (m *member) rows(name string) map[float64]int {
	rows := map[float64]int{}
	for i, v := range m.values(name) {
		if !math.IsNaN(v) && v != nobody {
			rows[v] = i
		}
	}
	return rows
}

// of returns the column for records that refer to those of c by values.
func (c column) of(values []float64, rows map[float64]int) column {
	to := column{make([]int32, len(values)), make([]int32, len(values))}
	for i, v := range values {
		if row, there := rows[v]; there {
			to.known[i], to.released[i] = c.known[row], c.released[row]
		} else {
			to.known[i], to.released[i] = none, none
		}
	}
	return to
}

// alike returns how many records have the value of each: what anybody sees of those who share a household.
func alike(values []float64) column {
	n := map[float64]int32{}
	for _, v := range values {
		n[v]++
	}
	counts := make([]int32, len(values))
	for i, v := range values {
		counts[i] = n[v] // of no value 0
	}
	return column{counts, counts}
}

// places returns the place of each record among those of its person, in the order of the file, which anybody sees
// unless it is shuffled.
func places(person []int32) column {
	n := map[int32]int32{}
	at := make([]int32, len(person))
	for i, who := range person {
		at[i] = n[who]
		n[who]++
	}
	return column{at, at}
}

// part are the records of a table in a history.
type part struct {
	columns []column
	person  []int32 // −1: of nobody
}

// shown reports whether a release has the column of a key: this one or, with all, an earlier one.
func (r *run) shown(k *Key, all bool) bool {
	return r.config.shows(k) || all && slices.ContainsFunc(r.members[k.Table].part.Joined.Releases,
		func(e *pipeline.EarlierRelease) bool { return e.Had(k.Column) })
}

// ordered reports whether a release shows the order of a table's records: this one or, with all, an earlier one.
func (m *member) ordered(all bool) bool {
	return !m.table.pipeline.Sink.Shuffled() || all && slices.ContainsFunc(m.part.Joined.Releases,
		func(e *pipeline.EarlierRelease) bool { return !e.Shuffled })
}

// history puts the records of persons, and those that refer to them, below one another: the first column says of which
// table each is. all: as all releases of the ledgers have them.
func (r *run) history(all bool) (data uniqueness.Data, alpha float64, not string) {
	persons := r.members[r.config.Person]
	own := make([]int32, persons.part.Joined.Records)
	for i := range own {
		own[i] = int32(i)
	}
	alpha = 1
	var parts []part
	width := 0
	add := func(m *member, person []int32, more ...column) {
		columns, why := r.tuples(m, all)
		if not == "" {
			not = why
		}
		columns = append(columns, more...)
		parts, width = append(parts, part{columns, person}), max(width, len(columns))
	}
	var shared []column
	for i := range r.config.Keys {
		if k := &r.config.Keys[i]; k.Table == r.config.Person && r.shown(k, all) {
			shared = append(shared, alike(persons.values(k.Column)))
		}
	}
	add(persons, own, shared...)
	for i := range r.config.Keys {
		if k := &r.config.Keys[i]; r.config.below(k) {
			m := r.members[k.Table]
			rows := persons.rows(k.References)
			var person []int32
			for _, v := range m.values(k.Column) {
				who, known := rows[v]
				if !known {
					who = -1
				}
				person = append(person, int32(who))
			}
			if m.ordered(all) {
				add(m, person, places(person))
			} else {
				add(m, person)
			}
		}
	}
	for _, m := range r.order {
		alpha = min(alpha, m.part.Joined.Alpha)
	}
	switch {
	case not != "":
	case len(own) == 0:
		not = "no person is released"
	case width+1 > asked.Keys:
		not = fmt.Sprintf("a table has %d keys with those to which it refers, and at most %d are counted", width,
			asked.Keys-1)
	}
	if not != "" {
		return data, alpha, not
	}
	data.Keys, data.Known = make([]uniqueness.Column, width+1), make([][]int32, width+1)
	data.Keys[0].Name = "table"
	for j := range width {
		data.Keys[j+1].Name = "key " + strconv.Itoa(j+1)
	}
	for t, p := range parts {
		for i := range p.person {
			if p.person[i] < 0 {
				continue // else such records would make the share of persons who are found smaller
			}
			data.Person = append(data.Person, p.person[i])
			data.Keys[0].Codes, data.Known[0] = append(data.Keys[0].Codes, int32(t)), append(data.Known[0], int32(t))
			for j := range width {
				known, released := int32(0), int32(0) // a key that this table does not have
				if j < len(p.columns) {
					known, released = p.columns[j].known[i], p.columns[j].released[i]
				}
				data.Keys[j+1].Codes, data.Known[j+1] = append(data.Keys[j+1].Codes, released), append(data.Known[j+1], known)
			}
		}
	}
	return data, alpha, ""
}

// persons counts the persons by all of their records in all tables; nil if that is not possible, for the reason why.
// all: as all releases of the ledgers have them, who then is known to be the same in all of them.
func (r *run) persons(ctx context.Context, all bool) (p *uniqueness.Persons, not string, err error) {
	if not := r.ledger.Not(); all && not != "" {
		return nil, not, nil
	}
	data, alpha, not := r.history(all)
	if not != "" {
		return nil, not, nil
	}
	o := uniqueness.Options{Alpha: alpha, K: []int{2, 3, 5}, Estimator: uniqueness.Exact}
	for _, rule := range r.config.Gate.Rules {
		if rule.MinK != nil {
			o.Limits = append(o.Limits, *rule.MinK)
		}
	}
	found, err := uniqueness.Measure(ctx, data, o)
	if err != nil {
		return nil, "", fmt.Errorf("persons: %w", err)
	}
	return found.Persons, "", nil
}
