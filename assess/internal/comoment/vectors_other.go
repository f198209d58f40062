//go:build purego || !amd64

package comoment

const vectors = false

func centreAVX2(u, has, x *[64]float64, marks uint64, centre float64) (finite bool) {
	panic("comoment: no vectors")
}

func sharedAVX2(ui, uj, hi, hj *float64, n int, s *shared) { panic("comoment: no vectors") }
