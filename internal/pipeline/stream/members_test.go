package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// wire connects one instance to the brokers.
type wire struct {
	mu       sync.Mutex
	down     bool
	conns    map[net.Conn]bool
	attempts int // while it is cut
}

var errWire = errors.New("the wire is cut")

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		w.attempts++
		return nil, errWire
	}
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		if w.conns == nil {
			w.conns = map[net.Conn]bool{}
		}
		w.conns[c] = true
	}
	return c, err
}

// cut makes the brokers unreachable for the instance, as if the instance were dead.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

// tries returns the number of failed connection attempts.
func (w *wire) tries() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.attempts
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

// instance is a running stream.
type instance struct {
	stand  *stand
	wire   *wire
	stop   context.CancelFunc
	ended  chan struct{}
	result *account.Result
	err    error
}

// start runs a pipeline until it is stopped.
func (s *stand) start(p *config.Pipeline, opts ...kgo.Opt) *instance {
	s.t.Helper()
	return s.startPatient(0, p, opts...)
}

// startPatient is start with a maximum time to wait for brokers; 0: no limit.
func (s *stand) startPatient(patience time.Duration, p *config.Pipeline, opts ...kgo.Opt) *instance {
	s.t.Helper()
	i := &instance{stand: s, wire: new(wire), ended: make(chan struct{})}
	hasty(p,
		append([]kgo.Opt{kgo.Dialer(i.wire.dial), kgo.SessionTimeout(time.Second), kgo.RebalanceTimeout(2 * time.Second)},
			opts...)...)
	ctx, stop := context.WithCancel(kafka.WithPatience(context.Background(), patience))
	i.stop = stop
	options := s.drainWithin(eventually.Patience / 2)
	go func() {
		defer close(i.ended)
		i.result, i.err = stream.Run(ctx, p, options)
	}()
	s.t.Cleanup(func() {
		stop()
		i.wire.mend()
		<-i.ended
	})
	return i
}

// drain stops an instance and waits for its end.
func (i *instance) drain() {
	i.stand.t.Helper()
	i.stop()
	select {
	case <-i.ended:
		// An instance that is stopped while it opens its topics has nothing to drain.
		if i.err != nil && !errors.Is(i.err, stream.ErrUnopened) {
			i.stand.t.Error(i.err)
		}
	case <-time.After(eventually.Patience):
		i.stand.t.Fatal("an instance does not end in time")
	}
}

// live returns the configuration of a stream without end, for an instance with a name ("": none).
func (s *stand) live(name string, settings ...string) *config.Pipeline {
	s.t.Helper()
	text := strings.Replace(fmt.Sprintf(standConfig, s.address, s.key), ", until: latest", "", 1)
	named := ""
	if name != "" {
		named = ", instance: " + name
	}
	text = strings.Replace(text, ", instance: a", named, 1)
	return s.parse(text,
		append([]string{"sink.kafka.commit.records=250", "sink.kafka.commit.interval=50ms"}, settings...)...)
}

// end returns the sum of the end offsets of a topic's partitions, including uncommitted records and
// markers of transactions; 0 if the broker is unreachable.
func (s *stand) end(topic string) (sum int64) {
	s.t.Helper()
	ends, err := kadm.NewClient(s.client).ListEndOffsets(s.t.Context(), topic)
	if err != nil {
		return 0
	}
	ends.Each(func(o kadm.ListedOffset) { sum += max(0, o.Offset) })
	return sum
}

// written waits until a topic has reached an end.
func (s *stand) written(topic string, end int64) {
	s.t.Helper()
	eventually.True(s.t, fmt.Sprintf("%s has been written up to %d", topic, end), func() bool {
		return s.end(topic) >= end
	})
}

// grown waits until a topic has grown by the given number, or over is closed.
func (s *stand) grown(over <-chan struct{}, topic string, more int64) {
	s.t.Helper()
	before := s.end(topic)
	eventually.True(s.t, fmt.Sprintf("%s has grown by %d", topic, more), func() bool {
		select {
		case <-over:
			return true
		default:
			return s.end(topic) >= before+more
		}
	})
}

// committed returns the number of messages that the group has processed.
func (s *stand) committed() (sum int64) {
	s.t.Helper()
	offsets, err := kadm.NewClient(s.client).FetchOffsets(s.t.Context(), "g")
	if err != nil {
		return 0
	}
	offsets.Each(func(o kadm.OffsetResponse) { sum += max(0, o.At) })
	return sum
}

