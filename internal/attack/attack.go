// Package attack puts the intruders of internal/intruder together: what someone who
// knows some columns of the original finds in a release, how much of it can be
// computed back, and what the masking has cost, as one result with the names of the
// program's contract. It computes on columns in memory and reads nothing.
package attack

import (
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Schema names the format of an attack's JSON.
const Schema = "sdlfilter.attack/1"

// Data are an original and its release in memory, a record at the same index on
// both sides.
type Data struct {
	// Numeric are the numeric columns that are measured; Linked says which of them
	// an intruder knows, by index.
	Numeric []NumericColumn
	Linked  []int
	// Categorical are the keys whose combinations are counted. Linkage by Gower's
	// distance compares them too.
	Categorical []CategoricalColumn
	Sensitive   []CategoricalColumn // whose l-diversity is measured
	Weights     []float64           // of sampling, by record; nil: none
	Household   []int32             // by record, −1 where it is not known; nil: none
	// Earlier are earlier releases of Numeric, each with a slice for every column.
	Earlier [][][]float64
	// Records is how many records the release has of which these are a sample; 0:
	// these are all.
	Records int64
	// Places are the records' places in the file, from 0, where some of it were left
	// out; nil: their indexes.
	Places []int
}

// place is where the record of an index is in the file.
func (d *Data) place(i int) int {
	if d.Places == nil {
		return i
	}
	return d.Places[i]
}

// NumericColumn is a numeric column on both sides, NaN where a value is missing.
// Grid is the step of its values, 10^−decimals; 0 where it is not known.
type NumericColumn struct {
	Name               string
	Grid               float64
	Original, Released []float64
}

// CategoricalColumn is a column of codes from 0, the same on both sides, −1 where a
// value is missing. Released is nil where the release has the original's values.
type CategoricalColumn struct {
	Name               string
	Original, Released []int32
	// Code returns the code of a category by its text, false where no record has it; nil
	// where texts are not known.
	Code func(text string) (int32, bool)
}

// Options say what is asked. A nil part is left out.
type Options struct {
	// Targets is how many respondents are sought by linkage and by the Bayesian
	// intruder, spread evenly over the records; 0: all.
	Targets    int
	Linkage    *Linkage
	Bayes      *intruder.Options
	Uniqueness *uniqueness.Options
	Intervals  []float64 // widths of interval disclosure, in SDs
	Loss       *loss.Options
	Categories bool // what masks have taken from the categorical columns, where they have changed any
	Averaging  bool // with Data.Earlier
	Inversion  *Inversion
	Attribute  *Attribute // what synthetic columns tell of the records that their models learnt from
}

// Linkage says how records are linked by distance.
type Linkage struct {
	Distance   linkage.Distance
	Covariance linkage.Covariance
	OneToOne   bool
}

// Inversion is what an intruder knows who inverts the masks.
type Inversion struct {
	Masks []transform.Spec
	Known inversion.Published
}
