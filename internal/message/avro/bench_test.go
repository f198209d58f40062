package avro

import (
	"context"
	"fmt"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// 4096 records of 8 fields of which 2 are masked: found, decoded, masked,
// spliced.
func BenchmarkSplice(b *testing.B) {
	schema := person(field("name", `"string"`), field("age", `"int"`), field("town", `"string"`), field("income", `"double"`),
		field("sex", `{"type":"enum","name":"Sex","symbols":["F","M"]}`), field("rooms", `["null","int"]`), field("note", `["null","string"]`), field("id", `"long"`))
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
	w, err := (&Config{}).Writer(context.Background(), message.WriteRequest{Topic: "out", Layout: l, Reader: s.reader, Registry: s.client})
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

// The same records decoded whole, for a sink of another format.
func BenchmarkDecode(b *testing.B) {
	schema := person(field("name", `"string"`), field("age", `"int"`), field("town", `"string"`), field("income", `"double"`),
		field("sex", `{"type":"enum","name":"Sex","symbols":["F","M"]}`), field("rooms", `["null","int"]`), field("note", `["null","string"]`), field("id", `"long"`))
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

func everyPerson(i int) map[string]any {
	return map[string]any{
		"name": fmt.Sprintf("Respondent number %d", i), "age": int32(i % 100), "town": "Some town of some length", "income": float64(i) * 1.25,
		"sex": []string{"F", "M"}[i%2], "rooms": int32(i % 7), "note": "a remark of the interviewer that is a little longer", "id": int64(i) * 1_000_003,
	}
}
