package shard

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// earlier prepares a configuration with a ledger and a rule of the gate, and makes a release of the same records with
// other masks and another key.
func earlier(t *testing.T, rule, masks string) {
	t.Helper()
	prepare(t, "parquet", 3000, "identity: [id]\nledger: ledger\n")
	write(t, "other.key", []byte(keytest.Key(2).Text()))
	if err := os.Chmod("other.key", 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "pipeline.yaml", bytes.Replace(text, []byte("{column: wage, min_efficiency: 0.5}"), []byte(rule), 1))
	own, _, _ := strings.Cut(strings.SplitN(string(text), "masks:\n", 2)[1], "sink:")
	first := strings.NewReplacer(own, "  - "+masks+"\n", "path: released", "path: first.parquet", "test.key", "other.key",
		"report.json", "first.json", "quarantine.jsonl", "first.jsonl",
		"gate: {rules: [{column: wage, min_efficiency: 0.5}]}\n", "").Replace(string(text))
	write(t, "first.yaml", []byte(first))
	p, err := config.Load("first.yaml", config.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, first)
	}
	if result, err := filejob.Run(t.Context(), p, options); err != nil || result.Refused() {
		t.Fatalf("the first release: error %v, or refused", err)
	}
}

const noise = "noise: {columns: [wage], sd: 20%, tiers: [{above: 1000, variance_factor: 4}]}"

