package core

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// TextsOf returns a function that gives value i, which is not null, as the text by which it is known in every format: a
// whole number without decimals or leading zeros, whatever its type, and text as it is. The reason says why a value has
// none.
func TextsOf(a arrow.Array) (func(i int) (text, reason string), error) {
	switch t := a.(type) {
	case array.ExtensionArray:
		return TextsOf(t.Storage())
	case *array.Dictionary:
		entry, err := TextsOf(t.Dictionary())
		return func(i int) (string, string) {
			if at := t.GetValueIndex(i); !t.Dictionary().IsNull(at) {
				return entry(at)
			}
			return "", ""
		}, err
	case *array.Float64:
		return func(i int) (string, string) { return TextOfNumber(t.Value(i), microdata.MaxExact) }, nil
	case *array.Float32:
		return func(i int) (string, string) { return TextOfNumber(float64(t.Value(i)), 1<<24) }, nil
	}
	if IsDecimal(a.DataType()) {
		return func(i int) (string, string) {
			text := a.ValueStr(i)
			if strings.Contains(text, ".") {
				text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
			}
			return text, ""
		}, nil
	}
	if bytes, ok := coding.BytesOf(a); ok && Textual(a.DataType()) {
		return func(i int) (string, string) { return string(bytes(i)), "" }, nil
	}
	if (microdata.Field{Type: a.DataType()}).Numeric() {
		return func(i int) (string, string) { return a.ValueStr(i), "" }, nil
	}
	return nil, fmt.Errorf("has type %s, which has no pseudonyms", microdata.TypeName(a.DataType()))
}

// AppendText appends a value that is given as text. The error contains nothing of it.
func AppendText(to array.Builder, text string) error {
	if texts, ok := to.(*array.StringBuilder); ok {
		texts.Append(text)
		return nil
	}
	if err := to.AppendValueFromString(text); err != nil {
		return errors.New("does not fit") // the error of the builder has the text
	}
	return nil
}

// TextOfNumber writes a number as TextsOf does; the reason says why it has no text, as those from beyond on.
func TextOfNumber(x, beyond float64) (text, reason string) {
	switch {
	case x-x != 0:
		return "", "is not a finite number"
	case math.Abs(x) >= beyond:
		return "", "is beyond the whole numbers that its type tells apart"
	}
	return NumberText(x + 0), ""
}

// AllDigits reports whether a text consists of digits.
func AllDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// IsDecimal reports whether a type is one of decimal numbers.
func IsDecimal(t arrow.DataType) bool { _, ok := t.(arrow.DecimalType); return ok }
