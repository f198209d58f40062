package abilities

import (
	"encoding/json"
	"fmt"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// Hold keeps the finished output of a sink without its final name, so that another process can
// publish it. It returns what that process needs.
func Hold(sink connectors.Sink) (json.RawMessage, error) {
	if h, ok := sink.(connectors.Held); ok {
		return h.Hold()
	}
	return nil, fmt.Errorf("%w: its output can get its name from no other process", connectors.ErrIndivisible)
}

// DivisibleOf returns the source as a Divisible; nil if it cannot be read in parts.
func DivisibleOf(src connectors.Source) connectors.Divisible {
	d, _ := src.(connectors.Divisible)
	return d
}

// PlacedOf returns the sink as a Placed; nil if its path cannot be replaced.
func PlacedOf(config connectors.SinkConfig) connectors.Placed {
	p, _ := config.(connectors.Placed)
	return p
}

// WithStreams is the configuration of a source of which only some streams will be read,
// where it has use for knowing it.
func WithStreams(config connectors.SourceConfig, needed func(stream int) bool) connectors.SourceConfig {
	if c, ok := config.(connectors.StreamChoosing); ok {
		return c.WithStreams(needed)
	}
	return config
}

// SurveyOf returns what a source has learnt about its data by reading the values; nil if it has
// read none.
func SurveyOf(src connectors.Source) (json.RawMessage, error) {
	if s, ok := src.(connectors.Surveyed); ok {
		return s.Survey()
	}
	return nil, nil
}

// WithSurvey returns the configuration of a source with the result of SurveyOf, if the source
// can use it.
func WithSurvey(config connectors.SourceConfig, found json.RawMessage) connectors.SourceConfig {
	if c, ok := config.(connectors.SurveyTaking); ok && len(found) > 0 {
		return c.WithSurvey(found)
	}
	return config
}
