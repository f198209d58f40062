package figure

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		v            float64
		plain, page  string
		trimmed, pct string
	}{
		{0, "0", "0", "0", "0.0\u00a0%"},
		{603.7346, "603.7", "603.7", "603.7", "60373.5\u00a0%"},
		{18777.2, "18,777", "18,777", "18,777", "1877720.0\u00a0%"},
		{9999.96, "10,000", "10,000", "10,000", "999996.0\u00a0%"},
		{0.99996, "1.000", "1.000", "1", "100.0\u00a0%"},
		{-7.5, "-7.500", "−7.500", "−7.5", "−750.0\u00a0%"},
		{4.0e-5, "4.000e-05", "4.000×10⁻⁵", "4×10⁻⁵", "0.0\u00a0%"},
		{0.00123456, "0.001235", "0.001235", "0.001235", "0.1\u00a0%"},
		{-0.0001, "-1.000e-04", "−1.000×10⁻⁴", "−1×10⁻⁴", "0.0\u00a0%"},
		{1234567890123, "1.235e+12", "1.235×10¹²", "1.235×10¹²", "123456789012300.0\u00a0%"},
		{100, "100.0", "100.0", "100", "10000.0\u00a0%"},
		{inf, "infinite", "∞", "∞", "∞"},
		{-inf, "-infinite", "-∞", "-∞", "-∞"},
		{nan, "–", "–", "–", "–"},
	} {
		if got := Plain(c.v, Digits); got != c.plain {
			t.Errorf("Plain(%v) = %q, want %q", c.v, got, c.plain)
		}
		if got := Pretty(c.v, Digits); got != c.page {
			t.Errorf("Pretty(%v) = %q, want %q", c.v, got, c.page)
		}
		if got := Trimmed(c.v); got != c.trimmed {
			t.Errorf("Trimmed(%v) = %q, want %q", c.v, got, c.trimmed)
		}
		if got := Percent(c.v); got != c.pct {
			t.Errorf("Percent(%v) = %q, want %q", c.v, got, c.pct)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -28155: "-28,155", 123456: "123,456",
		math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestRiskUnit(t *testing.T) {
	for unit, want := range map[string]string{"": "", "USD": "1/USD²", "USD/week": "1/(USD/week)²", "m²": "1/(m²)²"} {
		if got := RiskUnit(unit); got != want {
			t.Errorf("RiskUnit(%q) = %q, want %q", unit, got, want)
		}
	}
}
