package kafkatest

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/process"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

// partitions of every produced topic but those of testCrowd.
const partitions = 4

// trial is one survey processed by the program.
type trial struct {
	*site
	dir      string
	in       string
	records  survey.Records
	n        int64
	counts   []int64              // by partition
	poisoned map[string][]byte    // by record id, the text in its place
	stamped  map[string]time.Time // by record id, a timestamp other than now
	batch    int                  // maximum records of a produce request; 0: as many as fit
}

// newTrial creates the source topic.
func newTrial(t *testing.T, s *site, seed uint64, n int64) *trial {
	t.Helper()
	return newTrialOf(t, s, seed, n, partitions)
}

// newTrialOf is newTrial with another number of partitions.
func newTrialOf(t *testing.T, s *site, seed uint64, n int64, partitions int32) *trial {
	t.Helper()
	r := survey.Records{Seed: seed, Partitions: partitions}
	c := &trial{site: s, dir: workFolder(t), in: slug(t), records: r, n: n, counts: r.Counts(n)}
	s.topic(t, c.in, partitions)
	key := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))
	if err := os.WriteFile(filepath.Join(c.dir, "release.key"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// workFolder returns a trial's folder for configurations, logs and files. KAFKATEST_KEEP names a
// folder that is kept.
func workFolder(t *testing.T) string {
	t.Helper()
	keep := os.Getenv("KAFKATEST_KEEP")
	if keep == "" {
		return t.TempDir()
	}
	dir := filepath.Join(keep, slug(t))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pipeline is a configuration.
type pipeline struct {
	group    string
	instance string
	brokers  []string // addresses for the program; nil: directly to the brokers
	out      string   // topic
	sink     string   // instead of the topic
	source   string   // instead of the source topic
	until    string
	delivery string
	interval string // of commits; default 300ms
	masks    string // lines; by default noise on wage and hours
	gate     string // its fields, in flow style
	also     string // further lines of YAML
	replicas int    // of the assessment
}

// write writes a configuration and returns its path.
func (c *trial) write(t *testing.T, p pipeline) string {
	t.Helper()
	to := p.brokers
	if to == nil {
		to = c.cluster.Addresses()
	}
	list := fmt.Sprintf(`["%s"]`, strings.Join(to, `", "`))
	if p.interval == "" {
		p.interval = "300ms"
	}
	if p.delivery == "" {
		p.delivery = "exactly_once"
	}
	if p.masks == "" {
		p.masks = "  - noise: {columns: [wage], sd: 50}\n  - noise: {columns: [hours], sd: 5}\n"
	}
	if p.replicas == 0 {
		p.replicas = 20
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "version: 1\nname: %s\nkey: {file: %q}\n", p.group, filepath.Join(c.dir, "release.key"))
	if p.source != "" {
		fmt.Fprintf(&b, "source: {%s}\n", p.source)
	} else {
		fmt.Fprintf(&b, "source:\n  kafka:\n    brokers: %s\n    topics: [%s]\n    group: %s\n", list, c.in, p.group)
		if p.instance != "" {
			fmt.Fprintf(&b, "    instance: %s\n", p.instance)
		}
		if p.until != "" {
			fmt.Fprintf(&b, "    until: %s\n", p.until)
		}
	}
	b.WriteString(`columns:
  id: {role: other}
  name: {role: identifier}
  wage: {role: sensitive, unit: USD/week, decimals: 2}
  hours: {role: sensitive, unit: h, decimals: 1}
  education: {role: key}
  experience: {role: key}
  region: {role: other}
  ethnicity: {role: other}
`)
	fmt.Fprintf(&b, "masks:\n%s", p.masks)
	if p.sink != "" {
		fmt.Fprintf(&b, "sink: {%s}\n", p.sink)
	} else {
		fmt.Fprintf(&b, "sink:\n  kafka: {brokers: %s, topic: %s, delivery: %s, commit: {interval: %s}}\n", list, p.out,
			p.delivery, p.interval)
	}
	fmt.Fprintf(&b, "assess: {replicates: %d}\n", p.replicas)
	if p.gate != "" {
		fmt.Fprintf(&b, "gate: {%s}\n", p.gate)
	}
	b.WriteString(p.also)
	path := filepath.Join(c.dir, strings.Trim(p.group+"-"+p.instance, "-")+".yaml")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs a program, which ends with the test at the latest.
func (c *trial) start(t *testing.T, path string, args ...string) *process.Process {
	t.Helper()
	p, err := process.Start(c.dir, nil, path, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Signal(syscall.SIGCONT)
		p.Kill()
		if t.Failed() {
			t.Logf("%s (%d, %s) printed at last:\n%s", filepath.Base(path), p.PID(), p.Log, p.Tail())
		}
	})
	return p
}

// run starts the filter.
func (c *trial) run(t *testing.T, config string, flags ...string) *process.Process {
	t.Helper()
	if os.Getenv("KAFKATEST_KEEP") != "" {
		flags = append(flags, "--verbose")
	}
	return c.start(t, program(t), append([]string{"run", config}, flags...)...)
}

// await waits until the group has committed all produced records, while at least one of the
// programs runs.
func (c *trial) await(t *testing.T, group string, patience time.Duration, running ...*process.Process) {
	t.Helper()
	c.awaitOffsets(t, group, c.counts, patience, running...)
}

func (c *trial) awaitOffsets(t *testing.T, group string, want []int64, patience time.Duration,
	running ...*process.Process) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		at, err := c.committed(t.Context(), group, c.in, c.records.Partitions)
		behind := err != nil
		for p := range at {
			behind = behind || at[p] < want[p]
		}
		if !behind {
			return
		}
		alive := len(running) == 0
		for _, p := range running {
			alive = alive || !p.Ended()
		}
		if !alive {
			t.Fatalf("the program has ended at the offsets %v of %v", at, want)
		}
		if time.Now().After(deadline) {
			for _, p := range running {
				dump(p)
			}
			t.Fatalf("after %v the group is at the offsets %v of %v: %v", patience, at, want, err)
		}
		wait.Elapse(t.Context(), 50*time.Millisecond) // interval between questions to brokers
	}
}

// drain asks a program to stop and expects status 0.
func drain(t *testing.T, p *process.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	status, err := p.Wait(45 * time.Second)
	if err != nil {
		dump(p)
		t.Fatalf("after SIGTERM %v", err)
	}
	if status != 0 {
		t.Fatalf("after SIGTERM the program exits %d, want 0", status)
	}
}

// dump makes a Go program that hangs write its stacks to its log and end.
func dump(p *process.Process) {
	if p.Signal(syscall.SIGQUIT) == nil {
		_, _ = p.Wait(5 * time.Second)
	}
}

// read reads a topic like a read_committed reader, after every transaction in it has ended.
func (c *trial) read(t *testing.T, topic string) []survey.Released {
	t.Helper()
	var out []survey.Released
	for _, r := range c.readRecords(t, topic) {
		if len(r.Key) > 0 || len(r.Headers) > 0 {
			t.Fatalf("%s/%d at %d: a key or a header was released", topic, r.Partition, r.Offset)
		}
		out = append(out, survey.Released{Partition: r.Partition, Value: r.Value})
	}
	return out
}

func (c *trial) readRecords(t *testing.T, topic string) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	ends := c.decided(t, ctx, topic)
	from := map[int32]kgo.Offset{}
	left := map[int32]int64{}
	for p, end := range ends {
		if end > 0 {
			from[int32(p)], left[int32(p)] = kgo.NewOffset().At(0), end
		}
	}
	var out []*kgo.Record
	if len(left) == 0 {
		return out
	}
	// The markers that end transactions are kept, because one of them is the last record of each
	// partition: only then is it certain that everything was read.
	client, err := kgo.NewClient(
		kgo.SeedBrokers(c.cluster.Addresses()...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("reading %s: %v; partitions that are not read to their end: %v", topic, err, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
		})
	}
	return out
}

