package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/format"
)

// unframed decodes a frame with another decoder, and checks that exactZstd accepts the frame.
func unframed(t *testing.T, frame []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	got, err := d.DecodeAll(frame, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !exactZstd(frame) {
		t.Fatal("the frame is not exact")
	}
	var h zstd.Header
	if err := h.Decode(frame); err != nil || !h.HasFCS || h.FrameContentSize != uint64(len(got)) || h.HasCheckSum {
		t.Fatalf("header %+v: %v", h, err)
	}
	return got
}

// planeKinds each fill a plane of n bytes.
var planeKinds = map[string]func(r *rand.Rand, b []byte){
	"noise":    func(r *rand.Rand, b []byte) { fillBytes(b, func(int) byte { return byte(r.Uint32()) }) },
	"constant": func(_ *rand.Rand, b []byte) { fillBytes(b, func(int) byte { return 0x40 }) },
	"skewed": func(r *rand.Rand, b []byte) {
		fillBytes(b, func(int) byte { return byte(math.Abs(r.NormFloat64()) * 8) })
	},
	"two": func(r *rand.Rand, b []byte) { fillBytes(b, func(int) byte { return byte(r.Uint32() & 1 * 200) }) },
	"rare": func(r *rand.Rand, b []byte) {
		fillBytes(b, func(int) byte { return byte(uint32(255) * (r.Uint32() % 1000 / 999)) })
	},
	"all at first": func(_ *rand.Rand, b []byte) {
		fillBytes(b, func(i int) byte { return byte(min(i, 256)) })
	},
	"halves": func(r *rand.Rand, b []byte) { // counts 1, 1, 2, 4, 8 …: they give the longest codes
		fillBytes(b, func(int) byte { return byte(63 - min(63, leadingZeros(r.Uint64()))) })
	},
	"sorted": func(_ *rand.Rand, b []byte) {
		n := len(b)
		fillBytes(b, func(i int) byte { return byte(i * 30 / n) })
	},
	"near noise": func(r *rand.Rand, b []byte) { fillBytes(b, func(int) byte { return byte(r.IntN(250)) }) },
	"last":       func(_ *rand.Rand, b []byte) { fillBytes(b, func(i int) byte { return byte((i + 1) / len(b)) }) },
}

func leadingZeros(x uint64) (n int) {
	for ; n < 64 && x>>63 == 0; n++ {
		x <<= 1
	}
	return n
}

func fillBytes(b []byte, f func(i int) byte) {
	for i := range b {
		b[i] = f(i)
	}
}

// Blocks of every size at which the form of the header or the number of streams changes decode to
// their input.
func TestLiteralBlock(t *testing.T) {
	sizes := []int{1, 2, 3, 5, 6, 7, 12, 63, 255, 256, 1022, 1023, 1024, 1025, 16382, 16383, 16384, 16385, 65535, 65536,
		zstdBlock - 1, zstdBlock}
	for name, make := range planeKinds {
		for _, n := range sizes {
			for _, code := range []bool{false, true} {
				src := bytes.Repeat([]byte{0}, n)
				make(rand.New(rand.NewPCG(7, uint64(n))), src)
				frame := literalBlock(frameHeader(nil, n), src, code)
				frame[9] |= 1
				if !bytes.Equal(unframed(t, frame), src) {
					t.Fatalf("%s, %d bytes: decoded to something else", name, n)
				}
				if most := n + 3 + 9; len(frame) > most {
					t.Errorf("%s, %d bytes: a frame of %d, more than %d", name, n, len(frame), most)
				}
			}
		}
	}
}

// Frames that combine all kinds of planes, of pages with and without levels, and of pages larger
// than the window of a single-segment frame.
func TestPlaneFrame(t *testing.T) {
	var names []string
	for name := range planeKinds {
		names = append(names, name)
	}
	slices.Sort(names)
	r := rand.New(rand.NewPCG(3, 4))
	made := 0
	for i := range 300 {
		n := []int{0, 1, 2, 3, 7, 1023, 1024, 1025, 2047, 2111, 5000, 65536, 131072, 131073, 200_000}[i%15]
		planes, head := []int{2, 4, 8, 16}[r.IntN(4)], []int{0, 6, 9000, 140_000}[r.IntN(4)]
		body := make([]byte, head+n*planes)
		fillBytes(body[:head], func(int) byte { return byte(r.Uint32()) })
		for k := range planes {
			planeKinds[names[r.IntN(len(names))]](r, body[head+k*n:head+(k+1)*n])
		}
		before := []byte("before")
		out, ok := planeFrame(slices.Clone(before), body, n, planes)
		if !bytes.HasPrefix(out, before) {
			t.Fatal("the bytes before the frame have changed")
		}
		if !ok {
			if len(out) != len(before) {
				t.Fatal("something was appended, but no frame")
			}
			continue
		}
		made++
		if again, _ := planeFrame(slices.Clone(before), slices.Clone(body), n, planes); !bytes.Equal(again, out) {
			t.Fatal("the same page gave different bytes")
		}
		if !bytes.Equal(unframed(t, out[len(before):]), body) {
			t.Fatalf("%d planes of %d after %d bytes: decoded to different bytes", planes, n, head)
		}
	}
	if made < 30 {
		t.Errorf("only %d frames were made", made)
	}
}

// Which pages are framed by planes, and how much larger they become than with an encoder that
// searches for matches.
func TestPlaneFrameSuits(t *testing.T) {
	const n = 1 << 16
	r := rand.New(rand.NewPCG(5, 6))
	recurring := make([]float64, 5000)
	for i := range recurring {
		recurring[i] = r.NormFloat64()
	}
	cases := []struct {
		name  string
		value func(i int) float64
		suits bool
		most  float64 // maximum size relative to the other encoder; 0: the other encoder writes the page
	}{
		{"full precision", func(int) float64 { return 100 + 15*r.NormFloat64() }, true, 1.01},
		{"hundredths", func(int) float64 { return math.Round(100*math.Exp(6+r.NormFloat64())) / 100 }, true, 1.02},
		{"24 bits", func(int) float64 { return float64(float32(r.ExpFloat64())) }, true, 1.02},
		{"sorted", func(i int) float64 { return float64(i) * 1.1 }, false, 0},
		{"tenths", func(int) float64 { return math.Round(10*(40+15*r.NormFloat64())) / 10 }, false, 0},
		{"again and again", func(i int) float64 { return recurring[i%len(recurring)] }, false, 0},
		{"constant", func(int) float64 { return 1.5 }, true, 1},
		{"seldom", func(i int) float64 { return float64(i / (n - 1)) }, false, 0},
	}
	for _, c := range cases {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = c.value(i)
		}
		body, err := new(bytestreamsplit.Encoding).EncodeDouble(nil, xs)
		if err != nil {
			t.Fatal(err)
		}
		out, ok := planeFrame(nil, body, n, 8)
		if ok != c.suits {
			t.Errorf("%s: framed: %v", c.name, ok)
		}
		if !ok {
			continue
		}
		if !bytes.Equal(unframed(t, out), body) {
			t.Errorf("%s: decoded to something else", c.name)
		}
		other, err := compressor{codec: format.Zstd, level: zstd.SpeedFastest}.compress(nil, body)
		if err != nil {
			t.Fatal(err)
		}
		if float64(len(out)) > c.most*float64(len(other))+100 {
			t.Errorf("%s: %d bytes, and %d otherwise", c.name, len(out), len(other))
		}
	}
}

