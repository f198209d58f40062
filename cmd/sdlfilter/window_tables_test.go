package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const windowTables = `version: 1
name: wages
pipeline: %s
%stables:
  - {name: persons, rows: [region], unsafe: [{threshold: 5}], protect: {suppress: {}}}
  - {name: wages, rows: [region], value: wage, decimals: 2, unsafe: [{dominance: [1, 50]}, {threshold: 5}], protect: {suppress: {}}}
sink: {csv: {path: %s}}
report: {json: %s, html: %s}
`

// windowRegion returns the region of person i: some regions have few persons in a window of 60,
// others many.
func windowRegion(i int) string { return fmt.Sprint("r", i*i%60%13%8) }

// people adds persons to a topic, to each of its partitions in turn.
func (s *stand) people(topic string, partitions, from, to int) {
	s.t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		value := fmt.Sprintf(`{"id":%d,"name":"Name %d","wage":%.2f,"region":%q}`, i, i, personWage(i), windowRegion(i))
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: []byte(value)})
	}
	s.produce(records...)
}

// tablesOfFile returns the tables of a file of the persons from ≤ i < to.
func (s *stand) tablesOfFile(from, to int) string {
	s.t.Helper()
	name := fmt.Sprintf("persons-%d", from)
	lines := "id,name,wage,region\n"
	for i := from; i < to; i++ {
		lines += fmt.Sprintf("%d,Name %d,%.2f,%s\n", i, i, personWage(i), windowRegion(i))
	}
	s.file(name+"-in.csv", lines)
	s.file(name+".yaml",
		s.text("source: {csv: {path: "+name+"-in.csv}}", windowColumns, "masks: [{topcode: {columns: [wage], upper: 900}}]",
			"sink: {csv: {path: "+name+"-out.csv}}"))
	s.file(name+"-tables.yaml",
		fmt.Sprintf(windowTables, name+".yaml", "", name+"-tables.csv", name+"-tables.json", name+"-tables.html"))
	s.run(exitDone, "tables", name+"-tables.yaml")
	return s.read(name + "-tables.csv")
}

const windowColumns = "columns: {id: {role: identifier}, name: {role: identifier}, wage: {role: sensitive, decimals: 2}, region: {role: other}}"

// windowed writes the configuration of tables of windows of a topic.
func (s *stand) windowed(name, topic, more, window string) string {
	s.t.Helper()
	s.file(name+"-p.yaml", s.text(fmt.Sprintf(`source: {kafka: {brokers: ["BROKER"], topics: [%s]%s}}`, topic, more),
		windowColumns, "masks: [{topcode: {columns: [wage], upper: 900}}]"))
	s.file(name+".yaml",
		fmt.Sprintf(windowTables, name+"-p.yaml", "window: "+window+"\n", "tables.csv", "report.json", "report.html"))
	return name + ".yaml"
}

// windowsIn returns the names in the folder of windows.
func (s *stand) windowsIn(folder string) string {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, folder))
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// The tables of a window of a topic with one or four partitions equal those of a file of its
// records. Each record is in one window; a run continues where the last one ended, and records that
// do not fill a window wait.
func TestTablesOfWindows(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, kfake.SeedTopics(int32(partitions), "people"))
			s.people("people", partitions, 0, 150)
			tables := s.windowed("t", "people", ", until: latest", "{records: 60, folder: out}")
			stdout, _ := s.run(exitDone, "tables", tables)
			mustContain(t, stdout, "Window 1\n", "Window 2\n", "2 windows published, 0 withheld",
				"Offsets after the last window: 30, fewer than the 60 of a window")
			if got := s.windowsIn("out"); got != "window-000001 window-000002" {
				t.Errorf("in the folder: %s", got)
			}
			first := s.read("out/window-000001/tables.csv")
			stdout, _ = s.run(exitDone, "tables", tables)
			mustContain(t, stdout, "0 windows published")
			s.people("people", partitions, 150, 180)
			s.run(exitDone, "tables", tables)
			for k := range 3 {
				got, want := s.read(fmt.Sprintf("out/window-%06d/tables.csv", k+1)), s.tablesOfFile(60*k, 60*k+60)
				if got != want || !strings.Contains(got, "suppressed") || !strings.Contains(got, "published") {
					t.Errorf("window %d:\n%s\nof the file:\n%s", k+1, got, want)
				}
			}
			if s.read("out/window-000001/tables.csv") != first {
				t.Error("the first window has changed")
			}
		})
	}
}

