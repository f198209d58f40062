package xlsx

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// bookOf writes a workbook with the given parts in place of those that a release has.
func bookOf(t testing.TB, parts map[string]func(w io.Writer)) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name string, write func(w io.Writer)) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		write(w)
	}
	whole := map[string]func(w io.Writer){
		"xl/workbook.xml": func(w io.Writer) {
			io.WriteString(w, `<workbook xmlns="m" xmlns:r="d"><sheets><sheet name="Data" r:id="rId1"/></sheets></workbook>`)
		},
		"xl/_rels/workbook.xml.rels": func(w io.Writer) {
			io.WriteString(w, `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>`)
		},
		"xl/worksheets/sheet1.xml": func(w io.Writer) {
			io.WriteString(w,
				`<worksheet><sheetData><row><c t="inlineStr"><is><t>a</t></is></c></row><row><c><v>1</v></c></row></sheetData></worksheet>`)
		},
	}
	for name, write := range parts {
		whole[name] = write
	}
	for name, write := range whole {
		add(name, write)
	}
	path := filepath.Join(t.TempDir(), "hostile.xlsx")
	if err := errors.Join(z.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func repeat(w io.Writer, s string, n int) {
	block := strings.Repeat(s, 1024)
	for ; n >= 1024; n -= 1024 {
		io.WriteString(w, block)
	}
	io.WriteString(w, strings.Repeat(s, n))
}

// Small files whose parts grow beyond every bound when they are decompressed are errors, and take little memory until
// then; just within the bounds they are read.
func TestWhatHostileWorkbooksAskFor(t *testing.T) {
	racetest.Alone(t)
	sheet := func(rows func(w io.Writer)) map[string]func(w io.Writer) {
		return map[string]func(w io.Writer){"xl/worksheets/sheet1.xml": func(w io.Writer) {
			io.WriteString(w, `<worksheet><sheetData><row><c t="inlineStr"><is><t>a</t></is></c></row>`)
			rows(w)
			io.WriteString(w, `</sheetData></worksheet>`)
		}}
	}
	shared := func(texts func(w io.Writer)) map[string]func(w io.Writer) {
		return map[string]func(w io.Writer){"xl/sharedStrings.xml": func(w io.Writer) {
			io.WriteString(w, `<sst>`)
			texts(w)
			io.WriteString(w, `</sst>`)
		}}
	}
	styles := func(n int) map[string]func(w io.Writer) {
		return map[string]func(w io.Writer){"xl/styles.xml": func(w io.Writer) {
			io.WriteString(w, `<styleSheet><cellXfs>`)
			repeat(w, "<xf/>", n)
			io.WriteString(w, `</cellXfs></styleSheet>`)
		}}
	}
	formats := func(n int) map[string]func(w io.Writer) {
		return map[string]func(w io.Writer){"xl/styles.xml": func(w io.Writer) {
			io.WriteString(w, `<styleSheet>`)
			for i := range n {
				fmt.Fprintf(w, `<numFmt numFmtId="%d" formatCode="0"/>`, i)
			}
			io.WriteString(w, `</styleSheet>`)
		}}
	}
	sheets := func(n int) map[string]func(w io.Writer) {
		return map[string]func(w io.Writer){"xl/workbook.xml": func(w io.Writer) {
			io.WriteString(w, `<workbook xmlns:r="d"><sheets>`)
			repeat(w, `<sheet name="Data" r:id="rId1"/>`, n)
			io.WriteString(w, `</sheets></workbook>`)
		}}
	}
	relations := func(n int) map[string]func(w io.Writer) {
		return map[string]func(w io.Writer){"xl/_rels/workbook.xml.rels": func(w io.Writer) {
			io.WriteString(w, `<Relationships>`)
			for i := range n {
				fmt.Fprintf(w, `<Relationship Id="rId%d" Target="worksheets/sheet1.xml"/>`, i)
			}
			io.WriteString(w, `</Relationships>`)
		}}
	}
	text := func(n int) func(w io.Writer) {
		return func(w io.Writer) {
			io.WriteString(w, `<row><c t="inlineStr"><is><t>`)
			repeat(w, "a", n)
			io.WriteString(w, `</t></is></c></row>`)
		}
	}
	many := func(n int) map[string]func(w io.Writer) {
		parts := shared(func(w io.Writer) {
			io.WriteString(w, "<si><t>")
			repeat(w, "a", 1<<20)
			io.WriteString(w, "</t></si>")
		})
		parts["xl/worksheets/sheet1.xml"] = func(w io.Writer) {
			io.WriteString(w, `<worksheet><sheetData><row>`)
			for i := range n {
				fmt.Fprintf(w, `<c t="inlineStr"><is><t>a%d</t></is></c>`, i)
			}
			io.WriteString(w, `</row><row>`)
			repeat(w, `<c t="s"><v>0</v></c>`, n)
			io.WriteString(w, `</row></sheetData></worksheet>`)
		}
		return parts
	}
	for name, c := range map[string]struct {
		parts map[string]func(w io.Writer)
		want  string // "" where it is read
	}{
		"a text within the bound": {sheet(text(maxCell)), ""},
		"a text beyond it":        {sheet(text(maxCell + 1)), errCell.Error()},
		"a text in parts": {sheet(func(w io.Writer) {
			io.WriteString(w, `<row><c t="inlineStr"><is>`)
			repeat(w, "<t>"+strings.Repeat("a", 1000)+"</t>", 1100)
		}), errCell.Error()},
		"a text far beyond it": {sheet(text(300 << 20)), errToken.Error()},
		"an attribute": {sheet(func(w io.Writer) { io.WriteString(w, `<row r="`); repeat(w, "1", 40<<20) }),
			errToken.Error()},
		"a comment": {sheet(func(w io.Writer) { io.WriteString(w, `<!--`); repeat(w, "1", 40<<20) }),
			errToken.Error()},
		"a shared text within the bound": {shared(func(w io.Writer) {
			io.WriteString(w, "<si><t>")
			repeat(w, "a", maxCell)
			io.WriteString(w, "</t></si>")
		}), ""},
		"a shared text beyond it": {shared(func(w io.Writer) {
			io.WriteString(w, "<si><t>")
			repeat(w, "a", maxCell+1)
			io.WriteString(w, "</t></si>")
		}), errCell.Error()},
		"as many rows as a sheet has": {sheet(func(w io.Writer) { repeat(w, "<row/>", maxRows-1) }), ""},
		"more":                        {sheet(func(w io.Writer) { repeat(w, "<row/>", maxRows) }), "rows"},
		"a row beyond the last":       {sheet(func(w io.Writer) { io.WriteString(w, `<row r="1048577"/>`) }), "row 2"},
		"as many columns as a sheet has": {sheet(func(w io.Writer) {
			io.WriteString(w, "<row><c><v>1</v></c>")
			repeat(w, "<c/>", maxColumns-1)
			io.WriteString(w, "</row>")
		}), ""},
		"more columns": {sheet(func(w io.Writer) {
			io.WriteString(w, "<row><c><v>1</v></c>")
			repeat(w, "<c/>", maxColumns)
			io.WriteString(w, "</row>")
		}), "last column"},
		"a row within its bound":       {many(64), ""},
		"a row of one text many times": {many(65), errRow.Error()},
		"a cell that only ends":        {sheet(func(w io.Writer) { io.WriteString(w, "<row></c></row>") }), "damaged"},
		"a row within a cell": {sheet(func(w io.Writer) { io.WriteString(w, "<row><c><row></row></c></row>") }),
			"not closed"},
		"a row that does not end":   {sheet(func(w io.Writer) { io.WriteString(w, "<row>") }), "damaged"},
		"elements in another order": {sheet(func(w io.Writer) { io.WriteString(w, "<row><c></row></c>") }), "damaged"},
		"as deep as is read": {
			sheet(func(w io.Writer) { repeat(w, "<x>", maxDeep-2); repeat(w, "</x>", maxDeep-2) }), ""},
		"deeper": {
			sheet(func(w io.Writer) { repeat(w, "<x>", maxDeep-1); repeat(w, "</x>", maxDeep-1) }), "damaged"},
		"as many styles as are read":    {styles(maxEntries), ""},
		"more styles":                   {styles(maxEntries + 1), errEntries.Error()},
		"as many formats as are read":   {formats(maxEntries), ""},
		"more formats":                  {formats(maxEntries + 1), errEntries.Error()},
		"as many sheets as are read":    {sheets(maxEntries), ""},
		"more sheets":                   {sheets(maxEntries + 1), errEntries.Error()},
		"as many relations as are read": {relations(maxEntries), ""},
		"more relations":                {relations(maxEntries + 1), errEntries.Error()},
		"entities that stand for entities": {
			sheet(func(w io.Writer) { io.WriteString(w, `<row><c t="inlineStr"><is><t>&lol;</t></is></c></row>`) }), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path := bookOf(t, c.parts)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := texts(t, &SourceConfig{Path: path})
			runtime.ReadMemStats(&after)
			if c.want == "" && err != nil || c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "hostile.xlsx")) {
				t.Errorf("%v, want %q", err, c.want)
			}
			// A token is at most 16 MiB, and growing buffers together take a few times that.
			if grown := int64(after.TotalAlloc - before.TotalAlloc); c.want != "" && grown > 256<<20 {
				t.Errorf("it takes %d MiB", grown>>20)
			}
		})
	}
}