// Packed numbers are stored uncompressed in a frame if they are noise, and only then.
func TestNoiseFrame(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{0, 100, 4096, 4097, 70_000, zstdBlock, zstdBlock + 1, 3 * zstdBlock, zstdWhole + 1} {
		for name, make := range planeKinds {
			body := bytes.Repeat([]byte{0}, n)
			make(r, body)
			out, ok := noiseFrame([]byte("before"), body)
			if want := n >= 4096 && (name == "noise" || name == "near noise"); ok != want {
				t.Errorf("%s, %d bytes: framed: %v", name, n, ok)
			}
			if ok && !bytes.Equal(unframed(t, out[6:]), body) {
				t.Fatalf("%s, %d bytes: decoded to something else", name, n)
			}
		}
		again := bytes.Repeat([]byte{0}, max(n/20, 1))
		planeKinds["noise"](r, again)
		if _, ok := noiseFrame(nil, bytes.Repeat(again, 20)); ok {
			t.Errorf("%d bytes 20 times are framed as they are", len(again))
		}
	}
}

// The estimate of the entropy is compared with its definition, for integers with equal counts.
func TestEntropy(t *testing.T) {
	var counts [256]uint16
	for i := range 16 {
		counts[i*3] = 64
	}
	// 4 bits per byte, plus 15 / (2 · 1024 · ln 2): the bias of an estimate from a sample of 1024
	want := 1024 * 256 * (4 + 15/(2*1024*math.Ln2))
	if got := entropyOf(&counts, 1024); math.Abs(float64(got)-want) > 16 { // each of 16 terms is rounded
		t.Errorf("entropy %d, want %.0f", got, want)
	}
}

