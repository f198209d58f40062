package linkage

import (
	"math"
	"slices"
	"sort"
)

// lacking holds what is needed to replace the term of a coordinate that a record lacks
// by the mean term of the records that have it. A missing value then makes a record
// neither nearer nor farther. The alternative, to omit the term and to scale up the
// other terms, would bring every incomplete record near to all targets: with 5 % of two
// keys missing, the nearest record of most targets would be one that lacks a key, and
// linkage would find almost no target.
type lacking struct {
	values []float64 // of the records that have the coordinate, in order
	sums   []float64 // of the first 0, 1, … values
	mean   float64
	spread float64 // variance, divisor n
}

// lackingOf returns nil if no record lacks the coordinate. Its result does not depend
// on the order of the file.
func lackingOf(column []float64, scale float64) *lacking {
	if !anyMissing(column) {
		return nil
	}
	l := &lacking{sums: []float64{0}}
	for _, v := range column {
		if !math.IsNaN(v) {
			l.values = append(l.values, v*scale)
		}
	}
	slices.Sort(l.values)
	for i, v := range l.values {
		l.sums = append(l.sums, l.sums[i]+v)
	}
	n := float64(len(l.values))
	l.mean = l.sums[len(l.values)] / n
	for _, v := range l.values {
		l.spread += (v - l.mean) * (v - l.mean) / n
	}
	return l
}

// lackingTerm returns the mean term between value v and the records that have
// coordinate j, the weight of the coordinate if no record has it.
func (s *space) lackingTerm(j int, v float64) float64 {
	l, w := s.lacking[j], s.weights[j]
	n := len(l.values)
	if n == 0 {
		return w
	}
	switch s.kinds[j] {
	case squared:
		d := (v - l.mean) * w
		return d*d + l.spread*w*w
	case absolute:
		k := sort.SearchFloat64s(l.values, v)
		below := v*float64(k) - l.sums[k]
		above := l.sums[n] - l.sums[k] - v*float64(n-k)
		return (below + above) / float64(n) * w
	}
	from := sort.SearchFloat64s(l.values, v)
	to := from + sort.Search(n-from, func(i int) bool { return l.values[from+i] > v })
	return w * (1 - float64(to-from)/float64(n))
}
