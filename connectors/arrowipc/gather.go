package arrowipc

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// stretch is n slots of an array that is being built: those of another array from place
// from on, or zeros or nulls.
type stretch struct{ from, n int }

const (
	blank = -1 // zeros below a null of the parent: the bytes there may be original values
	null  = -2 // nulls of this array
)

// extend appends n slots to a list of stretches; they are joined to the last one if they
// are next to it.
func extend(list []stretch, from, n int) []stretch {
	if n == 0 {
		return list
	}
	if k := len(list) - 1; k >= 0 &&
		(from < 0 && list[k].from == from || from >= 0 && list[k].from >= 0 && list[k].from+list[k].n == from) {
		list[k].n += n
		return list
	}
	return append(list, stretch{from, n})
}

// gather builds an array from stretches of d. Its buffers contain exactly the bytes of
// its slots: nothing of other slots, and zeros under nulls. For one stretch without
// nulls, memory is shared.
func gather(d arrow.ArrayData, stretches []stretch) arrow.ArrayData {
	g := gathering{d: d, offset: d.Offset()}
	for _, s := range stretches {
		g.n += s.n
	}
	g.split(stretches)
	t := storage(d.DataType())
	buffers := []*memory.Buffer{g.bitmap}
	var children []arrow.ArrayData
	switch t := t.(type) {
	case *arrow.NullType:
		return array.NewData(d.DataType(), g.n, []*memory.Buffer{nil}, nil, g.n, 0)
	case *arrow.BooleanType:
		buffers = append(buffers, g.booleans())
	case *arrow.StringType, *arrow.BinaryType:
		offsets, inner := offsetsOf(&g, arrow.Int32Traits.CastFromBytes(bytesOf(d, 1)))
		buffers = append(buffers, offsets, g.bytes(2, inner, 1))
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		offsets, inner := offsetsOf(&g, arrow.Int64Traits.CastFromBytes(bytesOf(d, 1)))
		buffers = append(buffers, offsets, g.bytes(2, inner, 1))
	case arrow.BinaryViewDataType:
		views, data := g.views()
		buffers = append(buffers, views, data)
	case *arrow.ListType, *arrow.MapType:
		offsets, inner := offsetsOf(&g, arrow.Int32Traits.CastFromBytes(bytesOf(d, 1)))
		buffers = append(buffers, offsets)
		children = append(children, gather(d.Children()[0], inner))
	case *arrow.LargeListType:
		offsets, inner := offsetsOf(&g, arrow.Int64Traits.CastFromBytes(bytesOf(d, 1)))
		buffers = append(buffers, offsets)
		children = append(children, gather(d.Children()[0], inner))
	case *arrow.FixedSizeListType:
		children = append(children, gather(d.Children()[0], g.scaled(int(t.Len()))))
	case *arrow.StructType:
		for _, c := range d.Children() {
			children = append(children, gather(c, g.physical))
		}
	case *arrow.DictionaryType:
		buffers = append(buffers, g.bytes(1, g.physical, t.IndexType.(arrow.FixedWidthDataType).BitWidth()/8))
		return array.NewDataWithDictionary(d.DataType(), g.n, buffers, g.nulls, 0, d.Dictionary().(*array.Data))
	case arrow.FixedWidthDataType:
		buffers = append(buffers, g.bytes(1, g.physical, t.BitWidth()/8))
	default:
		panic(fmt.Sprintf("arrowipc: gather of %s", t)) // verify lets none through
	}
	return array.NewData(d.DataType(), g.n, buffers, children, g.nulls, 0)
}

// gathering is the part that all types have in common: the validity, and the stretches
// split where nulls begin and end.
type gathering struct {
	d        arrow.ArrayData
	offset   int
	n, nulls int
	bitmap   *memory.Buffer // nil without nulls
	physical []stretch      // in the buffers' slots; blank where there is no value
}

func (g *gathering) split(stretches []stretch) {
	valid := bits(g.d)
	hasNulls := false
	for _, s := range stretches {
		hasNulls = hasNulls || s.from == null
	}
	if valid == nil && !hasNulls {
		for _, s := range stretches {
			if s.from >= 0 {
				s.from += g.offset
			}
			g.physical = extend(g.physical, s.from, s.n)
		}
		return
	}
	out := make([]byte, (g.n+7)/8)
	at := 0
	for _, s := range stretches {
		for i := range s.n {
			if s.from >= 0 && valid.has(g.offset+s.from+i) {
				out[at>>3] |= 1 << (at & 7)
				g.physical = extend(g.physical, g.offset+s.from+i, 1)
			} else {
				g.nulls++
				g.physical = extend(g.physical, blank, 1)
			}
			at++
		}
	}
	if g.nulls > 0 {
		g.bitmap = memory.NewBufferBytes(out)
	}
}

