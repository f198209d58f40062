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
	WithSurvey(survey json.RawMessage) SourceConfig
}
