package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hurried bounds a wait for brokers that the test expects to fail.
func hurried(t *testing.T) context.Context { return WithPatience(limited(t), 300*time.Millisecond) }

// An error of one topic among several is an error of the whole question. A final error is explained
// in words; a temporary error is retried for the time of the patience.
func TestTopicsThatBrokersRefuse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  *kerr.Error
		want string
	}{
		{kerr.InvalidTopicException, "asking for topics: the brokers do not take this as a topic's name"},
		{kerr.LeaderNotAvailable, "asking for topics: no broker has answered for 300ms: LEADER_NOT_AVAILABLE"},
		{kerr.UnknownTopicOrPartition, `the topic "b" does not exist`},
		{kerr.TopicAuthorizationFailed, `asking for topics: the user may not Describe topic "b"`},
	} {
		c := newCluster(t, kfake.SeedTopics(2, "a", "b", "c"))
		admin := kadm.NewClient(newClient(t, c))
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "b", Err: test.err, Count: -1})
		if _, err := describe(hurried(t), admin, zerolog.Nop(), []string{"c", "b", "a"}); !Final(err) ||
			!strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v: %v, want %s", test.err, err, test.want)
		}
	}
	// If the unauthorised topic cannot be determined, the error names none.
	c := newCluster(t, kfake.SeedTopics(2, "a"))
	err := hidden(limited(t), kadm.NewClient(newClient(t, c)), []string{"a"},
		fmt.Errorf("within: %w", kerr.TopicAuthorizationFailed))
	if !Final(err) || !strings.HasPrefix(err.Error(), "asking for topics: the user may not Describe the topic; ") {
		t.Errorf("hidden: %v", err)
	}
}

// If the state topic may not be created, the error says how to create it, however the refusal is
// wrapped. A topic that another process has created is accepted. A temporary error is returned.
func TestStateTopicIsNotCreated(t *testing.T) {
	const made = `: kafka-topics.sh --create --topic s --partitions 4 --config cleanup.policy=compact --config min.cleanable.dirty.ratio=0.1 --config segment.bytes=67108864 --config segment.ms=600000; the user needs Read, Write and Describe on it`
	const mayNot = `the state topic "s" is needed, and the user may not Create (or, where it exists, Describe) it; who may can make it` + made
	const refuse = `the state topic "s" is needed, and the brokers refuse to create it; who may can make it` + made
	for _, test := range []struct {
		err  error
		want string // "": the error is returned unchanged
	}{
		{kerr.TopicAuthorizationFailed, mayNot}, {kerr.ClusterAuthorizationFailed, mayNot}, {kerr.PolicyViolation, refuse},
		{kerr.InvalidReplicationFactor, refuse},
		{kerr.NotController, ""}, {io.EOF, ""},
	} {
		for _, err := range []error{test.err, fmt.Errorf("within: %w", test.err)} {
			got := uncreated(err, "s", 4)
			if test.want == "" && got != err || test.want != "" &&
				(!Final(got) || got.Error() != test.want || !errors.Is(got, test.err)) {
				t.Errorf("%v: %v, want %s", err, got, test.want)
			}
		}
	}
	if err := errors.Join(uncreated(kerr.TopicAlreadyExists, "s", 4),
		uncreated(fmt.Errorf("within: %w", kerr.TopicAlreadyExists), "s", 4), uncreated(nil, "s", 4)); err != nil {
		t.Errorf("it is there: %v", err)
	}
}

