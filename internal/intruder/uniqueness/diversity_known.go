package uniqueness

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
)

// diversity measures l-diversity among the records that can be a respondent's, each with its
// odds; the record of a respondent whom it contradicts counts with the greatest of these.
func (s *snooper) diversity(ctx context.Context, g *grouper, all []int, sensitive []Column,
	c float64) (map[string]Diversity, *Diversity, error) {
	m := s.meet(g, all)
	odds, err := m.likelihoods(ctx)
	if err != nil {
		return nil, nil, err
	}
	columns := make(map[string]Diversity, len(sensitive))
	single := make([]int32, len(s.r.of))
	for _, column := range sensitive {
		d, err := m.diversityOf(ctx, odds, single, 1, column.Codes, c)
		if err != nil {
			return nil, nil, err
		}
		columns[column.Name] = d.spread(s.t.of)
	}
	if len(sensitive) < 2 {
		return columns, nil, nil
	}
	// As multiDiversity: among the candidates with equal other sensitive values.
	n := len(s.t.count)
	least := classDiversity{make([]int32, n), make([]int32, n), make([]float64, n)}
	for at, column := range sensitive {
		var others []field
		for o, other := range sensitive {
			if o != at {
				others = append(others, newField(other.Codes))
			}
		}
		fine := make([]int32, len(s.r.of))
		finer := g.group(others, nil, fine)
		d, err := m.diversityOf(ctx, odds, fine, finer, column.Codes, c)
		if err != nil {
			return nil, nil, err
		}
		for k := range n {
			least.lower(k, d.distinct[k], d.entropy[k], d.recursive[k])
		}
	}
	whole := least.spread(s.t.of)
	return columns, &whole, nil
}

// lower lowers the measures of class k to those given; 0 distinct values are no measure.
func (d *classDiversity) lower(k int, distinct int32, entropy float64, recursive int32) {
	switch {
	case distinct == 0:
	case d.distinct[k] == 0:
		d.distinct[k], d.entropy[k], d.recursive[k] = distinct, entropy, recursive
	default:
		d.distinct[k], d.entropy[k], d.recursive[k] = min(d.distinct[k], distinct), min(d.entropy[k], entropy),
			min(d.recursive[k], recursive)
	}
}

// held is how many records of a released tuple have a value, within one of the finer classes.
type held struct {
	fine, value int32
	count       int64
}

// diversityOf returns by class of respondents the least diversity of values over the finer
// classes of the candidates.
func (m *meeting) diversityOf(ctx context.Context, of *likelihoods, fine []int32, finer int, values []int32,
	c float64) (classDiversity, error) {
	tuple := m.s.r.of
	if m.r.of != nil {
		tuple = byRecord(m.s.r.of, m.r.of)
	}
	ids := make([]int32, len(values))
	kinds := m.g.group([]field{{tuple, uint64(len(m.r.count))}, {fine, uint64(finer)}, newField(values)}, nil, ids)
	list, start := heldBy(ids, kinds, tuple, fine, values, len(m.r.count))

	n := len(m.s.t.count)
	out := classDiversity{make([]int32, n), make([]int32, n), make([]float64, n)}
	classes := m.t.classesOf(n)
	type key struct{ fine, value int32 }
	candidates := map[key]float64{}
	most := 0.0
	settle := func(k, own int32) {
		of := candidates
		if own >= 0 && values[k] >= 0 && m.contradicts(k, own) {
			of = maps.Clone(candidates) // every respondent is a class of his own, numbered as his record is
			of[key{fine[k], values[k]}] += max(most, 1)
		}
		byFine := map[int32][]float64{}
		for at, w := range of {
			if w > 0 {
				byFine[at.fine] = append(byFine[at.fine], w)
			}
		}
		for _, weights := range byFine {
			slices.SortFunc(weights, func(a, b float64) int { return cmp.Compare(b, a) })
			out.lower(int(k), int32(len(weights)), effectiveNumberOf(weights), recursiveLevelOf(weights, c))
		}
	}
	err := m.visit(ctx, of, func(_, r int32, odds float64) {
		most = max(most, odds)
		for _, h := range list[start[r]:start[r+1]] {
			candidates[key{h.fine, h.value}] += odds * float64(h.count)
		}
	}, func(t int32) {
		for _, k := range classes(t) {
			own := int32(-1)
			if m.s.own != nil {
				own = m.s.own[k]
				if m.r.of != nil {
					own = m.r.of[own]
				}
			}
			settle(k, own)
		}
		clear(candidates)
		most = 0
	})
	return out, err
}

// contradicts reports whether a released tuple contradicts a class of respondents.
func (m *meeting) contradicts(k, own int32) bool {
	for _, j := range m.exact {
		if x, y := m.s.t.keys[j].codes[k], m.s.r.keys[j].codes[m.r.base[own]]; x >= 0 && y >= 0 && x != y {
			return true
		}
	}
	return false
}

// classesOf returns a function that lists the snooper's classes of a tuple.
func (d *side) classesOf(n int) func(tuple int32) []int32 {
	if d.of == nil {
		return func(tuple int32) []int32 { return []int32{tuple} }
	}
	start, list := make([]int32, len(d.count)+1), make([]int32, n)
	for _, id := range d.of {
		start[id+1]++
	}
	for id := range d.count {
		start[id+1] += start[id]
	}
	fill := slices.Clone(start)
	for k, id := range d.of {
		list[fill[id]] = int32(k)
		fill[id]++
	}
	return func(tuple int32) []int32 { return list[start[tuple]:start[tuple+1]] }
}

// heldBy lists the values of each released tuple; missing ones do not count.
func heldBy(ids []int32, kinds int, tuple, fine, values []int32, tuples int) (list []held, start []int32) {
	count, of := make([]int64, kinds), make([]int32, kinds)
	kind := make([]held, kinds)
	for i, id := range ids {
		count[id]++
		of[id], kind[id] = tuple[i], held{fine: fine[i], value: values[i]}
	}
	start = make([]int32, tuples+1)
	for id, h := range kind {
		if h.value >= 0 {
			start[of[id]+1]++
		}
	}
	for t := range tuples {
		start[t+1] += start[t]
	}
	list, fill := make([]held, start[tuples]), slices.Clone(start)
	for id, h := range kind {
		if h.value >= 0 {
			h.count = count[id]
			list[fill[of[id]]] = h
			fill[of[id]]++
		}
	}
	return list, start
}

func effectiveNumberOf(weights []float64) float64 {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	entropy := 0.0
	for _, w := range weights {
		if share := w / total; share > 0 {
			entropy -= share * math.Log(share)
		}
	}
	return math.Exp(entropy)
}

// recursiveLevelOf is recursiveLevel of weights.
func recursiveLevelOf(weights []float64, c float64) int32 {
	rest := make([]float64, len(weights)+1) // from the l-th on
	for l := len(weights) - 1; l >= 0; l-- {
		rest[l] = rest[l+1] + weights[l]
	}
	l := int32(1)
	for int(l) < len(weights) && weights[0] < c*rest[l] {
		l++
	}
	return l
}
