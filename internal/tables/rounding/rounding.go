// Package rounding publishes counts as multiples of a base: each to the nearest one
// (Nearest); each at random without a bias (Random); all together such that totals remain
// sums and each count goes to one of its two neighbours (Controlled); or small counts
// only, with all totals recomputed (Small).
package rounding

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// Nearest returns the multiple of base nearest to a count, the greater one if two are
// equally near.
func Nearest(count, base int64) int64 { return (count + base/2) / base * base }

// Random returns the multiple of base above a count with probability (count − multiple
// below)/base, else the multiple below, so that the expectation is the count. draw is
// uniform over 64 bits. A multiple does not change.
func Random(count, base int64, draw uint64) int64 {
	rest := count % base
	if below, _ := bits.Mul64(draw, uint64(base)); int64(below) < rest {
		return count - rest + base
	}
	return count - rest
}

// ErrNone reports that no controlled rounding was found. With more than two dimensions,
// or with hierarchies of several variables, there need not be one.
var ErrNone = errors.New("no controlled rounding was found")

// Controlled rounds every count of q to one of the two multiples of base next to it, a
// multiple to itself, such that every sum holds and the sum of the absolute changes is
// least (Cox 1982; Duncan et al. 2001, §4, table 2). In two dimensions, one of which may
// be a hierarchy, the vertices of the linear program are such roundings; in other tables
// the vertex that is found need not be one, and ErrNone is returned. Controlled ignores
// q.Hidden and the bounds of q.
func Controlled(q audit.Question, base int64) ([]float64, error) {
	n := len(q.Value)
	b := float64(base)
	q.Hidden, q.Lower, q.Upper = make([]bool, n), make([]float64, n), make([]float64, n)
	for c, v := range q.Value {
		q.Lower[c], q.Upper[c] = math.Floor(v/b)*b, math.Ceil(v/b)*b
		q.Hidden[c] = q.Lower[c] < q.Upper[c]
	}
	parts, known, err := audit.Components(q)
	if err != nil {
		return nil, err
	}
	if len(known) > 0 { // no change of these counts agrees with the sums
		return nil, ErrNone
	}
	rounded := append([]float64(nil), q.Value...)
	for i := range parts {
		p := &parts[i]
		z, err := cheapest(q, p, b)
		if err != nil {
			return nil, err
		}
		for j, c := range p.Cells {
			rounded[c] = math.Round((q.Value[c]+z[j])/b) * b
		}
	}
	return rounded, nil
}

// cheapest returns the changes of a component with the least sum of absolute changes, or
// ErrNone if one of them does not lead to a multiple. The cost of a change is linear
// between the two neighbours of the count. A small second summand makes the costs of all
// roundings different, because the program does not move if it gains nothing; further
// attempts use other summands.
func cheapest(q audit.Question, p *audit.Component, b float64) ([]float64, error) {
	s, err := p.Program()
	if err != nil {
		return nil, err
	}
	terms := make([]lp.Term, len(p.Cells))
	for attempt := range attempts {
		for j, c := range p.Cells {
			rest := q.Value[c] - q.Lower[c]
			terms[j] = lp.Term{Column: j, Weight: (b-2*rest)/b + apart*math.Mod(float64(c+1)*math.Phi*float64(2*attempt+1), 1)}
		}
		if _, err := s.MinimizeSum(terms); err != nil {
			if stopped := q.Stopped(); stopped != nil {
				return nil, stopped
			}
			return nil, fmt.Errorf("%w: %v", ErrNone, err)
		}
		z, whole := s.Point(), true
		for j, c := range p.Cells {
			v := (q.Value[c] + z[j]) / b
			whole = whole && math.Abs(v-math.Round(v)) < 1e-6
		}
		if whole {
			return z, nil
		}
	}
	return nil, ErrNone
}

// attempts is the number of second summands to try.
const attempts = 10

// apart is the size of the second summand: far below 1/base, by which the costs of two
// roundings differ, and far above the tolerance of the program.
const apart = 1e-6
