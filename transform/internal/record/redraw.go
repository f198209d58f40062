package record

import (
	"math"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// addWithin replaces the values x by y = (k_x + k_ε)/mult, where ε has the distribution of
// the noise given that y lies between the bounds, and marks those that changed. on are the
// values on the grid, u draws uniform on (0, 1).
//
// The result is distributed as if the noise were drawn again and again until y
// lands inside, rounding included: ε is drawn, by the inverse of its
// distribution function, within the bounds widened by half a step of the grid.
// Where the chance of landing inside is below 1e-300, or uniform noise cannot
// reach, the nearer bound is released.
func (c *NoiseColumn) addWithin(x, on, u []float64, changed microdata.Bitmap) {
	mult := c.Grid.Mult
	for i, old := range x {
		kx := float64(old * mult)
		if k := math.RoundToEven(kx); core.Exact(k) {
			kx = k
		}
		scale := c.Scale
		if len(c.above) > 0 {
			scale = c.scaleAt(on[i])
		}
		scale = float64(scale * mult)
		var ke float64
		if scale > 0 {
			a := (c.lower - 0.5 - kx) / scale
			b := (c.upper + 0.5 - kx) / scale
			ke = math.RoundToEven(float64(c.draw.Between(a, b, u[i]) * scale))
		}
		k := kx + ke
		if !(k >= c.lower) { // also where kx has left the range of a float64
			k = c.lower
		}
		if k > c.upper {
			k = c.upper
		}
		y := core.Finite((k + 0) / mult)
		x[i] = y
		if y != old {
			changed.Set(i)
		}
	}
}
