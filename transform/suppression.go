package transform

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// suppression chooses the cells that are set missing. A set of keys is represented by the bits
// of a word. A tuple of the keys is packed into two words, with 0 for a missing key, so that a
// bit mask removes keys from a tuple.
//
// f of a record is the number of records that may have its combination. If a missing cell may
// be any value, these are the records that agree with it wherever both have a value, and f of
// one record never falls when cells of others are set missing. Then each record whose f is
// below k takes, one after another, the first set of cells with which f is at least k, of all
// sets in the order of their cost. A record whose f has risen to k because of earlier ones
// takes none.
//
// If a missing cell is no value (strict), f counts the records without missing keys that agree
// wherever the record has a value, and the records that miss the same keys and agree in the
// others. Then whole combinations are treated at once: for each set in the order of cost, those
// that together with the complete combinations of at least k records reach k. Complete
// combinations of k records never change, so that f stays as it was when it was counted.
type suppression struct {
	k       int
	strict  bool
	weights []float64
	ties    []uint64 // by record: sorts the records, so that the result does not depend on their order; nil: it depends on it

	span    []int      // by key: number of codes
	keep    []packed   // by set: the bits of the keys that are not in it
	sets    []uint16   // in the order of cost
	of      []int32    // by record: its class, −1 for a rejected one
	classes tupleTable // the distinct tuples and the number of their records
	lacks   []uint16   // by class: the keys that it misses to begin with

	cancelled stopper // once true, the results must not be used
}

// stopped reports, at turn i of a loop, whether the search has been cancelled.
func (s *suppression) stopped(i int) bool { return s.cancelled.at(i) }

// packed is a tuple of the keys.
type packed [2]uint64

func (p packed) and(q packed) packed { return packed{p[0] & q[0], p[1] & q[1]} }

// mostTuples bounds the number of tuples that are counted, of about 40 bytes each.
const mostTuples = 1 << 25

// hide returns for each record the set of keys whose cells are to be set missing. codes are
// by key and record, 0 where the value is missing, −1 in the first for a rejected record.
func (s *suppression) hide(codes [][]int32) ([]uint16, *SurveyError) {
	records := 0
	for _, code := range codes[0] {
		if code >= 0 {
			records++
		}
	}
	if records == 0 {
		return make([]uint16, len(codes[0])), nil
	}
	if records < s.k {
		return nil, &SurveyError{Path: "k", Text: fmt.Sprintf("must be at most the number of records, got %d: no combination can be that of more records than there are", s.k)}
	}
	if err := s.pack(codes); err != nil {
		return nil, err
	}
	s.order()
	if s.strict {
		return s.hideStrictly(), nil
	}
	return s.hideLoosely()
}

// pack finds the classes and the masks of all sets.
func (s *suppression) pack(codes [][]int32) *SurveyError {
	n, keys := len(codes[0]), len(codes)
	type field struct{ word, shift int }
	fields, used := make([]field, keys), [2]int{}
	s.span, s.keep = make([]int, keys), make([]packed, 1<<keys)
	for j, column := range codes {
		s.span[j] = int(slices.Max(column)) + 1
		width, w := bits.Len(uint(s.span[j]-1)), 0
		if used[0]+width > 64 {
			w = 1
		}
		if used[w]+width > 64 {
			return &SurveyError{Path: "keys", Text: "must have fewer categories: together they have more than can be told apart here (128 bits), and nearly every record is the only one of its combination; recode the keys more coarsely first"}
		}
		fields[j] = field{w, used[w]}
		for set := range s.keep {
			if set>>j&1 == 0 {
				s.keep[set][w] |= (1<<width - 1) << used[w]
			}
		}
		used[w] += width
	}
	s.of = make([]int32, n)
	for i := range n {
		s.of[i] = -1
		if codes[0][i] < 0 {
			continue
		}
		var p packed
		set := uint16(0)
		for j := range codes {
			c := codes[j][i]
			if c == 0 {
				set |= 1 << j
			}
			p[fields[j].word] |= uint64(c) << fields[j].shift
		}
		class := s.classes.add(p, 1)
		s.of[i] = class
		if int(class) == len(s.lacks) {
			s.lacks = append(s.lacks, set)
		}
	}
	return nil
}

// order sorts the sets by cost; of equal cost by size, the smaller first, and then by the number
// of their keys' categories, the greater first, since these distinguish more records.
func (s *suppression) order() {
	keys := len(s.weights)
	cost, detail := make([]float64, 1<<keys), make([]float64, 1<<keys)
	s.sets = make([]uint16, 0, 1<<keys)
	for set := range cost {
		for j, w := range s.weights {
			if set>>j&1 == 1 {
				cost[set] += w
				detail[set] += math.Log(float64(s.span[j]))
			}
		}
		s.sets = append(s.sets, uint16(set))
	}
	slices.SortFunc(s.sets, func(a, b uint16) int {
		return cmp.Or(cmp.Compare(cost[a], cost[b]), cmp.Compare(bits.OnesCount16(a), bits.OnesCount16(b)), cmp.Compare(detail[b], detail[a]), cmp.Compare(a, b))
	})
}

