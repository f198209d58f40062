package lp

import (
	"errors"
	"fmt"
	"math"
)

// ErrStalled reports that no optimum was found within the limit of steps or of work. The
// point reached until then is feasible.
var ErrStalled = errors.New("linear program: no optimum within the limit of steps")

// System is the set { z : A z = 0, l ≤ z ≤ u } with a present point, initially 0. It is
// not safe for use by several goroutines.
type System struct {
	a            *Matrix
	lower, upper []float64 // of the columns, then of the artificial ones: 0
	z            []float64
	tolerance    float64

	basis  []int32 // variable at a place
	place  []int32 // place of a variable, -1 outside the basis
	f      *factors
	fresh  bool    // factorised since the last update
	astray float64 // greatest reduced cost of a basic column at the last pricing: 0 up to rounding

	// Low and High are the least and the greatest value of each column at all points so
	// far. Points of the set attain them.
	Low, High []float64

	// ToVertex makes Maximize and Minimize stop at the first vertex that reaches
	// enough, and not on an edge before it, because vertices are whole numbers more
	// often than other points.
	ToVertex bool

	// Stop, if not nil, is called regularly. If it returns an error, the present
	// problem ends with this error; the point reached until then is feasible.
	Stop func() error

	// Work is roughly the number of entries of the matrix and its factors that were
	// processed since New. Unlike time, it is the same on every machine. A problem ends
	// with ErrStalled if Work exceeds Limit; 0: no limit.
	Work, Limit int64

	keptLow, keptHigh []float64 // Low and High before the present problem

	bland bool // the present steps follow Bland's rule
	steps int  // of the present problem
	Total int  // steps since New

	rows, byPlace []float64 // zero between uses
	y             []float64
	nonzero       []int32
	reduced       []float64
	priced        []int32
	seen          []bool
}

// New returns the system of a matrix and bounds of its columns, with the point 0. It
// returns an error if a lower bound is above 0 or an upper bound below 0; infinite
// bounds are allowed.
func New(a *Matrix, lower, upper []float64) (*System, error) {
	n, m := a.columns, a.rows
	if len(lower) != n || len(upper) != n {
		return nil, fmt.Errorf("%d lower and %d upper bounds for %d columns", len(lower), len(upper), n)
	}
	s := &System{
		a: a, lower: make([]float64, n+m), upper: make([]float64, n+m), z: make([]float64, n+m),
		basis: make([]int32, m), place: make([]int32, n+m), f: newFactors(m),
		Low: make([]float64, n), High: make([]float64, n),
		rows: make([]float64, m), byPlace: make([]float64, m), y: make([]float64, m),
		reduced: make([]float64, n), seen: make([]bool, n),
	}
	largest := 100.0
	for j := range n {
		if err := s.SetBounds(j, lower[j], upper[j]); err != nil {
			return nil, err
		}
		for _, b := range [2]float64{-lower[j], upper[j]} {
			if !math.IsInf(b, 0) {
				largest = max(largest, b)
			}
		}
	}
	s.tolerance = 1e-14 * largest
	for j := range s.place {
		s.place[j] = -1
	}
	for i := range m {
		s.basis[i], s.place[n+i] = int32(n+i), int32(i)
	}
	s.factorise()
	return s, nil
}

// SetBounds changes the bounds of column j. It returns an error if 0 is not between
// them. If the present point violates the new bounds, it is reset to 0.
func (s *System) SetBounds(j int, lower, upper float64) error {
	if !(lower <= 0 && upper >= 0) {
		return fmt.Errorf("column %d: the bounds do not hold 0 between them", j)
	}
	s.lower[j], s.upper[j] = lower, upper
	if s.z[j] < lower || s.z[j] > upper {
		s.Reset()
	}
	return nil
}

// Reset sets the point to 0 and keeps the basis.
func (s *System) Reset() { clear(s.z) }

// Point returns the present point, without a copy; the next problem changes it.
func (s *System) Point() []float64 { return s.z[:s.a.columns] }

// Tolerance returns the largest error of a sum or of a bound that counts as 0.
func (s *System) Tolerance() float64 { return s.tolerance }

// factorise factors the basis and computes the basic variables from the others, which
// removes accumulated rounding errors. A linearly dependent column leaves the basis and
// keeps its value.
func (s *System) factorise() {
	before := append([]int32(nil), s.basis...)
	dropped := s.f.factorise(s.a, s.basis)
	s.Work += int64(s.a.rows) + s.f.eliminated
	for _, p := range dropped {
		s.place[before[p]] = -1
	}
	for p, j := range s.basis {
		s.place[j] = int32(p)
	}
	s.fresh = true
	moved := false
	for j, v := range s.Point() {
		if v == 0 || s.place[j] >= 0 {
			continue
		}
		moved = true
		for p := s.a.columnStart[j]; p < s.a.columnStart[j+1]; p++ {
			s.rows[s.a.rowOf[p]] -= v * s.a.byColumn[p]
		}
	}
	for _, j := range s.basis {
		moved = moved || s.z[j] != 0
	}
	if !moved {
		return
	}
	s.f.forward(s.rows, s.byPlace)
	for p, j := range s.basis {
		s.z[j], s.byPlace[p] = s.byPlace[p], 0
	}
}

// feasible reports whether the present point meets every row and bound within the
// tolerance, computed from the matrix itself and not from the factors.
func (s *System) feasible() bool {
	slack := 10 * s.tolerance
	for j, v := range s.Point() {
		if !(v >= s.lower[j]-slack && v <= s.upper[j]+slack) {
			return false
		}
	}
	for i := range s.a.rows {
		sum := 0.0
		for p := s.a.rowStart[i]; p < s.a.rowStart[i+1]; p++ {
			sum += s.a.byRow[p] * s.z[s.a.columnOf[p]]
		}
		if !(math.Abs(sum) <= slack) {
			return false
		}
	}
	return true
}
