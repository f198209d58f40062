package microdata

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Missing declares the values of a column that mean that there is none: −9, 97 to 99, "refused". The
// configuration gives it, or the file does (user-missing values). Sources decode such values as they
// are; Layout.ClearMissing then makes nulls of them, so that no mask and no measure counts them, and
// keeps them aside (Column.Coded).
type Missing struct {
	Codes  []string       // single values: numbers, or texts of a column of text
	Ranges []MissingRange // of a numeric column
	Null   bool           // they are released as null; false: as they are
	JSON   bool           // texts of the column may be JSON: those in quotes are compared without them
}

// MissingRange are the numbers from From to To, both among them; −Inf and +Inf where it has no end.
type MissingRange struct{ From, To float64 }

// Texts returns the declared codes and ranges as people write them, in the order of Coded.Entry.
func (m *Missing) Texts() []string {
	list := slices.Clone(m.Codes)
	for _, r := range m.Ranges {
		switch {
		case math.IsInf(r.From, -1):
			list = append(list, "up to "+number(r.To))
		case math.IsInf(r.To, 1):
			list = append(list, number(r.From)+" and above")
		default:
			list = append(list, number(r.From)+" to "+number(r.To))
		}
	}
	return list
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// NumberOf returns the number that a code states.
func NumberOf(code string) (float64, bool) {
	x, err := strconv.ParseFloat(code, 64)
	return x + 0, err == nil && x-x == 0
}

// Codes finds declared codes among the values of a field.
type codes struct {
	numbers []float64 // by entry; NaN: it is no number
	texts   map[string]uint16
	ranges  []MissingRange
	single  bool // values are of type float32
	json    bool
}

func (m *Missing) of(f Field) *codes {
	c := &codes{json: m.JSON, ranges: m.Ranges, single: f.Type.ID() == arrow.FLOAT32, texts: map[string]uint16{}}
	for i, code := range m.Codes {
		x, ok := NumberOf(code)
		if !ok {
			x = math.NaN()
		}
		if c.single {
			x = float64(float32(x))
		}
		c.numbers = append(c.numbers, x)
		if _, twice := c.texts[code]; !twice {
			c.texts[code] = uint16(i)
		}
	}
	return c
}

// number returns the entry that declares a number.
func (c *codes) number(x float64) (entry uint16, ok bool) {
	for i, code := range c.numbers {
		if x == code {
			return uint16(i), true
		}
	}
	for i, r := range c.ranges {
		if x >= r.From && x <= r.To {
			return uint16(len(c.numbers) + i), true
		}
	}
	return 0, false
}

// Declares reports whether x is a declared code of a numeric field.
func (m *Missing) Declares(f Field, x float64) bool {
	_, ok := m.of(f).number(x)
	return ok
}

// DeclaresText reports whether a text is a declared code.
func (m *Missing) DeclaresText(text string) bool { return slices.Contains(m.Codes, text) }

// Finder returns a function that reports whether a number is a declared code of a field.
func (m *Missing) Finder(f Field) func(x float64) bool {
	c := m.of(f)
	return func(x float64) bool {
		_, ok := c.number(x)
		return ok
	}
}

// Coded are the records of a column whose value is a declared code for a missing one. In the column they
// are null, also in Released unless the codes are restored.
type Coded struct {
	Rows  []int32  // ascending
	Entry []uint16 // of each, in the order of Missing.Texts
	Keep  bool     // they leave as they are

	codes []float64 // of each, see MissingCode
	has   Bitmap    // here a set bit is a record of Rows
	gone  Bitmap    // of those, the ones that a mask has set missing; nil: none

	Values []float64   // Numbers form: the codes of Rows
	Raw    arrow.Array // Array form: the column as it was read
}

// Has reports whether record row has a declared code.
func (c *Coded) Has(row int) bool { return len(c.Rows) > 0 && c.has[row>>6]>>(row&63)&1 == 1 }

// Leaves reports whether record row leaves with a declared code.
func (c *Coded) Leaves(row int) bool {
	return c.Keep && c.Has(row) && (c.gone == nil || c.gone[row>>6]>>(row&63)&1 == 0)
}

// Drop notes that a mask sets record row missing: its code does not leave.
func (c *Coded) Drop(row int) {
	if !c.Has(row) {
		return
	}
	if c.gone == nil {
		c.gone = make(Bitmap, len(c.has))
	}
	c.gone.Set(row)
}

// Dropped reports whether a mask has set a declared code missing.
func (c *Coded) Dropped() bool { return c.gone != nil }

// Category returns what stands for the value of a record without a number: NaN, and of a declared code
// that is kept a NaN of its own (MissingCode).
func (c *Coded) Category(row int) float64 {
	if !c.Keep || !c.Has(row) {
		return math.NaN()
	}
	at, _ := slices.BinarySearch(c.Rows, int32(row))
	return c.codes[at]
}

// ReleasedCategory is Category of what leaves.
func (c *Coded) ReleasedCategory(row int) float64 {
	if !c.Leaves(row) {
		return math.NaN()
	}
	return c.Category(row)
}

// Numbers that stand for kept codes are NaN, so that nothing computes with them, with 50 bits that tell
// them apart.
const (
	codedBits = 0x7ffc << 48
	codedMask = 1<<50 - 1
)

// codeOfMissing returns the NaN that stands for a declared code. Different codes have different ones, except
// with probability 2⁻⁵⁰ per pair.
func codeOfMissing(hash uint64) float64 {
	hash ^= hash >> 29
	return math.Float64frombits(codedBits | (hash*0x9e3779b97f4a7c15)>>14&codedMask)
}

func codeOfNumber(x float64) float64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x+0)))
	return codeOfMissing(h.Sum64())
}

