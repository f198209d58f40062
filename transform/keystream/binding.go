package keystream

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Binding computes one number from several values of a record, under a subkey. Draws that
// concern more than one value, such as those of an exchange, are bound to this number. It does
// not depend on how a file stores the values, as in Digests. It is not safe for concurrent use.
type Binding struct {
	outer, inner *aes256
	states       []microdata.Digest
	blocks       []microdata.Digest // what the column at hand adds to them
	entries      []microdata.Digest // of its dictionary
	known        []bool
	message      message
	recent       [64]recentBlock
}

// recentBlock is the block of a short entry, kept by the entry itself: a column of categories
// has few, each of which would be encrypted for every record.
type recentBlock struct {
	length int // 0: none is kept
	entry  [24]byte
	block  microdata.Digest
}

// Binding derives the subkeys.
func (k Key) Binding() *Binding {
	subkeys := k.derive(labelBinding, 2*keySize)
	return &Binding{outer: newAES(subkeys[:keySize]), inner: newAES(subkeys[keySize:])}
}

// Format prints nothing of the subkeys, or of what they were used on, under any verb.
func (b Binding) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[binding]")) }

// Begin begins the tuples of n records with a number of columns, which Numbers
// or Array is then called with, each once.
func (b *Binding) Begin(n, columns int) {
	for _, s := range []*[]microdata.Digest{&b.states, &b.blocks} {
		if cap(*s) < n {
			*s = make([]microdata.Digest, n)
		}
		*s = (*s)[:n]
	}
	if n == 0 {
		return
	}
	clear(b.blocks[0][:])
	binary.BigEndian.PutUint64(b.blocks[0][8:], uint64(columns))
	b.outer.Encrypt(b.blocks[0][:], b.blocks[0][:])
	for i := range b.states {
		b.states[i] = b.blocks[0]
	}
}

// Numbers adds a column of numbers, one per record. A number is null if valid returns false;
// with a nil valid no number is null.
func (b *Binding) Numbers(values []float64, valid func(i int) bool) {
	for i := range b.blocks {
		binary.BigEndian.PutUint64(b.blocks[i][:], canonicalBits(values[i]))
		binary.BigEndian.PutUint64(b.blocks[i][8:], tagNumber)
		if valid != nil && !valid(i) {
			clear(b.blocks[i][:])
		}
	}
	b.absorb()
}

// Array adds a column of any type that can be moved between records.
func (b *Binding) Array(a arrow.Array) {
	if d, ok := a.(*array.Dictionary); ok {
		b.dictionary(d)
	} else {
		c := arrayColumn(a)
		for i := range b.blocks {
			b.value(&b.blocks[i], &c, i)
		}
	}
	b.absorb()
}

// dictionary makes the block of each entry once, when first met.
func (b *Binding) dictionary(d *array.Dictionary) {
	entries := arrayColumn(d.Dictionary())
	if cap(b.entries) < entries.n {
		b.entries, b.known = make([]microdata.Digest, entries.n), make([]bool, entries.n)
	}
	b.known = b.known[:entries.n]
	clear(b.known)
	for i := range b.blocks {
		if d.IsNull(i) {
			clear(b.blocks[i][:])
			continue
		}
		e := d.GetValueIndex(i)
		if !b.known[e] {
			b.known[e] = true
			b.value(&b.entries[:entries.n][e], &entries, e)
		}
		b.blocks[i] = b.entries[:entries.n][e]
	}
}

// value makes the block of one value: a number's bits and tag, zeros for null, and
// of any other the CBC-MAC of its entry.
func (b *Binding) value(block *microdata.Digest, c *column, i int) {
	m := c.append(b.message.begin(1), i)
	switch m[blockSize] {
	case tagNull:
		clear(block[:])
	case tagNumber:
		copy(block[:8], m[blockSize+5:])
		binary.BigEndian.PutUint64(block[8:], tagNumber)
	default:
		m = b.short(m, block)
	}
	b.message = m
}

// short makes the block of an entry, or takes it from the recent ones where the same is there.
func (b *Binding) short(m message, block *microdata.Digest) message {
	r := recentBlock{length: len(m) - blockSize}
	if r.length > len(r.entry) {
		return m.mac(b.inner, block)
	}
	copy(r.entry[:], m[blockSize:])
	mixed := binary.LittleEndian.Uint64(r.entry[:]) ^ binary.LittleEndian.Uint64(r.entry[8:])<<7 ^ binary.LittleEndian.Uint64(r.entry[16:])<<13
	slot := &b.recent[mixed*0x9e3779b97f4a7c15>>58]
	if slot.length == r.length && slot.entry == r.entry {
		*block = slot.block
		return m
	}
	m = m.mac(b.inner, &r.block)
	*block, *slot = r.block, r
	return m
}

// absorb takes the column's blocks into the states.
func (b *Binding) absorb() {
	for i := range b.states {
		s, m := b.states[i][:], b.blocks[i][:]
		binary.LittleEndian.PutUint64(s, binary.LittleEndian.Uint64(s)^binary.LittleEndian.Uint64(m))
		binary.LittleEndian.PutUint64(s[8:], binary.LittleEndian.Uint64(s[8:])^binary.LittleEndian.Uint64(m[8:]))
	}
	for i := range b.states {
		b.outer.Encrypt(b.states[i][:], b.states[i][:])
	}
}

// Values writes the numbers of the records to dst: the upper 52 bits of their states, as
// integers.
func (b *Binding) Values(dst []float64) {
	for i := range b.states {
		dst[i] = float64(binary.BigEndian.Uint64(b.states[i][:]) >> 12)
	}
}
