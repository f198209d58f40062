package inversion

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// Clue is what a release shows beside the cells of a key: codes (−1: none) that are alike in records which
// may have one value of the key, or numbers (NaN: none), which may be alike or lie beside each other in
// their order.
type Clue struct {
	Name    string
	Codes   []int32
	Numbers []float64
	// Records says that nothing but what other records show makes it a clue, such as the order of the file.
	Records bool
}

// Clues are those of a release, made once for all of its keys.
type Clues []clue

type clue struct {
	columns []string
	codes   []int32
	order   []int32 // the records in the order of a column; nil: codes
	records bool
}

// CluesOf prepares clues, and joins columns with few codes in twos.
func CluesOf(list []Clue) Clues {
	var clues Clues
	for _, c := range list {
		name := []string{c.Name}
		if c.Codes != nil {
			clues = append(clues, clue{columns: name, codes: c.Codes, records: c.Records})
			continue
		}
		order := orderOf(c.Numbers)
		codes, levels := codesOf(c.Numbers, order)
		if levels < len(order) {
			clues = append(clues, clue{columns: name, codes: codes, records: c.Records})
		}
		if levels > fewCodes {
			clues = append(clues, clue{columns: name, order: order, records: c.Records})
		}
	}
	return append(clues, joinedClues(clues)...)
}

// Shown is what other released columns tell of the hidden cells of a key.
type Shown struct {
	Codes  []int32  // the released codes, with those of hidden cells that are told
	Hidden int      // cells that are missing in the release and not in what is known
	Told   int      // of them, those that are told
	Tells  []string // the columns that tell, those that tell most first
}

const (
	// seldom is the share of claims up to which those of a clue may be wrong, and atChance the part of the
	// claims that would be wrong by chance.
	seldom, atChance = 0.01, 0.25
	// surely is the gain of the log-likelihood from which a clue is none by chance.
	surely = 8
	// fewCodes is the number of codes up to which clues are joined in twos, of the mostJoined with the fewest.
	fewCodes, mostJoined = 200, 8
)

// Shown finds the hidden cells of a key that other released columns tell: a city the region, the other members
// the region of a household, a date of birth the class of ages. known and released are the codes of a key
// in the coding of the release, −1: missing.
//
// A clue claims for a cell the value that all other records of its group show, or both of its neighbours in
// an order. It is believed where its claims hold: of the cells that leave, each without itself, and of the
// hidden ones, of both in all but one of a hundred, in a quarter of those that chance would miss, and with a
// gain of the log-likelihood beyond that of chance over all clues. Those that leave are not enough: what is
// hidden is what is rare, so that all which leave of a group may agree and the hidden ones not. A group whose
// claims about many hidden cells are all true is believed alone. A cell is told by a claim that is true.
func (clues Clues) Shown(key string, known, released []int32) Shown {
	s := seen{known: known, released: released}
	out := Shown{Codes: released}
	for i, y := range released {
		if y < 0 && known[i] >= 0 {
			out.Hidden++
		}
	}
	if s.count(); out.Hidden == 0 || len(s.share) == 0 {
		return out
	}
	type teller struct {
		name string
		told int
	}
	var tellers []teller
	s.least = surely + math.Log(float64(len(clues)))
	codes := slices.Clone(released)
	for _, c := range clues {
		if slices.Contains(c.columns, key) {
			continue
		}
		claims := s.byGroups(c.codes)
		if c.order != nil {
			claims = s.byOrder(c.order)
		}
		told := 0
		for i, v := range claims {
			if v >= 0 && known[i] == v {
				codes[i] = v
				told++
			}
		}
		if told > 0 {
			tellers = append(tellers, teller{strings.Join(c.columns, " with "), told})
		}
	}
	for i, v := range codes {
		if v != released[i] {
			out.Told++
		}
	}
	slices.SortStableFunc(tellers, func(a, b teller) int { return cmp.Compare(b.told, a.told) })
	for _, t := range tellers {
		if !slices.Contains(out.Tells, t.name) {
			out.Tells = append(out.Tells, t.name)
		}
	}
	out.Codes = codes
	return out
}

// joinedClues returns clues of two columns with few codes.
func joinedClues(clues Clues) (list Clues) {
	type coded struct {
		clue
		n int
	}
	var few []coded
	for _, c := range clues {
		if len(c.codes) == 0 || c.records {
			continue
		}
		if n := int(slices.Max(c.codes)) + 1; n > 1 && n <= fewCodes {
			few = append(few, coded{c, n})
		}
	}
	slices.SortStableFunc(few, func(a, b coded) int { return cmp.Compare(a.n, b.n) })
	few = few[:min(len(few), mostJoined)]
	for i, a := range few {
		for _, b := range few[:i] {
			if a.n*b.n > len(a.codes)/2 || a.columns[0] == b.columns[0] {
				continue
			}
			codes := make([]int32, len(a.codes))
			for k := range codes {
				if codes[k] = -1; a.codes[k] >= 0 && b.codes[k] >= 0 {
					codes[k] = a.codes[k]*int32(b.n) + b.codes[k]
				}
			}
			list = append(list, clue{columns: []string{b.columns[0], a.columns[0]}, codes: codes})
		}
	}
	return list
}

