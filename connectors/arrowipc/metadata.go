package arrowipc

import "errors"

// The Arrow library trusts counts in metadata: it allocates as many entries as a vector
// claims to have, and follows a table that refers to itself until the stack overflows,
// which ends the process. So the metadata are checked here before the library reads
// them.

// Slots of the tables in Message.fbs, Schema.fbs and File.fbs.
const (
	slotHeaderType    = 1
	slotHeader        = 2
	slotCustom        = 4
	slotSchemaFields  = 1
	slotSchemaCustom  = 2
	slotFieldName     = 0
	slotFieldKind     = 2
	slotFieldType     = 3
	slotFieldChildren = 5
	slotFieldCustom   = 6
	slotUnionIDs      = 1
	slotTimeZone      = 1
	slotKey           = 0
	slotValue         = 1
	slotBatchLength   = 0
	slotBatchNodes    = 1
	slotBatchBuffers  = 2
	slotCompression   = 3
	slotBatchVariadic = 4
	slotCodec         = 0
	slotDictData      = 1
	slotFooterSchema  = 1
	slotFooterDicts   = 2
	slotFooterBatches = 3
)

const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
	kindTimestamp    = 10
	kindUnion        = 14
)

const (
	maxDepth = 64
	maxRows  = 1<<31 - 1
)

var errFlat = errors.New("its metadata is not well-formed")

// walked runs a check of metadata; an access out of bounds is a failure of the check.
func walked(check func() bool) (err error) {
	defer func() {
		switch r := recover(); {
		case r == nil:
		case r == any(ErrSchemaBound):
			err = ErrSchemaBound
		default:
			err = errFlat
		}
	}()
	if !check() {
		return errFlat
	}
	return nil
}

// checkMessage checks the metadata of a message.
func checkMessage(meta []byte) error {
	return walked(func() bool {
		f := flat(meta)
		root := f.root()
		header := f.ref(root, slotHeader)
		at := f.field(root, slotHeaderType)
		if _, _, ok := f.vector(root, slotCustom, 4); header == 0 || at == 0 || !ok {
			return false
		}
		switch f[at] {
		case headerSchema:
			return f.soundSchema(header)
		case headerDictionary:
			data := f.ref(header, slotDictData)
			return data != 0 && f.soundBatch(data)
		case headerBatch:
			return f.soundBatch(header)
		}
		return false
	})
}

// checkFooter checks a file's footer and returns the places of its messages.
func checkFooter(footer []byte) (dictionaries, batches []fileBlock, err error) {
	err = walked(func() bool {
		f := flat(footer)
		root := f.root()
		schema := f.ref(root, slotFooterSchema)
		if schema == 0 || !f.soundSchema(schema) {
			return false
		}
		var ok1, ok2 bool
		dictionaries, ok1 = f.blocks(root, slotFooterDicts)
		batches, ok2 = f.blocks(root, slotFooterBatches)
		return ok1 && ok2
	})
	return dictionaries, batches, err
}

// batchRows returns the number of records of a record batch, from the metadata of its
// message. For a message of another kind it returns an error.
func batchRows(meta []byte) (rows int64, err error) {
	err = walked(func() bool {
		f := flat(meta)
		root := f.root()
		if at := f.field(root, slotHeaderType); at == 0 || f[at] != headerBatch {
			return false
		}
		if at := f.field(f.ref(root, slotHeader), slotBatchLength); at != 0 {
			rows = f.i64(at)
		}
		return true
	})
	return rows, err
}

// sharing bounds how often a schema's fields may refer to the same bytes, since the
// library makes a copy for each reference. Writers share nothing, or a few short
// words.
const sharing = 16

// soundSchema reports whether a Schema table's vectors lie within the buffer, its
// fields are a finite tree, and the memory that the library will use for it is not
// much more than its size.
func (f flat) soundSchema(table int) bool {
	w := &schemaWalk{flat: f, budget: step + sharing*len(f)}
	if !w.custom(table, slotSchemaCustom) {
		return w.refused()
	}
	fields, n, ok := f.vector(table, slotSchemaFields, 4)
	return ok && w.fields(fields, n, 0) || w.refused()
}

// schemaWalk goes through a schema in the same way as the library.
type schemaWalk struct {
	flat
	budget int // bytes that the library may still allocate
}

// fieldCost is approximately the number of bytes that the library allocates for a field in
// addition to its texts.
const fieldCost = 64

// refused panics to report that the budget is spent; that is not a fault in the layout.
func (w *schemaWalk) refused() bool {
	if w.budget < 0 {
		panic(ErrSchemaBound)
	}
	return false
}

// spend takes from the budget; false if it is used up.
func (w *schemaWalk) spend(n int) bool {
	w.budget -= n
	return w.budget >= 0
}

// text counts a text of a table.
func (w *schemaWalk) text(table, slot int) bool {
	_, n, ok := w.vector(table, slot, 1)
	return ok && w.spend(n)
}

// custom counts a table's key-value metadata.
func (w *schemaWalk) custom(table, slot int) bool {
	at, n, ok := w.vector(table, slot, 4)
	for i := 0; ok && i < n; i++ {
		pair := at + 4*i
		pair += w.u32(pair)
		ok = w.spend(fieldCost) && w.text(pair, slotKey) && w.text(pair, slotValue)
	}
	return ok
}

func (w *schemaWalk) fields(at, n, depth int) bool {
	if depth > maxDepth {
		return false
	}
	for i := range n {
		field := at + 4*i
		field += w.u32(field)
		if !w.spend(fieldCost) || !w.text(field, slotFieldName) || !w.custom(field, slotFieldCustom) || !w.kind(field) {
			return false
		}
		children, k, ok := w.vector(field, slotFieldChildren, 4)
		if !ok || !w.fields(children, k, depth+1) {
			return false
		}
	}
	return true
}

// kind counts the contents of a field's type.
func (w *schemaWalk) kind(field int) bool {
	at := w.field(field, slotFieldKind)
	if at == 0 {
		return true
	}
	switch w.flat[at] {
	case kindUnion:
		_, n, ok := w.vector(w.ref(field, slotFieldType), slotUnionIDs, 4)
		return ok && w.spend(4*n)
	case kindTimestamp:
		return w.text(w.ref(field, slotFieldType), slotTimeZone)
	}
	return true
}

// soundBatch checks a RecordBatch table.
func (f flat) soundBatch(table int) bool {
	rows := int64(0)
	if at := f.field(table, slotBatchLength); at != 0 {
		rows = f.i64(at)
	}
	if rows < 0 || rows > maxRows {
		return false
	}
	nodes, n, ok1 := f.vector(table, slotBatchNodes, 16)
	_, buffers, ok2 := f.vector(table, slotBatchBuffers, 16)
	variadic, v, ok3 := f.vector(table, slotBatchVariadic, 8)
	if !ok1 || !ok2 || !ok3 {
		return false
	}
	for i := range n {
		length, nulls := f.i64(nodes+16*i), f.i64(nodes+16*i+8)
		if length < 0 || nulls < 0 || nulls > length || i == 0 && length != rows {
			return false
		}
	}
	for i := range v {
		if k := f.i64(variadic + 8*i); k < 0 || k > int64(buffers) {
			return false
		}
	}
	return true
}
