package kafka

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/arrow"
	"github.com/sdlfilter/sdlfilter/internal/message/avro"
	"github.com/sdlfilter/sdlfilter/internal/message/json"
	"github.com/sdlfilter/sdlfilter/internal/message/protobuf"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The source of a stream names its partitions and the places of records.
func TestSourceOfAStream(t *testing.T) {
	s := &StreamSource{config: &SourceConfig{}, topics: []string{"a", "b"}}
	if got := s.Streams(); !slices.Equal(got, s.topics) || s.Records() != -1 || s.Rewindable() {
		t.Errorf("streams %v, %d records, again: %v", got, s.Records(), s.Rewindable())
	}
	number := streamNumber("in", 300)
	if got := s.Abilities().StreamName(number); got != "partition 300" {
		t.Error(got)
	}
	if got := s.PartitionOf(&microdata.Block{Scope: "in", Stream: number}); got != (Partition{Topic: "in", Number: 300}) {
		t.Error(got)
	}
	if r, err := s.Read(t.Context(), nil, connectors.Cut{}); err == nil || r != nil {
		t.Error("it is read")
	}
	if keys, known := connectors.PartitionKeys(s); s.Close() != nil || connectors.Unchanged(s) != nil ||
		s.Abilities().Changed != nil || keys != nil || !known {
		t.Error("a topic is neither closed nor changed, and has no partition columns")
	}
	if s.Rows() || s.Place(9) != 9 {
		t.Errorf("one record a message: place %d", s.Place(9))
	}
	s.config.Format.Arrow = new(arrow.Config)
	if !s.Rows() || s.Place(9) != 9<<message.RowBits {
		t.Errorf("many records a message: place %d", s.Place(9))
	}
	whole := &Source{opened: &opened{}, config: s.config}
	if !whole.Rows() ||
		whole.PartitionOf(&microdata.Block{Scope: "in", Stream: number}) != (Partition{Topic: "in", Number: 300}) {
		t.Error("the source of a file job has another description")
	}
	if whole.Records() != -1 || !whole.Rewindable() || connectors.Folder(whole) || connectors.Unchanged(whole) != nil ||
		whole.Abilities().Changed != nil || whole.Abilities().PartitionKeys() != nil {
		t.Error("a topic is no file")
	}
	const never = "Changed Missplit InfersTypes Relocated Divisible Survey JSONText Snapshot"
	connectortest.Lacks(t, whole.Abilities(), never)
	connectortest.Lacks(t, s.Abilities(), never+" Folder Acknowledge Holding")
	connectortest.Lacks(t, new(sink).Abilities(), "Content Hold Labels")
	read, err := s.config.format().Reader(t.Context(), message.Request{Topics: s.topics, Columns: declaredColumns})
	if err == nil {
		t.Fatalf("arrow without a message: %v", read)
	}
	s.config.Format = Format{}
	if s.reader, err = s.config.format().Reader(t.Context(),
		message.Request{Topics: s.topics, Columns: declaredColumns}); err != nil {
		t.Fatal(err)
	}
	whole.reader = s.reader
	for _, json := range []func(int) bool{s.Abilities().JSONText, whole.Abilities().JSONText} {
		if json(0) || !json(1) || s.Schema() == nil || whole.Schema() != s.Schema() {
			t.Errorf("JSON text: %v %v", json(0), json(1))
		}
	}
}

