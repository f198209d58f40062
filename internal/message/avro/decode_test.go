package avro

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestUnlisted(t *testing.T) {
	now := person(field("age", `"int"`))
	more := person(field("age", `"int"`), field("name", `"string"`), field("phone", `"string"`))
	record := map[string]any{"age": int32(3), "name": "CANARY", "phone": "CANARY"}

	b := start(t, now, false)
	l := b.layout(true, "age")
	_, err := b.tryDecode(l, true, b.frame(now, record), b.frame(more, record))
	var unlisted *message.UnlistedError
	if !asUnlisted(err, &unlisted) || !slices.Equal(unlisted.Places, []string{"field 2", "field 3"}) ||
		unlisted.Stream != "topic survey, partition 3, offset 102" {
		t.Errorf("%v", err)
	}
	b.open(true) // the latest schema is now the one with more fields, and all are listed
	b.open(true, "name", "phone")
	l = b.layout(true, "age")
	sameRecords(t, "dropped", b.write(l, b.reader, b.decode(l, true, b.frame(now, record), b.frame(more, record))),
		[]map[string]any{{"age": int32(3)}, {"age": int32(3)}})
}

func asUnlisted(err error, to **message.UnlistedError) bool {
	e, ok := err.(*message.UnlistedError)
	*to = e
	return ok
}

func TestMalformed(t *testing.T) {
	schema := person(field("s", `"string"`), field("e", `{"type":"enum","name":"E","symbols":["A"]}`),
		field("u", `["null","int"]`),
		field("l", `{"type":"array","items":"null"}`), field("m", `{"type":"map","values":"int"}`), field("b", `"boolean"`))
	b := start(t, schema, false)
	good := b.frame(schema, map[string]any{"s": "x", "e": "A", "u": nil, "l": []any{}, "m": map[string]any{}, "b": true})
	head := good[:registry.HeaderSize]
	with := func(body ...byte) []byte { return append(bytes.Clone(head), body...) }
	l := b.layout(true, "s")
	cases := map[string][]byte{
		"nil":             nil,
		"empty":           {},
		"short frame":     {0, 0, 0, 0},
		"magic":           append([]byte{1}, good[1:]...),
		"unknown id":      append([]byte{0, 0x7f, 0, 0, 0}, good[5:]...),
		"no body":         with(),
		"trailing":        append(bytes.Clone(good), 0),
		"long string":     with(0xfe, 0xff, 0xff, 0xff, 0x0f),
		"negative string": with(1),
		"endless varint":  with(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		"varint overflow": with(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2),
		"enum":            with(0, 2, 0, 0, 0, 1),
		"negative enum":   with(0, 1, 0, 0, 0, 1),
		"branch":          with(0, 0, 4, 0, 0, 1),
		"int of 33 bits":  with(0, 0, 2, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0, 1),
		"absurd block":    with(0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 1),
		"least count":     with(0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 1),
		"map count":       with(0, 0, 0, 0, 20, 2, 'a', 2, 0, 1),
		"boolean":         with(0, 0, 0, 0, 0, 2),
	}
	for i := range good {
		if i > 0 {
			cases[fmt.Sprintf("cut at %d", i)] = good[:i]
		}
	}
	for name, value := range cases {
		block := b.decode(l, true, good, value, good)
		if len(block.Rejects) != 1 || block.Rejects[0].Row != 1 {
			t.Errorf("%s: rejects %v", name, block.Rejects)
			continue
		}
		if got := b.write(l, b.reader, block); len(got) != 2 {
			t.Errorf("%s: %d records left", name, len(got))
		}
	}
	// Negative counts announce a block's size, which must be right.
	for body, ok := range map[string]bool{
		"\x00\x00\x00\x00\x03\x0a\x02a\x02\x02b\x04\x00\x01": false, // 2 entries, 5 bytes
		"\x00\x00\x00\x00\x03\x0c\x02a\x02\x02b\x04\x00\x01": true,
	} {
		if block := b.decode(l, true, with([]byte(body)...)); (len(block.Rejects) == 0) != ok {
			t.Errorf("%q: rejects %v", body, block.Rejects)
		}
	}
}

func TestWideIntegers(t *testing.T) {
	schema := person(field("x", `"long"`), field("d", `{"type":"bytes","logicalType":"decimal","precision":30,"scale":2}`))
	b := start(t, schema, false)
	huge := new(big.Rat).SetFrac(new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 70), big.NewInt(1)), big.NewInt(100))
	values := [][]byte{
		b.frame(schema, map[string]any{"x": int64(1) << 53, "d": big.NewRat(1, 4)}),
		b.frame(schema, map[string]any{"x": int64(1)<<53 + 1, "d": big.NewRat(1, 4)}),
		b.frame(schema, map[string]any{"x": int64(1), "d": huge}),
	}
	block := b.decode(b.layout(true, "*x", "*d"), true, values...)
	if len(block.Rejects) != 2 || block.Rejects[0].Row != 1 || block.Rejects[1].Row != 2 ||
		block.Rejects[1].Column != "d" {
		t.Errorf("rejects %v", block.Rejects)
	}
	l := b.layout(true, "x", "d")
	l.Read = []microdata.Want{{Field: 0, As: microdata.Numbers, Measured: true},
		{Field: 1, As: microdata.Numbers, Measured: true}}
	block = b.decode(l, true, values...)
	if x := block.Columns[0].Original.Values[1]; len(block.Rejects) != 0 || x != 1<<53 ||
		block.Columns[1].Original.Values[2] < 1e19 {
		t.Errorf("measured: %v, rejects %v", x, block.Rejects)
	}
}

