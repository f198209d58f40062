package parquet

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/microdata"
)

const (
	inexact        = "integer beyond ±2^53 cannot be masked exactly"
	inexactDecimal = "decimal of more digits than a float64 holds cannot be masked exactly"
)

// segment is the part of a unit that a block needs.
type segment struct {
	u       *unit
	from, n int
}

// numbers fills column c of the block from the segments of a flat numeric column. A
// record whose value is not exactly a float64 is rejected; if the column is only
// measured, the nearest float64 is used instead.
func numbers(b *microdata.Block, c *microdata.Column, l *leaf, segs []segment, measured bool) {
	nulls := false
	for _, s := range segs {
		nulls = nulls || s.u.v.valid != nil
	}
	dst := c.Alloc(b.N, nulls)
	reason := inexact
	if _, ok := l.typ.(arrow.DecimalType); ok {
		reason = inexactDecimal
	}
	at := 0
	for _, s := range segs {
		out := dst.Values[at : at+s.n]
		v := &s.u.v
		if v.valid != nil {
			// The places of nulls must not be checked for values out of range.
			copyBits(dst.Valid, at, v.valid, s.from, s.n)
		}
		var bad bool
		if v.index != nil {
			bad = v.dict.numbers(l, out, v.index[s.from:s.from+s.n])
		} else {
			bad = convert(out, v, l, s.from)
		}
		if v.valid != nil {
			clearNulls(out, v.valid, s.from)
		}
		if bad {
			for i, x := range out {
				if math.IsNaN(x) && v.valid.Has(s.from+i) {
					if measured {
						out[i] = v.nearest(l, s.from+i)
						continue
					}
					out[i] = 0
					b.Reject(at+i, l.path[0], reason)
				}
			}
		}
		at += s.n
	}
}

// numbers looks up numbers. bad is true if some value of the dictionary could not be represented.
func (d *dictionary) numbers(l *leaf, out []float64, index []uint32) (bad bool) {
	d.converted.Do(func() {
		if v := d.values(); l.phys == format.Double { // the values are only read
			v.align(l)
			d.floats = words[float64](v.data)[:d.n]
			if d.wide {
				d.shorten()
			}
			return
		}
		d.floats = make([]float64, d.n)
		d.bad = convert(d.floats, d.values(), l, 0)
	})
	out = out[:len(index)]
	if d.counts != nil {
		counts, per := d.counts, d.per
		for i, k := range index {
			out[i] = float64(counts[k]) / per
		}
		return false
	}
	floats := d.floats
	for i, k := range index {
		out[i] = floats[k]
	}
	return d.bad
}

// leastShortened is the number of values from which a dictionary of numbers is worth shortening.
const leastShortened = 1 << 12

// shorten replaces floats, and the data that they are, by counts, if that is exact.
func (d *dictionary) shorten() {
	if d.n < leastShortened {
		return
	}
	per := scaleOf(d.floats)
	if per == 0 {
		return
	}
	counts := make([]int32, d.n)
	for i, x := range d.floats {
		k := math.RoundToEven(x * per)
		if !(math.Abs(k) <= math.MaxInt32) {
			return
		}
		if counts[i] = int32(k); !sameBits(float64(counts[i])/per, x) {
			return
		}
	}
	d.counts, d.per = counts, per
	putBuffer(d.data)
	d.data, d.floats = nil, nil
}

// values returns the dictionary's values.
func (d *dictionary) values() *values { return &values{n: d.n, data: d.data, offsets: d.offs} }

// nearest returns the float64 nearest to value i, an integer or decimal that convert could not
// represent exactly.
func (v *values) nearest(l *leaf, i int) float64 {
	if v.index != nil {
		return v.dict.values().nearest(l, int(v.index[i]))
	}
	u := new(big.Int)
	switch {
	case l.phys == format.Int64:
		if u.SetUint64(binary.LittleEndian.Uint64(v.data[8*i:])); !l.unsigned() {
			u.SetInt64(int64(u.Uint64()))
		}
	case l.phys == format.Int32:
		u.SetInt64(int64(int32(binary.LittleEndian.Uint32(v.data[4*i:]))))
	default:
		var value []byte
		if l.width > 0 {
			value = v.data[i*l.width : (i+1)*l.width]
		} else {
			value = v.bytes(i)
		}
		if u.SetBytes(value); len(value) > 0 && value[0]&0x80 != 0 {
			u.Sub(u, new(big.Int).Lsh(big.NewInt(1), uint(8*len(value))))
		}
	}
	exponent := int32(0)
	if t, ok := l.typ.(arrow.DecimalType); ok {
		exponent = -t.GetScale()
	}
	// An error means that the value overflows; x is then infinite.
	x, _ := strconv.ParseFloat(u.String()+"e"+strconv.Itoa(int(exponent)), 64)
	return x
}

// copyBits copies n bits of src from bit `from` to dst at bit `at`, whose bits
// are set.
func copyBits(dst microdata.Bitmap, at int, src microdata.Bitmap, from, n int) {
	if at%64 == 0 && from%64 == 0 {
		words := n / 64
		copy(dst[at/64:], src[from/64:from/64+words])
		at, from, n = at+64*words, from+64*words, n-64*words
	}
	eachWord(src, from, n, func(k, size int, w uint64) {
		for w = ^w; w != 0; w &= w - 1 {
			i := bits.TrailingZeros64(w)
			if i >= size {
				return
			}
			dst.Clear(at + k + i)
		}
	})
}

