package inversion

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// Held is what a release has of a column: its values by record (NaN: none), and the law of its masks.
type Held struct {
	Released []float64
	Law      law
}

// errUnexplained is returned for values that were not released by the laws that are said to have been theirs.
var errUnexplained = errors.New("the laws of the masks do not explain all released values")

// looksTogether is how many more values than of one release are evaluated: hardly two records have the same of several.
const looksTogether = 4

// ExactTogether returns the shares of a column's values that the best snooper states within distances who has several
// releases of it (at least one). For each record he multiplies the prior of exact by the probabilities of all that was
// released of it, whose draws are independent given the original: of normal noise this is the mean with the weights
// 1/λ², of roundings the intersection. Draws that two releases share are counted twice, which states more than is
// known. n is the number of records of the releases, of which the column may have a sample; statements are what all
// columns of all releases tell (Release.Told). Expected and Found are as Exact has them; there is no Limit.
func ExactTogether(c Column, n int, held []Held, statements [][]float64, distances []float64) ([]Exact, error) {
	a := &attacker{column: &c, grid: c.Grid, n: n, original: sideOf(c.Original), statements: statements}
	found := make([]Exact, len(distances))
	for k, d := range distances {
		found[k].Within = d
	}
	b := a.expects()
	if b == nil {
		return found, nil
	}
	constants := make([]float64, len(found))
	for k := range found {
		e := &found[k]
		constants[k], e.Guess = guessWithin(b.sorted, e.Within, true)
		e.Realised = a.beside(b, e.Within)
		for _, h := range held {
			alone := c
			alone.Released = h.Released
			a.column = &alone
			e.Realised = max(e.Realised, a.simply(b, e.Within, constants[k]))
		}
		a.column = &c
	}
	return found, a.believeAll(b, held, found)
}

// believeAll computes the shares of found from posteriors by all releases.
func (a *attacker) believeAll(b *believed, held []Held, found []Exact) error {
	laws := make([]law, len(held))
	for i, h := range held {
		laws[i] = h.Law
	}
	bel := newBeliever(b.prior, laws...)
	rows, all := a.rowsTogether(bel, held)
	m := float64(max(len(rows), 1))
	claims, shares := make([]float64, len(found)), make([]float64, len(found))
	expected, realised, steps := make([]float64, len(found)), make([]float64, len(found)), make([]float64, len(found))
	unexplained := 0
	var seen []float64
	for r, i := range rows {
		y := valuesAt(held, i)
		if fresh := r == 0 || !slices.Equal(y, seen); fresh { // NaN is never equal
			before := slices.Clone(shares)
			for k := range found {
				claims[k], shares[k] = math.NaN(), found[k].Guess
			}
			if first(y) == first(y) {
				bel.at(y...)
				for k := range found {
					if claims[k], shares[k] = bel.best(bel.full, found[k].Within, true); len(bel.list) == 0 {
						shares[k] = 1
					}
				}
				if len(bel.list) == 0 {
					unexplained++
				}
			}
			for k := range found {
				if r > 0 {
					steps[k] += (shares[k] - before[k]) * (shares[k] - before[k])
				}
			}
			seen = y
		}
		for k := range found {
			expected[k] += shares[k]
			if within(claims[k], a.column.Original[i], found[k].Within) {
				realised[k]++
			}
		}
	}
	if float64(unexplained) > fewClaims*m {
		return errUnexplained
	}
	for k := range found {
		e := &found[k]
		p, r := expected[k]/m, realised[k]/m
		e.Expected, e.SE = &p, a.ofSample(p, len(b.sorted))
		if !all { // rows in their order: the error is that of neighbours, as in posteriors
			e.SE = math.Hypot(e.SE, math.Sqrt(steps[k]/2)/m)
		}
		e.Found = min(1, max(p+2*e.SE, lessChance(r, m), lessChance(e.Realised, float64(len(b.sorted)))))
		e.Realised = max(e.Realised, r)
	}
	return nil
}

// rowsTogether returns the records that are looked at, in the order of what was first released of them, and whether
// these are all of a sample of mostRecords.
func (a *attacker) rowsTogether(bel *believer, held []Held) (rows []int32, all bool) {
	for i := range a.spread() {
		if x := a.column.Original[i]; x == x {
			rows = append(rows, int32(i))
		}
	}
	slices.SortFunc(rows, func(i, j int32) int {
		for _, h := range held {
			if c := cmp.Compare(h.Released[i], h.Released[j]); c != 0 {
				return c
			}
		}
		return cmp.Compare(i, j)
	})
	cost := 1
	for k := range 16 {
		if y := valuesAt(held, rows[k*len(rows)/16]); first(y) == first(y) {
			bel.at(y...)
			cost = max(cost, 2*len(bel.list)*len(held))
		}
	}
	most := max(leastLooks, looksTogether*evaluations/cost)
	if len(rows) <= most {
		return rows, true
	}
	some := make([]int32, most)
	for k := range some {
		some[k] = rows[int64(2*k+1)*int64(len(rows))/int64(2*most)]
	}
	return some, false
}

// valuesAt returns what the releases have of a record.
func valuesAt(held []Held, i int32) []float64 {
	y := make([]float64, len(held))
	for k, h := range held {
		y[k] = h.Released[i]
	}
	return y
}

// first returns the first value that is not NaN; NaN if there is none.
func first(values []float64) float64 {
	for _, v := range values {
		if v == v {
			return v
		}
	}
	return math.NaN()
}
