package arrow

import (
	"cmp"
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// writer writes one message for each message of the source or, if the source is not a
// topic, for each batch of up to records records.
type writer struct {
	layout  *microdata.Layout
	ours    bool // the source is of this format
	topic   bool // the source is a topic
	records int
	values  *arrowipc.ValueWriter
}

func newWriter(c *Config, r message.WriteRequest) (*writer, error) {
	src, ours := r.Reader.(*reader)
	w := &writer{layout: r.Layout, ours: ours, topic: r.Reader != nil, records: cmp.Or(c.Records, DefaultRecords)}
	fields := make([]arrow.Field, len(r.Layout.Release))
	for i, o := range r.Layout.Release {
		fields[i] = arrow.Field{Name: o.Field.Name, Type: o.Field.Type, Nullable: o.Field.Nullable}
		if !ours {
			continue
		}
		from := src.arrow.Field(o.Source)
		fields[i].Metadata = from.Metadata
		if from.Type.ID() == arrow.DICTIONARY && o.Column < 0 {
			fields[i].Type = from.Type
		}
	}
	var err error
	if w.values, err = arrowipc.NewValueWriter(fields, cmp.Or(c.Compression, "none")); err != nil {
		return nil, fmt.Errorf("topic %s: %w", r.Topic, err)
	}
	return w, nil
}

// Carries implements message.Writer.
func (w *writer) Carries() bool { return w.ours }

// batch is a range of a block's rows that becomes a record batch.
type batch struct {
	from, to int
	columns  []arrow.Array // that are carried, by place in the release
}

// Encode implements message.Writer.
func (w *writer) Encode(ctx context.Context, b *microdata.Block) (message.Released, error) {
	var out message.Released
	if b.Kept() == 0 {
		return out, nil
	}
	numbers := w.numbers(b)
	kept := keptBefore(b)
	add := func(source int, batches []batch) error {
		first, last := batches[0].from, batches[len(batches)-1].to
		if kept(last) == kept(first) {
			return nil // none of its records is released
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		parts := make([][]arrowipc.Part, len(batches))
		for i, t := range batches {
			var err error
			if parts[i], err = w.parts(b, t, numbers, kept); err != nil {
				return err
			}
		}
		value, err := w.values.Encode(parts)
		if err != nil {
			return err
		}
		out.Values = append(out.Values, value)
		out.Source = append(out.Source, int32(source))
		return nil
	}
	return out, w.messages(b, kept, add)
}

// messages calls add with the rows of each message to write.
func (w *writer) messages(b *microdata.Block, kept func(int) int, add func(source int, batches []batch) error) error {
	if c, ok := b.Carried.(*carried); ok && w.ours {
		return carriedMessages(c, add)
	}
	if !w.topic {
		return w.filled(b, kept, add)
	}
	source := 0
	for from := 0; from < b.N; source++ {
		to := from + 1
		for w.ours && to < b.N && b.Place(to)>>message.RowBits == b.Place(from)>>message.RowBits {
			to++
		}
		if err := add(source, []batch{{from: from, to: to}}); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// carriedMessages calls add once for each well-formed message of the source, with its
// batches.
func carriedMessages(c *carried, add func(source int, batches []batch) error) error {
	for i, m := range c.messages {
		var batches []batch
		at := m.first
		for _, t := range m.batches {
			batches = append(batches, batch{at, at + t.rows, t.columns})
			at += t.rows
		}
		if batches == nil {
			continue // malformed: its record is rejected
		}
		if err := add(i, batches); err != nil {
			return err
		}
	}
	return nil
}

// filled forms messages of up to the greatest number of records, for a source without
// messages.
func (w *writer) filled(b *microdata.Block, kept func(int) int, add func(source int, batches []batch) error) error {
	for from := 0; from < b.N; {
		to := from
		for to < b.N && kept(to+1)-kept(from) <= w.records {
			to++
		}
		for from < to && kept(from+1) == kept(from) {
			from++ // the source of the message is its first released record
		}
		if from < to {
			if err := add(from, []batch{{from: from, to: to}}); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// keptBefore returns a function that returns the number of released records before row
// i.
func keptBefore(b *microdata.Block) func(i int) int {
	if b.Whole() {
		return func(i int) int { return i }
	}
	before := make([]int, b.N+1)
	for i := range b.N {
		before[i+1] = before[i]
		if !b.Rejected(i) {
			before[i+1]++
		}
	}
	return func(i int) int { return before[i] }
}

// numbers returns the released numeric columns, without rejected records, by index in
// the release.
func (w *writer) numbers(b *microdata.Block) []arrow.Array {
	out := make([]arrow.Array, len(w.layout.Release))
	for i, o := range w.layout.Release {
		if o.Column >= 0 && w.layout.Read[o.Column].As == microdata.Numbers {
			out[i] = microdata.ToArray(b.Columns[o.Column].Out(), b.N, o.Field, b.Keep())
		}
	}
	return out
}

// parts returns the columns of a batch.
func (w *writer) parts(b *microdata.Block, t batch, numbers []arrow.Array, kept func(int) int) ([]arrowipc.Part,
	error) {
	parts := make([]arrowipc.Part, len(w.layout.Release))
	for i, o := range w.layout.Release {
		switch {
		case numbers[i] != nil:
			parts[i] = arrowipc.Part{Array: numbers[i], From: kept(t.from), To: kept(t.to)}
		case o.Column >= 0:
			parts[i] = arrowipc.Part{Array: b.Columns[o.Column].OutArray(), From: t.from, To: t.to, Keep: b.Keep()}
		case t.columns != nil && t.columns[i] != nil:
			parts[i] = arrowipc.Part{Array: t.columns[i], To: t.to - t.from, At: t.from, Keep: b.Keep()}
		default:
			return nil, fmt.Errorf("column %s was not carried by its source", o.Field.Name)
		}
	}
	return parts, nil
}
