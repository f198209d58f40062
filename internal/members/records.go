package members

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Reasons for which a record is rejected.
const (
	NotJSON   = "not valid JSON"
	NotObject = "not a JSON object"
	Twice     = "a member is there twice"
	Nested    = "an object or array where the column has single values"
	NotNested = "not an object, where the column lies in one"
)

// Span is a piece of the text of a block's records.
type Span struct{ Start, End uint32 }

// present is a member of a record that is released as it is: its value, and its place among the
// columns of the release.
type present struct {
	Span
	rank int32
}

// Records are the texts of a block's records: what a Block carries.
type Records struct {
	// Data is the text of the block, Spans where the records lie in it.
	Data  []byte
	Spans []Span
	// Unlisted are the places of members that the tree does not have, of the first
	// record that is an object of valid JSON with any, where the plan is strict.
	Unlisted []string

	plan    *Plan
	n       int
	clean   bool      // all of Data is UTF-8
	values  []Span    // of decoded members: record r of slot s is at s*n + r; empty where missing
	kept    []present // the members of all records that are released as they are, by record and rank
	last    []uint32  // where those of each record end
	stamps  []int32   // by node: the last record, from 1, that had it
	next    []*node   // as Plan.next, and as the records have shown since
	own     []byte
	buf     []byte
	release func()

	// Of the record being scanned.
	p        []byte // up to its end
	stamp    int32
	column   string
	reason   string
	unlisted []string
	member   int // the number of the member being scanned in its object, from 1
}

var pool = sync.Pool{New: func() any { return new(Records) }}

// sized returns s with n elements of the zero value.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// Records returns memory for the n records of a block. Give it its text by Use
// or Gather, then Scan each record.
func (p *Plan) Records(n int) *Records {
	s := pool.Get().(*Records)
	s.plan, s.n = p, n
	s.Spans, s.values, s.last = sized(s.Spans, n), sized(s.values, n*p.slots), sized(s.last, n)
	s.stamps = sized(s.stamps, len(p.nodes))
	s.next = append(s.next[:0], p.next...)
	s.kept, s.Unlisted, s.unlisted = s.kept[:0], nil, nil
	return s
}

// Use makes data the text of the block; release is called once it is not needed
// any more. data must be shorter than 4 GiB.
func (s *Records) Use(data []byte, release func()) {
	s.Data, s.release = data, release
	s.clean = utf8.Valid(data)
}

// Gather makes copies of the given texts, one a record, the text of the block.
func (s *Records) Gather(records [][]byte) error {
	size := 0
	for _, p := range records {
		size += len(p) + 1
	}
	if size > math.MaxInt32 {
		return errors.New("the records of a block are longer than 2 GiB together: make it hold fewer")
	}
	if cap(s.own) < size {
		s.own = make([]byte, 0, size+size/8)
	}
	data := s.own[:0]
	for r, p := range records {
		from := len(data)
		data = append(data, p...)
		s.Spans[r] = Span{uint32(from), uint32(len(data))}
		// Half a character at the end of one record must not become a whole one
		// with the beginning of the next.
		data = append(data, '\n')
	}
	s.own = data
	s.Use(data, nil)
	return nil
}

// maxKept is how much memory for text a pooled Records keeps.
const maxKept = 16 << 20

// Release gives the memory back: nothing of s must be used any more.
func (s *Records) Release() {
	if s.release != nil {
		s.release()
		s.release = nil
	}
	if cap(s.own) > maxKept {
		s.own = nil
	}
	s.Data, s.p = nil, nil
	pool.Put(s)
}

// Reuse releases what a block carries that is to be filled again.
func Reuse(b *microdata.Block) {
	if old, ok := b.Carried.(*Records); ok {
		b.Carried = nil
		old.Release()
	}
}

