package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The delay before a retry doubles from 100 ms to 10 s, with a jitter of ±20 %.
func TestBackoff(t *testing.T) {
	for n, want := range map[int]time.Duration{-1: 100, 0: 100, 1: 100, 2: 200, 3: 400, 7: 6400, 8: 10_000, 11: 10_000,
		90: 10_000} {
		want *= time.Millisecond
		low, high := time.Duration(1<<62), time.Duration(0)
		for range 400 {
			d := backoff(n)
			low, high = min(low, d), max(high, d)
		}
		// The probability that none of 400 draws lies in an outer tenth of the range is 10⁻¹⁸.
		if f := float64(want); float64(low) < 0.8*f || float64(low) > 0.84*f || float64(high) > 1.2*f ||
			float64(high) < 1.16*f {
			t.Errorf("try %d: %v to %v, want a fifth about %v", n, low, high, want)
		}
	}
}

// Requests have the right timeouts: a member that gets no answer for one session counts as removed
// from the group, requests of a transaction wait for the transaction's time, and all other requests
// are returned to the caller, who repeats them and logs it.
func TestTimesOfRequests(t *testing.T) {
	for key, want := range map[kmsg.Key]time.Duration{
		kmsg.JoinGroup: sessionTimeout, kmsg.SyncGroup: sessionTimeout, kmsg.Heartbeat: sessionTimeout,
		kmsg.ConsumerGroupHeartbeat: sessionTimeout,
		kmsg.InitProducerID:         0, kmsg.AddPartitionsToTxn: 0, kmsg.AddOffsetsToTxn: 0, kmsg.TxnOffsetCommit: 0,
		kmsg.EndTxn:   0,
		kmsg.Metadata: 10 * time.Second, kmsg.ListOffsets: 10 * time.Second, kmsg.OffsetCommit: 10 * time.Second,
	} {
		if got := retryFor(int16(key)); got != want {
			t.Errorf("%s: %v, want %v", kmsg.NameForKey(int16(key)), got, want)
		}
	}
}

// The size of a run is the size of its keys and values, including the keys of tombstones.
func TestBytesOfARun(t *testing.T) {
	r := newRaw([]*kgo.Record{{Key: []byte("abc"), Value: []byte("de")}, {Key: []byte("f")}, {Value: []byte("ghij")}}, nil,
		true)
	if got := r.Bytes(); got != 3+2+1+4 {
		t.Errorf("%d bytes", got)
	}
	r.split()
	if len(r.Messages()) != 2 || len(r.Tombstones()) != 1 || r.Messages()[1] != r.records[2] ||
		r.Tombstones()[0] != r.records[1] {
		t.Errorf("%d messages and %d tombstones", len(r.Messages()), len(r.Tombstones()))
	}
}

// A key is the text of the value, for every type. A null gives no key.
func TestKeysOfEveryType(t *testing.T) {
	for _, c := range []struct {
		dt   arrow.DataType
		in   string
		want string
	}{
		{arrow.BinaryTypes.String, "Ü", "Ü"}, {arrow.BinaryTypes.LargeString, "x", "x"},
		{arrow.BinaryTypes.StringView, "a view that is longer than twelve", "a view that is longer than twelve"},
		{arrow.BinaryTypes.Binary, "aGk=", "hi"}, {arrow.BinaryTypes.LargeBinary, "aGk=", "hi"},
		{arrow.BinaryTypes.BinaryView, "aGk=", "hi"}, {&arrow.FixedSizeBinaryType{ByteWidth: 2}, "aGk=", "hi"},
		{arrow.PrimitiveTypes.Float64, "0.1", "0.1"}, {arrow.PrimitiveTypes.Float32, "0.1", "0.1"},
		{arrow.PrimitiveTypes.Int64, "-9007199254740993", "-9007199254740993"},
		{arrow.PrimitiveTypes.Int32, "-7", "-7"}, {arrow.PrimitiveTypes.Uint16, "7", "7"},
		{arrow.FixedWidthTypes.Boolean, "true", "true"}, {arrow.FixedWidthTypes.Boolean, "false", "false"},
	} {
		p := &policy{}
		values := arrayOf(t, c.dt, c.in, "null!")
		if got, ok := p.appendValue([]byte("<"), values, 0); string(got) != "<"+c.want || !ok {
			t.Errorf("%v: %q, %v", c.dt, got, ok)
		}
		if got, ok := p.appendValue([]byte("<"), values, 1); string(got) != "<" || ok {
			t.Errorf("%v: a null becomes %q, %v", c.dt, got, ok)
		}
	}
	// Numbers that a mask has changed are written with a fixed number of decimals, other numbers
	// with as few digits as identify them.
	for _, c := range []struct {
		out  microdata.Output
		x    float64
		want string
	}{
		{microdata.Output{Masked: true, Decimals: 2, Field: microdata.Field{Type: arrow.PrimitiveTypes.Float64}}, 0.5, "0.5"},
		{microdata.Output{Masked: true, Decimals: 0, Field: microdata.Field{Type: arrow.PrimitiveTypes.Float64}}, 3, "3"},
		{microdata.Output{Masked: true, Decimals: -1, Field: microdata.Field{Type: arrow.PrimitiveTypes.Float64}}, 0.5,
			"0.5"},
		{microdata.Output{Masked: false, Decimals: 2, Field: microdata.Field{Type: arrow.PrimitiveTypes.Float64}}, 0.125,
			"0.125"},
		{microdata.Output{Decimals: -1, Field: microdata.Field{Type: arrow.PrimitiveTypes.Float32}}, float64(float32(0.1)),
			"0.1"},
	} {
		if got := string((&policy{output: c.out}).appendNumber(nil, c.x)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.out, got, c.want)
		}
	}
}

