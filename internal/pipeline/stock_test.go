package pipeline

import (
	"runtime"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Passes over many columns have fewer blocks; the blocks that are kept from pass to pass are as many
// as for few columns.
func TestBlocksOfAPass(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	for columns, want := range map[int]int{1: 2*cores + 2, wideColumns: 2*cores + 2, wideColumns + 1: cores + 1} {
		if got := blocksFor(&microdata.Layout{Read: make([]microdata.Want, columns)}); got != want {
			t.Errorf("%d columns: %d blocks, want %d", columns, got, want)
		}
	}
	if s := NewStock(); len(s) != 2*cores+2 || cap(s) != len(s) {
		t.Errorf("%d blocks of %d", len(s), cap(s))
	}
}
