package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const continuation = 0xFFFFFFFF

// step bounds the memory that is allocated for a stated length before that many bytes
// have been read.
const step = 1 << 20

// maxBuffer is the greatest stated size of a compressed buffer, and maxRatio its
// greatest ratio to the size of its file. Memory is used only as far as there are bytes
// to fill it.
const (
	maxBuffer = 4 << 30
	maxRatio  = 1 << 16
)

// boundedAllocator refuses sizes that only a corrupt input can have. The Arrow library
// turns the panic into an error.
type boundedAllocator struct {
	memory.Allocator
	limit int
}

// allocatorFor returns an allocator for a file of the given size; negative: not known.
func allocatorFor(size int64) memory.Allocator {
	limit := int64(maxBuffer)
	if size >= 0 {
		limit = min(limit, step+min(size, maxBuffer)*maxRatio)
	}
	return boundedAllocator{memory.NewGoAllocator(), int(limit)}
}

func (a boundedAllocator) check(size int) {
	if size < 0 || size > a.limit {
		panic(errors.New("a buffer claims an impossible size"))
	}
}

func (a boundedAllocator) Allocate(size int) []byte {
	a.check(size)
	return a.Allocator.Allocate(size)
}

func (a boundedAllocator) Reallocate(size int, b []byte) []byte {
	a.check(size)
	return a.Allocator.Reallocate(size, b)
}

// messages reads the messages of a stream. Unlike the Arrow library's own reader, it
// distinguishes an end marker (io.EOF) from the end of the input without one
// (io.ErrUnexpectedEOF), and allocates no more than the input delivers.
type messages struct {
	r     io.Reader
	size  int64  // bytes of the messages read since it was set to 0
	first []byte // metadata of the first message, the schema
}

func (m *messages) Retain()  {}
func (m *messages) Release() {}

// Message returns the next message.
func (m *messages) Message() (*ipc.Message, error) {
	meta, body, err := m.next()
	if err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body)), nil
}

// next returns the metadata, checked, and the body of the next message.
func (m *messages) next() (meta, body []byte, err error) {
	length, err := m.length()
	if err != nil {
		return nil, nil, err
	}
	if meta, err = m.take(int64(length)); err != nil {
		return nil, nil, err
	}
	if err := checkMessage(meta); err != nil {
		return nil, nil, err
	}
	n, err := bodyLength(meta)
	if err != nil {
		return nil, nil, err
	}
	if body, err = m.take(n); err != nil {
		return nil, nil, err
	}
	m.size += int64(length) + n
	if m.first == nil {
		m.first = meta
	}
	return meta, body, nil
}

// length returns the length of the next message's metadata.
func (m *messages) length() (uint32, error) {
	n, err := m.word()
	if err != nil {
		return 0, err
	}
	if n == continuation {
		if n, err = m.word(); err != nil {
			return 0, err
		}
	}
	switch {
	case n == 0:
		return 0, io.EOF
	case n < 8 || n > 1<<30:
		return 0, errors.New("a message claims an impossible length")
	}
	return n, nil
}

func (m *messages) word() (uint32, error) {
	var w [4]byte
	if _, err := io.ReadFull(m.r, w[:]); err != nil {
		return 0, cutOff(err)
	}
	return binary.LittleEndian.Uint32(w[:]), nil
}

// cutOff turns the end of the input into an unexpected one: a stream must have an end marker.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// take reads n bytes.
func (m *messages) take(n int64) ([]byte, error) {
	buf := make([]byte, min(n, step))
	for have := int64(0); ; {
		if _, err := io.ReadFull(m.r, buf[have:]); err != nil {
			return nil, cutOff(err)
		}
		if have = int64(len(buf)); have == n {
			return buf, nil
		}
		grown := make([]byte, min(n, 4*have))
		copy(grown, buf)
		buf = grown
	}
}

// bodyLength reads the body's length out of a message's metadata.
func bodyLength(meta []byte) (n int64, err error) {
	defer func() {
		if recover() != nil {
			n, err = 0, errFlat
		}
	}()
	m := ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(nil))
	if n = m.BodyLen(); n < 0 || n > 1<<40 {
		return 0, errors.New("a message claims an impossible length")
	}
	return n, nil
}

// corrupt returns the error for an input that could not be read. The cause is not
// wrapped: io.EOF inside a message must not be taken for the end of the records.
func corrupt(label string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: the stream ends before its end mark: it is cut off, or its writer was not closed", label)
	}
	return fmt.Errorf("%s: not readable as Arrow IPC: %v", label, err)
}

// replay gives a reader the schema of a stream and one batch of it.
type replay struct{ messages []*ipc.Message }

func (r *replay) Retain()  {}
func (r *replay) Release() {}

func (r *replay) Message() (*ipc.Message, error) {
	if len(r.messages) == 0 {
		return nil, io.EOF
	}
	m := r.messages[0]
	r.messages = r.messages[1:]
	return m, nil
}

func newReplay(schema, meta, body []byte) *replay {
	none := memory.NewBufferBytes(nil)
	return &replay{[]*ipc.Message{
		ipc.NewMessage(memory.NewBufferBytes(schema), none),
		ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body)),
	}}
}
