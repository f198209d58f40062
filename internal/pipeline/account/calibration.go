package account

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/transform"
)

// calibration returns how mask i calibrated weights; nil if it does something else.
func (r *Reporter) calibration(i int) *report.Calibration {
	if r.Chain == nil {
		return nil
	}
	c := transform.CalibratedBy(r.Chain, i)
	if c == nil {
		return nil
	}
	return &report.Calibration{
		Records: c.Records, Iterations: c.Iterations, Gap: assess.Float(c.Gap), Least: assess.Float(c.Least),
		Greatest: assess.Float(c.Greatest),
		AtLower:  c.AtLower, AtUpper: c.AtUpper, Before: assess.Float(c.DesignBefore), After: assess.Float(c.DesignAfter),
		Alone: c.Alone,
	}
}

// roughGap is the relative error of a margin from which on the rounding of weights is said.
const roughGap = 0.001

// calibrationWarnings says what calibrated weights tell, and where their rounding misses margins.
func (r *Reporter) calibrationWarnings() (list []string) {
	for i := range r.Config.Masks {
		c := r.calibration(i)
		if c == nil || c.Records == 0 {
			continue
		}
		path := r.Plan.MaskPath(i)
		if c.Alone > 0 {
			list = append(list,
				fmt.Sprintf(
					"%s: %d of %d released weights are each those of one record, and no risk of weights is measured: whoever knows the weight before, the margins and the released columns can compute it; round the weights in front of the filter, or leave them out, where that matters", path, c.Alone, c.Records))
		}
		if float64(c.Gap) > roughGap {
			list = append(list,
				fmt.Sprintf(
					"%s: rounded to the column's decimals, the weights miss a margin by %.2g %%; give the column more decimals", path,
					100*float64(c.Gap)))
		}
		if n := c.AtLower + c.AtUpper; n > 0 {
			list = append(list, fmt.Sprintf("%s: %d of %d factors are at their bounds", path, n, c.Records))
		}
	}
	return list
}
