package attack

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/transform"
)

// bins is the number of classes of a numeric column whose values are nearly all different.
const bins = 20

// beside returns all released columns as they are seen beside a category, each once.
func (a *attack) beside() (list []inversion.Key) {
	add := func(name string, codes []int32) {
		if !slices.ContainsFunc(list, func(k inversion.Key) bool { return k.Name == name }) {
			list = append(list, inversion.Key{Name: name, Codes: codes})
		}
	}
	for _, columns := range [][]CategoricalColumn{a.d.Categorical, a.d.Inferred, a.d.Sensitive} {
		for i := range columns {
			add(columns[i].Name, columns[i].released())
		}
	}
	for i := range a.d.Numeric {
		codes, _ := seen(a.d.Numeric[i].Released)
		add(a.d.Numeric[i].Name, codes)
	}
	apart := map[string]bool{} // columns whose values nearly all occur once
	for i := range a.d.Beside {
		codes, classed := seen(a.d.Beside[i].Released)
		add(a.d.Beside[i].Name, codes)
		if apart[a.d.Beside[i].Name] = classed; classed {
			for _, codes := range digits(a.d.Beside[i].Released) {
				list = append(list, inversion.Key{Name: a.d.Beside[i].Name, Codes: codes})
			}
		}
	}
	for i := range a.d.Pieces {
		if apart[a.d.Pieces[i].Name] { // their order may tell nevertheless
			list = append(list, inversion.Key{Name: a.d.Pieces[i].Name, Codes: classes(a.d.Pieces[i].Released)})
		}
	}
	return list
}

// Told says which hidden cells of a key are told.
type Told struct {
	Name   string   `json:"name"`
	Hidden int      `json:"hidden" doc:"number of cells that are missing in the release but not in the original, or that leave in a coarser coding"`
	Coded  bool     `json:"coded,omitempty" doc:"whether it is the values before they were put into a coarser coding that are told"`
	Cells  int      `json:"cells" doc:"number of them that other released columns tell"`
	Tells  []string `json:"tells" doc:"what tells them, beginning with what tells most cells"`
}

// ToldWords warns of each key of which hidden cells are told.
func (r *Result) ToldWords() (list []string) {
	for _, t := range r.Told {
		if t.Coded {
			list = append(list,
				fmt.Sprintf("%s: %d of %d values before they were recoded follow from %s: k counts them as if they were released",
					t.Name, t.Cells, t.Hidden,
					strings.Join(t.Tells, " and from ")))
			continue
		}
		list = append(list,
			fmt.Sprintf("%s: %d of %d cells that masks have hidden follow from %s: k counts them as if they were released",
				t.Name, t.Cells, t.Hidden,
				strings.Join(t.Tells, " and from ")))
	}
	return list
}

// fileOrder is the name of the order of the records among what tells hidden cells.
const fileOrder = "the order of the records"

// toldCells returns the released codes of a key with those of hidden cells that the other released columns tell.
func toldCells(clues func() inversion.Clues, name string, known, released []int32) ([]int32, Told) {
	hidden := false
	for i, y := range released {
		hidden = hidden || y < 0 && known[i] >= 0
	}
	if !hidden {
		return released, Told{}
	}
	s := clues().Shown(name, known, released)
	return s.Codes, Told{Name: name, Hidden: s.Hidden, Cells: s.Told, Tells: s.Tells}
}

// finer returns the codes of a key that leaves in a coarser coding, as a snooper knows them and as they leave, with the
// original values apart that other released columns tell in at least half of their records.
func finer(clues func() inversion.Clues, c *CategoricalColumn, known, released []int32) (knows, shows []int32,
	told Told) {
	into := map[int32]int32{} // by code of the release, an original one; −1: several
	for i, y := range known {
		x, there := into[y]
		switch {
		case y < 0 || c.Original[i] < 0:
		case !there:
			into[y] = c.Original[i]
		case x != c.Original[i]:
			into[y] = -1
		}
	}
	coarser := false
	for _, x := range into {
		coarser = coarser || x < 0
	}
	if !coarser {
		return known, released, Told{}
	}
	is, tells := clues().Finer(c.Name, c.Original)
	if is == nil {
		return known, released, Told{}
	}
	count, of := map[int32]int{}, map[int32]int{}
	last := int32(0)
	for i, x := range c.Original {
		if last = max(last, known[i], released[i]); x < 0 || known[i] < 0 || into[known[i]] >= 0 {
			continue
		}
		count[x]++
		if told.Hidden++; is[i] {
			of[x]++
		}
	}
	knows, shows = slices.Clone(known), slices.Clone(released)
	for i, x := range c.Original {
		if x < 0 || known[i] < 0 || into[known[i]] >= 0 || 2*of[x] < count[x] {
			continue
		}
		knows[i] = last + 1 + x
		if is[i] && released[i] >= 0 {
			shows[i] = last + 1 + x
			told.Cells++
		}
	}
	told.Name, told.Coded, told.Tells = c.Name, true, tells
	return knows, shows, told
}

