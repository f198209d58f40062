package kafka

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/arrow"
	"github.com/sdlfilter/sdlfilter/internal/message/avro"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// If topics cannot be opened, in whichever way they are opened, nothing is read and nothing stays
// open (TestMain checks for leaks).
func TestSourceIsNotOpened(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	fill(t, newClient(t, c), "in", 0, 0, 3)
	schemas := registrytest.New(t)
	for what, test := range map[string]struct {
		change func(*SourceConfig)
		want   string
	}{
		"no brokers": {func(c *SourceConfig) { c.Brokers = nil }, "brokers: must name"},
		"no topic":   {func(c *SourceConfig) { c.Topics = []string{"gone"} }, `the topic "gone" does not exist`},
		"no start": {func(c *SourceConfig) {
			c.Start = "some day"
		}, "start: must be earliest, latest or a time"},
		"no registry": {func(c *SourceConfig) {
			c.Format.Avro = new(avro.Config)
		}, "avro: messages of this format need a schema registry"},
		"no certificate": {func(c *SourceConfig) {
			c.Registry = &registry.Config{URL: "https://localhost:1", CA: "/gone"}
		}, "registry: ca: "},
		"nothing in a registry": {func(c *SourceConfig) { c.Format.Avro, c.Registry = new(avro.Config), schemas.Config() },
			""},
		"settings of a client": {func(c *SourceConfig) {
			c.tuning = []kgo.Opt{kgo.MaxBufferedRecords(0)}
		}, "kafka client: "},
	} {
		config := sourceOf(c, "in")
		test.change(config)
		none := func([]byte) { t.Errorf("%s: something is read", what) }
		_, opened := config.Open(limited(t))
		_, all := config.OpenAll(limited(t))
		for way, err := range map[string]error{"open": opened, "all": all, "peek": config.Peek(limited(t), 3, none)} {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, %s: %v, want %s", what, way, err, test.want)
			}
		}
	}
	// If any question fails, no source is returned: the five questions for offsets, and the
	// question for the names that match a pattern.
	for n, want := range []string{"asking for the offsets to start at: ", "asking for the first offsets: ",
		"asking for the last stable offsets: ", "asking for the end offsets: "} {
		requests := map[kmsg.Request]bool{}
		fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed, Count: -1,
			When: func(r kmsg.Request) bool {
				requests[r] = true
				return len(requests) > n
			}})
		if s, err := sourceOf(c, "in").Open(limited(t)); s != nil || !Final(err) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the %dth question for offsets: %v, want %s", n+1, err, want)
		}
		fault.Remove()
	}
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.GroupAuthorizationFailed, Count: -1})
	if s, err := sourceOf(c, "in").Open(limited(t)); s != nil || !Final(err) ||
		!strings.HasPrefix(err.Error(), "asking for the offsets of the consumer group ") {
		t.Errorf("the group's offsets: %v", err)
	}
	fault.Remove()
	ended, cancel := context.WithCancel(limited(t))
	cancel()
	if topics, err := (&SourceConfig{Pattern: "^in"}).resolve(ended, kadm.NewClient(newClient(t, c)),
		zerolog.Nop()); topics != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("a pattern: %v, %v", topics, err)
	}
	config := sourceOf(c, "in")
	config.Start = "some day"
	if _, err := config.startOffsets(limited(t), kadm.NewClient(newClient(t, c)), zerolog.Nop(), []string{"in"}); !Final(
		err) || !strings.HasPrefix(err.Error(), "start: must be") {
		t.Errorf("an invalid start: %v", err)
	}
	// All connections are closed with the source, including those of the registry.
	config = sourceOf(c, "in")
	config.Registry = schemas.Config()
	s := open(t, config)
	if s.registry == nil {
		t.Fatal("there is no registry")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if !s.client.PollRecords(limited(t), 1).IsClientClosed() {
		t.Error("its client is not closed")
	}
}

