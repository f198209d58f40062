package attack

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// shownBy returns the released columns.
func shownBy(pl *pipeline.Plan, p assess.Pairs) (list []assess.Seen) {
	for c, column := range pl.Assessed {
		if !column.Withheld {
			list = append(list, assess.Seen{Name: column.Name, Values: assess.Known(p.Released[c])})
		}
	}
	for i, name := range p.BesideColumns {
		list = append(list, assess.Seen{Name: name, Values: assess.Known(p.Beside[i])})
	}
	return list
}

// Masked reports whether the table has a masked column whose originals other tables could tell.
func (j *Joined) Masked() bool { return j.acc != nil }

// With returns what a gate judges of the table where a snooper also has what other tables release of each record: lists
// of columns by record, each of which he tries. columns are the measures of the table by itself, and by what is stated
// and computed back of it.
func (j *Joined) With(ctx context.Context, columns []assess.ColumnMeasures, by *assess.Identity,
	lists [][]assess.Seen) (*assess.Measures, error) {
	return j.with(ctx, columns, by, lists, assess.KnowledgeRecord)
}

// WithAll is With for a snooper who has all releases of all tables in their ledgers: by is what is stated of the table
// by all of its releases, and the lists are of what all releases of the others have.
func (j *Joined) WithAll(ctx context.Context, columns []assess.ColumnMeasures, by *assess.Identity,
	lists [][]assess.Seen) (*assess.Measures, error) {
	return j.with(ctx, columns, by, lists, assess.KnowledgeAllReleases)
}

func (j *Joined) with(ctx context.Context, columns []assess.ColumnMeasures, by *assess.Identity,
	lists [][]assess.Seen, knowledge string) (*assess.Measures, error) {
	m := &assess.Measures{Records: int64(j.Records), Gated: j.pl.Config.Gate.Judges(), Identity: by}
	var all []assess.Beside
	for _, list := range lists {
		all = append(all, assess.Beside{Columns: list, Control: func(way int) []assess.Seen { return control(list, way) }})
	}
	m.Columns = j.acc.WithTables(columns, all, knowledge)
	var own []assess.Seen
	if knowledge == assess.KnowledgeAllReleases {
		own = j.Earlier
	}
	for _, list := range all {
		with, err := j.stated(ctx, list.Columns, own)
		if err != nil || with == nil || by == nil {
			return m, err
		}
		if knowledge == assess.KnowledgeAllReleases { // of the others a rule says that they are of this release alone
			with.Exact = slices.DeleteFunc(with.Exact, func(e assess.ExactShare) bool {
				return !slices.ContainsFunc(by.Exact, func(o assess.ExactShare) bool {
					return o.Column == e.Column && o.Within == e.Within && (o.Limit == nil) == (e.Limit == nil)
				})
			})
		}
		if with = beyond(with, by, by, float64(j.Records)); !tellsMore(with, m.Identity) {
			continue // the table alone tells as much, or an earlier list: whatever they tell by chance
		}
		chance, err := j.stated(ctx, list.Control(0), own)
		if err != nil {
			return nil, err
		}
		m.Identity = greater(m.Identity, beyond(with, chance, by, float64(j.Records)))
	}
	return m, nil
}

// control puts the records of columns into another order, the same for all of them.
func control(list []assess.Seen, way int) (other []assess.Seen) {
	if len(list) == 0 {
		return nil
	}
	order := rand.New(rand.NewPCG(uint64(way), 3)).Perm(len(list[0].Values))
	for _, c := range list {
		values := make([]float64, len(order))
		for i, at := range order {
			values[i] = c.Values[at]
		}
		other = append(other, assess.Seen{Name: c.Name, Values: values, Categories: c.Categories})
	}
	return other
}