// Scan scans record r, Data[from:to] but for white space around it. Where the
// record is malformed, b.Reject is told, and the reason returned.
func (s *Records) Scan(b *microdata.Block, r, from, to int) (reason string) {
	s.Spans[r] = Span{uint32(from), uint32(to)}
	kept := len(s.kept)
	s.column, s.reason = "", ""
	s.p, s.stamp = s.Data[:to], int32(r)+1
	if !s.clean && !utf8.Valid(s.p[from:]) {
		s.reason = text.NotUTF8
	} else {
		s.record(r, from)
	}
	if s.unlisted != nil {
		if s.reason == "" && s.Unlisted == nil {
			s.Unlisted = s.unlisted
		}
		s.unlisted = nil
	}
	if s.reason != "" {
		s.drop(b, r, s.column, s.reason)
		s.kept = s.kept[:kept]
	}
	inOrder(s.kept[kept:])
	s.last[r] = uint32(len(s.kept))
	return s.reason
}

// Refuse rejects record r, which is not scanned.
func (s *Records) Refuse(b *microdata.Block, r int, reason string) {
	s.drop(b, r, "", reason)
	s.last[r] = uint32(len(s.kept))
}

func (s *Records) drop(b *microdata.Block, r int, column, reason string) {
	b.Reject(r, column, reason)
	for slot := range s.plan.slots {
		s.values[slot*s.n+r] = Span{}
	}
}

func (s *Records) fail(n *node, reason string) int {
	if s.reason == "" {
		s.reason = reason
		if n != nil && n.parent != nil && s.plan.nodes[n.id].named {
			s.column = n.path()
		}
	}
	return -1
}

func (s *Records) record(r, from int) {
	p := s.p
	i := Space(p, from)
	if i >= len(p) || p[i] != '{' {
		if end := SkipValue(p, i, 0); end >= 0 && Space(p, end) == len(p) {
			s.fail(nil, NotObject)
		}
		s.fail(nil, NotJSON)
		return
	}
	end := s.object(s.plan.tree.nodes[Root], r, i, 1)
	if end < 0 || Space(p, end) != len(p) {
		// A record that is not JSON is reported as such, whatever other errors it has.
		if s.reason != "" {
			end = SkipValue(p, i, 0)
		}
		if s.reason == "" || end < 0 || Space(p, end) != len(p) {
			s.reason, s.column = NotJSON, ""
		}
	}
}

// inOrder sorts the members of a record by their ranks. Most records have them in this order.
func inOrder(kept []present) {
	for i := 1; i < len(kept); i++ {
		if kept[i].rank < kept[i-1].rank {
			slices.SortFunc(kept, func(a, b present) int { return cmp.Compare(a.rank, b.rank) })
			return
		}
	}
}

// object scans the object at p[i], whose members are those of n, and returns
// its end, or -1.
func (s *Records) object(n *node, r, i, depth int) int {
	p := s.p
	if depth > maxDepth {
		return s.fail(nil, NotJSON)
	}
	s.stamps[n.id] = s.stamp
	i = Space(p, i+1)
	if i < len(p) && p[i] == '}' {
		return i + 1
	}
	at := len(s.plan.nodes) + n.id
	for number := 1; ; number++ {
		s.member = number
		k, value, end := s.usual(at, i)
		if k != nil {
			at = k.id
			s.take(k, r, value, end)
		} else if k, value = s.memberName(n, at, i); value < 0 {
			return -1
		} else if k != nil {
			at = k.id
			end = s.scanned(k, r, value, depth)
		} else if end = SkipValue(p, value, depth); end < 0 {
			s.fail(nil, NotJSON)
		}
		if end < 0 {
			return -1
		}
		i = Space(p, end)
		if i >= len(p) || p[i] != ',' && p[i] != '}' {
			return s.fail(nil, NotJSON)
		}
		if p[i] == '}' {
			return i + 1
		}
		i = Space(p, i+1)
	}
}

