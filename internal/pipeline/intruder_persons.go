package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// RecordsApart warns that persons have several records, and that nothing counts these together.
const RecordsApart = "several records are one respondent's (identity), and k and individual risk judge them one by one, as if nobody knew two of them; " +
	"set assess.intruder.uniqueness.person"

// carryPersons asks for the columns that tell whose each record is.
func (pl *Plan) carryPersons(b *layoutBuilder) error {
	names, at := pl.Config.UniquenessPerson(), &pl.Intruder
	if len(names) == 0 {
		if !pl.Config.CountsUniqueness() {
			return nil
		}
		names = pl.Config.Identity
	}
	for i, name := range names {
		if t := b.field(name).Type; !keystream.CanIdentify(t) {
			return config.Errors{
				pl.Config.Errorf(fmt.Sprintf("assess.intruder.uniqueness.person[%d]", i),
					"%s has type %s, which cannot tell persons apart", strconv.Quote(name), microdata.TypeName(t))}
		}
		at.Persons = append(at.Persons, b.want(name, microdata.Array, false))
	}
	at.Instead = pl.insteadOf(b, names...)
	for _, i := range slices.Concat(at.Persons, at.Instead) {
		if i >= 0 && !slices.Contains(pl.Carry, i) && !slices.Contains(at.Carried, i) {
			at.Carried = append(at.Carried, i)
		}
	}
	return nil
}

// carryJoins asks for the columns by which a project joins the records with those of other tables.
func (pl *Plan) carryJoins(b *layoutBuilder) error {
	for _, name := range pl.Config.Joins {
		if t := b.field(name).Type; !keystream.CanIdentify(t) {
			return config.Errors{
				pl.Config.Errorf("columns."+name, "has type %s, by which tables cannot be joined", microdata.TypeName(t))}
		}
		i := b.want(name, microdata.Array, false)
		pl.Joins = append(pl.Joins, i)
		if !slices.Contains(pl.Carry, i) && !slices.Contains(pl.Intruder.Carried, i) {
			pl.Intruder.Carried = append(pl.Intruder.Carried, i)
		}
	}
	return nil
}

// IsPerson reports whether a column alone tells whose each record is, so that what its pseudonyms join is counted by
// persons.
func (pl *Plan) IsPerson(name string) bool {
	names := pl.Config.UniquenessPerson()
	return len(names) == 1 && names[0] == name
}

// checkPersons returns an error for a rule about combinations of all keys if the records of a person cannot be counted
// together.
func (pl *Plan) checkPersons(path string, m *assess.RespondentMeasure) error {
	if len(pl.Config.UniquenessPerson()) == 0 || !pl.fromSnooper() {
		return nil
	}
	var drawn []string
	for _, name := range pl.Intruder.Keys {
		if pl.Noisy(name) || slices.ContainsFunc(pl.Config.Masks, func(s transform.Spec) bool {
			_, ok := transform.ActionOf(s.Params, name, 1).(transform.Randomising)
			return ok && slices.Contains(s.Params.Masks(), name)
		}) {
			drawn = append(drawn, strconv.Quote(name))
		}
	}
	if len(drawn) == 0 {
		return nil
	}
	return config.Errors{
		pl.Config.Errorf(path+"."+m.Name,
			"counts all records of a person together (assess.intruder.uniqueness.person), which is not possible for keys that masks draw at random: %s; recode, round or suppress the key instead",
			strings.Join(drawn, ", "))}
}
