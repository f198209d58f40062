package xlsx

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// texts reads all columns as the texts of their values.
func texts(t testing.TB, c *SourceConfig) (types []string, rows [][]string, err error) {
	t.Helper()
	src, err := c.Open(t.Context())
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	layout := &microdata.Layout{Schema: src.Schema()}
	for i, f := range src.Schema().Fields {
		types = append(types, f.Name+" "+f.Type.String())
		layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
	}
	r, err := src.Read(t.Context(), layout, connectors.Cut{Records: 2})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		raw, err := r.Next(t.Context())
		if err == io.EOF {
			return types, rows, nil
		}
		if err != nil {
			return nil, nil, err
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			return nil, nil, err
		}
		for row := range b.N {
			var cells []string
			for i := range b.Columns {
				cells = append(cells, b.Columns[i].Array.ValueStr(row))
			}
			if b.Rejected(row) {
				cells = append(cells, "rejected")
			}
			rows = append(rows, cells)
		}
	}
}

// A workbook of another program keeps what its cells are, of the sheet that is asked for, also with gaps and days since
// 1904.
func TestOtherProgramsWorkbooks(t *testing.T) {
	for _, since1904 := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "in.xlsx")
		f := excelize.NewFile()
		if err := f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &since1904}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.NewSheet("People"); err != nil {
			t.Fatal(err)
		}
		day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
		for i, row := range [][]any{
			{"name", "n", "x", "day", "at", "flag", "mixed", "007"},
			{"Ana & <Bo>", 1, 1.5, day, day.Add(90 * time.Minute), true, "a", "007"},
			{nil, nil, nil, nil, nil, nil, nil, nil},
			{"b_c", -3, 0.1, day.AddDate(0, 0, 1), day, false, 2.5, "1"},
		} {
			for k, v := range row {
				place, err := excelize.CoordinatesToCellName(k+1, i+3) // below two empty rows
				if err == nil && v != nil {
					err = f.SetCellValue("People", place, v)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := errors.Join(f.SaveAs(path), f.Close()); err != nil {
			t.Fatal(err)
		}
		types, rows, err := texts(t, &SourceConfig{Path: path, Sheet: "People", Types: map[string]string{"n": "string"}})
		if err != nil {
			t.Fatal(err)
		}
		wantTypes := []string{"name utf8", "n utf8", "x float64", "day date32", "at timestamp[us]", "flag bool", "mixed utf8",
			"007 utf8"}
		want := [][]string{
			{"Ana & <Bo>", "1", "1.5", "2024-02-29", "2024-02-29T01:30:00", "true", "a", "007"},
			slices.Repeat([]string{"(null)"}, 8),
			{"b_c", "-3", "0.1", "2024-03-01", "2024-02-29T00:00:00", "false", "2.5", "1"},
		}
		if !slices.Equal(types, wantTypes) || !slices.EqualFunc(rows, want, slices.Equal[[]string]) {
			t.Errorf("since 1904 %v: %q\n%q", since1904, types, rows)
		}
		if _, _, err := texts(t, &SourceConfig{Path: path, Sheet: "Nobody"}); err == nil ||
			!strings.Contains(err.Error(), "no sheet") {
			t.Errorf("a sheet that is not there: %v", err)
		}
		if _, rows, err := texts(t,
			&SourceConfig{Path: path, Sheet: "People", Types: map[string]string{"mixed": "float64"}}); err != nil || rows[0][8] != "rejected" || len(rows[2]) != 8 {
			t.Errorf("a text in a column of numbers: %q, %v", rows, err)
		}
	}
}

// What is written for characters and days that need care is what excelize reads.
func TestCellsAsOthersReadThem(t *testing.T) {
	for _, text := range []string{"plain", "a & b < c > d", "line\nbreak\ttab", "_x0041_", "_x000D_\r", "=1+1", " edges ",
		"\x01control", "日本"} {
		cell, err := appendText(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		f, err := excelize.OpenFile(sheetOf(t, string(cell)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.GetCellValue("Data", "A1"); err != nil || got != text {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for day, want := range map[string]string{"2024-02-29": "45351", "1900-03-01": "61", "1900-02-28": "59",
		"1900-01-01": "1", "1899-12-31": ""} {
		at, err := time.Parse("2006-01-02", day)
		if err != nil {
			t.Fatal(err)
		}
		cell, err := appendTime(nil, float64(at.Unix()/86400), dateStyle)
		if got := string(cell); (err != nil) != (want == "") || want != "" && got != `<c s="1"><v>`+want+`</v></c>` {
			t.Errorf("%s: %q, %v", day, got, err)
		}
	}
	for _, bad := range []string{"\xff", strings.Repeat("ä", maxText+1)} {
		if _, err := appendText(nil, bad); err == nil {
			t.Error("a text that no cell holds is written")
		}
	}
}

// sheetOf writes a workbook with one cell.
func sheetOf(t testing.TB, cell string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	sheet, err := newSheet(z, "xl/worksheets/sheet1.xml")
	if err == nil {
		err = errors.Join(sheet.row([]byte(cell)), sheet.end(), writeBook(z, []string{"Data"}), z.Close())
	}
	path := filepath.Join(t.TempDir(), "one.xlsx")
	if err = errors.Join(err, os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// FuzzSheet: whatever stands in a sheet, it is read or is an error that names the file and quotes nothing of it.
func FuzzSheet(f *testing.F) {
	for _, s := range []string{
		`<c><v>1</v></c>`, `<c r="B1" t="s"><v>0</v></c>`, `<c t="inlineStr"><is><t>canary</t></is></c>`,
		`<c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c>`,
		`<c><v>canary</v></c>`, `</row><row r="9999999"><c/>`, `<c r="ZZZZ1"><v>1</v></c>`, `<c s="-1"/>`,
		`<c s="1"><v>59</v></c>`, `<c t="canary"/>`, `<c><v>1e999</v></c>`, "<c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cells string) {
		path := sheetOf(t,
			fmt.Sprintf(`<c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>b</t></is></c></row><row>%s`, cells))
		if _, _, err := texts(t, &SourceConfig{Path: path}); err != nil &&
			(!strings.Contains(err.Error(), "one.xlsx") || strings.Contains(err.Error(), "canary")) {
			t.Errorf("the error names no file, or shows a value: %v", err)
		}
	})
}
