package project

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// care is a project of households, persons and visits in a folder of the test.
type care struct {
	t       *testing.T
	dir     string
	project string            // text of project.yaml, with DIR in place of the folder
	tables  map[string]string // texts of the tables' configurations
}

const careProject = `version: 1
name: care
tables:
  visits:     {config: DIR/visits.yaml}
  persons:    {config: DIR/persons.yaml}
  households: {config: DIR/households.yaml}
keys:
  - {table: visits, column: pid, of: persons}
  - {table: persons, column: hid, of: households}
person: persons
gate: {rules: [{min_k: 2}]}
report: {json: DIR/out/report.json}
`

func newCare(t *testing.T) *care {
	c := &care{t: t, dir: t.TempDir(), project: careProject, tables: map[string]string{
		"households": `columns: {hid: {role: other}, region: {role: key}}
masks: [{pseudonym: {columns: [hid], scope: household}}]
`,
		"persons": `identity: [pid]
columns: {pid: {role: other}, hid: {role: other}, sex: {role: key}, age: {role: key}}
masks:
  - pseudonym: {columns: [pid], scope: person}
  - pseudonym: {columns: [hid], scope: household}
  - recode: {columns: [age], breaks: [0, 40, 200]}
`,
		"visits": `identity: [vid]
columns: {vid: {role: identifier}, pid: {role: other}, kind: {role: key}}
masks: [{pseudonym: {columns: [pid], scope: person}}]
`,
	}}
	c.write("k", keytest.Key(1).Text())
	return c
}

// write writes a file, with DIR in place of the folder.
func (c *care) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(strings.ReplaceAll(text, "DIR", c.dir)), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// parse writes the configurations and reads the project.
func (c *care) parse(set ...string) (*Config, error) {
	c.t.Helper()
	for name, text := range c.tables {
		head := "version: 1\nname: " + name + "\n"
		for field, rest := range map[string]string{
			"key": "{file: DIR/k}", "source": "{csv: {path: DIR/" + name + ".csv}}",
			"sink":   "{csv: {path: DIR/out/release/" + name + ".csv}}",
			"report": "{json: DIR/out/" + name + ".json}", "quarantine": "{jsonl: DIR/out/" + name + ".quarantine.jsonl}",
		} {
			if !strings.Contains("\n"+text, "\n"+field+":") {
				head += field + ": " + rest + "\n"
			}
		}
		c.write(name+".yaml", head+text)
	}
	c.write("project.yaml", c.project)
	text, err := os.ReadFile(filepath.Join(c.dir, "project.yaml"))
	if err != nil {
		c.t.Fatal(err)
	}
	if !Is(text) {
		c.t.Fatal("the project is not taken for one")
	}
	return Parse("project.yaml", text, config.Options{Environ: func() []string { return nil }, Set: set})
}

func (c *care) run() (*Result, error) {
	c.t.Helper()
	p, err := c.parse()
	if err != nil {
		c.t.Fatal(err)
	}
	return Run(c.t.Context(), p, pipeline.Options{})
}

// released runs the project, which must be published.
func (c *care) released() *Report {
	c.t.Helper()
	result, err := c.run()
	if err != nil {
		c.t.Fatal(err)
	}
	if result.Report.Withheld != "" {
		c.t.Fatalf("%s (%+v)", result.Report.Withheld, result.Report.Ledgers)
	}
	return result.Report
}

// records reads a CSV file of the folder, without its head.
func (c *care) records(name string) [][]string {
	c.t.Helper()
	f, err := os.Open(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		c.t.Fatal(err)
	}
	return rows[1:]
}

// column returns a column of the records of a released table.
func (c *care) column(table string, i int) (list []string) {
	for _, row := range c.records("out/release/" + table + ".csv") {
		list = append(list, row[i])
	}
	return list
}

// some writes random tables: 40 households, persons in them, and visits of these.
func (c *care) some(rng *rand.Rand) {
	households, persons, visits := "hid,region\n", "pid,hid,sex,age\n", "vid,pid,kind\n"
	n, v := 0, 0
	for h := range 60 {
		households += fmt.Sprintf("H%d,%s\n", h, []string{"n", "s"}[rng.IntN(2)])
		for range 1 + rng.IntN(3) {
			n++
			persons += fmt.Sprintf("P%d,H%d,%s,%d\n", n, h, []string{"f", "m"}[rng.IntN(2)], 20+rng.IntN(60))
			for range rng.IntN(3) {
				v++
				visits += fmt.Sprintf("%d,P%d,%s\n", v, n, []string{"a", "b"}[rng.IntN(2)])
			}
		}
	}
	c.write("households.csv", households)
	c.write("persons.csv", persons)
	c.write("visits.csv", visits)
}

