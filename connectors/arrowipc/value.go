package arrowipc

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"
)

// Value is an IPC stream that was read from memory: the value of a topic's
// message.
type Value struct {
	Schema  *arrow.Schema
	Batches []arrow.RecordBatch // each of at least one record
	Rows    int
}

// Why a value is not readable. No text contains any part of the value.
var (
	errNotIPC     = errors.New("is not a readable Arrow IPC stream")
	errCutOff     = errors.New("is an Arrow IPC stream that is cut off")
	errTrailing   = errors.New("has bytes behind the end of its Arrow IPC stream")
	errEndianness = errors.New("is an Arrow IPC stream in the byte order of another kind of machine")
	errManyRows   = errors.New("holds more records than one message may")
	errLarge      = errors.New("would take far more memory than a value of its size should")
)

// The greatest memory for a value, decompressed and without dictionaries: a constant
// plus a number of bytes for each byte of the value. The bound depends on the value
// alone, so that the same value is refused wherever it is read.
const (
	valueBase  = 64 << 10
	valueRatio = 128
)

// maxWindow bounds the memory that a zstd frame makes its decoder allocate.
const maxWindow = 8 << 20

// ReadValue reads a stream of at most maxRows records from memory; the batches refer to
// that memory. wanted gets the schema and returns the columns that will be used; these
// are verified, and no others may be accessed. An error of wanted is returned unchanged;
// every other is one of those above.
//
// The memory used is bounded by the value's length, see errLarge.
func ReadValue(p []byte, maxRows int, wanted func(*arrow.Schema) ([]int, error)) (v *Value, err error) {
	m := &memoryMessages{p: p, maxRows: int64(maxRows)}
	m.budget.left = valueBase + valueRatio*int64(len(p))
	defer func() {
		if recover() != nil {
			v, err = nil, m.reason(errNotIPC)
		}
	}()
	r, err := ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(&m.budget), ipc.WithEnsureNativeEndian(false))
	if err != nil {
		return nil, m.reason(err)
	}
	v = &Value{Schema: r.Schema()}
	if !v.Schema.IsNativeEndian() {
		return nil, errEndianness // the library would swap the bytes in place, in memory that belongs to the caller
	}
	columns, err := wanted(v.Schema)
	if err != nil {
		return nil, err
	}
	for {
		rec, err := r.Read()
		if err == io.EOF && m.err == nil {
			return v, nil
		}
		if err != nil || rec == nil {
			return nil, m.reason(err)
		}
		if rec.NumRows() == 0 {
			continue
		}
		rec.Retain() // the reader releases it at its next read
		for _, i := range columns {
			d := rec.Column(i).Data()
			if verify(d, rec.NumRows()) != nil || int64(d.Len()) != rec.NumRows() {
				return nil, errNotIPC
			}
			if m.budget.left -= extent(d); m.budget.left < 0 {
				return nil, errLarge
			}
		}
		v.Batches = append(v.Batches, rec)
		v.Rows += int(rec.NumRows())
	}
}

// memoryMessages reads the messages of a stream in memory without copying.
type memoryMessages struct {
	p             []byte
	rows, maxRows int64
	budget        budget
	err           error // the first error, which is the cause of the library's own errors
}

func (m *memoryMessages) Retain()  {}
func (m *memoryMessages) Release() {}

// reason returns the error to report for one of the library, whose text may
// quote values.
func (m *memoryMessages) reason(error) error {
	switch {
	case m.err != nil:
		return m.err
	case m.budget.left < 0:
		return errLarge
	}
	return errNotIPC
}

// Message returns the next message, io.EOF at the stream's end. A value has a
// length of its own, so one that ends between two messages is complete, as the format
// allows.
func (m *memoryMessages) Message() (*ipc.Message, error) {
	msg, err := m.next()
	if err != nil && err != io.EOF && m.err == nil {
		m.err = err
	}
	return msg, err
}

func (m *memoryMessages) next() (*ipc.Message, error) {
	if m.err != nil {
		return nil, m.err
	}
	if len(m.p) == 0 {
		return nil, io.EOF
	}
	n, ok := m.word()
	if ok && n == continuation {
		n, ok = m.word()
	}
	switch {
	case !ok:
		return nil, errCutOff
	case n == 0 && len(m.p) == 0:
		return nil, io.EOF
	case n == 0:
		return nil, errTrailing
	case n < 8 || n > 1<<30:
		return nil, errNotIPC
	}
	meta, ok := m.take(int64(n))
	if !ok {
		return nil, errCutOff
	}
	if checkMessage(meta) != nil {
		return nil, errNotIPC
	}
	length, err := bodyLength(meta)
	if err != nil {
		return nil, errNotIPC
	}
	body, ok := m.take(length)
	if !ok {
		return nil, errCutOff
	}
	if err := m.admit(meta, body); err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body)), nil
}

// admit checks a message against the limits before the library unpacks it.
func (m *memoryMessages) admit(meta, body []byte) error {
	f := flat(meta)
	var kind byte
	if err := walked(func() bool {
		root := f.root()
		kind = f[f.field(root, slotHeaderType)]
		batch := f.ref(root, slotHeader)
		if kind == headerDictionary {
			batch = f.ref(batch, slotDictData)
		}
		return kind == headerSchema || f.soundWindows(batch, body)
	}); err != nil {
		return errNotIPC
	}
	if kind != headerBatch {
		return nil
	}
	rows, err := batchRows(meta)
	if err != nil {
		return errNotIPC
	}
	if m.rows += rows; m.rows > m.maxRows {
		return errManyRows
	}
	// Every record counts, even if its columns have no bytes.
	if m.budget.left -= 8 * rows; m.budget.left < 0 {
		return errLarge
	}
	return nil
}