// clues returns what may tell of the hidden cells of keys: the released columns, each once, and what else the
// snooper sees.
func (d *Data) clues() inversion.Clues {
	var list []inversion.Clue
	named := map[string]bool{}
	add := func(name string, codes []int32, values []float64) {
		if named[name] {
			return
		}
		named[name] = true
		list = append(list, inversion.Clue{Name: name, Codes: codes, Numbers: values})
	}
	for _, columns := range [][]CategoricalColumn{d.Categorical, d.Inferred, d.Sensitive, d.counted()} {
		for i := range columns {
			add(columns[i].Name, columns[i].released(), nil)
		}
	}
	for i := range d.Numeric {
		if c := &d.Numeric[i]; !c.Withheld {
			add(c.Name, nil, c.Released)
		}
	}
	for _, c := range slices.Concat(d.Beside, d.Shown) {
		if named[c.Name] {
			continue
		}
		add(c.Name, nil, c.Released)
		for _, codes := range digits(c.Released) {
			list = append(list, inversion.Clue{Name: c.Name, Codes: codes})
		}
	}
	for _, c := range d.Pieces {
		list = append(list, inversion.Clue{Name: c.Name, Numbers: c.Released})
	}
	if d.Household != nil {
		list = append(list, inversion.Clue{Name: "the household", Codes: d.Household, Records: true})
	}
	if d.Person != nil {
		list = append(list, inversion.Clue{Name: "the person", Codes: d.Person, Records: true})
	}
	if d.Ordered {
		places := make([]float64, len(d.counted()[0].Original))
		for i := range places {
			places[i] = float64(i)
		}
		list = append(list, inversion.Clue{Name: fileOrder, Numbers: places, Records: true})
	}
	return inversion.CluesOf(list)
}

// seen returns the codes of values, or of their classes where most of them occur once.
func seen(values []float64) (codes []int32, classed bool) {
	codes = uniqueness.Codes(values)
	if len(codes) == 0 || int(slices.Max(codes)) < len(codes)/2 {
		return codes, false
	}
	return classes(values), true
}

// digits returns, of a column of whole numbers of four digits or more, their digits in twos, and the last four: a day
// that is written as 24111987 has its year there.
func digits(values []float64) (list [][]int32) {
	greatest, long, whole, there := 0.0, 0, 0, 0
	for _, v := range values {
		switch {
		case v != v:
			continue
		case v >= 0 && v < 1e15 && v == math.Floor(v):
			whole++
			greatest = max(greatest, v)
			if v >= 1000 {
				long++
			}
		}
		there++
	}
	if whole == 0 || 2*long < whole || 20*whole < 19*there {
		return nil
	}
	add := func(over, below float64) {
		codes := make([]int32, len(values))
		for i, v := range values {
			if codes[i] = -1; v >= 0 && v < 1e15 {
				codes[i] = int32(math.Mod(math.Floor(v/over), below))
			}
		}
		list = append(list, codes)
	}
	places := int(math.Log10(greatest)) + 1
	for k := range places - 1 {
		add(math.Pow10(k), 100)
	}
	if places > 4 {
		add(1, 1e4)
	}
	return list
}

// classes returns the codes of classes of about equally many values, −1 for none.
func classes(values []float64) []int32 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	codes := make([]int32, len(values))
	for i, v := range values {
		if v != v {
			codes[i] = -1
			continue
		}
		at, _ := slices.BinarySearch(sorted, v)
		codes[i] = int32(at * bins / len(sorted))
	}
	return codes
}

// mostTold is the number of records up to which all are looked at together, so that those of one group
// tell of each other; else someTold of them are, each by itself.
const (
	mostTold = 30_000
	someTold = 5000
)

// looked returns the records that are looked at together.
func (a *attack) looked() []int {
	at := make([]int, a.n)
	for i := range at {
		at[i] = i
	}
	if a.n > mostTold {
		at = at[:someTold]
		for k := range at {
			at[k] = int(int64(k) * int64(a.n) / someTold)
		}
	}
	return at
}