// A release that cannot be created accepts no records, and no transaction starts at the brokers.
func TestReleaseIsNotMade(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in", "out"))
	schemas := registrytest.New(t)
	src := open(t, sourceOf(c, "in"))
	layout := layoutOf(src.Schema())
	begun := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Observe: true, Count: -1})
	for what, test := range map[string]struct {
		change func(*SinkConfig)
		want   string
	}{
		"no brokers": {func(c *SinkConfig) { c.Brokers = nil }, "brokers: must name"},
		"no topic":   {func(c *SinkConfig) { c.Topic = "gone" }, `the topic "gone" does not exist`},
		"no such column": {func(c *SinkConfig) {
			c.Key = "nowhere"
		}, "key: must be drop, pass, hash or a column that is released"},
		"hash without a key": {func(c *SinkConfig) { c.Key = hash }, "key: hash needs the release key"},
		"no registry": {func(c *SinkConfig) {
			c.Format.Avro = new(avro.Config)
		}, "avro: messages of this format need a schema registry"},
		"no certificate": {func(c *SinkConfig) {
			c.Registry = &registry.Config{URL: "https://localhost:1", CA: "/gone"}
		}, "registry: ca: "},
		"several records and key": {func(c *SinkConfig) {
			c.Format.Arrow, c.Key = new(arrow.Config), "region"
		}, "key: a column needs a format of one record a message"},
		"settings of a client": {func(c *SinkConfig) {
			c.tuning = []kgo.Opt{kgo.MaxBufferedRecords(0)}
		}, "kafka client: "},
	} {
		config := sinkOf(c, "out")
		test.change(config)
		made, err := config.Create(limited(t), connectors.Plan{Source: src, Layout: layout})
		if made != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v, want %s", what, made, err, test.want)
		}
	}
	if src.carried.Load() {
		t.Error("the source is told to carry columns although no release is made")
	}
	if n := begun.Hits(); n > 0 {
		t.Errorf("%d transactions are begun", n)
	}
	// If the brokers refuse the transaction, nothing stays open either.
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.TransactionalIDAuthorizationFailed,
		Count: -1})
	if made, err := sinkOf(c, "out").Create(limited(t), connectors.Plan{Source: src, Layout: layout}); !Final(err) ||
		!strings.HasPrefix(err.Error(),
			`preparing a transaction: the user may not Write with transactional id "sdlfilter-out-`) {
		t.Errorf("no transaction: %v, %v", made, err)
	}
	fault.Remove()
	// The sink's own registry is closed with it.
	config := sinkOf(c, "out")
	config.Format.Avro, config.Registry = new(avro.Config), schemas.Config()
	made, err := config.Create(limited(t), connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := schemas.Text("out-value", 1); !ok || !strings.Contains(text, "wage") || made.(*sink).registry == nil {
		t.Errorf("the release's schema is %q", text)
	}
	if err := made.Abort(); err != nil {
		t.Error(err)
	}
	// A sink that has begun nothing closes its client.
	client := newClient(t, c)
	if err := (&sink{client: client}).Abort(); err != nil || !client.PollRecords(limited(t), 1).IsClientClosed() {
		t.Errorf("a sink that has begun nothing: %v", err)
	}
}

// brokenWriter returns an error instead of messages.
type brokenWriter struct{ message.Writer }

var errBrokenWriter = errors.New("broken")

func (brokenWriter) Encode(context.Context, *microdata.Block) (message.Released, error) {
	return message.Released{}, errBrokenWriter
}

