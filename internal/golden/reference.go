package golden

import (
	_ "embed"
	"encoding/json"
	"math"
	"testing"
)

//go:embed testdata/reference.json
var reference []byte

// Values are numbers of which some are missing: null, held as NaN.
type Values []float64

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(text []byte) error {
	var numbers []*float64
	if err := json.Unmarshal(text, &numbers); err != nil {
		return err
	}
	*v = make(Values, len(numbers))
	for i, n := range numbers {
		if (*v)[i] = math.NaN(); n != nil {
			(*v)[i] = *n
		}
	}
	return nil
}

// Moments are those of the values that are there, the SD with divisor n−1.
type Moments struct {
	Mean, SD float64
	Missing  int64
}

// Frequencies are what one value of α makes of categorical keys, by record; Below
// counts the records of f < k, by k.
type Frequencies struct {
	Alpha       float64
	SampleF     Values `json:"f"`
	PopulationF Values `json:"F"`
	Exact       Values
	Approximate Values // missing where 1 < f < 2, because there is no formula
	Below       map[int]int
}

// SUDA2 are the scores of minimal sample uniques of at most MaxSize keys, and the DIS
// scores for a sampling fraction, by record; what each key contributes to the scores.
type SUDA2 struct {
	MaxSize      int `json:"max_size"`
	Fraction     float64
	Score        Values
	Contribution map[string]float64
	DIS          Values
}

// Reference holds made-up data and what scripts/reference/measures.py computes of
// them from the definitions alone. It is in the repository.
type Reference struct {
	Numeric, Masked map[string]Values
	Keys, Sensitive map[string]Values
	KeysWithGaps    map[string]Values `json:"keys_with_gaps"`
	Weights         Values
	Household       Values
	HouseholdRisk   Values `json:"household_risk"`
	SUDA2           map[string]SUDA2
	SUDA2WithGaps   map[string]SUDA2 `json:"suda2_with_gaps"`
	Frequencies     Frequencies
	WithGaps        []Frequencies `json:"frequencies_with_gaps"`
	Diversity       struct{ Distinct, Entropy, Recursive Values }
	Linkage         struct {
		Columns             []string
		Standardised, Gower float64
		Mahalanobis         float64
		// of the assignment that is shortest by the standardised distance
		OneToOneTotal   float64 `json:"one_to_one_total"`
		OneToOneCorrect float64 `json:"one_to_one_correct"`
	}
	Utility struct {
		IL1                float64
		IL1s               float64
		PerCell            float64 `json:"il1s_per_cell"`
		Eigen              float64
		Interval           map[string]float64
		Moments            map[string]Moments
		ReleasedMoments    map[string]Moments `json:"released_moments"`
		CovarianceOriginal []Values           `json:"covariance_original"`
		CovarianceReleased []Values           `json:"covariance_released"`
	}
}

// ReadReference returns the reference values. The numeric columns are in the order
// income, spending, savings, hours; the keys in the order region, age, sex, trade.
func ReadReference(tb testing.TB) *Reference {
	tb.Helper()
	var r Reference
	if err := json.Unmarshal(reference, &r); err != nil {
		tb.Fatal(err)
	}
	return &r
}