func codeOfText(text string) float64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return codeOfMissing(h.Sum64() + 1)
}

// MissingCode returns the whole number, below 2⁵⁰, that tells the declared code for which v stands from
// others; ok is false if v stands for none.
func MissingCode(v float64) (code float64, ok bool) {
	bits := math.Float64bits(v)
	return float64(bits & codedMask), bits&^codedMask == codedBits
}

// Fill makes of a block that a source has decoded what masks and measures take: declared codes are missing values, and
// dates have their days.
func (l *Layout) Fill(b *Block) {
	l.ClearMissing(b)
	FillDays(b, l) // after the codes, which are no dates
}

// ClearMissing makes nulls of the declared codes in a block that a source has decoded, and notes them in
// Column.Coded.
func (l *Layout) ClearMissing(b *Block) {
	for i, w := range l.Read {
		if f := &l.Schema.Fields[w.Field]; f.Missing != nil {
			b.Columns[i].clearMissing(f, b.N)
		}
	}
}

func (c *Column) clearMissing(f *Field, n int) {
	of := f.Missing.of(*f)
	c.Coded = Coded{Keep: !f.Missing.Null}
	switch {
	case c.Array != nil:
		c.clearArray(of, n)
	case c.Original.Values != nil:
		c.clearNumbers(of, n)
	}
}

func (c *Column) note(row, n int, entry uint16, code float64) {
	if c.Coded.has == nil {
		c.Coded.has = make(Bitmap, (n+63)/64)
	}
	c.Coded.has.Set(row)
	c.Coded.Rows, c.Coded.Entry, c.Coded.codes = append(c.Coded.Rows, int32(row)), append(c.Coded.Entry, entry),
		append(c.Coded.codes, code)
}

func (c *Column) clearNumbers(of *codes, n int) {
	v := &c.Original
	for i, x := range v.Values[:n] {
		if entry, ok := of.number(x); ok && v.Valid.Has(i) {
			c.note(i, n, entry, codeOfNumber(x))
			c.Coded.Values = append(c.Coded.Values, x)
		}
	}
	if len(c.Coded.Rows) == 0 {
		return
	}
	// The values may be the source's own memory, and so may be the bitmap.
	values, valid := v.Values, v.Valid
	if cap(c.values) < n {
		c.values = make([]float64, n)
	}
	if &c.values[:1][0] != &values[0] {
		copy(c.values[:n], values)
	}
	switch own := cap(c.valid) > 0 && valid != nil && &c.valid[:1][0] == &valid[0]; {
	case own:
		c.valid = valid
	case valid != nil:
		c.valid = append(c.valid[:0], valid...)
	default:
		c.valid = NewBitmap(n, c.valid)
	}
	*v = Vector{Values: c.values[:n], Valid: c.valid}
	for _, row := range c.Coded.Rows {
		v.Values[row] = 0
		v.Valid.Clear(int(row))
	}
}

func (c *Column) clearArray(of *codes, n int) {
	entryOf := of.inArray(c.Array)
	if entryOf == nil {
		return
	}
	for i := range n {
		if c.Array.IsNull(i) {
			continue
		}
		if entry, code, ok := entryOf(i); ok {
			c.note(i, n, entry, code)
		}
	}
	if len(c.Coded.Rows) > 0 {
		c.Coded.Raw = c.Array
		c.Array = withNulls(c.Array, c.Coded.Rows)
	}
}

