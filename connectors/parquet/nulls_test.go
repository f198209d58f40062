package parquet

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// All functions of nulls.go are compared with a loop over single records, at all offsets in a word,
// with full, empty and mixed words.
func TestNullsByWords(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for round := range 600 {
		from, n := r.IntN(130), []int{0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 500}[r.IntN(12)]
		share := []float64{0, 0.1, 0.9, 1}[r.IntN(4)]
		valid := make(microdata.Bitmap, (from+n+63)/64)
		for i := range from + n {
			if r.Float64() < share || i/64%2 == round%2 && round%3 == 0 {
				valid.Set(i)
			}
		}
		if from+n > 0 && r.IntN(2) == 0 { // bits after the last record must be ignored
			for i := from + n; i < 64*len(valid); i++ {
				valid.Set(i)
			}
		}
		xs := make([]float64, n)
		var there []float64
		levels := make([]uint8, n)
		zeroed := make([]float64, n)
		for i := range xs {
			xs[i] = float64(i + 1)
			if valid.Has(from + i) {
				there, levels[i], zeroed[i] = append(there, xs[i]), 1, xs[i]
			}
		}
		got := make([]float64, n)
		if got = got[:gatherNumbers(got, xs, valid, from)]; !slices.Equal(got, there) {
			t.Fatalf("gathered %v, want %v", got, there)
		}
		got = slices.Clone(xs)
		if clearNulls(got, valid, from); !slices.Equal(got, zeroed) {
			t.Fatalf("cleared %v, want %v", got, zeroed)
		}
		def := make([]uint8, n)
		if levelsOfBits(def, valid, from); !slices.Equal(def, levels) {
			t.Fatalf("levels %v, want %v", def, levels)
		}
		bitmap, ones := bitsOfLevels(levels)
		if ones != len(there) || len(bitmap) != (n+63)/64 {
			t.Fatalf("%d ones in %d words", ones, len(bitmap))
		}
		for i, d := range levels {
			if bitmap.Has(i) != (d == 1) {
				t.Fatalf("bit %d of %d", i, n)
			}
		}
		packed := make([]byte, 1, 8*n+1) // not aligned to words
		var indexes []uint32
		for _, x := range there {
			packed = binary.LittleEndian.AppendUint64(packed, uint64(x))
			indexes = append(indexes, uint32(x))
		}
		wide, narrow := make([]uint64, n), make([]uint32, n)
		spreadWords(wide, packed[1:], bitmap)
		spreadIndexes(narrow, indexes, bitmap)
		for i, want := range zeroed {
			if wide[i] != uint64(want) || narrow[i] != uint32(want) {
				t.Fatalf("record %d: %d and %d, want %v", i, wide[i], narrow[i], want)
			}
		}
		at := r.IntN(70)
		to := microdata.NewBitmap(at+n+3, nil)
		copyBits(to, at, valid, from, n)
		for i := range at + n + 3 {
			if want := i < at || i >= at+n || valid.Has(from+i-at); to.Has(i) != want {
				t.Fatalf("copied bit %d: %v", i, to.Has(i))
			}
		}
	}
}

// Bit-packed numbers of every width and length, compared with a loop over single bits.
func TestUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for width := 1; width <= 32; width++ {
		for n := range 70 {
			want := make([]uint32, n)
			src := make([]byte, (n*width+7)/8, 100*width)
			for i := range want {
				want[i] = r.Uint32() >> (32 - width)
				for b := range width {
					src[(i*width+b)/8] |= byte(want[i]>>b&1) << ((i*width + b) % 8)
				}
			}
			for _, more := range []int{0, 1, 7, 8, 64} {
				padded := append(slices.Clone(src), make([]byte, more)...)
				fillBytes(padded[len(src):], func(int) byte { return 0xff })
				got := make([]uint32, n)
				if unpack(got, padded, width); !slices.Equal(got, want) {
					t.Fatalf("width %d: %v, want %v", width, got, want)
				}
				if width > 8 {
					continue
				}
				narrow := make([]uint8, n)
				unpack(narrow, padded, width)
				for i, x := range narrow {
					if uint32(x) != want[i] {
						t.Fatalf("width %d: number %d is %d, want %d", width, i, x, want[i])
					}
				}
			}
		}
	}
}
