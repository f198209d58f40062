package assess

import (
	"math"
	"strconv"
)

// Coarse rounds a figure of n original values for readers who may have the release, and the same figure of data that
// differ by one respondent (last night's). A value x changes a sum of squares by about (x − x̄)², so the difference of
// two exact SDs is x, whatever noise it has in the release, and with four digits of 2,000 values an x of 20 SDs is
// known to 0.02 SDs. The result is a multiple of 1, 2 or 5 times a power of ten that is at least 2·scale/√n, about two
// standard errors. scale is the magnitude that the figure's error goes by: the figure itself for an SD, a variance and
// their ratios, the SD for a mean, 1 for a correlation. A figure with a scale of 0 is exact, and so is not a number,
// unless it is 0; infinite ones stay.
func Coarse(v, scale Float, n int64) Float {
	x, least := float64(v), 2*math.Abs(float64(scale))/math.Sqrt(float64(n))
	switch {
	case x == 0 || math.IsInf(x, 0):
		return v
	case n < 1 || !(least > 0) || math.IsInf(least, 1):
		return Float(math.NaN())
	}
	unit := math.Pow10(int(math.Floor(math.Log10(least))))
	step := 10 * unit
	for _, m := range []float64{5, 2, 1} {
		if m*unit >= least {
			step = m * unit
		}
	}
	// Without the digits that are errors of the last place.
	short, _ := strconv.ParseFloat(strconv.FormatFloat(math.Round(x/step)*step, 'g', 12, 64), 64)
	return Float(short)
}

// farOff is how many times the error of the typical record that of an order statistic may be without being a distance.
const farOff = 2

// TellsTarget reports whether the value of a target follows from its risk and the release: by the mean R is 1/(τ − ȳ)²;
// where nothing is drawn, or without replicates, it is 1/(τ − y)²; and where an error is much greater than that of the
// typical record it is mostly a distance too, as that of the greatest value from the bound at which it is cut.
func (c *ColumnMeasures) TellsTarget(k *Risk) bool {
	if k.Target == TargetTypical {
		return false
	}
	usual := math.NaN()
	for i := range c.Risk {
		if t := &c.Risk[i]; t.Target == TargetTypical && t.Knowledge == KnowledgeIndex {
			usual = float64(t.RMSE)
		}
	}
	r, realised := float64(k.R), float64(k.RealisedR)
	fixed := !math.IsInf(r, 1) && math.Abs(r-realised) < 1e-9*r
	return k.Knowledge == KnowledgeMean || k.Replicates == 0 || fixed || !(float64(k.RMSE) <= farOff*usual)
}
