package assess

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/check"
)

// RespondentMeasure is a measure about respondents that a gate rule can limit. It describes the
// measure for the gate, the configuration, the report and its pages; the number is computed in
// internal/attack. A new measure needs an entry here, a field in Rule, a field in Identity, and a
// line in internal/attack. Missing declarations are treated strictly: without FromSample the
// measure is not computed from a sample, and without a line in internal/attack it is not computed
// at all, so that its rule fails.
type RespondentMeasure struct {
	Name  string // of the limit in a rule, and of the measure in the rule's verdict
	Label string // of the figure at the head of a report

	Part        string // the part of assess.intruder that computes it
	ByDefault   bool   // the part runs if keys are given and no part is named
	Categorical bool   // it is about categorical keys, else about numeric ones
	AllKeys     bool   // with Categorical: it is about combinations of all keys, whatever their types
	FromSample  bool   // it can be estimated from a sample; otherwise it may depend on a record that was not drawn
	Population  bool   // without weights it assumes that the file is the whole population
	Loss        bool   // it is about changes of categorical keys, and needs masks that change some

	Least     bool // the limit is a minimum, else a maximum
	Form      RespondentForm
	One, Many string // what the number counts, singular and plural; "" if it is not a count
	Advice    string // how to bring it within its limit

	words  string // of the rule, before its limit
	check  func(ps *check.Problems, name string, limit float64)
	limit  func(Rule) (v float64, given bool)
	number func(*Identity) *Float
	subset func(*BySubset) *Float // nil if the measure exists for all keys together only
}

// RespondentForm is the form in which a measure about respondents is written.
type RespondentForm uint8

// The forms.
const (
	AsCount       RespondentForm = iota
	AsShare                      // of the respondents sought, in per cent
	AsProbability                // from 0 to 1
)

