package tablerisk

import (
	"math"
	"slices"
)

func (c *chain) begin() {
	c.cells = c.cells[:0]
	c.now++
}

// add makes the present step add sign records with the given codes per unit.
func (c *chain) add(codes []int, sign int64) {
	c.list = c.moves.list(codes, c.list[:0])
	for _, cell := range c.list {
		if c.met[cell] != c.now {
			c.met[cell], c.coef[cell] = c.now, 0
			c.cells = append(c.cells, cell)
		}
		c.coef[cell] += sign
	}
}

// step draws the number of units.
func (c *chain) step() {
	low, high, single := c.change()
	if len(c.cells) == 0 {
		return
	}
	if high-low >= window {
		from := -c.rng.Int64N(window)
		low, high = max(low, from), min(high, from+window-1)
	}
	c.weigh(low, high, single)
	total := 0.0
	for _, w := range c.weight {
		total += w
	}
	by := low + int64(c.pick(total))
	if c.heat == 1 {
		c.count(low, total)
	}
	c.move(by)
}

// change separates the cells that the step changes from totals whose parts alone change. It returns how many
// units are possible, and whether one of the cells may be a total of one part.
func (c *chain) change() (low, high int64, single bool) {
	low, high = math.MinInt64, math.MaxInt64
	c.signs, c.still = c.signs[:0], c.still[:0]
	n := 0
	for _, cell := range c.cells {
		s := c.coef[cell]
		single = single || c.j.single[cell]
		if s == 0 {
			if c.j.single[cell] {
				c.still = append(c.still, cell)
			}
			continue
		}
		c.cells[n] = cell
		n++
		c.signs = append(c.signs, s)
		k, v := &c.j.cells[cell], c.value[cell]
		down, up := v-k.low, k.high-v
		if s < 0 {
			down, up, s = up, down, -s
		}
		if s > 1 {
			down, up = down/s, up/s
		}
		low, high = max(low, -down), min(high, up)
	}
	c.cells = c.cells[:n]
	return low, high, single
}

// weigh computes the posterior weights of the numbers from low to high.
func (c *chain) weigh(low, high int64, single bool) {
	c.weight, c.same = c.weight[:0], c.same[:0]
	n := int(high-low) + 1
	if cap(c.weight) < n {
		c.weight = make([]float64, n)
	}
	c.weight = c.weight[:n]
	clear(c.weight)
	constant := 0.0
	if single && c.j.linked {
		c.forgetJoins()
		for d := low; d <= high; d++ {
			c.move(d)
			c.joins()
			c.move(-d)
		}
	}
	if single && !c.j.linked { // of all numbers that leave no cell 0, the same totals have one part
		for d := low; d <= high; d++ {
			if c.occupied(d) {
				constant = c.onlyParts(d)
				break
			}
		}
	}
	for k, cell := range c.cells {
		known := &c.j.cells[cell]
		if known.log == nil {
			continue
		}
		sign, same := c.signs[k], single && len(c.same) > 0 && c.same[k]
		at := c.value[cell] + sign*low - known.low
		for i := range c.weight {
			if l := known.log[at]; !same || l < -math.MaxFloat64 {
				c.weight[i] += l
			}
			at += sign
		}
	}
	if single {
		for i := range c.weight {
			if d := low + int64(i); !c.j.linked && c.occupied(d) {
				c.weight[i] += constant
			} else {
				c.weight[i] = c.whole(d)
			}
		}
	}
	top := slices.Max(c.weight)
	for i, w := range c.weight {
		if w -= top; w == 0 {
			c.weight[i] = 1
		} else {
			c.weight[i] = math.Exp(w * c.heat)
		}
	}
}

// occupied reports whether no changed cell is 0 after d units.
func (c *chain) occupied(d int64) bool {
	for k, cell := range c.cells {
		if c.value[cell]+c.signs[k]*d == 0 {
			return false
		}
	}
	return true
}

// onlyParts finds the changed cells that are totals of one part after d units, and returns the logarithm of the
// likelihood of all others that their records concern.
func (c *chain) onlyParts(d int64) (constant float64) {
	c.move(d)
	for _, cell := range c.cells {
		same, possible := c.onePart(cell)
		if c.same = append(c.same, same); !possible {
			constant = math.Inf(-1)
		}
	}
	for _, cell := range c.still {
		constant += c.logLikelihood(cell)
	}
	c.move(-d)
	return constant
}

// whole returns the logarithm of the likelihood after d units.
func (c *chain) whole(d int64) float64 {
	c.move(d)
	sum := 0.0
	for _, cell := range c.cells {
		sum += c.logLikelihood(cell)
	}
	for _, cell := range c.still {
		sum += c.logLikelihood(cell)
	}
	if c.j.linked && !math.IsInf(sum, -1) {
		sum += c.class.correction(c.joint)
	}
	c.move(-d)
	return sum
}

func (c *chain) forgetJoins() {
	clear(c.joined)
	c.joint = c.joint[:0]
}

func (c *chain) logLikelihood(cell int32) float64 {
	k := &c.j.cells[cell]
	if k.log == nil {
		return 0
	}
	l := k.log[c.value[cell]-k.low]
	same, possible := c.onePart(cell)
	switch {
	case !possible:
		return math.Inf(-1)
	case same && !math.IsInf(l, -1):
		return 0
	}
	return l
}

// onePart reports whether a cell is a total with all its records in one part, and whether it is published as
// this part is.
func (c *chain) onePart(cell int32) (same, possible bool) {
	if !c.j.single[cell] {
		return false, true
	}
	for _, i := range c.j.sums[cell] {
		if c.parts[i] != 1 {
			continue
		}
		if same = true; c.j.release.Published[c.which[i]] != c.j.release.Published[cell] {
			return true, false
		}
	}
	return same, true
}

// move makes the step of d units.
func (c *chain) move(d int64) {
	if d == 0 {
		return
	}
	for k, cell := range c.cells {
		was := c.value[cell]
		is := was + c.signs[k]*d
		c.value[cell] = is
		if was == 0 {
			c.occupy(cell, 1)
		} else if is == 0 {
			c.occupy(cell, -1)
		}
	}
}

// count adds the distribution of the present step to the counts of the wanted cells.
func (c *chain) count(low int64, total float64) {
	for k, cell := range c.cells {
		at := c.j.place[cell]
		if at < 0 {
			continue
		}
		c.visits[at]++
		for i, w := range c.weight {
			if w == 0 {
				continue
			}
			v := c.value[cell] + c.signs[k]*(low+int64(i)) - c.j.cells[cell].low
			for int64(len(c.counts[at])) <= v {
				c.counts[at] = append(c.counts[at], 0)
			}
			c.counts[at][v] += w / total
		}
	}
}
