package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// ProfileSource describes every numeric column of a source, without the declared codes for missing values.
func ProfileSource(ctx context.Context, c connectors.SourceConfig, missing map[string]*microdata.Missing,
	progress *Progress) (*assess.Profile, error) {
	return profileOf(ctx, &config.Pipeline{Source: config.Source{Config: c}}, missing, progress)
}

// DeclareCodes gives the fields of a schema the declared codes for missing values.
func DeclareCodes(schema *microdata.Schema, missing map[string]*microdata.Missing) error {
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		at := schema.Index(name)
		if at < 0 {
			return DataErrorf("--missing: there is no column %q%s", name, check.SuggestPlace(name, schema.Names()))
		}
		schema.Fields[at].Missing = missing[name]
	}
	return nil
}

// ProfilePipeline returns the numeric columns that a configuration lists, without identifiers.
// The profile file that it names may be the one to be written, and is not read.
func ProfilePipeline(ctx context.Context, p *config.Pipeline, progress *Progress) (*assess.Profile, error) {
	anew := *p
	anew.Profile = ""
	return profileOf(ctx, &anew, nil, progress)
}

func profileOf(ctx context.Context, p *config.Pipeline, missing map[string]*microdata.Missing, progress *Progress) (
	*assess.Profile, error) {
	src, err := OpenSource(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	if err := DeclareCodes(src.Schema(), missing); err != nil {
		return nil, err
	}
	pl := &Plan{Config: p, Source: src}
	var names []string
	for _, f := range src.Schema().Fields {
		if !f.Numeric() {
			continue
		}
		if c := p.Columns.Named(f.Name); len(p.Columns) == 0 || c != nil && c.Role != "identifier" {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return nil, DataErrorf("the source has no numeric column to describe")
	}
	progress.Start("profile", src.Records())
	return profileColumns(ctx, pl, names, progress)
}
