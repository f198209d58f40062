package xlsx

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/xuri/excelize/v2"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/internal/serial"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// sinkOf creates a sink of one column, and returns a function that writes a block of it.
func sinkOf(t *testing.T, c *SinkConfig, f microdata.Field) (connectors.Sink,
	func(a arrow.Array, reject ...int) error) {
	t.Helper()
	layout := &microdata.Layout{Schema: &microdata.Schema{Fields: []microdata.Field{f}},
		Read: []microdata.Want{{As: microdata.Array}}, Release: []microdata.Output{{Field: f}}}
	s, err := c.Create(t.Context(), connectors.Plan{Source: connectortest.Elsewhere(), Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	return s, func(a arrow.Array, reject ...int) error {
		var b microdata.Block
		b.Reset(0, 0, a.Len(), 1)
		b.Columns[0].Array = a
		for _, row := range reject {
			b.Reject(row, "", "dropped")
		}
		e, err := s.Encode(&b)
		if err == nil {
			err = s.Write(t.Context(), e)
		}
		return err
	}
}

func textsOf(list ...string) arrow.Array {
	build := array.NewStringBuilder(memory.DefaultAllocator)
	build.AppendValues(list, nil)
	return build.NewArray()
}

// The second sheet has the labels of the codes that released records have, as the configuration asks for them.
func TestCodebookSheet(t *testing.T) {
	d := &microdata.Description{Label: "Region, \xff & more", Measure: "nominal"}
	for _, code := range []string{"N", "S", "W"} {
		d.Values = append(d.Values,
			microdata.ValueLabel{Value: microdata.Code{Text: code, IsText: true}, Label: "label of " + code})
	}
	f := microdata.Field{Name: "region", Type: arrow.BinaryTypes.String, Described: d}
	for _, c := range []struct {
		labels []string
		want   string
	}{
		{nil, "column|label|measure|code|meaning|missing region||nominal region|||N|label of N"},
		{[]string{"values", "variables"},
			"column|label|measure|code|meaning|missing region|Region, � & more|nominal region|||N|label of N"},
		{[]string{}, "column|label|measure|code|meaning|missing region||nominal"},
	} {
		path := filepath.Join(t.TempDir(), "o.xlsx")
		sink, write := sinkOf(t, &SinkConfig{Path: path, Labels: c.labels}, f)
		if err := errors.Join(write(textsOf("N", "S", "N"), 1), sink.Commit()); err == nil {
			t.Error("a release that is not finished is committed")
		}
		if err := errors.Join(sink.Finish(t.Context()), sink.Finish(t.Context()), sink.Commit()); err != nil {
			t.Fatal(err)
		}
		if said := sink.Abilities().Labels(); len(said) != 1 ||
			(len(said[0].Values) == 1) != (c.labels == nil || len(c.labels) > 0) {
			t.Errorf("%v: %+v", c.labels, said)
		}
		book, err := excelize.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := book.GetRows("Codebook")
		var all []string
		for _, r := range rows {
			all = append(all, strings.TrimRight(strings.Join(r, "|"), "|"))
		}
		if got := strings.Join(all, " "); err != nil || got != c.want ||
			!slices.Equal(book.GetSheetList(), []string{"Data", "Codebook"}) {
			t.Errorf("%v: %q, %v", c.labels, got, err)
		}
		if err := book.Close(); err != nil {
			t.Error(err)
		}
	}
	path := filepath.Join(t.TempDir(), "o.xlsx")
	f.Described = nil
	sink, write := sinkOf(t, &SinkConfig{Path: path}, f)
	if err := errors.Join(write(textsOf("N")), sink.Finish(t.Context()), sink.Commit()); err != nil {
		t.Fatal(err)
	}
	if book, err := excelize.OpenFile(path); err != nil || !slices.Equal(book.GetSheetList(), []string{"Data"}) {
		t.Errorf("a release without labels has a codebook, %v", err)
	}
}

// A sheet takes one record less than it has rows.
func TestFullSheet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "o.xlsx")
	s, write := sinkOf(t, &SinkConfig{Path: path}, microdata.Field{Name: "a", Type: arrow.BinaryTypes.String})
	s.(*sink).rows = maxRows - 2
	if err := write(textsOf("last")); err != nil {
		t.Error(err)
	}
	if err := write(textsOf("more")); err == nil || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "1048575 records") {
		t.Error(err)
	}
	if err := s.Abort(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// Times of each unit are the same moment.
func TestUnits(t *testing.T) {
	at := time.Date(2024, 2, 29, 6, 0, 0, 0, time.UTC)
	for unit, ticks := range map[arrow.TimeUnit]int64{arrow.Second: at.Unix(), arrow.Millisecond: at.UnixMilli(),
		arrow.Microsecond: at.UnixMicro(), arrow.Nanosecond: at.UnixNano()} {
		typ := &arrow.TimestampType{Unit: unit}
		path := filepath.Join(t.TempDir(), "o.xlsx")
		sink, write := sinkOf(t, &SinkConfig{Path: path}, microdata.Field{Name: "at", Type: typ})
		build := array.NewTimestampBuilder(memory.DefaultAllocator, typ)
		build.Append(arrow.Timestamp(ticks))
		if err := errors.Join(write(build.NewArray()), sink.Finish(t.Context()), sink.Commit()); err != nil {
			t.Fatal(err)
		}
		if _, rows, err := texts(t, &SourceConfig{Path: path}); err != nil || len(rows) != 1 ||
			rows[0][0] != "2024-02-29T06:00:00" && rows[0][0] != "2024-02-29T06:00:00.000000" {
			t.Errorf("%v: %v, %v", unit, rows, err)
		}
	}
}

// Whether a format shows a day.
func TestFormatsOfDays(t *testing.T) {
	for code, want := range map[string]bool{
		"yyyy-mm-dd": true, "d": true, "Y": true, "dd/mm/yy;@": true, "0.00": false, "h:mm": false, "General": false,
		"":       false,
		`"day"0`: false, `"x"d`: true, `"open`: false, "[$-409]d": true, "[Red]0": false, "[open": false, `\d0`: false,
		`\xd`: true, "_d0": false, "*d0": false, "0;d": false, "@": false,
	} {
		if got := isDate(code); got != want {
			t.Errorf("%q: %v", code, got)
		}
	}
	for id, want := range map[string]bool{"13": false, "14": true, "17": true, "18": false, "21": false, "22": true,
		"45": false, "47": false, "58": true, "": false} {
		if builtinDate(id) != want {
			t.Errorf("format %s", id)
		}
	}
}

// Columns by their letters.
func TestColumns(t *testing.T) {
	for place, want := range map[string]int{"A1": 0, "Z9": 25, "AA1": 26, "XFD1048576": 16383, "XFE1": 16384,
		"AAAA1": 18278, "1": -1, "": -1, "a1": -1} {
		if n, ok := columnOf(place); ok != (want >= 0) || ok && n != want {
			t.Errorf("%s: %d, %v", place, n, ok)
		}
	}
}

// A piece has so many records at most, and not much more than so many bytes.
func TestPieces(t *testing.T) {
	sizes := func(rows, most int, text string) (list []int) {
		path := bookOf(t, map[string]func(w io.Writer){"xl/worksheets/sheet1.xml": func(w io.Writer) {
			fmt.Fprintf(w, "<worksheet><sheetData>%s", row("a"))
			repeat(w, row(text), rows)
			io.WriteString(w, "</sheetData></worksheet>")
		}})
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		info, err := in.Stat()
		if err != nil {
			t.Fatal(err)
		}
		f := &format{config: &SourceConfig{}}
		err = f.Scan(t.Context(), serial.File{In: in, Size: info.Size()}, nil, most, func(p piece) error {
			list = append(list, p.Len())
			if one := int64(2*cellBytes + len(text)); p.Size() != one*int64(p.Len()) || p.Part(0, 1).Size() != one ||
				p.Part(0, 0).Size() != 0 || (piece{}).Part(0, 0).Len() != 0 {
				t.Errorf("%d bytes of %d records", p.Size(), p.Len())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	long := strings.Repeat("x", 1<<16-2*cellBytes) // 128 of these are 8 MiB
	for _, c := range []struct {
		rows, most int
		text       string
		want       []int
	}{
		{0, 1 << 16, "x", nil}, {1, 1 << 16, "x", []int{1}}, {pieceRecords, 1 << 16, "x", []int{pieceRecords}},
		{pieceRecords + 1, 1 << 16, "x", []int{pieceRecords, 1}},
		{5, 2, "x", []int{2, 2, 1}}, {128, 1 << 16, long, []int{128}}, {129, 1 << 16, long, []int{128, 1}},
	} {
		if got := sizes(c.rows, c.most, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%d rows, at most %d: %v, want %v", c.rows, c.most, got, c.want)
		}
	}
}

// Characters that XML cannot hold are written by their numbers; halves of a pair stand for none.
func TestUnescape(t *testing.T) {
	for text, want := range map[string]string{
		"a_x0041_b": "aAb", "_x000D_": "\r", "_xD7FF_": "\ud7ff", "_xD800_": "_xD800_", "_xDFFF_": "_xDFFF_",
		"_xE000_": "\ue000", "_xFFFD_": "\ufffd", "_x005F_x0041_": "_x0041_",
		"_x004_": "_x004_", "_x0041": "_x0041", "_y0041_": "_y0041_", "_x00G1_": "_x00G1_", "x": "x", "": "",
	} {
		if got := unescape(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
