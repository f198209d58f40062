package filejob

import (
	"strconv"

	"github.com/sdlfilter/sdlfilter/config"
)

// checkPatterns returns an error if a pattern of a recoding has matched no value: what it was meant for has become what others become. A run over a
// part of the records cannot know.
func (r *run) checkPatterns() error {
	if shard := r.config.Shard; shard != nil && *shard {
		return nil
	}
	var problems config.Errors
	for _, u := range r.masked.Chain.Unmatched() {
		if u.Pattern {
			field := "map"
			if u.File {
				field = "file"
			}
			problems = append(problems, r.config.Errorf(r.plan.MaskPath(u.Mask)+"."+field, "the pattern %s matches no value of column %s, or only values that others match more closely", strconv.Quote(u.Category), u.Column))
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}
