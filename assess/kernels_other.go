//go:build purego || !amd64

package assess

const vectors = false

func plainAVX2(x, y *float64, n int, lo, hi, low, high float64, squares *[2]float64) (pieces uint64, same int) {
	panic("assess: no vectors")
}

func pairsAVX2(x, y *[64]float64, inX, inY uint64, lo, hi, low, high float64, s *pairSums) (same uint64, beyond bool) {
	panic("assess: no vectors")
}
