package rumap

import "testing"

// Of what the recommended point was tried on is said what was done, and no more.
func TestTried(t *testing.T) {
	for _, c := range []struct {
		heldBack int
		asRun    bool
		want     int
	}{{0, false, 0}, {1, false, 1}, {0, true, 1}, {7, true, 2}} {
		m := &Map{Recommended: &Recommended{HeldBack: c.heldBack, AsRun: c.asRun}}
		if got := m.Tried(); len(got) != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
