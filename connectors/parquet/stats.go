package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// pageStats are the least and greatest released value of a page or chunk, as
// Parquet stores them, and the number of nulls. min is nil if there is no value, or
// if the type has no order that readers agree on.
type pageStats struct {
	min, max []byte
	nulls    int64
	without  bool // no min and max for the whole chunk, because some value is not in the order
}

// longest is the greatest length in bytes of a string in statistics.
const longest = 64

// order says how values of a leaf compare.
type order uint8

const (
	unordered order = iota
	signed
	unsigned
	floating
	bytewise
)

func orderOf(l *leaf) order {
	switch l.phys {
	case format.Int32, format.Int64:
		if l.unsigned() {
			return unsigned
		}
		return signed
	case format.Float, format.Double:
		return floating
	case format.ByteArray:
		if l.typ.ID() == arrow.STRING || l.typ.ID() == arrow.BINARY {
			return bytewise
		}
	}
	return unordered
}

func statsOf(l *leaf, v *values) pageStats {
	if v.n == 0 {
		return pageStats{}
	}
	switch o := orderOf(l); {
	case o == floating && l.width == 8:
		return floats(words[float64](v.data), func(x float64) []byte {
			return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
		})
	case o == floating:
		return floats(words[float32](v.data), func(x float32) []byte {
			return binary.LittleEndian.AppendUint32(nil, math.Float32bits(x))
		})
	case o == signed && l.width == 8:
		return integers(words[int64](v.data))
	case o == signed:
		return integers(words[int32](v.data))
	case o == unsigned && l.width == 8:
		return integers(words[uint64](v.data))
	case o == unsigned:
		return integers(words[uint32](v.data))
	case o == bytewise:
		lo, hi := v.bytes(0), v.bytes(0)
		for i := 1; i < v.n; i++ {
			if b := v.bytes(i); bytes.Compare(b, lo) < 0 {
				lo = b
			} else if bytes.Compare(b, hi) > 0 {
				hi = b
			}
		}
		if len(lo) > longest || len(hi) > longest {
			return pageStats{without: true}
		}
		return pageStats{min: append([]byte{}, lo...), max: append([]byte{}, hi...)}
	}
	return pageStats{without: true}
}

// floats ignores NaN, and gives zeros the signs that the format requires: −0 as the
// minimum, +0 as the maximum.
func floats[T float32 | float64](v []T, put func(T) []byte) pageStats {
	lo, hi := extremes(v)
	if lo > hi {
		if len(v) > 0 {
			return pageStats{without: true} // all values are NaN
		}
		return pageStats{}
	}
	if lo == 0 {
		lo = T(math.Copysign(0, -1))
	}
	if hi == 0 {
		hi = 0
	}
	return pageStats{min: put(lo), max: put(hi)}
}

// extremes returns the least and the greatest value that is not NaN; +∞ and −∞ if there is none. The
// sign of a zero is not defined.
func extremes[T float32 | float64](v []T) (lo, hi T) {
	d, double := any(v).([]float64)
	n := len(v) &^ 15
	if !double || !vectors || n == 0 {
		return extremesLoop(v)
	}
	least, most := extremesAVX2(&d[0], n)
	lo, hi = extremesLoop(v[n:])
	return min(lo, T(least)), max(hi, T(most))
}

func extremesLoop[T float32 | float64](v []T) (lo, hi T) {
	lo, hi = T(math.Inf(1)), T(math.Inf(-1))
	lo2, hi2 := lo, hi // of every second value, so that comparisons do not depend on one another
	for ; len(v) >= 2; v = v[2:] {
		x, y := v[0], v[1]
		if x < lo {
			lo = x
		}
		if y < lo2 {
			lo2 = y
		}
		if x > hi {
			hi = x
		}
		if y > hi2 {
			hi2 = y
		}
	}
	if lo2 < lo {
		lo = lo2
	}
	if hi2 > hi {
		hi = hi2
	}
	for _, x := range v {
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
	}
	return lo, hi
}

func integers[T int32 | int64 | uint32 | uint64](v []T) pageStats {
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	b := raw([]T{lo, hi})
	return pageStats{min: b[:len(b)/2], max: b[len(b)/2:]}
}

// doubles returns the bounds of a page of doubles, which must have bounds.
func (s *pageStats) doubles() (lo, hi float64) {
	return math.Float64frombits(binary.LittleEndian.Uint64(s.min)), math.Float64frombits(binary.LittleEndian.Uint64(s.max))
}

// merge adds the statistics of a further page.
func (s *pageStats) merge(l *leaf, o pageStats) {
	s.nulls += o.nulls
	s.without = s.without || o.without
	if o.min == nil {
		return
	}
	if s.min == nil || less(l, o.min, s.min) {
		s.min = o.min
	}
	if s.max == nil || less(l, s.max, o.max) {
		s.max = o.max
	}
}

func less(l *leaf, a, b []byte) bool {
	switch o := orderOf(l); {
	case o == bytewise:
		return bytes.Compare(a, b) < 0
	case o == floating && l.width == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(a)) < math.Float64frombits(binary.LittleEndian.Uint64(b))
	case o == floating:
		return math.Float32frombits(binary.LittleEndian.Uint32(a)) < math.Float32frombits(binary.LittleEndian.Uint32(b))
	case o == signed && l.width == 8:
		return int64(binary.LittleEndian.Uint64(a)) < int64(binary.LittleEndian.Uint64(b))
	case o == signed:
		return int32(binary.LittleEndian.Uint32(a)) < int32(binary.LittleEndian.Uint32(b))
	case l.width == 8:
		return binary.LittleEndian.Uint64(a) < binary.LittleEndian.Uint64(b)
	default:
		return binary.LittleEndian.Uint32(a) < binary.LittleEndian.Uint32(b)
	}
}

// within returns an error if a value is outside the column's type: an INT32 may be annotated to
// have only 8 or 16 bits, and readers treat values beyond that differently.
func (s *pageStats) within(l *leaf) error {
	if s.min == nil || l.phys != format.Int32 {
		return nil
	}
	lo, hi := int64(int32(binary.LittleEndian.Uint32(s.min))), int64(int32(binary.LittleEndian.Uint32(s.max)))
	least, most := int64(math.MinInt32), int64(math.MaxInt32)
	switch l.typ.ID() {
	case arrow.INT8:
		least, most = math.MinInt8, math.MaxInt8
	case arrow.INT16:
		least, most = math.MinInt16, math.MaxInt16
	case arrow.UINT8:
		least, most = 0, math.MaxUint8
	case arrow.UINT16:
		least, most = 0, math.MaxUint16
	}
	if lo < least || hi > most || least == 0 && hi < 0 {
		return errors.New("a value lies outside the range of the column's type")
	}
	return nil
}

// stored returns the statistics as metadata.
func (s *pageStats) stored() statistics {
	st := statistics{NullCount: some(s.nulls)}
	if !s.without && s.min != nil {
		st.MinValue, st.MaxValue = s.min, s.max
		st.MinExact, st.MaxExact = some(true), some(true)
	}
	return st
}