// A frame of up to 1 MiB is its own window, and a larger frame has a window of 1 MiB: readers need
// no more memory.
func TestWindowsOfFrames(t *testing.T) {
	for n, whole := range map[int]bool{1: true, 1 << 20: true, 1<<20 + 1: false, 1 << 21: false, 3 << 20: false} {
		var h zstd.Header
		if err := h.Decode(frameHeader(nil, n)); err != nil || h.FrameContentSize != uint64(n) || h.SingleSegment != whole ||
			h.WindowSize != min(uint64(n), 1<<20) && !whole {
			t.Errorf("%d bytes: %+v, %v", n, h, err)
		}
	}
}

// A constant plane next to a plane of noise has no entropy. It takes a block of a few bytes and
// does not prevent entropy codes. The sample covers every strip, from the first to the last.
func TestProbe(t *testing.T) {
	const n = 4 * leastPlane
	planes := make([]byte, 2*n)
	planeKinds["noise"](rand.New(rand.NewPCG(9, 9)), planes[:n])
	planeKinds["constant"](nil, planes[n:])
	var found [2]plane
	if !probe(found[:], planes, n) || found[0].code || !found[1].code {
		t.Errorf("noise is worth codes: %v, a constant: %v", found[0].code, found[1].code)
	}
	size := 0
	for _, c := range found[1].counts {
		size += int(c)
	}
	if size != strips*stripBytes || int(found[1].counts[0x40]) != size {
		t.Errorf("a sample of %d bytes, %d of them the constant, want %d", size, found[1].counts[0x40], strips*stripBytes)
	}
}

func FuzzPlaneFrame(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint16(3000), uint8(3), uint16(5))
	f.Add(binary.LittleEndian.AppendUint64(nil, 0x4059_0000_0000_0001), uint16(1024), uint8(7), uint16(0))
	f.Add([]byte{0}, uint16(65535), uint8(1), uint16(0))
	f.Fuzz(func(t *testing.T, pattern []byte, n uint16, planes uint8, head uint16) {
		if len(pattern) == 0 {
			return
		}
		w := 1 + int(planes%16)
		body := make([]byte, int(head)+int(n)*w)
		// The pattern is used unchanged or as the seed of noise.
		x := uint64(len(pattern))
		for i := range body {
			p := pattern[i/(1+int(n))%len(pattern)]
			x = x*6364136223846793005 + uint64(p) + 1
			body[i] = pattern[i%len(pattern)]
			if p&1 != 0 {
				body[i] = byte(x >> 56 & (x >> 48) & uint64(p|0xf))
			}
		}
		out, ok := planeFrame(nil, body, int(n), w)
		if !ok {
			return
		}
		if !bytes.Equal(unframed(t, out), body) {
			t.Fatal("decoded to something else")
		}
	})
}
