package transform

import "github.com/sdlfilter/sdlfilter/microdata"

// choosing is a step that leaves records out before any record is masked.
type choosing interface {
	step
	// choose leaves out records of the block.
	choose(c *Chain, w *work, b *microdata.Block) error
}

// LeavesOut reports whether a mask leaves records out of the release.
func LeavesOut(p Params) bool { return declared(p).LeavesOut }
