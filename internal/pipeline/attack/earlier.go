package attack

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// together measures what rules ask for (assess.Rule.OfUnion) of a snooper who holds this release and all earlier ones
// of the ledger, and knows which records of them are of one respondent. alone is the result for this release; nil
// without a ledger, or if no rule asks for it.
func together(ctx context.Context, pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs, alone *assess.Identity) (
	*assess.Identity, error) {
	ledger, not := pl.FromLedger()
	switch {
	case !ledger || !pl.JudgesUnion():
		return nil, nil
	case not != "":
		id := assess.Unmeasured()
		id.Uncounted, id.Unlinked, id.Unmatched, id.Untold = not, not, not, not
		for column, distances := range distances(pl.Config.Gate.Rules) {
			id.Exact = append(id.Exact, unstated(column, distances, not)...)
		}
		return id, nil
	case len(pl.Totals()) == 0 &&
		!slices.ContainsFunc(pl.EarlierReleases(), func(e *pipeline.EarlierRelease) bool { return !e.Repeats }):
		return alone, nil // there are none, or each is this one, draw by draw
	}
	u := &union{pl: pl, chain: chain, p: p, d: dataOf(pl, chain, p), alone: alone}
	var err error
	if u.o, err = optionsOf(pl, &u.d); err != nil {
		return nil, err
	}
	id, err := u.counted(ctx)
	if why := u.besideTotals(); why != "" && err == nil {
		id = assess.Unmeasured()
		id.Uncounted, id.Unlinked, id.Untold = why, why, why
		u.exactly(id)
		return id, nil
	}
	if err == nil {
		u.linked(ctx, id)
	}
	if err == nil {
		err = u.matched(ctx, id)
	}
	if err == nil {
		err = u.told(ctx, id)
	}
	if err == nil {
		u.exactly(id)
	}
	if err != nil {
		return nil, fmt.Errorf("assess.intruder: %w", err)
	}
	return id, nil
}

// besideTotals says why it is not known what tables of the ledger tell of keys and categories; "" if they tell nothing:
// no mask changes these.
func (u *union) besideTotals() string {
	if len(u.pl.Totals())+len(u.pl.Counts()) == 0 {
		return ""
	}
	if name := u.pl.MasksCategories(); name != "" {
		return fmt.Sprintf("what tables in the ledger tell of %s beside it is not computed", name)
	}
	return ""
}

// union is what all releases of the ledger and this one have of the records.
type union struct {
	pl    *pipeline.Plan
	chain *transform.Chain
	p     assess.Pairs
	d     attack.Data // of this release
	o     attack.Options
	alone *assess.Identity
}

// release returns an earlier release by its number.
func (u *union) release(number int) *pipeline.EarlierRelease {
	list := u.pl.EarlierReleases()
	return list[slices.IndexFunc(list, func(e *pipeline.EarlierRelease) bool { return e.Number == int64(number) })]
}

// shown is this release with what earlier ones show beside it.
func (u *union) shown() attack.Data {
	d := u.d
	d.Shown, d.Pieces = slices.Clone(d.Shown), slices.Clone(d.Pieces)
	for i, name := range u.p.PieceColumns {
		if !slices.Contains(u.pl.Intruder.Beside, name) { // else they are there
			d.Pieces = append(d.Pieces, attack.BesideColumn{Name: name, Released: u.p.Pieces[i]})
		}
	}
	for _, before := range u.p.Earlier {
		switch c := (attack.BesideColumn{Name: before.Name, Released: before.Values}); {
		case before.Piece > 0:
			d.Pieces = append(d.Pieces, c)
		case !before.Before:
			d.Shown = append(d.Shown, c)
		}
	}
	return d
}

// counted counts the combinations of the keys as all releases have them; nothing where no rule is about them.
func (u *union) counted(ctx context.Context) (*assess.Identity, error) {
	if !u.pl.JudgesCounts() || u.o.Uniqueness == nil {
		return assess.Unmeasured(), nil
	}
	d := u.shown()
	d.Counted = append(slices.Clone(d.Counted), u.categories()...)
	r, err := attack.Run(ctx, d, attack.Options{Targets: u.o.Targets, Uniqueness: counting(u.o.Uniqueness)})
	if err != nil {
		return nil, err
	}
	id := r.Identity()
	id.BySubset = nil // of some keys a snooper has what all releases say of each, which are several columns: not counted
	return id, nil
}

