package pipeline

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// IntruderColumns are the columns that an intruder knows, with their places in a block.
type IntruderColumns struct {
	Linked  []string // numeric keys
	Counted []string // categorical keys
	// Inferred are the released columns of categories that are no keys, and that masks randomise, or recode where they are
	// sensitive: of these the original category is inferred, and nothing is counted.
	Inferred []string
	Modelled []string // columns of categories in the models of utility
	Beside   []string // other released columns, which may tell of masked categories
	Keys     []string // keys whose combinations are counted, of all types
	// Uncounted are the keys that cannot be counted because of their masks.
	Uncounted []Uncounted
	Left      []string // keys by their role that have nested values: not measured
	Carried   []int    // indexes in layout.Read that the sample must hold codes of
	// Released are those of Carried that a mask changes. The sample must hold the codes of their
	// released values as well.
	Released []int
	Index    map[string]int // of the columns that the sample holds codes of, in Layout.Read
	// Persons are the indexes of the columns that tell whose each record is: those of uniqueness.person, or, if it is not
	// given, of identity, by which it is only found out whether persons have several records. Instead has for each the
	// column that stands in for it, -1 for none.
	Persons, Instead []int
}

// compared reports whether a numeric column is measured because the intruder knows it or a
// regression names it.
func (pl *Plan) compared(name string) bool {
	in := pl.Config.Assess.Intruder
	if slices.Contains(pl.Config.Assess.IntruderKeys(), name) {
		return in == nil || !slices.Contains(in.Categorical, name)
	}
	return in != nil && in.Utility.Names(name)
}

// setModelled asks for the categories of the models; numbers are measured anyway.
func (pl *Plan) setModelled(b *layoutBuilder, in *config.Intruder) error {
	at := &pl.Intruder
	for i, m := range in.Utility.LinearModels() {
		path := fmt.Sprintf("assess.intruder.utility.models[%d]", i)
		for _, name := range m.Columns() {
			measured := slices.ContainsFunc(pl.Assessed, func(c assess.Column) bool { return c.Name == name })
			form, masked := b.masked[name]
			number := b.field(name).Numeric() && !slices.Contains(in.Categorical, name) && !(masked && form == microdata.Array)
			switch {
			case measured && number:
			case b.field(name).Nested():
				return config.Errors{
					pl.Config.Errorf(path, "must have columns of numbers or categories, and %s is nested (%s)", strconv.Quote(name),
						microdata.TypeName(b.field(name).Type))}
			case number:
				return config.Errors{
					pl.Config.Errorf(path, "must have columns that are measured, and %s is a weight that a mask calibrates",
						strconv.Quote(name))}
			case name == m.Response.Column:
				return config.Errors{
					pl.Config.Errorf(path, "must have a response of numbers, and %s has categories", strconv.Quote(name))}
			case m.Transforms(name):
				return config.Errors{
					pl.Config.Errorf(path, "must have functions and powers of numbers, and %s has categories", strconv.Quote(name))}
			case !slices.Contains(at.Modelled, name):
				at.Modelled = append(at.Modelled, name)
				at.count(b, name)
			}
		}
	}
	return nil
}

