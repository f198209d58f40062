package kafka

import (
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// Abilities implements connectors.SourceConfig. The pipeline's name is the name of the consumer group where the
// configuration gives none.
func (c *SourceConfig) Abilities() connectors.SourceConfigAbilities {
	return connectors.SourceConfigAbilities{
		ConfigAbilities: abilities(c.topics(), &c.pipeline, &c.Connection, c.Registry), Declare: c.declare,
		WithSpans: c.withSpans,
	}
}

// Abilities implements connectors.SinkConfig. The transactional id of a file job is made from the pipeline's name.
func (c *SinkConfig) Abilities() connectors.SinkConfigAbilities {
	more := c.passesMore()
	return connectors.SinkConfigAbilities{
		ColumnsAlone: more == "", PassesMore: more,
		ConfigAbilities: abilities(c.topics(), &c.pipeline, &c.Connection, c.Registry),
		TakesStream:     true, KeyColumn: c.keyColumn(), WritesJSON: c.writesJSON,
	}
}

func abilities(t *connectors.Topics, pipeline *string, c *Connection, r *registry.Config) connectors.ConfigAbilities {
	return connectors.ConfigAbilities{
		Topics: t, SetPipeline: func(name string) { *pipeline = name },
		SetLookup: func(lookup func(string) (string, bool)) { setLookup(lookup, c, r) },
	}
}

func (c *SourceConfig) topics() *connectors.Topics {
	t := c.describe(&c.Format)
	t.Names, t.Pattern, t.Endless, t.Registry = c.Topics, c.Pattern, c.Until == "", c.Registry != nil
	t.Anew = c.OnRecreated == BeginAnew
	return t
}

func (c *SinkConfig) topics() *connectors.Topics {
	t := c.describe(&c.Format)
	t.Names, t.Key, t.Registry = []string{c.Topic}, c.Key, c.Registry != nil
	return t
}

// describe writes how the brokers are reached, and the format of the messages.
func (c *Connection) describe(f *Format) *connectors.Topics {
	t := &connectors.Topics{Brokers: c.Brokers, Patience: c.Patience, StartPatience: c.StartupPatience}
	if s := c.TLS; s != nil {
		t.Files = append(t.Files,
			connectors.NamedFile{Field: "tls.ca", Path: s.CA, Words: "a certificate"},
			connectors.NamedFile{Field: "tls.cert", Path: s.Cert, Words: "a certificate"},
			connectors.NamedFile{Field: "tls.key", Path: s.Key, Words: "a private key"})
	}
	if c.SASL != nil {
		t.Files = append(t.Files,
			connectors.NamedFile{Field: "sasl.password.file", Path: c.SASL.Password.File, Words: "a password"})
		t.PlainPassword = c.SASL.Mechanism == "plain" && c.TLS == nil
	}
	switch {
	case f.Avro != nil:
		t.Format = "avro"
	case f.Protobuf != nil:
		t.Format = "protobuf"
	}
	return t
}
