package loss

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// Together returns for each regression, and then for each model, the original records that must be left out of it;
// nil: none. Where the records that two of them have all values of differ by some, but by fewer than leastCases, the
// difference of their coefficients would tell the values of those few. Both then go by the records that both have.
// Models that cannot be fitted are left to FitModel.
func Together(p Pair, regressions []Regression, models []*asked.LinearModel, columns []ModelColumn) [][]bool {
	var sets [][]bool
	records := 0
	add := func(complete []int, n int) {
		records = max(records, n)
		set := make([]bool, n)
		for _, i := range complete {
			set[i] = true
		}
		sets = append(sets, set)
	}
	for _, r := range regressions {
		js, err := p.indexes(append(slices.Clone(r.Predictors), r.Response))
		if err != nil {
			sets = append(sets, nil)
			continue
		}
		var list [][]float64
		for _, j := range js {
			list = append(list, p.Original[j])
		}
		add(completeOf(list), len(list[0]))
	}
	for _, m := range models {
		_, sides, _, err := designOf(m, columns, 0)
		if err != nil {
			sets = append(sets, nil)
			continue
		}
		add(completeOf(sides[0]), len(sides[0][0]))
	}
	common := meet(sets)
	without := make([][]bool, len(sets))
	for k, set := range sets {
		for i, there := range set {
			if there && !common[k][i] {
				if without[k] == nil {
					without[k] = make([]bool, records)
				}
				without[k][i] = true
			}
		}
	}
	return without
}

// meet makes sets that differ by fewer than leastCases records the same: what both have.
func meet(sets [][]bool) [][]bool {
	common := make([][]bool, len(sets))
	for k := range sets {
		common[k] = slices.Clone(sets[k])
	}
	for again := true; again; {
		again = false
		for k, a := range common {
			for _, b := range common[:k] {
				apart := 0
				for i := range min(len(a), len(b)) {
					if a[i] != b[i] {
						apart++
					}
				}
				if apart == 0 || apart >= leastCases {
					continue
				}
				again = true // sets only ever lose records, so that this ends
				for i := range a {
					a[i], b[i] = a[i] && b[i], a[i] && b[i]
				}
			}
		}
	}
	return common
}

// leaveOut takes original records out of a regression, by their response.
func (o *Overlap) leaveOut(sides *[2][][]float64, without []bool) {
	last := len(sides[0]) - 1
	response := slices.Clone(sides[0][last])
	for i, out := range without {
		if out {
			response[i] = math.NaN()
			o.Dropped++
		}
	}
	if o.Dropped > 0 {
		sides[0] = append(slices.Clone(sides[0][:last]), response)
	}
}
