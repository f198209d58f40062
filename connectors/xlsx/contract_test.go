package xlsx

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

func TestContract(t *testing.T) {
	connectortest.Run(t, connectortest.Contract{
		Ext:    ".xlsx",
		Source: func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
		Sink:   func(path string) connectors.SinkConfig { return &SinkConfig{Path: path} },
		Types:  append(connectortest.TextTypes, arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond}),
		Nulls:  true, DetectsTruncation: true,
	})
}
