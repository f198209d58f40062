package transform

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// What a mask declares beyond Params. Every part is an interface of its own, and a mask may
// leave any of them out. The caller then gets "not declared": it does not publish what might
// follow from the missing part, and refuses what needs it. Only the functions below look for
// these interfaces; the file of a mask implements all that it has.

// Scope is the range of records between which a mask moves values.
type Scope uint8

// The scopes. A mask that does not declare its scope counts as one that may move values between
// any records.
const (
	ScopeUndeclared Scope = iota
	ScopeRecord           // each record by itself
	ScopeWindow           // between the records of a window
	ScopeDataset          // between any records, which takes a survey of them all
)

// Scoped is a mask that declares its scope.
type Scoped interface{ Reach() Scope }

// ScopeOf returns the scope of a mask; ScopeUndeclared if it does not declare one.
func ScopeOf(p Params) Scope {
	if s, ok := p.(Scoped); ok {
		return s.Reach()
	}
	return ScopeUndeclared
}

// Moving is a mask that moves unchanged values of any type, and does not compute with them.
type Moving interface{ MovesOnly() bool }

// movesOnly reports whether a mask declares that it moves values without changing them.
func movesOnly(p Params) bool {
	m, ok := p.(Moving)
	return ok && m.MovesOnly()
}

// Permuting is a mask of whole columns that may give the values of each to other records, and do nothing else.
type Permuting interface{ Permutes() bool }

// permutes reports whether a mask leaves each column the values that it has.
func permutes(p Params) bool {
	m, ok := p.(Permuting)
	return ok && m.Permutes()
}

// Modelling is a mask whose released values come from all values of a column together: from a model, groups, or a
// percentile or mean of them. The released values are then no independent draws, each about its own original. A mask that
// does not say what it does (Acting) is taken for one.
type Modelling interface{ FitsData() bool }

// FitsData reports whether some mask on a column is Modelling with its parameters; held is the greatest share of the records
// that is set aside before models are fitted.
func FitsData(masks []Spec, column string) (fits bool, held float64) {
	for _, m := range masks {
		if !slices.Contains(m.Params.Masks(), column) {
			continue
		}
		_, acts := m.Params.(Acting)
		if f, ok := m.Params.(Modelling); ok {
			fits = fits || f.FitsData()
		} else {
			fits = fits || !acts
		}
		if h, ok := m.Params.(holdingOut); ok {
			held = max(held, h.heldOut())
		}
	}
	return fits, held
}

// Categorical is a mask that can treat values of any type as categories: it compares them and
// replaces them by other categories, and does not compute with them.
type Categorical interface{ OnCategories() bool }

// OnCategories reports whether a mask treats values as categories.
func OnCategories(p Params) bool {
	m, ok := p.(Categorical)
	return ok && m.OnCategories()
}

// Computes reports whether a mask computes with the values of its columns, which must then be
// numbers. It is true for a mask that declares neither MovesOnly nor OnCategories.
func Computes(p Params) bool { return !movesOnly(p) && !OnCategories(p) }

// Retyping is a mask that may release a column as another type than it has: intervals of
// numbers as labels.
type Retyping interface {
	// ReleasedField returns the field that the mask makes of f; false if the type stays, where
	// released values may still be missing.
	ReleasedField(f microdata.Field) (microdata.Field, bool)
}

// FieldAfter returns a column's field after the masks, and the index of the first mask that
// changes its type; -1 if none does.
func FieldAfter(masks []Spec, f microdata.Field) (after microdata.Field, by int) {
	by = -1
	for i, m := range masks {
		r, ok := m.Params.(Retyping)
		if !ok || !slices.Contains(m.Params.Masks(), f.Name) {
			continue
		}
		var retyped bool
		if f, retyped = r.ReleasedField(f); retyped && by < 0 {
			by = i
		}
	}
	return f, by
}

// ReadColumn is a column that a mask reads but does not change.
type ReadColumn struct {
	Field string // where the parameters name it: keys[0]
	Name  string
	As    string // what it is to the mask, after "cannot be": a swapping key
}

// Reading is a mask that declares which of its fields list the columns that it reads.
type Reading interface{ ReadColumns() []ReadColumn }

// ReadColumnsOf returns the columns that a mask reads. Field is "" if the mask is not Reading.
func ReadColumnsOf(p Params) []ReadColumn {
	var columns []ReadColumn
	if r, ok := p.(Reading); ok {
		columns = r.ReadColumns()
	}
	for _, name := range p.Reads() {
		listed := false
		for _, c := range columns {
			listed = listed || c.Name == name
		}
		if !listed {
			columns = append(columns, ReadColumn{"", name, "read by a mask"})
		}
	}
	return columns
}

