package exchange

import "math/rand/v2"

// Simulate draws a table from the exact distribution under independence of rows and
// columns given both margins, in which the probability of a table is proportional to 1/∏
// n_ij! (Fienberg, Makov and Steele 1998; Duncan et al. 2001, section 3): the records of
// every column are assigned to the rows in random order. It needs no Markov chain and so
// no burn-in. The result depends on value only through its margins, so that the table
// discloses nothing more to somebody who knows the margins.
func (f *Frame) Simulate(value []float64, draws *rand.Rand) []float64 {
	m := f.matrix(value)
	total := 0
	for j := range f.columns {
		total += int(value[f.at(f.columns[j], 0)])
	}
	deck := make([]int32, 0, total) // the column of every record
	for j := range f.columns {
		for range int(value[f.at(f.columns[j], 0)]) {
			deck = append(deck, int32(j))
		}
	}
	draws.Shuffle(len(deck), func(i, k int) { deck[i], deck[k] = deck[k], deck[i] })
	none := make([]int, len(f.dimensions))
	for i, row := range m {
		n := int(value[f.at(none, f.rows[i])])
		clear(row)
		for _, j := range deck[:n] {
			row[j]++
		}
		deck = deck[n:]
	}
	return f.addUp(value, m)
}

// Possible returns the least and the greatest count of a cell in the tables with both margins
// (Fréchet bounds). Every count between them is in one of these tables.
func (f *Frame) Possible(value []float64, cell int32) (low, high int64) {
	rows, columns := f.Margins(cell)
	a, b := int64(value[rows]), int64(value[columns])
	return max(0, a+b-f.Records(value)), min(a, b)
}

// PossibleTo returns the bounds for a respondent who knows the place of the own record: in
// the rows of the cell or not, in its columns or not.
func (f *Frame) PossibleTo(value []float64, cell int32, inRows, inColumns bool) (low, high int64) {
	r, c := int64(0), int64(0)
	if inRows {
		r = 1
	}
	if inColumns {
		c = 1
	}
	rows, columns := f.Margins(cell)
	a, b, own := int64(value[rows])-r, int64(value[columns])-c, r*c
	return max(0, a+b-(f.Records(value)-1)) + own, min(a, b) + own
}

// Records returns the number of records.
func (f *Frame) Records(value []float64) int64 {
	return int64(value[f.at(make([]int, len(f.dimensions)), 0)])
}
