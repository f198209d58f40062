package lz4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// contents returns inputs of every kind, near every limit of blocks and lengths.
func contents() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 5<<20)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := []byte(strings.Repeat(`{"wage":1234.56,"hours":37.5,"region":"south"}`, 120_000))
	for i := 0; i < len(text); i += 97 {
		text[i] = byte('a' + r.IntN(26))
	}
	all := map[string][]byte{"nothing": {}, "one byte": {7}, "zeros": make([]byte, 9<<20), "noise": noise, "text": text}
	for _, n := range []int{11, 12, 13, 14, 64<<10 - 1, 64 << 10, 64<<10 + 1, 256 << 10, 256<<10 + 1, 1 << 20, 1<<20 + 1,
		4 << 20, 4<<20 + 1} {
		all["text "+string(rune('a'+len(all)))] = text[:n]
		all["noise "+string(rune('a'+len(all)))] = noise[:n]
	}
	return all
}

func TestFramesAreReadByTheLibrary(t *testing.T) {
	for name, src := range contents() {
		prefix := []byte("before")
		frame := AppendFrame(prefix, src)
		if !bytes.HasPrefix(frame, prefix) {
			t.Fatalf("%s: the earlier bytes are gone", name)
		}
		frame = frame[len(prefix):]
		got, err := io.ReadAll(lz4.NewReader(bytes.NewReader(frame)))
		if err != nil || !bytes.Equal(got, src) {
			t.Errorf("%s: the library reads %d bytes of %d, %v", name, len(got), len(src), err)
		}
		own, err := AppendContent([]byte("x"), frame, len(src)+1)
		if err != nil || !bytes.Equal(own[1:], src) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(own), len(src), err)
		}
		if _, err := AppendContent([]byte("x"), frame, len(src)); len(src) > 0 && !errors.Is(err, ErrLong) {
			t.Errorf("%s: one byte too many is %v", name, err)
		}
	}
}

func TestFramesOfTheLibrary(t *testing.T) {
	for name, src := range contents() {
		for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
			for _, sum := range []bool{false, true} {
				var buf bytes.Buffer
				w := lz4.NewWriter(&buf)
				if err := w.Apply(lz4.BlockSizeOption(size), lz4.ChecksumOption(sum)); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write(src); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if len(src) == 0 {
					continue // the library writes no frame
				}
				got, err := AppendContent(nil, buf.Bytes(), len(src))
				if err != nil || !bytes.Equal(got, src) {
					t.Errorf("%s, blocks of %v, checksum %v: %d bytes of %d, %v", name, size, sum, len(got), len(src), err)
				}
			}
		}
	}
}

// Frames of other kinds are left to other decoders. Damaged frames end in an error, never in a
// panic or in more than the allowed output.
func TestOtherAndDamagedFrames(t *testing.T) {
	src := contents()["text"][:200_000]
	var linked bytes.Buffer
	w := lz4.NewWriter(&linked)
	if err := w.Apply(lz4.BlockChecksumOption(true)); err != nil {
		t.Fatal(err)
	}
	w.Write(src)
	w.Close()
	good := AppendFrame(nil, src)
	sized := bytes.Clone(good)
	sized[4] |= contentSize
	dependent := bytes.Clone(good)
	dependent[4] &^= independent
	for name, frame := range map[string][]byte{
		"checksums of blocks": linked.Bytes(), "nothing": nil, "no frame": []byte("not a frame at all"),
		"two frames": append(bytes.Clone(good), good...),
		"a size":     sized, "blocks that refer to others": dependent, "a header cut short": good[:6],
	} {
		if _, err := AppendContent(nil, frame, 1<<20); err != ErrOther {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := headerSize; n < len(good); n += 1 + n/7 {
		if _, err := AppendContent(nil, good[:n], 1<<20); err == nil {
			t.Errorf("cut at %d: no error", n)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		bad := bytes.Clone(good)
		for range 1 + r.IntN(3) {
			bad[headerSize+r.IntN(40)] = byte(r.Uint32())
		}
		if got, _ := AppendContent(nil, bad, 300_000); len(got) > 300_000 {
			t.Fatalf("%d bytes", len(got))
		}
	}
	long := bytes.Clone(good)
	binary.LittleEndian.PutUint32(long[headerSize:], 1<<30)
	if _, err := AppendContent(nil, long, 1<<20); err != errDamaged {
		t.Errorf("a block beyond the end: %v", err)
	}
}

func BenchmarkFrame(b *testing.B) {
	src := contents()["text"][:1<<20]
	frame := AppendFrame(nil, src)
	b.Run("compress", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		var dst []byte
		for b.Loop() {
			dst = AppendFrame(dst[:0], src)
		}
	})
	b.Run("decompress", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		var dst []byte
		for b.Loop() {
			dst, _ = AppendContent(dst[:0], frame, len(src))
		}
	})
}