// The total of shared texts is bounded, whatever each has.
func TestSharedTextsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a GiB of memory")
	}
	path := bookOf(t, map[string]func(w io.Writer){"xl/sharedStrings.xml": func(w io.Writer) {
		repeat(w, "<si><t>"+strings.Repeat("a", 1<<19)+"</t></si>", 2049)
	}})
	if _, _, err := texts(t, &SourceConfig{Path: path}); err == nil || !strings.Contains(err.Error(), errShared.Error()) {
		t.Error(err)
	}
}

// A pass that ends stops within a part that has neither rows nor an end.
func TestEndOfAPassWithinAPart(t *testing.T) {
	path := bookOf(t, map[string]func(w io.Writer){"xl/worksheets/sheet1.xml": func(w io.Writer) {
		repeat(w, "<x/>", 1<<20)
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := openBook(t.Context(), in, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	b.ctx = ctx
	if err := b.scan("xl/worksheets/sheet1.xml", func(int, []cell) error {
		return nil
	}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A workbook says neither when it was made nor by whom: it has no properties, and its members no times.
func TestWorkbooksSayNothingOfTheirMaking(t *testing.T) {
	path := sheetOf(t, "<c><v>1</v></c>")
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, "docProps") || f.Comment != "" || len(f.Extra) > 0 || f.ModifiedDate != 0 ||
			f.ModifiedTime != 0 {
			t.Errorf("%+v", f.FileHeader)
		}
	}
	if len(z.File) != 6 || z.Comment != "" {
		t.Errorf("%d members, %q", len(z.File), z.Comment)
	}
}
