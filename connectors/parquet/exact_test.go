package parquet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// Exact and inexact bytes; the deviation stands at the first place, in the middle and at the last
// place.
func TestExactHybrid(t *testing.T) {
	packed := func(groups int, b ...byte) []byte { return append([]byte{byte(groups<<1 | 1)}, b...) }
	for _, c := range []struct {
		name     string
		src      []byte
		width, n int
		want     bool
	}{
		{"a run", []byte{5 << 1, 1}, 1, 5, true},
		{"a run, too long", []byte{6 << 1, 1}, 1, 5, false},
		{"two runs", []byte{2 << 1, 1, 3 << 1, 0}, 1, 5, true},
		{"a run of none before", []byte{0, 9, 5 << 1, 1}, 1, 5, false},
		{"a run of none behind", []byte{5 << 1, 1, 0, 9}, 1, 5, false},
		{"bytes behind", []byte{5 << 1, 1, 9}, 1, 5, false},
		{"a value beyond its width", []byte{5 << 1, 3}, 1, 5, false},
		{"a length in too many bytes", []byte{0x80 | 5<<1, 0, 1}, 1, 5, false},
		{"a packed run", packed(1, 0b11111), 1, 5, true},
		{"padding", packed(1, 0b100001), 1, 5, false},
		{"padding in a group of its own", packed(2, 0b11111, 1), 1, 5, false},
		{"zero padding in a group of its own", packed(2, 0b11111, 0), 1, 5, true},
		{"padding as in the run before", append(packed(1, 0b10101010), packed(1, 0b10101111)...), 1, 13, true},
		{"padding unlike the run before", append(packed(1, 0b10101010), packed(1, 0b11101111)...), 1, 13, false},
		{"padding as in a run of another size", append(packed(2, 0b10101010, 0b10101010), packed(1, 0b10101111)...), 1, 21,
			false},
		{"no groups", append(packed(0), packed(1, 0b11111)...), 1, 5, false},
		{"too few", packed(1, 0xff), 1, 9, false},
		{"a number that goes on in the filled run", append([]byte{5 << 1, 1}, packed(1, 0b11)...), 1, 7, false},
		{"another one behind it", append([]byte{5 << 1, 1}, packed(1, 0b10)...), 1, 7, true},
		{"the same, and no run is filled up", append([]byte{5 << 1, 1}, packed(1, 0b11)...), 1, 13, true},
		{"one that goes on after 8", append([]byte{8 << 1, 1}, packed(1, 0b11)...), 1, 10, true},
		{"one that goes on after 8, and 8 fill up", append([]byte{8 << 1, 1}, packed(2, 0b11, 0)...), 1, 10, false},
		{"one that goes on in a run of its own", append([]byte{5 << 1, 1, 8 << 1, 1}, packed(1, 0b10)...), 1, 15, false},
		{"width 0", []byte{5 << 1}, 0, 5, true},
		{"width 0 in two runs", []byte{3 << 1, 2 << 1}, 0, 5, false},
		{"width 0 in groups", []byte{1<<1 | 1}, 0, 5, false},
		{"width 0 and a byte", []byte{5 << 1, 7}, 0, 5, false},
		{"12 bits", []byte{5 << 1, 0xff, 0x0f}, 12, 5, true},
		{"12 bits and more", []byte{5 << 1, 0xff, 0x1f}, 12, 5, false},
	} {
		if got := exactHybrid(c.src, c.width, c.n); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// deltas returns a block of 128 numbers in 4 parts, with n numbers present. Every part has a width
// of 8 bits; parts without numbers have the width `absent`.
func deltas(n int, absent byte, padding byte) []byte {
	b := binary.AppendUvarint(nil, 128)
	b = binary.AppendUvarint(b, 4)
	b = binary.AppendUvarint(b, uint64(n))
	b = binary.AppendVarint(b, 7)
	b = binary.AppendVarint(b, 0) // the minimum difference
	parts := (n - 1 + 31) / 32
	for i := range 4 {
		if i < parts {
			b = append(b, 8)
		} else {
			b = append(b, absent)
		}
	}
	for i := range parts * 32 {
		if i < n-1 {
			b = append(b, byte(i))
		} else {
			b = append(b, padding)
		}
	}
	return b
}

func TestExactDelta(t *testing.T) {
	for _, n := range []int{2, 33, 40, 129} {
		for _, c := range []struct {
			name string
			src  []byte
			want bool
		}{
			{"as it should be", deltas(n, 0, 0), true},
			{"a width of a part that is not there", deltas(n, 'c', 0), n > 97},
			{"padding", deltas(n, 0, 'c'), n%32 == 1},
			{"bytes behind", append(deltas(n, 0, 0), 'c'), false},
		} {
			rest, ok := exactDelta(c.src, n)
			if got := ok && len(rest) == 0; got != c.want {
				t.Errorf("%d numbers, %s: %v", n, c.name, got)
			}
			got := make([]int64, n)
			if _, _, err := decodeDelta(got, c.src); err != nil || got[1] != 7 {
				t.Errorf("%d numbers, %s: is not read: %v", n, c.name, err)
			}
		}
	}
}

// everyBitCounts checks that every bit of exact bytes matters: with the bit flipped they give other
// numbers, are not exact, or cannot be read. At most `but` bits may be exceptions.
func everyBitCounts(t *testing.T, src []byte, but int, read func(src []byte) (numbers []int64, exact bool)) {
	t.Helper()
	want, exact := read(src)
	if !exact {
		return
	}
	for i := range 8 * len(src) {
		other := bytes.Clone(src)
		other[i/8] ^= 1 << (i % 8)
		if got, exact := read(other); exact && slices.Equal(got, want) {
			if but--; but >= 0 {
				continue
			}
			t.Fatalf("bit %d of %x has no effect", i, src)
		}
	}
}

func readHybrid(width, n int) func(src []byte) ([]int64, bool) {
	return func(src []byte) (out []int64, exact bool) {
		dst := make([]uint32, n)
		if err := decodeHybrid(dst, src, width); err != nil {
			return nil, false
		}
		for _, v := range dst {
			out = append(out, int64(v))
		}
		return out, exactHybrid(src, width, n)
	}
}

func readDelta(n int) func(src []byte) ([]int64, bool) {
	return func(src []byte) ([]int64, bool) {
		dst := make([]int64, n)
		k, _, err := decodeDelta(dst, src)
		rest, ok := exactDelta(src, n)
		return dst, err == nil && k == n && ok && len(rest) == 0
	}
}

func TestEveryBitCounts(t *testing.T) {
	for _, n := range []int{2, 33, 40, 129} {
		everyBitCounts(t, deltas(n, 0, 0), 0, readDelta(n))
	}
	// Without packed numbers, the sizes of blocks and parts have no effect on the numbers.
	for n, sizes := range map[int][]byte{3: {0x80, 1, 4, 3, 2, 0xe1, 0xe1, 0xe1, 2, 0, 0, 0, 0}, 1: {0x80, 1, 4, 1, 2},
		0: {0x80, 1, 4, 0, 0}} {
		if _, exact := readDelta(n)(sizes); !exact {
			t.Errorf("%d numbers in %x are not exact", n, sizes)
		}
		everyBitCounts(t, sizes, 0, readDelta(n))
		other := bytes.Clone(sizes)
		other[1] = 0x41 // blocks of 8,320
		if _, exact := readDelta(n)(other); exact {
			t.Errorf("%d numbers in %x are exact", n, other)
		}
	}
	everyBitCounts(t, []byte{3, 0b11111}, 0, readHybrid(1, 5))
	everyBitCounts(t, []byte{2 << 1, 1, 1<<1 | 1, 0b10101010, 1<<1 | 1, 0b10101111}, 0, readHybrid(1, 15))
	everyBitCounts(t, []byte{5 << 1, 0xff, 0x0f}, 0, readHybrid(12, 5))
}

// Levels that do not form records are refused. pyarrow, for example, opens such a file and reads
// lists that extend past their elements.
func TestCheckTree(t *testing.T) {
	starts := []uint8{2, 4} // a list of lists: null, empty, null, empty, value
	for _, c := range []struct {
		rep, def []uint8
		before   uint8
		want     error
	}{
		{[]uint8{0, 0, 1, 2, 0}, []uint8{1, 4, 3, 3, 0}, 0, errTree},
		{[]uint8{0, 2, 1, 2, 0}, []uint8{4, 4, 5, 4, 0}, 0, nil},
		{[]uint8{0, 1, 0}, []uint8{3, 2, 1}, 0, nil},
		{[]uint8{0, 1}, []uint8{1, 2}, 0, errTree},
		{[]uint8{0, 1}, []uint8{2, 1}, 0, errTree},
		{[]uint8{0, 2}, []uint8{3, 4}, 0, errTree},
		{[]uint8{1, 0}, []uint8{3, 0}, 3, nil},
		{[]uint8{1, 0}, []uint8{3, 0}, 1, errTree},
	} {
		if got := checkTree(c.rep, c.def, starts, c.before); got != c.want {
			t.Errorf("%v %v after %d: %v", c.rep, c.def, c.before, got)
		}
	}
}

// A block may have up to 2²⁰ numbers, with at least 8 in each part, and no more.
func TestExactDeltaOfGreatBlocks(t *testing.T) {
	for _, c := range []struct {
		block, minis uint64
		want         bool
	}{{8, 1, true}, {1 << 20, 1, true}, {1 << 20, 1 << 17, true}, {1<<20 + 8, 1, false}, {1 << 21, 4, false},
		{0, 1, false}, {8, 0, false}, {24, 2, false}, {32, 3, false}} {
		src := binary.AppendUvarint(binary.AppendUvarint(nil, c.block), c.minis)
		src = append(src, 2, 14, 0) // two numbers: 7, and one that is greater by at least 0
		if src = append(src, make([]byte, c.minis)...); c.minis > 0 {
			src[len(src)-int(c.minis)] = 1 // the difference takes one bit
			part := make([]byte, c.block/c.minis/8)
			if len(part) > 0 {
				part[0] = 1
			}
			src = append(src, part...)
		}
		if rest, ok := exactDelta(src, 2); ok != c.want || len(rest) > 0 {
			t.Errorf("blocks of %d in %d parts: %v, want %v", c.block, c.minis, ok, c.want)
		}
	}
}
