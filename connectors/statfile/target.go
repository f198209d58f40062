package statfile

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
func (s *sink) header() (readstat.Target, error) {
	t := readstat.Target{Kind: s.kind, Version: s.version, Compressed: s.compressed, Rows: s.records}
	for i, o := range s.layout.Release {
		c, err := s.column(o, s.notes[i], i)
		if err != nil {
			return t, &readstat.ColumnError{Column: o.Field.Name, Err: err}
		}
		t.Columns = append(t.Columns, c)
	}
	return t, nil
}

// column describes one column.
func (s *sink) column(o microdata.Output, n note, i int) (readstat.Out, error) {
	c := readstat.Out{Variable: readstat.Variable{Index: i, Name: o.Field.Name, Type: s.typeOf(o, n)}}
	d := o.Field.Described
	if d == nil {
		d = &microdata.Description{}
	}
	ours := d.Program == s.program
	if c.Type.Text() {
		c.Width = max(n.width, 1)
		// declared; Stata's is that of the longest text, perhaps of a record that does not leave
		if ours && !o.Masked && s.program == spss {
			c.Width = max(c.Width, d.Width)
		}
	} else if c.Format = s.format(o.Field); ours && d.Format != "" &&
		clockOf(s.program, d.Format) == clockOf(s.program, c.Format) {
		c.Format = d.Format
	}
	if ours {
		c.Display, c.Alignment = d.Display, d.Alignment
	}
	c.Measure = max(slices.Index(measures, d.Measure), 0)
	c.Weight = s.program == spss && d.Weight && !c.Type.Text()
	if s.labels.Has(labels.Variables) {
		var err error
		if c.Label, err = s.fit(d.Label, ofVariables[s.program]); err != nil {
			return c, fmt.Errorf("its label %w", err)
		}
	}
	if n.codes != nil && s.labels.Has(labels.Values) {
		return c, s.label(&c, n.codes.Description())
	}
	return c, nil
}

// holds returns the function that says whether a label of a code can be written in a column of texts, or of numbers:
// Stata has labels of integers alone, and of its own missing values.
func (s *sink) holds(text bool) func(microdata.Code) bool {
	return func(c microdata.Code) bool {
		switch {
		case c.IsText != text:
			return false
		case s.program != stata:
			return c.Tag == 0
		}
		return !text && (c.Tag != 0 || c.Number == math.Trunc(c.Number) && -2147483647 <= c.Number && c.Number <= 2147483620)
	}
}

// label gives a column the labels and missing codes that the program can hold.
func (s *sink) label(c *readstat.Out, d *microdata.Description) error {
	c.Set = c.Name
	holds := s.holds(c.Type.Text())
	for _, v := range d.Values {
		code := v.Value
		if !holds(code) || v.Label == "" {
			continue
		}
		label, err := s.fit(v.Label, ofValues[s.program])
		if err != nil {
			return fmt.Errorf("the label of a value %w", err)
		}
		c.Labels = append(c.Labels,
			readstat.Label{IsText: code.IsText, Tag: code.Tag, Number: code.Number, Text: code.Text, Label: label})
	}
	if s.program != spss {
		return nil
	}
	for _, m := range d.Missing {
		if m.IsText == c.Type.Text() {
			c.Missing = append(c.Missing, readstat.Range{From: m.From, To: m.To, Text: m.Text})
		}
	}
	return nil
}

// length is how long a label can be: bytes of UTF-8, or characters.
type length struct {
	most       int
	characters bool
}

// ofVariables and ofValues are the programs' bounds of labels.
var (
	ofVariables = map[string]length{spss: {most: 256}, stata: {80, true}}
	ofValues    = map[string]length{spss: {most: 120}, stata: {most: 32000}}
)

func (l length) String() string {
	if l.characters {
		return fmt.Sprintf("%d characters", l.most)
	}
	return fmt.Sprintf("%d bytes", l.most)
}

// end is where the part of a label ends that is not too long.
func (l length) end(label string) int {
	n := 0
	for i, r := range label {
		k := 1
		if !l.characters {
			k = utf8.RuneLen(r)
		}
		if n += k; n > l.most {
			return i
		}
	}
	return len(label)
}

// fit is a label as the program can hold it: an error where it would have to be cut, and that is not allowed.
func (s *sink) fit(label string, l length) (string, error) {
	label = strings.ToValidUTF8(label, "\uFFFD")
	if s.version == 117 {
		if _, err := oldText(label); err != nil {
			return "", err
		}
	}
	end := l.end(label)
	if end < len(label) && !s.labels.Has(labels.Cut) {
		return "", fmt.Errorf("has more than the %v that files of %s hold; shorten it in the source, or list %s under labels",
			l, s.program, labels.Cut)
	}
	return label[:end], nil
}

// early is an error of labels that is known before any record is read: of all that may leave.
func (s *sink) early() error {
	for _, o := range s.layout.Release {
		d := o.Field.Described
		if d == nil || !s.labels.Has(labels.Values) {
			continue
		}
		c := readstat.Out{Variable: readstat.Variable{Name: o.Field.Name, Type: s.typeOf(o, note{})}}
		if err := s.label(&c, d); err != nil {
			return &readstat.ColumnError{Column: o.Field.Name, Err: err}
		}
	}
	return nil
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
	case (id == arrow.INT8 || id == arrow.UINT8 || id == arrow.INT16 || id == arrow.UINT16 || id == arrow.INT32 ||
		id == arrow.DATE32 || id == arrow.INT64) && fits(-2147483647, 2147483620):
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