// An unreadable record ends the run at its window; unknown: drop omits it.
func TestTablesOfWindowsWithABadRecord(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.people("in", 2, 0, 70)
	s.produce(&kgo.Record{Topic: "in", Partition: 0, Value: []byte(`{"id":`)})
	s.people("in", 2, 70, 130)
	tables := s.windowed("t", "in", ", until: latest", "{records: 60, folder: out}")
	_, stderr := s.run(exitUsage, "tables", tables)
	mustContain(t, stderr, `"window":2`, "1 record cannot be read; mend them, or leave them out (unknown: drop)")
	if got := s.windowsIn("out"); got != ".next.json window-000001" {
		t.Errorf("in the folder: %s", got)
	}
	s.file("dropped.yaml", "unknown: drop\n"+s.read(tables))
	stdout, _ := s.run(exitQuarantined, "tables", "dropped.yaml")
	mustContain(t, stdout, "Window 2\n", "1 of 60 records are in no table", "1 windows published")
	mustContain(t, s.read("out/window-000002/tables.csv"), "persons,total,59,published")
}

// Without `until` the run waits for the next window, and a signal ends it.
func TestTablesOfWindowsWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.people("in", 2, 0, 70)
	tables := s.windowed("t", "in", "", "{records: 60, folder: out}")
	p := s.start("tables", "--listen", "127.0.0.1:0", "--metrics-file", "t.prom", tables)
	there := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(s.dir, name)); return err == nil }
	}
	p.once("makes the first window", there("out/window-000001"))
	_, stderr := s.run(exitFailed, "tables", tables)
	mustContain(t, stderr, "window.folder: out/windows: another run is writing this file")
	s.people("in", 2, 70, 120)
	p.once("makes the second window", there("out/window-000002"))
	address := p.livePage()
	p.once("tells of the second window", func() bool {
		return strings.Contains(string(fetch(t, address+"/metrics")), "\nsdlfilter_last_window 2\n")
	})
	mustContain(t, string(fetch(t, address+"/metrics")), `sdlfilter_windows_total{result="published"} 2`,
		`sdlfilter_windows_total{result="withheld"} 0`, "sdlfilter_gate_passed 1",
		`sdlfilter_table_cells{status="held_back",table="persons"} `,
		`sdlfilter_info{name="wages",sink="tables.csv",source="t-p.yaml"`)
	for _, path := range []string{"/livez", "/readyz"} {
		if got := string(fetch(t, address+path)); !strings.HasPrefix(got, "ok\n") {
			t.Errorf("%s: %s", path, got)
		}
	}
	p.once("sees that no record is left", func() bool {
		return strings.Contains(string(fetch(t, address+"/metrics")), "\nsdlfilter_windows_lag_offsets 0\n")
	})
	p.signal(syscall.SIGTERM)
	stdout, _ := p.wait(exitDone)
	mustContain(t, stdout, "2 windows published")
	mustContain(t, s.read("t.prom"), "sdlfilter_exit_status 0\n", "sdlfilter_last_window 2\n")
	if got, want := s.read("out/window-000002/tables.csv"), s.tablesOfFile(60, 120); got != want {
		t.Errorf("the second window:\n%s\nof the file:\n%s", got, want)
	}
}

// The program is killed with SIGKILL whenever it plans, makes or names a window, and is started
// again: every window exists once, with the tables of a file of its records.
func TestTablesOfWindowsKilled(t *testing.T) {
	t.Parallel()
	s := newStand(t, kfake.SeedTopics(1, "people"))
	const windows, size = 8, 60
	s.people("people", 1, 0, windows*size)
	tables := s.windowed("t", "people", ", until: latest", fmt.Sprintf("{records: %d, folder: out}", size))
	there := func(name string) bool { _, err := os.Stat(filepath.Join(s.dir, "out", name)); return err == nil }
	for k := range windows - 1 {
		p := s.start("--progress", "none", "tables", tables)
		next := fmt.Sprintf("window-%06d", k+1)
		p.once("comes so far", func() bool {
			return there(next) || k%4 == 1 && there(".next.json") || k%4 == 2 && there(".making") || k%4 == 3 &&
				there(".making/tables.csv")
		})
		p.signal(syscall.SIGKILL)
		p.wait(-1)
	}
	stdout, _ := s.run(exitDone, "tables", tables)
	mustContain(t, stdout, fmt.Sprintf("Window %d\n", windows))
	var want []string
	for k := range windows {
		name := fmt.Sprintf("window-%06d", k+1)
		want = append(want, name)
		if got, file := s.read("out/"+name+"/tables.csv"), s.tablesOfFile(k*size, (k+1)*size); got != file {
			t.Errorf("%s:\n%s\nof the file:\n%s", name, got, file)
		}
	}
	if got := s.windowsIn("out"); got != strings.Join(want, " ") {
		t.Errorf("in the folder: %s", got)
	}
}

