package account

import (
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// unaltered are the masked columns of texts of which a whole release has every value as it was. Suppression
// is to leave them so where no combination is rare. Of a stream, which has no end, it is not told.
func (r *Reporter) unaltered() []string {
	if r.Interim || r.Config.Streaming() {
		return nil
	}
	return slices.DeleteFunc(r.Chain.Unaltered(), func(name string) bool {
		return slices.ContainsFunc(r.Config.Masks, func(m transform.Spec) bool {
			_, spares := transform.ActionOf(m.Params, name, math.NaN()).(transform.Suppression)
			return spares && slices.Contains(m.Params.Masks(), name)
		})
	})
}

// judgeUnaltered refuses a release whose masks have left every value of a sensitive column of texts as it is, by
// chance or as there was nothing to do, as the law of the masks does for numbers.
func judgeUnaltered(v *assess.Verdict, p *config.Pipeline, unaltered []string) {
	if !p.Gate.Judges() {
		return
	}
	limit := 0.0
	if p.Gate.AllowUnchanged != nil {
		limit = *p.Gate.AllowUnchanged
	}
	for _, name := range unaltered {
		if c := p.Columns.Named(name); c == nil || c.Role != microdata.Sensitive || limit >= 1 {
			continue
		}
		v.Passed = false
		v.Rules = append(v.Rules, assess.RuleVerdict{
			Column: name, Measure: "max_unchanged", Limit: assess.Float(limit), Found: 1,
			Rule:   name + ": not all released values equal to the original",
			Advice: "the masks must change some: a smaller probability to keep a category (pram), a greater rate (swap), or coarser categories (recode); or allow it (gate.allow_unchanged: 1)",
		})
	}
}

func unalteredWarning(name string) string {
	return fmt.Sprintf("%s: all of its released values are the original: its masks have left each as it is", name)
}
