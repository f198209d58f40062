package uniqueness

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// A minimal sample unique (MSU) of a record is a set of keys on which no other record
// has the same values, and which has no proper subset with this property.
//
// The search is that of SUDA2 (Manning, Haglin and Keane 2008): depth first through
// subtables of records that agree on the keys chosen so far, with the same pruning. The
// search skips a subtable if it has no record that is unique on all keys, if the last
// added key has only one value in it (no set with this key is minimal), or if it has
// too few rows for the requested size (every further key of an MSU separates at least
// one further row). The search differs from the paper in three ways. Equal records form
// one row. Keys are chosen in a fixed order, the keys that separate the most records
// first, instead of items by their rarity. Sizes are searched one after the other, so
// that a set is minimal if it contains none of the record's smaller MSUs, where the
// paper looks for a supporting row.

// sudaTable is the table to search: one row for each class of equal keys.
type sudaTable struct {
	keys   int
	codes  []int32 // row-major, keys in the order of the search, dense, −1 missing
	target []bool  // the class has one record; only such classes can have MSUs
	spans  []int   // numbers of values, in the order of the search
	order  []int   // for each place in the order of the search, the index of the key
}

func newSUDATable(g *grouper, c *classes) *sudaTable {
	rows := len(c.count)
	t := &sudaTable{keys: len(c.keys), codes: make([]int32, rows*len(c.keys)), target: make([]bool, rows)}
	for r, n := range c.count {
		t.target[r] = n == 1
	}
	type ranked struct {
		key, span int
		alike     float64 // sum of squared value counts
		codes     []int32
	}
	keys := make([]ranked, t.keys)
	for j, key := range c.keys {
		ids := make([]int32, rows)
		span := g.group([]field{key}, nil, ids)
		counts := make([]float64, span)
		for _, id := range ids {
			counts[id]++
		}
		k := ranked{key: j, span: span, codes: ids}
		for _, n := range counts {
			k.alike += n * n
		}
		for r, code := range key.codes {
			if code < 0 {
				ids[r] = -1
			}
		}
		keys[j] = k
	}
	slices.SortStableFunc(keys, func(a, b ranked) int { return cmp.Compare(a.alike, b.alike) })
	for place, k := range keys {
		t.order, t.spans = append(t.order, k.key), append(t.spans, k.span)
		for r, code := range k.codes {
			t.codes[r*t.keys+place] = code
		}
	}
	return t
}

// search calls each for every MSU of at most maxSize keys, from one goroutine, the
// smallest first and within a size in no fixed order. It returns ctx's error if ctx
// ends.
func (t *sudaTable) search(ctx context.Context, maxSize, workers int, each func(row int32, set uint64)) error {
	rows := len(t.target)
	known := &uniques{start: make([]int, rows+1)}
	parts := t.parts()
	for size := 1; size <= maxSize; size++ {
		searchers := make([]*searcher, workers)
		var next atomic.Int64
		var wait sync.WaitGroup
		for w := range searchers {
			s := &searcher{table: t, known: known, size: size, levels: make([][]int32, size)}
			searchers[w] = s
			wait.Go(func() {
				defer bug.Guard()
				for {
					i := int(next.Add(1)) - 1
					if i >= len(parts) || ctx.Err() != nil {
						return
					}
					s.enter(ctx, parts[i])
				}
			})
		}
		wait.Wait()
		if err := ctx.Err(); err != nil {
			return err
		}
		visited := false
		var lists [][]msu
		for _, s := range searchers {
			visited = visited || s.visited
			lists = append(lists, s.msus)
			for _, f := range s.msus {
				each(f.row, f.set)
			}
		}
		if !visited || size == maxSize {
			return nil
		}
		known = known.with(lists, workers)
	}
	return nil
}

// part is a subtable of rows that agree on the key at place. The goroutines start from
// the parts of the whole table.
type part struct {
	place int
	rows  []int32
	all   bool // the key has the same value in all rows of the table
}

// parts returns the subtables for each value of each key, the largest first.
func (t *sudaTable) parts() []part {
	rows := len(t.target)
	var parts []part
	for place := range t.keys {
		start := make([]int32, t.spans[place]+1)
		for r := range rows {
			if code := t.codes[r*t.keys+place]; code >= 0 {
				start[code+1]++
			}
		}
		for code := range t.spans[place] {
			start[code+1] += start[code]
		}
		sorted := make([]int32, start[t.spans[place]])
		fill := slices.Clone(start)
		for r := range rows {
			if code := t.codes[r*t.keys+place]; code >= 0 {
				sorted[fill[code]] = int32(r)
				fill[code]++
			}
		}
		for code := range t.spans[place] {
			if p := sorted[start[code]:start[code+1]]; len(p) > 0 {
				parts = append(parts, part{place, p, len(p) == rows})
			}
		}
	}
	// The largest first, so that the goroutines end at about the same time.
	slices.SortStableFunc(parts, func(a, b part) int { return len(b.rows) - len(a.rows) })
	return parts
}