// joinedK counts the persons of the source by all they have in common with each other: nothing of it is the program's.
func (c *care) joinedK() (least, unique int, found float64, persons int) {
	region := map[string]string{}
	for _, h := range c.records("households.csv") {
		region[h[0]] = h[1]
	}
	kinds := map[string][]string{}
	for _, v := range c.records("visits.csv") {
		kinds[v[1]] = append(kinds[v[1]], v[2])
	}
	whole, members := map[string]int{}, map[string]int{}
	for _, p := range c.records("persons.csv") {
		members[p[1]]++
	}
	for _, p := range c.records("persons.csv") {
		list := kinds[p[0]]
		if strings.Contains(c.tables["visits"], "shuffled") { // else the file shows their order
			slices.Sort(list)
		}
		old := len(p[3]) > 2 || p[3] >= "40"
		whole[fmt.Sprint(region[p[1]], members[p[1]], p[2], old, list)]++
		persons++
	}
	least = persons
	for _, k := range whole {
		least = min(least, k)
		found += 1 / float64(persons) // k persons with 1/k each
		if k == 1 {
			unique++
		}
	}
	return least, unique, found, persons
}

// pair writes tables in which each person has a like in every table, and the last two have none in all of them
// together.
func (c *care) pair() {
	c.write("households.csv", "hid,region\nH1,n\nH2,n\nH3,s\nH4,s\n")
	c.write("persons.csv", "pid,hid,sex,age\nP1,H1,f,30\nP2,H2,f,31\nP3,H3,f,32\nP4,H4,f,33\n")
	c.write("visits.csv", "vid,pid,kind\n1,P1,a\n2,P2,b\n3,P3,a\n4,P4,b\n")
	for name, text := range c.tables {
		person := ""
		if name == "visits" {
			person = "assess: {intruder: {uniqueness: {person: [pid]}}}\n"
		}
		c.tables[name] = text + person + "gate: {rules: [{min_k: 2}]}\n"
	}
}

// TestTablesThatAreSafeAlone: each table has k of 2 or more, and all together single every person out: nothing is
// published, nothing is said in public, and the earlier release stays as it was.
func TestTablesThatAreSafeAlone(t *testing.T) {
	c := newCare(t)
	c.pair()
	c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
	if rep := c.released(); rep.Persons.Uniques != 4 {
		t.Fatalf("%+v", rep.Persons)
	}
	before := c.tree()
	for rule, holds := range map[string]bool{
		"{min_k: 2}": false, "{max_individual_risk: 0.99}": false, "{max_linked: 99%}": false, "{max_unique: 0}": false,
		"{max_linked: 1}": true,
		"{max_unique: 1}": true, "{max_linked: 1}, {min_k: 2}": false, "{min_k: 2}, {max_linked: 1}": false,
	} {
		c.project = strings.Replace(careProject, "{min_k: 2}", rule, 1)
		result, err := c.run()
		if err != nil {
			t.Fatal(err)
		}
		if result.Refused() == holds {
			t.Errorf("%s: withheld %v: %s", rule, result.Refused(), result.Report.Withheld)
		}
		if after := c.tree(); !holds {
			for name := range before {
				if !strings.Contains(name, "report.json") && !strings.HasSuffix(name, ".json") && after[name] != before[name] {
					t.Errorf("%s: %s has changed", rule, name)
				}
			}
			for _, name := range []string{"households", "persons", "visits"} {
				if text := after["out/"+name+".json"]; !strings.Contains(text,
					`"withheld": "does not hold: all tables of project \"care\" may be published"`) ||
					!strings.Contains(text, "\"gate\": {\n    \"passed\": false") {
					t.Errorf("%s: the report of %s does not say that it is withheld", rule, name)
				}
			}
		}
	}
}

// tree returns the files below out, by name.
func (c *care) tree() map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(c.dir, "out"), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(c.dir, path)
		files[name] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	return files
}

// TestNothingIsPublishedWhereATableFails: whichever table it is, by its gate or by an error, no file of any table
// appears.
func TestNothingIsPublishedWhereATableFails(t *testing.T) {
	for _, name := range []string{"households", "persons", "visits"} {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(1, 1)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		c.tables[name] += "gate: {rules: [{min_k: 1000000}]}\n"
		result, err := c.run()
		if err != nil || !result.Refused() ||
			!strings.Contains(result.Report.Withheld, `table "`+name+`" passes its own gate`) {
			t.Fatalf("%s: %v, %+v", name, err, result)
		}
		for file := range c.tree() {
			if strings.Contains(file, "release") || strings.Contains(file, "public") || strings.Contains(file, "tmp") {
				t.Errorf("%s is withheld, and there is %s", name, file)
			}
		}
		c = newCare(t)
		c.some(rand.New(rand.NewPCG(1, 1)))
		c.write(name+".csv", "\"half\n")
		p, err := c.parse()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), p, pipeline.Options{}); err == nil {
			t.Fatalf("%s: no error", name)
		}
		if left := c.tree(); len(left) > 0 {
			t.Errorf("%s cannot be read, and there is %v", name, left)
		}
	}
}

