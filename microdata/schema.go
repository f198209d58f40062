package microdata

import (
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// Role is the role of a column in disclosure limitation.
type Role string

const (
	Sensitive  Role = "sensitive"  // what a snooper is after
	Key        Role = "key"        // what a snooper may know of a respondent from elsewhere
	Other      Role = "other"      // released, neither of the above
	Identifier Role = "identifier" // never released
)

// Roles lists every role, in the order in which documentation gives them.
var Roles = []Role{Sensitive, Key, Other, Identifier}

// Field is a column's name and logical type.
type Field struct {
	Name     string
	Type     arrow.DataType
	Nullable bool
	Unseen   bool // a text source found no value to tell the type from; Type is its guess, and may be changed up to Read

	Described *Description // nil where the source says nothing of the column besides its values

	// Missing are the declared codes for missing values; nil if there are none. A source may set it, if its
	// files declare some, and the configuration replaces it.
	Missing *Missing
}

// Numeric reports whether masks can do arithmetic on the field: integers,
// floats and decimals.
func (f Field) Numeric() bool {
	switch f.Type.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64,
		arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64,
		arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return true
	}
	return false
}

// Text reports whether the values are texts, with or without a dictionary.
func (f Field) Text() bool {
	t := f.Type
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	}
	return false
}

// Nested reports whether the field has children (list, struct, map). Nested
// columns can be released as they are or withheld, not read or masked.
func (f Field) Nested() bool { return arrow.IsNested(f.Type.ID()) }

// MaxExact is the greatest magnitude up to which every integer is exact as a float64. An
// integer beyond it cannot be masked exactly, and its record is rejected.
const MaxExact = 1 << 53

// Decimals returns the number of decimals that the type itself fixes: 0 for
// integers, the scale for decimals of up to 15 digits; ok is false for floats,
// for other types, and for wider decimals, whose scale is often far finer than
// their values (Spark's decimal(38,18)) and says nothing about them.
func (f Field) Decimals() (d int, ok bool) {
	switch t := f.Type.(type) {
	case arrow.DecimalType:
		return int(t.GetScale()), t.GetPrecision() <= 15
	case *arrow.Float32Type, *arrow.Float64Type, *arrow.Float16Type:
		return 0, false
	}
	return 0, f.Numeric()
}

// Range returns the least and greatest value that a numeric field can hold;
// for integers, among those that a float64 holds exactly.
func (f Field) Range() (lo, hi float64) {
	switch f.Type.ID() {
	case arrow.INT8:
		return math.MinInt8, math.MaxInt8
	case arrow.INT16:
		return math.MinInt16, math.MaxInt16
	case arrow.INT32:
		return math.MinInt32, math.MaxInt32
	case arrow.INT64:
		return -MaxExact, MaxExact
	case arrow.UINT8:
		return 0, math.MaxUint8
	case arrow.UINT16:
		return 0, math.MaxUint16
	case arrow.UINT32:
		return 0, math.MaxUint32
	case arrow.UINT64:
		return 0, MaxExact
	case arrow.FLOAT32:
		return -math.MaxFloat32, math.MaxFloat32
	}
	if t, ok := f.Type.(arrow.DecimalType); ok {
		hi = (math.Pow10(int(t.GetPrecision())) - 1) / math.Pow10(int(t.GetScale()))
		return -hi, hi
	}
	return -math.MaxFloat64, math.MaxFloat64
}

// Schema is an ordered list of fields with distinct names.
type Schema struct {
	Fields []Field
}

// Index returns the index of the named field, or -1.
func (s *Schema) Index(name string) int {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Names returns the fields' names in order.
func (s *Schema) Names() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// Form is the way in which a block stores a decoded column.
type Form uint8

const (
	Numbers Form = iota // Column.Original and Column.Released: what masks and assessment compute with
	Array               // Column.Array: any type, compared or moved but not computed with
)

// Want requests that a source decodes one field in one form.
type Want struct {
	Field int // index in the source's schema
	As    Form
	// Measured is true if the numbers are only measured, never released. An integer beyond
	// ±MaxExact is then rounded to the nearest float64 (otherwise its record is rejected), and
	// NaN and infinities count as nulls.
	Measured bool
	// Days: the column is one of dates or moments, in Array form, and its numbers of days since 1970-01-01 are in
	// Column.Original as well.
	Days bool
}

// Counts reports whether the column's numbers are read.
func (w Want) Counts() bool { return w.As == Numbers || w.Days }

// Output is one column of the release.
type Output struct {
	Field    Field // name and type as released
	Source   int   // index in the source's schema
	Column   int   // index in Block.Columns, or -1 where the sink carries the column undecoded
	Masked   bool  // whether a mask may change it: no encoded byte or statistic of the source may then survive
	Decimals int   // decimals to write for a masked Numbers column; -1: as many as needed
}

// Layout is the agreement between source, masks and sink for one run: which columns are
// decoded, in which order, and which are released.
type Layout struct {
	Schema  *Schema  // of the source
	Read    []Want   // Block.Columns in order
	Release []Output // in the order of the release
}

// Twice returns the places, from 1, of two fields that have the same name; 0 if all names are distinct.
func (s *Schema) Twice() (first, second int) {
	seen := map[string]int{}
	for i, f := range s.Fields {
		if first = seen[f.Name]; first > 0 {
			return first, i + 1
		}
		seen[f.Name] = i + 1
	}
	return 0, 0
}

// Carries reports whether some column is released without being decoded.
func (l *Layout) Carries() bool {
	return slices.ContainsFunc(l.Release, func(o Output) bool { return o.Column < 0 })
}

// Released returns the schema of the release.
func (l *Layout) Released() *Schema {
	s := &Schema{Fields: make([]Field, len(l.Release))}
	for i, o := range l.Release {
		s.Fields[i] = o.Field
	}
	return s
}
