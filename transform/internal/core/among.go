package core

// redrawing is a mask that makes the mask before it on a column draw its values within bounds,
// instead of moving values to the bounds.
type redrawing interface {
	// Bounds returns the grid indexes of the least and greatest value that a column may
	// have under mask i of the chain, this one.
	Bounds(c *Chain, i int, col *Column, g Grid) (lo, hi float64, err error)
}

// RedrawOf returns the redrawing mask within whose bounds mask i draws on a column: the next
// mask on that column; nil if that one does not redraw.
func RedrawOf(masks []Spec, i int, column string) (int, redrawing) {
	for j := i + 1; j < len(masks); j++ {
		if LastMaskOn(masks[j:j+1], column) == 0 {
			if r := Declared(masks[j].Params).Redraws; r != nil {
				return j, r
			}
			break
		}
	}
	return -1, nil
}

// ExchangeRule describes how a mask exchanges values: those of columns, between records with
// equal keys and different values of the attribute, each possible exchange with probability
// rate.
type ExchangeRule struct {
	Reads   []string // keys, then the attribute
	Columns []string
	Rate    float64 // NaN where none was given
	Unique  bool    // only between records that are unique in what is read
	Dataset bool    // between any records, else within windows
}
