// Package sample keeps whole records: a keyed sample of all, and the most extreme ones of
// a column.
package sample

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Layout says which columns of blocks the values of a record come from, by their index:
// of columns in Numbers form the original and the released value each, then codes of the
// originals that are carried, then codes of the released values of some of those, then what the
// release shows of further columns (cell.Shown), or of a piece of their texts, as Pieces says.
type Layout struct{ Columns, Carry, Released, Beside, Pieces []int }

// Width is the number of values of a record.
func (l Layout) Width() int { return l.BesideAt(len(l.Beside)) }

// Index returns the index in blocks of column c; carried columns follow after the others.
func (l Layout) Index(c int) int {
	if c < len(l.Columns) {
		return l.Columns[c]
	}
	return l.Carry[c-len(l.Columns)]
}

// CarryAt returns the index, among the values of a record, of the code of carried column i.
func (l Layout) CarryAt(i int) int { return 2*len(l.Columns) + i }

// releasedAt returns the index of the released code of column i of Released.
func (l Layout) releasedAt(i int) int { return 2*len(l.Columns) + len(l.Carry) + i }

// BesideAt returns the index of what the release shows of column i of Beside.
func (l Layout) BesideAt(i int) int { return l.releasedAt(len(l.Released)) + i }

// Fill writes the values of a record.
func (l Layout) Fill(dst []float64, b *microdata.Block, row int) {
	for i, index := range l.Columns {
		col := &b.Columns[index]
		dst[2*i], dst[2*i+1] = cell.At(col.Original, row), cell.At(col.Out(), row)
		if col.Coded.Has(row) {
			dst[2*i], dst[2*i+1] = col.Coded.Category(row), col.Coded.ReleasedCategory(row)
		}
	}
	for i, index := range l.Carry {
		dst[l.CarryAt(i)] = cell.Code(&b.Columns[index], row)
	}
	for i, index := range l.Released {
		dst[l.releasedAt(i)] = cell.ReleasedCode(&b.Columns[index], row)
	}
	for i, index := range l.Beside {
		dst[l.BesideAt(i)] = cell.Piece(&b.Columns[index], row, l.Pieces[i])
	}
}

// Sample is a bottom-k sample of records: those with the k smallest priorities,
// where a record's priority is a keyed function of its place. Without the key, the
// sample cannot be distinguished from a uniform one. It does not depend on how the
// records were split, and the sample of a union is computed from the samples of its
// parts.
type Sample struct {
	K        int // < 0: all records
	Limit    uint32
	Priority []uint32
	From     []*place.Origin
	Row      []int64 // places
	// once settled, by column: original and released of each, carried codes, released codes; NaN: no value
	Values [][]float64

	short []multiples // of the columns whose values are not in Values
	Hits  []int32     // scratch
	moved []int32
}

// scratch holds the values of a block's records in one column, of which several are added at once.
var scratch = sync.Pool{New: func() any { return new([]float64) }}

// New returns an empty sample of at most k records with width values each; k < 0: of all records.
func New(k, width int) Sample {
	return Sample{K: k, Limit: math.MaxUint32, Values: make([][]float64, width), short: make([]multiples, width)}
}

// Len is the number of records held, which may be more than k until Prune.
func (s *Sample) Len() int { return len(s.Priority) }

// room returns how many records more than the sample are held before some are dropped: for a small
// sample the same number again, for a large one, with a megabyte in each column, a quarter, and of many columns an
// eighth.
func (s *Sample) room() int {
	share := 4
	if len(s.Values) > wide {
		share = 8
	}
	return max(s.K/share, min(s.K, 1024))
}

// wide is the number of values of a record above which memory matters more than the time of Prune.
const wide = 32

// reserved returns a column with room for more values. Once it has half of the sample, it gets all
// the room that it will need at once.
func reserved[T any](s *Sample, v []T, more int) []T {
	need := len(v) + more
	if need > cap(v) && s.K >= 0 && need > s.K/2 {
		return append(make([]T, 0, max(need, s.K+s.room()+more)), v...)
	}
	return slices.Grow(v, more)
}

// Offer adds those records of a block whose priority is low enough, with the values of
// the layout's columns.
func (s *Sample) Offer(b *microdata.Block, from *place.Origin, p *place.Priorities, keep microdata.Bitmap, of Layout) {
	s.Take(b, from, p, keep)
	for i := range s.Parts(of) {
		s.Extend(i, b, of)
	}
	s.Bound()
}

// Parts is the number of parts of the layout that Extend adds.
func (s *Sample) Parts(of Layout) int {
	if len(s.Hits) == 0 {
		return 0
	}
	return of.parts()
}

func (l Layout) parts() int { return len(l.Columns) + len(l.Carry) + len(l.Released) + len(l.Beside) }

