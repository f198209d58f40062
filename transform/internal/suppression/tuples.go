package suppression

import "math/bits"

// packed is a tuple of the keys.
type packed [2]uint64

func (p packed) and(q packed) packed { return packed{p[0] & q[0], p[1] & q[1]} }

// tupleTable counts tuples: open addressing with linear probing. The zero value is empty.
type tupleTable struct {
	tuples []packed
	counts []int32
	slots  []int32 // place in tuples + 1, 0 where the slot is free
	shift  uint    // 64 − log2 of the number of slots
}

func (t *tupleTable) slotOf(p packed) int {
	w := p[0] ^ bits.RotateLeft64(p[1]*0xd6e8feb86659fd93, 32)
	w ^= w >> 32
	w *= 0xbf58476d1ce4e5b9
	w ^= w >> 29
	return int(w * 0x9e3779b97f4a7c15 >> t.shift)
}

// find returns the place of a tuple, −1 where it is not there.
func (t *tupleTable) find(p packed) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	for i := t.slotOf(p); ; i = (i + 1) & (len(t.slots) - 1) {
		at := t.slots[i] - 1
		if at < 0 || t.tuples[at] == p {
			return at
		}
	}
}

// add adds n to a tuple's count and returns its place.
func (t *tupleTable) add(p packed, n int32) int32 {
	if 2*len(t.tuples) >= len(t.slots) {
		t.grow()
	}
	for i := t.slotOf(p); ; i = (i + 1) & (len(t.slots) - 1) {
		at := t.slots[i] - 1
		if at < 0 {
			at = int32(len(t.tuples))
			t.tuples, t.counts = append(t.tuples, p), append(t.counts, 0)
			t.slots[i] = at + 1
		}
		if t.tuples[at] == p {
			t.counts[at] += n
			return at
		}
	}
}

func (t *tupleTable) grow() {
	slots := max(2*len(t.slots), 64)
	t.slots, t.shift = make([]int32, slots), uint(64-bits.TrailingZeros(uint(slots)))
	for at, p := range t.tuples {
		i := t.slotOf(p)
		for t.slots[i] != 0 {
			i = (i + 1) & (slots - 1)
		}
		t.slots[i] = int32(at) + 1
	}
}
