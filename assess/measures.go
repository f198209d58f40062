package assess

import (
	"fmt"
	"math"
	"strconv"
)

// Float is a float64 whose JSON form is the string "Infinity" (or "-Infinity")
// where it is infinite, and null where it is not a number.
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	case math.IsNaN(v):
		return []byte("null"), nil
	default:
		return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Float) UnmarshalJSON(text []byte) error {
	switch s := string(text); s {
	case `"Infinity"`:
		*f = Float(math.Inf(1))
	case `"-Infinity"`:
		*f = Float(math.Inf(-1))
	case "null":
		*f = Float(math.NaN())
	default:
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("must be a number or \"Infinity\"")
		}
		*f = Float(v)
	}
	return nil
}

// Moments describes one column of the original or of the released data, in the
// column's unit. SD has divisor n−1.
type Moments struct {
	N     int64 `json:"n"`
	Nulls int64 `json:"nulls"`
	Mean  Float `json:"mean"`
	SD    Float `json:"sd" doc:"standard deviation with divisor n−1"`
	Min   Float `json:"min"`
	Max   Float `json:"max"`
}

// Utility is the data utility of a column for the estimation of its mean,
// docs/methods.md, section 2: U = 1/E(μ̂ − μ)², unit 1/(unit of x)². U, Efficiency and Bias are
// those expected over replicates (Duncan et al. 2004, eq. 14); RealisedU is
// that of the release itself; U0 = n/S_x². SE is the Monte-Carlo standard error
// of U, NaN where there are not two replicates or U is infinite.
type Utility struct {
	U          Float `json:"U" doc:"data utility 1/E(μ̂ − μ)², where E is the expectation over replicates"`
	SE         Float `json:"U_se" doc:"Monte-Carlo standard error of U; null if there are fewer than two replicates or U is infinite"`
	RealisedU  Float `json:"realised_U" doc:"U of this release"`
	U0         Float `json:"U0" doc:"utility of the unmasked data, n/S²"`
	Efficiency Float `json:"efficiency" doc:"U/U0"`
	// EfficiencyGate is U0⁻¹/(max(S_x², E S_y²)/n + bias²), which a gate judges. A mask that
	// makes a column less variable raises U, but the release does not thereby tell more of
	// the mean.
	EfficiencyGate Float `json:"efficiency_gate"`
	Bias           Float `json:"bias" doc:"expected shift of the mean"`
	Sampled        bool  `json:"sampled"` // whether U rests on the keyed sample

	// Approximate says that the accuracy of U is not known, Errs in which direction it may
	// be wrong.
	Approximate bool   `json:"approximate,omitempty"`
	Errs        string `json:"errs,omitempty"`
}

// Risk is the disclosure risk of one target under one knowledge state:
// R = 1/E(τ − τ̂)², unit 1/(unit of x)² (Duncan et al. 2004, eq. 12); RMSE =
// √(1/R), in the column's unit. SE is the Monte-Carlo standard error of R, by the
// delta method R²·sd((τ − τ̂_m)²)/√M, NaN where there are not two replicates or R is
// infinite. If R is computed from the masks' law and not from replicates, SE is the error
// due to the sample (docs/methods.md §9).
type Risk struct {
	Target string `json:"target" doc:"typical, min, p01, …, max"`
	// mean, index, record, all_releases, position, order
	Knowledge  string `json:"knowledge" doc:"mean, index, record (the snooper uses all released columns of the record), all_releases (and those of earlier releases in the ledger), position or order (the snooper knows the order of the records in the source)"`
	R          Float  `json:"R" doc:"disclosure risk 1/E(τ − τ̂)², unit 1/(unit of the column)²"`
	SE         Float  `json:"R_se" doc:"standard error of R; of an upper bound (bound) R/2; \"Infinity\" if R is approximate and nothing shows how far it is off; null if R is infinite, or exact without replicates"`
	RMSE       Float  `json:"rmse" doc:"√(1/R), in the column's unit"`
	RealisedR  Float  `json:"realised_R" doc:"R of this release"`
	Replicates int    `json:"replicates" doc:"number of replicates; 0 if R is that of this release alone"`
	Sampled    bool   `json:"sampled" doc:"whether R is computed from the keyed sample"`

	// Approximate says that the accuracy of R is not known, Errs in which direction it may
	// be wrong.
	Approximate bool   `json:"approximate,omitempty"`
	Errs        string `json:"errs,omitempty"`
	// Bound says that R is the greatest that it can be, and that how far it is below is not known: SE is then R/2.
	Bound bool `json:"bound,omitempty" doc:"whether R is an upper bound of which it is not known how far it is above: R_se is then R/2, so that R − 2 R_se is 0, and R itself is what a gate judges"`

	// Under knowledge of the whole record: the other columns that tell of the value, and, for the
	// typical record, the share of the linear estimator's mean squared error that a small tree removes.
	Tells    []string `json:"tells,omitempty" doc:"under knowledge record: the other columns that tell of the value"`
	Not      string   `json:"not,omitempty" doc:"why R could not be computed"`
	TreeGain *Float   `json:"tree_gain,omitempty" doc:"under knowledge record: the share of the mean squared error of the best linear estimator that a small tree removes"`
}

