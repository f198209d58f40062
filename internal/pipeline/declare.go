package pipeline

import (
	"context"
	"errors"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/placed"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// OpenSource opens the configured source. The logger is that of ctx, if there is
// one.
func OpenSource(ctx context.Context, p *config.Pipeline) (connectors.Source, error) {
	return openSource(ctx, p, false)
}

// OpenPlain is OpenSource with decoded texts, whatever the pipeline's sink. For a JSON sink,
// OpenSource may leave texts as they are in JSON, in quotes.
func OpenPlain(ctx context.Context, p *config.Pipeline) (connectors.Source, error) {
	return openSource(ctx, p, true)
}

// OpenSources opens the sources of several configurations, those of one database in one state of it
// (connectors.Snapshot). An error is about the pipeline of the index, and after it none is open.
func OpenSources(ctx context.Context, all []*config.Pipeline) (_ []connectors.Source, index int, err error) {
	list := make([]connectors.Source, len(all))
	defer func() {
		for _, src := range list {
			if err != nil && src != nil {
				err = errors.Join(err, src.Close())
			}
		}
	}()
	together := map[string][]int{} // by kind
	for i, p := range all {
		if err := ready(p, false); err != nil {
			return nil, i, err
		}
		if p.Source.Abilities().OpenTogether != nil {
			together[p.Source.Kind] = append(together[p.Source.Kind], i)
		}
	}
	for _, indexes := range together {
		var sources []connectors.SourceConfig
		for _, i := range indexes {
			sources = append(sources, all[i].Source.Config)
		}
		some, err := sources[0].Abilities().OpenTogether(ctx, sources)
		if err != nil {
			return nil, indexes[len(some)], err
		}
		for n, i := range indexes {
			list[i] = some[n]
		}
	}
	for i, p := range all {
		if list[i] == nil {
			if list[i], err = p.Source.Config.Open(ctx); err != nil {
				list[i] = nil
				return nil, i, err
			}
		}
		if list[i], err = opened(p, list[i]); err != nil {
			return nil, i, err
		}
	}
	return list, 0, nil
}

// ready says to a source what must be said before it is opened.
func ready(p *config.Pipeline, plain bool) error {
	if named := p.Source.Abilities().SetPipeline; named != nil {
		named(p.Name)
	}
	return declare(p, plain)
}

func openSource(ctx context.Context, p *config.Pipeline, plain bool) (connectors.Source, error) {
	if err := ready(p, plain); err != nil {
		return nil, err
	}
	src, err := p.Source.Config.Open(ctx)
	if err != nil {
		return src, err
	}
	return opened(p, src)
}

// opened is an open source as the pipeline reads it; after an error it is closed.
func opened(p *config.Pipeline, src connectors.Source) (connectors.Source, error) {
	if err := DeclareMissing(p, src); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	if p.Place == nil {
		return src, nil
	}
	at, err := placed.On(src, placed.Columns{Stream: p.Place.Stream, Record: p.Place.Record})
	if err != nil {
		var problem check.Problem
		if errors.As(err, &problem) {
			err = config.Errors{p.Errorf("place."+problem.Path, "%s", problem.Text)}
		}
		return nil, errors.Join(err, src.Close())
	}
	return at, nil
}

// comparesTexts reports whether some mask compares texts with those of the configuration and
// none moves texts unchanged. Texts of JSON messages are then decoded.
func comparesTexts(masks []transform.Spec) bool {
	compares := func(m transform.Spec) bool {
		_, texts := transform.ComparedBy(m.Params)
		return putsCategories(m.Params) || len(texts) > 0
	}
	moves := func(m transform.Spec) bool { return !transform.Computes(m.Params) && !putsCategories(m.Params) }
	return slices.ContainsFunc(masks, compares) && !slices.ContainsFunc(masks, moves)
}

// putsCategories reports whether a mask replaces the categories that its parameters list by
// other ones.
func putsCategories(p transform.Params) bool {
	return transform.OnCategories(p) && transform.ScopeOf(p) == transform.ScopeRecord
}

// writesJSON reports whether the sink writes JSON text as a JSON value and not as a string. If it
// does not, columns with values of several types are refused.
func writesJSON(p *config.Pipeline) bool {
	writes := p.Sink.Abilities().WritesJSON
	return writes != nil && writes(p.Source.Config)
}

// Declare tells a source of messages which columns it has. A column is numeric if a mask
// computes with it or compares it with a number, or if its decimals are known.
func Declare(p *config.Pipeline) error { return declare(p, false) }

func declare(p *config.Pipeline, plain bool) error {
	tell := p.Source.Abilities().Declare
	if tell == nil {
		return nil
	}
	known, err := LoadProfile(p.Profile)
	if err != nil {
		return err
	}
	var numbers []string
	for _, m := range p.Masks {
		if transform.Computes(m.Params) {
			numbers = append(numbers, m.Params.Masks()...)
		}
		compared, _ := transform.ComparedBy(m.Params)
		numbers = append(numbers, compared...)
	}
	var columns []connectors.DeclaredColumn
	for _, c := range p.Columns {
		columns = append(columns, connectors.DeclaredColumn{
			Name: c.Name, Withheld: c.Role == microdata.Identifier, Identity: p.Identifies(c.Name) ||
				p.Identifies(p.Counterpart(c.Name)),
			Number: slices.Contains(numbers, c.Name) || c.Decimals != nil || known.Column(c.Name) != nil || c.Missing.HasRange(),
		})
	}
	tell(columns, p.Unlisted == "drop", plain || !writesJSON(p) || comparesTexts(p.Masks))
	return nil
}
