//go:build !purego

package comoment

import "golang.org/x/sys/cpu"

// vectors is whether the processor has the instructions of the functions below.
var vectors = cpu.X86.HasAVX2

// centreAVX2 is centreLoop of 64 values.
//
//go:noescape
func centreAVX2(u, has, x *[64]float64, marks uint64, centre float64) (finite bool)

// sharedAVX2 is sharedLoop of n values, n > 0 a multiple of four.
//
//go:noescape
func sharedAVX2(ui, uj, hi, hj *float64, n int, s *shared)
