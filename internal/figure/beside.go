package figure

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Writing formats a number for people with the given number of additional digits, and
// returns the text and the number that the text represents.
type Writing func(v float64, more int) (text string, says float64)

// mostMore is a number of digits that distinguishes any two doubles.
const mostMore = 17

// Beside formats a value and the limit that it is compared with, with enough digits for
// the two texts to compare in the same way as the numbers: 5.04 % exceeds a limit of 5
// %, so it must not be shown as 5.0 % beside it.
func Beside(found, limit float64, value, bound Writing) (text, rule string) {
	for more := 0; ; more++ {
		a, x := value(found, more)
		b, y := bound(limit, more)
		if more == mostMore || cmp.Compare(x, y) == cmp.Compare(found, limit) {
			return a, b
		}
	}
}

// Estimated returns a Writing that uses Pretty with n significant digits.
func Estimated(n int) Writing {
	return func(v float64, more int) (string, float64) {
		return Pretty(v, n+more), parsedValue(Plain(v, n+more), v)
	}
}

// Counted formats a count with Amount, or with Pretty if more digits are needed.
func Counted(v float64, more int) (string, float64) {
	if more == 0 {
		text := Amount(v)
		return text, parsedValue(strings.ReplaceAll(text, "−", "-"), v)
	}
	return Estimated(RiskDigits)(v, more)
}

// Stated formats a number from a configuration with all digits that were written there.
func Stated(v float64, _ int) (string, float64) { return statedText(v), v }

// StatedShare formats a share from a configuration in per cent, with all its digits.
func StatedShare(v float64, _ int) (string, float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Pretty(v, Digits), v
	}
	return statedText(100*v) + "\u00a0%", v
}

func statedText(v float64) string {
	const digits = 15 // the digits of a decimal that a double preserves: 7 %, not 7.000000000000001 %
	if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 {
		return Pretty(v, Digits)
	}
	s := Pretty(v, digits)
	mantissa, power, raised := strings.Cut(s, "×")
	mantissa = trimZeros(mantissa)
	if raised {
		return mantissa + "×" + power
	}
	return mantissa
}

// Risking formats a share of which a greater value is worse. It rounds up, to one
// decimal of a per cent, or to two significant digits if that is more precise; 0 and 1
// have no decimals.
func Risking(v float64, more int) (string, float64) { return roundedShare(v, more, math.Ceil) }

// Remaining formats a share of which a smaller value is worse. It rounds down,
// otherwise like Risking.
func Remaining(v float64, more int) (string, float64) { return roundedShare(v, more, math.Floor) }

func roundedShare(v float64, more int, round func(float64) float64) (string, float64) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Pretty(v, Digits), v
	case v == 0 || v == 1:
		return Trimmed(100*v) + "\u00a0%", v
	}
	decimals := 1 + more
	if size := math.Abs(v); size < 0.01 {
		decimals = max(1, -int(math.Floor(math.Log10(size)))-1) + more
	}
	if decimals > 15 {
		return Pretty(100*v, 2+more) + "\u00a0%", v
	}
	unit := math.Pow10(decimals + 2)
	n := math.Round(v * unit)
	if math.Abs(n/unit-v) > 1e-15*math.Abs(v) { // otherwise v is the double nearest to this decimal
		n = round(v * unit)
	}
	if math.Abs(v) < 1e-5 {
		return Pretty(100*n/unit, 2+more) + "\u00a0%", n / unit
	}
	s := strconv.FormatFloat(n/math.Pow10(decimals), 'f', decimals, 64)
	if n == 0 {
		s = strings.TrimPrefix(s, "-")
	}
	return strings.ReplaceAll(s, "-", "−") + "\u00a0%", n / unit
}

// parsedValue returns the number that a text represents, without thousands separators, or v if
// the text is not a number.
func parsedValue(text string, v float64) float64 {
	mantissa, power, raised := strings.Cut(strings.ReplaceAll(text, ",", ""), "×10")
	if raised {
		mantissa += "e" + lowered.Replace(power)
	}
	if n, err := strconv.ParseFloat(mantissa, 64); err == nil {
		return n
	}
	return v
}

var lowered = strings.NewReplacer("⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4",
	"⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9", "⁻", "-")
