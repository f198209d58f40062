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
	"github.com/sdlfilter/sdlfilter/internal/intruder/population"
	"github.com/sdlfilter/sdlfilter/internal/intruder/referee"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// Result holds the findings of an attack, in the form of the program's JSON. A part
// that was not requested is nil. Its lists identify records by their index from 0,
// never by a value; the result is confidential nevertheless.
type Result struct {
	Schema  string `json:"schema" doc:"identifies the kind of this object and the version of its format"`
	Targets int    `json:"targets" doc:"number of respondents that linkage and the Bayesian intruder try to find"`
	Records int64  `json:"records" doc:"number of records of the release"`
	// Sampled is the number of the release's records that the attack was computed on; 0
	// if it was all of them. On a sample the intruder searches among its records only,
	// so that linkage and posterior are at least as great as on the whole release.
	Sampled int `json:"sampled,omitempty" doc:"number of released records that the attack used; absent if it used all of them"`
	// Verdict is set only if the attack is reported alone; a report has its own
	// verdict.
	Verdict *headline.Headline `json:"verdict,omitempty" doc:"the worst result and the figures that decide; absent inside a report, which has its own verdict"`
	Keys    []string           `json:"keys" doc:"numeric columns that the intruder knows"`
	// Categorical are the columns that linkage by Gower's distance compares in addition
	// to Keys.
	Categorical []string `json:"categorical,omitempty" doc:"categorical columns that linkage by Gower's distance compares in addition to keys"`

	// Weighted is true if the individual risks use weights; without weights, the
	// records are taken as the whole population.
	Weighted bool `json:"weighted,omitempty" doc:"whether weights give the number of persons in the population that each record represents; without weights the records are assumed to be the whole population"`

	Linkage    *linkage.Result    `json:"linkage,omitempty"`
	Bayes      *intruder.Result   `json:"bayes,omitempty"`
	Uniqueness *uniqueness.Result `json:"uniqueness,omitempty"`
	// Uncounted are keys that Uniqueness leaves out, because their masks are not covered.
	Uncounted []Uncounted `json:"uncounted,omitempty" doc:"keys that cannot be counted from the snooper's side, which uniqueness leaves out"`
	// Told are the keys of which other released columns tell hidden cells.
	Told []Told `json:"told,omitempty" doc:"keys of which masks have hidden cells that other released columns tell: k and what follows from it are counted as if these cells were released"`
	// PersonsUnmeasured says why the records of a person were not counted together though that was asked for.
	PersonsUnmeasured string `json:"persons_unmeasured,omitempty" doc:"why the records of a person are not counted together, though uniqueness.person asks for it"`
	// Apart says that several records are one respondent's by the columns of identity, and that each is judged by itself.
	Apart bool `json:"judged_apart,omitempty" doc:"true: several records are one respondent's (identity), and k is that of each by itself, since uniqueness.person is not given"`
	// Alone says that earlier releases in a ledger are left out.
	Alone string `json:"this_release_alone,omitempty" doc:"says that there is a ledger of earlier releases, and that what they tell beside this one is in none of these figures"`
	// TwoReadings are the keys with unknown masks, which are counted in two ways.
	TwoReadings []string `json:"two_readings,omitempty" doc:"keys whose released values differ from the original ones by no coding: they are counted by the original value and by what it became most often, and the smaller k holds for each respondent"`
	// Population has the expected numbers of population uniques; Unfitted says why there are none.
	Population *population.Result `json:"population,omitempty" doc:"sample uniques that are unique in the population, estimated by a log-linear model; an upper bound where masks hide or draw keys"`
	Unfitted   string             `json:"population_unfitted,omitempty" doc:"why no log-linear model was fitted"`
	// Interval is, by width in SDs of the released column, the share of disclosed
	// records (loss.Interval.Risk). IntervalSound is the same in SDs of the original
	// column, without suppressed cells (loss.Interval.Sound).
	Interval      map[string]float64     `json:"interval,omitempty" doc:"share of records whose original values all lie within this many SDs of the released column of the released values, by width; says nothing about identity disclosure"`
	IntervalSound map[string]float64     `json:"interval_sound,omitempty" doc:"the same in SDs of the original column, without suppressed values"`
	Utility       *loss.Utility          `json:"utility,omitempty" doc:"information loss by the masking"`
	Categories    *loss.Categories       `json:"categories,omitempty" doc:"information loss of the categorical keys; absent if no key is masked"`
	Replicated    *uniqueness.Replicated `json:"replicated_uniques,omitempty" doc:"number of records with a unique combination of categorical keys, and how many of these combinations occur in the release; absent if no key is masked"`
	Averaging     *Averaging             `json:"averaging,omitempty" doc:"what the mean of several releases discloses"`
	Inversion     *inversion.Result      `json:"inversion,omitempty" doc:"what an intruder can compute back who knows the list of masks and the published values"`

	Attribute *Disclosure `json:"attribute,omitempty" doc:"what synthetic columns disclose about the records to which their models were fitted, beyond what they disclose about records set aside; a lower bound if the attack used a sample"`

	// Referee and Models are measured on files whose records need not correspond.
	Referee *referee.Result `json:"referee,omitempty" doc:"what the release tells of its records beyond what it tells of control records; records need not correspond"`
	Models  []loss.Overlap  `json:"models,omitempty" doc:"regressions that were asked for, of the original and of the release, and the overlap of their confidence intervals"`

	chosen []int32 // record of each target, ascending
}

