package attack

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
)

// checker checks names and lengths of columns.
type checker struct {
	n     int // records, −1 before the first column
	names []string
}

// length returns an error unless the column has as many records as the columns before
// it.
func (c *checker) length(what string, got int) error {
	if c.n < 0 {
		c.n = got
	}
	if got != c.n {
		return fmt.Errorf("%s: must have %d records like the others, got %d", what, c.n, got)
	}
	return nil
}

// checkName returns an error if a name is empty or already used in the list.
func (c *checker) checkName(list string, i int, name string) error {
	if name == "" || slices.Contains(c.names, name) {
		return fmt.Errorf("%s[%d]: must have a name of its own, got %s", list, i, strconv.Quote(name))
	}
	c.names = append(c.names, name)
	return nil
}

// columns checks the numeric, categorical and sensitive columns.
func (c *checker) columns(d *Data) error {
	for i, column := range d.Numeric {
		at := "numeric column " + strconv.Quote(column.Name)
		if !(column.Grid >= 0) || math.IsInf(column.Grid, 1) {
			return fmt.Errorf("%s: must have a finite grid, 0 where it is not known, got %v", at, column.Grid)
		}
		if err := errors.Join(c.checkName("numeric", i, column.Name), c.length(at, len(column.Original)),
			c.length(at+", released", len(column.Released))); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		name    string
		columns []CategoricalColumn
	}{{"categorical", d.Categorical}, {"inferred", d.Inferred}, {"modelled", d.Modelled}, {"counted", d.Counted},
		{"sensitive", d.Sensitive}} {
		c.names = c.names[:0] // a column may be numeric and categorical
		for i := range list.columns {
			column := &list.columns[i]
			at := list.name + " column " + strconv.Quote(column.Name)
			if err := errors.Join(c.checkName(list.name, i, column.Name), c.length(at, len(column.Original)),
				c.length(at+", released", len(column.released()))); err != nil {
				return err
			}
		}
	}
	return nil
}

// check returns the number of records, or an error if the data do not fit together.
func (d *Data) check() (n int, err error) {
	c := checker{n: -1}
	if err := c.columns(d); err != nil {
		return 0, err
	}
	n, length := c.n, c.length
	if n < 1 || n > math.MaxInt32 {
		return 0, fmt.Errorf("data: must have a column of 1 to %d records, got %d", math.MaxInt32, max(n, 0))
	}
	for i, j := range d.Linked {
		if j < 0 || j >= len(d.Numeric) || slices.Contains(d.Linked[:i], j) {
			return 0, fmt.Errorf("linked[%d]: must be the index of one of the %d numeric columns, each once, got %d", i,
				len(d.Numeric), j)
		}
	}
	for _, c := range slices.Concat(d.Beside, d.Shown, d.Pieces) {
		err = errors.Join(err, length("column "+strconv.Quote(c.Name), len(c.Released)))
	}
	if d.Weights != nil {
		err = errors.Join(err, length("weights", len(d.Weights)))
	}
	if d.Persons != nil {
		err = errors.Join(err, length("persons", len(d.Persons)))
	}
	if d.Household != nil {
		err = errors.Join(err, length("household", len(d.Household)))
	}
	if d.Person != nil {
		err = errors.Join(err, length("person", len(d.Person)))
	}
	if d.Places != nil {
		err = errors.Join(err, length("places", len(d.Places)))
	}
	for k, columns := range d.Earlier {
		if len(columns) != len(d.Numeric) {
			return 0, fmt.Errorf("earlier[%d]: must have the %d numeric columns, got %d", k, len(d.Numeric), len(columns))
		}
		for j, c := range columns {
			err = errors.Join(err, length(fmt.Sprintf("earlier[%d], column %s", k, strconv.Quote(d.Numeric[j].Name)), len(c)))
		}
	}
	if d.Records != 0 && d.Records < int64(n) {
		err = errors.Join(err, fmt.Errorf("records: must be 0 or at least the %d that are given, got %d", n, d.Records))
	}
	return n, err
}

// check returns an error if a part lacks columns that it needs.
func (o *Options) check(d *Data) error {
	switch {
	case o.Targets < 0:
		return fmt.Errorf("targets: must be at least 1, or 0 for all, got %d", o.Targets)
	case o.Linkage != nil && o.Linkage.Distance == linkage.Gower && len(d.Linked)+len(d.Categorical) == 0:
		return errors.New(
			"linkage: must have keys that the intruder knows: name numeric columns as linked keys or categorical ones, got none")
	case o.Linkage != nil && o.Linkage.Distance != linkage.Gower && len(d.Linked) == 0:
		return fmt.Errorf(
			"linkage: must have numeric keys that the intruder knows: name numeric columns as linked keys, got none "+
				"(categorical ones are compared by %v distance only)", linkage.Gower)
	case o.Bayes != nil && len(d.Linked) == 0:
		return errors.New(
			"bayes: must have numeric keys that the intruder knows: name numeric columns as linked keys, got none")
	case o.Uniqueness != nil && len(d.counted()) == 0:
		return errors.New("uniqueness: must have keys to count: name columns as categorical ones, got none")
	case o.Population != nil && len(d.counted()) == 0:
		return errors.New("population: must have keys to count: name columns as categorical ones, got none")
	case len(o.Intervals) > 0 && len(d.Numeric) == 0:
		return errors.New("interval: must have numeric columns, got none")
	case o.Loss != nil && len(d.Numeric) == 0:
		return errors.New("utility: must have numeric columns, got none")
	case o.Averaging && (len(d.Earlier) == 0 || len(d.Numeric) == 0):
		return errors.New("averaging: must have numeric columns and an earlier release of the same respondents, got none")
	case o.Inversion != nil && len(o.Inversion.Masks) == 0:
		return errors.New("inversion: must have the list of masks that made the release, got none")
	}
	return nil
}