// If messages cannot be made, that is an error of the block. If the brokers do not say whether a
// release is committed, the error says so; if they cannot be told to abort, that is logged.
func TestReleaseWithoutAnEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in", "out"))
	src := open(t, sourceOf(c, "in"))
	var log bytes.Buffer
	made, err := sinkOf(c, "out").Create(zerolog.New(&log).Level(zerolog.WarnLevel).WithContext(limited(t)),
		connectors.Plan{Source: src, Layout: layoutOf(src.Schema())})
	if err != nil {
		t.Fatal(err)
	}
	s := made.(*sink)
	whole := s.writer
	s.writer = brokenWriter{whole}
	if e, err := made.Encode(new(microdata.Block)); e != nil || err != errBrokenWriter {
		t.Errorf("no messages: %v, %v", e, err)
	}
	s.writer = whole
	if err := made.Write(limited(t), []kgo.Record{*messageOf("out", 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if err := made.Finish(limited(t)); err != nil {
		t.Fatal(err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.UnknownServerError, Count: -1})
	if err := made.Commit(); err == nil || Final(err) ||
		!strings.HasPrefix(err.Error(), "committing the release to out: ") ||
		!strings.HasSuffix(err.Error(), "; the brokers have not said whether it is committed") {
		t.Errorf("committed: %v", err)
	}
	if s.done {
		t.Error("the result of the commit is unknown")
	}
	if err := made.Abort(); err != nil || !s.done {
		t.Errorf("aborted: %v, done %v", err, s.done)
	}
	// A sink that is aborted before anything else.
	made, err = sinkOf(c, "out").Create(zerolog.New(&log).Level(zerolog.WarnLevel).WithContext(limited(t)),
		connectors.Plan{Source: src, Layout: layoutOf(src.Schema())})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(made.Write(limited(t), []kgo.Record{*messageOf("out", 0, 1)}), made.Finish(limited(t))); err !=
		nil {
		t.Fatal(err)
	}
	for range 2 { // at the second call nothing is left to abort
		if err := made.Abort(); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(log.String(),
		`"after":"15m0s","message":"the brokers could not be told to abort the release; they do it by themselves"`); n != 1 {
		t.Errorf("logged is %s", &log)
	}
}

// A stream's release needs a policy and a writer for each topic, including the topic for held
// messages and topics that appear later.
func TestStreamHasNoRelease(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in", "out", "held"))
	key := keytest.Key(1)
	for what, test := range map[string]struct {
		change func(*SinkConfig)
		want   string // "": the release is possible
	}{
		"nothing": {func(*SinkConfig) {}, ""},
		"no such column": {func(c *SinkConfig) {
			c.Key = "nowhere"
		}, "key: must be drop, pass, hash or a column that is released"},
		"no registry": {func(c *SinkConfig) {
			c.Format.Avro = new(avro.Config)
		}, "avro: messages of this format need a schema registry"},
		"no certificate": {func(c *SinkConfig) { c.Registry = &registry.Config{URL: "https://localhost:1", CA: "/gone"} },
			"registry: ca: "},
	} {
		s := asking(t, c)
		s.topics = []topic{{"in", 1}}
		source, err := s.Source(limited(t), sourceOf(c, "in"))
		if err != nil {
			t.Fatal(err)
		}
		test.change(s.config.Sink)
		r, err := s.Release(limited(t), source, layoutOf(source.Schema()), key, "{topic}-held")
		if (err == nil) != (test.want == "") || err != nil && (r != nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %s", what, err, test.want)
		}
		if err != nil {
			continue
		}
		var writers []string
		s.sinks.Range(func(topic, _ any) bool { writers = append(writers, topic.(string)); return true })
		if len(r.writers) != 2 || r.writers["out"] == nil || r.writers["in-held"] == nil || len(writers) != 2 {
			t.Errorf("writers for %v, topics %v", r.writers, writers)
		}
		// A topic appears later, and its records cannot be written.
		s.config.Sink.Topic, s.config.Sink.Format.Avro = "{topic}-out", new(avro.Config)
		if e, err := r.Encode(limited(t), &microdata.Block{Scope: "later"}, false); e != nil || err == nil ||
			!strings.Contains(err.Error(), "need a schema registry") {
			t.Errorf("a topic that comes later: %v, %v", e, err)
		}
		if err := r.Write(limited(t), nil, nil, nil, false); err == nil ||
			!strings.Contains(err.Error(), "is no block of a topic") {
			t.Errorf("an empty block: %v", err)
		}
	}
	without := asking(t, c)
	without.topics = []topic{{"in", 1}}
	source, err := without.Source(limited(t), sourceOf(c, "in"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := without.Release(limited(t), source, layoutOf(source.Schema()), key, ""); err != nil ||
		len(r.writers) != 1 || r.writers["out"] == nil {
		t.Errorf("nothing is held: %v, %v", r, err)
	}
}

// A partition that was revoked without notice is recognised because its offset is missing, if the
// member had entered it. Partitions that were not entered yet still belong to the member.
func TestPartitionsThatWereRevoked(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	s := asking(t, c) // a member with a client that reads nothing
	s.owned, s.entered = map[Partition]int{in0: 1, in1: 3}, map[Partition]int{in0: 1, in1: 2}
	if got := s.Owned(); len(got) > 0 {
		t.Errorf("it reads %v", got)
	}
	if want := (map[Partition]int{in1: 3}); !maps.Equal(s.owned, want) {
		t.Errorf("its assignment is %v, want %v", s.owned, want)
	}
	if s.unread(in0) || !s.unread(in1) || s.unread(Partition{Topic: "other"}) {
		t.Errorf("unread: %v, %v; want false and true", s.unread(in0), s.unread(in1))
	}
}

// If a partition cannot be entered, the transaction ends: there is no topic for its release, or no
// state.
func TestPartitionIsNotTakenUp(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		change func(c *kfake.Cluster, m *member)
		want   string
	}{
		"no topic": {func(_ *kfake.Cluster, m *member) {
			m.topics, m.config.Sink.Topic = nil, "gone"
		}, `the topic "gone" does not exist`},
		"no state": {func(c *kfake.Cluster, m *member) {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "g-state", Err: kerr.TopicAuthorizationFailed,
				Count: -1})
		}, `asking for the offsets of "g-state": `},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c, cl := streamCluster(t)
			fill(t, cl, "in", 0, 20, 5)
			m := newMember(t, c, nil)
			test.change(c, m)
			if err := m.transaction(t, false); !Final(err) || !strings.HasPrefix(err.Error(), test.want) || len(m.entered) > 0 {
				t.Errorf("%v, entered %v; want %s", err, m.entered, test.want)
			}
		})
	}
}

