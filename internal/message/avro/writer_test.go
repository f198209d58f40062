package avro

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestComposedNames(t *testing.T) {
	s := &microdata.Schema{
		Fields: []microdata.Field{{Name: "home.town", Type: arrow.BinaryTypes.String},
			{Name: "2020", Type: arrow.PrimitiveTypes.Uint64}}}
	text, err := composedSchema("my-topic.v1", s)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name   string
		Fields []struct{ Name, Doc string }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Name != "my_topic_v1" ||
		got.Fields[0].Name != "home_town" || got.Fields[0].Doc != "home.town" || got.Fields[1].Name != "_2020" {
		t.Errorf("%+v, %v", got, err)
	}
	s.Fields = append(s.Fields, microdata.Field{Name: "home_town", Type: arrow.BinaryTypes.String})
	if _, err := composedSchema("t", s); err == nil {
		t.Error("two columns became one field")
	}
	for _, bad := range []arrow.DataType{arrow.FixedWidthTypes.MonthInterval,
		&arrow.Decimal128Type{Precision: 5, Scale: -2}, arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int32)} {
		if _, err := composedSchema("t", &microdata.Schema{Fields: []microdata.Field{{Name: "x", Type: bad}}}); err == nil ||
			!strings.Contains(err.Error(), "column x") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func arrayOf(t *testing.T, dt arrow.DataType, text string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	if err := b.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatalf("%s: %v", dt, err)
	}
	return b.NewArray()
}