// decided waits until no transaction of a topic is open, and returns the ends.
func (c *trial) decided(t *testing.T, ctx context.Context, topic string) []int64 {
	t.Helper()
	meta, err := c.admin.ListTopics(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	width := int32(len(meta[topic].Partitions))
	ask := func(f func(context.Context, ...string) (kadm.ListedOffsets, error)) ([]int64, error) {
		list, err := f(ctx, topic)
		return offsets(t, list, err, width)
	}
	for {
		ends, err1 := ask(c.admin.ListEndOffsets)
		stable, err2 := ask(c.admin.ListCommittedOffsets)
		if err1 == nil && err2 == nil && fmt.Sprint(ends) == fmt.Sprint(stable) {
			return ends
		}
		if ctx.Err() != nil {
			t.Fatalf("transactions of %s stay open: its ends are %v, decided up to %v: %v %v", topic, ends, stable, err1, err2)
		}
		wait.Elapse(ctx, 100*time.Millisecond) // interval between questions to brokers
	}
}

// expectation returns the correct release of the survey.
func (c *trial) expectation() survey.Expectation {
	e := survey.Expectation{Records: c.records, Counts: c.counts, Without: map[string]bool{}}
	for id := range c.poisoned {
		e.Without[id] = true
	}
	return e
}
