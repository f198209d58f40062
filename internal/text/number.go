package text

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unsafe"
)

// pow10 holds the powers of ten that a float64 holds exactly.
var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// Number is what the syntax of a piece of text says.
type Number uint8

const (
	NotNumber Number = iota
	Integer          // -?(0|[1-9][0-9]*) that fits int64, other than -0
	Real             // any other decimal number within float64
	Special          // NaN, Inf and their spellings
	Huge             // an integer beyond int64, or a number beyond float64
)

// ParseFloat reads a decimal number: -?digits, -?digits.digits, either part of
// which may be empty, with or without an exponent; no sign +, no white space, no
// leading zero that would make it a code (007). The value is the nearest
// float64, exactly as strconv rounds. ok is false for anything else, for numbers
// beyond float64, and for NaN and infinities.
func ParseFloat(p []byte) (v float64, ok bool) {
	// Up to 19 digits are gathered as an integer; a plain decimal of which the
	// integer is below 2^53 and the power of ten at most 22 is one correctly
	// rounded operation (Clinger 1990).
	i := 0
	neg := len(p) > 0 && p[0] == '-'
	if neg {
		i = 1
	}
	start := i
	var m uint64
	for i < len(p) {
		d := p[i] - '0'
		if d > 9 {
			break
		}
		m = m*10 + uint64(d)
		i++
	}
	digits := i - start
	if digits > 1 && p[start] == '0' {
		return 0, false
	}
	exp := 0
	if i < len(p) && p[i] == '.' {
		i++
		point := i
		for i < len(p) {
			d := p[i] - '0'
			if d > 9 {
				break
			}
			m = m*10 + uint64(d)
			i++
		}
		exp = i - point
		digits += exp
	}
	if digits == 0 {
		return 0, false
	}
	if i == len(p) && digits <= 19 && m < 1<<53 && exp <= 22 {
		v = float64(m)
		if exp > 0 {
			v /= pow10[exp]
		}
		if neg {
			v = -v
		}
		return v, true
	}
	return parseSlow(p, i)
}

// parseSlow reads a number whose digits end at i and that is not simple.
func parseSlow(p []byte, i int) (float64, bool) {
	if i < len(p) {
		if p[i]|0x20 != 'e' {
			return 0, false
		}
		i++
		if i < len(p) && (p[i] == '+' || p[i] == '-') {
			i++
		}
		if i == len(p) {
			return 0, false
		}
		for ; i < len(p); i++ {
			if p[i]-'0' > 9 {
				return 0, false
			}
		}
	}
	// The error of strconv quotes the value, so only its being there is used.
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(p), len(p)), 64)
	return v, err == nil
}

// ParseInt reads an integer: -?(0|[1-9][0-9]*) within int64, other than -0.
func ParseInt(p []byte) (v int64, ok bool) {
	i := 0
	neg := len(p) > 0 && p[0] == '-'
	if neg {
		i = 1
	}
	if n := len(p) - i; n == 0 || n > 19 || p[i] == '0' && (n > 1 || neg) {
		return 0, false
	}
	var m uint64
	for ; i < len(p); i++ {
		d := p[i] - '0'
		if d > 9 {
			return 0, false
		}
		m = m*10 + uint64(d) // 19 digits stay below 2^64
	}
	if neg {
		return -int64(m), m <= 1<<63
	}
	return int64(m), m <= math.MaxInt64
}

// Classify tells what kind of number the text is. wide is true for an integer
// beyond 2^53, which a float64 would change.
func Classify(p []byte) (n Number, wide bool) {
	i := 0
	if len(p) > 0 && p[0] == '-' {
		i = 1
	}
	start := i
	for i < len(p) && p[i]-'0' <= 9 {
		i++
	}
	if i == len(p) && i > start {
		return classifyDigits(p, start)
	}
	if i < len(p) && p[i] == '.' && !(i-start > 1 && p[start] == '0') {
		k := i + 1
		for k < len(p) && p[k]-'0' <= 9 {
			k++
		}
		if k == len(p) && k-start > 1 && k < 300 {
			return Real, false
		}
	}
	if len(p) == 0 || p[len(p)-1]|0x20 >= 'a' {
		if isSpecial(p) {
			return Special, false
		}
		return NotNumber, false
	}
	if _, ok := ParseFloat(p); ok {
		return Real, false
	}
	if overflows(p) {
		return Huge, false
	}
	return NotNumber, false
}

// classifyDigits is Classify of digits alone, which begin at start, behind a sign.
func classifyDigits(p []byte, start int) (n Number, wide bool) {
	switch k := len(p) - start; {
	case p[start] == '0' && k > 1:
		return NotNumber, false
	case p[start] == '0' && start == 1:
		return Real, false // -0 as an integer would lose its sign
	case k < 16:
		return Integer, false
	}
	v, ok := ParseInt(p)
	if !ok {
		return Huge, true
	}
	return Integer, v > 1<<53 || v < -1<<53
}

// overflows reports a number that has the syntax of one and is beyond float64.
func overflows(p []byte) bool {
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(p), len(p)), 64)
	return err != nil && math.IsInf(v, 0)
}

