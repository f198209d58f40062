package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/format"
)

// page is one page as it is stored.
type page struct {
	header pageHeader
	body   []byte // compressed; from buffers
	at     int64  // place of the body in the file
	kept   bool   // body is still needed after it is decompressed
}

// values returns the number of values of a data page, including nulls; ok is false
// for pages of other kinds.
func (p *page) values() (n int, ok bool) {
	switch {
	case p.header.Type == format.DataPage && p.header.DataPage.Valid:
		return int(p.header.DataPage.V.NumValues), true
	case p.header.Type == format.DataPageV2 && p.header.DataPageV2.Valid:
		return int(p.header.DataPageV2.V.NumValues), true
	}
	return 0, false
}

// chunk is one column of one row group, being read.
type chunk struct {
	file  string // label
	group int
	leaf  *leaf
	codec format.CompressionCodec
	wide  bool // one of many columns
	dict  *dictionary
}

func (c *chunk) fail(err error) error {
	if e := (*corrupt)(nil); errors.As(err, &e) {
		return err
	}
	return &corrupt{file: c.file, place: place(c.group, c.leaf), err: err}
}

// pages goes through the pages of a chunk with large reads.
type pages struct {
	*chunk
	file     io.ReaderAt
	at, end  int64
	left     int64  // number of the chunk's remaining values
	head     []byte // of the page that was read last
	headRoom [4 << 10]byte
}

func newPages(f io.ReaderAt, label string, group int, l *leaf, m *columnMetaData) *pages {
	p := &pages{chunk: &chunk{file: label, group: group, leaf: l, codec: m.Codec}, file: f, left: m.NumValues}
	p.at, p.end = m.extent()
	return p
}

// next returns the next data page, io.EOF after the last. A dictionary page on
// the way becomes the chunk's.
func (p *pages) next() (*page, error) {
	for p.left > 0 {
		pg, err := p.read()
		if err != nil {
			return nil, p.fail(err)
		}
		n, data := pg.values()
		switch {
		case data && (n < 0 || int64(n) > p.left):
			return nil, p.fail(errors.New("the pages hold more values than the column"))
		case data:
			p.left -= int64(n)
			if n == 0 {
				continue
			}
			return pg, nil
		case pg.header.Type == format.DictionaryPage && pg.header.DictionaryPage.Valid:
			if p.dict != nil {
				return nil, p.fail(errors.New("a second dictionary"))
			}
			p.dict = &dictionary{page: pg, wide: p.wide}
		}
	}
	return nil, io.EOF
}

var errCut = errors.New("the column's data end too early; the file was cut off or is corrupt")

func (p *pages) read() (*page, error) {
	head := p.headRoom[:]
	for {
		if p.at >= p.end {
			return nil, errCut
		}
		head = head[:min(int64(len(head)), p.end-p.at)]
		n, err := p.file.ReadAt(head, p.at)
		if n < len(head) {
			return nil, readError(err)
		}
		pg := new(page)
		n, err = unmarshal(head, &pg.header)
		if err == errShort && p.at+int64(len(head)) < p.end && len(head) < 16<<20 {
			head = make([]byte, 16*len(head)) // long statistics
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("a page's header is corrupt: %w", err)
		}
		p.head = head[:n]
		h := &pg.header
		from := p.at + int64(n)
		switch {
		case h.CompressedSize < 0 || int64(h.CompressedSize) > p.end-from:
			return nil, errCut
		case h.UncompressedSize < 0 || h.UncompressedSize > maxPage:
			return nil, fmt.Errorf("a page of %d bytes", h.UncompressedSize)
		}
		pg.at, pg.body = from, getBuffer(int(h.CompressedSize))
		done := copy(pg.body, head[n:])
		if k, err := p.file.ReadAt(pg.body[done:], from+int64(done)); k < len(pg.body)-done {
			return nil, readError(err)
		}
		p.at = from + int64(h.CompressedSize)
		return pg, nil
	}
}

func readError(err error) error {
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCut
	}
	return err
}

// sections are the parts of a page, uncompressed. They refer to buffer, which must be
// returned when they are not used any more; nil if there is nothing to return.
type sections struct {
	rep, def, data []byte
	enc            format.Encoding // of data
	buffer         []byte
	exact          bool // the stored bytes contain nothing else
}

// open returns the page's levels and values, uncompressed. It releases the page's own
// body.
func (p *page) open(c *chunk) (s sections, err error) {
	if s, err = p.uncompressed(c.codec); err != nil || p.header.Type != format.DataPage {
		return s, err
	}
	h, l := &p.header.DataPage.V, c.leaf
	s.enc = h.Encoding
	if l.maxRep > 0 {
		if h.RepetitionEncoding != format.RLE {
			return s, fmt.Errorf("levels in encoding %s, which is not supported", h.RepetitionEncoding)
		}
		if s.rep, s.data, err = levelsOf(s.data); err != nil {
			return s, err
		}
	}
	if l.maxDef > 0 {
		if h.DefinitionEncoding != format.RLE {
			return s, fmt.Errorf("levels in encoding %s, which is not supported", h.DefinitionEncoding)
		}
		s.def, s.data, err = levelsOf(s.data)
	}
	return s, err
}

