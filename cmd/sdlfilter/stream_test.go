package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

func TestStreamUntilLatest(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 1000)
	s.config(`quarantine: {kafka: {topic: bad}}`, `report: {json: out/report.json}`)
	stdout, _ := s.run(exitDone, "run", "pipeline.yaml")
	mustContain(t, stdout, "1,000")
	first := s.released("out", 1000)

	// New records are read, and records that cannot be masked determine the exit status.
	s.persons(1000, 1500)
	s.produce(&kgo.Record{Topic: "in", Partition: 1, Value: []byte("[]")})
	s.run(exitQuarantined, "run", "pipeline.yaml")
	for i, y := range s.released("out", 1500) {
		if i < 1000 && y != first[i] {
			t.Fatalf("person %d got a different release", i)
		}
	}
	bad := s.messages("bad", 1)
	if len(bad) != 1 {
		t.Fatalf("%d entries in the quarantine, want 1", len(bad))
	}
	var entry struct {
		Topic             string
		Partition, Offset int
		Reason            string
	}
	if err := json.Unmarshal(bad[0].Value, &entry); err != nil || entry.Topic != "in" || entry.Partition != 1 ||
		entry.Offset != 750 || entry.Reason == "" {
		t.Errorf("quarantine entry %s, want in, partition 1, offset 750", bad[0].Value)
	}

	// The same with another group and into another topic: the same values.
	s.run(exitQuarantined, "run", "--allow-loosening", "-q", "pipeline.yaml", "--set", "source.kafka.group=other", "--set",
		"sink.kafka.topic=again")
	for i, y := range s.released("again", 1500) {
		if i < 1000 && y != first[i] {
			t.Fatalf("person %d has another value in the second release", i)
		}
	}
}

func TestStreamDrains(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 500)
	s.config(endless, `report: {json: out/report.json}`)
	for i, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT} {
		p := s.start("run", "pipeline.yaml")
		s.released("out", 500+200*i)
		s.persons(500+200*i, 700+200*i)
		s.released("out", 700+200*i)
		p.signal(end)
		p.wait(exitDone)
	}
	// Everything was committed: nothing is read a second time.
	s.config(strings.Replace(bounded, "}}", ", instance: a}}", 1))
	s.run(exitDone, "run", "pipeline.yaml")
	s.released("out", 1100)
	var rep struct{ Records struct{ Read, Released int } }
	if err := json.Unmarshal([]byte(s.read("out/report.json")), &rep); err != nil || rep.Records.Released != 1100 {
		t.Errorf("%v: the report of the whole stream has %d released records, want 1100", err, rep.Records.Released)
	}
}

// A stream with brokers that have not answered yet has nothing to drain.
func TestStreamEndsUnopened(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.cluster.Close()
	for _, c := range []struct {
		config string
		status int
		want   string
	}{
		{endless, exitDone, "told to end before the topics were open"},
		{bounded, exitSignal + int(syscall.SIGTERM), "nothing was published"},
	} {
		s.config(c.config)
		p := s.start("run", "pipeline.yaml")
		p.until("it is tried again")
		p.signal(syscall.SIGTERM)
		_, log := p.wait(c.status)
		mustContain(t, log, c.want)
	}
}

