package transform

import (
	"fmt"
	"math"
)

// Mechanism is what a mask does to a value as differential privacy sees it, by the parameters of the configuration
// alone. A mask that does not declare it, and one of which Not says why nothing can be stated, leaves its columns
// without ε, whatever other masks do to them: what they release may depend on other records, or on other values of the
// record.
type Mechanism struct {
	Kind MechanismKind
	Not  string // why nothing can be stated of a column that the mask changes; "" where something can

	Lower, Upper float64     // Clipping: fixed bounds, infinite where there is none
	Step         float64     // Stepping: the values are moved by at most half of it
	SD           float64     // Adding: λ in the column's unit
	Law          string      // Adding: normal, laplace or uniform
	Matrix       [][]float64 // Responding: the laws of what is released, by original category
	Categories   int         // Responding: how many there are; Matrix may have two of many that are alike
	Rate         float64     // Drawing: the probability that a record is released
}

// MechanismKind says what becomes of a value. All of them depend on this value and the draws alone.
type MechanismKind uint8

// The kinds.
const (
	OwnValue   MechanismKind = iota // any function of the value, with or without draws
	Clipping                        // two values do not move apart; the result lies within bounds
	Stepping                        // rounding to multiples of a step, or to decimals
	Adding                          // noise is added, with the same law for every value
	Responding                      // a category is drawn with probabilities that depend on the original one
	Drawing                         // the record is released with a probability that depends on no value
)

// MechanismOf returns the mechanism of mask i on a column.
func MechanismOf(masks []Spec, i int, column string) Mechanism {
	d := declared(masks[i].Params)
	switch {
	case d.Mechanism != nil:
		return d.Mechanism(column)
	case d.Scope != ScopeRecord:
		return Mechanism{Not: masks[i].Kind() + " takes values from other records, or decides by them"}
	case d.FitsData:
		return Mechanism{Not: masks[i].Kind() + " has parameters that follow from the data"}
	}
	return Mechanism{Not: masks[i].Kind() + " is no mechanism with an ε"}
}

// byCondition is why a mask with a condition leaves nothing to state.
const byCondition = "the condition (where) shows which records were masked, and is about original values"

func (m *Noise) mechanism(string) Mechanism {
	a := Mechanism{Kind: Adding, Law: wordOr(m.Distribution, "normal")}
	switch {
	case m.Where != "":
		a.Not = byCondition
	case m.SD == nil:
		a.Not = "the noise has no standard deviation"
	case m.SD.Relative:
		a.Not = "λ is a percentage of the standard deviation, and so depends on the data (give sd in the column's unit)"
	case len(m.Tiers) > 0:
		a.Not = "the variance of the noise depends on the value (tiers)"
	case m.Correlated:
		a.Not = "the noise has the correlations of the data"
	default:
		a.SD = m.SD.Value
	}
	return a
}

func (m *Truncate) mechanism(string) Mechanism {
	switch {
	case m.Where != "":
		return Mechanism{Not: byCondition}
	case m.redraws():
		return Mechanism{Not: "the noise is drawn within bounds (redraw), with a probability that depends on the value"}
	}
	lower, upper := m.interval()
	return Mechanism{Kind: Clipping, Lower: lower, Upper: upper}
}

func (m *Topcode) mechanism(string) Mechanism {
	switch {
	case m.Where != "":
		return Mechanism{Not: byCondition}
	case m.needsValues() != "":
		return Mechanism{Not: "percentiles and means of the data are its parameters (" + m.needsValues() + ")"}
	case m.Replace == "label":
		return Mechanism{Kind: OwnValue}
	}
	lower, upper := (&Truncate{Lower: m.Lower, Upper: m.Upper}).interval()
	return Mechanism{Kind: Clipping, Lower: lower, Upper: upper}
}

func (m *PRAM) mechanism(string) Mechanism {
	switch {
	case m.Invariant:
		return Mechanism{Not: "the matrix is made of the frequencies of the data (invariant)"}
	case m.plain():
		k := float64(len(m.categories()))
		even := (1 - *m.Keep) / (k - 1)
		return Mechanism{Kind: Responding, Categories: int(k), Matrix: [][]float64{{*m.Keep, even}, {even, *m.Keep}}}
	case len(m.Check()) > 0:
		return Mechanism{Not: "its parameters are not valid"}
	}
	_, p := m.matrix()
	return Mechanism{Kind: Responding, Categories: len(p), Matrix: p}
}

func (m *Sample) mechanism(string) Mechanism {
	if m.By != "" || m.Rate == nil {
		return Mechanism{Not: "whether a record is drawn depends on a column (by)"}
	}
	return Mechanism{Kind: Drawing, Rate: *m.Rate}
}

func (m *Round) mechanism(string) Mechanism {
	a := Mechanism{Kind: Stepping}
	switch {
	case m.Where != "":
		a.Not = byCondition
	case m.Base != nil:
		a.Step = *m.Base
	case m.Decimals != nil:
		a.Step = math.Pow10(-*m.Decimals)
	}
	return a
}

func (m *Bias) mechanism(string) Mechanism {
	if m.Where != "" {
		return Mechanism{Not: byCondition}
	}
	return Mechanism{Kind: OwnValue}
}

func (m *Recode) mechanism(string) Mechanism { return Mechanism{Kind: OwnValue} }

// String is for messages of tests.
func (m Mechanism) String() string {
	if m.Not != "" {
		return "not: " + m.Not
	}
	return fmt.Sprintf("kind %d [%v, %v] step %v %s %v %v", m.Kind, m.Lower, m.Upper, m.Step, m.Law, m.SD, m.Matrix)
}
