package displacement

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// Swap describes one swap.
type Swap struct {
	keys      []int
	exchanged []int // the columns whose values it moves, in Block.Columns
	dataset   bool
	pairer    *Pairer

	// Of a swap of scope dataset, from the survey:
	grouping coding.Grouping
	combos   []displacedCombo
	groups   []*displacedGroup // by group; nil if it has no possible partners
	first    int               // the column in whose survey records are counted
	at       []int             // by column of the Displacer: its first place in sums; −1: not of this swap
	batches  []int             // and how many places it has
	width    int

	// Decided by another Displacer, in place of groups: for each combination and column
	// the number of batches and their contents, in outcomes from outcomeStart on.
	outcomeStart []uint32
	outcomes     []float64
}

// displacedCombo is a combination of keys and attribute.
type displacedCombo struct {
	group int32
	size  int32
	sums  []moment // over its records, by column and batch
}

// displacedGroup is the records of equal keys.
type displacedGroup struct {
	pairing *Pairing
	records []float64 // by class
	sums    []moment  // over the records of a class: [column and batch × class]
	after   []moment  // the same, of what the records hold after the swap
	codes   []int32   // of a group whose exchanges are enumerated: its combinations, by size
}

// exchangeOutcome returns the probability that a record of a combination is exchanged, and the moments
// of the values that it receives: sums over its possible partners, by their probabilities.
//
// sums and records are those of the group's classes, own those of the combination.
func exchangeOutcome(rates []float64, class int, records []float64, sums []moment, size int32, own moment) (p float64,
	receives moment) {
	for t, rate := range rates[class*len(records) : (class+1)*len(records)] {
		if rate == 0 {
			continue
		}
		n := records[t]
		if t == class {
			n -= float64(size)
			receives.add(own, -rate)
		}
		p += rate * n
		receives.add(sums[t], rate)
	}
	if p > 1 { // simulated
		for j := range receives {
			receives[j] /= p
		}
		p = 1
	}
	// The difference of equal sums may be a small number other than 0, because of rounding.
	receives[0] = max(0, min(receives[0], p))
	return p, receives
}

// settle applies an exchange with probability p to record r of batch k. several is whether several swaps move the
// column.
func (w *displacing) settle(k, r int, p float64, receives moment, undo *undoing, several bool) {
	w.undo(k, r, p, &receives, undo, several)
	w.held[k][r] *= 1 - p
	m := &w.moved[k][r]
	for j := range m {
		m[j] *= 1 - p
	}
	m.add(receives, 1)
}

// window applies the swap to the records of one window, which w.grouping describes.
func (s *Swap) window(w *displacing, several bool) {
	m, g := &w.matcher, &w.grouping
	m.Sort(g.Group, g.Combo)
	for i := 0; i+1 < len(m.GroupStart); i++ {
		start, end := m.GroupStart[i], m.GroupStart[i+1]
		w.sizes = w.sizes[:0]
		for p := start; p < end; p = m.ComboEnd[g.Combo[m.Members[p]]] {
			c := g.Combo[m.Members[p]]
			w.sizes = append(w.sizes, m.ComboEnd[c]-m.ComboStart[c])
		}
		if len(w.sizes) < 2 {
			continue
		}
		pairing := s.pairer.Of(w.sizes)
		if len(pairing.Rates) > 1 && w.batches == 1 {
			w.split()
		}
		for k := range w.batches {
			w.group(k, pairing, start, several)
		}
	}
}

// group is window for one batch and one group, whose members start at start in the matcher.
func (w *displacing) group(k int, pairing *Pairing, start int32, several bool) {
	m := &w.matcher
	classes := len(pairing.Sizes)
	w.class = slices.Grow(w.class[:0], classes)[:classes]
	w.records = slices.Grow(w.records[:0], classes)[:classes]
	clear(w.class)
	clear(w.records)
	w.combos = w.combos[:0]
	at := start
	for _, size := range w.sizes {
		var sum moment
		for _, r := range m.Members[at : at+size] {
			sum.add(w.content(k, int(r)), 1)
		}
		at += size
		c := pairing.Class(size)
		w.combos = append(w.combos, sum)
		w.class[c].add(sum, 1)
		w.records[c] += float64(size)
	}
	after := received{make([]moment, classes), w.records}
	for i, size := range w.sizes {
		class := pairing.Class(size)
		p, receives := exchangeOutcome(pairing.rate(k), class, w.records, w.class, size, w.combos[i])
		after.sums[class].add(hold(p, receives, size, w.combos[i]), 1)
	}
	small := pairing.sumsOf(w.sizes, w.combos)
	at = start
	for i, size := range w.sizes {
		class := pairing.Class(size)
		p, receives := exchangeOutcome(pairing.rate(k), class, w.records, w.class, size, w.combos[i])
		undo := undo(p, receives, pairing.row(k, class), class, size, w.combos[i], after, small.of(i))
		for _, r := range m.Members[at : at+size] {
			w.settle(k, int(r), p, receives, &undo, several)
		}
		at += size
	}
}

