package project

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

var update = flag.Bool("update", false, "rewrite the schemas")

// The schemas in the repository are those of the types.
func TestSchemasAreCurrent(t *testing.T) {
	for file, schema := range map[string]func() ([]byte, error){
		filepath.Join("..", "..", "..", "config", "sdlfilter.project.schema.json"): Schema,
		"report.schema.json": ReportJSONSchema,
	} {
		want, err := schema()
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file, want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the schema of the types (%v); run go test ./internal/pipeline/project -update", file, err)
		}
	}
}

// What is a project is told from a pipeline and from a configuration of tables by its fields.
func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		careProject: true, "tables: {a: {config: a}}\n": true, "tables: [{name: t}]\nsource: {}\n": false,
		"tables: {a: {}}\nsource: {csv: {path: x}}\n": false,
		"tables: {a: {}}\npipeline: p.yaml\n":         false, "source: {csv: {path: x}}\n": false, "tables: [": false,
		"":                      false,
		"tables: [{name: t}]\n": false,
	} {
		if Is([]byte(text)) != want {
			t.Errorf("%q: %v, want %v", text, !want, want)
		}
	}
}

// TestProjectsThatAreRefused: each mistake is refused before any data, with its place.
func TestProjectsThatAreRefused(t *testing.T) {
	const masks = "masks: [{pseudonym: {columns: [pid], scope: person}}]\n"
	shifts := func(table, mask string) func(*care) {
		return func(c *care) {
			c.tables[table] = strings.Replace(strings.Replace(c.tables[table], "columns: {", "columns: {day: {role: other}, ",
				1), masks, "masks: [{pseudonym: {columns: [pid], scope: person}}, "+mask+"]\n", 1)
			if table == "persons" {
				c.tables[table] += "  - " + mask + "\n"
			}
		}
	}
	both := func(of ...func(*care)) func(*care) {
		return func(c *care) {
			for _, f := range of {
				f(c)
			}
		}
	}
	hidden := func(name string) func(*care) {
		return func(c *care) {
			c.tables[name] = strings.Replace(c.tables[name], "pid: {role: other}", "pid: {role: identifier}", 1)
			c.tables[name] = strings.Replace(strings.Replace(c.tables[name], masks, "", 1),
				"  - pseudonym: {columns: [pid], scope: person}\n", "", 1)
		}
	}
	project := func(old, text string) func(*care) {
		return func(c *care) { c.project = strings.Replace(c.project, old, text, 1) }
	}
	table := func(name, old, text string) func(*care) {
		return func(c *care) {
			if old == "" {
				c.tables[name] += text + "\n"
				return
			}
			c.tables[name] = strings.Replace(c.tables[name], old, text, 1)
		}
	}
	into := func(name, old, text string) func(*care) { // all in a database, one of them changed
		return func(c *care) {
			for t := range c.tables {
				sink := "sink: {postgres: {table: r." + t + ", url: 'postgres://u@h:1/d', password: {env: P}}}\n"
				if t == name {
					sink = strings.Replace(sink, old, text, 1)
				}
				c.tables[t] += sink
			}
		}
	}
	for name, x := range map[string]struct {
		change func(*care)
		want   string // "": it is none
	}{
		"right": {func(*care) {}, ""},
		"version": {project("version: 1", "version: 2"),
			"version: must be 1, got 2 (project.yaml:1:10)"},
		"lineage without a place": {project("gate:", "lineage: {namespace: n}\ngate:"), "lineage: must have a file or a url (project.yaml:"},
		"lineage to a password":   {project("gate:", "lineage: {url: 'https://u:p@h/x'}\ngate:"), "lineage.url: must be of the form https://HOST/PATH"},
		"lineage into the report": {project("gate:", "lineage: {file: DIR/out/report.json}\ngate:"),
			"lineage.file: must not be the file of"},
		"page in folder": {project("DIR/out/report.json", "DIR/out/report.json, html: DIR/out/release/report.html"),
			"report.html: must not write into the folder of the release"},
		"page and report": {project("DIR/out/report.json", "DIR/out/report.json, html: DIR/out/report.json"),
			"report.html: must not be the file of"},
		"lineage into the release": {project("gate:", "lineage: {file: DIR/out/release/e.ndjson}\ngate:"),
			"lineage.file: must not write into the folder of the release"},
		"lineage of a table": {table("visits", "", "lineage: {file: out/e.ndjson}"), "lineage: in a project (table \"visits\") must be left out: it is the project's"},
		"no rules":           {project("[{min_k: 2}]", "[]"), "gate.rules: must have at least one rule"},
		"k of 1":             {project("min_k: 2", "min_k: 1"), "gate.rules[0].min_k: must be at least 2, got 1"},
		"share":              {project("{min_k: 2}", "{max_linked: 1.5}"), "gate.rules[0].max_linked: must be"},
		"person": {project("person: persons", "person: person"),
			`person: must be one of the tables, got "person" (did you mean "persons"?) (project.yaml:10:9)`},
		"key's table": {project("{table: visits", "{table: visit"),
			"keys[0].table: must be one of the tables"},
		"key of the last": {project("of: households", "of: homes"), "keys[1].of: must be one of the tables"},
		"key's column": {project("column: pid", "column: patient"),
			`keys[0].column: must be a listed column of "visits", got "patient"; there are vid, pid, kind (project.yaml:8:29)`},
		"references": {project("of: households", "of: households, references: home"),
			`keys[1].references: must be a listed column of "households"`},
		"two ways": {
			project("person:", "  - {table: visits, column: vid, of: households, references: hid}\nperson:"),
			"keys[2]: joins \"visits\" and \"households\", which are joined already"},
		"itself": {project("of: households", "of: persons"),
			"keys[1]: joins \"persons\" and \"persons\", which are joined already"},
		"alone": {project("  - {table: persons, column: hid, of: households}\n", ""),
			`tables.households: is joined with "persons" by no key`},
		"grandchildren": {project("person: persons", "person: households"),
			"keys[0]: joins records of \"visits\" to those of \"persons\", which are not the persons"},
		"one table": {
			project("  persons:    {config: DIR/persons.yaml}\n  households: {config: DIR/households.yaml}\n", ""),
			"tables: must be at least two, got 1"},
		"no file":     {project("DIR/visits.yaml", "DIR/none.yaml"), "none.yaml"},
		"wrong table": {table("visits", "", "nonsense: 1"), "nonsense: is not a field here"},
		"another scope": {table("visits", "scope: person", "scope: patient"),
			`keys[0]: joins "pid" of "visits", which is a pseudonym of scope "patient"`},
		"another form": {
			table("persons", "columns: [pid], scope: person", "columns: [pid], scope: person, form: uuid"),
			`with "pid" of "persons", which is a pseudonym of scope "person" and form uuid`},
		"another length": {
			table("persons", "columns: [hid], scope: household", "columns: [hid], scope: household, length: 16"),
			"keys[1]: joins \"hid\" of \"persons\", which is a pseudonym of scope \"household\" and form hex, 16 characters"},
		"same length": {
			table("persons", "columns: [hid], scope: household", "columns: [hid], scope: household, length: 32, form: hex"), ""},
		"one unmasked": {
			table("households", "masks: [{pseudonym: {columns: [hid], scope: household}}]\n", ""),
			`with "hid" of "households", which is released as it is`},
		"one withheld":  {hidden("visits"), `keys[0]: joins "pid" of "visits", which is withheld`},
		"both withheld": {both(hidden("persons"), hidden("visits")), ""},
		"another mask": {
			table("households", "{pseudonym: {columns: [hid], scope: household}}", "{recode: {columns: [hid], map: {H1: H2}}}"),
			"masks: in a project (table \"households\") must not change a key but by pseudonym, and masks[0].recode changes \"hid\""},
		"another key": {table("persons", "", "key: {file: DIR/k2}"),
			"key: in a project (table \"persons\") must be that of the other tables"},
		"code for none": {table("persons", "hid: {role: other}", "hid: {role: other, missing: [H0]}"),
			"columns.hid.missing: in a project"},
		"one ledger": {table("visits", "", "ledger: DIR/l.sdl"),
			"ledger: in a project (table \"persons\") must be given for all tables or for none"},
		"the same ledger": {func(c *care) {
			for name := range c.tables {
				c.tables[name] += "ledger: DIR/l.sdl\n"
			}
		}, "ledger: in a project (table \"persons\") must be another one than that of table \"visits\""},
		"emit": {
			table("persons", "", "assess: {every: {records: 10}, emit: [{jsonl: DIR/s.jsonl}]}"), "assess.emit: in a project"},
		"count: released": {table("households", "", "assess: {intruder: {count: released}}"),
			"assess.intruder.count: in a project"},
		"another format": {table("households", "", "sink: {jsonl: {path: DIR/out/release/h.jsonl}}"),
			"sink.jsonl: in a project"},
		"another folder": {table("households", "", "sink: {csv: {path: DIR/out/other/h.csv}}"),
			"sink.csv.path: in a project"},
		"another ending": {table("households", "", "sink: {csv: {path: DIR/out/release/h.txt}}"),
			"must end in .csv"},
		"one file": {table("households", "", "sink: {csv: {path: DIR/out/release/visits.csv}}"),
			"must not be the file of"},
		"standard output": {table("households", "", "sink: {csv: {path: '-'}}"),
			"must be one file of this machine"},
		"a codebook": {
			table("households", "", "sink: {csv: {path: DIR/out/release/h.csv, codebook: DIR/out/book.csv}}"),
			"without a codebook"},
		"standard input": {table("households", "", "source: {csv: {path: '-'}}"), "must be files of records"},
		"a topic": {
			table("households", "", "source: {kafka: {brokers: ['b:1'], topics: [h], until: latest}}"),
			"source.kafka: in a project (table \"households\") must be files"},
		"one table of a database": {
			table("households", "", "source: {postgres: {table: h, url: 'postgres://u@h:1/d', order: [hid]}}"), ""},
		"tables of a database": {into("", "", ""), ""},
		"one sink in a database": {
			table("households", "", "sink: {postgres: {table: h, url: 'postgres://u@h:1/d'}}"),
			"sink.postgres: in a project (table \"households\") must be of the kind of the other tables (csv)"},
		"one sink a file": {
			both(into("", "", ""), func(c *care) { c.tables["households"] = strings.Split(c.tables["households"], "sink:")[0] }),
			"sink.csv: in a project (table \"households\") must be of the kind of the other tables (postgres)"},
		"first sink a file": {
			both(into("", "", ""), func(c *care) { c.tables["visits"] = strings.Split(c.tables["visits"], "sink:")[0] }),
			"sink.postgres: in a project (table \"persons\") must be of the kind of the other tables (csv)"},
		"another database": {into("households", "u@h:1/d", "u@h:1/e"),
			"sink.postgres: in a project (table \"households\") must have the url and the password of the other tables"},
		"another password": {into("persons", "env: P", "env: Q"), "(table \"persons\") must have the url and the password"},
		"another password's file": {into("persons", "env: P", "file: DIR/P"),
			"(table \"persons\") must have the url and the password"},
		"another file of a password": {
			both(into("", "", ""), func(c *care) {
				for t, file := range map[string]string{"visits": "P", "persons": "P", "households": "Q"} {
					c.tables[t] = strings.Replace(c.tables[t], "env: P", "file: DIR/"+file, 1)
				}
			}), "(table \"households\") must have the url and the password"},
		"one table twice": {into("households", "r.households", "r.visits"),
			"(table \"households\") must name another table than the others do"},
		"report in folder": {project("DIR/out/report.json", "DIR/out/release/report.json"),
			"report.json: must not write into the folder of the release"},
		"reports alike": {project("DIR/out/report.json", "DIR/out/visits.json"), "must not be the file of"},
		"source in folder": {table("persons", "", "source: {csv: {path: DIR/out/release/in.csv}}"),
			"must not read from the folder of the release"},
		"release is source": {table("persons", "", "source: {csv: {path: DIR/out/release}}"), "must not"},
		"shifts alike": {
			both(shifts("visits", "{date: {columns: [day], shift: 9, by: pid, scope: person}}"),
				shifts("persons", "date: {columns: [day], shift: 9, by: pid, scope: person}")), ""},
		"shifts by others": {
			both(shifts("visits", "{date: {columns: [day], shift: 9, by: pid, scope: person}}"),
				shifts("persons", "date: {columns: [day], shift: 8, by: hid, scope: household}")), ""},
		"another bound": {
			both(shifts("visits", "{date: {columns: [day], shift: 9, by: pid, scope: person}}"),
				shifts("persons", "date: {columns: [day], shift: 8, by: pid, scope: person}")), "must shift dates as"},
		"another scope of shifts": {
			both(shifts("visits", "{date: {columns: [day], shift: 9, by: pid, scope: person}}"),
				shifts("persons", "date: {columns: [day], shift: 9, by: pid, scope: patient}")), "must shift dates as"},
		"an undeclared join": {
			both(table("visits", "vid: {role: identifier}", "vid: {role: identifier}, doctor: {role: other}"),
				table("visits", "columns: [pid]", "columns: [pid, doctor]")), "has the pseudonyms of"},
		"an undeclared join of persons": {
			both(table("persons", "age: {role: key}", "age: {role: key}, mother: {role: other}"),
				table("persons", "columns: [pid]", "columns: [pid, mother]")), "has the pseudonyms of \"pid\" of table"},
		"a pseudonym of its own": {
			both(table("persons", "age: {role: key}", "age: {role: key}, no: {role: other}"),
				table("persons", "masks:\n", "masks:\n  - pseudonym: {columns: [no], scope: number}\n")), ""},
	} {
		c := newCare(t)
		x.change(c)
		p, err := c.parse()
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case name == "key's column" && strings.Contains(err.Error(), "no key joins it"):
			t.Errorf("%s: what follows from it is said, too: %v", name, err)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: %v, want %q", name, err, x.want)
		case err == nil && p.SHA256() == "":
			t.Errorf("%s: no digest", name)
		}
	}
}

