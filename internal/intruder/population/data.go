package population

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// Variable is a key: one code for each record, from 0, −1 if the value is missing. If Values is not
// nil the key enters as a number, with the value of each record, as numeric columns do in R;
// otherwise as a category.
type Variable struct {
	Name   string
	Codes  []int32
	Values []float64
}

// Data holds the keys and the sampling weights, of which each record has one above 0: the number of
// persons in the population that it stands for.
type Data struct {
	Variables []Variable
	Weights   []float64
}

// Options select the model. The variables of the formula are those of the data, in any order.
type Options struct {
	Model   asked.Model
	Formula asked.Formula
}

// The greatest model that is fitted. All cells are gone through about twenty times; the matrix of
// MostParameters takes 8 MB, and memory does not grow with the number of cells.
const (
	MostCells      = 5_000_000
	MostParameters = 1_000
)

// Refusal is the reason for which a model is not fitted to the data: the words say which, and what
// to do about it. They hold no value.
type Refusal struct{ Words string }

func (r *Refusal) Error() string { return r.Words }

func refusef(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// check returns an error if the columns do not fit together or a weight is none.
func check(d Data, o Options) error {
	if o.Model < asked.Default || o.Model > asked.IPF {
		return fmt.Errorf("model: must be one of %v, got %v", asked.Models, o.Model)
	}
	if len(d.Variables) == 0 || len(d.Variables[0].Codes) == 0 {
		return fmt.Errorf("variables: must have at least one column of at least one record")
	}
	if o.Model == asked.IPF && o.Formula.Interactions() {
		return fmt.Errorf("formula: must not have interactions with ipf, got %v; default fits the same model", o.Formula)
	}
	n := len(d.Variables[0].Codes)
	if len(d.Weights) != n {
		return fmt.Errorf("weights: must have %d records as the variables do, got %d", n, len(d.Weights))
	}
	for _, v := range d.Variables {
		if len(v.Codes) != n || v.Values != nil && len(v.Values) != n {
			return fmt.Errorf("variable %q: must have %d records as the first does", v.Name, n)
		}
		for i, x := range v.Values {
			if v.Codes[i] >= 0 && (math.IsNaN(x) || math.IsInf(x, 0)) {
				return refusef("the key %q enters as a number, and record %d has none; take it as a category", v.Name, i+1)
			}
		}
	}
	wrong := 0
	for _, w := range d.Weights {
		if !(w > 0) || math.IsInf(w, 1) {
			wrong++
		}
	}
	if wrong > 0 {
		return refusef(
			"%d of %d records have a sampling weight that is missing or not above 0; give each its weight, or take these records out", wrong, n)
	}
	return nil
}
