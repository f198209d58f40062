package parquet

import (
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// Released numbers of few decimals often have few distinct values; a dictionary then takes a third
// of the space of BYTE_STREAM_SPLIT. A table with a place for every number with that many decimals
// between the least and the greatest finds them without hashing.

const (
	mostDecimals = 6
	leastGridded = 1 << 10 // least number of values of a page for which this is worthwhile
	sparsest     = 8       // greatest number of the table's places for each value of the page
)

// griddedDictionary is localDictionaryOf for numbers of few decimals from lo to hi; nil if some
// number has more decimals, or if most values of the page differ.
func griddedDictionary(xs []float64, lo, hi float64) *localDictionary {
	if len(xs) < leastGridded {
		return nil
	}
	scale := scaleOf(xs)
	first := math.RoundToEven(lo * scale)
	places := math.RoundToEven(hi*scale) - first + 1
	if !(scale > 0 && math.Abs(first) < 1<<50 && places <= float64(sparsest*len(xs))) {
		return nil
	}
	buf := getBuffer(4 * int(places))
	defer putBuffer(buf)
	clear(buf)
	table := words[uint32](buf) // number in the dictionary + 1
	d := &localDictionary{width: 8, scale: scale,
		buffers: [2][]byte{getBuffer(4 * len(xs)), getBuffer(8 * (len(xs)/2 + 1))}}
	if !d.find(xs, table, int64(first)) {
		d.free()
		return nil
	}
	return d
}

// find builds the dictionary with a table of places for its numbers; ok is false if a number
// does not have that scale, or if too many differ.
func (d *localDictionary) find(xs []float64, table []uint32, first int64) (ok bool) {
	index, distinct := words[int32](d.buffers[0])[:len(xs)], words[float64](d.buffers[1])[:0]
	for i, x := range xs {
		k := math.RoundToEven(x * d.scale)
		at := uint64(int64(k) - first)
		if at >= uint64(len(table)) {
			return false // NaN
		}
		n := table[at]
		if n == 0 {
			// After an eighth of the values it is clear for most pages without a good dictionary.
			if early := len(xs) / 8; len(distinct) > len(xs)/2 || i >= early && i < early+early/8 && len(distinct) > i/8*7 {
				return false
			}
			if x != x || !sameBits(k/d.scale, x) {
				return false
			}
			distinct = append(distinct, x)
			n = uint32(len(distinct))
			table[at] = n
		} else if !sameBits(distinct[n-1], x) {
			return false
		}
		index[i] = int32(n - 1)
	}
	d.index, d.data = index, raw(distinct)
	return true
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// scaleOf returns the least power of ten that makes a sample of the values whole; 0 if none does.
func scaleOf(xs []float64) float64 {
	step := max(1, len(xs)/32)
	for decimals, scale := 0, 1.0; decimals <= mostDecimals; decimals, scale = decimals+1, scale*10 {
		whole := true
		for i := 0; i < len(xs) && whole; i += step {
			whole = sameBits(math.RoundToEven(xs[i]*scale)/scale, xs[i])
		}
		if whole {
			return scale
		}
	}
	return 0
}

// gridded returns a dictionary of the page's numbers, whose statistics are s; nil if there is none.
func (pe *pageEncoder) gridded(v *values, s *pageStats) *localDictionary {
	if pe.leaf.phys != format.Double || pe.comp.codec == format.Uncompressed || pe.plain || s.min == nil {
		return nil
	}
	lo, hi := s.doubles()
	return griddedDictionary(words[float64](v.data), lo, hi)
}

// numberTable is the index of a chunk's dictionary of numbers: it has a place for each number of
// the scale in a range.
type numberTable struct {
	scale  float64
	first  int64
	places []uint32 // number in the dictionary + 1
	buffer []byte   // of places
	n      int
}

// mostPlaces is the greatest number of places of a table.
const mostPlaces = 1 << 20

// cover extends the table to the numbers of a page; ok is false if it would be too large, or if
// they have more decimals than those before.
func (t *numberTable) cover(scale, lo, hi float64) (ok bool) {
	if t.scale == 0 {
		t.scale = scale
	}
	if scale > t.scale {
		return false
	}
	from, to := math.RoundToEven(lo*t.scale), math.RoundToEven(hi*t.scale)+1
	if len(t.places) > 0 {
		from, to = min(from, float64(t.first)), max(to, float64(t.first)+float64(len(t.places)))
	}
	if to-from > mostPlaces || math.Abs(from) > 1<<50 {
		return false
	}
	if n := int(to - from); n > len(t.places) {
		buffer := getBuffer(4 * n)
		clear(buffer)
		places := words[uint32](buffer)
		if len(t.places) > 0 {
			copy(places[t.first-int64(from):], t.places)
			putBuffer(t.buffer)
		}
		t.first, t.places, t.buffer = int64(from), places, buffer
	}
	return true
}

func (t *numberTable) place(x float64) *uint32 {
	return &t.places[int64(math.RoundToEven(x*t.scale))-t.first]
}

// numbersAt finds a page's numbers in the chunk's dictionary; new ones are added, all or none.
func (d *chunkDictionary) numbersAt(local *localDictionary, s *pageStats) (at []int32, ok bool) {
	t := &d.numbers
	if lo, hi := s.doubles(); !t.cover(local.scale, lo, hi) {
		return nil, false
	}
	xs := words[float64](local.data)
	missing := 0
	for _, x := range xs {
		if *t.place(x) == 0 {
			missing++
		}
	}
	if len(d.plain)+8*missing > maxDictionary {
		return nil, false
	}
	at = slices.Grow(d.remap[:0], len(xs))[:len(xs)]
	d.remap = at
	for k, x := range xs {
		place := t.place(x)
		if *place == 0 {
			d.plain = append(d.plain, local.value(int32(k))...)
			t.n++
			*place = uint32(t.n)
		}
		at[k] = int32(*place) - 1
	}
	return at, true
}
