package transform

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Params is the configuration of one mask.
type Params interface {
	// Check reports what is wrong with the parameters themselves.
	Check() check.Problems
	// Masks returns the columns whose values the mask may change.
	Masks() []string
	// Reads returns the further columns that it must see.
	Reads() []string
	// Describe returns what the mask declares of itself.
	Describe() Description
}

// Spec is one entry of a configuration's list of masks.
type Spec struct {
	Name   string // for messages, the map and the keystream; "" where none was given
	Params Params
}

// Kind returns the name of the mask's kind in a configuration.
func (s Spec) Kind() string {
	for _, k := range Kinds {
		if reflect.TypeOf(k.New()) == reflect.TypeOf(s.Params) {
			return k.Name
		}
	}
	return ""
}

// Kind is a mask that a configuration can name.
type Kind struct {
	Name string
	Doc  string // one sentence, for the JSON Schema
	New  func() Params
}

// Kinds is the table of masks: a new mask is one file and one line here.
var Kinds = []Kind{
	{"sample", "release a keyed share of the records and leave the others out", func() Params { return new(Sample) }},
	{"bias", "multiply by θ ~ N(1, φ²), drawn for each record and column", func() Params { return new(Bias) }},
	{"noise", "add ε with mean 0 and standard deviation λ", func() Params { return new(Noise) }},
	{"truncate", "keep released values within bounds", func() Params { return new(Truncate) }},
	{"round", "round to decimals or to a base", func() Params { return new(Round) }},
	{"recode", "replace categories by coarser ones, or numbers by intervals", func() Params { return new(Recode) }},
	{"topcode", "replace values beyond a bound by the bound, their mean or a label", func() Params {
		return new(Topcode)
	}},
	{"pram", "replace categories by others, drawn with a transition matrix", func() Params { return new(PRAM) }},
	{"suppress", "set cells of the keys missing until at least k records share each combination of the keys",
		func() Params { return new(Suppress) }},
	{
		"pseudonym",
		"replace identifiers by keyed pseudonyms that are the same in every file and release, so that records still join",
		func() Params { return new(Pseudonym) }},
	{
		"date",
		"release the middle of a week, month, quarter or year, shift all dates of a respondent alike, or release ages",
		func() Params { return new(Date) }},
	{
		"donut",
		"displace points by a keyed distance and direction, between two distances or so that so many people live within it",
		func() Params { return new(Donut) }},
	{"swap", "exchange values between records with the same keys", func() Params { return new(Swap) }},
	{"recordswap", "exchange the areas of whole households, first of those that are rare in theirs", func() Params {
		return new(RecordSwap)
	}},
	{"microaggregate", "replace values by the mean or median of groups of at least k similar records", func() Params {
		return new(Microaggregate)
	}},
	{"rankswap", "exchange values between records of similar rank", func() Params { return new(RankSwap) }},
	{"shuffle", "give values to other records, ranked by draws that depend on columns which are not shuffled",
		func() Params { return new(Shuffle) }},
	{"synthesise", "replace all values by draws from models of the columns, each conditional on others", func() Params {
		return new(Synthesise)
	}},
	{"calibrate", "multiply sampling weights so that weighted totals are those of margins", func() Params {
		return new(Calibrate)
	}},
}

// Amount is a quantity in the column's unit, or a fraction of the column's
// standard deviation, written as a percentage.
type Amount struct {
	Value    float64
	Relative bool // Value is a fraction of the SD: 0.35 for "35%"
}

// UnmarshalText reads "12.5" or "35%".
func (a *Amount) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	number, relative := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return fmt.Errorf("must be a number in the column's unit or a percentage of its standard deviation, got %q", s)
	}
	if relative {
		v /= 100
	}
	a.Value, a.Relative = v, relative
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (a Amount) MarshalText() ([]byte, error) {
	if a.Relative {
		return []byte(strconv.FormatFloat(a.Value*100, 'g', 15, 64) + "%"), nil
	}
	return strconv.AppendFloat(nil, a.Value, 'g', -1, 64), nil
}

