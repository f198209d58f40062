package project

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
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
			"key": "{file: DIR/k}", "source": "{csv: {path: DIR/" + name + ".csv}}", "sink": "{csv: {path: DIR/out/release/" + name + ".csv}}",
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
		c.t.Fatal(result.Report.Withheld)
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

// TestJoinedKIsThatOfBruteForce: persons with their household's record and all of their visits, in any order of tables and keys.
func TestJoinedKIsThatOfBruteForce(t *testing.T) {
	seen := map[int]bool{}
	for seed := range uint64(8) {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(seed, 1)))
		if seed%2 == 1 { // the order of tables and keys does not matter
			c.project = strings.Replace(c.project, "  visits:     {config: DIR/visits.yaml}\n", "", 1)
			c.project = strings.Replace(c.project, "keys:\n", "  visits: {config: DIR/visits.yaml}\nkeys:\n", 1)
			c.project = strings.Replace(c.project, "  - {table: visits, column: pid, of: persons}\n", "", 1)
			c.project = strings.Replace(c.project, "person: persons", "  - {table: visits, column: pid, of: persons}\nperson: persons", 1)
		}
		if seed >= 3 {
			c.tables["visits"] += "sink: {csv: {path: DIR/out/release/visits.csv}, order: shuffled}\n"
		}
		result, err := c.run()
		if err != nil {
			t.Fatal(err)
		}
		least, unique, found, persons := c.joinedK()
		p := result.Report.Persons
		if p == nil || p.Persons != persons || int(p.MinFrequency) != least || p.Uniques != unique || p.Found < found-1e-9 || p.Found > found+1e-9 {
			t.Fatalf("seed %d: %+v (%s), want k %d, %d unique, %v found of %d", seed, p, result.Report.Unmeasured, least, unique, found, persons)
		}
		if result.Refused() != (least < 2) {
			t.Errorf("seed %d: k is %d, and withheld %v", seed, least, result.Refused())
		}
		seen[unique] = true
	}
	if len(seen) < 3 {
		t.Errorf("the tables are too much alike: %v unique persons", seen)
	}
}

// pair writes tables in which each person has a like in every table, and the last two have none in all of them together.
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

