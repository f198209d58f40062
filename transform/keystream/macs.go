package keystream

import (
	"encoding/binary"
	"sync"
)

// macs computes the CBC-MACs of many messages under one subkey. The blocks of one message must
// be encrypted one after another, those of different messages need not: so the first blocks of
// all messages are encrypted in one call, then the second ones, and so on.
type macs struct {
	cipher  *aes256
	text    []byte // the messages, in whole blocks
	waiting []waiting
	states  []block // of the messages that wait
}

// waiting is a message that is not completely encrypted yet.
type waiting struct {
	at, end int // of its remaining bytes in text, after the block that the state holds
	to      int // number of its record or entry
}

// macsAtOnce is the number of messages in one call; of long messages fewer are taken, so that they
// stay in the processor's caches.
const (
	macsAtOnce = 256
	textAtOnce = 64 << 10
)

// spare pools macs without a subkey, for their memory.
var spare = sync.Pool{New: func() any { return new(macs) }}

// add adds a message for record or entry `to`, and reports whether flush should be called before
// the next one. It pads the message with zeros; the encoding stays injective, because the first
// block has the length.
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

// flush calls put with the CBC-MAC of every message added since the last flush, in any order.
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
