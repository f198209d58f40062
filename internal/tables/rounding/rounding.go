// Package rounding publishes counts as multiples of a base: each to the nearest one
// (Nearest); each at random without a bias (Random); all together such that totals remain
// sums and each count goes to one of its two neighbours (Controlled); or small counts
// only, with all totals recomputed (Small).
package rounding

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

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

// ErrEnded is an ErrNone of a search that was ended before all roundings were excluded.
var ErrEnded = fmt.Errorf("%w before the search ended", ErrNone)

// Limits end the search for a controlled rounding.
type Limits struct {
	Work  int64     // in units of lp.System.Work; 0: some seconds, or no limit if there is another
	Until time.Time // zero: no limit
}

// errLate reports that Until is over.
var errLate = errors.New("no time is left")

// searchWork is the limit of work by default.
const searchWork = 1_000_000_000

// Controlling is a controlled rounding.
type Controlling struct {
	Value   []float64 // of all cells
	Changes float64   // the sum of the absolute changes
	AtLeast float64   // no controlled rounding has less
	Short   bool      // Until ended the search: there may be a better one
}

// Controlled rounds every count of q to one of the two multiples of base next to it, a
// multiple to itself, such that every sum holds and the sum of the absolute changes is
// least (Cox 1982; Duncan et al. 2001, §4, table 2). In two dimensions, one of which may
// be a hierarchy, the vertices of the linear program are such roundings. In other tables an integer
// program is searched by branch and bound; if it ends within the limits, the sum is the least, or there is no rounding
// (ErrNone). ErrEnded is returned if none is found within the limits. Controlled ignores q.Hidden and the bounds of q.
func Controlled(q audit.Question, base int64, limits Limits) (*Controlling, error) {
	n := len(q.Value)
	b := float64(base)
	q.Hidden, q.Lower, q.Upper = make([]bool, n), make([]float64, n), make([]float64, n)
	for c, v := range q.Value {
		q.Lower[c], q.Upper[c] = math.Floor(v/b)*b, math.Ceil(v/b)*b
		q.Hidden[c] = q.Lower[c] < q.Upper[c]
	}
	work := cmp.Or(limits.Work, searchWork)
	if stop := q.Stop; !limits.Until.IsZero() {
		work = cmp.Or(limits.Work, math.MaxInt64/2)
		q.Stop = func() error {
			if time.Now().After(limits.Until) {
				return errLate
			}
			if stop == nil {
				return nil
			}
			return stop()
		}
	}
	parts, known, err := audit.Components(q)
	if errors.Is(err, errLate) {
		return nil, ErrEnded
	}
	if err != nil {
		return nil, err
	}
	if len(known) > 0 { // no change of these counts agrees with the sums
		return nil, ErrNone
	}
	r := &Controlling{Value: slices.Clone(q.Value)}
	for i := range parts {
		p := &parts[i]
		z, err := r.component(q, p, b, &work)
		if errors.Is(err, errLate) {
			return nil, ErrEnded
		}
		if err != nil {
			return nil, err
		}
		for j, c := range p.Cells {
			r.Value[c] = math.Round((q.Value[c]+z[j])/b) * b
			r.Changes += math.Abs(r.Value[c] - q.Value[c])
		}
	}
	r.AtLeast = min(r.AtLeast, r.Changes)
	if problems := q.Set.CheckSums(r.Value, 0); len(problems) > 0 {
		return nil, ErrNone
	}
	return r, nil
}

// component returns the changes of a component, and takes the work that they need.
func (r *Controlling) component(q audit.Question, p *audit.Component, b float64, work *int64) ([]float64, error) {
	s, err := p.Program()
	if err != nil {
		return nil, err
	}
	z, err := cheapest(q, p, s, b)
	if err == nil {
		for j, c := range p.Cells {
			r.AtLeast += math.Abs(math.Round((q.Value[c]+z[j])/b)*b - q.Value[c])
		}
		return slices.Clone(z), nil
	}
	if !errors.Is(err, ErrNone) {
		return nil, err
	}
	g := newProgram(q, p, s, b)
	before := s.Work
	g.limit = before + *work
	s.Limit = g.limit
	defer func() { s.Limit = 0 }()
	if err := g.search(); err != nil {
		return nil, err
	}
	*work -= s.Work - before
	switch {
	case g.best == nil && g.whole:
		return nil, ErrNone
	case g.best == nil:
		return nil, ErrEnded
	}
	r.Short = r.Short || g.cut
	if g.whole {
		r.AtLeast += g.least
	} else {
		r.AtLeast += g.root
	}
	return g.best, nil
}

// cheapest returns the changes of a component with the least sum of absolute changes, or
// ErrNone if one of them does not lead to a multiple. The cost of a change is linear
// between the two neighbours of the count. A small second summand makes the costs of all
// roundings different, because the program does not move if it gains nothing; further
// attempts use other summands.
func cheapest(q audit.Question, p *audit.Component, s *lp.System, b float64) ([]float64, error) {
	terms := make([]lp.Term, len(p.Cells))
	tries := attempts
	if len(p.Cells) > mostAttempted {
		tries = 1
	}
	for attempt := range tries {
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

// attempts is the number of second summands to try, and mostAttempted the number of cells up to which several are
// tried.
const (
	attempts      = 10
	mostAttempted = 1000
)

// apart is the size of the second summand: far below 1/base, by which the costs of two
// roundings differ, and far above the tolerance of the program.
const apart = 1e-6
