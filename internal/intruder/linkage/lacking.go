package linkage

import (
	"math"
	"slices"
	"sort"
)

// lacking is what a record without a coordinate adds to a distance instead: the
// mean of the terms of the records that have it. A record is then neither nearer
// nor farther for what it lacks. Leaving the term out, and making up for it in
// proportion, would bring every incomplete record near to everyone: with 5 % of
// two keys missing, most targets' nearest record would be one that lacks a key,
// and linkage would find hardly anybody.
type lacking struct {
	values []float64 // of the records that have the coordinate, in order
	sums   []float64 // of the first 0, 1, … of them
	mean   float64
	spread float64 // variance, divisor n
}

// lackingOf is nil where no record lacks the coordinate. What it holds does not
// depend on the order of the file.
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

// lackingTerm is the mean term of value v with the records that have coordinate j.
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
