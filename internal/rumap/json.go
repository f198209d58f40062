package rumap

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/sdlfilter/sdlfilter/assess"
)

// WriteJSON writes map.json: indented, members in the contract's order, lists
// that are empty as [], infinite values as words. The file is confidential, since
// it is computed from the original data.
func WriteJSON(w io.Writer, m *Map) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return fmt.Errorf("map.json: %w", err)
	}
	return nil
}

// MarshalJSON implements json.Marshaler: absent lists are empty ones.
func (m Map) MarshalJSON() ([]byte, error) {
	type plain Map
	p := plain(m)
	p.Schema = Schema
	p.Axes, p.Rules, p.Points = full(p.Axes), full(p.Rules), full(p.Points)
	if m.Recommended != nil {
		r := *m.Recommended
		r.Binding = full(r.Binding)
		p.Recommended = &r
	}
	return json.Marshal(p)
}

// MarshalJSON implements json.Marshaler: absent lists are empty ones.
func (p Point) MarshalJSON() ([]byte, error) {
	type plain Point
	q := plain(p)
	q.Risk = full(q.Risk)
	if q.Parameters == nil {
		q.Parameters = map[string]float64{}
	}
	for path, v := range q.Parameters {
		if !finite(v) {
			return nil, fmt.Errorf("points.parameters.%s: must be finite", path)
		}
	}
	return json.Marshal(q)
}

// MarshalJSON implements json.Marshaler: absent lists are empty ones.
func (g Group) MarshalJSON() ([]byte, error) {
	type plain Group
	q := plain(g)
	q.Values, q.Risk = full(q.Values), full(q.Risk)
	return json.Marshal(q)
}

func full[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// text is a number as map.json has it, without quotes; "" for NaN.
func text(v assess.Float) string {
	raw, err := v.MarshalJSON()
	switch {
	case err != nil || string(raw) == "null":
		return ""
	case raw[0] == '"':
		return string(raw[1 : len(raw)-1])
	}
	return string(raw)
}

// ReadJSON reads what WriteJSON writes. The error says what is wrong, never what
// the text holds.
func ReadJSON(text []byte) (*Map, error) {
	m := new(Map)
	if err := json.Unmarshal(text, m); err != nil || m.Schema != Schema {
		return nil, fmt.Errorf("is no map of the schema %s", Schema)
	}
	return m, nil
}