// Columns of a source in another format, of every type that has a counterpart in Avro, are written and
// read back by the library.
func TestCompose(t *testing.T) {
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	union := arrow.DenseUnionOf([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "x", Type: arrow.PrimitiveTypes.Float64},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean},
	}, []arrow.UnionTypeCode{0, 1, 2})
	ub := array.NewDenseUnionBuilder(memory.DefaultAllocator, union)
	ub.Append(1)
	ub.Child(1).(*array.Float64Builder).Append(2.5)
	ub.Append(0)
	ub.Child(0).(*array.StringBuilder).AppendNull()
	ub.Append(2)
	ub.Child(2).(*array.BooleanBuilder).Append(true)
	for _, test := range []struct {
		array arrow.Array
		want  []any
	}{
		{arrayOf(t, arrow.PrimitiveTypes.Int8, `[-1, null, 127]`), []any{int32(-1), nil, int32(127)}},
		{arrayOf(t, arrow.PrimitiveTypes.Uint16, `[1, null, 65535]`), []any{int32(1), nil, int32(65535)}},
		{arrayOf(t, arrow.PrimitiveTypes.Uint32, `[1, null, 4294967295]`), []any{int64(1), nil, int64(4294967295)}},
		{arrayOf(t, arrow.PrimitiveTypes.Uint64, `[1, null, 18446744073709551615]`),
			[]any{big.NewRat(1, 1), nil, new(big.Rat).SetUint64(1<<64 - 1)}},
		{arrayOf(t, arrow.FixedWidthTypes.Float16, `[1.5, null, -2]`), []any{float32(1.5), nil, float32(-2)}},
		{arrayOf(t, arrow.BinaryTypes.LargeString, `["é", null, ""]`), []any{"é", nil, ""}},
		{arrayOf(t, arrow.BinaryTypes.StringView, `["é", null, ""]`), []any{"é", nil, ""}},
		{arrayOf(t, arrow.BinaryTypes.Binary, `["AQI=", null, ""]`), []any{[]byte{1, 2}, nil, []byte{}}},
		{arrayOf(t, &arrow.Decimal32Type{Precision: 5, Scale: 2}, `["-1.28", null, "655.36"]`),
			[]any{big.NewRat(-128, 100), nil, big.NewRat(65536, 100)}},
		{arrayOf(t, &arrow.Decimal256Type{Precision: 60, Scale: 1}, `["-0.1", null, "12800.0"]`),
			[]any{big.NewRat(-1, 10), nil, big.NewRat(12800, 1)}},
		{arrayOf(t, arrow.FixedWidthTypes.Date64, `["1969-12-31", null, "2026-01-01"]`),
			[]any{day(1969, 12, 31), nil, day(2026, 1, 1)}},
		{arrayOf(t, arrow.FixedWidthTypes.Time32s, `["00:00:01", null, "23:00:00"]`),
			[]any{time.Second, nil, 23 * time.Hour}},
		{arrayOf(t, &arrow.TimestampType{Unit: arrow.Second}, `["1970-01-02", null, "2026-01-01"]`),
			[]any{day(1970, 1, 2), nil, day(2026, 1, 1)}},
		{
			arrayOf(t, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
				`["1970-01-02T00:00:00Z", null, "2026-01-01T00:00:00Z"]`), []any{day(1970, 1, 2), nil, day(2026, 1, 1)}},
		{
			arrayOf(t, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
				`["a", null, "b"]`), []any{"a", nil, "b"}},
		{arrayOf(t, arrow.Null, `[null, null, null]`), []any{nil, nil, nil}},
		{
			arrayOf(t, arrow.StructOf(arrow.Field{Name: "a b", Type: arrow.PrimitiveTypes.Int64, Nullable: true}),
				`[{"a b": 1}, null, {"a b": null}]`), []any{map[string]any{"a_b": int64(1)}, nil, map[string]any{"a_b": nil}}},
		{arrayOf(t, arrow.LargeListOf(arrow.BinaryTypes.String), `[["a", null], null, []]`),
			[]any{[]any{"a", nil}, nil, []any{}}},
		{
			arrayOf(t, arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32),
				`[[{"key": "k", "value": 3}], null, []]`), []any{map[string]any{"k": int32(3)}, nil, map[string]any{}}},
		{ub.NewArray(), []any{2.5, nil, true}},
	} {
		t.Run(test.array.DataType().String(), func(t *testing.T) {
			b := &bench{t: t, registry: registrytest.New(t)}
			b.client = b.registry.Client(t)
			f := microdata.Field{Name: "x", Type: test.array.DataType()}
			l := &microdata.Layout{
				Schema:  &microdata.Schema{Fields: []microdata.Field{f}},
				Read:    []microdata.Want{{Field: 0, As: microdata.Array}},
				Release: []microdata.Output{{Field: f, Column: 0, Decimals: -1}},
			}
			var block microdata.Block
			block.Reset(0, 0, 3, 1)
			block.Columns[0].Array = test.array
			var want []map[string]any
			for _, v := range test.want {
				want = append(want, map[string]any{"x": v})
			}
			sameRecords(t, "composed", b.write(l, nil, &block), want)
			// A slice of an array is read from its offset.
			block.Reset(0, 0, 2, 1)
			block.Columns[0].Array = array.NewSlice(test.array, 1, 3)
			sameRecords(t, "a slice", b.write(l, nil, &block), want[1:])
		})
	}
}

