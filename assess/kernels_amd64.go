//go:build !purego

package assess

import "golang.org/x/sys/cpu"

// vectors is whether the processor has the instructions of the functions below.
var vectors = cpu.X86.HasAVX2

// plainAVX2 is plainLoop of n pairs, n > 0 a multiple of pieceLength and no more than a run, without
// the sums of x and y.
//
//go:noescape
func plainAVX2(x, y *float64, n int, lo, hi, low, high float64, squares *[2]float64) (pieces uint64, same int)

// pairsAVX2 is pairSums.addLoop of 64 pairs.
//
//go:noescape
func pairsAVX2(x, y *[64]float64, inX, inY uint64, lo, hi, low, high float64, s *pairSums) (same uint64, beyond bool)
