package assess

// Rule is a condition on a release. It has exactly one limit. MaxRisk, MinRMSE, MinEfficiency
// MaxUnchanged and MaxExact limit a measure of a column, MaxEpsilon and MaxMetricEpsilon what differential privacy says
// of the masks (Privacy), the others a measure about respondents (Identity). A rule without target or knowledge applies
// to all of them: {column: wage, min_rmse: 5000} means that no target of wage may be known to better than 5,000.
type Rule struct {
	Column        string   `yaml:"column" doc:"the column that the rule is about"`
	Target        string   `yaml:"target" doc:"typical, min, p01, …, max; by default all"`
	Knowledge     string   `yaml:"knowledge" doc:"mean, index, position or order; by default all; index includes record, all released columns of the record, unless record: alone is given; with a ledger, both include all_releases, unless releases: alone is given" enum:"mean,index,record,all_releases,position,order"`
	Record        string   `yaml:"record" enum:"alone" doc:"alone: judge knowledge index by the released value of the column alone, as in the papers. By default a rule of index is judged at the greater risk of index and record (all released columns of the record)"`
	Releases      string   `yaml:"releases" enum:"alone" doc:"alone: with a ledger, judge this release without the earlier ones. By default a rule of index, of record, of mean, of order, on k, on individual risk, on links (max_linked, max_correct_links), on unchanged values, on categories that are told (max_posterior), on values that are stated exactly (max_exact) or on ε is judged at what all releases in the ledger give together, and any other rule on what a snooper learns does not hold once others were released"`
	MaxRisk       *float64 `yaml:"max_risk" doc:"greatest tolerable disclosure risk R, in 1/(unit of the column)²"`
	MinRMSE       *float64 `yaml:"min_rmse" doc:"least root mean squared error of a snooper, √(1/R), in the column's unit"`
	MinEfficiency *float64 `yaml:"min_efficiency" share:"whole" doc:"least U/U₀, where a variance smaller than that of the original does not count as utility"`
	MaxUnchanged  *float64 `yaml:"max_unchanged" share:"whole" doc:"greatest share of released values that are equal to the original, 0 to 1; replaces the limit that follows from the law of the masks"`

	MaxExact *ExactLimit `yaml:"max_exact" doc:"greatest share of values that the best snooper states within a distance, from the release, the list of masks and the usual values of the column; replaces the default limit of the column; needs assess.intruder.inversion"`

	MaxEpsilon       *float64 `yaml:"max_epsilon" doc:"greatest ε of differential privacy, of a column or, without column, of all released columns of all records of a person (of a household with assess.privacy.members); by the parameters of the masks. Where no ε can be stated the rule does not hold"`
	MaxMetricEpsilon *float64 `yaml:"max_metric_epsilon" doc:"greatest ε of a column for each unit of distance between two values (√2/λ of Laplace noise). Where none can be stated the rule does not hold"`

	MaxLinked         *float64 `yaml:"max_linked" share:"whole" doc:"greatest share of respondents whose nearest released record is their own, 0 to 1; needs assess.intruder.linkage"`
	MaxCorrectLinks   *float64 `yaml:"max_correct_links" doc:"greatest number of respondents that the Bayesian intruder links correctly; needs assess.intruder.bayes"`
	MinK              *int     `yaml:"min_k" doc:"least number of released records that fit the keys of a respondent; needs assess.intruder.uniqueness"`
	MaxIndividualRisk *float64 `yaml:"max_individual_risk" share:"whole" doc:"greatest probability of a record's re-identification by the keys, 0 to 1; needs assess.intruder.uniqueness"`
	Combinations      *int     `yaml:"combinations" doc:"with min_k and max_individual_risk: the limit holds for every set of this many of the keys, and not for all keys together"`

	MaxExpectedPopulation *float64 `yaml:"max_expected_population" doc:"greatest expected number of correct matches of sample uniques with the population, and so of sample uniques that are unique in the population (plus two standard errors); needs assess.intruder.population and all records in the sample"`
	MaxExpectedUniques    *float64 `yaml:"max_expected_uniques" doc:"greatest expected number of sample uniques that are unique in the population (plus two standard errors); needs assess.intruder.population and all records in the sample"`

	MaxChanged     *float64 `yaml:"max_changed" share:"whole" doc:"greatest share of records, 0 to 1, whose released category of a key is missing or differs from the original one; the key with the greatest share decides; needs assess.intruder.uniqueness"`
	MaxEntropyLost *float64 `yaml:"max_entropy_lost" share:"whole" doc:"greatest share of a key's entropy, 0 to 1, that remains when the released category is known; the key with the greatest share decides; needs assess.intruder.uniqueness"`
	MaxPosterior   *float64 `yaml:"max_posterior" share:"whole" doc:"greatest probability, 0 to 1, of an original category, for an intruder who knows the released record with all its columns, and the masks that recode or randomise it (of keys, of sensitive columns, and of others that are randomised); needs assess.intruder.inversion"`
	MaxPMSE        *float64 `yaml:"max_pmse" doc:"greatest propensity score mean squared error of the masked categorical keys together, from 0 to 0.25 (no combination occurs in both the original and the release); needs assess.intruder.uniqueness"`

	MaxReplicatedUniques *float64 `yaml:"max_replicated_uniques" share:"whole" doc:"of the combinations of categorical keys that only one original record has, the greatest share, 0 to 1, that occur in the release; needs assess.intruder.uniqueness and all records in the sample"`

	MaxKS      *float64 `yaml:"max_ks" share:"whole" doc:"greatest Kolmogorov-Smirnov distance, 0 to 1, between the original and the released distribution of a numeric column; the column with the greatest distance decides; needs assess.intruder.utility"`
	MinOverlap *float64 `yaml:"min_overlap" share:"whole" doc:"least mean overlap, 0 to 1, of the confidence intervals of a regression before and after masking; the regression with the least overlap decides; needs assess.intruder.utility.regressions or models, and all records in the sample"`

	MinSpatialK  *int     `yaml:"min_spatial_k" doc:"least number of people as near to every released point as the true place is, and as live where the mask could have moved it from; needs a donut mask, or assess.places, with a population"`
	MinPlaceRMSE *float64 `yaml:"min_place_rmse" doc:"least root mean squared distance, in metres, of a snooper's best guess from the true place; needs a donut mask or assess.places"`

	MaxAttributeDisclosure *float64 `yaml:"max_attribute_disclosure" share:"whole" doc:"greatest difference, 0 to 1, between the share of values of synthetic columns that are guessed correctly for records to which the models were fitted and the share for held-out records (plus two standard errors); needs assess.intruder.attribute and all records in the sample"`
}

