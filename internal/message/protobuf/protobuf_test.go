package protobuf

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

const person = `syntax = "proto3";
package survey;
import "google/protobuf/timestamp.proto";
// canary of a comment
message Person {
  double wage = 1;
  optional int64 age = 2;
  string city = 3;
  string name = 4; // canary
  repeated int32 kids = 5;
  Address home = 6;
  map<string, int32> marks = 7;
  Colour colour = 8;
  sint32 delta = 9;
  google.protobuf.Timestamp born = 10;
  oneof contact {
    string mail = 11;
    string phone = 12;
  }
  repeated Address former = 13;
  Secret secret = 14;
  fixed32 code = 300;
  optional float rate = 301;
  bool employed = 302;
  bytes photo = 303;
  message Secret { string canary = 1; }
}
message Address {
  string street = 1;
  Place place = 2;
}
message Place { double lat = 1; double lon = 2; }
enum Colour { NONE = 0; RED = 1; BLUE = 2; }
message Other { string canary = 1; }
`

var listed = []message.Column{{Name: "wage", Number: true}, {Name: "age", Number: true}, {Name: "city"},
	{Name: "name", Withheld: true}, {Name: "kids"}, {Name: "home"},
	{Name: "marks"}, {Name: "colour"}, {Name: "delta", Number: true}, {Name: "born"}, {Name: "mail"},
	{Name: "phone", Withheld: true}, {Name: "former"}, {Name: "secret", Withheld: true},
	{Name: "code"}, {Name: "rate"}, {Name: "employed"}, {Name: "photo"}}

// setting is a topic survey with its reader and writer.
type setting struct {
	registry *registrytest.Registry
	client   *registry.Client
	reader   message.Reader
	layout   *microdata.Layout
	decoder  message.Decoder
	writer   message.Writer
	id       uint32
}

// set registers text as the schema of topic survey and opens a reader and a writer. masks gives the
// columns to mask and the form of their values; all other listed columns that are not withheld are
// released unchanged.
func set(t testing.TB, text string, columns []message.Column, drop bool, masks map[string]microdata.Form) *setting {
	t.Helper()
	s := &setting{registry: registrytest.New(t)}
	s.client = s.registry.Client(t)
	s.id = s.registry.Register(t, "survey-value", registry.Protobuf, text)
	s.open(t, columns, drop, masks)
	return s
}

func (s *setting) open(t testing.TB, columns []message.Column, drop bool, masks map[string]microdata.Form) {
	t.Helper()
	var err error
	if s.reader, err = (&Config{}).Reader(t.Context(),
		message.Request{Topics: []string{"survey"}, Columns: columns, DropUnlisted: drop, Registry: s.client}); err != nil {
		t.Fatal(err)
	}
	schema := s.reader.Schema()
	s.layout = &microdata.Layout{Schema: schema}
	for i, f := range schema.Fields {
		k := slices.IndexFunc(columns, func(c message.Column) bool { return c.Name == f.Name })
		if k < 0 || columns[k].Withheld {
			continue
		}
		o := microdata.Output{Field: f, Source: i, Column: -1, Decimals: -1}
		if form, ok := masks[f.Name]; ok {
			o.Column, o.Masked = len(s.layout.Read), true
			s.layout.Read = append(s.layout.Read, microdata.Want{Field: i, As: form})
		}
		s.layout.Release = append(s.layout.Release, o)
	}
	if s.decoder, err = s.reader.Decoder(s.layout, true); err != nil {
		t.Fatal(err)
	}
	if s.writer, err = (&Config{}).Writer(t.Context(),
		message.WriteRequest{Topic: "out", Layout: s.layout, Reader: s.reader, Registry: s.client}); err != nil {
		t.Fatal(err)
	}
}

// frameOf puts the header with the schema's number and the message's indexes before a message.
func frameOf(id uint32, m []byte, indexes ...int) []byte {
	if len(indexes) == 0 {
		indexes = []int{0}
	}
	return append(registry.AppendIndexes(registry.AppendHeader(nil, id), indexes), m...)
}

func runOf(values ...[]byte) *message.Run {
	run := &message.Run{Scope: "survey", Stream: 3, Values: values}
	for i := range values {
		run.Offsets = append(run.Offsets, int64(10+2*i))
	}
	return run
}