// take adds records of the survey, with the values that may be at them, to their combinations.
func (s *Swap) take(w *displacing, column int) {
	g := &w.grouping
	for r, group := range g.Group {
		if group < 0 {
			continue
		}
		c := s.countRecord(int(g.Combo[r]), group, column)
		for k := range s.batches[column] {
			c.sums[s.at[column]+k].add(w.content(k%w.batches, r), 1)
		}
	}
}

// countRecord returns the combination of a code, after counting one more record of it.
func (s *Swap) countRecord(code int, group int32, column int) *displacedCombo {
	for len(s.combos) <= code {
		s.combos = append(s.combos, displacedCombo{})
	}
	c := &s.combos[code]
	if c.sums == nil {
		c.sums, c.group = make([]moment, s.width), group
	}
	if column == s.first {
		c.size++
	}
	return c
}

// count is follow in the survey if the law of the other masks on a column is known and the first
// swap on it has scope dataset.
func (d *Displacer) count(w *displacing, b *microdata.Block, i, from, n int, s *Swap) error {
	col := &d.columns[i]
	v := b.Columns[col.Index].Original
	if w.attend(b, v, from, n); !col.centred {
		col.centre, col.centred = w.middle(v.Values[from:from+n]), true
	}
	if err := s.find(w, b, from, n); err != nil {
		return err
	}
	g, at := &w.grouping, s.at[i]
	for r, group := range g.Group {
		if group < 0 {
			continue
		}
		c := s.countRecord(int(g.Combo[r]), group, i)
		if !w.here[r] {
			continue
		}
		x := v.Values[from+r]
		u := x - col.centre
		shift, square := col.Moments(x)
		m := &c.sums[at]
		m[0]++
		m[1] += u + shift
		m[2] += square + 2*u*shift + u*u
		m[3] += (u + shift) * (u + shift)
	}
	return nil
}

// endSurvey makes the pairings and the sums over classes, on all cores.
func (s *Swap) endSurvey() {
	order := make([]int32, 0, len(s.combos))
	groups := int32(0)
	for i := range s.combos {
		if s.combos[i].sums != nil { // otherwise it has rejected records only
			order = append(order, int32(i))
		}
		groups = max(groups, s.combos[i].group+1)
	}
	slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(s.combos[i].group, s.combos[j].group) })
	s.groups = make([]*displacedGroup, groups)
	next := make(chan []int32, 64)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			defer bug.Guard()
			for codes := range next {
				s.groups[s.combos[codes[0]].group] = s.summed(codes)
			}
		})
	}
	for len(order) > 0 {
		n := 1
		for n < len(order) && s.combos[order[n]].group == s.combos[order[0]].group {
			n++
		}
		if n > 1 {
			next <- order[:n]
		}
		order = order[n:]
	}
	close(next)
	wg.Wait()
}

func (s *Swap) summed(codes []int32) *displacedGroup {
	sizes := make([]int32, len(codes))
	for i, code := range codes {
		sizes[i] = s.combos[code].size
	}
	g := &displacedGroup{pairing: s.pairer.Of(sizes)}
	classes := len(g.pairing.Sizes)
	g.records, g.sums = make([]float64, classes), make([]moment, s.width*classes)
	if g.pairing.small != nil {
		g.codes = slices.Clone(codes)
		slices.SortStableFunc(g.codes, func(i, j int32) int { return cmp.Compare(s.combos[j].size, s.combos[i].size) })
	}
	for _, code := range codes {
		c := &s.combos[code]
		class := g.pairing.Class(c.size)
		g.records[class] += float64(c.size)
		for k, m := range c.sums {
			g.sums[k*classes+class].add(m, 1)
		}
	}
	if g.codes == nil { // otherwise outcome computes it, from few combinations
		g.after = make([]moment, s.width*classes)
		for k := range s.width {
			g.addAfter(s, g.after[k*classes:(k+1)*classes], codes, k, k)
		}
	}
	return g
}

