package uniqueness

import (
	"context"
	"fmt"
	"math"
	"math/bits"
)

// Law is the distribution of the released codes of a key that masks draw at random:
// P[row][code − From[row]] is the probability that a record of this row is released with this
// code; it is 0 for codes beyond.
type Law struct {
	// Row holds for each record the row of its original value, −1 if the value is missing.
	Row  []int32
	P    [][]float64
	From []int32 // by row; nil: all 0
}

// checkKnown returns an error if Known and Laws do not fit the keys.
func checkKnown(data *Data, n int) error {
	if data.Known == nil {
		if data.Laws != nil {
			return fmt.Errorf("laws: must be left out without known keys")
		}
		return nil
	}
	if len(data.Known) != len(data.Keys) || data.Laws != nil && len(data.Laws) != len(data.Keys) {
		return fmt.Errorf("known: must have a column and at most a law for each of the %d keys, got %d and %d",
			len(data.Keys), len(data.Known), len(data.Laws))
	}
	for j, codes := range data.Known {
		name := data.Keys[j].Name
		if law := data.law(j); law != nil {
			if err := law.check(data.Keys[j].Codes); err != nil {
				return fmt.Errorf("laws[%d] (%s): %w", j, name, err)
			}
			continue
		}
		if len(codes) != n {
			return fmt.Errorf("known[%d] (%s): must have %d records as the keys do, got %d", j, name, n, len(codes))
		}
		for i, code := range codes {
			if code < -1 {
				return fmt.Errorf("known[%d] (%s): must be codes from 0, or -1 for missing; record %d is neither", j, name, i+1)
			}
		}
	}
	return nil
}

func (d *Data) law(j int) *Law {
	if d.Laws == nil {
		return nil
	}
	return d.Laws[j]
}

func (l *Law) check(released []int32) error {
	if l.From != nil && len(l.From) != len(l.P) {
		return fmt.Errorf("must have a first code for each of %d rows, got %d", len(l.P), len(l.From))
	}
	if len(l.Row) != len(released) {
		return fmt.Errorf("must have %d rows as the key has records, got %d", len(released), len(l.Row))
	}
	for i, row := range l.Row {
		if row < -1 || int(row) >= len(l.P) {
			return fmt.Errorf("must have rows from 0 to %d, or -1 for missing; record %d has another", len(l.P)-1, i+1)
		}
		if y := released[i]; row >= 0 && y >= 0 && !(l.of(row, y) > 0) {
			return fmt.Errorf("cannot have made the release: record %d has a category of probability 0", i+1)
		}
	}
	return nil
}

// of returns the probability that a record of a row is released with a code.
func (l *Law) of(row, code int32) float64 {
	if l.From != nil {
		code -= l.From[row]
	}
	if p := l.P[row]; code >= 0 && int(code) < len(p) {
		return p[code]
	}
	return 0
}

// snooper counts, for each respondent, the released records that can be theirs, as a snooper
// sees them who knows the respondent's keys and holds the whole release.
//
// C_i is the set of released records whose present keys are equal to the known keys of i, in
// the coding that the masks publish; a key that is missing in the source is not known, and a
// missing released key contradicts nothing. k_i = |C_i|, and a claim that one of them is i's
// is right with probability 1/k_i.
//
// If keys are drawn at random with a Law, the posterior takes the place of the count. That
// record j is i's has the odds
//
//	w_j = [j in C_i by the other keys] · Π_l P_l(y_jl | x_il) / mean over s ≠ i of Π_l P_l(y_jl | x_sl),
//
// s running over the respondents whom record j does not contradict by its other keys: the
// likelihood of the release if j is i's, divided by that if j is someone else's. Then
// k_i = Σ w_j / max w_j, so that 1/k_i is the probability of the snooper's best claim.
//
// A record that contradicts its own respondent (which only a wrong assumption about the masks
// can make) is counted as one more candidate.
type snooper struct {
	alpha    float64
	laws     []*Law   // by key; nil: the key is released as it is known
	t, r     *classes // distinct respondents and released records
	weighted bool
	// own is the class in r of the record of each class of t; nil if every record agrees
	// with its respondent, and missing keys match with weight 1.
	own       []int32
	ownWeight []float64 // with own and weights
	words     *words    // nil: the keys do not fit into a word
	// pairs is the number of pairs of classes that the posterior may still compare.
	pairs int64
}

// maxPairs is the greatest number of pairs of distinct respondents and released records that
// are compared for the posterior: about 20 seconds.
const maxPairs = 1_000_000_000

