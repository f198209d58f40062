package csv

import (
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/compress"
)

// Kind is the entry of this folder in the list of formats.
var Kind = connectors.Format{
	Name:       "csv",
	SourceDoc:  "CSV (RFC 4180), also .gz and .zst",
	NewSource:  func() connectors.SourceConfig { return new(SourceConfig) },
	SinkDoc:    "CSV (RFC 4180), also .gz and .zst",
	NewSink:    func() connectors.SinkConfig { return new(SinkConfig) },
	Extensions: []string{".csv", tabbed},
	Compressed: compress.Suffixes,
	At: func(path string) connectors.SourceConfig {
		c := &SourceConfig{Path: path}
		if c.tabbed() {
			c.Delimiter = "\t"
		}
		return c
	},
}

// tabbed is the extension of files whose fields are separated by tabs.
const tabbed = ".tsv"

// tabbed reports whether the path has the extension of files with tabs.
func (c *SourceConfig) tabbed() bool {
	p := strings.ToLower(strings.TrimRight(c.Path, "/"))
	return strings.HasSuffix(strings.TrimSuffix(p, compress.Of(p).Extension()), tabbed)
}

// Abilities implements connectors.SourceConfig.
func (c *SourceConfig) Abilities() connectors.SourceConfigAbilities {
	can := connectors.SourceConfigAbilities{Guess: c.guess, WithStreams: c.withStreams, WithSurvey: c.withSurvey}
	can.Options = []connectors.Option{
		{Name: "delimiter", Doc: "the separator of fields, one character or tab", Text: &c.Delimiter},
		{Name: "encoding", Doc: "the text's encoding, such as windows-1252; by default UTF-8", Text: &c.Encoding},
		{Name: "decimal", Doc: "the decimal sign, a point (default) or a comma", Text: &c.Decimal},
		{Name: "thousands", Doc: "the character between groups of three digits", Text: &c.Thousands},
		{Name: "na", Doc: "texts that mean a missing value, in quotes or not, in addition to the empty field", Words: &c.NA},
	}
	return can
}
