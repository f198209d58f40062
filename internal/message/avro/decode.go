package avro

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// decoder decodes runs for one layout.
type decoder struct {
	reader *reader
	layout *microdata.Layout
	carry  bool

	plans sync.Map // *written → *plan
	spare sync.Pool
}

// plan describes how the fields of one schema are decoded to the wanted columns.
type plan struct {
	written *written
	nodes   []*node
	cells   []cell // by want
}

// rows holds the positions of the fields of a run's records. It is the data of
// Block.Carried.
type rows struct {
	reader *reader
	values [][]byte
	plans  []*plan  // by row; nil: rejected
	starts []int    // by row, in ends
	ends   []uint32 // of a row: begin of its first field, and end of each field
}

// Decoder implements message.Reader.
func (r *reader) Decoder(layout *microdata.Layout, carry bool) (message.Decoder, error) {
	for _, w := range layout.Read {
		f := r.schema.Fields[w.Field]
		if r.fields[w.Field].cyclic {
			return nil,
				fmt.Errorf(
					"column %s has a type that contains itself: it can be withheld or released to Avro as it is, not decoded", f.Name)
		}
		if w.As == microdata.Numbers && !f.Numeric() {
			return nil, fmt.Errorf("column %s has type %s, which holds no numbers", f.Name, microdata.TypeName(f.Type))
		}
	}
	return &decoder{reader: r, layout: layout, carry: carry}, nil
}

// Decode implements message.Decoder.
func (d *decoder) Decode(ctx context.Context, b *microdata.Block, run *message.Run) error {
	at := d.take(b)
	n := len(run.Values)
	first := int64(0)
	if n > 0 {
		first = run.Offsets[0]
	}
	b.Reset(run.Stream, first, n, len(d.layout.Read))
	b.Scope = run.Scope
	if n > 0 && run.Offsets[n-1]-first != int64(n-1) {
		b.Places = run.Offsets
	}
	if err := d.walk(ctx, b, run, at); err != nil {
		return err
	}
	for i, w := range d.layout.Read {
		c := columnDecoder{block: b, rows: at, want: i, field: d.layout.Schema.Fields[w.Field]}
		if w.As == microdata.Numbers {
			c.numbers(&b.Columns[i], w.Measured)
		} else {
			b.Columns[i].Array = c.array()
		}
	}
	if d.carry {
		b.Carried = at
	} else {
		d.give(at)
	}
	return nil
}

// take returns memory for the spans of a run: that of the block's previous data, which
// is no longer needed, or that of an earlier run.
func (d *decoder) take(b *microdata.Block) *rows {
	if old, ok := b.Carried.(*rows); ok {
		return old
	}
	if spare, ok := d.spare.Get().(*rows); ok {
		return spare
	}
	return &rows{}
}

func (d *decoder) give(at *rows) {
	at.values = nil // the run's
	d.spare.Put(at)
}

// Reasons for rejecting records. None contains a value.
const (
	notFramed = "is not in the frame of a schema registry: a zero byte and four of the schema's number must come first"
	malformed = "is not what its schema says: it is truncated, or a length or a number in it is malformed"
	trailing  = "has bytes after the end of the record"
)

// walk finds the positions of the fields of every record.
func (d *decoder) walk(ctx context.Context, b *microdata.Block, run *message.Run, at *rows) error {
	at.reader, at.values = d.reader, run.Values
	at.plans, at.starts, at.ends = at.plans[:0], at.starts[:0], at.ends[:0]
	var (
		current *plan
		id      uint32
		bad     *schemaError
		known   bool // id is of current or bad
	)
	ends := at.ends
	for row, v := range run.Values {
		at.plans, at.starts = append(at.plans, nil), append(at.starts, len(ends))
		got, _, ok := registry.Header(v)
		if !ok {
			b.Reject(row, "", notFramed)
			continue
		}
		if !known || got != id {
			id, known, current, bad = got, true, nil, nil
			w, err := d.reader.lookup(ctx, id)
			switch {
			case errors.As(err, &bad):
			case err != nil:
				return fmt.Errorf("topic %s, partition %d, offset %d: %w", run.Scope, run.Stream, run.Offsets[row], err)
			case len(w.unlisted) > 0 && !d.reader.dropUnlisted:
				return &message.UnlistedError{
					Stream: fmt.Sprintf("topic %s, partition %d, offset %d", run.Scope, run.Stream, run.Offsets[row]),
					Places: w.unlisted,
				}
			default:
				current = d.plan(w)
			}
		}
		if bad != nil {
			b.Reject(row, "", bad.reason)
			continue
		}
		place := registry.HeaderSize
		ends = append(ends, uint32(place))
		for _, n := range current.nodes {
			if place = n.skip(v, place, 0); place < 0 {
				break
			}
			ends = append(ends, uint32(place))
		}
		switch {
		case place < 0:
			b.Reject(row, "", malformed)
		case place != len(v):
			b.Reject(row, "", trailing)
		default:
			at.plans[row] = current
		}
	}
	at.ends = ends
	return nil
}

// plan returns the plan for messages of a schema.
func (d *decoder) plan(w *written) *plan {
	if p, ok := d.plans.Load(w); ok {
		return p.(*plan)
	}
	p := &plan{written: w, cells: make([]cell, len(d.layout.Read))}
	for _, f := range w.record.node.fields {
		p.nodes = append(p.nodes, f.node)
	}
	for i, want := range d.layout.Read {
		p.cells[i] = newCell(w, want.Field, d.layout.Schema.Fields[want.Field])
	}
	kept, _ := d.plans.LoadOrStore(w, p)
	return kept.(*plan)
}
