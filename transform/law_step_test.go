package transform

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// The step of a law is the greater of the draw's grid and the distance of the value to the next
// one, also near the ends of the range, where the second is not computed.
func TestStepOfLaw(t *testing.T) {
	mults := []float64{1e-300, 0x1p-110, 1e-9, 0.25, 1, 100, 1e7, 0x1p124, 0x1p125, 0x1p126, 1e300}
	for _, single := range []bool{false, true} {
		l := &Law{Column: &core.Column{Float32: single}}
		for _, mult := range mults {
			r := &core.Spread{Grid: core.Grid{Mult: mult}}
			for _, scale := range []float64{0, 1e-320, 0x1p-60, 1, 0x1p21, 0x1p22, 0x1p23, 0x1p24, 0x1p25, 0x1p51, 0x1p52,
				0x1p53, 0x1p60, math.Inf(1)} {
				edge := scale / mult
				for _, v := range []float64{edge, -edge, math.Nextafter(edge, 0), math.Nextafter(edge, math.Inf(1)), 1.5 * edge} {
					if got, want := r.Step(l, v), max(1/mult, l.Unit(v)); got != want && (got == got || want == want) {
						t.Errorf("float32 %v, steps of %v, at %v: %v, want %v", single, 1/mult, v, got, want)
					}
				}
			}
		}
	}
}
