package connectors

import "encoding/json"

// Surveyed is a source of an untyped format that has read all values to find its schema. Its
// result can be used when the same data are opened again.
type Surveyed interface {
	// Survey returns what was learnt about the data, as JSON; nil if no value had to be read.
	Survey() (json.RawMessage, error)
}

// SurveyTaking is the configuration of a Surveyed source that accepts the result of another
// process.
type SurveyTaking interface {
	// WithSurvey returns the same configuration with the result of another process that has
	// read the same data, so that Open need not read them again. Open refuses the result of
	// other columns.
	WithSurvey(found json.RawMessage) SourceConfig
}

// SurveyOf returns what a source has learnt about its data by reading the values; nil if it has
// read none.
func SurveyOf(src Source) (json.RawMessage, error) {
	if s, ok := src.(Surveyed); ok {
		return s.Survey()
	}
	return nil, nil
}

// WithSurvey returns the configuration of a source with the result of SurveyOf, if the source
// can use it.
func WithSurvey(config SourceConfig, found json.RawMessage) SourceConfig {
	if c, ok := config.(SurveyTaking); ok && len(found) > 0 {
		return c.WithSurvey(found)
	}
	return config
}
