package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
)

// projectOf writes a project of persons and events: identifiers and notes are canaries. change changes any of the
// files.
func projectOf(t *testing.T, persons int, change func(files map[string]string)) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files := map[string]string{"k": keytest.Key(1).Text(), "k2": keytest.Key(2).Text(), "project.yaml": `version: 1
name: canary
tables: {persons: {config: persons.yaml}, events: {config: events.yaml}}
keys: [{table: events, column: pid, of: persons}]
person: persons
gate: {rules: [{max_linked: 100%}]}
report: {json: out/report.json, html: out/report.html}
lineage: {file: out/lineage.ndjson}
`}
	var rows, events strings.Builder
	rows.WriteString("pid,note,wage,sex\n")
	events.WriteString("pid,note,cost,kind\n")
	for i := range persons {
		fmt.Fprintf(&rows, "%s%d,%s%d,%.2f,%c\n", canaryName, i, canaryNote, i, canaryWage+1000*float64(i), 'f'+rune(i%2)*7)
		for n := range i % 3 {
			fmt.Fprintf(&events, "%s%d,%s%d,%.2f,%c\n", canaryName, i, canaryNote, i, canaryWage+1000*float64(i), 'a'+rune(n))
		}
	}
	files["persons.csv"], files["events.csv"] = rows.String(), events.String()
	for name, columns := range map[string][2]string{"persons": {"wage", "sex"}, "events": {"cost", "kind"}} {
		files[name+".yaml"] = fmt.Sprintf(`version: 1
name: %[1]s
key: {file: k}
identity: [pid]
source: {csv: {path: %[1]s.csv, types: {%[2]s: float64}}}
columns: {pid: {role: other}, %[2]s: {role: sensitive, decimals: 2}, %[3]s: {role: key}}
unlisted: drop
masks:
  - pseudonym: {columns: [pid], scope: person}
  - noise: {columns: [%[2]s], sd: 5000}
sink: {csv: {path: out/release/%[1]s.csv}}
assess: {replicates: 10}
quarantine: {jsonl: out/%[1]s.quarantine.jsonl}
report: {json: out/%[1]s.json, html: out/%[1]s.html, board: out/%[1]s.board.html}
`, name, columns[0], columns[1])
	}
	if change != nil {
		change(files)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestProjectCanary: no identifier, no note and no broken value of any table appears in what a project writes or
// prints, however it ends.
func TestProjectCanary(t *testing.T) {
	replaced := func(file, old, text string) func(map[string]string) {
		return func(files map[string]string) { files[file] = strings.Replace(files[file], old, text, 1) }
	}
	for _, c := range []struct {
		name   string
		change func(map[string]string)
		status int
	}{
		{"released", nil, exitDone},
		{"ledgers", func(files map[string]string) {
			files["persons.yaml"] += "ledger: out/persons.sdl\n"
			files["events.yaml"] += "ledger: out/events.sdl\n"
		}, exitDone},
		{"orphans", replaced("events.csv", "\n", "\n"+canaryName+"9999,x,1.00,a\n,x,1.00,a\n"), exitDone},
		{"withheld", replaced("project.yaml", "max_linked: 100%", "min_k: 300"), exitRefused},
		{"last table withheld", replaced("events.yaml", "report:", "gate: {rules: [{min_k: 5000}]}\nreport:"), exitRefused},
		{"quarantine", replaced("persons.csv", "73185000.25", canaryBroken), exitQuarantined},
		{"quarantine of events", replaced("events.csv", "73185000.25", canaryBroken), exitQuarantined},
		{"half a record", replaced("events.csv", "pid,note", "pid,\"note"), exitFailed},
		{"twice", replaced("persons.csv", canaryName+"1,", canaryName+"0,"), exitUsage},
		{"other types", replaced("events.yaml", "types: {", "types: {pid: int64, "), exitUsage},
		{"not counted", replaced("events.yaml", "replicates: 10", "replicates: 10, sample: 50"), exitRefused},
		{"not there", replaced("project.yaml", "events.yaml", canaryName+".yaml"), exitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := projectOf(t, 400, c.change)
			printed, err := program(t, dir, "run", "--verbose", "--progress", "json", "project.yaml").CombinedOutput()
			checkStatus(t, err, c.status, printed)
			if c.name == "ledgers" { // judged with what is there
				said, err := program(t, dir, "ledger", "simulate", "--verbose", "--progress", "json", "project.yaml").CombinedOutput()
				checkStatus(t, err, c.status, said)
				checkCanaries(t, "what a simulation prints", said, true)
				printed, err = program(t, dir, "run", "--verbose", "--progress", "json", "project.yaml").CombinedOutput()
				checkStatus(t, err, c.status, printed)
			}
			if c.name != "not there" { // of which the path is said
				checkCanaries(t, "what is printed", printed, true)
			}
			n := checkProjectFiles(t, dir, c.status == exitDone || c.status == exitQuarantined)
			// What fails leaves its events and no more.
			if begun := c.status != exitUsage && c.status != exitFailed; begun && n < 10 || !begun && n > 1 {
				t.Errorf("%d files", n)
			}
		})
	}
}

