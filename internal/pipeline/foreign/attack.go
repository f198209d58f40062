package foreign

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/internal/intruder/referee"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Attack is an attack on a release that any tool made. All requested columns are held in
// memory.
type Attack struct {
	Missing  map[string]*microdata.Missing // declared codes for missing values of numeric keys, by column
	Original connectors.SourceConfig
	Released connectors.SourceConfig // nil: only the uniqueness of the original is measured
	Earlier  []connectors.SourceConfig
	ID       string // the column that identifies a record in all files; "" matches by position

	Keys              []string // numeric columns that the intruder knows
	Categorical       []string // columns whose combinations are counted
	Sensitive         []string // whose l-diversity is measured
	Weight, Household string   // of the original
	Person            []string // columns of the original that tell whose each record is
	CountReleased     bool     // count combinations from the released record, as other tools do
	Options           attack.Options

	// Referee asks for what needs no correspondence of records. Control holds records of the same population that the
	// release was not made of; nil: there are none. Columns are compared; none: all that the files share.
	Referee *referee.Options
	Control connectors.SourceConfig
	Columns []string
	Models  []*asked.LinearModel // regressions to compare
	// Unmatched says that released records correspond to no original ones, so that keys are only what the referee's
	// intruder knows.
	Unmatched bool
}

// Attacked is the result of an attack, with its data.
type Attacked struct {
	Result    *attack.Result
	Data      attack.Data
	Unmatched int // original records without a released record; left out
	Unowned   int // released records without an original record; left out
	Malformed int // records of either file that could not be read: they count, without values
}

// Run reads the files and attacks the release.
func (a *Attack) Run(ctx context.Context, progress *pipeline.Progress) (*Attacked, error) {
	files, err := a.open(ctx)
	defer files.close()
	if err != nil {
		return nil, err
	}
	if err := a.check(files.sources, files.words); err != nil {
		return nil, err
	}
	out := &Attacked{Result: &attack.Result{Schema: attack.Schema, Keys: []string{}}}
	if a.matches() {
		if err := a.matched(ctx, files, out, progress); err != nil {
			return nil, err
		}
	}
	if a.Referee == nil && len(a.Models) == 0 {
		return out, nil
	}
	var control connectors.Source
	if a.Control != nil {
		if control, err = openNamed(ctx, "control", a.Control); err != nil {
			return nil, err
		}
		defer control.Close()
		if err := pipeline.DeclareCodes(control.Schema(), a.Missing); err != nil {
			return nil, err
		}
	}
	if err := a.referee(ctx, files, control, out, progress); err != nil {
		return nil, err
	}
	return out, nil
}

