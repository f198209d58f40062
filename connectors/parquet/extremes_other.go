//go:build purego || !amd64

package parquet

const vectors = false

func extremesAVX2(v *float64, n int) (lo, hi float64) { panic("parquet: no vectors") }
