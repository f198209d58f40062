package account

import (
	"strconv"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/transform"
)

// CheckPatterns returns an error if a pattern of a recoding has matched no value: what it was meant for has become what others become. A run over a
// part of the records (shard: true) cannot know.
func (r *Reporter) CheckPatterns() error {
	if part := r.Config.Shard; part != nil && *part {
		return nil
	}
	var problems config.Errors
	for _, u := range r.vain() {
		field := "map"
		if u.File {
			field = "file"
		}
		problems = append(problems, r.Config.Errorf(r.Plan.MaskPath(u.Mask)+"."+field, "%s", patternInVain(u)))
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// Vain says which patterns have matched no value.
func (r *Reporter) Vain() (words []string) {
	for _, u := range r.vain() {
		words = append(words, r.Plan.MaskPath(u.Mask)+": "+patternInVain(u))
	}
	return words
}

// vain returns the patterns that have matched no value.
func (r *Reporter) vain() (list []transform.Unmatched) {
	if r.Chain == nil {
		return nil
	}
	for _, u := range r.Chain.Unmatched(r.effect().Listed) {
		if u.Pattern {
			list = append(list, u)
		}
	}
	return list
}

func patternInVain(u transform.Unmatched) string {
	return "the pattern " + strconv.Quote(u.Category) + " matches no value of column " + u.Column + ", or only values that others match more closely"
}