// soundWindows reports whether no zstd frame of a batch needs more memory than those of
// usual writers.
func (f flat) soundWindows(batch int, body []byte) bool {
	compression := f.ref(batch, slotCompression)
	if compression == 0 {
		return true
	}
	if at := f.field(compression, slotCodec); at == 0 || f[at] != 1 { // LZ4 frames have bounded windows
		return true
	}
	at, n, ok := f.vector(batch, slotBatchBuffers, 16)
	if !ok {
		return false
	}
	for i := range n {
		from, length := f.i64(at+16*i), f.i64(at+16*i+8)
		if length == 0 {
			continue
		}
		if from < 0 || length < 8 || from > int64(len(body)) || length > int64(len(body))-from {
			return false
		}
		p := body[from : from+length]
		if int64(binary.LittleEndian.Uint64(p)) == -1 {
			continue
		}
		if !soundFrames(p[8:]) {
			return false
		}
	}
	return true
}

// soundFrames checks the zstd frames of a buffer.
func soundFrames(p []byte) bool {
	limit := max(maxWindow, valueBase+valueRatio*uint64(len(p)))
	for len(p) > 0 {
		var h zstd.Header
		if h.Decode(p) != nil || h.Skippable || h.WindowSize > limit || h.HasFCS && h.FrameContentSize > limit ||
			h.HeaderSize > len(p) {
			return false
		}
		p = p[h.HeaderSize:]
		for last := false; !last; {
			if len(p) < 3 {
				return false
			}
			block := int(p[0]) | int(p[1])<<8 | int(p[2])<<16
			size := block >> 3
			if block>>1&3 == 1 { // a repeated byte
				size = 1
			}
			if p = p[3:]; size > len(p) {
				return false
			}
			p, last = p[size:], block&1 == 1
		}
		if h.HasCheckSum {
			if len(p) < 4 {
				return false
			}
			p = p[4:]
		}
	}
	return true
}

func (m *memoryMessages) word() (uint32, bool) {
	p, ok := m.take(4)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint32(p), true
}

func (m *memoryMessages) take(n int64) ([]byte, bool) {
	if n < 0 || n > int64(len(m.p)) {
		return nil, false
	}
	p := m.p[:n:n]
	m.p = m.p[n:]
	return p, true
}

// budget is an allocator with a limit. The Arrow library turns its panic into an
// error.
type budget struct{ left int64 }

func (b *budget) take(n int64) {
	if n < 0 {
		b.left = -1
	}
	if b.left -= n; b.left < 0 {
		panic(errLarge)
	}
}

// Allocate implements memory.Allocator.
func (b *budget) Allocate(size int) []byte {
	b.take(int64(size))
	return memory.DefaultAllocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (b *budget) Reallocate(size int, p []byte) []byte {
	b.take(int64(size) - int64(len(p)))
	return memory.DefaultAllocator.Reallocate(size, p)
}

// Free implements memory.Allocator.
func (b *budget) Free([]byte) {}

// extent returns a lower bound of the bytes that copying a verified array takes: views
// and dictionary indexes may refer to the same bytes many times.
func extent(d arrow.ArrayData) int64 {
	total := int64(d.Len())
	switch t := storage(d.DataType()).(type) {
	case *arrow.DictionaryType:
		return add(total, dictionaryExtent(d))
	case arrow.BinaryViewDataType:
		headers := arrow.ViewHeaderTraits.CastFromBytes(bytesOf(d, 1))[d.Offset() : d.Offset()+d.Len()]
		valid := bits(d)
		for i := range headers {
			if valid.has(d.Offset() + i) {
				total = add(total, int64(headers[i].Len()))
			}
		}
	case *arrow.NullType:
	default:
		if w, ok := t.(arrow.FixedWidthDataType); ok && d.Len() > 0 {
			total = add(total, int64(d.Len())*int64(w.BitWidth())/8)
		}
		for _, c := range d.Children() {
			total = add(total, extent(c))
		}
	}
	return total
}

// dictionaryExtent is extent for an array whose indexes are replaced by their values.
func dictionaryExtent(d arrow.ArrayData) int64 {
	dict := d.Dictionary()
	a, ok := array.MakeFromData(d).(*array.Dictionary)
	if !ok {
		return math.MaxInt64
	}
	total := extent(dict)
	var length func(int) int64
	switch v := a.Dictionary().(type) {
	case *array.String:
		length = func(i int) int64 { return int64(v.ValueLen(i)) }
	case *array.Binary:
		length = func(i int) int64 { return int64(v.ValueLen(i)) }
	case *array.LargeString:
		length = func(i int) int64 { return v.ValueOffset64(i+1) - v.ValueOffset64(i) }
	case *array.LargeBinary:
		length = func(i int) int64 { return v.ValueOffset64(i+1) - v.ValueOffset64(i) }
	default:
		if w, ok := storage(dict.DataType()).(arrow.FixedWidthDataType); ok {
			return add(total, int64(d.Len())*int64(w.BitWidth()/8))
		}
		// Views and nested values: as if each index referred to all of them.
		if d.Len() > 0 && total > math.MaxInt64/int64(d.Len()) {
			return math.MaxInt64
		}
		return add(total, total*int64(d.Len()))
	}
	for i := range a.Len() {
		if a.IsValid(i) {
			total = add(total, length(a.GetValueIndex(i)))
		}
	}
	return total
}

// add returns the sum of two sizes; math.MaxInt64 if that overflows.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
