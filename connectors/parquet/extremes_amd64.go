//go:build !purego

package parquet

import "golang.org/x/sys/cpu"

// vectors is whether the processor has the instructions of extremesAVX2.
var vectors = cpu.X86.HasAVX2

// extremesAVX2 is extremesLoop of n values, n > 0 a multiple of 16.
//
//go:noescape
func extremesAVX2(v *float64, n int) (lo, hi float64)
