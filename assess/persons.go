package assess

import (
	"math"
	"slices"
)

// repeated reports whether two records of the sample are one respondent's and have the same value of a masked column:
// an unchanged value of a respondent is released unchanged (the waves of a panel, the states of a register).
func (r *reckoning) repeated() bool {
	o := &r.a.opts
	if len(o.Persons) == 0 {
		return false
	}
	var identity [][]float64
	for _, index := range o.Persons {
		if c := slices.IndexFunc(o.Columns, func(c Column) bool { return c.Index == index }); c >= 0 {
			identity = append(identity, r.data.Original(c))
		} else if k := slices.Index(o.Carry, index); k >= 0 {
			identity = append(identity, r.data.Values[r.a.layout.CarryAt(k)])
		}
	}
	if len(identity) < len(o.Persons) {
		return false
	}
	const odd = 0x9e3779b97f4a7c15
	seen := make(map[uint64]struct{}, r.data.N)
	for c, column := range o.Columns {
		if !column.Masked {
			continue
		}
		clear(seen)
		for i, x := range r.data.Original(c) {
			h, known := math.Float64bits(x)*odd, false
			for _, codes := range identity {
				h = (h^h>>29)*odd + math.Float64bits(codes[i])
				known = known || codes[i] == codes[i]
			}
			if x != x || !known { // a record without an identity is a respondent of its own
				continue
			}
			if _, twice := seen[h]; twice {
				return true
			}
			seen[h] = struct{}{}
		}
	}
	return false
}
