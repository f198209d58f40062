package stream_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// endless returns the stand's configuration without an end, with some further lines.
func (s *stand) endless(more string) string {
	return fmt.Sprintf(strings.Replace(standConfig, ", until: latest", "", 1), s.address, s.key) + more
}

// changing is a stream that receives other configurations while it runs.
type changing struct {
	*stand
	reload chan pipeline.Changed
	page   *monitor.Monitor
	log    *streamLog
	stop   context.CancelFunc
	done   chan error
}

func (s *stand) changing(text string) *changing {
	s.t.Helper()
	c := &changing{stand: s, reload: make(chan pipeline.Changed),
		page: monitor.New(monitor.Info{Name: "stand", Interval: time.Minute}), log: s.listen(), done: make(chan error, 1)}
	o := c.log.options()
	o.Reload, o.Monitor = c.reload, c.page
	p := hasty(s.parse(text))
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	go func() {
		_, err := stream.Run(ctx, p, o)
		c.done <- err
	}()
	return c
}

// give sends a configuration and waits until it is accepted or refused. This is certain when the
// channel has accepted another one, which is refused for a different reason.
func (c *changing) give(text string) {
	c.t.Helper()
	for _, changed := range []pipeline.Changed{{Config: c.parse(text)},
		{Err: fmt.Errorf("nothing more after %d bytes", len(text))}} {
		select {
		case c.reload <- changed:
		case err := <-c.done:
			c.t.Fatal(err)
		case <-time.After(eventually.Patience):
			c.t.Fatal("the stream does not take the changed configuration in time")
		}
	}
}

func (c *changing) end() {
	c.t.Helper()
	c.stop()
	if err := <-c.done; err != nil {
		c.t.Error(err)
	}
}

func (c *changing) mode(want string) {
	c.t.Helper()
	if _, text := served(c.t, c.page, "/metrics"); !strings.Contains(text, fmt.Sprintf(`mode{mode="%s"} 1`, want)) {
		c.t.Errorf("the mode on the page is not %s: %s", want, text)
	}
}

