package csv

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

func TestContract(t *testing.T) {
	connectortest.Run(t, connectortest.Contract{
		Ext:     ".csv",
		Source:  func(path string) connectors.SourceConfig { return &SourceConfig{Path: path} },
		Sink:    func(path string) connectors.SinkConfig { return &SinkConfig{Path: path} },
		Types:   connectortest.TextTypes,
		Nulls:   true,
		Folders: true,
	})
}
