package workbook

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/xuri/excelize/v2"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// source has only what a workbook asks of a source.
type source struct {
	connectors.Source
	sheets []Sheet
}

func (s source) Sheets() []Sheet { return s.sheets }
func (s source) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{At: connectors.NoFiles}
}

// made writes cells, which come in blocks of three, as a workbook.
func made(t *testing.T, dir string, sheets []Sheet, values []any, statuses []string) (path string, err error) {
	t.Helper()
	path = filepath.Join(dir, "t.xlsx")
	c := &SinkConfig{Path: path}
	if ps := c.Check(); len(ps) > 0 {
		t.Fatal(ps)
	}
	out,
		err := c.Create(context.Background(),
		connectors.Plan{Source: source{sheets: sheets}, Layout: &microdata.Layout{Release: make([]microdata.Output, 3)}})
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(values); at += 3 {
		end := min(at+3, len(values))
		numbers, texts := array.NewFloat64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
		for i := at; i < end; i++ {
			if v, ok := values[i].(float64); ok {
				numbers.Append(v)
			} else {
				numbers.AppendNull()
			}
			texts.Append(statuses[i])
		}
		b := new(microdata.Block)
		b.Reset(0, int64(at), end-at, 3)
		b.Columns[1].Array, b.Columns[2].Array = numbers.NewArray(), texts.NewArray()
		encoded, err := out.Encode(b)
		if err == nil {
			err = out.Write(context.Background(), encoded)
		}
		if err != nil {
			return "", err
		}
	}
	if err := out.Finish(context.Background()); err != nil {
		return "", err
	}
	content, err := connectors.ContentOf(context.Background(), out)
	if err != nil || len(content.Files) != 1 || content.Files[0].SHA256 == "" {
		t.Errorf("content %v, %v", content, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the workbook has its name before it is committed")
	}
	return path, out.Commit()
}

func labels(codes ...string) (rows [][]Label) {
	for i, c := range codes {
		rows = append(rows, []Label{{c, min(i, 1)}})
	}
	return rows
}

// Two tables, one with two variables and one with codes and names that a spreadsheet could take for something else.
func TestWorkbook(t *testing.T) {
	nasty := []string{"total", "=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2", "_x0041_", " a ", "1e5", "007", "a\x01b",
		"=HYPERLINK(\"http://x\")", strings.Repeat("x", 40)}
	sheets := []Sheet{
		{Name: "by region", Caption: "Number of records", Variables: []string{"region"},
			Columns: []string{"total", "small", "big"}, Rows: labels("total", "n", "s"),
			Place: []int32{0, 1, 2, 3, 4, 5, 6, 8, 7}, Decimals: 1},
		{Name: "=by[region]/and:a\\very*long?name", Caption: "=1+2", Variables: []string{"=x"}, Columns: []string{"value"},
			Rows: labels(nasty...), Place: []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	}
	values := []any{21.5, 20.5, 1.0, 12.0, nil, nil, 9.5, 0.0, 9.5}
	statuses := []string{"published", "published", "published", "published", "suppressed", "suppressed", "published",
		"empty", "published"}
	for i := range nasty {
		values, statuses = append(values, float64(i)), append(statuses, "published")
	}
	path, err := made(t, t.TempDir(), sheets, values, statuses)
	if err != nil {
		t.Fatal(err)
	}
	again, err := made(t, t.TempDir(), sheets, values, statuses)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := os.ReadFile(path)
	two, _ := os.ReadFile(again)
	if !bytes.Equal(one, two) {
		t.Error("the same cells gave another workbook")
	}
	for name, text := range members(t, one) {
		if strings.Contains(text, "<f>") || strings.Contains(text, "<f ") || strings.Contains(name, "calcChain") {
			t.Errorf("%s has a formula", name)
		}
	}
	f, err := excelize.OpenReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, want := f.GetSheetList(), []string{"by region", "=by_region__and_a_very_long_nam", "Legend"}; !slices.Equal(
		got, want) {
		t.Errorf("sheets %q, want %q", got, want)
	}
	raw := excelize.Options{RawCellValue: true}
	rows, err := f.GetRows("by region", raw)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"by region"}, {"Number of records"}, nil, {"region", "total", "small", "big"},
		{"total", "21.5", "20.5", "1"}, {"n", "12", "×", "×"}, {"s", "9.5", "9.5", "0"},
	}
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Errorf("cells %v, want %v", rows, want)
	}
	for cell, want := range map[string]string{"B5": "0.0", "D7": `0.0;-0.0;"–"`} {
		id, _ := f.GetCellStyle("by region", cell)
		if s, err := f.GetStyle(id); err != nil || s.CustomNumFmt == nil || *s.CustomNumFmt != want {
			t.Errorf("%s is shown as %+v, %v", cell, s, err)
		}
	}
	rows, err = f.GetRows("=by_region__and_a_very_long_nam", raw)
	if err != nil {
		t.Fatal(err)
	}
	for i, code := range nasty {
		// Leading and trailing spaces are kept; a control character cannot be.
		if got := rows[4+i][0]; got != strings.ReplaceAll(code, "\x01", "\uFFFD") {
			t.Errorf("code %q became %q", code, got)
		}
		cell := fmt.Sprintf("A%d", 5+i)
		id, _ := f.GetCellStyle("=by_region__and_a_very_long_nam", cell)
		s, err := f.GetStyle(id)
		if err != nil || s.NumFmt != textFormat {
			t.Errorf("%s has number format %d, %v", cell, s.NumFmt, err)
		}
		if kind, _ := f.GetCellType("=by_region__and_a_very_long_nam", cell); kind != excelize.CellTypeInlineString &&
			kind != excelize.CellTypeSharedString {
			t.Errorf("%s is of type %v", cell, kind)
		}
	}
	fill := func(cell string) []string {
		id, _ := f.GetCellStyle("by region", cell)
		s, err := f.GetStyle(id)
		if err != nil {
			t.Fatal(err)
		}
		return s.Fill.Color
	}
	if len(fill("C6")) == 0 || len(fill("B6")) != 0 {
		t.Errorf("fills %v and %v: only the cell that is held back is marked", fill("C6"), fill("B6"))
	}
	legend, _ := f.GetRows("Legend")
	if text := fmt.Sprint(legend); !strings.Contains(text, "[× suppressed not published") ||
		!strings.Contains(text, "[ sampled estimated from a sample]") ||
		!strings.Contains(text, "[=by_region__and_a_very_long_nam =by[region]/and:a\\very*long?name =1+2]") {
		t.Errorf("legend %s", text)
	}
}

