package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
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
	"github.com/sdlfilter/sdlfilter/microdata"
)

// patient makes clients refresh their metadata early, but keeps their usual time before they give
// up: a slow machine must not fail the test.
var patient = []kgo.Opt{kgo.MetadataMinAge(100 * time.Millisecond)}

func unhurried(c *SourceConfig) *SourceConfig {
	c.tuning = patient
	return c
}

func unhurriedSink(c *kfake.Cluster) *SinkConfig {
	s := sinkOf(c, "out")
	s.tuning = patient
	return s
}

// jobs contains jobs on topics. Each returns its output as lines.
var jobs = map[string]func(ctx context.Context, c *kfake.Cluster) ([]string, error){
	"source": func(ctx context.Context, c *kfake.Cluster) ([]string, error) {
		s, err := unhurried(sourceOf(c, "in")).Open(ctx)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		r, err := s.Read(ctx, layoutOf(s.Schema()), connectors.Cut{})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		var got []string
		for {
			raw, err := r.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			var b microdata.Block
			if err := raw.Decode(&b); err != nil {
				return nil, err
			}
			for i := range b.N {
				got = append(got, fmt.Sprint(b.Scope, b.Stream, b.Place(i), b.Columns[0].Original.Values[i]))
			}
		}
		return got, s.Abilities().Acknowledge(ctx)
	},
	"peek": func(ctx context.Context, c *kfake.Cluster) (got []string, err error) {
		err = unhurried(sourceOf(c, "in")).Peek(ctx, 9, func(value []byte) { got = append(got, string(value)) })
		return got, err
	},
	"sink": func(ctx context.Context, c *kfake.Cluster) ([]string, error) {
		src, err := unhurried(sourceOf(c, "in")).Open(ctx)
		if err != nil {
			return nil, err
		}
		defer src.Close()
		layout := layoutOf(src.Schema())
		sink, err := unhurriedSink(c).Create(ctx, connectors.Plan{Source: src, Layout: layout})
		if err != nil {
			return nil, err
		}
		defer sink.Abort()
		r, err := src.Read(ctx, layout, connectors.Cut{})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		for {
			raw, err := r.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			var b microdata.Block
			if err := raw.Decode(&b); err != nil {
				return nil, err
			}
			e, err := sink.Encode(&b)
			if err != nil {
				return nil, err
			}
			if err := sink.Write(ctx, e); err != nil {
				return nil, err
			}
		}
		if err := sink.Finish(ctx); err != nil {
			return nil, err
		}
		return nil, sink.Commit()
	},
	"notes": func(ctx context.Context, c *kfake.Cluster) ([]string, error) {
		connection := connection(c)
		connection.tuning = patient
		notes, err := connection.OpenNotes(ctx, []string{"out", "held", "out"})
		if err != nil {
			return nil, err
		}
		defer notes.Close()
		for i := range 5 {
			if err := notes.Add(ctx, "out", fmt.Append(nil, "note ", i)); err != nil {
				return nil, err
			}
		}
		return nil, notes.Flush(ctx)
	},
	"stream": func(ctx context.Context, c *kfake.Cluster) ([]string, error) { return nil, streamed(ctx, c) },
}

// streamed runs a bounded stream, transaction by transaction, and stops at the first error.
func streamed(ctx context.Context, c *kfake.Cluster) error {
	config := StreamConfig{
		Name: "p", Source: unhurried(sourceOf(c, "in")), Sink: unhurriedSink(c),
		Commit: Commit{Interval: connectors.Duration(time.Second), Records: 20}, Due: func() bool { return false },
		Enter: func(Partition, Arrival, map[string][]byte) error { return nil }, Watch: &observer{lag: map[Partition]int64{}},
		Log: zerolog.Nop(),
	}
	s, err := OpenStream(ctx, config)
	if err != nil {
		return err
	}
	defer s.Close()
	source, err := s.Source(ctx, config.Source)
	if err != nil {
		return err
	}
	if err := s.Beside(ctx, []string{"held"}, ""); err != nil {
		return err
	}
	layout := layoutOf(source.Schema())
	release, err := s.Release(ctx, source, layout, keytest.Key(1), "")
	if err != nil {
		return err
	}
	decoder, err := source.Decoder(layout, release.Carries())
	if err != nil {
		return err
	}
	if err := s.Join(decoder, release.KeepsTombstones()); err != nil {
		return err
	}
	defer s.Leave()
	for !s.Finished() {
		if err := s.Begin(ctx); err != nil {
			return err
		}
		for {
			raw, err := s.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			var b microdata.Block
			if err := raw.Decode(&b); err != nil {
				return err
			}
			e, err := release.Encode(ctx, &b, false)
			if err != nil {
				return err
			}
			if err := release.Write(ctx, raw, &b, e, false); err != nil {
				return err
			}
		}
		if _, err := s.End(ctx, s.Touched()); err != nil {
			return err
		}
	}
	return nil
}

