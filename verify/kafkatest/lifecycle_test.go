package kafkatest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/process"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

// few is enough if chance plays no part.
const few = 6_000

// testDrain: SIGTERM while records flow. Exactly the committed records are visible, and the next
// run continues from there.
func testDrain(t *testing.T, s *site) {
	c := newTrial(t, s, 8, few)
	p := pipeline{group: c.in, out: c.in + "-out"}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	f := c.feed(t, 0, c.n/2, few/5)
	filter := c.run(t, config)
	c.moves(t, p.group, nil, time.Minute, filter)
	drain(t, filter)
	at, err := c.committed(t.Context(), p.group, c.in, partitions)
	if err != nil {
		t.Fatal(err)
	}
	e := c.expectation()
	e.Counts = at
	if err := e.Check(c.read(t, p.out)).Err(); err != nil {
		t.Errorf("after SIGTERM, at the offsets %v: %v", at, err)
	}
	filter = c.run(t, config)
	f.finish(t)
	c.await(t, p.group, time.Minute, filter)
	drain(t, filter)
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}

// clipped is a mask that biases only very high wages, and the rule that this breaks.
const (
	clipped       = "  - truncate: {columns: [wage], upper: 20000, mode: clip}\n  - noise: {columns: [wage], sd: 50}\n  - noise: {columns: [hours], sd: 5}\n"
	efficientOnly = "rules: [{column: wage, min_efficiency: 0.5}]"
)

// rich gives the records from the from-th to before the to-th a wage that is too high.
func (c *trial) rich(from, to int64) {
	c.poisoned = map[string][]byte{}
	next := make([]int64, partitions)
	for i := range to {
		home := c.records.Home(i)
		if i >= from {
			r := c.records.At(home, next[home])
			c.poisoned[r.ID] = []byte(withWage(r, "900000.00"))
		}
		next[home]++
	}
}

