package kafka

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/message/arrow"
	"github.com/sdlfilter/sdlfilter/internal/message/json"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

func TestSourceConfigCheck(t *testing.T) {
	t.Parallel()
	sasl := func(s SASL) *SASL { return &s }
	for _, test := range []struct {
		change func(*SourceConfig)
		want   string // the first problem; "": none
	}{
		{func(*SourceConfig) {}, ""},
		{func(c *SourceConfig) { c.Brokers = []string{"kafka", "[::1]:9092", "10.0.0.1:9092"} }, ""},
		{func(c *SourceConfig) { c.Brokers = nil }, "brokers: must name at least one broker"},
		{func(c *SourceConfig) {
			c.Brokers = []string{"kafka:9092", "kafka://x:9092"}
		}, "brokers[1]: must be an address host:port"},
		{func(c *SourceConfig) { c.Brokers = []string{"kafka:0"} }, "brokers[0]: must be an address"},
		{func(c *SourceConfig) { c.Brokers = []string{"kafka:1", "kafka:65535"} }, ""},
		{func(c *SourceConfig) { c.Brokers = []string{"kafka:1", "kafka:65536"} }, "brokers[1]: must be an address"},
		{func(c *SourceConfig) { c.Brokers = []string{"kafka:65536"} }, "brokers[0]: must be an address"},
		{func(c *SourceConfig) { c.Brokers = []string{"kafka:65535", "kafka:1"} }, ""},
		{func(c *SourceConfig) { c.Brokers = []string{":9092"} }, "brokers[0]: must be an address"},
		{func(c *SourceConfig) { c.TLS = &TLS{Cert: "c.pem"} }, "tls.key: must be given where cert is"},
		{func(c *SourceConfig) { c.TLS = &TLS{Key: "k.pem"} }, "tls.cert: must be given where key is"},
		{func(c *SourceConfig) { c.TLS = &TLS{} }, ""},
		{func(c *SourceConfig) {
			c.SASL = sasl(SASL{Mechanism: "plain", Username: "u", Password: Password{Env: "PW"}})
		}, ""},
		{func(c *SourceConfig) {
			c.SASL = sasl(SASL{Mechanism: "SCRAM", Username: "u", Password: Password{Env: "PW"}})
		}, "sasl.mechanism: must be one of plain"},
		{func(c *SourceConfig) { c.SASL = sasl(SASL{Mechanism: "plain", Password: Password{Env: "PW"}}) },
			"sasl.username: must be given"},
		{func(c *SourceConfig) { c.SASL = sasl(SASL{Mechanism: "plain", Username: "u"}) }, "sasl.password: must say where"},
		{func(c *SourceConfig) {
			c.SASL = sasl(SASL{Mechanism: "plain", Username: "u", Password: Password{Env: canary}})
		}, "sasl.password.env: must be the name of an environment variable"},
		{func(c *SourceConfig) { c.Topics = nil }, "topics: must name at least one topic"},
		{func(c *SourceConfig) { c.Topics, c.Pattern = nil, "^survey-" }, ""},
		{func(c *SourceConfig) { c.Pattern = "^survey-" }, "pattern: must not be given beside topics"},
		{func(c *SourceConfig) { c.Topics, c.Pattern = nil, "(" }, "pattern: must be a regular expression"},
		{func(c *SourceConfig) { c.Topics = []string{"a", "b c"} }, `topics[1]: must be a topic's name`},
		{func(c *SourceConfig) { c.Topics = []string{"a", ".."} }, `topics[1]: must be a topic's name`},
		{func(c *SourceConfig) { c.Topics = []string{"a", "b", "a"} }, `topics[2]: must be listed once, got "a" again`},
		{func(c *SourceConfig) { c.Start = "2026-01-31T00:00:00Z" }, ""},
		{func(c *SourceConfig) { c.Start = "yesterday" }, "start: must be earliest, latest or a time"},
		{func(c *SourceConfig) { c.Start = "1969-12-31" }, "start: must be"},
		{func(c *SourceConfig) { c.Until = "tomorrow" }, "until: must be one of latest"},
		{func(c *SourceConfig) { c.Format = Format{JSON: &json.Config{}, Arrow: &arrow.Config{}} },
			"format: must be one format, got 2"},
		{func(c *SourceConfig) { c.Format = Format{Arrow: &arrow.Config{}} }, ""},
		{func(c *SourceConfig) { c.Registry = &registry.Config{} }, "registry.url: "},
	} {
		c := &SourceConfig{Connection: Connection{Brokers: []string{"127.0.0.1:9092"}}, Topics: []string{"a"}}
		test.change(c)
		got := ""
		if ps := c.Check(); len(ps) > 0 {
			got = ps[0].Error()
		}
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("got %q, want %q", got, test.want)
		}
		// The text that was configured as a variable's name may be the password itself, so the
		// error must not contain it.
		if all := fmt.Sprint(c.Check()); strings.Contains(all, canary) {
			t.Errorf("the password is repeated: %s", all)
		}
	}
}

func TestSinkConfigCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change func(*SinkConfig)
		want   string
	}{
		{func(*SinkConfig) {}, ""},
		{func(c *SinkConfig) { c.Topic = "{topic}-masked" }, ""},
		{func(c *SinkConfig) { c.Topic = "" }, "topic: must be a topic's name"},
		{func(c *SinkConfig) { c.Topic = "{name}" }, "topic: must be a topic's name"},
		{func(c *SinkConfig) { c.Delivery = "at_most_once" }, "delivery: must be one of"},
		{func(c *SinkConfig) { c.Headers = "hash" }, "headers: must be one of"},
		{func(c *SinkConfig) { c.Timestamp = "now" }, "timestamp: must be one of"},
		{func(c *SinkConfig) { c.Compression = "lzma" }, "compression: must be one of"},
		{func(c *SinkConfig) { c.Commit.Records = -1 }, "commit.records: must be at least 1"},
		{func(c *SinkConfig) { c.Commit.Records = 1 }, ""},
		{func(c *SinkConfig) { c.Brokers = nil }, "brokers: "},
		{func(c *SinkConfig) { c.Format = Format{JSON: &json.Config{}} }, ""},
		{func(c *SinkConfig) { c.Format = Format{JSON: &json.Config{}, Arrow: &arrow.Config{}} },
			"format: must be one format, got 2"},
		{func(c *SinkConfig) { c.Registry = &registry.Config{} }, "registry.url: "},
	} {
		c := &SinkConfig{Connection: Connection{Brokers: []string{"127.0.0.1:9092"}}, Topic: "out"}
		test.change(c)
		got := ""
		if ps := c.Check(); len(ps) > 0 {
			got = ps[0].Error()
		}
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	c := &SourceConfig{}
	if got := c.groupName("nightly"); got != "sdlfilter-nightly" {
		t.Errorf("group %q", got)
	}
	one, two := c.transactionalID("nightly"), c.transactionalID("nightly")
	if one == two || !strings.HasPrefix(one, "sdlfilter-nightly-") {
		t.Errorf("transactional ids %q, %q", one, two)
	}
	c.Group, c.Instance = "g", "pod-1"
	if got := c.groupName("nightly") + " " + c.transactionalID("nightly"); got != "g g-pod-1" {
		t.Errorf("got %q", got)
	}
}

func TestCodecs(t *testing.T) {
	t.Parallel()
	for _, word := range append(compressions, "") {
		if _, err := kgo.DefaultCompressor(codecOf(word)); err != nil {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestExplainError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err   error
		what  string
		final bool
		want  string // the beginning of the error
	}{
		{kerr.TopicAuthorizationFailed, "reading survey", true, `reading survey: the user may not Read topic "survey"`},
		{kerr.TopicAuthorizationFailed, "writing to survey-masked", true,
			`writing to survey-masked: the user may not Write to topic "survey-masked"`},
		{fmt.Errorf("wrapped: %w", kerr.GroupAuthorizationFailed), "committing offsets", true,
			"committing offsets: the user may not Read the consumer group"},
		{kerr.TransactionalIDAuthorizationFailed, "ending a transaction", true,
			"ending a transaction: the user may not Write with the transactional id"},
		{kerr.ClusterAuthorizationFailed, "x", true, "x: the user lacks a right on the cluster"},
		{kerr.SaslAuthenticationFailed, "x", true, "x: authentication failed"},
		{kerr.UnknownTopicOrPartition, "reading survey", true, `reading survey: the topic "survey" does not exist`},
		{kerr.MessageTooLarge, "writing to a", true, "writing to a: a message is larger"},
		{kerr.InvalidRecord, "writing to a", true,
			"writing to a: the topic refuses the messages; a compacted topic needs keys"},
		{kerr.UnsupportedVersion, "x", true, "x: the brokers do not support"},
		{kerr.FencedInstanceID, "x", true, "x: another process has joined"},
		{&kgo.ErrDecompressTooLarge{Topic: "a", Partition: 1, Offset: 7}, "reading a", true,
			"reading a: the batch at offset 7 of partition 1"},
		{kerr.NotLeaderForPartition, "reading a", false, "reading a: NOT_LEADER_FOR_PARTITION"},
		{kerr.CoordinatorNotAvailable, "x", false, "x: COORDINATOR_NOT_AVAILABLE"},
		{kerr.RequestTimedOut, "x", false, "x: REQUEST_TIMED_OUT"},
		{kerr.ProducerFenced, "x", false, "x: PRODUCER_FENCED"},
		{errors.New("connection refused"), "x", false, "x: connection refused"},
		{kgo.ErrClientClosed, "x", false, "x: client closed"},
	} {
		got := explainError(test.err, test.what)
		if Final(test.err) != test.final || Final(got) != test.final || !strings.HasPrefix(got.Error(), test.want) ||
			!errors.Is(got, test.err) {
			t.Errorf("%v: %v (final %v), want %s", test.err, got, Final(got), test.want)
		}
		if again := explainError(got, "outer"); test.final && again != got {
			t.Errorf("%v: explained again: %v", test.err, again)
		}
	}
	if explainError(nil, "x") != nil || Final(nil) {
		t.Error("nil is an error")
	}
}

// TestTopicNames: the names that Kafka takes: 1 to 249 letters, digits, dots, underscores and hyphens.
func TestTopicNames(t *testing.T) {
	for name, want := range map[string]bool{"a.B_c-9": true, "": false, ".": false, "..": false, "...": true, "a b": false,
		"a\n": false, strings.Repeat("x", 249): true, strings.Repeat("x", 250): false} {
		if validTopic(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