// addAfter adds to sums what the records of combinations hold after the swap, by class, for a place in sums and a batch
// of the pairing.
func (g *displacedGroup) addAfter(s *Swap, sums []moment, codes []int32, at, batch int) {
	classes := len(g.pairing.Sizes)
	for _, code := range codes {
		c := &s.combos[code]
		class := g.pairing.Class(c.size)
		p, receives := exchangeOutcome(g.pairing.rate(batch), class, g.records, g.sums[at*classes:(at+1)*classes], c.size,
			c.sums[at])
		sums[class].add(hold(p, receives, c.size, c.sums[at]), 1)
	}
}

var errGone = errors.New("a record that the first pass saw is another one now")

// apply exchanges records with those of the whole data. Records without a value are left out,
// unless windows make them receive values of others.
func (s *Swap) apply(w *displacing, column int, all, several bool) error {
	for r, group := range w.grouping.Group {
		if group < 0 || !w.here[r] && !all {
			continue
		}
		o, err := w.outcomeOf(s, column, r)
		if err != nil {
			return err
		}
		if o.batches == 0 {
			continue
		}
		if w.batches == 1 && o.batches > 1 {
			w.split()
		}
		for k := range w.batches {
			w.settle(k, r, o.p[k], o.receives[k], &o.undo, several)
		}
	}
	return nil
}

// outcome is the result of exchangeOutcome for a combination, by batch. It has no batches if there is
// no possible partner.
type outcome struct {
	swap     *Swap
	column   int
	code     int
	batches  int              // number of batches with different results; 0 if there is no partner
	p, stays [batches]float64 // stays is 1 − p
	receives [batches]moment
	factors  [2]outcomeFactors // of one batch, and of all
	undo     undoing           // the mean over the batches
}

// keptOutcomes is the number of outcomes that a worker caches. They are the same for all blocks.
const keptOutcomes = 1 << 13

func (w *displacing) outcome(s *Swap, column, code int) *outcome {
	if w.outcomes == nil {
		w.outcomes = make([]outcome, keptOutcomes)
	}
	o := &w.outcomes[(code+column*7919)%keptOutcomes]
	if o.swap == s && o.column == column && o.code == code {
		return o
	}
	*o = s.outcome(column, code)
	for k, p := range o.p {
		o.stays[k] = 1 - p
	}
	o.setFactors()
	return o
}

// outcomeOf is the outcome of the combination of record r of w.grouping, which has a group.
func (w *displacing) outcomeOf(s *Swap, column, r int) (*outcome, error) {
	code := int(w.grouping.Combo[r])
	if code >= len(s.combos) || s.combos[code].group != w.grouping.Group[r] {
		return nil, errGone
	}
	return w.outcome(s, column, code), nil
}

// outcome computes, after the survey, the outcome for the records of a combination.
func (s *Swap) outcome(column, code int) outcome {
	if s.outcomeStart != nil {
		return s.decidedOutcome(column, code)
	}
	c := &s.combos[code]
	g := s.groups[c.group]
	if g == nil {
		return outcome{swap: s, column: column, code: code}
	}
	o := outcome{swap: s, column: column, code: code, batches: max(len(g.pairing.Rates), s.batches[column])}
	classes := len(g.pairing.Sizes)
	class := g.pairing.Class(c.size)
	for k := range batches {
		if k >= o.batches {
			o.p[k], o.receives[k] = o.p[0], o.receives[0]
			continue
		}
		at := s.at[column] + k%s.batches[column]
		o.p[k], o.receives[k] = exchangeOutcome(g.pairing.rate(k), class, g.records, g.sums[at*classes:(at+1)*classes],
			c.size, c.sums[at])
		after, exact := received{records: g.records}, (*averaged)(nil)
		if g.codes == nil {
			after.sums = g.after[at*classes : (at+1)*classes]
		} else {
			after.sums = make([]moment, classes)
			g.addAfter(s, after.sums, g.codes, at, k)
			sizes, sums := make([]int32, len(g.codes)), make([]moment, len(g.codes))
			for i, code := range g.codes {
				sizes[i], sums[i] = s.combos[code].size, s.combos[code].sums[at]
			}
			exact = g.pairing.sumsOf(sizes, sums).of(slices.Index(g.codes, int32(code)))
		}
		one := undo(o.p[k], o.receives[k], g.pairing.row(k, class), class, c.size, c.sums[at], after, exact)
		o.undo.add(&one, 1/float64(o.batches))
	}
	return o
}
