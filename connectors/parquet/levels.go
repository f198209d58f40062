package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// decodeHybrid reads n numbers of the given bit width in the RLE and
// bit-packing hybrid that levels, dictionary indexes and booleans are stored in.
// It never writes more than n numbers, even if the runs have more.
func decodeHybrid[T uint8 | uint32](dst []T, src []byte, width int) error {
	if width < 0 || width > 32 {
		return fmt.Errorf("a bit width of %d", width)
	}
	if width == 0 {
		clear(dst)
		return nil
	}
	bytes := (width + 7) / 8
	for len(dst) > 0 {
		head, n := binary.Uvarint(src)
		if n <= 0 {
			return errShort
		}
		src = src[n:]
		if head&1 == 0 {
			run := min(head>>1, uint64(len(dst)))
			if len(src) < bytes {
				return errShort
			}
			var v uint32
			for i := bytes - 1; i >= 0; i-- {
				v = v<<8 | uint32(src[i])
			}
			if run > 0 && width < 32 && v>>width != 0 {
				return errWidth
			}
			src = src[bytes:]
			fill(dst[:run], T(v))
			dst = dst[run:]
			continue
		}
		groups := head >> 1
		take := min(int(min(groups, uint64(len(dst)))*8), len(dst))
		need := (take*width + 7) / 8
		if len(src) < need {
			return errShort
		}
		unpack(dst[:take], src, width)
		dst = dst[take:]
		// Each group takes at least a byte, so that no product is too large.
		src = src[min(min(groups, uint64(len(src)))*uint64(width), uint64(len(src))):]
	}
	return nil
}

func fill[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// unpack reads len(dst) bit-packed numbers, least significant bit first.
func unpack[T uint8 | uint32](dst []T, src []byte, width int) {
	mask := uint64(1)<<width - 1
	i := unpackEights(dst, src, width)
	bit := i * width
	// As long as eight bytes can be loaded, one load is enough for a number: at
	// most 7 bits of offset and 32 of the number.
	for ; i < len(dst) && bit>>3+8 <= len(src); i++ {
		dst[i] = T(binary.LittleEndian.Uint64(src[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
	for ; i < len(dst); i++ {
		var v uint64
		for k, b := range src[bit>>3 : min(bit>>3+5, len(src))] {
			v |= uint64(b) << (8 * k)
		}
		dst[i] = T(v >> (bit & 7) & mask)
		bit += width
	}
}

// unpackEights is unpack for whole groups of eight numbers, as far as there are enough bytes. It
// returns the number of numbers unpacked. A group takes as many bytes as a number has bits.
func unpackEights[T uint8 | uint32](dst []T, src []byte, width int) (done int) {
	switch levels := any(dst).(type) {
	case []uint8:
		if width != 1 {
			return 0
		}
		for done+8 <= len(dst) && done>>3 < len(src) {
			binary.LittleEndian.PutUint64(levels[done:], bytesOfBits(src[done>>3]))
			done += 8
		}
		return done
	}
	mask := uint64(1)<<width - 1
	switch {
	case width <= 8:
		for ; done+8 <= len(dst) && len(src) >= 8; done += 8 {
			w, to := binary.LittleEndian.Uint64(src), dst[done:done+8:done+8]
			for k := range to {
				to[k] = T(w & mask)
				w >>= width
			}
			src = src[width:]
		}
	case width <= 16:
		// Four numbers are 4 × width bits, which begin at a byte or in the middle of one.
		half := width >> 1
		odd := (width & 1) * 4
		for ; done+8 <= len(dst) && len(src) >= half+9; done += 8 {
			a, b, to := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[half:])>>odd, dst[done:done+8:done+8]
			to[0], to[4] = T(a&mask), T(b&mask)
			to[1], to[5] = T(a>>width&mask), T(b>>width&mask)
			to[2], to[6] = T(a>>(2*width)&mask), T(b>>(2*width)&mask)
			to[3], to[7] = T(a>>(3*width)&mask), T(b>>(3*width)&mask)
			src = src[width:]
		}
	}
	return done
}

// levelsOf returns the levels at the beginning of a page of version 1, after their
// length in 4 bytes, and the bytes that follow.
func levelsOf(src []byte) (levels, rest []byte, err error) {
	if len(src) < 4 {
		return nil, nil, errShort
	}
	n := binary.LittleEndian.Uint32(src)
	if uint64(n) > uint64(len(src)-4) {
		return nil, nil, errShort
	}
	return src[4 : 4+n], src[4+n:], nil
}

// allOf reports whether n levels are one run of the given level, as in a nullable
// column without nulls.
func allOf(src []byte, width int, level uint8, n int) bool {
	head, k := binary.Uvarint(src)
	return k > 0 && head&1 == 0 && head>>1 >= uint64(n) && width <= 8 && len(src) > k && src[k] == level
}

func levelWidth(level uint8) int { return bits.Len8(level) }

var (
	errWidth = errors.New("a number has more bits than its width")
	errTree  = errors.New("the levels do not form records: a value continues a record that has not begun")
)

var errLevel = errors.New("a level is greater than the schema allows")

func checkLevels(levels []uint8, most uint8) error {
	var over uint8
	for _, v := range levels {
		over = max(over, v)
	}
	if over > most {
		return errLevel
	}
	return nil
}

// checkTree returns an error for impossible levels: an entry that repeats at a level at
// which it, or the entry before, has no element. starts are the definition levels from
// which on there is an element. before is the definition level of the last entry of the
// page before.
func checkTree(rep, def, starts []uint8, before uint8) error {
	for i, r := range rep {
		if r > 0 && (def[i] < starts[r-1] || before < starts[r-1]) {
			return errTree
		}
		before = def[i]
	}
	return nil
}

func levelWidth32(most int) int { return bits.Len32(uint32(most)) }