// Records held back by the gate stay held if the changed gate holds them too, and are released from
// the next transaction on if it does not.
func TestStreamChangesItsGateWhileItHolds(t *testing.T) {
	const broken = "gate: {on_fail: %s, rules: [{column: wage, target: max, knowledge: index, min_rmse: %d}]}\n"
	unmeasured := strings.NewReplacer("sensitive, decimals: 2", "identifier",
		"masks:\n  - noise: {columns: [wage], sd: 50}\n", "masks: []\n")
	for name, changed := range map[string]func(*stand) string{
		"alert":   func(s *stand) string { return s.endless(fmt.Sprintf(broken, "alert", 100_000)) },
		"no gate": func(s *stand) string { return s.endless("") },
		"nothing measured": func(s *stand) string {
			return unmeasured.Replace(s.endless("gate: {on_fail: hold, hold: {topic: held}}\n"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.persons(0, 100)
			c := s.changing(s.endless(fmt.Sprintf(broken, "hold, hold: {topic: held}", 100_000)))
			if got := s.ids("held", 100); !slices.Equal(got, numbers(0, 100)) {
				t.Fatalf("%d persons are held back, want the first 100", len(got))
			}
			c.mode(monitor.Holding)
			c.give(s.endless(fmt.Sprintf(broken, "hold, hold: {topic: held}", 200_000)))
			s.persons(100, 200)
			if got := s.ids("held", 200); !slices.Equal(got, numbers(0, 200)) {
				t.Errorf("%d persons are held back after a change to another gate that fails, want 200", len(got))
			}
			c.mode(monitor.Holding)
			c.give(changed(s))
			c.mode(monitor.Releasing)
			s.persons(200, 300)
			if got := s.ids("out", 100); !slices.Equal(got, numbers(200, 300)) {
				t.Errorf("the released persons are %v, want 200 to 299", got)
			}
			if got := s.ids("held", 200); len(got) != 200 {
				t.Errorf("%d persons are held back, want 200", len(got))
			}
			c.end()
		})
	}
}

// A changed configuration that does not fit the topics, or with files that cannot be opened, is
// refused with the reason: later records are masked as before.
func TestStreamKeepsAConfigurationThatFits(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := s.endless("")
	c := s.changing(text)
	zero := strings.Replace(text, "noise: {columns: [wage], sd: 50}", "round: {columns: [wage], base: 100000}", 1)
	for want, bad := range map[string]string{
		`the topic \"gone\" does not exist`: zero +
			"gate: {on_fail: hold, hold: {topic: gone}, rules: [{column: wage, target: max, knowledge: index, min_rmse: 1}]}\n",
		"assess.emit: ": strings.Replace(zero, "assess: {",
			"assess: {every: {records: 9}, emit: [{jsonl: "+file+"/s.jsonl}], ", 1),
	} {
		c.give(bad)
		if !c.log.has(want) {
			t.Errorf("no log line says %s", want)
		}
	}
	s.persons(0, 100)
	moved := 0
	for i, y := range s.exactlyOnce("out", 100) {
		// With noise of SD 50, each wage of 100 or more becomes 0 with a probability below 0.03;
		// rounding to 100000 makes all of them 0.
		if y != 0 {
			moved++
		}
		if math.Abs(y-wage(i)) > 600 {
			t.Errorf("person %d with the wage %v is released as %v", i, wage(i), y)
		}
	}
	if moved < 80 {
		t.Errorf("%d of 100 persons are masked, want at least 80", moved)
	}
	if c.log.has("is in force") {
		t.Error("a configuration that must be refused is in force")
	}
	c.end()
}

// A mask over windows works within the windows of a partition: a swap moves each value to another
// record of its window; the last window is not full.
func TestStreamWithWindows(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	const n, records = 230, 50 // 115 persons in each partition: windows of 50, 50 and 15
	s.persons(0, n)
	text := strings.Replace(fmt.Sprintf(standConfig, s.address, s.key), "noise: {columns: [wage], sd: 50}",
		"swap: {keys: [region], attribute: id, columns: [wage], rate: 0.9, policy: random}", 1)
	s.run(s.parse(text + fmt.Sprintf("window: {records: %d, linger: 300ms}\n", records)))
	wages := s.exactlyOnce("out", n)
	moved := 0
	for p := range partitions {
		for from := p; from < n; from += partitions * records {
			var before, after []float64
			for i := from; i < min(n, from+partitions*records); i += partitions {
				before, after = append(before, math.Round(100*wage(i))), append(after, math.Round(100*wages[i]))
				if before[len(before)-1] != after[len(after)-1] {
					moved++
				}
			}
			slices.Sort(before)
			slices.Sort(after)
			if !slices.Equal(before, after) {
				t.Errorf("the released window of person %d has not its original wages in another order", from)
			}
		}
	}
	if moved < n/2 {
		t.Errorf("%d of %d wages were swapped", moved, n)
	}
}

// If the answers to commits are lost, before or after the brokers carry them out, a stream into
// files contains each person once.
func TestStreamIntoFilesSurvivesCutCommits(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.EndTxn, kmsg.TxnOffsetCommit} {
		for _, after := range []bool{false, true} {
			if racetest.Omits(key != kmsg.EndTxn || !after) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", key.Name(), after), func(t *testing.T) {
				t.Parallel()
				scissors := new(scissors)
				s := newStand(t, kfake.ListenFn(scissors.listen))
				s.persons(0, 900)
				dir := t.TempDir()
				text := strings.Replace(s.endless(""),
					fmt.Sprintf(`sink: {kafka: {brokers: ["%s"], topic: out, commit: {interval: 200ms}}}`, s.address),
					"sink: {parquet: {path: "+dir+", roll: {records: 100, interval: 200ms}}}", 1)
				scissors.at(cut{key: key, after: after, left: 2})
				c := s.changing(text)
				eventually.True(t, "offsets of all records", func() bool { return s.groupAt(0)+s.groupAt(1) == 900 })
				c.end()
				scissors.blunt(t)
				seen := map[string]int{}
				for _, p := range inFiles(t, dir) {
					seen[p.ID]++
				}
				for i := range 900 {
					if seen[fmt.Sprint(i)] != 1 {
						t.Errorf("person %d is %d times in the files, want once", i, seen[fmt.Sprint(i)])
					}
				}
				if len(seen) != 900 {
					t.Errorf("%d persons are in the files, want 900", len(seen))
				}
			})
		}
	}
}

