package attack

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// personOf returns who each record of the sample is of, −1 if that is not known: nil if the configuration does not ask
// for persons. apart says that it does not although several records are one respondent's.
func personOf(pl *pipeline.Plan, p assess.Pairs) (person []int32, apart bool) {
	at := &pl.Intruder
	if len(at.Persons) == 0 || p.Len() == 0 {
		return nil, false
	}
	var columns [][]int32
	for k, index := range at.Persons {
		values := originalOf(pl, p, index)
		if other := at.Instead[k]; other >= 0 {
			values = filled(values, originalOf(pl, p, other))
		}
		columns = append(columns, codesOfPersons(values))
	}
	if person = attack.Persons(columns); len(pl.Config.UniquenessPerson()) == 0 {
		return nil, attack.Repeated(person)
	}
	return person, false
}

// originalOf returns the original values of a column of a block, or the codes that stand for them.
func originalOf(pl *pipeline.Plan, p assess.Pairs, index int) []float64 {
	if i := slices.Index(p.CarriedColumns, index); i >= 0 {
		return p.Carried[i]
	}
	return p.Original[slices.IndexFunc(pl.Assessed, func(c assess.Column) bool { return c.Index == index })]
}

// nobody is the code of an empty text, which identifies nobody.
var nobody = microdata.CategoryCode(nil)

// codesOfPersons numbers values, −1 for none, for a declared code and for an empty text.
func codesOfPersons(values []float64) []int32 {
	values = slices.Clone(values)
	for i, v := range values {
		if v == nobody {
			values[i] = math.NaN()
		}
	}
	return uniqueness.Codes(values)
}

// filled returns values, and of a second column where they are missing.
func filled(values, instead []float64) []float64 {
	values = slices.Clone(values)
	for i, v := range values {
		if v != v || v == nobody {
			values[i] = instead[i]
		}
	}
	return values
}

// limitsOfK are the limits of rules about k.
func limitsOfK(rules []assess.Rule) (limits []int) {
	for _, r := range rules {
		if r.MinK != nil && !slices.Contains(limits, *r.MinK) {
			limits = append(limits, *r.MinK)
		}
	}
	return limits
}
