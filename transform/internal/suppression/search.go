package suppression

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Search chooses the cells that are set missing. A set of keys is represented by the bits
// of a word. A tuple of the keys is packed into two words, with 0 for a missing key, so that a
// bit mask removes keys from a tuple.
//
// The snooper knows the keys of a respondent as they were before; a key that is missing
// then is not known. The candidates for a respondent are the released records whose present cells
// do not contradict what is known, and k of the respondent is their number. To hide a cell of a
// record makes it a candidate for others; the respondent whose cell it is gains nothing.
//
// If a missing cell may be any value, every candidate counts (see cover). If a missing cell is no
// value (strict), only the candidates count that are at least as likely as the respondent's own
// record whatever a missing cell weighs: complete ones, and those that lack the same keys as the
// own record (see bunching).
type Search struct {
	K       int       // the least number of candidates of a respondent, 2 or more
	Strict  bool      // a missing cell is no value
	Known   int       // the number of keys that a snooper knows at a time, any of them; 0: all
	Weights []float64 // by key: the cost of a missing cell, above 0
	// by record: sorts equal records, so that the result does not depend on their order; nil: it depends on it
	Ties []uint64
	Stop decision.Stop // once true, the results must not be used

	span    []int      // by key: number of codes
	keep    []packed   // by set: the bits of the keys that are not in it
	cost    []float64  // by set
	sets    []uint16   // in the order of cost
	of      []int32    // by record: its class, −1 for a rejected one
	classes tupleTable // the distinct tuples, in the order of their codes, and the number of their records
	lacks   []uint16   // by class: the keys that it misses to begin with

	halted bool // Stop has been true
}

// lacking are records of a class that are released without the keys of a set.
type lacking struct {
	set uint16
	n   int32
}

// stopped reports, at turn i of a loop, whether the search has been cancelled.
func (s *Search) stopped(i int) bool { return s.halted || i%decision.Every == 0 && s.stop() }

// stop reports whether the search has been cancelled.
func (s *Search) stop() bool {
	s.halted = s.halted || s.Stop.Now()
	return s.halted
}

// mostTuples bounds the number of tuples that are counted, of about 40 bytes each.
const mostTuples = 1 << 25

// Hide returns for each record the set of keys whose cells are to be set missing, of at most 16 keys. codes are
// by key and record, in the order of the values, 0 where the value is missing, −1 in the first
// for a rejected record.
func (s *Search) Hide(codes [][]int32) ([]uint16, *decision.Refusal) {
	records := 0
	for _, code := range codes[0] {
		if code >= 0 {
			records++
		}
	}
	if records == 0 {
		return make([]uint16, len(codes[0])), nil
	}
	if records < s.K {
		return nil,
			&decision.Refusal{
				Path: "k",
				Text: fmt.Sprintf(
					"must be at most the number of records, got %d: no respondent can have more candidates than there are records, even if all cells are set missing", s.K)}
	}
	if err := s.pack(codes); err != nil {
		return nil, err
	}
	s.order()
	hide := s.hideLoosely
	if s.Strict {
		hide = s.hideStrictly
	}
	plan, err := hide()
	if err != nil {
		return nil, err
	}
	return s.byRecord(plan), nil
}

// pack finds the classes and the masks of all sets.
func (s *Search) pack(codes [][]int32) *decision.Refusal {
	n, keys := len(codes[0]), len(codes)
	widths := make([]int, keys)
	s.span = make([]int, keys)
	for j, column := range codes {
		s.span[j] = int(slices.Max(column)) + 1
		widths[j] = bits.Len(uint(s.span[j] - 1))
	}
	words, shifts, ok := fields(widths)
	if !ok {
		return &decision.Refusal{
			Path: "keys",
			Text: "must have fewer categories: together they have more than can be told apart here (128 bits), and nearly every record is the only one of its combination; recode the keys more coarsely first"}
	}
	s.keep = make([]packed, 1<<keys)
	for set := range s.keep {
		for j, width := range widths {
			if set>>j&1 == 0 {
				s.keep[set][words[j]] |= (1<<width - 1) << shifts[j]
			}
		}
	}
	s.of = make([]int32, n)
	var seen tupleTable
	for i := range n {
		s.of[i] = -1
		if codes[0][i] < 0 {
			continue
		}
		var p packed
		for j := range codes {
			p[words[j]] |= uint64(codes[j][i]) << shifts[j]
		}
		s.of[i] = seen.add(p, 1)
	}
	s.sortClasses(&seen)
	return nil
}

