package attack

import (
	"context"
	"fmt"
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

// Unseen names released columns of which nothing is held.
func (j *Joined) Unseen() []string {
	if j.pl == nil {
		return nil
	}
	return j.pl.Unseen
}

// With returns what a gate judges of the table where a snooper also has what other tables release of each record: lists
// of columns by record, each of which he tries. columns are the measures of the table by itself.
func (j *Joined) With(ctx context.Context, columns []assess.ColumnMeasures, lists [][]assess.Seen) (*assess.Measures,
	error) {
	m := &assess.Measures{Records: int64(j.Records), Gated: j.pl.Config.Gate.Judges(),
		Columns: j.acc.WithTables(columns, lists)}
	p := j.acc.Pairs()
	for _, more := range lists {
		d := dataOf(j.pl, j.chain, p)
		o, err := optionsOf(j.pl, &d)
		if err != nil || o.Inversion == nil {
			return m, err
		}
		for _, c := range more {
			column := attack.BesideColumn{Name: c.Name, Released: c.Values}
			d.Shown, d.Beside = append(slices.Clip(d.Shown), column), append(slices.Clip(d.Beside), column)
		}
		found, err := attack.Run(ctx, d, attack.Options{Targets: o.Targets, Inversion: o.Inversion})
		if err != nil {
			return nil, fmt.Errorf("assess.intruder: %w", err)
		}
		m.Identity = greater(m.Identity, found.Identity())
	}
	return m, nil
}

// greater returns, of what a snooper states and computes back by two lists of columns, what he does by the better one.
func greater(a, b *assess.Identity) *assess.Identity {
	if a == nil {
		return b
	}
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