func newSnooper(g *grouper, data *Data, alpha float64) *snooper {
	s := &snooper{alpha: alpha, laws: data.Laws, weighted: data.Weights != nil, pairs: maxPairs}
	if s.laws == nil {
		s.laws = make([]*Law, len(data.Keys))
	}
	released := fieldsOf(data.Keys)
	known := make([]field, len(released))
	for j := range known {
		if law := s.laws[j]; law != nil {
			known[j] = newField(law.Row)
			continue
		}
		known[j] = newField(data.Known[j])
		span := max(known[j].span, released[j].span)
		known[j].span, released[j].span = span, span
	}
	s.r = newClasses(g, released, data.Weights)
	if !s.differs(known, released) {
		s.t = newClasses(g, known, nil)
	} else {
		s.t = s.withOwn(g, known, data.Weights, len(data.Sensitive) > 0)
	}
	s.words = newWords(s)
	return s
}

// differs reports whether the record of a respondent may count differently than any other
// record that agrees with him.
func (s *snooper) differs(known, released []field) bool {
	for j := range known {
		if s.laws[j] != nil {
			continue
		}
		for i, x := range known[j].codes {
			if y := released[j].codes[i]; x >= 0 && (y >= 0 && y != x || y < 0 && s.alpha < 1) {
				return true
			}
		}
	}
	return false
}

// withOwn forms classes of respondents that also have equal released records; with weights or
// if each is true, every respondent is a class, with the number of his record.
func (s *snooper) withOwn(g *grouper, known []field, weights []float64, each bool) *classes {
	last := field{s.r.of, uint64(len(s.r.count))}
	if weights != nil || each {
		records := make([]int32, len(s.r.of))
		for i := range records {
			records[i] = int32(i)
		}
		last = field{records, uint64(len(records))}
	}
	t := newClasses(g, append(known[:len(known):len(known)], last), nil)
	t.keys = t.keys[:len(known)]
	s.own = make([]int32, len(t.count))
	if weights != nil {
		s.ownWeight = make([]float64, len(t.count))
	}
	for i, k := range t.of {
		s.own[k] = s.r.of[i]
		if weights != nil {
			s.ownWeight[k] = weights[i]
		}
	}
	return t
}