// Averaging measures what the mean of this release and earlier ones discloses. The
// first release is this one, followed by Data.Earlier in their order.
type Averaging struct {
	Releases int              `json:"releases" doc:"number of releases: this one, which is the first, and the earlier ones"`
	Columns  []AveragedColumn `json:"columns"`
	// Linkage compares linkage to this release alone with linkage to the means, by the
	// linked keys; absent if linkage was not requested.
	Linkage *linkage.AveragingLinkage `json:"linkage,omitempty" doc:"linkage to this release alone and to the means"`
}

// AveragedColumn is linkage.AveragedColumn with its column's name.
type AveragedColumn struct {
	Name string `json:"name"`
	linkage.AveragedColumn
}

// measureOf holds, by the name of each measure about the respondents, a function that
// takes the measure from a result; it returns false if the attack did not compute the
// measure. Other measures are never computed.
var measureOf = map[string]func(*Result) (float64, bool){
	"max_linked": (*Result).linkedShare,
	"max_correct_links": func(r *Result) (float64, bool) {
		if r.Bayes == nil {
			return 0, false
		}
		if j := r.Bayes.Jointly; j != nil {
			return max(r.Bayes.Correct, j.Correct), true
		}
		return r.Bayes.Correct, true
	},
	"min_k": func(r *Result) (float64, bool) {
		if !r.counted() {
			return 0, false
		}
		return r.leastK(), true
	},
	"max_individual_risk": func(r *Result) (float64, bool) {
		if !r.counted() {
			return 0, false
		}
		return r.mostRisk(), true
	},
	"max_expected_population": ofPopulation((*population.Result).MatchesMost),
	"max_expected_uniques":    ofPopulation((*population.Result).UniquesMost),
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

// ofCategories returns the function of measureOf for a measure of the information loss
// of categorical keys.
func ofCategories(of func(*loss.Categories) float64) func(*Result) (float64, bool) {
	return func(r *Result) (float64, bool) {
		if r.Categories == nil {
			return 0, false
		}
		return of(r.Categories), true
	}
}

// ofPopulation returns the function of measureOf for a figure of a log-linear model. One that did not
// converge, or that understates uniqueness, measures nothing.
func ofPopulation(of func(*population.Result) float64) func(*Result) (float64, bool) {
	return func(r *Result) (float64, bool) {
		if r.Population == nil || r.Unfitted != "" {
			return 0, false
		}
		return of(r.Population), true
	}
}

// Identity returns the measures that the gate compares with its limits; measures that
// were not requested are NaN or nil. On a sample they describe the sample. Linked is
// then at least that of the release, except for chance. CorrectLinks and Inverted count
// only among the targets and the sample. MinK and MaxIndividualRisk do not see a rare
// respondent who is not in the sample, so a rule about them needs the keys of all
// records.
func (r *Result) Identity() *assess.Identity {
	id := assess.Unmeasured()
	id.Sampled = r.Sampled > 0
	for i := range assess.RespondentMeasures {
		m := &assess.RespondentMeasures[i]
		take := measureOf[m.Name] // none of places, which the masking verifies
		if take == nil || id.Sampled && !m.FromSample {
			continue // not measured: a rule about it is not satisfied
		}
		if v, measured := take(r); measured {
			*m.ValueIn(id) = assess.Float(v)
		}
	}
	id.Uncounted, id.Unfitted = r.uncountedWords(), r.Unfitted
	if !id.Sampled && r.counted() {
		id.KByPersons, id.RiskByPersons = r.leastK() < r.Uniqueness.MinFrequency,
			r.mostRisk() > r.Uniqueness.MaxIndividualRisk
		for _, s := range r.Uniqueness.Subsets {
			if id.BySubset == nil {
				id.BySubset = map[int]assess.BySubset{}
			}
			k, risk := s.MinFrequency, s.MaxIndividualRisk
			if r.Uniqueness.Persons != nil {
				k, risk = min(k, s.PersonK), max(risk, s.PersonRisk)
			}
			id.BySubset[s.Size] = assess.BySubset{MinK: assess.Float(k), MaxIndividualRisk: assess.Float(risk)}
		}
	}
	if r.Inversion != nil {
		n := r.recovered()
		id.Inverted = &n
		id.Uninverted = append(id.Uninverted, r.Inversion.Unknown...)
		for _, c := range r.Inversion.Columns {
			for _, e := range c.Exact {
				id.Exact = append(id.Exact, assess.ExactShare{Column: c.Name, Within: e.Within, Found: e.Found, Limit: e.Limit})
			}
			if !c.Passed {
				id.InvertedBy = append(id.InvertedBy, c.Name+", "+undone(&c))
			}
		}
		for _, c := range r.Inversion.Categories {
			if !c.Passed {
				by := c.Name + ", by " + string(c.By)
				if c.By == inversion.Determined {
					by = c.Name + " follows from " + strings.Join(c.Tells, " and ")
				}
				id.InvertedBy = append(id.InvertedBy, by)
			}
		}
	}
	return id
}

// recovered returns the number of values that were recovered by inversions that fail
// their column.
func (r *Result) recovered() (n int64) {
	for _, c := range r.Inversion.Columns {
		if !c.Passed {
			n += int64(c.Recovered)
		}
	}
	for _, c := range r.Inversion.Categories {
		n += int64(c.Recovered) // 0 if it passed
	}
	return n
}

// undone returns the name of the inversion that recovered the most values, and of the
// mask that it inverts.
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
