package transform

import "slices"

// MovedTogether says which columns a mask moves together from record to record, and between which records. Columns that
// other masks change too are not among Within and Apart.
type MovedTogether struct {
	Moved         []string
	Within, Apart []string // in which the records that exchange values agree, and in which they differ
	Couples       bool     // whether two records have exchanged, so that each has the other's values
}

// MovesTogether returns what the masks move between records, unchanged. Masks that move each column by itself, by its
// ranks, are not among them.
func MovesTogether(masks []Spec) (list []MovedTogether) {
	kept := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return slices.ContainsFunc(masks, func(m Spec) bool { return slices.Contains(m.Params.Masks(), name) })
		})
	}
	for _, m := range masks {
		switch p := m.Params.(type) {
		case *Swap:
			list = append(list, MovedTogether{Moved: p.Columns, Within: kept(p.Keys...), Apart: kept(p.Attribute), Couples: true})
		case *RecordSwap:
			list = append(list, MovedTogether{Moved: p.Masks()})
		}
	}
	return list
}