func kept(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("ledger")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func restore(t *testing.T, text []byte) {
	t.Helper()
	if err := os.WriteFile("ledger", text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// listed returns the releases of the ledger that count as published.
func listed(t *testing.T) []ledger.Listed {
	t.Helper()
	l, err := ledger.Look(t.Context(), "ledger")
	if err != nil {
		t.Fatal(err)
	}
	return l.Releases()
}

// A release in shards is judged with the earlier ones, and entered, as one run is: the same report, and the same entry
// but for the names of its files.
func TestShardsHaveALedger(t *testing.T) {
	earlier(t,
		"{column: wage, target: typical, knowledge: index, min_rmse: 1}, {column: wage, max_exact: {share: 1, within: 50}}, {max_linked: 0.9999}, {column: wage, max_unchanged: 0.9999}, {column: wage, target: typical, knowledge: mean, min_rmse: 1}, {column: wage, knowledge: order, min_rmse: 1}", noise)
	before := kept(t)
	want := single(t, "parquet")
	one := listed(t)[1].Release
	restore(t, before)
	m := planned(t, 3)
	if err := os.Remove("ledger"); err != nil { // shards run where no ledger is
		t.Fatal(err)
	}
	for i := range m.Shards {
		runShard(t, m, i)
	}
	restore(t, before)
	result, err := Commit(t.Context(), load(t), m, "states", options)
	if err != nil || result.Refused() {
		t.Fatalf("refused, or error %v", err)
	}
	for _, d := range differences(want, read(t, "report.json"), "") {
		t.Error(d)
	}
	if why := result.Report.Ledger; why.Not != "" || len(why.Releases) != 1 || why.Releases[0].Same {
		t.Errorf("the report says of the ledger %+v", why)
	}
	releases := listed(t)
	if len(releases) != 2 || !releases[1].Known || releases[1].Release.Plan != m.ID() {
		t.Fatalf("the ledger has %+v", releases)
	}
	got := *releases[1].Release
	got.Plan, got.Paths, got.Published, got.ConfigSHA256 = "", one.Paths, one.Published, one.ConfigSHA256
	for _, d := range differences(decodedEntry(t, one), decodedEntry(t, &got), "") {
		t.Error(d)
	}
}

func decodedEntry(t *testing.T, r *ledger.Release) (decoded map[string]any) {
	t.Helper()
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// What one run may not release beside an earlier release, shards may not either, and nothing is entered.
func TestShardsAreWithheldByTheLedger(t *testing.T) {
	racetest.Further(t)
	const alone = "{column: wage, target: typical, knowledge: index, min_rmse: 80, releases: alone}, {column: wage, max_unchanged: 1}, {column: wage, max_exact: {share: 1, within: 1}, releases: alone}"
	earlier(t, alone, noise)
	if _, result, err := sharded(t, 2); err != nil || result.Refused() {
		t.Fatalf("alone: error %v, %+v", err, result.Report.Gate)
	}
	earlier(t, alone, noise)
	text, err := os.ReadFile("pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "pipeline.yaml", bytes.Replace(text, []byte("80, releases: alone"), []byte("80"), 1))
	_, result, err := sharded(t, 2)
	if err != nil || !result.Refused() || len(listed(t)) != 1 {
		t.Errorf("passes, error %v, or is entered: %d releases: %+v", err, len(listed(t)), result.Report.Gate)
	}
}

// Tables of the records that were published before the plan, or between plan and commit, are not judged together with
// shards, unless the gate allows it.
func TestShardsBesideTables(t *testing.T) {
	racetest.Further(t)
	const rule = "{column: wage, target: typical, knowledge: index, min_rmse: 1}"
	for _, c := range []struct{ since, allowed bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		earlier(t, rule, noise)
		if c.allowed {
			text, err := os.ReadFile("pipeline.yaml")
			if err != nil {
				t.Fatal(err)
			}
			write(t, "pipeline.yaml", bytes.Replace(text, []byte("gate: {"), []byte("gate: {allow_tables: [sums], "), 1))
		}
		publish := func() {
			held, err := ledger.Open(t.Context(), "ledger", func() {})
			if err != nil {
				t.Fatal(err)
			}
			number,
				err := held.EnterTables(
				&ledger.Tables{
					Name: "sums",
					Tables: []ledger.Table{
						{Name: "wages", Rows: []string{"region"}, Columns: []string{"region", "wage"}, Value: "wage"}}})
			if err := errors.Join(err, held.Settle(number, true), held.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if !c.since {
			publish()
		}
		m := planned(t, 2)
		for i := range m.Shards {
			runShard(t, m, i)
		}
		if c.since {
			publish()
		}
		result, err := Commit(t.Context(), load(t), m, "states", options)
		if err != nil || result.Refused() == c.allowed || strings.Contains(result.Report.Ledger.Not, "sums") == c.allowed {
			t.Errorf("tables since the plan %v, allowed %v: error %v, %q", c.since, c.allowed, err, result.Report.Ledger.Not)
		}
	}
}

// What was released between plan and commit is not in the plan.
func TestReleasesSinceThePlan(t *testing.T) {
	racetest.Further(t)
	earlier(t, "{column: wage, target: typical, knowledge: index, min_rmse: 1}", noise)
	before := kept(t)
	m := planned(t, 2)
	for i := range m.Shards {
		runShard(t, m, i)
	}
	for name, prepare := range map[string]func(){
		"one more":  func() { single(t, "parquet") },
		"one fewer": func() { restore(t, nil) },
	} {
		restore(t, before)
		prepare()
		n := len(listed(t))
		if _, err := Commit(t.Context(), load(t), m, "states", options); err == nil ||
			!strings.Contains(err.Error(), "plan again") || len(listed(t)) != n {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := os.Stat("released"); err == nil {
			t.Errorf("%s: is published", name)
		}
	}
	restore(t, before)
	if result, err := Commit(t.Context(), load(t), m, "states", options); err != nil || result.Refused() {
		t.Errorf("with the ledger of the plan: refused, or error %v", err)
	}
}

// A commit that was killed is committed again, and the ledger has its release once: killed before its files had their
// name, behind that, and when all was done.
func TestCommitsThatWereKilledAreEnteredOnce(t *testing.T) {
	racetest.Alone(t)
	for name, c := range map[string]struct {
		lines     int  // of the ledger that were written: with the first release and its outcome
		published bool // whether the folder had its name
		want      int  // lines in the end
	}{"entered": {3, false, 6}, "named": {3, true, 4}, "settled": {4, true, 4}, "before": {2, false, 4}} {
		earlier(t, "{column: wage, target: typical, knowledge: index, min_rmse: 1}", noise)
		m := planned(t, 2)
		for i := range m.Shards {
			runShard(t, m, i)
		}
		again := filepath.Join("kept", m.hidden("released"))
		if err := os.CopyFS(again, os.DirFS(m.hidden("released"))); err != nil {
			t.Fatal(err)
		}
		if result, err := Commit(t.Context(), load(t), m, "states", options); err != nil || result.Refused() {
			t.Fatalf("refused, or error %v", err)
		}
		lines := bytes.SplitAfter(kept(t), []byte("\n"))
		restore(t, bytes.Join(lines[:c.lines], nil))
		if err := os.Remove("report.json"); err != nil {
			t.Fatal(err)
		}
		if !c.published {
			if err := os.Rename("released", ".released.sdlfilter-tmp"); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(m.hidden("released"), os.DirFS(again)); err != nil {
				t.Fatal(err)
			}
		}
		var said bytes.Buffer
		logged := options
		logged.Log = zerolog.New(&said)
		result, err := Commit(t.Context(), load(t), m, "states", logged)
		if strings.Contains(said.String(), "what became of this release") {
			t.Errorf("%s: says %s", name, &said)
		}
		if err != nil || result.Refused() {
			t.Fatalf("%s: again: refused, or error %v", name, err)
		}
		releases := listed(t)
		if n := bytes.Count(kept(t), []byte("\n")); len(releases) != 2 || !releases[1].Known || n != c.want {
			t.Errorf("%s: %d lines, releases %+v", name, n, releases)
		}
		if got := result.Report.Ledger; got.Entry != releases[1].Number || len(got.Releases) != 1 {
			t.Errorf("%s: the report says %+v of entry %d", name, got, releases[1].Number)
		}
	}
}

// Masks of an earlier release that go by all records are not applied again by shards, and are not taken to tell
// nothing.
func TestShardsDoNotApplyMasksOfAllRecords(t *testing.T) {
	for _, masks := range []string{
		"rankswap: {columns: [wage], p: 10%}", "topcode: {columns: [wage], upper_percentile: 90, replace: mean}",
		"microaggregate: {columns: [wage], k: 3}",
	} {
		earlier(t,
			"{column: wage, target: typical, knowledge: index, min_rmse: 0.1}, {column: wage, max_unchanged: 1}, {column: wage, max_exact: {share: 1, within: 1}, releases: alone}", masks)
		_, result, err := sharded(t, 2)
		if err != nil {
			t.Fatal(err)
		}
		if not := result.Report.Ledger.Not; !result.Refused() || !strings.Contains(not, "release 1 of the ledger (shards)") ||
			!strings.Contains(not, "which shards do not see") {
			t.Errorf("%s: refused %v, %q", masks, result.Refused(), not)
		}
	}
}
