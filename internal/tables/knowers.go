package tables

import (
	"cmp"
	"math"
	"slices"
)

// Identify makes the cells keep the identities of their contributors, exactly up to the given
// number per cell.
func (c *Cells) Identify(most int) {
	c.identities, c.who = most, make([]uint64, most*len(c.Value))
}

// Contribute counts contributors of a cell. who has the identities of all of them, or of the
// first ones if they are more than the cells keep; it is not used by cells without identities.
func (c *Cells) Contribute(cell int, contributors int64, who []uint64) {
	for k, w := range who {
		if at := int(c.Contributors[cell]) + k; at < c.identities {
			c.who[cell*c.identities+at] = w
		}
	}
	c.Contributors[cell] += contributors
}

// Few returns the identities of all contributors of a cell, nil if it has none or more than are kept.
func (c *Cells) Few(cell int) []uint64 {
	n := int(c.Contributors[cell])
	if n == 0 || n > c.identities {
		return nil
	}
	return c.who[cell*c.identities : cell*c.identities+n]
}

// Knowers says who knows the value of which cell: the contributors of a cell, together. They are
// numbered from 0; the numbers do not depend on the order of the records. A nil *Knowers stands for
// nobody.
type Knowers struct {
	Coalition int // the greatest number of contributors who combine what they know

	start []int32 // of a cell: where its contributors begin in ids
	ids   []int32
	cells [][]int32 // of a contributor: the cells that she knows, alone or with others
	parts [][]Own   // of a contributor: her parts of cells, by cell
	top   [][]Own   // of a cell: its largest contributors
	rest  []float64 // of a cell: the most that a coalition of the others contributes; nil if nobody's parts are known

	told   map[int32][][]int32 // of a cell: coalitions of others who know it
	spared map[int32][][]int32 // of a cell: coalitions who know it closely
}

// Own is the part of a cell that is a contributor's own: her contribution, without a weight, which she need not
// know. Of is the contributor or the cell.
type Own struct {
	Of   int32
	Part float64
}

// NewKnowers returns the contributors of all cells that have at most coalition of them. Cells of several
// sets are numbered one set after the other; the same identity is the same contributor in all of
// them.
func NewKnowers(coalition int, sets ...*Cells) *Knowers {
	cellsOf := map[uint64][]int32{}
	of := [][]uint64{}
	for _, c := range sets {
		for cell := range c.Value {
			who := c.Few(cell)
			if len(who) > coalition {
				who = nil
			}
			for _, w := range who {
				cellsOf[w] = append(cellsOf[w], int32(len(of)))
			}
			of = append(of, who)
		}
	}
	partsOf := partsOf(sets)
	list := make([]uint64, 0, len(cellsOf))
	for w := range cellsOf {
		list = append(list, w)
	}
	for w := range partsOf {
		if cellsOf[w] == nil {
			list = append(list, w)
		}
	}
	// Contributors of the same parts of the same cells are interchangeable.
	slices.SortFunc(list, func(a, b uint64) int {
		return cmp.Or(slices.Compare(cellsOf[a], cellsOf[b]), slices.CompareFunc(partsOf[a], partsOf[b], func(x, y Own) int {
			return cmp.Or(cmp.Compare(x.Of, y.Of), cmp.Compare(x.Part, y.Part))
		}))
	})
	number := make(map[uint64]int32, len(list))
	k := &Knowers{Coalition: coalition, start: make([]int32, 1, len(of)+1)}
	for i, w := range list {
		number[w] = int32(i)
		k.cells, k.parts = append(k.cells, cellsOf[w]), append(k.parts, partsOf[w])
	}
	k.own(sets)
	for _, who := range of {
		from := len(k.ids)
		for _, w := range who {
			k.ids = append(k.ids, number[w])
		}
		slices.Sort(k.ids[from:])
		k.start = append(k.start, int32(len(k.ids)))
	}
	return k
}

// partsOf returns the parts of the largest contributors of all cells. Of a value with negative contributions they tell
// nothing, because the others can be of any size.
func partsOf(sets []*Cells) map[uint64][]Own {
	of := map[uint64][]Own{}
	from := int32(0)
	for _, c := range sets {
		for cell := range c.Value {
			if c.Negative != nil {
				break
			}
			for _, x := range c.Largest(cell) {
				if x.Who != 0 && x.Value > 0 {
					of[x.Who] = append(of[x.Who], Own{from + int32(cell), x.Value})
				}
			}
		}
		from += int32(len(c.Value))
	}
	return of
}

