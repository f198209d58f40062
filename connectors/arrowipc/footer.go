package arrowipc

import "encoding/binary"

// footer builds the flatbuffer at the end of a file (File.fbs, table Footer). The library
// can write one only with a whole file of its own. Here the Schema table is that of the
// schema message: the footer contains a copy of that message and refers to the table in
// it, because references in flatbuffers are relative and forward.
func footer(schema []byte, dictionaries, batches []fileBlock) []byte {
	const (
		vtable = 4
		table  = 16
		dicts  = 36 // its elements begin at 40, a multiple of 8
	)
	records := dicts + 4 + blockSize*len(dictionaries) + 4
	blob := records + 4 + blockSize*len(batches)
	out := make([]byte, blob, blob+len(schema))
	le := binary.LittleEndian
	le.PutUint32(out, table)
	// The vtable: its size, the table's, and the fields' places in the table.
	for i, v := range []uint16{12, 20, 16, 4, 8, 12} {
		le.PutUint16(out[vtable+2*i:], v)
	}
	le.PutUint32(out[table:], table-vtable)
	le.PutUint32(out[table+4:], uint32(blob+schemaTable(schema)-(table+4)))
	le.PutUint32(out[table+8:], dicts-(table+8))
	le.PutUint32(out[table+12:], uint32(records-(table+12)))
	le.PutUint16(out[table+16:], metadataV5)
	putBlocks(out[dicts:], dictionaries)
	putBlocks(out[records:], batches)
	return append(out, schema...)
}

// metadataV5 is MetadataVersion.V5, the format since Arrow 1.0.
const metadataV5 = 4

func putBlocks(out []byte, blocks []fileBlock) {
	le := binary.LittleEndian
	le.PutUint32(out, uint32(len(blocks)))
	for i, b := range blocks {
		at := out[4+i*blockSize:]
		le.PutUint64(at, uint64(b.offset))
		le.PutUint32(at[8:], uint32(b.meta))
		le.PutUint64(at[16:], uint64(b.body))
	}
}
