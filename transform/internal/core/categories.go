package core

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/recent"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// What masks of categories have in common. A category is written as text in the
// configuration and in files. A block holds it in one of three forms: as a number of a
// numeric column, as a value of an array, or, in the replicates of such a column, as the
// code that the sample keeps of it (microdata.CodeOf). The first and the last are both
// numbers, so code that works on numbers also works in replicates.

// Numbers in place of the index of a category in a list.
const (
	Missing  = -1 // the record has no value
	Unlisted = -2 // it has one that is not in the list
)

// CategoryColumn is a column whose values a mask treats as categories of a list, and
// releases as categories of another list.
type CategoryColumn struct {
	*Column
	Numeric bool // whether the values, as the masks before leave them, are numbers
	From    []string
	texts   map[string]int32
	Numbers map[float64]int32 // by number, or code
	Out     []string
	Codes   []float64 // by category of out: the number, or the code of the text

	patterns []pattern // of from, see match
	Listed   []int32   // by category of from: its bit in Block.Listed, -1 for none; nil: nobody asks
	Any      int32     // the bit that says that a record has a value
}

// Categorical returns the column for mask i to work on; nil if the chain does not have it.
// from are the categories that it may have, to those that replace them, and after is the
// field that is released.
func (c *Chain) Categorical(i int, name, field string, from, to []string, after microdata.Field) (*CategoryColumn,
	error) {
	col := c.Touch(name)
	if col == nil {
		return nil, nil
	}
	k, err := c.CategoriesOf(i, col, "columns", field, from)
	if err != nil {
		return nil, err
	}
	k.Out = to
	numeric := after.Numeric()
	for _, text := range to {
		code, err := CodeOf(text, numeric)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: column %s holds numbers, and %s is none", c.At(i), field, strconv.Quote(name),
				strconv.Quote(text))
		}
		if numeric && !col.holds(code) {
			return nil,
				fmt.Errorf("%s.%s: column %s cannot hold %s in its type and decimals", c.At(i), field, strconv.Quote(name), text)
		}
		k.Codes = append(k.Codes, code)
	}
	return k, nil
}

// CategoriesOf returns a column whose categories mask i compares; named is the parameter that
// names the column, field the parameter that lists the categories.
func (c *Chain) CategoriesOf(i int, col *Column, named, field string, from []string) (*CategoryColumn, error) {
	name := col.Name
	if !coding.Movable(col.Field.Type) {
		return nil, fmt.Errorf("%s.%s: column %s must have a scalar type so that its values can be compared, got %s", c.At(i),
			named, strconv.Quote(name), microdata.TypeName(col.Field.Type))
	}
	k := &CategoryColumn{Column: col, Numeric: col.Field.Numeric(), Numbers: make(map[float64]int32, len(from)),
		From: from}
	if !k.Numeric {
		k.texts = make(map[string]int32, len(from))
	}
	for j, text := range from {
		code, err := CodeOf(text, k.Numeric)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: column %s holds numbers, and %s is none", c.At(i), field, strconv.Quote(name),
				strconv.Quote(text))
		}
		if before, again := k.Numbers[code]; again && before != int32(j) {
			return nil,
				fmt.Errorf("%s.%s: %s and %s are the same value of column %s", c.At(i), field, strconv.Quote(from[before]),
					strconv.Quote(text), strconv.Quote(name))
		}
		k.Numbers[code] = int32(j)
		if k.texts != nil {
			k.texts[text] = int32(j)
		}
	}
	return k, nil
}

// CodeOf returns the number that represents a category: the text as a number if the column is
// numeric, else the code of the text.
func CodeOf(text string, numeric bool) (float64, error) {
	if !numeric {
		return microdata.CategoryCode([]byte(text)), nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && x-x != 0 {
		err = strconv.ErrRange
	}
	return x + 0, err
}

// holds reports whether the column's type and decimals can hold a number as it is.
func (c *Column) holds(x float64) bool {
	if x < c.Lo || x > c.Hi || c.Float32 && c.Digits < 0 && float64(float32(x)) != x {
		return false
	}
	return c.Digits < 0 || DecimalGrid(c.Digits).Snap(x) == x
}

// Becomes sets the field that the column has for later masks and in the release.
func (c *Column) Becomes(f microdata.Field) {
	if c.Field = f; !f.Numeric() {
		c.refit = false // what leaves is text; in replicates its codes
	}
}

// Look writes for each record of the block the index of its category in the list, or missing,
// or unlisted. It returns false if the block does not hold the column.
func (k *CategoryColumn) Look(dst []int32, b *microdata.Block) (bool, error) {
	col := &b.Columns[k.Index]
	switch {
	case col.Array != nil:
		return true, k.lookArray(dst, col.OutArray())
	case len(k.patterns) > 0: // codes of replicates match none; they stay as they are
	case col.Original.Values != nil:
		v := col.Out()
		for i, x := range v.Values {
			dst[i] = k.Place(x, v.Valid.Has(i))
		}
		return true, nil
	}
	return false, nil
}

// Place returns the index of a number, or code, in the list; Missing or Unlisted where it has none.
func (k *CategoryColumn) Place(x float64, there bool) int32 {
	if !there {
		return Missing
	}
	if j, ok := k.Numbers[x]; ok {
		return j
	}
	return Unlisted
}

func (k *CategoryColumn) lookArray(dst []int32, a arrow.Array) error {
	switch t := a.(type) {
	case array.ExtensionArray:
		return k.lookArray(dst, t.Storage())
	case *array.Dictionary:
		entries := make([]int32, t.Dictionary().Len())
		if err := k.lookArray(entries, t.Dictionary()); err != nil {
			return err
		}
		for i := range dst {
			dst[i] = Missing
			if !t.IsNull(i) {
				dst[i] = entries[t.GetValueIndex(i)]
			}
		}
		return nil
	}
	if k.Numeric {
		var c microdata.Column
		beyond := microdata.NumbersOf(a, &c)
		for i, x := range c.Original.Values {
			dst[i] = k.Place(x, c.Original.Valid.Has(i))
		}
		for _, i := range beyond {
			dst[i] = Unlisted
		}
		return nil
	}
	if bytes, ok := coding.BytesOf(a); ok && Textual(a.DataType()) {
		k.lookTexts(dst, a, bytes)
		return nil
	}
	for i := range dst {
		switch {
		case a.IsNull(i):
			dst[i] = Missing
		case len(k.patterns) > 0:
			dst[i] = k.find(a.ValueStr(i))
		default:
			dst[i] = k.Place(microdata.CodeOf(a, i), true)
		}
	}
	return nil
}

// lookTexts is lookArray for text. Categories are few and mostly differ in length or at their
// ends, so the text that was found last under these is compared before the list is searched.
func (k *CategoryColumn) lookTexts(dst []int32, a arrow.Array, bytes func(i int) []byte) {
	var last [recent.Slots]int32 // place + 1
	clean := a.NullN() == 0
	matched := map[string]int32{}
	for i := range dst {
		if !clean && a.IsNull(i) {
			dst[i] = Missing
			continue
		}
		text := bytes(i)
		slot := &last[recent.Slot(text)]
		if j := *slot - 1; j >= 0 && k.From[j] == string(text) {
			dst[i] = j
		} else if j, ok := k.texts[string(text)]; ok {
			dst[i], *slot = j, j+1
		} else if dst[i] = Unlisted; k.patterns != nil {
			j, again := matched[string(text)]
			if !again {
				j = k.find(string(text))
				matched[string(text)] = j
			}
			dst[i] = j
		}
	}
}

// Textual reports whether the bytes of a type's values are its categories' text.
func Textual(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.BINARY:
		return true
	}
	return false
}

