package parquet

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

func TestContract(t *testing.T) {
	connectortest.Run(t, connectortest.Contract{
		Ext:    ".parquet",
		Source: func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
		Sink:   func(path string) connectors.SinkConfig { return &SinkConfig{Path: path, Compression: "none"} },
		Types: append([]arrow.DataType{
			arrow.FixedWidthTypes.Float16,
			&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
			&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"},
			&arrow.FixedSizeBinaryType{ByteWidth: 5}, &arrow.Decimal128Type{Precision: 30, Scale: 2},
			&arrow.Decimal128Type{Precision: 7, Scale: 1},
		}, connectortest.AllTypes...),
		Nulls: true, Typed: true, DetectsTruncation: true, Folders: true,
		Nested: []arrow.DataType{
			arrow.ListOf(arrow.PrimitiveTypes.Int32),
			arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true},
				arrow.Field{Name: "b", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64), Nullable: true}),
			arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
		},
	})
}
