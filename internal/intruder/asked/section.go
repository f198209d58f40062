package asked

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Section describes the attacks on the pairs of original and released records in the keyed
// sample. With keys and no attack named it stands for linkage by the numeric keys and
// uniqueness of all keys; which of the two are possible depends on the data.
type Section struct {
	Targets     int         `yaml:"targets" default:"1000" doc:"number of respondents that linkage and the Bayesian intruder try to find, spread evenly over the keyed sample"`
	Categorical []string    `yaml:"categorical" doc:"numeric keys whose values are categories: they are not linked; keys of all types are counted anyway"`
	Count       string      `yaml:"count" default:"snooper" enum:"snooper,released" doc:"how k is counted. snooper (default): the released records that can be the respondent's, for a snooper who knows the original keys; released: the released records with the same released keys, as other tools count, which is too low where cells are suppressed: k looks greater than it is"`
	Linkage     *Linkage    `yaml:"linkage" doc:"link each target to the released record that is nearest by the numeric keys"`
	Bayes       *Bayes      `yaml:"bayes" doc:"the Bayesian intruder of Trottini et al. (2004), who knows how the masks work: the posterior of every released record"`
	Uniqueness  *Uniqueness `yaml:"uniqueness" doc:"count the combinations of the keys: k-anonymity, individual and household risk, SUDA2 scores, l-diversity"`
	Population  *Population `yaml:"population" doc:"estimate by a log-linear model how many sample uniques are unique in the population"`
	Interval    []float64   `yaml:"interval" doc:"widths of interval disclosure, in standard deviations of a column: 0.05. The measure decreases with each additional column, even if linkage finds nearly everyone"`
	Utility     *Utility    `yaml:"utility" doc:"information loss that U does not measure: IL1s, moments, eigenvalues, distances of distributions"`
	Attribute   *Attribute  `yaml:"attribute" doc:"guess the values of synthetic columns from the nearest released record: for records to which the models were fitted, and for records that held_out sets aside"`
	Inversion   bool        `yaml:"inversion" default:"false" doc:"an intruder who knows the list of masks tries to undo it; if a value can be computed back, the release fails, whatever the rules. With a gate this is done in any case, as far as the masks say what they do, unless the file says false"`
}

// Check reports what is wrong with the numbers of the section itself.
func (in *Section) Check() (ps check.Problems) {
	ps.Whole("targets", in.Targets, 1, 1_000_000_000)
	if in.Interval != nil && len(in.Interval) == 0 {
		ps.Addf("interval", "must have at least one width; remove the field where interval disclosure is not asked for")
	}
	for i, w := range in.Interval {
		path := fmt.Sprintf("interval[%d]", i)
		if ps.Above(path, w, 0); slices.Contains(in.Interval[:i], w) {
			ps.Addf(path, "must not repeat a width, got %v again", w)
		}
	}
	return ps
}

// Linkage says how records are linked by distance.
type Linkage struct {
	Distance string `yaml:"distance" default:"standardised" enum:"standardised,mahalanobis,gower,ranks" doc:"the distance. standardised (default): numeric keys in standard deviations; mahalanobis: by the covariance of the changes that the masks made; gower: numeric and categorical keys; ranks: ranks of the values, for swapped values"`
	OneToOne bool   `yaml:"one_to_one" default:"false" doc:"also link all targets at once, each to a different record, so that the sum of distances is least: the worst case; needs a sample of at most 5000"`
}

// The ways to count k.
const (
	CountSnooper  = "snooper"
	CountReleased = "released"
)

// What the Bayesian intruder knows of the masks.
const (
	KnowledgeD1 = "d1" // bias and noise, by their standard deviations
	KnowledgeD2 = "d2" // prior distributions of their variances
)