// categories returns the keys as earlier releases have them, each once.
func (u *union) categories() (list []attack.CategoricalColumn) {
	for _, k := range u.keys() {
		if !u.pl.IsKey(u.release(k.before.Release), k.before.Of) {
			continue
		}
		if c := u.category(k); !counted(list, &c) {
			list = append(list, c)
		}
	}
	return list
}

// earlierKey is a key, or another column of categories, as an earlier release has it.
type earlierKey struct {
	before, after *assess.EarlierPairs
}

// keys returns the columns of earlier releases of which the originals are known: keys, and categories that are
// inferred.
func (u *union) keys() (list []earlierKey) {
	for i := range u.p.Earlier {
		before := &u.p.Earlier[i]
		if !before.Before {
			continue
		}
		at := slices.IndexFunc(u.p.Earlier, func(c assess.EarlierPairs) bool {
			return !c.Before && c.Release == before.Release && c.Of == before.Of
		})
		list = append(list, earlierKey{before, &u.p.Earlier[at]})
	}
	return list
}

// category returns a key of an earlier release as categories.
func (u *union) category(k earlierKey) attack.CategoricalColumn {
	n := len(k.before.Values)
	both := uniqueness.Codes(slices.Concat(assess.Known(k.before.Values), assess.Known(k.after.Values)))
	c := attack.CategoricalColumn{Name: k.after.Name, Original: both[:n:n], Released: both[n:]}
	if why := u.release(k.before.Release).Uncounted(k.before.Of); why != "" {
		c.Known = &attack.Known{Not: why}
	} else if codes, same := uniqueness.Coded(c.Original, c.Released); same {
		c.Known = &attack.Known{Codes: codes}
	} else {
		c.Known = &attack.Known{Not: "was drawn at random, and the posterior by several releases is not computed"}
	}
	return c
}

// told enters the greatest probability of an original category, of the columns that this release masks. A column that
// an earlier one masked, and that this one does not have, is not looked at, and the rule then does not hold.
func (u *union) told(ctx context.Context, id *assess.Identity) error {
	if !slices.ContainsFunc(u.pl.Config.Gate.Rules, func(r assess.Rule) bool {
		return r.LimitsPosterior() && r.OfUnion()
	}) {
		return nil
	}
	if u.alone == nil || u.alone.Posterior != u.alone.Posterior {
		return nil
	}
	if id.Untold = u.gone(); id.Untold != "" {
		return nil
	}
	d := u.d
	d.Beside, d.Pieces = slices.Clone(d.Beside), slices.Clone(d.Pieces)
	for _, before := range u.p.Earlier {
		switch c := (attack.BesideColumn{Name: before.Name, Released: before.Values}); {
		case before.Piece > 0:
			d.Pieces = append(d.Pieces, c)
		case !before.Before:
			d.Beside = append(d.Beside, c)
		}
	}
	earlier := map[string][]inversion.HeldCategories{}
	for _, k := range u.keys() {
		n := len(k.before.Values)
		values := slices.Concat(assess.Known(k.before.Values), assess.Known(k.after.Values))
		both := uniqueness.Codes(values)
		code := codesBy(values, both, func(text string) []float64 { return []float64{assess.PieceOf(text)} })
		earlier[k.before.Of] = append(earlier[k.before.Of], inversion.HeldCategories{
			Name: k.after.Name, Masks: u.release(k.before.Release).Config.Masks,
			Column: inversion.CategoryColumn{Name: k.before.Of, Original: both[:n:n], Released: both[n:], Code: code},
		})
	}
	posterior, why, err := attack.PosteriorTogether(ctx, d, u.pl.Config.Masks, earlier)
	if err != nil || why != "" {
		id.Untold = why
		return err
	}
	id.Posterior = max(u.alone.Posterior, assess.Float(posterior))
	return nil
}

// gone names a column whose categories an earlier release recoded or drew, and which this one does not have; "" if
// there is none.
func (u *union) gone() string {
	for _, e := range u.pl.EarlierReleases() {
		for _, m := range e.Config.Masks {
			for _, name := range m.Params.Masks() {
				switch transform.ActionOf(m.Params, name, 1).(type) {
				case transform.Recoding, transform.Randomising:
				default:
					continue
				}
				has := slices.ContainsFunc(u.pl.Layout.Release, func(out microdata.Output) bool { return out.Field.Name == name })
				if e.Had(name) && !has {
					return fmt.Sprintf("%s masked the categories of %s, which this one does not have", e.At(), name)
				}
			}
		}
	}
	return ""
}

