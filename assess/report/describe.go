package report

import (
	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// MaskOf describes a mask of the configuration; records is the number of records that it
// changed. sd returns the standard deviation of a column's original values, to which a
// percentage refers; NaN if it is not known.
func MaskOf(spec transform.Spec, records int64, sd func(column string) float64) Mask {
	m := Mask{Mask: spec.Kind(), Name: spec.Name, Records: records, Columns: spec.Params.Masks()}
	for _, p := range transform.ParametersOf(spec.Params) {
		m.Parameters = append(m.Parameters, Member[any]{p.Name, p.Value})
	}
	for _, c := range m.Columns {
		if a, ok := transform.ActionOf(spec.Params, c, sd(c)).(transform.Addition); ok {
			m.NoiseSD = append(m.NoiseSD, Member[assess.Float]{c, assess.Float(a.SD)})
		}
	}
	return m
}
