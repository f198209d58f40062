package keystream

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Binding computes one number from several values of a record, under a subkey. Draws that
// concern more than one value, such as those of an exchange, are bound to this number. It does
// not depend on how a file stores the values, as in Digests. It is not safe for concurrent use.
type Binding struct {
	outer   *aes256
	sums    macs // of entries, under the inner subkey
	states  []block
	blocks  []block // what the current column adds to states
	entries []block // of its dictionary
	done    []bool
	message message
}

// Binding derives the subkeys.
func (k Key) Binding() *Binding {
	subkeys := k.derive(labelBinding, 2*keySize)
	return &Binding{outer: newAES(subkeys[:keySize]), sums: macs{cipher: newAES(subkeys[keySize:])}}
}

// Format prints neither the subkeys nor the values, under any verb.
func (b Binding) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[binding]")) }

// Begin begins the tuples of n records. Numbers or Array must then be called once for each of
// the columns.
func (b *Binding) Begin(n, columns int) {
	for _, s := range []*[]block{&b.states, &b.blocks} {
		if cap(*s) < n {
			*s = make([]block, n)
		}
		*s = (*s)[:n]
	}
	if n == 0 {
		return
	}
	b.blocks[0].set(0, uint64(columns))
	b.outer.encrypt(&b.blocks[0])
	for i := range b.states {
		b.states[i] = b.blocks[0]
	}
}

// Numbers adds a column of numbers, one per record. A number is null if valid returns false;
// with a nil valid no number is null.
func (b *Binding) Numbers(values []float64, valid func(i int) bool) {
	for i := range b.blocks {
		b.blocks[i].set(canonicalBits(values[i]), tagNumber)
		if valid != nil && !valid(i) {
			b.blocks[i] = block{}
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
			b.value(b.blocks, i, &c)
		}
		b.flush(b.blocks)
	}
	b.absorb()
}

// dictionary computes the block of each entry that occurs, once.
func (b *Binding) dictionary(d *array.Dictionary) {
	entries := arrayColumn(d.Dictionary())
	if cap(b.entries) < entries.n {
		b.entries, b.done = make([]block, entries.n), make([]bool, entries.n)
	}
	blocks, done := b.entries[:entries.n], b.done[:entries.n]
	clear(done)
	for i := range b.blocks {
		if d.IsNull(i) {
			continue
		}
		if e := d.GetValueIndex(i); !done[e] {
			done[e] = true
			b.value(blocks, e, &entries)
		}
	}
	b.flush(blocks)
	for i := range b.blocks {
		if d.IsNull(i) {
			b.blocks[i] = block{}
		} else {
			b.blocks[i] = blocks[d.GetValueIndex(i)]
		}
	}
}

// value sets block i to that of value i of a column: bits and tag of a number, zeros for null,
// and otherwise the CBC-MAC of its encoding, which is set by the next flush.
func (b *Binding) value(blocks []block, i int, c *column) {
	m := c.append(b.message.begin(1), i)
	b.message = m
	switch m[blockSize] {
	case tagNull:
		blocks[i] = block{}
	case tagNumber:
		blocks[i].set(binary.BigEndian.Uint64(m[blockSize+5:]), tagNumber)
	default:
		if b.sums.add(m, i) {
			b.flush(blocks)
		}
	}
}

func (b *Binding) flush(blocks []block) {
	b.sums.flush(func(i int, sum *block) { blocks[i] = *sum })
}

// absorb adds the column's blocks to the states.
func (b *Binding) absorb() {
	for i := range b.states {
		b.states[i].xor(&b.blocks[i])
	}
	b.outer.encryptAll(b.states)
}

// Values writes the numbers of the records to dst: the upper 52 bits of their states, as
// integers.
func (b *Binding) Values(dst []float64) {
	for i := range b.states {
		dst[i] = float64(b.states[i].first() >> 12)
	}
}
