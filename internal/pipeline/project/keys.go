package project

import "slices"

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

// below reports whether a key's table is farther from the persons than the table that it refers to: a record there has perhaps many here.
// Otherwise a record here has one there, such as a person her household.
func (c *Config) below(k *Key) bool {
	far := c.distances()
	return far[k.Table] > far[k.Of]
}

// shows reports whether the release has the column of a key.
func (c *Config) shows(k *Key) bool {
	law, _ := lawOf(c.named(k.Table).pipeline, k.Column)
	return law != withheld
}

// joins returns the columns of a table that are in keys.
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
