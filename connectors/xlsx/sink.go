package xlsx

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/labels"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// sink writes a workbook.
type sink struct {
	config *SinkConfig
	layout *microdata.Layout
	labels *labels.Collector
	file   *publish.File
	out    *bufio.Writer
	zip    *zip.Writer
	sheet  *sheetWriter
	rows   int
	ended  bool
}

func create(ctx context.Context, c *SinkConfig, plan connectors.Plan) (_ connectors.Sink, err error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := connectors.Spare(plan.Source, c.Path); err != nil {
		return nil, err
	}
	if n := len(plan.Layout.Release); n > maxColumns {
		return nil, fmt.Errorf("%s: a sheet has at most %d columns, and the release has %d", c.Path, maxColumns, n)
	}
	for _, o := range plan.Layout.Release {
		if !storable(o.Field) {
			return nil,
				fmt.Errorf("%s: column %s is %s, which a sheet cannot hold", c.Path, o.Field.Name, microdata.TypeName(o.Field.Type))
		}
		if o.Column < 0 {
			return nil, fmt.Errorf("%s: column %s is not decoded, and this output cannot carry it", c.Path, o.Field.Name)
		}
	}
	s := &sink{config: c, layout: plan.Layout, labels: labels.Collect(plan.Layout)}
	if s.file, err = publish.Create(c.Path, publish.Public); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Abort())
		}
	}()
	s.out = bufio.NewWriterSize(s.file, 1<<18)
	s.zip = zip.NewWriter(s.out)
	if s.sheet, err = newSheet(s.zip, "xl/worksheets/sheet1.xml"); err != nil {
		return nil, s.named(err)
	}
	var head []byte
	for i, o := range plan.Layout.Release {
		if head, err = appendText(head, o.Field.Name); err != nil {
			return nil, fmt.Errorf("%s: the name of column %d: %w", c.Path, i+1, err)
		}
	}
	return s, s.named(s.sheet.row(head))
}

func (s *sink) named(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s: %w", s.config.Path, err)
}

func storable(f microdata.Field) bool {
	switch f.Type.ID() {
	case arrow.BOOL, arrow.DATE32, arrow.TIMESTAMP, arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	case arrow.DICTIONARY:
		return storable(microdata.Field{Type: f.Type.(*arrow.DictionaryType).ValueType})
	}
	return f.Numeric()
}

// encoded is a block as rows of XML, without what stands around a row.
type encoded struct{ rows [][]byte }

// Encode implements connectors.Sink.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	s.labels.Add(b)
	cells := make([]func(dst []byte, row int) ([]byte, error), len(s.layout.Release))
	for i, o := range s.layout.Release {
		cells[i] = cellsOf(o, &b.Columns[o.Column], b.N)
	}
	e := &encoded{rows: make([][]byte, 0, b.Kept())}
	for row := range b.N {
		if b.Rejected(row) {
			continue
		}
		var xml []byte
		var err error
		for i, of := range cells {
			if xml, err = of(xml, row); err != nil {
				return nil,
					fmt.Errorf("%s: record %d, column %s: %w", s.config.Path, b.Place(row)+1, s.layout.Release[i].Field.Name, err)
			}
		}
		e.rows = append(e.rows, xml)
	}
	return e, nil
}

// cellsOf returns the function that appends the cell of a record.
func cellsOf(o microdata.Output, from *microdata.Column, n int) func(dst []byte, row int) ([]byte, error) {
	a := from.OutArray()
	if a == nil {
		a = microdata.ToArray(from.Out(), n, o.Field, nil)
	}
	return orEmpty(a, valuesOf(a))
}

func orEmpty(a arrow.Array, f func(dst []byte, row int) ([]byte, error)) func(dst []byte, row int) ([]byte, error) {
	return func(dst []byte, row int) ([]byte, error) {
		if a.IsNull(row) {
			return append(dst, "<c/>"...), nil
		}
		return f(dst, row)
	}
}

