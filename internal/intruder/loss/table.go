package loss

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// TableLoss compares the counts of a cross-classification before and after masking,
// for swaps and other masks of categorical columns: sdcMicro's infoLoss of a record
// swap. Cells that are empty on both sides are none.
type TableLoss struct {
	Cells        int `json:"cells"`
	FalseZero    int `json:"false_zero"`    // cells that the release has emptied
	FalseNonzero int `json:"false_nonzero"` // cells that only the release has
	// Absolute is of |o − r|, Root of |√o − √r|, Relative of |o − r|/o, over the
	// cells. A cell that only the release has counts 1 in Relative; sdcMicro divides
	// by 0 there.
	Absolute Spread `json:"absolute"`
	Root     Spread `json:"root"`
	Relative Spread `json:"relative"`
}

// Spread describes a measure over cells. Quantiles are interpolated between order
// statistics at (n−1)p (type 7 of Hyndman & Fan 1996).
type Spread struct {
	Min    float64 `json:"min"`
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`

	sorted []float64
}

// Quantile returns a quantile of the measure over cells, p between 0 and 1.
func (s *Spread) Quantile(p float64) float64 {
	at := p * float64(len(s.sorted)-1)
	low := int(at)
	high := min(low+1, len(s.sorted)-1)
	return s.sorted[low] + (at-float64(low))*(s.sorted[high]-s.sorted[low])
}

func spreadOf(values []float64) Spread {
	slices.Sort(values)
	s := Spread{sorted: values, Min: values[0], Max: values[len(values)-1]}
	for _, v := range values {
		s.Mean += v / float64(len(values))
	}
	s.Median, s.P90, s.P99 = s.Quantile(0.5), s.Quantile(0.9), s.Quantile(0.99)
	return s
}

// maxMarginColumns bounds the tables that margins are taken of: k columns have
// 2^k − 1 of them.
const maxMarginColumns = 10

// TableLossOf cross-classifies columns of codes, original[j][i] and released[j][i]
// for column j and record i; missing values, −1, are a category. The sides may
// have different numbers of records. With margins, the cells of every margin but
// the grand total count beside the table's own, as they do in sdcMicro: margins
// that a swap keeps then hide what it did to the table. It returns an error where
// columns are missing or of different length, or a side has no record.
func TableLossOf(ctx context.Context, original, released [][]int32, margins bool) (*TableLoss, error) {
	k := len(original)
	if k == 0 || k != len(released) {
		return nil, fmt.Errorf("table: must have as many released columns as original ones, at least 1, got %d and %d", len(released), k)
	}
	if margins && k > maxMarginColumns {
		return nil, fmt.Errorf("table: must have at most %d columns for its margins, got %d", maxMarginColumns, k)
	}
	for side, columns := range [2][][]int32{original, released} {
		for j, column := range columns {
			if n := len(columns[0]); n == 0 || len(column) != n {
				return nil, fmt.Errorf("table: column %d must have at least 1 %s record and as many as the first (%d), got %d",
					j, [2]string{"original", "released"}[side], n, len(column))
			}
		}
	}
	t := new(TableLoss)
	var absolute, root, relative []float64
	all := 1<<k - 1
	first := all
	if margins {
		first = 1
	}
	for subset := first; subset <= all; subset++ {
		before, after, err := counts(ctx, original, released, subset)
		if err != nil {
			return nil, err
		}
		for c, o := range before {
			r := after[c]
			absolute = append(absolute, math.Abs(o-r))
			root = append(root, math.Abs(math.Sqrt(o)-math.Sqrt(r)))
			relative = append(relative, math.Abs(o-r)/cmp.Or(o, r))
			if o == 0 {
				t.FalseNonzero++
			} else if r == 0 {
				t.FalseZero++
			}
		}
	}
	t.Cells = len(absolute)
	t.Absolute, t.Root, t.Relative = spreadOf(absolute), spreadOf(root), spreadOf(relative)
	return t, nil
}

// counts returns the counts of the cells that some record is in, on both sides,
// of the table of the columns whose bit in subset is set.
func counts(ctx context.Context, original, released [][]int32, subset int) (before, after []float64, err error) {
	// A cell is found column by column: the code of the cell so far and the
	// column's value make the next code.
	var sides [2][]int32
	cells := 1
	for side, columns := range [2][][]int32{original, released} {
		sides[side] = make([]int32, len(columns[0]))
	}
	for j := range original {
		if subset>>j&1 == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		codes := map[[2]int32]int32{}
		for side, columns := range [2][][]int32{original, released} {
			cell := sides[side]
			for i, v := range columns[j] {
				at := [2]int32{cell[i], v}
				c, ok := codes[at]
				if !ok {
					c = int32(len(codes))
					codes[at] = c
				}
				cell[i] = c
			}
		}
		cells = len(codes)
	}
	before, after = make([]float64, cells), make([]float64, cells)
	for side, count := range [2][]float64{before, after} {
		for _, c := range sides[side] {
			count[c]++
		}
	}
	return before, after, nil
}