// orderOf returns the records in the order of their values; equal values are in no order.
func orderOf(values []float64) []int32 {
	n := len(values)
	step := max(1, n*5/8)
	for n > 1 && gcd(int64(step), int64(n)) > 1 {
		step++
	}
	order := make([]int32, 0, n)
	for k, i := 0, 0; k < n; k, i = k+1, (i+step)%n {
		if v := values[i]; v == v {
			order = append(order, int32(i))
		}
	}
	rank.Order(order, values, nil)
	return order
}

// codesOf returns the numbers of values, from their order, and how many there are.
func codesOf(values []float64, order []int32) (codes []int32, n int) {
	codes = make([]int32, len(values))
	for i := range codes {
		codes[i] = -1
	}
	for k, i := range order {
		if k == 0 || values[i] != values[order[k-1]] {
			n++
		}
		codes[i] = int32(n - 1)
	}
	return codes, n
}

// seen holds the cells of a key that leave, and those that do not.
type seen struct {
	known, released []int32
	share           []float64 // by value, among the cells that leave
	least           float64   // gain from which a clue is believed
}

// count sets the shares of the values among the cells that leave; none leave none.
func (s *seen) count() {
	visible := 0.0
	for _, y := range s.released {
		if y < 0 {
			continue
		}
		for int(y) >= len(s.share) {
			s.share = append(s.share, 0)
		}
		s.share[y]++
		visible++
	}
	for v := range s.share {
		s.share[v] /= visible
	}
}

// tally holds the claims of a clue, about cells that leave and about hidden ones.
type tally struct {
	claims, wrong [2]float64
	missed, gain  float64
}

// The places of a tally.
const (
	leaving = iota
	hidden
)

// add counts claims of value v, of which some are wrong.
func (s *seen) add(t *tally, of int, v int32, claims, wrong float64) {
	t.claims[of] += claims
	t.wrong[of] += wrong
	t.missed += claims * (1 - s.share[v])
}

// judge counts the claims about hidden cells.
func (s *seen) judge(t *tally, claims []int32) {
	for i, v := range claims {
		switch {
		case v < 0 || s.known[i] < 0:
		case v == s.known[i]:
			s.add(t, hidden, v, 1, 0)
			t.gain -= math.Log(s.share[v])
		default:
			s.add(t, hidden, v, 1, 1)
		}
	}
}

// believed reports whether a clue's claims hold beyond chance.
func (s *seen) believed(t *tally) bool {
	return t.gain > s.least && t.wrong[leaving] <= seldom*t.claims[leaving] &&
		t.wrong[hidden] <= seldom*t.claims[hidden] &&
		t.wrong[leaving]+t.wrong[hidden] <= atChance*t.missed
}

// majorities returns, by group, how many records show a value, the value that most do, if more than half, and how many.
func (s *seen) majorities(codes []int32) (size, most, of []int32) {
	groups := int(slices.Max(codes)) + 1
	size, most, of = make([]int32, groups), make([]int32, groups), make([]int32, groups)
	for i, g := range codes { // the candidate for the majority
		if y := s.released[i]; g >= 0 && y >= 0 {
			switch {
			case most[g] == 0:
				of[g], most[g] = y, 1
			case of[g] == y:
				most[g]++
			default:
				most[g]--
			}
			size[g]++
		}
	}
	clear(most)
	for i, g := range codes {
		if y := s.released[i]; g >= 0 && y >= 0 && of[g] == y {
			most[g]++
		}
	}
	return size, most, of
}

// leave counts the claims about the cells that leave, each by the others of its group.
func (s *seen) leave(size, most, of []int32) (t tally) {
	for g, n := range size {
		switch {
		case n < 2:
		case most[g] == n:
			s.add(&t, leaving, of[g], float64(n), 0)
			t.gain -= float64(n-1) * math.Log(s.share[of[g]])
		case n == 2:
			s.add(&t, leaving, of[g], 2, 2)
		case most[g] == n-1:
			s.add(&t, leaving, of[g], 1, 1)
		}
	}
	return t
}