// told returns what the released columns together state of the originals of numeric columns, by name; of others they
// only estimate them, as these may tell of the columns.
func (a *attack) told(columns, others []int) map[string][][]float64 {
	at := a.looked()
	of := func(value func(i int) float64) []float64 {
		values := make([]float64, len(at))
		for k, i := range at {
			values[k] = value(i)
		}
		return values
	}
	seen, own := a.together(of)
	var sought []assess.Sought
	for k, i := range slices.Concat(columns, others) {
		c := &a.d.Numeric[i]
		sought = append(sought,
			assess.Sought{Name: c.Name, Alike: c.Alike, Own: own[i], Distances: a.o.Inversion.Within[c.Name],
				Beside:   k >= len(columns),
				Original: of(func(i int) float64 { return c.Original[i] }),
				Released: of(func(i int) float64 { return c.Released[i] })})
	}
	told := map[string][][]float64{}
	var together []assess.MovedTogether
	for _, e := range transform.MovesTogether(a.o.Inversion.Masks) {
		together = append(together, assess.MovedTogether(e))
	}
	for s, lists := range assess.Claims(seen, sought, together, a.r.Sampled == 0 && len(at) == a.n) {
		for l, values := range lists {
			lists[l] = make([]float64, a.n)
			for i := range lists[l] {
				lists[l][i] = math.NaN()
			}
			for k, i := range at {
				lists[l][i] = values[k]
			}
		}
		told[sought[s].Name] = lists
	}
	return told
}

// together returns the released columns, each once, and the places of the numeric ones among them; −1 if
// one is not released.
func (a *attack) together(of func(value func(i int) float64) []float64) (list []assess.Seen, own []int) {
	add := func(name string, categories bool, value func(i int) float64) {
		if !slices.ContainsFunc(list, func(s assess.Seen) bool { return s.Name == name }) {
			list = append(list, assess.Seen{Name: name, Categories: categories, Values: of(value)})
		}
	}
	for i := range a.d.Numeric {
		c := &a.d.Numeric[i]
		if own = append(own, -1); c.Withheld {
			continue
		}
		own[i] = len(list)
		add(c.Name, false, func(i int) float64 { return c.Released[i] })
	}
	for i := range a.d.Shown {
		add(a.d.Shown[i].Name, false, func(k int) float64 { return a.d.Shown[i].Released[k] })
	}
	for _, columns := range [][]CategoricalColumn{a.d.Categorical, a.d.Inferred, a.d.Sensitive} {
		for i := range columns {
			codes := columns[i].released()
			add(columns[i].Name, true, func(k int) float64 {
				if codes[k] < 0 {
					return math.NaN()
				}
				return float64(codes[k])
			})
		}
	}
	return list, own
}

