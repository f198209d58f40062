package kafka

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/lz4"
)

// compressing is how batches are compressed by the word of a configuration; lz4 where there is
// none.
func compressing(word string) kgo.Opt {
	if codec := codecOf(word); codec != kgo.Lz4Compression() {
		return kgo.ProducerBatchCompression(codec)
	}
	return kgo.WithCompressor(compressor{})
}

// compressor makes a batch an LZ4 frame in one step. The client's own goes through a writer,
// which copies everything and adds a second checksum to that of the batch.
type compressor struct{}

// Compress implements kgo.Compressor.
func (compressor) Compress(dst *bytes.Buffer, src []byte, _ ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	dst.Grow(len(src) + len(src)/64 + 256) // the buffer is used again, so it should be the one that is filled
	return lz4.AppendFrame(dst.AvailableBuffer(), src), kgo.CodecLz4
}

// longest is how many bytes a batch may hold, as the client's own limit is.
const longest = 1 << 30

// decompressor reads LZ4 frames of independent blocks in one step, into memory that is used
// again. The client's own reads everything else.
type decompressor struct {
	other   kgo.Decompressor
	most    int       // bytes that a frame may hold
	buffers sync.Pool // of *[]byte
}

func newDecompressor() *decompressor {
	return &decompressor{other: kgo.DefaultDecompressor(), most: longest,
		buffers: sync.Pool{New: func() any { return new([]byte) }}}
}

// mostKept bounds the memory that is kept for the next batch.
const mostKept = 8 << 20

// Decompress implements kgo.Decompressor. It returns fresh memory: records refer to it.
func (d *decompressor) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	if codec != kgo.CodecLz4 {
		return d.other.Decompress(src, codec)
	}
	buf := d.buffers.Get().(*[]byte)
	content, err := lz4.AppendContent((*buf)[:0], src, d.most)
	if cap(content) <= mostKept {
		defer d.buffers.Put(buf)
		*buf = content
	}
	switch {
	case errors.Is(err, lz4.ErrLong):
		return nil, kgo.ErrMaxDecompress
	case err != nil:
		return d.other.Decompress(src, codec) // it can read it, or says what is wrong
	}
	return slices.Clone(content), nil
}