// checkProjectFiles checks that what a project writes, apart from a release in a database, has no canaries, and nothing
// for the public unless it is released. It returns the number of files.
func checkProjectFiles(t *testing.T, dir string, released bool) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "out"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		text, err := os.ReadFile(path)
		inRelease := filepath.Base(filepath.Dir(path)) == "release"
		public := inRelease || strings.Contains(e.Name(), "public")
		if info, err := e.Info(); err != nil || !public && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode().Perm())
		}
		where := e.Name()
		if inRelease {
			where = "release"
		}
		if where == "lineage.ndjson" && bytes.Contains(text, []byte("COMPLETE")) != released {
			t.Errorf("released %v: the events are %s", released, text)
		}
		checkCanaries(t, where, text, where == "report.json" || where == "report.html" || where == "lineage.ndjson" || where == "report.public.json" ||
			strings.Contains(where, "quarantine"))
		if public && !released {
			t.Errorf("there is %s", path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return n
}

// TestProjectKilledAtAnyMoment kills runs that replace an earlier release: the folder always holds all tables of one
// run. The next run succeeds over what is left behind.
func TestProjectKilledAtAnyMoment(t *testing.T) {
	persons, kills, leastKilled, leastReplaced := 20_000, 50, 10, 3
	if testing.Short() {
		persons, kills, leastKilled, leastReplaced = 4000, 8, 1, 0
	}
	// How well masked numbers are known would take most of the time.
	dir := projectOf(t, persons, func(files map[string]string) {
		for _, name := range []string{"persons.yaml", "events.yaml"} {
			lines := slices.Collect(strings.Lines(files[name]))
			files[name] = strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "noise:") }), "")
			files[name] = strings.Replace(files[name], "role: sensitive,", "role: sensitive, unmasked: true,", 1)
		}
	})
	command := func(key string) *exec.Cmd {
		cmd := program(t, dir, "run", "-q", "project.yaml", "--allow-loosening")
		cmd.Env = append(cmd.Env, "SDLFILTER_KEY__FILE="+key)
		return cmd
	}
	tables := func() string {
		all := ""
		for _, name := range []string{"persons", "events"} {
			text, err := os.ReadFile(filepath.Join(dir, "out", "release", name+".csv"))
			if err != nil {
				return "missing"
			}
			all += string(text)
		}
		return all
	}
	whole := map[string]string{}
	var took time.Duration
	for _, key := range []string{"k", "k2"} {
		start := time.Now()
		if out, err := command(key).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		took = time.Since(start)
		whole[tables()] = key
	}
	if len(whole) != 2 {
		t.Fatal("both keys give one release")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	killed, replaced, at := 0, 0, "k2"
	for i := range kills {
		cmd := command([]string{"k", "k2"}[i%2])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// One early, most of them near the end, where everything gets its name.
		after := 0.6 + 0.9*rng.Float64()
		if i == 0 {
			after = 0.3
		}
		timer := time.AfterFunc(time.Duration(after*float64(took)), func() { cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			killed++
		}
		timer.Stop()
		now, ok := whole[tables()]
		if !ok {
			t.Fatal("the folder holds tables of two runs, or not all")
		}
		if now != at {
			replaced++
		}
		at = now
	}
	if killed < leastKilled || replaced < leastReplaced {
		t.Errorf("%d runs were killed, and %d published: the test shows little", killed, replaced)
	}
	if out, err := command("k").CombinedOutput(); err != nil || whole[tables()] != "k" {
		t.Fatalf("the run after: %v\n%s", err, out)
	}
	for _, folder := range []string{"out", "out/release"} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), "tmp") {
				t.Errorf("there is %s", e.Name())
			}
		}
	}
}

// TestProjectLedgersKilled kills runs of a project whose tables have ledgers: as many releases count as published, in
// each ledger, as the folder has had, and the next run is judged with all of them.
func TestProjectLedgersKilled(t *testing.T) {
	kills := 16
	if testing.Short() {
		kills = 5
	}
	dir := projectOf(t, 300, func(files map[string]string) {
		files["persons.yaml"] += "ledger: persons.sdl\n"
		files["events.yaml"] += "ledger: events.sdl\n"
	})
	command := func(key string) *exec.Cmd {
		cmd := program(t, dir, "run", "-q", "project.yaml", "--allow-loosening")
		cmd.Env = append(cmd.Env, "SDLFILTER_KEY__FILE="+key)
		return cmd
	}
	folder := func() fs.FileInfo { // a new one while the one before it is there
		info, err := os.Stat(filepath.Join(dir, "out", "release"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	finished := func(key string) {
		t.Helper()
		if out, err := command(key).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	start := time.Now()
	finished("k")
	took, at, published := time.Since(start), folder(), 1
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range kills {
		cmd := command([]string{"k2", "k"}[i%2])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration((0.6+0.6*rng.Float64())*float64(took)), func() { cmd.Process.Kill() })
		_ = cmd.Wait() // killed, or not
		timer.Stop()
		if now := folder(); !os.SameFile(now, at) {
			at, published = now, published+1
		}
	}
	finished("k") // which settles what the others have left
	published++
	for _, name := range []string{"persons", "events"} {
		l, err := ledger.Look(t.Context(), filepath.Join(dir, name+".sdl"))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(l.Releases()); n != published || len(l.Unknown()) > 0 {
			t.Errorf("%s: %d releases are published, %d not settled, and the folder had %d", name, n, len(l.Unknown()), published)
		}
	}
}
