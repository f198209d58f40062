package transform

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// FitsData reports whether the values that some mask releases of a column come from all of them
// together; held is the greatest share of the records that is set aside before models are fitted.
func FitsData(masks []core.Spec, column string) (fits bool, held float64) {
	for _, m := range masks {
		if slices.Contains(m.Params.Masks(), column) {
			d := core.Declared(m.Params)
			fits, held = fits || d.FitsData || d.Action == nil, max(held, d.HeldOut)
		}
	}
	return fits, held
}

// OnCategories reports whether a mask treats values as categories.
func OnCategories(p core.Params) bool { return core.Declared(p).OnCategories }

// FieldAfter returns a column's field after the masks, with those of its labels that are still true, and the index of
// the first mask that changes its type; -1 if none does.
func FieldAfter(masks []core.Spec, f microdata.Field) (after microdata.Field, by int) {
	by = -1
	for i, m := range masks {
		if !slices.Contains(m.Params.Masks(), f.Name) {
			continue
		}
		d := core.Declared(m.Params)
		f.Described = d.DescribedAfter(f)
		retype := d.Retype
		if retype == nil {
			continue
		}
		var retyped bool
		if f, retyped = retype(f); retyped && by < 0 {
			by = i
		}
	}
	return f, by
}

// ReadColumnsOf returns the columns that a mask reads. Field is "" for those that it does not declare.
func ReadColumnsOf(p core.Params) []core.ReadColumn {
	columns := core.Declared(p).Reads
	for _, name := range p.Reads() {
		if !slices.ContainsFunc(columns, func(c core.ReadColumn) bool { return c.Name == name }) {
			columns = append(columns, core.ReadColumn{Field: "", Name: name, As: "read by a mask"})
		}
	}
	return columns
}

// ReadsHidden reports whether the columns that a mask reads may be ones that are not released.
func ReadsHidden(p core.Params) bool { return core.Declared(p).ReadsHidden }

// NumbersReadBy returns the columns that a mask uses in computations but does not change, and
// the field that lists them.
func NumbersReadBy(p core.Params) (field string, columns []string) {
	d := core.Declared(p)
	return d.NumbersRead, d.Numbers
}

// MapAxis returns the parameter of a mask that a map varies; false if the mask does not declare
// one.
func MapAxis(p core.Params) (core.Axis, bool) {
	axis := core.Declared(p).Axis
	return axis, axis.Field != ""
}

// PublishingKind returns the Publishing of a kind of mask; nil if there is no mask of that name
// or it does not declare it.
func PublishingKind(kind string) core.Publishing {
	for _, k := range core.Kinds() {
		if k.Name == kind {
			return k.New().Describe().Published
		}
	}
	return nil
}

// FileOf returns the file of a mask's table; nil if it does not declare one.
func FileOf(p core.Params) *core.TableFile { return core.Declared(p).File }

// LeavesAll reports whether a mask leaves every value as it is, whatever the data are. It is
// false for a mask that does not say so. A sensitive column needs another mask.
func LeavesAll(p core.Params) bool {
	leaves := core.Declared(p).LeavesAll
	return leaves != nil && leaves()
}

