package arrowipc

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

// nestedTypes and other types that other formats do not have.
var (
	nestedTypes = []arrow.DataType{
		arrow.ListOf(arrow.PrimitiveTypes.Int64),
		arrow.LargeListOf(arrow.BinaryTypes.String),
		arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32),
		arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
			arrow.Field{Name: "b", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}),
		arrow.MapOf(arrow.BinaryTypes.String, arrow.FixedWidthTypes.Boolean),
	}
	moreTypes = []arrow.DataType{
		arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.StringView,
		arrow.BinaryTypes.BinaryView,
		&arrow.FixedSizeBinaryType{ByteWidth: 5}, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Float16,
		&arrow.Decimal32Type{Precision: 7, Scale: 2}, &arrow.Decimal256Type{Precision: 50, Scale: 10},
	}
)

func TestContract(t *testing.T) {
	for _, c := range []struct {
		ext    string
		types  []arrow.DataType
		nested []arrow.DataType
	}{
		{".arrow", slices.Concat(connectortest.AllTypes, moreTypes), nestedTypes},
		{".arrows", connectortest.TextTypes, nestedTypes[:1]},
	} {
		t.Run(c.ext, func(t *testing.T) {
			connectortest.Run(t, connectortest.Contract{
				Ext:    c.ext,
				Source: func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
				Sink: func(path string) connectors.SinkConfig {
					return &SinkConfig{Path: path, Compression: "none"}
				},
				Types:             c.types,
				Nested:            c.nested,
				Typed:             true,
				Nulls:             true,
				DetectsTruncation: true,
				Folders:           true,
				Few:               testing.Short() && c.ext == ".arrows",
			})
		})
	}
}
