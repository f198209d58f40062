package attack

import (
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// dataOf puts pairs into the form of an attack.
func dataOf(pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs) attack.Data {
	g := &gathered{pl: pl, chain: chain, p: p, in: pl.Config.Assess.Intruder,
		categories: map[string]attack.CategoricalColumn{}}
	g.numbers()
	g.beside()
	g.keys()
	g.respondents()
	return g.d
}

// gathered is an attack's data while they are put together.
type gathered struct {
	pl         *pipeline.Plan
	chain      *transform.Chain
	p          assess.Pairs
	in         *config.Intruder // nil if nothing is configured
	categories map[string]attack.CategoricalColumn
	d          attack.Data
}

// carried returns the original values of a carried column.
func (g *gathered) carried(name string) []float64 {
	return g.p.Carried[slices.Index(g.p.CarriedColumns, g.pl.Intruder.Index[name])]
}

// numbers adds the measured columns.
func (g *gathered) numbers() {
	if !g.p.Complete {
		g.d.Records = g.p.Records
	}
	for c, column := range g.pl.Assessed {
		grid := 0.0
		for _, touched := range g.pl.Columns {
			if touched.Name == column.Name && touched.Decimals >= 0 {
				grid = math.Pow10(-touched.Decimals)
			}
		}
		if slices.Contains(g.pl.Intruder.Linked, column.Name) {
			g.d.Linked = append(g.d.Linked, c)
		}
		g.d.Numeric = append(g.d.Numeric, attack.NumericColumn{
			Name: column.Name, Grid: grid, Original: g.p.Original[c], Released: g.p.Released[c], Withheld: column.Withheld,
			Alike: column.Alike,
		})
	}
}

// beside adds what the release shows of other columns.
func (g *gathered) beside() {
	p := g.p
	for _, name := range g.pl.Intruder.Beside {
		i := slices.Index(p.CarriedColumns, g.pl.Intruder.Index[name])
		values := p.CarriedReleased[i]
		if values == nil {
			values = p.Carried[i]
		}
		if at := slices.Index(p.BesideColumns, name); at >= 0 {
			values = p.Beside[at] // dates are in their order
		}
		g.d.Beside = append(g.d.Beside, attack.BesideColumn{Name: name, Released: assess.Known(values)})
	}
	for i, name := range p.PieceColumns {
		if slices.Contains(g.pl.Intruder.Beside, name) {
			g.d.Pieces = append(g.d.Pieces, attack.BesideColumn{Name: name, Released: p.Pieces[i]})
		}
	}
	for i, name := range p.BesideColumns {
		g.d.Shown = append(g.d.Shown, attack.BesideColumn{Name: name, Released: p.Beside[i]})
	}
	g.d.Read = readBy(g.pl, p)
}

// keys adds the categorical columns.
func (g *gathered) keys() {
	pl, p := g.pl, g.p
	for _, name := range slices.Concat(pl.Intruder.Counted, pl.Intruder.Keys) {
		if _, done := g.categories[name]; !done {
			c := categoriesOf(pl, p, name)
			c.Recoded = recodedFirst(pl, &c)
			g.categories[name] = c
		}
	}
	g.d.Released = g.in != nil && g.in.Count == config.CountReleased
	joined := joinedBy(pl, g.categories)
	for _, name := range pl.Intruder.Keys {
		g.key(name, joined)
	}
	for _, u := range pl.Intruder.Uncounted {
		c := g.categories[u.Name]
		c.Name, c.Known = u.Name, &attack.Known{Not: u.Why}
		if c.Original == nil {
			c.Original = make([]int32, p.Len()) // not read
		}
		g.d.Counted = append(g.d.Counted, c)
	}
	for _, name := range pl.Intruder.Counted {
		g.d.Categorical = append(g.d.Categorical, g.categories[name])
	}
	for _, name := range pl.Intruder.Inferred {
		g.d.Inferred = append(g.d.Inferred, categoriesOf(pl, p, name))
	}
	for _, name := range pl.Intruder.Modelled {
		g.d.Modelled = append(g.d.Modelled, categoriesOf(pl, p, name))
	}
}

// key adds a key that is counted, unless it is a pseudonym that tells nothing by itself; joined says why pseudonyms are
// not counted.
func (g *gathered) key(name string, joined map[string]string) {
	pl, c := g.pl, g.categories[name]
	if not, renamed := joined[name]; renamed {
		switch {
		case pl.IsPerson(name) && len(pl.Intruder.Keys) > 1:
			return // what it joins is counted by persons
		case not != "":
			c.Known = &attack.Known{Not: not}
		case !slices.Contains(pl.Config.Assess.IntruderKeys(), name) && isConstant(c.Original):
			return // a pseudonym of one record tells nothing
		}
	}
	if !g.d.Released && c.Known == nil {
		c.Known, c.Cells = knownOf(pl, g.chain, g.p, &c, g.categories)
		g.categories[name] = c
	}
	original, released := codesOfKey(pl, g.p, name)
	g.d.Counted = append(g.d.Counted, withMissingCodes(c, original, released))
}

// respondents adds whose the records are, how many of the population they stand for, and what is sensitive.
func (g *gathered) respondents() {
	pl, config := g.pl, g.pl.Config
	if g.in != nil && g.in.Population != nil {
		if w := config.PopulationWeight(); w != "" {
			g.d.Persons = g.carried(w)
		}
	}
	if w := config.UniquenessWeight(); w != "" && config.CountsUniqueness() {
		g.d.Weights = g.carried(w)
	}
	if g.in != nil && g.in.Uniqueness != nil {
		for _, name := range g.in.Uniqueness.Sensitive {
			g.d.Sensitive = append(g.d.Sensitive, categoriesOf(pl, g.p, name))
		}
	}
	if h := config.UniquenessHousehold(); h != "" && slices.Contains(g.p.CarriedColumns, pl.Intruder.Index[h]) {
		g.d.Household = uniqueness.Codes(g.carried(h))
	}
	g.d.Person, g.d.Apart = personOf(pl, g.p)
	g.d.Ordered = !config.Sink.Shuffled()
}

// readBy returns the columns that masks read and do not change, such as the keys and attributes of swaps, whatever
// their role: they are released, and the snooper knows the groups by them.
func readBy(pl *pipeline.Plan, p assess.Pairs) (list []inversion.Key) {
	seen := map[string]bool{}
	for _, m := range pl.Config.Masks {
		for _, name := range m.Params.Reads() {
			if seen[name] {
				continue
			}
			seen[name] = true
			at := slices.IndexFunc(pl.Columns, func(c transform.ColumnInfo) bool { return c.Name == name })
			if at < 0 {
				continue
			}
			i := slices.Index(p.CarriedColumns, pl.Columns[at].Index)
			if i < 0 {
				continue // it is among the numeric columns
			}
			values := p.Carried[i]
			if p.CarriedReleased[i] != nil {
				values = p.CarriedReleased[i]
			}
			list = append(list, inversion.Key{Name: name, Codes: uniqueness.Codes(values)})
		}
	}
	return list
}

// codesOfKey returns the numbers that represent the categories of a column; released is nil if no mask changes it.
func codesOfKey(pl *pipeline.Plan, p assess.Pairs, name string) (original, released []float64) {
	index := pl.Intruder.Index[name]
	if i := slices.Index(p.CarriedColumns, index); i >= 0 {
		return p.Carried[i], p.CarriedReleased[i]
	}
	c := slices.IndexFunc(pl.Assessed, func(c assess.Column) bool { return c.Index == index })
	return p.Original[c], p.Released[c]
}

// categoriesOf returns the categories of a column. If a mask changes it, they are those of the
// original and of the release, with common codes.
func categoriesOf(pl *pipeline.Plan, p assess.Pairs, name string) attack.CategoricalColumn {
	original, released := codesOfKey(pl, p, name)
	if released == nil {
		return attack.CategoricalColumn{Name: name, Original: uniqueness.Codes(original)}
	}
	values := slices.Concat(original, released)
	both := uniqueness.Codes(values)
	n := len(original)
	return attack.CategoricalColumn{Name: name, Original: both[:n:n], Released: both[n:], Code: codesOf(values, both)}
}

// codesOf returns a function that finds the code of a category by its text. values are the
// numbers that represent the categories: the number itself, or the CategoryCode of a text.
func codesOf(values []float64, codes []int32) func(text string) (int32, bool) {
	return codesBy(values, codes, func(text string) []float64 {
		list := []float64{microdata.CategoryCode([]byte(text))}
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			list = append(list, v+0)
		}
		return list
	})
}

// codesBy is codesOf where a category of a text is represented by one of some numbers.
func codesBy(values []float64, codes []int32, numbers func(text string) []float64) func(text string) (int32, bool) {
	of := sync.OnceValue(func() map[float64]int32 {
		of := map[float64]int32{}
		for i, v := range values {
			if codes[i] >= 0 {
				of[v] = codes[i]
			}
		}
		return of
	})
	return func(text string) (int32, bool) {
		for _, v := range numbers(text) {
			if code, ok := of()[v]; ok {
				return code, true
			}
		}
		return 0, false
	}
}
