// Package attack runs the intruders of internal/intruder on a release and collects
// their results: what an intruder who knows some columns of the original finds, how
// much of the original can be computed back, and the information loss of the masking.
// The result has the names of the program's contract. The package computes on columns
// in memory and does no I/O except WriteRecords.
package attack

import (
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Schema names the format of an attack's JSON.
const Schema = "sdlfilter.attack/1"

// Data holds an original and its release in memory, with a record at the same index on
// both sides.
type Data struct {
	// Numeric are the numeric columns to measure. Linked holds the indices of those
	// that an intruder knows.
	Numeric []NumericColumn
	Linked  []int
	// Categorical are the categorical keys. Linkage by Gower's distance also compares them.
	Categorical []CategoricalColumn
	// Inferred are columns of categories that are no keys, of which the original category is inferred.
	Inferred []CategoricalColumn
	// Modelled are the columns of categories that models of utility have beside the numeric ones.
	Modelled []CategoricalColumn
	// Counted are the keys whose combinations are counted, numeric ones among them; nil: those
	// in Categorical.
	Counted []CategoricalColumn
	// Released makes Uniqueness count the released records that have the same released keys, as
	// other tools do, instead of those that can be a respondent's for a snooper who knows the
	// original keys.
	Released  bool
	Sensitive []CategoricalColumn // columns whose l-diversity is measured
	Beside    []BesideColumn      // other released columns, which may tell of masked categories
	// Shown holds the released columns that are not in Numeric, with values as assess.Piece returns whole ones.
	Shown []BesideColumn
	// Pieces holds numbers by which the texts of columns of Beside are ordered, each name possibly several times.
	Pieces  []BesideColumn
	Weights []float64 // sampling weights, by record; nil: none
	// persons of the population that a record stands for, for population uniques; nil: Population.Size has their number
	Persons   []float64
	Household []int32 // by record, −1 if unknown; nil: none
	// Person holds who each record is of, −1 if unknown, so that the records of a person are also counted together; nil:
	// they are not.
	Person []int32
	// Apart says that several records are one respondent's, and that nothing says to count them together.
	Apart bool
	// Ordered says that the records leave in this order.
	Ordered bool
	// Earlier holds earlier releases of Numeric, each with one slice per column.
	Earlier [][][]float64
	// Records is the number of records of the release if the data are a sample of it;
	// 0: the data are the whole release.
	Records int64
	// Places holds the records' positions in the file, from 0, if the data omit some
	// records; nil: the positions are the indices.
	Places []int
	// Read holds the released columns that masks read and do not change; those among the others may be left out.
	Read []inversion.Key
}

// place returns the position in the file of record i.
func (d *Data) place(i int) int {
	if d.Places == nil {
		return i
	}
	return d.Places[i]
}

// BesideColumn has the released values of a column: numbers, or codes of categories; NaN if one is
// missing.
type BesideColumn struct {
	Name     string
	Released []float64
}

// NumericColumn is a numeric column before and after masking, NaN if a value is
// missing. Grid is the step of its values, 10^−decimals; 0 if unknown.
type NumericColumn struct {
	Name               string
	Grid               float64
	Original, Released []float64
	Withheld           bool // the column is measured and not released
	// Alike says that all records with one original value have one draw (assess.Column).
	Alike bool
}

// CategoricalColumn is a column of codes from 0, the same codes on both sides, −1 if a
// value is missing. Released is nil if the release has the original values.
type CategoricalColumn struct {
	Name               string
	Original, Released []int32
	// Code returns the code of a category from its text, false if no record has it; nil
	// if the texts are unknown.
	Code func(text string) (int32, bool)
	// Known says how the released codes come from what a snooper knows; nil: from the data
	// alone (see knownFrom).
	Known *Known
	// Recoded are the original categories after the recodings among the masks, where other masks
	// change the column too; nil: there are none, or they are found in the data.
	Recoded []int32
	// Cells are the codes of the released values by which Known.Law gives probabilities, if they
	// are not those of Released.
	Cells []int32
}

// Known is a key as a snooper knows it.
type Known struct {
	// Codes are the original values in the coding of the release, −1 if not known.
	Codes []int32
	// Law is how masks drew the released codes; nil if they are those of Codes or missing.
	Law *uniqueness.Law
	// Not says why the key cannot be counted from the snooper's side, "" if it can be.
	Not string
}

// Options select the parts of an attack. A nil part is not computed.
type Options struct {
	// Targets is the number of respondents that linkage and the Bayesian intruder
	// search for, evenly spaced over the records; 0: all.
	Targets    int
	Linkage    *Linkage
	Bayes      *intruder.Options
	Uniqueness *uniqueness.Options
	Intervals  []float64 // widths of interval disclosure, in SDs
	Loss       *loss.Options
	Models     []*asked.LinearModel // of utility, beside Loss
	Population *Population          // population uniques by a log-linear model
	Categories bool                 // information loss of the categorical columns, if masks have changed any
	Averaging  bool                 // averaging attack; needs Data.Earlier
	Inversion  *Inversion
	Attribute  *Attribute // disclosure by synthetic columns about the records that their models were fitted to
}

// Linkage holds the parameters of linkage by distance.
type Linkage struct {
	Distance   linkage.Distance
	Covariance linkage.Covariance
	OneToOne   bool
}

// Inversion holds the knowledge of an intruder who inverts the masks.
type Inversion struct {
	Masks []transform.Spec
	Known inversion.Published
	// Unasked: columns that cannot be attacked are left out, and named in the result where a mask
	// does not say what it does. Otherwise they are errors.
	Unasked bool
	// Within holds, by column, distances within which values are stated.
	Within map[string][]float64
	// Alone holds the columns that the rules judge without the columns beside them.
	Alone map[string]bool
}
