package kafka

import "github.com/sdlfilter/sdlfilter/connectors"

// DescribeTopics implements connectors.OfTopics.
func (c *SourceConfig) DescribeTopics() *connectors.Topics {
	t := c.describe(&c.Format)
	t.Names, t.Pattern, t.Endless, t.Registry = c.Topics, c.Pattern, c.Until == "", c.Registry != nil
	t.Anew = c.OnRecreated == BeginAnew
	return t
}

// DescribeTopics implements connectors.OfTopics.
func (c *SinkConfig) DescribeTopics() *connectors.Topics {
	t := c.describe(&c.Format)
	t.Names, t.Key, t.Registry = []string{c.Topic}, c.Key, c.Registry != nil
	return t
}

// describe writes how the brokers are reached, and the format of the messages.
func (c *Connection) describe(f *Format) *connectors.Topics {
	t := &connectors.Topics{Brokers: c.Brokers}
	if s := c.TLS; s != nil {
		t.Files = append(t.Files,
			connectors.NamedFile{Field: "tls.ca", Path: s.CA, Words: "a certificate"},
			connectors.NamedFile{Field: "tls.cert", Path: s.Cert, Words: "a certificate"},
			connectors.NamedFile{Field: "tls.key", Path: s.Key, Words: "a private key"})
	}
	if c.SASL != nil {
		t.Files = append(t.Files, connectors.NamedFile{Field: "sasl.password.file", Path: c.SASL.Password.File, Words: "a password"})
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
