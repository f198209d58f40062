package connectors

// StreamChoosing is the configuration of a source of files that need not open all of them.
type StreamChoosing interface {
	// WithStreams is the same configuration, whose source opens the streams that are needed
	// and the first one, whose schema is that of all. The others have their names: they
	// cannot be read, nor are they watched, but Stored opens them. A source that looks at all
	// values for its types must be told them (WithSurvey).
	WithStreams(needed func(stream int) bool) SourceConfig
}