// own notes the largest contributors of each cell, and what others can contribute.
func (k *Knowers) own(sets []*Cells) {
	cells := 0
	for _, c := range sets {
		cells += len(c.Value)
	}
	k.top, k.rest = make([][]Own, cells), make([]float64, cells)
	for w, parts := range k.parts {
		for _, x := range parts {
			k.top[x.Of] = append(k.top[x.Of], Own{int32(w), x.Part})
		}
	}
	from := 0
	for _, c := range sets {
		for cell, n := range c.Contributors {
			if l := c.Largest(cell); c.Negative == nil && len(l) == c.Most && len(l) > 0 && n > int64(len(l)) {
				k.rest[from+cell] = l[len(l)-1].Value * float64(min(int64(k.Coalition), n-int64(len(l))))
			}
		}
		from += len(c.Value)
	}
}

// Scale multiplies the parts of a range of cells, which begin at from, by a factor.
func (k *Knowers) Scale(from, n int, by float64) {
	if k == nil || k.rest == nil || by == 1 {
		return
	}
	for w := range k.parts {
		for i := range k.parts[w] {
			if x := &k.parts[w][i]; int(x.Of) >= from && int(x.Of) < from+n {
				x.Part *= by
			}
		}
	}
	for c := from; c < from+n; c++ {
		k.rest[c] *= by
		for i := range k.top[c] {
			k.top[c][i].Part *= by
		}
	}
}

// Rest returns, for each cell, how much a coalition of contributors who are not among its largest can contribute to it
// at most; nil if nobody's parts are known.
func (k *Knowers) Rest() []float64 {
	if k == nil {
		return nil
	}
	return k.rest
}

// Part returns how much of a cell is known to be who's own.
func (k *Knowers) Part(who []int32, cell int32) (sum float64) {
	if k == nil || k.rest == nil {
		return 0
	}
	for _, w := range who {
		if at, found := slices.BinarySearchFunc(k.parts[w], cell, func(x Own, c int32) int {
			return cmp.Compare(x.Of, c)
		}); found {
			sum += k.parts[w][at].Part
		}
	}
	return sum
}

// Parts returns the cells of which some part is who's own, with these parts, by cell.
func (k *Knowers) Parts(who []int32) (parts []Own) {
	if k == nil || k.rest == nil {
		return nil
	}
	for _, w := range who {
		parts = append(parts, k.parts[w]...)
	}
	if len(who) < 2 {
		return parts
	}
	slices.SortFunc(parts, func(a, b Own) int { return cmp.Compare(a.Of, b.Of) })
	sum := parts[:0]
	for _, x := range parts {
		if n := len(sum); n > 0 && sum[n-1].Of == x.Of {
			sum[n-1].Part += x.Part
		} else {
			sum = append(sum, x)
		}
	}
	return sum
}

// Misled returns the least coalitions with all of who that know that a cell is greater than the given value, because
// more than this is their own.
func (k *Knowers) Misled(who []int32, cell int32, value float64) (list [][]int32) {
	if k == nil || k.rest == nil {
		return nil
	}
	eps := 1e-6 * (1 + math.Abs(value))
	var extend func(who []int32, part float64, top []Own)
	extend = func(who []int32, part float64, top []Own) {
		for i, x := range top {
			if len(who) == k.Coalition || slices.Contains(who, x.Of) {
				continue
			}
			more := append(slices.Clone(who), x.Of)
			if part+x.Part > value+eps {
				slices.Sort(more)
				list = append(list, more)
			} else {
				extend(more, part+x.Part, top[i+1:])
			}
		}
	}
	extend(who, k.Part(who, cell), k.top[cell])
	return list
}

// Alone returns knowers of whom each is the only contributor of the cells that have her number;
// cells with -1 have no knower.
func Alone(knower []int32) *Knowers {
	k := &Knowers{Coalition: 1, start: []int32{0}}
	for cell, w := range knower {
		if w >= 0 {
			for int(w) >= len(k.cells) {
				k.cells = append(k.cells, nil)
			}
			k.ids = append(k.ids, w)
			k.cells[w] = append(k.cells[w], int32(cell))
		}
		k.start = append(k.start, int32(len(k.ids)))
	}
	return k
}

// Tell notes that a coalition, ascending, knows the value of a cell from elsewhere.
func (k *Knowers) Tell(who []int32, cell int32) {
	if k.Knows(who, cell) {
		return
	}
	if k.told == nil {
		k.told = map[int32][][]int32{}
	}
	k.told[cell] = append(k.told[cell], slices.Clone(who))
	for _, w := range who {
		if !slices.Contains(k.cells[w], cell) {
			k.cells[w] = append(k.cells[w], cell)
		}
	}
}

