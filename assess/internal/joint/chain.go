package joint

import (
	"cmp"
	"math"
	"slices"
)

// A value that no relation gives exactly may be known closely: a wage by its logarithm of two digits. With what was
// earned by the hour it tells the hours, which no estimator of them from the released columns sees. So the estimates of
// originals of which other originals are a function stand beside these as columns.

// Sought is a column that an intruder is after, by row of the sample.
type Sought struct {
	Name string
	X, Y []float64 // originals and released values
	Own  int       // its place among a frame's columns; −1: it is not released
}

// A Factor says whether the original of a column, in place of what is released of it, tells another one much better.
type Factor uint8

// What an original may be of another one.
const (
	NoFactor   Factor = iota
	Summand           // the other one is a sum of up to three columns, of which it is one
	Multiplied        // the other one is a product, a quotient or another function of it that is no sum
)

const (
	chainRows = 64   // on which it is looked what an original is a function of
	chainGain = 0.25 // the share of the mean square that is left with an original in place of its release
	closely   = 0.5  // the share of the mean square by index that an estimate leaves of a value known closely

	oftenRows = 64  // on which it is looked what relation is near in many records
	oftenGain = 0.5 // the share of a quantile of the other estimates' errors that such a relation leaves
)

// Factors returns what each column's original is of the others'.
func (f *Frame) Factors(columns []Sought) []Factor {
	known, shown := f.few(columns, func(s *Sought) []float64 { return s.X }),
		f.few(columns, func(s *Sought) []float64 { return s.Y })
	list := make([]Factor, len(columns))
	for k := range columns {
		s := &sought{own: k}
		x, y := known.columns[k].Values, shown.columns[k].Values
		most := math.Inf(1) // of the mean square of a relation
		if index := meanSquare(x, func(i int) float64 { return y[i] }, most); index == index {
			most = chainGain * index
		}
		square, at := map[int]float64{}, 0
		var now *relation
		value := func(row int) float64 { return now.at(row) }
		known.relations(s, func(r *relation) bool {
			at, now = at+1, r
			if slices.ContainsFunc(r.column[:r.n], func(c int) bool { return c < len(columns) }) {
				if v := meanSquare(x, value, most); v <= most {
					square[at] = v
				}
			}
			return false
		})
		at = 0
		shown.relations(s, func(r *relation) bool {
			at, now = at+1, r
			v, there := square[at]
			if !there || chainGain*meanSquare(x, value, math.Inf(1)) < v {
				return false
			}
			is := Summand
			if r.rounded && (r.n == 2 || !proportional(r.z[0], value)) {
				is = Multiplied
			}
			for _, c := range r.column[:r.n] {
				if c < len(columns) {
					list[c] = max(list[c], is)
				}
			}
			return false
		})
	}
	return list
}

// meanSquare returns the mean square of x − value where both are numbers; NaN if that is in less than half of the rows,
// or if it is more than a bound.
func meanSquare(x []float64, value func(row int) float64, most float64) float64 {
	sum, n, all := 0.0, 0.0, float64(len(x))
	for i := range x {
		if e := x[i] - value(i); e == e && !math.IsInf(e, 0) {
			if sum, n = sum+e*e, n+1; sum > most*all {
				return math.NaN()
			}
		}
	}
	if 2*n < all {
		return math.NaN()
	}
	return sum / n
}

// proportional reports whether values are a multiple of others.
func proportional(of []float64, value func(row int) float64) bool {
	factor := math.NaN()
	for i, v := range of {
		switch k := value(i) / v; {
		case k != k:
		case factor != factor:
			factor = k
		case math.Abs(k-factor) > 1e-9*math.Abs(factor):
			return false
		}
	}
	return true
}

// few returns a frame of some rows with something of each column sought, and then the released columns.
func (f *Frame) few(columns []Sought, of func(s *Sought) []float64) *Frame {
	rows := make([]int, f.rows)
	for i := range rows {
		rows[i] = i
	}
	rows = thinned(rows, chainRows)
	few := &Frame{rows: len(rows), all: len(rows)}
	add := func(c Column, values []float64) {
		c.Values, c.numbers = make([]float64, len(rows)), nil
		for k, i := range rows {
			c.Values[k] = values[i]
		}
		few.columns = append(few.columns, c)
	}
	for k := range columns { // the same features, whatever is missing
		add(Column{}, of(&columns[k]))
		few.columns[k].numbers = few.columns[k].Values
		few.features = append(few.features, feature{column: k, whole: true})
	}
	for c, column := range f.columns {
		add(column, column.Values)
		few.numbers(len(columns) + c)
	}
	return few
}

