package connectors

import "encoding/json"

// Surveyed is a source without types of its own: it has looked at all values to find
// its schema. What it has found serves who opens the same data again.
type Surveyed interface {
	// Survey is what was found, as JSON; nil where nothing had to be looked at.
	Survey() (json.RawMessage, error)
}

// SurveyTaking is the configuration of such a source.
type SurveyTaking interface {
	// WithSurvey is the same configuration with what another process has found of the
	// same data, which Open then does not read for it. Open refuses what is of other
	// columns.
	WithSurvey(found json.RawMessage) SourceConfig
}

// SurveyOf returns what a source has found by looking at its values, nil where it has
// looked at none.
func SurveyOf(src Source) (json.RawMessage, error) {
	if s, ok := src.(Surveyed); ok {
		return s.Survey()
	}
	return nil, nil
}

// WithSurvey is the configuration of a source with what was found of its data, where it
// has use for it.
func WithSurvey(config SourceConfig, found json.RawMessage) SourceConfig {
	if c, ok := config.(SurveyTaking); ok && len(found) > 0 {
		return c.WithSurvey(found)
	}
	return config
}
