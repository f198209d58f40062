package pipeline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// toldCounts says which released column tells a column by which tables hold counts back, so that whoever has the
// records counts them: one of which it is a grouping, or a copy under another name. Pseudonyms tell nobody who does
// not have their table. "" if none does.
func (pl *Plan) toldCounts(p *assess.Pairs) string {
	for _, c := range pl.byCounts {
		codes, there := p.Members[c.Column] // not where all releases together are not looked at
		if !c.Held || !there {
			continue
		}
		told := func(name string, values []float64) bool { return name != c.Column && tells(values, codes) }
		by := ""
		for i, a := range pl.Assessed {
			if !a.Withheld && told(a.Name, p.Released[i]) {
				by = a.Name
			}
		}
		for i, name := range p.BesideColumns {
			if !transform.Renames(pl.Config.Masks, name) && told(name, p.Beside[i]) {
				by = name
			}
		}
		for _, e := range p.Earlier {
			of, _ := pl.earlierColumn(e.Release, e.Of)
			if of != nil && !e.Before && e.Piece == 0 && !transform.Renames(of.Config.Masks, e.Of) && told(e.Of, e.Values) {
				by = e.Of
			}
		}
		if by != "" {
			return fmt.Sprintf("column %s, which is released, tells %s, by which table %s of entry %d holds counts back: whoever "+
				"has the records counts in them", by, c.Column, c.Table, c.Entry)
		}
	}
	return ""
}

// tells reports whether values tell codes to those who know which go together, by the records that have both (NaN
// where one is missing): by at most a tenth as many values as records, two records with the same value differ in
// the code at most a tenth as often as any two; or one code, of two records or more, has values of its own, of which
// some occur more than once; or, of numbers in their order, neighbours differ at most a tenth as often as any two.
func tells(values, codes []float64) bool {
	type record struct{ value, code float64 }
	var list []record
	for i, v := range values {
		if v == v && codes[i] == codes[i] {
			list = append(list, record{v, codes[i]})
		}
	}
	slices.SortFunc(list, func(a, b record) int { return cmp.Compare(a.value, b.value) })
	total := map[float64]int{}
	for _, r := range list {
		total[r.code]++
	}
	n, alike := float64(len(list)), 0.0
	for _, k := range total {
		alike += float64(k) * float64(k-1)
	}
	apart := 1 - alike/(n*(n-1)) // how often two records differ in the code
	if !(apart > 0) {
		return false
	}
	distinct, paired, differ := 0, 0.0, 0.0
	neighbours := 0.0 // how many differ, in the mean over the orders of the records of each value
	own, repeated := map[float64]int{}, map[float64]bool{}
	var before map[float64]float64 // the shares of the codes of the value before
	for from := 0; from < len(list); {
		within, k := map[float64]int{}, 0
		for ; from+k < len(list) && list[from+k].value == list[from].value; k++ {
			within[list[from+k].code]++
		}
		distinct++
		same, between := 0.0, 0.0
		shares := make(map[float64]float64, len(within))
		for code, m := range within {
			same += float64(m) * float64(m-1)
			shares[code] = float64(m) / float64(k)
			between += shares[code] * before[code]
		}
		if before != nil {
			neighbours += 1 - between
		}
		if k > 1 {
			paired += float64(k)
			differ += float64(k) - same/float64(k-1)
			neighbours += float64(k-1) - same/float64(k)
		}
		if len(within) == 1 {
			code := list[from].code
			own[code] += k
			repeated[code] = repeated[code] || k > 1
		}
		before, from = shares, from+k
	}
	if n >= 10*float64(distinct) {
		if 2*paired >= n && differ <= 0.1*apart*paired {
			return true
		}
		for code, k := range own {
			if repeated[code] && k == total[code] {
				return true
			}
		}
	}
	return !(list[len(list)-1].value >= assess.Categories) && neighbours <= 0.1*apart*(n-1)
}
