package parquet

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/files"
)

// partedBytes is how many bytes of a row group's pages are decompressed at a time. If they have
// more, and a page has more records than its share, its records are decoded in several parts: for
// each of them the page is read and decompressed again, and only its records are kept. To decompress
// a page that is hardly smaller when it is compressed is little more than to copy it. The others, of which
// shrunkBytes are decompressed at a time, take longer. They are variables only for the tests.
var partedBytes, shrunkBytes = int64(48 << 20), int64(256 << 20)

// cuts says where a column's pages are cut into parts.
type cuts struct {
	// numbers of records between two cuts, of pages that are hardly smaller when compressed and of others; 0: no cuts
	least, most int
	each        int       // the one of the current page
	ahead       int       // number of the first of these records before the row group
	row         int       // of the row group, at which the next part begins
	left        int       // number of records of the current page that are in no part yet
	page        *page     // the current one, without its body
	part        *pagePart // the last one; nil: a whole page
	room        *partRoom // of all columns of the row group
}

// pagePart is a part of a page.
type pagePart struct {
	from int // record of the page
	of   *firstRead
	room *partRoom
}

// partRoom has the memory of parts of which no records are needed any more. Parts of all columns
// have similar sizes, unlike the sizes of buffers, of which a fifth could be unused.
type partRoom struct {
	mu    sync.Mutex
	spare [][]byte
}

// get returns empty memory for n bytes.
func (r *partRoom) get(n int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, b := range r.spare {
		if cap(b) >= n && cap(b)-n <= n/8 {
			r.spare = slices.Delete(r.spare, i, i+1)
			return b[:0]
		}
	}
	return make([]byte, 0, n)
}

func (r *partRoom) put(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spare = append(r.spare, b); len(r.spare) > mostSpare {
		r.spare = slices.Delete(r.spare, 0, 1)
	}
}

// mostParts is how many parts a page has at most, and mostShrunk the same for one that takes longer;
// where the first cut is not at its beginning, it may have one more.
const (
	mostParts  = 16
	mostShrunk = 4
)

// mostSpare is how many parts are enough for the columns of which one ends in the same block.
const mostSpare = 16

// firstRead is what the body of a page was when it was read first.
type firstRead struct {
	once sync.Once
	sum  uint64
}

// same reports whether a body is the one that was read first.
func (s *firstRead) same(body []byte) bool {
	sum := maphash.Bytes(seed, body)
	s.once.Do(func() { s.sum = sum })
	return sum == s.sum
}

// divide says where the pages of a row group are cut. The columns are cut at different records, so
// that their parts do not begin in the same block. An object of a store is not read several times.
func (r *reader) divide(cursors []*cursor, rg *rowGroup) {
	if _, local := r.file.(*os.File); !local {
		return
	}
	bytes := int64(0)
	for _, c := range cursors {
		bytes += rg.Columns[c.leaf.index].MetaData.V.TotalUncompressedSize
	}
	if bytes <= partedBytes {
		return
	}
	share := func(of, parts int64) int { // the footer could exaggerate, and a page has no more than MaxInt32
		n := min(float64(math.MaxInt32), float64(of)/float64(bytes)*float64(rg.NumRows))
		return max(1, int(n), int(min(math.MaxInt32, rg.NumRows/parts)))
	}
	least, most, room := share(partedBytes, mostParts), share(shrunkBytes, mostShrunk), new(partRoom)
	for i, c := range cursors {
		if c.leaf.flat() && c.leaf.width > 0 {
			c.cuts = cuts{least: least, most: most, ahead: least * i / len(cursors), room: room}
		}
	}
}

// next returns how many of the current page's remaining records are in the next part: those up to a
// cut, or up to the one after it or the page's end, if that is near.
func (c *cuts) next() int {
	if c.each == 0 {
		return c.left
	}
	n := c.each - (c.row+c.ahead)%c.each
	if n < c.each/2 {
		n += c.each
	}
	if c.left-n < c.each/2 {
		return c.left
	}
	return n
}

// cut begins a page of n records, and returns how many of them its first unit has.
func (c *cursor) cut(p *page, n int) int {
	k := &c.cuts
	k.left, k.page, k.part, k.each = n, nil, nil, k.least
	if h := &p.header; int64(h.CompressedSize)*100 < int64(h.UncompressedSize)*98 {
		k.each = k.most
	}
	rows := k.next()
	if rows < n {
		k.page, k.part = &page{header: p.header, at: p.at}, &pagePart{of: new(firstRead), room: k.room}
	}
	k.row, k.left = k.row+rows, n-rows
	return rows
}

// resume makes a unit of the next part of the current page.
func (c *cursor) resume() error {
	k := &c.cuts
	p := &page{header: k.page.header, at: k.page.at, body: getBuffer(int(k.page.header.CompressedSize))}
	if n, err := c.file.ReadAt(p.body, p.at); n < len(p.body) {
		return c.fail(readError(err))
	}
	whole, _ := p.values()
	rows := k.next()
	k.part = &pagePart{from: whole - k.left, of: k.part.of, room: k.room}
	k.row, k.left = k.row+rows, k.left-rows
	c.unit = newUnit(c.chunk, rows, p)
	c.unit.part = k.part
	return nil
}

// decodePart decodes n records of a page.
func (v *values) decodePart(c *chunk, p *page, of *pagePart, n int) error {
	if !of.of.same(p.body) {
		return files.ErrChanged
	}
	whole := values{coded: true}
	defer whole.free()
	if err := whole.page(c, p); err != nil {
		return err
	}
	return v.cut(&whole, c.leaf, of, n)
}

// cut copies n records of a flat page whose values have a fixed width.
func (v *values) cut(whole *values, l *leaf, of *pagePart, n int) (err error) {
	from := of.from
	v.n, v.dict = n, whole.dict
	if whole.valid != nil {
		v.valid = bitsBetween(whole.valid, from, n)
	}
	if whole.packed == nil {
		v.data = v.scratch(n * l.width)
		copy(v.data, whole.data[from*l.width:])
		return nil
	}
	first := whole.rank(from)
	if v.packed, err = whole.packed.cut(of.room, first, whole.rank(from+n)-first); err != nil {
		return err
	}
	v.lender = of.room
	if v.valid != nil {
		v.ranks = ranksOf(v.valid)
	}
	return nil
}

// cut copies n indexes, from index `first` on. Bit-packed runs are cut at a group of eight.
func (p *packed) cut(room *partRoom, first, n int) (*packed, error) {
	if p.width == 0 || n == 0 {
		return &packed{width: p.width, n: n}, nil
	}
	src := room.get(n*p.width/8 + n/256 + 64)
	skip := 0 // number of indexes in src before the first
	m := p.before(first)
	for at, next := m.first, m.at; at < first+n; {
		r, err := p.run(at, next)
		if err != nil {
			return nil, err
		}
		from, to := max(first-at, 0), min(first+n-at, r.n)
		switch bytes := (p.width + 7) / 8; {
		case from >= to:
		case r.equal:
			src = append(binary.AppendUvarint(src, uint64(to-from)<<1), p.src[r.end-bytes:r.end]...)
		default:
			if len(src) == 0 {
				skip = from % 8
			}
			groups := (to - from/8*8 + 7) / 8
			src = binary.AppendUvarint(src, uint64(groups)<<1|1)
			src = append(src, p.src[r.at+from/8*p.width:min(r.at+(from/8+groups)*p.width, r.end)]...)
		}
		at, next = at+r.n, r.end
	}
	out, err := packedIndexes(src, p.width, skip+n)
	if err == nil {
		out.skip = skip
	}
	return out, err
}
