package protobuf

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

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

// Every message is rejected or released, without a panic. A released message has no field that the
// released schema does not have, and it has the same listed fields that the library finds in the
// original.
func FuzzMessage(f *testing.F) {
	s := set(f, person, listed, false,
		map[string]microdata.Form{"wage": microdata.Numbers, "age": microdata.Numbers, "city": microdata.Array,
			"colour": microdata.Array})
	in := messageType(f, person, "survey.Person")
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		m := dynamicpb.NewMessage(in)
		fill(r, m, 0)
		p, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p)
	}
	f.Add([]byte("\x9b\x06\x9c\x06"))                   // a group
	f.Add(bytes.Repeat([]byte{0x32, 0x02, 0x12, 0}, 9)) // messages that merge
	f.Fuzz(func(t *testing.T, p []byte) {
		var b microdata.Block
		if err := s.decoder.Decode(t.Context(), &b, runOf(frameOf(s.id, p), frameOf(s.id, nil))); err != nil {
			t.Fatal(err)
		}
		if b.Rejected(1) {
			t.Fatal("one message spoils the next")
		}
		out, err := s.writer.Encode(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Values) == 1 {
			return
		}
		m := dynamicpb.NewMessage(in)
		if proto.Unmarshal(p, m) != nil {
			return // carried text that is not UTF-8
		}
		got := s.released(t, out.Values[0])
		if len(got.GetUnknown()) > 0 {
			t.Error("a field was released that the released schema does not have")
		}
		for _, name := range []string{"wage", "city", "kids", "home", "marks", "delta", "mail"} {
			a, b := in.Fields().ByName(protoName(name)), got.Descriptor().Fields().ByName(protoName(name))
			if m.Has(a) != got.Has(b) {
				t.Errorf("field %s was there: %v, is there: %v", name, m.Has(a), got.Has(b))
			}
		}
	})
}
