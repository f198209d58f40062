package core

import "strings"

// Recoding replaces categories by other ones, or numbers by the middle of their interval
// between Breaks: a function of the value, under which different values may become equal.
type Recoding struct {
	Breaks    []float64 // nil where categories were mapped, or the bounds are not published
	Midpoints bool
	From, To  []string // the categories that were mapped, and what takes their places; nil where they are not known
	Other     *string  // what takes the place of those that are not listed; nil: they are refused
}

// Randomising replaces a category by one drawn from the row of the Matrix for that category:
// post-randomisation (Gouweleeuw et al. 1998).
type Randomising struct {
	Categories []string    // in order; nil where they are not published
	Matrix     [][]float64 // Matrix[k][l]: probability that category k is released as l
	// Counted: Matrix is not used directly. The matrix used in each stratum of By is
	// InvariantMatrix of Matrix and the stratum's original frequencies.
	Counted bool
	By      []string
	Other   *string // the category that those not listed count as; nil: they are refused
}

// Suppression sets cells of Keys missing until every combination belongs to at least K records.
// K is NaN and Keys is nil where they are not known.
type Suppression struct {
	K    float64
	Keys []string
}

// Sampling leaves records out and changes none of the others.
type Sampling struct{}

func (Sampling) IsAction()    {}
func (Recoding) IsAction()    {}
func (Randomising) IsAction() {}
func (Suppression) IsAction() {}

// Floats returns a published list of numbers.
func (p Published) Floats(name string) []float64 {
	v, _ := p.Parameters(name)
	entries, _ := v.([]any)
	var out []float64
	for _, e := range entries {
		if x, ok := e.(float64); ok {
			out = append(out, x)
		}
	}
	return out
}

// Flag returns a published parameter that is true or false; false where it is not published.
func (p Published) Flag(name string) bool {
	v, _ := p.Parameters(name)
	b, _ := v.(bool)
	return b
}

// NumbersText writes numbers one after another.
func NumbersText(p Published, list []float64) string {
	var words []string
	for _, v := range list {
		words = append(words, p.Number(v))
	}
	return strings.Join(words, ", ") + p.Unit
}
