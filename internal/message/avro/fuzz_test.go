package avro

import (
	"context"
	"strings"
	"testing"

	avro "github.com/twmb/avro"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func encodePerson(t testing.TB, schema string, i int) []byte {
	v, err := avro.MustParse(schema).Encode(everyPerson(i))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Arbitrary bytes are rejected unless they are a record. The library must then be able to read them
// too, and also the record that is released.
func FuzzDecode(f *testing.F) {
	schemas := []string{
		everything,
		person(field("age", `["null","long"]`), field("self", `["null","Person"]`),
			field("nulls", `{"type":"array","items":"null"}`)),
		person(field("deep", `{"type":"array","items":{"type":"map","values":{"type":"array","items":["int","string"]}}}`),
			field("age", `"int"`)),
	}
	type subject struct {
		bench           *bench
		parsed          *avro.Schema
		id              uint32
		carried, whole  *microdata.Layout
		splice, decoder message.Decoder
		writer          message.Writer
	}
	var subjects []subject
	for i, text := range schemas {
		s := subject{bench: start(f, text, false), parsed: avro.MustParse(text)}
		latest, err := s.bench.client.Latest(context.Background(), "survey-value")
		if err != nil {
			f.Fatal(err)
		}
		s.id = latest.ID
		masked := names(s.bench.reader.Schema(), "age", "i", "l", "d", "dec", "decf", "nd", "s", "e")
		if i == 1 {
			masked = []string{"age", "self", "nulls"} // self cannot be released together with a masked age
		}
		s.carried = s.bench.layout(true, masked...)
		s.whole = s.bench.layout(false, names(s.bench.reader.Schema(), "i", "age")...)
		if i == 1 {
			s.whole = s.bench.layout(false, "age", "nulls")
		}
		for _, d := range []struct {
			to    *message.Decoder
			l     *microdata.Layout
			carry bool
		}{{&s.splice, s.carried, true}, {&s.decoder, s.whole, false}} {
			if *d.to, err = s.bench.reader.Decoder(d.l, d.carry); err != nil {
				f.Fatal(err)
			}
		}
		if s.writer, err = (&Config{}).Writer(context.Background(),
			message.WriteRequest{Topic: "out", Layout: s.carried, Reader: s.bench.reader, Registry: s.bench.client}); err != nil {
			f.Fatal(err)
		}
		subjects = append(subjects, s)
	}
	for k := range 3 {
		v, err := subjects[0].parsed.Encode(everyRecord(k))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(0), v)
		f.Add(byte(0), v[:len(v)/2])
	}
	f.Add(byte(1), []byte{2, 4, 2, 0, 0, 6, 0, 0})
	f.Add(byte(1), []byte{0, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0})
	f.Add(byte(2), []byte{2, 2, 2, 'a', 2, 0, 8, 0, 0, 0, 10})
	f.Add(byte(2), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0})
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		s := subjects[int(which)%len(subjects)]
		value := append(registry.AppendHeader(nil, s.id), body...)
		run := &message.Run{Scope: "survey", Offsets: []int64{1}, Values: [][]byte{value}}
		var block microdata.Block
		if err := s.decoder.Decode(context.Background(), &block, run); err != nil {
			t.Fatal(err)
		}
		for _, c := range block.Columns {
			if c.Array != nil && c.Array.Len() != 1 {
				t.Errorf("a column of %d values", c.Array.Len())
			}
		}
		if err := s.splice.Decode(context.Background(), &block, run); err != nil {
			t.Fatal(err)
		}
		if block.Kept() == 0 {
			return
		}
		var record any
		left, err := s.parsed.Decode(body, &record)
		if err != nil && strings.Contains(err.Error(), "zero-byte items exceeds") {
			return // a limit of the library, which creates a value for each null
		}
		if err != nil || len(left) > 0 {
			t.Fatalf("taken for a record, while the library says %v, with %d bytes left", err, len(left))
		}
		res, err := s.writer.Encode(context.Background(), &block)
		if err != nil {
			t.Fatal(err)
		}
		id, rest, _ := registry.Header(res.Values[0])
		out, err := s.bench.client.ByID(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := avro.MustParse(out.Text).Decode(rest, &record); err != nil || len(left) > 0 {
			t.Fatalf("released %x: %v, %d bytes left", rest, err, len(left))
		}
	})
}

// A schema is accepted or refused. The types of an accepted schema are finite and have names.
func FuzzSchema(f *testing.F) {
	f.Add(everything)
	f.Add(person(field("self", `["null","Person"]`)))
	f.Add(person(field("self", `"Person"`)))
	f.Add(person(field("a", `{"type":"array","items":{"type":"record","name":"E","fields":[]}}`)))
	f.Add(person(field("f", `{"type":"fixed","name":"F","size":2147483647}`), field("g", `["F"]`)))
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := avro.Parse(text)
		if err != nil {
			return
		}
		rec, err := newRecord(parsed)
		if err != nil {
			if _, ok := err.(*schemaError); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		for _, field := range rec.node.fields {
			v, _, _ := field.node.value()
			if v.arrow.String() == "" {
				t.Error("a type without a name")
			}
			v.cyclic()
			for _, body := range [][]byte{nil, {0}, {2, 2, 2, 2}, {0xff, 0xff, 0xff, 0xff, 0x0f}} {
				if at := field.node.skip(body, 0, 0); at > len(body) {
					t.Errorf("a value of %d bytes in %d", at, len(body))
				}
			}
		}
	})
}