// ExactTogether returns, by column, what inversion.ExactTogether says of a snooper who has several releases: held has
// what each has of a column, and within the distances. d.Shown also has the other columns of all releases.
// totals were published of columns, of which observed has what the releases have of each.
func ExactTogether(d Data, held map[string][]assess.Held, within map[string][]float64, totals []assess.Totals,
	members map[string][]float64, observed map[string][]assess.Held) (map[string][]inversion.Exact, error) {
	n, err := d.check()
	if err != nil {
		return nil, err
	}
	d.Shown = slices.Clone(d.Shown)
	a := attack{d: &d, o: &Options{Inversion: &Inversion{Within: within}}, n: n,
		r: &Result{Records: max(d.Records, int64(n))}}
	if d.Records > int64(n) {
		a.r.Sampled = n
	}
	byTotals, err := a.byTotals(totals, members, observed)
	if err != nil {
		return nil, err
	}
	var columns []int
	for i := range d.Numeric {
		if c := &d.Numeric[i]; len(held[c.Name]) > 0 {
			columns = append(columns, i)
			d.Shown = append(d.Shown,
				BesideColumn{Name: c.Name + " in all releases", Released: a.mean(c.Original, held[c.Name])})
		}
	}
	told := a.told(columns, nil)
	found := map[string][]inversion.Exact{}
	for _, i := range columns {
		c := &d.Numeric[i]
		grid := c.Grid
		if grid == 0 {
			grid = fine(c.Original)
		}
		var releases []inversion.Held
		for _, h := range slices.Concat(held[c.Name], byTotals[c.Name]) {
			releases = append(releases, inversion.Held{Released: h.Values, Law: h.Law})
		}
		list,
			err := inversion.ExactTogether(
			inversion.Column{Name: c.Name, Grid: grid, Original: c.Original, Released: c.Released},
			int(a.r.Records), releases, told[c.Name], within[c.Name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		found[c.Name] = list
	}
	return found, nil
}

// byTotals adds to what is shown what totals tell of columns, and returns further observations of their values.
func (a *attack) byTotals(totals []assess.Totals, members map[string][]float64, observed map[string][]assess.Held) (
	map[string][]assess.Held, error) {
	seen, own := a.together(func(value func(i int) float64) []float64 {
		values := make([]float64, a.n)
		for i := range values {
			values[i] = value(i)
		}
		return values
	})
	var columns []assess.Sought
	for i := range a.d.Numeric {
		c := &a.d.Numeric[i]
		columns = append(columns, assess.Sought{Name: c.Name, Own: own[i], Original: c.Original, Released: c.Released})
	}
	complete := a.r.Sampled == 0 && a.n <= mostTold
	more, held, err := assess.ByTotals(totals, members, seen, columns, observed, complete)
	for _, c := range more {
		a.d.Shown = append(a.d.Shown, BesideColumn{Name: c.Name, Released: c.Values})
	}
	return held, err
}

// mean returns the mean of the posterior by all releases, for the records that are looked at together; NaN for others.
func (a *attack) mean(originals []float64, held []assess.Held) []float64 {
	at := a.looked()
	of := func(values []float64) []float64 {
		some := make([]float64, len(at))
		for k, i := range at {
			some[k] = values[i]
		}
		return some
	}
	some := make([]assess.Held, len(held))
	for k, h := range held {
		some[k] = assess.Held{Values: of(h.Values), Law: h.Law}
	}
	mean := slices.Repeat([]float64{math.NaN()}, a.n)
	for k, v := range assess.MeanOf(of(originals), some) {
		mean[at[k]] = v
	}
	return mean
}

// PosteriorTogether returns the greatest probability of an original category for an intruder who has this release, with
// masks, and earlier ones, by column. d.Beside also has the other columns of all releases, and what HeldCategories.Name
// names. why says of which column it is not known; "" if it is.
func PosteriorTogether(ctx context.Context, d Data, masks []transform.Spec,
	earlier map[string][]inversion.HeldCategories) (most float64, why string, err error) {
	n, err := d.check()
	if err != nil {
		return 0, "", err
	}
	a := attack{d: &d, o: &Options{}, n: n, r: &Result{}}
	if d.Records > int64(n) {
		a.r.Sampled = n
	}
	for _, c := range a.changed() {
		held := []inversion.HeldCategories{{Name: c.Name, Masks: masks, Column: c}}
		for _, e := range earlier[c.Name] {
			if !slices.ContainsFunc(held, func(h inversion.HeldCategories) bool {
				return sameGroups(h.Column.Released, e.Column.Released) && sameMasks(h, e)
			}) {
				held = append(held, e)
			}
		}
		beside := slices.DeleteFunc(a.beside(), func(k inversion.Key) bool {
			return k.Name == c.Name || slices.ContainsFunc(earlier[c.Name], func(h inversion.HeldCategories) bool {
				return h.Name == k.Name
			})
		})
		var others []inversion.Key
		for _, k := range beside {
			if !slices.ContainsFunc(others, func(o inversion.Key) bool { return sameGroups(o.Codes, k.Codes) }) {
				others = append(others, k)
			}
		}
		p, err := inversion.PosteriorTogether(ctx, held, a.originals(), others, a.r.Sampled == 0)
		switch {
		case ctx.Err() != nil:
			return 0, "", context.Cause(ctx)
		case err != nil:
			return 0, c.Name + ": " + err.Error(), nil
		case p != nil:
			most = max(most, *p)
		}
	}
	return most, "", nil
}

// sameMasks reports whether two releases changed a column by the same masks: with the same values, by the same draws.
func sameMasks(a, b inversion.HeldCategories) bool {
	of := func(h inversion.HeldCategories) (list []any) {
		for _, m := range h.Masks {
			if slices.Contains(m.Params.Masks(), h.Column.Name) {
				list = append(list, m.Params)
			}
		}
		return list
	}
	return reflect.DeepEqual(of(a), of(b))
}

// sameGroups reports whether two columns of codes put the same records together, and miss the same.
func sameGroups(a, b []int32) bool {
	to, from := map[int32]int32{}, map[int32]int32{}
	for i, x := range a {
		y := b[i]
		if (x < 0) != (y < 0) {
			return false
		}
		t, known := to[x]
		f, back := from[y]
		if known && t != y || back && f != x {
			return false
		}
		to[x], from[y] = y, x
	}
	return true
}
