package statfile

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/labels"
	"github.com/sdlfilter/sdlfilter/internal/readstat"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// storable reports whether a file can hold a field.
func storable(f microdata.Field) bool {
	switch f.Type.ID() {
	case arrow.BOOL, arrow.DATE32, arrow.DATE64, arrow.TIMESTAMP:
		return true
	}
	return isText(f.Type) || f.Numeric()
}

// The bounds of texts, in bytes: of SPSS, and of Stata's str1 to str2045, beyond which they are strL.
const (
	spssText  = 32767
	stataText = 2045
)

// header describes the columns as they will be written, by what is known of their values.
func (s *sink) header() readstat.Target {
	t := readstat.Target{Kind: s.kind, Version: s.version, Compressed: s.compressed, Rows: s.records}
	for i, o := range s.layout.Release {
		t.Columns = append(t.Columns, s.column(o, s.notes[i], i))
	}
	return t
}

// column describes one column.
func (s *sink) column(o microdata.Output, n note, i int) readstat.Out {
	c := readstat.Out{Variable: readstat.Variable{Index: i, Name: o.Field.Name, Type: s.typeOf(o, n)}}
	d := o.Field.Described
	if d == nil {
		d = &microdata.Description{}
	}
	ours := d.Program == s.program
	if c.Type.Text() {
		c.Width = max(n.width, 1)
		if ours && !o.Masked {
			c.Width = max(c.Width, d.Width)
		}
	} else if c.Format = s.format(o.Field); ours && d.Format != "" && clockOf(s.program, d.Format) == clockOf(s.program, c.Format) {
		c.Format = d.Format
	}
	if ours {
		c.Display, c.Alignment = d.Display, d.Alignment
	}
	c.Measure = max(slices.Index(measures, d.Measure), 0)
	c.Weight = s.program == spss && d.Weight && !c.Type.Text()
	if s.labels.Has(labels.Variables) {
		c.Label = s.cut(d.Label, 255, 320)
	}
	if n.codes != nil && s.labels.Has(labels.Values) {
		s.label(&c, n.codes.Description())
	}
	return c
}

// label gives a column the labels and missing codes that the program can hold.
func (s *sink) label(c *readstat.Out, d *microdata.Description) {
	c.Set = c.Name
	for _, v := range d.Values {
		code := v.Value
		integer := code.Number == math.Trunc(code.Number) && math.Abs(code.Number) < 1<<31
		switch {
		case code.IsText != c.Type.Text(), code.Tag != 0 && s.program != stata,
			s.program == stata && (code.IsText || code.Tag == 0 && !integer), v.Label == "":
			continue
		}
		c.Labels = append(c.Labels, readstat.Label{IsText: code.IsText, Tag: code.Tag, Number: code.Number, Text: code.Text, Label: s.cut(v.Label, 120, 32000)})
	}
	if s.program != spss {
		return
	}
	for _, m := range d.Missing {
		if m.IsText == c.Type.Text() {
			c.Missing = append(c.Missing, readstat.Range{From: m.From, To: m.To, Text: m.Text})
		}
	}
}

// cut shortens a label to what the program takes, in bytes of UTF-8.
func (s *sink) cut(label string, inSPSS, inStata int) string {
	limit := map[string]int{spss: inSPSS, stata: inStata}[s.program]
	if len(label) <= limit {
		return label
	}
	for limit > 0 && !utf8.RuneStart(label[limit]) {
		limit--
	}
	return label[:limit]
}

// typeOf is how a column is stored.
func (s *sink) typeOf(o microdata.Output, n note) readstat.Type {
	t := o.Field.Type
	if isText(t) {
		if s.program == stata && n.width > stataText {
			return readstat.StringRef
		}
		return readstat.String
	}
	if s.program == spss {
		return readstat.Double
	}
	if d := o.Field.Described; s.carries && !o.Masked && d != nil {
		return readstat.Type(d.Stored) // its numbers are those of the source
	}
	fits := func(lo, hi float64) bool { return !(n.lo < lo) && !(n.hi > hi) }
	switch id := t.ID(); {
	case id == arrow.BOOL, id == arrow.INT8 && fits(-127, 100):
		return readstat.Int8
	case (id == arrow.INT8 || id == arrow.UINT8 || id == arrow.INT16) && fits(-32767, 32740):
		return readstat.Int16
	case (id == arrow.INT8 || id == arrow.UINT8 || id == arrow.INT16 || id == arrow.UINT16 || id == arrow.INT32 || id == arrow.DATE32 || id == arrow.INT64) && fits(-2147483647, 2147483620):
		return readstat.Int32
	case id == arrow.FLOAT32 && fits(-1.7014117331926443e+38, 1.7014117331926443e+38):
		return readstat.Float
	}
	return readstat.Double
}

// format is the display format of a type.
func (s *sink) format(f microdata.Field) string {
	decimals, fixed := f.Decimals()
	switch id := f.Type.ID(); {
	case id == arrow.DATE32 || id == arrow.DATE64:
		return map[string]string{spss: "DATE11", stata: "%td"}[s.program]
	case id == arrow.TIMESTAMP:
		return map[string]string{spss: "DATETIME23.2", stata: "%tc"}[s.program]
	case s.program == stata:
		return ""
	case id == arrow.BOOL:
		return "F1.0"
	case fixed:
		return fmt.Sprintf("F12.%d", min(decimals, 8))
	}
	return "F12.2"
}
