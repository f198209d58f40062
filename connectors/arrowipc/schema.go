package arrowipc

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// column is a released column that is written.
type column struct {
	microdata.Output
	form  microdata.Form // where Column ≥ 0
	place int            // in Layout.Release
	dict  *arrow.DictionaryType
}

// harmless are the keys of a field's metadata that say what its type means and
// nothing of its values. Every other key is dropped, as is the schema's own
// metadata: pandas' index ranges, statistics and paths stand there.
var harmless = []string{"ARROW:extension:name", "ARROW:extension:metadata"}

func cleanMetadata(m arrow.Metadata) arrow.Metadata {
	var keys, values []string
	for i, k := range m.Keys() {
		if slices.Contains(harmless, k) {
			keys, values = append(keys, k), append(values, m.Values()[i])
		}
	}
	return arrow.NewMetadata(keys, values)
}

// cleanType drops the metadata of a type's children.
func cleanType(t arrow.DataType) arrow.DataType {
	clean := func(f arrow.Field) arrow.Field {
		f.Type, f.Metadata = cleanType(f.Type), cleanMetadata(f.Metadata)
		return f
	}
	switch t := t.(type) {
	case *arrow.ListType:
		return arrow.ListOfField(clean(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(clean(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), clean(t.ElemField()))
	case *arrow.MapType:
		m := arrow.MapOfFields(clean(t.KeyField()), clean(t.ItemField()))
		m.KeysSorted = t.KeysSorted
		return m
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			fields[i] = clean(f)
		}
		return arrow.StructOf(fields...)
	}
	return t
}

// released makes the schema of the release, and says which columns its files
// hold: in folders of a partitioned source, all but the keys.
func released(plan connectors.Plan, hive bool) ([]column, *arrow.Schema, error) {
	src, _ := plan.Source.(*source)
	var columns []column
	var fields []arrow.Field
	for i, o := range plan.Layout.Release {
		if hive && src.partition(o.Source) {
			continue
		}
		if !supported(o.Field.Type) {
			return nil, nil, fmt.Errorf("column %s: %w", o.Field.Name, errUnsupported{o.Field.Type})
		}
		c := column{Output: o, place: i}
		if o.Column >= 0 {
			c.form = plan.Layout.Read[o.Column].As
		}
		f := arrow.Field{Name: o.Field.Name, Type: cleanType(o.Field.Type), Nullable: o.Field.Nullable}
		if src != nil && !src.partition(o.Source) {
			from := src.arrow.Field(o.Source)
			f.Metadata = cleanMetadata(from.Metadata)
			if d, ok := from.Type.(*arrow.DictionaryType); ok && o.Column < 0 && keepable(d.ValueType) {
				// The dictionary is made anew, in the order in which its values are
				// first met: what order the source's had is not kept.
				c.dict = &arrow.DictionaryType{IndexType: src.indexType(d), ValueType: d.ValueType}
				f.Type = c.dict
			}
		}
		columns, fields = append(columns, c), append(fields, f)
	}
	return columns, arrow.NewSchema(fields, nil), nil
}

// indexType is the source's where one dictionary of it holds all values there
// are.
func (s *source) indexType(d *arrow.DictionaryType) arrow.DataType {
	if len(s.streams) == 1 && s.streams[0].format == formatFile {
		return d.IndexType
	}
	return arrow.PrimitiveTypes.Int32
}

// partition reports whether a field of the schema is a partition key.
func (s *source) partition(field int) bool { return field >= len(s.arrow.Fields()) }

// hive reports whether the release keeps the source's folders: every key is
// released as it is.
func hive(plan connectors.Plan) bool {
	src, ok := plan.Source.(*source)
	if !ok || len(src.PartitionKeys()) == 0 {
		return false
	}
	kept := 0
	for _, o := range plan.Layout.Release {
		if src.partition(o.Source) && !o.Masked && o.Field.Name == src.schema.Fields[o.Source].Name {
			kept++
		}
	}
	return kept == len(src.PartitionKeys())
}
