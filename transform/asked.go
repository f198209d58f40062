package transform

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// FitsData reports whether the values that some mask releases of a column come from all of them
// together; held is the greatest share of the records that is set aside before models are fitted.
func FitsData(masks []Spec, column string) (fits bool, held float64) {
	for _, m := range masks {
		if slices.Contains(m.Params.Masks(), column) {
			d := declared(m.Params)
			fits, held = fits || d.FitsData || d.Action == nil, max(held, d.heldOut)
		}
	}
	return fits, held
}

// OnCategories reports whether a mask treats values as categories.
func OnCategories(p Params) bool { return declared(p).OnCategories }

// FieldAfter returns a column's field after the masks, with those of its labels that are still true, and the index of
// the first mask that changes its type; -1 if none does.
func FieldAfter(masks []Spec, f microdata.Field) (after microdata.Field, by int) {
	by = -1
	for i, m := range masks {
		if !slices.Contains(m.Params.Masks(), f.Name) {
			continue
		}
		d := declared(m.Params)
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
func ReadColumnsOf(p Params) []ReadColumn {
	columns := declared(p).Reads
	for _, name := range p.Reads() {
		if !slices.ContainsFunc(columns, func(c ReadColumn) bool { return c.Name == name }) {
			columns = append(columns, ReadColumn{"", name, "read by a mask"})
		}
	}
	return columns
}

// ReadsHidden reports whether the columns that a mask reads may be ones that are not released.
func ReadsHidden(p Params) bool { return declared(p).ReadsHidden }

// NumbersReadBy returns the columns that a mask uses in computations but does not change, and
// the field that lists them.
func NumbersReadBy(p Params) (field string, columns []string) {
	d := declared(p)
	return d.NumbersRead, d.Numbers
}

// MapAxis returns the parameter of a mask that a map varies; false if the mask does not declare
// one.
func MapAxis(p Params) (Axis, bool) {
	axis := declared(p).Axis
	return axis, axis.Field != ""
}

// PublishingKind returns the Publishing of a kind of mask; nil if there is no mask of that name
// or it does not declare it.
func PublishingKind(kind string) Publishing {
	for _, k := range Kinds() {
		if k.Name == kind {
			return k.New().Describe().Published
		}
	}
	return nil
}

// FileOf returns the file of a mask's table; nil if it does not declare one.
func FileOf(p Params) *TableFile { return declared(p).File }

// LeavesAll reports whether a mask leaves every value as it is, whatever the data are. It is
// false for a mask that does not say so. A sensitive column needs another mask.
func LeavesAll(p Params) bool {
	leaves := declared(p).LeavesAll
	return leaves != nil && leaves()
}

// NeedsSD returns the columns whose noise is given as a percentage of their
// standard deviation, each once, in the order of the masks.
func NeedsSD(masks []Spec) []string {
	var names []string
	for _, m := range masks {
		_, columns := RelativeTo(m.Params)
		for _, name := range columns {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// MechanismOf returns the mechanism of mask i on a column.
func MechanismOf(masks []Spec, i int, column string) Mechanism {
	d := declared(masks[i].Params)
	switch {
	case d.Mechanism != nil:
		return d.Mechanism(column)
	case d.Scope != ScopeRecord:
		return Mechanism{Not: masks[i].Kind() + " takes values from other records, or decides by them"}
	case d.FitsData:
		return Mechanism{Not: masks[i].Kind() + " has parameters that follow from the data"}
	}
	return Mechanism{Not: masks[i].Kind() + " is no mechanism with an ε"}
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
		f, err := restore(&b.Columns[i])
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
	_, err := restore(c)
	return err
}

// MakesCode returns the place, in a mask's parameters, of a category or bound that is a declared code for a missing
// value of a column; "" if there is none. Either the mask would release it in place of values, or it lists the
// code as a category that it cannot see.
func MakesCode(p Params, column string, is func(text string) bool) (field string) {
	if puts := declared(p).Puts; puts != nil {
		for _, put := range puts() {
			if is(put.Text) {
				return put.Field
			}
		}
		return ""
	}
	listed := func(list []string) bool { return slices.ContainsFunc(list, is) }
	switch a := ActionOf(p, column, math.NaN()).(type) {
	case Bounding:
		switch {
		case a.Mode != "clip":
		case !math.IsInf(a.Lower, 0) && is(formatNumber(a.Lower)):
			return "lower"
		case !math.IsInf(a.Upper, 0) && is(formatNumber(a.Upper)):
			return "upper"
		}
	case Recoding:
		if listed(a.From) || listed(a.To) || a.Other != nil && is(*a.Other) {
			return ColumnsField(p)
		}
	case Randomising:
		if listed(a.Categories) || a.Other != nil && is(*a.Other) {
			return ColumnsField(p)
		}
	}
	return ""
}

// AnyMixesRecords reports whether some mask moves values between records.
func AnyMixesRecords(masks []Spec) bool {
	for _, m := range masks {
		if MixesRecords(m.Params) {
			return true
		}
	}
	return false
}

// ByRecord reports whether what a mask makes of two equal values of a column may differ between records.
func ByRecord(p Params, column string) bool {
	if ByHousehold(p) {
		return false
	}
	switch ActionOf(p, column, 1).(type) {
	case Recoding, Rounding, Bounding:
		return ScopeOf(p) != ScopeRecord
	}
	return true
}

// OfHouseholds tells masks that households are known, for what they say of themselves.
func OfHouseholds(masks []Spec) {
	for _, m := range masks {
		if p, ok := m.Params.(interface{ ofHouseholds() }); ok {
			p.ofHouseholds()
		}
	}
}

// InDays reports whether masks compute with a column of dates or moments in days: all masks on it do.
func InDays(masks []Spec, f microdata.Field) bool {
	if _, ok := microdata.PerDay(f.Type); !ok {
		return false
	}
	on := false
	for _, m := range masks {
		if m.Params == nil || !slices.Contains(m.Params.Masks(), f.Name) {
			continue
		}
		if !declared(m.Params).OnDays {
			return false
		}
		on = true
	}
	return on
}

// Warnings returns what masks say that a snooper may know of a column beyond what is measured.
func Warnings(masks []Spec, column string) (list []string) {
	for _, m := range masks {
		if text := declared(m.Params).Warns; text != "" && slices.Contains(m.Params.Masks(), column) {
			list = append(list, text)
		}
	}
	return list
}

// Displaces reports whether some mask displaces the points that a column is a coordinate of.
func Displaces(masks []Spec, column string) bool {
	return slices.ContainsFunc(masks, func(m Spec) bool {
		return slices.ContainsFunc(PlacesOf(m.Params), func(p Place) bool { return slices.Contains(p.Columns[:], column) })
	})
}

// Conditional reports whether a mask has a condition, and so leaves some values as they are.
func Conditional(p Params) bool {
	return slices.ContainsFunc(ParametersOf(p), func(one Parameter) bool {
		where, ok := one.Value.(string)
		return ok && one.Name == "where" && where != ""
	})
}

// ComparedBy returns the columns other than its own that a mask's condition compares with numbers, and with texts.
func ComparedBy(p Params) (numbers, texts []string) {
	for _, one := range ParametersOf(p) {
		where, ok := one.Value.(string)
		if !ok || one.Name != "where" {
			continue
		}
		c, err := parseCondition(where)
		if err != nil {
			return nil, nil
		}
		for _, compared := range c {
			switch {
			case slices.Contains(p.Masks(), compared.column):
			case compared.ofText:
				texts = append(texts, compared.column)
			default:
				numbers = append(numbers, compared.column)
			}
		}
	}
	return numbers, texts
}

// CanBeCategory reports whether the values of a field are texts that such a mask can use as
// categories.
func CanBeCategory(f microdata.Field) bool { return textField(f.Type) }

// AnyDependsOnNumber reports whether some mask acts differently on a sample than on all
// records: in a sample, groups of k records span a wider range.
func AnyDependsOnNumber(masks []Spec) bool {
	return slices.ContainsFunc(masks, func(m Spec) bool {
		return declared(m.Params).ofNumber
	})
}

// HoldOut returns the columns for which masks set records aside before they fit their models.
func HoldOut(masks []Spec) (columns []string) {
	for _, m := range masks {
		if declared(m.Params).heldOut > 0 {
			columns = append(columns, m.Params.Masks()...)
		}
	}
	return columns
}

// NeedsPeople returns which of the source's places a mask needs before any record is masked (Setup.People); nil for
// none.
func NeedsPeople(p Params) *PeopleOf { return declared(p).NeedsPeople }

// NewFrequencies returns empty counts for each column of a mask that needs them, by their
// names in Setup.Frequencies. columns give the place in a block and the type of the columns that
// the mask changes and reads.
func NewFrequencies(p Params, columns []ColumnInfo) (map[string]*Frequencies, error) {
	if NeedsFrequencies(p) == "" {
		return nil, nil
	}
	return declared(p).frequencies(columns)
}

// SampleOf returns the first mask of a list if it decides which records are released, named by
// the label that its draws depend on; nil if there is no such mask.
func SampleOf(masks []Spec) *Spec {
	if len(masks) == 0 || masks[0].Params == nil || !LeavesOut(masks[0].Params) {
		return nil
	}
	return &Spec{Name: Label(masks, 0), Params: masks[0].Params}
}

// InParts reports whether a mask can be applied to parts of the records by several processes:
// it treats each record by itself, or SurveysInParts is true for its chain. A part must consist
// of whole windows.
func InParts(p Params) bool {
	return declared(p).inParts || !MixesRecords(p)
}
