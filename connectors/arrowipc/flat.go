package arrowipc

import "encoding/binary"

// flat is a flatbuffer, of which a few fields are read that the Arrow library does not
// export. Every access is within bounds or panics; callers recover.
type flat []byte

func (f flat) u16(at int) int   { return int(binary.LittleEndian.Uint16(f[at:])) }
func (f flat) u32(at int) int   { return int(binary.LittleEndian.Uint32(f[at:])) }
func (f flat) i32(at int) int   { return int(int32(binary.LittleEndian.Uint32(f[at:]))) }
func (f flat) i64(at int) int64 { return int64(binary.LittleEndian.Uint64(f[at:])) }

// root returns the place of the root table.
func (f flat) root() int { return f.u32(0) }

// field returns the place of a table's field; 0 if it has its default value.
func (f flat) field(table, slot int) int {
	vtable := table - f.i32(table)
	at := 4 + 2*slot
	if at >= f.u16(vtable) { // the same condition as in the library, also for an odd size
		return 0
	}
	if off := f.u16(vtable + at); off != 0 {
		return table + off
	}
	return 0
}

// ref returns the place of the table or vector that a field refers to; 0 if it is absent.
func (f flat) ref(table, slot int) int {
	at := f.field(table, slot)
	if at == 0 {
		return 0
	}
	return at + f.u32(at)
}

// vector returns the place and number of a vector's elements, 0 if it is absent; ok is
// false if they do not lie within the buffer.
func (f flat) vector(table, slot, size int) (at, n int, ok bool) {
	if at = f.ref(table, slot); at == 0 {
		return 0, 0, true
	}
	n = f.u32(at)
	at += 4
	return at, n, n <= (len(f)-at)/size
}

// fileBlock is the place of a message in a file: File.fbs, struct Block.
type fileBlock struct {
	offset int64
	meta   int32 // length of prefix and metadata, padded
	body   int64
}

const blockSize = 24 // offset, metadata length with padding, body length

// blocks returns a vector of blocks.
func (f flat) blocks(table, slot int) (list []fileBlock, ok bool) {
	at, n, ok := f.vector(table, slot, blockSize)
	if !ok {
		return nil, false
	}
	for i := range n {
		b := at + i*blockSize
		list = append(list, fileBlock{f.i64(b), int32(f.i32(b + 8)), f.i64(b + 16)})
	}
	return list, true
}

// schemaTable returns the place of the Schema table in a schema message.
func schemaTable(message []byte) int {
	f := flat(message)
	return f.ref(f.root(), slotHeader)
}
