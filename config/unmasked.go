package config

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Judges reports whether a release passes the gate: whether the file has one.
func (g Gate) Judges() bool { return g.given || len(g.Rules) > 0 || g.AllowUnchanged != nil }

// validateUnmasked judges where a column may say that it is unmasked.
func (l *loader) validateUnmasked(p *Pipeline) {
	for _, c := range p.Columns {
		path := form.Join("columns", c.Name)
		if c.Unmasked && c.Role != microdata.Sensitive && c.Role != "" && l.Sound(path) {
			l.Wrong(path+".unmasked", "must be left out of a column that is not sensitive, got role %s", c.Role)
		}
	}
}

// masks reports whether a mask changes the column; one that leaves all values as they are does not, nor does one under
// which equal values stay equal and different ones different.
func (p *Pipeline) masks(column string) bool {
	for _, spec := range p.Masks {
		if spec.Params != nil && slices.Contains(spec.Params.Masks(), column) && !transform.LeavesAll(spec.Params) &&
			!transform.Renames([]transform.Spec{spec}, column) {
			return true
		}
	}
	return false
}

// CheckRelease reports what makes it impossible to release by this configuration,
// beyond what Load refuses: a sensitive column that no mask changes and that does
// not say that it may leave as it is. A profile, or a map that is to find the mask,
// can be made all the same.
func (p *Pipeline) CheckRelease() error {
	var errs Errors
	for _, c := range p.Columns {
		if c.Role == microdata.Sensitive && !c.Unmasked && !p.masks(c.Name) {
			errs = append(errs, p.Errorf(form.Join("columns", c.Name),
				"must be masked: the column is sensitive and no mask changes it; give it a mask, another role, or `unmasked: true` where it may leave as it is"))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}
