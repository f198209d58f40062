package abilities

import (
	"context"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// Description returns the name of a source or sink that consists neither of files nor of
// topics; "" for all others.
func Description(config any) string {
	if d, ok := config.(connectors.Described); ok {
		return d.Describe()
	}
	return ""
}

// KeyColumn returns the released column that becomes the key of messages and must therefore be
// decoded; "" if there is none.
func KeyColumn(config connectors.SinkConfig) string {
	if k, ok := config.(connectors.KeyedByColumn); ok {
		return k.KeyColumn()
	}
	return ""
}

// Passes says what a sink releases of a record besides its columns; "" if that is nothing.
func Passes(config connectors.SinkConfig) string {
	if p, ok := config.(connectors.PassingMore); ok {
		return p.PassesMore()
	}
	return ""
}

// TakesStream reports whether a sink can take a stream without end.
func TakesStream(config connectors.SinkConfig) bool {
	s, ok := config.(connectors.StreamTaking)
	return ok && s.TakesStream()
}

// Tell passes two things to the configuration of a connector that uses them and has no fields
// for them: the name of the pipeline, and the function that looks up environment variables.
func Tell(config any, pipeline string, lookup func(name string) (string, bool)) {
	if c, ok := config.(connectors.SecretHolding); ok && lookup != nil {
		c.SetLookup(lookup)
	}
	if c, ok := config.(connectors.PipelineNamed); ok {
		c.SetPipeline(pipeline)
	}
}

// ReleasesVariableLabels reports whether a sink is configured to release the labels of variables.
func ReleasesVariableLabels(config connectors.SinkConfig) bool {
	c, ok := config.(connectors.VariableLabelling)
	return ok && c.ReleasesVariableLabels()
}

// WritesJSON reports whether a sink writes JSON text as a JSON value and not as a string. If it
// does not, columns with values of several types are refused.
func WritesJSON(config connectors.SinkConfig, src connectors.SourceConfig) bool {
	w, ok := config.(connectors.JSONWriting)
	return ok && w.WritesJSON(src)
}

// NamesMissing says how missing values of masked columns are written, if a sink chooses among
// several spellings; "" if it does not.
func NamesMissing(config connectors.SinkConfig, src connectors.SourceConfig) string {
	if m, ok := config.(connectors.MissingNaming); ok {
		return m.NamesMissing(src)
	}
	return ""
}

// DeclarableOf returns the configuration as a Declarable; nil if it is none.
func DeclarableOf(config connectors.SourceConfig) connectors.Declarable {
	d, _ := config.(connectors.Declarable)
	return d
}

// TopicsOf returns the topics of the configuration of a source or sink; nil if it has none.
func TopicsOf(config any) *connectors.Topics {
	if c, ok := config.(connectors.OfTopics); ok {
		return c.DescribeTopics()
	}
	return nil
}

// Guess lets a source determine missing settings from its data, if it can (Guessing).
func Guess(ctx context.Context, config connectors.SourceConfig) error {
	if g, ok := config.(connectors.Guessing); ok {
		return g.Guess(ctx)
	}
	return nil
}

// Options returns the settings of a source; nil where it has none.
func Options(config connectors.SourceConfig) []connectors.Option {
	if o, ok := config.(connectors.Optioned); ok {
		return o.Options()
	}
	return nil
}

// Rearranged prepares a release of records in another order, as their texts; nil if the sink's records are none.
func Rearranged(ctx context.Context, config connectors.SinkConfig, plan connectors.Plan) (connectors.Rearranged, error) {
	if r, ok := config.(connectors.Rearranging); ok {
		return r.CreateRearranged(ctx, plan)
	}
	return nil, nil
}
