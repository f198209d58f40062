package pipeline

import (
	"math"
	"slices"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Correlations returns the correlations that masks need, after Settle.
func (pl *Plan) Correlations() transform.Correlations { return pl.correlations }

// SetCorrelations sets correlations that were computed before.
func (pl *Plan) SetCorrelations(c transform.Correlations) { pl.correlations = c }

// settleCorrelations takes the correlations that masks need from the profile file. It returns
// the columns whose correlations are still unknown. If the file lacks one of a mask's columns,
// all columns of that mask are returned: one pass then finds all of their covariances.
func (pl *Plan) settleCorrelations(known *assess.Profile, open []string) []string {
	for _, m := range pl.Config.Masks {
		columns := transform.NeedsCorrelations(m.Params)
		if pl.correlate(known, columns) {
			continue
		}
		for _, name := range columns {
			if !slices.Contains(open, name) {
				open = append(open, name)
			}
		}
	}
	return open
}

// takeCorrelations takes the correlations that masks need from the profile of a pass.
func (pl *Plan) takeCorrelations(profile *assess.Profile) {
	for _, m := range pl.Config.Masks {
		pl.correlate(profile, transform.NeedsCorrelations(m.Params))
	}
}

// warnOfDetermined logs the columns for which a mask with correlated noise is weak: for an
// intruder who knows the mask's other columns, less than a quarter of the noise's standard
// deviation remains.
func (pl *Plan) warnOfDetermined(log zerolog.Logger) {
	for i, m := range pl.Config.Masks {
		columns := transform.NeedsCorrelations(m.Params)
		for _, name := range columns {
			if transform.NoiseLeft(pl.correlations, columns, name) < 0.25 {
				log.Warn().Str("column", name).Str("mask", transform.Label(pl.Config.Masks, i)).
					Msg(
						"the other columns of the mask nearly determine this one, and their noise nearly determines its noise: an intruder who knows their values of a record knows this value to within a quarter of λ; if they do not reveal it without the release, give this column noise of its own")
			}
		}
	}
}

// correlate takes the correlations of columns from a profile; false if it lacks one. The
// correlation is 0 if a column has one value only, or if no record has values of both columns.
func (pl *Plan) correlate(profile *assess.Profile, columns []string) bool {
	of := make([]int, len(columns))
	for i, name := range columns {
		of[i] = slices.IndexFunc(profile.Columns, func(c assess.ColumnProfile) bool { return c.Name == name })
		if of[i] < 0 {
			return false
		}
	}
	for i, a := range columns {
		for k, b := range columns[:i] {
			pair := [2]string{min(a, b), max(a, b)}
			if _, taken := pl.correlations[pair]; taken {
				continue
			}
			if pl.correlations == nil {
				pl.correlations = transform.Correlations{}
			}
			r := profile.Covariance[of[i]][of[k]] / profile.Columns[of[i]].SD / profile.Columns[of[k]].SD
			if r != r || math.IsInf(r, 0) {
				r = 0
			}
			pl.correlations[pair] = stable(min(1, max(-1, r)))
		}
	}
	return true
}
