package statfile

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

func TestContract(t *testing.T) {
	for _, c := range []struct {
		ext, program string
		sink         func(path string) connectors.SinkConfig
		types        []arrow.DataType
	}{
		{".sav", spss, func(path string) connectors.SinkConfig {
			return &SPSSSink{Path: path, Compression: "none"}
		}, []arrow.DataType{
			arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String, arrow.FixedWidthTypes.Date32,
			&arrow.TimestampType{Unit: arrow.Microsecond},
		}},
		{".dta", stata, func(path string) connectors.SinkConfig { return &StataSink{Path: path} }, []arrow.DataType{
			arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float32,
			arrow.PrimitiveTypes.Float64,
			arrow.BinaryTypes.String, arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Millisecond},
		}},
	} {
		t.Run(c.ext, func(t *testing.T) {
			connectortest.Run(t, connectortest.Contract{
				Ext:    c.ext,
				Source: func(path string) connectors.SourceConfig { return &SourceConfig{Path: path, program: c.program} },
				Sink:   c.sink, Types: c.types, Typed: true, Nulls: true, DetectsTruncation: true, Few: testing.Short(),
			})
		})
	}
}
