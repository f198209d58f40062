package cell

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Pieces is the number of pieces of a text, and pieceSize of characters of each.
const (
	Pieces    = 3
	pieceSize = 8
)

// Piece returns Shown of a value, for piece 0, or a number that orders texts by some of their bytes: piece 1 by the
// first eight, piece 2 by the next eight, piece 3 by the last eight, the last one first. Letters of either case are the
// same. NaN is for what is no text. A column of numbers holds them already.
func Piece(c *microdata.Column, i, piece int) float64 {
	a := c.OutArray()
	if piece == 0 || a == nil {
		return Shown(c, i)
	}
	text, ok := textOf(a, i)
	if !ok || c.Coded.Leaves(i) {
		return math.NaN()
	}
	order := uint64(0)
	for k := range pieceSize {
		at := (piece-1)*pieceSize + k
		if piece == Pieces {
			at = len(text) - 1 - k
		}
		order <<= 6
		if at >= 0 && at < len(text) {
			order |= letter(text[at])
		}
	}
	return float64(order)
}

// letter returns a number from 1 to 63: digits and letters have their own, others share theirs.
func letter(b byte) uint64 {
	switch {
	case b >= '0' && b <= '9':
		return uint64(b-'0') + 1
	case b >= 'a' && b <= 'z':
		return uint64(b-'a') + 11
	case b >= 'A' && b <= 'Z':
		return uint64(b-'A') + 11
	}
	return uint64(b)%27 + 37
}

// textOf returns a value of an array of texts; false if it is null or there are none.
func textOf(a arrow.Array, i int) (string, bool) {
	if a.IsNull(i) {
		return "", false
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return textOf(a.Dictionary(), a.GetValueIndex(i))
	case interface{ Value(int) string }:
		return a.Value(i), true
	}
	return "", false
}

// Apart reports whether more than half of the values occur once: at least as many are different.
func Apart(values []float64) bool {
	seen := make(map[float64]struct{}, len(values))
	for _, v := range values {
		if v == v {
			seen[v] = struct{}{}
		}
	}
	return len(seen) > len(values)/2
}