// Extend adds one part of the values of the records in Hits: between Take and Bound, each once, in any order or beside
// one another.
func (s *Sample) Extend(part int, b *microdata.Block, of Layout) {
	if part < len(of.Columns) {
		s.extendColumn(part, &b.Columns[of.Columns[part]])
		return
	}
	if part -= len(of.Columns); part < len(of.Carry) {
		col := &b.Columns[of.Carry[part]]
		s.extend(of.CarryAt(part), func(i int32) float64 { return cell.Code(col, int(i)) })
		return
	}
	if part -= len(of.Carry); part < len(of.Released) {
		col := &b.Columns[of.Released[part]]
		s.extend(of.releasedAt(part), func(i int32) float64 { return cell.ReleasedCode(col, int(i)) })
		return
	}
	part -= len(of.Released)
	col := &b.Columns[of.Beside[part]]
	s.extend(of.BesideAt(part), func(i int32) float64 { return cell.Piece(col, int(i), of.Pieces[part]) })
}

func (s *Sample) extendColumn(c int, col *microdata.Column) {
	if len(col.Coded.Rows) > 0 {
		s.gatherCoded(2*c, col.Original, col.Coded.Category, &col.Coded)
		s.gatherCoded(2*c+1, col.Out(), col.Coded.ReleasedCategory, &col.Coded)
		return
	}
	s.Gather(2*c, col.Original)
	s.Gather(2*c+1, col.Out())
}

// Gather adds the values of the records in Hits to a column.
func (s *Sample) Gather(c int, of microdata.Vector) {
	buf := scratch.Get().(*[]float64)
	*buf = cell.Gather((*buf)[:0], of, s.Hits)
	s.add(c, *buf)
	scratch.Put(buf)
}

// gatherCoded is Gather of a column with declared codes for missing values.
func (s *Sample) gatherCoded(c int, of microdata.Vector, category func(row int) float64, coded *microdata.Coded) {
	s.extend(c, func(i int32) float64 {
		if coded.Has(int(i)) {
			return category(int(i))
		}
		return cell.At(of, int(i))
	})
}

// extend adds the value that f returns for each record in Hits to a column.
func (s *Sample) extend(c int, f func(i int32) float64) {
	buf := scratch.Get().(*[]float64)
	values := slices.Grow((*buf)[:0], len(s.Hits))
	for _, i := range s.Hits {
		values = append(values, f(i))
	}
	s.add(c, values)
	*buf = values
	scratch.Put(buf)
}

func (s *Sample) add(c int, values []float64) {
	if s.short[c].add(s, values) {
		return
	}
	s.lengthen(c)
	s.Values[c] = append(reserved(s, s.Values[c], len(values)), values...)
}

// lengthen moves the values of a column to Values.
func (s *Sample) lengthen(c int) {
	m := &s.short[c]
	if len(m.counts) > 0 {
		s.Values[c] = m.values(ascending(len(m.counts)))
	}
	*m = multiples{per: -1}
}

// ascending returns the numbers below n.
func ascending(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}

// Take sets Hits to the records whose priority is low enough and adds their places;
// the caller must add their values. keep has a bit for each record that is not
// rejected.
func (s *Sample) Take(b *microdata.Block, from *place.Origin, p *place.Priorities, keep microdata.Bitmap) {
	s.Hits = s.Hits[:0]
	if len(p.Each) > 0 {
		for i, v := range p.Each {
			if v <= s.Limit && keep.Has(i) {
				s.Hits = append(s.Hits, int32(i))
				s.note(from, b.Place(i), v)
			}
		}
		return
	}
	// The priority of place r is the low or high half of word r/2, words counted
	// from that of the block's first place.
	odd := int32(b.First & 1)
	i := -odd // record of the word's low half
	limit := s.Limit
	for _, w := range p.Words {
		if uint32(w) <= limit {
			s.Hits = append(s.Hits, i)
		}
		if uint32(w>>32) <= limit {
			s.Hits = append(s.Hits, i+1)
		}
		i += 2
	}
	s.Hits = slices.DeleteFunc(s.Hits, func(i int32) bool { return i < 0 || int(i) >= b.N || !keep.Has(int(i)) })
	s.Priority, s.From, s.Row = reserved(s, s.Priority, len(s.Hits)), reserved(s, s.From, len(s.Hits)),
		reserved(s, s.Row, len(s.Hits))
	for _, i := range s.Hits {
		word := p.Words[(i+odd)/2]
		s.note(from, b.First+int64(i), uint32(word>>(32*((i+odd)&1))))
	}
}

func (s *Sample) note(from *place.Origin, row int64, priority uint32) {
	s.Priority = append(s.Priority, priority)
	s.From = append(s.From, from)
	s.Row = append(s.Row, row)
}

// Bound prunes if so many records are held that some must be dropped.
func (s *Sample) Bound() {
	if s.K >= 0 && s.Len() > s.K+s.room() {
		s.Prune()
	}
}

// Prune keeps the k records of lowest priority, in any order. A tie in priority
// is decided by place.
func (s *Sample) Prune() {
	if s.K < 0 || s.Len() <= s.K {
		return
	}
	if s.K == 0 {
		s.Truncate(0)
		s.Limit = 0
		return
	}
	s.Limit = s.lowest(s.K)
	below := 0
	var ties []int32
	dropped := s.Hits[:0]
	for i, p := range s.Priority {
		switch {
		case p > s.Limit:
			dropped = append(dropped, int32(i))
		case p < s.Limit:
			below++
		default:
			ties = append(ties, int32(i))
		}
	}
	if over := ties[s.K-below:]; len(over) > 0 {
		slices.SortFunc(ties, func(a, b int32) int { return s.comparePlace(int(a), int(b)) })
		dropped = append(dropped, over...)
		slices.Sort(dropped)
	}
	s.Hits = dropped
	s.drop(dropped)
}

