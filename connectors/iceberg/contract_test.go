package iceberg_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

// contract is that of tables in folders.
var contract = connectortest.Contract{
	Ext: ".table",
	Source: func(path string) connectors.SourceConfig {
		return &iceberg.SourceConfig{Place: iceberg.Place{Path: path}}
	},
	Sink: func(path string) connectors.SinkConfig {
		return &iceberg.SinkConfig{Place: iceberg.Place{Path: path}, Compression: "none"}
	},
	Types: []arrow.DataType{
		arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		&arrow.Decimal128Type{Precision: 12, Scale: 3}, arrow.BinaryTypes.String, arrow.BinaryTypes.Binary,
		arrow.FixedWidthTypes.Boolean,
		arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
		&arrow.TimestampType{Unit: arrow.Microsecond},
		&arrow.FixedSizeBinaryType{ByteWidth: 5},
	},
	Typed: true, Nulls: true, Table: true, Few: true,
}

func TestContract(t *testing.T) { connectortest.Run(t, contract) }
