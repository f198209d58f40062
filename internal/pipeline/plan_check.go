package pipeline

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// checkColumns compares the configured names and types with the schema, and returns all errors
// at once, in the order of the configuration's parts.
func (pl *Plan) checkColumns() error {
	if err := pl.checkDelimiter(); err != nil {
		return err
	}
	problems := slices.Concat(pl.checkListed(), pl.checkUnlisted(), pl.checkMasks(), pl.checkIdentity())
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// checkDelimiter returns one error if every column is missing because the fields are separated
// by another character.
func (pl *Plan) checkDelimiter() error {
	p, schema := pl.Config, pl.Source.Schema()
	if !slices.ContainsFunc(p.Columns, func(c config.Column) bool { return schema.Index(c.Name) < 0 }) {
		return nil
	}
	missplit := pl.Source.Abilities().Missplit
	if missplit == nil {
		return nil
	}
	delimiter := missplit()
	if delimiter == "" {
		return nil
	}
	return config.Errors{
		p.Errorf("source."+p.Source.Kind, "the fields of the first records are separated by %q: say so (delimiter: %q)",
			delimiter, delimiter)}
}

// checkListed returns an error for each listed column that is missing, or has other decimals
// than its type.
func (pl *Plan) checkListed() (problems config.Errors) {
	schema := pl.Source.Schema()
	for _, c := range pl.Config.Columns {
		i := schema.Index(c.Name)
		if i < 0 {
			problems = append(problems,
				pl.Config.Errorf("columns."+c.Name, "the source has no such column%s", check.SuggestPlace(c.Name, schema.Names())))
			continue
		}
		f := schema.Fields[i]
		if d, fixed := f.Decimals(); c.Decimals != nil && fixed && d != *c.Decimals {
			problems = append(problems,
				pl.Config.Errorf("columns."+c.Name+".decimals", "must be %d, which the column's type %s fixes, got %d", d, f.Type,
					*c.Decimals))
		}
	}
	return problems
}

// checkUnlisted returns an error if columns of the source are not listed, unless unlisted columns
// may be dropped. It gives their places: what the source calls them may be a value, for example
// if the file has no header.
func (pl *Plan) checkUnlisted() config.Errors {
	if pl.Config.Unlisted == "drop" {
		return nil
	}
	var extra []string
	for i, f := range pl.Source.Schema().Fields {
		if pl.Config.Columns.Named(f.Name) == nil && !pl.Config.Place.Has(f.Name) {
			extra = append(extra, fmt.Sprintf("column %d", i+1))
		}
	}
	if len(extra) == 0 {
		return nil
	}
	return config.Errors{
		pl.Config.Errorf("columns",
			"the source has columns that are not listed: %s; list them (`sdlfilter init` writes all names), or say `unlisted: drop`", check.Places(extra))}
}

// checkMasks returns an error for each mask that cannot work with the type of a column.
// checkListed reports columns that the source does not have: masks name listed columns alone.
func (pl *Plan) checkMasks() (problems config.Errors) {
	schema := pl.Source.Schema()
	for i, m := range pl.Config.Masks {
		path := pl.MaskPath(i)
		for _, name := range m.Params.Masks() {
			j := schema.Index(name)
			if j < 0 {
				continue
			}
			before, _ := transform.FieldAfter(pl.Config.Masks[:i], schema.Fields[j])
			problems = append(problems, pl.checkMasked(path, m, before)...)
			problems = append(problems, pl.checkRetyped(i, schema.Fields[j])...)
			if (putsCategories(m.Params) || transform.TakesTexts(m.Params, name)) && pl.jsonText(j) {
				problems = append(problems,
					pl.Config.Errorf(path+".columns",
						"%s contains JSON values of several types, whose text is not a category: do not use a swap together with %s, "+
							"give the column one type, or release without this mask", name, m.Kind()))
			}
		}
		problems = append(problems, pl.checkRead(path, m)...)
		problems = append(problems, pl.checkNumbersRead(path, m)...)
	}
	return problems
}

// jsonText reports whether a column of the source holds JSON of several kinds as its text.
func (pl *Plan) jsonText(j int) bool {
	json := pl.Source.Abilities().JSONText
	return json != nil && json(j)
}

// checkRead returns an error for each column that the mask at path reads but cannot compare.
func (pl *Plan) checkRead(path string, m transform.Spec) (problems config.Errors) {
	schema := pl.Source.Schema()
	_, texts := transform.ComparedBy(m.Params)
	for _, name := range m.Params.Reads() {
		j := schema.Index(name)
		if j < 0 {
			continue
		}
		if schema.Fields[j].Nested() {
			problems = append(problems,
				pl.Config.Errorf(path, "%s is nested (%s) and cannot be compared", name, schema.Fields[j].Type))
		}
		if (putsCategories(m.Params) || slices.Contains(texts, name)) && pl.jsonText(j) {
			problems = append(problems,
				pl.Config.Errorf(path,
					"%s contains JSON values of several types, whose text is not a category: do not use a swap together with %s, or give the column one type", name, m.Kind()))
		}
	}
	return problems
}

// checkNumbersRead returns an error for each column that the mask at path reads as numbers but
// that is not numeric.
func (pl *Plan) checkNumbersRead(path string, m transform.Spec) (problems config.Errors) {
	schema := pl.Source.Schema()
	field, columns := transform.NumbersReadBy(m.Params)
	for k, name := range columns {
		j := schema.Index(name)
		if j < 0 || schema.Fields[j].Numeric() || transform.TakesTexts(m.Params, name) &&
			transform.CanBeCategory(schema.Fields[j]) {
			continue
		}
		what := "numbers to go by"
		if _, may := m.Params.(*transform.Synthesise); may {
			what += ", or texts that are named in categories"
		}
		problems = append(problems,
			pl.Config.Errorf(fmt.Sprintf("%s.%s[%d]", path, field, k), "%s is %s, and %s needs %s; leave it out%s", name,
				microdata.TypeName(schema.Fields[j].Type), m.Kind(), what, pl.typesHint(schema.Fields[j], ", or")))
	}
	return problems
}

// checkMasked returns an error if the mask at path cannot change a column of the type that the
// masks before it release.
func (pl *Plan) checkMasked(path string, m transform.Spec, f microdata.Field) config.Errors {
	p, name, computes := pl.Config, f.Name, transform.Computes(m.Params)
	switch {
	case transform.OnCategories(m.Params) && f.Nested():
		return config.Errors{
			p.Errorf(path+"."+transform.ColumnsField(m.Params), "%s is nested (%s), and %s needs single values", name,
				microdata.TypeName(f.Type), m.Kind())}
	case !computes && f.Nested():
		return config.Errors{p.Errorf(path+".columns", "%s is nested (%s) and cannot be swapped", name, f.Type)}
	case computes && transform.InDays(pl.Config.Masks, f):
	case computes && !f.Numeric() && transform.TakesTexts(m.Params, name) && transform.CanBeCategory(f):
	case computes && !f.Numeric():
		hint := ""
		if _, may := m.Params.(*transform.Synthesise); may && transform.CanBeCategory(f) {
			hint = ", or text that is named in categories"
		}
		hint += pl.typesHint(f, ";")
		return config.Errors{
			p.Errorf(path+".columns", "%s is %s, and %s needs a number%s", name, microdata.TypeName(f.Type), m.Kind(), hint)}
	}
	return nil
}

// typesHint returns a hint, after the given word, how a column of a source that infers types
// becomes numeric; "" if that is not the reason why it is text. A column without any value is
// text, too.
func (pl *Plan) typesHint(f microdata.Field, word string) string {
	schema := pl.Source.Schema()
	if j := schema.Index(f.Name); j < 0 || schema.Fields[j].Type.ID() != arrow.STRING ||
		!pl.Source.Abilities().InfersTypes {
		return "" // not text, or made text by a mask
	}
	return fmt.Sprintf(
		"%s where only some of its values are no numbers, or it has no value at all, source.%s.types: {%s: float64} makes it numbers and sends the records of those values to quarantine",
		word, pl.Config.Source.Kind, f.Name)
}

// checkRetyped returns an error if a mask computes with a column before another mask releases
// it as another type: the column is held either as numbers or in the released type.
func (pl *Plan) checkRetyped(i int, f microdata.Field) config.Errors {
	if _, by := transform.FieldAfter(pl.Config.Masks, f); by != i {
		return nil
	}
	for k, m := range pl.Config.Masks[:i] {
		if slices.Contains(m.Params.Masks(), f.Name) && transform.Computes(m.Params) {
			return config.Errors{pl.Config.Errorf(pl.MaskPath(i)+".columns",
				"%s becomes text here, and mask [%d] (%s) computes with its numbers before that: leave out one of them, or release numbers", f.Name, k, m.Kind())}
		}
	}
	return nil
}

// checkIdentity returns an error for columns that identify a respondent and whose type cannot
// be compared.
func (pl *Plan) checkIdentity() (problems config.Errors) {
	schema := pl.Source.Schema()
	if name := pl.Config.Household; pl.Config.DrawsByHousehold() {
		if j := schema.Index(name); j >= 0 && !keystream.CanIdentify(schema.Fields[j].Type) {
			problems = append(problems, pl.Config.Errorf("household", "%s has type %s, which cannot tell households apart", name,
				microdata.TypeName(schema.Fields[j].Type)))
		}
	}
	for _, c := range pl.Config.Columns {
		i, j := schema.Index(c.Name), schema.Index(c.SameAs)
		if pl.Config.Identifies(c.Name) || pl.Config.Identifies(c.SameAs) {
			if i >= 0 && j >= 0 && !arrow.TypeEqual(schema.Fields[i].Type, schema.Fields[j].Type) {
				problems = append(problems,
					pl.Config.Errorf("columns."+c.Name+".same_as",
						"must be of one type with it, to identify the same respondent: %s is %s, and %s is %s",
						c.Name, microdata.TypeName(schema.Fields[i].Type), c.SameAs, microdata.TypeName(schema.Fields[j].Type)))
			}
		}
	}
	for _, name := range pl.Config.Identity {
		if j := schema.Index(name); j >= 0 && !keystream.CanIdentify(schema.Fields[j].Type) {
			problems = append(problems,
				pl.Config.Errorf("identity", "%s has type %s, which cannot identify a respondent", name,
					microdata.TypeName(schema.Fields[j].Type)))
		}
	}
	return problems
}
