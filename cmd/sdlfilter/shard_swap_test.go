package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// swapJob plans a release in two shards with a swap of a number over all records.
func swapJob(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var in bytes.Buffer
	draw := rand.New(rand.NewPCG(3, 4))
	in.WriteString("wage,kind,region\n")
	for i := range 100_000 {
		fmt.Fprintf(&in, "%.2f,%c,%d\n", 100+900*draw.Float64(), 'a'+rune(i%5), draw.IntN(4))
	}
	for name, text := range map[string]string{"in.csv": in.String(), "k": "c2RsZmlsdGVyOiBhIGtleSBmb3IgdGVzdHMgb25seSE=\n",
		"pipeline.yaml": `version: 1
key: {file: k}
source: {csv: {path: in.csv}}
columns: {wage: {role: sensitive, decimals: 2}, kind: {role: other}, region: {role: other}}
masks:
  - swap: {keys: [kind], attribute: region, columns: [wage], scope: dataset, rate: 0.5, policy: random}
  - noise: {columns: [wage], sd: 20}
sink: {csv: {path: out/release/}}
assess: {replicates: 20, sample: 2000}
report: {json: out/report.json}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, program(t, dir, "shard", "plan", "-q", "pipeline.yaml", "--shards", "2", "--out", "plan.json"))
	return dir
}

func mustRun(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// surveying and pairing are the steps before the shards run; running is a shard that uses their
// output.
func surveying(i int) []string {
	return []string{"shard", "survey", "-q", "plan.json", "--shard", fmt.Sprint(i), "--state",
		fmt.Sprintf("surveys/%d", i)}
}

var pairing = []string{"shard", "pair", "-q", "plan.json", "--states", "surveys", "--out", "pairs"}

func running(i int) []string {
	return []string{"shard", "run", "-q", "plan.json", "--shard", fmt.Sprint(i), "--pairs", "pairs", "--state",
		fmt.Sprintf("states/%d", i)}
}

// filesBelow returns the named files of a folder, by name. Hidden files were being written when the
// program was killed. Only the owner can read them.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		if name := filepath.Base(path); !strings.HasPrefix(name, ".") {
			found[name] = string(text)
		}
	}
	return found
}

// TestSurveysAndPairsKilled kills the survey of a shard and the pairing at random moments, and
// fills the disk at each of them. A file with its final name is always complete and equals that of
// an undisturbed run, and repeated commands continue from there to the release of one run.
func TestSurveysAndPairsKilled(t *testing.T) {
	rounds := 15
	if testing.Short() {
		rounds = 2
	}
	dir := swapJob(t)
	start := time.Now()
	mustRun(t, program(t, dir, surveying(0)...))
	one := time.Since(start)
	mustRun(t, program(t, dir, surveying(1)...))
	start = time.Now()
	mustRun(t, program(t, dir, pairing...))
	pairs := time.Since(start)
	whole := map[string]map[string]string{"surveys": filesBelow(t, filepath.Join(dir, "surveys")),
		"pairs": filesBelow(t, filepath.Join(dir, "pairs"))}
	if len(whole["surveys"]) != 2 || len(whole["pairs"]) != 2 {
		t.Fatalf("%d surveys, %d pairs", len(whole["surveys"]), len(whole["pairs"]))
	}
	draw := rand.New(rand.NewPCG(5, 6))
	killed := map[string]int{}
	for range rounds {
		for _, c := range []struct {
			folder string
			args   []string
			took   time.Duration
		}{{"surveys", surveying(0), one}, {"pairs", pairing, pairs}} {
			if err := os.RemoveAll(filepath.Join(dir, c.folder, "0")); err != nil {
				t.Fatal(err)
			}
			if c.folder == "pairs" {
				mustRun(t, program(t, dir, surveying(0)...))
				if err := os.RemoveAll(filepath.Join(dir, "pairs")); err != nil {
					t.Fatal(err)
				}
			}
			cmd := program(t, dir, c.args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(draw.Float64()*1.1*float64(c.took)), func() { cmd.Process.Kill() })
			if cmd.Wait() != nil {
				killed[c.folder]++
			}
			timer.Stop()
			for name, text := range filesBelow(t, filepath.Join(dir, c.folder)) {
				if text != whole[c.folder][name] {
					t.Fatalf("%s/%s is incomplete or differs", c.folder, name)
				}
			}
		}
	}
	if rounds == 15 && (killed["surveys"] < 4 || killed["pairs"] < 4) {
		t.Errorf("killed before their end: %v of 15 each; the test shows little", killed)
	}
	mustRun(t, program(t, dir, surveying(0)...))
	if err := os.RemoveAll(filepath.Join(dir, "pairs")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit int
		args  []string
	}{
		{longest(t, filepath.Join(dir, "surveys", "1")) - 512,
			[]string{"shard", "survey", "-q", "plan.json", "--shard", "1", "--state", "surveys/again"}}, {512, pairing}} {
		out, err := within(t, dir, c.limit, c.args...).CombinedOutput()
		checkStatus(t, err, exitFailed, out)
		if !bytes.Contains(out, []byte("file too large")) {
			t.Errorf("%v at %d bytes printed %s", c.args, c.limit, out)
		}
	}
	if got := filesBelow(t, filepath.Join(dir, "surveys")); !maps.Equal(got, whole["surveys"]) ||
		len(filesBelow(t, filepath.Join(dir, "pairs"))) > 0 {
		t.Error("an incomplete file has its final name")
	}
	mustRun(t, program(t, dir, pairing...))
	if got := filesBelow(t, filepath.Join(dir, "pairs")); !maps.Equal(got, whole["pairs"]) {
		t.Error("other pairs")
	}
	for i := range 2 {
		mustRun(t, program(t, dir, running(i)...))
	}
	mustRun(t, commitShards(t, dir))
	mustRun(t, program(t, dir, "run", "-q", "pipeline.yaml", "--set", "sink.csv.path=out/one.csv", "--set",
		"report.json=out/one.json"))
	want, err := os.ReadFile(filepath.Join(dir, "out", "one.csv"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(want), "\n")
	var got strings.Builder
	got.WriteString(head + "\n")
	for _, name := range slices.Sorted(maps.Keys(parts(t, dir))) {
		got.WriteString(strings.TrimPrefix(parts(t, dir)[name], head+"\n"))
	}
	if got.String() != string(want) {
		t.Error("the release is not that of one run")
	}
}

// TestShardSwapCanary searches for values of respondents in the output of surveys, pairings and
// shards with a swap, for whole, broken and truncated inputs, and for damaged or exchanged files.
// Only the owner can read the remaining files.
func TestShardSwapCanary(t *testing.T) {
	racetest.Alone(t)
	for i, format := range []string{"csv", "jsonl", "parquet"} {
		for k, input := range []string{"in.", "broken.", "truncated."} {
			if !takesPart(k, i, 3) {
				continue
			}
			t.Run(input+format, func(t *testing.T) {
				dir := t.TempDir()
				canaryInputs(t, dir)
				text := canaryConfig(format, input+format, "{column: wage, min_efficiency: 0.001}")
				text = strings.Replace(text, ", emit: [{jsonl: out/snapshots.jsonl}], every: {records: 100}", "", 1)
				text = strings.Replace(text, "out/release."+format, "out/release/", 1)
				text = strings.Replace(text, "masks:\n",
					"masks:\n  - swap: {keys: [kind], attribute: note, columns: [wage], scope: dataset, rate: 0.5, policy: random}\n",
					1)
				text = strings.Replace(text, "  kind: {role: other}\n", "  kind: {role: other}\n  note: {role: other}\n", 1)
				if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				done := 0
				say := func(args ...string) {
					t.Helper()
					printed, err := program(t, dir, args...).CombinedOutput()
					if err == nil {
						done++
					}
					checkCanaries(t, strings.Join(args, " "), printed, true)
					checkModes(t, dir)
					filesBelow(t, filepath.Join(dir, "surveys"))
					filesBelow(t, filepath.Join(dir, "pairs"))
				}
				say("shard", "plan", "pipeline.yaml", "--shards", "1", "--out", "plan.json")
				say("shard", "survey", "--verbose", "--progress", "json", "plan.json", "--shard", "0", "--state", "surveys/0")
				say(append(pairing, "--verbose", "--progress", "json")...)
				say(running(0)...)
				if input == "in." && done != 4 {
					t.Errorf("%d of 4 steps were done: the test shows little", done)
				}
				for _, path := range []string{"surveys/0", "pairs/0.pairs"} {
					whole, err := os.ReadFile(filepath.Join(dir, path))
					if err != nil {
						continue // for an unreadable input
					}
					for _, text := range [][]byte{whole[:len(whole)/2], append(bytes.Clone(whole), '0'),
						bytes.Replace(whole, []byte(`"shard":0`), []byte(`"shard":"x`), 1)} {
						if err := os.WriteFile(filepath.Join(dir, path), text, 0o600); err != nil {
							t.Fatal(err)
						}
						say(pairing...)
						say(running(0)...)
					}
				}
				plan, _ := os.ReadFile(filepath.Join(dir, "plan.json"))
				checkCanaries(t, "plan.json", plan, false)
			})
		}
	}
}
