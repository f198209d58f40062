package tabling

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// counter is a topic of persons that counts the persons of each region.
type counter struct {
	t      *testing.T
	dir    string
	broker string
	client *kgo.Client
	n      int
}

const counterPartitions = 4

func newCounter(t *testing.T) *counter {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(counterPartitions, "in"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	c := &counter{t: t, dir: t.TempDir(), broker: cluster.ListenAddrs()[0]}
	if c.client, err = kgo.NewClient(kgo.SeedBrokers(c.broker), kgo.RecordPartitioner(kgo.ManualPartitioner())); err !=
		nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	write(t, c.dir, "key", testKey)
	return c
}

// add writes n persons to one partition, a different number for each region.
func (c *counter) add(partition int32, n int) {
	c.t.Helper()
	var records []*kgo.Record
	for range n {
		value := fmt.Sprintf(`{"id":%d,"region":"r%d","wage":7351.5}`, c.n, c.n*c.n%11%5)
		records = append(records, &kgo.Record{Topic: "in", Partition: partition, Value: []byte(value)})
		c.n++
	}
	if err := c.client.ProduceSync(c.t.Context(), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

// tables returns the configuration of windows in a folder.
func (c *counter) tables(folder string, records int, protect string) *tabulation.Config {
	c.t.Helper()
	write(c.t, c.dir, "p.yaml", fmt.Sprintf(`version: 1
key: {file: %[1]s/key}
identity: [id]
source: {kafka: {brokers: [%[2]q], topics: [in], until: latest}}
columns: {id: {role: identifier}, region: {role: other}, wage: {role: sensitive, decimals: 1}}
masks: [{topcode: {columns: [wage], upper: 9000}}]
sink: {kafka: {brokers: [%[2]q], topic: out}}
`, c.dir, c.broker))
	write(c.t, c.dir, "t.yaml", fmt.Sprintf(`version: 1
pipeline: %[1]s/p.yaml
window: {records: %[3]d, folder: %[1]s/%[2]s}
tables: [{name: t, rows: [region], unsafe: [{threshold: 3}], protect: {%[4]s}}]
sink: {csv: {path: t.csv}}
report: {json: r.json, cells: cells.csv}
`, c.dir, folder, records, protect))
	t, err := tabulation.Load(filepath.Join(c.dir, "t.yaml"), config.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	return t
}

// windows returns the folders of windows and the tables of each, "" for a withheld one.
func (c *counter) windows(folder string) (names, tables []string) {
	c.t.Helper()
	entries, err := os.ReadDir(filepath.Join(c.dir, folder))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
		if !e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(c.dir, folder, e.Name(), "t.csv"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			c.t.Fatal(err)
		}
		tables = append(tables, string(text))
	}
	return names, tables
}

// A refused window leaves its name and the confidential files, and no later window contains its
// records.
func TestWindowsWithheld(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.add(0, 20) // with a region of fewer than 3
	c.add(1, 20)
	var ends []string
	note := func(w *WindowResult) { ends = append(ends, fmt.Sprint(w.Number, w.Withheld, len(w.Files))) }
	res, err := RunWindows(t.Context(), c.tables("out", 3, "none: {}"), pipeline.Options{}, Observer{Done: note})
	if err != nil {
		t.Fatal(err)
	}
	names, tables := c.windows("out")
	if res.Withheld == 0 || res.Withheld+res.Windows != 13 || res.Left != 1 || len(ends) != 13 || len(names) != 13 {
		t.Fatalf("the result is %+v, the windows %s, the names %s", res, ends, names)
	}
	for i, name := range names {
		if withheld := strings.HasSuffix(name, ".withheld"); withheld != (tables[i] == "") ||
			fmt.Sprint(i+1, withheld, map[bool]int{true: 2, false: 4}[withheld]) != ends[i] {
			t.Errorf("%s: tables %q, observed %s", name, tables[i], ends[i])
		}
		for file, want := range map[string]bool{"r.json": true, "cells.csv": true, "window.json": true,
			"r.public.json": tables[i] != "", "t.csv": tables[i] != ""} {
			info, err := os.Stat(filepath.Join(c.dir, "out", name, file))
			if (err == nil) != want || err == nil && !strings.Contains(file, "public") && file != "t.csv" &&
				info.Mode().Perm() != 0o600 {
				t.Errorf("%s/%s: file %v, error %v", name, file, info, err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(c.dir, "out", names[12], tabulation.WindowFile), []byte("{}"), 0o600); err !=
		nil {
		t.Fatal(err)
	}
	if _, err := RunWindows(t.Context(), c.tables("out", 3, "none: {}"), pipeline.Options{}, Observer{Done: note}); err ==
		nil || !strings.Contains(err.Error(), "window.json: must be of the format") {
		t.Errorf("the last window has no offsets: error %v", err)
	}
}

// A window with offsets but without records has no tables, and the next one follows.
func TestWindowsWithoutRecords(t *testing.T) {
	t.Parallel()
	for _, protect := range []string{"suppress: {}", "cell_key: {}"} {
		c := newCounter(t)
		aborted, err := kgo.NewClient(kgo.SeedBrokers(c.broker), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.TransactionalID("aborted"))
		if err != nil {
			t.Fatal(err)
		}
		defer aborted.Close()
		if err := aborted.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			aborted.Produce(t.Context(), &kgo.Record{Topic: "in", Value: []byte(`{"id":7351,"region":"r7351","wage":7351}`)},
				nil)
		}
		if err := aborted.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := aborted.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
		c.add(0, 60)
		tables := c.tables("out", 20, protect)
		if protect != "suppress: {}" { // no codes are read from the records
			tables.Hierarchies = []tabulation.Variable{
				{Name: "region", Total: "total", Codes: []string{"r0", "r1", "r2", "r3", "r4"}}}
		}
		var words []string
		res,
			err := RunWindows(t.Context(), tables, pipeline.Options{},
			Observer{Done: func(w *WindowResult) { words = append(words, fmt.Sprint(w.Number, w.Empty, w.Result == nil)) }})
		names, made := c.windows("out")
		if err != nil || res.Empty != 1 || res.Windows != 3 || words[0] != "1 true true" || words[1] != "2 false false" ||
			names[0] != "window-000001.empty" || made[0] != "" || strings.Contains(fmt.Sprint(made), "7351") {
			t.Errorf("the result is %+v (error %v), the windows %s, the names %s", res, err, words, names)
		}
	}
}

// Everybody knows the number of records of a window: it is not suppressed, and the distribution
// that a reader assumes for a perturbed count depends on it.
func TestWindowsHaveAKnownTotal(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.add(0, 20)
	for _, protect := range []string{"suppress: {}", "cell_key: {}", "round: {base: 3, mode: small}"} {
		for _, windowed := range []bool{false, true} {
			o := pipeline.Options{Progress: new(pipeline.Progress)}
			r,
				err := openSpans(t.Context(), c.tables("out", 20, protect), o,
				[]connectors.Span{{Partition: connectors.Partition{Topic: "in"}, End: 10}})
			if err != nil {
				t.Fatal(err)
			}
			r.windowed = windowed
			weighted := &family{table: &tabulation.Table{Weight: "wage"}}
			weighted.options.Counts = true
			if r.totalKnown(weighted) || r.totalKnown(&family{table: &tabulation.Table{}}) {
				t.Error("totalKnown is true for a total of values or of weights")
			}
			list, _, err := r.tabulate(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if n := o.Progress.Records(); n != 10 {
				t.Errorf("the progress counts %d records, want 10", n)
			}
			p := list[0]
			if published := p.rules.Published != nil && p.rules.Published[p.grand()]; published != windowed {
				t.Errorf("%s, window: %v: the total may be suppressed: %v", protect, windowed, !published)
			}
			first, likelihood := p.withTotal(func(_ int, published int64) (int64, []float64) {
				return published - 1, []float64{0.25, 0.5, 0.25}
			})(int(p.grand()), 11)
			if exact := first == 10 && len(likelihood) == 1; exact != windowed {
				t.Errorf("%s, window: %v: the total has %d possible values from %d on", protect, windowed, len(likelihood), first)
			}
			if protect == "cell_key: {}" {
				// All counts are published 3 higher, and may have changed by up to 3. So each can
				// be 0 to 6 lower; but parts of a known total are all at their minimum.
				for cell, v := range p.question.Value {
					p.published[cell] = v + 3
				}
				p.verdict.Disclosed = nil
				if err := p.auditPublished(func(_ int, published int64) (int64, []float64) {
					return published - 3, []float64{1, 1, 1, 1, 1, 1, 1}
				}, false); err != nil {
					t.Fatal(err)
				}
				if disclosed := len(p.verdict.Disclosed) > 0; disclosed != windowed {
					t.Errorf("window: %v: the unsafe cells %d can be computed", windowed, p.verdict.Disclosed)
				}
			}
			r.close()
		}
	}
}

// If a window fails, its plan stays, and the next run makes the window from it, unless the topic
// was created again since then, or another run uses the folder.
func TestWindowsThatFail(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.add(0, 20)
	tables := c.tables("out", 20, "suppress: {}")
	failing := *tables
	failing.Hierarchies = []tabulation.Variable{{Name: "region", Total: "total", Codes: []string{"r0", "r1"}}}
	ran := func(t *tabulation.Config) string {
		_, err := RunWindows(c.t.Context(), t, pipeline.Options{}, Observer{})
		names, _ := c.windows("out")
		return fmt.Sprint(names, err)
	}
	if got := ran(&failing); !strings.HasPrefix(got, "[.next.json] ") || !strings.Contains(got, "hierarchies.region") {
		t.Errorf("a code that is not listed: the run ends with %s", got)
	}
	path := planOf(filepath.Join(c.dir, "out"))
	plan, err := readWindow(path)
	if err != nil {
		t.Fatal(err)
	}
	other := *plan
	other.Stretches = slices.Clone(plan.Stretches)
	other.Stretches[0].TopicID = "another"
	if err := other.write(path); err != nil {
		t.Fatal(err)
	}
	if got := ran(tables); !strings.HasPrefix(got, "[.next.json] ") ||
		!strings.Contains(got, "in/0: the topic has been made anew since window 1") {
		t.Errorf("a topic that was created again: the run ends with %s", got)
	}
	if err := plan.write(path); err != nil {
		t.Fatal(err)
	}
	guard, err := publish.Create(filepath.Join(c.dir, "out", "windows"), publish.Confidential)
	if err != nil {
		t.Fatal(err)
	}
	if got := ran(tables); !strings.Contains(got, "window.folder: ") ||
		!strings.Contains(got, "another run is writing this file") {
		t.Errorf("next to another run: the run ends with %s", got)
	}
	if err := guard.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hiddenOf(filepath.Join(c.dir, "out")), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ran(tables); !strings.Contains(got, ".making: is not the folder that a run of this user has left") {
		t.Errorf("a file in the place of the hidden folder: the run ends with %s", got)
	}
	if err := os.Remove(hiddenOf(filepath.Join(c.dir, "out"))); err != nil {
		t.Fatal(err)
	}
	if got := ran(tables); got != "[window-000001] <nil>" {
		t.Errorf("after these faults: the run ends with %s", got)
	}
}

// A run that is told to end makes no partial window, and reports that it was cut short.
func TestWindowsAreToldToEnd(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.add(2, 30)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("told to end")
	res,
		err := RunWindows(ctx, c.tables("out", 10, "suppress: {}"), pipeline.Options{},
		Observer{Done: func(*WindowResult) { cancel(stop) }})
	if err != nil || res.Windows != 1 || !res.Cut {
		t.Fatalf("the result is %+v (error %v)", res, err)
	}
	if names, _ := c.windows("out"); slices.Contains(names, ".making") || !slices.Contains(names, "window-000001") {
		t.Errorf("the folder has the files %s", names)
	}
	if res, err = RunWindows(t.Context(), c.tables("out", 10, "suppress: {}"), pipeline.Options{}, Observer{}); err !=
		nil || res.Windows != 2 || res.Cut || res.Left != 0 {
		t.Errorf("the result is %+v (error %v)", res, err)
	}
}

// Each partition contributes the same share to a window, or all its records. Together they give the
// requested number.
func TestShared(t *testing.T) {
	for _, c := range []struct {
		have []int64
		n    int64
		want []int64
	}{
		{[]int64{60}, 50, []int64{50}},
		{[]int64{30, 31, 32, 33}, 50, []int64{12, 12, 13, 13}},
		{[]int64{100, 3, 0, 20}, 50, []int64{27, 3, 0, 20}},
		{[]int64{5, 5}, 10, []int64{5, 5}},
		{[]int64{1 << 40, 1 << 40}, 3, []int64{1, 2}},
	} {
		if got := shared(c.have, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%d shared from %v: %v, want %v", c.n, c.have, got, c.want)
		}
	}
}

// The content of the topics must continue from the last window.
func TestPlannedWindows(t *testing.T) {
	t.Parallel()
	in := func(n int32, id string, first, start, end int64) connectors.HeldPartition {
		return connectors.HeldPartition{Partition: connectors.Partition{Topic: "in", Number: n}, TopicID: id, First: first,
			Start: start, End: end}
	}
	last := &Window{Number: 4, Stretches: []Stretch{{Topic: "in", TopicID: "a", Partition: 0, From: 2, End: 10}}}
	type stretch = [3]int64 // number, from, end
	for _, c := range []struct {
		what    string
		last    *Window
		limit   map[connectors.Partition]int64
		held    []connectors.HeldPartition
		want    []stretch
		deleted int64
		err     string
	}{
		{what: "the first window begins at the start", held: []connectors.HeldPartition{in(0, "a", 3, 5, 20)},
			want: []stretch{{0, 5, 11}}},
		{what: "too few", held: []connectors.HeldPartition{in(0, "a", 3, 5, 10)}},
		{what: "after the last", last: last, held: []connectors.HeldPartition{in(0, "a", 0, 16, 16)},
			want: []stretch{{0, 10, 16}}},
		{what: "a new partition, from its beginning", last: last,
			held: []connectors.HeldPartition{in(0, "a", 0, 0, 13), in(1, "a", 0, 9, 9)},
			want: []stretch{{0, 10, 13}, {1, 0, 3}}},
		{what: "deleted", last: last, held: []connectors.HeldPartition{in(0, "a", 14, 14, 30)}, want: []stretch{{0, 14, 20}},
			deleted: 4},
		{what: "all deleted", last: last, held: []connectors.HeldPartition{in(0, "a", 30, 30, 30)}},
		{what: "made anew", last: last, held: []connectors.HeldPartition{in(0, "b", 0, 0, 30)},
			err: "in/0: the topic has been made anew"},
		{what: "brokers without ids", last: last, held: []connectors.HeldPartition{in(0, "", 0, 0, 16)},
			want: []stretch{{0, 10, 16}}},
		{what: "records lost", last: last, held: []connectors.HeldPartition{in(0, "a", 0, 0, 9)},
			err: "has lost records since window 4"},
		{what: "another topic", last: last,
			held: []connectors.HeldPartition{{Partition: connectors.Partition{Topic: "x"}, End: 30}},
			err:  "holds windows of in/0, which the source does not have"},
		{what: "an end", last: last, limit: map[connectors.Partition]int64{{Topic: "in", Number: 0}: 16},
			held: []connectors.HeldPartition{in(0, "a", 0, 0, 90), in(1, "a", 0, 0, 50)},
			want: []stretch{{0, 10, 16}, {1, 0, 0}}},
		{what: "too few before the end", last: last, limit: map[connectors.Partition]int64{{Topic: "in", Number: 0}: 15},
			held: []connectors.HeldPartition{in(0, "a", 0, 0, 90)}},
	} {
		w := &windows{config: &tabulation.Config{Window: &tabulation.TableWindow{Records: 6}}, last: c.last, limit: c.limit}
		got, err := w.planned(t.Context(), c.held)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.what, err, c.err)
			continue
		}
		var list []stretch
		if got != nil {
			for _, s := range got.Stretches {
				list = append(list, stretch{int64(s.Partition), s.From, s.End})
			}
			if got.Number != w.number()+1 || got.Deleted != c.deleted {
				t.Errorf("%s: number %d, %d deleted, want %d", c.what, got.Number, got.Deleted, c.deleted)
			}
		}
		if !slices.Equal(list, c.want) {
			t.Errorf("%s: stretches %v, want %v", c.what, list, c.want)
		}
	}
}

// A written window can be read again, and other files are not accepted as windows.
func TestWindowFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := &Window{Schema: WindowSchema, Number: 7, ConfigSHA256: "ab", Withheld: true,
		Stretches: []Stretch{{Topic: "in", Partition: 1, From: 3, End: 9}}}
	path := filepath.Join(dir, "w.json")
	if err := w.write(path); err != nil {
		t.Fatal(err)
	}
	if got, err := readWindow(path); err != nil || fmt.Sprint(got) != fmt.Sprint(w) {
		t.Errorf("the window is %v (error %v)", got, err)
	}
	for text, want := range map[string]string{
		`{`: "does not say what a window is made of",
		`{"schema": "sdlfilter-window/1", "number": 1, "more": 2}`:                                                                                 "more",
		`{"schema": "sdlfilter-window/2", "number": 1, "stretches": [{"topic": "in"}]}`:                                                            "must be of the format",
		`{"schema": "sdlfilter-window/1", "number": 0, "stretches": [{"topic": "in"}]}`:                                                            "must be of the format",
		`{"schema": "sdlfilter-window/1", "number": 1, "stretches": [{"topic": "in", "from": 4, "end": 3}]}`:                                       "in/0 is twice there, or ends before it begins",
		`{"schema": "sdlfilter-window/1", "number": 1, "stretches": [{"topic": "in", "from": 1, "end": 3}, {"topic": "in", "from": 3, "end": 5}]}`: "in/0 is twice there",
		`{"schema": "sdlfilter-window/1", "number": 1, "until": "soon", "stretches": [{"topic": "in"}]}`:                                           "does not say when the window ends",
	} {
		write(t, dir, "w.json", text)
		if _, err := readWindow(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	for _, name := range []string{"window-000002", "window-000007.withheld", "window-000001", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, "all", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.write(filepath.Join(dir, "all", "window-000007.withheld", tabulation.WindowFile)); err != nil {
		t.Fatal(err)
	}
	if got, err := lastWindow(filepath.Join(dir, "all")); err != nil || got.Number != 7 {
		t.Errorf("the window is %v (error %v)", got, err)
	}
	great := *w
	great.Number = 1000000 // a number with seven digits sorts before the last one with six
	for _, one := range []*Window{&great, {Schema: WindowSchema, Number: 999999, Stretches: w.Stretches}} {
		path := one.path(filepath.Join(dir, "many"))
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := one.write(filepath.Join(path, tabulation.WindowFile)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := lastWindow(filepath.Join(dir, "many")); err != nil || got.Number != 1000000 {
		t.Errorf("the window is %v (error %v)", got, err)
	}
	for name, want := range map[string]string{"window-000007": "has the number of", "window-000008": "no such file",
		"window-000009": "is that of window 7"} {
		other := filepath.Join(dir, "all", name)
		if err := os.MkdirAll(other, 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "window-000009" {
			if err := w.write(filepath.Join(other, tabulation.WindowFile)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := lastWindow(filepath.Join(dir, "all")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		if err := os.RemoveAll(other); err != nil {
			t.Fatal(err)
		}
	}
}
