package jsonl

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

func TestContract(t *testing.T) {
	connectortest.Run(t, connectortest.Contract{
		Ext:     ".jsonl",
		Source:  func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
		Sink:    func(path string) connectors.SinkConfig { return &SinkConfig{Path: path} },
		Types:   connectortest.TextTypes,
		Nulls:   true,
		Folders: true,
	})
}

// Members in any order, with and without white space, escapes and exponents, and nulls that are
// there and not, leave alike where a mask could have written them.
func TestOneSpelling(t *testing.T) {
	connectortest.Spelling(t, connectortest.Contract{
		Ext:    ".jsonl",
		Source: func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
		Sink:   func(path string) connectors.SinkConfig { return &SinkConfig{Path: path} },
		Write:  writeOddly,
		Types:  connectortest.TextTypes,
		Nulls:  true,
	})
}

// writeOddly writes a table with every spelling of a value and of a null; where a masked column has
// a null or not decides of the spelling of the record.
func writeOddly(t testing.TB, path string, tab *connectortest.Table) {
	t.Helper()
	var b strings.Builder
	for row := range tab.N {
		var list []string
		nulls := 0
		for i, f := range tab.Schema.Fields {
			a := tab.Columns[i]
			name := `"` + f.Name + `"`
			if a.IsNull(row) {
				if nulls++; nulls%2 == 0 {
					list = append(list, name+": null ")
				}
				continue
			}
			s := a.ValueStr(row)
			if f.Type.ID() == arrow.FLOAT64 && f.Nullable && (row+i)%3 == 1 {
				s += "e0"
			}
			if f.Type.ID() == arrow.STRING {
				quoted, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				if s = string(quoted); f.Nullable && row%3 == 1 {
					s = fmt.Sprintf(`"\u%04x%s`, []rune(a.ValueStr(row))[0],
						strings.TrimPrefix(s[1:], `\`)[len(string([]rune(a.ValueStr(row))[:1])):])
				}
			}
			if f.Nullable && row%4 == 2 {
				name = fmt.Sprintf(`"\u%04x%s"`, f.Name[0], f.Name[1:])
			}
			list = append(list, name+strings.Repeat(" ", nulls%3)+":"+s)
		}
		if nulls%2 == 1 || row%3 == 0 && row > 0 {
			slices.Reverse(list)
		}
		b.WriteString("{" + strings.Join(list, ","+strings.Repeat(" ", nulls%2)) + "}\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