// counts returns k and its weighted form for each class of respondents by the keys of set, in
// ascending order; without weights both are one slice.
func (s *snooper) counts(ctx context.Context, g *grouper, set []int) (f, F []float64, err error) {
	m := s.meet(g, set)
	if len(m.random) > 0 {
		f, F, err = m.posterior(ctx)
	} else {
		f, F, err = m.sums(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	f, F = m.spread(f, F)
	s.addOwn(set, f, F)
	if F == nil {
		F = f
	}
	return f, F, nil
}

// addOwn counts the respondent's own record: fully if its keys are missing, and as one more
// candidate if it contradicts him.
func (s *snooper) addOwn(set []int, f, F []float64) {
	for k, own := range s.own {
		more := 0.0
		for _, j := range set {
			if s.laws[j] != nil {
				continue
			}
			x, y := s.t.keys[j].codes[k], s.r.keys[j].codes[own]
			if x >= 0 && y >= 0 && x != y {
				more = 1
				break
			} else if x >= 0 && y < 0 {
				more = 1 - s.alpha
			}
		}
		f[k] += more
		if F != nil {
			F[k] += more * s.ownWeight[k]
		}
	}
}

// words holds the classes' keys packed into one word each, so that the keys of a set are
// selected by a mask.
type words struct {
	t, r  []uint64
	masks []uint64 // by key
}

// newWords returns nil if the keys do not fit.
func newWords(s *snooper) *words {
	w := &words{masks: make([]uint64, len(s.laws))}
	shift := 0
	for j := range s.laws {
		if s.laws[j] != nil {
			continue
		}
		width := bits.Len64(s.r.keys[j].span)
		if shift+width > 64 {
			return nil
		}
		w.masks[j] = (1<<width - 1) << shift
		shift += width
	}
	pack := func(keys []field, n int) []uint64 {
		list := make([]uint64, n)
		for j, mask := range w.masks {
			if mask == 0 {
				continue
			}
			shift := bits.TrailingZeros64(mask)
			codes := keys[j].codes
			inChunks(n, workers(), func(lo, hi int) {
				for k, code := range codes[lo:hi] {
					list[lo+k] |= uint64(int64(code)+1) << shift
				}
			})
		}
		return list
	}
	w.t, w.r = pack(s.t.keys, len(s.t.count)), pack(s.r.keys, len(s.r.count))
	return w
}

// meeting is the respondents and the released records by a set of keys: distinct tuples of
// these keys, bundled by the keys that they lack.
type meeting struct {
	s             *snooper
	g             *grouper
	exact, random []int
	t, r          side
}

// side is the distinct tuples of one side.
type side struct {
	base    []int32 // a class of the snooper that has the tuple
	of      []int32 // tuple of each class of the snooper; nil: the tuples are the classes
	count   []int64
	weight  []float64
	bundles []bundle
}

func (s *snooper) meet(g *grouper, set []int) *meeting {
	m := &meeting{s: s, g: g}
	for _, j := range set {
		if s.laws[j] != nil {
			m.random = append(m.random, j)
		} else {
			m.exact = append(m.exact, j)
		}
	}
	m.t, m.r = m.sideOf(s.t, set), m.sideOf(s.r, set)
	return m
}

func (m *meeting) sideOf(c *classes, set []int) side {
	var d side
	if len(set) == len(c.keys) && m.s.own == nil {
		d = side{count: c.count, weight: c.weight, base: make([]int32, len(c.count))}
		for k := range d.base {
			d.base[k] = int32(k)
		}
	} else {
		columns := make([]field, len(set))
		for at, j := range set {
			columns[at] = c.keys[j]
		}
		d.of = make([]int32, len(c.count))
		n := m.g.group(columns, nil, d.of)
		d.count, d.base = make([]int64, n), make([]int32, n)
		if c.weight != nil {
			d.weight = make([]float64, n)
		}
		for k, id := range d.of {
			d.base[id] = int32(k)
			d.count[id] += c.count[k]
			if c.weight != nil {
				d.weight[id] += c.weight[k]
			}
		}
	}
	d.bundles = m.bundled(c.keys, d.base)
	return d
}

// bundled bundles tuples by the exact keys that they lack.
func (m *meeting) bundled(keys []field, base []int32) []bundle {
	sets := make([]uint64, len(base))
	for _, j := range m.exact {
		codes := keys[j].codes
		for k, b := range base {
			if codes[b] < 0 {
				sets[k] |= 1 << j
			}
		}
	}
	return bundlesOf(sets)
}

// spread returns the figures of the tuples for the classes of respondents.
func (m *meeting) spread(f, F []float64) (perClass, weighted []float64) {
	if m.t.of == nil {
		return f, F
	}
	perClass = make([]float64, len(m.t.of))
	for k, id := range m.t.of {
		perClass[k] = f[id]
	}
	if F != nil {
		weighted = make([]float64, len(m.t.of))
		for k, id := range m.t.of {
			weighted[k] = F[id]
		}
	}
	return perClass, weighted
}

// sums counts the records that agree. The only error is that of ctx.
func (m *meeting) sums(ctx context.Context) (f, F []float64, err error) {
	full, partial := make([]int64, len(m.t.count)), []int64(nil)
	var fullWeight, partialWeight []float64
	if m.s.alpha < 1 {
		partial = make([]int64, len(full))
	}
	if m.s.weighted {
		fullWeight = make([]float64, len(full))
		if partial != nil {
			partialWeight = make([]float64, len(full))
		}
	}
	for _, r := range m.r.bundles {
		for _, t := range m.t.bundles {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			to, toWeight := full, fullWeight
			if r.missing&^t.missing != 0 && partial != nil {
				to, toWeight = partial, partialWeight
			}
			m.add(t, r, to, toWeight)
		}
	}
	f = make([]float64, len(full))
	for k, n := range full {
		f[k] = float64(n)
		if partial != nil {
			f[k] += m.s.alpha * float64(partial[k])
		}
	}
	for k := range partialWeight {
		fullWeight[k] += m.s.alpha * partialWeight[k]
	}
	return f, fullWeight, nil
}

// add adds to the sums of the respondents of t the records of r that agree with them.
func (m *meeting) add(t, r bundle, sum []int64, weight []float64) {
	if m.s.words == nil {
		m.addGrouped(t, r, sum, weight)
		return
	}
	mask := uint64(0)
	for _, j := range m.exact {
		if (t.missing|r.missing)>>j&1 == 0 {
			mask |= m.s.words.masks[j]
		}
	}
	tw, rw := m.s.words.t, m.s.words.r
	// The table holds the smaller side; the larger one is looked up in it.
	onR := len(r.classes) <= len(t.classes)
	var table lookup
	if onR {
		table = newLookup(len(r.classes))
		for _, k := range r.classes {
			table.put(rw[m.r.base[k]] & mask)
		}
	} else {
		table = newLookup(len(t.classes))
		for _, k := range t.classes {
			table.put(tw[m.t.base[k]] & mask)
		}
	}
	sums := make([]int64, table.size)
	var weights []float64
	if weight != nil {
		weights = make([]float64, table.size)
	}
	for _, k := range r.classes {
		if at := table.find(rw[m.r.base[k]] & mask); at >= 0 {
			sums[at] += m.r.count[k]
			if weight != nil {
				weights[at] += m.r.weight[k]
			}
		}
	}
	inChunks(len(t.classes), m.g.workers, func(lo, hi int) {
		for _, k := range t.classes[lo:hi] {
			if at := table.find(tw[m.t.base[k]] & mask); at >= 0 {
				sum[k] += sums[at]
				if weight != nil {
					weight[k] += weights[at]
				}
			}
		}
	})
}

// addGrouped is add for keys that do not fit into a word.
func (m *meeting) addGrouped(t, r bundle, sum []int64, weight []float64) {
	ids, groups := m.group(t, r)
	sums, weights := make([]int64, groups), make([]float64, groups)
	for at, k := range r.classes {
		id := ids[len(t.classes)+at]
		sums[id] += m.r.count[k]
		if weight != nil {
			weights[id] += m.r.weight[k]
		}
	}
	for at, k := range t.classes {
		sum[k] += sums[ids[at]]
		if weight != nil {
			weight[k] += weights[ids[at]]
		}
	}
}

// group numbers the tuples of t, and then of r, by the exact keys that neither lacks.
func (m *meeting) group(t, r bundle) (ids []int32, groups int) {
	ids = make([]int32, len(t.classes)+len(r.classes))
	var columns []field
	for _, j := range m.exact {
		if (t.missing|r.missing)>>j&1 != 0 {
			continue
		}
		codes := make([]int32, len(ids))
		for at, k := range t.classes {
			codes[at] = m.s.t.keys[j].codes[m.t.base[k]]
		}
		for at, k := range r.classes {
			codes[len(t.classes)+at] = m.s.r.keys[j].codes[m.r.base[k]]
		}
		columns = append(columns, field{codes, m.s.r.keys[j].span})
	}
	return ids, m.g.group(columns, nil, ids)
}

// lookup numbers words from 0, by open addressing.
type lookup struct {
	keys  []uint64
	slots []int32 // number + 1; 0: free
	shift int
	size  int
}

func newLookup(most int) lookup {
	width := max(4, bits.Len(uint(2*most)))
	return lookup{keys: make([]uint64, 1<<width), slots: make([]int32, 1<<width), shift: 64 - width}
}

func (l *lookup) put(p uint64) {
	at := mix(p) >> l.shift
	for l.slots[at] != 0 {
		if l.keys[at] == p {
			return
		}
		at = (at + 1) & uint64(len(l.slots)-1)
	}
	l.size++
	l.keys[at], l.slots[at] = p, int32(l.size)
}

// find returns the number of a word, −1 if it has none.
func (l *lookup) find(p uint64) int32 {
	at := mix(p) >> l.shift
	for l.slots[at] != 0 {
		if l.keys[at] == p {
			return l.slots[at] - 1
		}
		at = (at + 1) & uint64(len(l.slots)-1)
	}
	return -1
}

// Coded returns what a snooper knows of a column, in the coding of its release: for each record
// the released code of its original category, which the masks must replace by one and the same
// category wherever it is not missing. same is false if they do not; known then holds the most
// frequent one. A category that is missing wherever it is released gets a code of its own, and a
// missing original is not known.
func Coded(original, released []int32) (known []int32, same bool) {
	top := int32(-1)
	for _, codes := range [][]int32{original, released} {
		for _, c := range codes {
			top = max(top, c)
		}
	}
	same = true
	becomes := make([]int32, top+1) // released code + 1 of an original one
	for i, x := range original {
		if y := released[i]; x >= 0 && y >= 0 {
			if becomes[x] == 0 {
				becomes[x] = y + 1
			}
			same = same && becomes[x] == y+1
		}
	}
	if !same {
		becomes = mostFrequent(original, released, top)
	}
	known = make([]int32, len(original))
	for i, x := range original {
		switch {
		case x < 0:
			known[i] = -1
		case becomes[x] > 0:
			known[i] = becomes[x] - 1
		case int64(top)+1+int64(x) > math.MaxInt32:
			known[i] = math.MaxInt32
		default:
			known[i] = top + 1 + x
		}
	}
	return known, same
}

// mostFrequent returns for each original code the most frequent released one plus 1, the least
// of equally frequent ones; 0 if there is none.
func mostFrequent(original, released []int32, top int32) []int32 {
	count := map[[2]int32]int{}
	for i, x := range original {
		if y := released[i]; x >= 0 && y >= 0 {
			count[[2]int32{x, y}]++
		}
	}
	becomes, most := make([]int32, top+1), make([]int, top+1)
	for pair, n := range count {
		x, y := pair[0], pair[1]
		if n > most[x] || n == most[x] && y+1 < becomes[x] {
			becomes[x], most[x] = y+1, n
		}
	}
	return becomes
}
