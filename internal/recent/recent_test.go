package recent

import "testing"

// Codes of one letter, of one length with different ends, and texts and their bytes.
func TestSlotsOfCodes(t *testing.T) {
	seen := map[uint8]string{}
	for _, code := range []string{"", "a", "b", "c", "10", "11", "12", "21", "north", "south", "east", "west", "011",
		"012", "013"} {
		s := Slot(code)
		if other, taken := seen[s]; taken {
			t.Errorf("%q and %q have one place", code, other)
		}
		if seen[s] = code; s != Slot([]byte(code)) {
			t.Errorf("%q has another slot as bytes", code)
		}
	}
	if Slot("a-long-text-x") != Slot("a-LONG-text-x") {
		t.Error("the middle of a text takes part")
	}
}
