// Command barecopy copies a topic in transactions with franz-go and does nothing else.
// The program is compared with it, and the test harness is tested with it. SIGTERM makes
// it commit and end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	brokers := flag.String("brokers", "", "addresses, separated by commas")
	group := flag.String("group", "", "consumer group")
	instance := flag.String("instance", "", "this member's own name in the group")
	from := flag.String("from", "", "topic to read")
	to := flag.String("to", "", "topic to write")
	interval := flag.Duration("interval", time.Second, "a transaction is committed after so much time")
	flag.Parse()
	if err := run(strings.Split(*brokers, ","), *group, *instance, *from, *to, *interval); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(brokers []string, group, instance, from, to string, interval time.Duration) error {
	id := fmt.Sprintf("%s-%d", group, os.Getpid())
	opts := []kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(from),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		// With the client's defaults the copy would be slower than necessary, and it is no
		// faster with the program's smaller fetches.
		kgo.MaxBufferedRecords(200_000),
		kgo.ProducerLinger(5 * time.Millisecond),
		kgo.FetchMaxPartitionBytes(4 << 20),
	}
	if instance != "" {
		id = group + "-" + instance
		opts = append(opts, kgo.InstanceID(instance))
	}
	session, err := kgo.NewGroupTransactSession(append(opts, kgo.TransactionalID(id))...)
	if err != nil {
		return err
	}
	defer session.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	for ctx.Err() == nil {
		if err := transaction(ctx, session, to, interval); err != nil {
			return err
		}
	}
	return nil
}

// transaction copies for an interval and commits.
func transaction(ctx context.Context, session *kgo.GroupTransactSession, to string, interval time.Duration) error {
	if err := session.Begin(); err != nil {
		return err
	}
	until, cancel := context.WithTimeout(ctx, interval)
	defer cancel()
	var failed atomic.Bool
	promise := func(_ *kgo.Record, err error) {
		if err != nil {
			failed.Store(true)
		}
	}
	for until.Err() == nil {
		fetches := session.PollRecords(until, 50_000)
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.DeadlineExceeded) && !errors.Is(e.Err, context.Canceled) && !kerr.IsRetriable(e.Err) {
				fmt.Fprintln(os.Stderr, "fetching:", e.Err)
			}
		}
		copies := make([]kgo.Record, fetches.NumRecords())
		i := 0
		fetches.EachRecord(func(r *kgo.Record) {
			c := &copies[i]
			i++
			c.Topic, c.Partition, c.Value, c.Timestamp = to, r.Partition, r.Value, r.Timestamp
			session.Produce(context.Background(), c, promise)
		})
	}
	// The end of the transaction continues after SIGTERM: copied records are committed.
	ending, cancelEnding := context.WithTimeout(context.Background(), time.Minute)
	defer cancelEnding()
	_, err := session.End(ending, kgo.TransactionEndTry(!failed.Load()))
	if err != nil && kerr.IsRetriable(err) {
		return nil
	}
	return err
}
