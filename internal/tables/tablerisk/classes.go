package tablerisk

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// Cells with the same records are published with one change, whose likelihood counts once. A total with all its records
// in one part has the same records as this part; a class is the cells that are connected so. In a single table a class
// has one cell at the bottom that is no such total, and its likelihood is that of the class. In tables that share some
// of their variables, there is one at the bottom of each table: of (a, b) and (a, c), if all records of a code of a are
// in one cell of each. The likelihood of all of them but one is taken back.

// common reports whether a table has all cells of a set.
func common(set *tables.Set) bool {
	return slices.ContainsFunc(set.Tables, func(t tables.Table) bool {
		n := 1
		for _, d := range t.Dimensions {
			n *= len(d.Codes)
		}
		return n == set.Cells()
	})
}

// classes finds classes of a table of counts.
type classes struct {
	j     *Joint
	count func(cell int32) int64
	only  func(sum int32) int32 // the only part that is not 0; −1 if there are none or several
	seen  map[int32]bool
	queue []int32
}

// correction returns the logarithm of the factor of the classes of some cells: for each, the likelihood of the count to
// the power of 1 − the number of its cells at the bottom.
func (s *classes) correction(of []int32) (sum float64) {
	clear(s.seen)
	for _, from := range of {
		if s.seen[from] || s.count(from) == 0 {
			continue
		}
		bottom, at := 0, int32(0)
		s.queue = append(s.queue[:0], from)
		s.seen[from] = true
		add := func(cell int32) {
			if !s.seen[cell] {
				s.seen[cell] = true
				s.queue = append(s.queue, cell)
			}
		}
		for k := 0; k < len(s.queue); k++ {
			cell, single := s.queue[k], false
			for _, i := range s.j.sums[cell] {
				if part := s.only(i); part >= 0 && s.j.single[cell] {
					single = true
					add(part)
				}
			}
			if !single {
				bottom, at = bottom+1, cell
			}
			for _, i := range s.j.in[cell] {
				if total := s.j.release.Set.Sum(int(i)).Total; s.j.single[total] && s.only(i) == cell {
					add(total)
				}
			}
		}
		if bottom > 1 {
			if k := &s.j.cells[at]; k.log != nil {
				sum -= float64(bottom-1) * k.log[s.count(at)-k.low]
			}
		}
	}
	return sum
}

// corrections returns the factors of whole tables, whose counts are in the slots keep.
func (j *Joint) corrections(keep []int32, states [][]int64) []float64 {
	factors := make([]float64, len(states))
	value := make([]int64, len(j.cells))
	sums := j.release.Set.Sums()
	all := make([]int32, len(j.cells))
	for c := range all {
		all[c] = int32(c)
	}
	s := &classes{j: j, seen: map[int32]bool{}, count: func(cell int32) int64 { return value[cell] }}
	s.only = func(sum int32) int32 {
		only := int32(-1)
		for _, part := range j.release.Set.Sum(int(sum)).Parts {
			if value[part] == 0 {
				continue
			}
			if only >= 0 {
				return -1
			}
			only = part
		}
		return only
	}
	for i, state := range states {
		factors[i] = 1
		if !j.linked {
			continue
		}
		for k, slot := range keep {
			if c := int(slot) - 2*sums; c >= 0 {
				value[c] = state[k]
			}
		}
		factors[i] = math.Exp(s.correction(all))
	}
	return factors
}

// joins collects the cells whose classes a step may change: those that change, the totals above them of which only
// parts change, and for each number of units that the step tries, the only parts of these.
func (c *chain) joins() {
	for _, list := range [][]int32{c.cells, c.still} {
		for _, cell := range list {
			c.join(cell)
			if !c.j.single[cell] {
				continue
			}
			for _, i := range c.j.sums[cell] {
				if c.parts[i] == 1 {
					c.join(int32(c.which[i]))
				}
			}
		}
	}
}

func (c *chain) join(cell int32) {
	if !c.joined[cell] {
		c.joined[cell] = true
		c.joint = append(c.joint, cell)
	}
}

// newClasses returns the classes of the chain's present table.
func (c *chain) newClasses() *classes {
	return &classes{j: c.j, seen: map[int32]bool{}, count: func(cell int32) int64 {
		return c.value[cell]
	}, only: func(sum int32) int32 {
		if c.parts[sum] != 1 {
			return -1
		}
		return int32(c.which[sum])
	}}
}
