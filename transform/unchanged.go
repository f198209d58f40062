package transform

import "math"

// Keeping gives the share of a column's values that the law of a list of masks leaves unchanged.
// A greater share of unchanged values shows masks without effect: noise of SD 0, noise that the
// column's rounding removes, or values so large that the noise is below their last digit.
type Keeping struct {
	// Share is the probability that an original value is released unchanged. It is 0 if a mask
	// moves the value by less than a step of its column.
	Share func(x float64) float64
	// Most is the greatest share of a column that the law explains.
	Most float64
	// Changes is true if the law explains nothing in a column whose values are all unchanged.
	// (A mask with several columns may have changed only the others.)
	Changes bool
}

// Keeping returns the law of the chain's masks on a numeric column. typical is the
// size of a typical value of the column, √(x̄² + S_x²); whole says that the chain
// has masked all records, so that masks which have changed none explain none of
// the values that stayed.
//
// The rule, mask by mask; where several touch a column, the least share counts:
//   - noise: P(|ε| < ½ step), 0 where λ is below a step; the step is the last
//     decimal of the column, the multiple to which a later mask rounds, or the
//     last place of the value, whichever is greatest. At a bound of a later
//     truncation, or of the type, values moved outwards return to the bound.
//   - bias: the same with λ = φ|x|; 1 for x = 0. It has no effect if φ times the
//     typical value is below a step.
//   - round: 1 for values that are multiples already, if at most half of the column's
//     values are; 0 if the mask changes nothing.
//   - truncate, swap: values that the mask does not reach stay; 0 if it changes
//     nothing, in the column or at all.
//   - masks of all records: the same; 0 if they draw, and change almost nothing in
//     the column.
//
// A mask that declares nothing explains no unchanged value.
func (c *Chain) Keeping(name string, typical float64, whole bool) Keeping {
	l := keepingOf{chain: c, name: name, typical: typical, reaches: !whole, most: 1}
	touching := false
	for i, m := range c.masks {
		for _, column := range m.Params.Masks() {
			if column == name {
				touching = true
				l.take(i)
			}
		}
	}
	none := Keeping{Share: func(float64) float64 { return 0 }, Most: 1}
	col := c.numericColumn(name)
	if !touching || col == nil || l.silent {
		return none
	}
	switch {
	case len(l.moves) > 0:
		return Keeping{Share: func(x float64) float64 { return l.moved(col, x) }, Most: 1}
	case !l.reaches:
		return none
	}
	return Keeping{Share: l.stays, Most: l.most, Changes: whole && !l.spares}
}

// keeper is a step that declares which values it leaves as they are.
type keeper interface {
	keeps(l *keepingOf, i int)
}

// keepingOf collects the declarations of the masks on one column.
type keepingOf struct {
	chain   *Chain
	name    string
	typical float64
	silent  bool // a mask declares nothing
	reaches bool // a mask that moves no value by chance has changed a record
	spares  bool // a mask may rightly leave this column unchanged and change others
	most    float64

	moves  []moving
	fixed  []func(x float64) bool // one for each round mask: whether x is a multiple already
	lower  []bound
	upper  []bound
	rounds []bound // multiples
}

type bound struct {
	mask int
	at   float64
}

// moving is a mask that moves values by chance.
type moving struct {
	mask  int
	lost  func(x, step float64) bool
	share func(x, step float64) float64
}

func (l *keepingOf) take(i int) {
	k, ok := l.chain.steps[i].(keeper)
	if !ok {
		l.silent = true
		return
	}
	k.keeps(l, i)
}

// changed notes whether mask i has changed any record.
func (l *keepingOf) changed(i int) { l.reaches = l.reaches || l.chain.touched[i].Load() > 0 }

// stays is the law of a column without a mask that moves values by chance.
func (l *keepingOf) stays(x float64) float64 {
	for _, multiple := range l.fixed {
		if !multiple(x) {
			return 0
		}
	}
	return 1
}

// moved is the law of a column with noise or bias.
func (l *keepingOf) moved(col *column, x float64) float64 {
	least, last := 1.0, -1
	for _, m := range l.moves {
		step := col.stepAt(x)
		for _, r := range l.rounds {
			if r.mask > m.mask {
				step = max(step, r.at)
			}
		}
		if m.lost(x, step) {
			return 0
		}
		least, last = min(least, m.share(x, step)), max(last, m.mask)
	}
	at := x == col.lo || x == col.hi
	for k, lower := range l.lower {
		upper := l.upper[k]
		if x < lower.at || x > upper.at {
			return 0 // moved to the bound
		}
		at = at || lower.mask > last && (x == lower.at || x == upper.at)
	}
	if at {
		return (1 + least) / 2
	}
	return least
}

