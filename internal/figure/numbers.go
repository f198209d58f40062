package figure

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Significant digits in text for people: of moments and utility, and of risks, whose
// Monte-Carlo error does not justify more.
const (
	Digits     = 4
	RiskDigits = 3
)

// Count formats a whole number with thousands separators: 28,155.
func Count(n int64) string {
	return separated(strconv.FormatInt(n, 10))
}

// separated inserts commas as thousands separators in a decimal number.
func separated(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, fraction, dotted := strings.Cut(s, ".")
	var b strings.Builder
	b.WriteString(sign)
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if dotted {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// Plain formats v for a terminal with n significant digits: 603.7, 18,777.2, 4.02e-05,
// infinite, –.
func Plain(v float64, n int) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.IsInf(v, 1):
		return "infinite"
	case math.IsInf(v, -1):
		return "-infinite"
	case v == 0:
		return "0"
	}
	// The exponent after rounding to n digits: 9999.7 has that of 10,000.
	s := strconv.FormatFloat(v, 'e', n-1, 64)
	exponent, err := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if err != nil || exponent < -3 || exponent >= 9 {
		return s
	}
	// Digits before the decimal point are never rounded away: 18,777 rather than
	// 18,780.
	return separated(strconv.FormatFloat(v, 'f', max(0, n-1-exponent), 64))
}

// Pretty formats like Plain, but for a page: with a typographic minus sign and
// 4.02×10⁻⁵.
func Pretty(v float64, n int) string {
	if math.IsInf(v, 0) {
		return strings.Replace(Plain(v, n), "infinite", "∞", 1)
	}
	s := Plain(v, n)
	if mantissa, exponent, ok := strings.Cut(s, "e"); ok {
		s = mantissa + "×10" + superscript(exponent)
	}
	return strings.ReplaceAll(s, "-", "−")
}

// Raised formats the powers of ten within a sentence like Pretty: R of max at most
// 4×10⁻⁵.
func Raised(sentence string) string {
	return powers.ReplaceAllStringFunc(sentence, func(s string) string {
		mantissa, exponent, _ := strings.Cut(s, "e")
		return mantissa + "×10" + superscript(exponent)
	})
}

// powers matches numbers such as 4.02e-05.
var powers = regexp.MustCompile(`\b\d+(\.\d+)?e[+-]\d{2,3}\b`)

// Trimmed formats like Pretty without trailing zeros of a fraction, for values that are
// not estimates: 50, not 50.00.
func Trimmed(v float64) string {
	s := Pretty(v, Digits)
	mantissa, power, raised := strings.Cut(s, "×")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if raised {
		return mantissa + "×" + power
	}
	return mantissa
}

var superscripts = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
	"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "-", "⁻")

// superscript formats an exponent such as "-05" as superscript, without padding.
func superscript(exponent string) string {
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return exponent
	}
	return superscripts.Replace(strconv.Itoa(n))
}

// Percent formats a share: 0.8891 is "88.9 %", with a no-break space.
func Percent(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Pretty(v, Digits)
	}
	s := strconv.FormatFloat(100*v, 'f', 1, 64)
	if s == "-0.0" {
		s = "0.0"
	}
	return strings.ReplaceAll(s, "-", "−") + "\u00a0%"
}

// RiskUnit returns the unit of R and U, 1/(unit)², or "" if the column has no unit.
func RiskUnit(unit string) string {
	switch {
	case unit == "":
		return ""
	case strings.ContainsAny(unit, "/ ·*²"):
		return "1/(" + unit + ")²"
	default:
		return "1/" + unit + "²"
	}
}
