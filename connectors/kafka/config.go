// Package kafka reads and writes the topics of Apache Kafka and of what speaks
// its protocol. config.go is what a configuration says of it.
package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/arrow"
	"github.com/sdlfilter/sdlfilter/internal/message/avro"
	"github.com/sdlfilter/sdlfilter/internal/message/json"
	"github.com/sdlfilter/sdlfilter/internal/message/protobuf"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// Connection is how brokers are reached.
type Connection struct {
	Brokers []string `yaml:"brokers" required:"true" doc:"addresses of some of the brokers, host:port; the addresses of the others are obtained from them"`
	TLS     *TLS     `yaml:"tls" doc:"encrypt the connection; an empty mapping uses the system's certificate authorities"`
	SASL    *SASL    `yaml:"sasl" doc:"how the program authenticates itself"`

	Patience connectors.Duration `yaml:"patience" doc:"how long to wait, each time, for brokers that do not answer before the run fails: 30s; by default 5m in a file job, 10s in validate --connect, and without limit in a stream"`

	StartupPatience connectors.Duration `yaml:"startup_patience" default:"30s" doc:"how long a run waits at its start for topics that do not exist yet, as they may be created at the same time: 30s"`

	tuning []kgo.Opt // of tests, which wait less long
}

// Tune adds options of the client, which go before all others. Tests use it to shorten waits
// and to cut connections.
func (c *Connection) Tune(opts ...kgo.Opt) { c.tuning = append(c.tuning, opts...) }

// TLS is the encryption of a connection.
type TLS struct {
	CA         string `yaml:"ca" doc:"a PEM file of the certificate authorities that are trusted; by default the system's"`
	Cert       string `yaml:"cert" doc:"a PEM file of the client's certificate, for mutual TLS"`
	Key        string `yaml:"key" doc:"a PEM file of the client's private key"`
	ServerName string `yaml:"server_name" doc:"the name that the brokers' certificate must contain, if it is not the name in their address"`
}

// SASL is how the client proves who it is.
type SASL struct {
	Mechanism string   `yaml:"mechanism" required:"true" enum:"plain,scram-sha-256,scram-sha-512" doc:"plain, scram-sha-256 or scram-sha-512"`
	Username  string   `yaml:"username" required:"true" doc:"the user's name"`
	Password  Password `yaml:"password" required:"true" doc:"where the password is kept: {env: NAME} or {file: PATH}"`
}

// Password is where a password is kept. It prints as "[secret]".
type Password = connectors.Secret

// config returns the chosen format, or nil.
func (f *Format) config() message.Config {
	switch {
	case f.JSON != nil:
		return f.JSON
	case f.Avro != nil:
		return f.Avro
	case f.Protobuf != nil:
		return f.Protobuf
	case f.Arrow != nil:
		return f.Arrow
	}
	return nil
}

// Format is the format of messages; at most one field is not nil.
type Format struct {
	JSON     *json.Config     `yaml:"json" choice:"true" doc:"one JSON object per message"`
	Avro     *avro.Config     `yaml:"avro" choice:"true" doc:"Avro with a schema registry"`
	Protobuf *protobuf.Config `yaml:"protobuf" choice:"true" doc:"Protobuf with a schema registry"`
	Arrow    *arrow.Config    `yaml:"arrow" choice:"true" doc:"one Arrow IPC stream per message, with one record or many"`
}

// Commit says how often a transaction is committed: by time, or by records,
// whichever comes first.
type Commit struct {
	Interval connectors.Duration `yaml:"interval" default:"1s" doc:"a transaction is committed when this much time has passed: 1s; with a window for swapping, the window's linger if that is longer"`
	Records  int                 `yaml:"records" default:"500000" doc:"or when it has this many records, which limits the work to repeat after a crash"`
}

