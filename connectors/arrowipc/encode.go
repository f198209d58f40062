package arrowipc

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// message is an IPC message in the form in which it is written.
type message struct {
	kind ipc.MessageType
	meta []byte // with its prefix and padding
	body []byte
}

// capture collects the messages that an ipc.Writer writes.
type capture struct{ messages []message }

func (c *capture) Start() error { return nil }
func (c *capture) Close() error { return nil }

func (c *capture) WritePayload(p ipc.Payload) error {
	meta := p.Meta()
	defer meta.Release()
	kind := ipc.NewMessage(meta, memory.NewBufferBytes(nil)).Type()
	padded := (len(meta.Bytes()) + 7) &^ 7
	framed := make([]byte, 8, 8+padded)
	binary.LittleEndian.PutUint32(framed, continuation)
	binary.LittleEndian.PutUint32(framed[4:], uint32(padded))
	framed = append(framed, meta.Bytes()...)[:8+padded]
	var body bytes.Buffer
	if err := p.SerializeBody(&body); err != nil {
		return err
	}
	c.messages = append(c.messages, message{kind, framed, body.Bytes()})
	return nil
}

// take returns the messages of the given kinds since the last call.
func (c *capture) take(kinds ...ipc.MessageType) (out []message) {
	for _, m := range c.messages {
		for _, k := range kinds {
			if m.kind == k {
				out = append(out, m)
			}
		}
	}
	c.messages = nil
	return out
}

// encoder turns record batches into messages.
type encoder struct {
	capture
	writer *ipc.Writer
}

func newEncoder(schema *arrow.Schema, compression string) *encoder {
	e := &encoder{}
	options := []ipc.Option{ipc.WithSchema(schema)}
	switch compression {
	case "", "zstd":
		options = append(options, ipc.WithZstd())
	case "lz4":
		options = append(options, ipc.WithLZ4())
	}
	e.writer = ipc.NewWriterWithPayloadWriter(&e.capture, options...)
	return e
}

// encode writes a batch. The columns have the schema's types, except for the names of
// elements; the schema's names are written.
func (e *encoder) encode(schema *arrow.Schema, columns []arrow.Array, rows int) error {
	for i, a := range columns {
		if t := schema.Field(i).Type; !arrow.TypeEqual(a.DataType(), t) && arrow.TypeEqual(cleanType(a.DataType()), t) {
			d := a.Data()
			columns[i] = array.MakeFromData(array.NewData(t, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset()))
		}
	}
	return e.writer.Write(array.NewRecordBatch(schema, columns, int64(rows)))
}

// schemaMessage returns the message that begins a stream.
func schemaMessage(schema *arrow.Schema) (message, error) {
	e := newEncoder(schema, "none")
	if err := e.writer.Close(); err != nil {
		return message{}, err
	}
	return e.take(ipc.MessageSchema)[0], nil
}

// block is an encoded block. In a file with dictionaries the columns wait for
// Write, which knows the numbers of their values.
type block struct {
	stream   int
	rows     int
	messages []message
	columns  []arrow.Array
	pending  map[int]pending // by column
}

// pending is a dictionary column numbered by a dictionary of its own block.
type pending struct {
	numbers []int32
	dict    arrow.Array
}

// Encode copies the released data of the block, compressed.
func (s *sink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	out := &block{stream: b.Stream, rows: b.Kept()}
	if out.rows == 0 {
		return out, nil
	}
	kept := keptStretches(b)
	out.columns = make([]arrow.Array, len(s.columns))
	for i, c := range s.columns {
		a, err := s.released(b, c)
		if err != nil {
			return nil, err
		}
		switch {
		case c.dict != nil:
			var m memo
			numbers := m.number(a, kept)
			dict, err := m.dictionary(c.dict.ValueType)
			if err != nil {
				return nil, fmt.Errorf("column %s: %v", c.Field.Name, err)
			}
			if s.format == formatFile {
				if out.pending == nil {
					out.pending = map[int]pending{}
				}
				out.pending[i] = pending{numbers, dict}
				continue
			}
			if out.columns[i], err = indexed(c.dict, numbers, dict); err != nil {
				return nil, fmt.Errorf("column %s: %w", c.Field.Name, err)
			}
		case c.Column >= 0 && c.form == microdata.Numbers:
			out.columns[i] = a
		default:
			out.columns[i] = exact(a, kept)
		}
	}
	if out.pending != nil {
		return out, nil
	}
	return out, s.encode(out)
}

// encode encodes the block's messages. A stream's dictionaries contain the values of
// their block, and replace the previous ones.
func (s *sink) encode(b *block) error {
	e, _ := s.encoders.Get().(*encoder)
	if e == nil || s.dicts && s.format == formatStream {
		e = newEncoder(s.schema, s.config.Compression)
	}
	if err := e.encode(s.schema, b.columns, b.rows); err != nil {
		return fmt.Errorf("%s: %w", s.config.Path, err)
	}
	b.columns = nil
	if s.format == formatStream {
		b.messages = e.take(ipc.MessageDictionaryBatch, ipc.MessageRecordBatch)
	} else {
		b.messages = e.take(ipc.MessageRecordBatch)
	}
	s.encoders.Put(e)
	return nil
}

// released returns a column of the release: numbers without the rejected records,
// arrays with them.
func (s *sink) released(b *microdata.Block, c column) (arrow.Array, error) {
	var a arrow.Array
	switch {
	case c.Column < 0:
		kept, ok := b.Carried.(carried)
		if !ok || c.place >= len(kept) || kept[c.place] == nil {
			return nil, fmt.Errorf("column %s was not carried by its source", c.Field.Name)
		}
		a = kept[c.place]
	case c.form == microdata.Numbers:
		return microdata.ToArray(b.Columns[c.Column].Out(), b.N, c.Field, b.Keep()), nil
	default:
		a = b.Columns[c.Column].OutArray()
	}
	if c.dict == nil {
		a = plain(a)
	}
	if got := plainType(a.DataType()); !arrow.TypeEqual(got, plainType(c.Field.Type)) || a.Len() != b.N {
		return nil, fmt.Errorf("column %s: %d values of type %s came for %d records of type %s", c.Field.Name, a.Len(), got,
			b.N, c.Field.Type)
	}
	return a, nil
}

func keptStretches(b *microdata.Block) (kept []stretch) {
	if b.Whole() {
		return []stretch{{0, b.N}}
	}
	for i := range b.N {
		if !b.Rejected(i) {
			kept = extend(kept, i, 1)
		}
	}
	return kept
}