// TestTablesWithoutRecords: persons of whom another table has nothing are counted, and without persons no rule holds.
func TestTablesWithoutRecords(t *testing.T) {
	c := newCare(t)
	c.pair()
	c.tables["visits"] = strings.Replace(c.tables["visits"], "gate: {rules: [{min_k: 2}]}\n", "", 1)
	c.write("visits.csv", "vid,pid,kind\n")
	if rep := c.released(); rep.Persons.Persons != 4 || rep.Persons.MinFrequency != 2 {
		t.Errorf("%+v", rep.Persons)
	}
	c.write("persons.csv", "pid,hid,sex,age\n")
	result, err := c.run()
	if err != nil || !result.Refused() || result.Report.Unmeasured != "no person is released" {
		t.Errorf("%v, %+v", err, result)
	}
}

// TestCancelled: a run that is told to end leaves nothing behind.
func TestCancelled(t *testing.T) {
	c := newCare(t)
	c.some(rand.New(rand.NewPCG(1, 1)))
	p, err := c.parse()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, p, pipeline.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left := c.tree(); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// TestOtherFormats: tables of other formats, of folders of files, and with numbers as keys, give the persons of the CSV
// files.
func TestOtherFormats(t *testing.T) {
	for _, format := range []string{"jsonl", "parquet"} {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(9, 9)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		want := c.released()
		for name := range c.tables {
			c.tables[name] += fmt.Sprintf("sink: {%s: {path: DIR/out/%[1]s/%[2]s.%[1]s}}\n", format, name)
		}
		if got := c.released(); got.Persons.Found != want.Persons.Found ||
			got.Persons.MinFrequency != want.Persons.MinFrequency {
			t.Errorf("%s: %+v, want %+v", format, got.Persons, want.Persons)
		}
	}
	c := newCare(t)
	c.some(rand.New(rand.NewPCG(9, 9)))
	c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
	want := c.released()
	lines := strings.SplitAfter(c.text("persons.csv"), "\n")
	if err := os.Mkdir(filepath.Join(c.dir, "parts"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.write("parts/a.csv", strings.Join(lines[:20], ""))
	c.write("parts/b.csv", lines[0]+strings.Join(lines[20:], ""))
	c.tables["persons"] += "source: {csv: {path: DIR/parts}}\n"
	if got := c.released(); got.Persons.Found != want.Persons.Found {
		t.Errorf("a folder: %+v, want %+v", got.Persons, want.Persons)
	}
	if info, err := os.Stat(filepath.Join(c.dir, "out", "release", "persons.csv")); err != nil || info.IsDir() {
		t.Errorf("a folder of files is not released as one: %v, %v", info, err)
	}
}

func (c *care) text(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// TestTypesOfKeys: a number and its text do not join.
func TestTypesOfKeys(t *testing.T) {
	for i, name := range []string{"visits", "households"} {
		c := newCare(t)
		c.pair()
		for _, file := range []string{"visits", "persons", "households"} {
			text := c.text(file + ".csv")
			for n := range 5 {
				text = strings.ReplaceAll(strings.ReplaceAll(text, fmt.Sprintf("P%d,", n), fmt.Sprintf("%d,", n)),
					fmt.Sprintf("H%d,", n), fmt.Sprintf("%d,", n))
			}
			c.write(file+".csv", text)
			c.tables[file] = strings.Replace(c.tables[file], "gate: {rules: [{min_k: 2}]}\n", "", 1)
		}
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
		c.released()
		column := []string{"pid", "hid"}[i]
		c.tables[name] += "source: {csv: {path: DIR/" + name + ".csv, types: {" + column + ": string}}}\n"
		_, err := c.run()
		var wrong config.Errors
		if want := fmt.Sprintf("keys[%d]: joins", i); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestDatesBesideShiftedOnes: a date that leaves as it is beside shifted ones is said, whichever table has it, and
// refused unless the table's configuration says that it may.
func TestDatesBesideShiftedOnes(t *testing.T) {
	for _, name := range []string{"persons", "households"} {
		for role, warns := range map[string]bool{"other": true, "key": true, "identifier": false, "sensitive, unmasked: true": true} {
			c := newCare(t)
			c.pair()
			for _, table := range []string{"visits", "persons", "households"} {
				c.tables[table] = strings.Replace(c.tables[table], "gate: {rules: [{min_k: 2}]}\n", "", 1)
			}
			c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
			for _, table := range []string{"visits", name} {
				lines := strings.Split(strings.TrimSpace(c.text(table+".csv")), "\n")
				for i := range lines {
					lines[i] += []string{"," + map[bool]string{true: "day", false: "date"}[table == "visits"],
						",2025-01-01"}[min(i, 1)]
				}
				c.write(table+".csv", strings.Join(lines, "\n")+"\n")
			}
			c.tables["visits"] = strings.Replace(
				strings.Replace(c.tables["visits"], "columns: {", "columns: {day: {role: other}, ", 1), "scope: person}}]",
				"scope: person}}, {date: {columns: [day], shift: 9, by: pid, scope: person}}]", 1)
			c.tables[name] = strings.Replace(c.tables[name], "columns: {", "columns: {date: {role: "+role+"}, ", 1)
			result, err := c.run()
			if err != nil {
				t.Fatal(err)
			}
			rep := result.Report
			refused := slices.ContainsFunc(rep.Gate.Rules, func(v assess.RuleVerdict) bool {
				return v.Measure == "shift" && !v.Passed && strings.HasPrefix(v.Rule, `"date" of table "`+name+`"`)
			})
			if want := role == "other" || role == "key"; refused != want || result.Refused() != want {
				t.Errorf("%s, %s: %+v", name, role, rep.Gate)
			}
			if got := len(rep.Warnings) == 1 &&
				strings.Contains(rep.Warnings[0], `"date" of table "`+name+`" leaves as it is`); got != warns || !warns && len(rep.Warnings) > 0 {
				t.Errorf("%s, %s: %q", name, role, rep.Warnings)
			}
			if !slices.ContainsFunc(rep.NotCounted, func(s string) bool {
				return strings.HasPrefix(s, `table "visits": the intervals`)
			}) {
				t.Errorf("%q", rep.NotCounted)
			}
		}
	}
}

// TestTablesThatChange: a table that changes after it was read, whichever it is, keeps all from being published.
func TestTablesThatChange(t *testing.T) {
	for _, name := range []string{"households", "persons", "visits"} {
		c := newCare(t)
		c.pair()
		p, err := c.parse()
		if err != nil {
			t.Fatal(err)
		}
		ctx, o := pipeline.Options{}.Ready(t.Context())
		r := &run{config: p, options: o, members: map[string]*member{}}
		if err := errors.Join(r.open(ctx), r.create(ctx), r.settle(ctx), r.unchanged()); err != nil {
			t.Fatal(err)
		}
		c.write(name+".csv", c.text(name+".csv")+"\n")
		if err := r.unchanged(); err == nil || !strings.Contains(err.Error(), `table "`+name+`": source: `) {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(r.abort(), r.close()); err != nil {
			t.Error(err)
		}
		if left := c.tree(); len(left) > 0 {
			t.Errorf("there is %v", left)
		}
	}
}

// TestColumnsOfTwoTables: a masked column that another table releases under the same name is said, keys and withheld
// ones are not.
func TestColumnsOfTwoTables(t *testing.T) {
	for column, warns := range map[string]bool{"age: {role: other}": true, "age: {role: identifier}": false,
		"sex: {role: other}": false, "years: {role: other}": false} {
		for _, last := range []bool{false, true} { // of the tables
			c := newCare(t)
			c.pair()
			c.tables["visits"] = strings.Replace(strings.Replace(c.tables["visits"], "columns: {", "columns: {"+column+", ", 1),
				"gate: {rules: [{min_k: 2}]}\n", "", 1)
			c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
			if last {
				c.project = strings.Replace(strings.Replace(c.project, "  visits:     {config: DIR/visits.yaml}\n", "", 1),
					"keys:\n", "  visits: {config: DIR/visits.yaml}\nkeys:\n", 1)
			}
			c.write("visits.csv",
				"vid,pid,kind,"+column[:strings.Index(column, ":")]+"\n1,P1,a,1\n2,P2,b,2\n3,P3,a,3\n4,P4,b,4\n")
			if rep := c.released(); warns != (len(rep.Warnings) == 1 &&
				strings.HasPrefix(rep.Warnings[0], `"age" is released by tables`)) || !warns && len(rep.Warnings) > 0 {
				t.Errorf("%s: %q", column, rep.Warnings)
			}
		}
	}
}
