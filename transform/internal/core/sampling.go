package core

import "github.com/sdlfilter/sdlfilter/microdata"

// choosing is a step that leaves records out before any record is masked.
type choosing interface {
	Step
	// Choose leaves out records of the block.
	Choose(c *Chain, w *Work, b *microdata.Block) error
}

// LeavesOut reports whether a mask leaves records out of the release.
func LeavesOut(p Params) bool { return Declared(p).LeavesOut }
