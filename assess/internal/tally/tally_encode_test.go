package tally

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
)

// Encoded bins are in order, each once and not empty, and their counts match the number of values.
// A claimed length allocates no memory before the bytes exist.
func TestDecodingTallies(t *testing.T) {
	for name, c := range map[string]struct {
		seen, bins uint64
		shorts     []uint64 // step and count of each bin
		ok         bool
	}{
		"two bins":                {3, 2, []uint64{5, 1, 3, 2}, true},
		"bin 0":                   {1, 1, []uint64{0, 1}, true},
		"of a long stream":        {2, 1, []uint64{7, 2 * rare}, true},
		"a bin twice":             {3, 2, []uint64{5, 1, 0, 2}, false},
		"an empty bin":            {1, 2, []uint64{5, 1, 3, 0}, false},
		"more seen than counted":  {4, 2, []uint64{5, 1, 3, 2}, false},
		"more counted than seen":  {2, 1, []uint64{7, 3 * rare}, false},
		"counts that overflow":    {3, 2, []uint64{5, 1, 3, 1 << 63}, false},
		"a bin beyond the last":   {1, 1, []uint64{1 << (12 + pageBits), 1}, false},
		"infinity":                {1, 1, []uint64{0x7ff << pageBits, 1}, false},
		"more bins than bytes":    {3, 1 << 60, []uint64{5, 1, 3, 2}, false},
		"fewer bins than claimed": {3, 3, []uint64{5, 1, 3, 2}, false},
	} {
		var e wire.Encoder
		e.Uint(c.seen)
		e.Uint(c.bins)
		for _, v := range c.shorts {
			e.Short(v)
		}
		d := wire.Decoder{Rest: e}
		var tally Tally
		tally.decode(&d)
		if ok := !d.Failed && len(d.Rest) == 0; ok != c.ok {
			t.Errorf("%s: accepted is %v", name, ok)
		}
	}
}
