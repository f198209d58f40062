package assess

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

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
	// Spread is the standard deviation of the logarithms of Magnitude, which no unit changes. 0 where an older ledger does
	// not have it, or where all numbers are alike.
	Spread Float `json:"spread"`
	// Shares are those of the values, the greatest first, and Codes sums of them, with a sign for each value that is
	// plus or minus as if by chance, by number of the sum: the sum of the squares of two releases' differences in the
	// values' shares is about the mean of those in the sums (Alon, Matias and Szegedy 1996). None with more than mostCodes
	// values, or fewer than two, and in older ledgers.
	Shares []Float `json:"shares,omitempty"`
	Codes  []Float `json:"codes,omitempty"`
	Values int     `json:"values,omitempty"` // of which Shares are
}

// mostCodes is the number of different values up to which their shares are compared, and codeSums that of Shape.Codes.
const mostCodes, codeSums = 50, 64

// mostDifferent is the number of different values up to which they are counted: in columns of more, nearly all pairs
// differ.
const mostDifferent = 1000

// ShapeOf returns the shape of values as Pairs and Piece have them: NaN for none, from Categories on for a category.
func ShapeOf(values []float64) Shape {
	present, numbers, logs, squares, counts := 0, 0, 0.0, 0.0, map[float64]float64{}
	for _, v := range values {
		if v != v {
			continue
		}
		present++
		if len(counts) <= mostDifferent {
			counts[v]++
		}
		if v != 0 && v < Categories && !math.IsInf(v, 0) {
			l := math.Log(math.Abs(v))
			numbers, logs, squares = numbers+1, logs+l, squares+l*l
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
	mean := logs / float64(numbers)
	s := Shape{Present: Float(n / float64(len(values))), Magnitude: Float(math.Exp(mean)), Apart: Float(apart),
		Spread: Float(math.Sqrt(max(0, squares/float64(numbers)-mean*mean)))}
	s.countCodes(counts, n)
	return s
}

// countCodes enters the shares of n values.
func (s *Shape) countCodes(counts map[float64]float64, n float64) {
	if len(counts) < 2 || len(counts) > mostCodes {
		return
	}
	s.Values = int(n)
	codes := slices.Sorted(maps.Keys(counts)) // so that sums do not go by the order of a map
	sums := make([]float64, codeSums)
	for _, v := range codes {
		s.Shares = append(s.Shares, Float(counts[v]/n))
		signs := splitmix(math.Float64bits(v))
		for k := range sums {
			sign := 1.0
			if signs>>k&1 == 0 {
				sign = -1
			}
			sums[k] += sign * counts[v] / n
		}
	}
	slices.SortFunc(s.Shares, func(a, b Float) int { return cmp.Compare(b, a) })
	for _, sum := range sums {
		s.Codes = append(s.Codes, Float(sum))
	}
}

// splitmix mixes the bits of a number (Steele, Lea and Flood 2014).
func splitmix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// permuted reports whether the values have shares that are alike in order and not by value: an exchange of codes. Of
// the squares of all shares at least a thirtieth must have moved: a change of 0.05 in two shares of a quarter is less.
// Beside it five times what is expected of draws that are made anew: Σ p(1 − p)(1/n + 1/m).
func (s Shape) permuted(now Shape) bool {
	if len(s.Codes) != codeSums || len(now.Codes) != codeSums {
		return false
	}
	var moved, sorted, all float64
	for k, v := range s.Codes {
		moved += float64((v - now.Codes[k]) * (v - now.Codes[k]) / codeSums)
	}
	for k := range max(len(s.Shares), len(now.Shares)) {
		var a, b float64
		if k < len(s.Shares) {
			a = float64(s.Shares[k])
		}
		if k < len(now.Shares) {
			b = float64(now.Shares[k])
		}
		sorted, all = sorted+(a-b)*(a-b), all+a*a+b*b
	}
	chance := (1 - all/2) * (1/float64(s.Values) + 1/float64(now.Values))
	return moved > all/30+5*chance && sorted < moved/4
}

// OfNames returns the shape of values that only tell whether they are the same, such as pseudonyms: under another name
// each is as good.
func (s Shape) OfNames() Shape {
	s.Magnitude, s.Spread, s.Shares, s.Codes = Float(math.NaN()), 0, nil, nil
	return s
}

// Unlike says in what a column that had shape s is another one now; "" if it may be the same. A column that has lost
// half of its values is another one, and so is one whose numbers have three times the magnitude, or a third. So is one
// of which much fewer pairs differ: codes that a mask does not know any more may all have become one. Numbers that are
// as spread as before, and have 1.4 times the magnitude or less than a 1.4th, may have another unit, and values that
// have exchanged their shares other codes.
func (s Shape) Unlike(now Shape) string {
	const most, alike, scaled = 3, 0.2, 1.4
	spread := float64(now.Spread / s.Spread)
	then, apart := float64(s.Apart), float64(now.Apart)
	switch ratio := float64(now.Magnitude / s.Magnitude); {
	case float64(now.Present) < float64(s.Present)/2:
		return "fewer than half as many of today's records have a value"
	case s.Magnitude == s.Magnitude && s.Present > 0 && now.Present > 0 && !(ratio < most && ratio > 1.0/most):
		return "its values have another magnitude today: another unit?"
	case spread < 1+alike && spread > 1-alike && (ratio > scaled || ratio < 1/scaled):
		return "its values have another magnitude today, and are as spread as they were: another unit?"
	case apart < then/2 || apart < 0.75*then && apart < then-0.05:
		return "its values are less different today: other codes?"
	case s.permuted(now):
		return "its values have exchanged their shares: other codes?"
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