// column returns the block's column with a name.
func (s *setting) column(b *microdata.Block, name string) *microdata.Column {
	for i, w := range s.layout.Read {
		if s.layout.Schema.Fields[w.Field].Name == name {
			return &b.Columns[i]
		}
	}
	panic(name)
}

// messageType compiles the text of a schema and returns one of its types.
func messageType(t testing.TB, text, name string) protoreflect.MessageDescriptor {
	t.Helper()
	f, err := compileText(t.Context(), text, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	m, err := findMessage(f, name)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return m
}

// released reads a released value with the schema whose number is in its header.
func (s *setting) released(t testing.TB, v []byte) *dynamicpb.Message {
	t.Helper()
	id, rest, ok := registry.Header(v)
	if !ok {
		t.Fatal("a value without a frame was released")
	}
	indexes, body, ok := registry.Indexes(rest, nil, maxNesting)
	if !ok {
		t.Fatal("a value with a malformed frame was released")
	}
	found, err := s.client.ByID(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compile(t.Context(), s.client, found)
	if err != nil {
		t.Fatalf("%v in\n%s", err, found.Text)
	}
	m := dynamicpb.NewMessage(messageAt(c.file, indexes))
	if err := proto.Unmarshal(body, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// fill gives a message random content. Strings contain "canary" in fields that are withheld; the
// caller decides by the name which fields these are.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if r.IntN(3) == 0 || depth > 3 {
			continue
		}
		switch {
		case f.IsMap():
			for range r.IntN(3) {
				m.Mutable(f).Map().Set(protoreflect.ValueOfString(fmt.Sprint("k", r.IntN(5))).MapKey(), scalar(r, f.MapValue()))
			}
		case f.IsList():
			for range r.IntN(3) {
				if f.Message() != nil {
					fill(r, m.Mutable(f).List().AppendMutable().Message(), depth+1)
				} else {
					m.Mutable(f).List().Append(scalar(r, f))
				}
			}
		case f.Message() != nil:
			fill(r, m.Mutable(f).Message(), depth+1)
		default:
			m.Set(f, scalar(r, f))
		}
	}
}

func scalar(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(r.IntN(2000) - 1000))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(r.Int64N(1<<40) - 1<<39)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(r.Uint32())
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(r.Uint64N(1 << 50))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(r.IntN(1000)) / 4)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(r.IntN(1000)) / 8)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(4)))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{byte(r.IntN(256)), 2})
	}
	s := fmt.Sprint("text", r.IntN(100))
	switch f.Name() {
	case "name", "phone", "canary":
		s = "canary" + s
	}
	return protoreflect.ValueOfString(s)
}

