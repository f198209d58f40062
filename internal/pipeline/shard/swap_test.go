package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/transform"
)

// swapping replaces text in the configuration that prepare has written.
func swapping(t *testing.T, pairs ...string) {
	t.Helper()
	text, err := os.ReadFile("pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !bytes.Contains(text, []byte(pairs[i])) {
			t.Fatalf("the configuration does not contain %q", pairs[i])
		}
		text = bytes.Replace(text, []byte(pairs[i]), []byte(pairs[i+1]), 1)
	}
	write(t, "pipeline.yaml", text)
}

// surveyed surveys all shards of a plan, from last to first, and pairs them.
func surveyed(t *testing.T, m *Manifest) {
	t.Helper()
	for i := len(m.Shards) - 1; i >= 0; i-- {
		s, err := Survey(t.Context(), load(t), m, i, options)
		if err != nil {
			t.Fatalf("shard %d: %v", i, err)
		}
		if err := s.Write(fmt.Sprintf("surveys/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Pair(t.Context(), load(t), m, "surveys", "pairs", options); err != nil {
		t.Fatal(err)
	}
}

// runPaired runs a shard with its pairs.
func runPaired(t *testing.T, m *Manifest, i int) error {
	t.Helper()
	found, err := m.ReadPairs(t.Context(), "pairs", i)
	if err != nil {
		return err
	}
	s, err := Run(context.Background(), load(t), m, i, found, options)
	if err != nil {
		return err
	}
	return s.Write(fmt.Sprintf("states/%d.state", i))
}

// several is a number of records for several row groups and blocks.
func several() int {
	if testing.Short() {
		return 10_000
	}
	return 20_000
}

// TestShardsSwap compares releases with swaps in shards with one run: the records bit by bit, and
// the report with the number of exchanges.
func TestShardsSwap(t *testing.T) {
	racetest.Further(t)
	after := "  - truncate: {columns: [wage], lower: 0, upper: 5000}\n"
	dataset := func(more string) []string {
		return []string{after, after + "  - swap: {keys: [age], attribute: wage, columns: [region], scope: dataset, " + more +
			"}\n"}
	}
	for name, c := range map[string]struct {
		changes []string
		pairs   bool
	}{
		"random": {dataset("rate: 0.3, policy: random"), true},
		"unique": {dataset("rate: 0.9"), true},
		"numbers": {
			[]string{
				after,
				after + "  - swap: {keys: [region], attribute: age, columns: [wage], scope: dataset, rate: 0.3, policy: random}\n"},
			true},
		"numbers kept": {
			[]string{after, after + "  - swap: {keys: [region], attribute: age, columns: [wage], scope: dataset, rate: 0.9}\n",
				"sample: 5000", "sample: 30000"}, true},
		"numbers in windows": {
			[]string{after, after + "  - swap: {keys: [region], attribute: age, columns: [wage], rate: 0.5, policy: random}\n",
				"name: shards\n", "name: shards\nwindow: {records: 100}\n"}, true},
		// A released column that no mask changes is read beside the others, and not by surveys.
		"numbers beside": {
			[]string{
				after,
				after + "  - swap: {keys: [region], attribute: age, columns: [wage], scope: dataset, rate: 0.3, policy: random}\n",
				"id: {role: identifier}", "id: {role: other}"}, true},
		"window": {
			[]string{after, after + "  - swap: {keys: [age], attribute: wage, columns: [region], rate: 0.5, policy: random}\n",
				"name: shards\n", "name: shards\nwindow: {records: 100}\n"}, false},
	} {
		for _, format := range []string{"parquet", "csv", "jsonl"} {
			for _, n := range []int{1, 2, 7} {
				if testing.Short() && (n != 7 || format != "parquet") {
					continue
				}
				t.Run(fmt.Sprintf("%s %s in %d", name, format, n), func(t *testing.T) {
					prepare(t, format, several(), "")
					swapping(t, c.changes...)
					if testing.Short() && name != "numbers kept" { // to compare all records with all takes long
						swapping(t, "sample: 5000", "sample: 500")
					}
					want := single(t, format)
					m := planned(t, n)
					if m.Pairs != c.pairs {
						t.Fatalf("the plan has Pairs %v", m.Pairs)
					}
					if c.pairs {
						surveyed(t, m)
					}
					for i := range m.Shards {
						var err error
						if c.pairs {
							err = runPaired(t, m, i)
						} else {
							runShard(t, m, i)
						}
						if err != nil {
							t.Fatalf("shard %d: %v", i, err)
						}
					}
					if _, err := Commit(context.Background(), load(t), m, "states", options); err != nil {
						t.Fatal(err)
					}
					if records(t, format, "released") != records(t, format, "whole."+format) {
						t.Error("the released records differ from those of one run")
					}
					got := read(t, "report.json")
					for _, d := range differences(want, got, "") {
						t.Error(d)
					}
					if text := fmt.Sprint(got["masks"]); !strings.Contains(text, "swap") {
						t.Errorf("the masks of the report do not contain a swap: %s", text)
					}
				})
			}
		}
	}
}

// TestPairsThatDoNotFit: missing, damaged or duplicate pairs, and pairs of another plan or pairing,
// are reported as such, and nothing is published.
func TestPairsThatDoNotFit(t *testing.T) {
	prepare(t, "parquet", 3_000, "")
	swapping(t, "masks:\n",
		"masks:\n  - swap: {keys: [age], attribute: wage, columns: [region], scope: dataset, rate: 0.5, policy: random}\n")
	m := planned(t, 3)
	if err := Pair(t.Context(), load(t), m, "surveys", "pairs", options); err == nil ||
		!strings.Contains(err.Error(), "surveys: cannot be read") {
		t.Errorf("without surveys, Pair returns %v", err)
	}
	surveyed(t, m)
	for i := range m.Shards {
		if err := runPaired(t, m, i); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"surveys/1", "pairs/1.pairs"} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode of %v (error %v), want 0600", path, info, err)
		}
	}
	pair := func() error { return Pair(t.Context(), load(t), m, "surveys", "again", options) }
	run := func() error { return runPaired(t, m, 1) }
	commit := func() error {
		_, err := Commit(context.Background(), load(t), m, "states", options)
		return err
	}
	flip := func(path string) func() {
		return func() {
			text, _ := os.ReadFile(path)
			text[len(text)/2] ^= 1
			write(t, path, text)
		}
	}
	rewritten := func(path, magic, what string, change func(s *Surveyed)) func() {
		return func() {
			text, _ := os.ReadFile(path)
			s, err := parseSurveyed(path, magic, what, text)
			if err != nil {
				t.Fatal(err)
			}
			change(s)
			if err := s.Write(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	state := func(change func(s *State)) func() {
		return func() {
			s := stateAt(t, "states/2.state")
			change(s)
			if err := s.Write("states/2.state"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		damage func()
		of     func() error
		want   string
	}{
		"survey missing": {func() { os.Remove("surveys/1") }, pair, "surveys: 1 of 3 shards have no survey: 1"},
		"survey damaged": {flip("surveys/1"), pair,
			"surveys/1: is damaged or cut off: run `sdlfilter shard survey` again"},
		"survey of nothing": {func() { write(t, "surveys/1", nil) }, pair, "surveys/1: is none of the files"},
		"survey cut":        {func() { write(t, "surveys/1", []byte(surveyMagic)) }, pair, "surveys/1: is damaged"},
		"a state among them": {func() { s, _ := os.ReadFile("states/1.state"); write(t, "surveys/x", s) }, pair,
			"surveys/x: is none of the files"},
		"survey doubled": {func() { s, _ := os.ReadFile("surveys/1"); write(t, "surveys/x", s) }, pair,
			"surveys/x: is of shard 1, and so is surveys/1: remove one"},
		"survey of another": {rewritten("surveys/1", surveyMagic, "survey", func(s *Surveyed) { s.Plan = "x" }), pair,
			"surveys/1: is of another plan"},
		"survey of no shard": {rewritten("surveys/1", surveyMagic, "survey", func(s *Surveyed) { s.Shard = 3 }), pair,
			"surveys/1: is damaged"},
		"survey's content": {rewritten("surveys/1", surveyMagic, "survey", func(s *Surveyed) {
			s.content = s.content[:len(s.content)-1]
		}), pair, "surveys/1: the result of the survey is damaged"},
		"pairs missing": {func() { os.Remove("pairs/1.pairs") }, run, "pairs/1.pairs: "},
		"pairs damaged": {flip("pairs/1.pairs"), run,
			"pairs/1.pairs: is damaged or cut off: run `sdlfilter shard pair` again"},
		"pairs of another": {rewritten("pairs/1.pairs", pairsMagic, "pair", func(s *Surveyed) { s.Plan = "x" }), run,
			"pairs/1.pairs: is of another plan"},
		"pairs of the next": {func() { s, _ := os.ReadFile("pairs/2.pairs"); write(t, "pairs/1.pairs", s) }, run,
			"pairs/1.pairs: is of shard 2, and not of shard 1"},
		"pairs without name": {rewritten("pairs/1.pairs", pairsMagic, "pair", func(s *Surveyed) { s.Pairing = "" }), run,
			"pairs/1.pairs: is damaged"},
		"pairs' content": {rewritten("pairs/1.pairs", pairsMagic, "pair", func(s *Surveyed) {
			s.content = append(s.content, 0)
		}), run, "pairs/1.pairs: the result of the survey is damaged"},
		"a survey for pairs": {func() { s, _ := os.ReadFile("surveys/1"); write(t, "pairs/1.pairs", s) }, run,
			"pairs/1.pairs: is none of the files"},
		"state without pairs": {state(func(s *State) { s.Pairing = "" }), commit, "shard 2: was run with other pairs"},
		"state of others":     {state(func(s *State) { s.Pairing += "0" }), commit, "shard 2: was run with other pairs"},
	} {
		t.Run(name, func(t *testing.T) {
			saved := map[string][]byte{}
			for _, dir := range []string{"surveys", "pairs", "states"} {
				files, _ := filepath.Glob(dir + "/*")
				for _, f := range files {
					saved[f], _ = os.ReadFile(f)
				}
			}
			defer func() {
				os.Remove("surveys/x")
				for f, text := range saved {
					if err := os.WriteFile(f, text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}()
			c.damage()
			if err := c.of(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v, want %q without the canary", err, c.want)
			}
			if _, err := os.Stat("released"); err == nil {
				t.Error("the commit left a release in spite of the error")
			}
		})
	}
	for _, dir := range []string{"", "pairs"} {
		m.Pairs = dir == ""
		if _, err := m.ReadPairs(t.Context(), dir, 0); err == nil || !strings.Contains(err.Error(), "--pairs must") {
			t.Errorf("pairs in %q: ReadPairs returns %v, want an error about --pairs", dir, err)
		}
	}
	if _, err := Survey(t.Context(), load(t), m, 0, options); err == nil ||
		!strings.Contains(err.Error(), "no swap of scope dataset") {
		t.Errorf("a plan without swaps: Survey returns %v", err)
	}
	m.Pairs = true
	if _, err := Survey(t.Context(), load(t), m, 3, options); err == nil ||
		!strings.Contains(err.Error(), "--shard must be 0 to 2") {
		t.Errorf("shard 3 of 3: Survey returns %v", err)
	}
	if _, err := Run(t.Context(), load(t), m, 0, nil, options); err == nil {
		t.Error("Run accepts a shard without pairs")
	}
	if err := commit(); err != nil {
		t.Error(err)
	}
}

// TestPairsAreOfOneMind: after another survey and pairing, the shards exchange the same records.
func TestPairsAreOfOneMind(t *testing.T) {
	prepare(t, "csv", 3_000, "")
	swapping(t, "masks:\n",
		"masks:\n  - swap: {keys: [age], attribute: wage, columns: [region], scope: dataset, rate: 0.5}\n")
	m := planned(t, 2)
	surveyed(t, m)
	first, err := os.ReadFile("pairs/0.pairs")
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll("pairs")
	surveyed(t, m)
	if again, _ := os.ReadFile("pairs/0.pairs"); !bytes.Equal(first, again) {
		t.Error("a second pairing has other pairs")
	}
	// The source changes between the plan and the survey.
	text, _ := os.ReadFile("in.csv")
	write(t, "in.csv", append(text, "x,1,1,y\r\n"...))
	if _, err := Survey(t.Context(), load(t), m, 0, options); err == nil ||
		!strings.Contains(err.Error(), "is not the file that was planned with") {
		t.Errorf("a changed source: Survey returns %v", err)
	}
	var of *transform.SurveyError
	if errors.As(err, &of) {
		t.Error("the error of a changed source is of type SurveyError")
	}
}
