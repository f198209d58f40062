package microdata

import "testing"

// Each record has one fate: in a block, in a sum, in a difference, and after a gate has held it back.
func TestCounts(t *testing.T) {
	var b Block
	b.Reset(0, 0, 100, 0)
	for row := range 30 {
		b.Reject(row, "", "malformed")
	}
	for row := 20; row < 45; row++ { // ten are rejected already
		b.LeaveOut(row)
	}
	c := b.Counts()
	if want := (Counts{Read: 100, Released: 55, Quarantined: 30, LeftOut: 15}); c != want || !c.Valid() {
		t.Fatalf("a block has %+v, want %+v", c, want)
	}
	held := c.HeldBack()
	if want := (Counts{Read: 100, Quarantined: 30, LeftOut: 15, Held: 55}); held != want || !held.Valid() {
		t.Errorf("held back: %+v, want %+v", held, want)
	}
	both := c.Plus(held)
	if want := (Counts{Read: 200, Released: 55, Quarantined: 60, LeftOut: 30, Held: 55}); both != want ||
		both.HeldBack().Held != 110 {
		t.Errorf("the sum is %+v, want %+v", both, want)
	}
	if both.Minus(held) != c || both.Minus(c) != held {
		t.Errorf("without one summand: %+v and %+v", both.Minus(held), both.Minus(c))
	}
	for _, wrong := range []Counts{
		{Read: 1}, {Released: 1}, {Quarantined: 1}, {LeftOut: 1}, {Held: 1}, {Read: 1, Released: 2, Quarantined: -1},
		{Read: 1, Quarantined: 2, Released: -1}, {Read: 1, Held: 2, LeftOut: -1}, {Read: 1, LeftOut: 2, Held: -1},
		{Read: -1, Released: -1},
	} {
		if wrong.Valid() {
			t.Errorf("%+v is valid", wrong)
		}
	}
}
