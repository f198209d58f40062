package connectortest

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Table is a small table in memory.
type Table struct {
	Schema  *microdata.Schema
	Columns []arrow.Array
	N       int
}

// The columns that every table has: a masked one of numbers, and one that is
// withheld.
const (
	maskedName = "masked"
	secretName = "secret"
)

// NewTable makes a table of n records: the columns that checks need, then one
// for each type of the contract.
func NewTable(t testing.TB, c Contract, n int) *Table {
	t.Helper()
	tab := &Table{Schema: &microdata.Schema{}, N: n}
	add := func(name string, dt arrow.DataType, nulls bool, value func(i int) string) {
		b := array.NewBuilder(memory.DefaultAllocator, dt)
		for i := range n {
			if nulls && i%5 == 3 {
				b.AppendNull()
			} else if err := b.AppendValueFromString(value(i)); err != nil {
				t.Fatalf("%s: %v", dt, err)
			}
		}
		tab.Schema.Fields = append(tab.Schema.Fields, microdata.Field{Name: name, Type: dt, Nullable: nulls})
		tab.Columns = append(tab.Columns, b.NewArray())
	}
	add(maskedName, arrow.PrimitiveTypes.Float64, false, func(i int) string { return fmt.Sprint(maskedValue(i)) })
	add(secretName, arrow.BinaryTypes.String, false, secretValue)
	for i, dt := range c.Types {
		name := fmt.Sprintf("c%d", i)
		add(name, dt, c.Nulls, cell(dt))
		if c.Nulls {
			add(name+"full", dt, false, cell(dt))
		}
	}
	for i, dt := range c.Nested {
		b := array.NewBuilder(memory.DefaultAllocator, dt)
		for row := range n {
			if row%5 == 3 {
				b.AppendNull()
			} else {
				nest(t, b, row)
			}
		}
		tab.Schema.Fields = append(tab.Schema.Fields, microdata.Field{Name: fmt.Sprintf("n%d", i), Type: dt, Nullable: true})
		tab.Columns = append(tab.Columns, b.NewArray())
	}
	return tab
}

// maskedValue never repeats and is not what the mask of the checks yields.
func maskedValue(i int) float64 { return 1000.5 + float64(i)*7 }

func secretValue(i int) string { return fmt.Sprintf("canary-%06d", i) }

// cell returns the text of a type's values by record.
func cell(dt arrow.DataType) func(i int) string {
	switch dt.ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return func(i int) string { return strconv.FormatFloat(float64(i%1000)*0.5-20, 'f', 1, 64) }
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return func(i int) string { return strconv.Itoa(i%200 - 100) }
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return func(i int) string { return strconv.Itoa(i % 200) }
	case arrow.BOOL:
		return func(i int) string { return strconv.FormatBool(i%3 == 0) }
	case arrow.DATE32, arrow.DATE64:
		return func(i int) string { return fmt.Sprintf("19%02d-%02d-%02d", i%100, i%12+1, i%28+1) }
	case arrow.TIMESTAMP:
		zone := "Z"
		if dt.(*arrow.TimestampType).TimeZone == "" {
			zone = ""
		}
		return func(i int) string { return fmt.Sprintf("2024-%02d-%02dT%02d:30:15%s", i%12+1, i%28+1, i%24, zone) }
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return func(i int) string { return "AAH/" + []string{"", "AAAA", "/w=="}[i%3] } // base64
	case arrow.FIXED_SIZE_BINARY:
		width := dt.(*arrow.FixedSizeBinaryType).ByteWidth
		return func(i int) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(i)}, width)) }
	case arrow.DICTIONARY:
		return cell(dt.(*arrow.DictionaryType).ValueType)
	}
	return func(i int) string {
		return []string{"north", "a, b", `say "x"`, "line\nbreak", "Zürich", " edge ", "x", "'"}[i%8] + strconv.Itoa(i%13)
	}
}