// Verdict is the gate's result for a release.
type Verdict struct {
	Passed bool          `json:"passed"`
	Rules  []RuleVerdict `json:"rules"`
}

// RuleVerdict is the result of one rule and, if it failed, advice on what to change.
type RuleVerdict struct {
	Rule   string `json:"rule" doc:"the rule in words"` // the rule in words: "wage: R of max (index) at most 4e-05"
	Column string `json:"column"`                       // "" for a rule about the respondents
	// Measure, Target and Knowledge describe the rule for programs, such as for the R-U map's
	// threshold lines: the name of the limit in the configuration (max_risk, min_k, …) or
	// inversion, and the target and knowledge state of max_risk and min_rmse.
	Measure string `json:"measure"`
	// Combinations is the number of keys of the sets that the rule is about; 0: all keys together.
	Combinations int    `json:"combinations,omitempty" doc:"number of keys of the sets that the rule is about; absent if it is about all keys together"`
	Persons      bool   `json:"persons,omitempty" doc:"true: what was found is that of all records of a person together (uniqueness.person), which is worse than that of single records"`
	Target       string `json:"target,omitempty"`
	Knowledge    string `json:"knowledge,omitempty"`
	Record       string `json:"record,omitempty" doc:"alone: the rule leaves out what the other columns of the record tell"`
	Releases     string `json:"releases,omitempty" doc:"alone: the rule leaves out what earlier releases in the ledger tell"`
	Passed       bool   `json:"passed"`
	Limit        Float  `json:"limit"`
	Found        Float  `json:"found"`
	Advice       string `json:"advice,omitempty" doc:"what to change so that the rule holds"`
}
