package xlsx

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// book is what a workbook says of its sheets.
type book struct {
	sheets  []sheetEntry
	base    bool // days are counted from 1904
	strings []string
	dates   []bool // by style of a cell: it shows a date
	files   map[string]*zip.File
	ctx     context.Context // of the pass
}

type sheetEntry struct{ name, part string }

// The bounds of what a workbook takes of the memory, whatever its compressed parts say.
const (
	maxShared  = 1 << 30  // of all texts that cells share, bytes
	maxCell    = 1 << 20  // of one text, bytes; a cell of Excel has at most 32767 characters
	maxRow     = 64 << 20 // of a row, bytes: its cells can share one text
	maxToken   = 16 << 20 // of what the XML decoder must hold at once, bytes: one text, or one element with its attributes
	maxDeep    = 256      // elements within one another
	maxEntries = 1 << 16  // of a list: sheets, styles, formats, relations
)

var (
	errShared  = errors.New("has more than 1 GiB of texts")
	errCell    = errors.New("has a cell with more than 1 MiB of text")
	errRow     = errors.New("has a row with more than 64 MiB of text")
	errEntries = fmt.Errorf("has a list with more than %d entries", maxEntries)
	errToken   = errors.New("has an element that is too large")
)

// bounded reads a part, within the bound of a token, until the pass ends.
type bounded struct {
	ctx  context.Context
	from io.Reader
	left int // bytes until the next token
	err  error
}

