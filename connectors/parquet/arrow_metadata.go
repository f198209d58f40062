package parquet

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
)

// arrowSchema returns a serialised Arrow schema reduced to the released fields, without
// the metadata of the schema and of the fields. ok is false if the value cannot be
// decoded, or does not describe the columns: it could then contain anything.
func arrowSchema(value string, columns []*outColumn) (out string, ok bool, err error) {
	b, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return "", false, nil
	}
	s, err := arrowipc.ReadSchema(b)
	if err != nil {
		if errors.Is(err, arrowipc.ErrSchemaBound) {
			return "", false, fmt.Errorf("the metadata %s ask for %w", arrowKey, err)
		}
		return "", false, nil
	}
	var fields []arrow.Field
	for _, c := range columns {
		found := s.FieldIndices(c.Field.Name)
		if len(found) != 1 {
			return "", false, nil
		}
		f := bare(s.Field(found[0]))
		if !describes(f.Type, c.root) {
			return "", false, nil
		}
		fields = append(fields, f)
	}
	var buf bytes.Buffer
	if err := ipc.NewWriter(&buf, ipc.WithSchema(arrow.NewSchema(fields, nil))).Close(); err != nil {
		return "", false, nil
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), true, nil
}

// bare removes the metadata of a field and of all fields within it, and names of elements
// other than the usual ones.
func bare(f arrow.Field) arrow.Field {
	f.Metadata = arrow.Metadata{}
	element := func(f arrow.Field) arrow.Field {
		if f = bare(f); !slices.Contains([]string{"item", "element", "array", "list"}, f.Name) {
			f.Name = "item"
		}
		return f
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		fields := slices.Clone(t.Fields())
		for i := range fields {
			fields[i] = bare(fields[i])
		}
		f.Type = arrow.StructOf(fields...)
	case *arrow.ListType:
		f.Type = arrow.ListOfField(element(t.ElemField()))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(element(t.ElemField()))
	case *arrow.FixedSizeListType:
		f.Type = arrow.FixedSizeListOfField(t.Len(), element(t.ElemField()))
	case *arrow.MapType:
		m := arrow.MapOf(bare(t.KeyField()).Type, bare(t.ItemField()).Type)
		m.KeysSorted = t.KeysSorted
		m.SetItemNullable(t.ItemField().Nullable)
		f.Type = m
	case arrow.ExtensionType:
		f.Type = t.StorageType()
		return bare(f)
	}
	return f
}

// describes reports whether a writer can have made the column from an Arrow type: it has the
// same structure and names, and its leaves are stored like that type.
func describes(t arrow.DataType, n *node) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return n.kind == leafKind && describes(t.ValueType, n)
	case *arrow.StructType:
		if n.kind != structKind || t.NumFields() != len(n.children) {
			return false
		}
		for i, c := range n.children {
			if f := t.Field(i); f.Name != c.name || !describes(f.Type, c) {
				return false
			}
		}
		return true
	case *arrow.MapType:
		return n.kind == mapKind && describes(t.KeyType(), n.children[0]) && describes(t.ItemType(), n.children[1])
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		return n.kind == listKind && describes(t.(arrow.ListLikeType).Elem(), n.children[0])
	}
	return n.kind == leafKind && storedAs(t, n.leaf)
}

// storedAs reports whether writers store an Arrow type as a leaf is stored.
func storedAs(t arrow.DataType, l *leaf) bool {
	integer := l.phys == format.Int32 || l.phys == format.Int64
	switch t := t.(type) {
	case *arrow.BooleanType:
		return l.phys == format.Boolean
	case *arrow.Float32Type:
		return l.phys == format.Float
	case *arrow.Float64Type:
		return l.phys == format.Double
	case *arrow.Float16Type:
		return l.phys == format.FixedLenByteArray && l.width == 2
	case *arrow.TimestampType:
		return (l.phys == format.Int64 || l.phys == format.Int96) && (t.TimeZone == "" || zoneWords.MatchString(t.TimeZone))
	case *arrow.FixedSizeBinaryType:
		return l.phys == format.FixedLenByteArray && l.width == t.ByteWidth
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType, *arrow.BinaryType, *arrow.LargeBinaryType,
		*arrow.BinaryViewType:
		return l.phys == format.ByteArray
	case arrow.DecimalType:
		return integer || l.phys == format.FixedLenByteArray || l.phys == format.ByteArray
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Uint8Type, *arrow.Uint16Type,
		*arrow.Uint32Type, *arrow.Uint64Type,
		*arrow.Date32Type, *arrow.Date64Type, *arrow.Time32Type, *arrow.Time64Type, *arrow.DurationType, *arrow.NullType:
		return integer
	}
	return false
}
