package config

import (
	"fmt"
	"reflect"

	"github.com/sdlfilter/sdlfilter/transform"
)

// validateSamples demands that the strategies of a map leave out the records that the
// pipeline leaves out: all points are of the same records.
func (l *loader) validateSamples(p *Pipeline) {
	own := sampleOf(p.Masks)
	for i, s := range p.Map.Strategies {
		path := fmt.Sprintf("map.strategies[%d].masks", i)
		if !l.Sound(path, "masks") || reflect.DeepEqual(sampleOf(s.Masks), own) {
			continue
		}
		if own == nil {
			l.Wrong(path, "must not begin with a sample where the pipeline's own masks do not: all points of a map are of the same records")
		} else {
			l.Wrong(path, "must begin with the sample of the pipeline's own masks, with the same name and parameters: all points of a map are of the same records")
		}
	}
}

// sampleOf is the mask at the head of a list that leaves records out, under the label that
// its draws follow from; nil where there is none.
func sampleOf(masks []transform.Spec) *transform.Spec {
	if len(masks) == 0 || masks[0].Params == nil || !transform.LeavesOut(masks[0].Params) {
		return nil
	}
	return &transform.Spec{Name: transform.Label(masks, 0), Params: masks[0].Params}
}
