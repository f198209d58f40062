package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/microdata"
)

var allPresent = bytes.Repeat([]byte{1}, 2*defaultRecords)

// present returns n definition levels of 1, which must not be changed.
func present(n int) []uint8 {
	if n <= len(allPresent) {
		return allPresent[:n]
	}
	return bytes.Repeat([]byte{1}, n)
}

var errRange = errors.New("a released value lies outside the range of the column's type")

// numberValues converts released numbers to a leaf's stored values: n rows from `from` on, or, if
// keep is not nil, the rows in keep. The caller must free them.
func numberValues(l *leaf, vec microdata.Vector, from, n int, keep []int32) (*values, error) {
	xs, valid := vec.Values[from:from+n], vec.Valid
	v := &values{n: n}
	switch {
	case keep != nil:
		xs = make([]float64, 0, n)
		for _, i := range keep {
			if valid.Has(int(i)) {
				xs = append(xs, vec.Values[i])
				v.def = append(v.def, 1)
			} else {
				v.def = append(v.def, 0)
			}
		}
	case valid != nil:
		all := xs
		xs, v.def = words[float64](v.scratch(8*n)), v.scratch(n)
		xs = xs[:gatherNumbers(xs, all, valid, from)]
		levelsOfBits(v.def, valid, from)
	}
	v.n = len(xs)
	if v.n < len(v.def) && l.maxDef == 0 {
		return nil, errRequired
	}
	if l.maxDef > 0 && v.def == nil {
		v.def = present(v.n)
	}
	return v, storeNumbers(l, v, xs)
}

var errRequired = errors.New("a null in a column that must have none")

// storeNumbers fills v.data with xs in the leaf's physical type. Doubles are
// not copied.
func storeNumbers(l *leaf, v *values, xs []float64) error {
	if l.phys == format.Double {
		v.data = raw(xs)
		return nil
	}
	if l.phys == format.Float {
		v.data = v.scratch(4 * len(xs))
		out := words[float32](v.data)
		for i, x := range xs {
			out[i] = float32(x)
		}
		return nil
	}
	scale := int32(0)
	if t, ok := l.typ.(arrow.DecimalType); ok {
		scale = t.GetScale()
	}
	lo, hi := (microdata.Field{Type: l.typ}).Range()
	v.data = v.scratch(len(xs) * l.width)
	switch {
	case scale == 0 && l.phys == format.Int64:
		return storeWhole(words[int64](v.data), xs, lo, hi)
	case scale == 0 && l.phys == format.Int32:
		return storeWhole(words[int32](v.data), xs, lo, hi)
	}
	if l.width == 0 {
		v.offsets = append(make([]uint32, 0, len(xs)+1), 0)
	}
	for i, x := range xs {
		u, ok := rescale(x, scale)
		if !ok || x < lo || x > hi {
			return errRange
		}
		switch l.phys {
		case format.Int32:
			binary.LittleEndian.PutUint32(v.data[4*i:], uint32(u))
		case format.Int64:
			binary.LittleEndian.PutUint64(v.data[8*i:], uint64(u))
		case format.FixedLenByteArray:
			if !putBigEndian(v.data[i*l.width:(i+1)*l.width], u) {
				return errRange
			}
		case format.ByteArray:
			var b [8]byte
			k := shortest(u)
			putBigEndian(b[:], u)
			v.data = append(v.data, b[8-k:]...)
			v.offsets = append(v.offsets, uint32(len(v.data)))
		default:
			return fmt.Errorf("a number cannot be stored as %s", l.phys)
		}
	}
	return nil
}

// storeWhole is storeNumbers for whole numbers from lo to hi.
func storeWhole[T int32 | int64](out []T, xs []float64, lo, hi float64) error {
	for i, x := range xs {
		r := math.RoundToEven(x)
		if !(x >= lo && x <= hi && math.Abs(r) <= microdata.MaxExact) {
			return errRange
		}
		out[i] = T(int64(r))
	}
	return nil
}

// shredder converts Arrow arrays to the levels and values of leaves.
type shredder struct {
	n        *node
	arr      arrow.Array
	offsets  func(i int) (start, end int64) // of lists and maps
	children []*shredder
	put      func(i int) // of leaves: adds value i; nil for the type null, whose arrays have no bitmap
	v        *values     // of leaves
}

// arrayValues returns the stored values of a column's leaves, for the rows in keep, or,
// if it is nil, for rows rows from `from` on.
func arrayValues(n *node, arr arrow.Array, from, rows int, keep []int32) ([]*values, error) {
	if n.kind == leafKind && n.leaf.flat() && n.leaf.phys == format.ByteArray {
		if a, ok := arr.(offsetArray); ok && textOrBytes(arr) {
			v, err := flatTexts(n, a, from, rows, keep)
			return []*values{v}, err
		}
	}
	return shredded(n, arr, from, rows, keep)
}

