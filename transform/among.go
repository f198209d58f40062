package transform

// redrawing is a mask that makes the mask before it on a column draw its values within bounds,
// instead of moving values to the bounds.
type redrawing interface {
	// bounds returns the grid indexes of the least and greatest value that a column may
	// have under mask i of the chain, this one.
	bounds(c *Chain, i int, col *column, g grid) (lo, hi float64, err error)
}

// redrawOf returns the redrawing mask within whose bounds mask i draws on a column: the next
// mask on that column; nil if that one does not redraw.
func redrawOf(masks []Spec, i int, column string) (int, redrawing) {
	for j := i + 1; j < len(masks); j++ {
		if lastMaskOn(masks[j:j+1], column) == 0 {
			if r := declared(masks[j].Params).redraws; r != nil {
				return j, r
			}
			break
		}
	}
	return -1, nil
}

// exchangeRule describes how a mask exchanges values: those of columns, between records with
// equal keys and different values of the attribute, each possible exchange with probability
// rate.
type exchangeRule struct {
	reads   []string // keys, then the attribute
	columns []string
	rate    float64 // NaN where none was given
	unique  bool    // only between records that are unique in what is read
	dataset bool    // between any records, else within windows
}
