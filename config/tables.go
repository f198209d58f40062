package config

import (
	"reflect"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
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
	Order  string `yaml:"order" enum:"source,shuffled" doc:"source (default): records stay in their order; shuffled: a keyed order of its own, into one file, in which nothing of the source's order is left. All columns are then decoded and written anew, by way of temporary files beside the release"`
}

// SourceKind is a source that a configuration can name. New gives a pointer to
// the struct that its fields are decoded into.
type SourceKind struct {
	Name string
	Doc  string
	New  func() connectors.SourceConfig
}

// Shuffled reports whether the release has its records in an order of its own.
func (s Sink) Shuffled() bool { return s.Order == "shuffled" }

// SinkKind is a sink that a configuration can name.
type SinkKind struct {
	Name string
	Doc  string
	New  func() connectors.SinkConfig
}

// Sources is the table of sources: a new one is one folder and one line here.
var Sources = []SourceKind{
	{"parquet", "Parquet: a file, a folder or a glob", func() connectors.SourceConfig { return new(parquet.SourceConfig) }},
	{"csv", "CSV (RFC 4180), also .gz and .zst", func() connectors.SourceConfig { return new(csv.SourceConfig) }},
	{"jsonl", "JSON Lines, also .gz and .zst", func() connectors.SourceConfig { return new(jsonl.SourceConfig) }},
	{"arrow", "Arrow IPC, file or stream, or - for standard input", func() connectors.SourceConfig { return new(arrowipc.SourceConfig) }},
	{"kafka", "topics of Apache Kafka: a stream, or with until: latest what is there", func() connectors.SourceConfig { return new(kafka.SourceConfig) }},
}

// Sinks is the table of sinks.
var Sinks = []SinkKind{
	{"parquet", "Parquet: a file, a folder where the source is one, or the rolling files of a stream", func() connectors.SinkConfig { return new(parquet.SinkConfig) }},
	{"csv", "CSV (RFC 4180), also .gz and .zst", func() connectors.SinkConfig { return new(csv.SinkConfig) }},
	{"jsonl", "JSON Lines, also .gz and .zst", func() connectors.SinkConfig { return new(jsonl.SinkConfig) }},
	{"arrow", "Arrow IPC, file or stream, or - for standard output", func() connectors.SinkConfig { return new(arrowipc.SinkConfig) }},
	{"kafka", "a topic of Apache Kafka", func() connectors.SinkConfig { return new(kafka.SinkConfig) }},
}

func sourceMembers(d *form.Dialect) []form.Member {
	return tableMembers(d, len(Sources), func(i int) (string, string, func() any) {
		return Sources[i].Name, Sources[i].Doc, func() any { return Sources[i].New() }
	})
}

func sinkMembers(d *form.Dialect) []form.Member {
	members := tableMembers(d, len(Sinks), func(i int) (string, string, func() any) {
		return Sinks[i].Name, Sinks[i].Doc, func() any { return Sinks[i].New() }
	})
	return append(members, d.Fields(reflect.TypeFor[Sink]())...)
}
