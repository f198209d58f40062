package protobuf

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// The bytes of a message depend on the released values alone: a field that was absent, as a zero
// and a null are, and has got a value by a mask is in the same place as any other; one that a mask
// has made zero or null leaves no trace.
func TestOneSpelling(t *testing.T) {
	s := set(t, person, listed, false, map[string]microdata.Form{"wage": microdata.Numbers, "age": microdata.Numbers})
	field := func(dst []byte, n protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.VarintType), v)
	}
	wage := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 0x4008000000000000)
	city := protowire.AppendString(protowire.AppendTag(nil, 3, protowire.BytesType), "x")
	kids := field(nil, 5, 2)
	age := field(nil, 2, 30)
	join := func(parts ...[]byte) []byte { return frameOf(s.id, bytes.Join(parts, nil)) }
	values := [][]byte{join(wage, age, city, kids), join(city, kids), join(city, age, kids), join(city, kids, wage)}
	for _, c := range []struct {
		wage float64
		age  bool
	}{{7, true}, {0, true}, {7, false}, {0, false}} {
		var b microdata.Block
		if err := s.decoder.Decode(t.Context(), &b, runOf(values...)); err != nil || len(b.Rejects) > 0 {
			t.Fatal(err, b.Rejects)
		}
		w, a := s.column(&b, "wage").Mutable(), s.column(&b, "age").Mutable()
		w.Valid, a.Valid = nil, microdata.NewBitmap(b.N, nil)
		for i := range b.N {
			w.Values[i], a.Values[i] = c.wage, 40
			if !c.age {
				a.Values[i] = 0
				a.Valid.Clear(i)
			}
		}
		out, err := s.writer.Encode(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range out.Values {
			if !bytes.Equal(v, out.Values[0]) {
				t.Errorf("%+v: message %d is %x, and the first %x", c, i, v, out.Values[0])
			}
		}
	}
}