// A stream without measured columns releases each record once, and counts all of them.
func TestStreamWithoutMeasures(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	text := strings.Replace(fmt.Sprintf(standConfig, s.address, s.key), "wage: {role: sensitive, decimals: 2}",
		"wage: {role: other}", 1)
	text = strings.Replace(text, "masks:\n  - noise: {columns: [wage], sd: 50}\n", "masks: []\n", 1)
	text = strings.Replace(text, standAssess, "", 1)
	for round := range 2 {
		s.persons(200*round, 200*round+200)
		s.produce(&kgo.Record{Topic: "in", Partition: 1, Value: []byte(`not JSON`)})
		r := s.run(s.parse(text)).Report
		if n := int64(round + 1); r.Records.Released != 200*n || r.Records.Quarantined != n || r.Records.Read != 201*n ||
			len(r.Columns) != 0 {
			t.Errorf("round %d: records %+v, %d columns; want %d released, %d in quarantine and no columns", round, r.Records,
				len(r.Columns), 200*n, n)
		}
	}
	for i, y := range s.exactlyOnce("out", 400) {
		if !(math.Abs(y-wage(i)) < 0.001) {
			t.Errorf("person %d with the wage %v is released as %v", i, wage(i), y)
		}
	}
}

// If offsets are set forward manually, the skipped records are missing in every total, and the log
// says so. Damaged kept state ends a stream, and the assessment of its group, with the reason.
func TestStreamTakesUpWhatIsKept(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 400)
	s.produce(&kgo.Record{Topic: "in", Partition: 0, Value: []byte(`not JSON`)})
	s.run(s.pipeline())
	s.persons(400, 500)
	admin := kadm.NewClient(s.client)
	if _, err := admin.LeaveGroup(t.Context(), kadm.LeaveGroup("g").InstanceIDs("a")); err != nil {
		t.Fatal(err)
	}
	var to kadm.Offsets
	to.AddOffset("in", 1, 225, -1)
	if err := admin.CommitAllOffsets(t.Context(), "g", to); err != nil {
		t.Fatal(err)
	}
	logged := s.listen()
	result, err := stream.Run(t.Context(), s.pipeline(), logged.options())
	if err != nil {
		t.Fatal(err)
	}
	if r := result.Report.Records; r.Released != 475 || r.Quarantined != 1 {
		t.Errorf("records %+v, want 475 released: 400, 50 of partition 0 and 25 of partition 1", r)
	}
	if r := result.Report.Records; r.Lost != 25 || result.Lost == "" ||
		!strings.Contains(strings.Join(result.Report.Warnings, "\n"), "25 offsets of the source were never read") {
		t.Errorf("records %+v, %q, warnings %q: want 25 lost", r, result.Lost, result.Report.Warnings)
	}
	if !logged.has("the records in between were not read") || !logged.has(`"partition":1`) || logged.has(`"partition":0`) {
		t.Error("no log line names the partition with records in no total")
	}
	// The reasons of each partition, or everything else, are damaged.
	latest := map[string]*kgo.Record{}
	for _, r := range s.values("g-state", 1) {
		latest[string(r.Key)] = r
	}
	for _, what := range []string{"reasons", "assessment"} {
		for key, r := range latest {
			value := r.Value
			if strings.HasSuffix(key, "place") {
				continue
			}
			if isReasons := strings.Contains(key, "reasons"); value != nil && (what == "reasons") == isReasons {
				value = []byte("canary")
			}
			if value != nil {
				s.produce(&kgo.Record{Topic: "g-state", Partition: r.Partition, Key: r.Key, Value: value})
			}
		}
		for who, take := range map[string]func() error{
			"the group": func() error {
				_, err := stream.AssessGroup(t.Context(), s.pipeline(), "", s.options())
				return err
			},
			"the stream": func() error {
				_, err := stream.Run(t.Context(), s.pipeline(), s.options())
				return err
			},
		} {
			err := take()
			if want := strings.Replace(what, "reasons", "the counts that are kept", 1); err == nil ||
				!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s with a damaged %s: error %v", who, what, err)
			}
		}
	}
}
