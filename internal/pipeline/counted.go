package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Uncounted is a key that cannot be counted from the snooper's side.
type Uncounted struct{ Name, Why string }

// fromSnooper reports whether k is counted from the snooper's side.
func (pl *Plan) fromSnooper() bool {
	in := pl.Config.Assess.Intruder
	return in == nil || in.Count != config.CountReleased
}

// whyUncounted says which mask of a key keeps it from being counted: one under which the release
// does not tell by a count, nor by a posterior that is computed, which records can be a
// respondent's. "" if there is none.
func (pl *Plan) whyUncounted(name string) string {
	if why, noisy := pl.noisy(name); noisy {
		if f := pl.Source.Schema(); transform.InDays(pl.Config.Masks, f.Fields[f.Index(name)]) {
			return "has noise in days, for which the posterior of the records is not computed"
		}
		return why
	}
	coded, drawn := false, false
	for i, m := range pl.Config.Masks {
		if !slices.Contains(m.Params.Masks(), name) {
			continue
		}
		switch a := transform.ActionOf(m.Params, name, 1).(type) {
		case transform.Suppression, transform.Sampling, transform.Renaming:
			continue
		case transform.Recoding:
			coded = coded || a.From == nil
			if !drawn || a.From != nil {
				continue
			}
		case transform.Rounding:
			if coded = true; !drawn {
				continue
			}
		case transform.Bounding:
			if coded = true; a.Mode != "redraw" && !drawn {
				continue
			}
		case transform.Randomising:
			if drawn = true; !coded && (!a.Counted || pl.onlyDraw(name, i)) {
				continue
			}
			return fmt.Sprintf(
				"is drawn at random (%s) in a way whose posterior is not computed: after a recoding of numbers, or by counted frequencies together with another mask that changes it", pl.MaskPath(i))
		}
		return fmt.Sprintf("is masked by %s (%s), for which the posterior of the records is not computed", m.Kind(),
			pl.MaskPath(i))
	}
	return ""
}

// noisy reports whether noise or bias changes a key. Its posterior is computed from the law of
// the masks, if they have one and a rule needs it; why says what keeps it from that, "" if
// nothing does.
func (pl *Plan) noisy(name string) (why string, noisy bool) {
	for i, m := range pl.Config.Masks {
		if !slices.Contains(m.Params.Masks(), name) {
			continue
		}
		switch a := transform.ActionOf(m.Params, name, 1).(type) {
		case transform.Addition:
			if noisy = true; a.Correlated {
				why = fmt.Sprintf(
					"has noise that is correlated with that of other columns (%s), for which the posterior of the records is not computed", pl.MaskPath(i))
			}
		case transform.Displacing:
			noisy, why = true,
				fmt.Sprintf(
					"is displaced together with another column (%s), for which the posterior of the records is not computed",
					pl.MaskPath(i))
		case transform.Multiplication:
			noisy = true
		case transform.Bounding, transform.Rounding, transform.Sampling:
		default:
			why = fmt.Sprintf("has noise and is masked by %s (%s) too, for which the posterior of the records is not computed",
				m.Kind(), pl.MaskPath(i))
		}
	}
	switch {
	case !noisy || why != "":
	case transform.CopiesOf(pl.Config.Masks, name) > 1:
		why = "is released several times with noise, for which the posterior of the records is not computed"
	case !pl.judgesCounts():
		why = "has noise, and its posterior, which takes time, is computed only where a rule is about k or individual risk"
	}
	return why, noisy
}

// Noisy reports whether noise or bias changes a column.
func (pl *Plan) Noisy(name string) bool {
	_, noisy := pl.noisy(name)
	return noisy
}

// judgesCounts reports whether a rule is about combinations of all keys.
func (pl *Plan) judgesCounts() bool {
	return slices.ContainsFunc(pl.Config.Gate.Rules, func(r assess.Rule) bool {
		m := assess.RespondentMeasureNamed("min_k")
		_, k := m.Limit(r)
		_, risk := assess.RespondentMeasureNamed("max_individual_risk").Limit(r)
		return k || risk
	})
}

// JudgesUnion reports whether a rule is about what a snooper has who holds all releases of the ledger: combinations of
// keys, links (by either intruder), categories that are told, or values that are stated exactly.
func (pl *Plan) JudgesUnion() bool {
	return pl.judgesCounts() || slices.ContainsFunc(pl.Config.Gate.Rules, assess.Rule.OfUnion)
}

