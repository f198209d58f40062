package arrowipc

import "errors"

// The Arrow library takes counts in metadata at their word: it allocates as
// many entries as a vector claims to have, and follows a table that refers to
// itself until the stack is full, which ends the process. So the metadata are
// walked here before the library sees them.

// Slots of the tables in Message.fbs, Schema.fbs and File.fbs.
const (
	slotHeaderType    = 1
	slotHeader        = 2
	slotCustom        = 4
	slotSchemaFields  = 1
	slotSchemaCustom  = 2
	slotFieldKind     = 2
	slotFieldType     = 3
	slotFieldChildren = 5
	slotFieldCustom   = 6
	slotUnionIDs      = 1
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
	kindUnion        = 14
)

const (
	maxDepth = 64
	maxRows  = 1<<31 - 1
)

var errFlat = errors.New("its metadata is not well-formed")

// walked runs a check of metadata; an access out of bounds is its failure.
func walked(check func() bool) (err error) {
	defer func() {
		if recover() != nil {
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

// checkFooter checks a file's footer and returns where its messages stand.
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

// batchRows returns the number of records of a record batch, from the metadata
// of its message.
func batchRows(meta []byte) (rows int64, err error) {
	err = walked(func() bool {
		f := flat(meta)
		if at := f.field(f.ref(f.root(), slotHeader), slotBatchLength); at != 0 {
			rows = f.i64(at)
		}
		return true
	})
	return rows, err
}

// soundSchema reports whether a Schema table's vectors lie within the buffer and
// its fields are a finite tree.
func (f flat) soundSchema(table int) bool {
	if _, _, ok := f.vector(table, slotSchemaCustom, 4); !ok {
		return false
	}
	fields, n, ok := f.vector(table, slotSchemaFields, 4)
	budget := len(f) // a field takes more than a byte
	return ok && f.soundFields(fields, n, 0, &budget)
}

func (f flat) soundFields(at, n, depth int, budget *int) bool {
	if *budget -= n; *budget < 0 || depth > maxDepth {
		return false
	}
	for i := range n {
		field := at + 4*i
		field += f.u32(field)
		if _, _, ok := f.vector(field, slotFieldCustom, 4); !ok {
			return false
		}
		if kind := f.field(field, slotFieldKind); kind != 0 && f[kind] == kindUnion {
			if _, _, ok := f.vector(f.ref(field, slotFieldType), slotUnionIDs, 4); !ok {
				return false
			}
		}
		children, k, ok := f.vector(field, slotFieldChildren, 4)
		if !ok || !f.soundFields(children, k, depth+1, budget) {
			return false
		}
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
