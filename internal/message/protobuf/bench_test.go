package protobuf

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func protoName(s string) protoreflect.Name { return protoreflect.Name(s) }

const benchmarkSchema = `syntax = "proto3"; message Person { int64 id = 1; string name = 2; double wage = 3; int32 age = 4; string city = 5; string region = 6; double hours = 7; bool employed = 8; }`

// people returns 4096 messages of 8 fields.
func people(b *testing.B, in protoreflect.MessageDescriptor) (values [][]byte) {
	for i := range 4096 {
		m := dynamicpb.NewMessage(in)
		for name, v := range map[string]any{"id": int64(i), "name": fmt.Sprint("name of the respondent ", i),
			"wage": float64(i) + 0.25, "age": int32(20 + i%60), "city": "Ulm", "region": "south", "hours": 38.5,
			"employed": true} {
			m.Set(in.Fields().ByName(protoName(name)), protoreflect.ValueOf(v))
		}
		p, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		values = append(values, p)
	}
	return values
}

// This benchmark measures the same work with the library's own messages: they are read, two fields are
// changed, two are removed, and they are written. The comparison shows whether our own code that walks
// the bytes is worth keeping (docs/performance.md).
func BenchmarkLibraryMessages(b *testing.B) {
	in := messageType(b, benchmarkSchema, "Person")
	values := people(b, in)
	id, name := in.Fields().ByName("id"), in.Fields().ByName("name")
	wage, hours := in.Fields().ByName("wage"), in.Fields().ByName("hours")
	var released []byte
	b.ReportAllocs()
	for b.Loop() {
		for _, v := range values {
			m := dynamicpb.NewMessage(in)
			if err := proto.Unmarshal(v, m); err != nil {
				b.Fatal(err)
			}
			m.Set(wage, protoreflect.ValueOfFloat64(m.Get(wage).Float()+1))
			m.Set(hours, protoreflect.ValueOfFloat64(m.Get(hours).Float()+1))
			m.Clear(id)
			m.Clear(name)
			var err error
			if released, err = (proto.MarshalOptions{}).MarshalAppend(released[:0], m); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/record")
}

// BenchmarkMessages decodes and encodes 4096 messages of 8 fields, two of them
// masked.
func BenchmarkMessages(b *testing.B) {
	columns := []message.Column{{Name: "id", Withheld: true}, {Name: "name", Withheld: true}, {Name: "wage"},
		{Name: "age"}, {Name: "city"}, {Name: "region"}, {Name: "hours"}, {Name: "employed"}}
	s := set(b, benchmarkSchema, columns, false,
		map[string]microdata.Form{"wage": microdata.Numbers, "hours": microdata.Numbers})
	var values [][]byte
	for _, p := range people(b, messageType(b, benchmarkSchema, "Person")) {
		values = append(values, frameOf(s.id, p))
	}
	run := runOf(values...)
	var block microdata.Block
	b.ReportAllocs()
	for b.Loop() {
		if err := s.decoder.Decode(b.Context(), &block, run); err != nil {
			b.Fatal(err)
		}
		block.Columns[0].Mutable()
		block.Columns[1].Mutable()
		if _, err := s.writer.Encode(b.Context(), &block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/record")
}