// setIntruder decides which columns are read for the intruder. Numeric keys are linked unless
// the configuration calls them categories; all others are counted.
func (pl *Plan) setIntruder(b *layoutBuilder) error {
	a := pl.Config.Assess
	if !a.AttacksRelease() {
		return nil
	}
	in := a.Intruder
	if in == nil {
		in = &config.Intruder{}
	}
	at := &pl.Intruder
	at.Index = map[string]int{}
	for _, name := range a.IntruderKeys() {
		if form, masked := b.masked[name]; b.field(name).Numeric() && !slices.Contains(in.Categorical, name) &&
			!(masked && form == microdata.Array) {
			at.Linked = append(at.Linked, name)
			pl.setCounted(b, name)
			continue
		}
		if b.field(name).Nested() {
			if !pl.leavesOut(true) {
				return config.Errors{
					pl.Config.Errorf("assess.keys",
						"%s is nested (%s) and cannot be counted: leave it out of assess.keys and give it another role than key",
						strconv.Quote(name), microdata.TypeName(b.field(name).Type))}
			}
			at.Left = append(at.Left, name)
			continue
		}
		at.Counted = append(at.Counted, name)
		at.count(b, name)
		pl.setCounted(b, name)
	}
	for _, name := range pl.Masked {
		if transform.Renames(pl.Config.Masks, name) && !slices.Contains(at.Keys, name) &&
			name != pl.Config.HouseholdColumn() {
			at.Keys = append(at.Keys, name) // what joins the records of a respondent tells how many there are
			at.count(b, name)
		}
	}
	if err := pl.carryForUniqueness(b, in.Uniqueness); err != nil {
		return err
	}
	if in.Population != nil {
		if w := pl.Config.PopulationWeight(); w != "" {
			if !b.field(w).Numeric() {
				return config.Errors{
					pl.Config.Errorf(pl.weightPath("assess.intruder.population.weight", in.Population.Weight),
						"must be a numeric column, and %s is %s", w, microdata.TypeName(b.field(w).Type))}
			}
			at.carry(b, w, microdata.Numbers)
		}
		for i, name := range in.Population.Linear {
			if !slices.Contains(at.Linked, name) {
				return config.Errors{
					pl.Config.Errorf(fmt.Sprintf("assess.intruder.population.linear[%d]", i), "must be a numeric key, and %s is %s",
						name, microdata.TypeName(b.field(name).Type))}
			}
		}
	}
	if in.Attribute != nil {
		for _, name := range transform.HoldOut(pl.Config.Masks) {
			if b.masked[name] == microdata.Array {
				at.count(b, name) // texts, of which the sample must hold what leaves
			}
		}
	}
	if err := pl.setModelled(b, in); err != nil {
		return err
	}
	pl.carryInferred(b)
	pl.carryBeside(b)
	if err := pl.checkIntruder(in); err != nil {
		return err
	}
	return pl.checkRespondentRules(in)
}

// carry asks for a column whose codes the sample must hold.
func (at *IntruderColumns) carry(b *layoutBuilder, name string, as microdata.Form) {
	i := b.want(name, as, as == microdata.Numbers)
	at.Index[name] = i
	if !slices.Contains(at.Carried, i) {
		at.Carried = append(at.Carried, i)
	}
}

// count asks for a column whose categories are counted; if a mask changes it, also for the
// released categories.
func (at *IntruderColumns) count(b *layoutBuilder, name string) {
	form, masked := b.masked[name]
	if !masked {
		at.carry(b, name, microdata.Array)
		return
	}
	i := b.want(name, form, false)
	at.Index[name] = i
	if !slices.Contains(at.Released, i) {
		at.Carried, at.Released = append(at.Carried, i), append(at.Released, i)
	}
}

// carryForUniqueness asks for the columns that uniqueness needs in addition to the keys; u may
// be nil.
func (pl *Plan) carryForUniqueness(b *layoutBuilder, u *config.IntruderUniqueness) error {
	at := &pl.Intruder
	if u != nil {
		for _, name := range u.Sensitive {
			at.count(b, name)
		}
	}
	if h := pl.Config.UniquenessHousehold(); h != "" && !b.field(h).Nested() {
		at.carry(b, h, microdata.Array)
	}
	if err := pl.carryPersons(b); err != nil {
		return err
	}
	if w := pl.Config.UniquenessWeight(); w != "" && pl.Config.CountsUniqueness() {
		given := ""
		if u != nil {
			given = u.Weight
		}
		if !b.field(w).Numeric() {
			return config.Errors{
				pl.Config.Errorf(pl.weightPath("assess.intruder.uniqueness.weight", given),
					"must be a numeric column, and %s is %s", w, microdata.TypeName(b.field(w).Type))}
		}
		at.carry(b, w, microdata.Numbers)
		pl.weights = append(pl.weights, transform.ColumnInfo{Name: w, Index: at.Index[w], Field: b.field(w)})
	}
	return nil
}

// weightPath returns where a column of weights is named: at path, or for the whole pipeline.
func (pl *Plan) weightPath(path, given string) string {
	if given == "" {
		return "weight"
	}
	return path
}

