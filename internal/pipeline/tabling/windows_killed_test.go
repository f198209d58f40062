package tabling

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

var errKilled = errors.New("killed")

// If a run is killed (as by SIGKILL) at any step of publishing a window, the next run makes the
// same window of the same records, even if more records have arrived: every window exists once and
// is complete, with each of its records once.
func TestWindowsAfterKills(t *testing.T) {
	t.Parallel()
	for _, protect := range []string{"suppress: {}", "cell_key: {}"} {
		for _, at := range []string{"planned", "made", "described", "named"} {
			t.Run(protect[:4]+at, func(t *testing.T) {
				t.Parallel()
				c := newCounter(t)
				for p := range int32(counterPartitions) {
					c.add(p, 30+int(p))
				}
				tables := c.tables("out", 50, protect)
				steps := 0
				res, err := runWindows(t.Context(), tables, pipeline.Options{}, Observer{}, func(name string) error {
					if name == at {
						if steps++; steps == 2 {
							return errKilled
						}
					}
					return nil
				})
				if !errors.Is(err, errKilled) {
					t.Fatalf("the result is %+v (error %v)", res, err)
				}
				if names, _ := c.windows("out"); !slices.Contains(names, ".next.json") ||
					(at == "made" || at == "described") != slices.Contains(names, ".making") {
					t.Errorf("interrupted when %s: the folder has the files %s", at, names)
				}
				plan, err := readWindow(planOf(filepath.Join(c.dir, "out")))
				if err != nil || plan.Number != 2 {
					t.Fatalf("the plan is %+v (error %v), want window 2", plan, err)
				}
				c.add(0, 70) // without the plan the second window would have more records of this partition
				if _, err := RunWindows(t.Context(), tables, pipeline.Options{}, Observer{}); err != nil {
					t.Fatal(err)
				}
				names, made := c.windows("out")
				if want := []string{"window-000001", "window-000002", "window-000003"}; !slices.Equal(names, want) {
					t.Fatalf("the folder has the files %s", names)
				}
				next := map[connectors.Partition]int64{}
				for i, name := range names {
					w, err := readWindow(filepath.Join(c.dir, "out", name, tabulation.WindowFile))
					if err != nil {
						t.Fatal(err)
					}
					sum := int64(0)
					for _, s := range w.Stretches {
						if s.From != next[s.of()] {
							t.Errorf("%s begins at offset %d of %s, want %d", name, s.From, s.of(), next[s.of()])
						}
						next[s.of()] = s.End
						sum += s.End - s.From
					}
					if sum != 50 || len(w.Stretches) != counterPartitions {
						t.Errorf("%s has %d records from %d partitions", name, sum, len(w.Stretches))
					}
					if i == 1 && !slices.Equal(w.Stretches, plan.Stretches) {
						t.Errorf("%v was planned, but %v was made", plan.Stretches, w.Stretches)
					}
					// An uninterrupted run makes the same tables of these records.
					c.again(tables, name, w)
				}
				if _, again := c.windows("again"); !slices.Equal(made, again) || made[0] == made[1] {
					t.Errorf("tables after an interruption:\n%s\nwithout:\n%s", made, again)
				}
			})
		}
	}
}

// windowKills is how often TestWindowsKilledOften kills a run.
var windowKills = flag.Int("kills", 0, "how often a run of windows is killed; 0: 200 times, in the short form 20")

// Runs are killed again and again at random steps, while records arrive: in the end each record is in one window, in
// order, and the tables of each window are those of its records.
func TestWindowsKilledOften(t *testing.T) {
	racetest.Alone(t)
	t.Parallel()
	kills := *windowKills
	if kills == 0 {
		if kills = 200; testing.Short() {
			kills = 20
		}
	}
	c := newCounter(t)
	tables := c.tables("out", 50, "suppress: {}")
	draw, at := rand.New(rand.NewPCG(39, 5)), map[string]int{}
	for killed := 0; killed < kills; {
		c.add(int32(draw.IntN(counterPartitions)), 1+draw.IntN(60))
		steps := 1 + draw.IntN(6)
		_, err := runWindows(t.Context(), tables, pipeline.Options{}, Observer{}, func(name string) error {
			if steps--; steps > 0 {
				return nil
			}
			at[name]++
			return errKilled
		})
		switch {
		case errors.Is(err, errKilled):
			killed++
		case err != nil:
			t.Fatalf("after %d kills: %v", killed, err)
		}
	}
	if _, err := RunWindows(t.Context(), tables, pipeline.Options{}, Observer{}); err != nil {
		t.Fatal(err)
	}
	names, made := c.windows("out")
	// of the last window, which was killed when it had its name
	names = slices.DeleteFunc(names, func(name string) bool { return name == ".next.json" })
	if len(names) != c.n/50 {
		t.Errorf("%d windows of %d records", len(names), c.n)
	}
	next, total := map[connectors.Partition]int64{}, int64(0)
	for i, name := range names {
		if name != fmt.Sprintf("window-%06d", i+1) {
			t.Fatalf("the folder has %s as number %d", name, i+1)
		}
		w, err := readWindow(filepath.Join(c.dir, "out", name, tabulation.WindowFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range w.Stretches {
			if s.From != next[s.of()] {
				t.Errorf("%s begins at offset %d of %s, want %d", name, s.From, s.of(), next[s.of()])
			}
			next[s.of()] = s.End
			total += s.End - s.From
		}
		c.again(tables, name, w)
	}
	if total != int64(len(names))*50 {
		t.Errorf("%d windows have %d records", len(names), total)
	}
	if _, again := c.windows("again"); !slices.Equal(made, again) {
		t.Error("the tables of a window differ from those of its records")
	}
	t.Logf("%d kills: %v; %d windows", kills, at, len(names))
	if len(at) < 4 {
		t.Errorf("it was killed at the steps %v alone", at)
	}
}

// again makes the tables of a window's records without an interruption, in the folder again.
func (c *counter) again(tables *tabulation.Config, name string, w *Window) {
	c.t.Helper()
	o := pipeline.Options{Progress: new(pipeline.Progress)}
	r, err := openSpans(c.t.Context(), tables.InFolder(filepath.Join(c.dir, "again", name)), o, w.spans())
	if err == nil {
		_, err = r.publish(c.t.Context(), o, time.Now())
	}
	if err != nil {
		c.t.Fatal(err)
	}
	r.close()
}