func (r *bounded) Read(p []byte) (int, error) {
	if r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err == nil && r.left <= 0 {
		r.err = errToken
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.from.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

var errBook = errors.New("is no workbook of Excel (.xlsx)")

func openBook(ctx context.Context, in io.ReaderAt, size int64) (*book, error) {
	z, err := zip.NewReader(in, size)
	if err != nil {
		return nil, fmt.Errorf("%w, or it is truncated", errBook)
	}
	b := &book{files: map[string]*zip.File{}, ctx: ctx}
	for _, f := range z.File {
		b.files[strings.TrimPrefix(f.Name, "/")] = f
	}
	parts, err := b.relations("xl/workbook.xml")
	if err != nil {
		return nil, err
	}
	if err := b.readWorkbook(parts); err != nil {
		return nil, err
	}
	if len(b.sheets) == 0 {
		return nil, errBook
	}
	if err := b.readStyles(); err != nil {
		return nil, err
	}
	return b, b.readShared()
}

// elements calls f for each start element and each text of a part; a part that is not there has none.
func (b *book) elements(part string, start func(e xml.StartElement) error, end func(name string) error,
	text func(xml.CharData) error) error {
	f := b.files[part]
	if f == nil {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return damaged(part)
	}
	defer r.Close()
	from := &bounded{ctx: b.ctx, from: r}
	d := xml.NewDecoder(from)
	var open []xml.Name // RawToken does not look whether elements end in their order
	for {
		from.left = maxToken
		t, err := d.RawToken()
		if err == io.EOF && len(open) == 0 {
			return nil
		}
		if from.err != nil {
			return from.err
		}
		if err != nil {
			return damaged(part) // an error of XML quotes it
		}
		switch t := t.(type) {
		case xml.StartElement:
			if open = append(open, t.Name); len(open) > maxDeep {
				return damaged(part)
			}
			if err := start(t); err != nil {
				return err
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != t.Name {
				return damaged(part)
			}
			open = open[:len(open)-1]
			if end != nil {
				if err := end(t.Name.Local); err != nil {
					return err
				}
			}
		case xml.CharData:
			if text != nil {
				if err := text(t); err != nil {
					return err
				}
			}
		}
	}
}

func damaged(part string) error {
	return fmt.Errorf("%w: its part %s is damaged", errBook, path.Base(part))
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// relations returns the parts that a part names, by their identifiers.
func (b *book) relations(part string) (map[string]string, error) {
	dir, base := path.Split(part)
	to := map[string]string{}
	err := b.elements(dir+"_rels/"+base+".rels", func(e xml.StartElement) error {
		if e.Name.Local == "Relationship" {
			target := attribute(e, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			if to[attribute(e, "Id")] = strings.TrimPrefix(target, "/"); len(to) > maxEntries {
				return errEntries
			}
		}
		return nil
	}, nil, nil)
	return to, err
}

func (b *book) readWorkbook(parts map[string]string) error {
	return b.elements("xl/workbook.xml", func(e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			b.base = truth(attribute(e, "date1904"))
		case "sheet":
			for _, a := range e.Attr {
				if a.Name.Local == "id" && a.Name.Space != "" {
					if b.sheets = append(b.sheets, sheetEntry{attribute(e, "name"), parts[a.Value]}); len(b.sheets) > maxEntries {
						return errEntries
					}
				}
			}
		}
		return nil
	}, nil, nil)
}

func truth(word string) bool { return word == "1" || word == "true" }

// readStyles finds the styles that show a number as a date.
func (b *book) readStyles() error {
	custom := map[string]bool{}
	inside := false
	return b.elements("xl/styles.xml", func(e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			if custom[attribute(e, "numFmtId")] = isDate(attribute(e, "formatCode")); len(custom) > maxEntries {
				return errEntries
			}
		case "cellXfs":
			inside = true
		case "xf":
			if inside {
				id := attribute(e, "numFmtId")
				of, known := custom[id]
				if b.dates = append(b.dates, known && of || !known && builtinDate(id)); len(b.dates) > maxEntries {
					return errEntries
				}
			}
		}
		return nil
	}, func(name string) error {
		if name == "cellXfs" {
			inside = false
		}
		return nil
	}, nil)
}

// builtinDate reports whether one of Excel's own formats shows a day: 18 to 21 and 45 to 47 show a time of day
// alone, which is a number.
func builtinDate(id string) bool {
	switch id {
	case "14", "15", "16", "17", "22", "27", "28", "29", "30", "31", "36", "50", "51", "52", "53", "54", "55", "56", "57",
		"58":
		return true
	}
	return false
}

// isDate reports whether a format shows a day: it has a letter for years or days outside of quotes.
func isDate(code string) bool {
	code, _, _ = strings.Cut(code, ";")
	for i := 0; i < len(code); i++ {
		switch c := code[i] | 0x20; {
		case code[i] == '"':
			end := strings.IndexByte(code[i+1:], '"')
			if end < 0 {
				return false
			}
			i += end + 1
		case code[i] == '[':
			end := strings.IndexByte(code[i+1:], ']')
			if end < 0 {
				return false
			}
			i += end + 1
		case code[i] == '\\' || code[i] == '_' || code[i] == '*':
			i++
		case c == 'y' || c == 'd':
			return true
		}
	}
	return false
}

func (b *book) readShared() error {
	var text strings.Builder
	inText, phonetic, total := false, 0, 0
	return b.elements("xl/sharedStrings.xml", func(e xml.StartElement) error {
		switch e.Name.Local {
		case "si":
			text.Reset()
		case "rPh":
			phonetic++
		case "t":
			inText = phonetic == 0
		}
		return nil
	}, func(name string) error {
		switch name {
		case "t":
			inText = false
		case "rPh":
			phonetic--
		case "si":
			if total += text.Len() + 16; total > maxShared {
				return errShared
			}
			b.strings = append(b.strings, unescape(text.String()))
		}
		return nil
	}, func(p xml.CharData) error {
		if inText {
			if text.Len()+len(p) > maxCell {
				return errCell
			}
			text.Write(p)
		}
		return nil
	})
}

// sheet returns the part of a sheet: the first one for no name.
func (b *book) sheet(name string) (string, error) {
	for _, s := range b.sheets {
		if name == "" || s.name == name {
			if b.files[s.part] == nil {
				return "", errBook
			}
			return s.part, nil
		}
	}
	return "", fmt.Errorf("has no sheet of the name that sheet gives; it has %d sheets", len(b.sheets))
}
