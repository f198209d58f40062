// Package asked is what a configuration may ask of the intruders: the section assess.intruder, the log-linear models,
// their formulas, and how much of anything. It computes nothing, so that whoever reads a configuration links no
// intruder.
package asked

import "fmt"

// What the intruders take at most.
const (
	// Jointly is the greatest number of released records of which targets are matched jointly: the
	// memory for all pairs grows with its square.
	Jointly = 5000
	// OneToOne is the most targets or released records of a one-to-one assignment: 5,000 take 200 MB and about two
	// seconds.
	OneToOne = 5000
	// Keys is the largest number of keys: a set of keys is stored as the bits of one word.
	Keys = 64
)

// Model says how the log-linear model is fitted.
type Model int

// The models.
const (
	// Default fits the sample counts by maximum likelihood: λ_k = μ_k/π_k.
	Default Model = iota
	// CE fits them with the offset log z_k of Clogg & Eliason (1987), z_k = f_k/Σw the cell's mean
	// inclusion probability: λ_k = μ_k/z_k. Nothing says what z_k is of an empty cell; that of the
	// sample is taken, so that τ is off where inclusion probabilities depend on the keys.
	CE
	// PML fits the weighted counts Σw by pseudo maximum likelihood: λ_k is their fitted value.
	PML
	// Weighted fits the sample counts with the cell's sum of weights as a further variable. It is
	// there for comparison: the sum is 0 where a cell is empty, so that the model is told what it is
	// to predict.
	Weighted
	// IPF is Default by the name of iterative proportional fitting, which reaches the same fit. All
	// variables are categories, and there are no interactions.
	IPF
)

// Models are the names of the models, in their order.
var Models = []string{"default", "ce", "pml", "weighted", "ipf"}

// String returns the name of the model.
func (m Model) String() string {
	if m < 0 || int(m) >= len(Models) {
		return fmt.Sprintf("Model(%d)", int(m))
	}
	return Models[m]
}
