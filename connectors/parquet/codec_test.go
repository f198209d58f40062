package parquet

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/format"
)

// Each codec decompresses its own output. A page with a length different from its header is an
// error.
func TestCodecs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 10_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for name, codec := range codecNames {
		c := compressor{codec: codec, level: zstd.SpeedFastest}
		for _, src := range [][]byte{{1}, noise, bytes.Repeat([]byte("abc"), 5000)} {
			prefix := []byte("prefix")
			b, err := c.compress(append([]byte{}, prefix...), src)
			if err != nil || !bytes.HasPrefix(b, prefix) {
				t.Fatalf("%s: %v", name, err)
			}
			b = b[len(prefix):]
			dst := make([]byte, len(src))
			if _, err := decompress(codec, dst, b); err != nil || !bytes.Equal(dst, src) {
				t.Errorf("%s: %d bytes do not come back: %v", name, len(src), err)
			}
			for _, n := range []int{len(src) - 1, len(src) + 1} {
				if _, err := decompress(codec, make([]byte, n), b); err == nil {
					t.Errorf("%s: %d bytes pass for %d", name, len(src), n)
				}
			}
		}
	}
}

// Pages with the LZ4 codec that preceded LZ4_RAW: Hadoop's frames, or a bare block.
func TestOldLZ4(t *testing.T) {
	src := bytes.Repeat([]byte("parquet "), 300)
	block, err := new(lz4.Codec).Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	frame := append([]byte{0, 0, byte(len(src) >> 8), byte(len(src)), 0, 0, byte(len(block) >> 8), byte(len(block))},
		block...)
	for _, b := range [][]byte{block, frame} {
		dst := make([]byte, len(src))
		if _, err := decompress(format.Lz4, dst, b); err != nil || !bytes.Equal(dst, src) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

// An unreadable gzip page does not count as a page of one member.
func TestBrokenMembers(t *testing.T) {
	packed, err := (compressor{codec: format.Gzip}).compress(nil, []byte("abcdefgh"))
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 8)
	if single, err := gunzip(dst, packed); err != nil || !single || string(dst) != "abcdefgh" {
		t.Errorf("%q, %v, %v", dst, single, err)
	}
	for _, b := range [][]byte{nil, []byte("no gzip at all"), packed[:len(packed)-1], append(bytes.Clone(packed), 0)} {
		if single, err := gunzip(dst, b); err == nil || single {
			t.Errorf("%x: %v, %v", b, single, err)
		}
	}
	two := append(bytes.Clone(packed), packed...)
	if single, err := gunzip(make([]byte, 16), two); err != nil || single {
		t.Errorf("two members: %v, %v", single, err)
	}
}