// Random messages are released unchanged except for masked numbers, with the schema that was
// registered for them, and without any byte of the withheld fields.
func TestRoundTrip(t *testing.T) {
	for name, text := range map[string]string{
		"proto3":   person,
		"proto2":   proto2(person),
		"editions": strings.NewReplacer(`syntax = "proto3"`, `edition = "2023"`, "optional ", "").Replace(person),
	} {
		t.Run(name, func(t *testing.T) {
			s := set(t, text, listed, false,
				map[string]microdata.Form{"wage": microdata.Numbers, "age": microdata.Numbers, "delta": microdata.Numbers,
					"code": microdata.Numbers, "rate": microdata.Numbers})
			in := messageType(t, text, "survey.Person")
			r := rand.New(rand.NewPCG(1, 2))
			var values [][]byte
			var originals []*dynamicpb.Message
			for range 300 {
				m := dynamicpb.NewMessage(in)
				fill(r, m, 0)
				p, err := proto.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				// A field that the schema does not have, at any place.
				stray := protowire.AppendString(protowire.AppendTag(nil, 77, protowire.BytesType), "canary stray")
				values = append(values, frameOf(s.id, append(stray, p...)))
				originals = append(originals, m)
			}
			var b microdata.Block
			if err := s.decoder.Decode(t.Context(), &b, runOf(values...)); err != nil {
				t.Fatal(err)
			}
			if len(b.Rejects) > 0 || b.N != len(values) || b.First != 10 || b.Places[1] != 12 || b.Stream != 3 ||
				b.Scope != "survey" {
				t.Fatalf("block of %d records, rejects %v", b.N, b.Rejects)
			}
			masked := []protoreflect.Name{"wage", "age", "delta", "code", "rate"}
			for _, c := range masked {
				v := s.column(&b, string(c)).Mutable()
				f := in.Fields().ByName(c)
				for i, m := range originals {
					if has := m.Has(f) || !f.HasPresence(); has != v.Valid.Has(i) {
						t.Fatalf("record %d: column %s is null: %v", i, c, has)
					} else if want := fmt.Sprint(m.Get(f).Interface()); has && fmt.Sprint(number(f, v.Values[i])) != want {
						t.Fatalf("record %d: column %s is %v, want %s", i, c, v.Values[i], want)
					} else if has {
						v.Values[i] = float64(i%5) * 3 // zeros among them
					}
				}
			}
			b.Reject(7, "wage", "for the test")
			out, err := s.writer.Encode(t.Context(), &b)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Values) != len(values)-1 || out.Source[7] != 8 {
				t.Fatalf("%d messages of %v", len(out.Values), out.Source[:9])
			}
			for k, v := range out.Values {
				i := int(out.Source[k])
				got := s.released(t, v)
				want := dynamicpb.NewMessage(got.Descriptor())
				_, body, _ := registry.Header(values[i])
				if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body[1:], want); err != nil {
					t.Fatal(err)
				}
				for _, c := range masked {
					if f, g := in.Fields().ByName(c), got.Descriptor().Fields().ByName(c); originals[i].Has(f) || !f.HasPresence() {
						want.Set(g, protoreflect.ValueOf(number(g, float64(i%5)*3)))
					}
				}
				if !proto.Equal(want, got) {
					t.Fatalf("record %d: released %v, want %v", i, got, want)
				}
				if bytes.Contains(v, []byte("canary")) {
					t.Fatalf("record %d: a withheld value was released", i)
				}
			}
			released, ok := s.registry.Text("out-value", 1)
			if !ok || strings.Contains(released, "canary") || strings.Contains(released, "Other") ||
				strings.Contains(released, "Secret {") || !strings.Contains(released, "reserved") {
				t.Errorf("released schema\n%s", released)
			}
			if _, more := s.registry.Text("out-value", 2); more {
				t.Error("one schema of the writer made two released ones")
			}
		})
	}
}

