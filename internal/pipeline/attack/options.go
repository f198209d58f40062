package attack

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// optionsOf returns the parts of the attack that the configuration asks for. If it names no
// part, these are linkage and uniqueness, as far as there are keys for them.
func optionsOf(pl *pipeline.Plan, d *attack.Data) (attack.Options, error) {
	in := pl.Config.Assess.Intruder
	if in == nil {
		in = &config.Intruder{Targets: 1000}
	}
	o := attack.Options{Targets: in.Targets, Intervals: in.Interval}
	all := !in.Named()
	if l := in.Linkage; l != nil {
		o.Linkage = &attack.Linkage{OneToOne: l.OneToOne}
		if err := o.Linkage.Distance.UnmarshalText([]byte(l.Distance)); err != nil {
			return o, fmt.Errorf("assess.intruder.linkage.distance: %w", err)
		}
	} else if all && len(d.Linked) > 0 {
		o.Linkage = &attack.Linkage{}
	}
	if u := in.Uniqueness; u != nil || all && len(d.Counted) > 0 {
		options := defaultUniqueness()
		options.Subsets, options.Limits = pl.Subsets(), limitsOfK(pl.Config.Gate.Rules)
		if u == nil && pl.Config.Assess.KeysByRole() && len(d.Counted) > pipeline.MostForSUDA2 {
			options.SUDA2 = nil // not requested, and slow with so many keys
		}
		if u != nil {
			options.Alpha, options.K = u.Alpha, u.K
			if !u.SUDA2 {
				options.SUDA2 = nil
			}
			if !u.Approximate {
				options.Estimator = uniqueness.Exact
			}
		}
		o.Uniqueness, o.Categories = options, true
	}
	if of := in.Population; of != nil {
		o.Population = &attack.Population{Model: of.Fit(), Formula: pl.Population(of), Linear: of.Linear,
			Size: float64(of.Size)}
	}
	if in.Bayes != nil {
		bayes, err := bayesOf(pl, in.Bayes, d)
		if err != nil {
			return o, err
		}
		o.Bayes = bayes
	}
	if u := in.Utility; u != nil {
		o.Loss, o.Models = &loss.Options{}, u.LinearModels()
		if u.Propensity {
			o.Loss.Propensity = &loss.PropensityOptions{}
		}
		for _, r := range u.Regressions {
			o.Loss.Regressions = append(o.Loss.Regressions,
				loss.Regression{Response: r.Response, Predictors: r.Predictors, Level: r.Level})
		}
	}
	if pl.Config.Inverts() && (in.Inversion || invertible(pl)) {
		o.Inversion = &attack.Inversion{Unasked: !in.Inversion, Masks: pl.Config.Masks, Known: publishedMoments(pl, d),
			Within: distances(pl.Config.Gate.Rules),
			Alone:  alone(pl.Config.Gate.Rules)}
	}
	return o, nil
}

// invertible reports whether a masked column is a number that was assessed, or a counted key.
func invertible(pl *pipeline.Plan) bool {
	return slices.ContainsFunc(pl.Assessed, func(c assess.Column) bool { return c.Masked }) ||
		len(pl.Intruder.Released) > 0
}

// alone returns the columns that rules judge without the columns beside them, unless a rule limits what is stated of
// them.
func alone(rules []assess.Rule) map[string]bool {
	columns := map[string]bool{}
	for _, r := range rules {
		if r.Record == assess.RecordAlone {
			columns[r.Column] = true
		}
	}
	for _, r := range rules {
		if r.MaxExact != nil {
			delete(columns, r.Column)
		}
	}
	return columns
}

// distances returns, by column, the distances of the rules about values that are stated.
func distances(rules []assess.Rule) map[string][]float64 {
	within := map[string][]float64{}
	for _, r := range rules {
		if r.MaxExact != nil {
			within[r.Column] = append(within[r.Column], r.MaxExact.Within)
		}
	}
	return within
}

func defaultUniqueness() *uniqueness.Options {
	o := uniqueness.DefaultOptions()
	o.Estimator = uniqueness.Approximate
	return &o
}

// counting returns the options without the scores of special uniques (SUDA2), which take the
// most time and which no rule is about. For nil it returns nil.
func counting(o *uniqueness.Options) *uniqueness.Options {
	if o == nil {
		return nil
	}
	only := *o
	only.SUDA2 = nil
	return &only
}

// publishedMoments returns what an intruder who inverts the masks may know: mean and SD of the
// original, which users can estimate or may find elsewhere. An inversion that needs them must
// not succeed either.
func publishedMoments(pl *pipeline.Plan, d *attack.Data) inversion.Published {
	known := inversion.Published{Moments: map[string]inversion.Moments{}}
	if d.Records == 0 && transform.NeedsWindow(pl.Config.Masks) {
		known.Window = pl.Config.Window.Records
	}
	for _, c := range d.Numeric {
		m := loss.MomentsOf(c.Original)
		if m.Mean != nil && m.SD != nil && slices.Contains(pl.Masked, c.Name) {
			known.Moments[c.Name] = inversion.Moments{Mean: *m.Mean, SD: *m.SD}
		}
	}
	return known
}
