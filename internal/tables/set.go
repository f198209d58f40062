package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Table is a cross-classification. Its cells are totals over all variables that it does
// not have.
type Table struct {
	Name       string
	Dimensions []*Dimension
	// which records it is made of, if others than those of other tables of a set; part of the names of cells
	Of string
}

// Set holds the cells of one or more tables of the same value, and all sums between
// them. Cells with the same codes in several tables are the same cell.
type Set struct {
	Tables []Table

	cells [][]int32 // by table, row-major over its nodes, the last dimension fastest; nil if the cells are 0, 1, 2, …
	first []place   // the first place of each cell
	n     int

	sumTotal []int32
	sumStart []int32
	sumParts []int32
}

type place struct{ table, at int32 }

// MaxCells is the largest number of cells of a set: cell numbers have 32 bits.
const MaxCells = 1 << 30

// NewSet combines tables. It returns problems if a table has a variable twice, if a
// variable or a code has different leaves in two tables, or if the set has more than
// MaxCells cells.
func NewSet(tables ...Table) (*Set, check.Problems) {
	s := &Set{Tables: tables}
	var problems check.Problems
	problems.NotEmpty("", len(tables), "table")
	size := 0.0
	for i, t := range tables {
		n := 1.0
		for j, d := range t.Dimensions {
			n *= float64(len(d.Codes))
			for _, o := range t.Dimensions[:j] {
				if o.Name == d.Name {
					problems.Addf(fmt.Sprintf("[%d]", i), "table %s has variable %s twice", t.Name, d.Name)
				}
			}
		}
		size += n
	}
	if size > MaxCells {
		problems.Addf("", "the tables have %.3g cells, more than %d", size, MaxCells)
	}
	agree(tables, &problems)
	if len(problems) > 0 {
		return nil, problems
	}
	s.number()
	s.addUp()
	return s, nil
}

// agree adds a problem for each difference between the dimensions of the same variable.
func agree(tables []Table, problems *check.Problems) {
	of := map[string]*Dimension{}
	for i, t := range tables {
		for _, d := range t.Dimensions {
			o := of[d.Name]
			if o == nil {
				of[d.Name] = d
			}
			if o == nil || o == d {
				continue
			}
			at := fmt.Sprintf("[%d]", i)
			if !slices.Equal(d.leafCodes(0), o.leafCodes(0)) {
				problems.Addf(at, "variable %s of table %s has other leaves than in another table", d.Name, t.Name)
				continue
			}
			for n, code := range d.Codes {
				if m, known := o.Node(code); known && !slices.Equal(d.leafCodes(n), o.leafCodes(m)) {
					problems.Addf(at, "code %q of variable %s has other leaves in table %s than in another table", code, d.Name,
						t.Name)
				}
			}
		}
	}
}

func (d *Dimension) leafCodes(n int) []string {
	codes := make([]string, 0, len(d.leaves[n]))
	for _, l := range d.leaves[n] {
		codes = append(codes, d.Codes[l])
	}
	slices.Sort(codes)
	return codes
}

func (t Table) size() int {
	n := 1
	for _, d := range t.Dimensions {
		n *= len(d.Codes)
	}
	return n
}

// number assigns the cell numbers: first the cells of the first table in order, then
// the new cells of the other tables.
func (s *Set) number() {
	if len(s.Tables) == 1 {
		s.n = s.Tables[0].size()
		s.cells = [][]int32{nil}
		return
	}
	known := map[string]int32{}
	for i, t := range s.Tables {
		cells := make([]int32, t.size())
		for at := range cells {
			key := t.key(at)
			c, seen := known[key]
			if !seen {
				c = int32(s.n)
				known[key] = c
				s.first = append(s.first, place{int32(i), int32(at)})
				s.n++
			}
			cells[at] = c
		}
		s.cells = append(s.cells, cells)
	}
}

// key identifies a cell by its codes other than grand totals, so that tables over
// different variables share their margins.
func (t Table) key(at int) string {
	var parts []string
	for k := len(t.Dimensions) - 1; k >= 0; k-- {
		d := t.Dimensions[k]
		if n := at % len(d.Codes); n != 0 {
			parts = append(parts, fmt.Sprintf("%d:%s=%d:%s", len(d.Name), d.Name, len(d.Codes[n]), d.Codes[n]))
		}
		at /= len(d.Codes)
	}
	slices.Sort(parts)
	return strings.Join(parts, "|")
}

// addUp lists the sums of every line of every table, without duplicates.
func (s *Set) addUp() {
	s.sumStart = append(s.sumStart, 0)
	seen := map[string]bool{}
	for i, t := range s.Tables {
		stride := t.size()
		for _, d := range t.Dimensions {
			outer := t.size() / stride
			stride /= len(d.Codes)
			for o := range outer {
				for in := range stride {
					base := o*stride*len(d.Codes) + in
					for _, sum := range d.Sums {
						s.enter(i, base, stride, sum, seen)
					}
				}
			}
		}
	}
}

