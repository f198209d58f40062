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

// unaltered returns the masked text columns whose released values are all equal to the original. Columns
// of suppression are omitted, which changes nothing if no combination is rare; so are streams and snapshots.
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

// judgeUnaltered fails a release in which all values of a sensitive text column are equal to the original, be it
// by chance or because the masks had nothing to change. For numeric columns the law of the masks decides this.
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