// shredded is arrayValues of any type, value by value.
func shredded(n *node, arr arrow.Array, from, rows int, keep []int32) ([]*values, error) {
	var out []*values
	s, err := newShredder(n, arr, &out)
	if err != nil {
		return nil, err
	}
	if keep == nil {
		for i := from; i < from+rows; i++ {
			if err := s.emit(i, 0); err != nil {
				return nil, err
			}
		}
	}
	for _, i := range keep {
		if err := s.emit(int(i), 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func newShredder(n *node, arr arrow.Array, out *[]*values) (*shredder, error) {
	if e, ok := arr.(array.ExtensionArray); ok {
		arr = e.Storage()
	}
	s := &shredder{n: n, arr: arr}
	var parts []arrow.Array
	switch a := arr.(type) {
	case *array.Struct:
		for i := range a.NumField() {
			parts = append(parts, a.Field(i))
		}
	case *array.Map:
		s.offsets = a.ValueOffsets
		parts = []arrow.Array{a.Keys(), a.Items()}
	case array.ListLike:
		s.offsets = a.ValueOffsets
		parts = []arrow.Array{a.ListValues()}
	}
	if len(parts) != len(n.children) {
		return nil, fmt.Errorf("column %s: the data are %s, and the schema says %s", n.name, arr.DataType(), n.typ)
	}
	for i, c := range n.children {
		child, err := newShredder(c, parts[i], out)
		if err != nil {
			return nil, err
		}
		s.children = append(s.children, child)
	}
	if n.kind == leafKind {
		s.v = &values{}
		if n.leaf.width == 0 {
			s.v.offsets = []uint32{0}
		}
		*out = append(*out, s.v)
		var err error
		if s.put, err = putter(n.leaf, s.v, arr); err != nil {
			return nil, fmt.Errorf("column %s: %w", n.name, err)
		}
	}
	return s, nil
}

func (s *shredder) emit(i int, rep uint8) error {
	n := s.n
	if s.arr.IsNull(i) || n.kind == leafKind && s.put == nil {
		if !n.nullable {
			return errRequired
		}
		s.absent(rep, n.def-1)
		return nil
	}
	switch n.kind {
	case leafKind:
		s.level(rep, n.def)
		s.put(i)
		s.v.n++
	case structKind:
		for _, c := range s.children {
			if err := c.emit(i, rep); err != nil {
				return err
			}
		}
	default:
		start, end := s.offsets(i)
		if start == end {
			s.absent(rep, n.def)
		}
		for k := start; k < end; k++ {
			for _, c := range s.children {
				if err := c.emit(int(k), rep); err != nil {
					return err
				}
			}
			rep = n.elemRep
		}
	}
	return nil
}

// absent adds an entry without a value to every leaf below.
func (s *shredder) absent(rep, def uint8) {
	if s.n.kind == leafKind {
		s.level(rep, def)
	}
	for _, c := range s.children {
		c.absent(rep, def)
	}
}

func (s *shredder) level(rep, def uint8) {
	if s.n.leaf.maxRep > 0 {
		s.v.rep = append(s.v.rep, rep)
	}
	if s.n.leaf.maxDef > 0 {
		s.v.def = append(s.v.def, def)
	}
}

// putter returns a function that adds one value of an array to the stored values of a leaf.
func putter(l *leaf, v *values, arr arrow.Array) (func(i int), error) {
	switch a := arr.(type) {
	case *array.Dictionary:
		inner, err := putter(l, v, a.Dictionary())
		return func(i int) { inner(a.GetValueIndex(i)) }, err
	case *array.Null:
		return nil, nil
	}
	for _, put := range []func(*leaf, *values, arrow.Array) func(int){numberPutter, timePutter, bytesPutter,
		unscaledPutter} {
		if f := put(l, v, arr); f != nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("a Parquet file cannot store %s", arr.DataType())
}

func (v *values) put32(x uint32) { v.data = binary.LittleEndian.AppendUint32(v.data, x) }
func (v *values) put64(x uint64) { v.data = binary.LittleEndian.AppendUint64(v.data, x) }

// numberPutter is putter for booleans, integers and floating-point numbers; nil for another type.
func numberPutter(_ *leaf, v *values, arr arrow.Array) func(i int) {
	switch a := arr.(type) {
	case *array.Boolean:
		return func(i int) {
			b := byte(0)
			if a.Value(i) {
				b = 1
			}
			v.data = append(v.data, b)
		}
	case *array.Int8:
		return func(i int) { v.put32(uint32(a.Value(i))) }
	case *array.Int16:
		return func(i int) { v.put32(uint32(a.Value(i))) }
	case *array.Int32:
		return func(i int) { v.put32(uint32(a.Value(i))) }
	case *array.Uint8:
		return func(i int) { v.put32(uint32(a.Value(i))) }
	case *array.Uint16:
		return func(i int) { v.put32(uint32(a.Value(i))) }
	case *array.Uint32:
		return func(i int) { v.put32(a.Value(i)) }
	case *array.Int64:
		return func(i int) { v.put64(uint64(a.Value(i))) }
	case *array.Uint64:
		return func(i int) { v.put64(a.Value(i)) }
	case *array.Float16:
		return func(i int) { v.data = binary.LittleEndian.AppendUint16(v.data, a.Value(i).Uint16()) }
	case *array.Float32:
		return func(i int) { v.put32(math.Float32bits(a.Value(i))) }
	case *array.Float64:
		return func(i int) { v.put64(math.Float64bits(a.Value(i))) }
	}
	return nil
}

// timePutter is putter for dates, times and timestamps; nil for another type.
func timePutter(l *leaf, v *values, arr arrow.Array) func(i int) {
	switch a := arr.(type) {
	case *array.Date32:
		return func(i int) { v.put32(uint32(a.Value(i))) }
	case *array.Date64:
		return func(i int) { v.put32(uint32(floorDiv(int64(a.Value(i)), 86_400_000))) }
	case *array.Time32:
		f := uint32(1)
		if a.DataType().(*arrow.Time32Type).Unit == arrow.Second {
			f = 1000
		}
		return func(i int) { v.put32(f * uint32(a.Value(i))) }
	case *array.Time64:
		return func(i int) { v.put64(uint64(a.Value(i))) }
	case *array.Timestamp:
		return timestampPutter(l, v, a)
	}
	return nil
}

// bytesPutter is putter for texts and bytes; nil for another type.
func bytesPutter(l *leaf, v *values, arr arrow.Array) func(i int) {
	put := func(b []byte) {
		v.data = append(v.data, b...)
		if l.width == 0 {
			v.offsets = append(v.offsets, uint32(len(v.data)))
		}
	}
	switch a := arr.(type) {
	case *array.String:
		return func(i int) { put([]byte(a.Value(i))) }
	case *array.LargeString:
		return func(i int) { put([]byte(a.Value(i))) }
	case *array.StringView:
		return func(i int) { put([]byte(a.Value(i))) }
	case *array.Binary:
		return func(i int) { put(a.Value(i)) }
	case *array.LargeBinary:
		return func(i int) { put(a.Value(i)) }
	case *array.BinaryView:
		return func(i int) { put(a.Value(i)) }
	case *array.FixedSizeBinary:
		return func(i int) { put(a.Value(i)) }
	}
	return nil
}

// unscaledPutter is putter for decimals; nil for another type.
func unscaledPutter(l *leaf, v *values, arr arrow.Array) func(i int) {
	switch a := arr.(type) {
	case *array.Decimal32:
		return decimalPutter(l, v, func(i int) []byte { return raw([]int32{int32(a.Value(i))}) })
	case *array.Decimal64:
		return decimalPutter(l, v, func(i int) []byte { return raw([]int64{int64(a.Value(i))}) })
	case *array.Decimal128:
		return decimalPutter(l, v, func(i int) []byte {
			d := a.Value(i)
			return raw([]uint64{d.LowBits(), uint64(d.HighBits())})
		})
	case *array.Decimal256:
		return decimalPutter(l, v, func(i int) []byte { d := a.Value(i).Array(); return raw(d[:]) })
	}
	return nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func timestampPutter(l *leaf, v *values, a *array.Timestamp) func(i int) {
	if l.phys == format.Int96 {
		const day = 86_400_000_000_000
		return func(i int) {
			x := int64(a.Value(i))
			d := floorDiv(x, day)
			v.data = binary.LittleEndian.AppendUint64(v.data, uint64(x-d*day))
			v.data = binary.LittleEndian.AppendUint32(v.data, uint32(d+julian))
		}
	}
	f := int64(1)
	if a.DataType().(*arrow.TimestampType).Unit == arrow.Second {
		f = 1000
	}
	return func(i int) { v.data = binary.LittleEndian.AppendUint64(v.data, uint64(f*int64(a.Value(i)))) }
}

// decimalPutter returns a function that stores little-endian decimals in the leaf's form,
// which has room for all digits of the type.
func decimalPutter(l *leaf, v *values, value func(i int) []byte) func(i int) {
	switch l.phys {
	case format.Int32, format.Int64:
		return func(i int) { v.data = append(v.data, resized(value(i), l.width)...) }
	}
	return func(i int) {
		b := value(i)
		k := l.width
		if k == 0 {
			for k = len(b); k > 1 && b[k-1] == byte(int8(b[k-2])>>7) && (b[k-1] == 0 || b[k-1] == 0xff); {
				k--
			}
		}
		b = resized(b, k)
		for j := len(b) - 1; j >= 0; j-- {
			v.data = append(v.data, b[j])
		}
		if l.width == 0 {
			v.offsets = append(v.offsets, uint32(len(v.data)))
		}
	}
}

// resized cuts or extends a little-endian two's complement number.
func resized(b []byte, n int) []byte {
	if n <= len(b) {
		return b[:n]
	}
	out := make([]byte, n)
	copy(out, b)
	extend(out[len(b):], b[len(b)-1])
	return out
}
