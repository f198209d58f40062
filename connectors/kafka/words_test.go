package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
)

// An error that no retry can repair is final and says what it is about. All other errors are
// returned with the operation that failed.
func TestErrorsInWords(t *testing.T) {
	remote := func(text string) error { return &net.OpError{Op: "remote error", Err: errors.New(text)} }
	for _, c := range []struct {
		err  error
		what string
		want string // "": not final
	}{
		{kerr.TopicAuthorizationFailed, "reading survey",
			`reading survey: the user may not Read topic "survey"; reading needs`},
		{kerr.TopicAuthorizationFailed, "writing to survey",
			`writing to survey: the user may not Write to topic "survey"; reading needs`},
		{kerr.TopicAuthorizationFailed, "reading the end", "reading the end: the user may not use the topic; reading needs"},
		{kerr.GroupAuthorizationFailed, "joining",
			"joining: the user may not Read the consumer group; the rights Read and Describe"},
		{kerr.TransactionalIDAuthorizationFailed, "writing",
			"writing: the user may not Write with the transactional id; the rights"},
		{kerr.ClusterAuthorizationFailed, "writing", "writing: the user lacks a right on the cluster"},
		{kerr.SaslAuthenticationFailed, "asking",
			"asking: authentication failed: the brokers refuse the user or the password"},
		{kerr.UnsupportedSaslMechanism, "asking", "asking: authentication failed: the brokers do not offer"},
		{kerr.IllegalSaslState, "asking", "asking: authentication failed: the brokers do not offer"},
		{kerr.UnknownTopicOrPartition, "reading survey", `reading survey: the topic "survey" does not exist`},
		{kerr.UnknownTopicID, "asking", "asking: a topic or partition does not exist"},
		{kerr.InvalidTopicException, "asking", "asking: the brokers do not take this as a topic's name"},
		{kerr.UnsupportedVersion, "asking", "asking: the brokers do not support a request"},
		{kerr.UnsupportedForMessageFormat, "asking", "asking: the brokers do not support a request"},
		{kerr.UnsupportedCompressionType, "writing to survey",
			"writing to survey: the brokers do not support this compression"},
		{kerr.MessageTooLarge, "writing to survey", "writing to survey: a message is larger than the topic takes"},
		{kerr.RecordListTooLarge, "writing to survey", "writing to survey: a message is larger than the topic takes"},
		{kerr.InvalidRecord, "writing to survey",
			"writing to survey: the topic refuses the messages; a compacted topic needs keys"},
		{kerr.InvalidTimestamp, "writing to survey", "writing to survey: the topic refuses the messages' timestamps"},
		{kerr.OffsetOutOfRange, "reading survey", "reading survey: records that were to be read have been deleted"},
		{kerr.InvalidGroupID, "joining", "joining: the brokers do not take this as a consumer group's name"},
		{kerr.InconsistentGroupProtocol, "joining", "joining: the consumer group is in use by another kind of client"},
		{kerr.FencedInstanceID, "joining", "joining: another process has joined the group with the same `instance`"},
		{kerr.GroupMaxSizeReached, "joining", "joining: the consumer group has as many members"},
		{kerr.InvalidTransactionTimeout, "beginning", "beginning: the transaction timeout is longer"},
		{kerr.InvalidSessionTimeout, "joining", "joining: the brokers do not allow the session timeout"},
		{kerr.InvalidReplicationFactor, "creating",
			"creating: the brokers refuse the topic's settings (INVALID_REPLICATION_FACTOR)"},
		{kerr.InvalidPartitions, "creating", "creating: the brokers refuse the topic's settings"},
		{kerr.InvalidConfig, "creating", "creating: the brokers refuse the topic's settings"},
		{kerr.PolicyViolation, "creating", "creating: the brokers refuse the topic's settings"},
		{kerr.SecurityDisabled, "asking", "asking: the brokers refuse it (SECURITY_DISABLED)"},
		{kerr.DelegationTokenAuthorizationFailed, "asking", "asking: the brokers refuse it"},
		{&kgo.ErrDecompressTooLarge{Offset: 7, Partition: 3}, "reading survey",
			"reading survey: the batch at offset 7 of partition 3 is larger"},
		{errors.New("broker is too old"), "asking", "asking: the brokers are too old"},
		{x509.UnknownAuthorityError{}, "asking",
			"asking: the brokers' certificate is signed by an authority that is not trusted"},
		{x509.CertificateInvalidError{Reason: x509.Expired}, "asking", "asking: the brokers' certificate is not valid: "},
		{x509.HostnameError{Certificate: &x509.Certificate{}, Host: "other"}, "asking",
			"asking: the brokers' certificate is for another name ("},
		{&tls.CertificateVerificationError{Err: errors.New("x")}, "asking",
			"asking: the brokers' certificate cannot be verified"},
		{tls.RecordHeaderError{}, "asking", "asking: the brokers do not speak TLS"},
		{remote("tls: bad certificate"), "asking",
			"asking: the brokers refuse the TLS connection: bad certificate; tls.cert"},
		{remote("tls: unknown authority"), "asking", "asking: the brokers refuse the TLS connection: unknown authority"},
		{remote("tls: unrecognized name"), "asking", "asking: the brokers refuse the TLS connection: unrecognized name"},
		{remote("reset by peer"), "asking", ""},
		{&net.OpError{Op: "read", Err: errors.New("bad certificate")}, "asking", ""},
		{kerr.NotLeaderForPartition, "reading survey", ""},
		{kerr.CoordinatorNotAvailable, "joining", ""},
		{errors.New("unknown"), "asking", ""},
		{context.Canceled, "asking", ""},
		{context.DeadlineExceeded, "asking", ""},
		{kgo.ErrClientClosed, "asking", ""},
		{errors.Join(context.Canceled, kerr.PolicyViolation), "asking", ""},
		{errors.Join(context.DeadlineExceeded, kerr.PolicyViolation), "asking", ""},
		{errors.Join(kgo.ErrClientClosed, kerr.PolicyViolation), "asking", ""},
	} {
		wrapped := fmt.Errorf("within: %w", c.err)
		got := explainError(wrapped, c.what)
		var final *FinalError
		if is := errors.As(got, &final); is != (c.want != "") || Final(wrapped) != is || !errors.Is(got, c.err) && !is {
			t.Errorf("%v: final is %v, and it is explained as %v", c.err, Final(wrapped), got)
			continue
		}
		if c.want == "" {
			if got.Error() != c.what+": within: "+c.err.Error() {
				t.Errorf("%v becomes %v", c.err, got)
			}
			continue
		}
		if !strings.HasPrefix(got.Error(), c.want) || !errors.Is(got, wrapped) {
			t.Errorf("%v becomes %v, want %s", c.err, got, c.want)
		}
		// An error that was explained already does not change.
		if again := explainError(fmt.Errorf("later: %w", got), "doing more"); again.Error() != "later: "+got.Error() ||
			!Final(again) {
			t.Errorf("explained again: %v", again)
		}
	}
	if explainError(nil, "x") != nil || explain(nil, "x", subject{}) != nil || Final(nil) {
		t.Error("no error is explained")
	}
	if got := explain(kerr.GroupAuthorizationFailed, "x", subject{group: "g", groupRight: "Delete"}).Error(); !strings.HasPrefix(got, `x: the user may not Delete consumer group "g"`) {
		t.Error(got)
	}
	if got := explain(kerr.TransactionalIDAuthorizationFailed, "x", subject{transactional: "id"}).Error(); !strings.Contains(got, `transactional id "id"`) {
		t.Error(got)
	}
}

