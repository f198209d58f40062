package mdav

import (
	"cmp"
	"math"
	"slices"
)

// shell finds the live record farthest from the mean of those that are left. The mean
// moves little from one group to the next: with c₀ where it was once and δ = |c − c₀|,
// a record at the distance r of c₀ is at r ± δ now. So it is enough to look at the
// records that were farthest from c₀, as long as what was found is beyond the reach of
// all others.
type shell struct {
	t      *tree
	centre []float64
	list   []near  // live records beyond edge at the time when it was made, farthest first
	edge   float64 // greatest distance from centre of a record that is not in the list
	spare  []near
	looked int // since the list was made
	tree   int // for so many questions more the tree alone is asked
}

// listed is how many records a list is made of: the work to make one, that of looking at
// all live records, is shared by that many.
const listed = 4096

// slack bounds the rounding errors of the distances that are compared here; the
// distances that decide are those of square, as elsewhere.
const slack = 1e-9

// farthest returns the live record that is farthest from c, of several the first one.
func (s *shell) farthest(c []float64) int32 {
	if s.tree > 0 {
		s.tree--
		return s.t.farthest(c)
	}
	if s.list != nil {
		if r, sure := s.look(c); sure {
			return r
		}
	}
	s.fill(c)
	r, sure := s.look(c)
	if !sure {
		// So many records are equally far that the list ends among them, as in a heap of
		// equal records, where a search of the tree is short: a list for each question
		// would cost the square of the records.
		s.tree = listed / 4
		return s.t.farthest(c)
	}
	return r
}

// look seeks in the list and reports whether no other record can be farther, or as far.
func (s *shell) look(c []float64) (int32, bool) {
	delta := math.Sqrt(square(c, s.centre))
	best, distance := int32(nobody), math.Inf(-1)
	reach := math.Inf(-1) // what a record must have been from centre to be as far
	kept := s.list[:0]
	for i, n := range s.list {
		if n.square < reach {
			if i > len(kept) {
				kept = append(kept, s.list[i:]...)
			} else {
				kept = s.list
			}
			break
		}
		at := s.t.where[n.record]
		if s.t.grouped[at] {
			continue
		}
		kept = append(kept, n)
		s.looked++
		if q := square(s.t.points[int(at)*s.t.d:(int(at)+1)*s.t.d], c); q > distance || q == distance && n.record < best {
			best, distance = n.record, q
			reach = (math.Sqrt(q) - delta) * (1 - slack)
		}
	}
	s.list = kept
	sure := best != nobody && math.Sqrt(distance)*(1-slack) > s.edge+delta
	// A list of which each look is long is worth another one.
	if sure && s.looked > 8*len(s.t.index)+64*listed {
		sure = false
	}
	return best, sure
}

// fill makes the list of the records farthest from c.
func (s *shell) fill(c []float64) {
	s.centre = append(s.centre[:0], c...)
	s.looked = 0
	all := s.spare[:0]
	for at, taken := range s.t.grouped {
		if !taken {
			all = append(all, near{math.Sqrt(square(s.t.points[at*s.t.d:(at+1)*s.t.d], c)), s.t.index[at]})
		}
	}
	s.spare = all
	n, edge := len(all), math.Inf(-1)
	if n > listed {
		n = listed
		cut(all, n)
		for _, r := range all[n:] {
			edge = max(edge, r.square)
		}
	}
	s.list, s.edge = append(make([]near, 0, n), all[:n]...), edge
	slices.SortFunc(s.list, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.square, a.square), cmp.Compare(a.record, b.record))
	})
}

// cut orders list so that its n farthest come first.
func cut(list []near, n int) {
	low, high := 0, len(list)-1
	for low < high {
		p := list[low+(high-low)/2].square
		i, j := low, high
		for i <= j {
			for list[i].square > p {
				i++
			}
			for list[j].square < p {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			high = j
		case n >= i:
			low = i
		default:
			return
		}
	}
}
