package truth

import (
	"math/rand/v2"
)

// swap exchanges values between records with the same key and different values of the attribute
// (docs/methods.md, "Swapping").
//
// Within windows, with policy unique: candidates come in random order; each candidate that is in no
// pair takes a partner uniformly among the records in no pair, and the pair is exchanged with
// probability rate.
//
// With policy random over the whole file: every record throws a coin with that rate. Those with
// heads are paired among themselves and exchanged; one without a partner takes, with probability ½,
// one from the others.
type swap struct {
	key    string // many or few
	rate   float64
	random bool
	window int // 0: the whole file
}

func (m swap) yaml() string {
	s := "{swap: {keys: [" + m.key + "], attribute: a, columns: [x], rate: " + number(m.rate)
	if m.random {
		s += ", policy: random"
	}
	if m.window == 0 {
		s += ", scope: dataset"
	}
	return s + "}}"
}

func (m swap) apply(y []float64, f *file, g *rand.Rand) {
	key := f.many
	if m.key == "few" {
		key = f.few
	}
	window := m.window
	if window == 0 {
		window = len(y)
	}
	for from := 0; from < len(y); from += window {
		for _, group := range groups(key, from, min(from+window, len(y))) {
			if m.random && m.window == 0 {
				m.coinsFirst(y, f.attribute, group, g)
			} else {
				m.pairs(y, f.attribute, group, g)
			}
		}
	}
}

// groups lists the records of [from, to) by key.
func groups(key []int32, from, to int) [][]int {
	most := int32(0)
	for _, k := range key[from:to] {
		most = max(most, k)
	}
	count := make([]int, most+2)
	for _, k := range key[from:to] {
		count[k+1]++
	}
	for k := range most + 1 {
		count[k+1] += count[k]
	}
	start := append([]int(nil), count...)
	records := make([]int, to-from)
	for i := from; i < to; i++ {
		k := key[i]
		records[start[k]] = i
		start[k]++
	}
	var list [][]int
	for k := range most + 1 {
		if count[k+1]-count[k] > 1 {
			list = append(list, records[count[k]:count[k+1]])
		}
	}
	return list
}

// free is a set of records from which one with another attribute can be taken.
type free struct {
	attribute []int32
	records   []int
	of        [4]int // number of records with each value of the attribute
}

func newFree(records []int, attribute []int32) *free {
	s := &free{attribute: attribute, records: append([]int(nil), records...)}
	for _, i := range records {
		s.of[attribute[i]]++
	}
	return s
}

func (s *free) has(i int) bool {
	for _, r := range s.records {
		if r == i {
			return true
		}
	}
	return false
}

func (s *free) remove(i int) {
	for k, r := range s.records {
		if r == i {
			s.records[k] = s.records[len(s.records)-1]
			s.records = s.records[:len(s.records)-1]
			s.of[s.attribute[i]]--
			return
		}
	}
}

// partner removes and returns a record, uniformly among those with another attribute than record i;
// −1 if there is none.
func (s *free) partner(i int, g *rand.Rand) int {
	if len(s.records) == s.of[s.attribute[i]] {
		return -1
	}
	for {
		if j := s.records[g.IntN(len(s.records))]; s.attribute[j] != s.attribute[i] {
			s.remove(j)
			return j
		}
	}
}

func (m swap) pairs(y []float64, attribute []int32, group []int, g *rand.Rand) {
	all := newFree(group, attribute)
	candidates := append([]int(nil), group...)
	if !m.random {
		of := all.of
		candidates = candidates[:0]
		for _, i := range group {
			if of[attribute[i]] == 1 {
				candidates = append(candidates, i)
			}
		}
	}
	g.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	for _, i := range candidates {
		if !all.has(i) {
			continue
		}
		j := all.partner(i, g)
		if j < 0 {
			continue
		}
		all.remove(i)
		if g.Float64() < m.rate {
			y[i], y[j] = y[j], y[i]
		}
	}
}

func (m swap) coinsFirst(y []float64, attribute []int32, group []int, g *rand.Rand) {
	var heads, tails []int
	for _, i := range group {
		if g.Float64() < m.rate {
			heads = append(heads, i)
		} else {
			tails = append(tails, i)
		}
	}
	g.Shuffle(len(heads), func(i, j int) { heads[i], heads[j] = heads[j], heads[i] })
	seekers, others := newFree(heads, attribute), newFree(tails, attribute)
	var left []int
	for _, i := range heads {
		if !seekers.has(i) {
			continue
		}
		j := seekers.partner(i, g)
		if j < 0 {
			left = append(left, i)
			continue
		}
		seekers.remove(i)
		y[i], y[j] = y[j], y[i]
	}
	for _, i := range left {
		j := others.partner(i, g)
		if j >= 0 && g.Uint64()&1 == 0 {
			y[i], y[j] = y[j], y[i]
		}
	}
}
