package joint

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
)

const (
	digitRows  = 2000
	digitBins  = 20
	digitTells = 0.1  // share of the variance of an original from which digits tell
	digitMore  = 0.05 // and by which it is more than the number as a whole tells
)

// WithDigits adds to released columns, of which n rows are of the sample, the digits of whole numbers of four or more
// of them, where some of the digits tell of originals that are sought, and the number as a whole does not: 24111987 is
// a day, whose year is in its last four digits, and a case number may have a month or an amount within it. Of such a
// number the last digits that tell most are added, and its digits in twos. They have the name of their column.
func WithDigits(columns []Column, n int, sought [][]float64) []Column {
	step := max(1, n/digitRows)
	list := columns[:len(columns):len(columns)]
	for i := range columns {
		c := &columns[i]
		if places := digitsOf(c, n, step); places > 0 {
			list = append(list, c.telling(n, step, places, sought)...)
		}
	}
	return list
}

// digitsOf returns how many digits the numbers of a column have, 0 where they are not whole numbers of four or more.
func digitsOf(c *Column, n, step int) int {
	whole, long, others, greatest := 0, 0, 0, 0.0
	for i := 0; i < n; i += step {
		switch v := c.Values[i]; {
		case v != v:
		case !(v >= 0 && v < 1e15) || v >= cell.Categories || !(level{value: v}).whole():
			others++
		default:
			whole++
			greatest = max(greatest, v)
			if v >= 1000 {
				long++
			}
		}
	}
	if c.GroupOnly || whole < 30 || 2*long < whole || others > whole/20 {
		return 0
	}
	return int(math.Log10(greatest)) + 1
}

// digits are those of whole numbers: v/over without what is above below.
type digits struct{ over, below float64 }

func (d digits) of(v float64) float64 {
	if !(v >= 0 && v < 1e15) {
		return math.NaN()
	}
	return math.Mod(math.Floor(math.Round(v)/d.over), d.below)
}

// telling returns the digits of a column that tell of what is sought, if some do.
func (c *Column) telling(n, step, places int, sought [][]float64) (list []Column) {
	var tries, twos []digits
	for k := 2; k < places; k++ {
		tries = append(tries, digits{1, math.Pow10(k)})
	}
	for k := range places - 1 {
		pair := digits{math.Pow10(k), 100}
		if tries = append(tries, pair); k%2 == 0 {
			twos = append(twos, pair)
		}
	}
	some := func(values []float64, of func(v float64) float64) (list []float64) {
		for i := 0; i < n; i += step {
			list = append(list, of(values[i]))
		}
		return list
	}
	itself := func(v float64) float64 { return v }
	whole, parts := some(c.Values, itself), make([][]float64, len(tries))
	for k, d := range tries {
		parts[k] = some(c.Values, d.of)
	}
	var best []digits
	for _, x := range sought {
		x = some(x, itself)
		least := max(digitTells, explained(x, whole)+digitMore)
		at := digits{}
		for k, d := range tries {
			if share := explained(x, parts[k]); share > least {
				at, least = d, share
			}
		}
		if at.over > 0 {
			best = append(best, at)
		}
	}
	if len(best) == 0 {
		return nil
	}
	done := map[digits]bool{}
	for _, d := range append(best, twos...) {
		if done[d] {
			continue
		}
		done[d] = true
		values := make([]float64, len(c.Values))
		for i, v := range c.Values {
			values[i] = d.of(v)
		}
		list = append(list, Column{Name: c.Name, Values: values})
	}
	return list
}

// explained returns the share of the variance of x that the means over bins of equal width of a number explain, less
// what they explain by chance.
func explained(x, values []float64) float64 {
	var sum, count [digitBins]float64
	low, high := math.Inf(1), math.Inf(-1)
	for i, v := range values {
		if v == v && x[i] == x[i] {
			low, high = min(low, v), max(high, v)
		}
	}
	if !(low < high) {
		return 0
	}
	all, square, total := 0.0, 0.0, 0.0
	for i, v := range values {
		if v != v || x[i] != x[i] {
			continue
		}
		at := min(digitBins-1, int(digitBins*(v-low)/(high-low)))
		sum[at] += x[i]
		count[at]++
		all, square, total = all+x[i], square+x[i]*x[i], total+1
	}
	mean := all / total
	between, used := 0.0, 0.0
	for at, k := range count {
		if k > 0 {
			d := sum[at]/k - mean
			between += k * d * d
			used++
		}
	}
	variance := square - total*mean*mean
	if !(variance > 0) || total <= used {
		return 0
	}
	return between/variance - 4*used/total
}
