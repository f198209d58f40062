package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// shardJob writes a pipeline whose release is a folder of parts, and plans it.
func shardJob(t *testing.T, shards int) string {
	t.Helper()
	dir := t.TempDir()
	killPipeline(t, dir)
	if out, err := program(t, dir, "shard", "plan", "pipeline.yaml", "--set", "sink.csv.path=out/release/",
		"--shards", fmt.Sprint(shards), "--out", "plan.json").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func runShards(t *testing.T, dir string, shards int) {
	t.Helper()
	for i := range shards {
		if out, err := program(t, dir, "shard", "run", "plan.json", "--shard", fmt.Sprint(i), "--state",
			fmt.Sprintf("states/%d.state", i)).CombinedOutput(); err != nil {
			t.Fatalf("shard %d: %v\n%s", i, err, out)
		}
	}
}

func commitShards(t *testing.T, dir string) *exec.Cmd {
	return program(t, dir, "shard", "commit", "-q", "plan.json", "--states", "states")
}

// parts returns the files of a release with their content.
func parts(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "out", "release", "*"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(p)] = string(text)
	}
	return found
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return true
}

// TestShardsKilledAtAnyMoment kills shards, and then commits, with SIGKILL, and repeats each until
// it has ended. The release is never visible in part, and in the end equals that of an undisturbed
// run.
func TestShardsKilledAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program some 70 times")
	}
	const shards = 3
	dir := shardJob(t, shards)
	start := time.Now()
	runShards(t, dir, shards)
	one := time.Since(start) / shards
	start = time.Now()
	if out, err := commitShards(t, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	committing := time.Since(start)
	want := parts(t, dir)
	if len(want) < shards {
		t.Fatalf("the release has %d parts", len(want))
	}

	draw := rand.New(rand.NewPCG(7, 8))
	attempt := func(cmd *exec.Cmd, whole time.Duration) bool {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(draw.Float64()*1.1*float64(whole)), func() { cmd.Process.Kill() })
		defer timer.Stop()
		return cmd.Wait() == nil
	}
	clean := func() {
		for _, name := range []string{"out", "states"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	clean()
	for killed := 0; killed < 30; {
		i := draw.IntN(shards)
		if !attempt(program(t, dir, "shard", "run", "-q", "plan.json", "--shard", fmt.Sprint(i), "--state",
			fmt.Sprintf("states/%d.state", i)), one) {
			killed++
		}
		if len(parts(t, dir)) > 0 {
			t.Fatal("a part of the release is there before the commit")
		}
	}
	killed := 0
	for range 20 {
		clean()
		runShards(t, dir, shards)
		if !attempt(commitShards(t, dir), committing) {
			killed++
		}
		if got := parts(t, dir); len(got) > 0 && !same(got, want) {
			t.Fatalf("%d parts are there and are not the whole release", len(got))
		}
		report := filepath.Join(dir, "out", "report.json")
		if _, err := os.Stat(report); err == nil && !same(parts(t, dir), want) {
			t.Fatal("the report is there before the release")
		}
		out, err := commitShards(t, dir).CombinedOutput()
		if _, missing := os.Stat(report); err != nil || missing != nil || !same(parts(t, dir), want) {
			t.Fatalf("the commit after: %v, %v\n%s", err, missing, out)
		}
	}
	if killed < 5 {
		t.Errorf("only %d of 20 commits were killed before they ended: the test shows little", killed)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("remaining files: %s", e.Name())
		}
	}
}

// TestShardCanary searches for values of respondents in the output and files of a release in
// shards. Manifest, states and unnamed parts are confidential, and only the owner can read them.
func TestShardCanary(t *testing.T) {
	for _, format := range []string{"csv", "jsonl", "parquet"} {
		for _, input := range []string{"in.", "broken.", "truncated."} {
			t.Run(format+"/"+input+format, func(t *testing.T) {
				dir := t.TempDir()
				canaryInputs(t, dir)
				text := canaryConfig(format, input+format, "{column: wage, min_efficiency: 0.001}")
				text = strings.Replace(text, ", emit: [{jsonl: out/snapshots.jsonl}], every: {records: 100}", "", 1)
				text = strings.Replace(text, "out/release."+format, "out/release/", 1)
				if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, args := range [][]string{
					{"shard", "plan", "pipeline.yaml", "--shards", "2", "--out", "plan.json"},
					{"shard", "run", "--verbose", "--progress", "json", "plan.json", "--shard", "0", "--state", "states/0.state"},
					{"shard", "commit", "plan.json", "--states", "states"},
					{"shard", "run", "plan.json", "--shard", "1", "--state", "states/1.state"},
					{"shard", "commit", "plan.json", "--states", "states", "--summary", "json"},
				} {
					printed, _ := program(t, dir, args...).CombinedOutput()
					checkCanaries(t, strings.Join(args, " "), printed, true)
					checkModes(t, dir)
				}
				checkFiles(t, filepath.Join(dir, "out"))
				plan, _ := os.ReadFile(filepath.Join(dir, "plan.json"))
				checkCanaries(t, "plan.json", plan, false)
			})
		}
	}
}

// checkModes checks that only the owner can read manifest, states and hidden parts.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	hidden, _ := filepath.Glob(filepath.Join(dir, "out", ".*.shards-*"))
	states, _ := filepath.Glob(filepath.Join(dir, "states", "*"))
	plans, _ := filepath.Glob(filepath.Join(dir, "plan.json"))
	for _, path := range slices.Concat(hidden, states, plans) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

// TestShardOfAnotherPlan: shards of one manifest and states of another are distinguished, although
// configuration and data are the same.
func TestShardOfAnotherPlan(t *testing.T) {
	dir := shardJob(t, 3)
	runShards(t, dir, 1)
	if out, err := program(t, dir, "shard", "plan", "pipeline.yaml", "--set", "sink.csv.path=out/release/", "--shards",
		"2", "--out", "plan.json").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := commitShards(t, dir).CombinedOutput()
	checkStatus(t, err, exitFailed, out)
	if !bytes.Contains(out, []byte("states/0.state: is of another plan")) {
		t.Errorf("printed %s", out)
	}
}