func TestTopics(t *testing.T) {
	r := registrytest.New(t)
	r.Register(t, "a-value", registry.Avro, person(field("age", `"int"`), field("town", `"string"`)))
	r.Register(t, "b-value", registry.Avro, person(field("rooms", `"int"`), field("age", `["null","int"]`)))
	r.Register(t, "c-value", registry.Avro, person(field("age", `"double"`)))
	r.Register(t, "d-value", registry.Avro, `"string"`)
	r.Register(t, "e-value", registry.Protobuf, `syntax = "proto3"; message M {}`)
	open := func(topics ...string) (message.Reader, error) {
		return (&Config{}).Reader(context.Background(), message.Request{Topics: topics, Registry: r.Client(t)})
	}
	both, err := open("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []microdata.Field{
		{Name: "age", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "town", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "rooms", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	} {
		if got := both.Schema().Fields[i]; got.Name != want.Name || !arrow.TypeEqual(got.Type, want.Type) ||
			got.Nullable != want.Nullable {
			t.Errorf("field %d: %+v", i, got)
		}
	}
	for _, test := range []struct {
		topics  []string
		phrases []string
	}{
		{[]string{"a", "c"}, []string{"topic c", "field age"}},
		{[]string{"d"}, []string{"topic d", "record"}},
		{[]string{"e"}, []string{"topic e", "PROTOBUF"}},
		{[]string{"nowhere"}, []string{"topic nowhere", "nowhere-value"}},
		{nil, []string{"no topic"}},
	} {
		_, err := open(test.topics...)
		for _, p := range test.phrases {
			if err == nil || !strings.Contains(err.Error(), p) {
				t.Errorf("%v: %v, want %q", test.topics, err, p)
			}
		}
	}
	if _, err := (&Config{}).Reader(context.Background(), message.Request{Topics: []string{"a"}}); err == nil {
		t.Error("read without a registry")
	}
}

// A schema refers to other schemas and to itself. A type that is released may be defined in a field
// that is not.
func TestReferences(t *testing.T) {
	r := registrytest.New(t)
	r.Register(t, "town", registry.Avro,
		`{"type":"record","name":"Town","namespace":"org","fields":[{"name":"zip","type":"string"}]}`)
	text := `{"type":"record","name":"Person","namespace":"org","fields":[
		{"name":"born","type":{"type":"record","name":"Birth","fields":[{"name":"town","type":"Town"}]}},
		{"name":"lives","type":"Town"},
		{"name":"parent","type":["null","Person"]},
		{"name":"second","type":["null","Birth"]},
		{"name":"age","type":"int"}]}`
	id := r.Register(t, "survey-value", registry.Avro, text,
		registry.Reference{Name: "org.Town", Subject: "town", Version: 1})
	b := &bench{t: t, registry: r, client: r.Client(t)}
	var columns []message.Column
	for _, n := range []string{"born", "lives", "parent", "second", "age"} {
		columns = append(columns, message.Column{Name: n})
	}
	var err error
	if b.reader, err = (&Config{}).Reader(context.Background(),
		message.Request{Topics: []string{"survey"}, Columns: columns, Registry: b.client}); err != nil {
		t.Fatal(err)
	}
	zip := func(z string) []byte { return append([]byte{byte(2 * len(z))}, z...) }
	value := registry.AppendHeader(nil, id)
	value = append(value, zip("CANARY")...)
	value = append(value, zip("12")...)
	value = append(value, 0, 2)
	value = append(value, zip("34")...)
	value = append(value, 62)
	l := b.layout(true, "lives", "second", "*age")
	got := b.write(l, b.reader, b.decode(l, true, value))
	sameRecords(t, "released", got,
		[]map[string]any{
			{"lives": map[string]any{"zip": "12"}, "second": map[string]any{"town": map[string]any{"zip": "34"}},
				"age": int32(31)}})

	// The record contains another record with the withheld and the masked fields, so it cannot be
	// released.
	l = b.layout(true, "parent", "age")
	if _, err := (&Config{}).Writer(context.Background(),
		message.WriteRequest{Topic: "people", Layout: l, Reader: b.reader, Registry: b.client}); err == nil || !strings.Contains(err.Error(), "field parent") {
		t.Errorf("released: %v", err)
	}
	// A type that contains itself is carried but not decoded, and its depth is limited.
	l = b.layout(true, b.reader.Schema().Names()...)
	if got := b.write(l, b.reader, b.decode(l, true, nestedPerson(id, 20))); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
	if _, err := b.reader.Decoder(b.layout(false, "parent"), false); err == nil ||
		!strings.Contains(err.Error(), "parent") {
		t.Errorf("decoded: %v", err)
	}
	if block := b.decode(l, true, nestedPerson(id, 100_000)); len(block.Rejects) != 1 {
		t.Error("a parent of a hundred thousand was taken")
	}
}

// nestedPerson is a record of TestReferences that is nested depth times.
func nestedPerson(id uint32, depth int) []byte {
	v := registry.AppendHeader(nil, id)
	for range depth {
		v = append(v, 0, 0, 2) // born and lives have an empty zip, and there is a parent
	}
	v = append(v, 0, 0, 0, 0, 2)
	return append(v, bytes.Repeat([]byte{0, 2}, depth)...)
}

func TestUselessSchemas(t *testing.T) {
	b := start(t, person(field("age", `"int"`)), false)
	l := b.layout(true, "age")
	for text, phrase := range map[string]string{
		`{"type":"record","name":"R","fields":[{"name":"age","type":"R"}]}`: "itself",
		`"int"`: "record",
	} {
		id := b.registry.Register(t, "other", registry.Avro, text)
		block := b.decode(l, true, registry.AppendHeader(nil, id))
		if len(block.Rejects) != 1 || !strings.Contains(block.Rejects[0].Reason, phrase) {
			t.Errorf("%s: %v", text, block.Rejects)
		}
	}
	// If the registry does not answer, the record is not rejected: the stream ends with an error.
	b.registry.Fail(-1, 403)
	if _, err := b.tryDecode(l, true, registry.AppendHeader(nil, 900)); err == nil ||
		!strings.Contains(err.Error(), "offset 100") {
		t.Errorf("%v", err)
	}
}

// Types that double at every level describe more values than the message has bytes, and more columns
// than any dataset has.
func TestDoublingTypes(t *testing.T) {
	doubling := func(leaf string) string {
		text := leaf
		for i := range 40 {
			text = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":%s},{"name":"b","type":"R%d"}]}`, i+1,
				text, i)
		}
		return person(field("age", `"int"`), field("d", text))
	}
	b := start(t, person(field("age", `"int"`)), true)
	l := b.layout(true, "age")
	for _, leaf := range []string{`{"type":"record","name":"R0","fields":[]}`,
		`{"type":"record","name":"R0","fields":[{"name":"x","type":"int"}]}`} {
		id := b.registry.Register(t, "other", registry.Avro, doubling(leaf))
		if block := b.decode(l, true, append(registry.AppendHeader(nil, id), 2)); len(block.Rejects) != 1 {
			t.Errorf("taken: %s", leaf)
		}
	}
	// Values of zero bytes cost no time, however many of them a schema allows.
	n := &node{kind: kindRecord}
	for range 30 {
		n = &node{kind: kindRecord, fields: []member{{"a", n}, {"b", n}}}
	}
	if at := n.skip(nil, 0, 0); at != 0 {
		t.Errorf("%d bytes", at)
	}
}
