package tabling

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// earlierRelease is an earlier release: its tables, and what was published of each cell.
type earlierRelease struct {
	at      string // its place in the configuration
	vintage int    // whose records it is of, an index of earlier.vintages
	report  earlierReport
	cells   map[string]map[string]earlierCell // by table, and by the codes of the cell
	tables  []int                             // of earlier.union, those of its tables that are held against today's
	names   []string                          // of these
}

// earlierReport is what is read of a report.
type earlierReport struct {
	Schema   string   `json:"schema"`
	Name     string   `json:"name"`
	KeyID    string   `json:"key_id"`
	Withheld string   `json:"withheld"`
	Cells    *Release `json:"cells"`
	Release  *Release `json:"release"`
	Earlier  []struct {
		Name   string `json:"name"`
		SHA256 string `json:"sha256"`
	} `json:"earlier"`
	Unaudited []string `json:"unaudited"`
	Tables    []struct {
		Name       string             `json:"name"`
		Variables  []string           `json:"variables"`
		Value      string             `json:"value"`
		Weight     string             `json:"weight"`
		Method     string             `json:"method"`
		Parameters map[string]float64 `json:"parameters"`
	} `json:"tables"`
}

// earlierCell is a cell of an earlier release.
type earlierCell struct {
	value        float64
	contributors int64
	held, unsafe bool
	low, high    float64 // the range that its rule required, if it was unsafe
}

// readRelease reads release i of the configuration. Its errors have no values.
func (e *earlier) readRelease(i int) *earlierRelease {
	l := &earlierRelease{at: fmt.Sprintf("releases[%d]", i), cells: map[string]map[string]earlierCell{}}
	path := e.config.Releases[i].Report
	text, err := os.ReadFile(path)
	if err != nil {
		e.wrong(l.at+".report", "file %s %s", path, form.Reason(err))
		return nil
	}
	err = json.Unmarshal(text, &l.report)
	switch {
	case err != nil || l.report.Schema != ReportSchema:
		e.wrong(l.at+".report", "must be a report of sdlfilter tables (report.json), %s is none", path)
		return nil
	case l.report.Withheld != "":
		e.wrong(l.at+".report", "must be of tables that were published: those of %s were withheld", path)
		return nil
	case l.report.Cells == nil:
		e.wrong(l.at+".report",
			"must be of a run with report.cells, which has the cells of the release: %s names no such file", path)
		return nil
	}
	cells := l.report.Cells.Path
	if !filepath.IsAbs(cells) {
		cells = filepath.Join(filepath.Dir(path), cells)
	}
	file, err := os.ReadFile(cells)
	if err != nil {
		e.wrong(l.at+".report", "file %s with its cells %s", cells, form.Reason(err))
		return nil
	}
	if sum := sha256.Sum256(file); hex.EncodeToString(sum[:]) != l.report.Cells.SHA256 {
		e.wrong(l.at+".report", "must name the file with its cells as it was written: %s is another one", cells)
		return nil
	}
	if line, err := l.readCells(string(file)); err != nil {
		e.wrong(l.at+".report", "%s:%d: %v", cells, line, err)
		return nil
	}
	return l
}

// cellColumns are the columns of the file of cells after the codes.
var cellColumns = []string{"value", "contributors", "status", "rule", "need_low", "need_high", "low", "high",
	"published"}

// readCells reads the file of cells. An error is of a line and has no value.
func (l *earlierRelease) readCells(text string) (line int, err error) {
	in := csv.NewReader(strings.NewReader(text))
	head, err := in.Read()
	n := len(head) - len(cellColumns)
	if err != nil || n < 1 || head[0] != "table" || !slices.Equal(head[n:], cellColumns) {
		return 1, fmt.Errorf("must have the columns of report.cells")
	}
	variables := map[string][]string{}
	for _, t := range l.report.Tables {
		variables[t.Name] = t.Variables
		l.cells[t.Name] = map[string]earlierCell{}
	}
	for {
		row, err := in.Read()
		if err == io.EOF {
			return 0, nil
		}
		line, _ := in.FieldPos(0)
		if err != nil {
			return line, fmt.Errorf("must have as many fields as the header")
		}
		rows, known := variables[row[0]]
		if !known {
			return line, fmt.Errorf("the report has no table %q", row[0])
		}
		var codes []string
		for _, v := range rows {
			k := slices.Index(head[1:n], v)
			if k < 0 {
				return line, fmt.Errorf("must have a column %q", v)
			}
			codes = append(codes, row[1+k])
		}
		c, sound := cellOf(row[n:])
		if !sound {
			return line, fmt.Errorf("must have the fields of report.cells")
		}
		l.cells[row[0]][joined(codes)] = c
	}
}

