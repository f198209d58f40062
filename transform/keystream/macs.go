package keystream

import (
	"encoding/binary"
	"sync"
)

// macs computes the CBC-MACs of many messages under one subkey. The blocks of a message have to
// be encrypted one after another, those of different messages have not: so the first blocks of
// all go to the cipher in one call, then the second ones, and so on.
type macs struct {
	cipher  *aes256
	text    []byte // the messages, in whole blocks
	waiting []waiting
	states  []block // of those
}

// waiting is a message of which not all is encrypted yet.
type waiting struct {
	at, end int // of what is left of it in text, behind the block that the state holds
	to      int // whose it is
}

// macsAtOnce is how many messages are worth one call; of long ones there are fewer, so that they
// stay in the processor's caches.
const (
	macsAtOnce = 256
	textAtOnce = 64 << 10
)

// spare are macs without a subkey, for the memory that they have.
var spare = sync.Pool{New: func() any { return new(macs) }}

// add takes a message for the record, or entry, of a number, and reports whether flush should be
// called before the next. It pads the message with zeros, which its length in the first block
// keeps injective.
func (c *macs) add(m message, to int) (full bool) {
	binary.BigEndian.PutUint64(m, uint64(len(m)-blockSize))
	from := len(c.text)
	c.text = append(c.text, m...)
	if odd := len(m) % blockSize; odd != 0 {
		var zeros [blockSize]byte
		c.text = append(c.text, zeros[odd:]...)
	}
	c.waiting = append(c.waiting, waiting{from + blockSize, len(c.text), to})
	c.states = append(c.states, block(c.text[from:]))
	return len(c.waiting) == macsAtOnce || len(c.text) >= textAtOnce
}

// flush hands the CBC-MAC of every message added since to put, in any order.
func (c *macs) flush(put func(to int, sum *block)) {
	waiting, states := c.waiting, c.states
	for len(states) > 0 {
		c.cipher.encryptAll(states)
		left := 0
		for i := range states {
			s, w := &states[i], waiting[i]
			if w.at == w.end {
				put(w.to, s)
				continue
			}
			s.xor((*block)(c.text[w.at:]))
			w.at += blockSize
			states[left], waiting[left] = *s, w
			left++
		}
		waiting, states = waiting[:left], states[:left]
	}
	c.text, c.waiting, c.states = c.text[:0], c.waiting[:0], c.states[:0]
}
