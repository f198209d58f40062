package parquet

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// Released numbers of few decimals often take few values, which a dictionary stores in a third
// of what their bytes by place take. A table with a place for every number of so many decimals
// between the least and the greatest finds them without hashing.

const (
	mostDecimals = 6
	leastGridded = 1 << 10 // values of a page that is worth it
	sparsest     = 8       // places of the table for each value of the page
)

// griddedDictionary is localDictionaryOf for numbers of few decimals; nil where they are none,
// or where most values of the page differ.
func griddedDictionary(xs []float64) *localDictionary {
	if len(xs) < leastGridded {
		return nil
	}
	lo, hi := extremes(xs)
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
	d := &localDictionary{index: make([]int32, len(xs)), width: 8}
	var distinct []float64
	for i, x := range xs {
		k := math.RoundToEven(x * scale)
		at := uint64(int64(k) - int64(first))
		if at >= uint64(len(table)) {
			return nil // no number
		}
		n := table[at]
		if n == 0 {
			// An early look tells most pages that a dictionary is nothing for.
			if len(distinct) > len(xs)/2 || i <= len(xs)/8 && i >= 512 && len(distinct) > i/8*7 || x != x || !sameBits(k/scale, x) {
				return nil
			}
			distinct = append(distinct, x)
			n = uint32(len(distinct))
			table[at] = n
		} else if !sameBits(distinct[n-1], x) {
			return nil
		}
		d.index[i] = int32(n - 1)
	}
	d.data = raw(distinct)
	return d
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// scaleOf is the least power of ten that makes some of the values whole; 0 where none does.
func scaleOf(xs []float64) float64 {
	step := len(xs) / 32
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

// gridded reports whether the leaf's pages may have dictionaries of numbers.
func (pe *pageEncoder) gridded(v *values) bool {
	return pe.leaf.phys == format.Double && pe.comp.codec != format.Uncompressed && !pe.plain && v.index == nil
}

// numberAt finds a number of 8 bytes in the chunk's dictionary; ok is false where it is full.
func (d *chunkDictionary) numberAt(b []byte) (at int32, ok bool) {
	x := binary.LittleEndian.Uint64(b)
	at, ok = d.numbers[x]
	if !ok && len(d.plain)+len(b) <= maxDictionary {
		if d.numbers == nil {
			d.numbers = map[uint64]int32{}
		}
		at, ok = int32(len(d.numbers)), true
		d.numbers[x] = at
		d.plain = append(d.plain, b...)
	}
	return at, ok
}