// convert converts values to numbers, from index `from` on. An integer that is not exactly a
// float64 becomes NaN, and bad is true.
func convert(out []float64, v *values, l *leaf, from int) (bad bool) {
	scale := int32(0)
	if t, ok := l.typ.(arrow.DecimalType); ok {
		scale = t.GetScale()
	}
	switch l.phys {
	case format.Double:
		copy(raw(out), v.data[8*from:])
		return false
	case format.Float:
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(v.data[4*(from+i):])))
		}
		return false
	case format.Int32:
		data := v.data[4*from:]
		if l.unsigned() {
			for i := range out {
				out[i] = float64(binary.LittleEndian.Uint32(data[4*i:]))
			}
		} else {
			for i := range out {
				out[i] = float64(int32(binary.LittleEndian.Uint32(data[4*i:])))
			}
		}
	case format.Int64:
		bad = convertInt64(out, v.data[8*from:], l.unsigned())
	default:
		bad = convertBytes(out, v, l, from)
	}
	if scale > 0 {
		return unscaleExactly(out, scale) || bad
	}
	return bad
}

func convertInt64(out []float64, data []byte, unsigned bool) (bad bool) {
	for i := range out {
		x := int64(binary.LittleEndian.Uint64(data[8*i:]))
		if x < -microdata.MaxExact || x > microdata.MaxExact || unsigned && x < 0 {
			out[i] = math.NaN()
			bad = true
			continue
		}
		out[i] = float64(x)
	}
	return bad
}

// convertBytes converts decimals that are stored as bytes to numbers.
func convertBytes(out []float64, v *values, l *leaf, from int) (bad bool) {
	for i := range out {
		var value []byte
		if l.width > 0 {
			value = v.data[(from+i)*l.width : (from+i+1)*l.width]
		} else if v.valid.Has(from + i) {
			value = v.bytes(from + i)
		}
		x, ok := bigEndian(value)
		if !ok {
			out[i] = math.NaN()
			bad = true
			continue
		}
		out[i] = float64(x)
	}
	return bad
}

// digits15 is the bound up to which different unscaled decimals have different float64
// quotients, for any scale.
const digits15 = 1e15

// unscaleExactly is unscale, but sets values that rescale would not restore to NaN.
func unscaleExactly(out []float64, scale int32) (bad bool) {
	var large map[int]float64
	for i, u := range out {
		if u > digits15 || u < -digits15 {
			if large == nil {
				large = map[int]float64{}
			}
			large[i] = u
		}
	}
	unscale(out, scale)
	for i, u := range large {
		if got, ok := rescale(out[i], scale); !ok || float64(got) != u {
			out[i] = math.NaN()
			bad = true
		}
	}
	return bad
}

// unscale divides by 10^scale. Up to 10^22 the power is exact, so that dividing
// integers of at most 53 bits by it rounds only once.
func unscale(out []float64, scale int32) {
	if scale <= 22 {
		p := math.Pow10(int(scale))
		for i := range out {
			out[i] /= p
		}
		return
	}
	for i, x := range out {
		if x != 0 && !math.IsNaN(x) {
			s := strconv.FormatInt(int64(x), 10) + "e-" + strconv.Itoa(int(scale))
			out[i], _ = strconv.ParseFloat(s, 64)
		}
	}
}

// rescale is the inverse of unscale: it returns the integer whose quotient by 10^scale
// is nearest to x; for a result of unscale that is the original integer. ok is false if
// it has more than 53 bits.
func rescale(x float64, scale int32) (u int64, ok bool) {
	if scale == 0 {
		r := math.RoundToEven(x)
		return int64(r), math.Abs(r) <= microdata.MaxExact
	}
	var r float64
	if scale <= 22 {
		r = math.RoundToEven(x * math.Pow10(int(scale)))
	} else {
		f, _ := new(big.Float).SetPrec(200).SetString("1e" + strconv.Itoa(int(scale)))
		r, _ = f.Mul(f, big.NewFloat(x)).Float64()
		r = math.RoundToEven(r)
	}
	if !(math.Abs(r) <= microdata.MaxExact) {
		return 0, false
	}
	// The product is rounded, which matters if it has nearly 53 bits.
	if math.Abs(r) > 1<<50 {
		for _, d := range [...]float64{0, 1, -1} {
			q := [1]float64{r + d}
			unscale(q[:], scale)
			if q[0] == x {
				return int64(r + d), math.Abs(r+d) <= microdata.MaxExact
			}
		}
	}
	return int64(r), true
}

// bigEndian reads a two's complement number; ok is false if it is beyond ±2^53.
func bigEndian(b []byte) (int64, bool) {
	if len(b) == 0 {
		return 0, true
	}
	sign := byte(int8(b[0]) >> 7)
	for len(b) > 8 {
		if b[0] != sign {
			return 0, false
		}
		b = b[1:]
	}
	if byte(int8(b[0])>>7) != sign {
		return 0, false
	}
	x := int64(int8(sign))
	for _, c := range b {
		x = x<<8 | int64(c)
	}
	return x, x >= -microdata.MaxExact && x <= microdata.MaxExact
}

func (l *leaf) unsigned() bool {
	switch l.typ.ID() {
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return true
	}
	return false
}

// putBigEndian writes x in two's complement into all of b; it returns false if b is too
// short.
func putBigEndian(b []byte, x int64) bool {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte(x)
		x >>= 8
	}
	return x == 0 && b[0]&0x80 == 0 || x == -1 && b[0]&0x80 != 0
}

// shortest returns the least number of bytes that hold x in two's complement.
func shortest(x int64) int {
	if x < 0 {
		x = ^x
	}
	return bits.Len64(uint64(x))/8 + 1
}