// TestTablesThatAreSafeAlone: each table has k of 2 or more, and all together single every person out: nothing is published, nothing is said
// in public, and the earlier release stays as it was.
func TestTablesThatAreSafeAlone(t *testing.T) {
	c := newCare(t)
	c.pair()
	c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
	if rep := c.released(); rep.Persons.Uniques != 4 {
		t.Fatalf("%+v", rep.Persons)
	}
	before := c.tree()
	for rule, holds := range map[string]bool{
		"{min_k: 2}": false, "{max_individual_risk: 0.99}": false, "{max_linked: 99%}": false, "{max_unique: 0}": false, "{max_linked: 1}": true,
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
				if text := after["out/"+name+".json"]; !strings.Contains(text, `"withheld": "does not hold: all tables of project \"care\" may be published"`) || !strings.Contains(text, "\"gate\": {\n    \"passed\": false") {
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

// TestNothingIsPublishedWhereATableFails: whichever table it is, by its gate or by an error, no file of any table appears.
func TestNothingIsPublishedWhereATableFails(t *testing.T) {
	for _, name := range []string{"households", "persons", "visits"} {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(1, 1)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		c.tables[name] += "gate: {rules: [{min_k: 1000000}]}\n"
		result, err := c.run()
		if err != nil || !result.Refused() || !strings.Contains(result.Report.Withheld, `table "`+name+`" passes its own gate`) {
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

// TestRecordsLeaveWithTheirs: a record without a parent in the source, or whose parent is in quarantine or not drawn, leaves; so does the
// household of which no person is released. No record of the release refers to one that is not there.
func TestRecordsLeaveWithTheirs(t *testing.T) {
	for seed := range uint64(4) {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(seed, 2)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		append := func(name, text string) {
			old, err := os.ReadFile(filepath.Join(c.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			c.write(name, string(old)+text)
		}
		append("visits.csv", "9001,P9001,a\n9002,,b\n9003,P9002,a\n") // of nobody, without a person, of one without a household
		append("persons.csv", "P9002,H9001,f,50\n")
		append("households.csv", "H9002,n\n") // of nobody
		c.tables["persons"] = strings.Replace(c.tables["persons"], "masks:\n", "masks:\n  - sample: {rate: 0.5}\n", 1)
		rep := c.released()
		persons, households := c.column("persons", 0), c.column("households", 0)
		for _, pid := range c.column("visits", 0) {
			if !slices.Contains(persons, pid) {
				t.Fatal("a visit of nobody")
			}
		}
		lived := map[string]bool{}
		for _, hid := range c.column("persons", 1) {
			lived[hid] = true
			if !slices.Contains(households, hid) {
				t.Fatal("a person without a household")
			}
		}
		for _, hid := range households {
			if !lived[hid] {
				t.Fatal("a household of nobody")
			}
		}
		left := map[string]Left{}
		for _, table := range rep.Tables {
			if !table.Records.Valid() || table.Records.Released == 0 {
				t.Errorf("%+v", table)
			}
			for _, l := range table.Left {
				left[table.Name+" "+l.Key] = l.Left
			}
		}
		visits, people, homes := left["visits visits.pid = persons.pid"], left["persons persons.hid = households.hid"], left["households persons.hid = households.hid"]
		if visits.Orphans != 1 || visits.Without != 1 || visits.With < 5 || people != (Left{Orphans: 1}) || homes.Orphans != 1 || homes.With < 5 {
			t.Errorf("seed %d: %+v", seed, left)
		}
		if all := len(c.records("visits.csv")); rep.Tables[0].Name != "visits" || int(rep.Tables[0].Records.LeftOut) != int(visits.Orphans+visits.With+visits.Without) || int(rep.Tables[0].Records.Read) != all {
			t.Errorf("seed %d: %+v of %d", seed, rep.Tables[0], all)
		}
	}
}

// TestLeavingIsAsIfNeverThere: the release of tables with orphans is that of tables without them, to the byte, whatever masks decide by all records.
func TestLeavingIsAsIfNeverThere(t *testing.T) {
	masks := `  - noise: {columns: [cost], sd: 20%}
  - topcode: {columns: [fee], upper_percentile: 90}
  - microaggregate: {columns: [weight], k: 3}
  - rankswap: {columns: [size], p: 5%}
  - suppress: {keys: [kind, ward], k: 3}
`
	var releases []string
	for _, with := range []bool{false, true} {
		c := newCare(t)
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		c.tables["visits"] = "identity: [vid]\ncolumns: {vid: {role: identifier}, pid: {role: other}, kind: {role: key}, ward: {role: key}, cost: {role: sensitive, decimals: 2}, fee: {role: sensitive, decimals: 2}, weight: {role: sensitive, decimals: 2}, size: {role: sensitive, decimals: 2}}\n" +
			"masks:\n  - pseudonym: {columns: [pid], scope: person}\n" + masks
		rng := rand.New(rand.NewPCG(5, 6))
		c.some(rng)
		visits := "vid,pid,kind,ward,cost,fee,weight,size\n"
		for i := range 400 {
			row := fmt.Sprintf("%d,P%d,%c,%d,%.2f,%.2f,%.2f,%.2f\n", i, 1+i%50, 'a'+rune(rng.IntN(3)), rng.IntN(9), 100*rng.ExpFloat64(), 50*rng.ExpFloat64(), 9*rng.ExpFloat64(), 70*rng.ExpFloat64())
			if i%3 == 0 { // of nobody, and far from the others
				row = fmt.Sprintf("%d,P%d,%c,%d,%d,%d,%d,%d\n", i, 5000+i, 'a'+rune(rng.IntN(3)), rng.IntN(9), 9000, 9000, 9000, 9000)
				if !with {
					continue
				}
			}
			visits += row
		}
		c.write("visits.csv", visits)
		c.released()
		var lines []string
		for _, row := range c.records("out/release/visits.csv") {
			lines = append(lines, strings.Join(row, ","))
		}
		releases = append(releases, strings.Join(lines, "\n"))
	}
	if releases[0] != releases[1] || len(releases[0]) < 1000 {
		t.Errorf("the releases differ:\n%.400s\n\n%.400s", releases[0], releases[1])
	}
}

// TestOnePersonOneRecord: several records of one person are refused in the table of the persons, whatever tells that they are hers; k would count her
// own records for those of others.
func TestOnePersonOneRecord(t *testing.T) {
	const same = "pid,hid,sex,age\nP1,H1,f,30\nP2,H2,f,31\nP1,H1,f,32\nP3,H3,f,33\n"
	two := func(c *care) { // persons and their households alone: no key refers to persons
		delete(c.tables, "visits")
		c.project = strings.Replace(strings.Replace(c.project, "  visits:     {config: DIR/visits.yaml}\n", "", 1), "  - {table: visits, column: pid, of: persons}\n", "", 1)
	}
	for name, x := range map[string]struct {
		change func(*care)
		want   string
	}{
		"a key refers to it": {func(*care) {}, `keys[0]: must refer to one record, and several of "persons" have the same value of "pid"`},
		"identity":           {two, "person: must have one record for each person"},
		"pseudonym": {func(c *care) {
			two(c)
			c.tables["persons"] = strings.Replace(c.tables["persons"], "[pid]\n", "[pid, age]\n", 1)
		}, `several released ones have the same value of "pid"`},
		"nothing tells it": {func(c *care) {
			two(c)
			c.tables["persons"] = "columns: {pid: {role: identifier}, hid: {role: other}, sex: {role: key}, age: {role: key}}\nmasks: [{pseudonym: {columns: [hid], scope: household}}]\n"
		}, "person: must be a table that keys refer to"},
		"identity, no key": {func(c *care) {
			two(c)
			c.tables["persons"] = "identity: [pid]\ncolumns: {pid: {role: identifier}, hid: {role: other}, sex: {role: key}, age: {role: key}}\nmasks: [{pseudonym: {columns: [hid], scope: household}}]\n"
		}, "several released ones have one identity (pid)"},
	} {
		c := newCare(t)
		x.change(c)
		c.pair()
		c.write("persons.csv", same)
		p, err := c.parse()
		if err == nil {
			_, err = Run(t.Context(), p, pipeline.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
		if left := c.tree(); len(left) > 0 {
			t.Errorf("%s: there is %v", name, left)
		}
	}
}

// TestHouseholdsInQuarantine: their persons leave, and the visits of these.
func TestHouseholdsInQuarantine(t *testing.T) {
	c := newCare(t)
	c.pair()
	c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
	c.write("households.csv", "hid,region,rooms\nH1,n,1\nH2,n,none\nH3,s,3\nH4,s,4\n")
	c.tables["households"] = `source: {csv: {path: DIR/households.csv, types: {rooms: int64}}}
columns: {hid: {role: other}, region: {role: key}, rooms: {role: sensitive, decimals: 0}}
masks: [{pseudonym: {columns: [hid], scope: household}}, {noise: {columns: [rooms], sd: 20}}]
gate: {max_quarantined: 50%}
`
	for _, name := range []string{"visits", "persons"} {
		c.tables[name] = strings.Replace(c.tables[name], "gate: {rules: [{min_k: 2}]}\n", "", 1)
	}
	rep := c.released()
	for i, want := range []string{"visits 3 0 1", "persons 3 0 1", "households 3 1 0"} {
		if r := rep.Tables[i].Records; fmt.Sprint(rep.Tables[i].Name, " ", r.Released, " ", r.Quarantined, " ", r.LeftOut) != want {
			t.Errorf("%s: %+v, want %s", rep.Tables[i].Name, r, want)
		}
	}
	if rep.Tables[1].Left[0].With != 1 || rep.Tables[0].Left[0].With != 1 {
		t.Errorf("%+v", rep.Tables)
	}
}

// TestKeysThatAreDrawn: a key that noise or PRAM changes is not counted, and no rule holds, in whichever table it is.
func TestKeysThatAreDrawn(t *testing.T) {
	for name, mask := range map[string]string{
		"persons":    "  - pram: {columns: [sex], categories: [f, m], keep: 0.8}\n",
		"visits":     "masks: [{pseudonym: {columns: [pid], scope: person}}, {pram: {columns: [kind], categories: [a, b], keep: 0.8}}]\n",
		"households": "masks: [{pseudonym: {columns: [hid], scope: household}}, {pram: {columns: [region], categories: [n, s], keep: 0.8}}]\n",
	} {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(3, 3)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
		if at := strings.Index(c.tables[name], "masks: ["); at >= 0 {
			c.tables[name] = c.tables[name][:at]
		}
		c.tables[name] += mask
		result, err := c.run()
		if err != nil || !result.Refused() || !strings.Contains(result.Report.Unmeasured, `table "`+name+`": `) || result.Report.Persons != nil {
			t.Errorf("%s: %v, %+v", name, err, result)
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

// TestOtherFormats: tables of other formats, of folders of files, and with numbers as keys, give the persons of the CSV files.
func TestOtherFormats(t *testing.T) {
	for _, format := range []string{"jsonl", "parquet"} {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(9, 9)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		want := c.released()
		for name := range c.tables {
			c.tables[name] += fmt.Sprintf("sink: {%s: {path: DIR/out/%[1]s/%[2]s.%[1]s}}\n", format, name)
		}
		if got := c.released(); got.Persons.Found != want.Persons.Found || got.Persons.MinFrequency != want.Persons.MinFrequency {
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

// TestRecordsOfNobody: with optional a record without a value stays. It is nobody's: it makes no share of persons smaller.
func TestRecordsOfNobody(t *testing.T) {
	c := newCare(t)
	c.pair()
	c.tables["visits"] = strings.Replace(c.tables["visits"], "gate: {rules: [{min_k: 2}]}\n", "", 1)
	c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
	want := c.released()
	visits := c.text("visits.csv")
	for i := range 50 {
		visits += fmt.Sprintf("%d,,a\n", 100+i)
	}
	c.write("visits.csv", visits)
	if rep := c.released(); rep.Tables[0].Records.Released != 4 || rep.Tables[0].Left[0].Left != (Left{Without: 50}) {
		t.Errorf("%+v", rep.Tables[0])
	}
	c.project = strings.Replace(c.project, "column: pid, of: persons", "column: pid, of: persons, optional: true", 1)
	rep := c.released()
	if rep.Tables[0].Records.Released != 54 || len(rep.Tables[0].Left) != 0 {
		t.Errorf("%+v", rep.Tables[0])
	}
	if rep.Persons.Persons != 4 || rep.Persons.UniqueShare != want.Persons.UniqueShare || rep.Persons.Found != want.Persons.Found {
		t.Errorf("%+v, want %+v", rep.Persons, want.Persons)
	}
	// A person may be of no household, which is known of her like any other.
	c.project = strings.Replace(c.project, "column: hid, of: households", "column: hid, of: households, optional: true", 1)
	c.write("persons.csv", "pid,hid,sex,age\nP1,H1,f,30\nP2,H2,f,31\nP3,,f,32\nP4,,f,33\n")
	if rep := c.released(); rep.Persons.Persons != 4 || rep.Tables[2].Records.Released != 2 || rep.Persons.MinFrequency != 1 {
		t.Errorf("%+v", rep)
	}
}

// TestTypesOfKeys: a number and its text do not join.
func TestTypesOfKeys(t *testing.T) {
	for i, name := range []string{"visits", "households"} {
		c := newCare(t)
		c.pair()
		for _, file := range []string{"visits", "persons", "households"} {
			text := c.text(file + ".csv")
			for n := range 5 {
				text = strings.ReplaceAll(strings.ReplaceAll(text, fmt.Sprintf("P%d,", n), fmt.Sprintf("%d,", n)), fmt.Sprintf("H%d,", n), fmt.Sprintf("%d,", n))
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

// TestDatesBesideShiftedOnes: a date that leaves as it is beside shifted ones is said, whichever table has it.
func TestDatesBesideShiftedOnes(t *testing.T) {
	for _, name := range []string{"persons", "households"} {
		for role, warns := range map[string]bool{"other": true, "identifier": false} {
			c := newCare(t)
			c.pair()
			for _, table := range []string{"visits", "persons", "households"} {
				c.tables[table] = strings.Replace(c.tables[table], "gate: {rules: [{min_k: 2}]}\n", "", 1)
			}
			c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
			for _, table := range []string{"visits", name} {
				lines := strings.Split(strings.TrimSpace(c.text(table+".csv")), "\n")
				for i := range lines {
					lines[i] += []string{"," + map[bool]string{true: "day", false: "date"}[table == "visits"], ",2025-01-01"}[min(i, 1)]
				}
				c.write(table+".csv", strings.Join(lines, "\n")+"\n")
			}
			c.tables["visits"] = strings.Replace(strings.Replace(c.tables["visits"], "columns: {", "columns: {day: {role: other}, ", 1), "scope: person}}]", "scope: person}}, {date: {columns: [day], shift: 9, by: pid, scope: person}}]", 1)
			c.tables[name] = strings.Replace(c.tables[name], "columns: {", "columns: {date: {role: "+role+"}, ", 1)
			rep := c.released()
			if got := len(rep.Warnings) == 1 && strings.Contains(rep.Warnings[0], `"date" of table "`+name+`" leaves as it is`); got != warns || !warns && len(rep.Warnings) > 0 {
				t.Errorf("%s, %s: %q", name, role, rep.Warnings)
			}
			if !slices.ContainsFunc(rep.NotCounted, func(s string) bool { return strings.HasPrefix(s, `table "visits": the intervals`) }) {
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
		if err := errors.Join(r.open(ctx), r.create(), r.settle(ctx), r.unchanged()); err != nil {
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

// TestFates: a value is that of two records only if both are released, in either order.
func TestFates(t *testing.T) {
	d := []microdata.Digest{{1}, {1}, {2}, {}, {}}
	for _, x := range []struct {
		rejected []int
		twice    bool
		want     fates
	}{
		{nil, true, fates{{1}: true, {2}: true, {}: true}}, {[]int{0}, false, fates{{1}: true, {2}: true, {}: true}}, {[]int{1}, false, fates{{1}: true, {2}: true, {}: true}},
		{[]int{0, 1}, false, fates{{1}: false, {2}: true, {}: true}}, {[]int{2, 3, 4}, true, fates{{1}: true, {2}: false, {}: false}},
	} {
		b := new(microdata.Block)
		b.Reset(0, 0, len(d), 0)
		for _, i := range x.rejected {
			b.Reject(i, "", "cannot be")
		}
		f := fates{}
		if twice := f.add(d, b); twice != x.twice || !maps.Equal(f, x.want) {
			t.Errorf("%v: twice %v, %v; want %v, %v", x.rejected, twice, f, x.twice, x.want)
		}
	}
}

// TestBothInQuarantineAndWithout: a record that is malformed and refers to none is in quarantine and not counted as left; a household without a name
// stays with nobody.
func TestBothInQuarantineAndWithout(t *testing.T) {
	c := newCare(t)
	c.pair()
	for _, name := range []string{"visits", "persons", "households"} {
		c.tables[name] = strings.Replace(c.tables[name], "gate: {rules: [{min_k: 2}]}\n", "", 1)
	}
	c.project = strings.Replace(strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1), "of: households", "of: households, optional: true", 1)
	c.write("visits.csv", "vid,pid,kind,days\n1,P1,a,1\n2,P2,b,2\n3,P3,a,3\n4,P4,b,4\n5,P77,a,none\n6,P78,a,6\n")
	c.write("households.csv", c.text("households.csv")+",n\n")
	c.tables["visits"] = `identity: [vid]
source: {csv: {path: DIR/visits.csv, types: {days: int64}}}
columns: {vid: {role: identifier}, pid: {role: other}, kind: {role: key}, days: {role: sensitive, decimals: 0}}
masks: [{pseudonym: {columns: [pid], scope: person}}, {noise: {columns: [days], sd: 20}}]
gate: {max_quarantined: 50%}
`
	rep := c.released()
	if r := rep.Tables[0]; r.Records.Quarantined != 1 || r.Records.LeftOut != 1 || r.Left[0].Left != (Left{Orphans: 1}) {
		t.Errorf("%+v", r)
	}
	if r := rep.Tables[2]; r.Records.Released != 4 || r.Left[0].Left != (Left{Without: 1}) {
		t.Errorf("%+v", r)
	}
}

// TestRecordsToWhichVisitsRefer: the hospital of a visit belongs to this visit, and that it has none is known too: by brute force.
func TestRecordsToWhichVisitsRefer(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 8))
		c := newCare(t)
		c.project = strings.Replace(c.project, "tables:\n", "tables:\n  hospitals: {config: DIR/hospitals.yaml}\n", 1)
		c.project = strings.Replace(c.project, "keys:\n", "keys:\n  - {table: visits, column: hosp, of: hospitals, references: id, optional: true}\n", 1)
		c.project = strings.Replace(c.project, "  households: {config: DIR/households.yaml}\n", "", 1)
		c.project = strings.Replace(c.project, "  - {table: persons, column: hid, of: households}\n", "", 1)
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
		delete(c.tables, "households")
		c.tables["hospitals"] = "columns: {id: {role: other}, size: {role: key}}\nmasks: [{pseudonym: {columns: [id], scope: hospital}}]\n"
		c.tables["persons"] = "identity: [pid]\ncolumns: {pid: {role: other}, sex: {role: key}}\nmasks: [{pseudonym: {columns: [pid], scope: person}}]\n"
		c.tables["visits"] = "columns: {pid: {role: other}, hosp: {role: other}, kind: {role: key}}\nmasks: [{pseudonym: {columns: [pid], scope: person}}, {pseudonym: {columns: [hosp], scope: hospital}}]\n" +
			"sink: {csv: {path: DIR/out/release/visits.csv}, order: shuffled}\n"
		c.write("hospitals.csv", "id,size\nA,big\nB,small\nC,big\n")
		size := map[string]string{"A": "big", "B": "small", "C": "big", "": "none"}
		persons, visits := "pid,sex\n", "pid,hosp,kind\n"
		whole := map[string]int{}
		for i := range 150 {
			sex := []string{"f", "m"}[rng.IntN(2)]
			persons += fmt.Sprintf("P%d,%s\n", i, sex)
			var list []string
			for range rng.IntN(3) {
				hosp, kind := []string{"A", "B", "C", ""}[rng.IntN(4)], []string{"a", "b"}[rng.IntN(2)]
				visits += fmt.Sprintf("P%d,%s,%s\n", i, hosp, kind)
				list = append(list, size[hosp]+kind)
			}
			slices.Sort(list)
			whole[fmt.Sprint(sex, list)]++
		}
		c.write("persons.csv", persons)
		c.write("visits.csv", visits)
		unique := 0
		for _, k := range whole {
			if k == 1 {
				unique++
			}
		}
		p := c.released().Persons
		if want := float64(len(whole)) / 150; p.Uniques != unique || p.Found < want-1e-9 || p.Found > want+1e-9 {
			t.Errorf("seed %d: %+v, want %d unique and %v found", seed, p, unique, want)
		}
	}
}

// TestColumnsOfTwoTables: a masked column that another table releases under the same name is said, keys and withheld ones are not.
func TestColumnsOfTwoTables(t *testing.T) {
	for column, warns := range map[string]bool{"age: {role: other}": true, "age: {role: identifier}": false, "sex: {role: other}": false, "years: {role: other}": false} {
		for _, last := range []bool{false, true} { // of the tables
			c := newCare(t)
			c.pair()
			c.tables["visits"] = strings.Replace(strings.Replace(c.tables["visits"], "columns: {", "columns: {"+column+", ", 1), "gate: {rules: [{min_k: 2}]}\n", "", 1)
			c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
			if last {
				c.project = strings.Replace(strings.Replace(c.project, "  visits:     {config: DIR/visits.yaml}\n", "", 1), "keys:\n", "  visits: {config: DIR/visits.yaml}\nkeys:\n", 1)
			}
			c.write("visits.csv", "vid,pid,kind,"+column[:strings.Index(column, ":")]+"\n1,P1,a,1\n2,P2,b,2\n3,P3,a,3\n4,P4,b,4\n")
			if rep := c.released(); warns != (len(rep.Warnings) == 1 && strings.HasPrefix(rep.Warnings[0], `"age" is released by tables`)) || !warns && len(rep.Warnings) > 0 {
				t.Errorf("%s: %q", column, rep.Warnings)
			}
		}
	}
}

// TestHiddenCells: a cell that a mask hides contradicts nothing, and the snooper knows what it was: by brute force over all pairs of persons.
func TestHiddenCells(t *testing.T) {
	for seed := range uint64(3) {
		c := newCare(t)
		c.some(rand.New(rand.NewPCG(seed, 4)))
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_unique: 1}", 1)
		c.tables["persons"] += "  - suppress: {keys: [sex, age], k: 40}\n"
		c.tables["visits"] += "sink: {csv: {path: DIR/out/release/visits.csv}, order: shuffled}\n"
		got := c.released().Persons
		region, kinds, members := map[string]string{}, map[string][]string{}, map[string]int{}
		for _, h := range c.records("households.csv") {
			region[h[0]] = h[1]
		}
		for _, v := range c.records("visits.csv") {
			kinds[v[1]] = append(kinds[v[1]], v[2])
		}
		persons, released := c.records("persons.csv"), c.records("out/release/persons.csv") // in the same order
		for _, p := range persons {
			members[p[1]]++
		}
		group := func(p []string) string { return map[bool]string{true: "[40,200]", false: "[0,40)"}[p[3] >= "40"] }
		hidden, found, unique := 0, 0.0, 0
		rest := func(p []string) string {
			list := slices.Sorted(slices.Values(kinds[p[0]]))
			return fmt.Sprint(region[p[1]], members[p[1]], list)
		}
		for _, p := range persons {
			k := 0
			for j, other := range persons {
				sex, age := released[j][2], released[j][3]
				if rest(p) == rest(other) && (sex == "" || sex == p[2]) && (age == "" || age == group(p)) {
					k++
				}
				if sex == "" || age == "" {
					hidden++
				}
			}
			found += 1 / float64(k) / float64(len(persons))
			if k == 1 {
				unique++
			}
		}
		if hidden == 0 || got.Uniques != unique || got.Found < found-1e-9 || got.Found > found+1e-9 {
			t.Errorf("seed %d: %+v, want %d unique and %v found, with %d hidden cells", seed, got, unique, found, hidden/len(persons))
		}
	}
}

// TestTablesWrittenTwice: a table that is written again, since the last persons of some of its records have left, is that of a source without these records, to the byte,
// with declared codes, masks of all records and a report of its own.
func TestTablesWrittenTwice(t *testing.T) {
	var releases [2]string
	for i := range releases {
		rng := rand.New(rand.NewPCG(7, 7))
		c := newCare(t)
		c.some(rng)
		c.project = strings.Replace(c.project, "{min_k: 2}", "{max_individual_risk: 1}", 1)
		c.tables["households"] = "identity: [hid]\ncolumns: {hid: {role: other}, region: {role: key}, rent: {role: sensitive, decimals: 0, missing: [-9]}, code: {role: other}}\n" +
			"masks: [{pseudonym: {columns: [hid], scope: household}}, {microaggregate: {columns: [rent], k: 3}}]\n"
		households, lines := "hid,region,rent,code\n", strings.Split(strings.TrimSpace(c.text("households.csv")), "\n")[1:]
		for h, line := range lines {
			rent := []int{-9, 500 + 7*h, 800 + 3*h}[h%3]
			households += fmt.Sprintf("%s,%d,00%d\n", line, rent, h)
		}
		for h := range 20 { // whose only persons refer to them in vain, or who have none at all
			if i == 1 {
				households += fmt.Sprintf("E%d,n,%d,0\n", h, 100000+h)
			}
		}
		c.write("households.csv", households)
		rep := c.released()
		releases[i] = c.text("out/release/households.csv")
		if rep.Rounds < 1+i || rep.Tables[2].Records.LeftOut != int64(20*i) {
			t.Errorf("%d rounds, %+v", rep.Rounds, rep.Tables[2])
		}
	}
	// Spelling aside: what is not read anew keeps the spelling of the source.
	if a, b := strings.ReplaceAll(releases[0], "\"", ""), strings.ReplaceAll(releases[1], "\"", ""); a != b {
		t.Errorf("the releases differ:\n%.300s\n%.300s", a, b)
	}
}
