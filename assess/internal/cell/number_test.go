package cell

import (
	"math"
	"testing"
)

// A reader sees the number in a text, with the separators of any country; a text of words, or with a short
// number as in a code, is a category.
func TestNumberIn(t *testing.T) {
	for text, want := range map[string]float64{
		"12": 12, "-1.5": -1.5, `"7"`: 7, "1e3": 1000, " 8 ": 8,
		"EUR 1234.50": 1234.5, "1234,50": 1234.5, "1,234.50": 1234.5, "1.234,50": 1234.5, "1'234.50 CHF": 1234.5,
		"1 234,50": 1234.5,
		"1,234":    1234, "1,234,567": 1234567, "1.234.567": 1234567, "1.234.567,8": 1234567.8, "$-123": -123, "12.5 %": 12.5,
		"12,5 %":              12.5,
		"12 months at 1234.5": 1234.5, "1234.5 for 12 months": 1234.5, "W123": 123, "123.": 123,
	} {
		if x, ok := numberIn(text); !ok || math.Abs(x-want) > 5e-10*math.Abs(want) {
			t.Errorf("%q: %v, %v; want %v", text, x, ok, want)
		}
	}
	for _, text := range []string{"", "-", "none", "r0", "j12", "1a2", "1-9", "12:30", "12345678901234567890x", "é", `"`} {
		if x, ok := numberIn(text); ok {
			t.Errorf("%q: %v", text, x)
		}
	}
	a, _ := numberIn("A123")
	b, _ := numberIn("B123")
	c, _ := numberIn("123B")
	if a == b || b == c || a == c {
		t.Errorf("texts with one number in other words: %v, %v, %v", a, b, c)
	}
}