// Bayes says what the Bayesian intruder knows and does.
type Bayes struct {
	Knowledge  string             `yaml:"knowledge" default:"d1" enum:"d1,d2" doc:"what the intruder knows. d1 (default): the standard deviations of bias and noise; d2: only prior distributions of their squares"`
	Threshold  float64            `yaml:"threshold" default:"0" share:"whole" doc:"a link is made where the greatest posterior probability exceeds this, 0 to below 1; 0 (default): always"`
	Population int                `yaml:"population" doc:"size of the population of which the respondents are a sample: a target may then be absent from the release; by default every target is in it"`
	Jointly    bool               `yaml:"jointly" default:"false" doc:"also match all targets at once, each to a record of its own, which finds more of them: needs a sample of at most 5000, and no population"`
	Phi        map[string]float64 `yaml:"phi" doc:"for d1, the standard deviation of the multiplicative bias by key; by default computed from the masks of the key"`
	Sigma      map[string]float64 `yaml:"sigma" doc:"for d1, the standard deviation of the added noise by key, in the key's unit; by default computed from the masks of the key"`
	PhiPrior   *Prior             `yaml:"phi_prior" doc:"for d2, the inverse-gamma prior of the square of phi, for every key; by default around 0.5/6, as in Trottini et al. (2004), section 5"`
	SigmaPrior *Prior             `yaml:"sigma_prior" doc:"for d2, the inverse-gamma prior of the square of sigma, for every key, in the key's unit; by default around a sixth of the released key's range, as in Trottini et al. (2004), section 5"`
}

// Prior is an inverse-gamma distribution of a variance, of mean
// Scale/(Shape − 1).
type Prior struct {
	Shape float64 `yaml:"shape" required:"true" doc:"the shape, 0.5 to 1000000; a greater shape means a more certain intruder"`
	Scale float64 `yaml:"scale" required:"true" doc:"the scale, greater than 0: the prior's mean is scale/(shape - 1)"`
}

// Check reports what is wrong whatever the columns are.
func (b *Bayes) Check() (ps check.Problems) {
	if !(b.Threshold >= 0 && b.Threshold < 1) {
		ps.Addf("threshold", "must be at least 0 and below 1, got %v", b.Threshold)
	}
	return ps
}

// Check reports what is wrong whatever the columns are.
func (p *Prior) Check() (ps check.Problems) {
	ps.Between("shape", p.Shape, 0.5, 1_000_000)
	ps.Above("scale", p.Scale, 0)
	return ps
}

// Uniqueness says what is measured on combinations of categorical keys.
type Uniqueness struct {
	Weight      string   `yaml:"weight" doc:"the column of sampling weights, from which frequencies in the population are estimated; may be an identifier; by default that of the pipeline, and without one the respondents are the population"`
	Household   string   `yaml:"household" doc:"the column with the household of each respondent, for the risk that a member of the household is found; may be an identifier"`
	Person      []string `yaml:"person" doc:"the columns that tell whose each record is, if several records are one person's (the waves of a panel), normally those of identity; may be identifiers. k and individual risk are then also counted for all records of a person together, and rules about them are judged by the worse of both"`
	Sensitive   []string `yaml:"sensitive" doc:"columns whose l-diversity among records with equal keys is measured"`
	Alpha       float64  `yaml:"alpha" default:"1" doc:"the weight with which a missing value matches another value, 0 to 1"`
	K           []int    `yaml:"k" default:"[2, 3, 5]" doc:"values of k for which violations of k-anonymity are counted"`
	SUDA2       bool     `yaml:"suda2" default:"true" doc:"scores of special uniques: how few keys make a record unique, and in how many ways"`
	Approximate bool     `yaml:"approximate" default:"true" doc:"true: compute the individual risk by the approximate formula that other tools use; false: compute it exactly"`
}

// Check reports what is wrong whatever the columns are.
func (u *Uniqueness) Check() (ps check.Problems) {
	ps.Between("alpha", u.Alpha, 0, 1)
	for i, k := range u.K {
		at := fmt.Sprintf("k[%d]", i)
		if ps.Whole(at, k, 2, math.MaxInt32); slices.Contains(u.K[:i], k) {
			ps.Addf(at, "must not repeat a k, got %d again", k)
		}
	}
	return ps
}