// searcher searches for the MSUs of one size, on one goroutine.
type searcher struct {
	table   *sudaTable
	known   *uniques
	size    int
	msus    []msu
	visited bool      // the search reached a subtable in which it chooses the last key
	levels  [][]int32 // rows of the parts, by depth
	counts  []int32
}

// enter searches the sets whose first key is that of the part.
func (s *searcher) enter(ctx context.Context, p part) {
	set := uint64(1) << p.place
	if s.size == 1 {
		s.visited = true
		if len(p.rows) == 1 && s.table.target[p.rows[0]] {
			s.msus = append(s.msus, msu{p.rows[0], set})
		}
		return
	}
	if !p.all && s.worth(p.rows, s.size-1) {
		s.extend(ctx, p.rows, p.place+1, 1, set)
	}
}

// worth reports whether rows can have an MSU with the given number of further keys.
func (s *searcher) worth(rows []int32, more int) bool {
	if len(rows) <= more {
		return false
	}
	for _, r := range rows {
		if s.table.target[r] {
			return true
		}
	}
	return false
}

// extend adds each key from place next on to set. rows, at least two, agree on the keys
// of set.
func (s *searcher) extend(ctx context.Context, rows []int32, next, depth int, set uint64) {
	if depth+1 == s.size {
		s.visited = true
		for place := next; place < s.table.keys; place++ {
			s.alone(rows, place, set)
		}
		return
	}
	if depth < 3 && ctx.Err() != nil {
		return
	}
	if cap(s.levels[depth]) < len(rows) {
		s.levels[depth] = make([]int32, len(rows))
	}
	sorted := s.levels[depth][:len(rows)]
	more := s.size - depth - 1
	for place := next; place+more < s.table.keys; place++ {
		known := s.sort(rows, sorted, place)
		for lo := 0; lo < known; {
			code := s.code(sorted[lo], place)
			hi := lo + 1
			for hi < known && s.code(sorted[hi], place) == code {
				hi++
			}
			if group := sorted[lo:hi]; len(group) < len(rows) && s.worth(group, more) {
				s.extend(ctx, group, place+1, depth+1, set|1<<place)
			}
			lo = hi
		}
	}
}

func (s *searcher) code(row int32, place int) int32 {
	return s.table.codes[int(row)*s.table.keys+place]
}

// alone passes to unique the rows whose value at place no other row has.
func (s *searcher) alone(rows []int32, place int, set uint64) {
	if len(rows) == 2 {
		a, b := s.code(rows[0], place), s.code(rows[1], place)
		if a != b {
			s.unique(rows[0], a, set|1<<place)
			s.unique(rows[1], b, set|1<<place)
		}
		return
	}
	counts := s.count(rows, place)
	for _, r := range rows {
		if code := s.code(r, place); code >= 0 && counts[code] == 1 {
			s.unique(r, code, set|1<<place)
		}
	}
	for _, r := range rows {
		if code := s.code(r, place); code >= 0 {
			counts[code] = 0
		}
	}
}

func (s *searcher) unique(row, code int32, set uint64) {
	if code >= 0 && s.table.target[row] && !s.known.within(row, set) {
		s.msus = append(s.msus, msu{row, set})
	}
}

// count counts the values of rows at place. The caller must reset these counts to 0.
func (s *searcher) count(rows []int32, place int) []int32 {
	if len(s.counts) < s.table.spans[place] {
		s.counts = make([]int32, slices.Max(s.table.spans))
	}
	for _, r := range rows {
		if code := s.code(r, place); code >= 0 {
			s.counts[code]++
		}
	}
	return s.counts
}

// sort writes the rows that have a value at place to sorted, equal values adjacent, and
// returns their number.
func (s *searcher) sort(rows, sorted []int32, place int) int {
	if len(rows) <= 16 {
		known := 0
		for _, r := range rows {
			code := s.code(r, place)
			if code < 0 {
				continue
			}
			at := known
			for ; at > 0 && s.code(sorted[at-1], place) > code; at-- {
				sorted[at] = sorted[at-1]
			}
			sorted[at] = r
			known++
		}
		return known
	}
	counts := s.count(rows, place)
	// counts[code] becomes −(end of its values) − 1 at its first row, so that one array
	// holds both counts and positions.
	end := int32(0)
	for _, r := range rows {
		code := s.code(r, place)
		if code < 0 {
			continue
		}
		if counts[code] > 0 {
			end += counts[code]
			counts[code] = -end - 1
		}
		counts[code]++
		sorted[-counts[code]-1] = r
	}
	for _, r := range rows {
		if code := s.code(r, place); code >= 0 {
			counts[code] = 0
		}
	}
	return int(end)
}

// keysOf calls each for the keys of a set, as indices into Data.Keys.
func (t *sudaTable) keysOf(set uint64, each func(key int)) {
	for ; set != 0; set &= set - 1 {
		each(t.order[bits.TrailingZeros64(set)])
	}
}
