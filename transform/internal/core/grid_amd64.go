//go:build !purego

package core

import "golang.org/x/sys/cpu"

// vectors says that the processor has the instructions of addAVX2 and snapAVX2.
var vectors = cpu.X86.HasAVX2

// addAVX2 is grid.addLoop of 64 values.
//
//go:noescape
func addAVX2(y, x, e *[64]float64, mult, scale, limit float64) (changed, slow uint64)

// snapAVX2 is grid.snapLoop of 64 values.
//
//go:noescape
func snapAVX2(on, x *[64]float64, mult, limit float64) (slow uint64)