// rest releases the remaining records, after all instances have ended.
func (s *stand) rest(settings ...string) *account.Result {
	s.t.Helper()
	s.removeMembers()
	return s.run(s.small(append([]string{"source.kafka.instance=last"}, settings...)...))
}

// removeMembers removes all members from the group. The fake broker sets no session timeout for a
// member whose connection is closed before its join is answered: it would keep its partitions. A
// Kafka broker removes it after the session timeout.
func (s *stand) removeMembers() {
	s.t.Helper()
	eventually.True(s.t, "the group has no members", func() bool {
		groups, err := kadm.NewClient(s.client).DescribeGroups(s.t.Context(), "g")
		if err != nil || len(groups["g"].Members) == 0 {
			return err == nil
		}
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group = "g"
		for _, member := range groups["g"].Members {
			m := kmsg.NewLeaveGroupRequestMember()
			m.MemberID, m.InstanceID = member.MemberID, member.InstanceID
			req.Members = append(req.Members, m)
		}
		_, _ = req.RequestWith(s.t.Context(), s.client)
		return false
	})
}

// inflow produces the persons in small portions.
func (s *stand) inflow(g *rand.Rand) {
	for from := 0; from < survivors; {
		to := min(survivors, from+1+g.IntN(60))
		s.fillFrom(from, to)
		from = to
		eventually.Elapse(s.t, time.Duration(g.IntN(60))*time.Millisecond)
	}
}

func TestStreamMembersComeAndGo(t *testing.T) {
	for seed := range uint64(4) {
		for _, named := range []bool{false, true} {
			if testing.Short() && seed%2 == 1 || racetest.Omits(seed > 0) {
				continue
			}
			t.Run(fmt.Sprintf("%d/%v", seed, named), func(t *testing.T) {
				t.Parallel()
				undisturbedRun(t)
				s := newStand(t)
				var churn sync.WaitGroup
				over := make(chan struct{})
				for k := range 3 {
					mine := rand.New(rand.NewPCG(seed, uint64(2+k)))
					churn.Go(func() {
						for {
							name := ""
							if named {
								name = fmt.Sprint("i", k)
							}
							i := s.start(s.live(name), kgo.TransactionTimeout(3*time.Second))
							wait := time.After(time.Duration(100+mine.IntN(900)) * time.Millisecond)
							select {
							case <-wait:
							case <-over:
								i.drain()
								return
							}
							if mine.IntN(3) == 0 {
								i.wire.cut()
								eventually.Elapse(t, time.Duration(mine.IntN(300))*time.Millisecond)
								i.wire.mend()
							}
							i.drain()
						}
					})
				}
				s.inflow(rand.New(rand.NewPCG(seed, 2)))
				close(over)
				churn.Wait()
				s.rest()
				s.sameRelease(s.small())
			})
		}
	}
}

// A dead member keeps its partitions for one session. If it comes back, its open transaction must
// not be committed.
func TestStreamOutlivesItsMembers(t *testing.T) {
	for seed := range uint64(2) {
		for _, back := range []bool{false, true} {
			if racetest.Omits(seed > 0) {
				continue
			}
			t.Run(fmt.Sprintf("%d/%v", seed, back), func(t *testing.T) {
				t.Parallel()
				undisturbedRun(t)
				s := newStand(t)
				g := rand.New(rand.NewPCG(seed, 1))
				first := s.start(s.live(""), kgo.TransactionTimeout(2*time.Second))
				flow := make(chan struct{})
				go func() {
					defer close(flow)
					s.inflow(rand.New(rand.NewPCG(seed, 2)))
				}()
				s.written("out", 1+g.Int64N(survivors/4))
				first.wire.cut()
				before := s.end("out")
				second := s.start(s.live(""))
				s.written("out", before+1) // the second one has taken over the partitions of the first
				if back {
					first.wire.mend()
				}
				<-flow
				if back {
					first.drain()
				}
				second.drain()
				s.rest()
				s.sameRelease(s.small())
			})
		}
	}
}

