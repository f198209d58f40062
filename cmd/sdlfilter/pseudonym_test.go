package main

import (
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Five tables in five formats, whose identifiers are texts, integers and floats, join as before after each table has
// been masked by a run of its own, or as a shard: each pair of tables has as many pairs of records with one identifier,
// and each identifier has one pseudonym in all of them.
func TestFiveTablesJoinAsBefore(t *testing.T) {
	t.Parallel()
	tables := []struct{ name, format, types string }{
		{"persons", "csv", "{id: string}"}, {"visits", "parquet", "{id: int64}"}, {"labs", "jsonl", "{id: int64}"},
		{"drugs", "arrow", "{id: float64}"}, {"claims", "csv", "{id: int64}"},
	}
	for _, form := range []string{"hex", "digits", "like"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put := func(name, text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			do := func(args ...string) {
				t.Helper()
				if printed, err := program(t, dir, args...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, printed)
				}
			}
			run := func(source, sink, columns, masks string, shards bool) {
				t.Helper()
				put("p.yaml",
					fmt.Sprintf(
						"version: 1\nkey: {file: k}\nsource: %s\nsink: %s\ncolumns: {id: {role: other}, n: {role: other}%s}\nmasks: [%s]\n", source, sink, columns, masks))
				if !shards {
					do("run", "p.yaml")
					return
				}
				do("shard", "plan", "p.yaml", "--shards", "1", "--out", "plan.json")
				for i := range 1 {
					do("shard", "run", "plan.json", "--shard", fmt.Sprint(i), "--state", fmt.Sprintf("states/%d.state", i))
				}
				do("shard", "commit", "-q", "plan.json", "--states", "states")
			}
			put("k", "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n")
			before, after := map[string][]string{}, map[string][]string{}
			pseudonym := map[string]string{}
			for k, table := range tables {
				var text strings.Builder
				text.WriteString("id,n\n")
				for i := range 300 {
					id := fmt.Sprint(7_000_000 + (i*(k+3))%(100+50*k))
					switch {
					case i%29 == 7:
						id = ""
					case i%31 == 5 && k == 0:
						id = "0" + id // another identifier than the number
					}
					fmt.Fprintf(&text, "%s,%d\n", id, i)
				}
				put("table.csv", text.String())
				types := table.types
				if table.format == "arrow" && form == "like" {
					types = "{id: int64}" // floats have no such pseudonyms
				}
				run("{csv: {path: table.csv, types: "+types+"}}", "{"+table.format+": {path: in."+table.format+"}}", "", "", false)
				source, out := table.format+": {path: in."+table.format+"}", "out."+table.format
				if table.name == "claims" {
					out = "out/"
				}
				if table.format == "csv" || table.format == "jsonl" {
					source = table.format + ": {path: in." + table.format + ", types: " + types + "}"
				}
				run("{"+source+"}", "{"+table.format+": {path: "+out+"}}", "",
					"{pseudonym: {columns: [id], scope: person, form: "+form+"}}", out == "out/")
				switch {
				case table.format == "jsonl" && form != "hex":
					source = "{jsonl: {path: out.jsonl, types: {id: int64}}}"
				case table.format == "csv" || table.format == "jsonl":
					source = "{" + table.format + ": {path: " + out + ", types: {id: string}}}"
				default:
					source = "{" + table.format + ": {path: " + out + "}}"
				}
				run(source, "{csv: {path: back.csv}}", "", "", false)
				before[table.name], after[table.name] = idsOf(t, filepath.Join(dir, "table.csv")),
					idsOf(t, filepath.Join(dir, "back.csv"))
				for i, id := range before[table.name] {
					got := after[table.name][i]
					if was, again := pseudonym[id]; again && was != got || got == id && id != "" {
						t.Errorf("%s: one identifier has the pseudonyms %s and %s", table.name, was, got)
					}
					pseudonym[id] = got
				}
			}
			if n := len(slices.Compact(slices.Sorted(maps.Values(pseudonym)))); n != len(pseudonym) || pseudonym[""] != "" {
				t.Errorf("%d identifiers have %d pseudonyms", len(pseudonym), n)
			}
			for _, a := range tables {
				for _, b := range tables {
					if x, y := pairsOf(before[a.name], before[b.name]), pairsOf(after[a.name], after[b.name]); x != y || x < 100 {
						t.Errorf("%s and %s: %d pairs of records join, %d did", a.name, b.name, y, x)
					}
				}
			}
		})
	}
}

func idsOf(t *testing.T, path string) (ids []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		ids = append(ids, row[0])
	}
	return ids
}

// pairsOf counts the pairs of records that join.
func pairsOf(a, b []string) (n int) {
	count := map[string]int{}
	for _, id := range a {
		count[id]++
	}
	for _, id := range b {
		if id != "" {
			n += count[id]
		}
	}
	return n
}

// Messages of each format have the same pseudonyms, and nothing of the identifiers.
func TestPseudonymsOfTopics(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	found := map[string][]string{}
	t.Run("formats", func(t *testing.T) {
		for name, format := range map[string]func(*testing.T, *stand) *canaryFormat{
			"json": canaryJSON, "avro": canaryAvro, "protobuf": canaryProtobuf, "arrow": canaryArrow,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, f := canaryStand(t, format)
				s.file("pipeline.yaml",
					s.canaryText(f, ", until: latest", `{kafka: {brokers: ["BROKER"], topic: out}}`,
						`masks: [{noise: {columns: [wage], sd: 5000}}, {pseudonym: {columns: [kind], scope: kind}}]`))
				stdout, stderr := s.run(exitQuarantined, "run", "-v", "--progress", "json", "pipeline.yaml")
				checkStreamCanaries(t, "stdout", []byte(stdout), true)
				checkStreamCanaries(t, "stderr", []byte(stderr), true)
				mustContain(t, strings.Join(strings.Fields(stdout), " "), "pseudonymised, not anonymised")
				hex := regexp.MustCompile("[0-9a-f]{32}")
				var list []string
				for _, r := range s.checkTopic("out", len(f.good), true) {
					for _, text := range hex.FindAll(r.Value, -1) {
						list = append(list, string(text))
					}
				}
				slices.Sort(list)
				mu.Lock()
				found[name] = slices.Compact(list)
				mu.Unlock()
				s.checkOutput()
			})
		}
	})
	for name, list := range found {
		if len(list) != 3 || !slices.Equal(list, found["json"]) {
			t.Errorf("%s has the pseudonyms %v, json %v", name, list, found["json"])
		}
	}
}
