package standing

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
)

// DamagedError says which value of the topic cannot be read, and why; never what
// is in it.
type DamagedError struct {
	Key    string // without what the writer put before it
	Reason error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("standing: the value of key %s %v", strconv.Quote(e.Key), e.Reason)
}

func (e *DamagedError) Unwrap() error { return e.Reason }

// Load takes up what a standing with the same options and fingerprint has written:
// entries are the keys without what the writer put before them and their values,
// in the order of the topic, of a key the last one counts; an empty value stands
// for none.
//
// Where the newest base has another fingerprint or version the standing is empty and
// Stale. A base or a segment that was cut short, as may happen to the last one
// where there are no transactions, is as if it had not been written, and Next says
// so. Everything else that does not fit together is a *DamagedError.
func Load(o assess.Options, name string, entries iter.Seq2[string, []byte]) (*Standing, error) {
	l, err := New(o, name)
	if err != nil {
		return nil, err
	}
	found, err := l.sift(entries)
	if err != nil {
		return nil, err
	}
	newest := found.base()
	var epoch uint64
	if newest != nil {
		epoch = newest.epoch
	}
	if err := found.orphan(max(epoch, found.foreign)); err != nil {
		return nil, err
	}
	if newest == nil || found.foreign > epoch {
		l.stale = found.others
		// Epochs go on from the highest, so that what is there is older than what
		// comes and cannot be taken for it.
		l.written = written{epoch: found.highest}
		return l, nil
	}
	if err := l.take(newest); err != nil {
		return nil, err
	}
	last := uint32(0)
	for seq := uint32(slots); seq > 0 && last == 0; seq-- {
		if found.segment(epoch, seq) != nil {
			last = seq
		}
	}
	for seq := uint32(1); seq <= last; seq++ {
		s := found.segment(epoch, seq)
		if s == nil {
			h := header{kind: segment, seq: seq}
			return nil, &DamagedError{h.key(), errMissing}
		}
		if err := l.take(s); err != nil {
			return nil, err
		}
	}
	l.Rollback()
	return l, nil
}

// value is one base or segment put together from its chunks.
type value struct {
	header
	parts []part // each chunk once at most, as its key tells which it is
}

type part struct {
	chunk   uint32
	payload []byte
}

func (v *value) complete() bool { return uint64(len(v.parts)) == uint64(v.chunks) }

func (v *value) damaged(reason error) error {
	h := v.header
	h.chunk = 0
	return &DamagedError{h.key(), reason}
}

// payload joins the chunks.
func (v *value) payload() ([]byte, error) {
	slices.SortFunc(v.parts, func(a, b part) int { return cmp.Compare(a.chunk, b.chunk) })
	var all []byte
	for _, p := range v.parts {
		all = append(all, p.payload...)
	}
	if v.checksum(all) != v.sum {
		return nil, v.damaged(errChecksum)
	}
	return all, nil
}

// sifted is what the topic holds.
type sifted struct {
	values  []*value // with the standing's fingerprint
	foreign uint64   // highest epoch of a base that has not
	others  bool     // there is something that has not
	highest uint64   // epoch of all that there is
}

// sift sorts the entries and puts chunks of one write together.
func (l *Standing) sift(entries iter.Seq2[string, []byte]) (*sifted, error) {
	last := map[string][]byte{}
	var keys []string // in the order of the topic, so that of several damages the same one is told
	for key, v := range entries {
		if _, seen := last[key]; !seen {
			keys = append(keys, key)
		}
		last[key] = v
	}
	type write struct {
		kind          kind
		epoch         uint64
		seq, chunks   uint32
		sum           [8]byte
		next, records int64
	}
	found, writes := new(sifted), map[write]*value{}
	for _, key := range keys {
		text := last[key]
		if len(text) == 0 {
			continue
		}
		v, k, epoch, err := parseFixed(text)
		if err != nil {
			return nil, &DamagedError{key, err}
		}
		if epoch > 1<<62 {
			return nil, &DamagedError{key, errHeader}
		}
		found.highest = max(found.highest, epoch)
		var h header
		rest, err := h.parse(text)
		if v != version || err == nil && h.print != l.fingerprint {
			found.others = true
			if k == base {
				found.foreign = max(found.foreign, epoch)
			}
			continue
		}
		if err != nil {
			return nil, &DamagedError{key, err}
		}
		if h.key() != key {
			return nil, &DamagedError{key, errElsewhere}
		}
		id := write{h.kind, h.epoch, h.seq, h.chunks, h.sum, h.next, h.counts.Read}
		w := writes[id]
		if w == nil {
			w = &value{header: h}
			writes[id] = w
			found.values = append(found.values, w)
		}
		w.parts = append(w.parts, part{h.chunk, rest})
	}
	return found, nil
}

// base returns the complete base of the highest epoch, nil where there is none.
func (s *sifted) base() *value {
	var newest *value
	for _, v := range s.values {
		if v.kind == base && v.complete() && (newest == nil || v.epoch > newest.epoch) {
			newest = v
		}
	}
	return newest
}

// segment returns a complete segment, nil where it is not there.
func (s *sifted) segment(epoch uint64, seq uint32) *value {
	for _, v := range s.values {
		if v.kind == segment && v.epoch == epoch && v.seq == seq && v.complete() {
			return v
		}
	}
	return nil
}

// orphan returns an error where there is a segment of an epoch behind the newest
// base's: it was written on a base that is not there any more.
func (s *sifted) orphan(epoch uint64) error {
	for _, v := range s.values {
		if v.kind == segment && v.epoch > epoch {
			return v.damaged(errNoBase)
		}
	}
	return nil
}

// take adds a base or the segment that follows to the whole.
func (l *Standing) take(v *value) error {
	payload, err := v.payload()
	if err != nil {
		return err
	}
	if v.next < l.next {
		return v.damaged(errContent)
	}
	size := len(payload) + headerSize
	counts := l.wholeCounts.Plus(v.counts)
	if v.kind == base {
		if len(payload) < 8 || binary.BigEndian.Uint64(payload) > uint64(len(payload)-8) {
			return v.damaged(errContent)
		}
		n := binary.BigEndian.Uint64(payload)
		if l.whole.UnmarshalBinary(payload[8:8+n]) != nil {
			return v.damaged(errContent)
		}
		payload = payload[8+n:]
		l.written = written{epoch: v.epoch, base: size}
	} else {
		l.written.seq, l.written.segments = v.seq, l.written.segments+size
	}
	if len(payload) > 0 {
		if l.delta.UnmarshalBinary(payload) != nil || l.whole.Merge(l.delta) != nil {
			return v.damaged(errContent)
		}
	}
	if !plausible(counts) || l.whole.Records() != counts.Released { // held records are not assessed
		return v.damaged(errContent)
	}
	l.wholeCounts, l.next, l.written.next = counts, v.next, v.next
	return nil
}
