package xlsx

import (
	"archive/zip"
	"fmt"
	"io"
	"strings"
)

const declaration = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

const (
	mainSpace     = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	documentSpace = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	packageSpace  = "http://schemas.openxmlformats.org/package/2006/"
	contentType   = "application/vnd.openxmlformats-officedocument.spreadsheetml."
)

// sheetWriter writes the part of a sheet.
type sheetWriter struct{ to io.Writer }

// newSheet begins the part of a sheet, the current member of the zip file.
func newSheet(z *zip.Writer, name string) (*sheetWriter, error) {
	to, err := z.Create(name)
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(to, declaration+`<worksheet xmlns="`+mainSpace+`"><sheetData>`)
	return &sheetWriter{to}, err
}

// row writes a row of cells.
func (w *sheetWriter) row(cells []byte) error {
	p := append([]byte("<row>"), cells...)
	_, err := w.to.Write(append(p, "</row>"...))
	return err
}

func (w *sheetWriter) end() error {
	_, err := io.WriteString(w.to, "</sheetData></worksheet>")
	return err
}

// writeBook writes the parts around the sheets. No time, author or program is in them.
func writeBook(z *zip.Writer, sheets []string) error {
	var list, relations, types strings.Builder
	for i, name := range sheets {
		n := i + 1
		fmt.Fprintf(&list, `<sheet name="%s" sheetId="%d" r:id="rId%d"/>`, name, n, n)
		fmt.Fprintf(&relations, `<Relationship Id="rId%d" Type="%s/worksheet" Target="worksheets/sheet%d.xml"/>`, n,
			documentSpace, n)
		fmt.Fprintf(&types, `<Override PartName="/xl/worksheets/sheet%d.xml" ContentType="%sworksheet+xml"/>`, n, contentType)
	}
	fmt.Fprintf(&relations, `<Relationship Id="rId%d" Type="%s/styles" Target="styles.xml"/>`, len(sheets)+1,
		documentSpace)
	for _, part := range []struct{ name, content string }{
		{"xl/workbook.xml", `<workbook xmlns="` + mainSpace + `" xmlns:r="` + documentSpace + `"><sheets>` + list.String() +
			`</sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + packageSpace + `relationships">` + relations.String() +
			`</Relationships>`},
		{"xl/styles.xml", styles},
		{"_rels/.rels", `<Relationships xmlns="` + packageSpace + `relationships"><Relationship Id="rId1" Type="` +
			documentSpace + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"[Content_Types].xml",
			`<Types xmlns="` + packageSpace +
				`content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>` +
				`<Override PartName="/xl/workbook.xml" ContentType="` + contentType + `sheet.main+xml"/>` + types.String() +
				`<Override PartName="/xl/styles.xml" ContentType="` + contentType + `styles+xml"/></Types>`},
	} {
		to, err := z.Create(part.name)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(to, declaration+part.content); err != nil {
			return err
		}
	}
	return nil
}

// styles has the formats of cells: 1 a day, 2 a day with its time.
const styles = `<styleSheet xmlns="` + mainSpace +
	`"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" formatCode="yyyy\-mm\-dd\ hh:mm:ss"/></numFmts>` +
	`<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
	`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
	`<cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>` +
	`<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`