// judgesKeys reports whether a rule is about the keys of respondents as all releases have them: one of the pipeline,
// or of the project that joins the records with those of other tables.
func (pl *Plan) judgesKeys() bool {
	return pl.judgesCounts() || len(pl.Config.Joins) > 0 ||
		slices.ContainsFunc(pl.Config.Gate.Rules, func(r assess.Rule) bool {
			return r.LimitsLinks() || r.MaxCorrectLinks != nil
		})
}

// infers reports whether a rule is about what all releases tell of the original category of a column, which this one
// masks or counts.
func (pl *Plan) infers(name string) bool {
	return slices.ContainsFunc(pl.Config.Gate.Rules, func(r assess.Rule) bool {
		return r.OfUnion() && r.LimitsPosterior()
	}) &&
		(slices.Contains(pl.Intruder.Counted, name) || slices.Contains(pl.Intruder.Inferred, name))
}

// onlyDraw reports whether no other mask than suppress changes a column beside mask i.
func (pl *Plan) onlyDraw(name string, i int) bool {
	for j, m := range pl.Config.Masks {
		if j == i || !slices.Contains(m.Params.Masks(), name) {
			continue
		}
		switch transform.ActionOf(m.Params, name, 1).(type) {
		case transform.Suppression, transform.Sampling:
		default:
			return false
		}
	}
	return true
}

// setCounted decides which keys are counted: all of them, whatever their types. Those that no mask
// changes are compared exactly, in array form: two integers beyond 2^53, or two decimals, may have
// one nearest float64.
func (pl *Plan) setCounted(b *layoutBuilder, name string) {
	at := &pl.Intruder
	if pl.fromSnooper() {
		if why := pl.whyUncounted(name); why != "" {
			at.Uncounted = append(at.Uncounted, Uncounted{name, why})
			return
		}
	}
	at.Keys = append(at.Keys, name)
	if _, known := at.Index[name]; known {
		return // a categorical key
	}
	at.count(b, name)
}

// checkCounted returns an error for a rule about combinations of all keys if some cannot be
// counted.
func (pl *Plan) checkCounted(path string, m *assess.RespondentMeasure) error {
	at := &pl.Intruder
	if !m.AllKeys || len(at.Uncounted) == 0 {
		return nil
	}
	var words []string
	for _, u := range at.Uncounted {
		words = append(words, fmt.Sprintf("%q %s", u.Name, u.Why))
	}
	return config.Errors{
		pl.Config.Errorf(path+"."+m.Name,
			"counts combinations of all keys, and not all can be counted: %s; recode, round or suppress the key instead, or leave it out of assess.keys if an intruder does not know it (a numeric key is still linked by max_linked)", strings.Join(words, "; "))}
}

// Population returns the formula of the log-linear model of the population.
func (pl *Plan) Population(of *config.IntruderPopulation) asked.Formula {
	var keys []string
	for _, name := range pl.Config.Assess.IntruderKeys() {
		if !slices.Contains(pl.Intruder.Left, name) {
			keys = append(keys, name)
		}
	}
	return of.Terms(keys)
}

// checkPopulation returns an error for a rule about population uniques if a key of the formula cannot
// be counted.
func (pl *Plan) checkPopulation(path string, of *config.IntruderPopulation) error {
	if of == nil {
		return nil // the configuration was refused
	}
	for _, name := range pl.Population(of).Variables() {
		for _, u := range pl.Intruder.Uncounted {
			if u.Name == name {
				return config.Errors{
					pl.Config.Errorf(path,
						"counts combinations of the keys of the formula, and %q %s; recode, round or suppress the key instead, or leave it out of assess.intruder.population.formula", u.Name, u.Why)}
			}
		}
	}
	return nil
}

// checkSubsets returns an error if a rule is about more sets of keys than are counted.
func (pl *Plan) checkSubsets(path string, rule assess.Rule) error {
	n, of, sets := rule.Subset(), len(pl.Intruder.Keys), 1
	for k := 1; k <= min(n, of); k++ {
		if sets = sets * (of - k + 1) / k; sets > mostSubsets {
			return config.Errors{
				pl.Config.Errorf(path+".combinations",
					"is about more than %d sets of the %d keys; name fewer keys in assess.keys, or a smaller number", mostSubsets, of)}
		}
	}
	return nil
}

// mostSubsets is the greatest number of sets of keys that a rule is judged by: 100,000 records
// take about 10 ms for each.
const mostSubsets = 20_000

// Subsets returns the numbers of keys of the sets that rules are about, ascending.
func (pl *Plan) Subsets() (sizes []int) {
	for _, rule := range pl.Config.Gate.Rules {
		if n := rule.Subset(); n > 0 && !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// counts reports whether the combinations of keys are counted.
func (pl *Plan) counts(in *config.Intruder) bool { return in.Uniqueness != nil || !in.Named() }
