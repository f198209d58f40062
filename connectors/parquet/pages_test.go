package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// dirty puts buffers with old content into the pool, for the next caller.
func dirty() {
	for n := 1 << smallest; n <= 1<<16; n *= 2 {
		for range 4 {
			b := bytes.Repeat([]byte{0xa5}, n)
			putBuffer(b)
		}
	}
}

// overwrite overwrites buffers that were returned: nothing may refer to them any more.
func overwrite() {
	for n := 1 << smallest; n <= 1<<14; n += n / 4 {
		var taken [8][]byte
		for i := range taken {
			taken[i] = getBuffer(n)
			clear(taken[i][:cap(taken[i])])
		}
		for _, b := range taken {
			putBuffer(b)
		}
	}
}

// packedIndex returns the indexes as one bit-packed run.
func packedIndex(v []uint32, width int) []byte {
	groups := (len(v) + 7) / 8
	out := make([]byte, groups*width)
	for i, x := range v {
		for k := range width {
			if x>>k&1 == 1 {
				out[(i*width+k)/8] |= 1 << ((i*width + k) % 8)
			}
		}
	}
	return append(binary.AppendUvarint(nil, uint64(groups)<<1|1), out...)
}

// encodedAs returns the bytes of values in an encoding, and their dictionary if the encoding needs
// one.
func encodedAs(t testing.TB, enc format.Encoding, phys format.Type, width int, vs [][]byte) (data []byte, dict *page) {
	t.Helper()
	plain := func(vs [][]byte) (out []byte) {
		if phys == format.Boolean {
			out = make([]byte, (len(vs)+7)/8)
		}
		for i, b := range vs {
			switch {
			case phys == format.Boolean:
				out[i/8] |= b[0] << (i % 8)
			case width == 0:
				out = append(binary.LittleEndian.AppendUint32(out, uint32(len(b))), b...)
			default:
				out = append(out, b...)
			}
		}
		return out
	}
	lengths := func(of func(i int) int) []byte {
		n := make([]int32, len(vs))
		for i := range n {
			n[i] = int32(of(i))
		}
		b, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	switch enc {
	case format.Plain:
		return plain(vs), nil
	case format.RLEDictionary, plainDictionary:
		var distinct [][]byte
		var index []uint32
		for _, b := range vs {
			k := slices.IndexFunc(distinct, func(d []byte) bool { return bytes.Equal(b, d) })
			if k < 0 {
				k, distinct = len(distinct), append(distinct, b)
			}
			index = append(index, uint32(k))
		}
		w := max(levelWidth32(max(len(distinct)-1, 0)), 1)
		dict = &page{body: plain(distinct)}
		dict.header = pageHeader{Type: format.DictionaryPage, UncompressedSize: int32(len(dict.body)),
			CompressedSize: int32(len(dict.body)),
			DictionaryPage: some(format.DictionaryPageHeader{NumValues: int32(len(distinct)), Encoding: format.Plain})}
		return append([]byte{byte(w)}, packedIndex(index, w)...), dict
	case format.RLE:
		var index []uint32
		for _, b := range vs {
			index = append(index, uint32(b[0]))
		}
		b := packedIndex(index, 1)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...), nil
	case format.DeltaBinaryPacked:
		all := bytes.Join(vs, nil)
		var b []byte
		var err error
		if width == 4 {
			b, err = new(delta.BinaryPackedEncoding).EncodeInt32(nil, words[int32](bytes.Clone(all)))
		} else {
			b, err = new(delta.BinaryPackedEncoding).EncodeInt64(nil, words[int64](bytes.Clone(all)))
		}
		if err != nil {
			t.Fatal(err)
		}
		return b, nil
	case format.DeltaLengthByteArray:
		return append(lengths(func(i int) int { return len(vs[i]) }), bytes.Join(vs, nil)...), nil
	case format.DeltaByteArray:
		prefix := func(i int) (n int) {
			if i > 0 {
				for n < min(len(vs[i]), len(vs[i-1])) && vs[i][n] == vs[i-1][n] {
					n++
				}
			}
			return n
		}
		var rest []byte
		for i, b := range vs {
			rest = append(rest, b[prefix(i):]...)
		}
		return append(append(lengths(prefix), lengths(func(i int) int { return len(vs[i]) - prefix(i) })...), rest...), nil
	case format.ByteStreamSplit:
		for k := range width {
			for _, b := range vs {
				data = append(data, b[k])
			}
		}
		return data, nil
	}
	t.Fatal(enc)
	return nil, nil
}

