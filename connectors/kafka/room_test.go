package kafka

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/internal/message/protobuf"
)

// There is room for a record while neither the number of records nor the bytes of their keys,
// values and headers exceed the client's limits. An empty client accepts any record.
func TestRoomOfAnOutbox(t *testing.T) {
	// No broker is reachable, so records stay in the buffer until the client is closed.
	clientOf := func(t *testing.T, more ...kgo.Opt) *kgo.Client {
		t.Helper()
		nobody := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		client, err := kgo.NewClient(append(more, kgo.SeedBrokers("127.0.0.1:1"), kgo.Dialer(nobody))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}
	record := func() *kgo.Record { // 13 bytes
		return &kgo.Record{Topic: "a", Key: []byte("k"), Value: []byte("val"),
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1234")}, {Key: "i", Value: []byte("123")}}}
	}
	for _, test := range []struct {
		held, records, bytes int
		full                 bool
	}{
		{0, 1, 0, false}, {0, 1, 1, false}, // empty
		{1, 1, 0, true}, {1, 2, 0, false}, {2, 2, 0, true}, {2, 3, 0, false}, {3, 3, 0, true}, // full by number
		{1, 9, 26, false}, {1, 9, 25, true}, {2, 9, 39, false}, {2, 9, 38, true}, {2, 9, 1000, false}, // full by bytes
		{2, 2, 1000, true}, {3, 2, 1000, true}, // full by both
	} {
		t.Run(fmt.Sprintf("%d of %d records and %d bytes", test.held, test.records, test.bytes), func(t *testing.T) {
			client := clientOf(t)
			box := newOutbox(client)
			box.records, box.bytes = int64(test.records), int64(test.bytes)
			for range test.held {
				client.Produce(context.Background(), record(), nil)
			}
			if records, full := box.waiting(record()); records != int64(test.held) || full != test.full {
				t.Errorf("%d are in the buffer, full %v; want %d, %v", records, full, test.held, test.full)
			}
		})
	}
	if box := newOutbox(clientOf(t, kgo.MaxBufferedRecords(7), kgo.MaxBufferedBytes(99))); box.records != 7 ||
		box.bytes != 99 {
		t.Errorf("a client of 7 records and 99 bytes: %d and %d", box.records, box.bytes)
	}
}

// The client learns all topics that a stream writes to beforehand: the topics of the release, of
// the notes and of the state.
func TestTopicsThatAreWritten(t *testing.T) {
	s := offline()
	for _, topic := range []string{"a", "b", "c"} {
		s.sinks.Store(topic, true)
	}
	s.notePartitions = map[string]int32{"d": 1, "e": 2}
	if got, want := slices.Sorted(slices.Values(s.written())), []string{"a", "b", "c", "d", "e", "g-state"}; !slices.Equal(
		got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An error in a format is reported with its place in the configuration, for a source and for a
// sink.
func TestFormatsAreCheckedThemselves(t *testing.T) {
	wrong := Format{Protobuf: &protobuf.Config{Message: "no name"}}
	source := &SourceConfig{Connection: Connection{Brokers: []string{"127.0.0.1:9092"}}, Topics: []string{"a"},
		Format: wrong}
	sink := &SinkConfig{Connection: source.Connection, Topic: "out", Format: wrong}
	for name, got := range map[string]string{"source": fmt.Sprint(source.Check()), "sink": fmt.Sprint(sink.Check())} {
		if !strings.Contains(got, "format.protobuf.message: must be a message type's full name") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// If the user may not read a topic, a look at it says so.
func TestPeekIsRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	fill(t, newClient(t, c), "in", 0, 0, 3)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	err := sourceOf(c, "in").Peek(limited(t), 2, func([]byte) { t.Error("something is seen") })
	if !Final(err) || !strings.HasPrefix(err.Error(), `reading in: the user may not Read topic "in"`) {
		t.Errorf("it may not be read: %v", err)
	}
}

// The last field of the client's log is kept if every field has a value.
func TestLastFieldOfTheClientsLog(t *testing.T) {
	var out bytes.Buffer
	newLogger(zerolog.New(&out)).Log(kgo.LogLevelWarn, "said", "a", 1, "b", 2)
	if got, want := strings.TrimSpace(
		out.String()), `{"level":"warn","a":"1","b":"2","from":"kafka client","message":"said"}`; got != want {
		t.Errorf("logged is %s, want %s", got, want)
	}
}