// hideStrictly is hide if a missing cell is no value.
func (s *suppression) hideStrictly() []uint16 {
	chosen := make([]uint16, len(s.classes.tuples)) // by class: the keys missing at the end
	var safe, left, taken []int32
	for class, n := range s.classes.counts {
		if s.lacks[class] == 0 && int(n) >= s.k {
			safe = append(safe, int32(class))
		} else {
			left = append(left, int32(class))
		}
	}
	for _, set := range s.sets {
		if len(left) == 0 || s.stopped(0) {
			break
		}
		groups := s.grouped(set, left, safe)
		if len(groups.tuples) == 0 {
			continue
		}
		rest := left[:0]
		for _, class := range left {
			if s.lacks[class]&^set == 0 && int(groups.counts[groups.find(s.without(class, set))]) >= s.k {
				chosen[class] = set
				taken = append(taken, class)
			} else {
				rest = append(rest, class)
			}
		}
		left = rest
	}
	if len(left) > 0 {
		s.join(left, taken, chosen)
	}
	return s.byRecord(chosen)
}

// without returns the combination of a class with the keys of a set missing.
func (s *suppression) without(class int32, set uint16) packed {
	return s.classes.tuples[class].and(s.keep[set])
}

// grouped counts the records that are equal if the keys of a set are missing: those of the
// classes in left that miss no other key, and, if the set has keys, those of the classes in safe.
func (s *suppression) grouped(set uint16, left, safe []int32) (groups tupleTable) {
	for _, class := range left {
		if s.lacks[class]&^set == 0 {
			groups.add(s.without(class, set), s.classes.counts[class])
		}
	}
	if set == 0 || len(groups.tuples) == 0 {
		return groups
	}
	for _, class := range safe {
		if g := groups.find(s.without(class, set)); g >= 0 {
			groups.counts[g] += s.classes.counts[class]
		}
	}
	return groups
}

// join sets all keys of the classes in left missing. They have fewer than k records, and there is
// no complete combination of k records, so the keys of the group with the fewest cells are set
// missing with them.
func (s *suppression) join(left, taken []int32, chosen []uint16) {
	all := uint16(1<<len(s.weights) - 1)
	type group struct {
		set  uint16
		rest packed
	}
	cells := map[group]int{}
	of := func(class int32) group {
		return group{chosen[class], s.classes.tuples[class].and(s.keep[chosen[class]])}
	}
	var best group
	for _, class := range taken {
		g := of(class)
		cells[g] += int(s.classes.counts[class]) * bits.OnesCount16(all&^g.set)
	}
	least, first := math.MaxInt, s.first()
	slices.SortStableFunc(taken, func(a, b int32) int { return cmp.Compare(first[a], first[b]) })
	for _, class := range taken {
		if g := of(class); cells[g] < least {
			best, least = g, cells[g]
		}
	}
	for _, class := range taken {
		if of(class) == best {
			left = append(left, class)
		}
	}
	for _, class := range left {
		chosen[class] = all
	}
}

// first returns for each class the least tie of its records; all are equal if there are no ties.
func (s *suppression) first() []uint64 {
	least := make([]uint64, len(s.classes.tuples))
	if s.ties == nil {
		return least
	}
	for class := range least {
		least[class] = math.MaxUint64
	}
	for i, class := range s.of {
		if class >= 0 {
			least[class] = min(least[class], s.ties[i])
		}
	}
	return least
}

// inTurn returns the records in the order in which they take cells: by their ties, or as they are.
func (s *suppression) inTurn() []int32 {
	turn := make([]int32, len(s.of))
	for i := range turn {
		turn[i] = int32(i)
	}
	if s.ties != nil {
		slices.SortStableFunc(turn, func(a, b int32) int { return cmp.Compare(s.ties[a], s.ties[b]) })
	}
	return turn
}

// byRecord returns for each record the set of its class, without the keys that were missing
// before.
func (s *suppression) byRecord(chosen []uint16) []uint16 {
	hidden := make([]uint16, len(s.of))
	for i, class := range s.of {
		if class >= 0 {
			hidden[i] = chosen[class] &^ s.lacks[class]
		}
	}
	return hidden
}