// If the brokers are unreachable for longer than a transaction may last, they abort it.
func TestStreamWaitsForBrokers(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			undisturbedRun(t)
			s := newStand(t)
			g := rand.New(rand.NewPCG(seed, 1))
			i := s.start(s.live("a"), kgo.TransactionTimeout(300*time.Millisecond), kgo.SessionTimeout(5*time.Second))
			flow := make(chan struct{})
			go func() {
				defer close(flow)
				s.inflow(rand.New(rand.NewPCG(seed, 2)))
			}()
			for range 3 {
				s.grown(flow, "out", 1+g.Int64N(100))
				i.wire.cut()
				eventually.Elapse(t, time.Duration(300+g.IntN(300))*time.Millisecond) // longer than a transaction may last
				i.wire.mend()
			}
			<-flow
			i.drain()
			s.rest()
			s.sameRelease(s.small())
		})
	}
}

// If a stream is stopped while the brokers are unreachable, it gives up in time.
func TestStreamDrainsWithoutBrokers(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprint(busy), func(t *testing.T) {
			t.Parallel()
			undisturbedRun(t)
			s := newStand(t)
			if !busy {
				s.fill(survivors)
			}
			p, w := s.live("a", "sink.kafka.commit.interval=300ms"), new(wire)
			hasty(p, kgo.Dialer(w.dial))
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			ended := make(chan error, 1)
			go func() {
				_, err := stream.Run(ctx, p, s.drainWithin(time.Second))
				ended <- err
			}()
			if busy {
				fed := make(chan struct{})
				defer func() { <-fed }() // the goroutine that fills the topic fails the test if it continues after the test's end
				go func() {
					defer close(fed)
					s.inflow(rand.New(rand.NewPCG(1, 1)))
				}()
				s.written("out", survivors/8)
			} else {
				eventually.True(t, "all that was read is committed", func() bool { return s.committed() == survivors })
			}
			w.cut()
			eventually.True(t, "the stream has tried to reach the brokers", func() bool { return w.tries() > 0 })
			begin := time.Now()
			stop()
			select {
			case err := <-ended:
				t.Logf("ended after %v: %v", time.Since(begin), err)
				if busy && (err == nil || !strings.Contains(err.Error(), "did not answer in time")) {
					t.Errorf("the error does not say that the last transaction is not committed: %v", err)
				}
			case <-time.After(eventually.Patience):
				t.Fatal("the stream does not end in time")
			}
			w.mend()
		})
	}
}

// A stream with a limited patience ends if the brokers are unreachable for longer, whatever it
// does: reading, writing to a full client, or ending a transaction.
func TestStreamEndsWithItsPatience(t *testing.T) {
	for name, opts := range map[string][]kgo.Opt{"full": {kgo.MaxBufferedRecords(20)}, "roomy": nil, "idle": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			undisturbedRun(t)
			s := newStand(t)
			i := s.startPatient(500*time.Millisecond, s.live("a"), append(opts, kgo.TransactionTimeout(2*time.Second))...)
			s.fill(survivors)
			if name == "idle" {
				eventually.True(t, "all that was read is committed", func() bool { return s.committed() == survivors })
			} else {
				s.written("out", survivors/8)
			}
			i.wire.cut()
			select {
			case <-i.ended:
				var final *kafka.FinalError
				if !errors.As(i.err, &final) || !strings.Contains(i.err.Error(), "no broker has answered for 500ms") {
					t.Error(i.err)
				}
			case <-time.After(eventually.Patience):
				t.Fatal("the stream does not end after its patience")
			}
			i.wire.mend()
			s.rest() // the remaining records are processed
			s.sameRelease(s.small())
		})
	}
}

// The broker is stopped and restarted with its data on disk.
func TestStreamSurvivesBrokerRestarts(t *testing.T) {
	t.Parallel()
	undisturbedRun(t)
	dir := t.TempDir()
	s := newStand(t, kfake.DataDir(dir))
	port := s.cluster.ListenAddrs()[0]
	_, number, err := net.SplitHostPort(port)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	fmt.Sscan(number, &n)
	i := s.start(s.live("a"))
	for round := range 3 {
		before := s.end("out")
		s.fillFrom(round*survivors/4, (round+1)*survivors/4)
		s.written("out", before+1) // in the middle of the new records
		s.cluster.Close()
		eventually.Elapse(t, 300*time.Millisecond)
		if s.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.Ports(n),
			kfake.GroupMinSessionTimeout(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(s.cluster.Close)
	s.fillFrom(3*survivors/4, survivors)
	i.drain()
	s.rest()
	s.sameRelease(s.small())
}
