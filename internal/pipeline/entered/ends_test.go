package entered_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// A rule without a word on releases is judged by all of them, and a release that it refuses is not entered. Where the
// rule says that this release is alone it passes.
func TestWithheldReleasesAddNothing(t *testing.T) {
	racetest.Further(t)
	dir := records(t, 1000)
	release{name: "a", masks: noise}.run(t, dir)
	c := release{name: "c", masks: noise, key: "k2",
		rule: "{column: wage, target: typical, knowledge: index, min_rmse: 80}"}
	if rep := c.run(t, dir); rep.Gate.Passed || !strings.Contains(rep.Gate.Rules[0].Advice, "all_releases") {
		t.Errorf("the gate passes a release that tells too much with an earlier one: %+v", rep.Gate.Rules)
	}
	if _, err := os.Stat(filepath.Join(dir, "c.csv")); err == nil {
		t.Error("a withheld release is there")
	}
	if got := numbers(t, dir); len(got) != 1 {
		t.Errorf("the ledger has %v, want the first release", got)
	}
	for _, rule := range []string{"{column: wage, min_rmse: 80, target: typical}",
		"{column: wage, knowledge: record, target: typical, min_rmse: 80}",
		"{column: wage, knowledge: all_releases, target: typical, min_rmse: 80}"} {
		if c.rule = rule; c.run(t, dir).Gate.Passed {
			t.Errorf("%s: passes", rule)
		}
	}
	c.rule = "{column: wage, target: typical, knowledge: index, min_rmse: 80, releases: alone}"
	if rep := c.run(t, dir); !rep.Gate.Passed || rep.Gate.Rules[0].Releases != "alone" {
		t.Errorf("releases: alone is judged by earlier releases: %+v", rep.Gate.Rules)
	}
	if got := numbers(t, dir); len(got) != 2 {
		t.Errorf("the ledger has %v, want both releases", got)
	}
}

