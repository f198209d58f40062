package parquet

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

const (
	arrowKey  = "ARROW:schema"
	pandasKey = "pandas"
)

// keyValues returns the part of a file's key-value metadata that is released. It drops every
// key that is not known to contain only names and types, unless the configuration lists it.
func (s *sink) keyValues(in []format.KeyValue) ([]format.KeyValue, error) {
	released := make([]string, len(s.columns))
	for i, c := range s.columns {
		released[i] = c.Field.Name
	}
	var out []format.KeyValue
	for _, kv := range in {
		ok := slices.Contains(s.source.keep, kv.Key)
		var err error
		switch kv.Key {
		case arrowKey:
			kv.Value, ok, err = arrowSchema(kv.Value, s.columns)
		case pandasKey:
			kv.Value, ok = pandasSchema(kv.Value, released)
		}
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, kv)
		}
	}
	return out, nil
}

type pandasColumn struct {
	Name       *string        `json:"name"`
	FieldName  *string        `json:"field_name"`
	PandasType string         `json:"pandas_type"`
	NumpyType  string         `json:"numpy_type"`
	Metadata   map[string]any `json:"metadata"`
}

type pandasMetadata struct {
	IndexColumns  []json.RawMessage `json:"index_columns"`
	ColumnIndexes []json.RawMessage `json:"column_indexes"`
	Columns       []pandasColumn    `json:"columns"`
	PandasVersion string            `json:"pandas_version"`
}

// typeWords matches names of pandas types.
var typeWords = regexp.MustCompile(`^[A-Za-z0-9_<>\[\]., +:/-]{1,40}$`)

// zoneWords matches names and offsets of time zones.
var zoneWords = regexp.MustCompile(`^[A-Za-z0-9_+:/-]{1,40}$`)

// pandasSchema reduces pandas' metadata to the types of released columns and to which
// of them are an index. Ranges, creators, attributes and the columns' own metadata
// (numbers of categories) are dropped.
func pandasSchema(value string, released []string) (string, bool) {
	var in pandasMetadata
	if json.Unmarshal([]byte(value), &in) != nil {
		return "", false
	}
	out := pandasMetadata{IndexColumns: []json.RawMessage{}, ColumnIndexes: []json.RawMessage{}, Columns: []pandasColumn{}}
	for _, raw := range in.IndexColumns {
		var name string
		if json.Unmarshal(raw, &name) == nil && slices.Contains(released, name) {
			b, err := json.Marshal(name)
			if err != nil {
				return "", false
			}
			out.IndexColumns = append(out.IndexColumns, b)
		}
	}
	for _, c := range in.Columns {
		name := c.FieldName
		if name == nil {
			name = c.Name
		}
		if name == nil || !slices.Contains(released, *name) {
			continue
		}
		if !typeWords.MatchString(c.PandasType) || !typeWords.MatchString(c.NumpyType) {
			return "", false
		}
		k := pandasColumn{FieldName: name, PandasType: c.PandasType, NumpyType: c.NumpyType}
		if c.Name != nil && *c.Name == *name {
			k.Name = name
		}
		if tz, ok := c.Metadata["timezone"].(string); ok && zoneWords.MatchString(tz) {
			k.Metadata = map[string]any{"timezone": tz}
		}
		if k.PandasType == "categorical" {
			// Without the number of categories, pandas does not accept a categorical.
			k.PandasType, k.NumpyType = "unicode", "object"
		}
		out.Columns = append(out.Columns, k)
	}
	if version := in.PandasVersion; typeWords.MatchString(version) {
		out.PandasVersion = version
	}
	b, err := json.Marshal(out)
	return string(b), err == nil
}
