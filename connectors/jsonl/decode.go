package jsonl

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

type raw struct {
	*reader
	chunk  *text.Chunk
	stream int
}

func (w *raw) Bytes() int64 { return w.chunk.Stored }

// Decode implements connectors.Raw.
func (w *raw) Decode(b *microdata.Block) error {
	members.Reuse(b)
	n := w.chunk.Records
	b.Reset(w.stream, w.chunk.First, n, len(w.layout.Read))
	c := w.plan.Records(n)
	c.Use(w.chunk.Data, w.chunk.Release)
	broken := -1
	lines(c.Data, func(r, from, to int) {
		if c.Scan(b, r, from, to) == members.NotJSON && w.chunk.Final && to == len(c.Data) {
			broken = r
		}
	})
	if broken >= 0 {
		return &connectors.RecordError{Stream: w.Streams()[w.stream], Record: w.chunk.First + int64(broken) + 1,
			Reason: "the file is truncated: its last line has no end and is no valid JSON"}
	}
	for i, want := range w.layout.Read {
		switch {
		case want.As != microdata.Array:
			c.Numbers(b, i, false)
		case w.tree.Text(want.Field):
			b.Columns[i].Array = c.JSONText(i)
		default:
			b.Columns[i].Array = typed(b, c, i, w.schema.Fields[want.Field])
		}
	}
	if w.plan.Carries() {
		b.Carried = c
	} else {
		c.Release()
	}
	return nil
}

// typed decodes a member of every record to Arrow.
func typed(b *microdata.Block, c *members.Records, i int, field microdata.Field) arrow.Array {
	values := c.Values(i)
	size := 0
	for _, at := range values {
		size += int(at.End - at.Start)
	}
	build := text.NewBuilder(field.Type, b.N, size)
	inQuotes := field.Type.ID() == arrow.STRING || field.Type.ID() == arrow.DATE32 || field.Type.ID() == arrow.TIMESTAMP
	var content []byte
	for r, at := range values {
		p := c.Data[at.Start:at.End]
		if members.IsNull(p) {
			build.Null()
			continue
		}
		reason := ""
		switch {
		case inQuotes != (p[0] == '"'):
			build.Null()
			reason = text.NotA(field.Type)
		case inQuotes:
			var ok bool
			if content, ok = members.Unquote(content[:0], p); !ok {
				content = append(content[:0], 0xff) // half a surrogate pair
			}
			reason = build.Append(content)
		default:
			reason = build.Append(p)
		}
		if reason != "" {
			b.Reject(r, field.Name, reason)
		}
	}
	return build.Array()
}
