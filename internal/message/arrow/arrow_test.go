package arrow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func jsonArray(t testing.TB, dt arrow.DataType, s string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	if err := b.UnmarshalJSON([]byte(s)); err != nil {
		t.Fatalf("%s: %v", dt, err)
	}
	return b.NewArray()
}

var cityType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}

// fields of the messages in these tests.
var fields = []arrow.Field{
	{Name: "wage", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "age", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "city", Type: cityType, Nullable: true},
	{Name: "jobs", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
}

// survey returns a batch of the rows from…to; row i has the wage 100·i.
func survey(t testing.TB, from, to int) arrow.RecordBatch {
	t.Helper()
	var wage, age, index, jobs, name []string
	for i := from; i < to; i++ {
		wage, age = append(wage, fmt.Sprint(100*i)), append(age, fmt.Sprint(20+i))
		index = append(index, fmt.Sprint(i%2))
		jobs = append(jobs, fmt.Sprintf(`["job%d", "more"]`, i))
		name = append(name, fmt.Sprintf(`"canary%d"`, i))
	}
	list := func(s []string) string { return "[" + strings.Join(s, ",") + "]" }
	columns := []arrow.Array{
		jsonArray(t, arrow.PrimitiveTypes.Float64, list(wage)),
		jsonArray(t, arrow.PrimitiveTypes.Int64, list(age)),
		array.NewDictionaryArray(cityType, jsonArray(t, cityType.IndexType, list(index)),
			jsonArray(t, arrow.BinaryTypes.String, `["Ulm", "Bonn", "canary"]`)),
		jsonArray(t, fields[3].Type, list(jobs)),
		jsonArray(t, arrow.BinaryTypes.String, list(name)),
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(to-from))
}

// value writes a stream with the library's own writer.
func value(t testing.TB, batches ...arrow.RecordBatch) []byte {
	return valueOf(t, batches[0].Schema(), batches)
}

func valueOf(t testing.TB, schema *arrow.Schema, batches []arrow.RecordBatch, options ...ipc.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(options, ipc.WithSchema(schema))...)
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// rowsOf reads a stream with the library's own reader, as text.
func rowsOf(t testing.TB, p []byte) (names []string, rows []string) {
	t.Helper()
	r, err := ipc.NewReader(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Schema().Fields() {
		names = append(names, f.Name)
	}
	for {
		rec, err := r.Read()
		if err == io.EOF {
			return names, rows
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			var row []string
			for _, c := range rec.Columns() {
				row = append(row, c.ValueStr(i))
			}
			rows = append(rows, strings.Join(row, " "))
		}
	}
}

func schemaFile(t testing.TB, fields ...arrow.Field) string {
	path := filepath.Join(t.TempDir(), "schema.arrows")
	if err := os.WriteFile(path, valueOf(t, arrow.NewSchema(fields, nil), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var listed = []message.Column{{Name: "wage", Number: true}, {Name: "age", Number: true}, {Name: "city"}, {Name: "jobs"},
	{Name: "name", Withheld: true}}

func newTestReader(t testing.TB, r message.Request, fields ...arrow.Field) message.Reader {
	t.Helper()
	out, err := (&Config{Schema: schemaFile(t, fields...)}).Reader(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// layoutOf masks wage, measures age and carries city and jobs.
func layoutOf(s *microdata.Schema, carry bool) *microdata.Layout {
	l := &microdata.Layout{Schema: s,
		Read: []microdata.Want{{Field: 0, As: microdata.Numbers}, {Field: 1, As: microdata.Numbers, Measured: true}}}
	l.Release = []microdata.Output{{Field: s.Fields[0], Source: 0, Column: 0, Masked: true, Decimals: -1}}
	for i := 1; i < 4; i++ {
		column := -1
		if !carry {
			column = len(l.Read)
			l.Read = append(l.Read, microdata.Want{Field: i, As: microdata.Array})
		}
		l.Release = append(l.Release, microdata.Output{Field: s.Fields[i], Source: i, Column: column})
	}
	return l
}

func runOf(values ...[]byte) *message.Run {
	run := &message.Run{Scope: "survey", Stream: 3, Values: values}
	for i := range values {
		run.Offsets = append(run.Offsets, int64(10+2*i))
	}
	return run
}

// Messages of one or several batches are released message by message, with wage masked and the other
// columns unchanged, whether these are carried or decoded.
func TestRoundTrip(t *testing.T) {
	for _, carry := range []bool{true, false} {
		for _, compression := range []string{"", "zstd", "lz4"} {
			r := newTestReader(t, message.Request{Columns: listed}, fields...)
			layout := layoutOf(r.Schema(), carry)
			d, err := r.Decoder(layout, carry)
			if err != nil {
				t.Fatal(err)
			}
			w,
				err := (&Config{Compression: compression}).Writer(t.Context(),
				message.WriteRequest{Topic: "out", Layout: layout, Reader: r})
			if err != nil {
				t.Fatal(err)
			}
			if !w.Carries() {
				t.Fatal("a writer of the same format must carry")
			}
			run := runOf(value(t, survey(t, 0, 3), survey(t, 3, 5)), []byte("canary"), value(t, survey(t, 5, 6)),
				value(t, survey(t, 6, 8)), nil,
				valueOf(t, survey(t, 8, 9).Schema(), []arrow.RecordBatch{survey(t, 8, 9), survey(t, 9, 12)}, ipc.WithZstd()))
			var b microdata.Block
			if err := d.Decode(t.Context(), &b, run); err != nil {
				t.Fatal(err)
			}
			if b.N != 14 || b.Stream != 3 || b.Scope != "survey" || b.First != 10<<message.RowBits || b.Places[0] != b.First {
				t.Fatalf("block %+v", b)
			}
			if b.Places[4] != 10<<message.RowBits|4 || b.Places[5] != 12<<message.RowBits || b.Places[6] != 14<<message.RowBits {
				t.Errorf("places %v", b.Places)
			}
			if b.Columns[1].Original.Values[4] != 24 || b.Columns[0].Original.Values[4] != 400 ||
				b.Columns[0].Original.Valid.Has(5) {
				t.Errorf("columns %+v", b.Columns[:2])
			}
			if of := r.(*reader).MessageOf(&b); !slices.Equal(of, []int32{0, 0, 0, 0, 0, 1, 2, 3, 3, 4, 5, 5, 5, 5}) {
				t.Errorf("records are of messages %v", of)
			}
			v := b.Columns[0].Mutable()
			for i := range v.Values {
				v.Values[i]++
			}
			b.Reject(1, "wage", "for the test") // in the middle of a message
			b.Reject(6, "wage", "for the test") // the only record of its message
			out, err := w.Encode(t.Context(), &b)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(out.Source, []int32{0, 3, 5}) {
				t.Fatalf("messages %v", out.Source)
			}
			var rows []string
			for _, p := range out.Values {
				names, more := rowsOf(t, p)
				if !slices.Equal(names, []string{"wage", "age", "city", "jobs"}) {
					t.Errorf("columns %v", names)
				}
				rows = append(rows, more...)
				if bytes.Contains(p, []byte("canary")) {
					t.Error("a withheld value, or an entry of a dictionary that no record has, was released")
				}
			}
			var want []string
			for _, i := range []int{0, 2, 3, 4, 6, 7, 8, 9, 10, 11} {
				want = append(want, fmt.Sprintf(`%d %d %s ["job%d","more"]`, 100*i+1, 20+i, []string{"Ulm", "Bonn"}[i%2], i))
			}
			if !slices.Equal(rows, want) {
				t.Errorf("carry %v: released\n%q, want\n%q", carry, rows, want)
			}
		}
	}
}

// Which differences a message's schema may have, and which are refused.
func TestSchemas(t *testing.T) {
	one := survey(t, 1, 2)
	with := func(order ...int) []byte {
		var fs []arrow.Field
		var cols []arrow.Array
		for _, i := range order {
			fs, cols = append(fs, fields[i]), append(cols, one.Column(i))
		}
		return value(t, array.NewRecordBatch(arrow.NewSchema(fs, nil), cols, 1))
	}
	replaced := func(at int, f arrow.Field, a arrow.Array) []byte {
		fs, cols := slices.Clone(fields), slices.Clone(one.Columns())
		fs[at], cols[at] = f, a
		return value(t, array.NewRecordBatch(arrow.NewSchema(fs, nil), cols, 1))
	}
	extra := value(t,
		array.NewRecordBatch(
			arrow.NewSchema(append(slices.Clone(fields), arrow.Field{Name: "phone", Type: arrow.BinaryTypes.String}), nil),
			append(slices.Clone(one.Columns()), jsonArray(t, arrow.BinaryTypes.String, `["canary"]`)), 1))
	for _, c := range []struct {
		name   string
		value  []byte
		drop   bool
		reason string // "": released
	}{
		{"another order", with(4, 2, 0, 1, 3), false, ""},
		{"a column that is a dictionary no more",
			replaced(2, arrow.Field{Name: "city", Type: arrow.BinaryTypes.String},
				jsonArray(t, arrow.BinaryTypes.String, `["Bonn"]`)), false, ""},
		{"an unlisted column that is dropped", extra, true, ""},
		{"a missing column", with(0, 1, 2, 4), false, "the message has no such column"},
		{
			"another type",
			replaced(0, arrow.Field{Name: "wage", Type: arrow.BinaryTypes.String},
				jsonArray(t, arrow.BinaryTypes.String, `["100"]`)), false, "another type in this column"},
		{"two of a name", replaced(1, arrow.Field{Name: "wage", Type: arrow.PrimitiveTypes.Float64}, one.Column(0)), false,
			"two columns of one name"},
		{"no record", valueOf(t, one.Schema(), nil), false, "holds no record"},
		{"cut off", with(0, 1, 2, 3, 4)[:900], false, "cut off"},
		{"trailing", append(with(0, 1, 2, 3, 4), "canary"...), false, "bytes behind the end"},
		{"text", []byte("wage=canary"), false, "not a readable Arrow IPC stream"},
		{"a big endian", valueOf(t, one.Schema().WithEndianness(1-one.Schema().Endianness()), nil), false, "byte order"},
	} {
		r := newTestReader(t, message.Request{Columns: listed, DropUnlisted: c.drop}, fields...)
		layout := layoutOf(r.Schema(), true)
		d, err := r.Decoder(layout, true)
		if err != nil {
			t.Fatal(err)
		}
		w, err := (&Config{}).Writer(t.Context(), message.WriteRequest{Layout: layout, Reader: r})
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := d.Decode(t.Context(), &b, runOf(c.value)); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		out, err := w.Encode(t.Context(), &b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.reason != "" {
			if len(out.Values) != 0 || len(b.Rejects) != 1 || b.N != 1 || !strings.Contains(b.Rejects[0].Reason, c.reason) ||
				strings.Contains(b.Rejects[0].Reason, "canary") {
				t.Errorf("%s: %d messages, rejects %v, want %q", c.name, len(out.Values), b.Rejects, c.reason)
			}
			continue
		}
		if len(out.Values) != 1 || len(b.Rejects) > 0 {
			t.Errorf("%s: rejects %v", c.name, b.Rejects)
			continue
		}
		if names, rows := rowsOf(t, out.Values[0]); len(names) != 4 || len(rows) != 1 ||
			rows[0] != `100 21 Bonn ["job1","more"]` {
			t.Errorf("%s: released %q", c.name, rows)
		}
	}
	// If unlisted columns are not dropped, they end the stream, whether they are in a message or in
	// the schema file.
	r := newTestReader(t, message.Request{Columns: listed}, fields...)
	d, err := r.Decoder(layoutOf(r.Schema(), true), true)
	if err != nil {
		t.Fatal(err)
	}
	var u *message.UnlistedError
	if err := d.Decode(t.Context(), new(microdata.Block), runOf(value(t, one), extra)); !errors.As(err, &u) ||
		!strings.HasPrefix(u.Places[0], "column ") || u.Stream != "topic survey, partition 3, offset 12" {
		t.Errorf("an unlisted column: %v", err)
	}
	if _, err := (&Config{Schema: schemaFile(t, fields...)}).Reader(t.Context(),
		message.Request{Columns: listed[:4]}); !errors.As(err, &u) || !strings.HasPrefix(u.Places[0], "column ") {
		t.Errorf("an unlisted column of the schema file: %v", err)
	}
}

// If the source is a topic of another format, each record becomes one message. If it is not a topic,
// each message has a fixed number of records.
func TestOtherSources(t *testing.T) {
	s := &microdata.Schema{
		Fields: []microdata.Field{{Name: "wage", Type: arrow.PrimitiveTypes.Int32},
			{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true}}}
	layout := &microdata.Layout{Schema: s, Read: []microdata.Want{{Field: 0}, {Field: 1, As: microdata.Array}},
		Release: []microdata.Output{{Field: s.Fields[0], Source: 0, Column: 0}, {Field: s.Fields[1], Source: 1, Column: 1}}}
	var b microdata.Block
	b.Reset(0, 0, 5, 2)
	v := b.Columns[0].Alloc(5, false)
	copy(v.Values, []float64{0, 1, 2, 3, 4})
	b.Columns[1].Array = jsonArray(t, arrow.BinaryTypes.String, `["a", "b", null, "d", "e"]`)
	b.Reject(0, "", "for the test")
	b.Reject(3, "", "for the test")
	for _, c := range []struct {
		reader message.Reader
		source []int32
		rows   string
	}{
		{nil, []int32{1, 4}, "[1 b 2 (null)] [4 e]"},
		{other{}, []int32{1, 2, 4}, "[1 b] [2 (null)] [4 e]"},
	} {
		w, err := (&Config{Records: 2}).Writer(t.Context(), message.WriteRequest{Layout: layout, Reader: c.reader})
		if err != nil {
			t.Fatal(err)
		}
		if w.Carries() {
			t.Error("nothing can be carried from another format")
		}
		out, err := w.Encode(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range out.Values {
			_, rows := rowsOf(t, p)
			got = append(got, fmt.Sprint(rows))
		}
		if s := strings.Join(got, " "); s != c.rows || !slices.Equal(out.Source, c.source) {
			t.Errorf("released %s of %v, want %s of %v", s, out.Source, c.rows, c.source)
		}
	}
}

type other struct{ message.Reader }

// A record with an integer that float64 cannot represent is rejected, unless the column is only
// measured.
func TestWideIntegers(t *testing.T) {
	f := arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	a := jsonArray(t, f.Type, "[1, 9007199254740993, null]")
	p := value(t, array.NewRecordBatch(arrow.NewSchema([]arrow.Field{f}, nil), []arrow.Array{a}, 3))
	for _, measured := range []bool{false, true} {
		r := newTestReader(t, message.Request{Columns: []message.Column{{Name: "id", Number: true}}}, f)
		d, err := r.Decoder(&microdata.Layout{Schema: r.Schema(), Read: []microdata.Want{{Field: 0, Measured: measured}}},
			false)
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := d.Decode(t.Context(), &b, runOf(p)); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 1, true: 0}[measured]; len(b.Rejects) != want {
			t.Errorf("measured %v: rejects %v", measured, b.Rejects)
		}
		if measured && b.Columns[0].Original.Values[1] != 9007199254740992 {
			t.Errorf("measured as %v", b.Columns[0].Original.Values[1])
		}
	}
}

// A value that decompresses to much more than its size is refused before it is decompressed.
func TestBombs(t *testing.T) {
	f := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	zeros := array.NewInt64Builder(memory.DefaultAllocator)
	zeros.AppendValues(make([]int64, 1<<20), nil)
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{f}, nil), []arrow.Array{zeros.NewArray()}, 1<<20)
	nulls := arrow.Field{Name: "x", Type: arrow.Null, Nullable: true}
	empty := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{nulls}, nil), []arrow.Array{array.NewNull(1 << 20)}, 1<<20)
	long := jsonArray(t, arrow.BinaryTypes.String, `["`+strings.Repeat("x", 1<<16)+`"]`)
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	index := array.NewInt8Builder(memory.DefaultAllocator)
	index.AppendValues(make([]int8, 1<<16), nil)
	city := arrow.Field{Name: "x", Type: dt, Nullable: true}
	dict := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{city}, nil),
		[]arrow.Array{array.NewDictionaryArray(dt, index.NewArray(), long)}, 1<<16)
	over := array.NewInt64Builder(memory.DefaultAllocator)
	over.AppendValues(make([]int64, 1<<20+1), nil)
	many := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{f}, nil), []arrow.Array{over.NewArray()}, 1<<20+1)
	for name, c := range map[string]struct {
		field arrow.Field
		value []byte
		want  string
	}{
		"zeros":      {f, valueOf(t, batch.Schema(), []arrow.RecordBatch{batch}, ipc.WithZstd()), "memory"},
		"nulls":      {nulls, value(t, empty), "memory"},
		"dictionary": {city, value(t, dict), "memory"},
		"records":    {f, value(t, many), "more records"},
	} {
		r := newTestReader(t, message.Request{Columns: []message.Column{{Name: "x"}}}, c.field)
		d, err := r.Decoder(&microdata.Layout{Schema: r.Schema(), Read: []microdata.Want{{Field: 0, As: microdata.Array}}},
			false)
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := d.Decode(t.Context(), &b, runOf(c.value)); err != nil {
			t.Fatal(err)
		}
		if b.N != 1 || len(b.Rejects) != 1 || !strings.Contains(b.Rejects[0].Reason, c.want) {
			t.Errorf("%s: %d records, rejects %v", name, b.N, b.Rejects)
		}
	}
}

func TestCheck(t *testing.T) {
	if ps := (&Config{Compression: "zip", Records: -1}).Check(); len(ps) != 2 {
		t.Errorf("problems %v", ps)
	}
	if ps := (&Config{Compression: "zstd", Records: 5}).Check(); len(ps) != 0 {
		t.Errorf("problems %v", ps)
	}
	if _, err := (&Config{}).Reader(t.Context(), message.Request{}); err == nil ||
		!strings.Contains(err.Error(), "schema") {
		t.Errorf("without a schema file: %v", err)
	}
}