func TestWriterErrors(t *testing.T) {
	schema := person(field("age", `"int"`), field("town", `"string"`))
	b := start(t, schema, false)
	l := b.layout(true, "*age", "town")
	write := func(topic string, l *microdata.Layout, from message.Reader) (message.Writer, error) {
		return (&Config{}).Writer(context.Background(),
			message.WriteRequest{Topic: topic, Layout: l, Reader: from, Registry: b.client})
	}
	b.registry.Incompatible("closed-value")
	_, err := write("closed", l, b.reader)
	var e *registry.Error
	if !errors.As(err, &e) || e.Kind != registry.Incompatible || !strings.Contains(err.Error(), "closed-value") {
		t.Errorf("%v", err)
	}
	if _, err := write("survey", l, b.reader); err == nil || !strings.Contains(err.Error(), "survey-value") {
		t.Errorf("the source's subject: %v", err)
	}
	if _, err := write("out", l, nil); err == nil || !strings.Contains(err.Error(), "column town") {
		t.Errorf("a column that is not decoded: %v", err)
	}
	w, err := write("out", l, b.reader)
	if err != nil {
		t.Fatal(err)
	}
	if !w.Carries() {
		t.Error("does not carry")
	}
	block := b.decode(l, false, b.frame(schema, map[string]any{"age": int32(1), "town": "A"}))
	if _, err := w.Encode(context.Background(), block); !errors.Is(err, errNotCarried) {
		t.Errorf("%v", err)
	}
	block = b.decode(l, true, b.frame(schema, map[string]any{"age": int32(1), "town": "A"}))
	b.open(false) // with another reader, columns may have other indexes
	if _, err := mustWrite(t, b, l).Encode(context.Background(), block); !errors.Is(err, errNotCarried) {
		t.Errorf("another reader's block: %v", err)
	}
	if _, err := (&Config{}).Writer(context.Background(),
		message.WriteRequest{Topic: "out", Layout: l, Reader: b.reader}); err == nil {
		t.Error("written without a registry")
	}
}

func mustWrite(t *testing.T, b *bench, l *microdata.Layout) message.Writer {
	t.Helper()
	w,
		err := (&Config{}).Writer(context.Background(),
		message.WriteRequest{Topic: "out", Layout: l, Reader: b.reader, Registry: b.client})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// If a mask makes a value null and the schema allows no null there, the record is written with a wider
// schema.
func TestNullWhereThereIsNone(t *testing.T) {
	schema := person(field("age", `"int"`), field("town", `"string"`))
	b := start(t, schema, false)
	l := b.layout(true, "*age", "town")
	block := b.decode(l, true, b.frame(schema, map[string]any{"age": int32(1), "town": "A"}),
		b.frame(schema, map[string]any{"age": int32(2), "town": "B"}))
	m := block.Columns[0].Mutable()
	m.Valid = microdata.NewBitmap(2, nil)
	m.Valid.Clear(1)
	sameRecords(t, "null", b.write(l, b.reader, block),
		[]map[string]any{{"age": int32(1), "town": "A"}, {"age": nil, "town": "B"}})
	if text, ok := b.registry.Text("out-value", 2); !ok || !strings.Contains(text, `"null","int"`) {
		t.Errorf("second schema: %s", text)
	}
}

// Blocks are decoded and encoded by several goroutines, while new schemas
// appear.
func TestConcurrent(t *testing.T) {
	schema := person(field("age", `"int"`), field("town", `"string"`))
	b := start(t, schema, true)
	var values [][]byte
	for k := range 8 {
		evolved := person(field("age", `"int"`), field(fmt.Sprintf("new%d", k), `"string"`), field("town", `"string"`))
		values = append(values,
			b.frame(evolved, map[string]any{"age": int32(k), "town": "A", fmt.Sprintf("new%d", k): "CANARY"}))
	}
	l := b.layout(true, "*age", "town")
	d, err := b.reader.Decoder(l, true)
	if err != nil {
		t.Fatal(err)
	}
	w,
		err := (&Config{}).Writer(context.Background(),
		message.WriteRequest{Topic: "out", Layout: l, Reader: b.reader, Registry: b.client})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var block microdata.Block
			for range 20 {
				run := &message.Run{Scope: "survey", Values: values, Offsets: []int64{1, 2, 3, 4, 5, 6, 7, 8}}
				if err := d.Decode(context.Background(), &block, run); err != nil {
					t.Error(err)
					return
				}
				res, err := w.Encode(context.Background(), &block)
				if err != nil || len(res.Values) != 8 {
					t.Errorf("%d values, %v", len(res.Values), err)
					return
				}
				for _, v := range res.Values {
					if strings.Contains(string(v), "CANARY") {
						t.Error("an unlisted field left")
					}
				}
			}
		})
	}
	wg.Wait()
	if _, second := b.registry.Text("out-value", 2); second {
		t.Error("schemas that differ in what is dropped were released as two")
	}
}
