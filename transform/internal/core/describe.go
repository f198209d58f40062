package core

import (
	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Description is what a mask declares of itself. A mask may leave any part out; the zero value is
// "not declared": the caller does not publish what might follow from the missing part, and refuses
// what needs it. Only the functions below and those of this package ask for it.
type Description struct {
	Scope Scope // the records between which it moves values

	// MovesOnly: it moves unchanged values of any type, and does not compute with them.
	MovesOnly bool
	// Permutes: it may give the values of whole columns to other records, and does nothing else.
	Permutes bool
	// OnCategories: it compares values of any type, replaces them by other categories, and does not
	// compute with them.
	OnCategories bool
	// Renames: it replaces identifiers by pseudonyms. Its columns are held as they are, whatever their type, and no amount
	// of them is measured; and it does not protect what is sensitive, since equal values stay equal.
	Renames bool
	// Warns is what a snooper may know beyond what is measured of its columns, for the report.
	Warns string
	// OnDays: it computes with dates and moments as with numbers of days.
	OnDays bool
	// FitsData: the released values come from all values of a column together: from a model, groups, or
	// a percentile or mean of them. They are then no independent draws, each about its own original. A
	// mask without Action is taken for one.
	FitsData bool
	// LeavesOut: it leaves records out of the release, before all other masks.
	LeavesOut bool
	// Weighs: its column is one of sampling weights, of which no R and U is measured; in a replicate it does nothing.
	Weighs bool
	// LeavesAll reports whether it leaves every value as it is, with these parameters, whatever the data are.
	LeavesAll func() bool
	// Retype returns the field that it makes of f: intervals of numbers become labels; false if the type
	// stays, where released values may still be missing.
	Retype func(f microdata.Field) (microdata.Field, bool)
	// Action returns what it does to a column. sd is the standard deviation of the original values, NaN if
	// it is not known. The result is nil if it cannot be determined.
	Action func(column string, sd float64) Action

	// Mechanism returns what it does to a value of a column as differential privacy sees it. Without it, no ε is stated of
	// its columns.
	Mechanism func(column string) Mechanism

	// KeepsCode reports whether a code means in the release what it means in the source: its label then stays. A mask
	// without it keeps codes if it only moves values; otherwise what it makes may look like a code without being one.
	KeepsCode func(c microdata.Code) bool

	Reads        []ReadColumn // the columns that it reads but does not change
	ReadsHidden  bool         // these may be columns that are not released
	NumbersRead  string       // the field that lists columns which it computes with but does not change
	Numbers      []string     // these columns
	ColumnsField string       // the field that lists the columns which it changes; "" for "columns"
	Relative     string       // the field of an amount that refers to the standard deviation of its columns
	Correlates   []string     // the original columns whose correlations it needs
	// NeedsValues and NeedsFrequencies name the first field that needs all original values of its columns
	// (Setup.Sorted), or the frequencies of their categories (Setup.Frequencies), before any record is masked.
	NeedsValues, NeedsFrequencies string
	// NeedsPeople says which places of the source's records it needs (Setup.People).
	NeedsPeople *PeopleOf
	// Places are the points that it releases in place of others.
	Places []Place
	File   *TableFile // that has a part of its parameters

	Axis       Axis               // what a map varies by default
	Parameters func() []Parameter // for the confidential report
	Published  Publishing         // what follows from its published parameters; used on a mask without parameters
	// OnColumn restricts it to one of its columns, with the same draws.
	OnColumn func(column string) Params
	// Instead names, after "use", what to use with data that can be read only once or do not fit into memory.
	Instead string

	// Puts returns values that it may release in place of others and that Action does not tell; nil if there are none.
	Puts func() []PutValue

	// What other masks of the list and the chain ask for.

	Among       func(masks []Spec, i int) check.Problems // what is wrong with it, mask i, among the masks
	Redraws     redrawing                                // it makes the mask before it draw within bounds
	DrawsWithin bool                                     // its values can be drawn within bounds
	Rejects     bool                                     // it may send records to quarantine because of their values
	Exchanges   func() ExchangeRule
	InParts     bool     // it combines records, also if each of several processes has a part of them
	ByHousehold bool     // it decides about whole households where they are known
	OfNumber    bool     // its law depends on the number of records, not only on their distribution
	Texts       []string // columns that it treats as categories among others that it computes with
	HeldOut     float64  // the share of the records that is set aside before models are fitted
	Copies      int      // how many releases of the same data it asks for, each with draws of its own
	OfCopy      func(number int) Params
	Frequencies func(columns []ColumnInfo) (map[string]*Frequencies, error) // empty counts
}

// Declared returns what a mask declares of itself; nothing for none.
func Declared(p Params) Description {
	if p == nil {
		return Description{}
	}
	return p.Describe()
}

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

// ScopeOf returns the scope of a mask; ScopeUndeclared if it does not declare one.
func ScopeOf(p Params) Scope { return Declared(p).Scope }

// Computes reports whether a mask computes with the values of its columns, which must then be
// numbers. It is true for a mask that declares neither MovesOnly nor OnCategories.
func Computes(p Params) bool {
	d := Declared(p)
	return !d.MovesOnly && !d.OnCategories
}

// DescribedAfter returns what may still be said of a column after the mask.
func (d *Description) DescribedAfter(f microdata.Field) *microdata.Description {
	mask := d.KeepsCode
	if mask == nil {
		moves := d.MovesOnly || d.Permutes
		mask = func(microdata.Code) bool { return moves }
	}
	keeps := func(c microdata.Code) bool { return mask(c) || leavesMissing(f, c) }
	return f.Described.Only(keeps, func(m microdata.MissingCodes) bool {
		return keeps(microdata.Code{Number: m.From, Text: m.Text, IsText: m.IsText}) &&
			(m.IsText || keeps(microdata.Code{Number: m.To}))
	})
}

// leavesMissing reports whether a code is declared as one for missing values that no mask changes.
func leavesMissing(f microdata.Field, c microdata.Code) bool {
	switch {
	case f.Missing == nil || f.Missing.Null || c.Tag != 0:
		return false
	case c.IsText:
		return f.Missing.DeclaresText(c.Text)
	}
	return f.Missing.Declares(f, c.Number)
}

// ReadColumn is a column that a mask reads but does not change.
type ReadColumn struct {
	Field string // where the parameters name it: keys[0]
	Name  string
	As    string // what it is to the mask, after "cannot be": a swapping key
}

// ColumnsField returns the name of the field that lists the columns which a mask changes.
func ColumnsField(p Params) string { return WordOr(Declared(p).ColumnsField, "columns") }

// RelativeTo returns the field of an amount that is given as a share of the standard deviation,
// and the columns concerned; "" and nil if the mask has no such amount.
func RelativeTo(p Params) (field string, columns []string) {
	if field = Declared(p).Relative; field == "" {
		return "", nil
	}
	return field, p.Masks()
}

// Axis is the parameter of a mask that a map varies by default.
type Axis struct {
	Rank     int    // of several masks, the first of those with the least rank is varied
	Field    string // of the mask; "" if a map cannot vary this one by itself
	From, To Amount
	Variance bool // in equal steps of the square, not of the parameter
}

// Parameter is one parameter of a mask for reports, by its name in the
// configuration. Value is what decoding JSON gives: float64, string, []any,
// map[string]any.
type Parameter struct {
	Name  string
	Value any
}

// ParametersOf returns a mask's parameters; nil if it does not declare them.
func ParametersOf(p Params) []Parameter {
	if parameters := Declared(p).Parameters; parameters != nil {
		return parameters()
	}
	return nil
}

// ActionOf returns what a mask does to a column; nil if the mask does not declare it.
func ActionOf(p Params, column string, sd float64) Action {
	if action := Declared(p).Action; action != nil {
		return action(column, sd)
	}
	return nil
}

// Publishing is a kind of mask that declares what follows from its published parameters.
type Publishing interface {
	// PublishedAction is Description.Action with the published parameters only. A number that is not
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

// InsteadOf returns the text after "use" that names an alternative to a mask that must see all
// records first. If the mask names none, it is a general text.
func InsteadOf(p Params) string {
	return WordOr(Declared(p).Instead, "masks that take each record by itself")
}

// TableFile is the file that has a part of a mask's parameters. The code that reads the configuration reads the file,
// since a mask does no I/O.
type TableFile struct {
	Field string // that names the file
	Path  string // "" where there is none
	// Read reads the file's content. The error says what is wrong with it, and where.
	Read func(content []byte) error
}

// MostFaults is the greatest number of faults of a table that are reported at once.
const MostFaults = 20
