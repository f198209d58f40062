package members

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// TooBig is the reason for which a number is rejected that a float64 cannot
// hold at all.
const TooBig = "a number beyond float64"

// Values returns where the wanted values of column i of Layout.Read are in Data,
// one for each record; empty where the member is missing or the record rejected.
func (s *Records) Values(i int) []Span { return s.values[s.plan.wants[i]*s.n:][:s.n] }

// IsNull reports a value that is null or missing.
func IsNull(p []byte) bool { return len(p) == 0 || p[0] == 'n' }

// Numbers decodes column i of Layout.Read to b.Columns[i] as float64. Records
// whose value is no number of the column's type are rejected. exact says that
// float64 is what stands for any number: integers are then rejected which it
// would change, unless the column is only measured.
func (s *Records) Numbers(b *microdata.Block, i int, exact bool) {
	want := s.plan.layout.Read[i]
	field := s.plan.layout.Schema.Fields[want.Field]
	col := &b.Columns[i]
	v := col.Alloc(b.N, false)
	for r, at := range s.Values(i) {
		p := s.Data[at.Start:at.End]
		v.Values[r] = 0
		if IsNull(p) {
			if v.Valid == nil {
				v = col.Alloc(b.N, true) // the same values, and now a bitmap
			}
			v.Valid.Clear(r)
			continue
		}
		x, reason := number(p, field.Type, exact, want.Measured)
		if reason != "" {
			b.Reject(r, field.Name, reason)
			continue
		}
		v.Values[r] = x
	}
}

// number decodes a value that is not null as a number of a type. reason says why it is not one, or
// cannot be represented; exact and measured are as in Numbers.
func number(p []byte, typ arrow.DataType, exact, measured bool) (x float64, reason string) {
	if p[0] != '-' && p[0]-'0' > 9 {
		return 0, text.NotA(typ)
	}
	float := typ.ID() == arrow.FLOAT64
	if float {
		if x, ok := text.ParseFloat(p); ok {
			if exact && !measured && (x >= microdata.MaxExact || x <= -microdata.MaxExact) {
				if _, wide := text.Classify(p); wide {
					return 0, text.TooWide
				}
			}
			return x, ""
		}
	}
	x, reason = text.ParseNumber(p, typ)
	if reason == text.TooWide && measured {
		x, _ = text.ParseFloat(p)
		reason = ""
	}
	if reason != "" && exact && float {
		reason = TooBig // the syntax has been seen to
	}
	return x, reason
}

// JSONText returns column i of Layout.Read as an array of strings that hold the
// JSON text of the values; null and missing are null.
func (s *Records) JSONText(i int) arrow.Array {
	values := s.Values(i)
	size, nulls := 0, 0
	for _, at := range values {
		size += int(at.End - at.Start)
	}
	data := make([]byte, 0, size+8) // room for appendValue
	offsets := make([]int32, 1, s.n+1)
	var valid []byte
	for r, at := range values {
		p := s.Data[at.Start:at.End]
		if IsNull(p) {
			if valid == nil {
				valid = ones8(s.n)
			}
			valid[r>>3] &^= 1 << (r & 7)
			nulls++
		} else {
			data = s.appendValue(data, at)
		}
		offsets = append(offsets, int32(len(data)))
	}
	bufs := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)),
		memory.NewBufferBytes(data)}
	if valid != nil {
		bufs[0] = memory.NewBufferBytes(valid)
	}
	return array.MakeFromData(array.NewData(arrow.BinaryTypes.String, s.n, bufs, nil, nulls, 0))
}

// appendValue appends the text of a value. Most are short: eight bytes are copied at once where
// both sides have them.
func (s *Records) appendValue(dst []byte, at Span) []byte {
	from, n, short := int(at.Start), len(dst), int(at.End-at.Start)
	if short <= 8 && from+8 <= len(s.Data) && n+8 <= cap(dst) {
		*(*[8]byte)(dst[n : n+8]) = *(*[8]byte)(s.Data[from:])
		return dst[:n+short]
	}
	return append(dst, s.Data[from:at.End]...)
}

// ones8 returns a bitmap of n bits, all set.
func ones8(n int) []byte {
	p := make([]byte, (n+7)/8)
	for i := range p {
		p[i] = 0xff
	}
	return p
}