// No contribution, and no value of a suppressed cell, is released with windows, whether they are
// published, refused by the gate or end in an error. Only the owner can read confidential files.
func TestTablesOfWindowsCanary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, protect, more string
		status              int
		folder              string
	}{
		{"published", "suppress: {}", "", exitDone, "window-000001"},
		{"withheld", "none: {}", "", exitRefused, "window-000001.withheld"},
		{"broken", "suppress: {}", "Canarycode", exitUsage, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			text, values := canaryFirms()
			var records []*kgo.Record
			for i, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
				f := strings.Split(line, ",")
				if i == 3 && c.more != "" {
					f[2] = c.more
				}
				records = append(records,
					&kgo.Record{Topic: "in", Partition: int32(i % 2),
						Value: fmt.Appendf(nil, `{"firm":%q,"region":%q,"branch":%q,"turnover":%s}`, f[0], f[1], f[2], f[3])})
			}
			s.produce(records...)
			s.file("p.yaml",
				s.text(
					"columns: {firm: {role: identifier}, region: {role: other}, branch: {role: other}, turnover: {role: sensitive, decimals: 0}}", "masks: [{topcode: {columns: [turnover], upper: 9007199254740991}}]"))
			config := strings.ReplaceAll(fmt.Sprintf(canaryTables, "GONE", c.protect, "csv: {path: tables.csv}"), "out/", "")
			s.file("t.yaml",
				strings.Replace(config, "source: {GONE}",
					fmt.Sprintf("pipeline: p.yaml\nwindow: {records: %d, folder: out}", len(records)), 1))
			printed, log := s.run(c.status, "tables", "--verbose", "--progress", "json", "--metrics-file", "t.prom", "t.yaml")
			checkTableCanaries(t, "what is printed", printed+log, values, nil)
			metrics := s.read("t.prom")
			checkTableCanaries(t, "the metrics", metrics, values, nil)
			mustContain(t, metrics, fmt.Sprintf("sdlfilter_exit_status %d\n", c.status))
			if c.status == exitUsage {
				mustContain(t, log, `"window":1`, "the next run goes on from here")
			}
			if c.folder == "" {
				if got := s.windowsIn("out"); got != ".next.json" {
					t.Errorf("in the folder: %s", got)
				}
				checkTableCanaries(t, "the plan", s.read("out/.next.json"), values, nil)
				return
			}
			if got := s.windowsIn("out"); got != c.folder {
				t.Fatalf("in the folder: %s", got)
			}
			hidden := hiddenCells(t, filepath.Join(s.dir, "out", c.folder, "cells.csv"))
			if c.status == exitDone && len(hidden) < 4 {
				t.Errorf("only %d cells are suppressed", len(hidden))
			}
			entries, err := os.ReadDir(filepath.Join(s.dir, "out", c.folder))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				text := s.read(filepath.Join("out", c.folder, e.Name()))
				info, err := e.Info()
				if err != nil {
					t.Fatal(err)
				}
				switch public := e.Name() == "tables.csv" || strings.Contains(e.Name(), ".public."); {
				case public && c.status == exitRefused:
					t.Errorf("%s is published of a refused window", e.Name())
				case !public && info.Mode().Perm() != 0o600:
					t.Errorf("%s has mode %v", e.Name(), info.Mode().Perm())
				case public:
					checkTableCanaries(t, e.Name(), text, values, hidden)
				case e.Name() == "window.json":
					checkTableCanaries(t, e.Name(), text, values, nil)
				}
			}
		})
	}
}