// The description of the topics follows the configuration, and names the file of every secret.
func TestTopicsAreDescribed(t *testing.T) {
	full := Connection{
		Brokers: []string{"a:1", "b:2"}, TLS: &TLS{CA: "ca.pem", Cert: "cert.pem", Key: "key.pem"},
		SASL: &SASL{Mechanism: "plain", Password: Password{File: "pass"}},
	}
	files := []connectors.NamedFile{
		{Field: "tls.ca", Path: "ca.pem", Words: "a certificate"},
		{Field: "tls.cert", Path: "cert.pem", Words: "a certificate"},
		{Field: "tls.key", Path: "key.pem", Words: "a private key"},
		{Field: "sasl.password.file", Path: "pass", Words: "a password"},
	}
	source := &SourceConfig{Connection: full, Topics: []string{"x", "y"}, Until: latest, Registry: new(registry.Config),
		Format: Format{Avro: new(avro.Config)}}
	if got, want := source.topics(), (&connectors.Topics{Names: source.Topics, Brokers: full.Brokers, Registry: true,
		Format: "avro", Files: files}); !reflect.DeepEqual(got, want) {
		t.Errorf("source\n%+v, want\n%+v", got, want)
	}
	plain := Connection{Brokers: []string{"a:1"}, SASL: &SASL{Mechanism: "plain", Password: Password{File: "pass"}}}
	source = &SourceConfig{Connection: plain, Pattern: "^s", Format: Format{Protobuf: new(protobuf.Config)},
		OnRecreated: BeginAnew}
	if got, want := source.topics(), (&connectors.Topics{Pattern: "^s", Endless: true, Anew: true, Brokers: plain.Brokers,
		Format: "protobuf", Files: files[3:], PlainPassword: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("source\n%+v, want\n%+v", got, want)
	}
	plain.SASL.Mechanism = "scram-sha-256"
	sink := &SinkConfig{Connection: plain, Topic: "out", Key: "id", Registry: new(registry.Config)}
	if got, want := sink.topics(), (&connectors.Topics{Names: []string{"out"}, Key: "id", Registry: true, Brokers: plain.Brokers, Files: files[3:]}); !reflect.DeepEqual(got, want) {
		t.Errorf("sink\n%+v, want\n%+v", got, want)
	}
	bare := &SinkConfig{Topic: "out"}
	if got, want := bare.topics(), (&connectors.Topics{Names: []string{"out"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("sink\n%+v, want\n%+v", got, want)
	}
	if _, ok := Kind.NewSource().(*SourceConfig); !ok || Kind.Name != "kafka" {
		t.Error("the list of formats contains another source")
	}
	if _, ok := Kind.NewSink().(*SinkConfig); !ok || !bare.Abilities().TakesStream {
		t.Error("the list of formats contains another sink")
	}
}

// If a format is given, only that one is used. Otherwise the source's format is used, and without
// one, JSON.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		f    Format
		word string
		json bool
	}{
		{Format{}, "", true}, {Format{JSON: new(json.Config)}, "json", true}, {Format{Avro: new(avro.Config)}, "avro", false},
		{Format{Protobuf: new(protobuf.Config)}, "protobuf", false}, {Format{Arrow: new(arrow.Config)}, "arrow", false},
	} {
		source, other := &SourceConfig{Format: c.f}, &SinkConfig{Format: c.f}
		word := strings.Join(slices.Sorted(maps.Keys(c.f.all())), ",")
		if word != c.word || c.word != "" && c.f.config() != c.f.all()[c.word] || c.word == "" && c.f.config() != nil {
			t.Errorf("%s: given is %q, %T", c.word, word, c.f.config())
		}
		if got := (&SinkConfig{}).writesJSON(source); got != c.json {
			t.Errorf("%s of the source: JSON %v", c.word, got)
		}
		if got := other.writesJSON(&SourceConfig{Format: Format{Arrow: new(arrow.Config)}}); got != (c.word == "json") {
			t.Errorf("%s before the source's: JSON %v", c.word, got)
		}
		if !(&SinkConfig{}).CarriesFrom(source) || !(&SinkConfig{}).writesJSON(nil) {
			t.Errorf("%s: without a format of its own a sink has the source's", c.word)
		}
		for _, d := range []Format{{JSON: new(json.Config)}, {Avro: new(avro.Config)}} {
			same := c.json && d.JSON != nil || c.f.Avro != nil && d.Avro != nil
			if got := (&SinkConfig{Format: d}).CarriesFrom(source); got != same {
				t.Errorf("%s to %v: carried %v", c.word, d.all(), got)
			}
		}
	}
	var c Connection
	c.Tune(kgo.ClientID("a"))
	if c.Tune(kgo.ClientID("b"), kgo.ClientID("c")); len(c.tuning) != 3 {
		t.Errorf("%d options", len(c.tuning))
	}
}

// The registry of the release is the sink's own, opened once, or else the source's.
func TestRegistryOfTheSink(t *testing.T) {
	s := offline()
	if got, err := s.sinkRegistry(); got != nil || err != nil {
		t.Errorf("without a registry: %v, %v", got, err)
	}
	s.config.Source.Registry = &registry.Config{URL: "http://localhost:1"}
	client, err := registry.New(s.config.Source.Registry)
	if err != nil {
		t.Fatal(err)
	}
	s.registry = client
	if got, err := s.sinkRegistry(); got != client || err != nil {
		t.Errorf("the source's: %v, %v", got, err)
	}
	s.config.Sink.Registry = &registry.Config{URL: "http://localhost:2"}
	own, err := s.sinkRegistry()
	if own == nil || own == client || err != nil {
		t.Fatalf("its own: %v, %v", own, err)
	}
	if again, _ := s.sinkRegistry(); again != own {
		t.Error("its own is made twice")
	}
	broken := offline()
	broken.config.Sink.Registry = &registry.Config{URL: "http://localhost:2", CA: "/gone"}
	if _, err := broken.sinkRegistry(); err == nil {
		t.Error("its own cannot be made")
	}
	s.Close()
}