// matched makes the attacks for which it is known which released record is whose.
func (a *Attack) matched(ctx context.Context, files *opened, out *Attacked, progress *pipeline.Progress) error {
	progress.Start("read", files.sources[0].Records())
	classes := withoutRepeats(a.Categorical, a.Sensitive)
	original, released, err := a.hold(ctx, files, classes, progress)
	if err != nil {
		return err
	}
	out.Malformed = original.malformed
	if a.Released != nil {
		out.Malformed += released.malformed
	}
	rows, err := original.matched(released, a.ID != "" && a.Released != nil)
	if err != nil {
		return err
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
	if err := a.checkNumbers(original.n, len(mine)); err != nil {
		return err
	}
	if out.Unmatched > 0 {
		out.Data.Places = mine
	}
	if err := a.checkWeights(original, mine); err != nil {
		return err
	}
	a.fill(&out.Data, original, released, mine, theirs, classes)
	if out.Data.Earlier, err = a.earlier(ctx, files, original, mine, progress); err != nil {
		return err
	}
	progress.Measuring()
	out.Data.Released = a.CountReleased
	out.Result, err = attack.Run(ctx, out.Data, a.Options)
	return err
}

// opened is the files of an attack: the original, the released one if there is one,
// and earlier ones.
type opened struct {
	sources []connectors.Source
	words   []string // the name of each in errors
}

func (o *opened) close() {
	for _, src := range o.sources {
		src.Close()
	}
}

func (a *Attack) open(ctx context.Context) (*opened, error) {
	configs, words := []connectors.SourceConfig{a.Original}, []string{"original"}
	if a.Released != nil {
		configs, words = append(configs, a.Released), append(words, "released")
	}
	for i, e := range a.Earlier {
		configs, words = append(configs, e), append(words, fmt.Sprintf("earlier (%d)", i+1))
	}
	files := &opened{words: words}
	for i, c := range configs {
		src, err := openNamed(ctx, words[i], c)
		if err != nil {
			return files, err
		}
		files.sources = append(files.sources, src)
		if err := pipeline.DeclareCodes(src.Schema(), a.Missing); err != nil {
			return files, err
		}
	}
	return files, nil
}

// hold reads the requested columns of the original and the released file; without a released
// file, the original takes its place. Categories have the same codes in both.
func (a *Attack) hold(ctx context.Context, files *opened, classes []string, progress *pipeline.Progress) (original,
	released *table, err error) {
	both := files.sources[:1]
	if a.Released != nil {
		both = files.sources[:2]
	}
	var categories []*category
	for _, name := range classes {
		var schemas []*microdata.Schema
		for _, src := range both {
			if name != a.Household || src == files.sources[0] {
				schemas = append(schemas, src.Schema())
			}
		}
		categories = append(categories, newCategory(name, schemas...))
	}
	ofOriginal := slices.Clone(categories)
	for _, name := range a.groups(classes)[len(classes):] {
		ofOriginal = append(ofOriginal, newCategory(name, files.sources[0].Schema()))
	}
	numbers := a.Keys
	if a.Weight != "" {
		numbers = append(numbers[:len(numbers):len(numbers)], a.Weight)
	}
	if original, err = hold(ctx, files.sources[0], numbers, ofOriginal, a.ID, progress); err != nil {
		return nil, nil, fmt.Errorf("original: %w", err)
	}
	if a.Released == nil {
		return original, original, nil
	}
	if released, err = hold(ctx, files.sources[1], a.Keys, categories, a.ID, progress); err != nil {
		return nil, nil, fmt.Errorf("released: %w", err)
	}
	return original, released, nil
}

// groups returns the categories, and behind them the columns of the original alone that tell households and persons
// apart.
func (a *Attack) groups(classes []string) []string {
	list := slices.Clone(classes)
	for _, name := range append([]string{a.Household}, a.Person...) {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// checkNumbers returns an error if there are too few or too many records for what is requested.
func (a *Attack) checkNumbers(original, common int) error {
	if original == 0 {
		return pipeline.DataErrorf("the original file has no records")
	}
	if common == 0 {
		return pipeline.DataErrorf("the files have no record in common")
	}
	if b := a.Options.Bayes; b != nil && b.Population > 0 && b.Population < common {
		return pipeline.DataErrorf("the population must be at least the %d released records, got %d", common, b.Population)
	}
	if l := a.Options.Linkage; l != nil && l.OneToOne && common > asked.OneToOne {
		return pipeline.DataErrorf("one-to-one linkage takes at most %d records, and there are %d", asked.OneToOne, common)
	}
	return nil
}

// earlier reads the keys of earlier releases: by release, then key, then record.
func (a *Attack) earlier(ctx context.Context, files *opened, original *table, mine []int, progress *pipeline.Progress) (
	releases [][][]float64, err error) {
	for k := len(files.sources) - len(a.Earlier); k < len(files.sources); k++ {
		earlier, err := hold(ctx, files.sources[k], a.Keys, nil, a.ID, progress)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", files.words[k], err)
		}
		rows, err := original.matched(earlier, a.ID != "")
		if err != nil {
			return nil, err
		}
		columns := make([][]float64, len(a.Keys))
		for j := range columns {
			columns[j] = make([]float64, len(mine))
			for at, i := range mine {
				columns[j][at] = math.NaN()
				if rows[i] >= 0 {
					columns[j][at] = earlier.numbers[j][rows[i]]
				}
			}
		}
		releases = append(releases, columns)
	}
	return releases, nil
}

// check returns an error for requested columns that a file does not have, or not in a usable type.
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
	return needs("original", opened[0].Schema(), false, a.groups(nil)...)
}

// checkWeights returns an error if a record of both files has no sampling weight. It says where, and how many there
// are.
func (a *Attack) checkWeights(original *table, mine []int) error {
	if a.Weight == "" || a.Options.Uniqueness == nil {
		return nil
	}
	first, wrong := -1, 0
	for _, i := range mine {
		if w := original.numbers[len(a.Keys)][i]; !(w >= 0) || math.IsInf(w, 1) {
			if wrong++; first < 0 {
				first = i
			}
		}
	}
	if wrong == 0 {
		return nil
	}
	return pipeline.DataErrorf(
		"original: column %s must hold a sampling weight for each record, a finite number of at least 0, and %d of %d records have none, the first of them record %d; take them out of the file, or leave out --weight", strconv.Quote(a.Weight), wrong, len(mine), first+1)
}

// fill converts the tables into the data of an attack.
func (a *Attack) fill(d *attack.Data, original, released *table, mine, theirs []int, classes []string) {
	for j, name := range a.Keys {
		d.Numeric = append(d.Numeric, attack.NumericColumn{
			Name: name, Original: gathered(original.numbers[j], mine), Released: gathered(released.numbers[j], theirs),
		})
		d.Linked = append(d.Linked, j)
	}
	column := func(name string) attack.CategoricalColumn {
		for j, class := range classes {
			if class == name {
				return attack.CategoricalColumn{Name: name, Original: gathered(original.codes[j], mine),
					Released: gathered(released.codes[j], theirs)}
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
	groups := a.groups(classes)
	group := func(name string) []int32 { return gathered(original.codes[slices.Index(groups, name)], mine) }
	if a.Household != "" {
		d.Household = group(a.Household)
	}
	if len(a.Person) > 0 {
		columns := make([][]int32, len(a.Person))
		for i, name := range a.Person {
			columns[i] = group(name)
		}
		d.Person = attack.Persons(columns)
	}
}
