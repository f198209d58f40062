package uniqueness

import (
	"fmt"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// Column is a categorical column: one code for each record, from 0, −1 where the
// value is missing. Codes need not be dense.
type Column struct {
	Name  string
	Codes []int32
}

// Data holds the input columns. All have one entry for each record.
type Data struct {
	// Keys are the released values of the columns that the intruder knows.
	Keys []Column
	// Known holds for each of Keys the codes that the intruder knows of the respondents: the
	// original values in the coding of Keys, −1 if a value is missing and so not known. All
	// measures are then taken from the snooper's side (see the type snooper). nil:
	// frequencies are counted from the released record, as other tools do.
	Known [][]int32
	// Laws holds for each of Keys how masks drew it at random, nil for a key that is released
	// as it is known or as missing; the entry of Known is then not used. nil: no key is drawn.
	Laws []*Law
	// Weights are sampling weights, at least 0. nil: the records are the population.
	Weights []float64
	// Household holds the number of each record's household, −1 if it is unknown; such
	// a record forms a household of its own. nil: no household risk.
	Household []int32
	// Person holds the number of the person of each record, −1 if it is unknown; such a record is a person of its own.
	// nil: persons are not counted. It must be nil with Laws.
	Person []int32
	// Sensitive are the columns whose l-diversity is measured.
	Sensitive []Column
}

// Options select the measures and their parameters. DefaultOptions returns the usual
// ones; the zero value has Alpha 0.
type Options struct {
	// Alpha is the weight, from 0 to 1, with which a missing value matches. Record j
	// adds to f_k of record i:
	//
	//   - 1 if both have the same values, missing in the same places;
	//   - 1 if j has no missing key and equals i wherever i has a value;
	//   - Alpha if j has a missing key and the two agree wherever both have a value;
	//   - 0 otherwise;
	//
	// and to F_k the same share of its weight. This is the rule of freqCalc in
	// sdcMicro. From the snooper's side a record with a missing key counts Alpha for a
	// respondent whose key is known, and always 1 for its own.
	Alpha float64
	// K are the k of k-anonymity for which violations are counted.
	K []int
	// Limits are further k for which persons are counted.
	Limits []int
	// Estimator is the estimator of the individual risk.
	Estimator Estimator
	// RecursiveC is the constant c of recursive (c,l)-diversity, above 0.
	RecursiveC float64
	// SUDA2 requests SUDA2 scores; nil: none.
	SUDA2 *SUDA2Options
	// Combinations is the largest number of keys in a tabulated combination; 0: no
	// table.
	Combinations int
	// Subsets are numbers of keys: for each, the least k and the greatest risk over all sets of
	// this many keys are found.
	Subsets []int
}

// DefaultOptions returns α = 1, k = 2, 3 and 5, the exact risk, c = 2, SUDA2 with its
// own defaults, and a table of combinations of up to three keys.
func DefaultOptions() Options {
	return Options{Alpha: 1, K: []int{2, 3, 5}, Estimator: Exact, RecursiveC: 2, SUDA2: &SUDA2Options{}, Combinations: 3}
}

// check returns an error if the columns or the options are not valid.
func check(data Data, o Options) error {
	if len(data.Keys) == 0 || len(data.Keys) > asked.Keys {
		return fmt.Errorf("keys: must be 1 to %d columns, got %d", asked.Keys, len(data.Keys))
	}
	n := len(data.Keys[0].Codes)
	if n == 0 || n > math.MaxInt32 {
		return fmt.Errorf("keys: must have 1 to %d records, got %d", math.MaxInt32, n)
	}
	if err := checkColumns("keys", data.Keys, n); err != nil {
		return err
	}
	if err := checkColumns("sensitive", data.Sensitive, n); err != nil {
		return err
	}
	if err := checkKnown(&data, n); err != nil {
		return err
	}
	if data.Weights != nil && len(data.Weights) != n {
		return fmt.Errorf("weights: must have %d records as the keys do, got %d", n, len(data.Weights))
	}
	for i, w := range data.Weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return fmt.Errorf("weights[%d]: must be a finite number, at least 0", i)
		}
	}
	if data.Household != nil && len(data.Household) != n {
		return fmt.Errorf("household: must have %d records as the keys do, got %d", n, len(data.Household))
	}
	for i, h := range data.Household {
		if h < -1 {
			return fmt.Errorf("household[%d]: must be a code from 0, or -1 for missing", i)
		}
	}
	if data.Person != nil && (len(data.Person) != n || data.Laws != nil) {
		return fmt.Errorf("person: must have %d records as the keys do, and no key that is drawn at random, got %d", n,
			len(data.Person))
	}
	for i, who := range data.Person {
		if who < -1 {
			return fmt.Errorf("person[%d]: must be a code from 0, or -1 for missing", i)
		}
	}
	return checkOptions(o, len(data.Keys), len(data.Sensitive) > 0)
}

func checkColumns(role string, columns []Column, n int) error {
	for j, c := range columns {
		if len(c.Codes) != n {
			return fmt.Errorf("%s[%d] (%s): must have %d records as the first key does, got %d", role, j, c.Name, n,
				len(c.Codes))
		}
		for k := range j {
			if columns[k].Name == c.Name {
				return fmt.Errorf("%s[%d] (%s): must not be named twice", role, j, c.Name)
			}
		}
		least := int32(0)
		for _, code := range c.Codes {
			least = min(least, code)
		}
		if least < -1 {
			i := slices.IndexFunc(c.Codes, func(code int32) bool { return code < -1 })
			return fmt.Errorf("%s[%d] (%s): must be codes from 0, or -1 for missing; record %d is neither", role, j, c.Name, i+1)
		}
	}
	return nil
}

func checkOptions(o Options, keys int, sensitive bool) error {
	switch {
	case !(o.Alpha >= 0 && o.Alpha <= 1):
		return fmt.Errorf("alpha: must be from 0 to 1, got %v", o.Alpha)
	case o.Estimator != Exact && o.Estimator != Approximate:
		return fmt.Errorf("estimator: must be %v or %v, got %d", Exact, Approximate, int(o.Estimator))
	case sensitive && !(o.RecursiveC > 0 && !math.IsInf(o.RecursiveC, 1)):
		return fmt.Errorf("recursive c: must be above 0 and finite, got %v", o.RecursiveC)
	case o.Combinations < 0:
		return fmt.Errorf("combinations: must be at least 0, got %d", o.Combinations)
	}
	for _, k := range o.K {
		if k < 1 {
			return fmt.Errorf("k: must be at least 1, got %d", k)
		}
	}
	for _, size := range o.Subsets {
		if size < 1 {
			return fmt.Errorf("subsets: must be at least 1 key, got %d", size)
		}
	}
	if s := o.SUDA2; s != nil {
		return s.check(keys)
	}
	return nil
}

// Codes numbers the distinct values from 0 in ascending order, −1 for NaN; −0 and 0
// are one value. Continuous values make nearly every record unique; bin them first if
// the intruder does not know the exact values.
func Codes(values []float64) []int32 {
	number := make(map[float64]int32)
	for _, v := range values {
		if v == v {
			number[v] = 0
		}
	}
	distinct := make([]float64, 0, len(number))
	for v := range number {
		distinct = append(distinct, v)
	}
	slices.Sort(distinct)
	for i, v := range distinct {
		number[v] = int32(i)
	}
	codes := make([]int32, len(values))
	for i, v := range values {
		codes[i] = -1
		if v == v {
			codes[i] = number[v]
		}
	}
	return codes
}
