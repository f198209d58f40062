package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/headline"
)

// Contents is what a data file holds, for the comparison of two releases.
type Contents struct {
	Name    string
	Records int64
	Columns []ColumnContents // in the order of the file
}

// ColumnContents describes one column.
type ColumnContents struct {
	Name, Type string
	Missing    int64                 // records without a value
	Numbers    *assess.ColumnProfile // nil if it holds no numbers
	Categories map[string]int64      // records by value; nil if it holds numbers, or too many different texts
}

// fewest is the number of records below which nothing of a category or of a column's numbers is said: it would be
// said of persons.
const fewest = 10

// CompareContents returns what has changed from one data file to another, as those see it who use them. Nothing is
// judged: all changes are neutral.
func CompareContents(before, after *Contents) *Difference {
	d := &Difference{
		Schema: DifferenceSchemaName, Before: Compared{Name: before.Name, Verdict: records(before.Records)},
		After: Compared{Name: after.Name, Verdict: records(after.Records)}, Changes: []Change{},
	}
	d.neutral("records", "records", records(before.Records), records(after.Records))
	name := func(c ColumnContents) string { return c.Name }
	both(before.Columns, after.Columns, name, func(name string, a, b *ColumnContents) {
		switch {
		case a == nil:
			d.neutral("column", name, "", b.Type)
		case b == nil:
			d.neutral("column", name, a.Type, "")
		default:
			d.column(name, a, b, before.Records, after.Records)
		}
	})
	if !slices.EqualFunc(before.Columns, after.Columns, func(a, b ColumnContents) bool { return a.Name == b.Name }) &&
		sameNames(before, after) {
		d.neutral("columns", "order", "as before", "another")
	}
	return d
}

func (d *Difference) neutral(about, name, before, after string) {
	d.add(about, name, before, after, headline.Neutral)
}

func records(n int64) string { return plural(n, "record", "records") }

func sameNames(before, after *Contents) bool {
	names := func(c *Contents) (list []string) {
		for _, column := range c.Columns {
			list = append(list, column.Name)
		}
		slices.Sort(list)
		return list
	}
	return slices.Equal(names(before), names(after))
}

// column compares a column that both files have.
func (d *Difference) column(name string, a, b *ColumnContents, beforeN, afterN int64) {
	d.neutral("column", name, a.Type, b.Type)
	d.neutral("column", name+", missing", shareOf(a.Missing, beforeN), shareOf(b.Missing, afterN))
	if a.Numbers != nil && b.Numbers != nil && min(a.Numbers.N, b.Numbers.N) >= fewest {
		d.numbers(name, a.Numbers, b.Numbers)
	}
	if a.Categories == nil || b.Categories == nil {
		return
	}
	d.neutral("column", name+", categories", strconv.Itoa(len(a.Categories)), strconv.Itoa(len(b.Categories)))
	for _, category := range unionOf(a.Categories, b.Categories) {
		x, y := a.Categories[category], b.Categories[category]
		if max(x, y) >= fewest {
			d.neutral("column", fmt.Sprintf("%s, share of %q", name, category), categoryOf(x, beforeN), categoryOf(y, afterN))
		}
	}
}

// numbers compares figures to four digits.
func (d *Difference) numbers(name string, a, b *assess.ColumnProfile) {
	compare := func(what string, x, y float64) {
		d.neutral("column", name+", "+what, pretty(x, 4), pretty(y, 4))
	}
	compare("mean", a.Mean, b.Mean)
	compare("SD", a.SD, b.SD)
	for _, target := range []string{"p25", "p50", "p75"} {
		compare(target, quantileOf(a, target), quantileOf(b, target))
	}
}

func quantileOf(p *assess.ColumnProfile, target string) float64 {
	for _, q := range p.Quantiles {
		if q.Target == target {
			return q.Value
		}
	}
	return math.NaN()
}

// unionOf returns the categories of two columns, the most frequent first.
func unionOf(a, b map[string]int64) (list []string) {
	for category := range a {
		list = append(list, category)
	}
	for category := range b {
		if _, known := a[category]; !known {
			list = append(list, category)
		}
	}
	slices.SortFunc(list, func(x, y string) int { return cmp.Or(cmp.Compare(a[y]+b[y], a[x]+b[x]), cmp.Compare(x, y)) })
	return list
}

// categoryOf is shareOf of a category, which may be one of few records.
func categoryOf(n, all int64) string {
	if n < fewest {
		return fmt.Sprintf("fewer than %d records", fewest)
	}
	return shareOf(n, all)
}

// shareOf writes n of all as a share.
func shareOf(n, all int64) string { return figure.Portion(float64(n) / float64(max(all, 1))) }