// hideLoosely is hide if a missing cell may be any value.
func (s *suppression) hideLoosely() ([]uint16, *SurveyError) {
	c := compatible{keep: s.keep}
	for class, n := range s.classes.counts {
		c.change(s.classes.tuples[class], s.lacks[class], n)
	}
	rare := make([]bool, len(s.classes.tuples))
	for class, tuple := range s.classes.tuples {
		if s.stopped(class) {
			break
		}
		rare[class] = c.records(tuple, s.lacks[class]) < s.k
	}
	hidden := make([]uint16, len(s.of))
	for done, i := range s.inTurn() {
		class := s.of[i]
		if s.stopped(done) {
			break
		}
		if class < 0 || !rare[class] {
			continue
		}
		tuple, lacks := s.classes.tuples[class], s.lacks[class]
		for _, set := range s.sets {
			if lacks&^set != 0 || c.records(tuple, set) < s.k {
				continue
			}
			if set != lacks {
				c.change(tuple, lacks, -1)
				c.change(tuple, set, 1)
				hidden[i] = set &^ lacks
			}
			break
		}
		if c.tuples > mostTuples {
			return nil, &SurveyError{Text: fmt.Sprintf("must not be used on so many rare combinations: more than %d would be counted in memory; recode the keys more coarsely first, or name fewer of them", mostTuples)}
		}
	}
	return hidden, nil
}

// compatible counts the records that agree with a tuple wherever both have a value, while
// cells are set missing. The records are grouped by the set of keys that they miss.
type compatible struct {
	keep    []packed        // by set: the bits of the other keys
	misses  []uint16        // sets of keys that some records miss
	missing []*tupleTable   // of each: the tuples
	without [][]*tupleTable // of each, by set: the tuples without the keys of the set; nil if not needed so far
	tuples  int             // approximate number of tuples in all tables
}

// change adds n records with a tuple that miss a set of keys.
func (c *compatible) change(tuple packed, missed uint16, n int32) {
	at := slices.Index(c.misses, missed)
	if at < 0 {
		at = len(c.misses)
		c.misses, c.missing = append(c.misses, missed), append(c.missing, &tupleTable{})
		c.without = append(c.without, make([]*tupleTable, len(c.keep)))
	}
	c.missing[at].add(tuple.and(c.keep[missed]), n)
	c.tuples++
	for set, t := range c.without[at] {
		if t != nil && uint16(set) != missed {
			t.add(tuple.and(c.keep[set]), n)
		}
	}
}

// records returns how many records agree with a tuple that misses a set of keys.
func (c *compatible) records(tuple packed, set uint16) int {
	n := int32(0)
	for at, missed := range c.misses {
		t := c.lacking(at, set|missed)
		if i := t.find(tuple.and(c.keep[set|missed])); i >= 0 {
			n += t.counts[i]
		}
	}
	return int(n)
}

// lacking returns the tuples of the records that miss the keys misses[at], without the keys of
// set, which contains these.
func (c *compatible) lacking(at int, set uint16) *tupleTable {
	if t := c.without[at][set]; t != nil {
		return t
	}
	t := c.missing[at]
	if set != c.misses[at] {
		all := t
		t = &tupleTable{}
		for i, tuple := range all.tuples {
			if all.counts[i] != 0 {
				t.add(tuple.and(c.keep[set]), all.counts[i])
			}
		}
		c.tuples += len(t.tuples)
	}
	c.without[at][set] = t
	return t
}

// tupleTable counts tuples: open addressing with linear probing. The zero value is empty.
type tupleTable struct {
	tuples []packed
	counts []int32
	slots  []int32 // place in tuples + 1, 0 where the slot is free
	shift  uint    // 64 − log2 of the number of slots
}

func (t *tupleTable) slotOf(p packed) int {
	w := p[0] ^ bits.RotateLeft64(p[1]*0xd6e8feb86659fd93, 32)
	w ^= w >> 32
	w *= 0xbf58476d1ce4e5b9
	w ^= w >> 29
	return int(w * 0x9e3779b97f4a7c15 >> t.shift)
}

// find returns the place of a tuple, −1 where it is not there.
func (t *tupleTable) find(p packed) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	for i := t.slotOf(p); ; i = (i + 1) & (len(t.slots) - 1) {
		at := t.slots[i] - 1
		if at < 0 || t.tuples[at] == p {
			return at
		}
	}
}

// add adds n to a tuple's count and returns its place.
func (t *tupleTable) add(p packed, n int32) int32 {
	if 2*len(t.tuples) >= len(t.slots) {
		t.grow()
	}
	for i := t.slotOf(p); ; i = (i + 1) & (len(t.slots) - 1) {
		at := t.slots[i] - 1
		if at < 0 {
			at = int32(len(t.tuples))
			t.tuples, t.counts = append(t.tuples, p), append(t.counts, 0)
			t.slots[i] = at + 1
		}
		if t.tuples[at] == p {
			t.counts[at] += n
			return at
		}
	}
}

func (t *tupleTable) grow() {
	slots := max(2*len(t.slots), 64)
	t.slots, t.shift = make([]int32, slots), uint(64-bits.TrailingZeros(uint(slots)))
	for at, p := range t.tuples {
		i := t.slotOf(p)
		for t.slots[i] != 0 {
			i = (i + 1) & (slots - 1)
		}
		t.slots[i] = int32(at) + 1
	}
}
