package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sort"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// packed has the dictionary indexes of a flat page in stored form. Each block decodes the indexes
// of its records, since all indexes of a large page would take many times its size when decoded.
type packed struct {
	src   []byte // runs, as decodeHybrid reads them
	width int
	n     int
	skip  int    // number of indexes in src that are not read
	marks []mark // the places where reading can begin, in order
}

// mark is the beginning of a run.
type mark struct {
	first int // number of its first index
	at    int // its place in src
}

// Marks are this many indexes apart, or this many bytes: runs may have no number in them.
const (
	markEach  = 4 << 10
	markBytes = 64 << 10
)

// packedIndexes returns n indexes of the given width. It checks their runs, and returns the same
// errors as decodeHybrid.
func packedIndexes(src []byte, width, n int) (*packed, error) {
	if width < 0 || width > 32 {
		return nil, fmt.Errorf("a bit width of %d", width)
	}
	p := &packed{src: src, width: width, n: n}
	if width == 0 {
		return p, nil
	}
	next, nextAt := 0, 0 // least index and place of the next mark
	for first, at := 0, 0; first < n; {
		r, err := p.run(first, at)
		if err != nil {
			return nil, err
		}
		if first >= next || at >= nextAt {
			p.marks, next, nextAt = append(p.marks, mark{first, at}), first+markEach, at+markBytes
		}
		first, at = first+r.n, r.end
	}
	return p, nil
}

// packedRun is a run of equal or of bit-packed numbers.
type packedRun struct {
	n     int // number of the page's numbers in it
	equal bool
	value uint32 // of a run of equal numbers
	at    int    // place of bit-packed numbers in src
	end   int    // of the run in src
}

// run reads the head of the run at place at of src, whose first number has index first.
func (p *packed) run(first, at int) (r packedRun, err error) {
	src, left := p.src[at:], p.n-first
	head, k := binary.Uvarint(src)
	if k <= 0 {
		return r, errShort
	}
	src, at = src[k:], at+k
	if r.equal = head&1 == 0; r.equal {
		bytes := (p.width + 7) / 8
		r.n, r.end = int(min(head>>1, uint64(left))), at+bytes
		if len(src) < bytes {
			return r, errShort
		}
		for i := bytes - 1; i >= 0; i-- {
			r.value = r.value<<8 | uint32(src[i])
		}
		if r.n > 0 && p.width < 32 && r.value>>p.width != 0 {
			return r, errWidth
		}
		return r, nil
	}
	groups := head >> 1
	r.n, r.at = min(int(min(groups, uint64(left)))*8, left), at
	if len(src) < (r.n*p.width+7)/8 {
		return r, errShort
	}
	// Each group takes at least a byte, so that no product is too large.
	r.end = at + int(min(min(groups, uint64(len(src)))*uint64(p.width), uint64(len(src))))
	return r, nil
}

// read decodes the indexes from `from` on.
func (p *packed) read(dst []uint32, from int) error {
	if p.width == 0 {
		clear(dst)
		return nil
	}
	if len(dst) == 0 {
		return nil
	}
	from += p.skip
	m := p.before(from)
	for first, at := m.first, m.at; len(dst) > 0; {
		r, err := p.run(first, at)
		if err != nil {
			return err
		}
		if skip := from - first; skip < r.n {
			n := min(r.n-skip, len(dst))
			if r.equal {
				fill(dst[:n], r.value)
			} else {
				p.unpack(dst[:n], p.src[r.at:], skip)
			}
			dst, from = dst[n:], from+n
		}
		first, at = first+r.n, r.end
	}
	return nil
}

// before returns the last mark that is not after an index.
func (p *packed) before(index int) mark {
	return p.marks[sort.Search(len(p.marks), func(i int) bool { return p.marks[i].first > index })-1]
}

// unpack reads numbers of a bit-packed run from number `skip` on. Every eighth number begins at a byte.
func (p *packed) unpack(dst []uint32, src []byte, skip int) {
	src = src[skip/8*p.width:]
	if k := skip % 8; k > 0 {
		var group [8]uint32
		n := min(8, k+len(dst))
		unpack(group[:n], src, p.width)
		done := copy(dst, group[k:n])
		if dst = dst[done:]; len(dst) == 0 {
			return
		}
		src = src[p.width:]
	}
	unpack(dst, src, p.width)
}

// rankEach is the number of records between two stored ranks.
const rankEach = 64 * 64

// ranksOf counts the records with a value before every rankEach-th one.
func ranksOf(valid microdata.Bitmap) []int {
	ranks, have := make([]int, 0, len(valid)*64/rankEach+1), 0
	for i, w := range valid {
		if i*64%rankEach == 0 {
			ranks = append(ranks, have)
		}
		have += bits.OnesCount64(w)
	}
	return ranks
}

// rank counts the records before record i that have a value.
func (v *values) rank(i int) int {
	if v.valid == nil {
		return i
	}
	if i/rankEach == len(v.ranks) { // the page's end
		return v.packed.n - v.packed.skip
	}
	have := v.ranks[i/rankEach]
	for _, w := range v.valid[i/rankEach*rankEach/64 : i/64] {
		have += bits.OnesCount64(w)
	}
	if i%64 != 0 {
		have += bits.OnesCount64(v.valid[i/64] << (64 - i%64))
	}
	return have
}

var errIndex = errors.New("an index beyond the dictionary")

// part decodes the records from ≤ i < from+n of a flat page with packed indexes into one. Values of
// fixed width are looked up in the dictionary, unless they will be looked up as numbers.
func (v *values) part(one *values, l *leaf, from, n int, numbers bool) error {
	first := v.rank(from)
	present := v.rank(from+n) - first
	b := getBuffer(4 * n)
	defer func() {
		if one.index == nil {
			putBuffer(b)
		}
	}()
	index := words[uint32](b)[:n]
	there := index
	if present < n {
		few := getBuffer(4 * present)
		defer putBuffer(few)
		there = words[uint32](few)[:present]
	}
	if err := v.packed.read(there, first); err != nil {
		return err
	}
	if present > 0 && uint64(greatest(there)) >= uint64(v.dict.n) {
		return errIndex
	}
	one.n, one.dict = n, v.dict
	if present < n {
		one.valid = bitsBetween(v.valid, from, n)
		spreadIndexes(index, there, one.valid)
	}
	switch {
	case l.width > 0 && present == 0: // the dictionary may have no values
		one.data = one.scratch(n * l.width)
		clear(one.data)
	case l.width == 0 || numbers:
		one.index, one.buffers = index, append(one.buffers, b)
	default:
		one.data = one.scratch(n * l.width)
		v.dict.lookUp(one.data, index, l.width)
	}
	return nil
}

// unpacked returns a segment of the same values. If they are packed, it has a unit of its own, whose
// buffers the caller must free. numbers says that they will be looked up as numbers.
func (s segment) unpacked(numbers bool) (segment, error) {
	if s.u.v.packed == nil {
		return s, nil
	}
	one := &unit{chunk: s.u.chunk, rows: s.n}
	if err := s.u.v.part(&one.v, s.u.leaf, s.from, s.n, numbers); err != nil {
		return s, s.u.fail(err)
	}
	return segment{u: one, n: s.n}, nil
}

// bitsBetween returns the n bits from bit `from` on.
func bitsBetween(b microdata.Bitmap, from, n int) microdata.Bitmap {
	out := make(microdata.Bitmap, 0, (n+63)/64)
	eachWord(b, from, n, func(_, _ int, w uint64) { out = append(out, w) })
	return out
}
