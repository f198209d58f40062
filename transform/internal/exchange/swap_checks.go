package exchange

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// plausible reports whether the numbers of records that a survey has kept of a combination are
// possible: with policy random the records whose coin falls heads, and of the others up to
// reserves.
func (s *datasetSwap) plausible(count, heads, records uint64) bool {
	return heads <= count && (heads == 0 || !s.Unique) && records == min(matching.Reserves, count-heads)
}

// expected reports whether a record is where it belongs: among the heads if heads is true, else
// among the others.
func (s *datasetSwap) expected(r swapRecord, heads bool) bool {
	return s.Unique || s.Heads(r.coin) == heads
}

// fits returns an error if the values for a column do not have its form: they would be written
// as different values.
func (k *swapColumn) fits(col *microdata.Column, moves []move) error {
	if len(moves) == 0 {
		return nil
	}
	if col.Array == nil {
		if k.starts != nil && col.Original.Values != nil {
			return decision.ErrDamaged
		}
		return nil
	}
	if k.starts == nil {
		return decision.ErrDamaged
	}
	w := cellWidth(col.Array.DataType())
	for _, m := range moves {
		if w > 0 && !k.nulls[m.value] && int(k.lengths[m.value]) != w {
			return decision.ErrDamaged
		}
	}
	return nil
}

// cellWidth is the number of bytes of each value of a type; 0 where it varies.
func cellWidth(t arrow.DataType) int {
	switch t := t.(type) {
	case arrow.ExtensionType:
		return cellWidth(t.StorageType())
	case *arrow.DictionaryType:
		return cellWidth(t.ValueType)
	case *arrow.BooleanType:
		return 1
	}
	return coding.Width(t)
}

// Bounded returns an error if more records are kept than allowed.
func (s *datasetSwap) Bounded(c *core.Chain) error {
	if s.kept <= s.most {
		return nil
	}
	return c.Refused(s.mask,
		&decision.Refusal{
			Text: fmt.Sprintf(
				"must not be used on so many records: it keeps those that may be exchanged in memory, at most %d; use a smaller rate, fewer combinations of keys and attribute, or %s",
				s.most, core.InsteadOf(c.Masks[s.mask].Params))})
}

func (s *datasetSwap) Of() int { return s.mask }

// Holds implements surveying: the records that are kept, whatever is expected.
func (s *datasetSwap) Holds(int64) int64 {
	each, texts := int64(bytesKept), int64(0)
	for k := range s.values {
		if s.values[k].starts == nil {
			each += bytesKeptNumber
			continue
		}
		each += bytesKeptText
		texts += 2 * int64(len(s.values[k].bytes))
	}
	return bytesOfPasses + int64(s.kept)*each + texts
}
