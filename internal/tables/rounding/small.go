package rounding

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// Small changes only the inner counts below base, each to 0 or to base, and recomputes
// all totals, which are then sums but need not be multiples (Langsrud and Heldal 2018,
// "An algorithm for small count rounding of tabular data", PSD 2018). It chooses between
// 0 and base to make the sum of the squared changes of all totals small: first one count
// after another, then by reversing single choices while this reduces the sum. inner marks
// the cells that are not sums; every other cell must be a sum of them.
func Small(set *tables.Set, value []float64, inner []bool, base int64) []float64 {
	b := float64(base)
	s := small{above: make([][]int32, len(value)), up: make([][]int32, len(value)), change: make([]float64, len(value))}
	for i := range set.Sums() {
		sum := set.Sum(i)
		for _, p := range sum.Parts {
			s.above[p] = append(s.above[p], sum.Total)
		}
	}
	var cells []int32
	for c, v := range value {
		if inner[c] && v > 0 && v < b {
			cells = append(cells, int32(c))
			s.up[c] = s.totals(int32(c))
		}
	}
	change := make([]float64, len(value))
	for _, c := range cells {
		change[c] = -value[c]
		if s.cost(c, b-value[c]) < s.cost(c, -value[c]) {
			change[c] = b - value[c]
		}
		s.move(c, change[c])
	}
	for range turns {
		turned := false
		for _, c := range cells {
			by := b // from 0 to base
			if change[c] > 0 {
				by = -b
			}
			if s.cost(c, by) < 0 {
				s.move(c, by)
				change[c] += by
				turned = true
			}
		}
		if !turned {
			break
		}
	}
	published := slices.Clone(value)
	for c := range published {
		published[c] += s.change[c]
	}
	return published
}

// turns is how often all counts are looked at once more.
const turns = 20

type small struct {
	above  [][]int32 // the totals of the sums that a cell is a part of
	up     [][]int32 // of a cell that is changed: itself and all totals above it
	change []float64
}

// totals lists a cell and all that it adds to, each once.
func (s *small) totals(c int32) []int32 {
	list := []int32{c}
	seen := map[int32]bool{c: true}
	for i := 0; i < len(list); i++ {
		for _, t := range s.above[list[i]] {
			if !seen[t] {
				seen[t] = true
				list = append(list, t)
			}
		}
	}
	return list
}

// cost is by how much the sum of squares rises where a cell changes by d.
func (s *small) cost(c int32, d float64) (more float64) {
	for _, t := range s.up[c] {
		more += d * (2*s.change[t] + d)
	}
	return more
}

func (s *small) move(c int32, d float64) {
	for _, t := range s.up[c] {
		s.change[t] += d
	}
}
