package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go/format"
)

const (
	arrowKey  = "ARROW:schema"
	pandasKey = "pandas"
)

// keyValues returns what survives of a file's key-value metadata. It fails
// closed: a key that is not known to hold nothing but names and types is
// dropped, unless the configuration asks for it.
func (s *sink) keyValues(in []format.KeyValue) []format.KeyValue {
	released := make([]string, len(s.columns))
	for i, c := range s.columns {
		released[i] = c.Field.Name
	}
	var out []format.KeyValue
	for _, kv := range in {
		ok := slices.Contains(s.source.keep, kv.Key)
		switch kv.Key {
		case arrowKey:
			kv.Value, ok = arrowSchema(kv.Value, released)
		case pandasKey:
			kv.Value, ok = pandasSchema(kv.Value, released)
		}
		if ok {
			out = append(out, kv)
		}
	}
	return out
}

// arrowSchema keeps the released fields of a serialised Arrow schema, without
// metadata of the schema and of the fields. ok is false where the value cannot
// be decoded.
func arrowSchema(value string, released []string) (out string, ok bool) {
	defer func() {
		if recover() != nil {
			out, ok = "", false
		}
	}()
	b, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return "", false
	}
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return "", false
	}
	defer r.Release()
	var fields []arrow.Field
	for _, name := range released {
		found := r.Schema().FieldIndices(name)
		if len(found) != 1 {
			return "", false
		}
		fields = append(fields, bare(r.Schema().Field(found[0])))
	}
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(arrow.NewSchema(fields, nil)))
	if err := w.Close(); err != nil {
		return "", false
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), true
}

// bare drops the metadata of a field and of all fields within it.
func bare(f arrow.Field) arrow.Field {
	f.Metadata = arrow.Metadata{}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		fields := slices.Clone(t.Fields())
		for i := range fields {
			fields[i] = bare(fields[i])
		}
		f.Type = arrow.StructOf(fields...)
	case *arrow.ListType:
		f.Type = arrow.ListOfField(bare(t.ElemField()))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(bare(t.ElemField()))
	case *arrow.FixedSizeListType:
		f.Type = arrow.FixedSizeListOfField(t.Len(), bare(t.ElemField()))
	case *arrow.MapType:
		m := arrow.MapOf(bare(t.KeyField()).Type, bare(t.ItemField()).Type)
		m.KeysSorted = t.KeysSorted
		m.SetItemNullable(t.ItemField().Nullable)
		f.Type = m
	case arrow.ExtensionType:
		f.Type = t.StorageType()
	}
	return f
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

// typeWords is what a pandas type's name looks like.
var typeWords = regexp.MustCompile(`^[A-Za-z0-9_<>\[\]., +:/-]{1,40}$`)

// pandasSchema keeps of pandas' metadata the types of released columns and which
// of them are an index. Ranges, creators, attributes and the columns' own
// metadata (numbers of categories) are dropped.
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
		if tz, ok := c.Metadata["timezone"].(string); ok && typeWords.MatchString(tz) {
			k.Metadata = map[string]any{"timezone": tz}
		}
		if k.PandasType == "categorical" {
			// Without its number of categories pandas does not take it for one.
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