// Spare notes that a coalition knows a cell closely from elsewhere, so that no range is required against it: it must
// only not compute the cell.
func (k *Knowers) Spare(who []int32, cell int32) {
	if k.spared == nil {
		k.spared = map[int32][][]int32{}
	}
	k.spared[cell] = append(k.spared[cell], slices.Clone(who))
}

// Spared returns how far the range of a cell must reach for a coalition, of the amount that its rule requires.
func (k *Knowers) Spared(who []int32, cell int32, amount float64) float64 {
	if k.among(who, k.spared[cell]) {
		return max(min(amount, 1), -1)
	}
	return amount
}

// among reports whether all of some coalition are among who.
func (k *Knowers) among(who []int32, list [][]int32) bool {
	return slices.ContainsFunc(list, func(of []int32) bool {
		return len(of) <= len(who) && !slices.ContainsFunc(of, func(w int32) bool { return !slices.Contains(who, w) })
	})
}

// KnownBy returns the least coalitions that know a cell: its contributors, and those who know it from elsewhere.
func (k *Knowers) KnownBy(cell int32) (list [][]int32) {
	if of := k.Of(cell); len(of) > 0 {
		list = append(list, of)
	}
	if k == nil {
		return list
	}
	return append(list, k.told[cell]...)
}

// Of returns the contributors who know a cell together, ascending; none if they are too many.
func (k *Knowers) Of(cell int32) []int32 {
	if k == nil {
		return nil
	}
	return k.ids[k.start[cell]:k.start[cell+1]]
}

// Knows reports whether a coalition that knows a cell is among who (ascending).
func (k *Knowers) Knows(who []int32, cell int32) bool {
	if k == nil || k.told == nil {
		of := k.Of(cell)
		return len(of) > 0 && len(of) <= len(who) && !slices.ContainsFunc(of, func(w int32) bool {
			return !slices.Contains(who, w)
		})
	}
	return k.among(who, k.KnownBy(cell))
}

// KnownTo returns the cells that are known by a coalition among who, ascending.
func (k *Knowers) KnownTo(who []int32) (cells []int32) {
	for _, w := range who {
		for _, c := range k.cells[w] {
			if k.Knows(who, c) {
				cells = append(cells, c)
			}
		}
	}
	if len(who) > 1 || k.told != nil {
		slices.Sort(cells)
		cells = slices.Compact(cells)
	}
	return cells
}

// Joined returns who together with the contributors of a cell, ascending: the least coalition that
// has all of who and knows the cell. It is nil if there is none, or if who knows the cell.
func (k *Knowers) Joined(who []int32, cell int32) []int32 {
	if k.Knows(who, cell) {
		return nil
	}
	return k.with(who, k.Of(cell))
}

// AllJoined is Joined also with those who know the cell from elsewhere.
func (k *Knowers) AllJoined(who []int32, cell int32) (list [][]int32) {
	if k.Knows(who, cell) {
		return nil
	}
	for _, of := range k.KnownBy(cell) {
		if all := k.with(who, of); all != nil {
			list = append(list, all)
		}
	}
	return list
}

// with returns who together with others, ascending; nil if these are none, or too many.
func (k *Knowers) with(who, others []int32) []int32 {
	if len(others) == 0 || len(who) == 0 {
		return others
	}
	all := slices.Concat(who, others)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > k.Coalition {
		return nil
	}
	return all
}

// Sets returns every least coalition that knows a cell, each once.
func (k *Knowers) Sets() (sets [][]int32) {
	if k == nil {
		return nil
	}
	for c := range int32(len(k.start) - 1) {
		sets = append(sets, k.KnownBy(c)...)
	}
	slices.SortFunc(sets, slices.Compare[[]int32])
	return slices.CompactFunc(sets, slices.Equal[[]int32])
}

// SoleContributors returns for each cell the number of its only contributor, who therefore knows its
// value, or -1 if the cell does not have exactly one contributor. The cells must keep identities.
func SoleContributors(c *Cells) []int32 {
	k := NewKnowers(1, c)
	knower := make([]int32, len(c.Value))
	for cell := range knower {
		knower[cell] = -1
		if of := k.Of(int32(cell)); len(of) == 1 {
			knower[cell] = of[0]
		}
	}
	return knower
}