// nest appends a value of record row to a builder of a nested type.
func nest(t testing.TB, b array.Builder, row int) {
	t.Helper()
	switch b := b.(type) {
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			nest(t, b.FieldBuilder(i), row+i)
		}
	case *array.MapBuilder:
		b.Append(true)
		for i := range row % 3 {
			nest(t, b.KeyBuilder(), i)
			nest(t, b.ItemBuilder(), row+i)
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for i := range int(b.Type().(*arrow.FixedSizeListType).Len()) {
			nest(t, b.ValueBuilder(), row+i)
		}
	case array.ListLikeBuilder:
		b.Append(true)
		for i := range row % 4 {
			nest(t, b.ValueBuilder(), row+i)
		}
	default:
		if err := b.AppendValueFromString(cell(b.Type())(row)); err != nil {
			t.Fatal(err)
		}
	}
}

// cells returns the table as text, by column.
func (tab *Table) cells() [][]string {
	out := make([][]string, len(tab.Columns))
	for i, f := range tab.Schema.Fields {
		out[i] = texts(tab.Columns[i], f)
	}
	return out
}

// texts returns the values of an array as the comparison knows them: numbers by
// value, whatever their type, everything else as Arrow writes it.
func texts(a arrow.Array, f microdata.Field) []string {
	out := make([]string, a.Len())
	if f.Numeric() {
		var c microdata.Column
		microdata.NumbersOf(a, &c)
		return numbers(c.Original, a.Len())
	}
	for i := range out {
		out[i] = text(a, i)
	}
	return out
}

// text is the value itself where ValueStr would quote or convert.
func text(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return nullText
	}
	return a.ValueStr(i)
}

const nullText = "\x00null"

func numbers(v microdata.Vector, n int) []string {
	out := make([]string, n)
	for i := range out {
		if v.Valid.Has(i) {
			out[i] = strconv.FormatFloat(v.Values[i], 'g', -1, 64)
		} else {
			out[i] = nullText
		}
	}
	return out
}

// Config makes a source of the table: streams of at most split records each,
// one where split is 0.
func (tab *Table) Config(split int) connectors.SourceConfig { return &memoryConfig{tab, split} }

type memoryConfig struct {
	table *Table
	split int
}

func (m *memoryConfig) Check() check.Problems { return nil }
func (m *memoryConfig) Open(context.Context) (connectors.Source, error) {
	return &memorySource{m}, nil
}
func (m *memoryConfig) Abilities() (none connectors.SourceConfigAbilities) { return none }

// Elsewhere is a source of which a sink can ask nothing but whether a release would take its place.
func Elsewhere() connectors.Source { return new(memorySource) }

type memorySource struct{ *memoryConfig }

func (s *memorySource) Schema() *microdata.Schema { return s.table.Schema }
func (s *memorySource) Streams() []string         { return []string{"memory"} }
func (s *memorySource) Records() int64            { return int64(s.table.N) }
func (s *memorySource) Rewindable() bool          { return true }
func (s *memorySource) Close() error              { return nil }
func (s *memorySource) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{At: connectors.NoFiles}
}

func (s *memorySource) Read(_ context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader,
	error) {
	step := cut.Records
	if step == 0 {
		step = max(s.table.N, 1)
	}
	return &memoryReader{s.table, layout, step, 0}, nil
}

type memoryReader struct {
	table  *Table
	layout *microdata.Layout
	step   int
	at     int
}

func (r *memoryReader) Close() error { return nil }

func (r *memoryReader) Next(ctx context.Context) (connectors.Raw, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.at >= r.table.N {
		return nil, io.EOF
	}
	raw := &memoryRaw{r, r.at, min(r.at+r.step, r.table.N)}
	r.at = raw.to
	return raw, nil
}

type memoryRaw struct {
	*memoryReader
	from, to int
}

func (r *memoryRaw) Bytes() int64 { return int64(r.to - r.from) }

func (r *memoryRaw) Decode(b *microdata.Block) error {
	b.Reset(0, int64(r.from), r.to-r.from, len(r.layout.Read))
	for i, w := range r.layout.Read {
		a := array.NewSlice(r.table.Columns[w.Field], int64(r.from), int64(r.to))
		if w.As == microdata.Array {
			b.Columns[i].Array = a
			continue
		}
		for _, row := range microdata.NumbersOf(a, &b.Columns[i]) {
			b.Reject(row, r.table.Schema.Fields[w.Field].Name, "is not representable")
		}
	}
	return nil
}