// inArray returns a function that finds the declared code of record i; nil for arrays that can have none.
func (of *codes) inArray(a arrow.Array) func(i int) (entry uint16, code float64, ok bool) {
	switch a := a.(type) {
	case *array.Dictionary:
		in := of.inArray(a.Dictionary())
		if in == nil {
			return nil
		}
		type found struct {
			entry uint16
			code  float64
			ok    bool
		}
		list := make([]found, a.Dictionary().Len())
		for k := range list {
			if !a.Dictionary().IsNull(k) {
				list[k].entry, list[k].code, list[k].ok = in(k)
			}
		}
		return func(i int) (uint16, float64, bool) {
			f := list[a.GetValueIndex(i)]
			return f.entry, f.code, f.ok
		}
	case array.ExtensionArray:
		return of.inArray(a.Storage())
	case *array.Null:
		return nil
	}
	if arrow.IsNested(a.DataType().ID()) {
		return nil
	}
	if (Field{Type: a.DataType()}).Numeric() {
		return func(i int) (uint16, float64, bool) {
			x, ok := numberOf(a, i)
			if !ok {
				return 0, 0, false
			}
			entry, ok := of.number(x)
			return entry, codeOfNumber(x), ok
		}
	}
	text := a.ValueStr
	switch a := a.(type) {
	case *array.Binary:
		text = func(i int) string { return string(a.Value(i)) }
	case interface{ Value(int) string }:
		text = a.Value
	}
	return func(i int) (uint16, float64, bool) {
		s := text(i)
		if of.json && strings.HasPrefix(s, "\"") {
			var plain string
			if json.Unmarshal([]byte(s), &plain) == nil {
				s = plain
			}
		}
		entry, ok := of.texts[s]
		if !ok {
			return 0, 0, false
		}
		return entry, codeOfText(s), true
	}
}

// withNulls returns the array with the given records null. It shares its other buffers.
func withNulls(a arrow.Array, rows []int32) arrow.Array {
	d := a.Data()
	n, offset := d.Len(), d.Offset()
	valid := make([]byte, (offset+n+7)/8)
	for i := range n {
		if a.IsValid(i) {
			valid[(offset+i)>>3] |= 1 << ((offset + i) & 7)
		}
	}
	for _, row := range rows {
		at := offset + int(row)
		valid[at>>3] &^= 1 << (at & 7)
	}
	buffers := slices.Clone(d.Buffers())
	buffers[0] = memory.NewBufferBytes(valid)
	if f, ok := a.DataType().(arrow.FixedWidthDataType); ok && f.BitWidth()%8 == 0 && len(buffers) == 2 &&
		buffers[1] != nil {
		// What lies below a null could still be read.
		width, values := f.BitWidth()/8, slices.Clone(buffers[1].Bytes())
		for _, row := range rows {
			at := (offset + int(row)) * width
			clear(values[at : at+width])
		}
		buffers[1] = memory.NewBufferBytes(values)
	}
	nulls := a.NullN() + len(rows)
	if dict, ok := a.(*array.Dictionary); ok {
		return array.MakeFromData(
			array.NewDataWithDictionary(d.DataType(), n, buffers, nulls, offset, dict.Dictionary().Data().(*array.Data)))
	}
	return array.MakeFromData(array.NewData(d.DataType(), n, buffers, d.Children(), nulls, offset))
}

// part copies the records from … from+n−1.
func (c *Coded) part(from, n int) Coded {
	p := Coded{Keep: c.Keep}
	if len(c.Rows) == 0 {
		return p
	}
	lo, _ := slices.BinarySearch(c.Rows, int32(from))
	hi, _ := slices.BinarySearch(c.Rows, int32(from+n))
	if lo == hi {
		return p
	}
	p.has = make(Bitmap, (n+63)/64)
	for k := lo; k < hi; k++ {
		row := int(c.Rows[k]) - from
		p.Rows, p.has[row>>6] = append(p.Rows, int32(row)), p.has[row>>6]|1<<(row&63)
	}
	p.Entry, p.codes = c.Entry[lo:hi], c.codes[lo:hi]
	if c.Values != nil {
		p.Values = c.Values[lo:hi]
	}
	if c.Raw != nil {
		p.Raw = array.NewSlice(c.Raw, int64(from), int64(from+n))
	}
	if c.gone != nil {
		for _, row := range p.Rows {
			if c.gone.Has(from + int(row)) {
				p.Drop(int(row))
			}
		}
	}
	return p
}

// Recall gives a column of a replicate, whose values are those of a sample, the codes that these stand for.
// values has a NaN of its own for each (Coded.Category).
func (c *Column) Recall(values []float64) {
	c.Coded = Coded{Keep: true}
	for i, v := range values {
		if code, ok := MissingCode(v); ok {
			c.note(i, len(values), 0, v)
			c.Coded.Values = append(c.Coded.Values, code)
		}
	}
}

// InArray returns a function that reports whether value i of an array, which is not null, is a declared code; nil for
// arrays that can have none.
func (m *Missing) InArray(a arrow.Array) func(i int) bool {
	in := m.of(Field{Type: a.DataType()}).inArray(a)
	if in == nil {
		return nil
	}
	return func(i int) bool {
		_, _, ok := in(i)
		return ok
	}
}

// Is reports whether a text, of a category or a number, is a declared code.
func (m *Missing) Is(text string) bool {
	if m.DeclaresText(text) {
		return true
	}
	x, ok := NumberOf(text)
	return ok && m.Declares(Field{Type: arrow.PrimitiveTypes.Float64}, x)
}
