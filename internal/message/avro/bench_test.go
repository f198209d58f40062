package avro

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/avro"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// 4096 records of 8 fields, of which 2 are masked: these are found, decoded, masked and inserted
// again.
func BenchmarkSplice(b *testing.B) {
	schema := person(field("name", `"string"`), field("age", `"int"`), field("town", `"string"`),
		field("income", `"double"`),
		field("sex", `{"type":"enum","name":"Sex","symbols":["F","M"]}`), field("rooms", `["null","int"]`),
		field("note", `["null","string"]`), field("id", `"long"`))
	s := start(b, schema, false)
	values := make([][]byte, 4096)
	size := 0
	first := s.frame(schema, everyPerson(0))
	for i := range values {
		values[i] = append(append([]byte{}, first[:5]...), encodePerson(b, schema, i)...)
		size += len(values[i])
	}
	l := s.layout(true, "*age", "town", "*income", "sex", "rooms", "note")
	d, err := s.reader.Decoder(l, true)
	if err != nil {
		b.Fatal(err)
	}
	w,
		err := (&Config{}).Writer(context.Background(),
		message.WriteRequest{Topic: "out", Layout: l, Reader: s.reader, Registry: s.client})
	if err != nil {
		b.Fatal(err)
	}
	run := &message.Run{Scope: "survey", Values: values, Offsets: make([]int64, len(values))}
	for i := range run.Offsets {
		run.Offsets[i] = int64(i)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var block microdata.Block
	for b.Loop() {
		if err := d.Decode(context.Background(), &block, run); err != nil || len(block.Rejects) > 0 {
			b.Fatal(err, block.Rejects)
		}
		for i := range block.Columns {
			m := block.Columns[i].Mutable()
			for k := range m.Values {
				m.Values[k]++
			}
		}
		if _, err := w.Encode(context.Background(), &block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(values)), "ns/record")
}

// The same records, completely decoded for a sink of another format.
func BenchmarkDecode(b *testing.B) {
	schema := person(field("name", `"string"`), field("age", `"int"`), field("town", `"string"`),
		field("income", `"double"`),
		field("sex", `{"type":"enum","name":"Sex","symbols":["F","M"]}`), field("rooms", `["null","int"]`),
		field("note", `["null","string"]`), field("id", `"long"`))
	s := start(b, schema, false)
	first := s.frame(schema, everyPerson(0))
	run := &message.Run{Scope: "survey"}
	for i := range 4096 {
		run.Values = append(run.Values, append(append([]byte{}, first[:5]...), encodePerson(b, schema, i)...))
		run.Offsets = append(run.Offsets, int64(i))
	}
	d, err := s.reader.Decoder(s.layout(false, s.reader.Schema().Names()...), false)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var block microdata.Block
	for b.Loop() {
		if err := d.Decode(context.Background(), &block, run); err != nil || len(block.Rejects) > 0 {
			b.Fatal(err, block.Rejects)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(run.Values)), "ns/record")
}

// This benchmark measures the release of the same records with the library's own decoder and
// encoder: into a map of values, two of them changed and one removed, and back. The comparison
// shows whether our own code that processes the bytes is worth keeping (docs/performance.md).
func BenchmarkLibrarySplice(b *testing.B) { benchmarkLibrary(b, true) }

// The same for decoding alone; the values are not collected in columns.
func BenchmarkLibraryDecode(b *testing.B) { benchmarkLibrary(b, false) }

// The library is fastest if it decodes into a struct type that is known when the program is built. The
// type of a topic is not known then, so this measures the best that a struct type created at run time
// could reach.
func BenchmarkLibraryDecodeStruct(b *testing.B) {
	in := avro.MustParse(person(field("name", `"string"`), field("age", `"int"`), field("town", `"string"`),
		field("income", `"double"`),
		field("sex", `{"type":"enum","name":"Sex","symbols":["F","M"]}`), field("rooms", `["null","int"]`),
		field("note", `["null","string"]`), field("id", `"long"`)))
	var values [][]byte
	for i := range 4096 {
		v, err := in.Encode(everyPerson(i))
		if err != nil {
			b.Fatal(err)
		}
		values = append(values, v)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, v := range values {
			var record struct {
				Name   string  `avro:"name"`
				Age    int32   `avro:"age"`
				Town   string  `avro:"town"`
				Income float64 `avro:"income"`
				Sex    string  `avro:"sex"`
				Rooms  *int32  `avro:"rooms"`
				Note   *string `avro:"note"`
				ID     int64   `avro:"id"`
			}
			if _, err := in.Decode(v, &record); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(values)), "ns/record")
}

func benchmarkLibrary(b *testing.B, encode bool) {
	fields := []string{field("name", `"string"`), field("age", `"int"`), field("town", `"string"`),
		field("income", `"double"`),
		field("sex", `{"type":"enum","name":"Sex","symbols":["F","M"]}`), field("rooms", `["null","int"]`),
		field("note", `["null","string"]`)}
	in, out := avro.MustParse(person(append(slices.Clone(fields), field("id", `"long"`))...)),
		avro.MustParse(person(fields[1:]...))
	var values [][]byte
	for i := range 4096 {
		v, err := in.Encode(everyPerson(i))
		if err != nil {
			b.Fatal(err)
		}
		values = append(values, v)
	}
	var released []byte
	b.ReportAllocs()
	for b.Loop() {
		for _, v := range values {
			var record map[string]any
			if _, err := in.Decode(v, &record); err != nil {
				b.Fatal(err)
			}
			if !encode {
				continue
			}
			record["age"] = record["age"].(int32) + 1
			record["income"] = record["income"].(float64) + 1
			delete(record, "id")
			delete(record, "name")
			var err error
			if released, err = out.AppendEncode(released[:0], record); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(values)), "ns/record")
}

func everyPerson(i int) map[string]any {
	return map[string]any{
		"name": fmt.Sprintf("Respondent number %d", i), "age": int32(i % 100), "town": "Some town of some length",
		"income": float64(i) * 1.25,
		"sex":    []string{"F", "M"}[i%2], "rooms": int32(i % 7),
		"note": "a remark of the interviewer that is a little longer",
		"id":   int64(i) * 1_000_003,
	}
}