// uncompressed leaves the levels of a page of version 1 before its values.
func (p *page) uncompressed(codec format.CompressionCodec) (s sections, err error) {
	h := &p.header
	if h.CRC.Valid && int32(crc32.ChecksumIEEE(p.body)) != h.CRC.V {
		return s, errors.New("a page's checksum is wrong; the file is corrupt")
	}
	body := p.body
	p.body = nil
	levels := 0
	if h.Type == format.DataPageV2 {
		v2 := &h.DataPageV2.V
		s.enc = v2.Encoding
		r, d := int(v2.RepetitionsLength), int(v2.DefinitionsLength)
		if r < 0 || d < 0 || r > len(body) || d > len(body)-r || r+d > int(h.UncompressedSize) {
			return s, errShort
		}
		if v2.IsCompressed.Valid && !v2.IsCompressed.V {
			codec = format.Uncompressed
		}
		levels = r + d
		defer func() { s.rep, s.def = s.buffer[:r], s.buffer[r:levels] }()
	}
	if codec == format.Uncompressed {
		if p.kept { // values are decoded in place
			body = append(getBuffer(len(body))[:0], body...)
		}
		s.buffer, s.data, s.exact = body, body[levels:], true
		if len(body) != int(h.UncompressedSize) {
			err = errSize
		}
		return s, err
	}
	s.buffer = getBuffer(int(h.UncompressedSize))
	copy(s.buffer, body[:levels])
	s.data = s.buffer[levels:]
	if packed := body[levels:]; levels == 0 || len(s.data) > 0 {
		s.exact, err = decompress(codec, s.data, packed)
	} else {
		// A page that has only nulls may have nothing to decompress, or the compressed
		// form of an empty page.
		exact, failed := decompress(codec, s.data, packed)
		s.exact = len(packed) == 0 || exact && failed == nil
	}
	if !p.kept {
		putBuffer(body)
	}
	return s, err
}

// dictionary is the dictionary page of a chunk, which is decoded when it is first
// needed.
type dictionary struct {
	page *page
	once sync.Once
	err  error
	n    int
	data []byte // fixed width: n values; otherwise the bytes that offsets refer to
	offs []uint32

	short []uint64 // the texts in words, if all have at most 8 bytes

	exact bool // the page contains nothing but the values

	wide      bool      // it is one of many, and is to take less memory
	converted sync.Once // for columns of numbers, in numbers
	floats    []float64
	counts    []int32 // in place of floats, if these are whole multiples of 1/per
	per       float64
	bad       bool // some value could not be represented
}

func (d *dictionary) decode(c *chunk) error {
	d.once.Do(func() {
		defer recovered(&d.err)
		h := &d.page.header.DictionaryPage.V
		s, err := d.page.uncompressed(c.codec)
		if err != nil {
			d.err = err
			return
		}
		data := s.data
		if h.Encoding != format.Plain && h.Encoding != plainDictionary {
			d.err = fmt.Errorf("a dictionary in encoding %s", h.Encoding)
			return
		}
		d.n = int(h.NumValues)
		if d.n < 0 || d.n > len(data) { // a value takes at least a bit, of which booleans have two
			d.err = errShort
			return
		}
		var v values
		v.n = d.n
		d.err = v.plain(c.leaf, data)
		if d.data, d.offs = v.data, v.offsets; d.err == nil && c.leaf.width == 0 {
			d.short = shortWords(d.data, d.offs)
		}
		d.exact = d.err == nil && s.exact && exactData(c.leaf, format.Plain, data, d.n, &v)
	})
	return d.err
}

// recovered turns a panic about corrupt bytes into an error. The panic's own text is
// not used, since it might contain data.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = errors.New("the data are corrupt")
	}
}

// unit is decoded at once: a page, or, for columns that repeat, whose pages do not give
// their number of records, a chunk. Several blocks may need parts of it.
type unit struct {
	*chunk
	pages []*page
	rows  int
	part  *pagePart // of the page that is decoded; nil: all of it
	v     values

	taken atomic.Bool
	done  chan struct{}
	err   error // once done is closed

	refs atomic.Int32 // number of references: segments, and the reader's while it cuts segments
}

func newUnit(c *chunk, rows int, pages ...*page) *unit {
	u := &unit{chunk: c, pages: pages, rows: rows, done: make(chan struct{})}
	u.refs.Store(1)
	return u
}

// try decodes the unit unless another goroutine is decoding it or has decoded it.
func (u *unit) try() {
	if u.taken.CompareAndSwap(false, true) {
		defer close(u.done)
		func() {
			defer recovered(&u.err)
			if u.part != nil {
				u.err = u.v.decodePart(u.chunk, u.pages[0], u.part, u.rows)
			} else {
				u.err = u.v.decode(u.chunk, u.pages, u.rows)
			}
		}()
		if u.err != nil {
			u.err = u.fail(u.err)
		}
		u.pages = nil
	}
}

// wait decodes the unit, or waits until it is decoded.
func (u *unit) wait() error {
	u.try()
	<-u.done
	return u.err
}

func (u *unit) release() {
	if u.refs.Add(-1) == 0 {
		u.v.free()
	}
}