// If the start offsets cannot be committed because no broker answers, nothing is read from them.
func TestPlacesToStartAtAreNotHeard(t *testing.T) {
	racetest.Further(t)
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	s := asking(t, c)
	at := map[Partition]int64{in0: 0}
	const what = "committing the offsets to start at: "
	stopped := errors.New("stopped")
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.OffsetCommit} {
		ctx, cancel := context.WithCancelCause(limited(t))
		delayed := false
		seen, _ := hold(t, c, key, func(kmsg.Request) bool { defer func() { delayed = true }(); return !delayed })
		go func() { <-seen; cancel(stopped) }()
		if err := s.commitStarts(ctx, s.client, at); err == nil || Final(err) || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("%s is not answered: %v", kmsg.NameForKey(int16(key)), err)
		}
		cancel(nil)
		c = newCluster(t, kfake.SeedTopics(1, "in"))
		s = asking(t, c)
	}
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.TopicAuthorizationFailed, Topic: "in",
		Count: -1})
	if err := s.commitStarts(limited(t), s.client, at); !Final(err) || !strings.HasPrefix(err.Error(), what) {
		t.Errorf("the topic is hidden: %v", err)
	}
	fault.Remove()
	s = asking(t, c)
	if err := s.commitStarts(limited(t), s.client, at); err != nil {
		t.Error(err)
	}
}

