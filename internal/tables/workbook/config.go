package workbook

import (
	"context"
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// SinkConfig is the configuration of a workbook.
type SinkConfig struct {
	Path string `yaml:"path" required:"true" doc:"the workbook, whose name ends in .xlsx"`
}

const extension = ".xlsx"

// Check implements connectors.SinkConfig.
func (c *SinkConfig) Check() check.Problems {
	var ps check.Problems
	if c.Path != "" && !strings.HasSuffix(strings.ToLower(c.Path), extension) {
		ps.Addf("path", "must end in %s, got %q: Excel opens a workbook by no other name", extension, c.Path)
	}
	return ps
}

// Carries implements connectors.SinkConfig.
func (c *SinkConfig) Carries(connectors.Source) bool { return false }

// Paths implements connectors.SinkConfig.
func (c *SinkConfig) Paths() []string { return []string{c.Path} }

// Abilities implements connectors.SinkConfig.
func (c *SinkConfig) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{Placed: c}
}

// At implements connectors.Placed.
func (c *SinkConfig) At(path string) connectors.SinkConfig { return &SinkConfig{Path: path} }

// Extension implements connectors.Placed.
func (c *SinkConfig) Extension() string { return extension }

// Source tells how the cells of tables lie in the sheets of a workbook.
type Source interface {
	connectors.Source
	Sheets() []Sheet
}

// Sheet is a table: its cells come as records, in the order of Place.
type Sheet struct {
	Name      string
	Caption   string
	Variables []string  // in rows
	Columns   []string  // the heads of the columns of cells
	Rows      [][]Label // of each row: a code of each variable
	Place     []int32   // of each cell: row × number of columns + column
	Decimals  int
}

// Label is a code, with its depth below the total.
type Label struct {
	Code  string
	Depth int
}

// The greatest sheet that Excel opens.
const (
	mostRows    = 1 << 20
	mostColumns = 1 << 14
	above       = 4 // rows above the cells: name, caption, none, heads
)

// TooLarge says why a sheet cannot hold a table of so many rows and columns; "" if it can.
func TooLarge(rows, columns, variables int) string {
	switch {
	case rows+above > mostRows:
		return fmt.Sprintf(
			"has %d rows, and a sheet of Excel at most %d: use another format, or put the variable with the most codes last but one", rows, mostRows-above)
	case columns+variables > mostColumns:
		return fmt.Sprintf(
			"has %d columns, and a sheet of Excel at most %d: put the variable with the fewest codes last in rows", columns,
			mostColumns-variables)
	}
	return ""
}

// Create implements connectors.SinkConfig. The source must be a Source: a workbook holds tables, no records.
func (c *SinkConfig) Create(ctx context.Context, plan connectors.Plan) (connectors.Sink, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	src, ok := plan.Source.(Source)
	if !ok {
		return nil, fmt.Errorf("%s: a workbook holds tables, no records", c.Path)
	}
	if err := connectors.Spare(plan.Source, c.Path); err != nil {
		return nil, err
	}
	s := &sink{sheets: src.Sheets(), columns: len(plan.Layout.Release)}
	for _, sheet := range s.sheets {
		s.cells = append(s.cells, make([]cell, len(sheet.Rows)*len(sheet.Columns)))
	}
	var err error
	if s.file, err = publish.Create(c.Path, publish.Public); err != nil {
		return nil, err
	}
	return s, nil
}
