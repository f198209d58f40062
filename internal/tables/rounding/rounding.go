// Package rounding publishes counts as multiples of a base: each to the nearest one, each
// at random without a bias, all together so that totals stay sums and each goes to one of
// its two neighbours (controlled), or the small ones alone, all totals made anew.
package rounding

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// Nearest is the multiple of base nearest to a count, the greater one of two.
func Nearest(count, base int64) int64 { return (count + base/2) / base * base }

// Random is the multiple of base above a count with the probability of its distance from
// the one below, by a draw that is uniform over 64 bits: its expectation is the count. A
// multiple stays.
func Random(count, base int64, draw uint64) int64 {
	rest := count % base
	if below, _ := bits.Mul64(draw, uint64(base)); int64(below) < rest {
		return count - rest + base
	}
	return count - rest
}

// ErrNone says that no controlled rounding was found: beyond two dimensions, or over
// hierarchies of several variables, there need not be one.
var ErrNone = errors.New("no controlled rounding was found")

// Controlled rounds all counts of q at once to one of the two multiples of base next to
// each, a multiple to itself, so that every sum holds, at the least sum of all changes
// without their signs (Cox 1982; Duncan et al. 2001, §4, table 2). In two dimensions, one
// of which may be a hierarchy, the vertices of the linear program are such roundings; in
// others the one that is found need not be, and ErrNone is returned. q.Hidden and the
// bounds of q are not looked at.
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
	if len(known) > 0 { // no deviation at all agrees with the sums
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

// cheapest returns the changes of a component that add up to the least, without their
// signs; ErrNone where one of them leads to no multiple. Between its ends the change of a
// count costs as much as the way is long. A second summand lets no two roundings cost the
// same, since the program stays where it is if nothing is gained; by another one it goes
// on where that was not enough.
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

// attempts is how often another second summand is tried.
const attempts = 10

// apart is far below the 1/base by which the costs of two roundings differ, and far
// above what the program takes for none.
const apart = 1e-6
