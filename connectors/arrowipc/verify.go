package arrowipc

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var errBounds = errors.New("its buffers are shorter than its metadata says, or point outside of each other")

// errUnsupported is verify's error for types that can be neither released nor read.
// Such a column can be withheld.
type errUnsupported struct{ t arrow.DataType }

func (e errUnsupported) Error() string {
	return fmt.Sprintf("type %s is not supported; list the column as an identifier, or convert it before", e.t)
}

// supported reports whether columns of a type can be read and released.
func supported(t arrow.DataType) bool {
	switch t := t.(type) {
	case arrow.ExtensionType:
		return supported(t.StorageType())
	case *arrow.DictionaryType:
		return supported(t.ValueType)
	case *arrow.ListViewType, *arrow.LargeListViewType, *arrow.RunEndEncodedType, arrow.UnionType:
		return false
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if !supported(f.Type) {
				return false
			}
		}
	}
	return true
}

// storage returns the type that determines the layout of an array's buffers.
func storage(t arrow.DataType) arrow.DataType {
	for {
		e, ok := t.(arrow.ExtensionType)
		if !ok {
			return t
		}
		t = e.StorageType()
	}
}

// verify checks that an array has at least n values, and that no offset or index is
// beyond its buffers. An array from an input must not be used before.
func verify(d arrow.ArrayData, n int64) error {
	t := storage(d.DataType())
	if !supported(t) {
		return errUnsupported{t}
	}
	if d.Len() < 0 || d.Offset() < 0 || int64(d.Len()) < n {
		return errBounds
	}
	end := int64(d.Offset()) + int64(d.Len())
	if t.ID() != arrow.NULL && d.NullN() != 0 && bufferLength(d, 0) < (end+7)/8 {
		return errBounds
	}
	switch t := t.(type) {
	case *arrow.NullType:
	case *arrow.BooleanType:
		return atLeast(bufferLength(d, 1), (end+7)/8)
	case *arrow.DictionaryType:
		if err := atLeast(bufferLength(d, 1), end*int64(t.IndexType.(arrow.FixedWidthDataType).BitWidth()/8)); err != nil {
			return err
		}
		return verifyIndexes(d)
	case *arrow.StringType, *arrow.BinaryType, *arrow.LargeStringType, *arrow.LargeBinaryType:
		return verifyOffsets(d, bufferLength(d, 2))
	case arrow.BinaryViewDataType:
		return verifyViews(d, end)
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType:
		if len(d.Children()) != 1 {
			return errBounds
		}
		if err := verifyOffsets(d, int64(d.Children()[0].Len())); err != nil {
			return err
		}
		return verify(d.Children()[0], 0)
	case *arrow.FixedSizeListType:
		if len(d.Children()) != 1 || t.Len() < 0 {
			return errBounds
		}
		return verify(d.Children()[0], end*int64(t.Len()))
	case *arrow.StructType:
		if len(d.Children()) != t.NumFields() {
			return errBounds
		}
		for _, c := range d.Children() {
			if err := verify(c, end); err != nil {
				return err
			}
		}
	case arrow.FixedWidthDataType:
		return atLeast(bufferLength(d, 1), end*int64(t.BitWidth()/8))
	default:
		return errUnsupported{t}
	}
	return nil
}

func atLeast(have, want int64) error {
	if have < want {
		return errBounds
	}
	return nil
}

// bufferLength returns the length of a buffer in bytes; 0 if it is absent.
func bufferLength(d arrow.ArrayData, i int) int64 { return int64(len(bytesOf(d, i))) }

func bytesOf(d arrow.ArrayData, i int) []byte {
	if b := buffer(d, i); b != nil {
		return b.Bytes()
	}
	return nil
}

func buffer(d arrow.ArrayData, i int) *memory.Buffer {
	if i >= len(d.Buffers()) {
		return nil
	}
	return d.Buffers()[i]
}

// wide reports whether a type's offsets have 64 bits.
func wide(t arrow.DataType) bool {
	o, ok := t.(arrow.OffsetsDataType)
	return ok && o.OffsetTypeTraits().BytesRequired(1) == 8
}

// verifyOffsets checks that the offsets rise and stay within limit.
func verifyOffsets(d arrow.ArrayData, limit int64) error {
	if d.Len() == 0 {
		return nil
	}
	end := int64(d.Offset()) + int64(d.Len()) + 1
	if wide(storage(d.DataType())) {
		if bufferLength(d, 1) < 8*end {
			return errBounds
		}
		return rising(arrow.Int64Traits.CastFromBytes(bytesOf(d, 1))[d.Offset():end], limit)
	}
	if bufferLength(d, 1) < 4*end {
		return errBounds
	}
	return rising(arrow.Int32Traits.CastFromBytes(bytesOf(d, 1))[d.Offset():end], limit)
}

func rising[T int32 | int64](offsets []T, limit int64) error {
	last := offsets[0]
	if last < 0 {
		return errBounds
	}
	for _, o := range offsets {
		if o < last {
			return errBounds
		}
		last = o
	}
	if int64(last) > limit {
		return errBounds
	}
	return nil
}

func verifyIndexes(d arrow.ArrayData) error {
	dict := d.Dictionary()
	if dict == nil {
		return errBounds
	}
	if err := verify(dict, 0); err != nil {
		return err
	}
	a, ok := array.MakeFromData(d).(*array.Dictionary)
	if !ok {
		return errBounds
	}
	n := dict.Len()
	for i := range a.Len() {
		if a.IsValid(i) {
			if k := a.GetValueIndex(i); k < 0 || k >= n {
				return errBounds
			}
		}
	}
	return nil
}

// verifyViews lets the library check views, and replaces its error text, which may quote values.
func verifyViews(d arrow.ArrayData, end int64) error {
	if bufferLength(d, 1) < end*int64(arrow.ViewHeaderSizeBytes) {
		return errBounds
	}
	headers := arrow.ViewHeaderTraits.CastFromBytes(bytesOf(d, 1))[d.Offset():end]
	valid := bits(d)
	for i := range headers {
		h := &headers[i]
		if !valid.has(d.Offset()+i) || h.IsInline() && h.Len() >= 0 {
			continue
		}
		k := int64(h.BufferIndex())
		if h.Len() < 0 || k < 0 || 2+k >= int64(len(d.Buffers())) || h.BufferOffset() < 0 ||
			int64(h.BufferOffset())+int64(h.Len()) > bufferLength(d, 2+int(k)) {
			return errBounds
		}
	}
	return nil
}

// validity is a bitmap that may be absent.
type validity []byte

// bits returns the bitmap of an array; nil if it has no nulls.
func bits(d arrow.ArrayData) validity {
	if d.NullN() == 0 {
		return nil
	}
	return bytesOf(d, 0)
}

func (v validity) has(i int) bool { return v == nil || v[i>>3]>>(i&7)&1 == 1 }
