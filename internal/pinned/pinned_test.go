package pinned

import (
	"math"
	"slices"
	"testing"
)

func figures(a ...float64) *Figures {
	f := new(Figures)
	f.Add("one", a...)
	f.Add("two", math.NaN(), math.Inf(1), 0)
	return f
}

func TestDifferences(t *testing.T) {
	text := string(figures(1, 1e-9, 12345.678).text())
	for name, c := range map[string]struct {
		f    *Figures
		want []string
	}{
		"the same":     {figures(1, 1e-9, 12345.678), nil},
		"rounded":      {figures(1+1e-8, 1e-9, 12345.6781), nil},
		"the last":     {figures(1, 1e-9, 12345.69), []string{"one: number 2 is 12345.69, want 12345.678"}},
		"small":        {figures(1, 2e-9, 12345.678), []string{"one: number 1 is 2e-09, want 1e-09"}},
		"not a number": {figures(math.NaN(), 1e-9, 12345.678), []string{"one: number 0 is NaN, want 1"}},
		"fewer":        {figures(1, 1e-9), []string{"one: 2 numbers, want 3"}},
	} {
		if got := c.f.differences(text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	other := new(Figures)
	other.Add("two", math.NaN(), math.Inf(-1), 0)
	other.Add("three")
	if got, want := other.differences(text), []string{"one: is no longer there", "two: number 1 is -Inf, want +Inf", "three: is new"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