// The state topic is created once, and then the program waits for it. A topic that stays hidden
// after its creation is not created again.
func TestStateTopicIsMadeOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []*kerr.Error // answers to the first questions for the topic; nil: the real answer
		creates int64
		want    string // "": the topic exists
	}{
		"made": {nil, 1, ""},
		"made and not yet known": {
			[]*kerr.Error{kerr.UnknownTopicOrPartition, kerr.UnknownTopicOrPartition, kerr.UnknownTopicOrPartition}, 1, ""},
		"made and hidden": {[]*kerr.Error{kerr.TopicAuthorizationFailed, kerr.TopicAuthorizationFailed}, 1,
			`preparing the state topic "s": the user may not Describe topic "s"`},
		"refused": {[]*kerr.Error{kerr.InvalidTopicException}, 0,
			`preparing the state topic "s": the brokers do not take this as a topic's name`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			creates := c.Fault(
				kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
					if asked := r.(*kmsg.CreateTopicsRequest).Topics; len(asked) != 1 || asked[0].Topic != "s" ||
						asked[0].NumPartitions != 2 || asked[0].ReplicationFactor != -1 {
						t.Errorf("to be made are %+v, want s of 2 partitions, with as many copies as the brokers make by default", asked)
					}
					return true
				}})
			for _, err := range test.answers {
				c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "s", Err: err, When: asksFor("s")})
			}
			err := ensureStateTopic(limited(t), kadm.NewClient(newClient(t, c)), "s", 2)
			if (err == nil) != (test.want == "") || err != nil && (!Final(err) || !strings.HasPrefix(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if n := int64(creates.Hits()); n != test.creates {
				t.Errorf("it was made %d times, want %d", n, test.creates)
			}
		})
	}
}

// If the user may not read a topic's settings, a warning says that they are unknown. A temporary
// error is returned as an error.
func TestSettingsOfTheStateTopicAreHidden(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if err := c.CreateTopic("s", 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(newClient(t, c))
	for _, test := range []struct {
		err    *kerr.Error // nil: the question is answered
		warned bool
	}{{nil, false}, {kerr.TopicAuthorizationFailed, true}, {kerr.ClusterAuthorizationFailed, true},
		{kerr.PolicyViolation, false}} {
		var log bytes.Buffer
		fault := new(kfake.FaultHandle)
		if test.err != nil {
			fault = c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: test.err, Count: -1})
		}
		err := checkStateTopic(limited(t), admin, zerolog.New(&log), "s")
		if test.err != nil {
			fault.Remove()
		}
		if failed := test.err != nil && !test.warned; failed != (err != nil) || failed && !errors.Is(err, test.err) {
			t.Errorf("%v: %v", test.err, err)
		}
		want := ""
		if test.warned {
			want =
				`{"level":"warn","topic":"s","message":"the user may not DescribeConfigs of the state topic, so that it is not known to be compacted"}` + "\n"
		}
		if log.String() != want {
			t.Errorf("%v: logged is %s", test.err, &log)
		}
	}
}

