package standing

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Entry is a record of the compacted topic. The caller that writes it puts the pipeline's and the
// partition's name before the key.
type Entry struct {
	Key, Value []byte
}

const (
	slots    = 64        // segments of an epoch at most
	maxValue = 512 << 10 // bytes of a value at most
	maxCount = 1 << 62   // records, and places
)

// header precedes every chunk. All numbers are big endian.
//
//	 0  4 bytes  "sdlL"
//	 4  2        version
//	 6  1        kind
//	 7  1        0
//	 8  8        epoch                        the 16 bytes up to here are the same in every version
//	16  16       fingerprint
//	32  4        seq, 1 … 64 of a segment, 0 of a base
//	36  4        chunk, 0 …
//	40  4        chunks
//	44  8        next, the first place not covered
//	52  32       read, released, quarantined, held: of a base in all, of a segment its own
//	84  8        checksum of what the chunks hold together and of the header without chunk
type header struct {
	kind          kind
	epoch         uint64
	print         fingerprint
	seq           uint32
	chunk, chunks uint32
	next          int64
	counts        Counts
	sum           [8]byte
}

const (
	magic      = "sdlL"
	version    = 1
	fixedSize  = 16
	headerSize = 92
)

type kind uint8

const (
	base    kind = 1
	segment kind = 2
)

// key returns the key of the header's chunk.
func (h *header) key() string {
	if h.kind == base {
		return fmt.Sprintf("base/%d/%03d", h.epoch%2, h.chunk)
	}
	return fmt.Sprintf("segment/%02d/%03d", h.seq%slots, h.chunk)
}

func (h *header) append(to []byte) []byte {
	to = append(to, magic...)
	to = binary.BigEndian.AppendUint16(to, version)
	to = append(to, byte(h.kind), 0)
	to = binary.BigEndian.AppendUint64(to, h.epoch)
	to = append(to, h.print[:]...)
	for _, v := range []uint32{h.seq, h.chunk, h.chunks} {
		to = binary.BigEndian.AppendUint32(to, v)
	}
	for _, v := range []int64{h.next, h.counts.Read, h.counts.Released, h.counts.Quarantined, h.counts.Held} {
		to = binary.BigEndian.AppendUint64(to, uint64(v))
	}
	return append(to, h.sum[:]...)
}

// checksum is of the payload and of what the chunks' headers have in common.
func (h *header) checksum(payload ...[]byte) (sum [8]byte) {
	c := *h
	c.chunk, c.sum = 0, [8]byte{}
	s := sha256.New()
	s.Write(c.append(nil))
	for _, part := range payload {
		s.Write(part)
	}
	copy(sum[:], s.Sum(nil))
	return sum
}

