package arrowipc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// output is one file or stream that is being written.
type output struct {
	sink         *sink
	w            *bufio.Writer
	at           int64
	batches      []fileBlock
	dictionaries []fileBlock
	memos        map[int]*memo // by column: a file has one dictionary for all its batches
}

func (s *sink) begin(w io.Writer) (*output, error) {
	o := &output{sink: s, w: bufio.NewWriterSize(w, 1<<18), memos: map[int]*memo{}}
	if s.format == formatFile {
		if err := o.raw([]byte(magic + "\x00\x00")); err != nil {
			return nil, err
		}
	}
	_, err := o.message(s.head)
	return o, err
}

func (o *output) raw(p []byte) error {
	n, err := o.w.Write(p)
	o.at += int64(n)
	return err
}

func (o *output) message(m message) (fileBlock, error) {
	b := fileBlock{o.at, int32(len(m.meta)), int64(len(m.body))}
	if err := o.raw(m.meta); err != nil {
		return b, err
	}
	return b, o.raw(m.body)
}

// write appends a block.
func (o *output) write(b *block) error {
	for i, p := range b.pending {
		if err := o.settle(b, i, p); err != nil {
			return err
		}
	}
	if b.pending != nil {
		b.pending = nil
		if err := o.sink.encode(b); err != nil {
			return err
		}
	}
	for _, m := range b.messages {
		place, err := o.message(m)
		if err != nil {
			return err
		}
		if m.kind == ipc.MessageRecordBatch {
			o.batches = append(o.batches, place)
		}
	}
	return nil
}

// settle converts a block's dictionary column to the numbers of the file's dictionary.
func (o *output) settle(b *block, i int, p pending) error {
	m := o.memos[i]
	if m == nil {
		m = &memo{}
		o.memos[i] = m
	}
	c := o.sink.columns[i]
	places := m.number(p.dict, []stretch{{0, p.dict.Len()}})
	for k, n := range p.numbers {
		if n >= 0 {
			p.numbers[k] = places[n]
		}
	}
	var err error
	if b.columns[i], err = indexed(c.dict, p.numbers, o.sink.noValues[i]); err != nil {
		return fmt.Errorf("%s: column %s: %w", o.sink.config.Path, c.Field.Name, err)
	}
	return nil
}

// end writes the end of the file or stream. The dictionaries of a file come after its
// batches, when all their values are known; its footer gives their places.
func (o *output) end() error {
	if o.sink.format == formatFile && o.sink.dicts {
		if err := o.writeDictionaries(); err != nil {
			return err
		}
	}
	le := binary.LittleEndian
	if err := o.raw(le.AppendUint32(le.AppendUint32(nil, continuation), 0)); err != nil {
		return err
	}
	if o.sink.format == formatFile {
		f := footer(o.sink.head.meta[8:], o.dictionaries, o.batches)
		if err := o.raw(append(le.AppendUint32(f, uint32(len(f))), magic...)); err != nil {
			return err
		}
	}
	return o.w.Flush()
}

func (o *output) writeDictionaries() error {
	s := o.sink
	columns := make([]arrow.Array, len(s.columns))
	for i, c := range s.columns {
		columns[i] = noRows(s.schema.Field(i).Type)
		if c.dict == nil {
			continue
		}
		m := o.memos[i]
		if m == nil {
			m = &memo{}
		}
		dict, err := m.dictionary(c.dict.ValueType)
		if err == nil {
			columns[i], err = indexed(c.dict, nil, dict)
		}
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", s.config.Path, c.Field.Name, err)
		}
	}
	e := newEncoder(s.schema, s.config.Compression)
	if err := e.encode(s.schema, columns, 0); err != nil {
		return fmt.Errorf("%s: %w", s.config.Path, err)
	}
	for _, m := range e.take(ipc.MessageDictionaryBatch) {
		place, err := o.message(m)
		if err != nil {
			return err
		}
		o.dictionaries = append(o.dictionaries, place)
	}
	return nil
}

// noRows returns an array without values.
func noRows(t arrow.DataType) arrow.Array {
	return array.NewBuilder(memory.DefaultAllocator, t).NewArray()
}
