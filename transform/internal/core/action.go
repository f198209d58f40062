package core

import "math"

// Action is what a mask does to a value: Addition, Multiplication, Bounding, Rounding,
// Exchange, Relocation, Aggregation, RankExchange, Shuffling, Synthesis, Recoding, Randomising, Suppression,
// Renaming, Sampling, Displacing or Calibration. A new kind of mask needs an action of its own here, and support for it
// in the packages that use actions; these treat an unknown action like a missing one.
type Action interface{ IsAction() }

// Addition adds noise of mean 0 that is symmetric about it: SD is λ in the column's
// unit. Duncan et al. (2004), section 4.
type Addition struct {
	SD           float64
	Distribution string // normal, laplace or uniform
	Tiers        []ActionTier
	Correlated   bool // with that of the mask's other columns, as their values are
}

// ActionTier gives values above a bound a multiple of the variance; bounds ascend
// and the last one below the value holds.
type ActionTier struct{ Above, Factor float64 }

// Multiplication multiplies by θ ~ N(1, φ²): Trottini et al. (2004), A2.1.
type Multiplication struct{ Phi float64 }

// Bounding keeps values within bounds, infinite where there is none: by moving
// values to the bound (mode clip), or by drawing the noise of the Addition just
// before it within them (mode redraw). Duncan et al. (2004), equation 11.
type Bounding struct {
	Lower, Upper float64
	Mode         string
}

// Rounding rounds to multiples of Step, in the column's unit.
type Rounding struct{ Step float64 }

// Exchange exchanges the values of Columns, all together, between records with equal Keys
// and different values of Attribute, with probability Rate. Duncan and Keller-McNulty
// (2000), sections 2.2 and 3.
type Exchange struct {
	Keys      []string
	Attribute string
	Columns   []string
	Rate      float64
	Unique    bool // candidates are unique in keys and attribute
	Dataset   bool // partners are sought in all records, not within windows
}

// Aggregation replaces values by the mean or median of groups of at least K records with
// similar values (microaggregation). K is a whole number, NaN where it is not known.
type Aggregation struct {
	K         float64
	Aggregate string // mean or median
}

// Shuffling gives the values of a column to other records, in the order of draws that follow
// from the columns On.
type Shuffling struct{ On []string }

// Synthesis replaces all values of a column by draws from a model of them, given the columns
// On and in strata By.
type Synthesis struct {
	On, By []string
	Method string // parametric, normal or cart; "" where it is not known
	// HeldOut is the share of the records that models were not fitted to; NaN where there is one
	// that is not known.
	HeldOut float64
	// Bounded says that numbers are drawn within the bounds of the data, or may be; Ruled that some follow from rules.
	Bounded, Ruled bool
}

func (Addition) IsAction()       {}
func (Multiplication) IsAction() {}
func (Bounding) IsAction()       {}
func (Rounding) IsAction()       {}
func (Exchange) IsAction()       {}
func (Aggregation) IsAction()    {}
func (Shuffling) IsAction()      {}
func (Synthesis) IsAction()      {}

// Calibration multiplies sampling weights so that weighted totals are given ones.
type Calibration struct{}

func (Calibration) IsAction() {}

// Published gives access to the published parameters of a mask.
type Published struct {
	Parameters func(name string) (value any, ok bool) // a published parameter, in the form of Parameter.Value
	SD         func(column string) (float64, bool)    // λ in the column's unit, where it is published and known
	Named      func(name string) bool                 // whether the parameter is published if the mask has it
	Has        func(name string) bool                 // whether the mask has it, published or not
	Number     func(v float64) string                 // a number as text
	Unit       string                                 // after a number: "" or " EUR"
}

// Float returns a published parameter, false where it is not there or not finite.
func (p Published) Float(name string) (float64, bool) {
	v, _ := p.Parameters(name)
	f, ok := v.(float64)
	return f, ok && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// NumberOr returns a published parameter; other if it is not published or not finite.
func (p Published) NumberOr(name string, other float64) float64 {
	if v, ok := p.Float(name); ok {
		return v
	}
	return other
}

// Word returns a published word; "" where it is not published.
func (p Published) Word(name string) string {
	v, _ := p.Parameters(name)
	s, _ := v.(string)
	return s
}

// List returns a published list of words; nil where it is not published.
func (p Published) List(name string) []string {
	v, _ := p.Parameters(name)
	entries, _ := v.([]any)
	var out []string
	for _, e := range entries {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Bound returns a published bound: NaN where there may be one that is not
// published, and none (infinite) only where the absence of one is published.
func (p Published) Bound(name string, none float64) float64 {
	if v, ok := p.Float(name); ok {
		return v
	}
	if p.Named(name) && !p.Has(name) {
		return none
	}
	return math.NaN()
}

// JsonWords makes a list of the type that decoding JSON gives.
func JsonWords(list []string) []any {
	out := make([]any, len(list))
	for i, w := range list {
		out[i] = w
	}
	return out
}

// WordOr returns word; byDefault if word is empty.
func WordOr(word, byDefault string) string {
	if word == "" {
		return byDefault
	}
	return word
}

// WithNumber adds a parameter that is a number, where it is given.
func WithNumber(list []Parameter, name string, v *float64) []Parameter {
	if v != nil {
		list = append(list, Parameter{name, *v})
	}
	return list
}

var NaN = math.NaN()
