package postgres

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// numeric is a value of the type numeric as the wire has it: digits to the base 10000, the
// first of them times 10000^weight.
type numeric struct {
	negative bool
	special  uint16 // numericNaN and its like; 0: a number
	weight   int
	digits   []uint16
}

const (
	numericNegative  = 0x4000
	numericNaN       = 0xC000
	numericInfinity  = 0xD000
	numericNInfinity = 0xF000
	numericBase      = 10000
)

// parseNumeric reads a value; ok is false if it is invalid.
func parseNumeric(v []byte) (n numeric, ok bool) {
	if len(v) < 8 {
		return n, false
	}
	count, sign := int(binary.BigEndian.Uint16(v)), binary.BigEndian.Uint16(v[4:])
	n.weight = int(int16(binary.BigEndian.Uint16(v[2:])))
	switch sign {
	case 0:
	case numericNegative:
		n.negative = true
	case numericNaN, numericInfinity, numericNInfinity:
		n.special = sign
		return n, true
	default:
		return n, false
	}
	if len(v) != 8+2*count {
		return n, false
	}
	n.digits = make([]uint16, count)
	for i := range n.digits {
		n.digits[i] = binary.BigEndian.Uint16(v[8+2*i:])
		if n.digits[i] >= numericBase {
			return n, false
		}
	}
	for len(n.digits) > 0 && n.digits[len(n.digits)-1] == 0 {
		n.digits = n.digits[:len(n.digits)-1]
	}
	for len(n.digits) > 0 && n.digits[0] == 0 {
		n.digits, n.weight = n.digits[1:], n.weight-1
	}
	return n, true
}

// float is NaN or an infinity.
func (n numeric) float() float64 {
	switch n.special {
	case numericInfinity:
		return math.Inf(1)
	case numericNInfinity:
		return math.Inf(-1)
	}
	return math.NaN()
}

// exponent is the power of ten of the last digit's unit, times 10^scale.
func (n numeric) exponent(scale int32) int {
	return 4*(n.weight-len(n.digits)+1) + int(scale)
}

// small is unscaled for values of up to 18 digits, where it is one.
func (n numeric) small(scale int32) (u int64, ok bool) {
	e := n.exponent(scale)
	if len(n.digits) > 4 || e < -3 || e > 2 {
		if len(n.digits) == 0 {
			return 0, true
		}
		return 0, false
	}
	for _, d := range n.digits {
		u = u*numericBase + int64(d)
	}
	for ; e > 0; e-- {
		u *= 10
	}
	for ; e < 0; e++ {
		if u%10 != 0 {
			return 0, false
		}
		u /= 10
	}
	if n.negative {
		u = -u
	}
	return u, true
}

// unscaled is the value times 10^scale; ok is false if that is not an integer.
func (n numeric) unscaled(scale int32) (u *big.Int, ok bool) {
	u = new(big.Int)
	for _, d := range n.digits {
		u.Add(u.Mul(u, big.NewInt(numericBase)), big.NewInt(int64(d)))
	}
	e := n.exponent(scale)
	switch {
	case len(n.digits) == 0:
	case e > 200 || e < -200_000:
		return nil, false // far beyond any decimal
	case e >= 0:
		u.Mul(u, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e)), nil))
	default:
		var rest big.Int
		if u.QuoRem(u, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-e)), nil), &rest); rest.Sign() != 0 {
			return nil, false
		}
	}
	if n.negative {
		u.Neg(u)
	}
	return u, true
}

// text is the shortest decimal form of a number, without an exponent.
func (n numeric) text() string {
	if len(n.digits) == 0 {
		return "0"
	}
	var whole, part strings.Builder
	for w := n.weight; w >= 0; w-- {
		group := n.group(w)
		if whole.Len() == 0 {
			whole.WriteString(strconv.Itoa(group))
		} else {
			whole.WriteString(pad(group))
		}
	}
	for w := -1; w > n.weight-len(n.digits); w-- {
		part.WriteString(pad(n.group(w)))
	}
	out := whole.String()
	if out == "" {
		out = "0"
	}
	if p := strings.TrimRight(part.String(), "0"); p != "" {
		out += "." + p
	}
	if n.negative {
		out = "-" + out
	}
	return out
}

// group is the digit that stands before 10000^w.
func (n numeric) group(w int) int {
	if i := n.weight - w; i >= 0 && i < len(n.digits) {
		return int(n.digits[i])
	}
	return 0
}

func pad(group int) string {
	s := strconv.Itoa(group)
	return "0000"[len(s):] + s
}

// appendNumeric writes u/10^scale as the wire has it.
func appendNumeric(dst []byte, u *big.Int, scale int32) []byte {
	digits := new(big.Int).Abs(u).String()
	if scale < 0 {
		digits += strings.Repeat("0", int(-scale))
		scale = 0
	}
	if short := int(scale) - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	whole, part := digits[:len(digits)-int(scale)], digits[len(digits)-int(scale):]
	whole = strings.Repeat("0", (4-len(whole)%4)%4) + whole
	part += strings.Repeat("0", (4-len(part)%4)%4)
	weight := len(whole)/4 - 1
	all := whole + part
	for strings.HasPrefix(all, "0000") {
		all, weight = all[4:], weight-1
	}
	for strings.HasSuffix(all, "0000") {
		all = all[:len(all)-4]
	}
	if all == "" {
		weight = 0
	}
	sign := uint16(0)
	if u.Sign() < 0 {
		sign = numericNegative
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(8+len(all)/2))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(all)/4))
	dst = binary.BigEndian.AppendUint16(dst, uint16(weight))
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = binary.BigEndian.AppendUint16(dst, uint16(scale))
	for i := 0; i < len(all); i += 4 {
		group, _ := strconv.Atoi(all[i : i+4]) // digits alone
		dst = binary.BigEndian.AppendUint16(dst, uint16(group))
	}
	return dst
}
