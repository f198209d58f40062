package foreign

import (
	"context"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Attack is an attack on a release that any tool made. All columns that are
// asked for are held in memory.
type Attack struct {
	Original connectors.SourceConfig
	Released connectors.SourceConfig // nil: the original alone, of which only uniqueness is measured
	Earlier  []connectors.SourceConfig
	ID       string // the column that identifies a record in all files; "" matches by position

	Keys              []string // numeric columns that the intruder knows
	Categorical       []string // columns whose combinations are counted
	Sensitive         []string // whose l-diversity is measured
	Weight, Household string   // of the original
	Options           attack.Options
}

// Attacked is what was found, and what it was found of.
type Attacked struct {
	Result    *attack.Result
	Data      attack.Data
	Unmatched int // original records that have no released one, left out
	Unowned   int // released records that have no original one, left out
	Malformed int // records of either file that could not be read: they are there, without values
}

// Run reads the files and attacks the release.
func (a *Attack) Run(ctx context.Context, progress *pipeline.Progress) (*Attacked, error) {
	sources := []connectors.SourceConfig{a.Original}
	words := []string{"original"}
	if a.Released != nil {
		sources, words = append(sources, a.Released), append(words, "released")
	}
	for i, e := range a.Earlier {
		sources, words = append(sources, e), append(words, fmt.Sprintf("earlier (%d)", i+1))
	}
	opened := make([]connectors.Source, len(sources))
	for i, c := range sources {
		src, err := openNamed(ctx, words[i], c)
		if err != nil {
			return nil, err
		}
		defer src.Close()
		opened[i] = src
	}
	if err := a.check(opened, words); err != nil {
		return nil, err
	}
	categories := map[string]*category{}
	of := func(names ...string) []*category {
		var list []*category
		for _, name := range names {
			if categories[name] == nil {
				both := opened[:1]
				if a.Released != nil {
					both = opened[:2]
				}
				if name == a.Household {
					both = opened[:1]
				}
				switch len(both) {
				case 1:
					categories[name] = newCategory(name, both[0].Schema())
				default:
					categories[name] = newCategory(name, both[0].Schema(), both[1].Schema())
				}
			}
			list = append(list, categories[name])
		}
		return list
	}
	progress.Start("read", opened[0].Records())
	classes := withoutRepeats(a.Categorical, a.Sensitive)
	numbers := a.Keys
	if a.Weight != "" {
		numbers = append(numbers[:len(numbers):len(numbers)], a.Weight)
	}
	original, err := hold(ctx, opened[0], numbers, of(withoutRepeats(classes, []string{a.Household})...), a.ID, progress)
	if err != nil {
		return nil, fmt.Errorf("original: %w", err)
	}
	out := &Attacked{Malformed: original.bad}
	released := original
	if a.Released != nil {
		if released, err = hold(ctx, opened[1], a.Keys, of(classes...), a.ID, progress); err != nil {
			return nil, fmt.Errorf("released: %w", err)
		}
		out.Malformed += released.bad
	}
	rows, err := original.matched(released, a.ID != "" && a.Released != nil)
	if err != nil {
		return nil, err
	}
	var mine, theirs []int // rows of the records that both files have
	for i, row := range rows {
		if row >= 0 {
			mine, theirs = append(mine, i), append(theirs, row)
		} else {
			out.Unmatched++
		}
	}
	out.Unowned = released.n - len(mine)
	if original.n == 0 {
		return nil, pipeline.DataErrorf("the original file has no records")
	}
	if len(mine) == 0 {
		return nil, pipeline.DataErrorf("the files have no record in common")
	}
	if b := a.Options.Bayes; b != nil && b.Population > 0 && b.Population < len(mine) {
		return nil, pipeline.DataErrorf("the population must be at least the %d released records, got %d", len(mine), b.Population)
	}
	if l := a.Options.Linkage; l != nil && l.OneToOne && len(mine) > linkage.MaxOneToOne {
		return nil, pipeline.DataErrorf("one-to-one linkage takes at most %d records, and there are %d", linkage.MaxOneToOne, len(mine))
	}
	if out.Unmatched > 0 {
		out.Data.Places = mine
	}
	a.fill(&out.Data, original, released, mine, theirs, classes)
	for i := range a.Earlier {
		src := opened[len(opened)-len(a.Earlier)+i]
		earlier, err := hold(ctx, src, a.Keys, nil, a.ID, progress)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", words[len(words)-len(a.Earlier)+i], err)
		}
		rows, err := original.matched(earlier, a.ID != "")
		if err != nil {
			return nil, err
		}
		columns := make([][]float64, len(a.Keys))
		for j := range columns {
			columns[j] = make([]float64, len(mine))
			for k, i := range mine {
				columns[j][k] = math.NaN()
				if rows[i] >= 0 {
					columns[j][k] = earlier.numbers[j][rows[i]]
				}
			}
		}
		out.Data.Earlier = append(out.Data.Earlier, columns)
	}
	progress.Measuring()
	out.Result, err = attack.Run(ctx, out.Data, a.Options)
	return out, err
}

// check holds the names against the files' columns.
func (a *Attack) check(opened []connectors.Source, words []string) error {
	for i, src := range opened {
		schema := src.Schema()
		if err := needs(words[i], schema, true, a.Keys...); err != nil {
			return err
		}
		if a.ID != "" {
			if err := needs(words[i], schema, false, a.ID); err != nil {
				return err
			}
		}
		if i < 2 && words[i] != "earlier (1)" {
			if err := needs(words[i], schema, false, withoutRepeats(a.Categorical, a.Sensitive)...); err != nil {
				return err
			}
		}
	}
	if a.Weight != "" {
		if err := needs("original", opened[0].Schema(), true, a.Weight); err != nil {
			return err
		}
	}
	if a.Household != "" {
		return needs("original", opened[0].Schema(), false, a.Household)
	}
	return nil
}

// fill puts what was read into the form of an attack.
func (a *Attack) fill(d *attack.Data, original, released *held, mine, theirs []int, classes []string) {
	for j, name := range a.Keys {
		d.Numeric = append(d.Numeric, attack.NumericColumn{
			Name: name, Original: gathered(original.numbers[j], mine), Released: gathered(released.numbers[j], theirs),
		})
		d.Linked = append(d.Linked, j)
	}
	column := func(name string) attack.CategoricalColumn {
		for j, class := range classes {
			if class == name {
				return attack.CategoricalColumn{Name: name, Original: gathered(original.codes[j], mine), Released: gathered(released.codes[j], theirs)}
			}
		}
		return attack.CategoricalColumn{Name: name}
	}
	for _, name := range a.Categorical {
		d.Categorical = append(d.Categorical, column(name))
	}
	for _, name := range a.Sensitive {
		d.Sensitive = append(d.Sensitive, column(name))
	}
	if a.Weight != "" {
		d.Weights = gathered(original.numbers[len(a.Keys)], mine)
	}
	if a.Household != "" {
		at := len(classes)
		for j, name := range classes {
			if name == a.Household {
				at = j
			}
		}
		d.Household = gathered(original.codes[at], mine)
	}
}