// checkIntruder returns an error for keys of a type that a part of the intruder cannot work
// with.
func (pl *Plan) checkIntruder(in *config.Intruder) error {
	at := &pl.Intruder
	switch {
	case in.Linkage != nil && len(at.Linked) == 0 && in.Linkage.Distance != "gower":
		return config.Errors{pl.Config.Errorf("assess.intruder.linkage", "links numeric keys, and none of the keys is one")}
	case in.Bayes != nil && len(at.Linked) == 0:
		return config.Errors{pl.Config.Errorf("assess.intruder.bayes", "links numeric keys, and none of the keys is one")}
	case in.Uniqueness != nil && len(at.Keys) == 0:
		why := ""
		if len(at.Uncounted) > 0 {
			why = fmt.Sprintf("; %q %s", at.Uncounted[0].Name, at.Uncounted[0].Why)
		}
		return config.Errors{
			pl.Config.Errorf("assess.intruder.uniqueness", "counts combinations of keys, and none of the keys can be counted%s",
				why)}
	}
	return pl.checkInversion(in)
}

// checkInversion returns an error for masked categories that are not counted: the inversion of
// numbers does not cover them.
func (pl *Plan) checkInversion(in *config.Intruder) error {
	if !in.Inversion {
		return nil
	}
	for i, m := range pl.Config.Masks {
		for _, name := range m.Params.Masks() {
			action := transform.ActionOf(m.Params, name, 1)
			if a, ok := action.(transform.Randomising); ok {
				for _, by := range a.By {
					if !slices.Contains(pl.Intruder.Counted, by) {
						return config.Errors{
							pl.Config.Errorf("assess.intruder.inversion",
								"needs the strata of %s, but %q is not a categorical key: name it in assess.keys and, if it is a number, in assess.intruder.categorical, or leave inversion out", pl.MaskPath(i), by)}
					}
				}
			}
			switch action.(type) {
			case transform.Recoding, transform.Randomising, transform.Suppression:
				if !slices.Contains(pl.Intruder.Counted, name) && !slices.Contains(pl.Intruder.Inferred, name) {
					return config.Errors{
						pl.Config.Errorf("assess.intruder.inversion",
							"infers categories of categorical keys only, but %s changes %q, which is not one: name it in assess.keys and in assess.intruder.categorical, or leave inversion out", pl.MaskPath(i), name)}
				}
			}
		}
	}
	return nil
}

// checkRespondentRules returns an error for each rule about respondents without keys of the
// type that it measures.
func (pl *Plan) checkRespondentRules(in *config.Intruder) error {
	at := &pl.Intruder
	for i, rule := range pl.Config.Gate.Rules {
		path := fmt.Sprintf("gate.rules[%d]", i)
		for _, m := range assess.RespondentMeasures {
			_, given := m.Limit(rule)
			switch {
			case !given, m.Part == assess.PartPlaces:
			case m.Part == "population":
				if err := pl.checkPopulation(path+"."+m.Name, in.Population); err != nil {
					return err
				}
			case m.AllKeys:
				if err := pl.checkCounted(path, &m); err != nil {
					return err
				}
				if err := pl.checkPersons(path, &m); err != nil {
					return err
				}
				if err := pl.checkSubsets(path, rule); err != nil {
					return err
				}
				if len(at.Keys) == 0 {
					return config.Errors{pl.Config.Errorf(path, "is about combinations of keys, and none of the keys can be counted")}
				}
			case m.Name == "max_posterior" && len(at.Inferred) > 0:
			case m.Categorical && len(at.Counted) == 0:
				return config.Errors{
					pl.Config.Errorf(path,
						"is about combinations of categorical keys, and none of the keys is one; list numeric ones that are in assess.intruder.categorical")}
			case m.Loss && !slices.ContainsFunc(at.Counted, func(name string) bool {
				return slices.Contains(at.Released, at.Index[name])
			}):
				return config.Errors{
					pl.Config.Errorf(path+"."+m.Name, "is about the information loss of categorical keys, and no mask changes one")}
			case !m.Categorical && m.ByDefault && len(at.Linked) == 0 && in.Linkage == nil &&
				!(pl.fromSnooper() && pl.counts(in) && len(at.Keys) > 0 && len(at.Uncounted) == 0):
				return config.Errors{
					pl.Config.Errorf(path+"."+m.Name, "is about linkage by numeric keys, and none of the keys is one")}
			}
		}
	}
	return nil
}
