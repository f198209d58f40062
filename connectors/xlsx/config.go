package xlsx

import (
	"context"
	"maps"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/labels"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/serial"
	"github.com/sdlfilter/sdlfilter/internal/text"
)

// Kind is the entry of this folder in the list of formats.
var Kind = connectors.Format{
	Name:       "xlsx",
	SourceDoc:  "Excel, .xlsx: one sheet, whose first row names the columns",
	NewSource:  func() connectors.SourceConfig { return new(SourceConfig) },
	SinkDoc:    "Excel, .xlsx",
	Labelled:   true,
	NewSink:    func() connectors.SinkConfig { return new(SinkConfig) },
	Extensions: []string{".xlsx"},
	At:         func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
}

// SourceConfig reads a sheet.
type SourceConfig struct {
	Path  string            `yaml:"path" doc:"a file; or a folder or glob of files with the same columns"`
	Sheet string            `yaml:"sheet" doc:"the name of the sheet; by default the first one"`
	Types map[string]string `yaml:"types" doc:"types of columns, declared instead of inferred: int64, float64, string, bool, date or timestamp"`
}

// SinkConfig writes a workbook.
type SinkConfig struct {
	Path   string   `yaml:"path" doc:"the file"`
	Labels []string `yaml:"labels" doc:"what is released of the source's labels, on a second sheet: values (those of codes that occur in the release), variables; by default values"`
}

// Abilities implements connectors.SourceConfig.
func (c *SourceConfig) Abilities() connectors.SourceConfigAbilities {
	sheet := connectors.Option{Name: "sheet", Doc: "the sheet of a workbook", Text: &c.Sheet}
	return connectors.SourceConfigAbilities{Options: []connectors.Option{sheet}}
}

// Check implements connectors.SourceConfig.
func (c *SourceConfig) Check() check.Problems {
	var ps check.Problems
	serial.CheckPath(&ps, c.Path)
	for _, name := range slices.Sorted(maps.Keys(c.Types)) {
		if t, err := text.ParseType(c.Types[name]); err != nil {
			ps.Addf("types."+name, "%v", err)
		} else if !holds(t) {
			ps.Addf("types."+name, "must be int64, float64, string, bool, date or timestamp, got %q", c.Types[name])
		}
	}
	return ps
}

// Open implements connectors.SourceConfig.
func (c *SourceConfig) Open(ctx context.Context) (connectors.Source, error) { return open(ctx, c) }

// Check implements connectors.SinkConfig.
func (c *SinkConfig) Check() check.Problems {
	var ps check.Problems
	serial.CheckPath(&ps, c.Path)
	labels.Choice(c.Labels).Check(&ps)
	return ps
}

// Abilities implements connectors.SinkConfig.
func (c *SinkConfig) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{
		ColumnsAlone: true, VariableLabels: labels.Choice(c.Labels).Has(labels.Variables)}
}

// Carries implements connectors.SinkConfig: nothing is carried.
func (c *SinkConfig) Carries(connectors.Source) bool { return false }

// Paths implements connectors.SinkConfig.
func (c *SinkConfig) Paths() []string { return []string{publish.CleanPath(c.Path)} }

// Create implements connectors.SinkConfig.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	return create(ctx, c, plan)
}
