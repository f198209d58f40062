package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// within runs the program with a limit on file size: as on a full disk, writing beyond the limit
// fails.
func within(t *testing.T, dir string, limit int, args ...string) *exec.Cmd {
	t.Helper()
	cmd := program(t, dir, args...)
	// Shells count in blocks of 512 bytes.
	cmd.Args = append([]string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -f %d && exec "$0" "$@"`, limit/512), cmd.Path},
		args...)
	cmd.Path = "/bin/sh"
	return cmd
}

// longest returns the length of the longest matching file.
func longest(t *testing.T, pattern string) int {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v, %v", pattern, paths, err)
	}
	most := int64(0)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, info.Size())
	}
	return int(most)
}

// TestShardsOnAFullDisk: if the disk is full at any write of a release in shards, the status is 1,
// nothing is published, and earlier work is not lost.
func TestShardsOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program a dozen times")
	}
	const shards = 2
	dir := shardJob(t, shards)
	runShards(t, dir, shards)
	part, state := longest(t, filepath.Join(dir, "out", ".*.shards-*", "part-00000*")),
		longest(t, filepath.Join(dir, "states", "0.state"))
	if out, err := commitShards(t, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, report := parts(t, dir), longest(t, filepath.Join(dir, "out", "report*"))
	full := func(limit int, args ...string) {
		t.Helper()
		out, err := within(t, dir, limit, args...).CombinedOutput()
		checkStatus(t, err, exitFailed, out)
		if !bytes.Contains(out, []byte("file too large")) {
			t.Errorf("%v at %d bytes printed %s", args, limit, out)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "out", "re*")); len(left) > 0 {
			t.Errorf("%v at %d bytes published %v", args, limit, left)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "states")); err != nil {
		t.Fatal(err)
	}
	first := []string{"shard", "run", "-q", "plan.json", "--shard", "0", "--state", "states/0.state"}
	for _, limit := range []int{512, part / 2, part - 512} {
		full(limit, first...)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out", ".*.shards-*", "*")); len(left) > 0 {
		t.Errorf("an attempt that failed has left %v", left)
	}
	if state <= part+512 {
		t.Fatalf("a state of %d bytes next to a part of %d: it cannot be the only write that fails", state, part)
	}
	full(state-512, first...)
	if left, _ := os.ReadDir(filepath.Join(dir, "states")); len(left) > 0 {
		t.Errorf("states without a shard: %v", left)
	}
	runShards(t, dir, shards)
	full(report-512, "shard", "commit", "-q", "plan.json", "--states", "states")
	if out, err := commitShards(t, dir).CombinedOutput(); err != nil || !same(parts(t, dir), want) {
		t.Fatalf("after the disk had room again: %v\n%s", err, out)
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "out"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("remaining files: %s", e.Name())
		}
	}
	out, err := within(t, dir, 512, "shard", "plan", "pipeline.yaml", "--set", "sink.csv.path=out/release/", "--shards",
		"2", "--out", "other.json").CombinedOutput()
	if _, there := os.Stat(filepath.Join(dir, "other.json")); err == nil || there == nil {
		t.Errorf("a manifest of more than 512 bytes: %v, %s", err, out)
	}
}
