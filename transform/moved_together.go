package transform

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// MovedTogether says which columns a mask moves together from record to record, or one that it moves by itself, and
// between which records, as it can be seen in a release: a column that other masks draw anew is not among Within and
// Apart.
type MovedTogether struct {
	Moved         []string
	Within, Apart []string // in which the records that exchange values agree, and in which they differ
	Couples       bool     // whether two records have exchanged, so that each has the other's values
	Ranks         bool     // whether it is one column, whose values are exchanged between records of similar rank
}

// MovesTogether returns what the masks exchange between couples of records: several columns together, or each column by
// itself, by its ranks.
func MovesTogether(masks []Spec) (list []MovedTogether) {
	for _, m := range masks {
		if exchanges := core.Declared(m.Params).Exchanges; exchanges != nil {
			e := exchanges()
			last := len(e.Reads) - 1 // the attribute
			list = append(list, MovedTogether{Moved: e.Columns, Within: seen(masks, e.Reads[:last], true),
				Apart: seen(masks, e.Reads[last:], false), Couples: true})
		}
		for _, name := range m.Params.Masks() {
			action := core.Declared(m.Params).Action
			if action == nil {
				break
			}
			if _, ranks := action(name, math.NaN()).(RankExchange); ranks {
				list = append(list, MovedTogether{Moved: []string{name}, Couples: true, Ranks: true})
			}
		}
	}
	return list
}

// seen returns the names of columns in which a release shows which records differ, apart from cells that are hidden.
// With agree, which agree is enough: equal values stay equal in a coarser coding.
func seen(masks []Spec, names []string, agree bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(masks, func(m Spec) bool {
			action := core.Declared(m.Params).Action
			if !slices.Contains(m.Params.Masks(), name) {
				return false
			}
			if action == nil {
				return true
			}
			switch action(name, math.NaN()).(type) {
			case Suppression:
				return false
			case Recoding, Rounding:
				return !agree
			}
			return true
		})
	})
}