// Population says how population uniques are estimated.
type Population struct {
	Model   string   `yaml:"model" default:"pml" enum:"default,ce,pml,weighted,ipf" doc:"how the model is fitted. pml (default): pseudo maximum likelihood of the weighted counts; default: maximum likelihood of the sample counts; ce: of these with the cells' mean inclusion probabilities as offset (Clogg and Eliason); weighted: with the cells' sums of weights as a variable, for comparison with other tools; ipf: default for categories without interactions"`
	Formula string   `yaml:"formula" doc:"terms of the log-linear model: keys and interactions, as in sex + region + age + sex:region; a*b stands for a + b + a:b; by default the main effects of all keys. Records that are unique by these keys are counted"`
	Weight  string   `yaml:"weight" doc:"the column of sampling weights: how many persons of the population a record stands for; may be an identifier; by default that of uniqueness, or of the pipeline"`
	Size    int      `yaml:"size" doc:"in place of weight: the size of the population from which the records are drawn with equal probabilities"`
	Linear  []string `yaml:"linear" doc:"numeric keys of the formula that enter as numbers with a slope and not as categories, as numeric columns do in R"`
}

// Attribute says how values of synthetic columns are guessed.
type Attribute struct {
	Within float64 `yaml:"within" default:"0.05" doc:"a guessed number is correct if it is within this many standard deviations of the original column"`
}

// Check reports what is wrong whatever the columns are.
func (a *Attribute) Check() (ps check.Problems) {
	ps.AtLeast("within", a.Within, 0)
	return ps
}

// Utility says which measures of utility are taken beyond those that
// need no choice.
type Utility struct {
	Propensity  bool         `yaml:"propensity" default:"false" doc:"measure how well a logistic regression on the values distinguishes released from original records: pMSE, which detects shifts of means but no change of spread"`
	Regressions []Regression `yaml:"regressions" doc:"linear regressions that data users would fit, to measure the overlap of the confidence intervals before and after masking"`
	Models      []string     `yaml:"models" doc:"the same in the notation of R, with functions, powers, interactions and categories: log(wage) ~ education + I(experience^2) + sex:region. A category is an indicator; one of fewer than 10 records has no coefficient of its own"`
}

// LinearModels returns the models that can be read, in their order.
func (u *Utility) LinearModels() (list []*LinearModel) {
	if u == nil {
		return nil
	}
	for _, text := range u.Models {
		if m, err := ParseLinearModel(text); err == nil {
			list = append(list, m)
		}
	}
	return list
}

// Names reports whether a regression or a model has a column.
func (u *Utility) Names(column string) bool {
	return u != nil && (slices.ContainsFunc(u.Regressions, func(r Regression) bool {
		return r.Response == column || slices.Contains(r.Predictors, column)
	}) || slices.ContainsFunc(u.LinearModels(), func(m *LinearModel) bool { return slices.Contains(m.Columns(), column) }))
}

// Regression is a linear regression that data users would do.
type Regression struct {
	Response   string   `yaml:"response" required:"true" doc:"the column that is explained"`
	Predictors []string `yaml:"predictors" required:"true" doc:"the columns that explain it"`
	Level      float64  `yaml:"level" default:"0.95" doc:"level of the confidence intervals, between 0 and 1"`
}

// Check reports what is wrong whatever the columns are.
func (r *Regression) Check() (ps check.Problems) {
	if !(r.Level > 0 && r.Level < 1) {
		ps.Addf("level", "must be between 0 and 1, both excluded, got %v", r.Level)
	}
	return ps
}

// Named reports whether any part of the intruder is named. Where none is, linkage
// and uniqueness are meant, as far as the types of the keys allow. It holds of a
// nil Section that none is.
func (in *Section) Named() bool {
	return in != nil &&
		(in.Linkage != nil || in.Bayes != nil || in.Uniqueness != nil || in.Population != nil || in.Interval != nil ||
			in.Utility != nil || in.Attribute != nil || in.Inversion)
}

// IsSet reports whether a part of the intruder is configured, by its name in the file.
func (in *Section) IsSet(part string) bool {
	v := reflect.ValueOf(*in)
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); tag == part {
			return !v.Field(i).IsZero()
		}
	}
	return false
}

// Terms returns the formula of the log-linear model: that of the file, or the main effects
// of keys.
func (of *Population) Terms(keys []string) Formula {
	if of.Formula != "" {
		if f, err := ParseFormula(of.Formula); err == nil {
			return f
		}
	}
	return MainEffects(keys)
}

// Fit returns the model by its name in the file.
func (of *Population) Fit() Model {
	return Model(slices.Index(Models, of.Model))
}
