package lz4

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/pierrec/lz4/v4"
)

const (
	magic = 0x184d2204 // little endian
	// Flags of a frame.
	versionMask     = 0b1100_0000
	version1        = 0b0100_0000
	independent     = 0b0010_0000 // blocks do not refer to one another
	blockChecksums  = 0b0001_0000
	contentSize     = 0b0000_1000
	contentChecksum = 0b0000_0100
	reserved        = 0b0000_0010
	dictionary      = 0b0000_0001

	stored     = 1 << 31 // of a block's length: it is not compressed
	headerSize = 7       // of a frame without optional fields
	lengthSize = 4       // of what precedes a block, and of the mark of the end
)

// sizes are the greatest lengths of blocks, and how headers say them: the descriptor and its
// checksum, a byte of XXH32, for version 1 with independent blocks.
var sizes = []struct {
	most             int
	descriptor, hash byte
}{{64 << 10, 0x40, 0x82}, {256 << 10, 0x50, 0xfb}, {1 << 20, 0x60, 0x51}, {4 << 20, 0x70, 0x73}}

var compressors = sync.Pool{New: func() any { return new(lz4.CompressorCCompat) }}

// AppendFrame appends src as a frame.
func AppendFrame(dst, src []byte) []byte {
	size := sizes[len(sizes)-1]
	for _, s := range sizes {
		if len(src) <= s.most {
			size = s
			break
		}
	}
	dst = binary.LittleEndian.AppendUint32(dst, magic)
	dst = append(dst, version1|independent, size.descriptor, size.hash)
	for block := range slices.Chunk(src, size.most) {
		dst = appendBlock(dst, block)
	}
	return append(dst, 0, 0, 0, 0)
}

// appendBlock appends a block, as it is where compression does not shorten it.
func appendBlock(dst, src []byte) []byte {
	at := len(dst)
	dst = slices.Grow(dst, lengthSize+lz4.CompressBlockBound(len(src)))
	c := compressors.Get().(*lz4.CompressorCCompat)
	defer compressors.Put(c)
	body := dst[at+lengthSize : cap(dst)]
	n, err := c.CompressBlock(src, body)
	length := uint32(n)
	if err != nil || n == 0 || n >= len(src) {
		n = copy(body, src)
		length = uint32(n) | stored
	}
	binary.LittleEndian.PutUint32(dst[at:at+lengthSize], length)
	return dst[:at+lengthSize+n]
}
