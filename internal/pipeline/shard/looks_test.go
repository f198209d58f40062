package shard

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// TestShardsLookAtTheirFiles: a file that has changed is told by each shard that reads it and
// by the commit; a file more or less by all.
func TestShardsLookAtTheirFiles(t *testing.T) {
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { looksAtItsFiles(t, n) })
	}
}

func looksAtItsFiles(t *testing.T, n int) {
	prepare(t, "csv", 1, "")
	files := []string{"in/a.csv", "in/b.csv", "in/c.csv"}
	if err := os.Mkdir("in", 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range files {
		formats["csv"](t, name, people(300+200*i))
	}
	text, err := os.ReadFile("pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "pipeline.yaml", bytes.Replace(text, []byte("in.csv"), []byte("in"), 1))
	m := planned(t, n)
	for i := range m.Shards {
		runShard(t, m, i)
	}
	refused := func(what string, err error, want bool) {
		t.Helper()
		if want != (err != nil) || want && !strings.Contains(err.Error(), "planned with: plan again") {
			t.Errorf("%s: %v", what, err)
		}
	}
	others := 0
	for stream, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(data)
		at := bytes.LastIndexAny(changed, "0123456789")
		changed[at] = '0' + (changed[at]-'0'+1)%10
		write(t, name, changed)
		for i, s := range m.Shards {
			reads := slices.ContainsFunc(s.Parts, func(p connectors.Part) bool { return p.Stream == stream })
			if !reads {
				others++
			}
			_, err := Run(t.Context(), load(t), m, i, nil, options)
			refused(fmt.Sprintf("%s has changed, shard %d", name, i), err, reads)
		}
		_, err = Commit(t.Context(), load(t), m, "states", options)
		refused(name+" has changed, the commit", err, true)
		write(t, name, data)
	}
	if others == 0 {
		t.Error("every shard reads every file: the test shows little")
	}
	for _, change := range [][2]string{{"in/c.csv", "c.csv"}, {"in/c.csv", "in/cc.csv"}, {"in/a.csv", "in/d.csv"}, {"in.csv", "in/z.csv"}} {
		if err := os.Rename(change[0], change[1]); err != nil {
			t.Fatal(err)
		}
		for i := range m.Shards {
			_, err := Run(t.Context(), load(t), m, i, nil, options)
			refused(fmt.Sprintf("%s is %s, shard %d", change[0], change[1], i), err, true)
		}
		if err := os.Rename(change[1], change[0]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Commit(t.Context(), load(t), m, "states", options); err != nil {
		t.Fatal(err)
	}
}
