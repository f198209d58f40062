package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// canaryKind + number is a category that can be recognised anywhere.
const canaryKind = "Canarykind"

// canaryKinds writes the records with recognisable categories, ten records each except the last
// two, which have one: one that masks list and one that they do not.
func canaryKinds(t *testing.T, dir string) {
	t.Helper()
	rows := canaryRecords()
	for i := range rows {
		rows[i].Kind = canaryKind + strconv.Itoa(i%39)
	}
	rows[len(rows)-2].Kind, rows[len(rows)-1].Kind = canaryKind+"39", canaryBroken
	var csv, jsonl, pq bytes.Buffer
	csv.WriteString("name,note,wage,kind\n")
	for _, r := range rows {
		fmt.Fprintf(&csv, "%s,%s,%.2f,%s\n", r.Name, r.Note, r.Wage, r.Kind)
		fmt.Fprintf(&jsonl, `{"name":%q,"note":%q,"wage":%.2f,"kind":%q}`+"\n", r.Name, r.Note, r.Wage, r.Kind)
	}
	w := parquet.NewGenericWriter[canaryRecord](&pq)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"in.csv": csv.Bytes(), "in.jsonl": jsonl.Bytes(), "in.parquet": pq.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// canaryCategories lists the categories known to masks, in YAML, with a value each.
func canaryCategories(value func(k int) string) string {
	var list []string
	for k := range 40 {
		list = append(list, canaryKind+strconv.Itoa(k)+value(k))
	}
	return strings.Join(list, ", ")
}

// TestCanaryOfMasks searches for values of respondents under masks of categories and of all
// records: in everything that a run prints and writes except the release, and in the release for
// the values that the mask removes.
func TestCanaryOfMasks(t *testing.T) {
	const noise = "noise: {columns: [wage], sd: 5000}"
	coarse := "recode: {columns: [kind], map: {" + canaryCategories(func(k int) string {
		return fmt.Sprintf(": group%d", k%3)
	}) + "}"
	for k, c := range []struct {
		name, masks, rule string
		leaves            string // the content of the release: wages, kinds or both
		status            int
	}{
		{name: "recode", masks: noise + "}, {" + coarse + "}", status: exitQuarantined},
		{name: "sample", masks: "sample: {rate: 0.5, by: kind, rates: {" + canaryCategories(func(k int) string {
			return fmt.Sprint(": 0.", k%3+2)
		}) + "}}}, {" + noise + "}, {" + coarse + ", other: group0}"},
		{name: "sample of listed strata", masks: "sample: {by: kind, rates: {" + canaryCategories(func(k int) string {
			return fmt.Sprint(": 0.", k%3+2)
		}) + "}}}, {" + noise, leaves: "kinds", status: exitQuarantined},
		{name: "recode other", masks: noise + "}, {" + coarse + ", other: group0}"},
		{
			name: "intervals",
			masks: "recode: {columns: [wage], breaks: [73000000, 73300000, 74000000], labels: [some, more]}}, {" + coarse +
				", other: group0}"},
		{name: "midpoints", masks: "recode: {columns: [wage], breaks: [73000000, 73300000, 74000000], midpoints: true}}, {" +
			coarse + ", other: group0}"},
		{name: "topcode", masks: noise + "}, {topcode: {columns: [wage], upper_percentile: 60, replace: mean}}, {" + coarse +
			", other: group0}"},
		{name: "pram", masks: noise + "}, {pram: {columns: [kind], keep: 0.7, categories: [" +
			canaryCategories(func(int) string { return "" }) + "]}", leaves: "kinds", status: exitQuarantined},
		{name: "microaggregate", masks: "microaggregate: {columns: [wage], k: 4}}, {" + coarse + ", other: group0}"},
		{name: "rankswap", masks: "rankswap: {columns: [wage], p: 10%}}, {" + coarse + ", other: group0}", leaves: "wages"},
		{name: "pseudonym", masks: noise + "}, {pseudonym: {columns: [kind], scope: kind, form: uuid}"},
		{name: "pseudonym like", masks: noise + "}, {pseudonym: {columns: [kind], scope: kind, form: like}"},
		{name: "recordswap",
			masks: noise + "}, {" + coarse + ", other: group0}}, {recordswap: {hierarchy: [kind], risk: [wage], rate: 0.5}"},
		{name: "none is similar",
			masks: noise + "}, {recordswap: {hierarchy: [kind], risk: [wage], rate: 0.5, similar: [[wage]]}", status: exitUsage},
		{name: "suppress", masks: noise + "}, {suppress: {keys: [kind], k: 3}", leaves: "kinds"},
		{name: "too much suppressed", masks: noise + "}, {suppress: {keys: [kind], k: 300, max_share: 5%}",
			status: exitUsage},
		{name: "k beyond", masks: noise + "}, {suppress: {keys: [kind], k: 401}", status: exitUsage},
		{name: "refused", masks: noise + "}, {suppress: {keys: [kind], k: 2}", rule: "{min_k: 300}", leaves: "kinds",
			status: exitRefused},
	} {
		pairs := [][2]string{{"csv", "csv"}, {"jsonl", "jsonl"}, {"parquet", "parquet"}, {"parquet", "arrow"}}
		for i, pair := range pairs {
			switch {
			case c.status == exitUsage: // before anything is written
				if pair[1] != "parquet" {
					continue
				}
			case !takesPart(k, i, len(pairs)):
				continue
			}
			t.Run(c.name+"/"+pair[1], func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				canaryInputs(t, dir)
				canaryKinds(t, dir)
				text := canaryConfig(pair[0], "in."+pair[0], c.rule)
				text = strings.Replace(text, "kind: {role: other}", "kind: {role: key}", 1)
				text = strings.Replace(text, "masks:\n  - noise: {columns: [wage], sd: 5000}", "masks: [{"+c.masks+"}]", 1)
				text = strings.Replace(text, "sink: {"+pair[0]+": {path: out/release."+pair[0],
					"sink: {"+pair[1]+": {path: out/release."+pair[1], 1)
				if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				printed, err := program(t, dir, "run", "--verbose", "--metrics-file", "job.prom", "pipeline.yaml").CombinedOutput()
				checkStatus(t, err, c.status, printed)
				checkKinds(t, "printed", printed)
				files, err := filepath.Glob(filepath.Join(dir, "out", "*"))
				if err != nil || len(files) == 0 && c.status != exitUsage {
					t.Fatalf("no files: %v", err)
				}
				for _, path := range append(files, filepath.Join(dir, "job.prom")) {
					data, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					switch name := filepath.Base(path); {
					case strings.HasPrefix(name, "release"):
						checkCanaries(t, name, data, c.leaves != "wages")
						if c.leaves != "kinds" && bytes.Contains(data, []byte(canaryKind)) {
							t.Errorf("%s holds a category that is recoded", name)
						}
					// confidential: extremes, parameters
					case name == "report.json" || name == "report.html" || name == "snapshots.jsonl":
						checkCanaries(t, name, data, false)
					default:
						checkKinds(t, name, data)
					}
				}
			})
		}
	}
}

// checkKinds searches for all canaries, including categories.
func checkKinds(t *testing.T, where string, data []byte) {
	t.Helper()
	checkCanaries(t, where, data, true)
	if i := bytes.Index(data, []byte(canaryKind)); i >= 0 {
		t.Errorf("%s holds a category at byte %d: …%s…", where, i, data[max(0, i-100):min(len(data), i+40)])
	}
}
