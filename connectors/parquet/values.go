package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// plainDictionary is the name that old writers, and DuckDB, use both for PLAIN in dictionary
// pages and for RLE_DICTIONARY in data pages.
const plainDictionary format.Encoding = 2

// values are the decoded values of a page or chunk.
//
// A flat column has one value for each record, with undefined content if valid says
// null. A nested column has only the values that are not null, one after another, and
// rep and def say where they belong.
type values struct {
	n       int      // values in data, offsets or index
	data    []byte   // fixed width: n values in little-endian order; otherwise the bytes that offsets refer to
	offsets []uint32 // BYTE_ARRAY: n+1 of them
	index   []uint32 // into dict, of BYTE_ARRAY columns; data and offsets are then empty
	dict    *dictionary
	valid   microdata.Bitmap // flat columns; nil if nothing is null
	packed  *packed          // if coded, in place of index
	ranks   []int            // number of values before every rankEach-th record; if packed and something is null

	rep, def  []uint8 // nested columns; rep is nil if the column does not repeat
	rowLevels []int32 // index at which each record's levels begin, and the end of the last; nil if rep is nil
	rowValues []int32 // index at which each record's values begin, and the end of the last; nested columns

	room     int // greatest number of bytes of the pages to be appended, if they have no dictionary
	expanded int // number of bytes of values that were looked up in a dictionary

	dense   bool      // treat a flat column like a nested one, for rewriting
	coded   bool      // leave the dictionary indexes of a flat page packed
	buffers [][]byte  // to be returned for reuse
	lender  *partRoom // to which packed is to be returned; nil: to nobody
}

func (v *values) free() {
	for _, b := range v.buffers {
		putBuffer(b)
	}
	if v.lender != nil && cap(v.packed.src) > 0 {
		v.lender.put(v.packed.src)
	}
	*v = values{}
}

func (v *values) scratch(n int) []byte {
	b := getBuffer(n)
	v.buffers = append(v.buffers, b)
	return b
}

// decode decodes the pages of a unit of a known number of rows.
func (v *values) decode(c *chunk, pages []*page, rows int) error {
	if c.leaf.flat() {
		return v.page(c, pages[0])
	}
	if len(pages) == 1 && c.leaf.maxRep == 0 {
		if err := v.page(c, pages[0]); err != nil {
			return err
		}
		return v.finishLevels(c.leaf, rows)
	}
	v.offsets = nil
	for _, p := range pages {
		v.room += int(p.header.UncompressedSize)
	}
	for _, p := range pages {
		var one values
		if err := one.page(c, p); err != nil {
			return err
		}
		err := v.append(c.leaf, &one)
		one.free()
		if err != nil {
			return err
		}
	}
	return v.finishLevels(c.leaf, rows)
}

// flat reports whether the leaf is at the top level and records have at most one value of it.
func (l *leaf) flat() bool { return l.maxRep == 0 && l.maxDef <= 1 && len(l.path) == 1 }

// bytes returns value i of a BYTE_ARRAY column.
func (v *values) bytes(i int) []byte {
	if v.index != nil {
		i = int(v.index[i])
		return v.dict.data[v.dict.offs[i]:v.dict.offs[i+1]]
	}
	return v.data[v.offsets[i]:v.offsets[i+1]]
}

var errMiddle = errors.New("the column begins in the middle of a record")

// finishLevels sets rowLevels and rowValues.
func (v *values) finishLevels(l *leaf, rows int) error {
	v.rowValues = make([]int32, 0, rows+1)
	if l.maxRep > 0 {
		v.rowLevels = make([]int32, 0, rows+1)
		if len(v.rep) > 0 && v.rep[0] != 0 {
			return errMiddle
		}
	}
	have := int32(0)
	for i, d := range v.def {
		if v.rep == nil || v.rep[i] == 0 {
			v.rowValues = append(v.rowValues, have)
			if v.rep != nil {
				v.rowLevels = append(v.rowLevels, int32(i))
			}
		}
		if d == l.maxDef {
			have++
		}
	}
	if len(v.rowValues) != rows {
		return fmt.Errorf("holds %d records where the row group has %d", len(v.rowValues), rows)
	}
	v.rowValues = append(v.rowValues, have)
	if v.rep != nil {
		v.rowLevels = append(v.rowLevels, int32(len(v.def)))
	}
	return nil
}

// page decodes one data page.
func (v *values) page(c *chunk, p *page) error {
	l := c.leaf
	rows, _ := p.values()
	if rows > maxPage/8 {
		return fmt.Errorf("a page of %d values", rows)
	}
	s, err := p.open(c)
	v.buffers = append(v.buffers, s.buffer)
	if err != nil {
		return err
	}
	if l.flat() && !v.dense {
		err := v.flatPage(c, s.enc, s.def, s.data, rows)
		if l.width > 0 && movesValues(s.enc) && v.packed == nil {
			v.giveBack(s.buffer)
		}
		return err
	}
	if l.maxRep > 0 {
		v.rep = make([]uint8, rows)
		if err := decodeHybrid(v.rep, s.rep, levelWidth(l.maxRep)); err != nil {
			return err
		}
		if err := checkLevels(v.rep, l.maxRep); err != nil {
			return err
		}
	}
	v.def = make([]uint8, rows)
	if err := decodeHybrid(v.def, s.def, levelWidth(l.maxDef)); err != nil {
		return err
	}
	if err := checkLevels(v.def, l.maxDef); err != nil {
		return err
	}
	for _, d := range v.def {
		if d == l.maxDef {
			v.n++
		}
	}
	return v.decodeData(c, s.enc, s.data)
}

