package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type canaryNumbersRecord struct {
	Name  string  `parquet:"name,dict"`
	Note  string  `parquet:"note"`
	Wage  float64 `parquet:"wage"`
	Grade float64 `parquet:"grade"` // the record's rank by wage, which reveals the wage
	Near  float64 `parquet:"near"`  // the same with a little noise
	Age   float64 `parquet:"age"`
	Flat  float64 `parquet:"flat"` // one value
	Kind  string  `parquet:"kind,dict"`
	Alone string  `parquet:"alone,dict"` // one record is alone
}

// canaryNumbers writes the records with columns that reveal more or less of the wage. A broken
// record has an invalid wage.
func canaryNumbers(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	var csv, jsonl, brokenCSV, brokenJSONL bytes.Buffer
	header := "name,note,wage,grade,near,age,flat,kind,alone\n"
	csv.WriteString(header)
	brokenCSV.WriteString(header)
	var rows []canaryNumbersRecord
	for i, r := range canaryRecords() {
		n := canaryNumbersRecord{Name: r.Name, Note: r.Note, Wage: r.Wage, Grade: float64(i),
			Near: float64(i) + math.Round(rng.NormFloat64())/1000,
			Age:  math.Round(40 + float64(i)/40 + 9*rng.NormFloat64()), Flat: 5, Kind: r.Kind, Alone: "many"}
		if i == canaryRows-1 {
			n.Alone = "one"
		}
		rows = append(rows, n)
		rest := fmt.Sprintf("%v,%v,%v,%v,%s,%s\n", n.Grade, n.Near, n.Age, n.Flat, n.Kind, n.Alone)
		member := fmt.Sprintf(`"grade":%v,"near":%v,"age":%v,"flat":%v,"kind":%q,"alone":%q}`+"\n", n.Grade, n.Near, n.Age,
			n.Flat, n.Kind, n.Alone)
		wage := strconv.FormatFloat(n.Wage, 'f', 2, 64)
		fmt.Fprintf(&csv, "%s,%s,%s,%s", n.Name, n.Note, wage, rest)
		fmt.Fprintf(&jsonl, `{"name":%q,"note":%q,"wage":%s,%s`, n.Name, n.Note, wage, member)
		if i == 16 {
			wage = canaryBroken
		}
		fmt.Fprintf(&brokenCSV, "%s,%s,%s,%s", n.Name, n.Note, wage, rest)
		if i == 16 {
			wage = strconv.Quote(wage)
		}
		fmt.Fprintf(&brokenJSONL, `{"name":%q,"note":%q,"wage":%s,%s`, n.Name, n.Note, wage, member)
	}
	parquetOf := func() []byte {
		var pq bytes.Buffer
		w := parquet.NewGenericWriter[canaryNumbersRecord](&pq)
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return pq.Bytes()
	}
	whole := parquetOf()
	rows[16].Wage = math.NaN()
	for name, data := range map[string][]byte{
		"in.csv": csv.Bytes(), "in.jsonl": jsonl.Bytes(), "in.parquet": whole,
		"broken.csv": brokenCSV.Bytes(), "broken.jsonl": brokenJSONL.Bytes(), "broken.parquet": parquetOf(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCanaryOfNumericMasks searches for values of respondents under the masks that compute with all
// records: in everything that a run prints and writes, and in the release itself if the mask leaves
// no original value. If a remaining column reveals the wage, or a group has only one record,
// nothing is released.
func TestCanaryOfNumericMasks(t *testing.T) {
	for _, c := range []struct {
		name, mask, input, rule string
		leaves                  bool // the release contains original wages, at other records
		status                  int
		want                    string
		intruder                string // of the further output that is requested
	}{
		{name: "correlated", mask: "noise: {columns: [wage, age], sd: 10%, correlated: true}"},
		{name: "correlated broken", mask: "noise: {columns: [wage, age], sd: 10%, correlated: true}", input: "broken",
			status: exitQuarantined},
		{name: "correlated with one value", mask: "noise: {columns: [wage, flat], sd: 10%, correlated: true}",
			status: exitRefused, want: "flat: no more released values equal"},
		{name: "microaggregate", mask: "microaggregate: {columns: [wage, age], k: 4, by: [kind]}", leaves: true},
		{name: "a stratum of one", mask: "microaggregate: {columns: [wage], k: 3, by: [alone]}", status: exitUsage,
			want: "a stratum has 1, got 3"},
		{name: "k beyond all", mask: "microaggregate: {columns: [wage], k: 401}", status: exitUsage,
			want: "the data have 400, got 401"},
		{name: "groups of one value", mask: "microaggregate: {columns: [wage, flat], k: 3}", status: exitUsage,
			want: "would leave as they are"},
		{name: "rankswap", mask: "rankswap: {columns: [wage], p: 10%, top: 2%}", leaves: true},
		{name: "ranks broken", mask: "rankswap: {columns: [wage], p: 10%}", input: "broken", leaves: true,
			status: exitQuarantined},
		{name: "no rank to go to", mask: "rankswap: {columns: [wage], p: 0.1%}", status: exitUsage,
			want: "a share of 0.001 of 400 is less"},
		{name: "shuffle", mask: "shuffle: {columns: [wage], on: [age]}", leaves: true},
		{name: "shuffle broken", mask: "shuffle: {columns: [wage, age], on: [flat, grade]}", input: "broken",
			status: exitUsage, want: "a column of which all are the same"},
		{name: "shuffle by what tells", mask: "shuffle: {columns: [wage], on: [grade]}", status: exitRefused,
			want: "wage: no more released values equal"},
		{name: "shuffle of two by what tells one", mask: "shuffle: {columns: [age, wage], on: [grade]}", status: exitRefused,
			want: "wage: no more released values equal"},
		{name: "shuffle by what nearly tells", mask: "shuffle: {columns: [wage], on: [near]}", status: exitRefused,
			want: "wage: no more released values equal"},
		{name: "shuffle refused", mask: "shuffle: {columns: [wage], on: [age]}", rule: "{column: wage, max_risk: 1e-30}",
			status: exitRefused},
		{name: "calibrate", mask: "noise: {columns: [wage], sd: 5000}\n  - calibrate: {columns: [age], on: [wage], upper: 9}",
			want: "Released"},
		{name: "calibrate broken",
			mask:  "noise: {columns: [wage], sd: 5000}\n  - calibrate: {columns: [age], totals: {wage: 1e9}, upper: 2}",
			input: "broken", status: exitUsage, want: "they miss a margin by"},
		{name: "calibrate to one", mask: "noise: {columns: [wage], sd: 5000}\n  - calibrate: {columns: [age], by: [alone]}",
			status: exitUsage, want: "calibrate.least: must be at most"},
		{name: "donut", mask: "donut: {columns: [wage, age], unit: metres, least: 9000, most: 30000, records: true}",
			want: "Released"},
		{name: "donut of people",
			mask:  "donut: {columns: [age, wage], unit: metres, least: 900, k_least: 3, k_most: 9, records: true}",
			input: "broken", status: exitQuarantined},
		{name: "donut refused", mask: "donut: {columns: [wage, age], unit: metres, least: 900, most: 1000, records: true}",
			rule: "{min_spatial_k: 399}, {min_place_rmse: 1e9}", status: exitRefused, want: "smallest spatial k"},
		{name: "donut of few",
			mask:   "donut: {columns: [wage, age], unit: metres, least: 9000, k_least: 3, k_most: 401, records: true}",
			status: exitUsage, want: "at most the number of people of the population"},
		{name: "synthesise", mask: "synthesise: {columns: [wage, age], by: [kind]}"},
		{name: "synthesise categories",
			mask: "round: {columns: [age], base: 10}\n  - synthesise: {columns: [age, wage], categories: [age]}",
			want: "Released"},
		{name: "synthesise too many categories", mask: "synthesise: {columns: [age, wage], categories: [age, wage]}",
			status: exitUsage, want: "columns[0]: must have at most 50 categories"},
		{name: "synthesise copies", mask: "synthesise: {columns: [wage, age], by: [kind], copies: 3}"},
		{name: "synthesise copies refused", mask: "synthesise: {columns: [wage], copies: 2}",
			rule: "{column: wage, max_risk: 1e-30}", status: exitRefused},
		{name: "synthesise by normals", mask: "synthesise: {columns: [wage, age], by: [kind], method: normal}"},
		{name: "synthesise by trees", mask: "synthesise: {columns: [wage, age], by: [kind], method: cart}"},
		{name: "synthesise by trees in strata of one", mask: "synthesise: {columns: [wage], by: [alone], method: cart}",
			status: exitUsage, want: `"wage" has 1`},
		{name: "synthesise broken", mask: "synthesise: {columns: [wage], on: [age]}", input: "broken",
			status: exitQuarantined},
		{name: "synthesise by what tells", mask: "synthesise: {columns: [wage], on: [grade]}", status: exitUsage,
			want: "must not be determined by on"},
		{name: "synthesise in strata of one", mask: "synthesise: {columns: [wage], by: [alone]}", status: exitUsage,
			want: `"wage" has 1`},
		{name: "synthesise one value", mask: "synthesise: {columns: [wage, flat]}", status: exitUsage,
			want: "would leave as they are"},
		{name: "synthesise keys",
			mask:     "round: {columns: [age], base: 10}\n  - synthesise: {columns: [age, wage], categories: [age], held_out: 0.25}",
			want:     "Released",
			rule:     "{max_replicated_uniques: 1}, {max_attribute_disclosure: 1}",
			intruder: "keys: [age, kind, grade], intruder: {categorical: [age], uniqueness: {}, attribute: {}}"},
		{name: "synthesise texts", mask: "synthesise: {columns: [kind, wage], on: [age], categories: [kind], held_out: 0.1}",
			want: "Released", intruder: "keys: [age, kind], intruder: {uniqueness: {}, attribute: {}}"},
		{name: "synthesise texts that one record has", mask: "synthesise: {columns: [alone, wage], categories: [alone]}",
			status: exitUsage, want: "must not be determined by on, nor be one value alone in a stratum, or one category alone"},
		{name: "synthesise texts as numbers", mask: "synthesise: {columns: [wage, kind]}", status: exitUsage,
			want: "or text that is named in categories"},
		{name: "synthesise by texts as numbers", mask: "synthesise: {columns: [wage], on: [kind]}", status: exitUsage,
			want: "texts that are named in categories"},
		{name: "synthesise keys refused",
			mask: "round: {columns: [age], base: 10}\n  - synthesise: {columns: [age, wage], categories: [age], held_out: 0.25, method: cart}", status: exitRefused,
			rule:     "{max_replicated_uniques: 0}, {max_attribute_disclosure: 0}",
			intruder: "keys: [age, kind, grade], intruder: {categorical: [age], uniqueness: {}, attribute: {}}",
			want:     "unique combinations of keys that stand in the release at most 0"},
		{name: "synthesise without enough of those learnt from",
			mask: "synthesise: {columns: [wage], by: [alone], held_out: 0.5}", status: exitUsage,
			want: `must have at least 11 records`},
		{name: "persons", mask: "noise: {columns: [wage], sd: 5000}\n  - round: {columns: [age], base: 10}",
			want:     "By all records together",
			intruder: "keys: [age, kind], intruder: {categorical: [age], uniqueness: {person: [name, kind]}}"},
		{name: "persons refused", mask: "noise: {columns: [wage], sd: 5000}\n  - round: {columns: [age], base: 10}",
			status: exitRefused, want: "all records of a person together", rule: "{min_k: 200}",
			intruder: "keys: [age], intruder: {categorical: [age], uniqueness: {person: [kind]}}"},
		{name: "population uniques", mask: "noise: {columns: [wage], sd: 5000}\n  - round: {columns: [age], base: 10}",
			want: "matches expected", rule: "{max_expected_population: 1e9}, {max_expected_uniques: 1e9}",
			intruder: "keys: [age, kind], intruder: {categorical: [age], population: {size: 4000}}"},
		{name: "population smaller than the records", mask: "noise: {columns: [wage], sd: 5000}", status: exitRefused,
			want: "is smaller than the", rule: "{max_expected_population: 1e9}",
			intruder: "keys: [age, alone], intruder: {categorical: [age], population: {size: 13, formula: age*alone}}"},
		{name: "synthesise refused", mask: "synthesise: {columns: [wage]}", rule: "{column: wage, max_risk: 1e-30}",
			status: exitRefused},
	} {
		for _, pair := range [][2]string{{"parquet", "parquet"}, {"csv", "csv"}, {"jsonl", "jsonl"}, {"parquet", "arrow"}} {
			if pair[1] != "parquet" && (c.status == exitUsage || testing.Short()) {
				continue // nothing is written
			}
			t.Run(c.name+"/"+pair[1], func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				canaryInputs(t, dir)
				canaryNumbers(t, dir)
				input := c.input
				if input == "" {
					input = "in"
				}
				text := canaryConfig(pair[0], input+"."+pair[0], c.rule)
				text = strings.Replace(text, "types: {wage: float64}",
					"types: {wage: float64, grade: float64, near: float64, age: float64, flat: float64}", 1)
				text = strings.Replace(text, "kind: {role: other}",
					"kind: {role: other}\n  grade: {role: other}\n  near: {role: other}\n  age: {role: other, decimals: 0}\n  flat: {role: other}\n  alone: {role: other}", 1)
				text = strings.Replace(text, "noise: {columns: [wage], sd: 5000}", c.mask, 1)
				text = strings.Replace(text, "sink: {"+pair[0]+": {path: out/release."+pair[0],
					"sink: {"+pair[1]+": {path: out/release."+pair[1], 1)
				// grade is the rank by wage, so all released columns together state many wages: that is allowed here.
				text = strings.Replace(text, "gate: {rules: [", "gate: {rules: [{column: wage, max_exact: {share: 1, within: 1}}, ",
					1)
				if strings.Contains(c.mask, "calibrate") {
					text = "weight: age\n" + text
				}
				if c.intruder != "" {
					text = strings.Replace(text, "assess: {", "assess: {"+c.intruder+", ", 1)
				}
				if strings.Contains(c.mask, "copies:") {
					text = strings.NewReplacer("out/release."+pair[1], `"out/release-{copy}.`+pair[1]+`"`, "out/quarantine.jsonl",
						`"out/quarantine-{copy}.jsonl"`,
						", emit: [{jsonl: out/snapshots.jsonl}], every: {records: 100}", "").Replace(text)
				}
				if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if !c.leaves {
					printed, _ := program(t, dir, "preview", "pipeline.yaml").CombinedOutput()
					checkCanaries(t, "preview", printed, c.status != exitRefused)
				}
				printed, err := program(t, dir, "run", "--verbose", "--metrics-file", "job.prom", "pipeline.yaml").CombinedOutput()
				checkStatus(t, err, c.status, printed)
				checkCanaries(t, "printed", printed, true)
				if !bytes.Contains(printed, []byte(c.want)) {
					t.Errorf("does not say %q:\n%s", c.want, printed)
				}
				files, err := filepath.Glob(filepath.Join(dir, "out", "*"))
				if err != nil || len(files) == 0 && c.status != exitUsage {
					t.Fatalf("no files: %v", err)
				}
				released := false
				for _, path := range append(files, filepath.Join(dir, "job.prom")) {
					data, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					name := filepath.Base(path)
					confidential := name == "report.json" || name == "report.html" || name == "snapshots.jsonl"
					isRelease := strings.HasPrefix(name, "release")
					released = released || isRelease
					checkCanaries(t, name, data, !confidential && !(isRelease && c.leaves))
				}
				if want := c.status == 0 || c.status == exitQuarantined; released != want {
					t.Errorf("a release is there: %v, want %v", released, want)
				}
			})
		}
	}
}