// RespondentMeasures lists the measures about respondents, in their order in rules and
// messages.
var RespondentMeasures = []RespondentMeasure{
	{
		Name: "max_linked", Label: "share linked", Part: "linkage", ByDefault: true, FromSample: true,
		Form: AsShare, One: "of those sought", Many: "of those sought",
		words:  "share of respondents found by linkage",
		Advice: "mask the keys by more than the distance between neighbours, or release fewer of them",
		check:  shareLimit, limit: func(r Rule) (float64, bool) {
			return optional(r.MaxLinked)
		}, number: func(id *Identity) *Float { return &id.Linked },
	},
	{
		Name: "max_correct_links", Label: "linked by Bayes’ rule", Part: "bayes", FromSample: true,
		One: "respondent", Many: "respondents",
		words: "respondents linked rightly by the Bayesian intruder", Advice: "mask the keys more, or release fewer of them",
		check: func(ps *check.Problems, name string, v float64) { ps.AtLeast(name, v, 0) },
		limit: func(r Rule) (float64, bool) { return optional(r.MaxCorrectLinks) }, number: func(id *Identity) *Float {
			return &id.CorrectLinks
		},
	},
	{
		Name: "min_k", Label: "smallest k", Part: "uniqueness", ByDefault: true, Categorical: true, AllKeys: true,
		Least: true,
		One:   "record", Many: "records",
		words:  "released records that fit the keys of every respondent",
		Advice: "recode the keys more coarsely, suppress more of their cells (suppress), or release fewer of them",
		check: func(ps *check.Problems, name string, v float64) {
			if v < 2 {
				ps.Addf(name, "must be at least 2, got %.0f", v)
			}
		},
		limit: func(r Rule) (float64, bool) {
			if r.MinK == nil {
				return 0, false
			}
			return float64(*r.MinK), true
		},
		number: func(id *Identity) *Float { return &id.MinK }, subset: func(b *BySubset) *Float { return &b.MinK },
	},
	{
		Name: "max_individual_risk", Label: "greatest individual risk", Part: "uniqueness", ByDefault: true,
		Categorical: true, AllKeys: true, Population: true,
		Form:   AsProbability,
		words:  "probability of re-identification of every record",
		Advice: "recode the keys more coarsely, or release a smaller sample of the population",
		check:  shareLimit, limit: func(r Rule) (float64, bool) {
			return optional(r.MaxIndividualRisk)
		}, number: func(id *Identity) *Float { return &id.MaxIndividualRisk },
		subset: func(b *BySubset) *Float { return &b.MaxIndividualRisk },
	},
	{
		Name: "max_expected_population", Label: "matches expected, + 2 SE", Part: "population", Categorical: true,
		AllKeys: true,
		One:     "respondent", Many: "respondents",
		words:  "expected correct matches of sample uniques with the population, with two standard errors,",
		Advice: adviceOnUniques,
		check:  func(ps *check.Problems, name string, v float64) { ps.AtLeast(name, v, 0) },
		limit:  func(r Rule) (float64, bool) { return optional(r.MaxExpectedPopulation) }, number: func(id *Identity) *Float {
			return &id.ExpectedPopulation
		},
	},
	{
		Name: "max_expected_uniques", Label: "population uniques, + 2 SE", Part: "population", Categorical: true,
		AllKeys: true,
		One:     "respondent", Many: "respondents",
		words:  "expected number of sample uniques that are unique in the population, with two standard errors,",
		Advice: adviceOnUniques,
		check:  func(ps *check.Problems, name string, v float64) { ps.AtLeast(name, v, 0) },
		limit:  func(r Rule) (float64, bool) { return optional(r.MaxExpectedUniques) }, number: func(id *Identity) *Float {
			return &id.ExpectedUniques
		},
	},
	{
		Name: "max_changed", Label: "categories changed", Part: "uniqueness", ByDefault: true, Categorical: true, Loss: true,
		FromSample: true,
		Form:       AsShare, One: "of the records", Many: "of the records",
		words:  "share of records whose category of a key is not the original's",
		Advice: "keep categories with a greater probability (pram), or suppress fewer cells (a smaller k)",
		check:  shareLimit, limit: func(r Rule) (float64, bool) {
			return optional(r.MaxChanged)
		}, number: func(id *Identity) *Float { return &id.Changed },
	},
	{
		Name: "max_entropy_lost", Label: "entropy lost", Part: "uniqueness", ByDefault: true, Categorical: true, Loss: true,
		FromSample: true,
		Form:       AsShare, One: "of a key’s", Many: "of a key’s",
		words:  "share of the entropy of a key that its released categories do not tell",
		Advice: "join fewer categories (recode), keep them with a greater probability (pram), or suppress fewer cells (a smaller k)",
		check:  shareLimit, limit: func(r Rule) (float64, bool) {
			return optional(r.MaxEntropyLost)
		}, number: func(id *Identity) *Float { return &id.EntropyLost },
	},
	{
		Name: "max_posterior", Label: "category told with", Part: "inversion", Categorical: true, Loss: true,
		FromSample: true,
		Form:       AsProbability,
		words:      "probability with which a released record tells the original of a masked category",
		Advice:     "withhold or recode the columns that tell of it (tells), keep categories with a smaller probability (pram; invariant lowers it for rare ones), or join categories that are alike in number (recode)",
		check:      shareLimit, limit: func(r Rule) (float64, bool) {
			return optional(r.MaxPosterior)
		}, number: func(id *Identity) *Float { return &id.Posterior },
	},
	{
		Name: "max_pmse", Label: "pMSE of the masked keys", Part: "uniqueness", ByDefault: true, Categorical: true,
		Loss: true, FromSample: true,
		Form:  AsProbability,
		words: "propensity score mean squared error of the masked keys", Advice: "mask the categorical keys less",
		check: func(ps *check.Problems, name string, v float64) { ps.Between(name, v, 0, 0.25) },
		limit: func(r Rule) (float64, bool) { return optional(r.MaxPMSE) }, number: func(id *Identity) *Float {
			return &id.PMSE
		},
	},
	{
		Name: "max_replicated_uniques", Label: "replicated uniques", Part: "uniqueness", ByDefault: true, Categorical: true,
		Loss: true,
		Form: AsShare, One: "of the unique ones", Many: "of the unique ones",
		words:  "share of unique combinations of keys that stand in the release",
		Advice: "mask or synthesise more of the keys, recode them more coarsely before that, or release fewer of them",
		check:  shareLimit, limit: func(r Rule) (float64, bool) {
			return optional(r.MaxReplicatedUniques)
		}, number: func(id *Identity) *Float { return &id.ReplicatedUniques },
	},
	{
		Name: "max_ks", Label: "distance of distributions", Part: "utility", FromSample: true,
		Form:   AsProbability,
		words:  "Kolmogorov-Smirnov distance of every numeric column",
		Advice: "mask the columns less, or synthesise them from smaller leaves",
		check:  shareLimit, limit: func(r Rule) (float64, bool) {
			return optional(r.MaxKS)
		}, number: func(id *Identity) *Float { return &id.KS },
	},
	{
		Name: "min_overlap", Label: "overlap of intervals", Part: "utility", Least: true,
		Form: AsShare, One: "of their lengths", Many: "of their lengths",
		words:  "overlap of the confidence intervals of every regression",
		Advice: "mask the columns of the regression less, or together (synthesise, correlated noise)",
		check:  shareLimit, limit: func(r Rule) (float64, bool) {
			return optional(r.MinOverlap)
		}, number: func(id *Identity) *Float { return &id.Overlap },
	},
	{
		Name: "max_attribute_disclosure", Label: "attribute disclosure", Part: "attribute",
		Form: AsShare, One: "guessed beyond chance", Many: "guessed beyond chance",
		words: "share of synthetic values guessed rightly of those learnt from beyond those set aside, with two standard errors,", Advice: "synthesise with larger leaves (leaf) or fewer columns in on, hold out more records where the standard error decides, or leave the column out",
		check: shareLimit, limit: func(r Rule) (float64, bool) {
			return optional(r.MaxAttributeDisclosure)
		}, number: func(id *Identity) *Float { return &id.AttributeDisclosure },
	},
	{
		Name: "min_spatial_k", Label: "smallest spatial k", Part: PartPlaces, Least: true,
		One: "person", Many: "people",
		words:  "people as near to every released point as the true place is, or where the masks could have moved it from,",
		Advice: "displace by more (k_least, least and most), or release areas in place of points",
		check:  func(ps *check.Problems, name string, v float64) { ps.AtLeast(name, v, 2) },
		limit: func(r Rule) (float64, bool) {
			if r.MinSpatialK == nil {
				return 0, false
			}
			return float64(*r.MinSpatialK), true
		},
		number: func(id *Identity) *Float { return &id.SpatialK },
	},
	{
		Name: "min_place_rmse", Label: "place known to ±, metres", Part: PartPlaces, Least: true,
		One: "metre", Many: "metres",
		words:  "root mean squared distance in metres of a snooper's best guess from the true place",
		Advice: "displace by more (least and most), or withhold or recode the columns that tell of the place",
		check:  func(ps *check.Problems, name string, v float64) { ps.Above(name, v, 0) },
		limit:  func(r Rule) (float64, bool) { return optional(r.MinPlaceRMSE) }, number: func(id *Identity) *Float {
			return &id.PlaceRMSE
		},
	},
}

