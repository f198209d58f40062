package kafkatest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/process"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

// kills is the number of kills.
var kills = scale(3, 30)

// killing starts a program repeatedly, kills it at random moments, and lets the last one finish.
// start starts the program once.
func (c *trial) killing(t *testing.T, g *rand.Rand, group string, start func() *process.Process) {
	t.Helper()
	f := c.feed(t, 0, 0, 2500)
	share := func(parts float64) { f.allow(parts / float64(kills+1)) }
	var before []int64
	for k := range kills {
		// Each program is killed in its own part of the survey.
		share(float64(k) + 0.5)
		p := start()
		if k%3 == 0 {
			// During start, when joining the group, or while reading the first records.
			wait.Elapse(t.Context(), time.Duration(g.Float64()*float64(1500*time.Millisecond)))
		} else {
			// While records flow: anywhere in a transaction, or during its commit.
			c.moves(t, group, before, time.Minute, p)
			share(float64(k) + 1)
			wait.Elapse(t.Context(), time.Duration(g.Float64()*float64(700*time.Millisecond)))
		}
		if p.Ended() {
			t.Fatalf("the program ends by itself before kill %d", k+1)
		}
		p.Kill()
		at, err := c.committed(t.Context(), group, c.in, partitions)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("kill %d, at %d of %d records", k+1, sum(at), c.n)
		before = at
	}
	p := start()
	f.finish(t)
	c.await(t, group, 2*time.Minute, p)
	drain(t, p)
}

// testBareCopy tests the harness with a simple program: the transactions of franz-go alone, which
// changes no value.
func testBareCopy(t *testing.T, s *site) {
	c := newTrial(t, s, 1, records)
	out := c.in + "-out"
	s.topic(t, out, partitions)
	path, err := barecopy()
	if err != nil {
		t.Fatal(err)
	}
	g := rand.New(rand.NewPCG(1, 1))
	c.killing(t, g, c.in, func() *process.Process {
		return c.start(t, path, "-brokers", strings.Join(s.cluster.Addresses(), ","), "-group", c.in,
			"-instance", "a", "-from", c.in, "-to", out, "-interval", "300ms")
	})
	released := c.read(t, out)
	for i, r := range released {
		name := strings.Index(string(r.Value), `"name":`)
		wage := strings.Index(string(r.Value), `"wage":`)
		released[i].Value = []byte(string(r.Value[:name]) + string(r.Value[wage:]))
	}
	count := c.expectation().Check(released)
	if err := count.Err(); err != nil {
		t.Error(err)
	}
	// The same check detects that nothing is masked.
	if err := c.expectation().Masked(count.Values); err == nil {
		t.Error("values that are as they went in are not noticed")
	}
	if len(released) > 1 {
		twice := append(released[:len(released):len(released)], released[0])
		if err := c.expectation().Check(twice).Err(); err == nil {
			t.Error("a record that comes twice is not noticed")
		}
	}
}

// testKilled: SIGKILL at random moments. The instance has a name in the group, so that its
// successor takes over at once.
func testKilled(t *testing.T, s *site) {
	c := newTrial(t, s, 2, records)
	p := pipeline{group: c.in, instance: "a", out: c.in + "-out"}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	g := rand.New(rand.NewPCG(2, 1))
	c.killing(t, g, p.group, func() *process.Process { return c.run(t, config) })
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}

// testAtLeastOnce: without transactions nothing is lost, and records released twice have the same
// values.
func testAtLeastOnce(t *testing.T, s *site) {
	c := newTrial(t, s, 3, records)
	p := pipeline{group: c.in, instance: "a", out: c.in + "-out", delivery: "at_least_once"}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	g := rand.New(rand.NewPCG(3, 1))
	c.killing(t, g, p.group, func() *process.Process { return c.run(t, config) })
	e := c.expectation()
	e.Repeated = true
	c.verdict(t, p, config, c.read(t, p.out), e)
}

// testChurn: three instances join and leave at random.
func testChurn(t *testing.T, s *site) {
	c := newTrial(t, s, 4, records)
	p := pipeline{group: c.in, out: c.in + "-out"}
	s.topic(t, p.out, partitions)
	lasts := scale(20*time.Second, 2*time.Minute)
	f := c.feed(t, 0, c.n*9/10, float64(c.n)/lasts.Seconds())
	g := rand.New(rand.NewPCG(4, 1))
	config := c.write(t, p)
	var running [3]*process.Process
	joined, left := 0, 0
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		i := g.IntN(len(running))
		switch {
		case running[i] == nil:
			running[i] = c.run(t, config)
			joined++
		case running[i].Ended():
			t.Fatalf("an instance has ended by itself")
		default:
			drain(t, running[i])
			running[i] = nil
			left++
		}
		wait.Elapse(t.Context(), time.Duration((0.3+1.5*g.Float64())*float64(time.Second))) // the moment of the next change
	}
	t.Logf("%d instances joined, %d left", joined, left)
	if running[0] == nil {
		running[0] = c.run(t, config)
	}
	f.finish(t)
	staying := slices.DeleteFunc(running[:], func(r *process.Process) bool { return r == nil })
	c.await(t, p.group, 2*time.Minute, staying...)
	for _, r := range staying {
		drain(t, r)
	}
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}

