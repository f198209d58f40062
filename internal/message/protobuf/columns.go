package protobuf

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sdlfilter/sdlfilter/microdata"
)

const (
	reasonWide  = "holds a number that has more digits than masks compute with"
	reasonRange = "holds a number that its column's type cannot hold"
	reasonUTF8  = "holds text that is not valid UTF-8"
)

// values holds the values of a slot in the records from ≤ r < to, all of the same
// writer's schema.
type values struct {
	from, to int
	field    *field // nil: the schema lacks the field, or the records are malformed
	raw      []uint64
	state    []uint8
}

// value returns the value of record r; ok is false for null.
func (v *values) value(r int) (raw uint64, ok bool) {
	switch v.state[r] {
	case present:
		return v.raw[r], true
	case absent:
		return 0, !v.field.presence // zero for every class; no bytes
	}
	return 0, false
}

// each calls f with the records' values, once for each stretch of records with the same
// schema.
func (c *carried) each(slot, n int, f func(v *values)) {
	raw, state := c.raw[slot*n:][:n], c.state[slot*n:][:n]
	for from := 0; from < n; {
		p := c.plans[from]
		to := from + 1
		for to < n && c.plans[to] == p {
			to++
		}
		v := values{from: from, to: to, raw: raw, state: state}
		if p != nil {
			v.field = p.slots[slot]
		}
		f(&v)
		from = to
	}
}

func (d *decoder) column(b *microdata.Block, col *microdata.Column, c *carried, w microdata.Want) {
	slot := d.slots[w.Field]
	if w.As == microdata.Numbers {
		d.numbers(b, col, c, slot, w)
		return
	}
	d.array(b, col, c, slot, w.Field)
}

// numbers converts a slot to float64.
func (d *decoder) numbers(b *microdata.Block, col *microdata.Column, c *carried, slot int, w microdata.Want) {
	f := d.schema.Fields[w.Field]
	lo, hi := f.Range()
	target := classOf(d.fields[w.Field].Kind())
	out := col.Alloc(b.N, false)
	null := func(r int) {
		if out.Valid == nil {
			out = col.Alloc(b.N, true) // the same values, with a bitmap added
		}
		out.Valid.Clear(r)
		out.Values[r] = 0
	}
	c.each(slot, b.N, func(v *values) {
		if v.field == nil {
			for r := v.from; r < v.to; r++ {
				null(r)
			}
			return
		}
		from := classOf(v.field.kind)
		same := v.field.kind == d.fields[w.Field].Kind()
		for r := v.from; r < v.to; r++ {
			raw, ok := v.value(r)
			if !ok {
				null(r)
				continue
			}
			var x float64
			exact := true
			switch from {
			case classInt:
				i := int64(raw)
				x, exact = float64(i), i >= -microdata.MaxExact && i <= microdata.MaxExact
			case classUint:
				x, exact = float64(raw), raw <= microdata.MaxExact
			default:
				x = math.Float64frombits(raw)
			}
			out.Values[r] = x
			switch {
			case !exact && !w.Measured:
				out.Values[r] = 0
				b.Reject(r, f.Name, reasonWide)
			case !same && target != classFloat && exact && (x < lo || x > hi),
				!same && f.Type.ID() == arrow.FLOAT32 && float64(float32(x)) != x && !math.IsNaN(x):
				out.Values[r] = 0
				b.Reject(r, f.Name, reasonRange)
			}
		}
	})
}

// array converts a slot to an array.
func (d *decoder) array(b *microdata.Block, col *microdata.Column, c *carried, slot, column int) {
	f := d.schema.Fields[column]
	build := array.NewBuilder(memory.DefaultAllocator, f.Type)
	defer build.Release()
	build.Reserve(b.N)
	c.reserveText(build, slot, b.N)
	c.each(slot, b.N, func(v *values) {
		if v.field == nil {
			build.AppendNulls(v.to - v.from)
			return
		}
		for r := v.from; r < v.to; r++ {
			raw, ok := v.value(r)
			if !ok {
				build.AppendNull()
				continue
			}
			if reason := c.appendValue(build, v.field, r, raw); reason != "" {
				build.AppendNull()
				b.Reject(r, f.Name, reason)
			}
		}
	})
	col.Array = build.NewArray()
}

// reserveText reserves memory for the bytes of a slot if it holds text.
func (c *carried) reserveText(build array.Builder, slot, n int) {
	var reserve func(int)
	switch build := build.(type) {
	case *array.StringBuilder:
		reserve = build.ReserveData
	case *array.BinaryBuilder:
		reserve = build.ReserveData
	default:
		return
	}
	size := 0
	c.each(slot, n, func(v *values) {
		if v.field == nil || v.field.wire != protowire.BytesType {
			return
		}
		for r := v.from; r < v.to; r++ {
			if v.state[r] == present {
				size += int(uint32(v.raw[r]) - uint32(v.raw[r]>>32))
			}
		}
	})
	reserve(size)
}

// appendValue appends the value of record r, or returns the reason why it cannot.
func (c *carried) appendValue(build array.Builder, f *field, r int, raw uint64) (reason string) {
	switch from := classOf(f.kind); from {
	case classEnum:
		build.(*array.StringBuilder).Append(enumName(f.desc.Enum(), protoreflect.EnumNumber(int32(raw))))
	case classText, classBytes:
		p := c.values[r][raw>>32 : uint32(raw)]
		if binary, ok := build.(*array.BinaryBuilder); ok {
			binary.Append(p)
		} else if utf8.Valid(p) {
			build.(*array.StringBuilder).BinaryBuilder.Append(p)
		} else {
			return reasonUTF8
		}
	default:
		return appendNumber(build, from, raw)
	}
	return ""
}

// enumName returns the name of an enum's number. An open enum may have numbers without
// names.
func enumName(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	if v := e.Values().ByNumber(n); v != nil {
		return string(v.Name())
	}
	return strconv.Itoa(int(n))
}

// appendNumber appends a value of a class to a builder of numbers or bools, or returns
// the reason if it does not fit.
func appendNumber(build array.Builder, from class, raw uint64) string {
	signed, unsigned := int64(raw), raw
	small := from == classUint && raw > math.MaxInt64 // beyond int64
	negative := from == classInt && signed < 0
	switch b := build.(type) {
	case *array.BooleanBuilder:
		b.Append(raw != 0)
	case *array.Int32Builder:
		if small || signed < math.MinInt32 || signed > math.MaxInt32 {
			return reasonRange
		}
		b.Append(int32(signed))
	case *array.Int64Builder:
		if small {
			return reasonRange
		}
		b.Append(signed)
	case *array.Uint32Builder:
		if negative || unsigned > math.MaxUint32 {
			return reasonRange
		}
		b.Append(uint32(unsigned))
	case *array.Uint64Builder:
		if negative {
			return reasonRange
		}
		b.Append(unsigned)
	case *array.Float64Builder:
		x, ok := floatOf(from, raw)
		if !ok {
			return reasonRange
		}
		b.Append(x)
	case *array.Float32Builder:
		x, ok := floatOf(from, raw)
		if !ok || float64(float32(x)) != x && !math.IsNaN(x) {
			return reasonRange
		}
		b.Append(float32(x))
	}
	return ""
}

// floatOf returns a value of a class as a float64; ok is false if the result is not
// exact.
func floatOf(from class, raw uint64) (x float64, ok bool) {
	switch from {
	case classInt:
		i := int64(raw)
		return float64(i), i >= -microdata.MaxExact && i <= microdata.MaxExact
	case classUint:
		return float64(raw), raw <= microdata.MaxExact
	}
	return math.Float64frombits(raw), true
}