// usual scans the member at p[i] where it is what most records have there: the one that is
// likely to follow the member at, a string or a number, and behind it at once what ends a
// member. It returns the member, where its value begins and where it ends, or nil.
func (s *Records) usual(at, i int) (k *node, value, end int) {
	p := s.p
	k = s.next[at]
	if k == nil || k.column < 0 || !k.at(p, i) {
		return nil, 0, 0
	}
	if i += len(k.quoted); p[i] != ':' {
		return nil, 0, 0
	}
	if i++; i < len(p) && p[i] == ' ' {
		i++
	}
	if i >= len(p) {
		return nil, 0, 0
	}
	switch c := p[i]; {
	case c == '"':
		end = SkipString(p, i)
	case c-'0' <= 9 || c == '-':
		end = skipNumber(p, i)
	default:
		return nil, 0, 0
	}
	if end < 0 || end >= len(p) || p[end] != ',' && p[end] != '}' || s.stamps[k.id] == s.stamp {
		return nil, 0, 0
	}
	s.stamps[k.id] = s.stamp
	return k, i, end
}

// memberName scans the name of a member of n at p[i] and the colon behind it. It returns
// the member, nil where the tree does not have it, and where its value begins, or -1. at
// is the member that came before: most records have the same ones in the same order.
func (s *Records) memberName(n *node, at, i int) (*node, int) {
	p := s.p
	if i >= len(p) || p[i] != '"' {
		return nil, s.fail(nil, NotJSON)
	}
	k := s.next[at]
	if k != nil && k.at(p, i) {
		i += len(k.quoted)
	} else {
		end := SkipString(p, i)
		if end < 0 {
			return nil, s.fail(nil, NotJSON)
		}
		name := Name(p, i, end, &s.buf)
		if k = n.byName[string(name)]; k != nil {
			s.next[at] = k
		} else if s.plan.strict {
			s.note(n)
		}
		i = end
	}
	if i >= len(p) || p[i] != ':' {
		if i = Space(p, i); i >= len(p) || p[i] != ':' {
			return nil, s.fail(nil, NotJSON)
		}
	}
	return k, Space(p, i+1)
}

// scanned scans the value at p[i] of a member that the tree knows.
func (s *Records) scanned(k *node, r, i, depth int) int {
	p := s.p
	if s.stamps[k.id] == s.stamp {
		return s.fail(k, Twice)
	}
	s.stamps[k.id] = s.stamp
	if k.column < 0 {
		switch {
		case i < len(p) && p[i] == '{':
			return s.object(k, r, i, depth+1)
		case i < len(p) && p[i] == 'n':
			end := skipWord(p, i, "null")
			if end < 0 {
				return s.fail(nil, NotJSON)
			}
			return end
		}
		return s.fail(k, NotNested)
	}
	end := SkipValue(p, i, depth)
	if end < 0 {
		return s.fail(nil, NotJSON)
	}
	if !k.text && (p[i] == '{' || p[i] == '[') {
		return s.fail(k, Nested)
	}
	s.take(k, r, i, end)
	return end
}

// take notes the value p[i:end] of a column.
func (s *Records) take(k *node, r, i, end int) {
	a := &s.plan.nodes[k.id]
	if a.slot >= 0 {
		s.values[int(a.slot)*s.n+r] = Span{uint32(i), uint32(end)}
	}
	if a.rank >= 0 {
		s.kept = append(s.kept, present{Span{uint32(i), uint32(end)}, a.rank})
	}
}

// maxNoted bounds how many unlisted members of a record are noted.
const maxNoted = 20

// note notes the place of a member of n that the tree does not have. Its name may be data, for
// example that of a person.
func (s *Records) note(n *node) {
	if s.Unlisted != nil || len(s.unlisted) == maxNoted {
		return
	}
	place := fmt.Sprintf("member %d", s.member)
	if path := n.path(); path != "" {
		place += " of " + path
	}
	s.unlisted = append(s.unlisted, place)
}