// An error of any question during opening is reported before the stream begins. With `until`, this
// includes the questions for the end offsets.
func TestStreamIsNotOpened(t *testing.T) {
	t.Parallel()
	listOffsets := func(isolation int8, timestamp int64) func(kmsg.Request) bool {
		return func(r kmsg.Request) bool {
			q := r.(*kmsg.ListOffsetsRequest)
			return q.IsolationLevel == isolation && q.Topics[0].Topic == "in" && q.Topics[0].Partitions[0].Timestamp == timestamp
		}
	}
	for name, test := range map[string]struct {
		change func(c *StreamConfig)
		fault  kfake.Fault
		want   string // "": the stream opens
	}{
		"nothing":    {},
		"no brokers": {change: func(c *StreamConfig) { c.Source.Brokers = nil }, want: "brokers: "},
		"no source": {change: func(c *StreamConfig) {
			c.Source.Topics = []string{"gone"}
		}, want: `the topic "gone" does not exist`},
		"no sink": {change: func(c *StreamConfig) {
			c.Sink.Topic = "gone"
		}, want: `the topic "gone" does not exist`},
		"another cluster": {change: func(c *StreamConfig) {
			c.Sink.Connection = connection(newCluster(t, kfake.ClusterID("two")))
		}, want: "source and sink are topics of two clusters"},
		"no state": {
			fault: kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: kerr.TopicAuthorizationFailed},
			want:  `the state topic "g-state" is needed`},
		"no ends": {
			fault: kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed, When: listOffsets(1, -1)},
			want:  "asking for the offsets to end at: the user may not Describe"},
		"no ends, without until": {change: func(c *StreamConfig) {
			c.Source.Until = ""
		}, fault: kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed,
			When: listOffsets(1, -1)}},
		"no starts": {
			fault: kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed, When: listOffsets(0, -2)},
			want:  "asking for the offsets to start at: the user may not Describe"},
		"no starts, without until": {change: func(c *StreamConfig) {
			c.Source.Until = ""
		}, fault: kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.TopicAuthorizationFailed,
			When: listOffsets(0, -2)}},
		"no group": {
			fault: kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.GroupAuthorizationFailed},
			want:  `asking for the offsets of the consumer group "g": the user may not Describe consumer group "g"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.SeedTopics(2, "in", "out"), kfake.ClusterID("one"))
			config := StreamConfig{Name: "p", Source: sourceOf(c, "in"), Sink: sinkOf(c, "out"), Log: zerolog.Nop()}
			if test.change != nil {
				test.change(&config)
			}
			if test.fault.Keys != nil {
				test.fault.Count = -1
				c.Fault(test.fault)
			}
			s, err := OpenStream(limited(t), config)
			if (err == nil) != (test.want == "") || err != nil && (!Final(err) || !strings.HasPrefix(err.Error(), test.want)) ||
				err == nil && s == nil {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A bounded stream ends at the last record committed when it was opened, and begins at the group's
// offsets in its own topics. If the group has no offset, `start` decides.
func TestBoundsOfAStream(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "in", "out"), kfake.SeedTopics(1, "other"))
	cl := newClient(t, c)
	fill(t, cl, "in", 0, 0, 9)
	fill(t, cl, "in", 1, 0, 7)
	fill(t, cl, "other", 0, 0, 5)
	if err := c.DeleteRecords("in", 1, 2); err != nil {
		t.Fatal(err)
	}
	open := newClient(t, c, kgo.TransactionalID("open"))
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	fill(t, open, "in", 0, 9, 3)
	commit(t, cl, map[Partition]int64{in0: 4, {Topic: "other"}: 3})
	for until, bounded := range map[string]bool{latest: true, "": false} {
		config := StreamConfig{Name: "p", Source: sourceOf(c, "in"), Sink: sinkOf(c, "out"), Log: zerolog.Nop()}
		config.Source.Until = until
		s, err := OpenStream(limited(t), config)
		if err != nil {
			t.Fatal(err)
		}
		ends, began := map[Partition]int64{in0: 9, in1: 7}, map[Partition]int64{in0: 4, in1: 2}
		if !bounded {
			ends, began = nil, map[Partition]int64{}
		}
		if s.Bounded() != bounded || !maps.Equal(s.ends, ends) || !maps.Equal(s.began, began) {
			t.Errorf("until %q: from %v to %v, want %v to %v", until, s.began, s.ends, began, ends)
		}
		if s.statePartitions != 2 {
			t.Errorf("states have %d partitions", s.statePartitions)
		}
	}
}

// Partitions of other members are left to them while they make progress. A lack of progress is
// detected at the second look, not at the first.
func TestOthersGetOn(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	fill(t, newClient(t, c), "in", 0, 0, 6)
	if err := c.DeleteRecords("in", 0, 6); err != nil {
		t.Fatal(err)
	}
	s := asking(t, c)
	s.ends = map[Partition]int64{in0: 6}
	for i, want := range []int64{0, 6, 6} {
		if err := s.lookAhead(limited(t)); err != nil || s.at[in0] != want || s.committed[in0] != want {
			t.Errorf("look %d: at %d, done %d, %v; want %d", i+1, s.at[in0], s.committed[in0], err, want)
		}
	}
	s.at[in0], s.committed[in0] = 3, 3 // they made progress: this is the first look at that offset
	for i, want := range []int64{3, 6} {
		if err := s.lookAhead(limited(t)); err != nil || s.at[in0] != want {
			t.Errorf("look %d after they got on: at %d, %v; want %d", i+1, s.at[in0], err, want)
		}
	}
	// A stream that has reached its end asks nothing.
	c.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.lookAhead(ended); err != nil {
		t.Error(err)
	}
}

// A stream that is told to end, before or while it looks ahead, does not wait for a broker that
// does not answer. It does not take the partition for read.
func TestNothingIsAskedAfterDrain(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		c := newCluster(t, kfake.SeedTopics(1, "in"))
		fill(t, newClient(t, c), "in", 0, 0, 6)
		s := asking(t, c)
		s.ends, s.lastLook[in0] = map[Partition]int64{in0: 6}, 0
		c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
			s.Drain()
			c.SleepControl(func() { <-t.Context().Done() })
			return nil, nil, false
		})
		if before {
			s.Drain()
		}
		if err := s.lookAhead(limited(t)); err != nil || s.at[in0] != 0 {
			t.Errorf("told to end before the question: %v: at %d, %v", before, s.at[in0], err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.lookAhead(ended); err == nil {
			t.Errorf("told to end before the question: %v: the end of the context is no error", before)
		}
	}
}

// An error of the group's coordinator does not matter to a stream that has reached its end.
func TestNothingIsLearntAtTheEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	s := asking(t, c)
	s.ends, s.at[in0] = map[Partition]int64{in0: 4}, 4
	questions := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.GroupAuthorizationFailed, Count: -1})
	if err := s.learn(limited(t), nil); err != nil || questions.Hits() > 0 {
		t.Errorf("%v after %d questions", err, questions.Hits())
	}
	if s.at[in0] = 3; s.learn(limited(t), nil) == nil {
		t.Error("before the end nothing is asked")
	}
}

// The answer must contain an offset for every partition. If brokers do not return one, that is an
// error: final errors are explained in words, temporary errors are retried.
func TestOffsetsOfEveryPartition(t *testing.T) {
	t.Parallel()
	const what = "asking for places"
	answer := func(errs ...error) kadm.ListedOffsets {
		all := kadm.ListedOffsets{"in": {}, "too": {7: {Topic: "too", Partition: 7, Offset: 3}}}
		for n, err := range errs {
			all["in"][int32(n)] = kadm.ListedOffset{Topic: "in", Partition: int32(n), Offset: int64(10 + n), Err: err}
		}
		return all
	}
	for _, test := range []struct {
		answers []kadm.ListedOffsets // the last one repeats
		want    string               // "": the offsets are returned
	}{
		{[]kadm.ListedOffsets{answer(nil, nil)}, ""},
		{
			[]kadm.ListedOffsets{answer(nil, kerr.OffsetNotAvailable), answer(kerr.NotLeaderForPartition, nil),
				answer(nil, nil)}, ""},
		{[]kadm.ListedOffsets{answer(nil, kerr.TopicAuthorizationFailed)}, what + `: the user may not Describe topic "in"; `},
		{[]kadm.ListedOffsets{answer(kerr.UnknownTopicOrPartition, nil)},
			what + `: the topic "in" does not exist, or lacks the partition`},
	} {
		calls := 0
		got,
			err := offsets(limited(t), zerolog.Nop(), what, []string{"in", "too"},
			func(_ context.Context, topics ...string) (kadm.ListedOffsets, error) {
				calls++
				if len(topics) != 2 {
					t.Errorf("asked for %v", topics)
				}
				return test.answers[min(calls, len(test.answers))-1], nil
			})
		switch {
		case test.want != "":
			if !Final(err) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		case err != nil || calls != len(test.answers) ||
			!maps.Equal(got, map[Partition]int64{in0: 10, in1: 11, {Topic: "too", Number: 7}: 3}):
			t.Errorf("after %d questions: %v, %v", calls, got, err)
		}
	}
	if _, err := offsets(limited(t), zerolog.Nop(), what, nil,
		func(context.Context, ...string) (kadm.ListedOffsets, error) {
			return nil, fmt.Errorf("within: %w", kerr.TopicAuthorizationFailed)
		}); !Final(err) || !strings.HasPrefix(err.Error(), what+": the user may not Describe the topic; ") {
		t.Errorf("refused as a whole: %v", err)
	}
}

// If the end cannot be determined, the result is an error and not a transaction without records.
func TestEndIsNotFound(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	fill(t, newClient(t, c), "in", 0, 0, 4)
	s := asking(t, c)
	s.ends = map[Partition]int64{in0: 4}
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.GroupAuthorizationFailed, Count: -1})
	if raw, err := s.Next(limited(t)); raw != nil || !Final(err) ||
		!strings.HasPrefix(err.Error(), "asking for the group's offsets: ") {
		t.Errorf("the group may not be asked: %v, %v", raw, err)
	}
	fault.Remove()
	if raw, err := s.Next(limited(t)); raw != nil || err != io.EOF || s.Touched() {
		t.Errorf("nothing has come: %v, %v", raw, err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	if raw, err := s.Next(limited(t)); raw != nil || !Final(err) ||
		!strings.HasPrefix(err.Error(), "reading the end of in/0: ") {
		t.Errorf("the partition may not be read: %v, %v", raw, err)
	}
}

// Whichever question about the end of a partition fails, the result is an error or the question is
// repeated for the time of the patience. The end offset itself does not change.
func TestTailIsRefused(t *testing.T) {
	t.Parallel()
	const refused, silent = "reading the end of in/0: the user may not %s topic \"in\"; ",
		"reading the end of in/0: no broker has answered for 300ms"
	for name, test := range map[string]struct {
		p    Partition
		key  kmsg.Key
		err  *kerr.Error
		top  bool
		want string
	}{
		"the topic": {in0, kmsg.Metadata, kerr.TopicAuthorizationFailed, false,
			fmt.Sprintf(refused, "Describe")},
		"the topic, for a while": {in0, kmsg.Metadata, kerr.LeaderNotAvailable, false,
			silent + ": reading the end of in/0: LEADER_NOT_AVAILABLE"},
		"no such partition": {
			in1, 0, nil, false, "reading the end of in/1: no broker has answered for 300ms: LEADER_NOT_AVAILABLE"},
		"its records": {in0, kmsg.Fetch, kerr.TopicAuthorizationFailed, false,
			fmt.Sprintf(refused, "Read")},
		"its records, for a while": {in0, kmsg.Fetch, kerr.NotLeaderForPartition, false,
			silent + ": reading the end of in/0: NOT_LEADER_FOR_PARTITION"},
		"the whole answer, for a while": {in0, kmsg.Fetch, kerr.FetchSessionIDNotFound, true,
			silent + ": FETCH_SESSION_ID_NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.SeedTopics(1, "in"))
			transaction(t, c, "in", 0, 0, 4, kgo.TryAbort)
			s := asking(t, c)
			if test.err != nil {
				c.Fault(kfake.Fault{Keys: []kmsg.Key{test.key}, Err: test.err, Count: -1, TopLevel: test.top})
			}
			at, err := (tails{s.client, kadm.NewClient(s.client), zerolog.Nop()}).beyond(hurried(t), test.p, 2, 5)
			if at != 2 || !Final(err) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("to %d, %v; want %s", at, err, test.want)
			}
		})
	}
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	s := asking(t, c)
	if err := s.client.Ping(limited(t)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if at, err := (tails{s.client, kadm.NewClient(s.client), zerolog.Nop()}).beyond(hurried(t), in0, 2, 5); at != 2 ||
		!errors.Is(err, errImpatient) {
		t.Errorf("no broker is reachable: to %d, %v", at, err)
	}
}

// The error of an interrupted wait says what the program waited for, and also the last failure if
// the wait timed out.
func TestWaitsThatAreBrokenOff(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	late, cancelLate := context.WithTimeout(t.Context(), 0)
	defer cancelLate()
	last := errors.New("refused")
	for _, c := range []struct {
		ctx  context.Context
		last error
		want string
		is   error
	}{
		{cancelled, nil, "asking: stopped", stopped}, {cancelled, last, "asking: stopped", stopped},
		{late, nil, "asking: context deadline exceeded", context.DeadlineExceeded},
		{late, last, "asking: context deadline exceeded; before that: refused", context.DeadlineExceeded},
	} {
		if err := interrupted(c.ctx, "asking", c.last); err.Error() != c.want || !errors.Is(err, c.is) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	// The same holds while it waits for the next retry.
	within, end := context.WithCancelCause(limited(t))
	err := persist(within, zerolog.Nop(), "asking", func(context.Context) error {
		time.AfterFunc(time.Millisecond, func() { end(stopped) })
		return last
	})
	if !errors.Is(err, stopped) || Final(err) {
		t.Errorf("waiting for the next try: %v", err)
	}
}

// A question that is not the first contact is repeated while the connection is closed. Each retry
// is logged, except when a newly created topic is not known yet.
func TestQuestionsAreRepeated(t *testing.T) {
	for _, test := range []struct {
		patience time.Duration
		err      error
		lines    int
	}{{0, io.EOF, 3}, {0, errNotYet, 0}, {0, fmt.Errorf("within: %w", errNotYet), 0}, {time.Hour, io.EOF, 1}} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			calls := 0
			err := persist(WithPatience(t.Context(), test.patience), zerolog.New(&log), "asking", func(context.Context) error {
				if calls++; calls > 3 {
					return nil
				}
				return test.err
			})
			if lines := strings.Count(log.String(), `"message":"asking is interrupted; it is tried again"`); err != nil ||
				calls != 4 || lines != test.lines {
				t.Errorf("%v: %v after %d calls, %d lines of log, want %d", test.err, err, calls, lines, test.lines)
			}
			if test.lines > 0 && !strings.Contains(log.String(), `"error":"EOF","try":1`) {
				t.Errorf("logged is %s", &log)
			}
		})
	}
}

// The client asks for each topic once, however often the topic is named.
func TestTopicsAreLearntOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "out", "beside"))
	ended := new(endedRecords)
	box := newOutbox(newClient(t, c, kgo.WithHooks(ended)))
	for _, step := range []struct {
		topic  string
		others []string
		want   int64
	}{{"out", []string{"beside", "out", "beside"}, 2}, {"out", []string{"beside"}, 2}, {"beside", nil, 2}} {
		if err := box.introduce(limited(t), step.topic, step.others...); err != nil || ended.n.Load() != step.want {
			t.Errorf("%s and %v: %d records, %v; want %d", step.topic, step.others, ended.n.Load(), err, step.want)
		}
	}
	// A topic whose metadata cannot be read is asked for again.
	for want := int64(3); want < 5; want++ {
		if err := box.introduce(limited(t), "out", "missing"); err != nil || ended.n.Load() != want ||
			box.hasLearnt("missing") || box.strange.Load() {
			t.Errorf("with a missing topic: %d records, %v, strange %v", ended.n.Load(), err, box.strange.Load())
		}
	}
}

// endedRecords counts the records that have left the client's buffer.
type endedRecords struct{ n atomic.Int64 }

// OnProduceRecordUnbuffered implements kgo.HookProduceRecordUnbuffered.
func (e *endedRecords) OnProduceRecordUnbuffered(*kgo.Record, error) { e.n.Add(1) }
