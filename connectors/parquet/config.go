package parquet

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/labels"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

const extension = ".parquet"

// Kind is the entry of this folder in the list of formats.
var Kind = connectors.Format{
	Name:       "parquet",
	SourceDoc:  "Parquet: a file, a folder or a glob",
	NewSource:  func() connectors.SourceConfig { return new(SourceConfig) },
	SinkDoc:    "Parquet: a file, a folder where the source is one, or the rolling files of a stream",
	NewSink:    func() connectors.SinkConfig { return new(SinkConfig) },
	Extensions: extensions,
	At:         func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
}

var extensions = []string{extension, ".pq"}

// SourceConfig reads Parquet files.
type SourceConfig struct {
	Path         string   `yaml:"path" doc:"a file, a folder or a glob; Hive-style folders (key=value) become columns"`
	KeepMetadata []string `yaml:"keep_metadata" doc:"further keys of the file's key-value metadata to copy to the release; make sure that they contain nothing about a respondent"`

	needed func(stream int) bool // which files are opened in addition to the first; nil: all
}

// Abilities implements connectors.SourceConfig.
func (c *SourceConfig) Abilities() connectors.SourceConfigAbilities {
	return connectors.SourceConfigAbilities{WithStreams: c.withStreams}
}

func (c *SourceConfig) withStreams(needed func(stream int) bool) connectors.SourceConfig {
	choosing := *c
	choosing.needed = needed
	return &choosing
}

// SinkConfig writes Parquet files.
type SinkConfig struct {
	Path        string `yaml:"path" doc:"the file; a folder if the source is a folder"`
	Compression string `yaml:"compression" doc:"codec of the columns that are encoded again; by default that of the source if the source is Parquet, otherwise zstd" enum:"none,snappy,gzip,zstd,lz4,brotli"`
	Encoding    string `yaml:"encoding" doc:"compact (default): byte stream split and delta encodings where they save space; plain: encodings that the oldest readers understand" enum:"compact,plain"`

	Labels []string `yaml:"labels" doc:"what is released of the labels of a source that has them (SPSS, Stata, SAS), as JSON under the key sdlfilter.labels of the file's metadata: values (those of codes that occur in the release), variables; by default values"`

	Roll *Roll `yaml:"roll" doc:"for a stream without end: when the open files are completed; the limit that is reached first applies"`

	// create replaces the creation of files: in tests of a full disk, and for files whose names
	// other code chooses (Content).
	create func(path string) (file, error)
	table  *Table // the files are those of a table, in its folder and not under Path; nil: they are under Path
}

// file is what a sink writes to.
type file interface {
	io.Writer
	Sync() error
	Close() error
}

var (
	_ connectors.SourceConfig = (*SourceConfig)(nil)
	_ connectors.SinkConfig   = (*SinkConfig)(nil)
)

func (c *SourceConfig) Check() check.Problems {
	var ps check.Problems
	if c.Path == "" {
		ps.Addf("path", "must name a file, a folder or a glob")
	}
	objectpath.Check(&ps, "path", c.Path)
	for i, k := range c.KeepMetadata {
		switch k {
		case "":
			ps.Addf(fmt.Sprintf("keep_metadata[%d]", i), "must not be empty")
		case arrowKey, pandasKey:
			ps.Addf(fmt.Sprintf("keep_metadata[%d]", i), "must not be %q, which is made again from the released columns", k)
		}
	}
	return ps
}

// Open reads the footers of all files. An error names the file.
func (c *SourceConfig) Open(ctx context.Context) (connectors.Source, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	set, err := files.Find(ctx, c.Path, extensions...)
	if err != nil {
		return nil, err
	}
	return open(ctx, set, slices.Clone(c.KeepMetadata), c.needed, nil)
}

func (c *SinkConfig) Check() check.Problems {
	var ps check.Problems
	if c.Path == "" || c.Path == "-" {
		ps.Addf("path", "must name a file or a folder; Parquet cannot be written to a pipe")
	}
	objectpath.Check(&ps, "path", c.Path)
	ps.OneOf("compression", c.Compression, "", "none", "snappy", "gzip", "zstd", "lz4", "brotli")
	ps.OneOf("encoding", c.Encoding, "", "compact", "plain")
	labels.Choice(c.Labels).Check(&ps)
	if c.Roll != nil {
		ps.Within("roll", c.Roll.Check())
	}
	return ps
}

// Carries reports whether src is Parquet too.
func (c *SinkConfig) Carries(src connectors.Source) bool {
	return sourceOf(src) != nil
}

// Abilities implements connectors.SinkConfig. A stream is written into rolling files.
func (c *SinkConfig) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{
		ColumnsAlone: true, TakesStream: true, RollByDefault: c.rollByDefault,
		VariableLabels: labels.Choice(c.Labels).Has(labels.Variables), Placed: c,
	}
}

// Paths returns the file or folder that Commit names.
func (c *SinkConfig) Paths() []string { return []string{publish.CleanPath(c.Path)} }

// Create prepares the release. It returns an error if a column cannot be stored in
// Parquet, if the release would overwrite the source, or if another run is writing
// the same name.
func (c *SinkConfig) Create(_ context.Context, plan connectors.Plan) (connectors.Sink, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	// Chunks are copied from the source's files until the release is complete, and a
	// folder that is replaced is removed.
	if err := connectors.Spare(plan.Source, c.Path); err != nil {
		return nil, err
	}
	return newSink(c, plan)
}

// At implements connectors.Placed.
func (c *SinkConfig) At(path string) connectors.SinkConfig {
	at := *c
	at.Path = path
	return &at
}

// Extension implements connectors.Placed.
func (c *SinkConfig) Extension() string { return extension }