// ColumnMeasures is everything measured of one column.
type ColumnMeasures struct {
	Name     string  `json:"-"`
	Unit     string  `json:"unit,omitempty"`
	Masked   bool    `json:"masked"`
	Key      bool    `json:"key,omitempty" doc:"whether its role is key: its risk is that of combinations of keys, and the headline is about the other columns, unless a rule names it or no other is masked"`
	Original Moments `json:"original"`
	Released Moments `json:"released"`
	// mean of (x − y)² over records with both
	MeanSquaredDifference Float `json:"mean_squared_difference" doc:"mean of (x − y)²"`
	// Of a masked column: the number of released values equal to the original, how many of
	// them the law of the masks explains, and whether there are more than that.
	Unchanged          *int64  `json:"unchanged,omitempty" doc:"number of released values equal to the original; absent if no mask changes the column"`
	UnchangedExplained *Float  `json:"unchanged_explained,omitempty" doc:"how many of them the law of the masks explains"`
	UnchangedExcess    bool    `json:"unchanged_excess,omitempty" doc:"whether more values are equal to the original than the law of the masks explains"`
	Utility            Utility `json:"utility"`
	Risk               []Risk  `json:"risk"`
	// of a masked column: what the order of the records discloses
	Order     *Order     `json:"order,omitempty" doc:"what the order of the source's records discloses about a masked column"`
	Together  *Together  `json:"-"` // with a ledger: by all releases; nil if that is not known
	Histogram *Histogram `json:"histogram,omitempty"`
	Spikes    *Spikes    `json:"spikes,omitempty" doc:"of a masked column with a value that at least 5 % of the records share, and five times as many as either distinct value beside it: this value and the others apart"`
	Remark    string     `json:"remark,omitempty" doc:"says where this release is worse than a rule by more than a factor of 10 (the gate judges the expectation over releases) and where a clip may disclose an extreme value"`
}

// Histogram holds the original and released distribution in common bins, from
// the keyed sample. Edges has one element more than the counts. Bins are merged
// so that none but an empty one holds fewer than 10 respondents on either side.
type Histogram struct {
	Edges    []Float `json:"edges"`
	Original []int   `json:"original"`
	Released []int   `json:"released"`
}

// Correlation holds the Pearson correlation matrices before and after, over
// pairwise complete records.
type Correlation struct {
	Columns  []string  `json:"columns"`
	Original [][]Float `json:"original"`
	Released [][]Float `json:"released"`
}

// Measures is the result of an assessment.
type Measures struct {
	MissingCodes []MissingCodes // of the columns with declared codes
	Unaltered    []Unaltered    // columns of texts
	Renamed      []Renamed      // by column of pseudonyms
	Determined   []Determined   // by column of rounded dates
	Records      int64          // assessed pairs
	Sample       int            // pairs in the keyed sample
	Columns      []ColumnMeasures
	Correlation  Correlation
	Identity     *Identity     // nil if no such measure was requested
	Privacy      *Privacy      // nil if nothing asks for it
	Together     *Privacy      // Privacy of all releases in the ledger; nil if there is none, or nothing asks for it
	Earlier      *Earlier      // nil if there is no ledger
	Known        []KnownTotals // values that tables of the ledger tell beside the records
	// with a ledger: Identity of a snooper who holds all releases, of what Rule.OfUnion asks for; nil if not measured
	Linked *Identity

	Gated          bool     // whether the release passes a gate, with rules or without
	Unseen         []string // released columns that the risk under knowledge of the whole record leaves out
	AllowUnchanged *float64 // share of values that may be released unchanged, whatever the masks explain; nil: none
}

// Column returns the measures of the named column, or nil.
func (m *Measures) Column(name string) *ColumnMeasures {
	for i := range m.Columns {
		if m.Columns[i].Name == name {
			return &m.Columns[i]
		}
	}
	return nil
}

// Order describes how much the order of the records discloses about a column.
type Order struct {
	// Descents is the share of descents among neighbours with different original
	// values, ½ in a shuffled file, and Autocorrelation the lag-1 autocorrelation
	// of the ranks of the original values, 0 there.
	Descents        Float `json:"descents" doc:"share of descents among neighbouring records with different original values; 1/2 in a shuffled file"`
	Autocorrelation Float `json:"autocorrelation" doc:"lag-1 autocorrelation of the ranks of the original values, 0 in a shuffled file"`
	// Departs is true if the source departs from a shuffled file.
	Departs bool `json:"departs" doc:"whether the order of the source differs from that of a shuffled file"`
	// Fit is the fit that is nearest to the original values, if the source departs.
	Fit string `json:"fit,omitempty" doc:"the fit to the order that is nearest to the original values"`
	// Shuffled says that the release has its records in another order, so that
	// the release does not show the order of the source.
	Shuffled bool `json:"shuffled,omitempty" doc:"whether the records of the release are in another order than those of the source"`
}