// Closely returns a column with estimates of originals, if they leave little of the mean square by index; with beyond,
// little also of what a linear estimator leaves. Beside it relations of other columns may be found. The estimates are
// linear ones and those by relations, each fitted to other records: what a record's own original has been used for, or
// what leaves out just this one, as the mean of the others of its group, would tell of it beside the release.
//
// often has what relations give that are much nearer in many records, though they may be far off in
// the others: hours that are cut at a bound, times what was earned by the hour. What is not known closely has no
// values.
func (f *Frame) Closely(of Sought, beyond bool) (known Column, often []Column) {
	s := f.seek(of.X, of.Y, of.Own)
	if len(s.rows) < leastRows {
		return
	}
	linear := s.closely()
	often = s.nearOften(of.Name)
	s.besideHeaps()
	most := s.index
	if beyond {
		most = min(most, linear)
	}
	if !(s.square() <= closely*most) {
		return
	}
	var parts [folds]*sought
	for k := range parts {
		x := slices.Clone(of.X)
		for i := k; i < len(x); i += folds {
			x[i] = math.NaN()
		}
		parts[k] = f.seek(x, of.Y, of.Own)
		parts[k].closely()
		parts[k].besideHeaps()
	}
	return f.column(of.Name, func(i int) float64 { return parts[i%folds].estimate(i) }), often
}

// column returns a column with what a function of the row gives, NaN where that is no number.
func (f *Frame) column(name string, value func(row int) float64) Column {
	c := Column{Name: name, Values: make([]float64, f.all)}
	for i := range c.Values {
		if c.Values[i] = value(i); math.IsInf(c.Values[i], 0) {
			c.Values[i] = math.NaN()
		}
	}
	return c
}

// manyRecords are the shares of the records in which a relation is to be near.
var manyRecords = []float64{0.5, 0.25}

// nearOften returns columns with what the relations give that are nearest in many records, each sought in every other
// record for those between. None is there if none is much nearer than the estimate and the released value are.
func (s *sought) nearOften(name string) (list []Column) {
	for _, share := range manyRecords {
		var found [2]func(row int) float64
		for half := range found {
			found[half] = s.nearestIn(share, func(i int) bool { return i%2 != half })
		}
		if found[0] == nil || found[1] == nil {
			continue
		}
		c := s.column(name, func(i int) float64 { return found[i%2](i) })
		if len(list) == 0 || slices.CompareFunc(list[0].Values, c.Values, cmp.Compare) != 0 {
			list = append(list, c)
		}
	}
	return list
}

// nearestIn returns the relation with the least error that a share of some rows do not exceed; nil if none has much
// less than the estimate and the released value.
func (s *sought) nearestIn(share float64, in func(row int) bool) (nearest func(row int) float64) {
	var rows []int
	for _, i := range s.rows {
		if in(i) && s.x[i] != s.usual {
			rows = append(rows, i)
		}
	}
	if rows = interleaved(thinned(rows, oftenRows), 4); len(rows) < 4*leastRows {
		return nil
	}
	errors, at := make([]float64, len(rows)), int(share*float64(len(rows)))
	quantile := func(value func(row int) float64, most float64) float64 { // +Inf unless it is less than most
		far := 0
		for k, i := range rows {
			if errors[k] = math.Abs(s.x[i] - value(i)); !(errors[k] < most) {
				errors[k] = math.Inf(1)
				if far++; far >= len(rows)-at || far == len(rows)/4 && far > k {
					return math.Inf(1)
				}
			}
		}
		slices.Sort(errors)
		return errors[at]
	}
	most := oftenGain * min(quantile(s.estimate, math.Inf(1)),
		quantile(func(i int) float64 { return s.y[i] }, math.Inf(1)))
	var now *relation
	value := func(row int) float64 { return now.at(row) }
	s.relations(s, func(r *relation) bool {
		now = r
		if v := quantile(value, most); v < most {
			most, nearest = v, r.kept().at
		}
		return false
	})
	return nearest
}

// closely fits a linear estimator and uses relations beside it. It returns the mean square that the first leaves.
func (s *sought) closely() (linear float64) {
	s.fit()
	s.middles()
	s.enrich()
	linear = s.square()
	s.settle()
	s.byRelations()
	return linear
}