// lowest returns the k-th lowest priority, k ≥ 1.
func (s *Sample) lowest(k int) uint32 {
	const length = 1 << 12
	var counts [length]int32
	shift := max(0, bits.Len32(slices.Max(s.Priority))-12)
	for _, p := range s.Priority {
		counts[p>>shift%length]++
	}
	at := uint32(0)
	for ; k > int(counts[at]); at++ {
		k -= int(counts[at])
	}
	within := make([]uint32, 0, counts[at])
	for _, p := range s.Priority {
		if p>>shift == at {
			within = append(within, p)
		}
	}
	return orderstat.Nth(within, k-1)
}

// drop removes the records at ascending indices. Records from the end replace them, so that
// few are moved.
func (s *Sample) drop(indices []int32) {
	n := s.Len() - len(indices)
	inside, _ := slices.BinarySearch(indices, int32(n))
	behind := indices[inside:]
	moved := s.moved[:0]
	for i := n; i < s.Len(); i++ {
		if len(behind) > 0 && behind[0] == int32(i) {
			behind = behind[1:]
		} else {
			moved = append(moved, int32(i))
		}
	}
	s.moved = moved
	for i, to := range indices[:inside] {
		from := moved[i]
		s.Priority[to], s.From[to], s.Row[to] = s.Priority[from], s.From[from], s.Row[from]
	}
	for c, v := range s.Values {
		replace(v, indices[:inside], moved)
		replace(s.short[c].counts, indices[:inside], moved)
	}
	s.Truncate(n)
}

// replace copies the elements at the indices in from to those in to, unless there are none at all.
func replace[T any](v []T, to, from []int32) {
	if len(v) == 0 {
		return
	}
	for i, at := range to {
		v[at] = v[from[i]]
	}
}

// Truncate keeps the first n records held.
func (s *Sample) Truncate(n int) {
	s.Priority, s.From, s.Row = s.Priority[:n], s.From[:n], s.Row[:n]
	for c := range s.Values {
		s.Values[c] = s.Values[c][:min(n, len(s.Values[c]))]
		s.short[c].counts = s.short[c].counts[:min(n, len(s.short[c].counts))]
	}
}

// Merge adds the records of another sample, which it does not change.
func (s *Sample) Merge(o *Sample) {
	kept := s.Hits[:0]
	for i, p := range o.Priority {
		if p <= s.Limit {
			s.note(o.From[i], o.Row[i], p)
			kept = append(kept, int32(i))
		}
	}
	s.Hits = kept
	for c, from := range o.Values {
		value := func(i int32) float64 { return from[i] }
		if m := &o.short[c]; len(m.counts) > 0 {
			value = m.value
		}
		s.extend(c, value)
	}
	s.Bound()
}

func (s *Sample) comparePlace(a, b int) int {
	return cmp.Or(s.From[a].Compare(s.From[b]), cmp.Compare(s.Row[a], s.Row[b]))
}

// Settle drops all records that are not in the sample, and sorts it in the order of place.
func (s *Sample) Settle() {
	s.Prune()
	inOrder := true
	for i := 1; i < s.Len() && inOrder; i++ {
		inOrder = s.comparePlace(i-1, i) < 0
	}
	order := ascending(s.Len())
	if !inOrder {
		s.byPlace(order)
		s.Priority = permuted(make([]uint32, len(order)), s.Priority, order)
		s.From = permuted(make([]*place.Origin, len(order)), s.From, order)
		s.Row = permuted(make([]int64, len(order)), s.Row, order)
	}
	var spare []float64
	for c, v := range s.Values {
		switch m := &s.short[c]; {
		case len(m.counts) > 0:
			s.Values[c] = m.values(order)
		case !inOrder:
			if cap(spare) < len(v) {
				spare = make([]float64, len(v))
			}
			s.Values[c], spare = permuted(spare[:len(v)], v, order), v
		}
		s.short[c] = multiples{per: -1}
	}
}

// byPlace puts indices of records in the order of place.
func (s *Sample) byPlace(order []int32) {
	rows, of := make([]float64, s.Len()), s.From[0]
	exact := true // one origin, and places that a float64 holds
	for i, row := range s.Row {
		rows[i] = float64(row)
		exact = exact && s.From[i] == of && row >= 0 && row < 1<<53
	}
	if exact {
		rank.Order(order, rows, nil)
		return
	}
	slices.SortFunc(order, func(a, b int32) int { return s.comparePlace(int(a), int(b)) })
}

// permuted writes the elements in the given order to another slice.
func permuted[T any](to, v []T, order []int32) []T {
	for i, from := range order {
		to[i] = v[from]
	}
	return to
}
