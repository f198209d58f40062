package linkage

import (
	"errors"
	"fmt"
	"math"
)

// kind is the form of the term of one coordinate.
type kind uint8

const (
	squared  kind = iota // (weight·difference)²
	absolute             // weight·|difference|
	mismatch             // weight where the two differ
)

// space holds targets and released records as points. A distance is the sum over
// the coordinates in their order, with every term rounded separately, so that every
// method of search computes the same bits and finds the same equal distances. A
// coordinate that a target lacks is omitted. For a coordinate that a record lacks, the
// mean term of the records that have it is used (see lacking), and these terms come
// first.
type space struct {
	kinds   []kind
	weights []float64
	plain   bool // squares only
	// Record by record, len(kinds) coordinates each, NaN where missing.
	targets, released []float64
	lacking           []*lacking // by coordinate, nil if no record lacks it

	unit float64 // factor from a sum to a distance
	root bool    // the distance is the square root of the sum
	// constant holds the numeric and then the categorical keys that are omitted because
	// no two records differ in them.
	constant []int
}

func (s *space) width() int { return len(s.kinds) }

func (s *space) target(i int) []float64 { return s.targets[i*s.width():][:s.width()] }
func (s *space) record(i int) []float64 { return s.released[i*s.width():][:s.width()] }

// measured converts a sum to the distance.
func (s *space) measured(sum float64) float64 {
	if s.root {
		return math.Sqrt(sum)
	}
	return sum * s.unit
}

// term returns the term of coordinate j for values a and b. The conversions prevent a
// compiler from fusing multiplication and addition, which would round differently on
// different processors.
func (s *space) term(j int, a, b float64) float64 {
	switch s.kinds[j] {
	case squared:
		t := float64((a - b) * s.weights[j])
		return float64(t * t)
	case absolute:
		return float64(math.Abs(a-b) * s.weights[j])
	}
	if a == b {
		return 0
	}
	return s.weights[j]
}

// between returns the sum of the terms of target a and record b, and treats missing
// coordinates as space describes.
func (s *space) between(a, b []float64) float64 {
	sum := 0.0
	for j, v := range a {
		if !math.IsNaN(v) && math.IsNaN(b[j]) {
			sum += s.lackingTerm(j, v)
		}
	}
	for j, v := range a {
		if !math.IsNaN(v) && !math.IsNaN(b[j]) {
			sum += s.term(j, v, b[j])
		}
	}
	return sum
}

// newSpace computes the coordinates of all records for the distance in o. It returns an
// error if the distance cannot be computed from the keys.
func newSpace(targets, released Keys, o *Options) (*space, error) {
	s := &space{unit: 1}
	var columns []columnPair
	switch o.Distance {
	case Standardised:
		s.root = true
		columns, s.constant = standardised(targets, released)
	case Gower:
		columns, s.constant = gower(targets, released, o.ranges)
		s.unit = 1 / float64(max(1, len(columns)))
	case Ranks:
		columns, s.constant, s.unit = ranked(targets, released, o.Reference)
	case Mahalanobis:
		var err error
		if columns, s.constant, err = mahalanobis(targets, released, o); err != nil {
			return nil, err
		}
		s.root = true
	}
	if err := s.place(columns, targets.Len(), released.Len()); err != nil {
		return nil, err
	}
	return s, nil
}

// standardised returns the numeric keys in SDs of the released keys, and the indices of
// the constant keys, which it omits.
func standardised(targets, released Keys) (columns []columnPair, constant []int) {
	for j, column := range released.Numeric {
		scale := scaleOf(column)
		is := momentsOf(column, scale)
		if !(is.least < is.biggest) {
			constant = append(constant, j)
			continue
		}
		columns = append(columns, columnPair{squared, 1 / is.sd, scale, targets.Numeric[j], column})
	}
	return columns, constant
}

// gower returns the numeric keys in units of the range of both sides and the
// categorical keys as mismatches, and the indices of the constant keys, which it omits.
func gower(targets, released Keys, ranges []float64) (columns []columnPair, constant []int) {
	for j, column := range released.Numeric {
		scale := scaleOf(column, targets.Numeric[j])
		least, biggest := math.Inf(1), math.Inf(-1)
		for _, x := range [2][]float64{column, targets.Numeric[j]} {
			for _, v := range x {
				if v < least {
					least = v
				}
				if v > biggest {
					biggest = v
				}
			}
		}
		if !(least < biggest) {
			constant = append(constant, j)
			continue
		}
		span := biggest*scale - least*scale
		if ranges != nil {
			span = ranges[j] * scale
		}
		columns = append(columns, columnPair{absolute, 1 / span, scale, targets.Numeric[j], column})
	}
	for j, column := range released.Categorical {
		x, y := codes(targets.Categorical[j]), codes(column)
		if same(x, y) {
			constant = append(constant, len(released.Numeric)+j)
			continue
		}
		columns = append(columns, columnPair{mismatch, 1, 1, x, y})
	}
	return columns, constant
}

// place writes the coordinates of m targets and n released records, row by row. It
// returns an error if a weight is not finite.
func (s *space) place(columns []columnPair, m, n int) error {
	p := len(columns)
	s.plain = true
	s.targets, s.released = make([]float64, m*p), make([]float64, n*p)
	for j, c := range columns {
		s.kinds, s.weights = append(s.kinds, c.kind), append(s.weights, c.weight)
		s.lacking = append(s.lacking, lackingOf(c.released, c.scale))
		s.plain = s.plain && c.kind == squared
		for i, v := range c.targets {
			s.targets[i*p+j] = v * c.scale
		}
		for i, v := range c.released {
			s.released[i*p+j] = v * c.scale
		}
		if math.IsInf(c.weight, 0) || math.IsNaN(c.weight) {
			return fmt.Errorf("keys: the spread of key %d is too small beside its magnitude to be measured by", j)
		}
	}
	return nil
}

// columnPair holds the values of one coordinate on both sides before place.
type columnPair struct {
	kind              kind
	weight, scale     float64
	targets, released []float64
}

// codes converts category codes to numbers, with NaN for missing.
func codes(column []int32) []float64 {
	x := make([]float64, len(column))
	for i, c := range column {
		if x[i] = float64(c); c < 0 {
			x[i] = math.NaN()
		}
	}
	return x
}

// same reports whether all values of x and y that are not missing are equal.
func same(x, y []float64) bool {
	first := math.NaN()
	for _, column := range [2][]float64{x, y} {
		for _, v := range column {
			switch {
			case math.IsNaN(first):
				first = v
			case v == v && v != first:
				return false
			}
		}
	}
	return true
}

// truth returns the released record of target i, −1 if there is none.
func (o *Options) truth(i int) int {
	if o.Truth == nil {
		return i
	}
	return int(o.Truth[i])
}

// own returns the sum between target i and its own record, +Inf if it has none. It must
// be called while the records are in the order of the release.
func (s *space) own(i int, o *Options) float64 {
	if t := o.truth(i); t >= 0 {
		return s.between(s.target(i), s.record(t))
	}
	return math.Inf(1)
}

var errMissing = errors.New(
	"keys: the mahalanobis distance needs keys without missing values: use standardised or gower")
