package arrowipc

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

const (
	formatFile   = "file"
	formatStream = "stream"
)

// Kind is the entry of this folder in the list of formats.
var Kind = connectors.Format{
	Name:       "arrow",
	SourceDoc:  "Arrow IPC, file or stream, or - for standard input",
	NewSource:  func() connectors.SourceConfig { return new(SourceConfig) },
	SinkDoc:    "Arrow IPC, file or stream, or - for standard output",
	NewSink:    func() connectors.SinkConfig { return new(SinkConfig) },
	Extensions: extensions,
	At:         func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
}

var extensions = []string{".arrow", ".feather", ".arrows", ".ipc"}

// SourceConfig reads Arrow IPC.
type SourceConfig struct {
	Path   string `yaml:"path" doc:"a file, a folder, a glob, or - for a stream on standard input"`
	Format string `yaml:"format" doc:"file or stream; by default determined from each file's first bytes" enum:"file,stream"`

	stdin io.Reader // nil: os.Stdin
}

// SinkConfig writes Arrow IPC.
type SinkConfig struct {
	Path        string `yaml:"path" doc:"the file, a folder if the source is a folder, or - for a stream on standard output, which is written when the release is complete"`
	Format      string `yaml:"format" doc:"file or stream; by default stream for - and names that end in .arrows, otherwise file" enum:"file,stream"`
	Compression string `yaml:"compression" doc:"compression of the buffers" enum:"zstd,lz4,none"`

	stdout io.Writer // nil: os.Stdout
}

var (
	_ connectors.SourceConfig = (*SourceConfig)(nil)
	_ connectors.SinkConfig   = (*SinkConfig)(nil)
)

// Check reports what is wrong with the parameters.
func (c *SourceConfig) Check() check.Problems {
	var ps check.Problems
	if c.Path == "" {
		ps.Addf("path", "must name a file, a folder, a glob, or - for standard input")
	}
	objectpath.Check(&ps, "path", c.Path)
	ps.OneOf("format", c.Format, "", formatFile, formatStream)
	if c.Path == "-" && c.Format == formatFile {
		ps.Addf("format", "must be stream for standard input: a file is read from its end")
	}
	return ps
}

// Open reads the schemas of all files, and the places of their batches; from standard
// input only the schema. An error names the file.
func (c *SourceConfig) Open(ctx context.Context) (connectors.Source, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	if c.Path == "-" {
		in := c.stdin
		if in == nil {
			in = os.Stdin
		}
		return openPipe(ctx, in)
	}
	set, err := files.Find(ctx, c.Path, extensions...)
	if err != nil {
		return nil, err
	}
	return open(ctx, set, c.Format)
}

// Abilities implements connectors.SourceConfig: none.
func (c *SourceConfig) Abilities() (none connectors.SourceConfigAbilities) { return none }

// Check reports what is wrong with the parameters.
func (c *SinkConfig) Check() check.Problems {
	var ps check.Problems
	if c.Path == "" {
		ps.Addf("path", "must name a file, a folder, or - for standard output")
	}
	objectpath.Check(&ps, "path", c.Path)
	ps.OneOf("format", c.Format, "", formatFile, formatStream)
	if c.Path == "-" && c.Format == formatFile {
		ps.Addf("format", "must be stream for standard output")
	}
	ps.OneOf("compression", c.Compression, "", "none", "zstd", "lz4")
	return ps
}

// format returns the format to write.
func (c *SinkConfig) format() string {
	switch {
	case c.Format != "":
		return c.Format
	case c.Path == "-", strings.EqualFold(filepath.Ext(c.Path), ".arrows"):
		return formatStream
	}
	return formatFile
}

// Carries reports whether src is Arrow IPC too.
func (c *SinkConfig) Carries(src connectors.Source) bool {
	_, ok := src.(*source)
	return ok
}

// Abilities implements connectors.SinkConfig: none.
func (c *SinkConfig) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{ColumnsAlone: true}
}

// Paths returns the file or folder that Commit names; nothing for standard
// output.
func (c *SinkConfig) Paths() []string {
	if c.Path == "-" {
		return nil
	}
	return []string{publish.CleanPath(c.Path)}
}

// Create prepares the release. It returns an error if a column has a type that cannot be
// written, if the release would replace the source, or if another run is writing the
// same name.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// A folder that is replaced is removed, and may still be read.
	if err := connectors.Spare(plan.Source, c.Path); err != nil {
		return nil, err
	}
	return newSink(c, plan)
}
