package kafka

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// lagPatience bounds the wait for the end offsets of partitions. Nothing depends on them.
const lagPatience = 2 * time.Second

// watchLag tells the observer the lag of partitions that have just been assigned. After that
// each fetch that brings records updates it; without records nothing else would.
func (s *Stream) watchLag(ctx context.Context, of []Partition) {
	if s.config.Watch == nil {
		return
	}
	var topics []string
	wanted := map[Partition]bool{}
	for _, p := range of {
		if !slices.Contains(topics, p.Topic) {
			topics = append(topics, p.Topic)
		}
		wanted[p] = true
	}
	ctx, cancel := context.WithTimeout(ctx, lagPatience)
	defer cancel()
	ends, err := kadm.NewClient(s.client).ListCommittedOffsets(ctx, topics...)
	if err != nil {
		s.config.Log.Debug().Err(err).Msg("the lag is not known until records come")
		return
	}
	ends.Each(func(o kadm.ListedOffset) {
		if p := (Partition{Topic: o.Topic, Number: o.Partition}); o.Err == nil && wanted[p] {
			s.config.Watch.Lag(o.Topic, o.Partition, max(0, o.Offset-s.at[p]))
		}
	})
}
