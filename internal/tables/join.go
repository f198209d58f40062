package tables

import "fmt"

// Equation says that in every record the value of one set is the sum of the values of others.
// The numbers are indices of sets.
type Equation struct {
	Total int
	Parts []int
}

// Join combines sets of different values into one. Its cells are those of the first set, then those of the
// second, and so on; from has the number of the first cell of each. Its sums are those of all sets,
// and for every combination of codes the equations between the sets that have it: equations is
// called once for each choice of sets.
func Join(equations func(has []bool) []Equation, sets ...*Set) (joined *Set, from []int32, err error) {
	s := &Set{sumStart: []int32{0}}
	of := make([]map[string]int32, len(sets))
	for i, o := range sets {
		if s.n+o.n > MaxCells {
			return nil, nil, fmt.Errorf("tables: more than %d cells together", MaxCells)
		}
		of[i] = s.append(o)
		from = append(from, int32(s.n-o.n))
	}
	between := map[string][]Equation{}
	for i, o := range sets {
		for cell := range o.n {
			table, at := o.place(cell)
			key := o.Tables[table].key(at)
			has, cells, first := make([]bool, len(sets)), make([]int32, len(sets)), true
			for k := range sets {
				cells[k], has[k] = of[k][key]
				first = first && (k >= i || !has[k])
			}
			if !first {
				continue
			}
			which := fmt.Sprint(has)
			list, known := between[which]
			if !known {
				list = equations(has)
				between[which] = list
			}
			for _, e := range list {
				s.sumTotal = append(s.sumTotal, cells[e.Total])
				for _, p := range e.Parts {
					s.sumParts = append(s.sumParts, cells[p])
				}
				s.sumStart = append(s.sumStart, int32(len(s.sumParts)))
			}
		}
	}
	return s, from, nil
}

// append adds the cells and sums of another set, and returns its cells by their codes.
func (s *Set) append(o *Set) map[string]int32 {
	of := make(map[string]int32, o.n)
	base, table := int32(s.n), int32(len(s.Tables))
	for t := range o.Tables {
		cells := make([]int32, o.Tables[t].size())
		for at := range cells {
			cells[at] = base + o.Cell(t, at)
		}
		s.cells = append(s.cells, cells)
	}
	s.Tables = append(s.Tables, o.Tables...)
	for cell := range o.n {
		t, at := o.place(cell)
		s.first = append(s.first, place{table + int32(t), int32(at)})
		of[o.Tables[t].key(at)] = base + int32(cell)
	}
	for i := range o.Sums() {
		sum := o.Sum(i)
		s.sumTotal = append(s.sumTotal, base+sum.Total)
		for _, p := range sum.Parts {
			s.sumParts = append(s.sumParts, base+p)
		}
		s.sumStart = append(s.sumStart, int32(len(s.sumParts)))
	}
	s.n += o.n
	return of
}

// place returns the first table that has a cell, and where.
func (s *Set) place(cell int) (table, at int) {
	if s.first == nil {
		return 0, cell
	}
	return int(s.first[cell].table), int(s.first[cell].at)
}