// stepAt returns the least difference from a value that the column's type and decimals can
// represent.
func (c *column) stepAt(x float64) float64 {
	a := math.Abs(x)
	step := math.Nextafter(a, math.Inf(1)) - a
	if c.float32 {
		f := float32(min(a, math.MaxFloat32/2))
		step = float64(math.Nextafter32(f, math.MaxFloat32) - f)
	}
	if c.decimals >= 0 {
		step = max(step, decimalGrid(c.decimals).value(1))
	}
	return max(step, c.coarse)
}

// numericColumn returns the chain's column of that name if it is numeric; nil otherwise.
func (c *Chain) numericColumn(name string) *column {
	for _, col := range c.columns {
		if col.Name == name && col.Field.Numeric() {
			return col
		}
	}
	return nil
}

func (s *noiseStep) keeps(l *keepingOf, i int) {
	for _, n := range s.columns {
		if n.Name == l.name {
			l.moves = append(l.moves, n.moving(i, false))
		}
	}
	for _, r := range s.redraws {
		for _, n := range r.columns {
			if n.Name == l.name {
				l.moves = append(l.moves, n.moving(i, true))
			}
		}
	}
}

// moving declares which values noise leaves: those with |ε| below half a step. For noise drawn
// within bounds the probability is conditional on these.
func (n *noiseColumn) moving(i int, redrawn bool) moving {
	sd := func(x float64) float64 { return n.draw.deviation(n.scaleAt(x)) }
	return moving{
		mask: i,
		lost: func(x, step float64) bool { return n.grid == (grid{}) || sd(x) < max(step, n.grid.value(1)) },
		share: func(x, step float64) float64 {
			step = max(step, n.grid.value(1))
			scale := n.scaleAt(x)
			p := n.draw.within(-step/2, step/2, scale)
			if redrawn {
				inside := n.draw.within(n.grid.value(n.lower)-step/2-x, n.grid.value(n.upper)+step/2-x, scale)
				p = min(1, p/max(inside, p))
			}
			return p
		},
	}
}

// deviation returns the SD of the distribution with a scale.
func (d draw) deviation(scale float64) float64 {
	switch d {
	case laplace:
		return scale * math.Sqrt2
	case uniform:
		return scale / math.Sqrt(3)
	}
	return scale
}

// within returns P(lo < ε < hi) for the distribution with a scale.
func (d draw) within(lo, hi, scale float64) float64 {
	return d.below(hi/scale) - d.below(lo/scale)
}

// below is the distribution function of the standard form.
func (d draw) below(z float64) float64 {
	switch d {
	case laplace:
		if z < 0 {
			return math.Exp(z) / 2
		}
		return 1 - math.Exp(-z)/2
	case uniform:
		return max(0, min(1, (z+1)/2))
	}
	return math.Erfc(-z/math.Sqrt2) / 2
}

func (s *biasStep) keeps(l *keepingOf, i int) {
	for _, b := range s.columns {
		if b.Name != l.name {
			continue
		}
		l.moves = append(l.moves, moving{
			mask: i,
			lost: func(x, step float64) bool {
				return x != 0 && (b.grid == (grid{}) || b.phi*max(math.Abs(x), l.typical) < max(step, b.grid.value(1)))
			},
			share: func(x, step float64) float64 {
				if x == 0 {
					return 1
				}
				step = max(step, b.grid.value(1))
				return normal.within(-step/2, step/2, b.phi*math.Abs(x))
			},
		})
	}
}

func (s *clipStep) keeps(l *keepingOf, i int) {
	l.changed(i)
	for _, t := range s.columns {
		if t.Name == l.name {
			l.lower, l.upper = append(l.lower, bound{i, t.lower}), append(l.upper, bound{i, t.upper})
		}
	}
}

func (s *roundStep) keeps(l *keepingOf, i int) {
	l.changed(i)
	l.most = min(l.most, 0.5)
	for _, r := range s.columns {
		if r.Name != l.name {
			continue
		}
		step := r.step
		switch {
		case r.mult != 0:
			step = 1 / r.mult
		case r.grid != (grid{}):
			step = r.grid.value(r.step)
		}
		l.rounds = append(l.rounds, bound{i, step})
		l.fixed = append(l.fixed, func(x float64) bool { return r.round(x) == x })
	}
}

// keeps: a record without a partner keeps its value.
func (s *windowSwap) keeps(l *keepingOf, i int) { l.changed(i) }

// keeps: as for a swap within windows.
func (s *datasetSwap) keeps(l *keepingOf, i int) { l.changed(i) }
