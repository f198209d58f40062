package connectors

// StreamChoosing is the configuration of a source of files that need not open all of them.
type StreamChoosing interface {
	// WithStreams is the same configuration, whose source opens the streams that are needed
	// and the first one, whose schema is that of all. The others have their names: they
	// cannot be read, nor are they watched, but Stored opens them. A source that looks at all
	// values for its types must be told them (WithSurvey).
	WithStreams(needed func(stream int) bool) SourceConfig
}

// WithStreams is the configuration of a source of which only some streams will be read,
// where it has use for knowing it.
func WithStreams(config SourceConfig, needed func(stream int) bool) SourceConfig {
	if c, ok := config.(StreamChoosing); ok {
		return c.WithStreams(needed)
	}
	return config
}
