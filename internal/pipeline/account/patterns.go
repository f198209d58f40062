package account

import (
	"strconv"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Check returns an error if the records show that the masks cannot be meant so, whatever the gate says: before anything
// is judged.
func (r *Reporter) Check() error {
	if err := r.CheckPatterns(); err != nil {
		return err
	}
	part := r.Config.Shard
	if part == nil || !*part || r.Config.Place != nil || r.Chain == nil {
		return nil
	}
	if n := r.effect().Unidentified; n > 0 {
		return config.Errors{
			r.Config.Errorf("shard",
				"must not be true if records have neither identity nor place: %d have no value in their identity columns, and each run would mask them with the random draws of its own first records; name the columns of their places (place)", n)}
	}
	return nil
}

// CheckPatterns returns an error if a pattern of a recoding has matched no value: what it was meant for has become what
// others become. A run over a part of the records (shard: true) cannot know.
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
	return "the pattern " + strconv.Quote(u.Category) + " matches no value of column " + u.Column +
		", or only values that others match more closely"
}