// What a message passes on besides its columns is named.
func TestWhatMessagesPassOn(t *testing.T) {
	for _, c := range []struct {
		of   SinkConfig
		want string
	}{
		{SinkConfig{}, ""}, {SinkConfig{Key: drop, Headers: drop, Timestamp: pass}, ""}, {SinkConfig{Key: "id"}, ""},
		{SinkConfig{Key: pass}, "the messages' key (key: pass)"},
		{SinkConfig{Key: hash, Headers: pass}, "the messages' key (key: hash)"},
		{SinkConfig{Key: drop, Headers: pass}, "the messages' headers (headers: pass)"},
	} {
		if got := c.of.passesMore(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.of, got, c.want)
		}
	}
}

// Which columns can become a key, and which of them need no decoding.
func TestKeyColumn(t *testing.T) {
	for key, want := range map[string]string{"": "", drop: "", pass: "", hash: "", "wage": "wage"} {
		if got := (&SinkConfig{Key: key}).keyColumn(); got != want {
			t.Errorf("%q: %q", key, got)
		}
	}
}

// The longest transaction that the brokers allow is the smallest limit of any broker, wherever it
// stands in the list of settings.
func TestLongestTransaction(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]time.Duration{"1": time.Millisecond, "2000": 2 * time.Second,
		"899999": 899_999 * time.Millisecond, "900000": 0, "0": 0, "-5": 0, "x": 0} {
		c := newCluster(t, kfake.BrokerConfigs(map[string]string{"transaction.max.timeout.ms": limit}))
		s := &sink{client: newClient(t, c)}
		got, err := s.allowed(limited(t), errors.New("refused"))
		if got != want || (want == 0) != (err != nil) || err != nil &&
			(!Final(err) || !strings.Contains(err.Error(), "raise transaction.max.timeout.ms to 900000")) {
			t.Errorf("%s ms: %v, %v", limit, got, err)
		}
	}
}

// Notes are committed with the release's transaction, or not at all. If a note is lost, that is
// reported and nothing is committed.
func TestSinkNotes(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		c := newCluster(t, kfake.SeedTopics(1, "out", "notes"))
		r := newRelease(t, sinkOf(c, "out"), 20)
		if err := r.write(t); err != nil {
			t.Fatal(err)
		}
		if lost {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "notes", Err: kerr.TopicAuthorizationFailed, Count: -1})
		}
		_ = r.sink.Abilities().Note(limited(t), "notes", []byte("a"))
		_ = r.sink.Abilities().Note(limited(t), "notes", []byte("b"))
		err := r.sink.Finish(limited(t))
		if lost != (err != nil) || lost && (!Final(err) || !strings.Contains(err.Error(), `topic "notes"`)) {
			t.Errorf("lost %v: %v", lost, err)
		}
		if n := len(committedValues(t, c, "notes")); n > 0 {
			t.Errorf("%d notes before the release", n)
		}
		if lost {
			if err := r.sink.Commit(); err == nil {
				t.Error("committed without its notes")
			}
			if err := r.sink.Abilities().Note(limited(t), "notes", []byte("c")); !Final(err) {
				t.Errorf("after one that is lost: %v", err)
			}
			continue
		}
		if err := r.sink.Commit(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range committedValues(t, c, "notes") {
			got = append(got, string(m.Value))
		}
		if !slices.Equal(got, []string{"a", "b"}) || len(committedValues(t, c, "out")) != 19 {
			t.Errorf("notes %v", got)
		}
	}
}