// A cancelled stream returns the reason, whatever it waits for.
func TestStreamIsEnded(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	t.Run("beginning", func(t *testing.T) {
		t.Parallel()
		c, _ := streamCluster(t)
		m := newMember(t, c, nil)
		ctx, cancel := context.WithCancelCause(limited(t))
		seen, release := hold(t, c, kmsg.InitProducerID, func(kmsg.Request) bool { return true })
		go func() { <-seen; cancel(stopped) }()
		if err := m.Begin(ctx); err != stopped {
			t.Errorf("began: %v", err)
		}
		release()
	})
	t.Run("beginning without patience", func(t *testing.T) {
		t.Parallel()
		c, _ := streamCluster(t)
		m := newMember(t, c, nil)
		_, release := hold(t, c, kmsg.InitProducerID, func(kmsg.Request) bool { return true })
		if err := m.Begin(hurried(t)); !errors.Is(err, errImpatient) ||
			!strings.HasPrefix(err.Error(), "beginning a transaction: no broker has answered for 300ms") {
			t.Errorf("began: %v", err)
		}
		release()
	})
	t.Run("reading", func(t *testing.T) {
		t.Parallel()
		s := asking(t, newCluster(t))
		ctx, cancel := context.WithCancelCause(limited(t))
		cancel(stopped)
		if raw, err := s.Next(ctx); raw != nil || err != stopped {
			t.Errorf("read: %v, %v", raw, err)
		}
		s.client.Close()
		if raw, err := s.Next(limited(t)); raw != nil || !errors.Is(err, kgo.ErrClientClosed) {
			t.Errorf("read of a client that was closed: %v, %v", raw, err)
		}
	})
	t.Run("looking", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, kfake.SeedTopics(1, "in"))
		fill(t, newClient(t, c), "in", 0, 0, 3)
		ctx, cancel := context.WithCancelCause(limited(t))
		seen, release := hold(t, c, kmsg.Fetch, func(kmsg.Request) bool { return true })
		go func() { <-seen; cancel(stopped) }()
		if err := sourceOf(c, "in").Peek(ctx, 3, func([]byte) { t.Error("something is seen") }); err != stopped {
			t.Errorf("looked: %v", err)
		}
		release()
	})
}

// No broker is asked before the stream has received nothing for the time of the patience.
func TestNobodyIsAskedTooEarly(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	s := asking(t, c)
	if err := s.client.Ping(limited(t)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	ctx := WithPatience(limited(t), 300*time.Millisecond)
	if err := s.hear(ctx, false); err != nil || s.lastContact.IsZero() {
		t.Errorf("the first time: %v, heard %v", err, s.lastContact)
	}
	s.lastContact = time.Now().Add(time.Hour)
	if err := s.hear(ctx, false); err != nil {
		t.Errorf("too early: %v", err)
	}
	before := s.lastContact
	s.lastContact = before.Add(-24 * time.Hour)
	if err := s.hear(ctx, true); err != nil || time.Since(s.lastContact) > time.Hour {
		t.Errorf("records have come: %v, heard %v ago", err, time.Since(s.lastContact))
	}
	s.lastContact = before.Add(-24 * time.Hour)
	if err := s.hear(ctx, false); !errors.Is(err, errImpatient) {
		t.Errorf("after a day: %v", err)
	}
}

// An answer without the requested partition is an error. Other partitions in the answer do not
// count.
func TestFetchOfAnotherPartition(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "in"))
	fill(t, newClient(t, c), "in", 1, 0, 3)
	s := asking(t, c)
	admin := kadm.NewClient(s.client)
	details, err := admin.ListTopics(limited(t), "in")
	if err != nil {
		t.Fatal(err)
	}
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := r.ResponseKind().(*kmsg.FetchResponse)
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = "in", details["in"].ID
		for n := range int32(2) {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition, p.HighWatermark, p.LastStableOffset = n, 5+int64(n), 3+int64(n)
			topic.Partitions = append(topic.Partitions, p)
		}
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	for n, want := range map[int32]int64{0: 3, 1: 4, 2: -1} {
		at, got, err := tails{s.client, admin, zerolog.Nop()}.fetch(limited(t), Partition{Topic: "in", Number: n}, 0,
			details["in"].ID, 2)
		if want < 0 {
			if at != 2 || err == nil || err.Error() != "the answer to a fetch lacks the partition" {
				t.Errorf("partition %d: %d, %v", n, at, err)
			}
		} else if at != 2 || err != nil || got.LastStableOffset != want || len(got.Records) > 0 {
			t.Errorf("partition %d: at %d, stable to %d, %v; want %d", n, at, got.LastStableOffset, err, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if at, _, err := (tails{s.client, admin, zerolog.Nop()}).fetch(ended, in0, 0, details["in"].ID, 2); at != 2 ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d, %v", at, err)
	}
}