// testGateStop: if a rule is broken, the program exits with status 4, and nothing of the
// transaction that broke it is visible.
func testGateStop(t *testing.T, s *site) {
	c := newTrial(t, s, 9, few)
	half := c.records.Counts(few / 2)
	c.rich(few/2, few)
	p := pipeline{group: c.in, out: c.in + "-out", masks: clipped, gate: "on_fail: stop, " + efficientOnly}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	c.feedAll(t, 0, few/2)
	filter := c.run(t, config)
	c.awaitOffsets(t, p.group, half, time.Minute, filter)
	drain(t, filter)

	// Produced while the program does not run, they form the next transaction.
	c.feedAll(t, few/2, few)
	for range 2 { // a restart cannot bypass the gate
		filter = c.run(t, config)
		status, err := filter.Wait(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if status != 4 {
			t.Fatalf("the gate's rule is broken and the program exits %d, want 4", status)
		}
	}
	at, err := c.committed(t.Context(), p.group, c.in, partitions)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(at) != fmt.Sprint(half) {
		t.Errorf("the group is at %v, want %v, the end of the records that satisfy the rule", at, half)
	}
	e := c.expectation()
	e.Counts = half
	if err := e.Check(c.read(t, p.out)).Err(); err != nil {
		t.Error(err)
	}
	if kept := c.totals(t, p.group, config); kept.Records["released"] != few/2 {
		t.Errorf("the assessment counts %d records as released, want %d", kept.Records["released"], few/2)
	}
}

// testGateHold: while a rule is broken, masked records go to the restricted topic; when it holds
// again, records are released again.
func testGateHold(t *testing.T, s *site) {
	c := newTrial(t, s, 10, few)
	c.rich(few/3, 2*few/3)
	hold := c.in + "-hold"
	p := pipeline{group: c.in, out: c.in + "-out", masks: clipped,
		gate: fmt.Sprintf("on_fail: hold, hold: {topic: %s}, %s", hold, efficientOnly)}
	s.topic(t, p.out, partitions)
	s.topic(t, hold, partitions)
	config := c.write(t, p)
	third, thirds := c.records.Counts(few/3), c.records.Counts(2*few/3)
	c.feedAll(t, 0, few/3)
	filter := c.run(t, config)
	c.awaitOffsets(t, p.group, third, time.Minute, filter)
	drain(t, filter)
	// Produced while the program does not run, they form the next transaction.
	c.feedAll(t, few/3, 2*few/3)
	filter = c.run(t, config)
	c.awaitOffsets(t, p.group, thirds, time.Minute, filter)
	// The rule holds again in a transaction with some of what follows, and what comes after it is released.
	c.feedAll(t, 2*few/3, 5*few/6)
	c.awaitOffsets(t, p.group, c.records.Counts(5*few/6), time.Minute, filter)
	c.feedAll(t, 5*few/6, few)
	c.await(t, p.group, time.Minute, filter)
	drain(t, filter)

	ids := func(released []survey.Released) map[string]bool {
		v := map[string]bool{}
		for id := range c.expectation().Check(released).Values {
			v[id] = true
		}
		return v
	}
	out, held := c.read(t, p.out), c.read(t, hold)
	outIDs, heldIDs := ids(out), ids(held)
	e := c.expectation()
	e.Without = heldIDs
	if err := e.Check(out).Err(); err != nil {
		t.Errorf("released: %v", err)
	}
	e.Without = outIDs
	count := e.Check(held)
	if err := count.Err(); err != nil {
		t.Errorf("held records: %v", err)
	}
	again := 0
	for part := range third {
		for o := range c.counts[part] {
			id := survey.ID(int32(part), o)
			switch {
			case o < third[part] && !outIDs[id]:
				t.Fatalf("%s satisfies the rule and is held", id)
			case o >= third[part] && o < thirds[part] && !heldIDs[id]:
				t.Fatalf("%s broke the rule and is released", id)
			case o >= thirds[part] && outIDs[id]:
				again++
			}
		}
	}
	if again == 0 {
		t.Error("nothing is released when the rule holds again")
	}
	for id, values := range count.Values {
		if values[0] > 25_000 {
			t.Errorf("%s is held unmasked", id)
			break
		}
	}
	if kept := c.totals(t, p.group, config); kept.Records["released"] != int64(len(out)) ||
		kept.Records["held"] != int64(len(held)) {
		t.Errorf("the assessment counts %v, %d were released and %d held", kept.Records, len(out), len(held))
	}
}

// testReload: SIGHUP applies a changed configuration between two transactions, and keeps the old
// one if the new one is wrong.
func testReload(t *testing.T, s *site) {
	c := newTrial(t, s, 11, few)
	p := pipeline{group: c.in, out: c.in + "-out"}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	old, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(old), "sd: 50}", "sd: 80}", 1)
	wrong := strings.Replace(string(old), "sd: 50}", "sd: -80}", 1)
	f := c.feed(t, 0, c.n/4, few/4)
	address := freeAddress(t)
	filter := c.run(t, config, "--listen", address)
	before := c.moves(t, p.group, nil, time.Minute, filter)
	hangUp := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := filter.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	reloads := `sdlfilter_config_reloads_total{result="%s"}`
	hangUp(wrong)
	until(t, filter, func() bool { return counted(address, fmt.Sprintf(reloads, "refused")) })
	if !strings.Contains(filter.Tail(), "masks[0].noise.sd") {
		t.Error("the program does not report the error of the changed configuration")
	}
	f.allow(0.5)
	c.moves(t, p.group, before, time.Minute, filter)
	hangUp(changed)
	until(t, filter, func() bool { return counted(address, fmt.Sprintf(reloads, "taken")) })
	f.finish(t)
	c.await(t, p.group, time.Minute, filter)
	drain(t, filter)
	count := c.expectation().Check(c.read(t, p.out))
	if err := count.Err(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(config, old, 0o600); err != nil {
		t.Fatal(err)
	}
	_, first := c.undisturbed(t, p)
	p.group += "-new"
	p.masks = "  - noise: {columns: [wage], sd: 80}\n  - noise: {columns: [hours], sd: 5}\n"
	_, second := c.undisturbed(t, p)
	for part, n := range c.counts {
		switched := int64(-1)
		for o := range n {
			id := survey.ID(int32(part), o)
			switch count.Values[id] {
			case second[id]:
				if switched < 0 && first[id] != second[id] {
					switched = o
				}
			case first[id]:
				if switched >= 0 {
					t.Fatalf("%s is masked by the old configuration, after %d was by the new one", id, switched)
				}
			default:
				t.Fatalf("%s is masked neither by the old nor by the new configuration", id)
			}
		}
		if switched <= 0 {
			t.Errorf("partition %d: the new configuration was in force from %d, want after the first records", part, switched)
		}
	}
}

// until waits for a condition while a program runs.
func until(t *testing.T, p *process.Process, met func() bool) {
	t.Helper()
	if !wait.Within(time.Minute, func() bool { return p.Ended() || met() }) || p.Ended() {
		t.Fatal("the condition is not met")
	}
}

// counted reports whether a counter is above zero.
func counted(address, name string) bool {
	v, err := metric(address, name)
	return err == nil && v > 0
}

// testUntilLatest: a bounded run ends at the last record that existed when it began; the next run
// continues there.
func testUntilLatest(t *testing.T, s *site) {
	c := newTrial(t, s, 12, few)
	p := pipeline{group: c.in, out: c.in + "-out", until: "latest"}
	s.topic(t, p.out, partitions)
	config := c.write(t, p)
	half := c.records.Counts(few / 2)
	once := func(want []int64) {
		t.Helper()
		filter := c.run(t, config)
		status, err := filter.Wait(time.Minute)
		if err != nil || status != 0 {
			t.Fatalf("a bounded run exits %d, %v, want 0", status, err)
		}
		e := c.expectation()
		e.Counts = want
		if err := e.Check(c.read(t, p.out)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	c.feedAll(t, 0, few/2)
	once(half)
	once(half)
	c.feedAll(t, few/2, few)
	once(c.counts)
	c.verdict(t, p, config, c.read(t, p.out), c.expectation())
}
