package core

import (
	"fmt"
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

// ByCondition is why a mask with a condition leaves nothing to state.
const ByCondition = "the condition (where) shows which records were masked, and is about original values"

// String is for messages of tests.
func (m Mechanism) String() string {
	if m.Not != "" {
		return "not: " + m.Not
	}
	return fmt.Sprintf("kind %d [%v, %v] step %v %s %v %v", m.Kind, m.Lower, m.Upper, m.Step, m.Law, m.SD, m.Matrix)
}
