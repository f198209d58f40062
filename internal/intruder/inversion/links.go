package inversion

import (
	"math"

	"github.com/sdlfilter/sdlfilter/transform"
)

// link describes, for the intruder, what a mask does to one column.
type link struct {
	kind  Kind // kind of the claim that the released value is the original
	label string
	// trivial: the mask changes no value.
	trivial bool
	// certain multiplies p[i] by a lower bound of the probability, given that y[i] was
	// released, that the mask left the value unchanged.
	certain func(y []float64, p []float64)
	// chance reduces p[i] to an upper bound of the probability that the mask leaves
	// x[i] unchanged. nil: the bound is 1.
	chance func(x []float64, p []float64)
	// atBound reports whether a released value lies at a bound that hides
	// originals beyond it. nil: there is no such bound.
	atBound func(y float64) (lower, upper bool)
	// back replaces values by what they most probably were before the mask, which exchanges values; false: it cannot.
	// nil: the mask exchanges none.
	back func(u *undoing) bool
	step float64 // step of the rounding, if it is coarser than the grid
}

// noise is the distribution of ε.
type noise struct {
	lambda float64
	form   string
	stay   [2]float64 // P(|ε| < half cell), for the least and the greatest half cell
}

// below returns P(ε < v).
func (e noise) below(v float64) float64 {
	if e.lambda == 0 {
		if v > 0 {
			return 1
		}
		return 0
	}
	switch e.form {
	case "laplace":
		b := e.lambda / math.Sqrt2
		if v < 0 {
			return math.Exp(v/b) / 2
		}
		return 1 - math.Exp(-v/b)/2
	case "uniform":
		h := e.lambda * math.Sqrt(3)
		return min(1, max(0, (v+h)/(2*h)))
	}
	return math.Erfc(-v/(e.lambda*math.Sqrt2)) / 2
}

// within returns P(|ε| < v), v > 0.
func (e noise) within(v float64) float64 {
	if e.lambda == 0 {
		return 1
	}
	switch e.form {
	case "laplace":
		return -math.Expm1(-v * math.Sqrt2 / e.lambda)
	case "uniform":
		return min(1, v/(e.lambda*math.Sqrt(3)))
	}
	return math.Erf(v / (e.lambda * math.Sqrt2))
}

// reach returns a distance that |ε| exceeds with probability 1e-9 at most.
func (e noise) reach() float64 {
	switch e.form {
	case "laplace":
		return 14.7 * e.lambda
	case "uniform":
		return math.Sqrt(3) * e.lambda
	}
	return 6.2 * e.lambda
}

// noiseLink returns the link of a noise mask with its truncation of mode redraw, nil if
// there is none.
func (a *attacker) noiseLink(m transform.Addition, grid cell, redraw *transform.Bounding) link {
	l := link{kind: SmallNoise}
	tiers := []tier{{math.Inf(-1), noise{lambda: m.SD, form: m.Distribution}}}
	for _, t := range m.Tiers {
		tiers = append(tiers, tier{t.Above, noise{lambda: m.SD * math.Sqrt(t.Factor), form: m.Distribution}})
	}
	greatest := 0.0
	for t := range tiers {
		e := &tiers[t].noise
		e.stay = [2]float64{e.within(grid.least), e.within(grid.most)}
		greatest = max(greatest, e.lambda)
	}
	if greatest == 0 && redraw == nil {
		l.kind, l.trivial = Identity, true
		return l
	}
	if len(tiers) > 1 {
		l.kind = Tier
	}
	lower, upper := math.Inf(-1), math.Inf(1)
	if redraw != nil {
		lower, upper = redraw.Lower, redraw.Upper
	}
	// Given that the result lies within the bounds, the probability that it is x is
	// greater.
	const least, most = 0, 1
	stay := func(x float64, half int) float64 {
		e := &tierOf(tiers, x).noise
		p := e.stay[half]
		if redraw != nil {
			if x < lower || x > upper {
				return 0
			}
			if inside := e.below(upper-x+a.grid/2) - e.below(lower-x-a.grid/2); inside > 0 {
				p = min(1, p/inside)
			}
		}
		return p
	}
	l.certain = func(y, p []float64) {
		for i, v := range y {
			if v == v {
				p[i] *= stay(v, least)
			}
		}
		if len(tiers) > 1 {
			notFromElsewhere(tiers, y, p)
		}
	}
	l.chance = func(x, p []float64) {
		for i, v := range x {
			if v == v {
				p[i] = min(p[i], stay(v, most))
			}
		}
	}
	return l
}

// biasLink returns the link of a bias mask. The mask changes a value by φ|x| z, so it
// does not change a zero.
func biasLink(phi float64, grid cell) link {
	if phi == 0 {
		return link{kind: Identity, trivial: true}
	}
	stay := func(x, half float64) float64 { return noise{lambda: phi * math.Abs(x)}.within(half) }
	return link{
		kind: SmallBias,
		certain: func(y, p []float64) {
			for i, v := range y {
				if v == v {
					p[i] *= stay(v, grid.least)
				}
			}
		},
		chance: func(x, p []float64) {
			for i, v := range x {
				if v == v {
					p[i] = min(p[i], stay(v, grid.most))
				}
			}
		},
	}
}

