package arrowipc

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/files"
)

// plainType returns a type with every dictionary replaced by its values' type, as the
// rest of the program uses it.
func plainType(t arrow.DataType) arrow.DataType {
	if !encoded(t) {
		return t
	}
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return plainType(t.ValueType)
	case *arrow.ListType:
		return arrow.ListOfField(plainField(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(plainField(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), plainField(t.ElemField()))
	case *arrow.MapType:
		m := arrow.MapOfFields(plainField(t.KeyField()), plainField(t.ItemField()))
		m.KeysSorted = t.KeysSorted
		return m
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			fields[i] = plainField(f)
		}
		return arrow.StructOf(fields...)
	}
	return t
}

func plainField(f arrow.Field) arrow.Field {
	f.Type = plainType(f.Type)
	return f
}

// encoded reports whether a type has a dictionary in it.
func encoded(t arrow.DataType) bool {
	if t.ID() == arrow.DICTIONARY {
		return true
	}
	if n, ok := t.(arrow.NestedType); ok {
		for _, f := range n.Fields() {
			if encoded(f.Type) {
				return true
			}
		}
	}
	return false
}

// plain returns an array with its dictionaries replaced by their values; the array
// itself if it has none.
func plain(a arrow.Array) arrow.Array {
	if !encoded(a.DataType()) {
		return a
	}
	d := plainData(a.Data())
	defer d.Release()
	return array.MakeFromData(d)
}

func plainData(d arrow.ArrayData) arrow.ArrayData {
	t := d.DataType()
	if !encoded(t) {
		d.Retain()
		return d
	}
	if t.ID() == arrow.DICTIONARY {
		values := plainData(d.Dictionary())
		a := array.MakeFromData(d).(*array.Dictionary)
		var list []stretch
		for i := range a.Len() {
			if a.IsNull(i) {
				list = extend(list, null, 1)
			} else {
				list = extend(list, a.GetValueIndex(i), 1)
			}
		}
		return gather(values, list)
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = plainData(c)
	}
	return array.NewData(plainType(t), d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}

// memo numbers the released values of a column in the order in which they first
// occur: the dictionary of the release.
type memo struct {
	values []arrow.Array // pieces, in order
	places map[string]int32
}

// keepable reports whether columns with this type of values are released with a
// dictionary. Others are released as plain columns.
func keepable(t arrow.DataType) bool {
	switch t := t.(type) {
	case arrow.ExtensionType, arrow.NestedType, *arrow.DictionaryType, *arrow.NullType:
		return false
	case arrow.BinaryDataType, arrow.BinaryViewDataType, arrow.FixedWidthDataType:
		return supported(t)
	}
	return false
}

// key identifies a value of an array, which is not null.
func key(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.LargeString:
		return a.Value(i)
	case *array.Binary:
		return string(a.Value(i))
	case *array.LargeBinary:
		return string(a.Value(i))
	case *array.StringView:
		return a.Value(i)
	case *array.BinaryView:
		return string(a.Value(i))
	case *array.Boolean:
		return fmt.Sprint(a.Value(i))
	}
	d := a.Data()
	w := d.DataType().(arrow.FixedWidthDataType).BitWidth() / 8
	at := (d.Offset() + i) * w
	return string(bytesOf(d, 1)[at : at+w])
}

// place returns the number of value i of a. One that is new is added to fresh,
// the values of a that the caller appends to m.values.
func (m *memo) place(a arrow.Array, i int, fresh *[]stretch) int32 {
	k := key(a, i)
	p, ok := m.places[k]
	if !ok {
		if m.places == nil {
			m.places = map[string]int32{}
		}
		p = int32(len(m.places))
		m.places[k] = p
		*fresh = extend(*fresh, i, 1)
	}
	return p
}

// dictionary returns the values so far.
func (m *memo) dictionary(t arrow.DataType) (arrow.Array, error) {
	if len(m.values) == 0 {
		return array.MakeArrayOfNull(memory.DefaultAllocator, t, 0), nil
	}
	return array.Concatenate(m.values, memory.DefaultAllocator)
}

// number returns the numbers of the values of an array, a dictionary array or a plain
// one; -1 for null. Each dictionary entry that is used is looked up once.
func (m *memo) number(a arrow.Array, stretches []stretch) []int32 {
	values, index := a, func(i int) int { return i }
	if d, ok := a.(*array.Dictionary); ok {
		values, index = d.Dictionary(), d.GetValueIndex
	}
	known := make([]int32, values.Len())
	var fresh []stretch
	var out []int32
	for _, s := range stretches {
		for i := s.from; i < s.from+s.n; i++ {
			p := int32(-1)
			if a.IsValid(i) {
				if k := index(i); known[k] > 0 {
					p = known[k] - 1
				} else if values.IsValid(k) {
					p = m.place(values, k, &fresh)
					known[k] = p + 1
				}
			}
			out = append(out, p)
		}
	}
	if len(fresh) > 0 {
		m.values = append(m.values, exact(values, fresh))
	}
	return out
}

// indexed makes a dictionary array of numbers (-1: null) into a dictionary.
func indexed(t *arrow.DictionaryType, numbers []int32, dict arrow.Array) (arrow.Array, error) {
	w := t.IndexType.(arrow.FixedWidthDataType).BitWidth() / 8
	raw := make([]byte, len(numbers)*w)
	valid := make([]byte, (len(numbers)+7)/8)
	limit, nulls := uint64(1)<<(8*w-1)-1, 0
	for i, k := range numbers {
		if k < 0 {
			nulls++
			continue
		}
		if uint64(k) > limit {
			return nil,
				fmt.Errorf("more than %d different values, which is what its index type %s can tell apart", limit, t.IndexType)
		}
		valid[i>>3] |= 1 << (i & 7)
		for b := range w {
			raw[i*w+b] = byte(uint64(k) >> (8 * b))
		}
	}
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(raw)}
	if nulls > 0 {
		buffers[0] = memory.NewBufferBytes(valid)
	}
	d := array.NewDataWithDictionary(t, len(numbers), buffers, nulls, 0, dict.Data().(*array.Data))
	return array.MakeFromData(d), nil
}

// joinDictionaries joins dictionary arrays, which may have different dictionaries. The
// result does not contain values that no record has.
func joinDictionaries(parts []arrow.Array) (arrow.Array, error) {
	t := parts[0].DataType().(*arrow.DictionaryType)
	if !keepable(t.ValueType) {
		for i := range parts {
			parts[i] = plain(parts[i])
		}
		return array.Concatenate(parts, memory.DefaultAllocator)
	}
	var m memo
	var numbers []int32
	for _, p := range parts {
		numbers = append(numbers, m.number(p, []stretch{{0, p.Len()}})...)
	}
	dict, err := m.dictionary(t.ValueType)
	if err != nil {
		return nil, err
	}
	return indexed(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: t.ValueType}, numbers, dict)
}

// constant returns a column with a partition folder's value.
func constant(p files.Partition, n int) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Reserve(n)
	for range n {
		if p.Null {
			b.AppendNull()
		} else {
			b.Append(p.Value)
		}
	}
	return b.NewArray()
}
