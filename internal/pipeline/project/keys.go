package project

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// distances returns how many keys lie between the persons and each table.
func (c *Config) distances() map[string]int {
	far := map[string]int{c.Person: 0}
	for range c.Tables {
		for _, k := range c.Keys {
			if d, known := far[k.Table]; known {
				if _, also := far[k.Of]; !also {
					far[k.Of] = d + 1
				}
			} else if d, known := far[k.Of]; known {
				far[k.Table] = d + 1
			}
		}
	}
	return far
}

// below reports whether a key's table is farther from the persons than the table that it refers to: a record there has
// perhaps many here. Otherwise a record here has one there, such as a person her household.
func (c *Config) below(k *Key) bool {
	far := c.distances()
	return far[k.Table] > far[k.Of]
}

// shows reports whether the release has the column of a key.
func (c *Config) shows(k *Key) bool {
	law, _ := lawOf(c.named(k.Table).pipeline, k.Column)
	return law != withheld
}

// repeated warns of columns that two tables release under one name, one of which is masked: what it hides the other may
// tell.
func (c *Config) repeated() (list []string) {
	masked := func(t *Table, column string) bool {
		return slices.ContainsFunc(t.pipeline.Masks, func(s transform.Spec) bool {
			return slices.Contains(s.Params.Masks(), column)
		})
	}
	identified := c.identified()
	for i := range c.Tables {
		for j := range c.Tables[:i] {
			a, b := &c.Tables[j], &c.Tables[i]
			for _, column := range a.pipeline.Columns {
				other := b.pipeline.Columns.Named(column.Name)
				if other == nil || column.Role == microdata.Identifier || other.Role == microdata.Identifier ||
					identified(a.Name, column.Name) == identified(b.Name, column.Name) ||
					!masked(a, column.Name) && !masked(b, column.Name) {
					continue
				}
				list = append(list,
					fmt.Sprintf(
						"%s is released by tables %s and %s: if they are of one thing, what is masked in one is told by the other, which is judged of numbers (amounts) and not of keys", strconv.Quote(column.Name),
						strconv.Quote(a.Name), strconv.Quote(b.Name)))
			}
		}
	}
	return list
}

// identified returns a function that names what a column identifies: one name for all columns that keys join, and for
// any other its own.
func (c *Config) identified() func(table, column string) string {
	of := map[[2]string]string{}
	name := func(table, column string) string {
		at := [2]string{table, column}
		if of[at] == "" {
			of[at] = table + "." + column
		}
		return of[at]
	}
	for _, k := range c.Keys {
		a, b := name(k.Table, k.Column), name(k.Of, k.References)
		for at, root := range of {
			if root == a {
				of[at] = b
			}
		}
	}
	return name
}

// joins returns the columns of a table that are in keys, and in that of the persons the other pseudonyms.
func (c *Config) joins(table string) (columns []string) {
	add := func(of, column string) {
		if of == table && !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	for _, k := range c.Keys {
		add(k.Table, k.Column)
		add(k.Of, k.References)
	}
	if t := c.named(table); table == c.Person && t.pipeline != nil {
		for _, column := range t.pipeline.Columns {
			if law, _ := lawOf(t.pipeline, column.Name); law != withheld && transform.Renames(t.pipeline.Masks, column.Name) {
				add(table, column.Name)
			}
		}
	}
	return columns
}

// own returns the columns of the persons' table of which no two records may have the same value: those that identify a
// person.
func (c *Config) own() (columns []string) {
	for _, name := range c.joins(c.Person) {
		if !slices.ContainsFunc(c.Keys, func(k Key) bool { return k.Table == c.Person && k.Column == name }) &&
			name != c.named(c.Person).pipeline.HouseholdColumn() {
			columns = append(columns, name)
		}
	}
	return columns
}

// order returns the tables so that each comes after those that it refers to.
func (c *Config) order() (list []*Table) {
	done := map[string]bool{}
	for len(list) < len(c.Tables) {
		for i := range c.Tables {
			t := &c.Tables[i]
			waits := slices.ContainsFunc(c.Keys, func(k Key) bool { return k.Table == t.Name && !done[k.Of] })
			if !done[t.Name] && !waits {
				done[t.Name], list = true, append(list, t)
			}
		}
	}
	return list
}
