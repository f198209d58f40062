package loss

import (
	"fmt"
	"math"
	"slices"
)

// CategoryPair is a categorical column before and after masking, with a record at the
// same index on both sides. Both sides have the same codes; −1 is a missing value.
type CategoryPair struct {
	Name               string
	Original, Released []int32
	// Coded are the original categories in the coding that the masks publish (recoded), which the
	// released ones are compared with; nil: Original.
	Coded []int32
}

func (c *CategoryPair) coded() []int32 {
	if c.Coded == nil {
		return c.Original
	}
	return c.Coded
}

// Categories holds the information loss of categorical columns. Missing values count as
// a category of their own.
type Categories struct {
	Columns []CategoryLoss `json:"columns"`
	// PMSE is the propensity score mean squared error of the saturated model, all
	// combinations of the coded columns: Σ (p̂_i − ½)²/N over original and released records, where
	// p̂ of a combination is the share of released records among its records on both sides
	// (Woo, Reiter, Oganian & Karr 2009). 0: all combinations have the same frequency on
	// both sides; ¼: no combination occurs on both sides.
	PMSE float64 `json:"pmse" doc:"propensity score mean squared error of the saturated model of all columns: 0 if all combinations have the same frequency in the original, after the published recoding, and the release, 0.25 if no combination occurs in both"`
	// Expected is the mean of PMSE if the released records are independent draws from the
	// distribution of the original: (k − 1)/(8N), with k combinations and N records on both
	// sides together (Snoke et al. 2018, section 3.1, with c = ½).
	Expected     float64 `json:"expected" doc:"expectation of pmse for independent draws from the same distribution"`
	Combinations int     `json:"combinations" doc:"number of combinations in the original or the release"`
}

// CategoryLoss is the information loss of one column.
type CategoryLoss struct {
	Name    string `json:"name"`
	Records int    `json:"records"`
	// Changed counts the records whose category differs from the original in the coding of the
	// release, including those whose value was set missing.
	Changed int `json:"changed" doc:"number of records whose category differs from the original one, after the published recoding, or is missing instead of it"`
	Missing int `json:"missing" doc:"number of these records whose value was set missing"`
	// Original and Released are the entropies of the categories, in bits: −Σ p·log₂ p.
	Original float64 `json:"entropy" doc:"entropy of the original categories, in bits"`
	Released float64 `json:"entropy_released" doc:"entropy of the released categories, in bits"`
	// Lost is the entropy of the original's category given the released one, in bits: the
	// information on the original that the release does not contain.
	Lost float64 `json:"entropy_lost" doc:"entropy of the original category given the released one, in bits: 0 if the original category follows from the released one"`
	// Distance is half the sum over the categories of |p − q|, where p and q are the
	// shares of the coded category before and after masking. It compares shares, not records.
	Distance float64 `json:"distance" doc:"half the sum of the absolute differences of the categories' shares: 0 if all categories have the same share in the original, after the published recoding, and the release, 1 if no category occurs in both"`
}

// MostChanged returns the greatest share of changed records among the columns.
func (c *Categories) MostChanged() (most float64) {
	for _, l := range c.Columns {
		most = max(most, float64(l.Changed)/float64(l.Records))
	}
	return most
}

// MostLost returns the greatest share of its entropy that a column has lost. A column with
// one category has entropy 0 and counts as 0.
func (c *Categories) MostLost() (most float64) {
	for _, l := range c.Columns {
		if l.Original > 0 {
			most = max(most, min(1, l.Lost/l.Original))
		}
	}
	return most
}

// Bits returns the mutual information of the original and the released categories, Σ
// I(X; Y) over the columns, and the entropy of the originals, Σ H(X), both in bits.
func (c *Categories) Bits() (kept, all float64) {
	for _, l := range c.Columns {
		kept += max(0, l.Original-l.Lost)
		all += l.Original
	}
	return kept, all
}

// CategoriesOf measures the information loss of categorical columns. It returns an error if
// there is no column or record, or if the columns differ in length.
func CategoriesOf(columns []CategoryPair) (*Categories, error) {
	if len(columns) == 0 || len(columns[0].Original) == 0 {
		return nil, fmt.Errorf("categories: must have at least one column and one record")
	}
	n := len(columns[0].Original)
	var r Categories
	original, released := make([]int32, n), make([]int32, n) // number of each record's combination of the columns so far
	for _, c := range columns {
		if len(c.Original) != n || len(c.Released) != n || len(c.coded()) != n {
			return nil, fmt.Errorf("categories: column %q must have %d records on both sides, got %d (coded: %d) and %d", c.Name,
				n, len(c.Original), len(c.coded()), len(c.Released))
		}
		r.Columns = append(r.Columns, lossOf(c))
		number := map[[2]int32]int32{}
		for _, side := range []struct{ all, codes []int32 }{{original, c.coded()}, {released, c.Released}} {
			for i, code := range side.codes {
				pair := [2]int32{side.all[i], code}
				of, known := number[pair]
				if !known {
					of = int32(len(number))
					number[pair] = of
				}
				side.all[i] = of
			}
		}
		r.Combinations = len(number)
	}
	before, after := tallied(original), tallied(released)
	for of := range int32(r.Combinations) {
		x, y := float64(before[of]), float64(after[of])
		d := y/(x+y) - 0.5
		r.PMSE += (x + y) * d * d / float64(2*n)
	}
	r.Expected = float64(r.Combinations-1) / float64(8*2*n)
	return &r, nil
}

func lossOf(c CategoryPair) CategoryLoss {
	l := CategoryLoss{Name: c.Name, Records: len(c.Original)}
	joint := map[[2]int32]int{}
	for i, x := range c.coded() {
		y := c.Released[i]
		if x != y {
			l.Changed++
			if y < 0 {
				l.Missing++
			}
		}
		joint[[2]int32{c.Original[i], y}]++
	}
	before, after := tallied(c.coded()), tallied(c.Released)
	l.Original, l.Released = entropy(tallied(c.Original)), entropy(after)
	l.Lost = max(0, entropy(joint)-l.Released)
	if len(joint) == len(after) {
		l.Lost = 0 // exactly 0: each released category comes from one original category
	}
	for code, x := range before {
		l.Distance += math.Abs(float64(x-after[code])) / float64(2*l.Records)
	}
	for code, y := range after {
		if _, known := before[code]; !known {
			l.Distance += float64(y) / float64(2*l.Records)
		}
	}
	return l
}

func tallied(codes []int32) map[int32]int {
	n := map[int32]int{}
	for _, c := range codes {
		n[c]++
	}
	return n
}

// entropy returns the entropy of counts in bits. It sums in sorted order, so that the
// result does not depend on the order of the map.
func entropy[K comparable](counts map[K]int) (h float64) {
	var list []int
	total := 0
	for _, n := range counts {
		list = append(list, n)
		total += n
	}
	slices.Sort(list)
	for _, n := range list {
		p := float64(n) / float64(total)
		h -= p * math.Log2(p)
	}
	return h + 0
}