// heldOf returns what all releases have of a measured column of numbers, each draw once, with the laws of their masks.
// why says which law is not known; "" if all are.
func (u *union) heldOf(c *attack.NumericColumn) (held []assess.Held, why string) {
	add := func(values []float64, law assess.Law) {
		if !slices.ContainsFunc(held, func(h assess.Held) bool { return sameValues(h.Values, values) }) {
			held = append(held, assess.Held{Values: values, Law: law})
		}
	}
	const unknown = "the masks of %s on %s have no law of a single value in closed form"
	if !c.Withheld {
		law, known := u.chain.Law(c.Name)
		if !known {
			why = fmt.Sprintf(unknown, "this release", c.Name)
		}
		add(c.Released, law)
	}
	for _, before := range u.p.Earlier {
		if before.Before || before.Piece > 0 || before.Of != c.Name {
			continue
		}
		e := u.release(before.Release)
		law, known := e.Law(c.Name)
		switch {
		case !numbers(before.Values):
			return nil, fmt.Sprintf("%s has categories of %s", e.At(), c.Name)
		case !known && why == "":
			why = fmt.Sprintf(unknown, e.At(), c.Name)
		}
		add(before.Values, law)
	}
	return held, why
}

// exactly enters the shares of values that are stated within the distances of rules.
func (u *union) exactly(id *assess.Identity) {
	held, within := map[string][]assess.Held{}, map[string][]float64{}
	d := u.shown()
	for column, asked := range distances(u.pl.Config.Gate.Rules) {
		i := slices.IndexFunc(d.Numeric, func(c attack.NumericColumn) bool { return c.Name == column })
		if i < 0 || !slices.Contains(u.pl.Masked, column) {
			continue // judged without this measure
		}
		list, why := u.heldOf(&d.Numeric[i])
		if why != "" || len(list) == 0 {
			id.Exact = append(id.Exact, unstated(column, asked, cmp.Or(why, "no release has the column"))...)
			continue
		}
		held[column], within[column] = list, asked
	}
	if len(held) == 0 {
		return
	}
	observed := map[string][]assess.Held{}
	for _, t := range u.pl.Totals() {
		i := slices.IndexFunc(d.Numeric, func(c attack.NumericColumn) bool { return c.Name == t.Column })
		if observed[t.Column] != nil || i < 0 {
			continue
		}
		list, why := u.heldOf(&d.Numeric[i])
		if why != "" {
			for column, asked := range within {
				id.Exact = append(id.Exact, unstated(column, asked, why)...)
			}
			return
		}
		observed[t.Column] = list
	}
	found, err := attack.ExactTogether(d, held, within, u.pl.Totals(), u.p.Members, observed)
	for column, asked := range within {
		if err != nil {
			id.Exact = append(id.Exact, unstated(column, asked, err.Error())...)
		}
		for _, e := range found[column] {
			id.Exact = append(id.Exact,
				assess.ExactShare{Column: column, Within: e.Within, Found: max(e.Found, u.aloneWithin(column, e.Within))})
		}
	}
}

// aloneWithin returns the share of a column's values that this release alone states within a distance; 0 if that is not
// known.
func (u *union) aloneWithin(column string, distance float64) (found float64) {
	if u.alone != nil {
		for _, e := range u.alone.Exact {
			if e.Column == column && e.Within == distance && e.Limit == nil {
				found = max(found, e.Found)
			}
		}
	}
	return found
}

// unstated says of the distances of a column's rules why the share of values is not known.
func unstated(column string, distances []float64, not string) (list []assess.ExactShare) {
	for _, d := range distances {
		list = append(list, assess.ExactShare{Column: column, Within: d, Found: math.NaN(), Not: not})
	}
	return list
}

// numbers reports whether the values of a column stand for themselves, and not for categories.
func numbers(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v >= assess.Categories })
}

// sameValues reports whether two columns have the same values, and miss the same.
func sameValues(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}