// Put writes for each record the category of out at its place; nothing if that is missing or the
// record is rejected. In changed it marks the records for which differs returns true.
func (k *CategoryColumn) Put(b *microdata.Block, places []int32, changed microdata.Bitmap, differs func(i int) bool) {
	col := &b.Columns[k.Index]
	for i, j := range places {
		if j >= 0 && differs(i) {
			changed.Set(i)
		}
	}
	if col.Array != nil {
		col.ReleasedArray = k.Array(places)
		return
	}
	v := col.Mutable()
	for i, j := range places {
		if j >= 0 {
			v.Values[i] = k.Codes[j]
		}
	}
}

// Array returns an array of the texts of the categories at places.
func (k *CategoryColumn) Array(places []int32) arrow.Array {
	n, size, nulls := len(places), 0, 0
	for _, j := range places {
		if j >= 0 {
			size += len(k.Out[j])
		} else {
			nulls++
		}
	}
	offsets, text := make([]int32, 1, n+1), make([]byte, 0, size)
	for _, j := range places {
		if j >= 0 {
			text = append(text, k.Out[j]...)
		}
		offsets = append(offsets, int32(len(text)))
	}
	var validity *memory.Buffer
	if nulls > 0 {
		bits := make([]byte, bitutil.BytesForBits(int64(n)))
		for i, j := range places {
			bitutil.SetBitTo(bits, i, j >= 0)
		}
		validity = memory.NewBufferBytes(bits)
	}
	d := array.NewData(arrow.BinaryTypes.String, n,
		[]*memory.Buffer{validity, memory.NewBufferBytes(arrow.GetBytes(offsets)), memory.NewBufferBytes(text)}, nil, nulls,
		0)
	defer d.Release()
	return array.MakeFromData(d)
}

// CategoryField returns the released field of a mask of categories: text stays text, numbers
// that become numbers keep their type, and everything else becomes text.
func CategoryField(f microdata.Field, to []string) (microdata.Field, bool) {
	if f.Numeric() && allNumbers(to) || f.Type.ID() == arrow.STRING {
		return f, false
	}
	f.Type = arrow.BinaryTypes.String
	return f, true
}

func allNumbers(texts []string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { _, err := CodeOf(s, true); return err != nil })
}

// DigestOfTexts is like part, for texts of any length. It writes their number and the SHA-256
// of all of them, each preceded by its length.
func DigestOfTexts(word string, texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return fmt.Sprintf("%s %d %x;", word, len(texts), h.Sum(nil))
}

// PlacesFor returns n places of undefined content.
func (w *Work) PlacesFor(n int) []int32 {
	if cap(w.places) < n {
		w.places = make([]int32, n)
	}
	return w.places[:n]
}

// SettleUnlisted gives the records whose category is not in the list the place other, and marks them in changed if
// that is not nil. If other is unlisted, it rejects them.
func SettleUnlisted(b *microdata.Block, column string, places []int32, other int32, changed microdata.Bitmap) {
	for i, j := range places {
		switch {
		case j != Unlisted:
		case other == Unlisted:
			b.Reject(i, column, "has a category that the mask does not list")
		default:
			places[i] = other
			if changed != nil {
				changed.Set(i)
			}
		}
	}
}

// NumberText writes a number as a category of a numeric column is written.
func NumberText(x float64) string {
	if math.Abs(x) < microdata.MaxExact && x == math.Trunc(x) {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// TextField reports whether the values of a type are texts.
func TextField(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	return Textual(t) && t.ID() != arrow.BINARY
}

// TakesTexts reports whether a mask that computes with columns treats this one as categories, which
// may be texts.
func TakesTexts(p Params, column string) bool {
	return slices.Contains(Declared(p).Texts, column)
}
