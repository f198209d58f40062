package racetest

import "testing"

func TestShortForm(t *testing.T) {
	for _, c := range []struct {
		race, ran string
		omits     bool
	}{
		{"", "alone further", false},
		{"long", "alone further", false},
		{"short", "", true},
	} {
		t.Run("RACE="+c.race, func(t *testing.T) {
			t.Setenv("RACE", c.race)
			ran := ""
			t.Run("alone", func(t *testing.T) { Alone(t); ran += "alone" })
			t.Run("further", func(t *testing.T) { Further(t); ran += " further" })
			if ran != c.ran {
				t.Errorf("%q ran, not %q", ran, c.ran)
			}
			if Omits(false) || Omits(true) != c.omits {
				t.Errorf("omits %v of the first and %v of further cases", Omits(false), Omits(true))
			}
		})
	}
}
