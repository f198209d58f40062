package tabling

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// A workbook has the cells of the CSV file: each table in a sheet, each cell where its codes are, and nothing in cells
// that are held back.
func TestWorkbookOfTables(t *testing.T) {
	const text = "version: 1\nsource: {csv: {path: %s/in.csv}}\nhierarchies: {region: {file: %s/regions.csv}}\nreport: {html: %s/report.html, cells: %s/cells.csv}\n" +
		"tables:\n  - {name: shops, rows: [region, size], unsafe: [{threshold: 3}], protect: {suppress: {}}}\n" +
		"  - {name: turnover, rows: [size], value: turnover, decimals: 2, unsafe: [{threshold: 2}], protect: {suppress: {}}}\n"
	dir := t.TempDir()
	write(t, dir, "in.csv", shops)
	write(t, dir, "regions.csv", regions)
	for _, sink := range []string{"csv: {path: %s/out.csv}", "xlsx: {path: %s/out.xlsx}"} {
		res, err := run(t, dir, text+"sink: {"+sink+"}\n")
		if err != nil || res.Report.Withheld != "" {
			t.Fatal(err, res)
		}
		if res.Report.Release == nil || res.Report.Release.SHA256 == "" {
			t.Error("the report does not say what the release is")
		}
	}
	f, err := excelize.OpenFile(filepath.Join(dir, "out.xlsx"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sheets := map[string][][]string{}
	for _, name := range f.GetSheetList() {
		if sheets[name], err = f.GetRows(name, excelize.Options{RawCellValue: true}); err != nil {
			t.Fatal(err)
		}
	}
	if len(sheets) != 3 || sheets["Legend"] == nil {
		t.Errorf("%d sheets", len(sheets))
	}
	if got := fmt.Sprint(sheets["shops"][3]); got != "[region total big small]" {
		t.Errorf("the heads are %s", got)
	}
	held, seen := 0, 0
	for _, row := range read(t, dir, "out.csv")[1:] {
		sheet := sheets[row[0]]
		region, size, value := row[1], row[2], row[3]
		line, column := region, 1
		if row[0] == "turnover" {
			line = size
		} else {
			for column < len(sheet[3]) && sheet[3][column] != size {
				column++
			}
		}
		for _, cells := range sheet[4:] {
			if cells[0] != line {
				continue
			}
			if seen++; value == "" {
				value = "×"
				held++
			}
			if cells[column] != value {
				t.Errorf("%v is %s in the workbook", row, cells[column])
			}
		}
	}
	if seen != 21 || held < 3 {
		t.Errorf("%d cells, %d of them held back", seen, held)
	}

	// The pictures show the same cells as held back; the public one does not say why.
	for name, want := range map[string][]string{"report.html": {`class="primary"/>`, `class="secondary"/>`},
		"report.public.html": {`class="suppressed"/>`}} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		_, picture, found := strings.Cut(string(page), `<svg class="pattern"`)
		picture, _, _ = strings.Cut(picture, "</svg>")
		if !found || !strings.Contains(picture, `viewBox="0 0 3 6"`) {
			t.Fatalf("%s has no picture: %s", name, picture)
		}
		for _, class := range []string{`class="primary"/>`, `class="secondary"/>`, `class="suppressed"/>`} {
			if has := strings.Contains(picture, class); has != strings.Contains(strings.Join(want, " "), class) {
				t.Errorf("%s: %s is there: %v", name, class, has)
			}
		}
		area := 0
		for _, rect := range strings.Split(picture, "<rect ")[1:] {
			var x, y, width int
			var class string
			if _, err := fmt.Sscanf(rect, `x="%d" y="%d" width="%d" height="1" class=%q/>`, &x, &y, &width, &class); err != nil {
				t.Fatal(err, rect)
			}
			if class == "empty" {
				continue
			}
			for range width {
				if sheets["shops"][4+y][1+x] != "×" {
					t.Errorf("%s: row %d, column %d is %s, and %s in the picture", name, y, x, sheets["shops"][4+y][1+x], class)
				}
				x++
				area++
			}
		}
		if area != strings.Count(fmt.Sprint(sheets["shops"]), "×") {
			t.Errorf("%s: %d cells in the picture", name, area)
		}
	}

	_,
		err = run(t, dir, strings.Replace(text, "rows: [region, size]", "rows: [size, region]", 1)+
		"sink: {csv: {path: %s/out.xlsx}}\n")
	if err == nil || !strings.Contains(err.Error(), "sink.csv.path: must not end in .xlsx") {
		t.Errorf("CSV under the name of a workbook: %v", err)
	}
	c, err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(text+"sink: {csv: {path: %s/out.csv}}\n", "%s", dir)),
		config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Audit(context.Background(), c, Foreign{Path: filepath.Join(dir, "out.xlsx")}, pipeline.Options{}); err ==
		nil || !strings.Contains(err.Error(), "out.xlsx must be CSV, SDMX-CSV or JJ") {
		t.Errorf("the audit of a workbook: %v", err)
	}
	var wide strings.Builder
	wide.WriteString("a,b\n")
	for i := range 16_400 {
		fmt.Fprintf(&wide, "x,%d\n", i)
	}
	write(t, dir, "wide.csv", wide.String())
	_,
		err = run(t, dir,
		"version: 1\nsource: {csv: {path: %s/wide.csv}}\nsink: {xlsx: {path: %s/wide.xlsx}}\ntables: [{name: t, rows: [a, b], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\n")
	if err == nil || !strings.Contains(err.Error(), "tables[0].rows: has 16401 columns") {
		t.Errorf("a table with too many columns: %v", err)
	}
}
