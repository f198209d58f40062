package form

import (
	"math"
	"testing"
)

// Numbers as people write them, with an exponent where they are very small or great; they read back as they were.
func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.1: "0.1", -2.5: "-2.5", 1.0 / 3: "0.3333333333333333", 1e-6: "0.000001", 9.5e-7: "9.5e-07", -1e-7: "-1e-07",
		999_999_999_999_999: "999999999999999", 1e15: "1e+15", -1e15: "-1e+15", math.MaxFloat64: "1.7976931348623157e+308",
	} {
		if got := Number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := Plain("no number"); got != "no number" {
		t.Errorf("%q", got)
	}
}