// movesValues reports whether values of fixed width are decoded into other memory, so that the
// page's own bytes are not needed any more.
func movesValues(enc format.Encoding) bool {
	switch enc {
	case plainDictionary, format.RLEDictionary, format.ByteStreamSplit, format.DeltaBinaryPacked:
		return true
	}
	return false
}

// giveBack returns one buffer for reuse before the others.
func (v *values) giveBack(b []byte) {
	for i, have := range v.buffers {
		if unsafe.SliceData(have) == unsafe.SliceData(b) {
			v.buffers = slices.Delete(v.buffers, i, i+1)
			putBuffer(b)
			return
		}
	}
}

func (v *values) flatPage(c *chunk, enc format.Encoding, def, data []byte, rows int) error {
	l := c.leaf
	v.n = rows
	if l.maxDef == 0 || allOf(def, 1, 1, rows) {
		return v.decodeData(c, enc, data)
	}
	levels := v.scratch(rows)
	if err := decodeHybrid(levels, def, 1); err != nil {
		return err
	}
	var present int
	v.valid, present = bitsOfLevels(levels)
	v.n = present
	if present == rows {
		v.valid = nil
	}
	if err := v.decodeData(c, enc, data); err != nil {
		return err
	}
	switch {
	case present == rows:
	case v.packed != nil:
		v.ranks = ranksOf(v.valid)
	default:
		v.space(l, levels, rows)
	}
	v.n = rows
	v.giveBack(levels)
	return nil
}

// space moves the values to the places of their records.
func (v *values) space(l *leaf, levels []uint8, rows int) {
	switch {
	case v.index != nil:
		out := make([]uint32, rows)
		spreadIndexes(out, v.index, v.valid)
		v.index = out
	case l.width == 0:
		out := make([]uint32, rows+1)
		k := 0
		for i, d := range levels {
			out[i] = v.offsets[k]
			k += int(d)
		}
		out[rows] = v.offsets[k]
		v.offsets = out
	default:
		out := v.scratch(rows * l.width)
		switch l.width {
		case 8:
			spreadWords(words[uint64](out), v.data, v.valid)
		default:
			w, k := l.width, 0
			for i, d := range levels {
				if d != 0 {
					copy(out[i*w:(i+1)*w], v.data[k:k+w])
					k += w
				} else {
					clear(out[i*w : (i+1)*w])
				}
			}
		}
		v.data = out
	}
}

