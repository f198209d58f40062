package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/internal/recent"
)

// encodedPage is a data page ready to be written, or, if local is not nil, one whose
// indexes must still be converted to those of the chunk's dictionary.
type encodedPage struct {
	stored       []byte // header and body
	buffer       []byte // the buffer that contains stored
	uncompressed int    // bytes of header and body before compression
	encoding     format.Encoding
	values       int // number of values, including nulls
	rows         int
	planes       int // length of each of the planes at the end of the body; 0 if it has none
	stats        pageStats

	local   *localDictionary
	spooled spooled // the place of stored, if it is not in memory
}

// localDictionary is a page of few distinct values, before its chunk is known.
type localDictionary struct {
	levels  []byte // encoded, with their lengths
	index   []int32
	width   int     // of a value in bytes; 0 if it varies and offsets is used
	scale   float64 // for numbers: the power of ten that makes them whole
	data    []byte
	offsets []uint32
	buffers [2][]byte // reusable buffers of index and data; nil: other memory
}

// free releases the memory; the dictionary must not be used any more.
func (d *localDictionary) free() {
	for _, b := range d.buffers {
		putBuffer(b)
	}
	*d = localDictionary{}
}

// values returns the distinct values.
func (d *localDictionary) values() *values {
	if d.width > 0 {
		return &values{n: len(d.data) / d.width, data: d.data}
	}
	return &values{n: len(d.offsets) - 1, data: d.data, offsets: d.offsets}
}

// pageEncoder makes pages of one leaf. Safe for concurrent use; the same values
// always give the same bytes.
type pageEncoder struct {
	leaf  *leaf
	comp  compressor
	plain bool // the configuration's encoding: plain
}

var errPageSize = errors.New("a block's values do not fit a page of 2 GB; use smaller blocks")

// page encodes a page of consecutive values, in the leaf's stored form, of the given
// number of rows.
func (pe *pageEncoder) page(v *values, rows int) (*encodedPage, error) {
	n := v.n
	if pe.leaf.maxDef > 0 {
		n = len(v.def)
	}
	p := &encodedPage{values: n, rows: rows}
	if pe.leaf.phys == format.ByteArray && !pe.plain {
		p.local = localDictionaryOf(v)
	}
	if p.local != nil {
		p.stats = statsOf(pe.leaf, p.local.values())
	} else {
		p.stats = statsOf(pe.leaf, v)
		p.local = pe.gridded(v, &p.stats)
	}
	p.stats.nulls = int64(n - v.n)
	body, err := pe.levels(nil, v)
	if err != nil {
		return nil, err
	}
	if p.local != nil {
		p.local.levels = body
		return p, nil
	}
	return p, pe.complete(p, body, v)
}

// complete appends the values to the levels, and finishes the page.
func (pe *pageEncoder) complete(p *encodedPage, levels []byte, v *values) (err error) {
	scratch := getBuffer(len(levels) + len(v.data) + 4*v.n + 256)
	body := append(scratch[:0], levels...)
	if p.encoding, body, err = pe.data(body, v); err != nil {
		return err
	}
	if p.encoding == format.ByteStreamSplit {
		p.planes = v.n
	}
	err = pe.finish(p, body)
	putBuffer(body)
	return err
}

