package attack

import (
	"math"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/headline"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// Result is what an attack has found, in the form of the program's JSON. A part
// that was not asked for is nil. Its lists name records by their index from 0,
// never by a value; it is confidential all the same.
type Result struct {
	Schema  string `json:"schema" doc:"what this object is"`
	Targets int    `json:"targets" doc:"respondents sought by linkage and by the Bayesian intruder"`
	Records int64  `json:"records" doc:"records of the release"`
	// Sampled is how many of the release's records the attack was computed on; 0
	// where it was all of them. The intruder of a sample seeks among its records
	// only, so that linkage and posterior are at least what they are in the whole.
	Sampled int `json:"sampled,omitempty" doc:"records of the release that the attack was computed on; absent where it was all of them"`
	// Verdict is there in the account of an attack alone; within a report the report
	// has one.
	Verdict *headline.Headline `json:"verdict,omitempty" doc:"the worst that was found, and the figures that decide; absent within a report, which has one of its own"`
	Keys    []string           `json:"keys" doc:"numeric columns that the intruder knows"`
	// Categorical are the columns that linkage by Gower's distance compares beside Keys.
	Categorical []string `json:"categorical,omitempty" doc:"categorical columns that linkage by Gower's distance compares beside keys"`

	// Weighted says that the individual risks rest on weights; without any, the
	// records are taken for the whole population.
	Weighted bool `json:"weighted,omitempty" doc:"weights say how many of the population each record stands for; without them the records are taken for the whole population"`

	Linkage    *linkage.Result    `json:"linkage,omitempty"`
	Bayes      *intruder.Result   `json:"bayes,omitempty"`
	Uniqueness *uniqueness.Result `json:"uniqueness,omitempty"`
	// Interval is the share of records that are disclosed within so many SDs of the
	// released column (loss.Interval.Risk), by width; IntervalSound the same in SDs of
	// the original, without what was suppressed (loss.Interval.Sound).
	Interval      map[string]float64     `json:"interval,omitempty" doc:"share of records with every original value within so many SDs of the released column of the released value, by width; says nothing about identity disclosure"`
	IntervalSound map[string]float64     `json:"interval_sound,omitempty" doc:"the same in SDs of the original column, without what was suppressed"`
	Utility       *loss.Utility          `json:"utility,omitempty" doc:"what the masking has cost"`
	Categories    *loss.Categories       `json:"categories,omitempty" doc:"what masks have taken from the categorical keys; absent where none of them is masked"`
	Replicated    *uniqueness.Replicated `json:"replicated_uniques,omitempty" doc:"records with a combination of categorical keys of their own, and how many of these combinations stand in the release; absent where no key is masked"`
	Averaging     *Averaging             `json:"averaging,omitempty" doc:"what the mean of several releases gives away"`
	Inversion     *inversion.Result      `json:"inversion,omitempty" doc:"what is computed back by whoever knows the list of masks and what was published"`

	Attribute *Disclosure `json:"attribute,omitempty" doc:"what synthetic columns tell of the records that their models were fitted to, beyond what they tell of those that were set aside; at least that where the attack was computed on a sample"`

	chosen []int32 // record of each target, ascending
}

// Averaging says what the mean of this release and earlier ones gives away. The
// first of the releases is this one, then Data.Earlier in their order.
type Averaging struct {
	Releases int              `json:"releases" doc:"this one, which is the first, and the earlier ones"`
	Columns  []AveragedColumn `json:"columns"`
	// Linkage compares this release alone with the means, by the linked keys; absent
	// where linkage was not asked for.
	Linkage *linkage.AveragingLinkage `json:"linkage,omitempty" doc:"of this release alone and of the means"`
}

// AveragedColumn is linkage.AveragedColumn with its column's name.
type AveragedColumn struct {
	Name string `json:"name"`
	linkage.AveragedColumn
}

// measureOf returns each measure about the respondents, by its name, from a result; false:
// the attack did not measure it. A measure that is not in the map is never measured.
var measureOf = map[string]func(*Result) (float64, bool){
	"max_linked": func(r *Result) (float64, bool) {
		if r.Linkage == nil {
			return 0, false
		}
		return r.Linkage.CorrectShare, true
	},
	"max_correct_links": func(r *Result) (float64, bool) {
		if r.Bayes == nil {
			return 0, false
		}
		return float64(r.Bayes.Correct), true
	},
	"min_k": func(r *Result) (float64, bool) {
		if r.Uniqueness == nil {
			return 0, false
		}
		return float64(r.Uniqueness.MinFrequency), true
	},
	"max_individual_risk": func(r *Result) (float64, bool) {
		if r.Uniqueness == nil {
			return 0, false
		}
		return r.Uniqueness.MaxIndividualRisk, true
	},
	"max_posterior": func(r *Result) (most float64, ok bool) {
		if r.Inversion == nil {
			return 0, false
		}
		for _, c := range r.Inversion.Categories {
			if c.Posterior != nil {
				most, ok = max(most, *c.Posterior), true
			}
		}
		return most, ok
	},
	"max_attribute_disclosure": func(r *Result) (float64, bool) {
		if r.Attribute == nil {
			return 0, false
		}
		return r.Attribute.Most(), true
	},
	"max_ks": func(r *Result) (most float64, ok bool) {
		if r.Utility == nil || len(r.Utility.KS) == 0 {
			return 0, false
		}
		for _, v := range r.Utility.KS {
			most = max(most, v)
		}
		return most, true
	},
	"min_overlap": func(r *Result) (float64, bool) {
		if r.Utility == nil || len(r.Utility.Regressions) == 0 {
			return 0, false
		}
		least := math.Inf(1)
		for _, o := range r.Utility.Regressions {
			least = min(least, o.Mean)
		}
		return least, true
	},
	"max_changed":      ofCategories((*loss.Categories).MostChanged),
	"max_entropy_lost": ofCategories((*loss.Categories).MostLost),
	"max_pmse":         ofCategories(func(c *loss.Categories) float64 { return c.PMSE }),
	"max_replicated_uniques": func(r *Result) (float64, bool) {
		if r.Replicated == nil {
			return 0, false
		}
		return r.Replicated.Share, true
	},
}

// ofCategories is a measure of what masks have taken from categorical keys.
func ofCategories(of func(*loss.Categories) float64) func(*Result) (float64, bool) {
	return func(r *Result) (float64, bool) {
		if r.Categories == nil {
			return 0, false
		}
		return of(r.Categories), true
	}
}

// Identity is what the gate judges the release by; what was not asked for is NaN or
// nil. Of a sample they are the sample's: Linked is at least the release's but for
// chance; CorrectLinks and Inverted count among the targets and the sample only; and
// MinK and MaxIndividualRisk miss a rare respondent who was not drawn, so that a rule
// about them wants the keys of all records.
func (r *Result) Identity() *assess.Identity {
	id := assess.Unmeasured()
	id.Sampled = r.Sampled > 0
	for i := range assess.RespondentMeasures {
		m := &assess.RespondentMeasures[i]
		take := measureOf[m.Name]
		if take == nil || id.Sampled && !m.FromSample {
			continue // not measured: a rule about it does not hold
		}
		if v, measured := take(r); measured {
			*m.ValueIn(id) = assess.Float(v)
		}
	}
	if r.Inversion != nil {
		n := r.recovered()
		id.Inverted = &n
		for _, c := range r.Inversion.Columns {
			if !c.Passed {
				id.InvertedBy = append(id.InvertedBy, c.Name+", "+undone(&c))
			}
		}
		for _, c := range r.Inversion.Categories {
			if !c.Passed {
				id.InvertedBy = append(id.InvertedBy, c.Name+", by "+string(c.By))
			}
		}
	}
	return id
}

// recovered counts the values that inversions which fail their column have found.
func (r *Result) recovered() (n int64) {
	for _, c := range r.Inversion.Columns {
		if !c.Passed {
			n += int64(c.Recovered)
		}
	}
	for _, c := range r.Inversion.Categories {
		n += int64(c.Recovered) // 0 where it passed
	}
	return n
}

// undone names the inversion that recovered the most, and the mask that it undoes.
func undone(c *inversion.ColumnResult) string {
	s := "by " + strings.ReplaceAll(string(c.By), "_", " ")
	for _, i := range c.Inversions {
		if i.Kind == c.By && i.Mask != "" {
			s += " (" + i.Mask + ")"
			break
		}
	}
	return s
}
