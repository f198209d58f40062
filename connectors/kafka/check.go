package kafka

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/arrow"
	"github.com/sdlfilter/sdlfilter/internal/message/json"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// Words of a configuration.
const (
	exactlyOnce = "exactly_once"
	atLeastOnce = "at_least_once"

	drop = "drop"
	pass = "pass"
	hash = "hash"

	earliest = "earliest"
	latest   = "latest"

	quarantine = "quarantine"

	// What becomes of a topic that was made again.
	Stop      = "stop"
	BeginAnew = "begin"

	placeholder = "{topic}" // in a sink's topic: the source's
)

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

func validTopic(name string) bool {
	return len(name) <= 249 && topicName.MatchString(name) && name != "." && name != ".."
}

// Check reports what is wrong with the parameters, without the network and
// without opening a file.
func (c *Connection) Check() check.Problems {
	var ps check.Problems
	ps.NotEmpty("brokers", len(c.Brokers), "broker, as host:port")
	for i, b := range c.Brokers {
		path := fmt.Sprintf("brokers[%d]", i)
		host, port, err := net.SplitHostPort(b)
		if err != nil {
			host, port = b, "9092" // the client's default
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if host == "" || strings.ContainsAny(host, "/@ ") || err != nil || n == 0 {
			ps.Addf(path, "must be an address host:port, got %q", b)
		}
	}
	if t := c.TLS; t != nil {
		switch {
		case t.Cert != "" && t.Key == "":
			ps.Addf("tls.key", "must be given where cert is")
		case t.Key != "" && t.Cert == "":
			ps.Addf("tls.cert", "must be given where key is")
		}
	}
	if s := c.SASL; s != nil {
		ps.OneOf("sasl.mechanism", s.Mechanism, mechanisms...)
		if s.Username == "" {
			ps.Addf("sasl.username", "must be given")
		}
		if !s.Password.Given() {
			ps.Addf("sasl.password", "must say where the password is kept: {env: NAME} or {file: PATH}")
		}
		ps.Within("sasl.password", s.Password.Check())
	}
	return ps
}

// Check implements connectors.SourceConfig.
func (c *SourceConfig) Check() check.Problems {
	ps := c.Connection.Check()
	switch {
	case len(c.Topics) == 0 && c.Pattern == "":
		ps.Addf("topics", "must name at least one topic, or give pattern instead")
	case len(c.Topics) > 0 && c.Pattern != "":
		ps.Addf("pattern", "must not be given beside topics")
	}
	for i, t := range c.Topics {
		path := fmt.Sprintf("topics[%d]", i)
		if !validTopic(t) {
			ps.Addf(path, "must be a topic's name, of letters, digits, dots, underscores and hyphens, got %q", t)
		} else if slices.Contains(c.Topics[:i], t) {
			ps.Addf(path, "must be listed once, got %q again", t)
		}
	}
	if _, err := regexp.Compile(c.Pattern); err != nil {
		ps.Addf("pattern", "must be a regular expression (RE2): %v", err)
	}
	if _, err := c.start(); err != nil {
		ps.Addf("start", "%v", err)
	}
	if c.Until != "" {
		ps.OneOf("until", c.Until, latest)
	}
	if c.OnRecreated != "" {
		ps.OneOf("on_recreated", c.OnRecreated, Stop, BeginAnew)
	}
	checkFormat(&ps, &c.Format, c.Registry)
	return ps
}

// Check implements connectors.SinkConfig.
func (c *SinkConfig) Check() check.Problems {
	ps := c.Connection.Check()
	if !validTopic(strings.ReplaceAll(c.Topic, placeholder, "t")) {
		ps.Addf("topic",
			"must be a topic's name, of letters, digits, dots, underscores and hyphens, or have %s in it for the name of the source's, got %q", placeholder, c.Topic)
	}
	word := func(path, v string, words ...string) {
		if v != "" {
			ps.OneOf(path, v, words...)
		}
	}
	word("delivery", c.Delivery, exactlyOnce, atLeastOnce)
	word("headers", c.Headers, drop, pass)
	word("timestamp", c.Timestamp, drop, pass)
	word("compression", c.Compression, compressions...)
	word("on_refused", c.OnRefused, quarantine, Stop)
	if c.Commit.Records < 0 {
		ps.Addf("commit.records", "must be at least 1, got %d", c.Commit.Records)
	}
	checkFormat(&ps, &c.Format, c.Registry)
	return ps
}

func checkFormat(ps *check.Problems, f *Format, r *registry.Config) {
	given := f.all()
	for _, word := range slices.Sorted(maps.Keys(given)) {
		ps.Within("format."+word, given[word].Check())
	}
	if len(given) > 1 {
		ps.Addf("format", "must be one format, got %d", len(given))
	}
	if r != nil {
		ps.Within("registry", r.Check())
	}
}

// all are the formats that are given.
func (f *Format) all() map[string]message.Config {
	m := map[string]message.Config{}
	if f.JSON != nil {
		m["json"] = f.JSON
	}
	if f.Avro != nil {
		m["avro"] = f.Avro
	}
	if f.Protobuf != nil {
		m["protobuf"] = f.Protobuf
	}
	if f.Arrow != nil {
		m["arrow"] = f.Arrow
	}
	return m
}

// format is the format of what is read; json where none is given.
func (c *SourceConfig) format() message.Config {
	if f := c.Format.config(); f != nil {
		return f
	}
	return new(json.Config)
}

// format is the format of what is written: by default that of the source, where
// that is kafka, else json.
func (c *SinkConfig) format(src *SourceConfig) message.Config {
	if f := c.Format.config(); f != nil {
		return f
	}
	if src != nil {
		return src.format()
	}
	return new(json.Config)
}

// several reports whether one message of the format may hold several records.
func several(f message.Config) bool {
	_, ok := f.(*arrow.Config)
	return ok
}

// registry is the schema registry's configuration, by default the source's.
func (c *SinkConfig) registry(src *SourceConfig) *registry.Config {
	if c.Registry == nil && src != nil {
		return src.Registry
	}
	return c.Registry
}

// setLookup sets the function that reads environment variables, for passwords.
func setLookup(lookup func(string) (string, bool), c *Connection, r *registry.Config) {
	if c.SASL != nil {
		c.SASL.Password.Lookup = lookup
	}
	if r != nil {
		r.Password.Lookup = lookup
	}
}

// groupName is the consumer group of a pipeline.
func (c *SourceConfig) groupName(pipeline string) string {
	if c.Group != "" || pipeline == "" {
		return c.Group
	}
	return "sdlfilter-" + pipeline
}

// transactionalID is the transactional id of this member of the group. Where the instance has
// a name it is the same after a restart, so that the broker at once ends the transaction that
// a dead process left open; otherwise it is a new one.
func (c *SourceConfig) transactionalID(pipeline string) string {
	if c.Instance != "" {
		return c.groupName(pipeline) + "-" + c.Instance
	}
	return c.groupName(pipeline) + "-" + random()
}

// random returns a new random name of 16 hexadecimal digits.
func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// topicFor is the topic that the release of a source's topic goes to.
func (c *SinkConfig) topicFor(source string) string {
	return strings.ReplaceAll(c.Topic, placeholder, source)
}

// start is where reading begins where the group has no offset: milliseconds since 1970, or one
// of the special values below.
func (c *SourceConfig) start() (milli int64, err error) {
	switch c.Start {
	case "", earliest:
		return atStart, nil
	case latest:
		return atEnd, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, c.Start); err == nil && t.UnixMilli() >= 0 {
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("must be earliest, latest or a time such as 2026-01-31T00:00:00Z, got %q", c.Start)
}

// Special values of the protocol in the place of a time.
const (
	atEnd   = -1
	atStart = -2
)

// startOffset is where a member of the group begins.
func (c *SourceConfig) startOffset() (kgo.Offset, error) {
	milli, err := c.start()
	switch {
	case err != nil:
		return kgo.Offset{}, fmt.Errorf("start: %w", err)
	case milli == atStart:
		return kgo.NewOffset().AtStart(), nil
	case milli == atEnd:
		return kgo.NewOffset().AtEnd(), nil
	}
	return kgo.NewOffset().AfterMilli(milli), nil
}

var compressions = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// codecOf is the codec of a word; lz4 where there is none.
func codecOf(word string) kgo.CompressionCodec {
	switch word {
	case "none":
		return kgo.NoCompression()
	case "gzip":
		return kgo.GzipCompression()
	case "snappy":
		return kgo.SnappyCompression()
	case "zstd":
		// Masked numbers hardly compress, so the fast level is used: it takes a third of the time.
		return kgo.ZstdCompression().WithLevel(1)
	}
	return kgo.Lz4Compression()
}
