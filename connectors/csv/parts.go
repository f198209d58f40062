package csv

import (
	"context"
	"slices"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// Divide implements connectors.Divisible: parts end where records do.
func (s *source) Divide(ctx context.Context, bytes int64, cut connectors.Cut) ([]connectors.Part, error) {
	return s.pass(cut).Divide(ctx, bytes)
}

// Part implements connectors.Divisible.
func (s *source) Part(p connectors.Part) (connectors.Source, error) {
	if err := s.Input.CheckPart(p); err != nil {
		return nil, err
	}
	part := &source{
		config: s.config, Input: s.Input, dialect: s.dialect, numbers: s.numbers, nulls: s.nulls,
		schema: s.schema, heads: slices.Clone(s.heads), records: p.Records, part: &p,
	}
	part.heads[0] = s.heads[p.Stream] // the beginning of the one file of the release
	return part, nil
}

// Folder is of connectors.SourceAbilities: a release of a part is one file.
func (s *source) Folder() bool { return s.part == nil && s.Input.Folder() }
