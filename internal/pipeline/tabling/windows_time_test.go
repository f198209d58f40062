package tabling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// written is a topic with known timestamps of its records, by partition and offset.
type written [][]time.Time

func (w written) at(p int) connectors.Partition {
	return connectors.Partition{Topic: "in", Number: int32(p)}
}

func (w written) Held(context.Context) (list []connectors.HeldPartition, _ error) {
	for p, stamps := range w {
		list = append(list, connectors.HeldPartition{Partition: w.at(p), End: int64(len(stamps))})
	}
	return list, nil
}

// silent is a topic that provides no information about itself.
type silent struct{ written }

func (silent) Held(context.Context) ([]connectors.HeldPartition, error) {
	return nil, errors.New("no answer")
}

// The plan of a killed run is not continued while its topic is unavailable, and no new plan is
// made.
func TestWindowsOfASilentTopic(t *testing.T) {
	w := &windows{folder: t.TempDir(), source: silent{}}
	want := "source: no answer"
	if next, err := w.next(t.Context()); next != nil || err == nil || err.Error() != want {
		t.Errorf("without a plan: next returns %v and error %v", next, err)
	}
	if err := (&Window{Schema: WindowSchema, Number: 1, Stretches: []Stretch{{Topic: "in", End: 1}}}).write(
		planOf(w.folder)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.next(t.Context()); err == nil || err.Error() != want {
		t.Errorf("with a plan: next returns %v", err)
	}
}

func (w written) Since(_ context.Context, at time.Time) (map[connectors.Partition]int64, error) {
	offsets := map[connectors.Partition]int64{}
	for p, stamps := range w {
		first := slices.IndexFunc(stamps, func(s time.Time) bool { return !s.Before(at) })
		if first < 0 {
			first = len(stamps)
		}
		offsets[w.at(p)] = int64(first)
	}
	return offsets, nil
}

// Windows by time compared with a simulation that proceeds hour by hour: one skewed partition, one
// idle for days and one empty, late records, an advancing clock, and a growing topic.
func TestWindowsByTimeAgainstASimulation(t *testing.T) {
	t.Parallel()
	const every, lateness = time.Hour, 10 * time.Minute
	begin := time.Date(2026, 3, 1, 7, 13, 0, 0, time.UTC)
	for seed := range uint64(40) {
		draw := rand.New(rand.NewPCG(seed, 1))
		topic := make(written, 4)
		w := &windows{
			config: &tabulation.Config{
				Window: &tabulation.TableWindow{Every: config.Duration(every), Lateness: config.Duration(lateness)}},
			warned: map[connectors.Partition]int64{}, options: pipeline.Options{Log: zerolog.Nop()}, source: topic,
		}
		clock := begin
		w.now = func() time.Time { return clock }
		var want, got []string
		counted := make([]int, len(topic))                  // by the simulation
		after := begin.Truncate(every).Add(-72 * time.Hour) // no window until then, or the end of the last one
		number := 0
		for range 60 {
			// Records written until the clock's next look.
			gap := time.Duration(draw.ExpFloat64() * float64(2*time.Hour))
			if draw.IntN(12) == 0 {
				gap = 70 * time.Hour
			}
			for range draw.IntN(12) {
				p := []int{0, 0, 0, 1, 2}[draw.IntN(5)]
				if p == 2 && draw.IntN(4) > 0 {
					continue
				}
				stamp := clock.Add(time.Duration(draw.Int64N(int64(gap) + 1)))
				if draw.IntN(3) == 0 {
					stamp = stamp.Add(-time.Duration(draw.ExpFloat64() * float64(time.Hour)))
				}
				if draw.IntN(9) == 0 {
					stamp = stamp.Truncate(every) // exactly at a boundary
				}
				topic[p] = append(topic[p], stamp)
			}
			clock = clock.Add(gap)
			// A window that was skipped is made after all if a late record belongs to it.
			for hour := after.Add(every); !hour.Add(lateness).After(clock); hour = hour.Add(every) {
				words, some := fmt.Sprint(hour.Format(time.RFC3339)), false
				for p, stamps := range topic {
					end := counted[p]
					for end < len(stamps) && stamps[end].Before(hour) && !slices.ContainsFunc(stamps[:end], func(s time.Time) bool {
						return !s.Before(hour)
					}) {
						end++
					}
					words += fmt.Sprintf(" %d-%d", counted[p], end)
					some = some || end > counted[p]
					counted[p] = end
				}
				if some {
					want, after = append(want, words), hour
				}
			}
			for {
				held, _ := topic.Held(t.Context())
				next, err := w.planned(t.Context(), held)
				if err != nil {
					t.Fatal(err)
				}
				if next == nil {
					break
				}
				number++
				words := next.Until
				for _, s := range next.Stretches {
					words += fmt.Sprintf(" %d-%d", s.From, s.End)
				}
				if got = append(got, words); next.Number != number {
					t.Fatalf("window %d has the number %d", number, next.Number)
				}
				w.last = next
			}
		}
		if len(want) < 20 || !slices.Equal(want, got) {
			t.Fatalf("seed %d: windows\n%s\nwant\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A record with a timestamp far in the future delays the records after it, and the log says so
// once.
func TestWindowsByTimeWarnOfTheFuture(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	topic := written{{now.Add(-2 * time.Hour), now.Add(900 * time.Hour), now.Add(-2 * time.Hour)},
		{now.Add(-time.Hour), now.Add(10 * time.Minute)}}
	var log bytes.Buffer
	w := &windows{
		config: &tabulation.Config{Window: &tabulation.TableWindow{Every: config.Duration(time.Hour)}},
		warned: map[connectors.Partition]int64{}, options: pipeline.Options{Log: zerolog.New(&log)}, source: topic,
		now: func() time.Time { return now },
	}
	var until []string
	for range 5 {
		held, _ := topic.Held(t.Context())
		next, err := w.planned(t.Context(), held)
		if err != nil {
			t.Fatal(err)
		}
		if next != nil {
			until, w.last = append(until, fmt.Sprint(next.Until, next.Stretches[0].End, next.Stretches[1].End)), next
		}
	}
	if want := []string{"2026-03-01T11:00:00Z1 0", "2026-03-01T12:00:00Z1 1"}; !slices.Equal(until, want) {
		t.Errorf("the windows are %s, want %s", until, want)
	}
	if got := log.String(); strings.Count(got, "future") != 1 || !strings.Contains(got, `"partition":"in/0","offset":1`) {
		t.Errorf("the log is:\n%s", got)
	}
}

// A topic is read window by window, and a later run continues at the end of the last window.
func TestWindowsByTime(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	begin := time.Date(2026, 3, 1, 7, 13, 0, 0, time.UTC)
	add := func(partition int32, minutes ...int) {
		var records []*kgo.Record
		for _, m := range minutes {
			for range 9 { // enough to make the tables safe
				records = append(records,
					&kgo.Record{Topic: "in", Partition: partition, Timestamp: begin.Add(time.Duration(m) * time.Minute),
						Value: fmt.Appendf(nil, `{"id":%d,"region":"r%d","wage":7351.5}`, c.n, c.n%2)})
				c.n++
			}
		}
		if err := c.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	tables := c.tables("out", 1, "suppress: {}")
	tables.Window = &tabulation.TableWindow{Every: config.Duration(time.Hour), Folder: tables.Window.Folder}
	run := func(want ...string) {
		t.Helper()
		var got []string
		res, err := RunWindows(t.Context(), tables, pipeline.Options{}, Observer{Done: func(w *WindowResult) {
			got = append(got, fmt.Sprintf("%d until %s: %d", w.Number, w.Until, w.Report.Records.Read))
		}})
		if err != nil || !slices.Equal(got, want) || res.Left != 0 {
			t.Errorf("result %+v, error %v, windows\n%s\nwant\n%s", res, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	add(0, 1, 5, 70)
	add(1, 600, 20) // the second one is late
	run("1 until 2026-03-01T08:00:00Z: 18", "2 until 2026-03-01T09:00:00Z: 9", "3 until 2026-03-01T18:00:00Z: 18")
	run()
	add(2, 2) // later than all others
	run("4 until 2026-03-01T19:00:00Z: 9")
	// The kind of windows may change from one run to the next.
	add(2, 700)
	timed := tables.Window
	tables.Window = &tabulation.TableWindow{Records: 9, Folder: timed.Folder}
	run("5 until : 9")
	tables.Window = timed
	add(3, 701)
	add(0, 20) // after one of 08:23
	run("6 until 2026-03-01T09:00:00Z: 9", "7 until 2026-03-01T19:00:00Z: 9")
	_, made := c.windows("out")
	if len(made) != 7 || made[0] == made[1] {
		t.Errorf("the tables are %s", made)
	}
}

// topicWithIDs is a topic whose partitions have IDs.
type topicWithIDs []string

func (n topicWithIDs) Held(context.Context) (list []connectors.HeldPartition, _ error) {
	for p, id := range n {
		list = append(list,
			connectors.HeldPartition{Partition: connectors.Partition{Topic: "in", Number: int32(p)}, TopicID: id})
	}
	return list, nil
}

func (topicWithIDs) Since(context.Context, time.Time) (map[connectors.Partition]int64, error) {
	return nil, nil
}

// A plan is not continued if any of its partitions, the first or the last, belongs to a topic that
// was created again. If no ID is known, there is no error.
func TestPlansOfTopicsMadeAnew(t *testing.T) {
	plan := &Window{Number: 1}
	for p := range int32(3) {
		plan.Stretches = append(plan.Stretches, Stretch{Topic: "in", Partition: p, TopicID: "old"})
	}
	for _, c := range []struct {
		held topicWithIDs
		want string
	}{{topicWithIDs{"old", "old", "old"}, ""}, {topicWithIDs{"old", "old", ""}, ""},
		{topicWithIDs{"new", "old", "old"}, "in/0"}, {topicWithIDs{"old", "new", "old"}, "in/1"},
		{topicWithIDs{"old", "old", "new"}, "in/2"}} {
		err := (&windows{source: c.held}).stillThere(t.Context(), plan)
		if (err == nil) != (c.want == "") || err != nil &&
			!strings.Contains(err.Error(), c.want+": the topic has been made anew") {
			t.Errorf("topic ids %q: error %v, want %q", c.held, err, c.want)
		}
	}
}

// Only the owner can access the folder in which a window is made, and it contains nothing of an
// earlier window.
func TestHiddenFolder(t *testing.T) {
	hidden := hiddenOf(t.TempDir())
	for range 2 {
		if err := clearHidden(hidden); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(hidden)
		left, _ := os.ReadDir(hidden)
		if err != nil || info.Mode().Perm() != 0o700 || len(left) > 0 {
			t.Errorf("error %v, mode %v, %d files, want 0700 and none", err, info.Mode(), len(left))
		}
		if err := os.WriteFile(filepath.Join(hidden, "half"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
