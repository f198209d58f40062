package figure

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Writing writes a number for people with so many more digits than usual, and returns
// what the text says as a number.
type Writing func(v float64, more int) (text string, says float64)

// mostMore digits tell any two doubles apart.
const mostMore = 17

// Beside writes what was found and the limit that it is held against, with as many
// digits as it takes for the texts to stand to each other as the numbers do: 5.04 % is
// not within a limit of 5 %, so it may not read 5.0 % beside it.
func Beside(found, limit float64, value, bound Writing) (text, rule string) {
	for more := 0; ; more++ {
		a, x := value(found, more)
		b, y := bound(limit, more)
		if more == mostMore || cmp.Compare(x, y) == cmp.Compare(found, limit) {
			return a, b
		}
	}
}

// Estimated is Pretty with n significant digits.
func Estimated(n int) Writing {
	return func(v float64, more int) (string, float64) {
		return Pretty(v, n+more), says(Plain(v, n+more), v)
	}
}

// Counted is Amount, and Pretty where that does not tell.
func Counted(v float64, more int) (string, float64) {
	if more == 0 {
		text := Amount(v)
		return text, says(strings.ReplaceAll(text, "−", "-"), v)
	}
	return Estimated(RiskDigits)(v, more)
}

// Stated is a number as whoever stated it wrote it, of whatever length.
func Stated(v float64, _ int) (string, float64) { return statedText(v), v }

// StatedShare is a share as whoever stated it would write it in per cent.
func StatedShare(v float64, _ int) (string, float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Pretty(v, Digits), v
	}
	return statedText(100*v) + "\u00a0%", v
}

func statedText(v float64) string {
	const digits = 15 // as many as a decimal keeps in a double: 7 %, not 7.000000000000001 %
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

// Risking is a share of which more is worse: it is rounded up, to one decimal of a per
// cent, or to two digits where that is more, and none and all have no decimals.
func Risking(v float64, more int) (string, float64) { return roundedShare(v, more, math.Ceil) }

// Remaining is a share of which less is worse: it is rounded down, else as Risking.
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
	if math.Abs(n/unit-v) > 1e-15*math.Abs(v) { // else it is that decimal, as near as a double can be
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

// says is the number in a text without its thousands, or v where there is none.
func says(text string, v float64) float64 {
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
