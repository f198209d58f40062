package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick makes clients refresh metadata early and give up early.
var quick = []kgo.Opt{kgo.MetadataMinAge(100 * time.Millisecond), kgo.RetryTimeout(200 * time.Millisecond)}

func newCluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func connection(c *kfake.Cluster) Connection {
	return Connection{Brokers: c.ListenAddrs(), tuning: quick}
}

// limited bounds the waiting time of a test.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*eventually.Patience)
	t.Cleanup(cancel)
	return ctx
}

func newClient(t *testing.T, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(append([]kgo.Opt{
		kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(100 * time.Millisecond),
	}, quick...), opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// messageOf returns record i of a partition.
func messageOf(topic string, partition int32, i int) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Partition: partition, Key: fmt.Appendf(nil, "key-%d", i),
		Value: fmt.Appendf(nil, `{"wage":%d.5,"region":"r%d"}`, i, i%3),
	}
}

// fill writes n messages to a partition, numbered from `from`.
func fill(t *testing.T, cl *kgo.Client, topic string, partition int32, from, n int) {
	t.Helper()
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, messageOf(topic, partition, from+i))
	}
	if err := cl.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// transaction writes n messages to a partition in one transaction.
func transaction(t *testing.T, c *kfake.Cluster, topic string, partition int32, from, n int,
	end kgo.TransactionEndTry) {
	t.Helper()
	cl := newClient(t, c, kgo.TransactionalID(fmt.Sprintf("test-%s-%d-%d", topic, partition, from)))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	fill(t, cl, topic, partition, from, n)
	if err := cl.EndTransaction(t.Context(), end); err != nil {
		t.Fatal(err)
	}
}

// declaredColumns are the columns of messageOf.
var declaredColumns = []message.Column{{Name: "wage", Number: true}, {Name: "region"}}

func sourceOf(c *kfake.Cluster, topics ...string) *SourceConfig {
	s := &SourceConfig{Connection: connection(c), Topics: topics, Group: "g", Until: latest}
	s.declare(declaredColumns, false, false)
	return s
}

func open(t *testing.T, c *SourceConfig) *Source {
	t.Helper()
	s, err := c.Open(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*Source)
}

// layoutOf returns a layout that reads and releases all columns.
func layoutOf(s *microdata.Schema) *microdata.Layout {
	l := &microdata.Layout{Schema: s}
	for i, f := range s.Fields {
		as := microdata.Array
		if f.Numeric() {
			as = microdata.Numbers
		}
		l.Read = append(l.Read, microdata.Want{Field: i, As: as})
		l.Release = append(l.Release, microdata.Output{Field: f, Source: i, Column: i, Decimals: -1})
	}
	return l
}

// place is the partition and offset of a record.
type place struct {
	scope  string
	stream int
	offset int64
	wage   float64
}

// readAll reads one pass and returns the places of the records and the number of records in each
// block.
func readAll(t *testing.T, s *Source, cut connectors.Cut) (places []place, sizes []int) {
	t.Helper()
	ctx := limited(t)
	r, err := s.Read(ctx, layoutOf(s.Schema()), cut)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b microdata.Block
	for {
		raw, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return places, sizes
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, b.N)
		for i := range b.N {
			p := place{scope: b.Scope, stream: b.Stream, offset: b.Place(i)}
			if !b.Rejected(i) {
				p.wage = b.Columns[0].Original.Values[i]
			}
			places = append(places, p)
		}
	}
}

// committedValues reads a topic up to its last stable offset like a read_committed consumer.
func committedValues(t *testing.T, c *kfake.Cluster, topic string) []*kgo.Record {
	t.Helper()
	ctx := limited(t)
	cl := newClient(t, c, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(50*time.Millisecond),
		kgo.KeepControlRecords())
	ends, err := kadm.NewClient(cl).ListCommittedOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	var rs []*kgo.Record
	for at := (map[int32]int64{}); ; {
		rest := false
		ends.Each(func(end kadm.ListedOffset) { rest = rest || at[end.Partition] < end.Offset })
		if !rest {
			return rs
		}
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("reading %s to its end: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			at[r.Partition] = r.Offset + 1
			if !r.Attrs.IsControl() {
				rs = append(rs, r)
			}
		})
	}
}
