package core

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
	l := KeepingOf{chain: c, Name: name, Typical: typical, reaches: !whole, Most: 1}
	touching := false
	for i, m := range c.Masks {
		for _, column := range m.Params.Masks() {
			if column == name {
				touching = true
				l.take(i)
			}
		}
	}
	none := Keeping{Share: func(float64) float64 { return 0 }, Most: 1}
	col := c.numericColumn(name)
	if !touching || col == nil || l.Silent {
		return none
	}
	switch {
	case len(l.Moves) > 0:
		return Keeping{Share: func(x float64) float64 { return l.moved(col, x) }, Most: 1}
	case !l.reaches:
		return none
	}
	return Keeping{Share: l.stays, Most: l.Most, Changes: whole && !l.Spares}
}

// Keeper is a step that declares which values it leaves as they are.
type Keeper interface {
	Keeps(l *KeepingOf, i int)
}

// KeepingOf collects the declarations of the masks on one column.
type KeepingOf struct {
	chain   *Chain
	Name    string
	Typical float64
	Silent  bool // a mask declares nothing
	reaches bool // a mask that moves no value by chance has changed a record
	Spares  bool // a mask may rightly leave this column unchanged and change others
	Most    float64

	Moves  []Moving
	Fixed  []func(x float64) bool // one for each round mask: whether x is a multiple already
	Lower  []Bound
	Upper  []Bound
	Rounds []Bound // multiples
}

// Bound is a bound of a mask, or the multiples to which one rounds.
type Bound struct {
	Mask int
	At   float64
}

// Moving is a mask that moves values by chance.
type Moving struct {
	Mask  int
	Lost  func(x, step float64) bool
	Share func(x, step float64) float64
}

func (l *KeepingOf) take(i int) {
	k, ok := l.chain.Steps[i].(Keeper)
	if !ok {
		l.Silent = true
		return
	}
	k.Keeps(l, i)
}

// Changed notes whether mask i has changed any record.
func (l *KeepingOf) Changed(i int) { l.reaches = l.reaches || l.chain.TouchedBy[i].Load() > 0 }

// stays is the law of a column without a mask that moves values by chance.
func (l *KeepingOf) stays(x float64) float64 {
	for _, multiple := range l.Fixed {
		if !multiple(x) {
			return 0
		}
	}
	return 1
}

// moved is the law of a column with noise or bias.
func (l *KeepingOf) moved(col *Column, x float64) float64 {
	least, last := 1.0, -1
	for _, m := range l.Moves {
		step := col.stepAt(x)
		for _, r := range l.Rounds {
			if r.Mask > m.Mask {
				step = max(step, r.At)
			}
		}
		if m.Lost(x, step) {
			return 0
		}
		least, last = min(least, m.Share(x, step)), max(last, m.Mask)
	}
	at := x == col.Lo || x == col.Hi
	for k, lower := range l.Lower {
		upper := l.Upper[k]
		if x < lower.At || x > upper.At {
			return 0 // moved to the bound
		}
		at = at || lower.Mask > last && (x == lower.At || x == upper.At)
	}
	if at {
		return (1 + least) / 2
	}
	return least
}

// stepAt returns the least difference from a value that the column's type and decimals can
// represent.
func (c *Column) stepAt(x float64) float64 {
	a := math.Abs(x)
	step := math.Nextafter(a, math.Inf(1)) - a
	if c.Float32 {
		f := float32(min(a, math.MaxFloat32/2))
		step = float64(math.Nextafter32(f, math.MaxFloat32) - f)
	}
	if c.Digits >= 0 {
		step = max(step, DecimalGrid(c.Digits).Value(1))
	}
	return max(step, c.coarse)
}

// numericColumn returns the chain's column of that name if it is numeric; nil otherwise.
func (c *Chain) numericColumn(name string) *Column {
	for _, col := range c.columns {
		if col.Name == name && col.Field.Numeric() {
			return col
		}
	}
	return nil
}