// NeedsSD returns the columns whose noise is given as a percentage of their
// standard deviation, each once, in the order of the masks.
func NeedsSD(masks []core.Spec) []string {
	var names []string
	for _, m := range masks {
		_, columns := core.RelativeTo(m.Params)
		for _, name := range columns {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// MechanismOf returns the mechanism of mask i on a column.
func MechanismOf(masks []core.Spec, i int, column string) core.Mechanism {
	d := core.Declared(masks[i].Params)
	switch {
	case d.Mechanism != nil:
		return d.Mechanism(column)
	case d.Scope != core.ScopeRecord:
		return core.Mechanism{Not: masks[i].Kind() + " takes values from other records, or decides by them"}
	case d.FitsData:
		return core.Mechanism{Not: masks[i].Kind() + " has parameters that follow from the data"}
	}
	return core.Mechanism{Not: masks[i].Kind() + " is no mechanism with an ε"}
}

// Restore puts the kept codes for missing values (microdata.Coded) into what leaves, for a sink, and returns
// a function that takes them out again: what is measured has none. undo must be called before the next
// Restore.
func Restore(b *microdata.Block) (undo func(), err error) {
	var undone []func()
	undo = func() {
		for _, f := range undone {
			f()
		}
	}
	for i := range b.Columns {
		f, err := core.RestoreIn(&b.Columns[i])
		if err != nil {
			undo()
			return nil, err
		}
		undone = append(undone, f)
	}
	return undo, nil
}

// RestoreColumn is Restore for one column, for good.
func RestoreColumn(c *microdata.Column) error {
	_, err := core.RestoreIn(c)
	return err
}

// MakesCode returns the place, in a mask's parameters, of a category or bound that is a declared code for a missing
// value of a column; "" if there is none. Either the mask would release it in place of values, or it lists the
// code as a category that it cannot see.
func MakesCode(p core.Params, column string, is func(text string) bool) (field string) {
	if puts := core.Declared(p).Puts; puts != nil {
		for _, put := range puts() {
			if is(put.Text) {
				return put.Field
			}
		}
		return ""
	}
	listed := func(list []string) bool { return slices.ContainsFunc(list, is) }
	switch a := core.ActionOf(p, column, math.NaN()).(type) {
	case core.Bounding:
		switch {
		case a.Mode != "clip":
		case !math.IsInf(a.Lower, 0) && is(core.FormatNumber(a.Lower)):
			return "lower"
		case !math.IsInf(a.Upper, 0) && is(core.FormatNumber(a.Upper)):
			return "upper"
		}
	case core.Recoding:
		if listed(a.From) || listed(a.To) || a.Other != nil && is(*a.Other) {
			return core.ColumnsField(p)
		}
	case core.Randomising:
		if listed(a.Categories) || a.Other != nil && is(*a.Other) {
			return core.ColumnsField(p)
		}
	}
	return ""
}

// AnyMixesRecords reports whether some mask moves values between records.
func AnyMixesRecords(masks []core.Spec) bool {
	for _, m := range masks {
		if core.MixesRecords(m.Params) {
			return true
		}
	}
	return false
}

// ByRecord reports whether what a mask makes of two equal values of a column may differ between records.
func ByRecord(p core.Params, column string) bool {
	if core.ByHousehold(p) {
		return false
	}
	switch core.ActionOf(p, column, 1).(type) {
	case core.Recoding, core.Rounding, core.Bounding:
		return core.ScopeOf(p) != core.ScopeRecord
	}
	return true
}

// OfHouseholds tells masks that households are known, for what they say of themselves.
func OfHouseholds(masks []core.Spec) {
	for _, m := range masks {
		if p, ok := m.Params.(interface{ OfHouseholds() }); ok {
			p.OfHouseholds()
		}
	}
}

// Warnings returns what masks say that a snooper may know of a column beyond what is measured.
func Warnings(masks []core.Spec, column string) (list []string) {
	for _, m := range masks {
		if text := core.Declared(m.Params).Warns; text != "" && slices.Contains(m.Params.Masks(), column) {
			list = append(list, text)
		}
	}
	return list
}

// Displaces reports whether some mask displaces the points that a column is a coordinate of.
func Displaces(masks []core.Spec, column string) bool {
	return slices.ContainsFunc(masks, func(m core.Spec) bool {
		return slices.ContainsFunc(core.PlacesOf(m.Params), func(p core.Place) bool {
			return slices.Contains(p.Columns[:],
				column)
		})
	})
}

// Conditional reports whether a mask has a condition, and so leaves some values as they are.
func Conditional(p core.Params) bool {
	return slices.ContainsFunc(core.ParametersOf(p), func(one core.Parameter) bool {
		where, ok := one.Value.(string)
		return ok && one.Name == "where" && where != ""
	})
}

// ComparedBy returns the columns other than its own that a mask's condition compares with numbers, and with texts.
func ComparedBy(p core.Params) (numbers, texts []string) {
	for _, one := range core.ParametersOf(p) {
		where, ok := one.Value.(string)
		if !ok || one.Name != "where" {
			continue
		}
		c, err := core.ParseCondition(where)
		if err != nil {
			return nil, nil
		}
		for _, compared := range c {
			switch {
			case slices.Contains(p.Masks(), compared.Column):
			case compared.OfText:
				texts = append(texts, compared.Column)
			default:
				numbers = append(numbers, compared.Column)
			}
		}
	}
	return numbers, texts
}

// CanBeCategory reports whether the values of a field are texts that such a mask can use as
// categories.
func CanBeCategory(f microdata.Field) bool { return core.TextField(f.Type) }

// AnyDependsOnNumber reports whether some mask acts differently on a sample than on all
// records: in a sample, groups of k records span a wider range.
func AnyDependsOnNumber(masks []core.Spec) bool {
	return slices.ContainsFunc(masks, func(m core.Spec) bool {
		return core.Declared(m.Params).OfNumber
	})
}

// HoldOut returns the columns for which masks set records aside before they fit their models.
func HoldOut(masks []core.Spec) (columns []string) {
	for _, m := range masks {
		if core.Declared(m.Params).HeldOut > 0 {
			columns = append(columns, m.Params.Masks()...)
		}
	}
	return columns
}

// NeedsPeople returns which of the source's places a mask needs before any record is masked (Setup.People); nil for
// none.
func NeedsPeople(p core.Params) *core.PeopleOf { return core.Declared(p).NeedsPeople }

// NewFrequencies returns empty counts for each column of a mask that needs them, by their
// names in Setup.Frequencies. columns give the place in a block and the type of the columns that
// the mask changes and reads.
func NewFrequencies(p core.Params, columns []core.ColumnInfo) (map[string]*core.Frequencies, error) {
	if core.NeedsFrequencies(p) == "" {
		return nil, nil
	}
	return core.Declared(p).Frequencies(columns)
}

// SampleOf returns the first mask of a list if it decides which records are released, named by
// the label that its draws depend on; nil if there is no such mask.
func SampleOf(masks []core.Spec) *core.Spec {
	if len(masks) == 0 || masks[0].Params == nil || !core.LeavesOut(masks[0].Params) {
		return nil
	}
	return &core.Spec{Name: core.Label(masks, 0), Params: masks[0].Params}
}

// InParts reports whether a mask can be applied to parts of the records by several processes:
// it treats each record by itself, or SurveysInParts is true for its chain. A part must consist
// of whole windows.
func InParts(p core.Params) bool {
	return core.Declared(p).InParts || !core.MixesRecords(p)
}

// Renames reports whether some mask replaces the identifiers of a column by pseudonyms.
func Renames(masks []core.Spec, column string) bool {
	for _, m := range masks {
		if m.Params != nil && core.Declared(m.Params).Renames && slices.Contains(m.Params.Masks(), column) {
			return true
		}
	}
	return false
}

// NeedsValues returns the first field of a mask that needs all original values of its
// columns (Setup.Sorted); "" where none does.
func NeedsValues(p core.Params) string { return core.Declared(p).NeedsValues }

// Weighs reports whether a mask changes sampling weights, which no R and U is measured of.
func Weighs(p core.Params) bool { return core.Declared(p).Weighs }