// proto2 converts a proto3 schema to proto2.
func proto2(text string) string {
	var out []string
	for _, line := range strings.Split(strings.Replace(text, `"proto3"`, `"proto2"`, 1), "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.Contains(trimmed, " = ") && !strings.HasPrefix(trimmed, "syntax") && !strings.HasPrefix(trimmed, "enum") &&
			!strings.HasPrefix(trimmed, "message") &&
			!strings.HasPrefix(trimmed, "repeated") && !strings.HasPrefix(trimmed, "optional") &&
			!strings.HasPrefix(trimmed, "map") &&
			!strings.Contains(trimmed, "mail") && !strings.Contains(trimmed, "phone") {
			line = "optional " + line
		}
		line = strings.Replace(line, "message Place { double lat = 1; double lon = 2; }",
			"message Place { optional double lat = 1; optional double lon = 2; }", 1)
		line = strings.Replace(line, "{ string canary", "{ optional string canary", 1)
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// number returns a number in the Go type of a field's values.
func number(f protoreflect.FieldDescriptor, x float64) any {
	switch f.Kind() {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return int32(x)
	case protoreflect.Int64Kind:
		return int64(x)
	case protoreflect.Fixed32Kind:
		return uint32(x)
	case protoreflect.FloatKind:
		return float32(x)
	}
	return x
}

// A mask moves the values of columns, in every form.
func TestArrays(t *testing.T) {
	s := set(t, person, listed, false,
		map[string]microdata.Form{"city": microdata.Array, "colour": microdata.Array, "employed": microdata.Array,
			"photo": microdata.Array, "age": microdata.Array})
	in := messageType(t, person, "survey.Person")
	var values [][]byte
	for i := range 3 {
		m := dynamicpb.NewMessage(in)
		m.Set(in.Fields().ByName("city"), protoreflect.ValueOfString(fmt.Sprint("city", i)))
		m.Set(in.Fields().ByName("colour"), protoreflect.ValueOfEnum(protoreflect.EnumNumber(i+1))) // 3 has no name
		m.Set(in.Fields().ByName("employed"), protoreflect.ValueOfBool(i == 1))
		m.Set(in.Fields().ByName("photo"), protoreflect.ValueOfBytes([]byte{byte(i)}))
		if i > 0 {
			m.Set(in.Fields().ByName("age"), protoreflect.ValueOfInt64(int64(i)<<60)) // no mask computes with it
		}
		p, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, frameOf(s.id, p))
	}
	var b microdata.Block
	if err := s.decoder.Decode(t.Context(), &b, runOf(values...)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"city": `["city0" "city1" "city2"]`, "colour": `["RED" "BLUE" "3"]`,
		"employed": "[false true false]", "age": fmt.Sprint("[(null) ", int64(1)<<60, " ", -int64(1)<<61*-1, "]")} {
		if got := fmt.Sprint(s.column(&b, name).Array); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"city", "colour", "employed", "photo", "age"} {
		c := s.column(&b, name) // each record gets the value of the next one
		a, err := array.Concatenate([]arrow.Array{array.NewSlice(c.Array, 1, 3), array.NewSlice(c.Array, 0, 1)},
			memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		c.ReleasedArray = a
	}
	out, err := s.writer.Encode(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range out.Values {
		m := s.released(t, v)
		var row []string
		for _, name := range []protoreflect.Name{"city", "colour", "employed", "photo", "age"} {
			row = append(row, fmt.Sprint(m.Get(m.Descriptor().Fields().ByName(name))))
		}
		row = append(row, fmt.Sprint(m.Has(m.Descriptor().Fields().ByName("age"))))
		got = append(got, strings.Join(row, " "))
	}
	want := []string{fmt.Sprint("city1 2 true [1] ", int64(1)<<60, " true"),
		fmt.Sprint("city2 3 false [2] ", int64(2)<<60, " true"), "city0 1 false [0] 0 false"}
	if !slices.Equal(got, want) {
		t.Errorf("released %q, want %q", got, want)
	}
}

// These messages are malformed. Each gets its reason, which never contains a value.
func TestMalformed(t *testing.T) {
	s := set(t, person, listed, false,
		map[string]microdata.Form{"wage": microdata.Numbers, "age": microdata.Numbers, "city": microdata.Array})
	avro := s.registry.Register(t, "other-value", registry.Avro, `"string"`)
	broken := s.registry.Register(t, "broken-value", registry.Protobuf, `syntax = "proto3"; message X { canary y = 1; }`)
	text := func(n protowire.Number, v string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, n, protowire.BytesType), v)
	}
	varint := func(n protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
	}
	good := text(3, "Ulm")
	for _, c := range []struct {
		name   string
		value  []byte
		reason string // "": released
	}{
		{"good", frameOf(s.id, good), ""},
		{"an empty message", frameOf(s.id, nil), ""},
		{"nil", nil, reasonEmpty},
		{"no frame", []byte("canary"), reasonFrame},
		{"a short frame", []byte{0, 0, 0}, reasonFrame},
		{"indexes without end", append(registry.AppendHeader(nil, s.id), 0xff), reasonFrame},
		{"a schema that is not there", frameOf(999, good), reasonSchema},
		{"a schema of Avro", frameOf(avro, good), reasonUnusable},
		{"a schema that cannot be compiled", frameOf(broken, good), reasonUnusable},
		{"a type that is not there", frameOf(s.id, good, 9), reasonIndexes},
		{"a type within one that has none", frameOf(s.id, good, 1, 0), reasonIndexes},
		{"another type", frameOf(s.id, text(1, "canary"), 3), reasonType},
		{"a nested type", frameOf(s.id, text(1, "canary"), 0, 1), reasonType},
		{"twice", frameOf(s.id, slices.Concat(good, good)), reasonTwice},
		{"twice a withheld one", frameOf(s.id, slices.Concat(text(4, "canary"), text(4, "canary"))), reasonTwice},
		{"a message twice", frameOf(s.id, slices.Concat(text(6, ""), text(6, ""))), ""},
		{"two of a oneof", frameOf(s.id, slices.Concat(text(11, "canary"), text(12, "canary"))), reasonOneof},
		{"another wire type", frameOf(s.id, varint(3, 5)), reasonWire},
		{"a repeated one packed", frameOf(s.id, text(5, "\x01\x02")), ""},
		{"a repeated one not packed", frameOf(s.id, slices.Concat(varint(5, 1), varint(5, 2))), ""},
		{"a repeated one of another wire type",
			frameOf(s.id, protowire.AppendFixed64(protowire.AppendTag(nil, 5, protowire.Fixed64Type), 1)), reasonWire},
		{"a single one packed", frameOf(s.id, text(2, "\x01")), reasonWire},
		{"cut off", frameOf(s.id, good[:2]), reasonWire},
		{"number 0", frameOf(s.id, []byte{0, 1}), reasonWire},
		{"the end of a group", frameOf(s.id, []byte{0x0c}), reasonWire},
		{"text that is none", frameOf(s.id, text(3, "canary\xff")), reasonUTF8},
		{"a wide integer", frameOf(s.id, varint(2, 1<<53+1)), reasonWide},
		{"a nested one that is broken", frameOf(s.id, text(6, "\x0a\x7fcanary")), reasonNested},
		{"a nested one of another wire type", frameOf(s.id, text(6, "\x08\x01")), reasonNested},
		{"a nested one with more", frameOf(s.id, text(6, string(slices.Concat(text(1, "street"), text(9, "canary"))))), ""},
	} {
		var b microdata.Block
		if err := s.decoder.Decode(t.Context(), &b, runOf(c.value)); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		reason := ""
		if len(b.Rejects) > 0 {
			reason = b.Rejects[0].Reason
		}
		if reason != c.reason || b.N != 1 {
			t.Errorf("%s: rejected for %q, want %q", c.name, reason, c.reason)
		}
		out, err := s.writer.Encode(t.Context(), &b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, v := range out.Values {
			if m := s.released(t, v); bytes.Contains(v, []byte("canary")) {
				t.Errorf("%s: released %v", c.name, m)
			}
		}
	}
	// If the registry does not answer, the stream ends.
	s.registry.Fail(-1, 500)
	var e *registry.Error
	if err := s.decoder.Decode(t.Context(), new(microdata.Block), runOf(frameOf(555, good))); !errors.As(err, &e) {
		t.Errorf("a registry that does not answer: %v", err)
	}
}

func TestUnlisted(t *testing.T) {
	r := registrytest.New(t)
	r.Register(t, "survey-value", registry.Protobuf, person)
	var u *message.UnlistedError
	_,
		err := (&Config{}).Reader(t.Context(),
		message.Request{Topics: []string{"survey"}, Columns: listed[1:], Registry: r.Client(t)})
	if !errors.As(err, &u) || !slices.Equal(u.Places, []string{"field number 1"}) || u.Stream != "topic survey" {
		t.Errorf("at the start: %v", err)
	}
	if _, err := (&Config{}).Reader(t.Context(),
		message.Request{Topics: []string{"absent"}, Registry: r.Client(t)}); !registry.IsNotFound(err) {
		t.Errorf("without a schema: %v", err)
	}
}

func TestRefused(t *testing.T) {
	s := set(t, person, listed, false, nil)
	schema := s.reader.Schema()
	at := func(name string) int { return schema.Index(name) }
	for _, c := range []struct {
		column string
		form   microdata.Form
		want   string
	}{
		{"kids", microdata.Array, "nested"},
		{"home", microdata.Array, "nested"},
		{"city", microdata.Numbers, "arithmetic"},
		{"mail", microdata.Array, "oneof contact"},
	} {
		_,
			err := s.reader.Decoder(&microdata.Layout{Schema: schema, Read: []microdata.Want{{Field: at(c.column), As: c.form}},
			Release: []microdata.Output{{Field: schema.Fields[at(c.column)], Source: at(c.column), Masked: true}}}, true)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.column, err)
		}
	}
	if ps := (&Config{Message: "a b"}).Check(); len(ps) != 1 {
		t.Errorf("problems %v", ps)
	}
	if _, err := (&Config{}).Reader(t.Context(), message.Request{}); err == nil {
		t.Error("no registry is needed")
	}
}
