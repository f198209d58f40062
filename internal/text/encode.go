package text

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Style is how a format writes values.
type Style struct {
	Null string // what stands for no value
	// String appends text, quoted or escaped as the format needs it.
	String func(dst []byte, s string) []byte
	// Bare is called after a number or truth value was appended at dst[start:],
	// for a format in which it may need quotes; nil: it never does.
	Bare func(dst []byte, start int) []byte
	// Literals says that dates and the like are written by way of String, NaN and
	// infinities as Null, and nested values as they are: JSON.
	Literals bool
}

// Cells is one column as text: the text of record i is Buf[Ends[i-1]:Ends[i]].
type Cells struct {
	Buf  []byte
	Ends []uint32
}

// At returns the text of record i.
func (c *Cells) At(i int) []byte {
	if i == 0 {
		return c.Buf[:c.Ends[0]]
	}
	return c.Buf[c.Ends[i-1]:c.Ends[i]]
}

func (c *Cells) end() { c.Ends = append(c.Ends, uint32(len(c.Buf))) }

// Fill writes what leaves of the column.
func (c *Cells) Fill(col *microdata.Column, o microdata.Output, style *Style) error {
	c.Buf, c.Ends = c.Buf[:0], c.Ends[:0]
	var err error
	if a := col.OutArray(); a != nil {
		err = c.array(a, style)
	} else {
		c.numbers(col.Out(), o, style)
	}
	if len(c.Buf) > math.MaxUint32 {
		err = fmt.Errorf("column %s: a block has more than 4 GiB of text", o.Field.Name)
	}
	return err
}

func (c *Cells) bare(style *Style, start int) {
	if style.Bare != nil {
		c.Buf = style.Bare(c.Buf, start)
	}
	c.end()
}

func (c *Cells) null(style *Style) {
	c.Buf = append(c.Buf, style.Null...)
	c.end()
}

// numbers writes the Numbers form: the type of the release says how.
func (c *Cells) numbers(v microdata.Vector, o microdata.Output, style *Style) {
	decimals, pad := o.Decimals, false
	if d, ok := o.Field.Decimals(); ok {
		if !o.Masked {
			decimals = d
		}
		pad = decimals == d
	}
	if !o.Masked && !pad {
		decimals = -1
	}
	single := o.Field.Type.ID() == arrow.FLOAT32
	for i, x := range v.Values {
		start := len(c.Buf)
		switch {
		case !v.Valid.Has(i):
			c.null(style)
			continue
		case decimals >= 0 && !single && x-x == 0: // NaN and infinities have no decimals
			c.Buf = AppendFixed(c.Buf, x, decimals, pad)
		default:
			if !c.float(x, single, style) {
				continue
			}
		}
		c.bare(style, start)
	}
}

// float appends a float in its shortest form; false: as a null, and ended.
func (c *Cells) float(x float64, single bool, style *Style) bool {
	if style.Literals && (math.IsNaN(x) || math.IsInf(x, 0)) {
		c.null(style)
		return false
	}
	if single {
		c.Buf = AppendShortest32(c.Buf, float32(x))
	} else {
		c.Buf = AppendShortest(c.Buf, x)
	}
	return true
}

// each writes every value of an array by way of one function a column.
func each(c *Cells, a arrow.Array, style *Style, value func(i int)) {
	for i := range a.Len() {
		if a.IsNull(i) {
			c.null(style)
			continue
		}
		start := len(c.Buf)
		value(i)
		c.bare(style, start)
	}
}

// quoted is each for values that JSON writes as strings.
func quoted(c *Cells, a arrow.Array, style *Style, value func(dst []byte, i int) []byte) {
	var buf []byte
	for i := range a.Len() {
		if a.IsNull(i) {
			c.null(style)
			continue
		}
		buf = value(buf[:0], i)
		c.Buf = style.String(c.Buf, unsafe.String(unsafe.SliceData(buf), len(buf)))
		c.end()
	}
}

func ints[T ~int8 | ~int16 | ~int32 | ~int64](c *Cells, a arrow.Array, v []T, style *Style) {
	each(c, a, style, func(i int) { c.Buf = strconv.AppendInt(c.Buf, int64(v[i]), 10) })
}

func uints[T uint8 | uint16 | uint32 | uint64](c *Cells, a arrow.Array, v []T, style *Style) {
	each(c, a, style, func(i int) { c.Buf = strconv.AppendUint(c.Buf, uint64(v[i]), 10) })
}

