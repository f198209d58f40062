package csv

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

func TestContract(t *testing.T) {
	connectortest.Run(t, connectortest.Contract{
		Ext:     ".csv",
		Source:  func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
		Sink:    func(path string) connectors.SinkConfig { return &SinkConfig{Path: path} },
		Types:   connectortest.TextTypes,
		Nulls:   true,
		Folders: true,
	})
}

// Cells in quotes and without, numbers with exponents, and nulls in several spellings leave alike
// where a mask could have written them.
func TestOneSpelling(t *testing.T) {
	for name, c := range map[string]struct {
		source SourceConfig
		sink   SinkConfig
		nulls  []string
	}{
		"empty": {nulls: []string{""}},
		"nulls": {source: SourceConfig{Nulls: []string{"-999", "NA"}}, nulls: []string{"-999", "NA"}},
		"na":    {source: SourceConfig{NA: []string{"-999", "NA"}}, nulls: []string{"-999", "", "NA"}},
		"sink's nulls": {source: SourceConfig{NA: []string{"-999"}}, sink: SinkConfig{Nulls: new(".")},
			nulls: []string{"-999", ""}},
		"all quoted": {source: SourceConfig{NA: []string{"-999"}}, sink: SinkConfig{Quoting: "all"},
			nulls: []string{"-999", ""}},
		"comma": {source: SourceConfig{Delimiter: ";", NA: []string{"-999"}}, sink: SinkConfig{Decimal: ","},
			nulls: []string{"-999", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			connectortest.Spelling(t, connectortest.Contract{
				Ext:    ".csv",
				Source: func(path string) connectors.SourceConfig { s := c.source; s.Path = path; return &s },
				Sink:   func(path string) connectors.SinkConfig { s := c.sink; s.Path = path; return &s },
				Write: func(t testing.TB, path string, tab *connectortest.Table) {
					writeOddly(t, path, tab, &c.source, c.nulls)
				},
				Types: connectortest.TextTypes,
				Nulls: true,
			})
		})
	}
}

// writeOddly writes a table with every spelling of a value and of a null.
func writeOddly(t testing.TB, path string, tab *connectortest.Table, c *SourceConfig, nulls []string) {
	t.Helper()
	var b strings.Builder
	delimiter := string(rune(c.dialect().delimiter))
	for i, f := range tab.Schema.Fields {
		if i > 0 {
			b.WriteString(delimiter)
		}
		b.WriteString(f.Name)
	}
	for row := range tab.N {
		b.WriteString("\n")
		for i, f := range tab.Schema.Fields {
			if i > 0 {
				b.WriteString(delimiter)
			}
			a := tab.Columns[i]
			if a.IsNull(row) {
				b.WriteString(nulls[(row+i)%len(nulls)])
				continue
			}
			s := a.ValueStr(row)
			if f.Type.ID() == arrow.FLOAT64 && (row+i)%3 == 1 {
				s = fmt.Sprintf("%se0", s)
			}
			if f.Type.ID() == arrow.BOOL && row%2 == 1 {
				s = strings.ToUpper(s)
			}
			if f.Type.ID() == arrow.STRING || (row+i)%4 < 2 {
				s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
			}
			b.WriteString(s)
		}
	}
	if err := os.WriteFile(path, []byte(b.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
