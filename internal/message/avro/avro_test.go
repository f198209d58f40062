package avro

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	avro "github.com/twmb/avro"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a registry with a topic "survey", with the steps that the tests share.
type bench struct {
	t        testing.TB
	registry *registrytest.Registry
	client   *registry.Client
	reader   message.Reader
}

// start registers a schema as the latest of topic survey and opens a reader that lists every field of
// it except those in unlisted.
func start(t testing.TB, schema string, drop bool, unlisted ...string) *bench {
	t.Helper()
	b := &bench{t: t, registry: registrytest.New(t)}
	b.client = b.registry.Client(t)
	b.registry.Register(t, "survey-value", registry.Avro, schema)
	b.open(drop, unlisted...)
	return b
}

func (b *bench) open(drop bool, unlisted ...string) {
	b.t.Helper()
	s, err := b.client.Latest(context.Background(), "survey-value")
	if err != nil {
		b.t.Fatal(err)
	}
	var columns []message.Column
	for _, f := range avro.MustParse(s.Text).Root().Fields {
		if !slices.Contains(unlisted, f.Name) {
			columns = append(columns, message.Column{Name: f.Name})
		}
	}
	b.reader,
		err = (&Config{}).Reader(context.Background(),
		message.Request{Topics: []string{"survey"}, Columns: columns, DropUnlisted: drop, Registry: b.client})
	if err != nil {
		b.t.Fatal(err)
	}
}