// NamingColumns is a mask whose list of changed columns is in a field with another name than
// "columns".
type NamingColumns interface{ ColumnsField() string }

// ColumnsField returns the name of the field that lists the columns which a mask changes.
func ColumnsField(p Params) string {
	if n, ok := p.(NamingColumns); ok {
		return n.ColumnsField()
	}
	return "columns"
}

// ReadingNumbers is a mask that computes with columns that it does not change.
type ReadingNumbers interface {
	// NumbersRead returns the field that lists these columns, and the columns.
	NumbersRead() (field string, columns []string)
}

// NumbersReadBy returns the columns that a mask uses in computations but does not change, and
// the field that lists them.
func NumbersReadBy(p Params) (field string, columns []string) {
	if r, ok := p.(ReadingNumbers); ok {
		return r.NumbersRead()
	}
	return "", nil
}

// Relative is a mask that may have an amount which refers to the standard
// deviation of its columns.
type Relative interface {
	// RelativeTo returns the field of the amount, and the columns whose standard deviation it
	// refers to; "" and nil if the amount is in the columns' unit.
	RelativeTo() (field string, columns []string)
}

// RelativeTo returns the field of an amount that is given as a share of the standard deviation,
// and the columns concerned; "" and nil if the mask has no such amount.
func RelativeTo(p Params) (field string, columns []string) {
	if r, ok := p.(Relative); ok {
		return r.RelativeTo()
	}
	return "", nil
}

// Axis is the parameter of a mask that a map varies by default.
type Axis struct {
	Rank     int    // of several masks, the first of those with the least rank is varied
	Field    string // of the mask
	From, To Amount
	Variance bool // in equal steps of the square, not of the parameter
}

// Varying is a mask that a map can vary by itself. Axis.Field is "" where this one cannot.
type Varying interface{ MapAxis() Axis }

// MapAxis returns the parameter of a mask that a map varies; false if the mask does not declare
// one.
func MapAxis(p Params) (Axis, bool) {
	v, ok := p.(Varying)
	if !ok {
		return Axis{}, false
	}
	axis := v.MapAxis()
	return axis, axis.Field != ""
}

// Parameter is one parameter of a mask for reports, by its name in the
// configuration. Value is what decoding JSON gives: float64, string, []any,
// map[string]any.
type Parameter struct {
	Name  string
	Value any
}

// Described is a mask that gives its parameters to the confidential report.
type Described interface{ Parameters() []Parameter }

// ParametersOf returns a mask's parameters; nil if it does not declare them.
func ParametersOf(p Params) []Parameter {
	if d, ok := p.(Described); ok {
		return d.Parameters()
	}
	return nil
}

// Acting is a mask that declares what it does to a value.
type Acting interface {
	// ActionOn returns what the mask does to a column. sd is the standard deviation of the
	// original values, NaN if it is not known. The result is nil if it cannot be determined.
	ActionOn(column string, sd float64) Action
}

// ActionOf returns what a mask does to a column; nil if the mask does not declare it.
func ActionOf(p Params, column string, sd float64) Action {
	if a, ok := p.(Acting); ok {
		return a.ActionOn(column, sd)
	}
	return nil
}

// Publishing is a kind of mask that declares what follows from its published parameters. It is
// called on a mask without parameters.
type Publishing interface {
	// PublishedAction is ActionOn with the published parameters only. A number that is not
	// published is NaN, a word "". The result is nil if nothing is known.
	PublishedAction(p Published, column string) Action
	// Words describes for data users what the mask did to a column, with the published
	// parameters only, in the form "name: description".
	Words(p Published, column string) string
	// EfficiencyFollows reports whether U/U₀ of a column discloses no more about the mask than the
	// parameters do that are published. has reports whether the mask has a parameter of that
	// name, named whether it is published.
	EfficiencyFollows(has, named func(parameter string) bool) bool
}

// PublishingKind returns the Publishing of a kind of mask; nil if there is no mask of that name
// or it is not Publishing.
func PublishingKind(kind string) Publishing {
	for _, k := range Kinds {
		if k.Name == kind {
			p, _ := k.New().(Publishing)
			return p
		}
	}
	return nil
}

// Narrowing is a mask that can be restricted to one of its columns, with the same draws.
type Narrowing interface{ OnColumn(column string) Params }

// Replaceable is a mask of scope dataset that names an alternative for data that can be read
// only once or do not fit into memory.
type Replaceable interface{ Instead() string }

// InsteadOf returns the text after "use" that names an alternative to a mask that must see all
// records first. If the mask names none, it is a general text.
func InsteadOf(p Params) string {
	if r, ok := p.(Replaceable); ok {
		return r.Instead()
	}
	return "masks that take each record by itself"
}
