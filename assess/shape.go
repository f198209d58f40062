package assess

import "math"

// Shape is what a released column is like as a whole. By it a release that was made once is compared with the same
// masks applied to other records, or to the same ones in another unit.
type Shape struct {
	Present Float `json:"present"` // share of the records that have a value
	// Magnitude is the geometric mean of the absolute values of numbers, in the column's unit, without zeros; NaN where
	// there are none. A unit changes it by its factor, and a few extreme values do not.
	Magnitude Float `json:"magnitude"`
	// Apart is the share of pairs of values that differ, which does not go by the number of records; NaN with fewer than
	// two values, or more than mostDifferent different ones. 0 where an older ledger does not have it.
	Apart Float `json:"apart"`
}

// mostDifferent is the number of different values up to which they are counted: in columns of more, nearly all pairs
// differ.
const mostDifferent = 1000

// ShapeOf returns the shape of values as Pairs and Piece have them: NaN for none, from Categories on for a category.
func ShapeOf(values []float64) Shape {
	present, numbers, logs, counts := 0, 0, 0.0, map[float64]float64{}
	for _, v := range values {
		if v != v {
			continue
		}
		present++
		if len(counts) <= mostDifferent {
			counts[v]++
		}
		if v != 0 && v < Categories && !math.IsInf(v, 0) {
			numbers, logs = numbers+1, logs+math.Log(math.Abs(v))
		}
	}
	n, equal := float64(present), 0.0
	for _, k := range counts {
		equal += k * (k - 1) // whole numbers below 2^53: in any order
	}
	apart := 1 - equal/(n*(n-1))
	if len(counts) > mostDifferent {
		apart = math.NaN()
	}
	return Shape{Float(n / float64(len(values))), Float(math.Exp(logs / float64(numbers))), Float(apart)}
}

// Unlike says in what a column that had shape s is another one now; "" if it may be the same. A column that has lost
// half of its values is another one, and so is one whose numbers have three times the magnitude, or a third. So is one
// of which much fewer pairs differ: codes that a mask does not know any more may all have become one.
func (s Shape) Unlike(now Shape) string {
	const most = 3
	then, apart := float64(s.Apart), float64(now.Apart)
	switch ratio := float64(now.Magnitude / s.Magnitude); {
	case float64(now.Present) < float64(s.Present)/2:
		return "fewer than half as many of today's records have a value"
	case s.Magnitude == s.Magnitude && s.Present > 0 && now.Present > 0 && !(ratio < most && ratio > 1.0/most):
		return "its values have another magnitude today: another unit?"
	case apart < then/2 || apart < 0.75*then && apart < then-0.05:
		return "its values are less different today: other codes?"
	}
	return ""
}

// Shapes returns the shapes of the released columns of the sample, and of those of earlier releases in the order of
// Earlier.
func (p *Pairs) Shapes(columns []Column) (now map[string]Shape, earlier []Shape) {
	now = map[string]Shape{}
	for c, column := range columns {
		now[column.Name] = ShapeOf(p.Released[c])
	}
	for i, name := range p.BesideColumns {
		now[name] = ShapeOf(p.Beside[i])
	}
	for _, e := range p.Earlier {
		earlier = append(earlier, ShapeOf(e.Values))
	}
	return now, earlier
}