func members(t *testing.T, file []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, m := range z.File {
		r, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		texts[m.Name] = string(text)
	}
	return texts
}

// Excel refuses a workbook with a sheet name that is too long, has certain characters, or is there twice.
func TestSheetNames(t *testing.T) {
	var sheets []Sheet
	for _, name := range []string{"Legend", "legend", "History", "'a'", "", "*", strings.Repeat("ä", 40),
		strings.Repeat("Ä", 40), strings.Repeat("😀", 20), "a\tb", "\xff", strings.Repeat("z", 30) + " z"} {
		sheets = append(sheets, Sheet{Name: name})
	}
	names := sheetNames(sheets)
	if len(names) != len(sheets)+1 {
		t.Fatalf("%d names", len(names))
	}
	f := excelize.NewFile()
	defer f.Close()
	seen := map[string]bool{"history": true}
	for i, name := range names {
		if seen[strings.ToLower(name)] || len(utf16.Encode([]rune(name))) > 31 {
			t.Errorf("name %q", name)
		}
		seen[strings.ToLower(name)] = true
		if _, err := f.NewSheet(name); err != nil {
			t.Errorf("sheet %d, %q: %v", i, name, err)
		}
	}
	if want := []string{"Legend", "legend (2)", "History (2)", "a", "Table", "_"}; !slices.Equal(names[:6], want) {
		t.Errorf("names %q, want %q", names[:6], want)
	}
	if last := names[len(names)-1]; last != "Legend (3)" {
		t.Errorf("the legend is %q", last)
	}
}

// A sheet of Excel has 1,048,576 rows and 16,384 columns.
func TestTooLarge(t *testing.T) {
	for _, c := range []struct {
		rows, columns, variables int
		too                      bool
	}{{1 << 20, 1, 1, true}, {1<<20 - 4, 1, 1, false}, {1<<20 - 3, 1, 1, true}, {1, 16383, 1, false}, {1, 16384, 1, true},
		{1, 16383, 2, true}} {
		if why := TooLarge(c.rows, c.columns, c.variables); (why != "") != c.too {
			t.Errorf("%+v: %q", c, why)
		}
	}
}

// Records are no tables, and a name that Excel does not know is refused.
func TestRefused(t *testing.T) {
	c := &SinkConfig{Path: "a.csv"}
	if ps := c.Check(); len(ps) != 1 || !strings.Contains(ps[0].Error(), "must end in .xlsx") {
		t.Error(ps)
	}
	if _, err := c.Create(context.Background(), connectors.Plan{Source: struct{ connectors.Source }{}}); err == nil ||
		!strings.Contains(err.Error(), "holds tables, no records") {
		t.Error(err)
	}
	if _, err := made(t, t.TempDir(),
		[]Sheet{{Name: "t", Variables: []string{"x"}, Columns: []string{"value"}, Rows: labels("total"), Place: []int32{0}}},
		[]any{1.0, 2.0}, []string{"published", "published"}); err == nil {
		t.Error("more cells than the table has are no error")
	}
	whole := array.NewInt64Builder(memory.DefaultAllocator)
	whole.AppendValues([]int64{3, 4}, []bool{true, false})
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	texts.AppendValues([]string{"published", "suppressed"}, nil)
	b := new(microdata.Block)
	b.Reset(0, 0, 2, 3)
	b.Columns[1].Array, b.Columns[2].Array = whole.NewArray(), texts.NewArray()
	s := &sink{columns: 3}
	got, err := s.Encode(b)
	if err != nil || fmt.Sprint(got) != "[{3 published} {<nil> suppressed}]" {
		t.Errorf("%v, %v", got, err)
	}
	b.Columns[1].Array = texts.NewArray()
	if _, err := s.Encode(b); err == nil {
		t.Error("a text as a value is no error")
	}
}
