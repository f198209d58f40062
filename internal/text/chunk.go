package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/connectors"
)

const (
	chunkSize = 1 << 20
	// maxRecord bounds the memory that a quote which is never closed can take.
	maxRecord = 64 << 20
	maxChunk  = 1 << 31 // offsets within a chunk are uint32
)

// Split finds records: it returns the length of the longest prefix of p that
// consists of whole records, at most max of them where max > 0, and how many
// there are. The prefix may end in blank lines. Where final is true nothing
// follows p, and its last record needs no line end.
type Split func(p []byte, max int, final bool) (n, records int)

// Chunk is a run of consecutive records of one stream.
type Chunk struct {
	Data    []byte
	First   int64 // of the stream, from 0
	Records int
	Final   bool  // it reaches the stream's end
	Stored  int64 // bytes as stored
	buf     *buffer
}

// Release gives the chunk's memory back; Data must not be used any more.
func (c *Chunk) Release() {
	if c.buf != nil {
		c.buf.release()
		c.buf, c.Data = nil, nil
	}
}

type buffer struct {
	p    []byte
	refs atomic.Int32
}

var buffers = sync.Pool{New: func() any { return &buffer{p: make([]byte, chunkSize)} }}

func newBuffer() *buffer {
	b := buffers.Get().(*buffer)
	b.refs.Store(1)
	return b
}

func (b *buffer) release() {
	if b.refs.Add(-1) == 0 && len(b.p) <= 16*chunkSize {
		buffers.Put(b)
	}
}

// Chunks cuts a stream into chunks.
type Chunks struct {
	r       io.Reader
	split   Split
	cut     connectors.Cut
	stored  func() int64 // bytes read so far as stored
	counted int64
	buf     *buffer
	pos     int // start of what no chunk has taken yet
	have    int // end of what has been read
	next    int64
	offset  int64 // in the text, of what no chunk has taken yet
	eof     bool
}

// NewChunks reads r, at a record's start. stored returns the bytes taken from
// the file so far; nil: they are those of the chunks. head is text that has been
// read from r already.
func NewChunks(r io.Reader, head []byte, split Split, cut connectors.Cut, stored func() int64) *Chunks {
	c := &Chunks{r: r, split: split, cut: cut, stored: stored, buf: newBuffer()}
	c.reserve(len(head))
	c.have = copy(c.buf.p, head)
	return c
}

// Close gives the memory back.
func (c *Chunks) Close() {
	if c.buf != nil {
		c.buf.release()
		c.buf = nil
	}
}

// Continue makes the next chunk the first of its stream again, cut in another
// way: what came before was the header.
func (c *Chunks) Continue(split Split, cut connectors.Cut) { c.split, c.cut, c.next = split, cut, 0 }

// Begin says where the first chunk lies: the number of its first record, and the
// bytes of text before it.
func (c *Chunks) Begin(record, offset int64) { c.next, c.offset = record, offset }

// Offset returns how many bytes of text lie before the next chunk.
func (c *Chunks) Offset() int64 { return c.offset }

// Read returns how many records have been handed out, for places in errors.
func (c *Chunks) Read() int64 { return c.next }

// reserve makes room for n bytes after pos, moving what is there into a fresh
// buffer where it must: chunks may still refer to the old one.
func (c *Chunks) reserve(n int) {
	if c.pos+n <= len(c.buf.p) {
		return
	}
	b := newBuffer()
	if len(b.p) < n {
		b.p = make([]byte, n+n/4)
	}
	rest := copy(b.p, c.buf.p[c.pos:c.have])
	c.buf.release()
	c.buf, c.pos, c.have = b, 0, rest
}

// ErrTooLong says that no record end was found within the longest record that
// is read.
var ErrTooLong = fmt.Errorf("a record is longer than %d MiB", maxRecord>>20)

// Next returns the next chunk, io.EOF after the last.
func (c *Chunks) Next() (*Chunk, error) {
	at, records := c.pos, 0
	for {
		if at < c.have || c.eof {
			limit := 0
			if c.cut.Records > 0 {
				limit = c.cut.Records - records
			}
			n, k := c.split(c.buf.p[at:c.have], limit, c.eof)
			at += n
			records += k
		}
		full := c.cut.Records > 0 && records == c.cut.Records
		enough := !c.cut.Exact && records > 0 && c.have-c.pos >= chunkSize/2
		switch {
		case full, enough:
			return c.take(at, records), nil
		case c.eof && records > 0:
			return c.take(at, records), nil
		case c.eof:
			return nil, io.EOF
		case c.have-at > maxRecord:
			return nil, ErrTooLong
		case at-c.pos > maxChunk-2*maxRecord:
			return nil, errors.New("a window is longer than 2 GiB: make it hold fewer records")
		}
		want := chunkSize
		if have := c.have - c.pos; have >= want {
			// Doubling what is incomplete keeps looking at a long record again linear.
			want = have + max(chunkSize, c.have-at)
		}
		offset := at - c.pos
		c.reserve(want)
		at = c.pos + offset
		if err := c.fill(c.pos + want); err != nil {
			return nil, err
		}
	}
}

// fill reads until have reaches end or the stream ends.
func (c *Chunks) fill(end int) error {
	for empty := 0; c.have < end && !c.eof; {
		n, err := c.r.Read(c.buf.p[c.have:min(end, len(c.buf.p))])
		c.have += n
		switch {
		case err == io.EOF:
			c.eof = true
		case err != nil:
			return err
		case n > 0:
			empty = 0
		default:
			if empty++; empty > 100 {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}

func (c *Chunks) take(end, records int) *Chunk {
	k := &Chunk{
		Data: c.buf.p[c.pos:end:end], First: c.next, Records: records,
		Final: c.eof && end == c.have, Stored: int64(end - c.pos), buf: c.buf,
	}
	if c.stored != nil {
		s := c.stored()
		k.Stored, c.counted = s-c.counted, s
	}
	c.buf.refs.Add(1)
	c.next += int64(records)
	c.offset += int64(end - c.pos)
	c.pos = end
	return k
}

// SplitLines is the Split of a format in which every line is a record, blank
// lines aside. blank is told lines without their line end where they begin with
// a line end or white space, and says whether such a line is no record.
func SplitLines(p []byte, max int, final bool, blank func(line []byte) bool) (n, records int) {
	for n < len(p) && (max == 0 || records < max) {
		end := len(p)
		if k := bytes.IndexByte(p[n:], '\n'); k >= 0 {
			end = n + k + 1
		} else if !final {
			break
		}
		if p[n] > ' ' || !blank(Chomp(p[n:end])) {
			records++
		}
		n = end
	}
	return n, records
}

// Chomp cuts LF or CRLF off a line, and a CR that ends the last line of a file.
func Chomp(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}