// frame encodes a record with a schema that it registers.
func (b *bench) frame(schema string, record map[string]any) []byte {
	b.t.Helper()
	id := b.registry.Register(b.t, "survey-value", registry.Avro, schema)
	v, err := avro.MustParse(schema).AppendEncode(registry.AppendHeader(nil, id), record)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// layout releases the named columns. Those whose names begin with * are masked, as numbers if they are
// numeric.
func (b *bench) layout(carry bool, names ...string) *microdata.Layout {
	schema := b.reader.Schema()
	l := &microdata.Layout{Schema: schema}
	for _, name := range names {
		name, masked := strings.CutPrefix(name, "*")
		i := schema.Index(name)
		if i < 0 {
			b.t.Fatalf("no column %s in %v", name, schema.Names())
		}
		out := microdata.Output{Field: schema.Fields[i], Source: i, Column: -1, Masked: masked, Decimals: -1}
		if masked || !carry {
			out.Column = len(l.Read)
			want := microdata.Want{Field: i, As: microdata.Array}
			if masked && schema.Fields[i].Numeric() {
				want.As = microdata.Numbers
			}
			l.Read = append(l.Read, want)
		}
		l.Release = append(l.Release, out)
	}
	return l
}

func (b *bench) decode(l *microdata.Layout, carry bool, values ...[]byte) *microdata.Block {
	b.t.Helper()
	block, err := b.tryDecode(l, carry, values...)
	if err != nil {
		b.t.Fatal(err)
	}
	return block
}

func (b *bench) tryDecode(l *microdata.Layout, carry bool, values ...[]byte) (*microdata.Block, error) {
	d, err := b.reader.Decoder(l, carry)
	if err != nil {
		b.t.Fatal(err)
	}
	run := &message.Run{Scope: "survey", Stream: 3, Values: values}
	for i := range values {
		run.Offsets = append(run.Offsets, int64(100+2*i))
	}
	var block microdata.Block
	return &block, d.Decode(context.Background(), &block, run)
}

// write encodes a block for topic out and returns the records, read by the library with the schema
// that was registered for them.
func (b *bench) write(l *microdata.Layout, from message.Reader, block *microdata.Block) []map[string]any {
	b.t.Helper()
	w,
		err := (&Config{}).Writer(context.Background(),
		message.WriteRequest{Topic: "out", Layout: l, Reader: from, Registry: b.client})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.read(w, block)
}

func (b *bench) read(w message.Writer, block *microdata.Block) []map[string]any {
	b.t.Helper()
	res, err := w.Encode(context.Background(), block)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(res.Values) != block.Kept() || len(res.Source) != block.Kept() {
		b.t.Fatalf("%d values, %d sources, %d records", len(res.Values), len(res.Source), block.Kept())
	}
	var out []map[string]any
	for _, v := range res.Values {
		id, rest, ok := registry.Header(v)
		if !ok {
			b.t.Fatalf("no frame: %x", v)
		}
		s, err := b.client.ByID(context.Background(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		var record map[string]any
		left, err := avro.MustParse(s.Text).Decode(rest, &record)
		if err != nil || len(left) > 0 {
			b.t.Fatalf("%v, %d bytes left, schema %s", err, len(left), s.Text)
		}
		out = append(out, record)
	}
	return out
}

const everything = `{"type":"record","name":"Row","namespace":"org.example","doc":"all types","fields":[
	{"name":"b","type":"boolean"},
	{"name":"i","type":"int","doc":"an int","aliases":["i0"]},
	{"name":"l","type":"long","default":7},
	{"name":"f","type":"float"},
	{"name":"d","type":"double"},
	{"name":"s","type":"string"},
	{"name":"by","type":"bytes"},
	{"name":"e","type":{"type":"enum","name":"Sex","symbols":["F","M","X"]}},
	{"name":"fx","type":{"type":"fixed","name":"Hash","size":4}},
	{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
	{"name":"decf","type":{"type":"fixed","name":"Money","size":8,"logicalType":"decimal","precision":12,"scale":3}},
	{"name":"wide","type":{"type":"bytes","logicalType":"decimal","precision":50,"scale":10}},
	{"name":"date","type":{"type":"int","logicalType":"date"}},
	{"name":"tm","type":{"type":"int","logicalType":"time-millis"}},
	{"name":"tu","type":{"type":"long","logicalType":"time-micros"}},
	{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"tsu","type":{"type":"long","logicalType":"timestamp-micros"}},
	{"name":"lts","type":{"type":"long","logicalType":"local-timestamp-millis"}},
	{"name":"uuid","type":{"type":"string","logicalType":"uuid"}},
	{"name":"ni","type":["null","int"],"default":null},
	{"name":"sn","type":["string","null"],"default":"none"},
	{"name":"nd","type":["null",{"type":"bytes","logicalType":"decimal","precision":5,"scale":1}]},
	{"name":"one","type":["long"]},
	{"name":"nothing","type":"null"},
	{"name":"list","type":{"type":"array","items":["null","double"]}},
	{"name":"map","type":{"type":"map","values":"long"}},
	{"name":"rec","type":{"type":"record","name":"Home","fields":[{"name":"town","type":"string"},{"name":"sex","type":"Sex"},{"name":"rooms","type":["null","int"]}]}},
	{"name":"several","type":["null","string","long"]}
]}`

func everyRecord(k int) map[string]any {
	r := map[string]any{
		"b": k%2 == 0, "i": int32(-5 * k), "l": int64(1)<<40 + int64(k), "f": float32(k) + 0.5, "d": float64(k) / 3,
		"s": strings.Repeat("é", k), "by": []byte{0, 255, byte(k)}, "e": []string{"F", "M", "X"}[k%3],
		"fx":  [4]byte{1, 2, 3, byte(k)},
		"dec": big.NewRat(int64(-12345*k), 100), "decf": big.NewRat(int64(99999*k-7), 1000),
		"wide": new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(int64(k-3)), 120), big.NewInt(10_000_000_000)),
		"date": time.Date(1960+k, 2, 28, 0, 0, 0, 0, time.UTC), "tm": 3 * time.Hour, "tu": 5 * time.Microsecond,
		"ts": time.UnixMilli(int64(k) - 5).UTC(), "tsu": time.UnixMicro(int64(k) * 1e15).UTC(),
		"lts":  time.UnixMilli(int64(-k)).UTC(),
		"uuid": "123e4567-e89b-12d3-a456-426614174000", "ni": nil, "sn": "x", "nd": big.NewRat(int64(k), 10), "one": int64(k),
		"nothing": nil, "list": []any{1.5, nil, float64(k)}, "map": map[string]any{"a": int64(k)},
		"rec": map[string]any{"town": "T", "sex": "M", "rooms": int32(k)}, "several": "text",
	}
	if k%2 == 1 {
		r["ni"], r["sn"], r["nd"], r["several"] = int32(k), nil, nil, int64(k)
	}
	if k%3 == 2 {
		r["several"], r["list"], r["map"] = nil, []any{}, map[string]any{}
	}
	return r
}

func names(s *microdata.Schema, masked ...string) []string {
	out := s.Names()
	for i, n := range out {
		if slices.Contains(masked, n) {
			out[i] = "*" + n
		}
	}
	return out
}

func sameRecords(t *testing.T, what string, got, want []map[string]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
	for i := range want {
		for name := range want[i] {
			if g, w := plain(got[i][name]), plain(want[i][name]); !reflect.DeepEqual(g, w) {
				t.Errorf("%s: record %d: %s is %v, want %v", what, i, name, g, w)
			}
		}
		if len(got[i]) != len(want[i]) {
			t.Errorf("%s: record %d has %d fields, want %d", what, i, len(got[i]), len(want[i]))
		}
	}
}

// plain makes values comparable: a fixed may come as bytes or as an array.
func plain(v any) any {
	switch v := v.(type) {
	case *big.Rat:
		return v.RatString()
	case [4]byte:
		return v[:]
	case time.Time:
		return v.UnixNano()
	}
	return v
}

// Values of every type are released unchanged: carried, decoded and encoded again, and converted to
// the forms of masks and back.
func TestRoundTrip(t *testing.T) {
	b := start(t, everything, false)
	var values [][]byte
	var want []map[string]any
	for k := range 7 {
		want = append(want, everyRecord(k))
		values = append(values, b.frame(everything, everyRecord(k)))
	}
	numeric := []string{"i", "l", "f", "d", "dec", "decf", "ni", "nd", "one"}
	for _, test := range []struct {
		name   string
		carry  bool
		masked []string
	}{
		{"carried", true, nil},
		{"carried beside numbers", true, numeric},
		{"carried beside arrays", true,
			[]string{"b", "s", "by", "e", "fx", "date", "tm", "tu", "ts", "tsu", "lts", "uuid", "sn", "nothing"}},
		{"composed", false, nil},
		{"composed of numbers", false, numeric},
	} {
		l := b.layout(test.carry, names(b.reader.Schema(), test.masked...)...)
		block := b.decode(l, test.carry, values...)
		if len(block.Rejects) > 0 {
			t.Fatalf("%s: rejected %v", test.name, block.Rejects)
		}
		var from message.Reader
		if test.carry {
			from = b.reader
		}
		sameRecords(t, test.name, b.write(l, from, block), want)
	}
	if text, ok := b.registry.Text("out-value", 1); !ok || !strings.Contains(text, `"doc":"an int"`) ||
		!strings.Contains(text, `"aliases":["i0"]`) || !strings.Contains(text, `"namespace":"org.example"`) {
		t.Errorf("the released schema is %s", text)
	}
	if block := b.decode(b.layout(true, "i"), true, values...); block.Scope != "survey" || block.Stream != 3 ||
		block.First != 100 || block.Place(2) != 104 {
		t.Errorf("scope %q, stream %d, first %d, places %v", block.Scope, block.Stream, block.First, block.Places)
	}
}

func TestSchema(t *testing.T) {
	b := start(t, everything, false)
	want := map[string]string{
		"b": "bool", "i": "int32", "l": "int64", "f": "float32", "d": "float64", "s": "utf8", "by": "binary", "e": "utf8",
		"fx": "fixed_size_binary[4]", "dec": "decimal(9, 2)", "decf": "decimal(12, 3)", "date": "date32",
		"ts":  "timestamp[ms, tz=UTC]",
		"lts": "timestamp[ms]", "ni": "int32", "nothing": "null",
	}
	for name, typ := range want {
		if f := b.reader.Schema().Fields[b.reader.Schema().Index(name)]; f.Type.String() != typ {
			t.Errorf("%s is %s, want %s", name, f.Type, typ)
		}
	}
	for _, f := range b.reader.Schema().Fields {
		nullable := slices.Contains([]string{"ni", "sn", "nd", "nothing", "several"}, f.Name)
		if nested := slices.Contains([]string{"list", "map", "rec", "several"}, f.Name); f.Nullable != nullable ||
			f.Nested() != nested {
			t.Errorf("%s: nullable %v, nested %v", f.Name, f.Nullable, f.Nested())
		}
	}
}

func person(fields ...string) string {
	return `{"type":"record","name":"Person","fields":[` + strings.Join(fields, ",") + `]}`
}

func field(name, typ string) string { return fmt.Sprintf(`{"name":%q,"type":%s}`, name, typ) }

// Masked values are written in the field's own type; withheld fields are removed.
func TestMaskedValues(t *testing.T) {
	schema := person(field("name", `"string"`), field("age", `"int"`), field("income", `["double","null"]`),
		field("town", `"string"`),
		field("debt", `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`), field("id", `"long"`))
	b := start(t, schema, false)
	var values [][]byte
	for k := range 5 {
		values = append(values, b.frame(schema, map[string]any{
			"name": fmt.Sprintf("CANARY-%d", k), "age": int32(20 + k), "income": 1000.5 * float64(k), "town": "T",
			"debt": big.NewRat(int64(k), 4), "id": int64(424242424242 + k),
		}))
	}
	l := b.layout(true, "*age", "*income", "town", "*debt")
	block := b.decode(l, true, values...)
	block.Reject(1, "age", "a test")
	for i := range block.Columns {
		m := block.Columns[i].Mutable()
		for k := range m.Values {
			m.Values[k] += 1000
		}
	}
	income := block.Columns[1].Mutable()
	income.Valid = microdata.NewBitmap(5, nil)
	income.Valid.Clear(4)
	w,
		err := (&Config{}).Writer(context.Background(),
		message.WriteRequest{Topic: "out", Layout: l, Reader: b.reader, Registry: b.client})
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.Encode(context.Background(), block)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(res.Source, []int32{0, 2, 3, 4}) {
		t.Errorf("sources %v", res.Source)
	}
	for i, v := range res.Values {
		id := avro.MustParse(`"long"`)
		secret, _ := id.Encode(int64(424242424242) + int64(res.Source[i]))
		if bytes.Contains(v, []byte("CANARY")) || bytes.Contains(v, secret) {
			t.Errorf("value %d holds a withheld field: %q", i, v)
		}
	}
	got := b.read(w, block)
	for i, k := range []int{0, 2, 3, 4} {
		want := map[string]any{"age": int32(1020 + k), "income": 1000.5*float64(k) + 1000, "town": "T",
			"debt": new(big.Rat).Add(big.NewRat(int64(k), 4), big.NewRat(1000, 1))}
		if k == 4 {
			want["income"] = nil
		}
		sameRecords(t, "masked", got[i:i+1], []map[string]any{want})
	}
	text, _ := b.registry.Text("out-value", 1)
	if _, second := b.registry.Text("out-value", 2); second || strings.Contains(text, `"name":"name"`) ||
		strings.Contains(text, `"name":"id"`) {
		t.Errorf("released schema %s, a second: %v", text, second)
	}
}

// Messages are written with schemas older and newer than the one at the start.
func TestEvolution(t *testing.T) {
	now := person(field("age", `"long"`), field("income", `"double"`),
		`{"name":"town","type":"string","aliases":["city"]}`, field("rooms", `["null","int"]`))
	b := start(t, now, false)
	older := person(field("city", `"string"`), field("income", `"int"`), field("age", `"int"`))
	newer := person(field("income", `"float"`), field("town", `["null","string"]`), field("rooms", `"long"`),
		field("age", `"long"`))
	values := [][]byte{
		b.frame(now, map[string]any{"age": int64(40), "income": 10.25, "town": "A", "rooms": int32(4)}),
		b.frame(older, map[string]any{"city": "B", "income": int32(20), "age": int32(50)}),
		b.frame(newer, map[string]any{"income": float32(0.5), "town": nil, "rooms": int64(9), "age": int64(60)}),
		b.frame(newer, map[string]any{"income": float32(0.5), "town": "C", "rooms": int64(1) << 40, "age": int64(60)}),
	}
	l := b.layout(true, "*age", "*income", "town", "*rooms")
	block := b.decode(l, true, values...)
	if len(block.Rejects) != 1 || block.Rejects[0].Row != 3 || block.Rejects[0].Column != "rooms" {
		t.Errorf("rejects %v", block.Rejects)
	}
	rooms := block.Columns[2].Original
	if rooms.Values[0] != 4 || rooms.Valid.Has(1) || rooms.Values[2] != 9 {
		t.Errorf("rooms %v", rooms)
	}
	income := block.Columns[1].Mutable()
	for i := range income.Values {
		income.Values[i] += 0.125
	}
	sameRecords(t, "carried", b.write(l, b.reader, block), []map[string]any{
		{"age": int64(40), "income": 10.375, "town": "A", "rooms": int32(4)},
		{"age": int64(50), "income": 20.125, "city": "B"},
		{"age": int64(60), "income": 0.625, "town": nil, "rooms": int32(9)},
	})
	// A swap moves values to records whose schema has no field for them.
	block = b.decode(l, true, values[:3]...)
	m := block.Columns[2].Mutable()
	m.Values[0], m.Values[1] = 0, 4
	m.Valid.Clear(0)
	m.Valid.Set(1)
	m.Values[2] = 0
	m.Valid.Clear(2)
	sameRecords(t, "swapped", b.write(l, b.reader, block), []map[string]any{
		{"age": int64(40), "income": 10.25, "town": "A", "rooms": nil},
		{"age": int64(50), "income": 20.0, "city": "B", "rooms": int32(4)},
		{"age": int64(60), "income": 0.5, "town": nil, "rooms": nil},
	})
	// The messages are decoded for another format.
	l = b.layout(false, "age", "income", "town")
	block = b.decode(l, false, values...)
	for i, want := range []string{`[40 50 60 60]`, `[10.25 20 0.5 0.5]`, `["A" "B" (null) "C"]`} {
		if got := block.Columns[i].Array.String(); got != want {
			t.Errorf("column %d: %s, want %s", i, got, want)
		}
	}
}

// Values of an enum are swapped to records whose schema does not have the symbol.
func TestSwappedEnum(t *testing.T) {
	enum := func(symbols string) string {
		return person(field("sex", `{"type":"enum","name":"Sex","symbols":[`+symbols+`]}`), field("town", `"string"`))
	}
	b := start(t, enum(`"F","M","X"`), false)
	older := enum(`"M","F"`)
	values := [][]byte{
		b.frame(enum(`"F","M","X"`), map[string]any{"sex": "X", "town": "A"}),
		b.frame(older, map[string]any{"sex": "M", "town": "B"}),
	}
	l := b.layout(true, "*sex", "town")
	block := b.decode(l, true, values...)
	block.Columns[0].ReleasedArray = reversed(block.Columns[0].Array)
	sameRecords(t, "swapped", b.write(l, b.reader, block),
		[]map[string]any{{"sex": "M", "town": "A"}, {"sex": "X", "town": "B"}})
}

func reversed(a arrow.Array) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := a.Len() - 1; i >= 0; i-- {
		b.Append(a.ValueStr(i))
	}
	return b.NewArray()
}
