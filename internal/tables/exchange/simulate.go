package exchange

import (
	"math/rand/v2"

	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

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

// Believed returns the distribution of a count given both margins, from which alone a simulated table is drawn: every
// table is as likely as under independence of rows and columns. place is the place of the record of a respondent
// (swapLaw.belief), or −1. It returns nil if there is no such record.
func (f *Frame) Believed(value []float64, cell int32, place int) *tablerisk.Belief {
	rows, columns := f.Margins(cell)
	n, inRows, inColumns, all := int64(value[cell]), int64(value[rows]), int64(value[columns]), f.Records(value)
	own := int64(0)
	if place >= 0 {
		if [4]int64{n, inRows - n, inColumns - n, all - inRows - inColumns + n}[place] == 0 {
			return nil
		}
		all--
		if place < 2 {
			inRows--
		}
		if place%2 == 0 {
			inColumns--
		}
		if place == 0 {
			own = 1
		}
	}
	mode := int64(float64(inRows+1) * float64(inColumns+1) / float64(all+2))
	first, p := beliefOf(mode, max(0, inRows+inColumns-all), min(inRows, inColumns), func(count int64) float64 {
		return hypergeometric(all, inColumns, inRows, count)
	})
	return &tablerisk.Belief{First: first + own, P: p}
}

// Records returns the number of records.
func (f *Frame) Records(value []float64) int64 {
	return int64(value[f.at(make([]int, len(f.dimensions)), 0)])
}
