package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

// stand is a test stand for streams: brokers inside the test, a folder, and the program as a
// separate process.
type stand struct {
	t       *testing.T
	dir     string
	cluster *kfake.Cluster
	broker  string
	client  *kgo.Client
}

// fixedKey is a release key that does not change from test to test.
const fixedKey = "YSBmaXhlZCBrZXkgb2YgMzIgYnl0ZXMgZm9yIHRlc3Q="

// newStand starts brokers with topics of two partitions.
func newStand(t *testing.T, opts ...kfake.Opt) *stand {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{
		kfake.NumBrokers(1), kfake.SeedTopics(2, "in", "in-2", "out", "again", "held", "bad", "snaps"),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s := &stand{t: t, dir: t.TempDir(), cluster: cluster, broker: cluster.ListenAddrs()[0]}
	s.file("k", fixedKey)
	return s
}

func (s *stand) file(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *stand) newClient(opts ...kgo.Opt) *kgo.Client {
	s.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(s.broker), kgo.MetadataMinAge(100 * time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, opts...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

func (s *stand) produce(records ...*kgo.Record) {
	s.t.Helper()
	if s.client == nil {
		s.client = s.newClient()
	}
	if err := s.client.ProduceSync(s.t.Context(), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// persons adds the persons from ≤ i < to to the topic, to each partition in turn.
func (s *stand) persons(from, to int) { s.t.Helper(); s.paid(from, to, personWage) }

// paid is persons with other wages.
func (s *stand) paid(from, to int, wage func(i int) float64) {
	s.t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		value := fmt.Sprintf(`{"id":%d,"name":"Name %d","wage":%.2f,"region":"r%d","kind":"k"}`, i, i, wage(i), i%4)
		records = append(records, &kgo.Record{Topic: "in", Partition: int32(i % 2), Value: []byte(value)})
	}
	s.produce(records...)
}

// personWage returns the wage of person i, with two decimals.
func personWage(i int) float64 { return float64(10000+i*7919%90000) / 100 }

// messages reads a topic like a read_committed consumer, until it has n messages and no more arrive
// for a moment.
func (s *stand) messages(topic string, n int) []*kgo.Record {
	s.t.Helper()
	c := s.newClient(kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	defer c.Close()
	var all []*kgo.Record
	for wait := patience; ; {
		if len(all) >= n {
			wait = 250 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(s.t.Context(), wait)
		got := c.PollFetches(ctx).Records()
		cancel()
		if len(got) == 0 {
			return all
		}
		all = append(all, got...)
	}
}

// person is a released record.
type person struct {
	ID     *int     `json:"id"`
	Name   *string  `json:"name"`
	Wage   *float64 `json:"wage"`
	Region string   `json:"region"`
}

// released checks that a topic contains n persons, each once, without a name and in the order of
// their partition, and returns their wages.
func (s *stand) released(topic string, n int) map[int]float64 {
	s.t.Helper()
	wages, last := map[int]float64{}, map[int32]int{0: -1, 1: -1}
	for _, r := range s.messages(topic, n) {
		var p person
		if err := json.Unmarshal(r.Value, &p); err != nil {
			s.t.Fatalf("%s: %v in a released message", topic, err)
		}
		switch {
		case p.Name != nil || p.ID == nil || p.Wage == nil:
			s.t.Fatalf("%s: a released message has the wrong members: %s", topic, r.Value)
		case *p.ID <= last[r.Partition] || *p.ID%2 != int(r.Partition):
			s.t.Fatalf("%s: person %d occurs twice, out of order or in another partition", topic, *p.ID)
		}
		last[r.Partition], wages[*p.ID] = *p.ID, *p.Wage
	}
	if len(wages) != n {
		s.t.Fatalf("%s: %d persons were released, want %d", topic, len(wages), n)
	}
	return wages
}

// process is the running program.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	args   string
	ended  chan struct{}
	status int

	mu             sync.Mutex
	stdout, stderr bytes.Buffer
}

// Write receives what the program writes to stderr.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(text)
}

// tail returns the end of the log.
func (p *process) tail() string {
	log := p.log()
	return log[max(0, len(log)-3000):]
}

// log returns what the program has written to stderr so far.
func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// start runs the program; it ends with the test at the latest.
func (s *stand) start(args ...string) *process {
	s.t.Helper()
	p := &process{t: s.t, cmd: program(s.t, s.dir, args...), args: strings.Join(args, " "), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, p
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		err := p.cmd.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			p.status = exit.ExitCode()
		} else if err != nil {
			p.status = -2
		}
	}()
	s.t.Cleanup(func() { p.cmd.Process.Kill(); <-p.ended })
	return p
}

// patience is the maximum time for actions that take a few tenths of a second on an idle machine.
const patience = eventually.Patience

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits until the program ends, checks its status, and returns its stdout and stderr.
func (p *process) wait(status int) (stdout, stderr string) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s: does not end\n%s", p.args, p.tail())
	}
	if p.status != status {
		p.t.Fatalf("%s: exit status %d, want %d\n%s", p.args, p.status, status, p.tail())
	}
	return p.stdout.String(), p.log()
}

// until waits until the program has written a text to stderr.
func (p *process) until(text string) {
	p.t.Helper()
	p.once(fmt.Sprintf("writes %q", text), func() bool { return strings.Contains(p.log(), text) })
}

// once waits until a condition is met while the program runs.
func (p *process) once(what string, met func() bool) {
	p.t.Helper()
	done := eventually.Waits(patience, func() bool {
		select {
		case <-p.ended:
			if !met() {
				p.t.Fatalf("%s: ended with status %d, and never %s\n%s", p.args, p.status, what, p.tail())
			}
			return true
		default:
			return met()
		}
	})
	if !done {
		p.t.Fatalf("%s: for %v never %s\n%s", p.args, patience, what, p.tail())
	}
}

// run runs the program to its end and checks its status.
func (s *stand) run(status int, args ...string) (stdout, stderr string) {
	s.t.Helper()
	return s.start(args...).wait(status)
}

// mustContain checks that a text contains others.
func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// config writes pipeline.yaml for the persons. Each line replaces the line with the same beginning
// ("sink:"), or is appended.
func (s *stand) config(lines ...string) {
	s.t.Helper()
	s.file("pipeline.yaml", s.text(lines...))
}

func (s *stand) text(lines ...string) string {
	text := `version: 1
name: stand
key: {file: k}
source: {kafka: {brokers: ["BROKER"], topics: [in], until: latest}}
columns: {id: {role: other}, name: {role: identifier}, wage: {role: sensitive, decimals: 2}, region: {role: other}}
unlisted: drop
masks: [{noise: {columns: [wage], sd: 50}}]
sink: {kafka: {brokers: ["BROKER"], topic: out, commit: {interval: 100ms}}}
assess: {replicates: 20, targets: [max]}
`
	for _, line := range lines {
		field, _, _ := strings.Cut(line, ":")
		var kept []string
		for _, old := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if !strings.HasPrefix(old, field+":") {
				kept = append(kept, old)
			}
		}
		text = strings.Join(append(kept, line), "\n") + "\n"
	}
	return strings.ReplaceAll(text, "BROKER", s.broker)
}

const (
	endless = `source: {kafka: {brokers: ["BROKER"], topics: [in], instance: a}}`
	bounded = `source: {kafka: {brokers: ["BROKER"], topics: [in], until: latest}}`
)
