package foreign

import (
	"context"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/referee"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// matches reports whether a part was asked for that needs to know which released record is whose.
func (a *Attack) matches() bool {
	return !a.Unmatched && len(a.Keys)+len(a.Categorical) > 0 || a.Referee == nil && len(a.Models) == 0
}

// referee measures what does not need to know which released record is whose, and adds it to the result.
func (a *Attack) referee(ctx context.Context, files *opened, control connectors.Source, out *Attacked,
	progress *pipeline.Progress) error {
	sources, words := files.sources[:2:2], files.words[:2:2]
	if control != nil {
		sources, words = append(sources, control), append(words, "control")
	}
	names, err := a.compared(sources, words)
	if err != nil {
		return err
	}
	extra := a.modelled(names)
	for k := range 2 {
		if err := needs(words[k], sources[k].Schema(), false, extra...); err != nil {
			return err
		}
	}
	held, malformed, err := a.holdAll(ctx, sources, words, slices.Concat(names, extra), len(names), progress)
	if err != nil {
		return err
	}
	progress.Measuring()
	r := out.Result
	out.Malformed = max(out.Malformed, malformed)
	if !a.matches() && len(held) > 0 {
		c := &held[0].Sides[referee.Released]
		r.Records = int64(len(c.Numbers) + len(c.Codes))
	}
	if a.Referee != nil {
		if r.Referee, err = referee.Run(ctx, referee.Data{Columns: held[:len(names)]}, *a.Referee); err != nil {
			return err
		}
	}
	return a.fitModels(ctx, held, r)
}

// fitModels fits the regressions that were asked for.
func (a *Attack) fitModels(ctx context.Context, held []referee.Column, r *attack.Result) error {
	var columns []loss.ModelColumn
	for _, c := range held {
		m := loss.ModelColumn{Name: c.Name}
		for k, s := range []referee.Side{referee.Original, referee.Released} {
			m.Numbers[k], m.Codes[k] = c.Sides[s].Numbers, c.Sides[s].Codes
		}
		columns = append(columns, m)
	}
	without := loss.Together(loss.Pair{}, nil, a.Models, columns)
	for i, m := range a.Models {
		overlap, err := loss.FitModel(ctx, m, columns, 0.95, without[i])
		if err != nil {
			return pipeline.DataErrorf("models: %v", err)
		}
		r.Models = append(r.Models, *overlap)
	}
	return nil
}

// modelled returns the columns of the models that are not among names.
func (a *Attack) modelled(names []string) (extra []string) {
	for _, m := range a.Models {
		for _, name := range m.Columns() {
			if !slices.Contains(names, name) && !slices.Contains(extra, name) {
				extra = append(extra, name)
			}
		}
	}
	return extra
}

// compared returns the columns that the referee compares: those that were named, or all that the files share but the
// one that identifies records. It returns an error if a named one is not in all files.
func (a *Attack) compared(sources []connectors.Source, words []string) ([]string, error) {
	if a.Referee == nil {
		return nil, nil
	}
	names := a.Columns
	if len(names) == 0 {
		for _, f := range sources[0].Schema().Fields {
			shared := func(src connectors.Source) bool {
				i := src.Schema().Index(f.Name)
				return i >= 0 && !src.Schema().Fields[i].Nested()
			}
			if f.Name != a.ID && !slices.ContainsFunc(sources, func(src connectors.Source) bool { return !shared(src) }) {
				names = append(names, f.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil, pipeline.DataErrorf("the files have no column in common")
	}
	for k, src := range sources {
		if err := needs(words[k], src.Schema(), false, names...); err != nil {
			return nil, err
		}
	}
	o := a.Referee
	for _, list := range [][]string{slices.Concat(a.Keys, a.Categorical), o.Secrets, slices.Concat(o.Aux...)} {
		for _, name := range list {
			if !slices.Contains(names, name) {
				return nil, pipeline.DataErrorf("column %q is not among those that all files have and that are compared", name)
			}
		}
	}
	o.Known = withoutRepeats(a.Keys, a.Categorical)
	return names, nil
}

// holdAll reads columns of all files, the last ones only of the original and the released file. Those that hold numbers
// in each file are numeric, unless they were named as categorical.
func (a *Attack) holdAll(ctx context.Context, sources []connectors.Source, words []string, names []string, ofAll int,
	progress *pipeline.Progress) (list []referee.Column, malformed int, err error) {
	columns := make([]referee.Column, len(names))
	categories := make([]*category, len(names))
	for i, name := range names {
		var schemas []*microdata.Schema
		for k, src := range sources {
			if k < 2 || i < ofAll {
				schemas = append(schemas, src.Schema())
			}
		}
		categories[i] = newCategory(name, schemas...)
		columns[i] = referee.Column{Name: name, Numeric: categories[i].number && !slices.Contains(a.Categorical, name)}
	}
	for k, src := range sources {
		if k == 2 {
			columns = columns[:ofAll]
		}
		var numbers []string
		var coded []*category
		for i, c := range columns {
			if c.Numeric {
				numbers = append(numbers, c.Name)
			} else {
				coded = append(coded, categories[i])
			}
		}
		progress.Start("read", src.Records())
		t, err := hold(ctx, src, numbers, coded, "", progress)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", words[k], err)
		}
		if t.n == 0 {
			return nil, 0, pipeline.DataErrorf("the %s file has no records", words[k])
		}
		malformed += t.malformed
		number, code := 0, 0
		for i := range columns {
			if columns[i].Numeric {
				columns[i].Sides[k].Numbers = t.numbers[number]
				number++
			} else {
				columns[i].Sides[k].Codes = t.codes[code]
				code++
			}
		}
	}
	return columns[:len(names)], malformed, nil
}
