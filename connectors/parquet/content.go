package parquet

import (
	"context"
	"fmt"
	"io"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Content writes the contents of a stream's files, whose names and times other code chooses: any
// number of files at once, from blocks of any source except Parquet.
type Content struct {
	design sink
}

// File is a file that a release is written to.
type File interface {
	io.Writer
	Sync() error
}

// Content prepares files of the layout's release, whose columns are all decoded.
// It returns an error if a column cannot be stored in Parquet.
func (c *SinkConfig) Content(layout *microdata.Layout) (*Content, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	k := &Content{design: sink{cfg: *c}}
	if err := k.design.design(layout); err != nil {
		return nil, err
	}
	return k, nil
}

// Encode encodes the released columns of a block, without its rejected records, for
// Append. Safe for concurrent use.
func (k *Content) Encode(b *microdata.Block) (connectors.Encoded, error) { return k.design.Encode(b) }

// Records returns how many records of an encoded block are released.
func (k *Content) Records(e connectors.Encoded) int64 {
	n := int64(0)
	if b, ok := e.(*encoded); ok {
		for i := range b.parts {
			n += int64(b.parts[i].kept)
		}
	}
	return n
}

// Output is one file of a stream. It belongs to one goroutine at a time.
type Output struct {
	to      sink
	records int64
}

// Begin begins a file. The caller must close it, after Finish or an error.
func (k *Content) Begin(f File) (*Output, error) {
	o := &Output{to: k.design}
	meta, err := o.to.metadata()
	if err != nil {
		return nil, err
	}
	if o.to.out, err = newOutput(unclosed{f}, meta, nil); err == nil && o.to.cfg.table != nil {
		o.to.out.known = o.to.tells("")
	}
	return o, err
}

// Append adds an encoded block. Row groups are written when they are large enough, and
// by Flush.
func (o *Output) Append(ctx context.Context, e connectors.Encoded) error {
	b, ok := e.(*encoded)
	if !ok {
		return fmt.Errorf("a block was not encoded for Parquet but as %T", e)
	}
	for i := range b.parts {
		if err := o.to.add(ctx, &b.parts[i]); err != nil {
			return err
		}
		o.records += int64(b.parts[i].kept)
	}
	return nil
}

// Records returns the number of records so far.
func (o *Output) Records() int64 { return o.records }

// Pending returns approximately how many bytes of the file are in memory.
func (o *Output) Pending() int64 {
	if o.to.group == nil {
		return 0
	}
	// Pages of few distinct values are encoded with the row group only; until then they
	// have an index for each value.
	return int64(o.to.group.bytes) + 4*o.to.group.rows*int64(len(o.to.leaves))
}

// Bytes returns the approximate size of the file, including what has not been written yet.
func (o *Output) Bytes() int64 {
	n := o.to.out.at
	if o.to.group != nil {
		n += int64(o.to.group.bytes)
	}
	return n
}

// Flush writes the part of the file that is in memory as a row group.
func (o *Output) Flush(ctx context.Context) error { return o.to.flush(ctx) }

// Finish writes the rest and the footer, and syncs. Nothing comes after it.
func (o *Output) Finish(ctx context.Context) error {
	if err := o.to.flush(ctx); err != nil {
		return err
	}
	return o.to.out.finish()
}
