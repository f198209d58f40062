package shard

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

var scale = flag.Int("scale", 0, "merge so many states and say what it takes (docs/scale.md)")

// TestScale measures the figures in docs/scale.md: bytes of a state by the number of masked columns
// and records, and the time to merge many states.
func TestScale(t *testing.T) {
	if *scale == 0 {
		t.Skip("needs -scale")
	}
	for _, c := range []struct{ records, sample int }{{1_000, 5_000}, {100_000, 5_000}, {100_000, 100_000}} {
		prepare(t, "parquet", c.records, "")
		text, _ := os.ReadFile("pipeline.yaml")
		write(t, "pipeline.yaml", bytes.Replace(text, []byte("sample: 5000"), []byte(fmt.Sprintf("sample: %d", c.sample)), 1))
		m := planned(t, 1)
		s := runShard(t, m, 0)
		info, err := os.Stat(filepath.Join("states", "0.state"))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d records, sample of %d: a state of %d bytes, %d of them the assessment without its sample", c.records,
			c.sample, info.Size(), len(s.assessment))
		all := make([]*State, *scale)
		for i := range all {
			again := *s
			again.Shard, again.Pieces = i, slices.Clone(s.Pieces)
			all[i] = &again
		}
		start := cpu(t)
		for range all {
			if _, err := readState(t.Context(), filepath.Join("states", "0.state")); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%d states read and checked in %v of CPU", *scale, cpu(t)-start)
		j, err := resume(context.Background(), load(t), m, every, every, options)
		if err != nil {
			t.Fatal(err)
		}
		start = cpu(t)
		many := *m
		many.Shards = slices.Repeat(m.Shards, *scale)
		merging := &commit{job: j, manifest: &many, options: options}
		if err := merging.merge(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d states merged in %v of CPU", *scale, cpu(t)-start)
		start = cpu(t)
		if _, err := merging.masked.Measured.Measure(context.Background()); err != nil {
			t.Fatal(err)
		}
		t.Logf("measured in %v of CPU", cpu(t)-start)
		j.source.Close()
	}
}

// cpu returns the processor time of this process, without that of other processes.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
