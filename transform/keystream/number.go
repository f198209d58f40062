package keystream

import (
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// integer appends an integer, given by magnitude and sign: as a number if a float64 equals it
// exactly, else as a decimal.
func (m message) integer(magnitude uint64, negative bool) message {
	if bits.Len64(magnitude)-bits.TrailingZeros64(magnitude) <= 53 {
		v := float64(magnitude)
		if negative {
			v = -v
		}
		return m.number(v)
	}
	return m.decimalText(strconv.FormatUint(magnitude, 10), negative, 0)
}

func (m message) signed(v int64) message {
	if v < 0 {
		return m.integer(-uint64(v), true)
	}
	return m.integer(uint64(v), false)
}

// maxExactDigits is the number of decimal digits that a float64 always distinguishes: two
// different decimals of up to so many digits, with the point anywhere, have different nearest
// float64s.
const (
	maxExactDigits = 15
	maxExactCoef   = 1_000_000_000_000_000
)

// powers of ten that are float64s
var tens = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// decimal appends coefficient·10^−scale. An integer is the same as in any integer
// type; a fraction of up to 15 digits is the same as the float64 that it is read
// as; all else is exact.
func (m message) decimal(coefficient int64, scale int32) message {
	for scale > 0 && coefficient%10 == 0 {
		coefficient /= 10
		scale--
		if coefficient == 0 {
			scale = 0
		}
	}
	switch {
	case scale == 0:
		return m.signed(coefficient)
	case scale > 0 && int(scale) < len(tens) && -maxExactCoef < coefficient && coefficient < maxExactCoef:
		// Both operands are exact, so the quotient is the nearest float64.
		return m.number(float64(coefficient) / tens[scale])
	}
	return m.bigDecimal(big.NewInt(coefficient), scale)
}

// bigDecimal is decimal for coefficients and scales of any size.
func (m message) bigDecimal(coefficient *big.Int, scale int32) message {
	negative := coefficient.Sign() < 0
	digits := strings.TrimPrefix(coefficient.String(), "-")
	exponent := -int(scale)
	if trimmed := strings.TrimRight(digits, "0"); trimmed == "" {
		return m.number(0)
	} else if trimmed != digits {
		exponent += len(digits) - len(trimmed)
		digits = trimmed
	}
	switch {
	case exponent > 400 || len(digits)+exponent < -300:
		// Beyond the normal float64s.
		return m.decimalText(digits, negative, exponent)
	case exponent < 0:
		if len(digits) > maxExactDigits {
			return m.decimalText(digits, negative, exponent)
		}
	default:
		v, _ := new(big.Int).SetString(digits+strings.Repeat("0", exponent), 10)
		if v.BitLen() > 1024 || v.BitLen()-int(v.TrailingZeroBits()) > 53 {
			return m.decimalText(digits, negative, exponent)
		}
	}
	v, err := strconv.ParseFloat(digits+"e"+strconv.Itoa(exponent), 64) // rounds to nearest
	if err != nil {
		panic("keystream: digits of a decimal within the range of float64 do not parse")
	}
	if negative {
		v = -v
	}
	return m.number(v)
}

// decimalText appends the canonical text of ±digits·10^exponent: digits without
// zeros at either end, and the exponent always.
func (m message) decimalText(digits string, negative bool, exponent int) message {
	if trimmed := strings.TrimRight(digits, "0"); trimmed != digits {
		exponent += len(digits) - len(trimmed)
		digits = trimmed
	}
	text := digits + "e" + strconv.Itoa(exponent)
	if negative {
		text = "-" + text
	}
	return m.text(tagDecimal, text)
}
