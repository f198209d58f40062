package kafkatest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/faultproxy"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

// testBrokerKilled: three brokers are killed and restarted one after another, first those that
// coordinate the group and the transactions.
func testBrokerKilled(t *testing.T, s *site) {
	c := newTrial(t, s, 17, records)
	p := pipeline{group: c.in, out: c.in + "-out"}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	times := scale(2, 12)
	f := c.feed(t, 0, 0, 2000)
	steps := float64(2*times + 2)
	f.allow(1 / steps)
	filter := c.run(t, config)
	before := c.moves(t, p.group, nil, time.Minute, filter)
	g := rand.New(rand.NewPCG(17, 1))
	for k := range times {
		victim := g.IntN(s.cluster.N())
		what := "any"
		switch k {
		case 0:
			victim, what = c.coordinator(t, p.group), "the group's coordinator"
		case 1:
			victim, what = c.transactions(t, p.group), "the transactions' coordinator"
		}
		s.cluster.Kill(victim)
		away := time.Duration((1 + 3*g.Float64()) * float64(time.Second))
		wait.Elapse(t.Context(), away)
		// Two brokers of three are enough.
		f.allow(float64(2*k+2) / steps)
		at := c.moves(t, p.group, before, time.Minute, filter)
		if err := s.cluster.Restart(victim); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		err := s.cluster.WaitAll(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("kill %d: broker %d (%s) was away for %v, and the group went from %d to %d", k+1, victim+1, what,
			away.Round(time.Millisecond), sum(before), sum(at))
		f.allow(float64(2*k+3) / steps)
		before = c.moves(t, p.group, at, time.Minute, filter)
	}
	f.finish(t)
	c.await(t, p.group, 3*time.Minute, filter)
	drain(t, filter)
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}

func (c *trial) coordinator(t *testing.T, group string) int {
	t.Helper()
	i, err := c.cluster.GroupCoordinator(t.Context(), c.admin, group)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// transactions returns the coordinator of the program's transactions, whatever their id: the id
// contains the group's name.
func (c *trial) transactions(t *testing.T, group string) int {
	t.Helper()
	listed, err := c.admin.ListTransactions(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id := range listed {
		if strings.Contains(id, group) {
			i, err := c.cluster.TransactionCoordinator(t.Context(), c.admin, id)
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
	}
	t.Fatalf("no transactional id contains the name of the group: %v", listed.TransactionalIDs())
	return 0
}

// testNetworkCut: the connection between the program and the brokers stalls, is reset, delayed and
// refused, to one broker or to all.
func testNetworkCut(t *testing.T, s *site) {
	c := newTrial(t, s, 18, records)
	p := pipeline{group: c.in, out: c.in + "-out", brokers: s.cluster.Proxied()}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	lasts := scale(18*time.Second, 3*time.Minute)
	f := c.feed(t, 0, c.n*9/10, float64(c.n)/lasts.Seconds())
	filter := c.run(t, config)
	c.moves(t, p.group, nil, time.Minute, filter)
	g := rand.New(rand.NewPCG(18, 1))
	// One interruption is longer than a session and a transaction.
	long := scale(0, 25)
	faults := map[string]int{}
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		which := s.proxies
		if g.IntN(2) == 0 {
			which = []*faultproxy.Proxy{s.proxies[g.IntN(len(s.proxies))]}
		}
		kind := []string{"stall", "reset", "delay", "refuse"}[g.IntN(4)]
		hold := time.Duration((0.2 + 2*g.Float64()) * float64(time.Second))
		if long > 0 && time.Until(end) < lasts/2 {
			which, kind, hold, long = s.proxies, "stall", time.Duration(long)*time.Second, 0
		}
		faults[kind]++
		for _, proxy := range which {
			switch kind {
			case "stall":
				proxy.Stall(true)
			case "delay":
				proxy.Delay(300 * time.Millisecond)
			case "refuse":
				proxy.Refuse(true)
				proxy.Reset()
			case "reset":
				proxy.Reset()
			}
		}
		wait.Elapse(t.Context(), hold)
		for _, proxy := range which {
			proxy.Heal()
		}
		wait.Elapse(t.Context(), time.Duration(g.Float64()*0.8*float64(time.Second))) // until the next interruption
		if filter.Ended() {
			t.Fatalf("the program ends by itself after a %s", kind)
		}
	}
	t.Logf("cuts: %v", faults)
	f.finish(t)
	c.await(t, p.group, 2*time.Minute, filter)
	drain(t, filter)
	p.brokers = nil
	c.verdict(t, p, c.write(t, p), c.read(t, p.out), c.expectation())
}
