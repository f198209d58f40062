package core

import (
	"math"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// rejectWeights rejects the records whose sampling weight is none: negative, not finite or, unless those may be,
// missing.
func rejectWeights(b *microdata.Block, weight *ColumnInfo, missing bool) {
	v := b.Columns[weight.Index].Original
	for i, w := range v.Values {
		if !v.Valid.Has(i) {
			if !missing {
				b.Reject(i, weight.Name, "is missing, and must be a sampling weight: a finite number of at least 0")
			}
		} else if !(w >= 0) || math.IsInf(w, 1) {
			b.Reject(i, weight.Name, "must be a sampling weight: a finite number of at least 0")
		}
	}
}

// weighing is a step that changes sampling weights.
type weighing interface {
	Weights() *ColumnInfo
}
