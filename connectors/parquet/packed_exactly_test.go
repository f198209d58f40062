package parquet

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// Zstd frames are exact according to the specification (RFC 8878, 3.1.1).
func TestZstdByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 3))
	var encoders []*zstd.Encoder
	for _, crc := range []bool{true, false} {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(crc), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<10))
		if err != nil {
			t.Fatal(err)
		}
		encoders = append(encoders, e)
	}
	exact, not := 0, 0
	for i := range 4000 {
		text := make([]byte, r.IntN(3000))
		for k := range text {
			text[k] = byte(r.IntN(1 + i%4*20))
		}
		b := encoders[i%2].EncodeAll(text, nil)
		if len(b) == 0 {
			continue
		}
		switch r.IntN(5) {
		case 0:
			b = b[:r.IntN(len(b))]
		case 1:
			b = append(b, 0)
		case 2:
			b[r.IntN(min(len(b), 14))] ^= 1 << r.IntN(8)
		}
		want := zstdByDefinition(b)
		if got := exactZstd(b); got != want {
			t.Fatalf("%x of %d bytes: %v, want %v", b[:min(len(b), 20)], len(b), got, want)
		}
		if want {
			exact++
		} else {
			not++
		}
	}
	if min(exact, not) < 500 {
		t.Errorf("%d exact, %d not", exact, not)
	}
}

func zstdByDefinition(b []byte) bool {
	take := func(n int) (part []byte, ok bool) {
		if len(b) < n {
			return nil, false
		}
		part, b = b[:n], b[n:]
		return part, true
	}
	if len(b) < 6 { // a frame has at least a magic number, a descriptor and a size or window
		return false
	}
	if magic, _ := take(4); number(bitsOf(magic)) != 0xFD2FB528 {
		return false
	}
	d, _ := take(1)
	bit := bitsOf(d)
	if bit[0] || bit[1] || bit[3] || bit[4] {
		return false
	}
	single := bit[5]
	size := []int{0, 2, 4, 8}[number(bit[6:])]
	if size == 0 && single {
		size = 1
	}
	if !single {
		size++
	}
	if _, ok := take(size); !ok {
		return false
	}
	for {
		h, ok := take(3)
		if !ok {
			return false
		}
		hb := bitsOf(h)
		length := int(number(hb[3:]))
		switch number(hb[1:3]) {
		case 1:
			if length == 0 {
				return false
			}
			length = 1
		case 3:
			return false
		}
		if _, ok := take(length); !ok {
			return false
		}
		if hb[0] {
			break
		}
	}
	if bit[2] {
		if _, ok := take(4); !ok {
			return false
		}
	}
	return len(b) == 0
}

// Checks that all bits from a place on are zero, or equal, are compared with a loop over single
// bits.
func TestBitsFrom(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 4))
	for range 5000 {
		a := make([]byte, 1+r.IntN(4))
		b := make([]byte, len(a))
		for range r.IntN(3) {
			a[r.IntN(len(a))] = 1 << r.IntN(8)
		}
		copy(b, a)
		if r.IntN(2) == 0 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		for bit := range 8*len(a) + 1 {
			if got, want := zeroFrom(a, bit), !slices.Contains(bitsOf(a)[bit:], true); got != want {
				t.Fatalf("%x from %d: %v", a, bit, got)
			}
			if got, want := sameFrom(a, b, bit), slices.Equal(bitsOf(a)[bit:], bitsOf(b)[bit:]); got != want {
				t.Fatalf("%x and %x from %d: %v", a, b, bit, got)
			}
		}
	}
	for _, c := range []struct {
		used []uint64
		n    int
		want bool
	}{{nil, 0, true}, {nil, 1, false}, {[]uint64{7}, 3, true}, {[]uint64{5}, 3, false},
		{[]uint64{^uint64(0), 1}, 65, true}, {[]uint64{^uint64(0), 1}, 64, false}, {[]uint64{^uint64(0) - 8, 1}, 65, false}} {
		if got := usedOnly(c.used, c.n); got != c.want {
			t.Errorf("%x of %d: %v", c.used, c.n, got)
		}
	}
}

