package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/process"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

// columns and masks of every measurement: 8 fields of 150 bytes, two masked.
const columns = `columns:
  id: {role: other}
  name: {role: identifier}
  wage: {role: sensitive, decimals: 2}
  hours: {role: sensitive, decimals: 1}
  education: {role: key}
  experience: {role: key}
  region: {role: other}
  ethnicity: {role: other}
masks:
  - noise: {columns: [wage], sd: 50}
  - noise: {columns: [hours], sd: 5}
`

// config writes a configuration.
func (o options) config(name, source, sink string) (string, error) {
	key := filepath.Join(o.dir, "release.key")
	if err := os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))),
		0o600); err != nil {
		return "", err
	}
	text := fmt.Sprintf("version: 1\nname: %s\nkey: {file: %q}\nsource: {%s}\nsink: {%s}\n%sassess: {replicates: %d}\n",
		name, key, source, sink, columns, o.replicates)
	path := filepath.Join(o.dir, name+".yaml")
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func (o options) stream(group, from, to string) (string, error) {
	list := `["` + strings.Join(o.brokers, `", "`) + `"]`
	return o.config(group,
		fmt.Sprintf("kafka: {brokers: %s, topics: [%s], group: %s}", list, from, group),
		fmt.Sprintf("kafka: {brokers: %s, topic: %s, commit: {interval: %s, records: 100000000}}", list, to, o.interval))
}

// cluster is a connection to brokers.
type cluster struct {
	client *kgo.Client
	admin  *kadm.Client
}

func connect(brokers []string) (*cluster, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.MaxBufferedRecords(100_000),
		kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	return &cluster{client, kadm.NewClient(client)}, nil
}

// topic creates a topic without replication, and waits until the broker knows it: a program that
// is started before that ends.
func (c *cluster) topic(ctx context.Context, name string, partitions int32) error {
	if _, err := c.admin.CreateTopic(ctx, partitions, 1, nil, name); err != nil {
		return err
	}
	known := func() bool {
		topics, err := c.admin.ListTopics(ctx, name)
		return err == nil && topics.Has(name)
	}
	if !wait.Within(time.Minute, known) {
		return fmt.Errorf("the broker does not know %s a minute after it was created", name)
	}
	return nil
}

// fill creates a topic and produces the survey's first n records into it.
func (c *cluster) fill(ctx context.Context, topic string, partitions int32, n int64) error {
	if err := c.topic(ctx, topic, partitions); err != nil {
		return err
	}
	return c.produce(ctx, topic, partitions, 0, n)
}

