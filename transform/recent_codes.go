package transform

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/internal/recent"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// mostRemembered is the greatest dictionary of which codes are kept: 8 bytes each.
const mostRemembered = 1 << 16

// codesOfArray returns microdata.CodeOf of the values of an array. Categories are few: of
// the texts that came last the code is kept, and of a dictionary's entries.
func codesOfArray(a arrow.Array) func(i int) float64 {
	if d, ok := a.(*array.Dictionary); ok && d.Dictionary().Len() <= mostRemembered {
		entry := codesOfArray(d.Dictionary())
		known := make([]float64, d.Dictionary().Len())
		for j := range known {
			known[j] = math.NaN()
		}
		return func(i int) float64 {
			if d.IsNull(i) {
				return math.NaN()
			}
			j := d.GetValueIndex(i)
			if known[j] != known[j] {
				known[j] = entry(j)
			}
			return known[j]
		}
	}
	text, ok := bytesOf(a)
	if !ok || !textual(a.DataType()) {
		return func(i int) float64 { return microdata.CodeOf(a, i) }
	}
	var last [recent.Slots]struct {
		text []byte // nil: none
		code float64
	}
	return func(i int) float64 {
		if a.IsNull(i) {
			return math.NaN()
		}
		t := text(i)
		known := &last[recent.Slot(t)]
		if known.text == nil || !bytes.Equal(known.text, t) {
			known.code = microdata.CategoryCode(t)
			known.text = t
		}
		return known.code
	}
}

// strataOf finds the strata of records by their keys, of 8 bytes a column, and keeps those
// that came last at hand.
type strataOf struct {
	of     map[string]int32
	recent [64]struct {
		key     []byte // empty: none
		stratum int32
	}
}

// find returns the stratum of a key; −1 where there is none.
func (s *strataOf) find(key []byte) int32 {
	word := uint64(0)
	for at := 0; at < len(key); at += 8 {
		word = (word ^ binary.BigEndian.Uint64(key[at:])) * 0x9e3779b97f4a7c15
	}
	known := &s.recent[word>>58]
	if len(known.key) > 0 && bytes.Equal(known.key, key) {
		return known.stratum
	}
	stratum, ok := s.of[string(key)]
	if !ok {
		return -1 // it may come to be one
	}
	known.key, known.stratum = append(known.key[:0], key...), stratum
	return stratum
}
