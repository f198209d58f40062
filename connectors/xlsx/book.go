package xlsx

import (
	"archive/zip"
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
}

type sheetEntry struct{ name, part string }

// maxShared bounds the texts that cells share, in bytes.
const maxShared = 1 << 30

var errBook = errors.New("is no workbook of Excel (.xlsx)")

func openBook(in io.ReaderAt, size int64) (*book, error) {
	z, err := zip.NewReader(in, size)
	if err != nil {
		return nil, fmt.Errorf("%w, or it is truncated", errBook)
	}
	b := &book{files: map[string]*zip.File{}}
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
func (b *book) elements(part string, start func(e xml.StartElement) error, end func(name string) error, text func(xml.CharData) error) error {
	f := b.files[part]
	if f == nil {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return damaged(part)
	}
	defer r.Close()
	d := xml.NewDecoder(r)
	d.Strict = true
	for {
		t, err := d.RawToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damaged(part) // an error of XML quotes it
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := start(t); err != nil {
				return err
			}
		case xml.EndElement:
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
			to[attribute(e, "Id")] = strings.TrimPrefix(target, "/")
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
					b.sheets = append(b.sheets, sheetEntry{attribute(e, "name"), parts[a.Value]})
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
			custom[attribute(e, "numFmtId")] = isDate(attribute(e, "formatCode"))
		case "cellXfs":
			inside = true
		case "xf":
			if inside {
				id := attribute(e, "numFmtId")
				of, known := custom[id]
				b.dates = append(b.dates, known && of || !known && builtinDate(id))
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
	case "14", "15", "16", "17", "22", "27", "28", "29", "30", "31", "36", "50", "51", "52", "53", "54", "55", "56", "57", "58":
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
				return errors.New("has more than 1 GiB of texts")
			}
			b.strings = append(b.strings, unescape(text.String()))
		}
		return nil
	}, func(p xml.CharData) error {
		if inText {
			if text.Len()+len(p) > maxShared {
				return errors.New("has more than 1 GiB of texts")
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