func (c *Cells) array(a arrow.Array, style *Style) error {
	switch a := a.(type) {
	case *array.Null:
		for range a.Len() {
			c.null(style)
		}
	case *array.Int8:
		ints(c, a, a.Int8Values(), style)
	case *array.Int16:
		ints(c, a, a.Int16Values(), style)
	case *array.Int32:
		ints(c, a, a.Int32Values(), style)
	case *array.Int64:
		ints(c, a, a.Int64Values(), style)
	case *array.Uint8:
		uints(c, a, a.Uint8Values(), style)
	case *array.Uint16:
		uints(c, a, a.Uint16Values(), style)
	case *array.Uint32:
		uints(c, a, a.Uint32Values(), style)
	case *array.Uint64:
		uints(c, a, a.Uint64Values(), style)
	case *array.Float32:
		c.floats(a, style, true, func(i int) float64 { return float64(a.Value(i)) })
	case *array.Float64:
		c.floats(a, style, false, a.Value)
	case *array.Float16:
		c.floats(a, style, true, func(i int) float64 { return float64(a.Value(i).Float32()) })
	case *array.Boolean:
		each(c, a, style, func(i int) { c.Buf = strconv.AppendBool(c.Buf, a.Value(i)) })
	case *array.String:
		c.strings(a, style, a.Value)
	case *array.LargeString:
		c.strings(a, style, a.Value)
	case *array.StringView:
		c.strings(a, style, a.Value)
	case *array.Binary:
		c.binary(a, style, a.Value)
	case *array.LargeBinary:
		c.binary(a, style, a.Value)
	case *array.BinaryView:
		c.binary(a, style, a.Value)
	case *array.FixedSizeBinary:
		c.binary(a, style, a.Value)
	case *array.Dictionary:
		return c.dictionary(a, style)
	case array.ExtensionArray:
		return c.array(a.Storage(), style)
	default:
		if c.decimals(a, style) || c.temporals(a, style) {
			return nil
		}
		return c.nested(a, style)
	}
	return nil
}

func (c *Cells) floats(a arrow.Array, style *Style, single bool, at func(i int) float64) {
	for i := range a.Len() {
		if a.IsNull(i) {
			c.null(style)
			continue
		}
		start := len(c.Buf)
		if c.float(at(i), single, style) {
			c.bare(style, start)
		}
	}
}

func (c *Cells) strings(a arrow.Array, style *Style, at func(i int) string) {
	for i := range a.Len() {
		if a.IsNull(i) {
			c.null(style)
			continue
		}
		c.Buf = style.String(c.Buf, at(i))
		c.end()
	}
}

// binary writes base64, the standard alphabet with padding.
func (c *Cells) binary(a arrow.Array, style *Style, at func(i int) []byte) {
	quoted(c, a, style, func(dst []byte, i int) []byte { return base64.StdEncoding.AppendEncode(dst, at(i)) })
}

// dictionary writes each distinct value once and copies from there.
func (c *Cells) dictionary(a *array.Dictionary, style *Style) error {
	var distinct Cells
	if err := distinct.array(a.Dictionary(), style); err != nil {
		return err
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			c.null(style)
			continue
		}
		c.Buf = append(c.Buf, distinct.At(a.GetValueIndex(i))...)
		c.end()
	}
	return nil
}

func (c *Cells) decimals(a arrow.Array, style *Style) bool {
	t, ok := a.DataType().(arrow.DecimalType)
	if !ok {
		return false
	}
	scale := t.GetScale()
	switch a := a.(type) {
	case *array.Decimal32:
		each(c, a, style, func(i int) { c.Buf = AppendScaled(c.Buf, int64(a.Value(i)), int(scale), true) })
	case *array.Decimal64:
		each(c, a, style, func(i int) { c.Buf = AppendScaled(c.Buf, int64(a.Value(i)), int(scale), true) })
	case *array.Decimal128:
		each(c, a, style, func(i int) { c.Buf = append(c.Buf, a.Value(i).ToString(scale)...) })
	case *array.Decimal256:
		each(c, a, style, func(i int) { c.Buf = append(c.Buf, a.Value(i).ToString(scale)...) })
	default:
		return false
	}
	return true
}

func (c *Cells) temporals(a arrow.Array, style *Style) bool {
	switch a := a.(type) {
	case *array.Date32:
		quoted(c, a, style, func(dst []byte, i int) []byte { return AppendDate(dst, int64(a.Value(i))) })
	case *array.Date64:
		quoted(c, a, style, func(dst []byte, i int) []byte {
			return AppendDate(dst, int64(math.Floor(float64(a.Value(i))/86_400_000)))
		})
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		per := int64(time.Second / t.Unit.Multiplier())
		quoted(c, a, style, func(dst []byte, i int) []byte {
			return AppendTimestamp(dst, int64(a.Value(i)), per, t.TimeZone != "")
		})
	case *array.Time32:
		t := a.DataType().(*arrow.Time32Type)
		quoted(c, a, style, func(dst []byte, i int) []byte { return append(dst, a.Value(i).FormattedString(t.Unit)...) })
	case *array.Time64:
		t := a.DataType().(*arrow.Time64Type)
		quoted(c, a, style, func(dst []byte, i int) []byte { return append(dst, a.Value(i).FormattedString(t.Unit)...) })
	case *array.Duration:
		ints(c, a, a.DurationValues(), style)
	default:
		return false
	}
	return true
}

// nested writes lists, structs and maps as JSON.
func (c *Cells) nested(a arrow.Array, style *Style) error {
	for i := range a.Len() {
		if a.IsNull(i) {
			c.null(style)
			continue
		}
		// The error of json may quote the value.
		p, err := json.Marshal(a.GetOneForMarshal(i))
		if err != nil {
			return fmt.Errorf("a value of type %s cannot be written as text", a.DataType())
		}
		if style.Literals {
			c.Buf = append(c.Buf, p...)
		} else {
			c.Buf = style.String(c.Buf, string(p))
		}
		c.end()
	}
	return nil
}
