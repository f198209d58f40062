package config

import (
	"reflect"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/form"
)

// Source is the configured source.
type Source struct {
	Kind   string // the word that the configuration uses: "parquet"
	Config connectors.SourceConfig
}

// Sink is the configured sink.
type Sink struct {
	Kind   string
	Config connectors.SinkConfig
	Order  string `yaml:"order" enum:"source,shuffled" doc:"source (default): records keep the order of the source; shuffled: records are written to one file in a random order, drawn with the release key, that shows nothing of the source's order. CSV and JSON Lines keep the spelling of one file's records; of several files, and of other formats, all columns are written anew. Temporary files lie beside the release"`
}

// Abilities are those of the source; none where nothing is configured.
func (s Source) Abilities() (none connectors.SourceConfigAbilities) {
	if s.Config == nil {
		return none
	}
	return s.Config.Abilities()
}

// Abilities are those of the sink; none where nothing is configured.
func (s Sink) Abilities() (none connectors.SinkConfigAbilities) {
	if s.Config == nil {
		return none
	}
	return s.Config.Abilities()
}

// Shuffled reports whether the release has its records in an order of its own.
func (s Sink) Shuffled() bool { return s.Order == "shuffled" }

// kind is a source or a sink that a configuration can name. fresh gives a pointer to
// the struct that its fields are decoded into.
type kind struct {
	name, doc string
	fresh     func() any
}

// sources are the formats that can be read, sinks those that can be written.
func sources() (kinds []kind) {
	for _, f := range connectors.Formats() {
		if f.NewSource != nil {
			kinds = append(kinds, kind{f.Name, f.SourceDoc, func() any { return f.NewSource() }})
		}
	}
	return kinds
}

func sinks() (kinds []kind) {
	for _, f := range connectors.Formats() {
		if f.NewSink != nil {
			kinds = append(kinds, kind{f.Name, f.SinkDoc, func() any { return f.NewSink() }})
		}
	}
	return kinds
}

func sourceMembers(d *form.Dialect) []form.Member { return kindMembers(d, sources()) }

func sinkMembers(d *form.Dialect) []form.Member {
	return append(kindMembers(d, sinks()), d.Fields(reflect.TypeFor[Sink]())...)
}

func kindMembers(d *form.Dialect, kinds []kind) []form.Member {
	return tableMembers(d, len(kinds), func(i int) (string, string, func() any) {
		return kinds[i].name, kinds[i].doc, kinds[i].fresh
	})
}