// SourceConfig describes topics to be read.
type SourceConfig struct {
	Connection `yaml:",inline"`
	Topics     []string         `yaml:"topics" doc:"the topics to read, instead of pattern"`
	Pattern    string           `yaml:"pattern" doc:"a regular expression (RE2) that the names of the topics match, instead of topics: ^survey-"`
	Group      string           `yaml:"group" doc:"the consumer group, which stores what has been read; by default sdlfilter-NAME with the pipeline's name"`
	Instance   string           `yaml:"instance" doc:"a name that no other instance in the group has and that is the same after a restart: the instance then gets its partitions back at once instead of after a timeout"`
	Start      string           `yaml:"start" default:"earliest" doc:"where to begin if the group has no offset yet: earliest (default), latest, or a time such as 2026-01-31T00:00:00Z. latest is the moment of the group's first start; topics and partitions that appear later are read from their first record"`
	Until      string           `yaml:"until" enum:"latest" doc:"latest: read the records that exist at the start, then finish like a file job; by default the stream has no end"`
	Format     Format           `yaml:"format" doc:"the format of the messages; by default json"`
	Registry   *registry.Config `yaml:"registry" doc:"the schema registry, for avro and protobuf"`

	OnRecreated string `yaml:"on_recreated" default:"stop" enum:"stop,begin" doc:"in a stream, what happens if a topic was deleted and made again, or has lost its last records: stop (default; status 1), or begin a new assessment of its partitions, which log, report and metrics name"`

	declared declared // by Declare, before Open
	pipeline string   // by SetPipeline, before Open
	spans    *spans   // by WithSpans, before Open; nil: what is there, from the group's offsets on
}

// SinkConfig describes the topic that is written.
type SinkConfig struct {
	Connection  `yaml:",inline"`
	Topic       string           `yaml:"topic" required:"true" doc:"the topic to write to; {topic} in it stands for the name of the source's topic"`
	Delivery    string           `yaml:"delivery" default:"exactly_once" enum:"exactly_once,at_least_once" doc:"exactly_once (default): records, quarantine, snapshots and offsets are written in one transaction; at_least_once: an idempotent producer, which may release a record a second time after a crash, with the same value"`
	Key         string           `yaml:"key" default:"drop" doc:"the messages' key: drop (default), pass, hash (keyed with the release key), or the name of a released column"`
	Headers     string           `yaml:"headers" default:"drop" enum:"drop,pass" doc:"the messages' headers: drop (default) or pass"`
	Timestamp   string           `yaml:"timestamp" default:"pass" enum:"drop,pass" doc:"the messages' timestamp: pass (default), or drop, which replaces it by the time of the release"`
	Compression string           `yaml:"compression" default:"lz4" enum:"none,gzip,snappy,lz4,zstd" doc:"compression of the batches: lz4 (default), none, gzip, snappy, zstd"`
	Commit      Commit           `yaml:"commit" doc:"how often a transaction is committed"`
	OnRefused   string           `yaml:"on_refused" default:"quarantine" enum:"quarantine,stop" doc:"what happens to a record that the topic does not take, because it is too large or its timestamp is too far from the present: quarantine (default), like a record that cannot be masked, or stop (status 1)"`
	Format      Format           `yaml:"format" doc:"the format of the messages; by default that of the source if the source is kafka, otherwise json"`
	Registry    *registry.Config `yaml:"registry" doc:"the schema registry, for avro and protobuf; by default that of the source"`

	pipeline string // by SetPipeline, before Create
}

// declared is what a pipeline sets in a source before it is opened.
type declared struct {
	columns      []connectors.DeclaredColumn
	dropUnlisted bool
	plain        bool
}

// declare tells the source the listed columns: messages of a format without
// schemas have no others; and with plain that the release goes where JSON text is
// no value. It comes before Open.
func (c *SourceConfig) declare(columns []connectors.DeclaredColumn, dropUnlisted, plain bool) {
	c.declared = declared{columns, dropUnlisted, plain}
}

// writesJSON is of connectors.SinkConfigAbilities: where no format is configured it is
// the source's, if that is of this package.
func (c *SinkConfig) writesJSON(src connectors.SourceConfig) bool {
	from, _ := src.(*SourceConfig)
	_, ok := c.format(from).(*json.Config)
	return ok
}

// RepeatsAfterCrashes reports whether a record may be released a second time after a crash.
func (c *SinkConfig) RepeatsAfterCrashes() bool { return c.Delivery == atLeastOnce }

// Kind is the entry of this folder in the list of formats.
var Kind = connectors.Format{
	Name:      "kafka",
	SourceDoc: "topics of Apache Kafka: a stream, or with until: latest what is there",
	NewSource: func() connectors.SourceConfig { return new(SourceConfig) },
	SinkDoc:   "a topic of Apache Kafka",
	NewSink:   func() connectors.SinkConfig { return new(SinkConfig) },
}
