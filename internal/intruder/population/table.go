package population

import (
	"cmp"
	"slices"
)

// table is the contingency table of the variables: its dimensions, and the occupied cells in the
// order of their numbers.
type table struct {
	levels [][]float64 // of each variable: the value of each level, its number for a category
	size   int64       // number of cells
	cells  []cell

	records, missing int     // with all variables, and without some
	all              int     // all records
	weight           float64 // Σw over records with all variables
	allWeight        float64 // Σw over all records
}

// cell holds the sums over the records of an occupied cell.
type cell struct {
	number    int64
	count     float64
	weight    float64 // Σw
	square    float64 // Σw²
	inclusion float64 // Σ1/w
}

// newTable counts the records. Each value of a variable makes a level, even if it occurs only in
// records that lack another variable.
func newTable(d Data) (*table, error) {
	t := &table{all: len(d.Weights), size: 1}
	places := make([][]int32, len(d.Variables))
	for j, v := range d.Variables {
		levels, place := levelsOf(v)
		if len(levels) == 0 {
			return nil, refusef("the key %q has no value in any record", v.Name)
		}
		t.levels, places[j] = append(t.levels, levels), place
		t.size *= int64(len(levels))
		if t.size > MostCells {
			return nil,
				refusef(
					"the table of %d keys has more than %d cells, by the number of their categories (%v); join categories (recode), or leave keys out of the formula",
					len(d.Variables), MostCells, widths(d, j))
		}
	}
	at := map[int64]int{}
	for i, w := range d.Weights {
		t.allWeight += w
		number, whole := int64(0), true
		for j := range places {
			p := places[j][i]
			if p < 0 {
				whole = false
				break
			}
			number = number*int64(len(t.levels[j])) + int64(p)
		}
		if !whole {
			t.missing++
			continue
		}
		c, known := at[number]
		if !known {
			c = len(t.cells)
			at[number], t.cells = c, append(t.cells, cell{number: number})
		}
		of := &t.cells[c]
		of.count++
		of.weight += w
		of.square += w * w
		of.inclusion += 1 / w
		t.records++
		t.weight += w
	}
	if t.records == 0 {
		return nil, refusef("no record has all keys of the formula; leave out those that are mostly missing")
	}
	slices.SortFunc(t.cells, func(a, b cell) int { return cmp.Compare(a.number, b.number) })
	return t, nil
}

// widths are the numbers of levels of the variables up to j.
func widths(d Data, j int) (w []int) {
	for _, v := range d.Variables[:j+1] {
		levels, _ := levelsOf(v)
		w = append(w, len(levels))
	}
	return w
}

// levelsOf returns the values of the levels of a variable, and the level of each record, −1 if the
// value is missing.
func levelsOf(v Variable) (levels []float64, place []int32) {
	place = make([]int32, len(v.Codes))
	known := map[int32]int32{}
	for i, code := range v.Codes {
		if code < 0 {
			place[i] = -1
			continue
		}
		p, ok := known[code]
		if !ok {
			p = int32(len(levels))
			known[code] = p
			x := float64(p)
			if v.Values != nil {
				x = v.Values[i]
			}
			levels = append(levels, x)
		}
		place[i] = p
	}
	return levels, place
}

// each calls f for every cell in the order of their numbers, with the level of each variable and the
// place among the occupied cells, −1 for an empty one. f must not keep at.
func (t *table) each(f func(at []int32, occupied int) error) error {
	at := make([]int32, len(t.levels))
	next := 0
	for number := range t.size {
		occupied := -1
		if next < len(t.cells) && t.cells[next].number == number {
			occupied = next
			next++
		}
		if err := f(at, occupied); err != nil {
			return err
		}
		for j := len(at) - 1; j >= 0; j-- {
			if at[j]++; int(at[j]) < len(t.levels[j]) {
				break
			}
			at[j] = 0
		}
	}
	return nil
}

// place sets the level of each variable of a cell.
func (t *table) place(number int64, at []int32) {
	for j := len(at) - 1; j >= 0; j-- {
		n := int64(len(t.levels[j]))
		at[j], number = int32(number%n), number/n
	}
}
