package uniqueness

import (
	"context"
	"slices"
)

// classes holds the distinct tuples of the keys, in the order of their first
// occurrence. Missing counts as a value of its own.
type classes struct {
	of     []int32   // class of each record
	count  []int64   // records of each class
	weight []float64 // sum of their weights, added in the records' order; nil without weights
	keys   []field   // the tuples: one code for each class
}

func newClasses(g *grouper, keys []field, weights []float64) *classes {
	n := len(keys[0].codes)
	c := &classes{of: make([]int32, n)}
	m := g.group(keys, nil, c.of)
	c.count = make([]int64, m)
	first := make([]int32, m)
	for i, k := range c.of {
		if c.count[k] == 0 {
			first[k] = int32(i)
		}
		c.count[k]++
	}
	if weights != nil {
		c.weight = make([]float64, m)
		for i, k := range c.of {
			c.weight[k] += weights[i]
		}
	}
	codes := make([]int32, m*len(keys))
	c.keys = make([]field, len(keys))
	for j, key := range keys {
		column := codes[j*m : (j+1)*m : (j+1)*m]
		for k, i := range first {
			column[k] = key.codes[i]
		}
		c.keys[j] = field{column, key.span}
	}
	return c
}

// missing returns the set of missing keys of each class, nil if no class has a missing
// key.
func missing(keys []field) []uint64 {
	var sets []uint64
	for j, key := range keys {
		for k, code := range key.codes {
			if code < 0 {
				if sets == nil {
					sets = make([]uint64, len(key.codes))
				}
				sets[k] |= 1 << j
			}
		}
	}
	return sets
}

// frequencies returns f and F of each class under the rule of Options.Alpha. If weight
// is nil, F is f. The only error is that of ctx.
//
// Classes are bundled by the set of keys that they lack, and bundles are matched as a
// whole: each bundle with the complete classes, and each two bundles, by grouping both
// on the keys that neither lacks. The cost is (number of sets) × (number of classes),
// not the square of the number of records.
func frequencies(ctx context.Context, g *grouper, keys []field, count []int64, weight []float64, alpha float64) (f,
	F []float64, err error) {
	m := &matcher{g: g, keys: keys, count: count, weight: weight,
		full: make([]int64, len(count)), partial: make([]int64, len(count))}
	if weight != nil {
		m.fullWeight, m.partialWeight = make([]float64, len(count)), make([]float64, len(count))
	}
	if sets := missing(keys); sets != nil {
		if err := m.match(ctx, sets, alpha > 0); err != nil {
			return nil, nil, err
		}
	}
	f = make([]float64, len(count))
	for k := range f {
		// The counts are added as integers: f does not depend on the order of matching.
		f[k] = float64(count[k]+m.full[k]) + alpha*float64(m.partial[k])
	}
	if weight == nil {
		return f, f, nil
	}
	F = make([]float64, len(count))
	for k := range F {
		F[k] = weight[k] + m.fullWeight[k] + alpha*m.partialWeight[k]
	}
	return f, F, nil
}

// matcher sums the contributions between classes with missing keys and all other
// classes.
type matcher struct {
	g      *grouper
	keys   []field
	count  []int64
	weight []float64

	full, partial             []int64 // records that match with weight 1 and α
	fullWeight, partialWeight []float64

	rows, ids []int32
	columns   []field
	sums      []int64
	weights   []float64
}

// bundle holds the classes that lack the same keys.
type bundle struct {
	missing uint64
	classes []int32
}

func (m *matcher) match(ctx context.Context, sets []uint64, partial bool) error {
	bundles := bundlesOf(sets)
	complete := bundle{}
	if bundles[0].missing == 0 {
		complete, bundles = bundles[0], bundles[1:]
	}
	for i, b := range bundles {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.pair(b, complete, m.full, m.partial, m.fullWeight, m.partialWeight)
		if !partial {
			continue
		}
		for _, other := range bundles[:i] {
			m.pair(b, other, m.partial, m.partial, m.partialWeight, m.partialWeight)
		}
	}
	return nil
}

func bundlesOf(sets []uint64) []bundle {
	at := make(map[uint64]int)
	var bundles []bundle
	for k, set := range sets {
		i, ok := at[set]
		if !ok {
			i = len(bundles)
			at[set] = i
			bundles = append(bundles, bundle{missing: set})
		}
		bundles[i].classes = append(bundles[i].classes, int32(k))
	}
	slices.SortFunc(bundles, func(a, b bundle) int {
		switch {
		case a.missing < b.missing:
			return -1
		case a.missing > b.missing:
			return 1
		}
		return 0
	})
	return bundles
}

// pair adds the matching records of b to toA for the classes of a, and the matching
// records of a to toB for the classes of b.
func (m *matcher) pair(a, b bundle, toA, toB []int64, toAWeight, toBWeight []float64) {
	if len(a.classes) == 0 || len(b.classes) == 0 {
		return
	}
	m.columns = m.columns[:0]
	for j, key := range m.keys {
		if (a.missing|b.missing)>>j&1 == 0 {
			m.columns = append(m.columns, key)
		}
	}
	if len(a.classes)*len(b.classes) <= 4*(len(a.classes)+len(b.classes)) {
		m.compare(a.classes, b.classes, toA, toB, toAWeight, toBWeight)
		return
	}
	m.rows = append(append(m.rows[:0], a.classes...), b.classes...)
	if cap(m.ids) < len(m.rows) {
		m.ids = make([]int32, len(m.rows), 2*len(m.rows))
	}
	ids := m.ids[:len(m.rows)]
	groups := m.g.group(m.columns, m.rows, ids)
	idsOfA, idsOfB := ids[:len(a.classes)], ids[len(a.classes):]
	m.add(a.classes, idsOfA, b.classes, idsOfB, groups, toB, toBWeight)
	m.add(b.classes, idsOfB, a.classes, idsOfA, groups, toA, toAWeight)
}

// add adds to the sums of each class of to the records and weights of the classes of
// from in the same group.
func (m *matcher) add(from, fromIDs, to, toIDs []int32, groups int, sum []int64, weight []float64) {
	if cap(m.sums) < groups {
		m.sums, m.weights = make([]int64, 2*groups), make([]float64, 2*groups)
	}
	sums, weights := m.sums[:groups], m.weights[:groups]
	clear(sums)
	clear(weights)
	for i, k := range from {
		sums[fromIDs[i]] += m.count[k]
		if m.weight != nil {
			weights[fromIDs[i]] += m.weight[k]
		}
	}
	for i, k := range to {
		sum[k] += sums[toIDs[i]]
		if weight != nil {
			weight[k] += weights[toIDs[i]]
		}
	}
}

// compare does the same as pair by comparing each two classes, which is faster for a
// few classes.
func (m *matcher) compare(a, b []int32, toA, toB []int64, toAWeight, toBWeight []float64) {
	for _, k := range a {
	next:
		for _, l := range b {
			for _, c := range m.columns {
				if c.codes[k] != c.codes[l] {
					continue next
				}
			}
			toA[k] += m.count[l]
			toB[l] += m.count[k]
			if m.weight != nil {
				toAWeight[k] += m.weight[l]
				toBWeight[l] += m.weight[k]
			}
		}
	}
}