// stated returns what a snooper with more columns, of other tables and of his own, states and computes back; nil if
// nobody asks.
func (j *Joined) stated(ctx context.Context, others, own []assess.Seen) (*assess.Identity, error) {
	more := slices.Concat(others, own)
	d := dataOf(j.pl, j.chain, j.acc.Pairs())
	o, err := optionsOf(j.pl, &d)
	if err != nil || o.Inversion == nil {
		return nil, err
	}
	d.Shown, d.Beside = slices.Clone(d.Shown), slices.Clone(d.Beside)
	for _, c := range more {
		column := attack.BesideColumn{Name: c.Name, Released: c.Values}
		d.Shown, d.Beside = append(d.Shown, column), append(d.Beside, column)
	}
	found, err := attack.Run(ctx, d, attack.Options{Targets: o.Targets, Inversion: o.Inversion})
	if err != nil {
		return nil, fmt.Errorf("assess.intruder: %w", err)
	}
	id := found.Identity()
	for i := range id.Exact {
		e := &id.Exact[i]
		at := slices.IndexFunc(d.Numeric, func(c attack.NumericColumn) bool { return c.Name == e.Column })
		for _, c := range more {
			e.Found = max(e.Found, within(c.Values, d.Numeric[at].Original, e.Within))
		}
	}
	return id, nil
}

// within returns the share of originals that a column has within a distance, as it is.
func within(values, originals []float64, distance float64) float64 {
	hits, n := 0.0, 0.0
	for i, x := range originals {
		if x == x {
			if n++; math.Abs(values[i]-x) <= distance*(1+1e-9) {
				hits++
			}
		}
	}
	return hits / max(n, 1)
}

// beyond returns what a snooper states with more columns, and what he does without them where as many columns that tell
// nothing let him state it too: shares by no more than three standard errors, counts by half.
func beyond(with, chance, without *assess.Identity, n float64) *assess.Identity {
	found := *with
	found.Exact = slices.Clone(with.Exact)
	for i := range found.Exact {
		e := &found.Exact[i]
		p := max(statedOf(chance, e), statedOf(without, e), 0)
		if e.Found <= p+3*math.Sqrt(max(p*(1-p), 1/n)/n) {
			e.Found = statedOf(without, e)
		}
	}
	p := max(float64(chance.Posterior), float64(without.Posterior), 0)
	if float64(with.Posterior) <= p+0.02 {
		found.Posterior = without.Posterior
	}
	if with.Inverted != nil && chance.Inverted != nil && without.Inverted != nil &&
		2**with.Inverted <= 3**chance.Inverted {
		found.Inverted, found.InvertedBy, found.Uninverted = without.Inverted, without.InvertedBy, without.Uninverted
	}
	return &found
}

// tellsMore reports whether anything of a result is greater than in another.
func tellsMore(with, without *assess.Identity) bool {
	return with.Posterior > without.Posterior ||
		with.Inverted != nil && (without.Inverted == nil || *with.Inverted > *without.Inverted) ||
		slices.ContainsFunc(with.Exact, func(e assess.ExactShare) bool { return !(e.Found <= statedOf(without, &e)) })
}

// statedOf is the share of values that are stated as a share of another result; NaN if there is none.
func statedOf(id *assess.Identity, e *assess.ExactShare) float64 {
	for _, o := range id.Exact {
		if o.Column == e.Column && o.Within == e.Within && (o.Limit == nil) == (e.Limit == nil) {
			return o.Found
		}
	}
	return math.NaN()
}

// greater returns, of what a snooper states and computes back by two lists of columns, what he does by the better one.
func greater(a, b *assess.Identity) *assess.Identity {
	both := *b
	both.Posterior = max(a.Posterior, b.Posterior)
	if a.Inverted != nil && (b.Inverted == nil || *a.Inverted > *b.Inverted) {
		both.Inverted, both.InvertedBy, both.Uninverted = a.Inverted, a.InvertedBy, a.Uninverted
	}
	both.Exact = slices.Clone(b.Exact)
	for i := range both.Exact {
		e := &both.Exact[i]
		for _, o := range a.Exact {
			if o.Column == e.Column && o.Within == e.Within && (o.Limit == nil) == (e.Limit == nil) {
				e.Found = max(e.Found, o.Found)
			}
		}
	}
	return &both
}
