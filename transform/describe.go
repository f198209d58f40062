package transform

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// What a mask says of itself beyond Params. Every part is an interface of its own
// and a mask may leave any of them out. The caller then gets "not said": it hides what
// might follow from the part that is missing, and refuses what needs it. The functions below are the one
// place that looks for these interfaces; a mask's file has them all.

// Scope is how far a mask moves values.
type Scope uint8

// The scopes. A mask that does not say its own may reach anywhere.
const (
	ScopeUnsaid  Scope = iota
	ScopeRecord        // each record by itself
	ScopeWindow        // between the records of a window
	ScopeDataset       // between any records, which takes a survey of them all
)

// Scoped is a mask that says how far it moves values.
type Scoped interface{ Reach() Scope }

// ScopeOf returns how far a mask moves values.
func ScopeOf(p Params) Scope {
	if s, ok := p.(Scoped); ok {
		return s.Reach()
	}
	return ScopeUnsaid
}

// Moving is a mask that moves values of any type as they are, and does not compute
// with them.
type Moving interface{ MovesOnly() bool }

// movesOnly reports whether a mask says that it moves values as they are.
func movesOnly(p Params) bool {
	m, ok := p.(Moving)
	return ok && m.MovesOnly()
}

// Categorical is a mask that may take values of any type for categories: it tells them
// apart and puts other categories in their place, and does not compute with them.
type Categorical interface{ OnCategories() bool }

// OnCategories reports whether a mask says that it takes values for categories.
func OnCategories(p Params) bool {
	m, ok := p.(Categorical)
	return ok && m.OnCategories()
}

// Computes reports whether a mask computes with the values of its columns, which
// must be numbers then. One that does not say may do so.
func Computes(p Params) bool { return !movesOnly(p) && !OnCategories(p) }

// Retyping is a mask that may release a column as another type than it has: intervals of
// numbers as labels.
type Retyping interface {
	// ReleasedField returns the field that the mask makes of f; false where it leaves the
	// type as it is, and what else is different is that values may be missing.
	ReleasedField(f microdata.Field) (microdata.Field, bool)
}

// FieldAfter returns what masks make of a column's field, and the index of the first
// that changes its type, -1 where none does.
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

// ReadColumn is a column that a mask reads and does not change.
type ReadColumn struct {
	Field string // where the parameters name it: keys[0]
	Name  string
	As    string // what it is to the mask, after "cannot be": a swapping key
}

// Reading is a mask that says where its parameters name the columns that it reads.
type Reading interface{ ReadColumns() []ReadColumn }

// ReadColumnsOf returns the columns that a mask reads; where it does not say in
// which field they stand, Field is "".
func ReadColumnsOf(p Params) []ReadColumn {
	var columns []ReadColumn
	if r, ok := p.(Reading); ok {
		columns = r.ReadColumns()
	}
	for _, name := range p.Reads() {
		known := false
		for _, c := range columns {
			known = known || c.Name == name
		}
		if !known {
			columns = append(columns, ReadColumn{"", name, "read by a mask"})
		}
	}
	return columns
}

// NamingColumns is a mask whose field of the columns that it changes is not columns.
type NamingColumns interface{ ColumnsField() string }

// ColumnsField returns the field in which a mask names the columns that it changes.
func ColumnsField(p Params) string {
	if n, ok := p.(NamingColumns); ok {
		return n.ColumnsField()
	}
	return "columns"
}

// ReadingNumbers is a mask that computes with columns that it does not change.
type ReadingNumbers interface {
	// NumbersRead returns the field that names them, and the columns.
	NumbersRead() (field string, columns []string)
}

// NumbersReadBy returns the columns that a mask computes with and does not change, and the
// field that names them.
func NumbersReadBy(p Params) (field string, columns []string) {
	if r, ok := p.(ReadingNumbers); ok {
		return r.NumbersRead()
	}
	return "", nil
}

// Relative is a mask that may have an amount which refers to the standard
// deviation of its columns.
type Relative interface {
	// RelativeTo returns the field of the amount, and the columns whose standard
	// deviation it refers to; none where it is in the columns' unit.
	RelativeTo() (field string, columns []string)
}

// RelativeTo returns the field and the columns of an amount that refers to their
// standard deviation; none where the mask has no such amount.
func RelativeTo(p Params) (field string, columns []string) {
	if r, ok := p.(Relative); ok {
		return r.RelativeTo()
	}
	return "", nil
}

// Axis is the parameter of a mask that a map varies where nothing else is said.
type Axis struct {
	Rank     int    // of several masks the one of least rank is varied, the first of these
	Field    string // of the mask
	From, To Amount
	Variance bool // in equal steps of the square, not of the parameter
}

// Varying is a mask that a map can vary by itself. Axis.Field is "" where this one cannot.
type Varying interface{ MapAxis() Axis }

// MapAxis returns what a map varies of a mask; false where it does not say.
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

// Described is a mask that says its parameters to the confidential report.
type Described interface{ Parameters() []Parameter }

// ParametersOf returns a mask's parameters; nil where it does not say them.
func ParametersOf(p Params) []Parameter {
	if d, ok := p.(Described); ok {
		return d.Parameters()
	}
	return nil
}

// Acting is a mask that says what it does to a value.
type Acting interface {
	// ActionOn returns what the mask does to a column whose original values have
	// this standard deviation, NaN where it is not known; nil where that cannot be
	// said.
	ActionOn(column string, sd float64) Action
}

// ActionOf returns what a mask does to a column; nil where it does not say.
func ActionOf(p Params, column string, sd float64) Action {
	if a, ok := p.(Acting); ok {
		return a.ActionOn(column, sd)
	}
	return nil
}

// Publishing is a kind of mask that says what follows from those of its parameters
// that are published. It is asked on a mask without parameters.
type Publishing interface {
	// PublishedAction is ActionOn as far as it is published; what is not is NaN, or
	// "" where it is a word. nil where nothing can be said.
	PublishedAction(p Published, column string) Action
	// Words say to data users what the mask did to a column, as far as it is
	// published, as "what it is called: what it did".
	Words(p Published, column string) string
	// EfficiencyFollows reports whether U/U₀ of a column tells no more of the mask
	// than the parameters that are named for publication; has says which it has.
	EfficiencyFollows(has, named func(parameter string) bool) bool
}

// PublishingKind returns what a kind of mask says to data users, nil where no mask
// has that name or it does not say.
func PublishingKind(kind string) Publishing {
	for _, k := range Kinds {
		if k.Name == kind {
			p, _ := k.New().(Publishing)
			return p
		}
	}
	return nil
}

// Narrowing is a mask that can be had on one of its columns alone, with the same
// draws.
type Narrowing interface{ OnColumn(column string) Params }

// Replaceable is a mask of scope dataset that says what to use in its place where
// there is one pass only, or no memory for all values.
type Replaceable interface{ Instead() string }

// InsteadOf returns what to use in place of a mask that looks at all records first,
// after "use".
func InsteadOf(p Params) string {
	if r, ok := p.(Replaceable); ok {
		return r.Instead()
	}
	return "masks that take each record by itself"
}