// words returns an aligned buffer as numbers without copying. All buffers come from
// make, which aligns them. The format is little-endian, and so is every machine that
// the program is built for.
func words[T any](b []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(b) < size {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
}

// align moves values of fixed width, which may lie anywhere in a page, to aligned memory
// if necessary, so that words can be used.
func (v *values) align(l *leaf) {
	if n := len(v.data); (l.width == 4 || l.width == 8) && n > 0 &&
		uintptr(unsafe.Pointer(unsafe.SliceData(v.data)))%uintptr(l.width) != 0 {
		to := v.scratch(n)
		copy(to, v.data)
		v.data = to
	}
}

// raw returns numbers as bytes without copying.
func raw[T any](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}

// decodeData decodes the v.n values that are not null.
func (v *values) decodeData(c *chunk, enc format.Encoding, data []byte) error {
	l := c.leaf
	switch {
	case enc == format.Plain:
		return v.plain(l, data)
	case enc == plainDictionary, enc == format.RLEDictionary:
		return v.indexed(c, data)
	case enc == format.RLE && l.phys == format.Boolean:
		src, _, err := levelsOf(data)
		if err != nil {
			return err
		}
		v.data = v.scratch(v.n)
		return decodeHybrid(v.data, src, 1)
	case enc == format.DeltaBinaryPacked && (l.phys == format.Int32 || l.phys == format.Int64):
		return v.delta(l, data)
	case enc == format.DeltaLengthByteArray && l.phys == format.ByteArray:
		var err error
		v.offsets, v.data, err = decodeDeltaLengths(v.n, data)
		return err
	case enc == format.DeltaByteArray && l.phys == format.ByteArray:
		var err error
		v.offsets, v.data, err = decodeDeltaByteArrays(v.n, data)
		return err
	case enc == format.DeltaByteArray && l.phys == format.FixedLenByteArray:
		offsets, out, err := decodeDeltaByteArrays(v.n, data)
		if err != nil {
			return err
		}
		for i, o := range offsets {
			if int(o) != i*l.width {
				return errors.New("a value of the wrong length")
			}
		}
		v.data = out
		return nil
	case enc == format.ByteStreamSplit && l.width > 1:
		return v.byteStreams(l, data)
	}
	return fmt.Errorf("encoding %s of %s is not supported", enc, l.phys)
}

// plain decodes v.n values in PLAIN encoding. They stay where they are, except
// for booleans.
func (v *values) plain(l *leaf, data []byte) error {
	switch {
	case l.phys == format.Boolean:
		if len(data) < (v.n+7)/8 {
			return errShort
		}
		out := v.scratch(v.n)
		for i := range out {
			out[i] = data[i>>3] >> (i & 7) & 1
		}
		v.data = out
	case l.width > 0:
		if len(data) < v.n*l.width {
			return errShort
		}
		v.data = data[:v.n*l.width]
	default:
		// The lengths are between the values. The values are moved together within the
		// same buffer, which always has room for them.
		v.offsets = make([]uint32, v.n+1)
		at, to := 0, 0
		for i := range v.n {
			if len(data)-at < 4 {
				return errShort
			}
			n := binary.LittleEndian.Uint32(data[at:])
			at += 4
			if uint64(n) > uint64(len(data)-at) {
				return errShort
			}
			copy(data[to:], data[at:at+int(n)])
			at, to = at+int(n), to+int(n)
			v.offsets[i+1] = uint32(to)
		}
		v.data = data[:to]
	}
	return nil
}

// indexed decodes dictionary indexes, and unless the values are of variable
// length, looks the values up.
func (v *values) indexed(c *chunk, data []byte) error {
	if c.dict == nil {
		return errors.New("the dictionary is missing")
	}
	if err := c.dict.decode(c); err != nil {
		return err
	}
	d, l := c.dict, c.leaf
	if v.n == 0 {
		v.offsets = []uint32{0}
		return nil
	}
	if len(data) < 1 {
		return errShort
	}
	w := l.width
	if v.expanded = v.n * w; v.coded {
		var err error
		if v.packed, err = packedIndexes(data[1:], int(data[0]), v.n); err == nil && v.expanded > maxPage {
			err = errExpanded
		}
		v.dict = d
		return err
	}
	b := getBuffer(4 * v.n)
	defer func() {
		if v.index == nil {
			putBuffer(b)
		} else {
			v.buffers = append(v.buffers, b)
		}
	}()
	index := words[uint32](b)[:v.n]
	if err := decodeHybrid(index, data[1:], int(data[0])); err != nil {
		return err
	}
	if uint64(greatest(index)) >= uint64(d.n) {
		return errIndex
	}
	if v.expanded > maxPage {
		return errExpanded
	}
	if w == 0 {
		v.index, v.dict = index, d
		return nil
	}
	v.data = v.scratch(v.n * w)
	d.lookUp(v.data, index, w)
	return nil
}

// greatest returns the greatest of several numbers; 0 if there are none.
func greatest(v []uint32) uint32 {
	var a, b, c, d uint32
	for ; len(v) >= 4; v = v[4:] {
		a, b, c, d = max(a, v[0]), max(b, v[1]), max(c, v[2]), max(d, v[3])
	}
	for _, x := range v {
		a = max(a, x)
	}
	return max(a, b, c, d)
}

// lookUp writes the values of w bytes each to which indexes refer one after another.
func (d *dictionary) lookUp(out []byte, index []uint32, w int) {
	switch w {
	case 8:
		to := words[uint64](out)
		for i, k := range index {
			to[i] = binary.LittleEndian.Uint64(d.data[8*k:])
		}
	case 4:
		to := words[uint32](out)
		for i, k := range index {
			to[i] = binary.LittleEndian.Uint32(d.data[4*k:])
		}
	default:
		for i, k := range index {
			copy(out[i*w:(i+1)*w], d.data[int(k)*w:])
		}
	}
}

func (v *values) delta(l *leaf, data []byte) error {
	b := v.scratch(8 * v.n)
	out := words[int64](b)
	n, _, err := decodeDelta(out, data)
	if err != nil {
		return err
	}
	if n != v.n {
		return errShort
	}
	if l.width == 8 {
		v.data = b
		return nil
	}
	narrow := v.scratch(4 * v.n)
	to := words[int32](narrow)
	for i, x := range out {
		to[i] = int32(x) // differences of INT32 wrap around
	}
	v.data = narrow
	return nil
}

func (v *values) byteStreams(l *leaf, data []byte) error {
	w := l.width
	if len(data) < v.n*w {
		return errShort
	}
	data = data[:v.n*w]
	out := v.scratch(len(data))
	v.data = out
	if w == 8 {
		_, err := new(bytestreamsplit.Encoding).DecodeDouble(words[float64](out), data)
		return err
	}
	for k := range w {
		for i, b := range data[k*v.n : (k+1)*v.n] {
			out[i*w+k] = b
		}
	}
	return nil
}