// pageOf returns a data page of a version, with its levels before the values, compressed with
// snappy on request.
func pageOf(version int, enc format.Encoding, n, nulls, rows int, rep, def, data []byte,
	codec format.CompressionCodec) *page {
	p := &page{}
	pack := func(b []byte) []byte {
		if codec == format.Snappy {
			return snappy.Encode(nil, b)
		}
		return b
	}
	section := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	if version == 1 {
		whole := slices.Concat(section(rep), section(def), data)
		p.body = pack(whole)
		p.header = pageHeader{Type: format.DataPage, UncompressedSize: int32(len(whole)),
			DataPage: some(dataPageHeader{NumValues: int32(n), Encoding: enc, DefinitionEncoding: format.RLE,
				RepetitionEncoding: format.RLE})}
	} else {
		p.body = slices.Concat(rep, def, pack(data))
		p.header = pageHeader{Type: format.DataPageV2, UncompressedSize: int32(len(rep) + len(def) + len(data)),
			DataPageV2: some(dataPageHeaderV2{
				NumValues: int32(n), NumNulls: int32(nulls), NumRows: int32(rows), Encoding: enc,
				DefinitionsLength: int32(len(def)),
				RepetitionsLength: int32(len(rep))})}
	}
	p.header.CompressedSize = int32(len(p.body))
	p.header.CRC = some(int32(crc32.ChecksumIEEE(p.body)))
	return p
}

func (p *page) clone() *page { return &page{header: p.header, body: bytes.Clone(p.body)} }

// kinds are types of columns with the encodings that each may have.
var kinds = []struct {
	phys  format.Type
	width int
	encs  []format.Encoding
}{
	{format.Boolean, 1, []format.Encoding{format.Plain, format.RLE}},
	{format.Int32, 4,
		[]format.Encoding{format.Plain, format.RLEDictionary, format.DeltaBinaryPacked, format.ByteStreamSplit}},
	{format.Int64, 8,
		[]format.Encoding{format.Plain, format.RLEDictionary, format.DeltaBinaryPacked, format.ByteStreamSplit}},
	{format.Float, 4, []format.Encoding{format.Plain, plainDictionary, format.ByteStreamSplit}},
	{format.Double, 8, []format.Encoding{format.Plain, plainDictionary, format.ByteStreamSplit}},
	{format.Int96, 12, []format.Encoding{format.Plain, format.RLEDictionary}},
	{format.ByteArray, 0,
		[]format.Encoding{format.Plain, format.RLEDictionary, format.DeltaLengthByteArray, format.DeltaByteArray}},
	{format.FixedLenByteArray, 3,
		[]format.Encoding{format.Plain, format.RLEDictionary, format.DeltaByteArray, format.ByteStreamSplit}},
	{format.FixedLenByteArray, 16, []format.Encoding{format.Plain, format.RLEDictionary, format.ByteStreamSplit}},
}

func someValues(r *rand.Rand, phys format.Type, width, n int) (vs [][]byte) {
	for range n {
		b := make([]byte, width)
		if width == 0 {
			b = make([]byte, r.IntN(6))
		}
		for k := range b {
			b[k] = byte(r.IntN(5) * 51)
		}
		if phys == format.Boolean {
			b[0] = byte(r.IntN(2))
		}
		vs = append(vs, b)
	}
	return vs
}
