package meta

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Type is the name of a column's type, as schemas have it. Of those that consist of others it is the kind alone:
// struct, list or map.
type Type string

// The types without parameters.
const (
	Boolean     Type = "boolean"
	Int         Type = "int"
	Long        Type = "long"
	Float       Type = "float"
	Double      Type = "double"
	Date        Type = "date"
	Time        Type = "time"
	Timestamp   Type = "timestamp"
	TimestampTZ Type = "timestamptz"
	String      Type = "string"
	UUID        Type = "uuid"
	Binary      Type = "binary"
)

// Fixed is the type of n bytes.
func Fixed(n int) Type { return Type(fmt.Sprintf("fixed[%d]", n)) }

// Decimal is the type of numbers of so many digits, of which scale are decimals.
func Decimal(precision, scale int) Type {
	return Type(fmt.Sprintf("decimal(%d, %d)", precision, scale))
}

// Nested reports whether the type consists of others.
func (t Type) Nested() bool { return t == "struct" || t == "list" || t == "map" }

var (
	fixedForm   = regexp.MustCompile(`^fixed\[(\d+)\]$`)
	decimalForm = regexp.MustCompile(`^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$`)
)

// Width is the number of bytes of a fixed type.
func (t Type) Width() (n int, ok bool) {
	if m := fixedForm.FindStringSubmatch(string(t)); m != nil {
		n, err := strconv.Atoi(m[1])
		return n, err == nil
	}
	return 0, false
}

// Digits are the precision and the scale of a decimal type.
func (t Type) Digits() (precision, scale int, ok bool) {
	m := decimalForm.FindStringSubmatch(string(t))
	if m == nil {
		return 0, 0, false
	}
	precision, err1 := strconv.Atoi(m[1])
	scale, err2 := strconv.Atoi(m[2])
	return precision, scale, err1 == nil && err2 == nil
}

// UnmarshalJSON reads the name of a type, or the kind of one that consists of others.
func (t *Type) UnmarshalJSON(text []byte) error {
	var name string
	if json.Unmarshal(text, &name) != nil {
		var nested struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(text, &nested); err != nil {
			return err
		}
		if name = nested.Type; !Type(name).Nested() {
			return errors.New("a type that is none")
		}
	}
	if *t = Type(name); decimalForm.MatchString(name) {
		precision, scale, _ := t.Digits()
		*t = Decimal(precision, scale)
	}
	return nil
}

// Field is a column of a schema.
type Field struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Required bool   `json:"required"`
	Type     Type   `json:"type"`
}

// Schema is the columns of a table at some time.
type Schema struct {
	ID     int
	Fields []Field

	text json.RawMessage // as it was read
}

type schemaForm struct {
	Type   string  `json:"type"`
	ID     int     `json:"schema-id"`
	Fields []Field `json:"fields"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Schema) UnmarshalJSON(text []byte) error {
	var f schemaForm
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	*s = Schema{ID: f.ID, Fields: f.Fields, text: append(json.RawMessage(nil), text...)}
	return nil
}

// MarshalJSON implements json.Marshaler: a schema that was read is written as it was.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.text != nil {
		return s.text, nil
	}
	return json.Marshal(schemaForm{"struct", s.ID, s.Fields})
}

// Named is the column of a name.
func (s *Schema) Named(name string) (f Field, ok bool) {
	for _, f := range s.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// ByID is the column of an id.
func (s *Schema) ByID(id int) (f Field, ok bool) {
	for _, f := range s.Fields {
		if f.ID == id {
			return f, true
		}
	}
	return Field{}, false
}

// Beyond is an error if a column, or one within another, is of a type that came with version 3 of the format, or has a
// value where files lack it.
func (s *Schema) Beyond() error {
	var v any
	if s.text == nil || json.Unmarshal(s.text, &v) != nil {
		return nil // it was made here
	}
	return beyond(v, "")
}

var newTypes = regexp.MustCompile(`^(variant|timestamp_ns|timestamptz_ns|unknown|geometry.*|geography.*)$`)

// typesOf are the members of schemas that hold types.
var typesOf = []string{"type", "element", "key", "value"}

func beyond(v any, column string) error {
	m, is := v.(map[string]any)
	if !is {
		return nil
	}
	if name, is := m["name"].(string); is && column == "" {
		column = name
	}
	for _, key := range []string{"initial-default", "element-initial-default", "value-initial-default"} {
		if m[key] != nil {
			return fmt.Errorf("column %s: has a value where files lack the column (initial-default), which is not read", column)
		}
	}
	for _, key := range typesOf {
		if name, is := m[key].(string); is && newTypes.MatchString(name) {
			return fmt.Errorf("column %s: is of type %s, which is not read", column, name)
		}
		if err := beyond(m[key], column); err != nil {
			return err
		}
	}
	fields, _ := m["fields"].([]any)
	for _, f := range fields {
		if err := beyond(f, column); err != nil {
			return err
		}
	}
	return nil
}