// PartPlaces is the Part of measures of released points, which every record's masking verifies, and no intruder.
const PartPlaces = "places"

const adviceOnUniques = "recode the keys more coarsely, or release a smaller sample of the population"

func optional(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

func shareLimit(ps *check.Problems, name string, v float64) {
	if !(v >= 0 && v <= 1) {
		ps.Addf(name, "must be a share from 0 to 1, got %v", v)
	}
}

// Limit returns the limit that a rule sets on the measure; false if it sets none.
func (m *RespondentMeasure) Limit(r Rule) (float64, bool) { return m.limit(r) }

// Counts reports whether the measure needs the combinations of keys to be counted, by all keys and all records of a
// person.
func (m *RespondentMeasure) Counts() bool { return m.subset != nil || m.Name == "max_linked" }

// ValueIn returns the field of an Identity that holds the measure.
func (m *RespondentMeasure) ValueIn(id *Identity) *Float { return m.number(id) }

// RespondentMeasureNamed returns the measure with this name; nil if there is none.
func RespondentMeasureNamed(name string) *RespondentMeasure {
	for i := range RespondentMeasures {
		if RespondentMeasures[i].Name == name {
			return &RespondentMeasures[i]
		}
	}
	return nil
}

// limited returns the first measure about the respondents that a rule limits; nil if it limits
// none.
func (r Rule) limited() *RespondentMeasure {
	for i := range RespondentMeasures {
		if _, given := RespondentMeasures[i].limit(r); given {
			return &RespondentMeasures[i]
		}
	}
	return nil
}

// Unmeasured returns an Identity in which no measure was computed.
func Unmeasured() *Identity {
	id := new(Identity)
	for i := range RespondentMeasures {
		*RespondentMeasures[i].number(id) = Float(math.NaN())
	}
	return id
}

// judge compares a measure with the limit that a rule sets on it. A measure that was not
// computed, NaN, fails any limit.
func (m *RespondentMeasure) judge(r Rule, id *Identity) RuleVerdict {
	limit, _ := m.limit(r)
	measured := m.Value(r, id)
	v := RuleVerdict{Measure: m.Name, Combinations: r.Subset(), Limit: Float(limit), Found: measured}
	v.Persons = r.Subset() == 0 &&
		(id.KByPersons && m.Name == "min_k" || id.RiskByPersons && m.Name == "max_individual_risk")
	if m.Least {
		v.Rule, v.Passed = fmt.Sprintf("%s at least %s%s", m.words, stated(limit), r.bySubset()), float64(measured) >= limit
	} else {
		v.Rule, v.Passed = fmt.Sprintf("%s at most %s%s", m.words, stated(limit), r.bySubset()), float64(measured) <= limit
	}
	switch {
	case v.Passed:
	case !math.IsNaN(float64(measured)):
		if v.Advice = m.Advice; v.Persons {
			v.Advice += "; it is that of all records of a person together (uniqueness.person): fewer waves, or coarser keys that change less often, help"
		}
	case m.Part == PartPlaces:
		v.Advice = cmp.Or(id.Unplaced,
			"no place was verified: there is no point, or no population (file or records) to count") +
			"; a rule without its measure does not hold"
	case id.Sampled:
		v.Advice = "it can be told from all records only (assess.sample: all); a rule without its measure does not hold"
	case m.Part == "population" && id.Unfitted != "":
		v.Advice = id.Unfitted + "; a rule without its measure does not hold"
	case m.Name == "max_linked" && id.Unlinked != "":
		v.Advice = notOfAll(id.Unlinked)
	case m.Name == "max_correct_links" && id.Unmatched != "":
		v.Advice = notOfAll(id.Unmatched)
	case m.Name == "max_posterior" && id.Untold != "":
		v.Advice = notOfAll(id.Untold)
	case m.Counts() && id.Uncounted != "":
		v.Advice = id.Uncounted + "; a rule without its measure does not hold"
	default:
		v.Advice = "it was not measured: ask for it under assess.intruder; a rule without its measure does not hold"
	}
	return v
}

// Identity reports whether the rule limits a measure about respondents and not about a column.
func (r Rule) Identity() bool { return r.limited() != nil }
