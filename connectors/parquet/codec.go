package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// maxPage is the greatest size of a page in bytes, uncompressed. The format's own limit is 2
// GB; writers stay far below, and a page with a greater size is treated as corrupt.
const maxPage = 1 << 30

var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
	if err != nil {
		panic(err) // the options are constant
	}
	return d
}}

// zstdEncoders holds one pool for each level in use.
var zstdEncoders [zstd.SpeedBestCompression + 1]sync.Pool

var gzipReaders, gzipWriters, brotliReaders, brotliWriters, lz4Compressors sync.Pool

var errSize = errors.New("the page does not have the length that its header says")

// decompress fills dst, which has the length of the uncompressed page. exact reports whether
// src contains nothing but the content of dst.
func decompress(codec format.CompressionCodec, dst, src []byte) (exact bool, err error) {
	exact = exactPacking(codec, src)
	if codec == format.Gzip {
		single, err := gunzip(dst, src)
		return exact && single, err
	}
	return exact, unpacked(codec, dst, src)
}

func unpacked(codec format.CompressionCodec, dst, src []byte) error {
	switch codec {
	case format.Uncompressed:
		if len(src) != len(dst) {
			return errSize
		}
		copy(dst, src)
		return nil
	case format.Zstd:
		d := zstdDecoders.Get().(*zstd.Decoder)
		defer zstdDecoders.Put(d)
		out, err := d.DecodeAll(src, dst[:0])
		if err != nil {
			return err
		}
		return filled(dst, out)
	case format.Snappy:
		n, err := snappy.DecodedLen(src)
		if err != nil {
			return err
		}
		if n != len(dst) {
			return errSize
		}
		_, err = snappy.Decode(dst, src)
		return err
	case format.Brotli:
		r, _ := brotliReaders.Get().(*brotli.Reader)
		if r == nil {
			r = brotli.NewReader(nil)
		}
		defer brotliReaders.Put(r)
		if err := r.Reset(bytes.NewReader(src)); err != nil {
			return err
		}
		return readAll(r, dst)
	case format.Lz4Raw:
		n, err := lz4.UncompressBlock(src, dst)
		if err == nil && n != len(dst) {
			err = errSize
		}
		return err
	case format.Lz4:
		return unhadoop(dst, src)
	}
	return fmt.Errorf("codec %s is not supported", codec)
}

// filled checks that a decoder wrote all of dst and no more.
func filled(dst, out []byte) error {
	if len(out) != len(dst) {
		return errSize
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out)
	}
	return nil
}

func readAll(r io.Reader, dst []byte) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return errSize
		}
		return err
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n > 0 {
		return errSize
	} else if err != nil && err != io.EOF {
		return err
	}
	return nil
}

// gunzip reads one member or several; single reports whether there is only one.
func gunzip(dst, src []byte) (single bool, err error) {
	r, _ := gzipReaders.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	defer gzipReaders.Put(r)
	in := bytes.NewReader(src)
	if err := r.Reset(in); err != nil {
		return false, err
	}
	r.Multistream(false)
	if err := readAll(r, dst); err == nil && in.Len() == 0 {
		return true, nil
	}
	in.Reset(src)
	if err := r.Reset(in); err != nil {
		return false, err
	}
	return false, readAll(r, dst)
}

// unhadoop reads the LZ4 codec that preceded LZ4_RAW: Hadoop's frames, each preceded by
// its uncompressed and compressed length in big-endian order. Some writers put a raw
// block instead.
func unhadoop(dst, src []byte) error {
	rest, out := src, dst
	for len(rest) >= 8 {
		u, c := binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])
		if uint64(u) > uint64(len(out)) || uint64(c) > uint64(len(rest)-8) {
			break
		}
		n, err := lz4.UncompressBlock(rest[8:8+c], out[:u])
		if err != nil || n != int(u) {
			break
		}
		rest, out = rest[8+c:], out[u:]
	}
	if len(rest) == 0 && len(out) == 0 {
		return nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err == nil && n != len(dst) {
		err = errSize
	}
	return err
}

// compressor compresses pages with one codec. Safe for concurrent use; the same
// input always gives the same bytes.
type compressor struct {
	codec format.CompressionCodec
	level zstd.EncoderLevel
}

// compress appends src compressed to dst.
func (c compressor) compress(dst, src []byte) ([]byte, error) {
	switch c.codec {
	case format.Uncompressed:
		return append(dst, src...), nil
	case format.Zstd:
		pool := &zstdEncoders[c.level]
		e, _ := pool.Get().(*zstd.Encoder)
		if e == nil {
			var err error
			// Pages have their own checksum if one is wanted.
			e, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(c.level),
				zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20))
			if err != nil {
				return nil, err
			}
		}
		defer pool.Put(e)
		return e.EncodeAll(src, dst), nil
	case format.Snappy:
		at := len(dst)
		dst = grow(dst, snappy.MaxEncodedLen(len(src)))
		out := snappy.Encode(dst[at:cap(dst)], src)
		return dst[:at+len(out)], nil
	case format.Lz4Raw:
		at := len(dst)
		dst = grow(dst, lz4.CompressBlockBound(len(src)))
		l, _ := lz4Compressors.Get().(*lz4.Compressor)
		if l == nil {
			l = new(lz4.Compressor)
		}
		defer lz4Compressors.Put(l)
		n, err := l.CompressBlock(src, dst[at:cap(dst)])
		return dst[:at+n], err
	case format.Gzip:
		w, _ := gzipWriters.Get().(*gzip.Writer)
		if w == nil {
			w = gzip.NewWriter(nil)
		}
		defer gzipWriters.Put(w)
		return writeAll(w, dst, src)
	case format.Brotli:
		w, _ := brotliWriters.Get().(*brotli.Writer)
		if w == nil {
			w = brotli.NewWriterLevel(nil, 4)
		}
		defer brotliWriters.Put(w)
		return writeAll(w, dst, src)
	}
	return nil, fmt.Errorf("codec %s is not supported", c.codec)
}

type resetWriter interface {
	io.WriteCloser
	Reset(io.Writer)
}

func writeAll(w resetWriter, dst, src []byte) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	w.Reset(buf)
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	err := w.Close()
	return buf.Bytes(), err
}

// grow makes room for n more bytes.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	out := make([]byte, len(b), len(b)+n)
	copy(out, b)
	return out
}
