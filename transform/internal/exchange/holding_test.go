package exchange

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/group"
)

// roomy returns a chain with so many bytes for what masks hold.
func roomy(t *testing.T, room int64, expected int64, masks ...core.Spec) *core.Chain {
	t.Helper()
	c := chain(t, testSetup(t, swapData(400, 7, 2, 3)...), masks...)
	c.Room = func() int64 { return room }
	c.Expect(expected)
	return c
}

// Masks that hold their columns are refused when there is no memory for them: with the first block if
// the number of records is known, else when they have as many as there is memory for. Two masks count
// together, in both orders, and the one that takes the most is named.
func TestWhatIsHeldFitsInMemory(t *testing.T) {
	columns := swapData(400, 7, 2, 3)
	p, k := 0.1, 3
	rank := mask(&RankSwap{Columns: []string{names(1)[0]}, P: &p})
	micro := mask(&group.Microaggregate{Columns: names(4)[3:], K: &k})
	const each = 24 + 30 // of a rank swap
	const both = each + 50 + 32
	for _, c := range []struct {
		what     string
		room     int64
		expected int64
		masks    []core.Spec
		first    bool // whether the first block passes
		second   bool
		named    string
	}{
		{"as many as fit", 400 * each, -1, []core.Spec{rank}, true, true, ""},
		{"one byte too few", 400*each - 1, -1, []core.Spec{rank}, true, false, "masks[0].rankswap"},
		{"as many as fit, known", 400 * each, 400, []core.Spec{rank}, true, true, ""},
		{"one byte too few, known", 400*each - 1, 400, []core.Spec{rank}, false, false, "masks[0].rankswap"},
		{"fewer expected than there are", 400*each - 1, 200, []core.Spec{rank}, true, false, "masks[0].rankswap"},
		{"two", 400 * both, -1, []core.Spec{rank, micro}, true, true, ""},
		{"two, one byte too few", 400*both - 1, -1, []core.Spec{rank, micro}, true, false, "masks[1].microaggregate"},
		{"two in the other order", 400*both - 1, -1, []core.Spec{micro, rank}, true, false, "masks[0].microaggregate"},
	} {
		chain := roomy(t, c.room, c.expected, c.masks...)
		first := chain.Survey(block(0, 200, columns...))
		if (first == nil) != c.first {
			t.Errorf("%s: the first block: %v", c.what, first)
		}
		if first != nil {
			wants(t, c.what, first, c.named)
			continue
		}
		second := chain.Survey(block(200, 400, columns...))
		if (second == nil) != c.second {
			t.Errorf("%s: the second block: %v", c.what, second)
		}
		if second != nil {
			wants(t, c.what, second, c.named+": holds its columns in memory")
		}
	}
}

// The bytes that a mask says it holds grow with the records, in the expected number as in those that it has.
func TestWhatIsHeldGrows(t *testing.T) {
	columns := swapData(400, 7, 2, 3)
	k := 3
	for _, m := range []core.Spec{mask(swapMask("random", "dataset", 1)), mask(&group.Suppress{Keys: names(2)[1:], K: &k}),
		mask(&Shuffle{Columns: names(1), On: names(2)[1:]})} {
		c := roomy(t, 1<<40, -1, m)
		h := c.Steps[0].(core.Surveying)
		none := h.Holds(0)
		if err := c.Survey(block(0, 400, columns...)); err != nil {
			t.Fatal(err)
		}
		some := h.Holds(0)
		_, kept := h.(*datasetSwap)
		if none >= some || h.Holds(400) != some || h.Holds(401) > some == kept {
			t.Errorf("%s: %d bytes of no record, %d of 400, %d of 401 expected", m.Kind(), none, some, h.Holds(401))
		}
		c.Room = func() int64 { return some - 1 }
		if err := c.Fits(); err == nil || !strings.Contains(err.Error(), m.Kind()) {
			t.Errorf("%s with a byte too few: %v", m.Kind(), err)
		}
	}
}