// fields places keys of so many bits in two words, the first keys in the highest bits, so that tuples
// sort as their codes do. It reports whether they fit.
func fields(widths []int) (words, shifts []int, ok bool) {
	words, shifts = make([]int, len(widths)), make([]int, len(widths))
	free, w := [2]int{64, 64}, 0
	for j, width := range widths {
		if free[w] < width {
			if w = 1 - w; free[w] < width {
				return nil, nil, false
			}
		}
		free[w] -= width
		words[j], shifts[j] = w, free[w]
	}
	return words, shifts, true
}

// sortClasses puts the classes in the order of their codes, so that the order of the records does
// not matter.
func (s *Search) sortClasses(seen *tupleTable) {
	order, rank := make([]int32, len(seen.tuples)), make([]int32, len(seen.tuples))
	for class := range order {
		order[class] = int32(class)
	}
	slices.SortFunc(order, func(a, b int32) int {
		p, q := seen.tuples[a], seen.tuples[b]
		return cmp.Or(cmp.Compare(p[0], q[0]), cmp.Compare(p[1], q[1]))
	})
	s.classes, s.lacks = tupleTable{}, make([]uint16, len(order))
	for at, class := range order {
		tuple := seen.tuples[class]
		rank[class] = s.classes.add(tuple, seen.counts[class])
		for j := range s.span {
			if only := s.key(j); tuple.and(only) == (packed{}) {
				s.lacks[at] |= 1 << j
			}
		}
	}
	for i, class := range s.of {
		if class >= 0 {
			s.of[i] = rank[class]
		}
	}
}

// key returns the bits of a key.
func (s *Search) key(j int) packed { return s.keep[(len(s.keep)-1)&^(1<<j)] }

// order sorts the sets by cost; of equal cost by size, the smaller first, and then by the number
// of their keys' categories, the greater first, since these distinguish more records.
func (s *Search) order() {
	keys := len(s.Weights)
	detail := make([]float64, 1<<keys)
	s.cost, s.sets = make([]float64, 1<<keys), make([]uint16, 0, 1<<keys)
	for set := range s.cost {
		for j, w := range s.Weights {
			if set>>j&1 == 1 {
				s.cost[set] += w
				detail[set] += math.Log(float64(s.span[j]))
			}
		}
		s.sets = append(s.sets, uint16(set))
	}
	slices.SortFunc(s.sets, func(a, b uint16) int {
		return cmp.Or(cmp.Compare(s.cost[a], s.cost[b]), cmp.Compare(bits.OnesCount16(a), bits.OnesCount16(b)),
			cmp.Compare(detail[b], detail[a]), cmp.Compare(a, b))
	})
}

// unknown returns the sets of keys that a snooper does not know: the empty one, or all that leave
// the number of keys that are known at a time.
func (s *Search) unknown() (sets []uint16) {
	keys := len(s.Weights)
	if s.Known == 0 || s.Known >= keys {
		return []uint16{0}
	}
	for set := range 1 << keys {
		if bits.OnesCount(uint(set)) == keys-s.Known {
			sets = append(sets, uint16(set))
		}
	}
	return sets
}

// byRecord returns for each record the keys that are set missing, of the sets that the plan has for
// its class. Of equal records those with the least ties lose most.
func (s *Search) byRecord(plan map[int32][]lacking) []uint16 {
	hidden := make([]uint16, len(s.of))
	if len(plan) == 0 {
		return hidden
	}
	records := make([][]int32, len(s.classes.tuples))
	for class := range plan {
		records[class] = make([]int32, 0, s.classes.counts[class])
	}
	for i, class := range s.of {
		if class >= 0 && records[class] != nil {
			records[class] = append(records[class], int32(i))
		}
	}
	for class, list := range plan {
		slices.SortFunc(list, func(a, b lacking) int {
			return cmp.Or(cmp.Compare(s.cost[b.set], s.cost[a.set]), cmp.Compare(a.set, b.set))
		})
		turn := records[class]
		if s.Ties != nil {
			slices.SortStableFunc(turn, func(a, b int32) int { return cmp.Compare(s.Ties[a], s.Ties[b]) })
		}
		for _, l := range list {
			for _, i := range turn[:l.n] {
				hidden[i] = l.set &^ s.lacks[class]
			}
			turn = turn[l.n:]
		}
	}
	return hidden
}
