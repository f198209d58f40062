package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
)

// TestShardsAreOneRun compares a release in shards with that of one run: the same records bit by
// bit, the same report, the same quarantine.
func TestShardsAreOneRun(t *testing.T) {
	for format := range formats {
		for _, n := range []int{1, 2, 7, 64} {
			if testing.Short() && n != 7 {
				continue
			}
			t.Run(fmt.Sprintf("%s in %d", format, n), func(t *testing.T) {
				prepare(t, format, 40_000, "")
				want := single(t, format)
				m, result, err := sharded(t, n)
				if err != nil {
					t.Fatal(err)
				}
				if result.Refused() || result.Quarantined() != 0 {
					t.Fatalf("refused %v with %d records in quarantine, want false and 0", result.Refused(), result.Quarantined())
				}
				// Text is divided into parts of at least half a MiB.
				if least := map[string]int{"parquet": n, "csv": min(n, 2), "jsonl": min(n, 3)}[format]; len(m.Shards) < least ||
					len(m.Shards) > n {
					t.Errorf("%d shards, want %d to %d", len(m.Shards), least, n)
				}
				if records(t, format, "released") != records(t, format, "whole."+format) {
					t.Error("the released records differ from those of one run")
				}
				for _, d := range differences(want, read(t, "report.json"), "") {
					t.Error(d)
				}
				if left, _ := filepath.Glob(".released*"); len(left) > 0 {
					t.Errorf("remaining files: %v", left)
				}
			})
		}
	}
}

// A sample is the same in shards as in one run, and the omitted records are counted.
func TestShardsOfASample(t *testing.T) {
	prepare(t, "csv", 20_000, "")
	text, err := os.ReadFile("pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "pipeline.yaml", []byte(strings.Replace(string(text), "masks:\n", "masks:\n  - sample: {rate: 0.3}\n", 1)))
	want := single(t, "csv")
	if _, _, err := sharded(t, 5); err != nil {
		t.Fatal(err)
	}
	if records(t, "csv", "released") != records(t, "csv", "whole.csv") {
		t.Error("the released records differ from those of one run")
	}
	got := read(t, "report.json")
	for _, d := range differences(want, got, "") {
		t.Error(d)
	}
	// Each of 20,000 records is omitted with probability 0.7: SD 65.
	if n := got["records"].(map[string]any)["left_out"].(float64); n < 13_650 || n > 14_350 {
		t.Errorf("%v of 20,000 records are left out with the rate 0.3, want about 14,000", n)
	}
}

// TestShardsOfAFolder: every file is at least one part, also an empty one. Entries of the
// quarantine have the order of the source.
func TestShardsOfAFolder(t *testing.T) {
	prepare(t, "csv", 100, "gate: {max_quarantined: 0.5}\n")
	text, _ := os.ReadFile("pipeline.yaml")
	write(t, "pipeline.yaml",
		bytes.Replace(bytes.Replace(text, []byte("gate: {rules: [{column: wage, min_efficiency: 0.5}]}\n"), nil, 1),
			[]byte("source: {csv: {path: in.csv}}"), []byte("source: {csv: {path: in, types: {wage: float64}}}"), 1))
	for i := range 5 {
		formats["csv"](t, fmt.Sprintf("in/%d.csv", i), people(i*100))
	}
	bad, _ := os.ReadFile("in/3.csv")
	write(t, "in/3.csv", bytes.Replace(bad, []byte("canary-00001,"), []byte("canary-00001,x"), 1))
	bad, _ = os.ReadFile("in/1.csv")
	write(t, "in/1.csv", bytes.Replace(bad, []byte("canary-00099,"), []byte("canary-00099,x"), 1))
	if _, err := filejob.Run(context.Background(),
		load(t, "sink.csv.path=whole/", "report.json=whole.json", "quarantine.jsonl=whole-quarantine.jsonl"), options); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3, 9} {
		os.RemoveAll("states")
		m, result, err := sharded(t, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Shards) != min(n, 5) || result.Quarantined() != 2 {
			t.Errorf("%d shards and %d records in quarantine", len(m.Shards), result.Quarantined())
		}
		if records(t, "csv", "released") != records(t, "csv", "whole") {
			t.Error("the released records differ from those of one run")
		}
		for _, d := range differences(read(t, "whole.json"), read(t, "report.json"), "") {
			t.Error(d)
		}
		one, _ := os.ReadFile("whole-quarantine.jsonl")
		other, _ := os.ReadFile("quarantine.jsonl")
		if !bytes.Equal(one, other) || bytes.Count(one, []byte("\n")) != 2 {
			t.Errorf("the quarantine is %s; of one run %s", other, one)
		}
		if bytes.Contains(other, []byte("canary")) {
			t.Error("the quarantine contains a value")
		}
	}
}

