package abilities

import "github.com/sdlfilter/sdlfilter/connectors"

// SpannedOf returns the configuration as a Spanned; nil if stretches of it cannot be read.
func SpannedOf(config connectors.SourceConfig) connectors.Spanned {
	s, _ := config.(connectors.Spanned)
	return s
}

// HoldingOf returns the source as a Holding; nil if it is not a source of topics.
func HoldingOf(src connectors.Source) connectors.Holding {
	h, _ := src.(connectors.Holding)
	return h
}
