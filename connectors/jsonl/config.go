package jsonl

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/compress"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/text"
)

// SourceConfig describes JSON Lines files to be read.
type SourceConfig struct {
	Path  string            `yaml:"path" doc:"a file, a folder, a glob, or - for stdin; .gz and .zst are decompressed"`
	Types map[string]string `yaml:"types" doc:"types of columns, declared instead of inferred: int64, float64, string, bool, date, timestamp, timestamptz, decimal(p,s), or json for a member that is released as it is"`

	// Stdin is read for the path -; nil: os.Stdin.
	Stdin io.Reader `yaml:"-" json:"-"`

	listed []string              // columns, by Declare
	survey json.RawMessage       // result of another process's survey of the values; nil: a survey is made
	needed func(stream int) bool // which files are opened in addition to the first; nil: all
}

// SinkConfig describes JSON Lines files to be written.
type SinkConfig struct {
	Path        string `yaml:"path" doc:"a file, a folder, or - for stdout; .gz and .zst are compressed"`
	Compression string `yaml:"compression" doc:"none, gzip or zstd; by default determined by the path's extension"`

	// Stdout is written for the path -; nil: os.Stdout.
	Stdout io.Writer `yaml:"-" json:"-"`
}

// Kind is the entry of this folder in the list of formats.
var Kind = connectors.Format{
	Name:       "jsonl",
	SourceDoc:  "JSON Lines, also .gz and .zst",
	NewSource:  func() connectors.SourceConfig { return new(SourceConfig) },
	SinkDoc:    "JSON Lines, also .gz and .zst",
	NewSink:    func() connectors.SinkConfig { return new(SinkConfig) },
	Extensions: []string{".jsonl", ".ndjson"},
	Compressed: compress.Suffixes,
	At:         func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
}

// Check implements connectors.SourceConfig.
func (c *SourceConfig) Check() check.Problems {
	var ps check.Problems
	if c.Path == "" {
		ps.Addf("path", "must name a file, a folder, a glob, or - for stdin")
	}
	objectpath.Check(&ps, "path", c.Path)
	for _, name := range slices.Sorted(maps.Keys(c.Types)) {
		if _, _, err := parseType(c.Types[name]); err != nil {
			ps.Addf("types."+name, "%v", err)
		}
	}
	return ps
}

// parseType reads a declared type; for json there is none.
func parseType(word string) (t arrow.DataType, json bool, err error) {
	if word == "json" {
		return nil, true, nil
	}
	t, err = text.ParseType(word)
	if err != nil {
		err = fmt.Errorf("%w; json keeps a member as it is", err)
	}
	return t, false, err
}

// Open implements connectors.SourceConfig.
func (c *SourceConfig) Open(ctx context.Context) (connectors.Source, error) { return open(ctx, c) }

// Abilities implements connectors.SourceConfig.
func (c *SourceConfig) Abilities() connectors.SourceConfigAbilities {
	return connectors.SourceConfigAbilities{Declare: c.declare, WithStreams: c.withStreams, WithSurvey: c.withSurvey}
}

// Check implements connectors.SinkConfig.
func (c *SinkConfig) Check() check.Problems {
	var ps check.Problems
	if c.Path == "" {
		ps.Addf("path", "must name a file, a folder, or - for stdout")
	}
	objectpath.Check(&ps, "path", c.Path)
	if c.Compression != "" {
		ps.OneOf("compression", c.Compression, compress.Codecs...)
	}
	return ps
}

// Paths implements connectors.SinkConfig.
func (c *SinkConfig) Paths() []string { return []string{text.CleanPath(c.Path)} }

// Carries implements connectors.SinkConfig.
func (c *SinkConfig) Carries(src connectors.Source) bool {
	_, ok := src.(*source)
	return ok
}

// Abilities implements connectors.SinkConfig.
func (c *SinkConfig) Abilities() connectors.SinkConfigAbilities {
	json := func(connectors.SourceConfig) bool { return true }
	return connectors.SinkConfigAbilities{ColumnsAlone: true, WritesJSON: json, Placed: c, Rearranged: c.createRearranged}
}

func (c *SinkConfig) codec() compress.Codec {
	if c.Compression != "" {
		return compress.Codec(c.Compression)
	}
	return compress.Of(c.Path)
}

// At implements connectors.Placed.
func (c *SinkConfig) At(path string) connectors.SinkConfig {
	at := *c
	at.Path, at.Compression = path, string(c.codec())
	return &at
}

// Extension implements connectors.Placed.
func (c *SinkConfig) Extension() string { return Kind.Extensions[0] + c.codec().Extension() }
