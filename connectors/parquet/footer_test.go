package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// twoColumns returns the metadata of a file with 1,000 bytes before its footer: two columns in two
// row groups, with an index, a filter and a dictionary.
func twoColumns() *fileMetaData {
	chunk := func(name string, from, to int64) columnChunk {
		return columnChunk{
			MetaData: some(columnMetaData{Type: format.Int64, PathInSchema: []string{name}, NumValues: 10, DataPageOffset: from,
				TotalCompressedSize: to - from})}
	}
	m := &fileMetaData{Version: 2, NumRows: 20,
		Schema: []schemaElement{{Name: "schema", NumChildren: some[int32](2)}, el("a", -1), el("b", -1)},
		RowGroups: []rowGroup{
			{NumRows: 10, Columns: []columnChunk{chunk("a", 4, 100), chunk("b", 100, 200)}},
			{NumRows: 10, Columns: []columnChunk{chunk("a", 210, 300), chunk("b", 300, 400)}},
		}}
	m.RowGroups[1].Columns[0].MetaData.V.DictionaryPageOffset = some[int64](200)
	m.RowGroups[1].Columns[0].MetaData.V.TotalCompressedSize = 100
	m.RowGroups[0].Columns[0].OffsetIndexOffset, m.RowGroups[0].Columns[0].OffsetIndexLength = some[int64](400),
		some[int32](50)
	m.RowGroups[0].Columns[0].ColumnIndexOffset, m.RowGroups[0].Columns[0].ColumnIndexLength = some[int64](450),
		some[int32](50)
	m.RowGroups[0].Columns[1].MetaData.V.BloomFilterOffset,
		m.RowGroups[0].Columns[1].MetaData.V.BloomFilterLength = some[int64](500), some[int32](100)
	return m
}

