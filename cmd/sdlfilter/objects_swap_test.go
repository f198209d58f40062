package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestObjectsSwapInShards exchanges categories between shards with objects for all files, and
// compares the release with that of one run. A shard without its pairs is refused.
func TestObjectsSwapInShards(t *testing.T) {
	for _, scheme := range []string{"s3", "gs"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			s := newStoreOf(t, scheme)
			in, err := os.ReadFile(filepath.Join(s.dir, "in.csv"))
			if err != nil {
				t.Fatal(err)
			}
			head, lines, _ := bytes.Cut(in, []byte("\n"))
			for i := range 3 { // three records for each wage that differ in their file and kind
				own := bytes.ReplaceAll(lines, []byte("\n"), fmt.Appendf(nil, "%d,%d\n", i, i))
				s.server.Set("data", fmt.Sprintf("in/%d.csv", i), slices.Concat(head, []byte(",file\n"), own))
			}
			text := `version: 1
key: {file: k}
source: {csv: {path: "s3://data/in", types: {wage: float64}}}
columns: {wage: {role: other}, kind: {role: other}, file: {role: other}}
unlisted: drop
masks:
  - swap: {keys: [wage], attribute: file, columns: [kind], scope: dataset, rate: 1, policy: random}
sink: {csv: {path: "s3://data/%s"}}
`
			write := func(to string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(s.dir, "c.yaml"), []byte(s.at(fmt.Sprintf(text, to))), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			released := func(below string) (all []byte) {
				for _, key := range s.server.Keys("data") {
					if data := s.server.Get("data", key).Data; strings.HasPrefix(key, below) && !strings.HasSuffix(key, "_SUCCESS") {
						s.clean(key, data)
						all = append(all, data...)
					}
				}
				return all
			}
			write("whole/")
			s.must(exitDone, "", "run", "c.yaml")
			write("out/")
			const plan, surveys, pairs, states = "s3://data/work/plan.json", "s3://data/work/surveys", "s3://data/work/pairs",
				"s3://data/work/states"
			s.must(exitDone, "", "shard", "plan", "c.yaml", "--shards", "2", "--out", plan)
			s.must(exitUsage, "--pairs must name the folder", "shard", "run", plan, "--shard", "0", "--state", states+"/0")
			s.must(exitFailed, "2 of 2 shards have no survey: 0, 1", "shard", "pair", plan, "--states", surveys, "--out", pairs)
			for _, i := range []string{"1", "0"} {
				s.must(exitDone, "", "shard", "survey", plan, "--shard", i, "--state", surveys+"/"+i)
			}
			s.must(exitUsage, "--shard must be 0 to 1", "shard", "survey", plan, "--shard", "2", "--state", surveys+"/2")
			s.must(exitUsage, "shard survey needs --shard", "shard", "survey", plan)
			s.must(exitUsage, "shard pair needs --states", "shard", "pair", plan)
			s.must(exitDone, "", "shard", "pair", plan, "--states", surveys, "--out", pairs)
			for _, i := range []string{"0", "1"} {
				s.must(exitDone, "", "shard", "run", plan, "--shard", i, "--pairs", pairs, "--state", states+"/"+i)
			}
			s.must(exitDone, "", "shard", "commit", plan, "--states", states)
			if got, want := released("out/"), released("whole/"); !bytes.Equal(got, want) || len(got) == 0 {
				t.Errorf("the release is not that of one run: %d bytes, and %d", len(got), len(want))
			}
			// At rate 1 two of three records are exchanged, and the third is exchanged with one of
			// them or not at all.
			if n := bytes.Count(s.server.Get("data", s.part(0)).Data, []byte("0,0\n")); n*2 > bytes.Count(lines, []byte("\n")) {
				t.Errorf("%d of %d records of the first file have kept their kind", n, bytes.Count(lines, []byte("\n")))
			}
		})
	}
}

// part is the key of a part of the release below out/.
func (s *store) part(i int) string {
	keys := s.server.Keys("data")
	at := slices.IndexFunc(keys, func(key string) bool { return strings.HasPrefix(key, fmt.Sprintf("out/part-%05d", i)) })
	if at < 0 {
		s.t.Fatalf("there is no part %d: %q", i, keys)
	}
	return keys[at]
}