// byGroups returns what the other records of a group claim of each hidden cell, −1: nothing.
func (s *seen) byGroups(codes []int32) []int32 {
	if len(codes) == 0 {
		return nil
	}
	size, most, of := s.majorities(codes)
	groups := len(size)
	t := s.leave(size, most, of)
	claims := make([]int32, len(codes))
	right, untrue := make([]int32, groups), make([]int32, groups)
	for i, g := range codes {
		claims[i] = -1
		if g < 0 || s.released[i] >= 0 || size[g] == 0 || most[g] < size[g] {
			continue
		}
		switch claims[i] = of[g]; s.known[i] {
		case of[g]:
			right[g]++
		case -1:
		default:
			untrue[g]++
		}
	}
	if s.judge(&t, claims); s.believed(&t) {
		return claims
	}
	alone := s.least + math.Log(float64(max(groups, 1)))
	for i, g := range codes {
		if claims[i] >= 0 && (untrue[g] > 0 || -float64(right[g])*math.Log(s.share[of[g]]) < alone) {
			claims[i] = -1
		}
	}
	return claims
}

// byOrder returns what both neighbours in an order claim of each hidden cell, −1: nothing.
func (s *seen) byOrder(order []int32) []int32 {
	after := make([]int32, len(order)) // the next cell that leaves
	next := int32(-1)
	for k := len(order) - 1; k >= 0; k-- {
		after[k] = next
		if y := s.released[order[k]]; y >= 0 {
			next = y
		}
	}
	var t tally
	claims := make([]int32, len(s.released))
	for i := range claims {
		claims[i] = -1
	}
	before := int32(-1)
	for k, i := range order {
		y := s.released[i]
		if before >= 0 && before == after[k] {
			switch {
			case y < 0:
				claims[i] = before
			case y == before:
				s.add(&t, leaving, before, 1, 0)
				t.gain -= math.Log(s.share[before]) / 2 // neighbours claim of each other
			default:
				s.add(&t, leaving, before, 1, 1)
			}
		}
		if y >= 0 {
			before = y
		}
	}
	if s.judge(&t, claims); !s.believed(&t) {
		return nil
	}
	return claims
}

const (
	// widely is the number of records of a group, on average, from which a clue may be known from elsewhere.
	widely = 5
)

// Finer says of which records other released columns tell the original value of a key that leaves in a coarser
// coding: a grade of a school the age. original are its original codes, −1: missing. A clue is believed as that
// of Shown, by who knows the joint frequencies of originals, if its groups are large enough for that.
func (clues Clues) Finer(key string, original []int32) (told []bool, tells []string) {
	s := seen{known: original, released: original, least: surely + math.Log(float64(max(1, len(clues))))}
	if s.count(); len(s.share) == 0 {
		return nil, nil
	}
	for _, c := range clues {
		if slices.Contains(c.columns, key) || c.records {
			continue
		}
		claims := s.finerByGroups(c.codes)
		if c.order != nil {
			claims = s.finerByOrder(c.order)
		}
		some := false
		for i, is := range claims {
			if is && original[i] >= 0 {
				if told == nil {
					told = make([]bool, len(original))
				}
				told[i], some = true, true
			}
		}
		alone := slices.ContainsFunc(c.columns, func(name string) bool { return slices.Contains(tells, name) })
		if some && !alone { // those of one column come first
			tells = append(tells, strings.Join(c.columns, " with "))
		}
	}
	return told, tells
}

// finerByGroups reports of which records all others of the group have the same value, if the clue is believed.
func (s *seen) finerByGroups(codes []int32) []bool {
	if len(codes) == 0 {
		return nil
	}
	size, most, of := s.majorities(codes)
	groups, records := 0, 0
	for _, n := range size {
		if n > 0 {
			groups, records = groups+1, records+int(n)
		}
	}
	if t := s.leave(size, most, of); records < widely*groups || !s.believed(&t) {
		return nil
	}
	told := make([]bool, len(codes))
	for i, g := range codes {
		told[i] = g >= 0 && most[g] == size[g]
	}
	return told
}

// finerByOrder reports which records have the value of both neighbours in an order, if the clue is believed.
func (s *seen) finerByOrder(order []int32) []bool {
	var t tally
	told := make([]bool, len(s.released))
	var known []int32
	for _, i := range order {
		if s.released[i] >= 0 {
			known = append(known, i)
		}
	}
	for k := 1; k+1 < len(known); k++ {
		v, own := s.released[known[k-1]], s.released[known[k]]
		if v != s.released[known[k+1]] {
			continue
		}
		if v != own {
			s.add(&t, leaving, v, 1, 1)
			continue
		}
		s.add(&t, leaving, v, 1, 0)
		t.gain -= math.Log(s.share[v]) / 2
		told[known[k]] = true
	}
	if !s.believed(&t) {
		return nil
	}
	return told
}
