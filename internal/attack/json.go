package attack

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// MarshalJSON implements json.Marshaler. The types of the measures hold plain numbers.
// A few of these may be infinite (a relative change of a value near 0), which
// encoding/json rejects; so every number is written like an assess.Float. Empty lists
// are written as [].
func (r Result) MarshalJSON() ([]byte, error) {
	r.Schema = Schema
	type plain Result
	var b bytes.Buffer
	if err := encode(&b, reflect.ValueOf(plain(r))); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// encode writes a value in the same way as encoding/json, except for numbers and empty
// lists.
func encode(b *bytes.Buffer, v reflect.Value) error {
	switch v.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
		if v.Kind() != reflect.Pointer {
			return other(b, v.Interface())
		}
	}
	switch v.Kind() {
	case reflect.Float64:
		text, err := assess.Float(v.Float()).MarshalJSON()
		b.Write(text)
		return err
	case reflect.Pointer:
		if v.IsNil() {
			b.WriteString("null")
			return nil
		}
		return encode(b, v.Elem())
	case reflect.Struct:
		return members(b, v)
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encode(b, v.Index(i)); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case reflect.Map:
		return entries(b, v)
	default:
		return other(b, v.Interface())
	}
}

// members writes a struct, with the fields of embedded structs among its own fields.
func members(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('{')
	first := true
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}
		value := v.FieldByIndex(f.Index)
		if options == "omitempty" && empty(value) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		if err := other(b, name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := encode(b, value); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// empty reports whether omitempty omits a value.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

// entries writes a map in the order of its keys as text.
func entries(b *bytes.Buffer, v reflect.Value) error {
	values := map[string]reflect.Value{}
	for k, e := range v.Seq2() {
		values[fmt.Sprint(k)] = e
	}
	b.WriteByte('{')
	for i, k := range slices.Sorted(maps.Keys(values)) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := other(b, k); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := encode(b, values[k]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// other writes a value with encoding/json, without escaping < and >.
func other(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line's end
	return nil
}
