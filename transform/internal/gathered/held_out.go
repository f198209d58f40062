package gathered

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// HeldOut returns for each gathered record whether it is set aside; nil if none is.
func (g *Data) HeldOut(key keystream.Key, share float64) []bool {
	if share == 0 {
		return nil
	}
	held, draw := make([]bool, g.N), core.NewHeldDraw(key)
	u := make([]float64, core.Batch)
	for _, run := range g.runs {
		for from := 0; from < run.n; from += core.Batch {
			n := min(core.Batch, run.n-from)
			r := keystream.Records{Stream: run.stream, First: run.first + int64(from)}
			if run.places != nil {
				r.Places = run.places[from : from+n]
			}
			draw.Uniforms(u[:n], run.scope, r)
			for i, v := range u[:n] {
				held[run.from+from+i] = v < share
			}
		}
	}
	return held
}

// LearntFrom returns the records of rows that are not set aside.
func LearntFrom(rows []int32, held []bool) []int32 {
	if held == nil {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r int32) bool { return held[r] })
}

// SumWith returns a digest of the sum of the gathered data and of which records are set aside.
func SumWith(sum Digest, held []bool) Digest {
	if held == nil {
		return sum
	}
	list := make([]byte, 0, len(held))
	for _, h := range held {
		b := byte(0)
		if h {
			b = 1
		}
		list = append(list, b)
	}
	return sum.with(list)
}
