package pipeline

import (
	"context"
	"fmt"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
)

// ProfileSource describes every numeric column of a source.
func ProfileSource(ctx context.Context, c connectors.SourceConfig, progress *Progress) (*assess.Profile, error) {
	return profileOf(ctx, &config.Pipeline{Source: config.Source{Config: c}}, progress)
}

// ProfilePipeline returns the numeric columns that a configuration lists, without identifiers.
// The profile file that it names may be the one to be written, and is not read.
func ProfilePipeline(ctx context.Context, p *config.Pipeline, progress *Progress) (*assess.Profile, error) {
	anew := *p
	anew.Profile = ""
	return profileOf(ctx, &anew, progress)
}

func profileOf(ctx context.Context, p *config.Pipeline, progress *Progress) (*assess.Profile, error) {
	src, err := OpenSource(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
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
