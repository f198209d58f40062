package kafkatest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// testSoak: as many records as the program can process. Memory and goroutines do not grow.
func testSoak(t *testing.T, s *site) {
	c := newTrial(t, s, 19, 0)
	out := c.in + "-out"
	// Records that were read may be deleted: ten minutes are some 20 GB.
	s.topic(t, out, partitions, "retention.bytes", "134217728", "segment.bytes", "33554432", "segment.ms", "10000")
	c.in += "-in"
	s.topic(t, c.in, partitions, "segment.bytes", "33554432")
	p := pipeline{group: c.in, out: out, interval: "1s", replicas: 200}
	config := c.write(t, p)
	lasts := scale(10*time.Second, 10*time.Minute)

	var produced atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	fed := make(chan error, 1)
	go func() { fed <- c.flood(ctx, p.group, &produced) }()
	address := freeAddress(t)
	filter := c.run(t, config, "--listen", address)
	c.moves(t, p.group, nil, time.Minute, filter)

	type sample struct {
		rss        int64
		goroutines float64
	}
	var samples []sample
	began := time.Now()
	at0, _ := c.committed(t.Context(), p.group, c.in, partitions)
	for time.Since(began) < lasts {
		wait.Elapse(t.Context(), lasts/100) // between two samples
		rss, err := filter.RSS()
		if err != nil {
			t.Fatal(err)
		}
		goroutines, err := metric(address, "go_goroutines")
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, sample{rss, goroutines})
	}
	at1, err := c.committed(t.Context(), p.group, c.in, partitions)
	if err != nil {
		t.Fatal(err)
	}
	rate := float64(sum(at1)-sum(at0)) / time.Since(began).Seconds()
	stop()
	if err := <-fed; err != nil {
		t.Fatal(err)
	}
	ends, err := s.admin.ListEndOffsets(t.Context(), c.in)
	want, err := offsets(t, ends, err, partitions)
	if err != nil {
		t.Fatal(err)
	}
	if sum(want) != produced.Load() {
		t.Fatalf("%d records are in the topic, %d were produced", sum(want), produced.Load())
	}
	c.awaitOffsets(t, p.group, want, 2*time.Minute, filter)
	drain(t, filter)

	// The second third and the last are compared: in the first, buffers grow to the size that the
	// rate needs.
	third := len(samples) / 3
	peak := func(from, to int) (m sample) {
		for _, s := range samples[from:to] {
			m.rss, m.goroutines = max(m.rss, s.rss), max(m.goroutines, s.goroutines)
		}
		return m
	}
	middle, last := peak(third, 2*third), peak(2*third, len(samples))
	t.Logf("%.0f records/s over %v; peak RSS %d, then %d MiB; goroutines %.0f, then %.0f; CPU %.2f µs a record", rate,
		lasts,
		middle.rss>>20, last.rss>>20, middle.goroutines, last.goroutines, filter.CPU().Seconds()*1e6/float64(sum(want)))
	// Ten seconds are too short for a stable rhythm of the garbage collector.
	tolerance := scale(1.5, 1.1)
	if float64(last.rss) > tolerance*float64(middle.rss)+16<<20 {
		t.Errorf("memory grows: its peak was %d MiB in the second third and %d in the last", middle.rss>>20, last.rss>>20)
	}
	if last.goroutines > middle.goroutines+10 {
		t.Errorf("goroutines grow: there were %.0f at most in the second third and %.0f in the last", middle.goroutines,
			last.goroutines)
	}
	if kept := c.totals(t, p.group, config); kept.Records["read"] != sum(want) || kept.Records["released"] != sum(want) {
		t.Errorf("the assessment counts %v of %d records", kept.Records, sum(want))
	}
}

// flood produces without a rate limit, at most half a million records in advance.
func (c *trial) flood(ctx context.Context, group string, produced *atomic.Int64) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.cluster.Addresses()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.MaxBufferedRecords(50_000))
	if err != nil {
		return err
	}
	defer client.Close()
	values := make([][]byte, 50_000)
	for i := range values {
		values[i] = c.records.At(0, int64(i)).AppendJSON(nil)
	}
	var failed atomic.Pointer[error]
	promise := func(_ *kgo.Record, err error) {
		if err != nil {
			failed.CompareAndSwap(nil, &err)
			return
		}
		produced.Add(1)
	}
	for n := int64(0); ctx.Err() == nil; {
		for i, value := range values {
			client.Produce(context.Background(), &kgo.Record{Topic: c.in, Partition: int32(i % partitions), Value: value},
				promise)
		}
		n += int64(len(values))
		wait.Until(ctx, func() bool {
			at, err := c.committed(ctx, group, c.in, partitions)
			caughtUp := err == nil && n-sum(at) < 500_000
			if caughtUp {
				c.forget(at)
			}
			return caughtUp
		})
	}
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// forget lets the broker delete the records that the group has processed.
func (c *trial) forget(at []int64) {
	before := kadm.Offsets{}
	for p, o := range at {
		before.Add(kadm.Offset{Topic: c.in, Partition: int32(p), At: o})
	}
	// Records not deleted now are deleted the next time.
	_, _ = c.admin.DeleteRecords(context.Background(), before)
}

// freeAddress returns a free address to listen on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// metric reads one metric without labels.
func metric(address, name string) (float64, error) {
	client := http.Client{Timeout: 5 * time.Second}
	r, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("%s is not among the metrics", name)
}
