package kafka

import (
	"context"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// OpenAll opens what the topics hold now, from their beginning. It is Open without a group,
// for programs that look at topics and process nothing.
func (c *SourceConfig) OpenAll(ctx context.Context) (connectors.Source, error) {
	return c.openAll(ctx)
}

func (c *SourceConfig) openAll(ctx context.Context) (*Source, error) {
	log := *zerolog.Ctx(ctx)
	o, err := openReader(ctx, c, log)
	if err != nil {
		return nil, err
	}
	s := &Source{config: c, log: log, opened: o}
	if err := s.bound(ctx); err != nil {
		o.close()
		return nil, err
	}
	return s, nil
}

// Peek calls visit with the values of at most n messages, the first of each partition. It
// joins no group and commits nothing. A value must not be used after visit returns.
func (c *SourceConfig) Peek(ctx context.Context, n int, visit func(value []byte)) error {
	s, err := c.openAll(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	client, err := c.connect(s.log, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxWait(tick))
	if err != nil {
		return err
	}
	r := &reader{source: s, client: client, size: n}
	defer r.Close()
	for i := range s.spans {
		p := &s.spans[i]
		if r.next = p.from; r.next >= p.end {
			continue
		}
		partition := map[string][]int32{p.Topic: {p.Number}}
		client.AddConsumePartitions(map[string]map[int32]kgo.Offset{p.Topic: {p.Number: kgo.NewOffset().At(p.from)}})
		share := max(n/len(s.spans), 1)
		for r.next < p.end && len(r.pending) < share {
			if err := r.poll(ctx, p); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
		}
		client.RemoveConsumePartitions(partition)
		for _, m := range r.pending[:min(share, len(r.pending))] {
			visit(m.Value)
		}
		r.pending = r.pending[:0]
	}
	return nil
}