// testCrowd: a topic of 64 partitions, and a group of up to 20 instances that join and leave at random; every third is
// killed, so that its partitions and its transaction wait for the end of its session.
func testCrowd(t *testing.T, s *site) {
	const width = 64
	c := newTrialOf(t, s, 11, records, width)
	p := pipeline{group: c.in, out: c.in + "-out"}
	s.topic(t, p.out, width)
	lasts := scale(30*time.Second, 4*time.Minute)
	f := c.feed(t, 0, c.n*9/10, float64(c.n)/lasts.Seconds())
	g := rand.New(rand.NewPCG(11, 1))
	config := c.write(t, p)
	running, since := make([]*process.Process, scale(8, 20)), map[*process.Process]time.Time{}
	run := func(i int) {
		running[i] = c.run(t, config)
		since[running[i]] = time.Now()
	}
	joined, left, killed, most := 0, 0, 0, 0
	for i := range running {
		run(i)
		joined++
	}
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		there := 0
		for _, r := range running {
			if r != nil {
				there++
			}
		}
		most = max(most, there)
		i := g.IntN(len(running))
		switch {
		case running[i] == nil:
			run(i)
			joined++
		case running[i].Ended():
			t.Fatalf("an instance has ended by itself")
		case there < len(running)/2, g.IntN(2) == 0:
		// who has just been started may not know signals yet
		case g.IntN(3) == 0, time.Since(since[running[i]]) < 5*time.Second:
			running[i].Kill()
			running[i] = nil
			killed++
		default:
			drain(t, running[i])
			running[i] = nil
			left++
		}
		wait.Elapse(t.Context(), time.Duration((0.2+1.2*g.Float64())*float64(time.Second))) // the moment of the next change
	}
	t.Logf("%d instances joined, %d left, %d were killed; at most %d at once", joined, left, killed, most)
	f.finish(t)
	staying := slices.DeleteFunc(running, func(r *process.Process) bool { return r == nil })
	c.await(t, p.group, 4*time.Minute, staying...)
	for _, r := range staying {
		drain(t, r)
	}
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}

// testZombie: an instance is frozen for longer than its session, another takes over, and the first
// one comes back and must not release anything.
func testZombie(t *testing.T, s *site) {
	c := newTrial(t, s, 5, records)
	p := pipeline{group: c.in, out: c.in + "-out"}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	// A frozen instance keeps its partitions for a session of 15 s.
	times := scale(1, 3)
	f := c.feed(t, 0, 0, 2000)
	steps := float64(2*times + 1)
	g := rand.New(rand.NewPCG(5, 1))
	active := c.run(t, config)
	var before []int64
	for k := range times {
		// Frozen while records flow through it.
		f.allow(float64(2*k+1) / steps)
		c.moves(t, p.group, before, time.Minute, active)
		wait.Elapse(t.Context(), time.Duration(g.Float64()*float64(600*time.Millisecond))) // the moment of the freeze
		if err := active.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		zombie, err := active, error(nil)
		if before, err = c.committed(t.Context(), p.group, c.in, partitions); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		f.allow(float64(2*k+2) / steps)
		active = c.run(t, config)
		before = c.moves(t, p.group, before, time.Minute, active)
		t.Logf("freeze %d: another goes on after %v", k+1, time.Since(began).Round(time.Millisecond))
		if time.Since(began) < time.Second {
			t.Error("the frozen instance had no partitions")
		}
		if err := zombie.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		// It has this time to release something. It may rejoin as a member, and it ends when asked
		// to.
		wait.Elapse(t.Context(), 2*time.Second)
		if !zombie.Ended() {
			drain(t, zombie)
		}
	}
	f.finish(t)
	c.await(t, p.group, 2*time.Minute, active)
	drain(t, active)
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}

// testReplaced: while an instance is frozen, another starts with its name. When the first one
// continues, only one of the two goes on; the other reports that it was replaced and ends.
func testReplaced(t *testing.T, s *site) {
	c := newTrial(t, s, 6, records)
	p := pipeline{group: c.in, instance: "a", out: c.in + "-out"}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	f := c.feed(t, 0, c.n/3, 2000)
	first := c.run(t, config)
	before := c.moves(t, p.group, nil, time.Minute, first)
	wait.Elapse(t.Context(), 150*time.Millisecond) // the moment of the freeze
	if err := first.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	f.allow(2.0 / 3)
	second := c.run(t, config)
	c.moves(t, p.group, before, time.Minute, second)
	if err := first.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if !wait.Within(2*time.Minute, func() bool { return first.Ended() || second.Ended() }) {
		dump(first)
		t.Fatal("two instances with the same name continue at the same time")
	}
	replaced, survivor := first, second
	if second.Ended() {
		replaced, survivor = second, first
	}
	if status, err := replaced.Wait(time.Second); err != nil || status != 1 ||
		!strings.Contains(replaced.Tail(), "instance") {
		t.Errorf("an instance that was replaced exits %d, %v, want 1 and a word about instance", status, err)
	}
	f.finish(t)
	c.await(t, p.group, 2*time.Minute, survivor)
	drain(t, survivor)
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}

// moves waits until the group has committed beyond before in every partition (nil: anything at
// all), and returns its offsets.
func (c *trial) moves(t *testing.T, group string, before []int64, patience time.Duration, p *process.Process) []int64 {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		at, err := c.committed(t.Context(), group, c.in, partitions)
		moved := err == nil
		for i := range at {
			had := int64(0)
			if before != nil {
				had = before[i]
			}
			moved = moved && at[i] > had
		}
		if moved {
			return at
		}
		if p.Ended() {
			t.Fatal("the program has ended by itself")
		}
		if time.Now().After(deadline) {
			t.Fatalf("in %v the group did not move on from %v: %v %v", patience, before, at, err)
		}
		wait.Elapse(t.Context(), 50*time.Millisecond) // interval between questions to brokers
	}
}