func fileOf(t testing.TB, m *fileMetaData) []byte {
	t.Helper()
	out := bytes.NewBuffer(append([]byte(magic), make([]byte, 996)...))
	if err := writeFooter(out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func footerOf(b []byte) (*footer, error) { return readFooter(bytes.NewReader(b), int64(len(b))) }

// Impossible values in a footer are refused, with their place. The largest and smallest possible
// values are accepted.
func TestFootersThatCannotBe(t *testing.T) {
	f, err := footerOf(fileOf(t, twoColumns()))
	if err != nil || len(f.leaves) != 2 || len(f.roots) != 2 || f.NumRows != 20 {
		t.Fatalf("%+v, %v", f, err)
	}
	meta := func(m *fileMetaData, g, i int) *columnMetaData { return &m.RowGroups[g].Columns[i].MetaData.V }
	for _, c := range []struct {
		name string
		edit func(m *fileMetaData)
		want string // "": the footer is accepted
	}{
		{"encrypted", func(m *fileMetaData) { m.EncryptionAlgorithm = some(format.EncryptionAlgorithm{}) },
			"the file is encrypted"},
		{"no schema", func(m *fileMetaData) { m.Schema = nil }, "the schema is empty"},
		{"rows below 0", func(m *fileMetaData) {
			m.RowGroups[0].NumRows, m.NumRows = -1, 9
		}, "row group 0: has 2 columns and -1 rows"},
		{"a column less", func(m *fileMetaData) { m.RowGroups[1].Columns = m.RowGroups[1].Columns[:1] },
			"row group 1: has 1 columns and 10 rows, and the schema 2"},
		{"a row more", func(m *fileMetaData) { m.NumRows++ }, "the row groups hold 20 rows, and the file is said to hold 21"},
		{"a row less", func(m *fileMetaData) { m.NumRows-- }, "said to hold 19"},
		{"an encrypted column", func(m *fileMetaData) {
			m.RowGroups[1].Columns[1].CryptoMetadata = some(format.ColumnCryptoMetaData{})
		}, "row group 1, column chunk 2: the column is encrypted"},
		{"a column without metadata", func(m *fileMetaData) {
			m.RowGroups[1].Columns[1].MetaData.Valid = false
		}, "row group 1, column chunk 2: the column is encrypted"},
		{"a column elsewhere", func(m *fileMetaData) {
			m.RowGroups[0].Columns[1].FilePath = "x"
		}, "row group 0, column chunk 2: the column's data are in another file"},
		{"another type", func(m *fileMetaData) { meta(m, 0, 1).Type = format.Double }, "is not the schema's column"},
		{"another name", func(m *fileMetaData) { meta(m, 0, 1).PathInSchema = []string{"a"} }, "is not the schema's column"},
		{"values below 0", func(m *fileMetaData) { meta(m, 0, 1).NumValues = -1 }, "has -1 values in 10 rows"},
		{"a value less", func(m *fileMetaData) { meta(m, 0, 1).NumValues = 9 }, "has 9 values in 10 rows"},
		{"a value more", func(m *fileMetaData) { meta(m, 0, 1).NumValues = 11 }, "has 11 values in 10 rows"},
		{"a column in the magic", func(m *fileMetaData) {
			meta(m, 0, 0).DataPageOffset = 3
		}, "row group 0, column chunk 1: the column's data lie outside the file"},
		{"a column behind the data", func(m *fileMetaData) {
			*meta(m, 1, 1) = moved(*meta(m, 1, 1), 901)
		}, "row group 1, column chunk 2: the column's data lie outside the file"},
		{"a column at the data's end", func(m *fileMetaData) { *meta(m, 1, 1) = moved(*meta(m, 1, 1), 900) }, ""},
		{"a size below 0", func(m *fileMetaData) { meta(m, 1, 1).TotalCompressedSize = -1 }, "outside the file"},
		{"a size of nothing", func(m *fileMetaData) { meta(m, 1, 1).TotalCompressedSize = 0 }, ""},
		{"a size of everything", func(m *fileMetaData) {
			meta(m, 1, 1).TotalCompressedSize = math.MaxInt64
		}, "outside the file"},
		{"a size that wraps around", func(m *fileMetaData) {
			meta(m, 1, 1).TotalCompressedSize = math.MaxInt64 - 200
		}, "outside the file"},
		{"a byte of the next column", func(m *fileMetaData) {
			meta(m, 0, 0).TotalCompressedSize++
		}, "row group 0, column chunk 2: the column's data lie within what belongs to row group 0, column chunk 1"},
		{"a byte of the next group", func(m *fileMetaData) {
			meta(m, 0, 1).TotalCompressedSize++
		}, "row group 1, column chunk 1: the column's data lie within what belongs to row group 0, column chunk 2"},
		{"the same place twice", func(m *fileMetaData) {
			*meta(m, 1, 1) = moved(*meta(m, 1, 1), 300)
			meta(m, 0, 1).DataPageOffset = 300
		}, "within what belongs to"},
		{"an index over a column", func(m *fileMetaData) { m.RowGroups[0].Columns[0].OffsetIndexOffset = some[int64](399) },
			"column chunk 1: the column's offset index lies within what belongs to row group 1, column chunk 2"},
		{"an index over an index", func(m *fileMetaData) { m.RowGroups[0].Columns[0].ColumnIndexOffset = some[int64](449) },
			"the column's column index lies within what belongs to row group 0, column chunk 1"},
		{"a filter over an index", func(m *fileMetaData) {
			meta(m, 0, 1).BloomFilterOffset = some[int64](499)
		}, "the column's Bloom filter lies within"},
		{"a filter to the footer", func(m *fileMetaData) { meta(m, 0, 1).BloomFilterLength = some[int32](500) }, ""},
		{"a filter into the footer", func(m *fileMetaData) {
			meta(m, 0, 1).BloomFilterLength = some[int32](501)
		}, "Bloom filter lies outside the file"},
		{"a filter of unknown length", func(m *fileMetaData) { meta(m, 0, 1).BloomFilterLength = thrift.Null[int32]{} }, ""},
		{"a filter of unknown length at the last byte", func(m *fileMetaData) {
			meta(m, 0, 1).BloomFilterOffset, meta(m, 0, 1).BloomFilterLength = some[int64](999), thrift.Null[int32]{}
		}, ""},
		{"a filter of unknown length in the footer", func(m *fileMetaData) {
			meta(m, 0, 1).BloomFilterOffset, meta(m, 0, 1).BloomFilterLength = some[int64](1000), thrift.Null[int32]{}
		}, "Bloom filter lies outside"},
		{"a filter of no bytes anywhere", func(m *fileMetaData) {
			meta(m, 0, 1).BloomFilterOffset, meta(m, 0, 1).BloomFilterLength = some[int64](5000), some[int32](0)
		}, ""},
		{"a filter of fewer bytes than none", func(m *fileMetaData) {
			meta(m, 0, 1).BloomFilterLength = some[int32](-1)
		}, "Bloom filter lies outside"},
		{"a filter before the file", func(m *fileMetaData) {
			meta(m, 0, 1).BloomFilterOffset = some[int64](-5)
		}, "Bloom filter lies outside"},
		{"a filter beyond all numbers", func(m *fileMetaData) {
			meta(m, 0, 1).BloomFilterOffset = some[int64](math.MaxInt64)
		}, "Bloom filter lies outside"},
		{"an index at 0", func(m *fileMetaData) { m.RowGroups[0].Columns[0].OffsetIndexOffset = some[int64](0) }, ""},
		{"a dictionary behind the data", func(m *fileMetaData) {
			meta(m, 1, 0).DictionaryPageOffset = some[int64](220)
		}, "within what belongs to row group 1, column chunk 1"},
		{"a dictionary at 0", func(m *fileMetaData) {
			meta(m, 1, 0).DictionaryPageOffset, meta(m, 1, 0).TotalCompressedSize = some[int64](0), 90
		}, ""},
		{"an empty group anywhere", func(m *fileMetaData) {
			m.RowGroups[1].NumRows, m.NumRows = 0, 10
			for i := range 2 {
				meta(m, 1, i).NumValues, meta(m, 1, i).DataPageOffset, meta(m, 1, i).DictionaryPageOffset = 0, 0,
					thrift.Null[int64]{}
			}
		}, ""},
	} {
		m := twoColumns()
		c.edit(m)
		_, err := footerOf(fileOf(t, m))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	// A repeated column has at least one value per row.
	lists := twoColumns()
	lists.Schema[1].RepetitionType = some(format.Repeated)
	meta(lists, 0, 0).NumValues = 12
	if _, err := footerOf(fileOf(t, lists)); err != nil {
		t.Errorf("12 values in 10 lists: %v", err)
	}
	meta(lists, 0, 0).NumValues = 9
	if _, err := footerOf(fileOf(t, lists)); err == nil {
		t.Error("9 values in 10 lists")
	}
}

func moved(m columnMetaData, to int64) columnMetaData {
	m.DataPageOffset = to
	return m
}

// A chunk begins with its dictionary if the dictionary stands before its pages.
func TestExtentOfAChunk(t *testing.T) {
	for _, c := range []struct {
		page, dict, size int64
		valid            bool
		from, to         int64
	}{
		{50, 0, 10, false, 50, 60}, {50, 40, 20, true, 40, 60}, {50, 40, 20, false, 50, 70}, {50, 0, 20, true, 50, 70},
		{50, 60, 20, true, 50, 70}, {50, 50, 20, true, 50, 70}, {50, 1, 20, true, 1, 21},
		{50, 0, -1, false, 50, -1}, {50, 0, 0, false, 50, 50}, {50, 0, 1<<62 - 50, false, 50, 1 << 62},
		{50, 0, 1<<62 - 49, false, 50, -1},
	} {
		m := columnMetaData{DataPageOffset: c.page, TotalCompressedSize: c.size,
			DictionaryPageOffset: thrift.Null[int64]{V: c.dict, Valid: c.valid}}
		if from, to := m.extent(); from != c.from || to != c.to {
			t.Errorf("%+v: %d to %d", c, from, to)
		}
	}
}

// failing is a file that returns an error from the n-th read on.
type failing struct {
	io.ReaderAt
	left int
}

var errBroken = errors.New("the disk is broken")

func (f *failing) ReadAt(b []byte, at int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errBroken
	}
	return f.ReaderAt.ReadAt(b, at)
}

// The footer is read from the end of the file, however long it is. Errors and missing footers are
// reported.
func TestReadingAFooter(t *testing.T) {
	for _, columns := range []int{2, 1500} {
		m := twoColumns()
		if columns > 2 { // a footer longer than the first read
			m.CreatedBy = strings.Repeat("x", 70<<10)
		}
		b := fileOf(t, m)
		f, err := footerOf(b)
		if err != nil || f.size != int64(len(b)) || f.length != int64(len(b))-1008 || f.CreatedBy != m.CreatedBy {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if err := f.sameFooter(bytes.NewReader(b)); err != nil {
			t.Errorf("the same footer: %v", err)
		}
		other := bytes.Clone(b)
		other[len(b)-9]++
		if err := f.sameFooter(bytes.NewReader(other)); err == nil ||
			!strings.Contains(err.Error(), "not the one that was there before") {
			t.Errorf("the footer differs: %v", err)
		}
		if err := f.sameFooter(&failing{bytes.NewReader(b), 0}); !errors.Is(err, errBroken) {
			t.Errorf("a broken disk: %v", err)
		}
		for n := range columns/1000 + 1 {
			if _, err := readFooter(&failing{bytes.NewReader(b), n}, int64(len(b))); !errors.Is(err, errBroken) {
				t.Errorf("a disk that breaks after %d times: %v", n, err)
			}
		}
	}
	// A footer that just fits into the first read, and one that just does not.
	for more := -2; more <= 2; more++ {
		m := twoColumns()
		m.CreatedBy = "x"
		short := len(fileOf(t, m)) - 1008
		m.CreatedBy = strings.Repeat("x", 64<<10-8-short+1-2+more) // its length takes two bytes more
		b := fileOf(t, m)
		if n := len(b) - 1000 - 64<<10; n != more {
			t.Fatalf("a footer of %d bytes more", n)
		}
		if f, err := footerOf(b); err != nil || f.CreatedBy != m.CreatedBy {
			t.Errorf("footer %d bytes longer than what is read at once: %v", more, err)
		}
	}
	end := func(length uint32, ending string) []byte {
		b := append([]byte(magic), make([]byte, 4)...)
		return append(binary.LittleEndian.AppendUint32(b, length), ending...)
	}
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, "it has 0 bytes"}, {"eleven bytes", make([]byte, 11), "it has 11 bytes"},
		{"twelve bytes", make([]byte, 12), "does not end with PAR1"},
		{"a footer of the whole file", end(5, magic), "the footer's length, 5 bytes, is more than the file has"},
		{"a footer of all but the magic", end(4, magic), "the footer is corrupt"},
		{"an encrypted footer", end(4, "PARE"), "the file is encrypted"},
		{"another ending", end(4, "PAR2"), "does not end with PAR1"},
		{"no footer", append([]byte(magic), end(0, magic)[8:]...), "the footer is corrupt"},
	} {
		if _, err := footerOf(c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	var buf bytes.Buffer
	buf.WriteString("before")
	if err := writeFooter(&buf, twoColumns()); err != nil {
		t.Fatal(err)
	}
	b := buf.Bytes()
	var m fileMetaData
	if n, err := unmarshal(b[6:len(b)-8], &m); err != nil || n != int(binary.LittleEndian.Uint32(b[len(b)-8:])) ||
		n != len(b)-14 || string(b[len(b)-4:]) != magic {
		t.Errorf("%d of %d bytes, %v", n, len(b), err)
	}
}

// All files of one source must have the same columns. The error names the first difference.
func TestSameSchema(t *testing.T) {
	build := func(fields ...schemaElement) *footer {
		n := int32(0)
		for i := 0; i < len(fields); i++ {
			n++
			i += int(fields[i].NumChildren.V)
		}
		roots, leaves, err := treeOf(append([]schemaElement{{NumChildren: some(n)}}, fields...))
		if err != nil {
			t.Fatal(err)
		}
		return &footer{roots: roots, leaves: leaves}
	}
	as := func(p format.Type, length int32, lt format.LogicalTypeValue) func(e *schemaElement) {
		return func(e *schemaElement) {
			e.Type, e.TypeLength = some(p), some(length)
			e.LogicalType.Value = lt
		}
	}
	dec := &format.DecimalType{Precision: 5, Scale: 1}
	first := build(el("a", -1), el("b", -1, as(format.Int32, 0, dec)), el("c", 1), el("d", -1))
	for _, c := range []struct {
		name string
		b    *footer
		want string
	}{
		{"the same", build(el("a", -1), el("b", -1, as(format.Int32, 0, dec)), el("c", 1), el("d", -1)), ""},
		{"fewer", build(el("a", -1)), "has 1 columns where the first file has 3"},
		{"another name", build(el("a", -1), el("B", -1, as(format.Int32, 0, dec)), el("c", 1), el("d", -1)),
			"column 2 has another name than in the first file"},
		{"another type", build(el("a", -1, as(format.Double, 0, nil)), el("b", -1, as(format.Int32, 0, dec)), el("c", 1),
			el("d", -1)), "column 1 is float64, and int64 in the first file"},
		{"nullable", build(el("a?", -1), el("b", -1, as(format.Int32, 0, dec)), el("c", 1), el("d", -1)),
			"column 1 is nullable int64, and int64 in the first file"},
		{"stored otherwise", build(el("a", -1), el("b", -1, as(format.Int64, 0, dec)), el("c", 1), el("d", -1)),
			"column 2 is stored as INT64, and as INT32 in the first file"},
		{"nullable within", build(el("a", -1), el("b", -1, as(format.Int32, 0, dec)), el("c", 1), el("d?", -1)),
			"column 3 has other fields"},
	} {
		err := sameSchema(first, c.b)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	fixed := func(n int32) *footer { return build(el("a", -1, as(format.FixedLenByteArray, n, dec))) }
	if err := sameSchema(fixed(4), fixed(5)); err == nil || !strings.Contains(err.Error(), "is stored as") {
		t.Errorf("the width differs: %v", err)
	}
	if err := sameSchema(fixed(4), fixed(4)); err != nil {
		t.Errorf("the same width: %v", err)
	}
	// A list of required elements has the same levels with and without the group.
	grouped, bare := build(el("l", 1, asList), el("element*", -1)), build(el("l*", -1))
	if err := sameSchema(grouped, bare); err != nil {
		t.Errorf("lists that differ in how they are written: %v", err)
	}
	if got := show(&node{typ: arrow.PrimitiveTypes.Int8}); got != "int8" {
		t.Error(got)
	}
	if got := fmt.Sprint(place(2, &leaf{path: []string{"a", "b", "c"}})); got != "row group 2, column a.b.c" {
		t.Error(got)
	}
}