// TestAttemptsAtOnce: concurrent attempts of one shard write the same bytes.
func TestAttemptsAtOnce(t *testing.T) {
	prepare(t, "parquet", 5_000, "")
	single(t, "parquet")
	m := planned(t, 3)
	var wg sync.WaitGroup
	p := load(t)
	errs := make([]error, 9)
	for k := range errs {
		wg.Go(func() {
			s, err := Run(context.Background(), p, m, k%3, nil, options)
			if err == nil {
				err = s.Write(fmt.Sprintf("states/%d.state", k%3))
			}
			errs[k] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if _, err := Commit(context.Background(), p, m, "states", options); err != nil {
		t.Fatal(err)
	}
	if records(t, "parquet", "released") != records(t, "parquet", "whole.parquet") {
		t.Error("the released records differ from those of one run")
	}
}

// TestCommitRefusesWhatIsNotWhole: each of these cases is an error with its reason, and nothing is
// published.
func TestCommitRefusesWhatIsNotWhole(t *testing.T) {
	prepare(t, "parquet", 5_000, "")
	m := planned(t, 3)
	for i := range m.Shards {
		runShard(t, m, i)
	}
	hidden := m.hidden("released")
	first := filepath.Join(hidden, m.partName(0, 0, ".parquet"))
	last := filepath.Join(hidden, m.partName(2, len(m.Shards[2].Parts)-1, ".parquet"))
	keep := func(paths ...string) (restore func()) {
		saved := map[string][]byte{}
		for _, p := range paths {
			saved[p], _ = os.ReadFile(p)
		}
		return func() {
			for p, data := range saved {
				if data == nil {
					os.Remove(p)
					continue
				}
				if err := os.WriteFile(p, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	flip := func(path string, at int) func() {
		return func() {
			data, _ := os.ReadFile(path)
			if at < 0 {
				at += len(data)
			}
			data[at] ^= 1
			write(t, path, data)
		}
	}
	cut := func(path string) func() {
		return func() {
			data, _ := os.ReadFile(path)
			write(t, path, data[:len(data)-5])
		}
	}
	for name, c := range map[string]struct {
		damage func()
		want   string
	}{
		"first state missing": {func() { os.Remove("states/0.state") }, "1 of 3 shards have no state: 0"},
		"last state missing":  {func() { os.Remove("states/2.state") }, "1 of 3 shards have no state: 2"},
		"state damaged":       {flip("states/1.state", 400), "states/1.state: is damaged"},
		"state's end damaged": {flip("states/1.state", -1), "states/1.state: is damaged"},
		"state cut off":       {cut("states/1.state"), "states/1.state: is damaged"},
		"empty state":         {func() { write(t, "states/1.state", nil) }, "states/1.state: is no state"},
		"another file":        {func() { write(t, "states/x.state", []byte("hello")) }, "states/x.state: is no state"},
		"first part missing":  {func() { os.Remove(first) }, "shard 0: part-00000.parquet, which it wrote, is not there"},
		"last part missing": {func() {
			os.Remove(last)
		}, "shard 2: " + filepath.Base(last) + ", which it wrote, is not there"},
		"last part damaged":  {flip(last, 100), "shard 2: " + filepath.Base(last) + " is not what it wrote"},
		"first part cut":     {cut(first), "shard 0: part-00000.parquet is not what it wrote"},
		"the source changed": {flip("in.parquet", 4000), "is not the file that was planned with"},
		"another key":        {func() { write(t, "test.key", []byte(keytest.Key(2).Text())) }, "the key is not the one"},
		"another configuration": {func() {
			text, _ := os.ReadFile("pipeline.yaml")
			write(t, "pipeline.yaml", bytes.Replace(text, []byte("20%"), []byte("10%"), 1))
		}, "is not the one that was planned with"},
		"doubled": {func() {
			s := stateAt(t, "states/1.state")
			if err := s.Write("states/one.state"); err != nil {
				t.Fatal(err)
			}
		}, "is of shard 1, and so is states/1.state"},
		"of another plan": {func() {
			s := stateAt(t, "states/1.state")
			s.Plan = "another"
			if err := s.Write("states/1.state"); err != nil {
				t.Fatal(err)
			}
		}, "states/1.state: is of another plan"},
		"of a shard not in the plan": {func() {
			s := stateAt(t, "states/2.state")
			s.Shard = 3
			if err := s.Write("states/2.state"); err != nil {
				t.Fatal(err)
			}
		}, "states/2.state: is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			restore := keep("states/0.state", "states/1.state", "states/2.state", "states/x.state", "states/one.state", first,
				last, "in.parquet", "test.key", "pipeline.yaml")
			defer restore()
			c.damage()
			result, err := Commit(context.Background(), load(t), m, "states", options)
			if err == nil {
				t.Fatalf("Commit returns no error and the files %v", result.Files)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q", err, c.want)
			}
			for _, path := range []string{"released", "report.json", "quarantine.jsonl"} {
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s exists in spite of the error", path)
				}
			}
		})
	}
	if _, err := Commit(context.Background(), load(t), m, "states", options); err != nil {
		t.Fatal(err)
	}
	// A commit that was killed before it removed the parts is repeated, using the release itself.
	want := records(t, "parquet", "released")
	os.Remove("report.json")
	if _, err := Commit(context.Background(), load(t), m, "states", options); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("report.json"); err != nil || records(t, "parquet", "released") != want {
		t.Errorf("after the second commit, the report is missing (%v) or the release differs", err)
	}
}

// TestRefusedShards: the verdict covers all shards together, and an earlier release stays.
func TestRefusedShards(t *testing.T) {
	prepare(t, "parquet", 5_000, "")
	if _, result, err := sharded(t, 2); err != nil || result.Refused() {
		t.Fatal(err)
	}
	want := records(t, "parquet", "released")
	text, _ := os.ReadFile("pipeline.yaml")
	write(t, "pipeline.yaml", bytes.Replace(text, []byte("min_efficiency: 0.5"), []byte("min_efficiency: 0.999"), 1))
	os.RemoveAll("states")
	m, result, err := sharded(t, 4)
	if err != nil || !result.Refused() {
		t.Fatalf("refused %v (error %v), want true", result != nil && result.Refused(), err)
	}
	if records(t, "parquet", "released") != want {
		t.Error("the earlier release has changed")
	}
	if _, err := os.Stat(m.hidden("released")); err == nil {
		t.Error("files of a withheld release remain")
	}
}

// TestWhatShardsCannotDo: each of these is refused by the plan, with its place.
func TestWhatShardsCannotDo(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"ranks": {"masks:\n", "masks:\n  - rankswap: {columns: [wage], p: 5%}\n",
			"masks[0].rankswap: takes records of all shards together"},
		"shuffled": {"sink: {csv: {path: released}}", "sink: {csv: {path: released}, order: shuffled}", "sink.order"},
		"stdin":    {"path: in.csv}", "path: \"-\"}", "read"},
		"stdout":   {"path: released}", "path: \"-\"}", "sink.csv.path"},
		"emit":     {"replicates: 50}", "replicates: 50, emit: [{jsonl: s.jsonl}], window: {records: 100}}", "assess"},
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t, "csv", 100, "")
			text, _ := os.ReadFile("pipeline.yaml")
			if !bytes.Contains(text, []byte(c.old)) {
				t.Fatal("the configuration does not contain the text to be replaced")
			}
			write(t, "pipeline.yaml", bytes.Replace(text, []byte(c.old), []byte(c.new), 1))
			p, err := config.Load("pipeline.yaml", config.Options{})
			if err == nil {
				_, err = Plan(context.Background(), p, "pipeline.yaml", nil, 2, options)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// TestManifest: a damaged, foreign or old manifest is reported as such.
func TestManifest(t *testing.T) {
	prepare(t, "csv", 100, "")
	m := planned(t, 2)
	text, _ := os.ReadFile("plan.json")
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"nothing":    {"", "is no manifest"},
		"a report":   {`{"schema": "sdlfilter.report/1"}`, "of the form"},
		"a later":    {strings.Replace(string(text), "shards/5", "shards/6", 1), "plan again"},
		"cut off":    {string(text[:len(text)/2]), "is"},
		"no shards":  {`{"schema": "sdlfilter.shards/5"}`, "has no shards"},
		"of another": {strings.Replace(string(text), `"version": "test"`, `"version": "other"`, 1), "version other"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, "bad.json", []byte(c.text))
			bad, err := Read(t.Context(), "bad.json")
			if err == nil {
				_, err = Run(context.Background(), load(t), bad, 0, nil, options)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	for _, shard := range []int{-1, len(m.Shards)} {
		if _, err := Run(context.Background(), load(t), m, shard, nil, options); err == nil ||
			!strings.Contains(err.Error(), "--shard") {
			t.Errorf("shard %d: error %v, want one about --shard", shard, err)
		}
	}
	if info, _ := os.Stat("plan.json"); info.Mode().Perm() != 0o600 {
		t.Errorf("the manifest has the mode %v, want 0600", info.Mode())
	}
}

// TestDeal: shards consist of whole parts in order, no shard is empty, and no other division makes
// the largest shard smaller. The records of a shard from one stream are one part.
func TestDeal(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		parts := make([]connectors.Part, 1+draw.IntN(40))
		stream, first, from := 0, int64(0), int64(0)
		for i := range parts {
			if draw.IntN(3) == 0 {
				stream, first, from = stream+1, 0, 0
			}
			parts[i] = connectors.Part{Stream: stream, First: first, From: from, To: from + 10,
				Records: int64(draw.IntN(5) * draw.IntN(100))}
			first, from = first+parts[i].Records, from+10
		}
		n := 1 + draw.IntN(50)
		shards := deal(parts, n)
		if len(shards) != min(n, len(parts)) {
			t.Fatalf("%d shards from %d parts for the number %d", len(shards), len(parts), n)
		}
		next, most := 0, int64(0)
		for _, s := range shards {
			sum, last := int64(0), -1
			for _, p := range s.Parts {
				if p.Stream == last {
					t.Fatalf("two parts of stream %d in one shard", last)
				}
				last = p.Stream
				from, first := p.From, p.First
				for next < len(parts) && parts[next].Stream == p.Stream && from < p.To {
					if parts[next].From != from || parts[next].First != first {
						t.Fatal("a part is out of order")
					}
					from, first = parts[next].To, first+parts[next].Records
					next++
				}
				if from != p.To || first != p.First+p.Records {
					t.Fatalf("the joined part %+v does not end where its parts end", p)
				}
				sum += p.Records
			}
			if len(s.Parts) == 0 || sum != s.Records {
				t.Fatalf("a shard has %d parts and %d records, which is not their sum", len(s.Parts), s.Records)
			}
			most = max(most, sum)
		}
		if next != len(parts) {
			t.Fatal("parts are missing")
		}
		if want := smallest(parts, n); most != want {
			t.Fatalf("the largest of %d shards has %d records, want %d", n, most, want)
		}
	}
}

// smallest returns the minimum size of the largest shard, by trying every end of the last shard for
// every prefix of the parts.
func smallest(parts []connectors.Part, n int) int64 {
	best := make([]int64, len(parts)+1) // for the first k parts, with the shards so far
	for k := range parts {
		best[k+1] = best[k] + parts[k].Records
	}
	for range n - 1 {
		next := slices.Clone(best)
		for k := range next {
			last := int64(0)
			for from := k; from >= 0; from-- {
				next[k] = min(next[k], max(best[from], last))
				if from > 0 {
					last += parts[from-1].Records
				}
			}
		}
		best = next
	}
	return best[len(parts)]
}

// TestShardsOfOneSize: row groups are divided evenly, and for a source of one file a shard writes
// one file.
func TestShardsOfOneSize(t *testing.T) {
	prepare(t, "parquet", 10_000, "")
	m := planned(t, 2)
	if len(m.Shards) != 2 {
		t.Fatalf("the plan has %d shards, want 2", len(m.Shards))
	}
	for i, s := range m.Shards {
		if len(s.Parts) != 1 || s.Records < 4_500 || s.Records > 5_500 {
			t.Errorf("shard %d has %d parts and %d records, want 1 and about 5,000", i, len(s.Parts), s.Records)
		}
	}
}
