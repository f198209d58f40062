package tabling

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/jj"
)

// renumbered finds the cell of the tables for each cell of a file with other cell numbers: by its
// value, the values of the sums that it is part of, those of their other cells, and so on (colour
// refinement). Cells that are equal in all of this are assigned in any order; mixed lists the
// classes of such cells in which the file suppresses some and not others, where the order would
// matter. The result is nil if values and sums are not those of the tables.
func (p *protected) renumbered(t *jj.Table) (cellOf []int32, mixed [][]int32) {
	n := p.set.Cells()
	ours, theirs := colouring{of: make([]uint64, n)}, colouring{of: make([]uint64, n)}
	for c, v := range p.question.Value {
		ours.of[c] = mixed64(math.Float64bits(v))
	}
	for c := range t.Cells {
		v := math.Round(t.Cells[c].Value * math.Pow10(p.options.Decimals))
		if v == 0 { // -0 has another bit pattern
			v = 0
		}
		theirs.of[c] = mixed64(math.Float64bits(v))
	}
	for i := range p.set.Sums() {
		s := p.set.Sum(i)
		ours.sums = append(ours.sums, jj.Sum{Total: s.Total, Parts: s.Parts})
	}
	ours.sums, theirs.sums = distinct(ours.sums), distinct(t.Sums)
	if len(ours.sums) != len(theirs.sums) {
		return nil, nil
	}
	for known := 0; ; {
		classes := ours.classes()
		if !sameSizes(classes, theirs.classes()) {
			return nil, nil
		}
		if len(classes) == known {
			return assigned(classes, &theirs, t)
		}
		known = len(classes)
		ours.refine()
		theirs.refine()
	}
}

// colouring gives the cells of sums colours. Cells that differ only in their numbers have the same
// colour.
type colouring struct {
	of   []uint64
	sums []jj.Sum
}

// refine gives cells that are part of sums with different colours different colours.
func (c *colouring) refine() {
	next := make([]uint64, len(c.of))
	for i, v := range c.of {
		next[i] = mixed64(v)
	}
	for _, s := range c.sums {
		all := uint64(0)
		for _, part := range s.Parts {
			all += mixed64(c.of[part])
		}
		all = mixed64(mixed64(all) ^ c.of[s.Total])
		next[s.Total] += mixed64(all)
		for _, part := range s.Parts { // a part and a total of the same value have different roles
			next[part] += mixed64(^all)
		}
	}
	c.of = next
}

// classes lists the cells of each colour.
func (c *colouring) classes() map[uint64][]int32 {
	classes := map[uint64][]int32{}
	for i, v := range c.of {
		classes[v] = append(classes[v], int32(i))
	}
	return classes
}

func sameSizes(a, b map[uint64][]int32) bool {
	for v, cells := range a {
		if len(b[v]) != len(cells) {
			return false
		}
	}
	return len(a) == len(b)
}

// assigned assigns to each cell of a file a cell of the tables with the same colour.
func assigned(classes map[uint64][]int32, theirs *colouring, t *jj.Table) (cellOf []int32, mixed [][]int32) {
	cellOf = make([]int32, len(theirs.of))
	for v, cells := range theirs.classes() {
		held := 0
		for k, c := range cells {
			if cellOf[c] = classes[v][k]; t.Cells[c].Held() {
				held++
			}
		}
		if held > 0 && held < len(cells) {
			mixed = append(mixed, classes[v])
		}
	}
	slices.SortFunc(mixed, func(a, b []int32) int { return int(a[0]) - int(b[0]) })
	return cellOf, mixed
}

// distinct returns the sums, each once.
func distinct(sums []jj.Sum) (kept []jj.Sum) {
	seen := map[string]bool{}
	for _, s := range sums {
		if key := sumKey(s); !seen[key] {
			seen[key] = true
			kept = append(kept, s)
		}
	}
	return kept
}

// mixed64 is the finaliser of SplitMix64, a permutation of the numbers of 64 bits.
func mixed64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