// Names that the configuration does not give are derived from the pipeline's name.
func TestNamesOfGroups(t *testing.T) {
	for _, c := range []struct{ group, pipeline, want string }{{"", "", ""}, {"g", "", "g"}, {"", "p", "sdlfilter-p"},
		{"g", "p", "g"}} {
		if got := (&SourceConfig{Group: c.group}).groupName(c.pipeline); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if got := (&SourceConfig{Instance: "i"}).transactionalID("p"); got != "sdlfilter-p-i" {
		t.Error(got)
	}
	a, b := (&SourceConfig{}).transactionalID("p"), (&SourceConfig{}).transactionalID("p")
	if a == b || !strings.HasPrefix(a, "sdlfilter-p-") || len(a) != len("sdlfilter-p-")+16 {
		t.Errorf("%s and %s", a, b)
	}
	if got := (&SinkConfig{Topic: "{topic}-masked-{topic}"}).topicFor("a"); got != "a-masked-a" {
		t.Error(got)
	}
}

// A start time is a day, an instant or a keyword, and not before 1970.
func TestStart(t *testing.T) {
	for text, want := range map[string]int64{
		"": atStart, earliest: atStart, latest: atEnd, "1970-01-01": 0, "1970-01-02": 86_400_000,
		"1970-01-01T00:00:00.5Z": 500, "2026-01-31T01:00:00+01:00": time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC).UnixMilli(),
	} {
		c := &SourceConfig{Start: text}
		if got, err := c.start(); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
		offset := kgo.NewOffset().AfterMilli(want)
		if want == atStart {
			offset = kgo.NewOffset().AtStart()
		} else if want == atEnd {
			offset = kgo.NewOffset().AtEnd()
		}
		if got, err := c.startOffset(); err != nil || got != offset {
			t.Errorf("%q: %v, %v, want %v", text, got, err, offset)
		}
	}
	// The numbers are those of the protocol: −1 for the end, −2 for the start, and 0 for 1970.
	for text, want := range map[string]int64{"": -2, latest: -1, "1970-01-01": 0} {
		if got, err := (&SourceConfig{Start: text}).start(); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"1969-12-31", "1969-12-31T23:59:59.999Z", "now", "2026-13-01"} {
		if _, err := (&SourceConfig{Start: text}).start(); err == nil {
			t.Errorf("%q is taken", text)
		}
		if _, err := (&SourceConfig{Start: text}).startOffset(); err == nil || !strings.HasPrefix(err.Error(), "start: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Passwords of the brokers and of the registry are read with the lookup that the program sets.
func TestLookupReachesEveryPassword(t *testing.T) {
	lookup := func(name string) (string, bool) { return name + "!", true }
	source := &SourceConfig{Connection: Connection{SASL: new(SASL)}, Registry: new(registry.Config)}
	sink := &SinkConfig{Connection: Connection{SASL: new(SASL)}, Registry: new(registry.Config)}
	source.Abilities().SetLookup(lookup)
	sink.Abilities().SetLookup(lookup)
	for i, found := range []func(string) (string, bool){source.SASL.Password.Lookup, source.Registry.Password.Lookup,
		sink.SASL.Password.Lookup, sink.Registry.Password.Lookup} {
		if found == nil {
			t.Errorf("password %d is not looked for", i)
		} else if got, ok := found("x"); got != "x!" || !ok {
			t.Errorf("password %d: %s", i, got)
		}
	}
	(&SourceConfig{}).Abilities().SetLookup(lookup)
	(&SinkConfig{}).Abilities().SetLookup(lookup)
	if got := sink.registry(source); got != sink.Registry {
		t.Error("the sink has a registry of its own")
	}
	if got := (&SinkConfig{}).registry(source); got != source.Registry {
		t.Error("a sink without a registry has the source's")
	}
	if got := (&SinkConfig{}).registry(nil); got != nil {
		t.Error("without a source there is no registry")
	}
	var _ connectors.SinkConfig = sink
}

// Each codec has its name; without a name it is lz4.
func TestCodecOfAWord(t *testing.T) {
	for word, want := range map[string]kgo.CompressionCodec{"": kgo.Lz4Compression(), "lz4": kgo.Lz4Compression(),
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"zstd": kgo.ZstdCompression().WithLevel(1)} {
		if got := codecOf(word); got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}

// A run of records ends at its maximum number of records or at its maximum number of bytes.
func TestRunIsFull(t *testing.T) {
	record := func(n int) *kgo.Record { return &kgo.Record{Value: make([]byte, n)} }
	for _, c := range []struct {
		size, bytes int
		values      []int
		want        int
	}{
		{3, 0, []int{9, 9}, 0}, {3, 0, []int{9, 9, 9}, 3}, {3, 0, []int{9, 9, 9, 9}, 3},
		{3, 18, []int{9}, 0}, {3, 18, []int{9, 9}, 2}, {3, 18, []int{18, 9}, 1}, {3, 18, []int{9, 8, 1}, 3},
		{3, 28, []int{9, 9, 9, 9}, 3},
		{3, 18, nil, 0},
	} {
		r := &reader{size: c.size, bytes: c.bytes}
		for _, n := range c.values {
			r.pending = append(r.pending, record(n))
		}
		if got := r.full(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// The minimum size of a message includes its key, its value and its headers.
func TestSizeOfAMessage(t *testing.T) {
	m := &kgo.Record{Key: make([]byte, 3), Headers: []kgo.RecordHeader{{Key: "ab", Value: make([]byte, 5)}, {Key: "c"}}}
	if got := sizeOf(m, make([]byte, 7)); got != 68+3+7+2+5+1 {
		t.Errorf("%d bytes", got)
	}
}