// visible returns the committed messages of a topic with two partitions, one line per partition. It
// reads up to the last stable offsets, without a time limit.
func visible(t *testing.T, c *kfake.Cluster, topic string) []string {
	t.Helper()
	client := newClient(t, c, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(50*time.Millisecond))
	defer client.Close()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(t.Context(), topic)
	if err != nil || ends.Error() != nil {
		t.Fatal(err, ends.Error())
	}
	out, left := make([]string, 2), map[int32]bool{}
	ends.Each(func(o kadm.ListedOffset) { left[o.Partition] = o.Offset > 0 })
	for left[0] || left[1] {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				out[r.Partition] += fmt.Sprintf("%s=%s ", r.Key, r.Value)
			}
			if end, _ := ends.Lookup(topic, r.Partition); r.Offset >= end.Offset-1 {
				left[r.Partition] = false
			}
		})
	}
	return out
}

// Each question to the brokers is answered once by a final error. The job must either return an
// error, or complete everything that it can do without the answer. It must never report success for
// an incomplete job, and the records released before the error must be the beginning of the full
// output, each message once.
func TestEveryQuestionIsRefusedOnce(t *testing.T) {
	for job, do := range jobs {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			var right []string
			reported := map[string]bool{} // questions whose refusal was reported
			// attempt runs the job and refuses the nth question with the given name; with an empty
			// name it refuses none. Questions are counted by name, because goroutines ask them in
			// no fixed order.
			attempt := func(name string, n int) (counts map[string]int, got, released []string, err error) {
				c := newCluster(t, kfake.SeedTopics(2, "in", "out"), kfake.SeedTopics(1, "held"))
				defer c.Close()
				client := newClient(t, c)
				fill(t, client, "in", 0, 0, 25)
				fill(t, client, "in", 1, 100, 12)
				client.Close()
				var mu sync.Mutex
				perName, over := map[string]int{}, false
				c.Fault(kfake.Fault{Err: kerr.ClusterAuthorizationFailed, Count: -1, When: func(r kmsg.Request) bool {
					switch r.Key() {
					case int16(kmsg.ApiVersions), int16(kmsg.Metadata), int16(kmsg.Heartbeat), int16(kmsg.LeaveGroup):
						return false // the client itself repeats it
					}
					mu.Lock()
					defer mu.Unlock()
					question := kmsg.NameForKey(r.Key())
					perName[question]++
					return question == name && perName[question] == n && !over
				}})
				got, err = do(t.Context(), c)
				mu.Lock()
				counts, over = maps.Clone(perName), true
				mu.Unlock()
				return counts, got, visible(t, c, "out"), err
			}
			questions, got, released, err := attempt("", 0)
			if err != nil {
				t.Fatal(err)
			}
			if right = append(got, released...); len(strings.Join(right, "")) < 40 {
				t.Fatalf("the job makes %q", right)
			}
			for _, question := range slices.Sorted(maps.Keys(questions)) {
				for n := 1; n <= questions[question]; n++ {
					counts, got, released, err := attempt(question, n)
					switch {
					case counts[question] < n: // asked fewer than n times in this run, so none was refused
					case err != nil:
						reported[question] = true
						for i, line := range released {
							if whole := right[len(right)-2+i]; !strings.HasPrefix(whole, line) {
								t.Errorf("%s refused: released is %q, and without that %q", question, line, whole)
							}
						}
					case !slices.Equal(append(got, released...), right):
						t.Errorf("%s refused, the %dth: the job reports success with %q, want %q", question, n, append(got, released...),
							right)
					}
				}
			}
			for _, question := range map[string][]string{
				"source": {"ListOffsets", "OffsetFetch", "OffsetCommit"}, "peek": {"ListOffsets"},
				"sink":   {"InitProducerID", "FindCoordinator", "Produce", "ListOffsets"},
				"notes":  {"InitProducerID", "Produce"},
				"stream": {"InitProducerID", "ListOffsets", "OffsetFetch", "Produce", "JoinGroup", "TxnOffsetCommit"},
			}[job] {
				if !reported[question] {
					t.Errorf("the refusal of %s is never reported; reported are %v", question, reported)
				}
			}
		})
	}
}
