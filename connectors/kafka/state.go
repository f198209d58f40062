package kafka

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// StateTopic is the compacted topic in which a group keeps what must survive its
// members: the assessment of each partition. It is as confidential as the source.
func (c *SourceConfig) StateTopic(pipeline string) string { return c.groupName(pipeline) + "-state" }

// States are the entries that a group has kept, by pipeline and partition, then
// by the rest of their key.
type States map[StateOf]map[string][]byte

// StateOf says whose state it is.
type StateOf struct {
	Pipeline string
	Partition
}

// A key is the pipeline's name, the topic, the partition and the entry's own
// key, separated by a character that none of the first three can hold.
const stateSeparator = "\x1f"

func (o StateOf) key(entry string) []byte {
	return []byte(strings.Join([]string{o.Pipeline, o.Topic, strconv.Itoa(int(o.Number)), entry}, stateSeparator))
}

func parseStateKey(key []byte) (of StateOf, entry string, ok bool) {
	parts := strings.SplitN(string(key), stateSeparator, 4)
	if len(parts) != 4 {
		return of, "", false
	}
	n, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return of, "", false
	}
	return StateOf{parts[0], Partition{Topic: parts[1], Number: int32(n)}}, parts[3], true
}

// home is the partition of the state topic that holds what belongs to o.
func (o StateOf) home(partitions int32) int32 {
	sum := sha256.Sum256([]byte(o.Topic))
	return int32((uint64(binary.BigEndian.Uint32(sum[:])) + uint64(o.Number)) % uint64(partitions))
}

// PutState adds an entry of a partition's state to the open transaction. A nil
// value removes the entry.
func (s *Stream) PutState(ctx context.Context, p Partition, entry string, value []byte) {
	of := StateOf{s.config.Name, p}
	s.Produce(ctx, &kgo.Record{
		Topic: s.config.Source.StateTopic(s.config.Name), Partition: of.home(s.statePartitions),
		Key: of.key(entry), Value: value,
	})
}

// states reads the entries of partitions, up to the last transaction that had ended before the
// call.
func (s *Stream) states(ctx context.Context, of []Partition) (States, error) {
	var homes []int32
	for _, p := range of {
		if home := (StateOf{s.config.Name, p}).home(s.statePartitions); !slices.Contains(homes, home) {
			homes = append(homes, home)
		}
	}
	return readStates(ctx, s.config.Source, s.config.Name, homes, s.config.Log)
}

// ReadStates reads everything that a group has kept.
func ReadStates(ctx context.Context, c *SourceConfig, pipeline string, log zerolog.Logger) (States, error) {
	states, err := readStates(ctx, c, pipeline, nil, log)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil,
			&FinalError{
				Text: fmt.Sprintf("the consumer group %q has kept no assessment: the topic %q does not exist",
					c.groupName(pipeline), c.StateTopic(pipeline)), Err: err}
	}
	return states, err
}

// readStates reads partitions of the state topic; all if none is given. The last transaction
// may still be open and belong to a member that has just lost its partitions. As
// read_committed, it waits for the end of that transaction.
func readStates(ctx context.Context, c *SourceConfig, pipeline string, partitions []int32, log zerolog.Logger) (States,
	error) {
	topic := c.StateTopic(pipeline)
	options, err := c.options(log)
	if err != nil {
		return nil, err
	}
	client,
		err := kgo.NewClient(append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	starts, ends, err := bounds(ctx, kadm.NewClient(client), topic)
	if err != nil {
		return nil, err
	}
	states, at := States{}, map[int32]int64{}
	from := map[int32]kgo.Offset{}
	for n, end := range ends {
		if len(partitions) > 0 && !slices.Contains(partitions, n) || starts[n] >= end {
			continue
		}
		from[n], at[n] = kgo.NewOffset().At(starts[n]), starts[n]
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: from})
	last := time.Now()
	for len(at) > 0 {
		pollCtx, cancel := context.WithTimeout(ctx, idleWait)
		fetches := client.PollFetches(pollCtx)
		cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for _, e := range fetches.Errors() {
			if Final(e.Err) {
				return nil, explainError(e.Err, "reading "+topic)
			}
		}
		fetches.EachRecord(func(r *kgo.Record) {
			last = time.Now()
			if at[r.Partition] = r.Offset + 1; r.Offset+1 >= ends[r.Partition] {
				delete(at, r.Partition)
			}
			if !r.Attrs.IsControl() {
				states.put(r)
			}
		})
		if admin := kadm.NewClient(client); time.Since(last) > 2*time.Second && stable(ctx, admin, topic, at, ends) {
			// What is left was compacted away or aborted, or brokers are slow.
			rest := tails{client, admin, log}
			if err := rest.drop(ctx, topic, at, ends); err != nil {
				return nil, err
			}
			last = time.Now()
		}
	}
	return states, nil
}

// put takes up a record of the state topic: a later one of a key replaces it.
func (s States) put(r *kgo.Record) {
	of, entry, ok := parseStateKey(r.Key)
	if !ok {
		return
	}
	if s[of] == nil {
		s[of] = map[string][]byte{}
	}
	if r.Value == nil {
		delete(s[of], entry)
	} else {
		s[of][entry] = r.Value
	}
}

// bounds returns the first and the end offset of each partition, open
// transactions included.
func bounds(ctx context.Context, admin *kadm.Client, topic string) (starts, ends map[int32]int64, err error) {
	starts, ends = map[int32]int64{}, map[int32]int64{}
	for _, list := range []struct {
		into map[int32]int64
		ask  func(context.Context, ...string) (kadm.ListedOffsets, error)
	}{{starts, admin.ListStartOffsets}, {ends, admin.ListEndOffsets}} {
		offsets, err := list.ask(ctx, topic)
		if err == nil {
			err = offsets.Error()
		}
		if err != nil {
			return nil, nil, explainError(err, fmt.Sprintf("asking for the offsets of %q", topic))
		}
		offsets.Each(func(o kadm.ListedOffset) { list.into[o.Partition] = o.Offset })
	}
	return starts, ends, nil
}

// stable reports whether no transaction is open before the ends of partitions.
func stable(ctx context.Context, admin *kadm.Client, topic string, partitions, ends map[int32]int64) bool {
	committed, err := admin.ListCommittedOffsets(ctx, topic)
	if err != nil || committed.Error() != nil {
		return false
	}
	for n := range partitions {
		if o, ok := committed.Lookup(topic, n); !ok || o.Offset < ends[n] {
			return false
		}
	}
	return true
}
