package config

import (
	"reflect"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform"
)

// validateSamples refuses what a map cannot do if its points are of different samples of the records: if an
// axis is a rate, or if strategies differ in their sample.
func (l *loader) validateSamples(p *Pipeline, variants []variant) {
	var first *transform.Spec
	differ := false
	for i, v := range variants {
		sample := transform.SampleOf(v.masks)
		if i == 0 {
			first = sample
		}
		differ = differ || !reflect.DeepEqual(sample, first) || slices.ContainsFunc(v.axes, axis.leavesOut)
		if p.Map.Search && len(v.axes) > 0 && v.axes[0].leavesOut() && l.Sound("map.search") {
			l.Wrong("map.search",
				"seeks the boundary along the first axis of %q, which must not be %s: give another parameter before it", v.name,
				v.axes[0])
		}
	}
	if !differ {
		return
	}
	if len(p.Map.Categories) > 0 {
		l.Wrong("map.categories",
			"must not be given if the points have different samples: U of categories is measured per released record and ignores the records that are left out; draw a map for each sample")
	}
	if len(p.Map.By) > 0 {
		l.Wrong("map.by",
			"must not be given if the points have different samples: utility by group is comparable only within one sample; draw a map for each sample")
	}
}