// The bytes of a page are exactly its values, in every encoding: one byte more or less, or one
// padding bit, makes them inexact.
func TestExactData(t *testing.T) {
	texts := [][]byte{[]byte("ab"), {}, []byte("c")}
	plainTexts := []byte{2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0, 1, 0, 0, 0, 'c'}
	lengths := append(deltaOf(2, 0, 1), "abc"...)
	suffixes := append(deltaOf(0, 0, 0), lengths...)
	for _, c := range []struct {
		name  string
		phys  format.Type
		width int
		enc   format.Encoding
		n     int
		data  []byte
		want  bool
	}{
		{"booleans", format.Boolean, 1, format.Plain, 9, []byte{0xff, 1}, true},
		{"booleans, a bit more", format.Boolean, 1, format.Plain, 9, []byte{0xff, 3}, false},
		{"booleans, a byte more", format.Boolean, 1, format.Plain, 8, []byte{0xff, 0}, false},
		{"no booleans", format.Boolean, 1, format.Plain, 0, nil, true},
		{"numbers", format.Int32, 4, format.Plain, 2, make([]byte, 8), true},
		{"numbers, a byte more", format.Int32, 4, format.Plain, 2, make([]byte, 9), false},
		{"texts", format.ByteArray, 0, format.Plain, 3, plainTexts, true},
		{"texts, a byte more", format.ByteArray, 0, format.Plain, 3, append(bytes.Clone(plainTexts), 0), false},
		{"streams", format.Double, 8, format.ByteStreamSplit, 2, make([]byte, 16), true},
		{"streams, a byte more", format.Double, 8, format.ByteStreamSplit, 2, make([]byte, 17), false},
		{"indexes", format.Int32, 4, format.RLEDictionary, 5, []byte{3, 5 << 1, 2}, true},
		{"indexes of old", format.Int32, 4, plainDictionary, 5, []byte{3, 5 << 1, 2}, true},
		{"indexes, a byte more", format.Int32, 4, plainDictionary, 5, []byte{3, 5 << 1, 2, 0}, false},
		{"no indexes", format.Int32, 4, format.RLEDictionary, 0, nil, true},
		{"no indexes of a width", format.Int32, 4, format.RLEDictionary, 0, []byte{32}, true},
		{"no indexes of a width and zeros", format.Int32, 4, format.RLEDictionary, 0, []byte{1, 0, 0}, true},
		{"no indexes of a width and a bit", format.Int32, 4, format.RLEDictionary, 0, []byte{1, 1}, false},
		{"no indexes of no width", format.Int32, 4, format.RLEDictionary, 0, []byte{33}, false},
		{"packed booleans", format.Boolean, 1, format.RLE, 5, []byte{2, 0, 0, 0, 5 << 1, 1}, true},
		{"packed booleans, a byte more", format.Boolean, 1, format.RLE, 5, []byte{2, 0, 0, 0, 5 << 1, 1, 0}, false},
		{"packed booleans, a run more", format.Boolean, 1, format.RLE, 5, []byte{4, 0, 0, 0, 5 << 1, 1, 5 << 1, 1}, false},
		{"packed booleans too short", format.Boolean, 1, format.RLE, 5, []byte{3, 0, 0, 0, 5 << 1, 1}, false},
		{"differences", format.Int64, 8, format.DeltaBinaryPacked, 3, deltaOf(2, 0, 1), true},
		{"differences, a byte more", format.Int64, 8, format.DeltaBinaryPacked, 3, append(deltaOf(2, 0, 1), 0), false},
		{"lengths", format.ByteArray, 0, format.DeltaLengthByteArray, 3, lengths, true},
		{"lengths, a byte more", format.ByteArray, 0, format.DeltaLengthByteArray, 3, append(bytes.Clone(lengths), 0), false},
		{"prefixes", format.ByteArray, 0, format.DeltaByteArray, 3, suffixes, true},
		{"prefixes, a byte more", format.ByteArray, 0, format.DeltaByteArray, 3, append(bytes.Clone(suffixes), 0), false},
		{"prefixes alone", format.ByteArray, 0, format.DeltaByteArray, 3, deltaOf(0, 0, 0), false},
		{"an encoding that is none", format.Int32, 4, 99, 0, nil, false},
	} {
		v := &values{n: c.n}
		if c.phys == format.ByteArray {
			v.data = bytes.Join(texts, nil)
		}
		if got := exactData(&leaf{phys: c.phys, width: c.width}, c.enc, c.data, c.n, v); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// deltaOf packs the differences of a few small numbers.
func deltaOf(v ...int64) []byte {
	b := []byte{0x80, 1, 4, byte(len(v))}
	if b = binary.AppendVarint(b, v[0]); len(v) == 1 {
		return b
	}
	least, most := int64(0), int64(0)
	for i := 1; i < len(v); i++ {
		least, most = min(least, v[i]-v[i-1]), max(most, v[i]-v[i-1])
	}
	b = binary.AppendVarint(b, least)
	width := bits.Len64(uint64(most - least))
	b = append(b, byte(width), 0, 0, 0)
	out := make([]byte, 4*width)
	for i := 1; i < len(v); i++ {
		for k := range width {
			if uint64(v[i]-v[i-1]-least)>>k&1 == 1 {
				bit := (i-1)*width + k
				out[bit/8] |= 1 << (bit % 8)
			}
		}
	}
	return append(b, out...)
}