// A second signal ends a stream that cannot drain, at once.
func TestStreamSecondSignal(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 100)
	s.config(endless)
	p := s.start("run", "pipeline.yaml")
	s.released("out", 100)
	s.cluster.Close() // nothing can be committed any more
	p.signal(syscall.SIGTERM)
	// The system may merge two signals that arrive together, so the signal is repeated until the
	// program reacts. The program may have ended by then, because all records that were read may have
	// been committed.
	ended := eventually.Waits(patience, func() bool {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if !ended {
		t.Fatalf("does not end\n%s", p.tail())
	}
	if p.status != exitDone && p.status != exitSignal+int(syscall.SIGTERM) {
		t.Fatalf("exit status %d\n%s", p.status, p.tail())
	}
}

// farFromMean is a gate that passes while the greatest wage is far from the mean: for persons it is
// 1000 with a mean of 550.
const farFromMean = `gate: {on_fail: stop, rules: [{column: wage, target: max, knowledge: mean, min_rmse: 300}]}`

// nearMean are wages with the greatest one near the mean of all.
func nearMean(int) float64 { return 990 }

func TestStreamGateStops(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.config(endless, farFromMean, `report: {json: out/report.json, publish: [sd]}`)
	s.persons(0, 100)
	p := s.start("run", "pipeline.yaml")
	s.released("out", 100)
	s.paid(100, 700, nearMean)
	printed, log := p.wait(exitRefused)
	mustContain(t, log,
		"the stream stops, and nothing of the open transaction is released; 100 records had been released before and stay released; ",
		`"left":100`, "sdlfilter: the gate has stopped the stream: 100 records had been released before")
	mustContain(t, printed, "Stopped", "100 released")
	if strings.Contains(printed+log, "Nothing was published") || strings.Contains(printed, "withheld") {
		t.Errorf("the output claims that nothing was published:\n%s\n%s", printed, log)
	}
	s.released("out", 100)
	var rep struct {
		Records struct{ Released int }
		Gate    struct{ Passed bool }
		Stopped struct {
			Left    int `json:"left"`
			NotLeft int `json:"not_left"`
		}
	}
	if err := json.Unmarshal([]byte(s.read("out/report.json")), &rep); err != nil || rep.Records.Released != 100 ||
		rep.Gate.Passed ||
		rep.Stopped.Left != 100 || rep.Stopped.NotLeft < 1 || rep.Stopped.NotLeft > 600 {
		t.Errorf("%v: the report contains %+v, want 100 released and a gate that has refused", err, rep)
	}
	// Refused records are not lost: they are judged again.
	s.run(exitRefused, "run", "-q", "pipeline.yaml")
	s.released("out", 100)
	s.config(strings.Replace(bounded, "}}", ", instance: a}}", 1))
	s.run(exitDone, "run", "-q", "pipeline.yaml")
	s.released("out", 700)
}

func TestStreamGateHolds(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.config(endless, strings.Replace(farFromMean, "on_fail: stop", "on_fail: hold, hold: {topic: held}", 1),
		`sink: {kafka: {brokers: ["BROKER"], topic: out, commit: {interval: 300ms}}}`)
	s.persons(0, 100)
	p := s.start("run", "pipeline.yaml")
	s.released("out", 100)
	s.paid(100, 700, nearMean)
	p.until("masked records go to the restricted topic")
	if n := len(s.messages("held", 600)); n != 600 {
		t.Fatalf("%d records are held, want 600", n)
	}
	s.paid(700, 702, func(int) float64 { return 5000 })
	p.until("the gate's rules hold again")
	s.persons(702, 800)
	out := s.messages("out", 198)
	p.signal(syscall.SIGTERM)
	p.wait(exitDone)
	held := s.messages("held", 602)
	if len(out) != 198 || len(held) != 602 {
		t.Fatalf("%d records were released and %d held, want 198 and 602", len(out), len(held))
	}
	seen := map[int]bool{}
	for k, r := range append(held, out...) {
		var one person
		if err := json.Unmarshal(r.Value, &one); err != nil || one.Name != nil {
			t.Fatalf("%v: message %d is no masked person", err, k)
		}
		if seen[*one.ID] {
			t.Errorf("person %d is there twice", *one.ID)
		}
		if seen[*one.ID] = true; k < len(held) != (*one.ID >= 100 && *one.ID < 702) {
			t.Errorf("person %d: held %v", *one.ID, k < len(held))
		}
		if *one.Wage == 990 || *one.Wage == 5000 {
			t.Errorf("person %d is not masked", *one.ID)
		}
	}
}

func TestStreamGateAlerts(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.config(strings.Replace(farFromMean, "stop", "alert", 1))
	s.persons(0, 100)
	s.paid(100, 700, nearMean)
	_, log := s.run(exitDone, "run", "pipeline.yaml")
	mustContain(t, log, "records are released all the same")
	s.released("out", 700)
}

func TestStreamReload(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.config(endless)
	s.persons(0, 1000)
	p := s.start("run", "pipeline.yaml")
	s.released("out", 1000)
	change := func(want string, lines ...string) {
		t.Helper()
		s.config(append([]string{endless}, lines...)...)
		before := strings.Count(p.log(), want)
		p.signal(syscall.SIGHUP)
		p.once(fmt.Sprintf("writes %q", want), func() bool { return strings.Count(p.log(), want) > before })
	}
	const refused = "the changed configuration is not taken"
	change(refused, `masks: [{noise: {columns: [wage], sd: -1}}]`)
	mustContain(t, p.log(), "must be")
	change(refused, `sink: {kafka: {brokers: ["BROKER"], topic: again}}`)
	mustContain(t, p.log(), "sink has changed, which takes a restart")
	change(refused, `assess: {replicates: 20, targets: [max], every: {records: 10}, emit: [{kafka: {topic: missing}}]}`)
	mustContain(t, p.log(), `the topic \"missing\" does not exist`)
	change(refused, `columns: {id: {role: other}, wage: {role: sensitive, decimals: 2}, region: {role: other}}`,
		"unlisted: nothing")
	s.persons(1000, 2000)
	before := s.released("out", 2000)

	const louder = `masks: [{noise: {columns: [wage], sd: 500}}]`
	change("the changed configuration is in force", louder)
	s.persons(2000, 3000)
	all := s.released("out", 3000)
	// sd 50 and 500: the relative standard error of a standard deviation of n = 1000 normal values
	// is 1/√2000 = 2.2 %; five of them have a probability of 6e-7.
	noise := map[int]float64{} // sum of squares, by thousand
	for i, y := range all {
		noise[i/1000] += (y - personWage(i)) * (y - personWage(i))
		if was, ok := before[i]; ok && was != y {
			t.Fatalf("person %d got a different release", i)
		}
	}
	for thousand, sd := range map[int]float64{0: 50, 1: 50, 2: 500} {
		if got := math.Sqrt(noise[thousand] / 1000); math.Abs(got-sd) > 0.11*sd {
			t.Errorf("records from %d: the noise has standard deviation %.1f, want %.0f", 1000*thousand, got, sd)
		}
	}

	// A gate that the existing records already break takes effect at once.
	change("the changed configuration is in force", louder, strings.Replace(farFromMean, "300", "100000", 1))
	s.persons(3000, 3100)
	p.wait(exitRefused)
	s.released("out", 3000)
}

func TestStreamPolicies(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	at := time.UnixMilli(1_700_000_000_000)
	for i := range 20 {
		s.produce(&kgo.Record{
			Topic: "in", Partition: int32(i % 2), Timestamp: at.Add(time.Duration(i) * time.Second),
			Key:     fmt.Appendf(nil, "key %d", i/2%5),
			Headers: []kgo.RecordHeader{{Key: "from", Value: []byte("a person")}},
			Value:   fmt.Appendf(nil, `{"id":%d,"wage":10.00,"region":"r%d"}`, i, i%4),
		})
	}
	s.produce(&kgo.Record{Topic: "in", Key: []byte("gone"), Timestamp: at}) // a tombstone
	total := 0
	released := func(n int, settings ...string) (all []*kgo.Record) {
		t.Helper()
		s.config(`columns: {id: {role: other}, wage: {role: sensitive, decimals: 2}, region: {role: other}}`)
		args := []string{"run", "-q", "pipeline.yaml", "--set", "source.kafka.group=" + strings.Join(settings, ""), "--set",
			"sink.kafka.topic=out", "--allow-loosening"}
		for _, set := range settings {
			args = append(args, "--set", "sink.kafka."+set)
		}
		before := s.messages("out", total)
		total += n
		ends := map[int32]int64{0: -1, 1: -1}
		for _, r := range before {
			ends[r.Partition] = max(ends[r.Partition], r.Offset)
		}
		status := exitDone
		if n == 20 {
			status = exitQuarantined // a tombstone needs its key
		}
		s.run(status, args...)
		all = slices.DeleteFunc(s.messages("out", len(before)+n), func(r *kgo.Record) bool {
			return r.Offset <= ends[r.Partition]
		})
		if len(all) != n {
			t.Fatalf("%v: %d messages, want %d", settings, len(all), n)
		}
		return all
	}
	idOf := func(r *kgo.Record) int {
		var one person
		if json.Unmarshal(r.Value, &one) != nil {
			return -1
		}
		return *one.ID
	}
	for _, r := range released(20) {
		if r.Key != nil || r.Headers != nil || !r.Timestamp.Equal(at.Add(time.Duration(idOf(r))*time.Second)) {
			t.Errorf("by default a message has key %q, headers %v, timestamp %v", r.Key, r.Headers, r.Timestamp)
		}
	}
	for _, r := range released(20, "timestamp=drop", "key=region") {
		if i := idOf(r); string(r.Key) != fmt.Sprintf("r%d", i%4) || time.Since(r.Timestamp) > time.Hour {
			t.Errorf("person %d: key %q, timestamp %v", i, r.Key, r.Timestamp)
		}
	}
	for _, r := range released(21, "key=pass", "headers=pass") {
		if i := idOf(r); i >= 0 &&
			(string(r.Key) != fmt.Sprintf("key %d", i/2%5) || len(r.Headers) != 1 || string(r.Headers[0].Value) != "a person") ||
			i < 0 && (string(r.Key) != "gone" || r.Value != nil) {
			t.Errorf("person %d: key %q, headers %v", i, r.Key, r.Headers)
		}
	}
	hashes := map[string]string{}
	for _, r := range released(21, "key=hash") {
		if i := idOf(r); i >= 0 {
			key := fmt.Sprintf("key %d", i/2%5)
			if was, ok := hashes[key]; ok && was != string(r.Key) || len(r.Key) < 16 || bytes.Contains(r.Key, []byte("key")) {
				t.Errorf("%s became %q and %q", key, was, r.Key)
			}
			hashes[key] = string(r.Key)
		}
	}
	if distinct := maps.Clone(hashes); len(distinct) != 5 {
		t.Errorf("%d keys, want 5", len(distinct))
	}
}

// Topics matching a pattern, each released into its own topic. Equal values at the same place in
// two topics do not get the same noise.
func TestStreamTopics(t *testing.T) {
	t.Parallel()
	s := newStand(t, kfake.SeedTopics(2, "in-masked", "in-2-masked"))
	s.persons(0, 100)
	for _, r := range s.messages("in", 100) {
		s.produce(&kgo.Record{Topic: "in-2", Partition: r.Partition, Value: r.Value})
	}
	s.config(`source: {kafka: {brokers: ["BROKER"], pattern: "^in(-2)?$", until: latest}}`,
		`sink: {kafka: {brokers: ["BROKER"], topic: "{topic}-masked"}}`)
	s.run(exitDone, "run", "-q", "pipeline.yaml")
	one, two := s.released("in-masked", 100), s.released("in-2-masked", 100)
	same := 0
	for i, y := range one {
		if two[i] == y {
			same++
		}
	}
	// Two draws of sd 50, rounded to cents, are equal with probability 0.01/(50·2√π) = 6e-5.
	if same > 2 {
		t.Errorf("%d of 100 records have the same value in both topics", same)
	}
	// Both by name, into one topic.
	s.config(`source: {kafka: {brokers: ["BROKER"], topics: [in, in-2], until: latest, group: g}}`)
	s.run(exitDone, "run", "-q", "pipeline.yaml")
	if n := len(s.messages("out", 200)); n != 200 {
		t.Errorf("%d messages from two topics, want 200", n)
	}
}

func TestStreamAtLeastOnce(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 1000)
	s.config(`sink: {kafka: {brokers: ["BROKER"], topic: out, delivery: at_least_once, commit: {interval: 100ms}}}`,
		`quarantine: {kafka: {topic: bad}}`)
	s.produce(&kgo.Record{Topic: "in", Value: []byte(`{"wage":`)})
	s.run(exitQuarantined, "run", "pipeline.yaml")
	first := s.released("out", 1000)
	if n := len(s.messages("bad", 1)); n != 1 {
		t.Errorf("%d entries in the quarantine, want 1", n)
	}
	s.persons(1000, 1200)
	s.run(exitQuarantined, "run", "pipeline.yaml")
	for i, y := range s.released("out", 1200) {
		if was, ok := first[i]; ok && was != y {
			t.Fatalf("person %d got a different release", i)
		}
	}
	// The same values as with transactions.
	s.run(exitQuarantined, "run", "--allow-loosening", "-q", "pipeline.yaml", "--set", "sink.kafka.delivery=exactly_once",
		"--set", "source.kafka.group=g", "--set", "sink.kafka.topic=again")
	if again := s.released("again", 1200); !maps.Equal(again, s.released("out", 1200)) {
		t.Error("at_least_once has released other values than exactly_once")
	}
}

