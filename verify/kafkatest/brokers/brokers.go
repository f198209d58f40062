// Package brokers starts Apache Kafka on loopback, in KRaft mode; each broker is also a
// controller. It kills single brokers, restarts them and ends them all.
package brokers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Options describes the brokers to start.
type Options struct {
	Libs string // the folder of Kafka's jars
	N    int    // 1 or 3
	Dir  string // data and logs; it must exist and be empty
	Heap string // of each broker, as -Xmx takes it; default 512m

	// Advertise is called once for each broker with the address of its second
	// listener, and returns the address that clients of that listener get: that of a
	// proxy. Nil: there is no second listener.
	Advertise func(broker int, address string) (string, error)

	// Detach lets the brokers outlive this process; otherwise they end with it, in
	// whatever way it ends.
	Detach bool
}

// Cluster is a set of running brokers.
type Cluster struct {
	options Options
	brokers []*broker
}

type broker struct {
	id         int // from 1, as Kafka's node.id
	dir        string
	direct     int // port
	proxied    int
	controller int
	advertised string // of the proxied listener

	mu      sync.Mutex
	command *exec.Cmd
	ended   chan struct{}
}

// startTimeout bounds formatting and starting; it takes 3 to 10 s on two cores.
const startTimeout = 90 * time.Second

// Start formats the storage, starts the brokers and waits until all answer. On
// an error nothing is left running.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.N != 1 && o.N != 3 {
		return nil, fmt.Errorf("brokers: 1 or 3 can be started, not %d", o.N)
	}
	if o.Heap == "" {
		o.Heap = "512m"
	}
	c := &Cluster{options: o}
	taken := map[int]bool{}
	for i := range o.N {
		b := &broker{id: i + 1, dir: filepath.Join(o.Dir, fmt.Sprintf("broker-%d", i+1))}
		for _, port := range []*int{&b.direct, &b.proxied, &b.controller} {
			p, err := freePort(taken)
			if err != nil {
				return nil, err
			}
			*port = p
		}
		if o.Advertise != nil {
			a, err := o.Advertise(i, loopback(b.proxied))
			if err != nil {
				return nil, err
			}
			b.advertised = a
		}
		c.brokers = append(c.brokers, b)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	errs := make([]error, o.N)
	var formatting sync.WaitGroup
	for i, b := range c.brokers {
		formatting.Go(func() { errs[i] = c.format(ctx, b) })
	}
	formatting.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, b := range c.brokers {
		if err := c.launch(b); err != nil {
			c.Stop()
			return nil, err
		}
	}
	if err := c.WaitAll(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// freePort returns a port without a listener, below those that the system gives to outgoing
// connections, which might take it before the broker does.
func freePort(taken map[int]bool) (int, error) {
	for range 1000 {
		p := 15000 + rand.IntN(17000)
		if taken[p] {
			continue
		}
		l, err := net.Listen("tcp", loopback(p))
		if err != nil {
			continue
		}
		l.Close()
		taken[p] = true
		return p, nil
	}
	return 0, errors.New("brokers: no free port on loopback")
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func (c *Cluster) java(heap, class string, args ...string) *exec.Cmd {
	all := append([]string{
		"-Xms64m", "-Xmx" + heap, "-XX:+UseSerialGC",
		"-Dlog4j2.configurationFile=" + filepath.Join(c.options.Dir, "log4j2.properties"),
		"-cp", filepath.Join(c.options.Libs, "*"), class,
	}, args...)
	return exec.Command("java", all...)
}

func (c *Cluster) format(ctx context.Context, b *broker) error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.options.Dir, "log4j2.properties"), []byte(logging), 0o644); err != nil {
		return err
	}
	properties := filepath.Join(b.dir, "server.properties")
	if err := os.WriteFile(properties, []byte(c.properties(b)), 0o644); err != nil {
		return err
	}
	cmd := c.java("128m", "kafka.tools.StorageTool", "format", "-t", clusterID, "-c", properties)
	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	defer stop()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("brokers: formatting the storage of broker %d: %w: %s", b.id, err, out)
	}
	return nil
}