// levels appends the repetition and definition levels.
func (pe *pageEncoder) levels(dst []byte, v *values) ([]byte, error) {
	for _, ls := range []struct {
		levels []uint8
		most   uint8
	}{{v.rep, pe.leaf.maxRep}, {v.def, pe.leaf.maxDef}} {
		if ls.most == 0 {
			continue
		}
		b, err := (&rle.Encoding{BitWidth: levelWidth(ls.most)}).EncodeLevels(nil, ls.levels)
		if err != nil {
			return nil, err
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
		dst = append(dst, b...)
	}
	return dst, nil
}

// data appends the values in a suitable encoding.
func (pe *pageEncoder) data(dst []byte, v *values) (format.Encoding, []byte, error) {
	l := pe.leaf
	switch {
	case l.phys == format.Boolean:
		return format.Plain, append(dst, packBits(v.data)...), nil
	case l.phys == format.ByteArray:
		for i := range v.n {
			b := v.bytes(i)
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
			dst = append(dst, b...)
		}
		return format.Plain, dst, nil
	case pe.plain || v.n == 0:
	case l.phys == format.Double && pe.comp.codec != format.Uncompressed && !repetitive(words[uint64](v.data)):
		// In numbers of full precision only the bytes of sign and exponent are
		// similar and can be compressed; so bytes are stored by their place.
		at := len(dst)
		dst = grow(dst, len(v.data))[:at+len(v.data)]
		_, err := new(bytestreamsplit.Encoding).EncodeDouble(dst[at:at:len(dst)], words[float64](v.data))
		return format.ByteStreamSplit, dst, err
	case l.phys == format.Float && pe.comp.codec != format.Uncompressed && !repetitive(words[uint32](v.data)):
		at := len(dst)
		dst = grow(dst, len(v.data))[:at+len(v.data)]
		_, err := new(bytestreamsplit.Encoding).EncodeFloat(dst[at:at:len(dst)], words[float32](v.data))
		return format.ByteStreamSplit, dst, err
	case l.phys == format.Int32:
		b, err := new(delta.BinaryPackedEncoding).EncodeInt32(dst[len(dst):], words[int32](v.data)) // where there is room
		return format.DeltaBinaryPacked, append(dst, b...), err
	case l.phys == format.Int64:
		b, err := new(delta.BinaryPackedEncoding).EncodeInt64(dst[len(dst):], words[int64](v.data)) // where there is room
		return format.DeltaBinaryPacked, append(dst, b...), err
	}
	return format.Plain, append(dst, v.data...), nil
}

// repetitive reports, from up to 512 values spread over the page, whether most of them
// repeat: such values compress better if their bytes are stored together.
func repetitive[T uint32 | uint64](v []T) bool {
	const sample = 512
	var seen [2 * sample]T // zero is an empty slot, and also a value
	step := max(len(v)/sample, 1)
	n, distinct := 0, 0
	for i := 0; i < len(v) && n < sample; i += step {
		n++
		x := v[i]
		at := uint64(x) * 0x9e3779b97f4a7c15 >> 54
		for seen[at] != 0 && seen[at] != x {
			at = (at + 1) % (2 * sample)
		}
		if seen[at] != x {
			seen[at] = x
			distinct++
		}
	}
	return distinct*2 < n
}

// headRoom is the number of bytes before a body that are reserved for its header.
const headRoom = 64

// finish compresses the body and puts a header before it.
func (pe *pageEncoder) finish(p *encodedPage, body []byte) error {
	if len(body) > math.MaxInt32/2 {
		return errPageSize
	}
	h := pageHeader{Type: format.DataPage, UncompressedSize: int32(len(body)), DataPage: some(dataPageHeader{
		NumValues: int32(p.values), Encoding: p.encoding, DefinitionEncoding: format.RLE, RepetitionEncoding: format.RLE,
	})}
	return p.store(pe.comp, &h, body, pe.leaf.width)
}

// store compresses a body of values of width bytes, completes its header and stores both.
func (p *encodedPage) store(comp compressor, h *pageHeader, body []byte, width int) (err error) {
	buf := getBuffer(headRoom + len(body) + len(body)/64 + 1024)[:headRoom]
	done := false
	switch {
	case comp.codec != format.Zstd:
	case p.planes > 0:
		buf, done = planeFrame(buf, body, p.planes, width)
	case width > 0 && (p.encoding == format.RLEDictionary || p.encoding == format.DeltaBinaryPacked):
		buf, done = noiseFrame(buf, body)
	}
	if !done {
		if buf, err = comp.compress(buf, body); err != nil {
			return err
		}
	}
	buf = fitted(buf)
	h.CompressedSize = int32(len(buf) - headRoom)
	var head bytes.Buffer
	if err := marshal(&head, h); err != nil {
		return err
	}
	if head.Len() > headRoom {
		return fmt.Errorf("a page header of %d bytes", head.Len())
	}
	from := headRoom - head.Len()
	copy(buf[from:], head.Bytes())
	p.stored, p.buffer = buf[from:], buf
	p.uncompressed = head.Len() + len(body)
	return nil
}

// fitted moves the content of a buffer to one of the smallest sufficient size: pages wait for the
// end of their row group, and compressed they take half of the buffer.
func fitted(buf []byte) []byte {
	if class, _ := sizeClass(len(buf)); class >= len(buffers) || class == classOf(buf) {
		return buf
	}
	out := getBuffer(len(buf))
	copy(out, buf)
	putBuffer(buf)
	return out
}

func (p *encodedPage) free() {
	putBuffer(p.buffer)
	p.stored, p.buffer = nil, nil
}

// localDictionaryOf returns the page's distinct values; nil if a dictionary would save
// nothing.
func localDictionaryOf(v *values) *localDictionary {
	d := &localDictionary{index: make([]int32, v.n), offsets: []uint32{0}}
	most := v.n/2 + 8
	// add adds a further value.
	add := func(b []byte) int32 {
		d.data = append(d.data, b...)
		d.offsets = append(d.offsets, uint32(len(d.data)))
		return int32(len(d.offsets) - 2)
	}
	if v.index != nil { // values with a dictionary in the source keep one
		numbers := make([]int32, v.dict.n) // by index of the source's dictionary: the new index + 1, 0 for none
		for i, at := range v.index {
			if numbers[at] == 0 {
				numbers[at] = add(v.bytes(i)) + 1
			}
			d.index[i] = numbers[at] - 1
		}
		return d
	}
	seen := make(map[string]int32)
	var last [recent.Slots]int32 // number + 1
	for i := range v.n {
		b := v.bytes(i)
		slot := &last[recent.Slot(b)]
		if k := *slot - 1; k >= 0 && bytes.Equal(d.value(k), b) {
			d.index[i] = k
			continue
		}
		k, ok := seen[string(b)]
		if !ok {
			if len(seen) == most || len(d.data)+len(b) > maxDictionary {
				return nil
			}
			k = add(b)
			seen[string(b)] = k
		}
		d.index[i], *slot = k, k+1
	}
	return d
}

func (d *localDictionary) value(k int32) []byte {
	if d.width > 0 {
		return d.data[int(k)*d.width : (int(k)+1)*d.width]
	}
	return d.data[d.offsets[k]:d.offsets[k+1]]
}

// maxDictionary is the greatest total number of bytes of a dictionary's values.
const maxDictionary = 1 << 20

// chunkDictionary is the dictionary of a chunk that is being written.
type chunkDictionary struct {
	index   map[string]int32
	numbers numberTable // in place of index, if the values are numbers
	plain   []byte      // the values in the form of the dictionary page
	remap   []int32     // by index in a page's dictionary: the index in this one
	most    int         // greatest number of bytes; 0: maxDictionary
	full    bool
	used    bool
}

func (d *chunkDictionary) size() int { return len(d.index) + d.numbers.n }

// textsAt finds a page's texts in the chunk's dictionary; new ones are added unless it is full.
func (d *chunkDictionary) textsAt(local *localDictionary) (at []int32, ok bool) {
	if local.width > 0 || d.full {
		return nil, false
	}
	at = make([]int32, len(local.offsets)-1)
	for k := range at {
		b := local.value(int32(k))
		n, ok := d.index[string(b)]
		if !ok {
			if d.full = len(d.plain)+len(b) > max(d.most, maxDictionary); d.full {
				return nil, false
			}
			if d.index == nil {
				d.index = map[string]int32{}
			}
			n = int32(len(d.index))
			d.index[string(b)] = n
			d.plain = binary.LittleEndian.AppendUint32(d.plain, uint32(len(b)))
			d.plain = append(d.plain, b...)
		}
		at[k] = n
	}
	return at, true
}

// settle completes a page with a local dictionary: with indexes into the chunk's
// dictionary, or with the values themselves if that is full.
func (d *chunkDictionary) settle(pe *pageEncoder, p *encodedPage) error {
	local := p.local
	if local == nil {
		return nil
	}
	p.local = nil
	defer local.free()
	remap, ok := d.textsAt(local)
	if local.width > 0 {
		remap, ok = d.numbersAt(local, &p.stats)
	}
	if !ok {
		return pe.unindexed(p, local)
	}
	d.used = true
	for i, k := range local.index {
		local.index[i] = remap[k]
	}
	p.encoding = format.RLEDictionary
	// A dictionary of one value has width 1 too: some readers do not accept 0.
	width := max(levelWidth32(d.size()-1), 1)
	scratch := getBuffer(4*len(local.index) + 64)
	defer putBuffer(scratch)
	b, err := (&rle.Encoding{BitWidth: width}).EncodeInt32(scratch[:0], local.index)
	if err != nil {
		return err
	}
	body := getBuffer(len(local.levels) + 1 + len(b))
	defer putBuffer(body)
	return pe.finish(p, append(append(append(body[:0], local.levels...), byte(width)), b...))
}

// unindexed completes a page with a local dictionary with the values themselves.
func (pe *pageEncoder) unindexed(p *encodedPage, local *localDictionary) error {
	v := &values{n: len(local.index)}
	for _, k := range local.index {
		v.data = append(v.data, local.value(k)...)
		if local.width == 0 {
			v.offsets = append(v.offsets, uint32(len(v.data)))
		}
	}
	if local.width == 0 {
		v.offsets = append([]uint32{0}, v.offsets...)
	}
	return pe.complete(p, local.levels, v)
}

// page returns the dictionary page; nil if no page of the chunk uses it.
func (d *chunkDictionary) page(comp compressor) (*encodedPage, error) {
	if !d.used {
		return nil, nil
	}
	putBuffer(d.numbers.buffer)
	d.numbers = numberTable{n: d.numbers.n}
	p := &encodedPage{encoding: format.Plain}
	h := pageHeader{Type: format.DictionaryPage, UncompressedSize: int32(len(d.plain)),
		DictionaryPage: some(format.DictionaryPageHeader{
			NumValues: int32(d.size()), Encoding: format.Plain,
		})}
	return p, p.store(comp, &h, d.plain, 0)
}
