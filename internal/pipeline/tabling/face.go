package tabling

import (
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablemap"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// Config is a configuration of tables.
type Config = tabulation.Config

// Load reads a configuration of tables. The error is of type config.Errors and holds everything that is wrong.
func Load(path string, opts config.Options) (*Config, error) { return tabulation.Load(path, opts) }

// Parse is Load of a text; file is the name that errors give it.
func Parse(file string, text []byte, opts config.Options) (*Config, error) {
	return tabulation.Parse(file, text, opts)
}

// Is reports whether a text is a configuration of tables and not of a pipeline.
func Is(text []byte) bool { return tabulation.Is(text) }

// ConfigSchema is the JSON Schema of a configuration of tables.
func ConfigSchema() ([]byte, error) { return tabulation.Schema() }

// Mapped is the R-U confidentiality map of tables.
type Mapped = tablemap.Map

// MapSchema is the schema that a Mapped names.
const MapSchema = tablemap.Schema
