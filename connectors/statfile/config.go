package statfile

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/labels"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/internal/serial"
)

// Kinds are the entries of this folder in the list of formats.
var Kinds = []connectors.Format{
	kindOf(spss, "SPSS, .sav and .zsav", "SPSS, .sav and .zsav", func() connectors.SinkConfig { return new(SPSSSink) }),
	kindOf(stata, "Stata, .dta", "Stata, .dta", func() connectors.SinkConfig { return new(StataSink) }),
	kindOf(sas, "SAS, transport files (.xpt) and data sets (.sas7bdat)", "", nil),
}

// The names of the programs.
const (
	spss  = "spss"
	stata = "stata"
	sas   = "sas"
)

var extensions = map[string][]string{spss: {".sav", ".zsav"}, stata: {".dta"}, sas: {".xpt", ".sas7bdat"}}

func kindOf(program, source, sink string, newSink func() connectors.SinkConfig) connectors.Format {
	return connectors.Format{
		Name: program, SourceDoc: source, SinkDoc: sink, NewSink: newSink, Labelled: newSink != nil,
		Extensions: extensions[program],
		NewSource:  func() connectors.SourceConfig { return &SourceConfig{program: program} },
		At:         func(path string) connectors.SourceConfig { return &SourceConfig{Path: path, program: program} },
	}
}

// SourceConfig reads a file of a statistical package.
type SourceConfig struct {
	Path     string `yaml:"path" doc:"a file; or a folder or glob of files with the same columns"`
	Encoding string `yaml:"encoding" doc:"encoding of its texts, if the file does not say it or says it wrongly: windows-1252, for example"`

	program string
}

// Abilities implements connectors.SourceConfig.
func (c *SourceConfig) Abilities() connectors.SourceConfigAbilities {
	encoding := connectors.Option{Name: "encoding", Doc: "encoding of the texts", Text: &c.Encoding}
	return connectors.SourceConfigAbilities{Options: []connectors.Option{encoding}}
}

// Check implements connectors.SourceConfig.
func (c *SourceConfig) Check() check.Problems {
	var ps check.Problems
	serial.CheckPath(&ps, c.Path)
	return ps
}

// kind returns the format of a file.
func (c *SourceConfig) kind(name string) readstat.Kind {
	switch {
	case c.program == spss:
		return readstat.SAV
	case c.program == stata:
		return readstat.DTA
	case strings.EqualFold(filepath.Ext(name), ".sas7bdat"):
		return readstat.SAS7BDAT
	}
	return readstat.XPT
}

// Open implements connectors.SourceConfig.
func (c *SourceConfig) Open(ctx context.Context) (connectors.Source, error) { return open(ctx, c) }

// SPSSSink writes a file of SPSS.
type SPSSSink struct {
	Path        string   `yaml:"path" doc:"the file"`
	Labels      []string `yaml:"labels" doc:"what is released of the source's labels: values (those of codes that occur in the release), variables; cut allows those to be cut that are too long for the format; by default values"`
	Compression string   `yaml:"compression" doc:"compression of the records; by default zlib for names that end in .zsav, otherwise rows" enum:"none,rows,zlib"`
}

// StataSink writes a file of Stata.
type StataSink struct {
	Path    string   `yaml:"path" doc:"the file"`
	Labels  []string `yaml:"labels" doc:"what is released of the source's labels: values (those of codes that occur in the release), variables; cut allows those to be cut that are too long for the format; by default values"`
	Version int      `yaml:"version" doc:"117 (Stata 13), 118 (14 and later) or 119 (more than 32767 columns); by default 118"`
}

// checkSink checks what the sinks have in common.
func checkSink(path string, choice labels.Choice) check.Problems {
	var ps check.Problems
	serial.CheckPath(&ps, path)
	choice.Check(&ps, labels.Cut)
	return ps
}

// Check implements connectors.SinkConfig.
func (c *SPSSSink) Check() check.Problems {
	ps := checkSink(c.Path, c.Labels)
	ps.OneOf("compression", c.Compression, "", "none", "rows", "zlib")
	return ps
}

// Check implements connectors.SinkConfig.
func (c *StataSink) Check() check.Problems {
	ps := checkSink(c.Path, c.Labels)
	if c.Version != 0 && (c.Version < 117 || c.Version > 119) {
		ps.Addf("version", "must be 117, 118 or 119, got %d", c.Version)
	}
	return ps
}

// Abilities implements connectors.SinkConfig.
func (c *SPSSSink) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{
		ColumnsAlone: true, VariableLabels: labels.Choice(c.Labels).Has(labels.Variables)}
}

// Abilities implements connectors.SinkConfig.
func (c *StataSink) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{
		ColumnsAlone: true, VariableLabels: labels.Choice(c.Labels).Has(labels.Variables)}
}

// Carries implements connectors.SinkConfig.
func (c *SPSSSink) Carries(src connectors.Source) bool { return readBy(src, spss) }

// Carries implements connectors.SinkConfig.
func (c *StataSink) Carries(src connectors.Source) bool { return readBy(src, stata) }

func readBy(src connectors.Source, program string) bool {
	s, ok := src.(*source)
	return ok && s.format.config.program == program
}

// Paths implements connectors.SinkConfig.
func (c *SPSSSink) Paths() []string { return []string{publish.CleanPath(c.Path)} }

// Paths implements connectors.SinkConfig.
func (c *StataSink) Paths() []string { return []string{publish.CleanPath(c.Path)} }

// Create implements connectors.SinkConfig.
func (c *SPSSSink) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	t := target{program: spss, kind: readstat.SAV, path: c.Path, labels: c.Labels, compressed: 1}
	switch {
	case c.Compression == "none":
		t.compressed = 0
	case c.Compression == "zlib", c.Compression == "" && strings.EqualFold(filepath.Ext(c.Path), ".zsav"):
		t.compressed = 2
	}
	return create(ctx, c.Check(), t, plan)
}

// Create implements connectors.SinkConfig.
func (c *StataSink) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	t := target{program: stata, kind: readstat.DTA, path: c.Path, labels: c.Labels, version: c.Version}
	if t.version == 0 {
		t.version = 118
	}
	return create(ctx, c.Check(), t, plan)
}