func (c *Cluster) launch(b *broker) error {
	log, err := os.OpenFile(b.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := c.java(c.options.Heap, "kafka.Kafka", filepath.Join(b.dir, "server.properties"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = processAttributes(c.options.Detach)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	b.mu.Lock()
	b.command, b.ended = cmd, ended
	b.mu.Unlock()
	return nil
}

func (b *broker) logFile() string { return filepath.Join(b.dir, "broker.log") }

// end sends a signal if the broker runs, and waits until it has ended.
func (b *broker) end(signal syscall.Signal, patience time.Duration) {
	b.mu.Lock()
	cmd, ended := b.command, b.ended
	b.mu.Unlock()
	if cmd == nil {
		return
	}
	cmd.Process.Signal(signal)
	select {
	case <-ended:
	case <-time.After(patience):
		cmd.Process.Kill()
		<-ended
	}
}

// Addresses returns those of the first listener, which has no proxy.
func (c *Cluster) Addresses() []string {
	var out []string
	for _, b := range c.brokers {
		out = append(out, loopback(b.direct))
	}
	return out
}

// Proxied returns the advertised addresses of the second listener.
func (c *Cluster) Proxied() []string {
	var out []string
	for _, b := range c.brokers {
		out = append(out, b.advertised)
	}
	return out
}

// N returns the number of brokers, running or not.
func (c *Cluster) N() int { return len(c.brokers) }

// PIDs returns the processes' ids.
func (c *Cluster) PIDs() []int {
	var out []int
	for _, b := range c.brokers {
		out = append(out, b.command.Process.Pid)
	}
	return out
}

// Kill ends a broker (from 0) with SIGKILL and returns when it has ended.
func (c *Cluster) Kill(i int) { c.brokers[i].end(syscall.SIGKILL, time.Second) }

// Restart starts a killed broker again, on its data. It does not wait: see
// WaitAll.
func (c *Cluster) Restart(i int) error { return c.launch(c.brokers[i]) }

// Stop ends all brokers immediately: their data cannot be used afterwards.
func (c *Cluster) Stop() {
	for _, b := range c.brokers {
		b.end(syscall.SIGKILL, time.Second)
	}
}

// WaitAll waits until every broker knows every other, and all partitions have all of
// their replicas in sync.
func (c *Cluster) WaitAll(ctx context.Context) error {
	var last error
	for {
		if last = c.answers(ctx); last == nil {
			return nil
		}
		for _, b := range c.brokers {
			select {
			case <-b.ended:
				return fmt.Errorf("brokers: broker %d has ended: %s", b.id, tail(b.logFile()))
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("brokers: not up in time: %w; broker 1's log ends: %s", last, tail(c.brokers[0].logFile()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// answers asks each broker separately, since one may be up and not know the others.
func (c *Cluster) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, address := range c.Addresses() {
		// Connect directly first: the client would retry for too long.
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		conn.Close()
	}
	client, err := kadm.NewOptClient(kgo.SeedBrokers(c.Addresses()...))
	if err != nil {
		return err
	}
	defer client.Close()
	meta, err := client.Metadata(ctx)
	if err != nil {
		return err
	}
	if len(meta.Brokers) != len(c.brokers) {
		return fmt.Errorf("%d of %d brokers are known", len(meta.Brokers), len(c.brokers))
	}
	for _, t := range meta.Topics {
		for _, p := range t.Partitions {
			if p.Err != nil || len(p.ISR) != len(p.Replicas) {
				return fmt.Errorf("%s/%d: %d of %d replicas are in sync", t.Topic, p.Partition, len(p.ISR), len(p.Replicas))
			}
		}
	}
	return nil
}

// GroupCoordinator returns the broker (from 0) that coordinates a consumer group.
func (c *Cluster) GroupCoordinator(ctx context.Context, client *kadm.Client, group string) (int, error) {
	r := client.FindGroupCoordinators(ctx, group)[group]
	if r.Err != nil {
		return 0, r.Err
	}
	return c.index(r.NodeID)
}

// TransactionCoordinator returns the broker (from 0) that coordinates a transactional id.
func (c *Cluster) TransactionCoordinator(ctx context.Context, client *kadm.Client, id string) (int, error) {
	r := client.FindTxnCoordinators(ctx, id)[id]
	if r.Err != nil {
		return 0, r.Err
	}
	return c.index(r.NodeID)
}

func (c *Cluster) index(node int32) (int, error) {
	if node < 1 || int(node) > len(c.brokers) {
		return 0, fmt.Errorf("brokers: there is no broker %d", node)
	}
	return int(node) - 1, nil
}

// tail returns the end of a log, for an error's text.
func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(data[max(0, len(data)-2000):]))
}