// Values move within their partition and window, and a window never spans two commits.
func TestStreamSwaps(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.config(`masks: [{swap: {keys: [kind], attribute: region, columns: [wage], rate: 1, policy: random}}]`,
		`columns: {id: {role: other}, name: {role: identifier}, wage: {role: sensitive, decimals: 2}, region: {role: other}, kind: {role: key}}`,
		`window: {records: 100, linger: 200ms}`)
	ends := []int{} // of commits, by partition
	for _, to := range []int{500, 560, 1000} {
		s.persons(2*append([]int{0}, ends...)[len(ends)], 2*to)
		s.run(exitDone, "run", "-q", "pipeline.yaml")
		ends = append(ends, to)
	}
	wages := s.released("out", 2000)
	moved := 0
	for partition := range 2 {
		from := 0
		for _, end := range ends {
			for ; from < end; from = min(from+100, end) {
				var before, after []float64
				for k := from; k < min(from+100, end); k++ {
					i := 2*k + partition
					before, after = append(before, personWage(i)), append(after, wages[i])
					if wages[i] != personWage(i) {
						moved++
					}
				}
				slices.Sort(before)
				slices.Sort(after)
				if !slices.Equal(before, after) {
					t.Fatalf("partition %d, records %d to %d: the released values are no permutation of the original ones", partition,
						from, min(from+100, end))
				}
			}
		}
	}
	if moved < 1000 {
		t.Errorf("only %d of 2000 values have moved", moved)
	}
}