// Entries returns what this transaction must write so that the delta is in it;
// next is the first place that it does not cover, as the consumed offset says
// (offset << message.RowBits in a format whose messages hold several records). It
// must lie behind every record added. Nothing is returned where nothing was added
// and next has not moved, unless a commit before this one was not written.
//
// What is returned holds from Commit on; after Rollback it must not have been
// written, or, without transactions, is overwritten by what comes next.
func (l *Standing) Entries(next int64) ([]Entry, error) {
	if next < l.next || next <= l.last {
		return nil, fmt.Errorf("standing: next: must be at least %d, got %d", max(l.next, l.last+1), next)
	}
	if next == l.next && l.deltaCounts == (Counts{}) && !l.lags {
		p := l.written
		p.next = next
		l.pending = &p
		return nil, nil
	}
	var delta []byte
	if l.deltaCounts != (Counts{}) {
		var err error
		if delta, err = l.delta.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	w := l.written
	h := header{kind: segment, epoch: w.epoch, seq: w.seq + 1, next: next, counts: l.deltaCounts}
	payload := [][]byte{delta}
	size := len(delta) + headerSize
	// A base that was made and not committed may be there where there are no
	// transactions, and would hide every segment of this epoch: it is overwritten.
	if w.epoch == 0 || w.seq == slots || w.segments+size > w.base || l.lags || l.rebase {
		whole, err := l.whole.MarshalBinary()
		if err != nil {
			return nil, err
		}
		// Both, not their sum: it is made anew when it is read, in the same order and
		// so to the same bits.
		payload = [][]byte{binary.BigEndian.AppendUint64(nil, uint64(len(whole))), whole, delta}
		h.kind, h.epoch, h.seq, h.counts = base, w.epoch+1, 0, l.wholeCounts.Plus(l.deltaCounts)
		w = written{epoch: h.epoch, base: 8 + len(whole) + len(delta) + headerSize}
		l.rebase = true
	} else {
		w.seq, w.segments = h.seq, w.segments+size
	}
	w.next = next
	l.pending = &w
	return l.cut(h, payload), nil
}

// cut makes entries of a payload that is given in pieces.
func (l *Standing) cut(h header, payload [][]byte) []Entry {
	h.print = l.fingerprint
	size := 0
	for _, piece := range payload {
		size += len(piece)
	}
	room := l.limit - headerSize
	h.chunks = uint32(max(1, (size+room-1)/room))
	h.sum = h.checksum(payload...)
	entries := make([]Entry, h.chunks)
	for i := range entries {
		h.chunk = uint32(i)
		left := min(room, size-i*room)
		value := h.append(make([]byte, 0, headerSize+left))
		for left > 0 {
			n := copy(value[len(value):len(value)+left], payload[0])
			value, left = value[:len(value)+n], left-n
			if payload[0] = payload[0][n:]; len(payload[0]) == 0 {
				payload = payload[1:]
			}
		}
		entries[i] = Entry{[]byte(h.key()), value}
	}
	return entries
}

// errors of decoding say what is wrong with a value, and nothing that is in it
var (
	errShort     = errors.New("is cut short")
	errMagic     = errors.New("is no entry of a standing")
	errHeader    = errors.New("has a damaged header")
	errElsewhere = errors.New("does not belong to its key")
	errChecksum  = errors.New("does not have its checksum")
	errContent   = errors.New("has damaged content")
	errMissing   = errors.New("is missing, though a later one is there")
	errNoBase    = errors.New("is a segment whose base is missing")
)

// parseFixed reads the first 16 bytes, which are alike in every version.
func parseFixed(value []byte) (version uint16, k kind, epoch uint64, err error) {
	if len(value) < fixedSize {
		return 0, 0, 0, errShort
	}
	if !bytes.HasPrefix(value, []byte(magic)) {
		return 0, 0, 0, errMagic
	}
	return binary.BigEndian.Uint16(value[4:]), kind(value[6]), binary.BigEndian.Uint64(value[8:]), nil
}

// parse reads a header of this version and returns what follows it.
func (h *header) parse(value []byte) (rest []byte, err error) {
	if len(value) < headerSize {
		return nil, errShort
	}
	h.kind, h.epoch = kind(value[6]), binary.BigEndian.Uint64(value[8:])
	copy(h.print[:], value[16:])
	h.seq, h.chunk, h.chunks = binary.BigEndian.Uint32(value[32:]), binary.BigEndian.Uint32(value[36:]),
		binary.BigEndian.Uint32(value[40:])
	numbers := value[44:]
	for _, to := range []*int64{&h.next, &h.counts.Read, &h.counts.Released, &h.counts.Quarantined, &h.counts.Held} {
		*to = int64(binary.BigEndian.Uint64(numbers))
		if *to < 0 || *to > maxCount {
			return nil, errHeader
		}
		numbers = numbers[8:]
	}
	copy(h.sum[:], numbers)
	c := &h.counts
	c.LeftOut = c.Read - c.Released - c.Quarantined - c.Held
	switch {
	case value[7] != 0, h.kind != base && h.kind != segment, h.epoch == 0, h.epoch > 1<<62,
		h.kind == base && h.seq != 0, h.kind == segment && (h.seq == 0 || h.seq > slots),
		h.chunk >= h.chunks, !plausible(*c):
		return nil, errHeader
	}
	return value[headerSize:], nil
}
