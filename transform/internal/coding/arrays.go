package coding

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Cell is one value of a column on its way to another record: a number, or the
// bytes that an array of its type holds for it (a bool has one byte; an entry of
// a dictionary is the entry's value).
type Cell struct {
	Null   bool
	Number float64
	Bytes  []byte
}

// Movable reports whether values of the type can be moved between records, and be compared as keys.
func Movable(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		_, nested := t.ValueType.(*arrow.DictionaryType)
		return !nested && Movable(t.ValueType)
	case arrow.ExtensionType:
		return Movable(t.StorageType())
	}
	switch t.ID() {
	case arrow.NULL, arrow.BOOL, arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.STRING_VIEW,
		arrow.BINARY_VIEW:
		return true
	case arrow.FIXED_SIZE_LIST:
		return false
	}
	_, ok := t.(arrow.FixedWidthDataType)
	return ok && !arrow.IsNested(t.ID())
}

// Width returns the bytes that a value of a fixed-width type takes, 0 for other
// types and for bool.
func Width(t arrow.DataType) int {
	if f, ok := t.(arrow.FixedWidthDataType); ok && t.ID() != arrow.BOOL {
		return f.BitWidth() / 8
	}
	return 0
}

// wordsOf fills dst with one word for each of the values from, from+1, …; two words are equal
// if and only if the values are. ok is false for types of more than 8 bytes.
func wordsOf(dst []uint64, a arrow.Array, from int) (ok bool) {
	if b, isBool := a.(*array.Boolean); isBool {
		for i := range dst {
			dst[i] = 0
			if b.Value(from + i) {
				dst[i] = 1
			}
		}
		return true
	}
	w := Width(a.DataType())
	if w != 1 && w != 2 && w != 4 && w != 8 {
		return false
	}
	raw := fixed(a, w)[from*w:]
	switch {
	case a.DataType().ID() == arrow.FLOAT64:
		for i := range dst {
			dst[i] = canonical(math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:])))
		}
	case a.DataType().ID() == arrow.FLOAT32:
		for i := range dst {
			dst[i] = canonical(float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))))
		}
	case w == 8:
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint64(raw[8*i:])
		}
	case w == 4:
		for i := range dst {
			dst[i] = uint64(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case w == 2:
		for i := range dst {
			dst[i] = uint64(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	default:
		for i := range dst {
			dst[i] = uint64(raw[i])
		}
	}
	return true
}

// fixed returns the bytes of an array's values of w bytes each.
func fixed(a arrow.Array, w int) []byte {
	d := a.Data()
	if d.Len() == 0 || d.Buffers()[1] == nil {
		return nil
	}
	return d.Buffers()[1].Bytes()[d.Offset()*w : (d.Offset()+d.Len())*w]
}

// BytesOf returns a function that gives the bytes of value i, which is not null,
// without copying; ok is false for types that have none.
func BytesOf(a arrow.Array) (at func(i int) []byte, ok bool) {
	d := a.Data()
	switch t := a.(type) {
	case *array.Boolean:
		bits := [2][]byte{{0}, {1}}
		return func(i int) []byte {
			if t.Value(i) {
				return bits[1]
			}
			return bits[0]
		}, true
	case *array.StringView:
		return func(i int) []byte {
			s := t.Value(i)
			return unsafe.Slice(unsafe.StringData(s), len(s))
		}, true
	case *array.BinaryView:
		return t.Value, true
	case *array.Dictionary:
		entries, ok := BytesOf(t.Dictionary())
		return func(i int) []byte { return entries(t.GetValueIndex(i)) }, ok
	case array.ExtensionArray:
		return BytesOf(t.Storage())
	}
	switch a.DataType().ID() {
	case arrow.STRING, arrow.BINARY:
		offsets, text := offsetsOf[int32](d), textOf(d)
		return func(i int) []byte { return text[offsets[i]:offsets[i+1]] }, true
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		offsets, text := offsetsOf[int64](d), textOf(d)
		return func(i int) []byte { return text[offsets[i]:offsets[i+1]] }, true
	}
	if w := Width(a.DataType()); w > 0 {
		raw := fixed(a, w)
		return func(i int) []byte { return raw[i*w : (i+1)*w] }, true
	}
	return nil, false
}

func offsetsOf[T int32 | int64](d arrow.ArrayData) []T {
	if d.Len() == 0 || d.Buffers()[1] == nil {
		return make([]T, 1)
	}
	return arrow.GetData[T](d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()+1]
}

func textOf(d arrow.ArrayData) []byte {
	if d.Buffers()[2] == nil {
		return nil
	}
	return d.Buffers()[2].Bytes()
}

// Pair is two records of a block, by index.
type Pair struct{ I, J int32 }

// Placing is memory for cells on their way to rows.
type Placing struct {
	Rows  []int32
	Cells []Cell
}

// Exchange returns the array with the values of each pair exchanged. A dictionary stays as it is, only the indexes into
// it move.
func (p *Placing) Exchange(a arrow.Array, pairs []Pair) (arrow.Array, error) {
	switch t := a.(type) {
	case *array.Null:
		return a, nil
	case *array.Dictionary:
		indexes, err := p.Exchange(t.Indices(), pairs)
		if err != nil {
			return nil, err
		}
		return array.NewDictionaryArray(t.DataType(), indexes, t.Dictionary()), nil
	}
	bytes, ok := BytesOf(a)
	if !ok {
		return nil, fmt.Errorf("values of type %s cannot be exchanged", a.DataType())
	}
	p.Rows, p.Cells = p.Rows[:0], p.Cells[:0]
	take := func(to, from int32) {
		c := Cell{Null: a.IsNull(int(from))}
		if !c.Null {
			c.Bytes = bytes(int(from))
		}
		p.Rows, p.Cells = append(p.Rows, to), append(p.Cells, c)
	}
	for _, of := range pairs {
		take(of.I, of.J)
		take(of.J, of.I)
	}
	return Place(a, p.Rows, p.Cells)
}

// Place returns the array with cells put at rows, each row at most once.
// It returns an error if the type cannot hold a cell.
func Place(a arrow.Array, rows []int32, cells []Cell) (arrow.Array, error) {
	switch t := a.(type) {
	case *array.Null:
		return a, nil
	case array.ExtensionArray:
		storage, err := Place(t.Storage(), rows, cells)
		if err != nil {
			return nil, err
		}
		return array.NewExtensionArrayWithStorage(t.ExtensionType(), storage), nil
	case *array.Dictionary:
		return placeDictionary(t, rows, cells)
	case *array.StringView:
		return placeViews(a, rows, cells, array.NewStringViewBuilder(memory.DefaultAllocator)), nil
	case *array.BinaryView:
		return placeViews(a, rows, cells, array.NewBinaryViewBuilder(memory.DefaultAllocator)), nil
	}
	validity, nulls := placeValidity(a, rows, cells)
	buffers, err := placeBuffers(a, rows, cells)
	if err != nil {
		return nil, err
	}
	d := array.NewData(a.DataType(), a.Len(), append([]*memory.Buffer{validity}, buffers...), nil, nulls, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}

// placeBuffers returns the buffers of an array without its validity bitmap, with cells put at
// rows.
func placeBuffers(a arrow.Array, rows []int32, cells []Cell) ([]*memory.Buffer, error) {
	switch a.DataType().ID() {
	case arrow.BOOL:
		bits := make([]byte, bitutil.BytesForBits(int64(a.Len())))
		if src := a.Data().Buffers()[1]; src != nil {
			bitutil.CopyBitmap(src.Bytes(), a.Data().Offset(), a.Len(), bits, 0)
		}
		for k, row := range rows {
			bitutil.SetBitTo(bits, int(row), !cells[k].Null && cells[k].Bytes[0] == 1)
		}
		return []*memory.Buffer{memory.NewBufferBytes(bits)}, nil
	case arrow.STRING, arrow.BINARY:
		offsets, text, err := placeTexts(offsetsOf[int32](a.Data()), textOf(a.Data()), rows, cells)
		return []*memory.Buffer{memory.NewBufferBytes(arrow.GetBytes(offsets)), memory.NewBufferBytes(text)}, err
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		offsets, text, err := placeTexts(offsetsOf[int64](a.Data()), textOf(a.Data()), rows, cells)
		return []*memory.Buffer{memory.NewBufferBytes(arrow.GetBytes(offsets)), memory.NewBufferBytes(text)}, err
	}
	w := Width(a.DataType())
	if w == 0 {
		return nil, fmt.Errorf("values of type %s cannot be moved", a.DataType())
	}
	raw := append(make([]byte, 0, a.Len()*w), fixed(a, w)...)
	for k, row := range rows {
		at := raw[int(row)*w : int(row+1)*w]
		if cells[k].Null {
			clear(at) // otherwise the value below the null could still be read
		} else {
			copy(at, cells[k].Bytes)
		}
	}
	return []*memory.Buffer{memory.NewBufferBytes(raw)}, nil
}

// placeValidity returns the validity bitmap after the cells have been put at their rows, and
// the number of nulls; nil if there are none.
func placeValidity(a arrow.Array, rows []int32, cells []Cell) (*memory.Buffer, int) {
	incoming := false
	for _, c := range cells {
		incoming = incoming || c.Null
	}
	if a.NullN() == 0 && !incoming {
		return nil, 0
	}
	n := a.Len()
	bits := make([]byte, bitutil.BytesForBits(int64(n)))
	if a.NullN() == 0 {
		bitutil.SetBitsTo(bits, 0, int64(n), true)
	} else {
		bitutil.CopyBitmap(a.NullBitmapBytes(), a.Data().Offset(), n, bits, 0)
	}
	for k, row := range rows {
		bitutil.SetBitTo(bits, int(row), !cells[k].Null)
	}
	return memory.NewBufferBytes(bits), n - bitutil.CountSetBits(bits, 0, n)
}

// placeTexts rebuilds values of variable length.
func placeTexts[T int32 | int64](offsets []T, text []byte, rows []int32, cells []Cell) ([]T, []byte, error) {
	n := len(offsets) - 1
	instead := make([]int32, n) // index of the cell + 1
	for k, row := range rows {
		instead[row] = int32(k) + 1
	}
	size := lengthWith(offsets, rows, cells)
	if int64(T(size)) != size {
		return nil, nil, fmt.Errorf("the exchanged values are longer than an array of the type can hold (%d bytes)", size)
	}
	out, placed := make([]T, 1, n+1), make([]byte, 0, size)
	for i := range n {
		if k := instead[i]; k > 0 {
			placed = append(placed, cells[k-1].Bytes...)
		} else {
			placed = append(placed, text[offsets[i]:offsets[i+1]]...)
		}
		out = append(out, T(len(placed)))
	}
	return out, placed, nil
}

// lengthWith returns the total number of bytes of values of variable length, with cells in
// place of those at rows.
func lengthWith[T int32 | int64](offsets []T, rows []int32, cells []Cell) int64 {
	size := int64(offsets[len(offsets)-1] - offsets[0])
	for k, row := range rows {
		size += int64(len(cells[k].Bytes)) - int64(offsets[row+1]-offsets[row])
	}
	return size
}

// placeViews rebuilds an array of views.
func placeViews(a arrow.Array, rows []int32, cells []Cell, builder array.Builder) arrow.Array {
	defer builder.Release()
	instead := make([]int32, a.Len())
	for k, row := range rows {
		instead[row] = int32(k) + 1
	}
	bytes, _ := BytesOf(a)
	put := func(v []byte) {
		switch b := builder.(type) {
		case *array.StringViewBuilder:
			b.Append(string(v))
		case *array.BinaryViewBuilder:
			b.Append(v)
		}
	}
	builder.Reserve(a.Len())
	for i, k := range instead {
		switch {
		case k > 0 && cells[k-1].Null, k == 0 && a.IsNull(i):
			builder.AppendNull()
		case k > 0:
			put(cells[k-1].Bytes)
		default:
			put(bytes(i))
		}
	}
	return builder.NewArray()
}

// placeDictionary sets the indexes of rows to the entries that equal their cells. Entries that
// the dictionary lacks are added to it; it returns an error if the type of the indexes cannot
// count so many.
func placeDictionary(a *array.Dictionary, rows []int32, cells []Cell) (arrow.Array, error) {
	entries := a.Dictionary()
	bytes, ok := BytesOf(entries)
	if !ok {
		return nil, fmt.Errorf("values of type %s cannot be moved", a.DataType())
	}
	index := make(map[string]int, entries.Len())
	for e := range entries.Len() {
		if !entries.IsNull(e) {
			index[string(bytes(e))] = e
		}
	}
	w := Width(a.Indices().DataType())
	places := make([]Cell, len(cells))
	var added []Cell
	for k, c := range cells {
		if c.Null {
			places[k].Null = true
			continue
		}
		e, ok := index[string(c.Bytes)]
		if !ok {
			e = entries.Len() + len(added)
			index[string(c.Bytes)] = e
			added = append(added, c)
		}
		places[k].Bytes = binary.LittleEndian.AppendUint64(nil, uint64(e))[:w]
	}
	last := uint64(entries.Len() + len(added) - 1)
	bits := 8 * w
	if arrow.IsSignedInteger(a.Indices().DataType().ID()) {
		bits--
	}
	if len(added) > 0 && last>>bits != 0 {
		return nil, fmt.Errorf("its dictionary has no room for the values that come from other blocks (indexes of type %s)",
			a.Indices().DataType())
	}
	indexes, err := Place(a.Indices(), rows, places)
	if err != nil {
		return nil, err
	}
	if len(added) > 0 {
		if entries, err = extend(entries, added); err != nil {
			return nil, err
		}
	}
	return array.NewDictionaryArray(a.DataType(), indexes, entries), nil
}

// extend returns the array with the cells after its last value.
func extend(a arrow.Array, cells []Cell) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, a.DataType())
	defer b.Release()
	b.AppendEmptyValues(len(cells))
	tail := b.NewArray()
	defer tail.Release()
	longer, err := array.Concatenate([]arrow.Array{a, tail}, memory.DefaultAllocator)
	if err != nil {
		return nil, fmt.Errorf("its dictionary cannot be extended (type %s)", a.DataType())
	}
	rows := make([]int32, len(cells))
	for k := range rows {
		rows[k] = int32(a.Len() + k)
	}
	return Place(longer, rows, cells)
}
