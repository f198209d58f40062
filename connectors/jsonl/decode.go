package jsonl

import (
	"cmp"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// plan says what becomes of each member in a pass.
type plan struct {
	carry bool
	slots int      // members whose values are decoded
	wants []int    // slot by Layout.Read
	nodes []action // by node
	fills []*node  // members of masked columns: where a record lacks one, a mask may still fill it
}

type action struct {
	slot int  // -1: not decoded
	out  int  // index in Layout.Release where a mask may change it, else -1
	keep bool // it, or some member of it, is released
}

func (s *source) plan(layout *microdata.Layout, carry bool) *plan {
	p := &plan{carry: carry, nodes: make([]action, len(s.tree.nodes))}
	for i := range p.nodes {
		p.nodes[i] = action{slot: -1, out: -1}
	}
	for _, w := range layout.Read {
		a := &p.nodes[s.tree.leaves[w.Field].id]
		if a.slot < 0 {
			a.slot = p.slots
			p.slots++
		}
		p.wants = append(p.wants, a.slot)
	}
	for i, o := range layout.Release {
		n := s.tree.leaves[o.Source]
		if o.Masked {
			p.nodes[n.id].out = i
			p.fills = append(p.fills, n)
		}
		for ; n != nil; n = n.parent {
			p.nodes[n.id].keep = true
		}
	}
	p.nodes[0].keep = true
	slices.SortFunc(p.fills, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	return p
}

type span struct{ start, end uint32 }

// edit is a place where what leaves differs from what came.
type edit struct {
	span
	out   int32 // the column that is written there, or cut
	into  *node // for a member that is missing: the object in which it is
	whole bool  // the object itself is missing (null), and the span is what is there instead
	comma bool  // the object has members before that leave
}

const cutOut = -1

// carried is what a block keeps of its text: Block.Carried.
type carried struct {
	chunk   *text.Chunk
	lines   []span // of the records, line end and white space around left out
	values  []span // of decoded members: record r of slot s is at s*records + r; empty where missing
	edits   []edit
	last    []uint32 // where the edits of each record end
	stamps  []int    // by node: the last record, from 1, that had it
	objects []object // by node: where the object of that record lies
	buf     []byte
}

type object struct {
	span
	comma bool
}

var carriedPool = sync.Pool{New: func() any { return new(carried) }}

func (c *carried) release() {
	c.chunk.Release()
	carriedPool.Put(c)
}

// sized returns s with n elements of the zero value.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

type raw struct {
	*reader
	chunk  *text.Chunk
	stream int
}

func (w *raw) Bytes() int64 { return w.chunk.Stored }

// Decode implements connectors.Raw.
func (w *raw) Decode(b *microdata.Block) error {
	// The block is used again: what it carried is not needed any more.
	if old, ok := b.Carried.(*carried); ok {
		old.release()
	}
	n := w.chunk.Records
	b.Reset(w.stream, w.chunk.First, n, len(w.layout.Read))
	c := carriedPool.Get().(*carried)
	c.chunk = w.chunk
	c.lines, c.values, c.last = sized(c.lines, n), sized(c.values, n*w.plan.slots), sized(c.last, n)
	c.stamps, c.objects = sized(c.stamps, len(w.tree.nodes)), sized(c.objects, len(w.tree.nodes))
	c.edits = c.edits[:0]
	clean := utf8.Valid(w.chunk.Data)
	s := scanner{carried: c, plan: w.plan, records: n, p: w.chunk.Data}
	broken := -1
	lines(w.chunk.Data, func(r, from, to int) {
		c.lines[r] = span{uint32(from), uint32(to)}
		edits := len(c.edits)
		s.column, s.reason = "", ""
		if !clean && !utf8.Valid(s.p[from:to]) {
			s.reason = text.NotUTF8
		} else {
			s.record(w.tree.root, r, from, to)
		}
		if s.reason != "" {
			b.Reject(r, s.column, s.reason)
			c.edits = c.edits[:edits]
			for slot := range w.plan.slots {
				c.values[slot*n+r] = span{}
			}
			if s.reason == notJSON && w.chunk.Final && to == len(s.p) {
				broken = r
			}
		}
		c.last[r] = uint32(len(c.edits))
	})
	if broken >= 0 {
		return &connectors.RecordError{Stream: w.Streams()[w.stream], Record: w.chunk.First + int64(broken) + 1,
			Reason: "the file is truncated: its last line has no end and is no valid JSON"}
	}
	for i, want := range w.layout.Read {
		values := c.values[w.plan.wants[i]*n:][:n]
		if want.As == microdata.Array {
			w.array(b, &b.Columns[i], c, values, want.Field)
		} else {
			w.numbers(b, &b.Columns[i], c, values, want)
		}
	}
	if w.plan.carry {
		b.Carried = c
	} else {
		c.release()
	}
	return nil
}

// numbers decodes a member of every record to float64.
func (w *raw) numbers(b *microdata.Block, col *microdata.Column, c *carried, values []span, want microdata.Want) {
	field := w.schema.Fields[want.Field]
	float := field.Type.ID() == arrow.FLOAT64
	v := col.Alloc(b.N, false)
	for r, at := range values {
		p := w.chunk.Data[at.start:at.end]
		v.Values[r] = 0
		if len(p) == 0 || p[0] == 'n' {
			if v.Valid == nil {
				v = col.Alloc(b.N, true) // the same values, and now a bitmap
			}
			v.Valid.Clear(r)
			continue
		}
		if p[0] != '-' && p[0]-'0' > 9 {
			b.Reject(r, field.Name, text.NotA(field.Type))
			continue
		}
		if float {
			if x, ok := text.ParseFloat(p); ok {
				v.Values[r] = x
				continue
			}
		}
		x, reason := text.ParseNumber(p, field.Type)
		if reason == text.TooWide && want.Measured {
			x, _ = text.ParseFloat(p)
			reason = ""
		}
		if reason != "" {
			b.Reject(r, field.Name, reason)
			continue
		}
		v.Values[r] = x
	}
}

// array decodes a member of every record to Arrow.
func (w *raw) array(b *microdata.Block, col *microdata.Column, c *carried, values []span, f int) {
	field, json := w.schema.Fields[f], w.tree.leaves[f].raw
	size := 0
	for _, at := range values {
		size += int(at.end - at.start)
	}
	build := text.NewBuilder(field.Type, b.N, size)
	inQuotes := field.Type.ID() == arrow.STRING || field.Type.ID() == arrow.DATE32 || field.Type.ID() == arrow.TIMESTAMP
	for r, at := range values {
		p := w.chunk.Data[at.start:at.end]
		if len(p) == 0 || p[0] == 'n' {
			build.Null()
			continue
		}
		reason := ""
		switch {
		case json:
			reason = build.Append(p)
		case inQuotes != (p[0] == '"'):
			build.Null()
			reason = text.NotA(field.Type)
		case inQuotes:
			content, ok := unquote(c.buf[:0], p)
			c.buf = content
			if !ok {
				content = []byte{0xff} // half a surrogate pair
			}
			reason = build.Append(content)
		default:
			reason = build.Append(p)
		}
		if reason != "" {
			b.Reject(r, field.Name, reason)
		}
	}
	col.Array = build.Array()
}
