package transform

import "github.com/sdlfilter/sdlfilter/check"

// Conditions of masks on other masks of the list. As in describe.go, every part is an interface
// of its own, and no other code looks at the type of a mask or of its step.

// amongMasks is a mask with conditions on the masks before it.
type amongMasks interface {
	// checkAmong reports what is wrong with mask i, this one, among the masks.
	checkAmong(masks []Spec, i int) check.Problems
}

// redrawing is a mask that may make the mask before it on a column draw its values within
// bounds, instead of moving values to the bounds.
type redrawing interface {
	redraws() bool
	// bounds returns the grid indexes of the least and greatest value that a column may
	// have under mask i of the chain, this one.
	bounds(c *Chain, i int, col *column, g grid) (lo, hi float64, err error)
}

// rejecting is a mask that may send records to quarantine because of their values.
type rejecting interface{ rejects() bool }

// drawingWithin is a mask whose values can be drawn within the bounds of a redrawing
// one.
type drawingWithin interface{ drawsWithin() bool }

// drawsWithin reports whether the values of a mask can be drawn within bounds.
func drawsWithin(p Params) bool {
	d, ok := p.(drawingWithin)
	return ok && d.drawsWithin()
}

// redrawOf returns the redrawing mask within whose bounds mask i draws on a column: the next
// mask on that column; nil if that one does not redraw.
func redrawOf(masks []Spec, i int, column string) (int, redrawing) {
	for j := i + 1; j < len(masks); j++ {
		if lastMaskOn(masks[j:j+1], column) == 0 {
			if r, ok := masks[j].Params.(redrawing); ok && r.redraws() {
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

// exchanging is a mask that exchanges values.
type exchanging interface{ exchanges() exchangeRule }