// A run that was killed leaves a release without outcome. It counts as published, unless its complete file lies under
// its temporary name.
func TestKilledRuns(t *testing.T) {
	racetest.Alone(t)
	dir := records(t, 300)
	release{name: "a", masks: noise}.run(t, dir)
	path := filepath.Join(dir, "ledger")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := text[:bytes.IndexByte(text, '\n')+1] // killed before the outcome
	b := release{name: "b", masks: noise, key: "k2"}
	for name, c := range map[string]struct {
		temp, final bool
		want        int
	}{
		"not named": {true, false, 0}, "named": {false, true, 1}, "gone": {false, false, 1}, "both": {true, true, 1},
	} {
		if err := os.WriteFile(path, cut, 0o600); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, "b.json")) // which knows of the lines that were cut off
		final, temp := filepath.Join(dir, "a.csv"), filepath.Join(dir, ".a.csv.sdlfilter-tmp")
		content, err := os.ReadFile(filepath.Join(dir, "kept"))
		if err != nil {
			if content, err = os.ReadFile(final); err == nil {
				err = os.WriteFile(filepath.Join(dir, "kept"), content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for at, there := range map[string]bool{final: c.final, temp: c.temp} {
			os.Remove(at)
			if there {
				if err := os.WriteFile(at, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if rep := b.run(t, dir); len(rep.Ledger.Releases) != c.want {
			t.Errorf("%s: %d earlier releases count, want %d", name, len(rep.Ledger.Releases), c.want)
		}
	}
}

// A ledger without lines that the report of the configuration knows is not used: the last line, the one before it, or
// all. A report that was withheld knows the lines before its own.
func TestLedgerThatLacksLines(t *testing.T) {
	dir := records(t, 100)
	path := filepath.Join(dir, "ledger")
	one := release{ // with an ε that is infinite in its report
		name: "a", masks: noise,
		rest: "assess: {replicates: 2, sample: all, targets: [p50], intruder: {inversion: false}, privacy: {records: 1}}\n",
	}
	one.run(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	report := filepath.Join(dir, "a.json")
	published, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	withheld := bytes.Replace(published, []byte("{"), []byte(`{"withheld": "for the test",`), 1)
	for name, c := range map[string]struct {
		report, ledger []byte
		lacks          bool
	}{
		"whole": {published, whole, false}, "without its outcome": {published, lines[0], false},
		"empty":           {published, nil, true},
		"withheld, empty": {withheld, nil, false}, "no report": {nil, nil, false}, "another file": {[]byte("{}"), nil, false},
		// another digest
		"later, whole":            {bytes.Replace(published, []byte(`"entry": 1`), []byte(`"entry": 3`), 1), whole, true},
		"later, withheld, absent": {bytes.Replace(withheld, []byte(`"entry": 1`), []byte(`"entry": 4`), 1), whole, true},
	} {
		for at, text := range map[string][]byte{path: c.ledger, report: c.report} {
			if err := os.WriteFile(at, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := one.parse(t, dir)
		look := func() (*entered.Ledger, error) { return entered.Look(t.Context(), p, keytest.Key(1), zerolog.Nop()) }
		open := func() (*entered.Ledger, error) { return entered.Open(t.Context(), p, keytest.Key(1), zerolog.Nop()) }
		for what, f := range map[string]func() (*entered.Ledger, error){"look": look, "open": open} {
			l, err := f()
			if (err != nil) != c.lacks || err != nil && !strings.Contains(err.Error(), "lacks releases that it had when") {
				t.Errorf("%s: %s: error %v", name, what, err)
			}
			l.Close()
		}
	}
}

// No line of a ledger, of a report or of a list has a value of a respondent that is not released in the file beside it;
// a line of tables has the codes by which the tables are published.
func TestNoValuesAreEntered(t *testing.T) {
	dir := records(t, 40)
	if err := os.WriteFile(filepath.Join(dir, "in.csv"),
		append([]byte("pid,region,age,tax,wage\n"),
			bytes.Repeat([]byte("CANARYpid,CANARYregion,33,1234567.25,7654321.75\nx,y,34,2,3\n"), 20)...), 0o600); err != nil {
		t.Fatal(err)
	}
	release{name: "a", masks: noise}.run(t, dir)
	release{name: "b", masks: noise, key: "k2"}.run(t, dir)
	tables(t, dir, "t", "gate: {allow_records: [a, b]}\n", 3)
	rep := release{name: "b", masks: noise, key: "k2"}.run(t, dir)
	said, err := json.Marshal([]any{rep.Ledger, rep.Warnings})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Ledger.Tables) != 1 {
		t.Errorf("the report has no tables: %+v", rep.Ledger)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"CANARY", "1234567", "7654321"} {
		lines := bytes.ReplaceAll(text, []byte(`"leaves":["CANARYregion","y"]`), nil)
		if bytes.Contains(lines, []byte(secret)) || bytes.Contains(said, []byte(secret)) {
			t.Errorf("%s is in the ledger or the report of it", secret)
		}
	}
	public, err := os.ReadFile(filepath.Join(dir, "b.public.json"))
	if err != nil || bytes.Contains(public, []byte("previous")) || !bytes.Contains(public, []byte(`"ledger": true`)) {
		t.Errorf("the public report says more or less than that there is a ledger: %s, error %v", public, err)
	}
}

// A run whose context ends while it waits, or at its end, enters nothing.
func TestEndedRunsEnterNothing(t *testing.T) {
	dir := records(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := release{name: "a", masks: noise}.parse(t, dir)
	if _, err := filejob.Run(ctx, p, pipeline.Options{Log: zerolog.Nop()}); err == nil {
		t.Error("a run that is told to end does not")
	}
	if l, err := ledger.Look(t.Context(), filepath.Join(dir, "ledger")); err == nil && len(l.All()) > 0 {
		t.Error("it has entered a release")
	}
	if got, err := filejob.Simulate(t.Context(), p, pipeline.Options{Log: zerolog.Nop()}); err == nil &&
		got.Ledger == nil {
		t.Error("a simulation does not look at the ledger")
	}
	release{name: "a", masks: noise}.run(t, dir)
	p = release{name: "b", masks: noise, key: "k2", rest: "quarantine: {jsonl: DIR/q.jsonl}\n"}.parse(t, dir)
	rep, err := filejob.Simulate(t.Context(), p, pipeline.Options{Log: zerolog.Nop()})
	if err != nil || len(rep.Ledger.Releases) != 1 {
		t.Fatalf("simulated: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "q.jsonl")); err == nil || rep.ConfigSHA256 != p.SHA256() {
		t.Errorf("a simulation with a quarantine: its file %v, the report is of the configuration %s, want %s", err,
			rep.ConfigSHA256, p.SHA256())
	}
	if got := numbers(t, dir); !slices.Equal(got, []string{"1 a true"}) {
		t.Errorf("after a simulation the ledger has %v", got)
	}
}
