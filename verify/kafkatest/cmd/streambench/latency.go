package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/process"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

const (
	latencyRate    = 10_000 // records a second
	latencyWarmUp  = 5 * time.Second
	latencyMeasure = 30 * time.Second
)

// latency measures the time from the production of a record to the moment at which a
// read_committed reader has it. A record's timestamp is that of its production, and is
// released.
func latency(ctx context.Context, o options) error {
	c, err := connect(o.brokers)
	if err != nil {
		return err
	}
	defer c.client.Close()
	const partitions = 4
	from := fmt.Sprintf("latency-%d", time.Now().Unix())
	to, group := from+"-out", from+"-group"
	for _, topic := range []string{from, to} {
		if err := c.topic(ctx, topic, partitions); err != nil {
			return err
		}
	}
	config, err := o.stream(group, from, to)
	if err != nil {
		return err
	}
	run, err := process.Start(o.dir, nil, o.filter, "run", "--quiet", config)
	if err != nil {
		return err
	}
	defer run.Kill()
	reader,
		err := kgo.NewClient(kgo.SeedBrokers(o.brokers...), kgo.ConsumeTopics(to),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond))
	if err != nil {
		return err
	}
	defer reader.Close()

	begin := time.Now()
	total := int64((latencyWarmUp + latencyMeasure).Seconds() * latencyRate)
	go produceAtRate(ctx, c.client, from, partitions, begin, total)
	seconds, err := delays(ctx, reader, begin, total)
	if err != nil {
		return fmt.Errorf("%w: %s", err, run.Tail())
	}
	if err := run.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if status, err := run.Wait(time.Minute); err != nil || status != 0 {
		return fmt.Errorf("the program exits %d, %v: %s", status, err, run.Tail())
	}
	quantile := func(q float64) float64 { return seconds[int(q*float64(len(seconds)-1))] }
	fmt.Printf(
		"From production to committed release at %s records/s, commits every %v: p50 %.2f s, p99 %.2f s (%.2f commit intervals), greatest %.2f s, of %s records.\n\n",
		thousands(latencyRate), o.interval, quantile(0.5), quantile(0.99), quantile(0.99)/o.interval.Seconds(),
		seconds[len(seconds)-1], thousands(float64(len(seconds))))
	return nil
}

// produceAtRate produces total records into the partitions of a topic, at latencyRate from
// begin on.
func produceAtRate(ctx context.Context, client *kgo.Client, topic string, partitions int32, begin time.Time,
	total int64) {
	records := survey.Records{Seed: 1, Partitions: partitions}
	for i := range total {
		if ahead := time.Duration(float64(i)/latencyRate*1e9) - time.Since(begin); ahead > 0 {
			wait.Elapse(ctx, ahead) // the rate
		}
		p := int32(i % int64(partitions))
		client.Produce(ctx,
			&kgo.Record{Topic: topic, Partition: p, Timestamp: time.Now(),
				Value: records.At(p, i/int64(partitions)).AppendJSON(nil)}, nil)
	}
}

// delays reads total records and returns, in ascending order, the seconds from the
// production of each to its arrival, without those of the warm-up.
func delays(ctx context.Context, reader *kgo.Client, begin time.Time, total int64) ([]float64, error) {
	var seconds []float64
	for seen := int64(0); seen < total; {
		limit, cancel := context.WithTimeout(ctx, 30*time.Second)
		fetches := reader.PollFetches(limit)
		err := limit.Err()
		cancel()
		if err != nil {
			return nil, fmt.Errorf("%d of %d records have come: %w", seen, total, err)
		}
		now := time.Now()
		fetches.EachRecord(func(r *kgo.Record) {
			seen++
			if r.Timestamp.Sub(begin) > latencyWarmUp {
				seconds = append(seconds, now.Sub(r.Timestamp).Seconds())
			}
		})
	}
	slices.Sort(seconds)
	return seconds, nil
}