func valuesOf(a arrow.Array) func(dst []byte, row int) ([]byte, error) {
	switch a := a.(type) {
	case *array.Dictionary:
		of := valuesOf(a.Dictionary())
		return func(dst []byte, row int) ([]byte, error) { return of(dst, a.GetValueIndex(row)) }
	case *array.Boolean:
		return func(dst []byte, row int) ([]byte, error) {
			return fmt.Appendf(dst, `<c t="b"><v>%d</v></c>`, b2i(a.Value(row))), nil
		}
	case *array.Date32:
		return func(dst []byte, row int) ([]byte, error) { return appendTime(dst, float64(a.Value(row)), dateStyle) }
	case *array.Timestamp:
		parts := []float64{1, 1e3, 1e6, 1e9}[a.DataType().(*arrow.TimestampType).Unit] * 86400
		return func(dst []byte, row int) ([]byte, error) {
			return appendTime(dst, float64(a.Value(row))/parts, timeStyle)
		}
	case *array.String, *array.LargeString, *array.StringView:
		return func(dst []byte, row int) ([]byte, error) { return appendText(dst, a.ValueStr(row)) }
	}
	var c microdata.Column
	bad := map[int]bool{}
	for _, row := range microdata.NumbersOf(a, &c) {
		bad[row] = true
	}
	return func(dst []byte, row int) ([]byte, error) {
		x := c.Original.Values[row]
		switch {
		case bad[row]:
			return nil, errors.New("holds an integer of more digits than Excel's numbers have")
		case math.IsNaN(x):
			return append(dst, "<c/>"...), nil
		case math.IsInf(x, 0):
			return nil, errors.New("is infinite, which a sheet cannot hold")
		}
		dst = append(dst, "<c><v>"...)
		dst = strconv.AppendFloat(dst, x, 'g', -1, 64)
		return append(dst, "</v></c>"...), nil
	}
}

// The numbers of the styles in styles.xml.
const (
	dateStyle = 1
	timeStyle = 2
)

// appendTime appends a number of days since 1970.
func appendTime(dst []byte, days float64, style int) ([]byte, error) {
	x := days + epoch1900
	if x < 61 {
		if x--; x < 1 {
			return nil, errors.New("is a day before 1900, which Excel does not know")
		}
	}
	dst = fmt.Appendf(dst, `<c s="%d"><v>`, style)
	dst = strconv.AppendFloat(dst, x, 'f', -1, 64)
	return append(dst, "</v></c>"...), nil
}

// appendText appends a text as it is: Excel takes none of it for a formula.
func appendText(dst []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("is no valid UTF-8")
	}
	if len(text) > maxText && len([]rune(text)) > maxText {
		return nil, fmt.Errorf("has more characters than the %d that a cell holds", maxText)
	}
	if text == "" {
		return append(dst, "<c/>"...), nil
	}
	dst = append(dst, `<c t="inlineStr"><is><t xml:space="preserve">`...)
	for i, r := range text {
		switch {
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '>':
			dst = append(dst, "&gt;"...)
		case r < ' ' && r != '\n' && r != '\t', r == 0xfffe, r == 0xffff:
			dst = fmt.Appendf(dst, "_x%04X_", r)
		case r == '_':
			if _, looks := escaped(text[i:]); looks {
				dst = append(dst, "_x005F"...)
			}
			dst = append(dst, '_')
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, "</t></is></c>"...), nil
}

// Write implements connectors.Sink.
func (s *sink) Write(ctx context.Context, enc connectors.Encoded) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, xml := range enc.(*encoded).rows {
		if s.rows++; s.rows >= maxRows {
			return fmt.Errorf("%s: a sheet has at most %d records", s.config.Path, maxRows-1)
		}
		if err := s.sheet.row(xml); err != nil {
			return s.named(err)
		}
	}
	return nil
}

// Finish implements connectors.Sink.
func (s *sink) Finish(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.ended {
		return nil
	}
	if err := s.complete(); err != nil {
		return s.named(err)
	}
	s.ended = true
	return s.file.Finish()
}

func (s *sink) complete() error {
	if err := s.sheet.end(); err != nil {
		return err
	}
	sheets := []string{"Data"}
	if columns := s.labels.Released(s.config.Labels); columns != nil {
		sheets = append(sheets, "Codebook")
		if err := s.codebook(columns); err != nil {
			return err
		}
	}
	if err := writeBook(s.zip, sheets); err != nil {
		return err
	}
	return errors.Join(s.zip.Close(), s.out.Flush())
}

// codebook writes the second sheet.
func (s *sink) codebook(columns []labels.Column) error {
	sheet, err := newSheet(s.zip, "xl/worksheets/sheet2.xml")
	if err != nil {
		return err
	}
	for _, row := range append([][]string{labels.Head}, labels.Rows(columns)...) {
		var xml []byte
		for _, text := range row {
			if xml, err = appendText(xml, strings.ToValidUTF8(text, "�")); err != nil {
				return err
			}
		}
		if err := sheet.row(xml); err != nil {
			return err
		}
	}
	return sheet.end()
}

// Abilities implements connectors.Sink.
func (s *sink) Abilities() connectors.SinkAbilities {
	said := func() []microdata.Said { return s.labels.Released(s.config.Labels) }
	return connectors.SinkAbilities{Content: s.file.Content, Labels: said}
}

// Commit implements connectors.Sink.
func (s *sink) Commit() error {
	if !s.ended {
		return errors.New("a release that is not finished cannot be committed")
	}
	return s.file.Commit()
}

// Abort implements connectors.Sink.
func (s *sink) Abort() error { return s.file.Abort() }
