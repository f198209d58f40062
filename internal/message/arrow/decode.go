package arrow

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// maxRows is the greatest number of records of a message: their row numbers are part of
// their places.
const maxRows = 1 << message.RowBits

const (
	reasonEmpty   = "the message has no value"
	reasonNoRows  = "the message holds no record"
	reasonWide    = "holds a number that has more digits than masks compute with"
	reasonMissing = "the message has nulls in a column that its schema file says has none"
)

type decoder struct {
	*reader
	layout *microdata.Layout
	carry  bool
	needed []bool // by field: looked at
}

// part is the result of reading a message.
type part struct {
	value          *arrowipc.Value
	places         []int // of the reader's columns in the value
	rows           int   // 1 if it is malformed
	column, reason string
}

// carried is the data of Block.Carried: what a block keeps of its messages.
type carried struct {
	messages []carriedMessage
}

type carriedMessage struct {
	first   int // row of the block
	batches []carriedBatch
}

// carriedBatch is a record batch; columns are by index in Layout.Release, nil if the
// block has the column decoded.
type carriedBatch struct {
	rows    int
	columns []arrow.Array
}

// Decode implements message.Decoder. A malformed message is one rejected record.
func (d *decoder) Decode(ctx context.Context, b *microdata.Block, run *message.Run) error {
	parts := make([]part, len(run.Values))
	n := 0
	for i, v := range run.Values {
		if err := ctx.Err(); err != nil {
			return err
		}
		if off := run.Offsets[i]; off < 0 || off > 1<<(63-message.RowBits)-1 {
			return fmt.Errorf("topic %s, partition %d: offset %d is beyond what places of records can tell", run.Scope,
				run.Stream, off)
		}
		if err := d.message(&parts[i], v); err != nil {
			var extra unlisted
			if errors.As(err, &extra) {
				return &message.UnlistedError{
					Stream: fmt.Sprintf("topic %s, partition %d, offset %d", run.Scope, run.Stream, run.Offsets[i]), Places: extra}
			}
			return err
		}
		n += parts[i].rows
	}
	first := int64(0)
	if len(run.Offsets) > 0 {
		first = run.Offsets[0] << message.RowBits
	}
	b.Reset(run.Stream, first, n, len(d.layout.Read))
	b.Scope = run.Scope
	b.Places = make([]int64, 0, n)
	for i := range parts {
		if parts[i].reason != "" {
			b.Reject(len(b.Places), parts[i].column, parts[i].reason)
		}
		for row := range parts[i].rows {
			b.Places = append(b.Places, run.Offsets[i]<<message.RowBits|int64(row))
		}
	}
	for i, w := range d.layout.Read {
		if err := d.column(b, &b.Columns[i], parts, w); err != nil {
			return err
		}
	}
	if d.carry {
		b.Carried = d.carries(parts)
	}
	return nil
}

// message reads one message. Its error is of type unlisted.
func (d *decoder) message(p *part, value []byte) error {
	p.rows = 1
	if len(value) == 0 {
		p.reason = reasonEmpty
		return nil
	}
	v, err := arrowipc.ReadValue(value, maxRows, func(s *arrow.Schema) (columns []int, err error) {
		if p.places, err = d.match(s, d.needed); err != nil {
			return nil, err
		}
		for k, at := range p.places {
			if d.needed[k] && at >= 0 {
				columns = append(columns, at)
			}
		}
		return columns, nil
	})
	switch extra := (unlisted)(nil); {
	case errors.As(err, &extra):
		return extra
	case err != nil:
		p.column, p.reason = reasonOf(err)
		return nil
	case v.Rows == 0:
		p.reason = reasonNoRows
		return nil
	}
	for k, f := range d.schema.Fields {
		if f.Nullable || !d.needed[k] {
			continue
		}
		for _, rec := range v.Batches {
			if hasNulls(rec.Column(p.places[k])) {
				p.column, p.reason = f.Name, reasonMissing
				return nil
			}
		}
	}
	p.value, p.rows = v, v.Rows
	return nil
}

func hasNulls(a arrow.Array) bool {
	if d, ok := a.(*array.Dictionary); ok && d.Dictionary().NullN() > 0 {
		return true
	}
	return a.NullN() > 0
}

// column concatenates the values that the messages have in a column.
func (d *decoder) column(b *microdata.Block, c *microdata.Column, parts []part, w microdata.Want) error {
	f := d.schema.Fields[w.Field]
	var arrays []arrow.Array
	blanks := 0
	flush := func() {
		if blanks > 0 {
			arrays = append(arrays, arrowipc.Nulls(f.Type, blanks))
			blanks = 0
		}
	}
	for i := range parts {
		p := &parts[i]
		if p.value == nil {
			blanks += p.rows
			continue
		}
		flush()
		for _, rec := range p.value.Batches {
			arrays = append(arrays, arrowipc.Plain(rec.Column(p.places[w.Field])))
		}
	}
	flush()
	if len(arrays) == 0 {
		arrays = append(arrays, arrowipc.Nulls(f.Type, 0))
	}
	a, err := arrowipc.Join(arrays)
	if err != nil {
		return fmt.Errorf("topic %s, partition %d: column %s of %d records cannot be put together: %w", b.Scope, b.Stream,
			f.Name, b.N, err)
	}
	if w.As == microdata.Array {
		c.Array = a
		return nil
	}
	for _, row := range microdata.NumbersOf(a, c) {
		if w.Measured {
			c.Original.Values[row] = arrowipc.Nearest(a, row)
		} else {
			b.Reject(row, f.Name, reasonWide)
		}
	}
	return nil
}

// carries returns the messages' batches for a writer of this format.
func (d *decoder) carries(parts []part) *carried {
	c := &carried{messages: make([]carriedMessage, 0, len(parts))}
	at := 0
	for i := range parts {
		p := &parts[i]
		m := carriedMessage{first: at}
		at += p.rows
		if p.value != nil {
			m.batches = make([]carriedBatch, len(p.value.Batches))
			for k, rec := range p.value.Batches {
				m.batches[k] = carriedBatch{int(rec.NumRows()), make([]arrow.Array, len(d.layout.Release))}
				for j, o := range d.layout.Release {
					if o.Column < 0 {
						m.batches[k].columns[j] = rec.Column(p.places[o.Source])
					}
				}
			}
		}
		c.messages = append(c.messages, m)
	}
	return c
}