// produce adds the records from ≤ i < to of the survey to a topic.
func (c *cluster) produce(ctx context.Context, topic string, partitions int32, from, to int64) error {
	records := survey.Records{Seed: 1, Partitions: partitions}
	failed := make(chan error, 1)
	for i := from; i < to; i++ {
		p := int32(i % int64(partitions))
		value := records.At(p, i/int64(partitions)).AppendJSON(make([]byte, 0, 160))
		c.client.Produce(ctx, &kgo.Record{Topic: topic, Partition: p, Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	if err := c.client.Flush(ctx); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// errFewCommits is the error for a run that ended before a rate could be measured.
var errFewCommits = errors.New("too few commits to tell a rate")

// mostRecords is the greatest number of records of a measurement.
const mostRecords = 128_000_000

// enoughCommits is the minimum number of commits of a run, so that the positions of the first and
// the last one do not influence the rate.
const enoughCommits = 8

// sized fills a topic and measures with it. If a run ends after too few commits, the number of
// records in the topic is doubled and everything is measured again. So measure should begin
// with the fastest run. sized returns the final number of records.
func (c *cluster) sized(ctx context.Context, o options, topic string, partitions int32,
	measure func(o options, attempt int) error) (int64, error) {
	if err := c.fill(ctx, topic, partitions, o.records); err != nil {
		return 0, err
	}
	for attempt := 0; ; attempt++ {
		err := measure(o, attempt)
		if !errors.Is(err, errFewCommits) || 2*o.records > mostRecords {
			return o.records, err
		}
		fmt.Fprintf(os.Stderr, "%v: %s records are not enough, trying twice as many\n", err, thousands(float64(o.records)))
		if err := c.produce(ctx, topic, partitions, o.records, 2*o.records); err != nil {
			return 0, err
		}
		o.records *= 2
	}
}

// passage has the measurements of one run.
type passage struct {
	rate float64 // records per second, from the first commit to the last but one
	cpu  float64 // µs per record, including start and end
}

// pass runs a program until its group has committed n records.
func (c *cluster) pass(ctx context.Context, o options, group, topic string, n int64, path string,
	args ...string) (p passage, err error) {
	run, err := process.Start(o.dir, nil, path, args...)
	if err != nil {
		return p, err
	}
	defer run.Kill()
	type sample struct {
		at      time.Time
		records int64
	}
	var commits []sample
	// the resolution of the measurement
	for deadline := time.Now().Add(5 * time.Minute); ; wait.Elapse(ctx, 10*time.Millisecond) {
		at, err := c.committed(ctx, group, topic)
		if err == nil && at > 0 && (len(commits) == 0 || at > commits[len(commits)-1].records) {
			commits = append(commits, sample{time.Now(), at})
		}
		if at >= n {
			break
		}
		if run.Ended() || time.Now().After(deadline) || ctx.Err() != nil {
			return p, fmt.Errorf("%s is at %d of %d records: %v: %s", group, at, n, err, run.Tail())
		}
	}
	if err := run.Signal(syscall.SIGTERM); err != nil {
		return p, err
	}
	if status, err := run.Wait(time.Minute); err != nil || status != 0 {
		return p, fmt.Errorf("%s exits %d, %v: %s", group, status, err, run.Tail())
	}
	// The last commit is not used: its transaction waits for further records, and there are none.
	if len(commits) < enoughCommits {
		return p, fmt.Errorf("%s: %w: %d", group, errFewCommits, len(commits))
	}
	first, last := commits[0], commits[len(commits)-2]
	p.rate = float64(last.records-first.records) / last.at.Sub(first.at).Seconds()
	p.cpu = run.CPU().Seconds() * 1e6 / float64(n)
	return p, nil
}

func (c *cluster) committed(ctx context.Context, group, topic string) (int64, error) {
	r, err := c.admin.FetchOffsets(ctx, group)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	r.Each(func(o kadm.OffsetResponse) {
		if o.Topic == topic {
			total += max(0, o.At)
		}
	})
	return total, nil
}

// besideCopy runs the program and the bare copy alternately.
func besideCopy(ctx context.Context, o options) error {
	c, err := connect(o.brokers)
	if err != nil {
		return err
	}
	defer c.client.Close()
	fmt.Printf(
		"From topic to topic on Apache Kafka, commits every %v, medians of %d runs in turn; ratios are medians of those of each turn:\n\n", o.interval, o.runs)
	fmt.Println(
		"| partitions | records | sdlfilter, records/s | bare copy, records/s | ratio | sdlfilter, CPU µs/record | bare copy, CPU µs/record | ratio |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, partitions := range o.partitions {
		from := fmt.Sprintf("bench-%d-%d", partitions, time.Now().Unix())
		var rates, cpus [2][]float64
		records, err := c.sized(ctx, o, from, partitions, func(o options, attempt int) error {
			rates, cpus = [2][]float64{}, [2][]float64{}
			if _, err := c.one(ctx, o, false, fmt.Sprintf("%s-trial-%d", from, attempt), from, partitions); err != nil {
				return err
			}
			for k := range o.runs {
				for which, name := range []string{"filter", "copy"} {
					group := fmt.Sprintf("%s-%s-%d-%d", from, name, attempt, k)
					p, err := c.one(ctx, o, which == 0, group, from, partitions)
					if err != nil {
						return err
					}
					rates[which], cpus[which] = append(rates[which], p.rate), append(cpus[which], p.cpu)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := c.admin.DeleteTopics(ctx, from); err != nil {
			return err
		}
		fmt.Printf("| %d | %s | %s | %s | %.0f %% | %.2f | %.2f | %.2f |\n", partitions, thousands(float64(records)),
			thousands(median(rates[0])), thousands(median(rates[1])),
			100*ratio(rates), median(cpus[0]), median(cpus[1]), ratio(cpus))
	}
	fmt.Println()
	return nil
}

// one runs the program or the copy once, into a topic of its own.
func (c *cluster) one(ctx context.Context, o options, filter bool, group, from string, partitions int32) (p passage,
	err error) {
	to := group + "-out"
	if err := c.topic(ctx, to, partitions); err != nil {
		return p, err
	}
	defer func() {
		_, deleteErr := c.admin.DeleteTopics(ctx, to)
		err = errors.Join(err, deleteErr)
	}()
	defer func() {
		if err == nil {
			fmt.Fprintf(os.Stderr, "%s: %s records/s, %.2f µs\n", group, thousands(p.rate), p.cpu)
		}
	}()
	if !filter {
		return c.pass(ctx, o, group, from, o.records, o.copy, "-brokers", strings.Join(o.brokers, ","),
			"-group", group, "-from", from, "-to", to, "-interval", o.interval.String())
	}
	config, err := o.stream(group, from, to)
	if err != nil {
		return p, err
	}
	return c.pass(ctx, o, group, from, o.records, o.filter, "run", "--quiet", config)
}

// againstFake measures the program with a broker that takes little processor time.
func againstFake(ctx context.Context, o options) (err error) {
	fake := exec.CommandContext(ctx, o.fake)
	fake.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := fake.StdoutPipe()
	if err != nil {
		return err
	}
	if err := fake.Start(); err != nil {
		return err
	}
	defer func() {
		fake.Process.Signal(syscall.SIGTERM)
		fake.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	o.brokers = []string{strings.TrimSpace(address)}
	c, err := connect(o.brokers)
	if err != nil {
		return err
	}
	defer c.client.Close()
	fmt.Printf("From topic to topic on kfake in another process, commits every %v, medians of %d runs:\n\n", o.interval,
		o.runs)
	fmt.Println("| partitions | records | records/s | CPU µs/record |")
	fmt.Println("|---|---|---|---|")
	for _, partitions := range o.partitions {
		from := fmt.Sprintf("fake-%d", partitions)
		var rates, cpus []float64
		records, err := c.sized(ctx, o, from, partitions, func(o options, attempt int) error {
			rates, cpus = nil, nil
			if _, err := c.one(ctx, o, true, fmt.Sprintf("%s-trial-%d", from, attempt), from, partitions); err != nil {
				return err
			}
			for k := range o.runs {
				p, err := c.one(ctx, o, true, fmt.Sprintf("%s-%d-%d", from, attempt, k), from, partitions)
				if err != nil {
					return err
				}
				rates, cpus = append(rates, p.rate), append(cpus, p.cpu)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := c.admin.DeleteTopics(ctx, from); err != nil {
			return err
		}
		fmt.Printf("| %d | %s | %s | %.2f |\n", partitions, thousands(float64(records)), thousands(median(rates)),
			median(cpus))
	}
	fmt.Println()
	return nil
}
