package arrowipc

import (
	"fmt"
	"regexp"
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

// The keys of a field's metadata by which an extension type is named and described.
const (
	extensionName     = "ARROW:extension:name"
	extensionMetadata = "ARROW:extension:metadata"
)

// harmless lists the extension types whose names are released with a column, and their
// descriptions that are: they give the meaning of the type and say nothing of its
// values. Any other name or description could be any text, so a column of another
// extension type is released as its storage type. All other metadata of a field is
// dropped, as is the schema's own, which may contain pandas' index ranges, statistics
// and paths.
var harmless = map[string][]string{
	"arrow.uuid":  {""},
	"arrow.json":  {"", "{}"},
	"arrow.bool8": {""},
}

func cleanMetadata(m arrow.Metadata) arrow.Metadata {
	name, _ := m.GetValue(extensionName)
	descriptions, known := harmless[name]
	if !known {
		return arrow.Metadata{}
	}
	keys, values := []string{extensionName}, []string{name}
	if d, given := m.GetValue(extensionMetadata); given && slices.Contains(descriptions, d) {
		keys, values = append(keys, extensionMetadata), append(values, d)
	}
	return arrow.NewMetadata(keys, values)
}

// cleanType removes the metadata of a type's children, and unusual names of elements, which are not
// listed in the configuration.
func cleanType(t arrow.DataType) arrow.DataType {
	clean := func(f arrow.Field) arrow.Field {
		f.Type, f.Metadata = cleanType(f.Type), cleanMetadata(f.Metadata)
		return f
	}
	element := func(f arrow.Field) arrow.Field {
		if f = clean(f); !slices.Contains([]string{"item", "element", "array", "list"}, f.Name) {
			f.Name = "item"
		}
		return f
	}
	switch t := t.(type) {
	case arrow.ExtensionType:
		return cleanType(t.StorageType())
	case *arrow.ListType:
		return arrow.ListOfField(element(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(element(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), element(t.ElemField()))
	case *arrow.MapType:
		key, item := clean(t.KeyField()), clean(t.ItemField())
		key.Name, item.Name = "key", "value"
		m := arrow.MapOfFields(key, item)
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

// zoneWords matches names and offsets of time zones.
var zoneWords = regexp.MustCompile(`^[A-Za-z0-9_+:/-]{0,40}$`)

// checkZones returns an error for time zones that cannot be names of time zones: a type is
// written unchanged into the release and into errors.
func checkZones(label string, fields []arrow.Field) error {
	for i, f := range fields {
		if !zoned(f.Type) {
			return fmt.Errorf("%s: column %d: what stands for its time zone is no name or offset of one", label, i+1)
		}
	}
	return nil
}

func zoned(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.TimestampType:
		return zoneWords.MatchString(t.TimeZone)
	case *arrow.DictionaryType:
		return zoned(t.ValueType)
	case arrow.ExtensionType:
		return zoned(t.StorageType())
	case arrow.NestedType:
		return !slices.ContainsFunc(t.Fields(), func(f arrow.Field) bool { return !zoned(f.Type) })
	}
	return true
}

// released returns the schema of the release and the columns of its files: in folders of
// a partitioned source, all except the keys.
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
				// The dictionary is built anew, in the order in which its values first
				// occur: the order of the source's dictionary is not kept.
				c.dict = &arrow.DictionaryType{IndexType: src.indexType(d), ValueType: d.ValueType}
				f.Type = c.dict
			}
		}
		columns, fields = append(columns, c), append(fields, f)
	}
	return columns, arrow.NewSchema(fields, nil), nil
}

// indexType returns the source's index type if one dictionary of the source has all
// values.
func (s *source) indexType(d *arrow.DictionaryType) arrow.DataType {
	if len(s.streams) == 1 && s.streams[0].format == formatFile {
		return d.IndexType
	}
	return arrow.PrimitiveTypes.Int32
}

// partition reports whether a field of the schema is a partition key.
func (s *source) partition(field int) bool { return field >= len(s.arrow.Fields()) }

// hive reports whether the release keeps the source's folders: if every key is released
// unchanged.
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
