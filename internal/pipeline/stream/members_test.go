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

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// wire is what connects one instance to the brokers.
type wire struct {
	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

var errWire = errors.New("the wire is cut")

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
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

// cut makes the instance unable to reach the brokers, as if it were dead.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

// instance is a stream that runs.
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
	i := &instance{stand: s, wire: new(wire), ended: make(chan struct{})}
	hasty(p, append([]kgo.Opt{kgo.Dialer(i.wire.dial), kgo.SessionTimeout(time.Second)}, opts...)...)
	ctx, stop := context.WithCancel(context.Background())
	i.stop = stop
	options := s.drainWithin(10 * time.Second)
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
		// One that is stopped while it opens its topics has nothing to drain.
		if i.err != nil && !errors.Is(i.err, stream.ErrUnopened) {
			i.stand.t.Error(i.err)
		}
	case <-time.After(20 * time.Second):
		i.stand.t.Fatal("an instance does not end")
	}
}

// live is the configuration of a stream without end, of an instance with a name
// ("": it has none).
func (s *stand) live(name string, settings ...string) *config.Pipeline {
	s.t.Helper()
	text := strings.Replace(fmt.Sprintf(standConfig, s.address, s.key), ", until: latest", "", 1)
	named := ""
	if name != "" {
		named = ", instance: " + name
	}
	text = strings.Replace(text, ", instance: a", named, 1)
	return s.parse(text, append([]string{"sink.kafka.commit.records=250", "sink.kafka.commit.interval=50ms"}, settings...)...)
}

// rest releases what is left.
func (s *stand) rest(settings ...string) *account.Result {
	s.t.Helper()
	return s.run(s.small(append([]string{"source.kafka.instance=last"}, settings...)...))
}

// inflow produces the persons bit by bit.
func (s *stand) inflow(g *rand.Rand) {
	for from := 0; from < survivors; {
		to := min(survivors, from+1+g.IntN(60))
		s.fillFrom(from, to)
		from = to
		time.Sleep(time.Duration(g.IntN(60)) * time.Millisecond)
	}
}

func TestStreamMembersComeAndGo(t *testing.T) {
	for seed := range uint64(4) {
		for _, named := range []bool{false, true} {
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
								time.Sleep(time.Duration(mine.IntN(300)) * time.Millisecond)
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

// A member that dies keeps its partitions for a session; when it comes back to
// life its open transaction must not be committed.
func TestStreamOutlivesItsMembers(t *testing.T) {
	for seed := range uint64(2) {
		for _, back := range []bool{false, true} {
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
				time.Sleep(time.Duration(200+g.IntN(300)) * time.Millisecond)
				first.wire.cut()
				second := s.start(s.live(""))
				time.Sleep(1500 * time.Millisecond)
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

// While the brokers are away longer than a transaction may last, they abort it.
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
				time.Sleep(time.Duration(100+g.IntN(300)) * time.Millisecond)
				i.wire.cut()
				time.Sleep(time.Duration(300+g.IntN(300)) * time.Millisecond)
				i.wire.mend()
			}
			<-flow
			i.drain()
			s.rest()
			s.sameRelease(s.small())
		})
	}
}

// A stream that is told to end while the brokers are away gives up in time.
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
				defer func() { <-fed }() // what feeds the topic fails the test where it outlives it
				go func() {
					defer close(fed)
					s.inflow(rand.New(rand.NewPCG(1, 1)))
				}()
				time.Sleep(700 * time.Millisecond)
			} else {
				s.values("out", survivors-len(unfit))
				time.Sleep(400 * time.Millisecond)
			}
			w.cut()
			time.Sleep(200 * time.Millisecond)
			begin := time.Now()
			stop()
			select {
			case err := <-ended:
				t.Logf("ended after %v: %v", time.Since(begin), err)
				if busy && (err == nil || !strings.Contains(err.Error(), "did not answer in time")) {
					t.Errorf("the error does not tell that the last transaction is not committed: %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the stream does not end")
			}
			w.mend()
		})
	}
}

// The broker goes away and comes back with what it has on disk.
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
	s.fill(survivors / 2)
	i := s.start(s.live("a"))
	for round := range 3 {
		time.Sleep(time.Duration(150+100*round) * time.Millisecond)
		s.cluster.Close()
		time.Sleep(300 * time.Millisecond)
		if s.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.Ports(n), kfake.GroupMinSessionTimeout(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(s.cluster.Close)
	s.fillFrom(survivors/2, survivors)
	i.drain()
	s.rest()
	s.sameRelease(s.small())
}
