package form

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Canonical is a value of a form as JSON, defaults included: a document that reads to
// the same. Comments, order of fields and ways of writing a number make no difference
// to it.
func Canonical(f *Form, v any) []byte {
	var b bytes.Buffer
	write(&b, f, reflect.ValueOf(v).Elem())
	return b.Bytes()
}

func write(b *bytes.Buffer, f *Form, v reflect.Value) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch f.Shape {
	case Scalar:
		writeScalar(b, v)
	case List:
		b.WriteByte('[')
		for i := range v.Len() {
			comma(b, '[')
			write(b, f.Elem, v.Index(i))
		}
		b.WriteByte(']')
	case Dict:
		b.WriteByte('{')
		for name, elem := range entries(f, v) {
			comma(b, '{')
			b.WriteString(quote(name) + ":")
			write(b, f.Elem, elem)
		}
		b.WriteByte('}')
	case Record:
		b.WriteByte('{')
		for _, m := range f.Members {
			if value, given := m.Peek(v); given {
				comma(b, '{')
				b.WriteString(quote(m.Name) + ":")
				write(b, m.Form, value)
			}
		}
		b.WriteByte('}')
	}
}

// comma separates what follows from what was written before it; after an opening
// bracket there is nothing to separate.
func comma(b *bytes.Buffer, opening byte) {
	if last := b.Bytes()[b.Len()-1]; last != opening {
		b.WriteByte(',')
	}
}

// entries gives the names and values of a dict, a Go map's by name.
func entries(f *Form, v reflect.Value) func(yield func(string, reflect.Value) bool) {
	return func(yield func(string, reflect.Value) bool) {
		if v.Kind() != reflect.Map {
			for i := range v.Len() {
				if e := v.Index(i); !yield(e.Field(f.nameAt).String(), e) {
					return
				}
			}
			return
		}
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return bytes.Compare([]byte(a.String()), []byte(b.String())) })
		for _, name := range names {
			if !yield(name.String(), v.MapIndex(name)) {
				return
			}
		}
	}
}

func writeScalar(b *bytes.Buffer, v reflect.Value) {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			panic(fmt.Sprintf("form: %s does not write what it read: %v", v.Type(), err))
		}
		b.WriteString(quoteValue(string(text)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		b.WriteString(quoteValue(v.String()))
	case reflect.Bool:
		b.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Float32, reflect.Float64:
		b.WriteString(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	default:
		b.WriteString(strconv.FormatInt(v.Int(), 10))
	}
}

// quoteValue keeps what is already expanded from being expanded again.
// Quote writes a text as a value of a configuration, in which nothing is expanded.
func Quote(s string) string { return quoteValue(s) }

func quoteValue(s string) string { return quote(strings.ReplaceAll(s, "${", "$${")) }

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails to be written
	}
	return string(text)
}
