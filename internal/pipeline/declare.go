package pipeline

import (
	"context"
	"slices"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// declarer is a source that has no columns but those that it is told of.
type declarer interface {
	Declare(columns []message.Column, dropUnlisted, plain bool)
}

// OpenSource opens the configured source. The logger is that of ctx, if there is
// one.
func OpenSource(ctx context.Context, p *config.Pipeline) (connectors.Source, error) {
	if source, ok := p.Source.Config.(interface{ SetPipeline(name string) }); ok {
		source.SetPipeline(p.Name)
	}
	if err := Declare(p); err != nil {
		return nil, err
	}
	return p.Source.Config.Open(ctx)
}

// Declare tells a source of messages which columns there are. A column holds
// numbers where a mask computes with it, or where its decimals are known.
func Declare(p *config.Pipeline) error {
	source, ok := p.Source.Config.(declarer)
	if !ok {
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
	}
	var columns []message.Column
	for _, c := range p.Columns {
		columns = append(columns, message.Column{
			Name: c.Name, Withheld: c.Role == microdata.Identifier, Identity: slices.Contains(p.Identity, c.Name),
			Number: slices.Contains(numbers, c.Name) || c.Decimals != nil || known.Column(c.Name) != nil,
		})
	}
	source.Declare(columns, p.Unlisted == "drop", !writesJSON(p))
	return nil
}

// writesJSON reports whether the sink can hand out JSON text as it is.
func writesJSON(p *config.Pipeline) bool {
	switch sink := p.Sink.Config.(type) {
	case *kafka.SinkConfig:
		src, _ := p.Source.Config.(*kafka.SourceConfig)
		return sink.WritesJSON(src)
	case *jsonl.SinkConfig:
		return true
	}
	return false
}
