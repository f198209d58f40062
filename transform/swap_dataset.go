package transform

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// reserves is how many records a combination of keys and attribute keeps as
// possible partners.
const reserves = 4

// datasetSwap exchanges values between any two records of a data set. A first
// pass, the survey, counts the combinations of keys and attribute and keeps of
// each the records that may be exchanged, with the values that they have at this
// point of the chain; EndSurvey decides; Apply puts the values in their places.
//
// Policy unique: of each combination the survey keeps its count and at most four
// records, those of least keyed word, that is, a random sample. Memory grows with
// the number of distinct combinations. A combination is chosen for partner in
// proportion to its records in no pair; one whose four records are all in pairs
// is not available any more.
//
// Policy random: the survey also keeps every record whose coin of rate π falls
// heads, so memory grows with π times the number of records. Those are paired
// among themselves and exchanged; one that finds no partner among them takes, with
// probability ½, one from the samples of the others. So as many records are
// exchanged, in expectation, as there are heads with a possible partner: a share π.
type datasetSwap struct {
	swapColumns
	grouping grouping // codes stay from block to block
	combos   []combo  // by code
	moves    []move   // after decide, by place
}

// combo is a combination of keys and attribute.
type combo struct {
	group   int32
	count   int64
	heads   []kept // policy random: records whose coin falls heads
	records []kept // a sample of the others, sorted by order, at most reserves
}

// kept is a record that may be exchanged.
type kept struct {
	order, partner, coin uint64
	place                place
	cells                []cell // one a protected column
}

// place is where a record lies in the source.
type place struct {
	scope  string
	stream int
	row    int64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.scope, q.scope), cmp.Compare(p.stream, q.stream), cmp.Compare(p.row, q.row))
}

func placeOf(b *microdata.Block, i int) place { return place{b.Scope, b.Stream, b.Place(i)} }

// move is what a record receives.
type move struct {
	to    place
	cells []cell
}

func newDatasetSwap(s swapColumns) *datasetSwap { return &datasetSwap{swapColumns: s} }

// survey takes a block of the first pass, with the preceding masks applied.
func (s *datasetSwap) survey(c *Chain, w *work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	if err := s.grouping.find(b, s.keys, 0, b.N); err != nil {
		return fmt.Errorf("%s: %w", c.at(s.mask), err)
	}
	s.grouping.exclude(b, 0)
	s.words(c, w, b, 0, b.N)
	sw := &w.swap
	cells := s.reader(b)
	for i, g := range s.grouping.group {
		if g < 0 {
			continue
		}
		code := int(s.grouping.combo[i])
		for len(s.combos) <= code {
			s.combos = append(s.combos, combo{})
		}
		m := &s.combos[code]
		m.group = g
		m.count++
		r := kept{sw.order[i], sw.partner[i], sw.coin[i], placeOf(b, i), nil}
		if !s.unique && s.heads(r.coin) {
			r.cells = cells(i)
			m.heads = append(m.heads, r)
		} else {
			m.keep(r, cells, i)
		}
	}
	return nil
}

// keep keeps the record where it is among the four of least order.
func (m *combo) keep(r kept, cells func(int) []cell, i int) {
	at, _ := slices.BinarySearchFunc(m.records, r, kept.compare)
	if at == reserves {
		return
	}
	r.cells = cells(i)
	if len(m.records) == reserves {
		m.records = m.records[:reserves-1]
	}
	m.records = slices.Insert(m.records, at, r)
}

func (r kept) compare(q kept) int {
	return cmp.Or(cmp.Compare(r.order, q.order), r.place.compare(q.place))
}

// reader returns a function that copies the protected values of a record.
func (s *datasetSwap) reader(b *microdata.Block) func(i int) []cell {
	readers := make([]func(i int) cell, len(s.protected))
	for k, p := range s.protected {
		col := &b.Columns[p.Index]
		if a := col.OutArray(); a != nil {
			at, ok := bytesOf(a)
			readers[k] = func(i int) cell {
				if a.IsNull(i) || !ok {
					return cell{null: true}
				}
				return cell{bytes: bytes.Clone(at(i))}
			}
			continue
		}
		v := col.Out()
		readers[k] = func(i int) cell {
			if v.Values == nil { // not in this block, as in replicates
				return cell{null: true}
			}
			return cell{null: !v.Valid.Has(i), number: v.Values[i]}
		}
	}
	return func(i int) []cell {
		cells := make([]cell, len(readers))
		for k, read := range readers {
			cells[k] = read(i)
		}
		return cells
	}
}

// decide pairs records and lets go of the counts.
func (s *datasetSwap) decide(*Chain) error {
	byGroup := make([]int32, len(s.combos))
	for i := range byGroup {
		byGroup[i] = int32(i)
	}
	slices.SortStableFunc(byGroup, func(i, j int32) int { return cmp.Compare(s.combos[i].group, s.combos[j].group) })
	for len(byGroup) > 0 {
		n := 1
		for n < len(byGroup) && s.combos[byGroup[n]].group == s.combos[byGroup[0]].group {
			n++
		}
		if n > 1 {
			s.decideGroup(byGroup[:n])
		}
		byGroup = byGroup[n:]
	}
	slices.SortFunc(s.moves, func(a, b move) int { return a.to.compare(b.to) })
	s.combos, s.grouping = nil, grouping{}
	return nil
}

// candidate is a kept record that seeks a partner.
type candidate struct {
	combo int // index in the group
	kept
}

