package protobuf

import (
	"context"
	"encoding/binary"
	"math"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

type decoder struct {
	*reader
	layout *microdata.Layout
	carry  bool
	slots  []int // by column: slot in which it is decoded; -1: not decoded
	wanted []int // column by slot

	mu    sync.Mutex
	plans map[planKey]*plan
}

// States of a slot of a record.
const (
	absent  = iota // not in the message
	present        // the value is in raw
	lacking        // the writer's schema does not have the field, or the record is malformed
)

// edit is a place of a message where the released message differs from the original.
type edit struct {
	start, end uint32
	to         int32 // the masked field (index in plan.masked) that is written there, or one of the constants below
}

const (
	toNothing = -1
	toClean   = -2 // the released part of a nested message
)

// carried is the data of Block.Carried: what a block keeps of its messages.
type carried struct {
	values [][]byte
	plans  []*plan  // by record; nil if it is malformed
	starts []uint32 // begin of the message in its value, after the header
	last   []uint32 // end of the edits of each record
	edits  []edit
	raw    []uint64 // of slot s and record r at s*records + r
	state  []uint8
	stamps []int32 // by field, and then by oneof: the last record, from 1, that had it
}

var carriedPool = sync.Pool{New: func() any { return new(carried) }}

func (c *carried) release() {
	c.values = nil
	clear(c.plans)
	carriedPool.Put(c)
}

// sized returns s with n elements of unspecified values.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// maxValue is the greatest length of a message: positions in it have 32 bits.
const maxValue = math.MaxInt32

// Decode implements message.Decoder.
func (d *decoder) Decode(ctx context.Context, b *microdata.Block, run *message.Run) error {
	if old, ok := b.Carried.(*carried); ok {
		old.release()
	}
	n := len(run.Values)
	first := int64(0)
	if n > 0 {
		first = run.Offsets[0]
	}
	b.Reset(run.Stream, first, n, len(d.layout.Read))
	b.Scope, b.Places = run.Scope, run.Offsets
	c := carriedPool.Get().(*carried)
	c.values = run.Values
	c.plans, c.starts, c.last = sized(c.plans, n), sized(c.starts, n), sized(c.last, n)
	c.raw, c.state = sized(c.raw, n*len(d.wanted)), sized(c.state, n*len(d.wanted))
	c.edits = c.edits[:0]
	if err := d.messages(ctx, b, c, run); err != nil {
		c.release()
		return err
	}
	for i, w := range d.layout.Read {
		d.column(b, &b.Columns[i], c, w)
	}
	if d.carry {
		b.Carried = c
	} else {
		c.release()
	}
	return nil
}

// messages scans the messages of a run.
func (d *decoder) messages(ctx context.Context, b *microdata.Block, c *carried, run *message.Run) error {
	n := len(run.Values)
	var frame []byte // of the previous message
	var p *plan
	var buf [maxNesting]int
	for r, v := range run.Values {
		c.plans[r] = nil
		edits := len(c.edits)
		column, reason := "", ""
		if p == nil || len(v) < len(frame) || string(v[:len(frame)]) != string(frame) {
			var err error
			p, frame, reason, err = d.frame(ctx, run.Scope, v, buf[:0])
			if err != nil {
				return err
			}
			if p != nil {
				c.stamps = sized(c.stamps, p.fields+p.oneofs)
				clear(c.stamps)
			}
		}
		switch {
		case reason != "":
		case len(p.unlisted) > 0 && !d.dropUnlisted:
			return p.unlistedAt(run, r)
		case p.mismatch.reason != "":
			column, reason = p.mismatch.column, p.mismatch.reason
		case len(v) > maxValue:
			reason = reasonWire
		default:
			column, reason = d.record(c, p, r, n, v, len(frame))
		}
		if reason != "" {
			b.Reject(r, column, reason)
			c.edits = c.edits[:edits]
			for slot := range d.wanted {
				c.state[slot*n+r] = lacking
			}
		} else {
			c.plans[r], c.starts[r] = p, uint32(len(frame))
		}
		c.last[r] = uint32(len(c.edits))
	}
	return nil
}

// frame reads the frame of a message.
func (d *decoder) frame(ctx context.Context, topic string, v []byte, buf []int) (p *plan, frame []byte, reason string,
	err error) {
	if len(v) == 0 {
		return nil, nil, reasonEmpty, nil
	}
	id, rest, ok := registry.Header(v)
	if !ok {
		return nil, nil, reasonFrame, nil
	}
	indexes, body, ok := registry.Indexes(rest, buf, maxNesting)
	if !ok {
		return nil, nil, reasonFrame, nil
	}
	frame = v[:len(v)-len(body)]
	p, reason, err = d.planFor(ctx, planKey{topic, id, string(registry.AppendIndexes(nil, indexes))}, indexes)
	return p, frame, reason, err
}

// record scans a message, which begins at position at of its value.
func (d *decoder) record(c *carried, p *plan, r, n int, v []byte, at int) (column, reason string) {
	stamp := int32(r + 1)
	for slot, f := range p.slots {
		if f == nil {
			c.state[slot*n+r] = lacking
		} else {
			c.state[slot*n+r] = absent
		}
	}
	for at < len(v) {
		w, ok := scan(v, at)
		if !ok {
			return "", reasonWire
		}
		at = w.end
		f := p.field(w.number)
		if f == nil { // the writer's schema does not have the field, so its meaning is unknown
			c.cut(r, w.start, w.end)
			continue
		}
		if w.typ != f.wire && !(f.packable && w.typ == protowire.BytesType) {
			return string(f.desc.Name()), reasonWire
		}
		if !f.list {
			if reason := c.once(p, f, stamp); reason != "" {
				return string(f.desc.Name()), reason
			}
		}
		if f.slot >= 0 {
			c.raw[f.slot*n+r], c.state[f.slot*n+r] = normal(f.kind, w.value), present
		}
		if !c.edit(f, r, v, w) {
			return string(f.desc.Name()), reasonNested
		}
	}
	for _, f := range p.required {
		if c.stamps[f.id] != stamp {
			return string(f.desc.Name()), reasonRequired
		}
	}
	if d.carry {
		c.editMasked(p, at)
	}
	return "", ""
}

// editMasked adds edits at the end of a message for all masked fields. They are not written in
// the places that they had: a field that was absent, and got a value by a mask (the noise on a
// zero, a value of another record), has none.
func (c *carried) editMasked(p *plan, at int) {
	for i := range p.masked {
		c.edits = append(c.edits, edit{uint32(at), uint32(at), int32(i)})
	}
}

// scanned is a field in a message.
type scanned struct {
	number     protowire.Number
	typ        protowire.Type
	value      uint64 // value of a number; begin and end of bytes
	start, end int    // with its tag
}

// scan reads the field at v[at]; ok is false if it is malformed or truncated.
func scan(v []byte, at int) (w scanned, ok bool) {
	w.start = at
	tag, size := uint64(v[at]), 1
	if tag >= 0x80 {
		if tag, size = protowire.ConsumeVarint(v[at:]); size < 0 {
			return w, false
		}
	}
	at += size
	w.number, w.typ = protowire.DecodeTag(tag)
	if w.number < protowire.MinValidNumber {
		return w, false
	}
	switch w.typ {
	case protowire.VarintType:
		w.value, size = protowire.ConsumeVarint(v[at:])
	case protowire.Fixed32Type:
		if size = 4; at+size > len(v) {
			return w, false
		}
		w.value = uint64(binary.LittleEndian.Uint32(v[at:]))
	case protowire.Fixed64Type:
		if size = 8; at+size > len(v) {
			return w, false
		}
		w.value = binary.LittleEndian.Uint64(v[at:])
	case protowire.BytesType:
		var length uint64
		if length, size = protowire.ConsumeVarint(v[at:]); size < 0 || length > uint64(len(v)-at-size) {
			return w, false
		}
		at += size
		size = int(length)
		w.value = uint64(at)<<32 | uint64(at+size)
	case protowire.StartGroupType:
		size = protowire.ConsumeFieldValue(w.number, w.typ, v[at:])
	default:
		size = -1
	}
	w.end = at + size
	return w, size >= 0
}

// once returns a reason if a field, or another one of its oneof, occurs again in a
// message although it must not. Repeated occurrences of a nested message are merged.
func (c *carried) once(p *plan, f *field, stamp int32) (reason string) {
	if c.stamps[f.id] == stamp {
		if f.wire != protowire.StartGroupType && f.kind != protoreflect.MessageKind {
			return reasonTwice
		}
		return ""
	}
	if f.oneof >= 0 {
		if c.stamps[p.fields+f.oneof] == stamp {
			return reasonOneof
		}
		c.stamps[p.fields+f.oneof] = stamp
	}
	c.stamps[f.id] = stamp
	return ""
}

// edit adds the edits of a field for the release; it returns false if a message in the
// field cannot be read.
func (c *carried) edit(f *field, r int, v []byte, w scanned) bool {
	switch {
	case !f.keep, f.out >= 0:
		c.cut(r, w.start, w.end)
	case f.node != nil:
		switch f.node.inspect(nestedOf(w.number, w.typ, v, w.start, w.end), 1) {
		case broken:
			return false
		case dirty:
			c.edits = append(c.edits, edit{uint32(w.start), uint32(w.end), toClean})
		}
	}
	return true
}

// cut adds an edit that omits a part of record r.
func (c *carried) cut(r, start, end int) {
	k := len(c.edits) - 1
	own := r == 0 || k >= int(c.last[r-1])
	if k >= 0 && own && c.edits[k].to == toNothing && int(c.edits[k].end) == start {
		c.edits[k].end = uint32(end)
		return
	}
	c.edits = append(c.edits, edit{uint32(start), uint32(end), toNothing})
}

// nestedOf returns the message in the field from start to end.
func nestedOf(number protowire.Number, typ protowire.Type, v []byte, start, end int) []byte {
	_, _, size := protowire.ConsumeTag(v[start:end])
	return inner(number, typ, v[start+size:end])
}

// normal returns a number in the representation of its class.
func normal(k protoreflect.Kind, v uint64) uint64 {
	switch k {
	case protoreflect.BoolKind:
		if v != 0 {
			return 1
		}
	case protoreflect.Int32Kind, protoreflect.EnumKind, protoreflect.Sfixed32Kind:
		return uint64(int64(int32(v)))
	case protoreflect.Sint32Kind:
		return uint64(int64(int32(protowire.DecodeZigZag(v & math.MaxUint32))))
	case protoreflect.Uint32Kind:
		return uint64(uint32(v))
	case protoreflect.Sint64Kind:
		return uint64(protowire.DecodeZigZag(v))
	case protoreflect.FloatKind:
		return math.Float64bits(float64(math.Float32frombits(uint32(v))))
	}
	return v
}
