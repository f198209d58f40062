package kafkatest

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/process"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

// window contains the offsets of a window, as its folder records them.
type window struct {
	Number    int
	Stretches []struct {
		Topic     string
		Partition int32
		From, End int64
	}
}

// testTables: tables of windows of a topic, killed at random moments while records flow. Every
// record is in one window, and every cell is the sum over the records of its window.
func testTables(t *testing.T, s *site) {
	c := newTrial(t, s, 17, records)
	windows := 4 * kills
	size := c.n / int64(windows)
	pipeline := c.write(t,
		pipeline{group: c.in, out: c.in + "-out", masks: "  - topcode: {columns: [wage, hours], upper: 1000000000}\n"})
	config := filepath.Join(c.dir, "tables.yaml")
	text := fmt.Sprintf(`version: 1
pipeline: %q
window: {records: %d, folder: %q}
tables:
  - {name: persons, rows: [region, ethnicity], unsafe: [{threshold: 3}], protect: {suppress: {}}}
  - {name: wages, rows: [region], value: wage, decimals: 2, unsafe: [{dominance: [1, 90]}], protect: {suppress: {}}}
sink: {csv: {path: tables.csv}}
report: {json: report.json}
`, pipeline, size, filepath.Join(c.dir, "windows"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *process.Process { return c.start(t, program(t), "tables", config) }
	count := func() int {
		made, err := filepath.Glob(filepath.Join(c.dir, "windows", "window-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(made)
	}
	g := rand.New(rand.NewPCG(17, 1))
	f := c.feed(t, 0, 0, 0)
	for k := range kills {
		f.allow(float64(k+1) / float64(kills+1))
		p := start()
		if k%3 > 0 { // otherwise during its start
			observe(t, p, "makes another window", func(before int) bool { return count() > before }, count())
		}
		wait.Elapse(t.Context(), time.Duration(g.Float64()*float64(500*time.Millisecond)))
		if p.Ended() {
			t.Fatalf("the program ends by itself before kill %d", k+1)
		}
		p.Kill()
		t.Logf("kill %d, after %d of %d windows", k+1, count(), windows)
	}
	f.finish(t)
	p := start()
	observe(t, p, "makes all windows", func(all int) bool { return count() == all }, windows)
	p.Signal(syscall.SIGTERM)
	if status, err := p.Wait(time.Minute); err != nil || status != 0 {
		t.Errorf("after a request to end, the program ends with status %d, %v", status, err)
	}
	next := make([]int64, partitions)
	for number := 1; number <= windows; number++ {
		c.checkWindow(t, filepath.Join(c.dir, "windows", fmt.Sprintf("window-%06d", number)), number, size, next)
	}
	for p, n := range next {
		if n > c.counts[p] || sum(next) != size*int64(windows) {
			t.Errorf("the windows have %d records of partition %d, which has %d; %d of all", n, p, c.counts[p], sum(next))
		}
	}
	c.testTablesByTime(t, text, size)
}

// testTablesByTime: windows of one second each of the same topic, with one kill. Together they
// contain every record.
func (c *trial) testTablesByTime(t *testing.T, text string, size int64) {
	folder, config := filepath.Join(c.dir, "timed"), filepath.Join(c.dir, "timed.yaml")
	text = strings.Replace(text, fmt.Sprintf("records: %d, folder: %q", size, filepath.Join(c.dir, "windows")),
		fmt.Sprintf("every: 1s, lateness: 1s, folder: %q", folder), 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	made := func() []string {
		list, err := filepath.Glob(filepath.Join(folder, "window-*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	p := c.start(t, program(t), "tables", config)
	observe(t, p, "makes a window", func(n int) bool { return len(made()) >= n }, 1)
	p.Kill()
	p = c.start(t, program(t), "tables", config)
	next := make([]int64, partitions)
	checked := 0
	observe(t, p, "makes windows of all records", func(all int) bool {
		for list := made(); checked < len(list); {
			checked++
			if strings.HasSuffix(list[checked-1], ".withheld") {
				t.Fatalf("%s is withheld", list[checked-1])
			}
			c.checkWindow(t, list[checked-1], checked, 0, next)
		}
		return sum(next) == int64(all)
	}, int(sum(c.counts)))
	p.Signal(syscall.SIGTERM)
	if status, err := p.Wait(time.Minute); err != nil || status != 0 {
		t.Errorf("after a request to end, the program ends with status %d, %v", status, err)
	}
	t.Logf("%d windows of a second, %d records", checked, sum(next))
}

// observe waits until a program has met a condition.
func observe(t *testing.T, p *process.Process, what string, met func(int) bool, n int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !met(n); wait.Elapse(t.Context(), 10*time.Millisecond) {
		if p.Ended() || time.Now().After(deadline) {
			t.Fatalf("the program never %s", what)
		}
	}
}

// checkWindow checks that a window begins where the last window of each partition ended, has the
// given number of records if the size is given, and that its cells are sums over its records.
func (c *trial) checkWindow(t *testing.T, folder string, number int, size int64, next []int64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "window.json"))
	if err != nil {
		t.Fatal(err)
	}
	var w window
	if err := json.Unmarshal(text, &w); err != nil || w.Number != number {
		t.Fatalf("%s: %v, number %d", folder, err, w.Number)
	}
	persons, cents, n := map[[2]string]int64{}, map[string]int64{}, int64(0)
	for _, s := range w.Stretches {
		if s.Topic != c.in || s.From != next[s.Partition] {
			t.Errorf("%s begins at %s/%d/%d, want %d", folder, s.Topic, s.Partition, s.From, next[s.Partition])
		}
		next[s.Partition] = s.End
		n += s.End - s.From
		for offset := s.From; offset < s.End; offset++ {
			r := c.records.At(s.Partition, offset)
			for _, region := range []string{r.Region, "total"} {
				cents[region] += int64(math.Round(100 * r.Wage))
				for _, ethnicity := range []string{r.Ethnicity, "total"} {
					persons[[2]string{region, ethnicity}]++
				}
			}
		}
	}
	if size > 0 && n != size {
		t.Errorf("%s has %d records, want %d", folder, n, size)
	}
	file, err := os.Open(filepath.Join(folder, "tables.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(rows[0], ","), "table,region,ethnicity,value,status"; got != want {
		t.Fatalf("%s: columns %s, want %s", folder, got, want)
	}
	for _, row := range rows[1:] {
		var want string
		if row[0] == "persons" {
			want = strconv.FormatInt(persons[[2]string{row[1], row[2]}], 10)
		} else {
			want = strconv.FormatFloat(float64(cents[row[1]])/100, 'f', -1, 64)
		}
		if row[3] != want || row[4] != "published" {
			t.Errorf("%s: %v, want %s", folder, row, want)
		}
	}
	if want := len(persons) + len(cents); len(rows)-1 != want {
		t.Errorf("%s has %d cells, want %d", folder, len(rows)-1, want)
	}
}