// Bias multiplies each value by θ ~ N(1, φ²), drawn anew for every record and
// column: Trottini et al. (2004), equations A2.1 and A2.2.
type Bias struct {
	Columns []string `yaml:"columns" doc:"the columns to mask"`
	Phi     *float64 `yaml:"phi" share:"part" doc:"φ, the standard deviation of θ"`
	Range   *float64 `yaml:"range" share:"part" doc:"h, the half-width of the range of θ; φ = h/3"`
	Where   string   `yaml:"where" doc:"the mask changes only records whose original values meet this condition on its column or on columns that no mask changes, such as \"wage > 0 and status = employed\"; the others are released unchanged, and everybody knows which"`
}

// Noise adds ε with mean 0 and variance λ²: Duncan, Keller-McNulty and Stokes
// (2004), section 4.
type Noise struct {
	Columns      []string `yaml:"columns" doc:"the columns to mask"`
	SD           *Amount  `yaml:"sd" doc:"λ in the column's unit, or as a percentage of the column's standard deviation"`
	Distribution string   `yaml:"distribution" doc:"normal (default), laplace or uniform" enum:"normal,laplace,uniform"`
	Tiers        []Tier   `yaml:"tiers" doc:"value ranges with their own variance (unequal variance)"`
	Correlated   bool     `yaml:"correlated" doc:"the noise of a record is correlated as the columns are, so that the release keeps their correlations; sd must then be a percentage"`
	Where        string   `yaml:"where" doc:"the mask changes only records whose original values meet this condition on its column or on columns that no mask changes, such as \"wage > 0 and status = employed\"; the others are released unchanged, and everybody knows which"`
}

// Tier gives values above a bound a noise variance of λ² times a factor
// (unequal variance, Duncan et al. 2004, fig. 7). The last tier whose bound
// lies below the value holds.
type Tier struct {
	Above          *float64 `yaml:"above" doc:"the tier applies to values greater than this"`
	VarianceFactor *float64 `yaml:"variance_factor" doc:"factor by which λ² is multiplied"`
}

// Truncate keeps released values within bounds: Duncan et al. (2004), equation
// 11. Mode clip moves a value outside to the bound; mode redraw draws the noise
// of the preceding noise mask conditionally on landing inside, which leaves no
// heap of values at the bound.
type Truncate struct {
	Columns []string `yaml:"columns" doc:"the columns to mask"`
	Lower   *float64 `yaml:"lower" doc:"least released value"`
	Upper   *float64 `yaml:"upper" doc:"greatest released value"`
	Mode    string   `yaml:"mode" doc:"clip (default) or redraw" enum:"clip,redraw"`
	Where   string   `yaml:"where" doc:"the mask changes only records whose original values meet this condition on its column or on columns that no mask changes, such as \"wage > 0 and status = employed\"; the others are released unchanged, and everybody knows which"`
}

// Round rounds to a number of decimals or to multiples of a base, halves to even.
type Round struct {
	Columns  []string `yaml:"columns" doc:"the columns to mask"`
	Decimals *int     `yaml:"decimals" doc:"decimals to keep; negative for tens, hundreds, …"`
	Base     *float64 `yaml:"base" doc:"released values are multiples of this"`
	Where    string   `yaml:"where" doc:"the mask changes only records whose original values meet this condition on its column or on columns that no mask changes, such as \"wage > 0 and status = employed\"; the others are released unchanged, and everybody knows which"`
}

// Swap exchanges the values of the protected columns between records with the
// same swapping keys and another value of the swapping attribute, each possible
// exchange with probability π: Duncan and Keller-McNulty (2000), sections 2.2
// and 3.
type Swap struct {
	Keys      []string `yaml:"keys" doc:"swapping keys: partners agree in all of them"`
	Attribute string   `yaml:"attribute" doc:"swapping attribute: partners differ in it"`
	Columns   []string `yaml:"columns" doc:"protected variables: the columns whose values are exchanged"`
	Rate      *float64 `yaml:"rate" share:"whole" doc:"π, the probability that a possible exchange is made"`
	Policy    string   `yaml:"policy" doc:"unique (default): candidates are unique in keys and attribute; random: every record is a candidate" enum:"unique,random"`
	Scope     string   `yaml:"scope" doc:"window (default): partners are in the same window of records; dataset: partners can be anywhere, which takes two passes" enum:"window,dataset"`
}