// TestNamesOfReleases: reports and messages name a file of the folder, or a table as the configuration does.
func TestNamesOfReleases(t *testing.T) {
	racetest.Alone(t)
	for sink, want := range map[string][2]string{
		"csv: {path: DIR/out/release/NAME.csv}":                  {"DIR/out/release", "visits.csv"},
		"postgres: {table: 'r.a/NAME', url: 'postgres://u@h/d'}": {"table r.a/visits table r.a/persons table r.a/households", "table r.a/visits"},
	} {
		c := newCare(t)
		for name := range c.tables {
			c.tables[name] += "sink: {" + strings.ReplaceAll(sink, "NAME", name) + "}\n"
		}
		p, err := c.parse()
		if err != nil {
			t.Fatal(err)
		}
		paths := strings.Join(p.paths(), " ")
		if got := p.Tables[0].released(); got != want[1] || paths != strings.ReplaceAll(want[0], "DIR", c.dir) {
			t.Errorf("%s: the release is %q, of the table %q", sink, paths, got)
		}
	}
}

// TestLoosening: of a project nothing but its name, its report and a stricter rule is set without being allowed to
// loosen.
func TestLoosening(t *testing.T) {
	c := newCare(t)
	c.project = strings.Replace(c.project, "[{min_k: 2}]",
		"[{min_k: 3}, {max_linked: 10%}, {max_unique: 0.1}, {max_individual_risk: 0.5}]", 1)
	for set, loosens := range map[string]bool{
		"name=x": false, "report.json=" + c.dir + "/r.json": false, "gate.rules.0.min_k=4": false,
		"gate.rules.1.max_linked=5%": false, "gate.rules.4.min_k=2": false,
		"gate.rules.0.min_k=2": true, "gate.rules.1.max_linked=11%": true, "gate.rules.2.max_unique=0.2": true,
		"gate.rules.3.max_individual_risk=0.6": true,
		"lineage.file=" + c.dir + "/e.ndjson":  true,
		"keys.0.optional=true":                 true, "keys.1.optional=true": true,
	} {
		p, err := c.parse(set)
		if err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		if got := p.LooseningAllowed(false) != nil; got != loosens || p.LooseningAllowed(true) != nil {
			t.Errorf("%s: loosens %v, want %v", set, got, loosens)
		}
		if _, err := Run(t.Context(), p, pipeline.Options{}); loosens &&
			(err == nil || !strings.Contains(err.Error(), "may let out what the file withholds")) {
			t.Errorf("%s: a run begins: %v", set, err)
		}
	}
	// What loosens a table's own configuration loosens the project.
	if _, err := c.parse(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "project.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p,
		err := Parse("project.yaml", text, config.Options{Environ: func() []string {
		return []string{"SDLFILTER_UNLISTED=drop"}
	}})
	if err != nil || p.LooseningAllowed(false) == nil || p.LooseningAllowed(true) != nil {
		t.Errorf("a table's setting: %v", err)
	}
}
