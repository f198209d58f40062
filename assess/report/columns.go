package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// MarshalJSON writes an object by column name in the order of the columns.
func (cs Columns) MarshalJSON() ([]byte, error) {
	members := make(Ordered[assess.ColumnMeasures], len(cs))
	for i, c := range cs {
		if c.Risk == nil {
			c.Risk = []assess.Risk{}
		}
		members[i] = Member[assess.ColumnMeasures]{c.Name, c}
	}
	return members.MarshalJSON()
}

// UnmarshalJSON reads what MarshalJSON writes and keeps the order.
func (cs *Columns) UnmarshalJSON(text []byte) error {
	var members Ordered[assess.ColumnMeasures]
	if err := members.UnmarshalJSON(text); err != nil {
		return err
	}
	*cs = make(Columns, len(members))
	for i, m := range members {
		(*cs)[i] = m.Value
		(*cs)[i].Name = m.Name
	}
	return nil
}

// Ordered is a JSON object whose members keep their order.
type Ordered[T any] []Member[T]

// Member is one member of an Ordered object.
type Member[T any] struct {
	Name  string
	Value T
}

// MarshalJSON implements json.Marshaler.
func (o Ordered[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(m.Name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(m.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler. A repeated name is an error.
func (o *Ordered[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*o = nil
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("must be an object")
	}
	list := Ordered[T]{}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return safe(err)
		}
		m := Member[T]{Name: t.(string)} // encoding/json gives member names as strings only
		if seen[m.Name] {
			return fmt.Errorf("%q: must be there once", m.Name)
		}
		seen[m.Name] = true
		if err := d.Decode(&m.Value); err != nil {
			return fmt.Errorf("%q: %w", m.Name, safe(err))
		}
		list = append(list, m)
	}
	*o = list
	return nil
}

// Get returns the named member's value.
func (o Ordered[T]) Get(name string) (value T, ok bool) {
	for _, m := range o {
		if m.Name == name {
			return m.Value, true
		}
	}
	return value, false
}

// safe removes quotations of the input from an error of encoding/json.
func safe(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		field := strings.Replace(kind.Field, "records.Counts.", "records.", 1) // its fields are those of records
		return fmt.Errorf("%s: must be a %s (byte %d)", field, kind.Type, kind.Offset)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("not JSON at byte %d", syntax.Offset)
	}
	return err
}