// isSpecial reports NaN and infinities as R, Python and SQL engines write them.
func isSpecial(p []byte) bool {
	if len(p) > 0 && (p[0] == '-' || p[0] == '+') {
		p = p[1:]
	}
	switch len(p) {
	case 3:
		return fold(p, "nan") || fold(p, "inf")
	case 8:
		return fold(p, "infinity")
	}
	return false
}

// ParseReal is ParseFloat that takes NaN and infinities too.
func ParseReal(p []byte) (float64, bool) {
	if v, ok := ParseFloat(p); ok {
		return v, true
	}
	if !isSpecial(p) {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(p), 64)
	return v, err == nil
}

// fold compares p with a lower-case word, without regard to case.
func fold(p []byte, word string) bool {
	if len(p) != len(word) {
		return false
	}
	for i := range p {
		if p[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}

// digitsOf returns the eight digits of u < 1e8, the first one lowest: of two numbers of
// four digits, then of four of two, then of eight.
func digitsOf(u uint64) uint64 {
	x := u/10_000 | u%10_000<<32
	q := x * 10486 >> 20 & 0x0000007f_0000007f // a hundredth of each
	x = q | (x-100*q)<<16
	q = x * 103 >> 10 & 0x000f000f_000f000f // a tenth
	return q | (x-10*q)<<8
}

// appendEight is AppendScaled of a |k| < 1e8 with fewer than eight decimals, without a
// branch for each digit: all are written, and those behind the end are written over.
func appendEight(dst []byte, k int64, decimals int, pad bool) []byte {
	n := len(dst)
	dst = slices.Grow(dst, 1+8+1+8)
	p := dst[n : n+18]
	p[0] = '-'
	sign := int(uint64(k) >> 63)
	x := digitsOf(uint64((k ^ k>>63) - k>>63)) // |k|
	kept := decimals
	if !pad {
		kept -= min(bits.LeadingZeros64(x)>>3, decimals)
	}
	first := min(bits.TrailingZeros64(x|1<<56)>>3, 7-decimals)
	x += zeroes
	point := sign + 8 - decimals - first
	binary.LittleEndian.PutUint64(p[sign:], x>>(8*first&63))
	if kept == 0 {
		return dst[:n+point]
	}
	p[point] = '.'
	binary.LittleEndian.PutUint64(p[point+1:], x>>(8*(8-decimals)&63))
	return dst[:n+point+1+kept]
}

const pairs = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

// AppendFixed appends x with at most the given decimals, trailing zeros left
// out unless pad is true, never an exponent. Reading the text back gives x to
// the bit: an x that is not on the grid of the decimals, which would not, is
// written with as many digits as it needs. decimals < 0 asks for that at once.
func AppendFixed(dst []byte, x float64, decimals int, pad bool) []byte {
	if decimals < 0 || decimals >= len(pow10) {
		return AppendShortest(dst, x)
	}
	scaled := x * pow10[decimals]
	if !(scaled > -1<<53 && scaled < 1<<53) {
		return AppendShortest(dst, x)
	}
	k := int64(scaled + math.Copysign(0.5, scaled))
	if float64(k)/pow10[decimals] != x || k == 0 && math.Signbit(x) {
		if x == 0 {
			return append(dst, '0') // -0 says nothing that 0 does not
		}
		return AppendShortest(dst, x)
	}
	if k > -1e8 && k < 1e8 && decimals < 8 {
		return appendEight(dst, k, decimals, pad)
	}
	return AppendScaled(dst, k, decimals, pad)
}

// AppendScaled appends k·10^-decimals.
func AppendScaled(dst []byte, k int64, decimals int, pad bool) []byte {
	if k > -1e8 && k < 1e8 && uint(decimals) < 8 {
		return appendEight(dst, k, decimals, pad)
	}
	u := uint64(k)
	if k < 0 {
		u = -u
		dst = append(dst, '-')
	}
	if !pad {
		for decimals > 0 && u%10 == 0 {
			u /= 10
			decimals--
		}
	}
	var buf [48]byte
	i := len(buf)
	for d := decimals; d > 0; d-- {
		i--
		buf[i] = byte('0' + u%10)
		u /= 10
	}
	if decimals > 0 {
		i--
		buf[i] = '.'
	}
	for u >= 100 {
		r := u % 100 * 2
		u /= 100
		i -= 2
		buf[i], buf[i+1] = pairs[r], pairs[r+1]
	}
	if u >= 10 {
		i -= 2
		buf[i], buf[i+1] = pairs[u*2], pairs[u*2+1]
	} else {
		i--
		buf[i] = byte('0' + u)
	}
	return append(dst, buf[i:]...)
}

// AppendShortest appends the shortest text that reads back as x, with an
// exponent only where the number would be very long without.
func AppendShortest(dst []byte, x float64) []byte {
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, x, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, x, 'f', -1, 64)
}

// AppendShortest32 is AppendShortest for a value that is a float32.
func AppendShortest32(dst []byte, x float32) []byte {
	if a := math.Abs(float64(x)); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, float64(x), 'e', -1, 32)
	}
	return strconv.AppendFloat(dst, float64(x), 'f', -1, 32)
}