// A look at topics returns the first messages of each partition, equally many of each, and joins no
// group.
func TestPeekTakesOfEachPartition(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(3, "in"))
	cl := newClient(t, c)
	fill(t, cl, "in", 0, 0, 9)
	transaction(t, c, "in", 1, 50, 2, kgo.TryAbort)
	fill(t, cl, "in", 1, 100, 1)
	for n, want := range map[int]string{1: "0 100", 3: "0 100", 6: "0 1 100", 12: "0 1 2 3 100",
		60: "0 1 2 3 4 5 6 7 8 100"} {
		var got []string
		if err := sourceOf(c, "in").Peek(limited(t), n, func(value []byte) {
			var wage float64
			if _, err := fmt.Sscanf(string(value), `{"wage":%f`, &wage); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(int(wage)))
		}); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d: %v, want %s", n, got, want)
		}
	}
	if err := sourceOf(c, "gone").Peek(limited(t), 1, nil); !Final(err) {
		t.Errorf("no topic: %v", err)
	}
	if src, err := sourceOf(c, "gone").OpenAll(limited(t)); !Final(err) {
		t.Errorf("no topic: %v, %v", src, err)
	}
	src, err := sourceOf(c, "in").OpenAll(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if err := src.Abilities().Acknowledge(limited(t)); !Final(err) {
		t.Errorf("there is no group to tell: %v", err)
	}
}

// Fields of the client's log become fields of the program's log with the same names, except fields
// that may contain message content.
func TestFieldsOfTheClientsLog(t *testing.T) {
	var out bytes.Buffer
	l := newLogger(zerolog.New(&out))
	record := kgo.Record{Value: []byte("canary")}
	l.Log(kgo.LogLevelWarn, "said", "a", 1, "b", errors.New("broken"), "c", "word", "d", 2*time.Second, "e",
		[]byte("canary"),
		"f", record, "g", &record, "h", []*kgo.Record{&record}, 7, true, "odd")
	if got, want := strings.TrimSpace(
		out.String()),
		`{"level":"warn","a":"1","b":"broken","c":"word","d":"2s","7":"true","from":"kafka client","message":"said"}`; got != want {
		t.Errorf("logged is %s, want %s", got, want)
	}
	out.Reset()
	if l.Log(kgo.LogLevelInfo, "told"); !strings.Contains(out.String(), `"level":"debug"`) ||
		l.Level() != kgo.LogLevelDebug {
		t.Errorf("logged is %s, at %v", &out, l.Level())
	}
	if quiet := newLogger(zerolog.New(&out).Level(zerolog.InfoLevel)); quiet.Level() != kgo.LogLevelWarn {
		t.Errorf("the client is asked for %v", quiet.Level())
	}
}

// A member reads committed records only, stays in the group for one session without a heartbeat,
// and has the time of two transactions to release partitions.
func TestSettingsOfAMember(t *testing.T) {
	s := offline()
	s.config.Source.Brokers = []string{"127.0.0.1:1"}
	s.config.Source.Instance = "i"
	s.config.Commit.Interval = connectors.Duration(7 * time.Second)
	options, err := s.membership()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []struct{ option, want any }{
		{kgo.SessionTimeout, 15 * time.Second}, {kgo.HeartbeatInterval, 3 * time.Second},
		{kgo.RebalanceTimeout, 44 * time.Second},
		{kgo.FetchMaxWait, 500 * time.Millisecond}, {kgo.FetchMaxBytes, int32(2 << 20)},
		{kgo.FetchMaxPartitionBytes, int32(2 << 20)}, {kgo.MaxBufferedRecords, int64(200_000)},
		{kgo.ProducerLinger, 5 * time.Millisecond},
		{kgo.ConsumerGroup, "g"}, {kgo.KeepControlRecords, true}, {kgo.DisableAutoCommit, true},
		{kgo.BlockRebalanceOnPoll, true}, {kgo.FetchIsolationLevel, int8(1)}, {kgo.InstanceID, "i"},
	} {
		if got := client.OptValue(c.option); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%T: %v, want %v", c.option, got, c.want)
		}
	}
	s.config.Source.Topics, s.config.Source.Pattern = nil, "^survey-"
	if options, err = s.membership(); err != nil {
		t.Fatal(err)
	}
	pattern, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	defer pattern.Close()
	for _, c := range []struct {
		client *kgo.Client
		regex  bool
		topic  string
	}{{client, false, "in"}, {pattern, true, "^survey-"}} {
		if regex, topics := c.client.OptValue(kgo.ConsumeRegex), fmt.Sprint(c.client.OptValue(kgo.ConsumeTopics)); regex !=
			c.regex || !strings.Contains(topics, c.topic) {
			t.Errorf("topics %s, a pattern %v; want %s, %v", topics, regex, c.topic, c.regex)
		}
	}
	s.config.Source.Start = "no time"
	if _, err := s.membership(); err == nil {
		t.Error("an invalid start")
	}
	s.config.Source.Brokers = nil
	if _, err := s.membership(); !Final(err) {
		t.Errorf("no brokers: %v", err)
	}
	if err := s.Join(nil, false); !Final(err) {
		t.Errorf("joined without brokers: %v", err)
	}
}