// linked enters the greatest share of respondents that linkage by the configured distance finds in what all releases
// have of the keys: in this release and in each earlier one alone, in all of them side by side, in the combination of a
// key's values with the least error, and in the mean of its posterior. Draws of earlier releases under another key are
// made anew, so that two standard errors of the share are added.
func (u *union) linked(ctx context.Context, id *assess.Identity) {
	if !slices.ContainsFunc(u.pl.Config.Gate.Rules, func(r assess.Rule) bool { return r.LimitsLinks() && r.OfUnion() }) ||
		u.o.Linkage == nil {
		return
	}
	if u.alone == nil || u.alone.Linked != u.alone.Linked {
		return
	}
	tries, why := u.tries()
	if why != "" {
		id.Unlinked = why
		return
	}
	found := float64(u.alone.Linked)
	for _, d := range tries {
		r, err := attack.Run(ctx, d, attack.Options{Targets: u.o.Targets,
			Linkage: &attack.Linkage{Distance: u.o.Linkage.Distance, Covariance: u.o.Linkage.Covariance}})
		if err != nil {
			id.Unlinked = err.Error()
			return
		}
		share := float64(r.Identity().Linked)
		found = max(found, min(1, share+2*math.Sqrt(share*(1-share)/float64(r.Targets))))
	}
	id.Linked = assess.Float(found)
}

// shown is a key of numbers as one release has it.
type shown struct {
	release            int // 0: this one
	original, released []float64
	law                assess.Law // nil: not known
}

// tries returns the keys that a snooper may take for those of one release. why says what keeps a key from being linked.
func (u *union) tries() (list []attack.Data, why string) {
	numeric, order := map[string][]shown{}, []string(nil)
	add := func(name string, s shown) {
		if _, known := numeric[name]; !known {
			order = append(order, name)
		}
		if !slices.ContainsFunc(numeric[name], func(o shown) bool { return sameValues(o.released, s.released) }) {
			numeric[name] = append(numeric[name], s)
		}
	}
	for _, i := range u.d.Linked {
		if c := &u.d.Numeric[i]; !c.Withheld {
			s := shown{original: c.Original, released: c.Released}
			if law, known := u.chain.Law(c.Name); known {
				s.law = law
			}
			add(c.Name, s)
		}
	}
	categories := map[int][]attack.CategoricalColumn{0: u.d.Categorical} // by release
	for _, k := range u.keys() {
		e := u.release(k.before.Release)
		if !u.pl.IsKey(e, k.before.Of) {
			continue
		}
		linked := slices.ContainsFunc(u.d.Linked, func(i int) bool { return u.d.Numeric[i].Name == k.before.Of })
		counted := slices.Contains(u.pl.Intruder.Counted, k.before.Of)
		switch known := numbers(k.before.Values) && numbers(k.after.Values); {
		case known && !counted:
			s := shown{release: k.before.Release, original: k.before.Values, released: k.after.Values}
			if law, known := e.Law(k.before.Of); known {
				s.law = law
			}
			add(k.before.Of, s)
		case linked:
			return nil, fmt.Sprintf("%s has categories of the key %s, which is a number", e.At(), k.before.Of)
		case u.o.Linkage != nil && u.o.Linkage.Distance == linkage.Gower:
			categories[k.before.Release] = append(categories[k.before.Release], u.category(k))
		}
	}
	try := func(keys []shown, categories []attack.CategoricalColumn) {
		d := attack.Data{Records: u.d.Records, Places: u.d.Places, Categorical: categories}
		for i, k := range keys {
			d.Numeric = append(d.Numeric,
				attack.NumericColumn{Name: fmt.Sprintf("key %d", i), Original: k.original, Released: k.released})
			d.Linked = append(d.Linked, i)
		}
		if len(keys) > 0 || len(categories) > 0 {
			list = append(list, d)
		}
	}
	var all, best, means []shown
	every := slices.Clone(categories[0])
	for _, e := range u.pl.EarlierReleases() {
		every = append(every, categories[int(e.Number)]...)
	}
	for _, name := range order {
		of := numeric[name]
		all = append(all, of...)
		best, means = append(best, combined(of)), append(means, meanOf(of))
	}
	if !slices.ContainsFunc(all, func(s shown) bool { return s.release > 0 }) && len(every) == len(categories[0]) {
		return nil, "" // the earlier ones have the same draws, or none of the keys
	}
	for _, e := range u.pl.EarlierReleases() {
		release := int(e.Number)
		try(slices.DeleteFunc(slices.Clone(all), func(s shown) bool { return s.release != release }), categories[release])
	}
	try(all, every)
	try(best, every)
	try(means, every)
	return list, ""
}