// bytes copies slots of a width from a buffer.
func (g *gathering) bytes(buffer int, list []stretch, width int) *memory.Buffer {
	src := bytesOf(g.d, buffer)
	if len(list) == 1 && list[0].from >= 0 {
		from, to := list[0].from*width, (list[0].from+list[0].n)*width
		return memory.NewBufferBytes(src[from:to:to])
	}
	total := 0
	for _, s := range list {
		total += s.n
	}
	out := make([]byte, total*width)
	at := 0
	for _, s := range list {
		if s.from >= 0 {
			copy(out[at:], src[s.from*width:(s.from+s.n)*width])
		}
		at += s.n * width
	}
	return memory.NewBufferBytes(out)
}

func (g *gathering) booleans() *memory.Buffer {
	src, out := bytesOf(g.d, 1), make([]byte, (g.n+7)/8)
	at := 0
	for _, s := range g.physical {
		if s.from >= 0 {
			bitutil.CopyBitmap(src, s.from, s.n, out, at)
		}
		at += s.n
	}
	return memory.NewBufferBytes(out)
}

// scaled returns the stretches of the child of lists of a fixed size.
func (g *gathering) scaled(size int) (inner []stretch) {
	for _, s := range g.physical {
		if s.from >= 0 {
			inner = extend(inner, s.from*size, s.n*size)
		} else {
			inner = extend(inner, blank, s.n*size)
		}
	}
	return inner
}

// offsetsOf returns offsets from 0, and the stretches that they refer to. Nulls have
// length 0.
func offsetsOf[T int32 | int64](g *gathering, src []T) (*memory.Buffer, []stretch) {
	out := make([]T, g.n+1)
	var inner []stretch
	at, end := 0, T(0)
	for _, s := range g.physical {
		if s.from < 0 {
			for range s.n {
				at++
				out[at] = end
			}
			continue
		}
		first := src[s.from]
		for _, o := range src[s.from+1 : s.from+s.n+1] {
			at++
			out[at] = end + o - first
		}
		inner = extend(inner, int(first), int(out[at]-end))
		end = out[at]
	}
	var raw []byte
	switch out := any(out).(type) {
	case []int32:
		raw = arrow.Int32Traits.CastToBytes(out)
	case []int64:
		raw = arrow.Int64Traits.CastToBytes(out)
	}
	return memory.NewBufferBytes(raw), inner
}

// views copies views and the bytes of the long ones into one buffer.
func (g *gathering) views() (headers, data *memory.Buffer) {
	src := arrow.ViewHeaderTraits.CastFromBytes(bytesOf(g.d, 1))
	out := make([]arrow.ViewHeader, g.n)
	var bytes []byte
	at := 0
	for _, s := range g.physical {
		for i := range s.n {
			if s.from < 0 {
				at += s.n
				break
			}
			h := &src[s.from+i]
			if h.IsInline() {
				out[at].SetBytes(h.InlineBytes())
			} else {
				long := bytesOf(g.d, 2+int(h.BufferIndex()))[h.BufferOffset() : int(h.BufferOffset())+h.Len()]
				out[at].SetBytes(long)
				out[at].SetIndexOffset(0, int32(len(bytes)))
				bytes = append(bytes, long...)
			}
			at++
		}
	}
	return memory.NewBufferBytes(arrow.ViewHeaderTraits.CastToBytes(out)), memory.NewBufferBytes(bytes)
}

// exact returns an array's first n slots in buffers of their own extent.
func exact(a arrow.Array, stretches []stretch) arrow.Array {
	d := gather(a.Data(), stretches)
	defer d.Release()
	return array.MakeFromData(d)
}

// join joins arrays of one type; dictionaries are joined by their values.
func join(parts []arrow.Array) (arrow.Array, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	if _, ok := parts[0].(*array.Dictionary); ok {
		return joinDictionaries(parts)
	}
	for i := range parts {
		parts[i] = plain(parts[i])
	}
	return array.Concatenate(parts, memory.DefaultAllocator)
}
