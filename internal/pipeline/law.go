package pipeline

import (
	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// lawOf gives the assessment the laws that a chain has of columns.
func lawOf(chain *transform.Chain) func(column string) assess.Law {
	return func(column string) assess.Law {
		if law, ok := chain.Law(column); ok {
			return law
		}
		return nil
	}
}
