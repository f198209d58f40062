package attack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Run computes the parts of an attack that o requests, one after another, each on all
// processors. It returns an error if the data do not fit together, if a part lacks
// columns, if a part fails (with the name of the part), or if ctx ends.
//
// Targets are the o.Targets records in the middle of as many equal stretches of the
// file. Linkage and the Bayesian intruder use the linked numeric columns; Gower's
// distance also uses the categorical ones, in the coding of the release. Uniqueness is counted
// from the snooper's side. If d is a sample of the release, each of its records represents Records/n
// records: the weights (1 if none are given) are multiplied by this factor, so that F_k
// estimates the population of the release; f_k is counted within the sample. Intervals
// and loss use all numeric columns, inversion those that a mask names. For a column
// with unknown grid (0) a value counts as recovered if it is within an interval of
// width 2⁻²⁰ of the original SD, centred on the original value.
func Run(ctx context.Context, d Data, o Options) (*Result, error) {
	n, err := d.check()
	if err != nil {
		return nil, err
	}
	if err := o.check(&d); err != nil {
		return nil, err
	}
	if o.Attribute != nil {
		if err := o.Attribute.check(&d, n); err != nil {
			return nil, err
		}
	}
	a := attack{d: &d, o: &o, n: n, r: &Result{Schema: Schema, Records: int64(n), Keys: []string{}}}
	if d.Records > int64(n) {
		a.r.Records, a.r.Sampled = d.Records, n
	}
	for _, j := range d.Linked {
		a.r.Keys = append(a.r.Keys, d.Numeric[j].Name)
	}
	if o.Linkage != nil && o.Linkage.Distance == linkage.Gower {
		for _, c := range d.Categorical {
			a.r.Categorical = append(a.r.Categorical, c.Name)
		}
	}
	a.choose()
	for _, part := range []struct {
		name      string
		requested bool
		run       func(context.Context) error
	}{
		{"linkage", o.Linkage != nil, a.linkage},
		{"bayes", o.Bayes != nil, a.bayes},
		{"uniqueness", o.Uniqueness != nil, a.uniqueness},
		{"population", o.Population != nil, a.population},
		{"interval", len(o.Intervals) > 0, a.interval},
		{"utility", o.Loss != nil, a.utility},
		{"categories", o.Categories && len(a.masked()) > 0, a.categories},
		{"averaging", o.Averaging, a.averaging},
		{"inversion", o.Inversion != nil, a.inversion},
		{"attribute", o.Attribute != nil, a.attribute},
	} {
		if !part.requested {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := part.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return a.r, nil
}

type attack struct {
	d *Data
	o *Options
	n int
	r *Result
}

// choose selects the targets, each from the middle of its stretch of the records.
func (a *attack) choose() {
	targets := a.o.Targets
	if targets <= 0 || targets > a.n {
		targets = a.n
	}
	a.r.Targets = targets
	a.r.chosen = make([]int32, targets)
	for i := range a.r.chosen {
		a.r.chosen[i] = int32((2*int64(i) + 1) * int64(a.n) / (2 * int64(targets)))
	}
}

// all reports whether every record is a target.
func (a *attack) all() bool { return a.r.Targets == a.n }

// linked returns the linked keys of the targets and of the release.
func (a *attack) linked() (targets, released [][]float64) {
	for _, j := range a.d.Linked {
		c := &a.d.Numeric[j]
		targets = append(targets, pick(a, c.Original))
		released = append(released, c.Released)
	}
	return targets, released
}

// pick returns the targets' values of a column.
func pick[T any](a *attack, column []T) []T {
	if a.all() {
		return column
	}
	values := make([]T, len(a.r.chosen))
	for i, r := range a.r.chosen {
		values[i] = column[r]
	}
	return values
}

// keys returns the keys of targets and release, and the options of linkage.
func (a *attack) keys() (targets, released linkage.Keys, o linkage.Options) {
	targets.Numeric, released.Numeric = a.linked()
	o = linkage.Options{Distance: a.o.Linkage.Distance, Covariance: a.o.Linkage.Covariance}
	if o.Distance == linkage.Gower {
		for i := range a.d.Categorical {
			c := a.counting(&a.d.Categorical[i])
			targets.Categorical = append(targets.Categorical, pick(a, c.known()))
			released.Categorical = append(released.Categorical, c.released())
		}
	}
	if !a.all() {
		o.Truth = a.r.chosen
		if o.Distance == linkage.Ranks {
			whole := linkage.Keys{}
			for _, j := range a.d.Linked {
				whole.Numeric = append(whole.Numeric, a.d.Numeric[j].Original)
			}
			o.Reference = &whole
		}
	}
	return targets, released, o
}

func (a *attack) linkage(ctx context.Context) (err error) {
	targets, released, o := a.keys()
	o.OneToOne = a.o.Linkage.OneToOne
	a.r.Linkage, err = linkage.Link(ctx, targets, released, o)
	return err
}

func (a *attack) bayes(ctx context.Context) (err error) {
	p := intruder.Problem{Truth: a.r.chosen}
	p.Targets, p.Released = a.linked()
	if a.r.Bayes, err = intruder.Run(ctx, p, *a.o.Bayes); err != nil {
		return err
	}
	for i := range a.r.Bayes.Worst {
		w := &a.r.Bayes.Worst[i]
		w.Record = a.d.place(w.Record)
	}
	return nil
}

// codes returns the released codes of the columns.
func codes(columns []CategoricalColumn) []uniqueness.Column {
	var list []uniqueness.Column
	for i := range columns {
		list = append(list, uniqueness.Column{Name: columns[i].Name, Codes: columns[i].released()})
	}
	return list
}

func (a *attack) pair() loss.Pair {
	var p loss.Pair
	for _, c := range a.d.Numeric {
		p.Names = append(p.Names, c.Name)
		p.Original = append(p.Original, c.Original)
		p.Released = append(p.Released, c.Released)
	}
	return p
}

func (a *attack) interval(context.Context) error {
	v, err := loss.IntervalOf(a.pair(), a.o.Intervals)
	if err != nil {
		return err
	}
	a.r.Interval, a.r.IntervalSound = v.Risk, v.Sound
	return nil
}

func (a *attack) utility(ctx context.Context) (err error) {
	var columns []loss.ModelColumn
	for _, c := range a.d.Modelled {
		columns = append(columns, loss.ModelColumn{Name: c.Name, Codes: [2][]int32{c.published(), c.released()}})
	}
	for _, c := range a.d.Numeric {
		columns = append(columns, loss.ModelColumn{Name: c.Name, Numbers: [2][]float64{c.Original, c.Released}})
	}
	o := *a.o.Loss
	without := loss.Together(a.pair(), o.Regressions, a.o.Models, columns)
	o.Regressions = slices.Clone(o.Regressions)
	for i := range o.Regressions {
		o.Regressions[i].Without = without[i]
	}
	if a.r.Utility, err = loss.Measure(ctx, a.pair(), o); err != nil || len(a.o.Models) == 0 {
		return err
	}
	for i, m := range a.o.Models {
		overlap, err := loss.FitModel(ctx, m, columns, 0.95, without[len(o.Regressions)+i])
		if err != nil {
			return fmt.Errorf("models[%d]: %w", i, err)
		}
		a.r.Utility.Regressions = append(a.r.Utility.Regressions, *overlap)
	}
	return nil
}

// masked returns the categorical columns that masks have changed.
func (a *attack) masked() (list []loss.CategoryPair) {
	for _, c := range a.d.Categorical {
		if c.Released != nil {
			list = append(list, c.Pair())
		}
	}
	return list
}

func (a *attack) categories(context.Context) (err error) {
	a.r.Categories, err = loss.CategoriesOf(a.masked())
	if err != nil || a.r.Sampled > 0 {
		return err // a record that is unique in a sample need not be unique among all records
	}
	var original, released [][]int32
	for i := range a.d.Categorical {
		c := &a.d.Categorical[i]
		original, released = append(original, c.published()), append(released, c.released())
	}
	a.r.Replicated, err = uniqueness.ReplicatedUniques(original, released)
	return err
}

// averaging compares the means of all columns with the original on all records and, if
// linkage is requested, links the targets to the means by the linked keys.
func (a *attack) averaging(ctx context.Context) error {
	p := a.pair()
	releases := []linkage.Keys{{Numeric: p.Released}}
	for _, e := range a.d.Earlier {
		releases = append(releases, linkage.Keys{Numeric: e})
	}
	v, err := linkage.Average(ctx, linkage.Keys{Numeric: p.Original}, releases, linkage.Options{}, false)
	if err != nil {
		return err
	}
	a.r.Averaging = &Averaging{Releases: v.Releases}
	for j, c := range v.Columns {
		a.r.Averaging.Columns = append(a.r.Averaging.Columns, AveragedColumn{Name: p.Names[j], AveragedColumn: c})
	}
	if a.o.Linkage == nil || len(a.d.Linked) == 0 {
		return nil
	}
	targets, released, o := a.keys()
	linked := []linkage.Keys{released}
	for _, e := range a.d.Earlier {
		k := linkage.Keys{Categorical: released.Categorical}
		for _, j := range a.d.Linked {
			k.Numeric = append(k.Numeric, e[j])
		}
		linked = append(linked, k)
	}
	if v, err = linkage.Average(ctx, targets, linked, o, true); err != nil {
		return err
	}
	a.r.Averaging.Linkage = v.Linkage
	return nil
}

func (a *attack) inversion(ctx context.Context) (err error) {
	release := inversion.Release{}
	var silent []string
	var together, others []int // columns that are sought with all released ones, and those that only tell of them
	masks := a.o.Inversion.Masks
	known := a.o.Inversion.Known
	if known.N == 0 {
		known.N = int(a.r.Records)
	}
	named, read := namedBy(masks)
	// The records that can have been swapped are known only from the whole release.
	whole := a.r.Sampled == 0
	for i := range a.d.Numeric {
		c := &a.d.Numeric[i]
		switch {
		case named[c.Name] && a.isCategory(c.Name):
		case named[c.Name] && a.o.Inversion.Unasked && !a.attackable(masks, c.Name, &silent):
			others = append(others, i)
		case named[c.Name]:
			grid := c.Grid
			if grid == 0 {
				grid = fine(c.Original)
			}
			release.Columns = append(release.Columns,
				inversion.Column{Name: c.Name, Grid: grid, Original: c.Original, Released: c.Released})
			if a.o.Inversion.Alone[c.Name] {
				others = append(others, i)
			} else {
				together = append(together, i)
			}
		case read[c.Name] && whole:
			release.Keys = append(release.Keys, inversion.Key{Name: c.Name, Codes: uniqueness.Codes(c.Released)})
		}
		// A column may be listed as a numeric and as a categorical one.
		named[c.Name], read[c.Name] = false, false
	}
	release.Told = a.told(together, others)
	categories := a.changed()
	for _, columns := range [][]CategoricalColumn{a.d.Categorical, a.d.Inferred} {
		for i := range columns {
			if c := &columns[i]; whole && (named[c.Name] || read[c.Name]) {
				release.Keys = append(release.Keys, inversion.Key{Name: c.Name, Codes: c.released()})
			}
		}
	}
	for _, k := range a.d.Read {
		known := func(name string) bool { return name == k.Name }
		if whole && !slices.ContainsFunc(release.Keys, func(o inversion.Key) bool { return known(o.Name) }) &&
			!slices.ContainsFunc(release.Columns, func(o inversion.Column) bool { return known(o.Name) }) {
			release.Keys = append(release.Keys, k)
		}
	}
	switch {
	case len(release.Columns) > 0:
		a.r.Inversion, err = inversion.Attack(ctx, masks, known, release, inversion.Options{Within: a.o.Inversion.Within})
	case len(categories) > 0:
		a.r.Inversion = &inversion.Result{Passed: true, Confidence: inversion.DefaultConfidence,
			Columns: []inversion.ColumnResult{}}
	case a.o.Inversion.Unasked && len(silent) == 0:
		return nil
	case a.o.Inversion.Unasked:
		a.r.Inversion = &inversion.Result{Passed: true, Confidence: inversion.DefaultConfidence,
			Columns: []inversion.ColumnResult{}}
	default:
		err = errors.New("must have a numeric column or a categorical key that some mask names, got none")
	}
	if err == nil && len(silent) > 0 {
		a.r.Inversion.Unknown, a.r.Inversion.Passed = silent, false
	}
	if err != nil || len(categories) == 0 || a.o.Inversion.Unasked && !a.stratified(masks) {
		return err
	}
	r := a.r.Inversion
	if r.Categories, err = inversion.Categories(ctx, masks, categories, a.originals(), whole); err != nil {
		return err
	}
	if err = inversion.Told(ctx, masks, categories, a.originals(), a.beside(), whole, r.Categories); err != nil {
		return err
	}
	a.showHidden(r.Categories)
	for _, c := range r.Categories {
		r.Passed = r.Passed && c.Passed
	}
	return nil
}

// showHidden fails the keys of whose hidden cells other released columns tell more than half.
func (a *attack) showHidden(list []inversion.CategoryResult) {
	told := a.r.Told
	if a.r.Uniqueness == nil || a.d.Released {
		told = a.d.snooped().told
	}
	for i := range list {
		c := &list[i]
		at := slices.IndexFunc(told, func(t Told) bool { return t.Name == c.Name && !t.Coded })
		if at < 0 || !c.Passed || 2*told[at].Cells <= told[at].Hidden {
			continue
		}
		c.Passed, c.By, c.Hidden, c.Recovered, c.Tells = false, inversion.Determined, told[at].Hidden, told[at].Cells,
			told[at].Tells
	}
}

// attackable reports whether the masks of a numeric column can be undone as those of numbers. It adds
// the column to silent if one of them does not say what it does.
func (a *attack) attackable(masks []transform.Spec, name string, silent *[]string) bool {
	for _, m := range masks {
		if !slices.Contains(m.Params.Masks(), name) {
			continue
		}
		switch transform.ActionOf(m.Params, name, 1).(type) {
		case nil:
			*silent = append(*silent, name)
			return false
		case transform.Recoding, transform.Randomising, transform.Suppression:
			return false // categories that are not counted
		}
	}
	return true
}

// stratified reports whether the strata of all randomising masks are known.
func (a *attack) stratified(masks []transform.Spec) bool {
	known := a.originals()
	for _, m := range masks {
		for _, name := range m.Params.Masks() {
			r, ok := transform.ActionOf(m.Params, name, 1).(transform.Randomising)
			for _, by := range r.By {
				if _, there := known[by]; ok && !there {
					return false
				}
			}
		}
	}
	return true
}

// namedBy returns the columns that masks change, and those that they only read.
func namedBy(masks []transform.Spec) (named, read map[string]bool) {
	named, read = map[string]bool{}, map[string]bool{}
	for _, m := range masks {
		for _, name := range m.Params.Masks() {
			named[name] = true
		}
	}
	for _, m := range masks {
		for _, name := range m.Params.Reads() {
			read[name] = !named[name]
		}
	}
	return named, read
}

// isCategory reports whether a column is also a masked categorical key.
func (a *attack) isCategory(name string) bool {
	return slices.ContainsFunc(a.changed(), func(c inversion.CategoryColumn) bool { return c.Name == name })
}

// changed returns the categorical keys, and the other columns to infer, that masks change and whose category texts are
// known.
func (a *attack) changed() (list []inversion.CategoryColumn) {
	for _, c := range slices.Concat(a.d.Categorical, a.d.Inferred) {
		if c.Released != nil && c.Code != nil {
			list = append(list, inversion.CategoryColumn{Name: c.Name, Original: c.Original, Released: c.Released, Code: c.Code})
		}
	}
	return list
}

// originals returns the original codes of the categorical keys, of the other columns to infer, and of what masks only
// read, by name.
func (a *attack) originals() map[string][]int32 {
	keys := map[string][]int32{}
	for _, k := range a.d.Read {
		keys[k.Name] = k.Codes
	}
	for _, c := range slices.Concat(a.d.Categorical, a.d.Inferred) {
		keys[c.Name] = c.Original
	}
	return keys
}

// fine returns the grid of a column with unknown grid: 2⁻²⁰ of the SD, of the absolute
// mean if the SD is 0, or of 1 if both are 0.
func fine(values []float64) float64 {
	m := loss.MomentsOf(values)
	for _, size := range []*float64{m.SD, m.Mean} {
		if size == nil {
			continue
		}
		if s := math.Ldexp(math.Abs(*size), -20); s > 0 && !math.IsInf(s, 1) {
			return s
		}
	}
	return math.Ldexp(1, -20)
}

// released returns the codes in the release.
func (c *CategoricalColumn) released() []int32 {
	if c.Released == nil {
		return c.Original
	}
	return c.Released
}