// clipLink returns the link of a truncation of mode clip. A bound hides nothing if the
// published extreme does not exceed it. heap is false if later masks change the values
// at the bound.
func clipLink(m transform.Bounding, known Extremes, grid float64, heap bool) link {
	lower, upper := m.Lower, m.Upper
	if known.Min >= lower-grid/2 {
		lower = math.Inf(-1)
	}
	if known.Max <= upper+grid/2 {
		upper = math.Inf(1)
	}
	if math.IsInf(lower, -1) && math.IsInf(upper, 1) {
		return link{kind: Identity, trivial: true}
	}
	// Values at the bounds are those before the next grid point inside the bounds.
	low := func(y float64) bool { return y < lower+grid*(1-1e-9) }
	high := func(y float64) bool { return y > upper-grid*(1-1e-9) }
	l := link{kind: InsideBounds, certain: func(y, p []float64) {
		for i, v := range y {
			if low(v) || high(v) {
				p[i] = 0
			}
		}
	}}
	if heap {
		l.atBound = func(y float64) (bool, bool) { return low(y), high(y) }
	}
	return l
}

// cell is half the width of the interval of values that are released as the same value:
// that of the grid, or of a later and coarser rounding. Rounding twice makes the
// interval somewhat narrower or wider, between least and most.
type cell struct{ least, most float64 }

func cellOf(grid, step float64) cell {
	if step <= grid*(1+1e-9) {
		return cell{grid / 2, grid / 2}
	}
	return cell{(step - grid) / 2, (step + grid) / 2}
}

// chain sets the links of the column, in the order of the masks. It returns an error if
// a mask on the column is unknown.
func (a *attacker) chain(masks []transform.Spec, known Published, swaps *swapReach) error {
	a.moments = Moments{math.NaN(), math.NaN()}
	if m, published := known.Moments[a.column.Name]; published {
		a.moments = m
	}
	extremes := Extremes{math.Inf(-1), math.Inf(1)}
	if e, published := known.Extremes[a.column.Name]; published {
		extremes = e
	}
	actions, err := a.actions(masks)
	if err != nil {
		return err
	}
	for i, action := range actions {
		if action == nil {
			continue
		}
		a.masked = true
		if b, ok := action.(transform.Bounding); ok && b.Mode == "redraw" {
			continue // it belongs to the noise before it
		}
		l, known := a.linkOf(i, actions, extremes, swaps)
		if !known {
			return errUnknown(masks[i])
		}
		l.label = transform.Label(masks, i)
		if m, is := actions[i].(transform.RankExchange); is {
			a.ranks = &m
		}
		a.links = append(a.links, l)
	}
	return nil
}

// actions returns the action of each mask on the column, nil if the mask does not name
// the column, and an error if it has no known action.
func (a *attacker) actions(masks []transform.Spec) ([]transform.Action, error) {
	actions := make([]transform.Action, len(masks))
	for i, m := range masks {
		if !containsName(m.Params.Masks(), a.column.Name) {
			continue
		}
		if actions[i] = transform.ActionOf(m.Params, a.column.Name, a.sd()); actions[i] == nil {
			return nil, errUnknown(m)
		}
	}
	return actions, nil
}

// linkOf returns the link of action i, given the actions that follow it, and false if
// the kind of action is unknown.
func (a *attacker) linkOf(i int, actions []transform.Action, extremes Extremes, swaps *swapReach) (link, bool) {
	later := actions[i+1:]
	step, moved := a.movedBy(later)
	switch p := actions[i].(type) {
	case transform.Addition:
		return a.noiseLink(p, cellOf(a.grid, step), redrawOf(later)), true
	case transform.Displacing:
		return a.noiseLink(p.Noise(), cellOf(a.grid, step), nil), true
	case transform.Multiplication:
		return biasLink(p.Phi, cellOf(a.grid, step)), true
	case transform.Bounding:
		return clipLink(p, extremes, a.grid, !moved), true
	case transform.Rounding:
		if p.Step > a.grid*(1+1e-9) {
			return link{kind: Rounding, step: p.Step}, true
		}
		return link{kind: Identity, trivial: true}, true
	case transform.Exchange:
		return swaps.link(i, p, a.grid), true
	case transform.RankExchange:
		return a.rankLink(p), true
	case transform.Shuffling, transform.Relocation: // a value may come from any rank
		return a.rankLink(transform.RankExchange{P: 1}), true
	case transform.Synthesis: // the released value does not contain the original
		return link{kind: RankWindow, certain: func(_, p []float64) { clear(p) }}, true
	case transform.Aggregation:
		return groupLink(p, extremes, a.grid), true
	}
	return link{}, false
}

// movedBy returns the step of the coarsest rounding among actions (0 if there is none),
// and whether one of them can change values.
func (a *attacker) movedBy(actions []transform.Action) (step float64, moved bool) {
	for _, action := range actions {
		switch p := action.(type) {
		case transform.Rounding:
			step = max(step, p.Step)
			moved = moved || p.Step > a.grid
		case transform.Addition, transform.Displacing, transform.Multiplication, transform.Aggregation:
			moved = true
		}
	}
	return step, moved
}

// redrawOf returns the truncation of mode redraw that belongs to a noise mask: the next
// action on the column, if it is one, else nil.
func redrawOf(later []transform.Action) *transform.Bounding {
	for _, action := range later {
		if action == nil {
			continue
		}
		if t, ok := action.(transform.Bounding); ok && t.Mode == "redraw" {
			return &t
		}
		return nil
	}
	return nil
}

func containsName(columns []string, name string) bool {
	for _, c := range columns {
		if c == name {
			return true
		}
	}
	return false
}
