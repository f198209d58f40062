package xlsx

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cells is a row of texts and numbers.
func row(cells ...any) string {
	var b strings.Builder
	b.WriteString("<row>")
	for _, c := range cells {
		switch c := c.(type) {
		case string:
			fmt.Fprintf(&b, `<c t="inlineStr"><is><t>%s</t></is></c>`, c)
		case nil:
			b.WriteString("<c/>")
		default:
			fmt.Fprintf(&b, "<c><v>%v</v></c>", c)
		}
	}
	return b.String() + "</row>"
}

// folderOf writes a folder of workbooks.
func folderOf(t *testing.T, sheets ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, rows := range sheets {
		from := bookOf(t, map[string]func(w io.Writer){"xl/worksheets/sheet1.xml": func(w io.Writer) {
			io.WriteString(w, `<worksheet><sheetData>`+rows+`</sheetData></worksheet>`)
		}})
		if err := os.Rename(from, filepath.Join(dir, fmt.Sprintf("%d.xlsx", i))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The files of a folder are read one after another, with the types that hold the values of all of them.
func TestFolders(t *testing.T) {
	dir := folderOf(t, row("a", "b")+row(1, "x")+row(2, "y")+row(3, "z"), row("a", "b"),
		row("a", "b")+row(0.5, nil)+row(nil, 7))
	types, rows, err := texts(t, &SourceConfig{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"1", "x"}, {"2", "y"}, {"3", "z"}, {"0.5", "(null)"}, {"(null)", "7"}}
	if !slices.Equal(types, []string{"a float64", "b utf8"}) || !slices.EqualFunc(rows, want, slices.Equal[[]string]) {
		t.Errorf("%q %q", types, rows)
	}
	// Cells without a value are none, and text for pronunciation is none of the cell's.
	phonetic :=
		`<row><c t="inlineStr"><is><r><t>to</t></r><rPh><t>no</t></rPh><r><t>kyo</t></r></is></c><c t="inlineStr"><is><t>x</t></is></c><c/><c><v></v></c></row>`
	if _, rows, err := texts(t, &SourceConfig{Path: folderOf(t, row("a", "b")+phonetic)}); err != nil ||
		!slices.EqualFunc(rows, [][]string{{"tokyo", "x"}}, slices.Equal[[]string]) {
		t.Errorf("%q, %v", rows, err)
	}
	for _, c := range []struct{ second, want string }{
		{row("a", "c"), "column 2 has another name"}, {row("a"), "has 1 columns"}, {row("a", "b", "c"), "has 3 columns"},
		{row("a", "b") + row(1, 2, 3), "record 1 has a cell in column 3"}, {"", "is empty"},
	} {
		dir := folderOf(t, row("a", "b"), c.second)
		if _, _, err := texts(t, &SourceConfig{Path: filepath.Join(dir, "*.xlsx")}); err == nil ||
			!strings.Contains(err.Error(), "1.xlsx: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.second, err)
		}
	}
}