// combined returns the combination of what releases have of a key whose error has the least variance: with C the
// covariance of their errors, the weights C⁻¹1/(1ᵀC⁻¹1) (the best linear unbiased estimator). Where one of them lacks a
// value, the others are taken with weights as if their errors were independent.
func combined(of []shown) shown {
	if len(of) == 1 {
		return of[0]
	}
	m, n := len(of), len(of[0].released)
	errs := mat.NewSymDense(m, nil)
	bias, pairs := make([]float64, m), 0.0
	whole := func(i int) bool {
		return !slices.ContainsFunc(of, func(s shown) bool { return math.IsNaN(s.released[i] - s.original[i]) })
	}
	for i := range n {
		if whole(i) {
			pairs++
			for k, s := range of {
				bias[k] += s.released[i] - s.original[i]
			}
		}
	}
	for k := range bias {
		bias[k] /= max(pairs, 1)
	}
	for i := range n {
		if !whole(i) {
			continue
		}
		for k, s := range of {
			for l := range k + 1 {
				o := of[l]
				errs.SetSym(k, l,
					errs.At(k, l)+(s.released[i]-s.original[i]-bias[k])*(o.released[i]-o.original[i]-bias[l])/max(pairs-1, 1))
			}
		}
	}
	var trace float64
	apart := make([]float64, m)
	for k := range m {
		trace += errs.At(k, k)
	}
	for k := range m {
		errs.SetSym(k, k, errs.At(k, k)+1e-12*trace+math.SmallestNonzeroFloat32)
		apart[k] = 1 / errs.At(k, k)
	}
	ones := mat.NewVecDense(m, slices.Repeat([]float64{1}, m))
	weights := mat.NewVecDense(m, apart)
	var chol mat.Cholesky
	if solved := mat.NewVecDense(m, nil); chol.Factorize(errs) && chol.SolveVecTo(solved, ones) == nil {
		weights = solved
	}
	c := shown{original: of[0].original, released: make([]float64, n)}
	for i := range c.released {
		var sum, total float64
		joint := whole(i)
		for k, s := range of {
			w := apart[k]
			if joint {
				w = weights.AtVec(k)
			}
			if y := s.released[i]; y == y {
				sum, total = sum+w*(y-bias[k]), total+w
			}
		}
		c.released[i] = sum / total
	}
	return c
}

// mostMeans is the number of records up to which the mean of a key's posterior is computed for linkage: of two laws it
// takes 0.4 ms for each.
const mostMeans = 5000

// meanOf returns the mean of a key's posterior by all releases whose law is known. If fewer than two are, or there are
// many records, it is the combination of the middle of the values that can have been rounded to all that was released,
// and of the others.
func meanOf(of []shown) shown {
	var held []assess.Held
	for _, s := range of {
		if s.law != nil {
			held = append(held, assess.Held{Values: s.released, Law: s.law})
		}
	}
	if len(held) >= 2 && len(of[0].original) <= mostMeans {
		return shown{original: of[0].original, released: assess.MeanOf(of[0].original, held)}
	}
	var rounded, rest []shown
	for _, s := range of {
		if s.law != nil && s.law.Fixed() {
			rounded = append(rounded, s)
		} else {
			rest = append(rest, s)
		}
	}
	if len(rounded) < 2 {
		return combined(of)
	}
	return combined(append(rest, middle(rounded)))
}

// middle returns the middle of the values that can have been rounded to what each of some releases has.
func middle(rounded []shown) shown {
	c := shown{original: rounded[0].original, released: make([]float64, len(rounded[0].original))}
	for i := range c.released {
		low, high := math.Inf(-1), math.Inf(1)
		for _, s := range rounded {
			least, most, step := s.law.Support()
			if y := s.released[i]; y > least && y < most { // at a bound all beyond are possible
				low, high = max(low, y-step/2), min(high, y+step/2)
			}
		}
		if c.released[i] = (low + high) / 2; math.IsNaN(c.released[i]) { // infinite ends
			c.released[i] = rounded[0].released[i]
		}
	}
	return c
}
