package audit

import (
	"fmt"
	"math"
)

// Table is a table that is said to agree with the published cells, by its deviations from the true values. It shows a
// deviation of the cell Of.
type Table struct {
	Of    int32
	Cells []int32
	By    []float64
}

// checker checks tables against a question itself, without components and searches.
type checker struct {
	sumsOf map[int32][]int32 // sums of each hidden cell: a table can violate only these
}

func newChecker(q Question) *checker {
	c := &checker{map[int32][]int32{}}
	for i := range q.Set.Sums() {
		s := q.Set.Sum(i)
		if q.Hidden[s.Total] {
			c.sumsOf[s.Total] = append(c.sumsOf[s.Total], int32(i))
		}
		for _, p := range s.Parts {
			if q.Hidden[p] {
				c.sumsOf[p] = append(c.sumsOf[p], int32(i))
			}
		}
	}
	return c
}

// check returns the deviations other than 0 of a table, of whole numbers for counts. It returns an error if the table
// changes a published cell, or violates a sum or a bound.
func (k *checker) check(q Question, cells []int32, by []float64) (map[int32]float64, error) {
	z := make(map[int32]float64, len(cells))
	for i, c := range cells {
		v := by[i]
		if v == 0 {
			continue
		}
		if q.Counts {
			v = math.Round(v)
		}
		if !(math.Abs(v-by[i]) <= 1e-6) || !q.Within(c, v) {
			return nil, fmt.Errorf("%s: the table shown cannot be", q.Set.Name(int(c)))
		}
		z[c] = v
	}
	for _, c := range cells {
		for _, i := range k.sumsOf[c] {
			s := q.Set.Sum(int(i))
			difference, size := -z[s.Total], math.Abs(z[s.Total])
			for _, p := range s.Parts {
				difference += z[p]
				size += math.Abs(z[p])
			}
			if math.Abs(difference) > rounding(size) {
				return nil, fmt.Errorf("%s: the table shown does not add up", q.Set.Name(int(s.Total)))
			}
		}
	}
	return z, nil
}
