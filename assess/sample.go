package assess

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// layout says which columns of blocks the values of a record come from, by their index:
// of columns in Numbers form the original and the released value each, then codes of those
// that are carried.
type layout struct{ columns, carry []int }

// width is the number of values of a record.
func (l layout) width() int { return 2*len(l.columns) + len(l.carry) }

// fill writes the values of a record.
func (l layout) fill(dst []float64, b *microdata.Block, row int) {
	for i, index := range l.columns {
		col := &b.Columns[index]
		dst[2*i], dst[2*i+1] = value(col.Original, row), value(col.Out(), row)
	}
	for i, index := range l.carry {
		dst[2*len(l.columns)+i] = code(&b.Columns[index], row)
	}
}

// sample is a bottom-k sample of records: those with the k smallest priorities,
// where a record's priority is a keyed function of its place. So the sample is
// a uniform one to whoever lacks the key, the same however the records were
// split, and the sample of a union is made from the samples of its parts.
type sample struct {
	k        int // < 0: all records
	limit    uint32
	priority []uint32
	from     []*origin
	row      []int64     // places
	values   [][]float64 // by column: original and released of each, carried codes; NaN: no value

	hits []int32 // scratch
}

func newSample(k, width int) sample {
	return sample{k: k, limit: math.MaxUint32, values: make([][]float64, width)}
}

func (s *sample) len() int { return len(s.priority) }

// offer takes those records of a block in whose priority is low enough, with
// the values of the layout's columns.
func (s *sample) offer(b *microdata.Block, from *origin, p *priorities, keep microdata.Bitmap, of layout) {
	s.take(b, from, p, keep)
	if len(s.hits) == 0 {
		return
	}
	for c, index := range of.columns {
		col := &b.Columns[index]
		s.values[2*c] = gather(s.values[2*c], col.Original, s.hits)
		s.values[2*c+1] = gather(s.values[2*c+1], col.Out(), s.hits)
	}
	for c, index := range of.carry {
		dst := s.values[2*len(of.columns)+c]
		for _, i := range s.hits {
			dst = append(dst, code(&b.Columns[index], int(i)))
		}
		s.values[2*len(of.columns)+c] = dst
	}
	s.bound()
}

// take sets hits to the records whose priority is low enough and notes their
// places; values are for the caller to add. keep has a bit set for each record
// that is not rejected.
func (s *sample) take(b *microdata.Block, from *origin, p *priorities, keep microdata.Bitmap) {
	s.hits = s.hits[:0]
	if len(p.each) > 0 {
		for i, v := range p.each {
			if v <= s.limit && keep.Has(i) {
				s.hits = append(s.hits, int32(i))
				s.note(from, b.Place(i), v)
			}
		}
		return
	}
	// The priority of place r is the low or high half of word r/2, words counted
	// from that of the block's first place.
	odd := int32(b.First & 1)
	i := -odd // record of the word's low half
	limit := s.limit
	for _, w := range p.words {
		if uint32(w) <= limit {
			s.hits = append(s.hits, i)
		}
		if uint32(w>>32) <= limit {
			s.hits = append(s.hits, i+1)
		}
		i += 2
	}
	s.hits = slices.DeleteFunc(s.hits, func(i int32) bool { return i < 0 || int(i) >= b.N || !keep.Has(int(i)) })
	for _, i := range s.hits {
		word := p.words[(i+odd)/2]
		s.note(from, b.First+int64(i), uint32(word>>(32*((i+odd)&1))))
	}
}

func (s *sample) note(from *origin, row int64, priority uint32) {
	s.priority = append(s.priority, priority)
	s.from = append(s.from, from)
	s.row = append(s.row, row)
}

// bound prunes when the buffer is twice as large as the sample.
func (s *sample) bound() {
	if s.k >= 0 && s.len() > 2*s.k {
		s.prune()
	}
}

// prune keeps the k records of lowest priority. A tie in priority
// is settled by place.
func (s *sample) prune() {
	if s.k < 0 || s.len() <= s.k {
		return
	}
	if s.k == 0 {
		s.truncate(0)
		s.limit = 0
		return
	}
	work := slices.Clone(s.priority)
	s.limit = selectNth(work, s.k-1)
	below := 0
	var ties []int32
	for i, p := range s.priority {
		switch {
		case p < s.limit:
			below++
		case p == s.limit:
			ties = append(ties, int32(i))
		}
	}
	slices.SortFunc(ties, func(a, b int32) int { return s.comparePlace(int(a), int(b)) })
	lost := map[int32]bool{}
	for _, i := range ties[s.k-below:] {
		lost[i] = true
	}
	kept := s.hits[:0]
	for i, p := range s.priority {
		if p <= s.limit && !lost[int32(i)] {
			kept = append(kept, int32(i))
		}
	}
	for to, from := range kept {
		s.priority[to], s.from[to], s.row[to] = s.priority[from], s.from[from], s.row[from]
	}
	for _, v := range s.values {
		for to, from := range kept {
			v[to] = v[from]
		}
	}
	s.hits = kept
	s.truncate(len(kept))
}

func (s *sample) truncate(n int) {
	s.priority, s.from, s.row = s.priority[:n], s.from[:n], s.row[:n]
	for c := range s.values {
		s.values[c] = s.values[c][:n]
	}
}

func (s *sample) merge(o *sample) {
	for i, p := range o.priority {
		if p > s.limit {
			continue
		}
		s.note(o.from[i], o.row[i], p)
		for c := range s.values {
			s.values[c] = append(s.values[c], o.values[c][i])
		}
	}
	s.bound()
}

func (s *sample) comparePlace(a, b int) int {
	return cmp.Or(s.from[a].compare(s.from[b]), cmp.Compare(s.row[a], s.row[b]))
}

// settle leaves exactly the sample, in the order of place.
func (s *sample) settle() {
	s.prune()
	inOrder := true
	for i := 1; i < s.len() && inOrder; i++ {
		inOrder = s.comparePlace(i-1, i) < 0
	}
	if inOrder {
		return
	}
	order := make([]int32, s.len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return s.comparePlace(int(a), int(b)) })
	s.priority = permuted(s.priority, order)
	s.from = permuted(s.from, order)
	s.row = permuted(s.row, order)
	for c := range s.values {
		s.values[c] = permuted(s.values[c], order)
	}
}

func permuted[T any](v []T, order []int32) []T {
	w := make([]T, len(v))
	for i, from := range order {
		w[i] = v[from]
	}
	return w
}