func (s *Set) enter(table, base, stride int, sum Sum, seen map[string]bool) {
	from := len(s.sumParts)
	for _, p := range sum.Parts {
		s.sumParts = append(s.sumParts, s.Cell(table, base+int(p)*stride))
	}
	total := s.Cell(table, base+int(sum.Total)*stride)
	if len(s.Tables) > 1 {
		sorted := append([]int32{total}, s.sumParts[from:]...)
		slices.Sort(sorted[1:])
		key := fmt.Sprint(sorted)
		if seen[key] {
			s.sumParts = s.sumParts[:from]
			return
		}
		seen[key] = true
	}
	s.sumTotal = append(s.sumTotal, total)
	s.sumStart = append(s.sumStart, int32(len(s.sumParts)))
}

// Cells returns the number of cells of the set.
func (s *Set) Cells() int { return s.n }

// Sums returns the number of sums of the set.
func (s *Set) Sums() int { return len(s.sumTotal) }

// Sum returns sum i, in cells of the set. The caller must not change its parts.
func (s *Set) Sum(i int) Sum {
	return Sum{s.sumTotal[i], s.sumParts[s.sumStart[i]:s.sumStart[i+1]]}
}

// Cell returns the cell of the set at a place of a table (row-major, the last
// dimension fastest).
func (s *Set) Cell(table, at int) int32 {
	if s.cells[table] == nil {
		return int32(at)
	}
	return s.cells[table][at]
}

// IsHome reports whether a place of a table is the first place of its cell, so that a
// loop over all tables can process each cell once.
func (s *Set) IsHome(table, at int) bool {
	return s.first == nil || s.first[s.cells[table][at]] == place{int32(table), int32(at)}
}

// At returns the cell of a table at the given codes, one per dimension. It returns an
// error if a code is unknown or the number of codes is wrong.
func (s *Set) At(table int, codes ...string) (int, error) {
	t := s.Tables[table]
	if len(codes) != len(t.Dimensions) {
		return 0, fmt.Errorf("table %s has %d dimensions, got %d codes", t.Name, len(t.Dimensions), len(codes))
	}
	at := 0
	for i, d := range t.Dimensions {
		n, known := d.Node(codes[i])
		if !known {
			return 0,
				fmt.Errorf("table %s: variable %s has no code %q%s", t.Name, d.Name, codes[i], check.Suggest(codes[i], d.Codes))
		}
		at = at*len(d.Codes) + n
	}
	return int(s.Cell(table, at)), nil
}

// Home returns the first table that has a cell, and the cell's nodes there.
func (s *Set) Home(cell int) (table int, nodes []int) {
	p := place{0, int32(cell)}
	if s.first != nil {
		p = s.first[cell]
	}
	t := s.Tables[p.table]
	nodes = make([]int, len(t.Dimensions))
	at := int(p.at)
	for k := len(nodes) - 1; k >= 0; k-- {
		nodes[k] = at % len(t.Dimensions[k].Codes)
		at /= len(t.Dimensions[k].Codes)
	}
	return int(p.table), nodes
}

// Name returns the codes of a cell as text: "region=North, nace=total".
func (s *Set) Name(cell int) string {
	table, nodes := s.Home(cell)
	parts := make([]string, len(nodes))
	for k, n := range nodes {
		d := s.Tables[table].Dimensions[k]
		parts[k] = d.Name + "=" + d.Codes[n]
	}
	if of := s.Tables[table].Of; of != "" {
		return of + ": " + strings.Join(parts, ", ")
	}
	return strings.Join(parts, ", ")
}

// CheckSums returns a problem for each of the first ten sums in which total and parts
// differ by more than the tolerance, with the name of the total and the difference.
func (s *Set) CheckSums(values []float64, tolerance float64) check.Problems {
	var problems check.Problems
	if len(values) != s.n {
		problems.Addf("", "%d values for %d cells", len(values), s.n)
		return problems
	}
	wrong := 0
	for i := range s.Sums() {
		sum := s.Sum(i)
		difference := -values[sum.Total]
		for _, p := range sum.Parts {
			difference += values[p]
		}
		if math.Abs(difference) <= tolerance {
			continue
		}
		if wrong++; wrong <= 10 {
			problems.Addf(s.Name(int(sum.Total)), "the %d parts from %s on add up to %v too much (tolerance %v)",
				len(sum.Parts), s.Name(int(sum.Parts[0])), difference, tolerance)
		}
	}
	if wrong > 10 {
		problems.Addf("", "%d further sums do not add up", wrong-10)
	}
	return problems
}