// Identity holds the measures of identity disclosure for the gate: whether respondents can be
// found in the release. A measure that is NaN or nil was not computed. The measures come from
// internal/intruder; RespondentMeasures describes each of them.
type Identity struct {
	Linked            Float // share of the targets whose nearest released record is their own
	CorrectLinks      Float // number of targets that the Bayesian intruder links correctly
	MinK              Float // least number of released records that fit a respondent's keys
	MaxIndividualRisk Float // greatest probability of re-identification of a record

	// ExpectedPopulation is the expected number of correct matches of sample uniques with the population,
	// ExpectedUniques that of sample uniques that are unique in the population, each plus two standard
	// errors.
	ExpectedPopulation Float
	ExpectedUniques    Float

	// Loss of information in the categorical keys that masks change.
	Changed Float // share of records whose category was changed, of the key with the greatest share
	// share of a key's entropy that remains when the released category is known, of the key with the greatest share
	EntropyLost Float
	// greatest probability with which an intruder who knows the masks infers a record's category of a key
	Posterior Float
	PMSE      Float // propensity score mean squared error of the masked keys together
	// ReplicatedUniques is the share of the original's unique combinations of keys that are in
	// the release, if masks change some of the keys.
	ReplicatedUniques Float
	// AttributeDisclosure is the share of right guesses of synthetic values for records that the
	// models were fitted to, minus that for records that were set aside, plus two standard errors;
	// of the column with the greatest difference.
	AttributeDisclosure Float
	KS                  Float // greatest distance of a numeric column's distributions
	Overlap             Float // least mean overlap of the confidence intervals of a regression
	// SpatialK is the least number of people as near to a released point as the true place is, or from whose places the
	// masks could have moved it; PlaceRMSE the root mean squared distance in metres of the best guess from the true place.
	// Unplaced says why one is not measured.
	SpatialK  Float
	PlaceRMSE Float
	Unplaced  string
	// Sampled says that not all records were examined. The least k, the greatest risk, the
	// replicated uniques and the attribute disclosure are then NaN: they may depend on a record
	// that was not drawn.
	Sampled bool
	// BySubset has MinK and MaxIndividualRisk over all sets of some number of keys, by that number.
	BySubset map[int]BySubset
	// Uncounted says which keys could not be counted and why, "" if all were. MinK,
	// MaxIndividualRisk and BySubset are then not measured.
	Uncounted string
	// Unlinked, Unmatched and Untold say why Linked, CorrectLinks and Posterior are not known of all releases, "" if they
	// are.
	Unlinked, Unmatched, Untold string
	// KByPersons and RiskByPersons say that MinK and MaxIndividualRisk are those of all records of a person together,
	// which are worse than those of single records.
	KByPersons, RiskByPersons bool
	// Unfitted says why no log-linear model could be fitted, "" if one was or none was asked for.
	// ExpectedPopulation and ExpectedUniques are then not measured.
	Unfitted string
	// Inverted is the number of values that were computed back from the release and the
	// list of masks; nil if that was not tried.
	Inverted *int64
	// Exact holds the shares of values that the best snooper states within a distance, by column.
	Exact []ExactShare
	// Uninverted are columns for which it was not tried, because a mask does not say what it does.
	Uninverted []string
	// InvertedBy says in words in which column and how.
	InvertedBy []string
}

// KnowledgeOrder is the knowledge state of an intruder who has the records in the order of the
// source: τ̂ is a fit of the released values along that order. Its target is the typical one.
const KnowledgeOrder = "order"

// The knowledge states of docs/methods.md, section 2, as reports name them.
const (
	KnowledgeMean     = "mean"     // τ̂ = ȳ
	KnowledgeIndex    = "index"    // τ̂ = y_t, the linked record
	KnowledgeRecord   = "record"   // τ̂ is the best estimate from all released columns of the linked record
	KnowledgePosition = "position" // τ̂ = y_(k), the same order statistic
	// KnowledgeAllReleases is KnowledgeRecord of a snooper who also has what the ledger says was released of the record
	// before.
	KnowledgeAllReleases = "all_releases"
)

// knowledges lists the knowledge states in the order of reports.
var knowledges = []string{KnowledgeMean, KnowledgeIndex, KnowledgeRecord, KnowledgeAllReleases, KnowledgePosition,
	KnowledgeOrder}

// TargetTypical is the target "any record of the sample": Duncan et al. (2004), eq. 3 under
// knowledge of the mean.
const TargetTypical = "typical"

// The possible direction of the error of an approximate figure.
const (
	ErrsSafe   = "safe"   // R is not understated, or U not overstated
	ErrsEither = "either" // it may be wrong in either direction
)