// decideGroup pairs the records of the combinations that share their keys.
func (s *datasetSwap) decideGroup(group []int32) {
	var candidates []candidate
	var seekers, sample pool // of policy unique: sample alone
	for g, code := range group {
		m := &s.combos[code]
		from := m.heads
		if s.unique && m.count == 1 {
			from = m.records
		}
		for _, r := range from {
			candidates = append(candidates, candidate{g, r})
		}
		slices.SortFunc(m.heads, kept.compare) // partners are taken in this order, which is random
		seekers.add(m.heads, int64(len(m.heads)))
		sample.add(m.records, m.count-int64(len(m.heads)))
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return a.compare(b.kept) })
	if s.unique {
		s.pair(candidates, &sample, &sample, s.heads)
		return
	}
	left := s.pair(candidates, &seekers, &seekers, func(uint64) bool { return true })
	// heads looks at the upper bits of the word; the lowest is a coin of its own.
	s.pair(left, &seekers, &sample, func(word uint64) bool { return word&1 == 0 })
}

// pair takes for each candidate, which is in the pool own, a partner from the
// pool others, and has the pair exchanged where the candidate's coin says so. It
// returns the candidates that found nobody.
func (s *datasetSwap) pair(candidates []candidate, own, others *pool, exchange func(coin uint64) bool) (left []candidate) {
	own.start()
	others.start()
	for _, c := range candidates {
		if own.taken[c.place] {
			continue
		}
		g, ok := others.pick(c.partner, c.combo)
		if !ok {
			left = append(left, c)
			continue
		}
		q := others.records[g][others.next[g]]
		own.take(c.combo, c.place)
		others.take(g, q.place)
		if exchange(c.coin) {
			s.moves = append(s.moves, move{c.place, q.cells}, move{q.place, c.cells})
		}
	}
	return left
}

// pool is the records of a group that are in no pair, by combination. The weight
// of a combination is the number of its records, of which some may not be known.
type pool struct {
	records [][]kept
	weight  []int64
	next    []int // first of the records that is in no pair
	total   int64
	tree    fenwick
	taken   map[place]bool
}

// add appends a combination.
func (p *pool) add(records []kept, weight int64) {
	p.records, p.weight, p.next = append(p.records, records), append(p.weight, weight), append(p.next, 0)
	p.total += weight
}

// start makes the pool ready after the last add; again, it does nothing.
func (p *pool) start() {
	if p.taken != nil {
		return
	}
	p.taken = make(map[place]bool)
	p.tree.ones(len(p.weight))
	for g, w := range p.weight {
		p.tree.add(g, w-1)
	}
}

// pick chooses a combination other than own in proportion to the weights.
func (p *pool) pick(word uint64, own int) (g int, ok bool) {
	n := p.total - p.weight[own]
	if n == 0 {
		return 0, false
	}
	r := below(word, n)
	if r >= p.tree.prefix(own) {
		r += p.weight[own]
	}
	return p.tree.find(r), true
}

// take takes a record out.
func (p *pool) take(g int, at place) {
	p.taken[at] = true
	for p.next[g] < len(p.records[g]) && p.taken[p.records[g][p.next[g]].place] {
		p.next[g]++
	}
	d := int64(-1)
	if p.next[g] == len(p.records[g]) {
		d = -p.weight[g] // none left that is known
	}
	p.weight[g] += d
	p.total += d
	p.tree.add(g, d)
}

// apply puts the values that EndSurvey has decided on in their places.
func (s *datasetSwap) apply(c *Chain, w *work, b *microdata.Block) error {
	if b.N == 0 {
		return nil
	}
	byPlace := func(m move, p place) int { return m.to.compare(p) }
	lo, _ := slices.BinarySearchFunc(s.moves, placeOf(b, 0), byPlace)
	n, last := slices.BinarySearchFunc(s.moves[lo:], placeOf(b, b.N-1), byPlace)
	if last {
		n++
	}
	moves := s.moves[lo : lo+n]
	sw := &w.swap
	sw.rows = sw.rows[:0]
	row := 0
	for _, m := range moves {
		if b.Places == nil {
			row = int(m.to.row - b.First)
		} else {
			further, there := slices.BinarySearch(b.Places[row:], m.to.row)
			if row += further; !there {
				return fmt.Errorf("%s: record %d of stream %d, which the first pass saw, is gone", c.at(s.mask), m.to.row, b.Stream)
			}
		}
		sw.rows = append(sw.rows, int32(row))
	}
	for k, p := range s.protected {
		col := &b.Columns[p.Index]
		sw.cells = sw.cells[:0]
		for _, m := range moves {
			sw.cells = append(sw.cells, m.cells[k])
		}
		switch {
		case col.Array != nil:
			if len(moves) == 0 {
				continue
			}
			a, err := placeArray(col.OutArray(), sw.rows, sw.cells)
			if err != nil {
				return fmt.Errorf("%s: column %s: %w", c.at(s.mask), strconv.Quote(p.Name), err)
			}
			col.ReleasedArray = a
		case col.Original.Values != nil:
			placeNumbers(col.Mutable(), sw.rows, sw.cells)
		}
	}
	c.touched[s.mask].Add(int64(len(moves)))
	return nil
}

// placeNumbers puts cells at rows.
func placeNumbers(v *microdata.Vector, rows []int32, cells []cell) {
	for k, row := range rows {
		if cells[k].null && v.Valid == nil {
			v.Valid = microdata.NewBitmap(len(v.Values), nil)
		}
		if v.Valid != nil {
			setTo(v.Valid, int(row), !cells[k].null)
		}
		v.Values[row] = cells[k].number
	}
}
