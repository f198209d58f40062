//go:build purego || !amd64

package core

const vectors = false

func addAVX2(y, x, e *[64]float64, mult, scale, limit float64) (changed, slow uint64) {
	panic("transform: no vectors")
}

func snapAVX2(on, x *[64]float64, mult, limit float64) (slow uint64) {
	panic("transform: no vectors")
}
