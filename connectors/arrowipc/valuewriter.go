package arrowipc

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// PlainType returns a type with every dictionary replaced by its values' type, as the
// rest of the program uses it.
func PlainType(t arrow.DataType) arrow.DataType { return plainType(t) }

// Plain returns a verified array with its dictionaries replaced by their values.
func Plain(a arrow.Array) arrow.Array { return plain(a) }

// Nulls returns n nulls of a type.
func Nulls(t arrow.DataType, n int) arrow.Array {
	return exact(noRows(t), []stretch{{null, n}})
}

// Exact returns the released records of a column of a block without dictionaries, in memory of its own that contains
// nothing else: no values of rejected records, and zeros under nulls, where otherwise the value
// that a mask has set missing, or what another program has left under a null of the source, could
// be read.
func Exact(a arrow.Array, b *microdata.Block) arrow.Array {
	d := owned(gather(a.Data(), keptStretches(b)))
	defer d.Release()
	return array.MakeFromData(d)
}

// owned returns a copy of gathered data, which may share memory with their source.
func owned(d arrow.ArrayData) arrow.ArrayData {
	buffers := make([]*memory.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			buffers[i] = memory.NewBufferBytes(bytes.Clone(b.Bytes()))
		}
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = owned(c)
	}
	return array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), d.Offset())
}

// Join joins verified arrays of one type; dictionaries are joined by their values. It
// returns an error if the type has no room for that many.
func Join(parts []arrow.Array) (arrow.Array, error) { return join(parts) }

// Nearest returns the float64 nearest to row i of an array of numbers, for numbers that
// are not exactly a float64. That is accurate enough for measures.
func Nearest(a arrow.Array, i int) float64 { return nearest(a.ValueStr(i)) }

// ValueWriter writes streams that are held in memory: the values of a topic's
// messages. All have one schema. Safe for concurrent use.
type ValueWriter struct {
	schema      *arrow.Schema
	compression string
	dicts       []*arrow.DictionaryType // by column; nil if it has no dictionary
	dictionary  bool                    // some column has one
	head        message
	encoders    sync.Pool
}

// Part is the part of a column in a batch of a value: the rows of Array from From to To
// for which Keep returns true. Keep is called with rows of a block, in which Array begins
// at row At; nil: all rows.
type Part struct {
	Array    arrow.Array
	From, To int
	At       int
	Keep     func(row int) bool
}

// NewValueWriter prepares values with columns of the given fields, of which only names,
// types, nullability and the names of extension types are released. A dictionary at the
// top level stays one, built anew from the released values; nested ones are replaced by
// their values. compression of the buffers is none, zstd or lz4.
func NewValueWriter(fields []arrow.Field, compression string) (*ValueWriter, error) {
	w := &ValueWriter{compression: compression, dicts: make([]*arrow.DictionaryType, len(fields))}
	clean := make([]arrow.Field, len(fields))
	for i, f := range fields {
		if !supported(f.Type) {
			return nil, fmt.Errorf("column %s: %w", f.Name, errUnsupported{f.Type})
		}
		t := cleanType(plainType(f.Type))
		if d, ok := f.Type.(*arrow.DictionaryType); ok && keepable(d.ValueType) {
			w.dicts[i] = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: d.ValueType}
			t, w.dictionary = w.dicts[i], true
		}
		clean[i] = arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable, Metadata: cleanMetadata(f.Metadata)}
	}
	w.schema = arrow.NewSchema(clean, nil)
	var err error
	w.head, err = schemaMessage(w.schema)
	return w, err
}

// Schema returns the values' schema.
func (w *ValueWriter) Schema() *arrow.Schema { return w.schema }

// Encode returns a stream of batches in memory of its own. Each batch has one
// part for each column; batches without records are left out.
func (w *ValueWriter) Encode(batches [][]Part) ([]byte, error) {
	var messages []message
	for _, parts := range batches {
		made, err := w.batch(parts)
		if err != nil {
			return nil, err
		}
		messages = append(messages, made...)
	}
	end := []byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}
	size := len(w.head.meta) + len(end)
	for _, m := range messages {
		size += len(m.meta) + len(m.body)
	}
	out := append(make([]byte, 0, size), w.head.meta...)
	for _, m := range messages {
		out = append(append(out, m.meta...), m.body...)
	}
	return append(out, end...), nil
}

func (w *ValueWriter) batch(parts []Part) ([]message, error) {
	if len(parts) != w.schema.NumFields() {
		return nil, fmt.Errorf("a batch of %d columns came, and the release has %d", len(parts), w.schema.NumFields())
	}
	rows := -1
	columns := make([]arrow.Array, len(parts))
	for i, p := range parts {
		name, a, kept := w.schema.Field(i).Name, p.Array, p.stretches()
		if w.dicts[i] == nil {
			a = plain(a)
		}
		if want := plainType(w.schema.Field(i).Type); !arrow.TypeEqual(cleanType(plainType(a.DataType())), want) {
			return nil, fmt.Errorf("column %s: values of type %s came for one of type %s", name, a.DataType(), want)
		}
		n := 0
		for _, s := range kept {
			n += s.n
		}
		if rows >= 0 && n != rows {
			return nil, fmt.Errorf("column %s: %d values came for %d records", name, n, rows)
		}
		if rows = n; n == 0 {
			return nil, nil
		}
		if w.dicts[i] == nil {
			columns[i] = exact(a, kept)
			continue
		}
		var m memo
		numbers := m.number(a, kept)
		dict, err := m.dictionary(w.dicts[i].ValueType)
		if err == nil {
			columns[i], err = indexed(w.dicts[i], numbers, dict)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
	}
	if rows <= 0 {
		return nil, nil
	}
	e, _ := w.encoders.Get().(*encoder)
	if e == nil || w.dictionary {
		e = newEncoder(w.schema, w.compression)
	}
	if err := e.encode(w.schema, columns, rows); err != nil {
		return nil, err
	}
	made := e.take(ipc.MessageDictionaryBatch, ipc.MessageRecordBatch)
	w.encoders.Put(e)
	return made, nil
}

func (p Part) stretches() (kept []stretch) {
	if p.Keep == nil {
		return []stretch{{p.From, p.To - p.From}}
	}
	for i := p.From; i < p.To; i++ {
		if p.Keep(p.At + i) {
			kept = extend(kept, i, 1)
		}
	}
	return kept
}

// SchemaOf reads the schema of a file or stream of Arrow IPC. The error names
// the file.
func SchemaOf(path string) (*arrow.Schema, error) {
	st, err := openStream(files.File{Path: path, Label: path}, "")
	if err != nil {
		return nil, err
	}
	return st.schema, nil
}

// FieldsOf describes the columns of a schema for the rest of the program. It returns an
// error if two have the same name.
func FieldsOf(label string, schema *arrow.Schema) (*microdata.Schema, error) {
	if err := checkZones(label, schema.Fields()); err != nil {
		return nil, err
	}
	s := &source{streams: []*stream{{file: files.File{Label: label}, schema: schema}}, arrow: schema}
	if err := s.describe(nil); err != nil {
		return nil, err
	}
	return s.schema, nil
}

// Supported returns an error if columns of a type can be neither read nor released; nil
// if they can.
func Supported(t arrow.DataType) error {
	if !supported(t) {
		return errUnsupported{t}
	}
	return nil
}
