package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fetchBytes is how many bytes of batches a broker sends at a time. The client asks for the next
// ones once a poll has emptied what it holds, and one poll mostly does. So they arrive, and are
// unpacked, while those before them are worked on. More would wait for polls, meanwhile drop out of
// the processor's caches, and then leave the workers without work until the next have arrived.
const fetchBytes = 2 << 20

// pollRecords is how many records a poll brings at most: those of fetchBytes, if they are not small.
const pollRecords = 60_000

// membership is how the client reads as a member of the group, and writes.
func (s *Stream) membership() ([]kgo.Opt, error) {
	options, err := s.config.Source.options(s.config.Log)
	if err != nil {
		return nil, err
	}
	c := s.config.Source
	options = append(options,
		kgo.ConsumerGroup(c.groupName(s.config.Name)),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.BlockRebalanceOnPoll(),
		kgo.DisableAutoCommit(),
		kgo.MetadataMaxAge(lookEvery), // new topics and partitions are found after that
		kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchBytes),
		kgo.FetchMaxWait(500*time.Millisecond), // a partition that is assigned is read only after that
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(sessionTimeout/5),
		kgo.RebalanceTimeout(30*time.Second+2*s.interval()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		compressing(s.compression()),
		kgo.MaxBufferedRecords(200_000),
		kgo.ProducerBatchMaxBytesFn(s.limit),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.OnPartitionsAssigned(s.onAssigned),
		kgo.OnPartitionsRevoked(s.onRevoked),
		kgo.OnPartitionsLost(s.onLost),
		kgo.OnPartitionsCallbackBlocked(func(context.Context, *kgo.Client) { s.blocked.Store(true) }),
		kgo.WithHooks(watcher{s.config.Watch}),
	)
	start, err := c.startOffset()
	if err != nil {
		return nil, err
	}
	options = append(options, kgo.ConsumeStartOffset(start), kgo.AdjustFetchOffsetsFn(s.pin(start)),
		// If records that were to be read have been deleted, reading goes on with the first that is
		// left.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if c.Pattern != "" {
		options = append(options, kgo.ConsumeRegex(), kgo.ConsumeTopics(c.Pattern))
	} else {
		options = append(options, kgo.ConsumeTopics(c.Topics...))
	}
	if c.Instance != "" {
		options = append(options, kgo.InstanceID(c.Instance))
	}
	return options, nil
}