func joined(codes []string) string { return strings.Join(codes, "\x00") }

func splitCodes(key string) []string { return strings.Split(key, "\x00") }

// cellOf reads the fields of cellColumns.
func cellOf(fields []string) (c earlierCell, sound bool) {
	sound = true
	number := func(text string, open float64) float64 {
		if text == "" {
			return open
		}
		v, err := strconv.ParseFloat(text, 64)
		sound = sound && err == nil
		return v
	}
	c.value = number(fields[0], math.NaN())
	n, err := strconv.ParseInt(fields[1], 10, 64)
	c.contributors, c.held = n, fields[8] == ""
	if c.unsafe = fields[2] == tables.Primary.String(); c.unsafe {
		c.low, c.high = number(fields[4], math.Inf(-1)), number(fields[5], math.Inf(1))
	}
	return c, sound && err == nil && c.value == c.value
}

// chained says what was not audited together with a release, which is then not audited together with these tables
// either: the releases that it was held against, if the configuration does not name them too, and what its own report
// calls unaudited.
func (e *earlier) chained(l *earlierRelease) {
	for _, before := range l.report.Earlier {
		if !slices.ContainsFunc(e.releases, func(o *earlierRelease) bool { return o.report.Cells.SHA256 == before.SHA256 }) {
			e.leave(fmt.Sprintf("release %s, which came before release %s", before.Name, l.report.Name))
		}
	}
	for _, words := range l.report.Unaudited {
		e.leave(fmt.Sprintf("before release %s: %s", l.report.Name, words))
	}
}

// meet finds out which tables of a release are held against today's, and refuses those of which it is not known what
// they tell together.
func (e *earlier) meet(l *earlierRelease, families []*family) {
	for k := range l.report.Tables {
		t := &l.report.Tables[k]
		held := t.Method == "suppress" || t.Method == "none"
		for _, f := range families {
			p := &f.table.Protect
			if f.table.Value != t.Value || f.table.Weight != t.Weight || held && p.Suppress != nil {
				continue
			}
			if p.CellKey != nil && p.CellKey.Values == nil && p.CellKey.PTable == "" && t.Method == "cell_key" &&
				maps.Equal(parametersOf(p), t.Parameters) && l.report.KeyID == e.keyID {
				e.leave(
					fmt.Sprintf(
						"%s of release %s: the counts of the same records have the same change; what else both tell together was not audited", t.Name, l.report.Name))
				continue
			}
			e.wrong(l.at,
				"must be left out, and these tables not be published: its table %s, protected by %s, is of the same value as tables[%d], protected by %s, and what both tell together is not known",
				t.Name, t.Method, f.of[0], p.Name())
		}
		if !held || !slices.ContainsFunc(families, func(f *family) bool { return f.table.Protect.Suppress != nil }) {
			continue
		}
		table := tabulation.Table{Name: t.Name, Rows: t.Variables, Value: t.Value, Weight: t.Weight}
		if at := slices.IndexFunc(families, func(f *family) bool { return f.table.Linked(&table) }); at >= 0 {
			table = *families[at].table
			table.Name, table.Rows, table.Apriori = t.Name, t.Variables, ""
		}
		l.tables, l.names = append(l.tables, len(e.union.Tables)), append(l.names, t.Name)
		e.union.Tables = append(e.union.Tables, table)
	}
}

// has reports whether an earlier release is a file with the given digest.
func (e *earlier) has(digest string) bool {
	return e != nil && slices.ContainsFunc(e.releases, func(l *earlierRelease) bool {
		return l.report.Release != nil && l.report.Release.SHA256 == digest
	})
}

// leave notes what is not audited.
func (e *earlier) leave(words string) {
	if !slices.Contains(e.unaudited, words) {
		e.unaudited = append(e.unaudited, words)
	}
}
