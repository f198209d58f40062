package gathered

import (
	"testing"
)

// Sets of records are forgotten, the oldest first, when those beside the last one have more values than are kept.
func TestOldSetsAreForgotten(t *testing.T) {
	f, found := &Fits{}, 0
	of := func(set byte, cells int) {
		key := FitKey{Of: Digest{set}}
		f.Begin(key.Of, cells)
		if got := Once(f, key, nil, func() byte { found++; return set }); got != set {
			t.Fatalf("set %d has what was found of %d", set, got)
		}
	}
	for _, turn := range []struct {
		set   byte
		cells int
		found int // in all
	}{{1, cachedCells / 2, 1}, {2, cachedCells / 2, 2}, {1, cachedCells / 2, 2}, {3, 1, 3}, {1, cachedCells / 2, 3},
		{4, 1, 4}, {2, cachedCells / 2, 4}, {1, cachedCells / 2, 5}} {
		if of(turn.set, turn.cells); found != turn.found {
			t.Errorf("after set %d %d sets were looked at, want %d", turn.set, found, turn.found)
		}
	}
	stopped := FitKey{Of: Digest{9}}
	for range 2 {
		Once(f, stopped, func() bool { return true }, func() byte { found++; return 9 })
	}
	if found != 7 {
		t.Errorf("an unfinished result is kept")
	}
}
