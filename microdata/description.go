package microdata

import (
	"cmp"
	"slices"
)

// Description is what a file of a statistical package says of a column besides its values. It is shared
// between the copies of a field, and never changed.
type Description struct {
	Label   string // of the variable
	Values  []ValueLabel
	Missing []MissingCodes // declared by the user: numbers that stand for no answer
	Measure string         // nominal, ordinal, scale, or "" where it is not known
	Weight  bool           // the file says that its records are weighted by this column

	// How Program, the format's name, stores and shows the values: of no meaning to others.
	Program   string
	Stored    int // how, by the program's numbers
	Format    string
	Width     int // bytes of the longest text
	Display   int
	Alignment int
}

// ValueLabel is what a value stands for.
type ValueLabel struct {
	Value Code
	Label string
}

// Code is a value with a meaning of its own.
type Code struct {
	Number float64
	Text   string
	IsText bool
	Tag    byte // of a missing value of its own kind (.a to .z), which has no number; 0 otherwise
}

// MissingCodes are the numbers of a range, ends included, or one text.
type MissingCodes struct {
	From, To float64
	Text     string
	IsText   bool
}

// Holds reports whether c is one of the codes.
func (m MissingCodes) Holds(c Code) bool {
	if m.IsText || c.IsText || c.Tag != 0 {
		return m.IsText && c.IsText && m.Text == c.Text
	}
	return m.From <= c.Number && c.Number <= m.To
}

// Said is what a release says of a column besides its values.
type Said struct {
	Name    string       `json:"name"`
	Label   string       `json:"label,omitempty" doc:"of the variable"`
	Measure string       `json:"measure,omitempty" doc:"nominal, ordinal or scale"`
	Weight  bool         `json:"weight,omitempty" doc:"the records are weighted by the column"`
	Values  []SaidOfCode `json:"values,omitempty" doc:"labels of the codes that occur in the release"`
	Missing []string     `json:"missing,omitempty" doc:"codes, or ranges of them, that stand for no value and occur in the release"`
}

// SaidOfCode is a code with its label.
type SaidOfCode struct {
	Code  string `json:"code"`
	Label string `json:"label"`
}

// Compare puts codes into order: numbers, tags, texts.
func (c Code) Compare(d Code) int {
	return cmp.Or(cmp.Compare(b2i(c.IsText), b2i(d.IsText)), cmp.Compare(c.Tag, d.Tag), cmp.Compare(c.Number, d.Number),
		cmp.Compare(c.Text, d.Text))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Only returns the description with the labels and the declared missing codes that keep selects.
// Of missing codes, touches tells whether one of their values is among the kept ones.
func (d *Description) Only(keep func(Code) bool, touches func(MissingCodes) bool) *Description {
	if d == nil {
		return nil
	}
	some := *d
	some.Values = slices.DeleteFunc(slices.Clone(d.Values), func(v ValueLabel) bool { return !keep(v.Value) })
	some.Missing = slices.DeleteFunc(slices.Clone(d.Missing), func(m MissingCodes) bool { return !touches(m) })
	return &some
}

// LabelOf returns the label of a code; "" if it has none.
func (d *Description) LabelOf(c Code) string {
	if d == nil {
		return ""
	}
	i, found := slices.BinarySearchFunc(d.Values, c, func(v ValueLabel, c Code) int { return v.Value.Compare(c) })
	if !found {
		return ""
	}
	return d.Values[i].Label
}

// Occurring collects which of the codes that a description knows occur in a release.
type Occurring struct {
	of      *Description
	numbers map[float64]int // places in of.Values
	others  map[Code]int
	values  []bool
	missing []bool
}

// NewOccurring returns an empty collection; nil if the description has no codes.
func NewOccurring(d *Description) *Occurring {
	if d == nil || len(d.Values)+len(d.Missing) == 0 {
		return nil
	}
	o := &Occurring{of: d, numbers: map[float64]int{}, others: map[Code]int{}, values: make([]bool, len(d.Values)),
		missing: make([]bool, len(d.Missing))}
	for i, v := range d.Values {
		if v.Value.IsText || v.Value.Tag != 0 {
			o.others[v.Value] = i
		} else {
			o.numbers[v.Value.Number] = i
		}
	}
	return o
}

// Empty returns a collection of the same description without any code.
func (o *Occurring) Empty() *Occurring {
	if o == nil {
		return nil
	}
	e := *o
	e.values, e.missing = make([]bool, len(o.values)), make([]bool, len(o.missing))
	return &e
}

// AddNumber adds a released number.
func (o *Occurring) AddNumber(x float64) {
	if i, ok := o.numbers[x]; ok {
		o.values[i] = true
	}
	for i, m := range o.of.Missing {
		if !m.IsText && m.From <= x && x <= m.To {
			o.missing[i] = true
		}
	}
}

// Add adds a released code of another kind: a text, or a tagged missing value.
func (o *Occurring) Add(c Code) {
	if i, ok := o.others[c]; ok {
		o.values[i] = true
	}
	for i, m := range o.of.Missing {
		if m.Holds(c) {
			o.missing[i] = true
		}
	}
}

// Merge adds the codes of another collection of the same description.
func (o *Occurring) Merge(p *Occurring) {
	for i, has := range p.values {
		o.values[i] = o.values[i] || has
	}
	for i, has := range p.missing {
		o.missing[i] = o.missing[i] || has
	}
}

// Description returns the description without labels, and without missing codes, that no released
// record has: they would tell of records that are not there.
func (o *Occurring) Description() *Description {
	some := *o.of
	some.Values, some.Missing = nil, nil
	for i, v := range o.of.Values {
		if o.values[i] {
			some.Values = append(some.Values, v)
		}
	}
	for i, m := range o.of.Missing {
		if o.missing[i] {
			some.Missing = append(some.Missing, m)
		}
	}
	return &some
}
