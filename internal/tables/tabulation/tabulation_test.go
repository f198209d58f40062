package tabulation

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/config"
	_ "github.com/sdlfilter/sdlfilter/internal/formats" // those that a configuration can name
)

// refusedTabulation checks that a configuration with a changed text is refused with an error that
// contains want, and returns the error.
func refusedTabulation(t *testing.T, base, from, to, want string) error {
	t.Helper()
	text := strings.Replace(base, from, to, 1)
	if text == base {
		t.Fatalf("%q is not in the configuration", from)
	}
	_, err := Parse("t.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%q: got %v, want %q", to, err, want)
	}
	return err
}

// candidatesReadAgain returns the descriptions of everything that a map compares; nothing may be
// omitted. It writes each candidate into a configuration and checks that reading this configuration
// gives the same candidate.
func candidatesReadAgain(t *testing.T, p *Config) (words []string) {
	t.Helper()
	list, left, err := p.Candidates()
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	for i := range list {
		words = append(words, list[i].String())
		text, err := p.Protected(&list[i])
		if err != nil {
			t.Fatalf("%s: %v", words[i], err)
		}
		again, err := Parse("t.yaml", text, config.Options{})
		if err != nil || again.Tables[0].Protect.flow() != list[i].Protect.flow() {
			t.Errorf("%s is read as %s, %v", words[i], again.Tables[0].Protect.flow(), err)
		}
	}
	return words
}

var update = flag.Bool("update", false, "rewrite the schema")

// The schema in the repository is the one generated from the types.
func TestSchemaIsCurrent(t *testing.T) {
	file := filepath.Join("..", "..", "..", "config", "sdlfilter.tables.schema.json")
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs from the schema of the types (%v); run go test ./internal/tables/tabulation -update", file, err)
	}
}

// A file is not named like one of another format, by which other programs would open it.
func TestExtensionsOfSinks(t *testing.T) {
	const text = "version: 1\nsource: {csv: {path: in.csv}}\ntables: [{name: t, rows: [a], unsafe: [{threshold: 3}], protect: {suppress: {}}}]\nsink: {SINK}\n"
	for sink, want := range map[string]string{
		"csv: {path: out/o.csv}": "", "csv: {path: out.d/o}": "", "jsonl: {path: o.json}": "",
		"postgres: {table: o.xlsx, address: {env: A}}": "",
		"csv: {path: o.xlsx}":                          "sink.csv.path: must not end in .xlsx, by which programs take the file for one of sink xlsx",
		"jsonl: {path: o.XLS}":                         "sink.jsonl.path: must not end in .xls",
		"parquet: {path: o.csv}":                       "sink.parquet.path: must not end in .csv, by which programs take the file for one of sink csv",
		"xlsx: {path: o.xlsx}":                         "", "xlsx: {path: o.XLSX}": "",
		"xlsx: {path: o.csv}": "sink.xlsx.path: must end in .xlsx",
	} {
		_, err := Parse("t.yaml", []byte(strings.Replace(text, "SINK", sink, 1)), config.Options{})
		if want == "" && err != nil && strings.Contains(err.Error(), "must not end") || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", sink, err, want)
		}
	}
}

const goodTabulation = `version: 1
name: turnover-2026
source: {parquet: {path: firms.parquet}}
holding: group_id
request: asked
unknown: drop
hierarchies:
  nace: {columns: [section, division, class]}
  region: {files: [nuts.csv, tourism.hrc], total: EU}
  postcode: {prefix: [1, 2, 5]}
  sex: {codes: [f, m]}
tables:
  - name: by-nace-region
    rows: [nace, region]
    value: turnover
    weight: w
    decimals: 1
    unsafe: [{threshold: 3}, {p_percent: 15}, {pq: [15, 80]}, {dominance: [2, 85]}, {request: 10}]
    interval: {percent: 20}
    apriori: known.csv
    protect: {suppress: {cost: log, zeros: may, respondents: ignore}}
  - name: counts
    rows: [region, sex, postcode]
    unsafe: [{threshold: 3}]
    protect: {suppress: {}}
  - name: more counts
    rows: [sex]
    unsafe: [{threshold: 3}]
    protect: {suppress: {}}
gate: {rules: [{max_disclosed: 0}, {min_range: rule}, {table: counts, min_efficiency: 80%}]}
sink: {jsonl: {path: out/tables.jsonl}}
report: {json: out/tables.json, html: out/tables.html, cells: out/cells.csv}
`

func TestGoodTabulation(t *testing.T) {
	c, err := Parse("t.yaml", []byte(goodTabulation), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if c.Tables[1].Zeros != "safe" || c.Tables[1].Protect.Suppress.Cost != "unit" ||
		c.Tables[1].Protect.Suppress.Respondents != "protect" || c.Variable("sex").Total != "total" {
		t.Errorf("defaults are missing: %+v", c.Tables[1])
	}
	if again, err := Parse("u.yaml", []byte(goodTabulation), config.Options{}); err != nil ||
		again.SHA256() != c.SHA256() {
		t.Errorf("the same configuration has a different digest (%v)", err)
	}
	var v any
	if err := yaml.Unmarshal([]byte(goodTabulation), &v); err != nil {
		t.Fatal(err)
	}
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("tables", document); err != nil {
		t.Fatal(err)
	}
	if schema, err := compiler.Compile("tables"); err != nil || schema.Validate(v) != nil {
		t.Error(err, schema.Validate(v))
	}
}

// All errors of a file are reported together, each with its place.
func TestFaultsOfATabulation(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"version: 1", "version: 2", "version: must be 1, got 2 (t.yaml:1:10)"},
		{"source: {parquet: {path: firms.parquet}}\n", "", "source: is required"},
		{"holding:", "pipeline: p.yaml\nholding:", "pipeline: must not stand beside source"},
		{"parquet: {path: firms.parquet}", "kafka: {brokers: [b], topic: x, format: json}", "source.kafka: must be files"},
		{"request: asked\n", "", "request: is required by tables[0].unsafe[4].request"},
		{"sex: {codes: [f, m]}", "sex: {codes: [f, f]}", `hierarchies.sex.codes[1]: must be a code of its own, got "f"`},
		{"sex: {codes: [f, m]}", "sx: {codes: [f, m]}", "hierarchies.sx: is a variable of no table (t.yaml:11:3)"},
		{"prefix: [1, 2, 5]", "prefix: [1, 2, 2]", "hierarchies.postcode.prefix[2]: must be greater than 2, got 2"},
		{"columns: [section, division, class]", "columns: [section, region]",
			"variables nace and region are both made from column region"},
		{"rows: [nace, region]", "rows: [nace, nace]", `tables[0].rows[1]: must not repeat a variable, got "nace" again`},
		{"rows: [nace, region]", "rows: [nace, status]",
			`tables[0].rows[1]: must not be "status", which is a column of the published file`},
		{"rows: [region, sex, postcode]", "rows: []", "tables[1].rows: must name at least one variable"},
		{"name: more counts", "name: counts", `tables[2].name: must be a name that no other table has, got "counts" again`},
		{"decimals: 1", "decimals: 12", "tables[0].decimals: must be between 0 and 9, got 12"},
		{"[15, 80]", "[80, 15]", "tables[0].unsafe[2].pq: p must be less than q"},
		{"[15, 80]", "[15]", "tables[0].unsafe[2].pq: must be two numbers, got 1"},
		{"[2, 85]", "[2.5, 85]", "tables[0].unsafe[3].dominance[0]: must be a whole number, got 2.5"},
		{"[2, 85]", "[2, 100]", "tables[0].unsafe[3].dominance[1]: must be between 0 and 100, both excluded, got 100"},
		{"[{threshold: 3}, {p_percent: 15}", "[{threshold: 1}, {p_percent: 15}",
			"tables[0].unsafe[0].threshold: must be at least 2, got 1"},
		{"rows: [sex]\n    unsafe: [{threshold: 3}]", "rows: [sex]\n    unsafe: [{p_percent: 3}]",
			"tables[2].unsafe[0]: only threshold is a rule for counts"},
		{"rows: [sex]\n    unsafe: [{threshold: 3}]", "rows: [sex]\n    unsafe: [{threshold: 4}]",
			"tables[2].unsafe: must be that of tables[1]"},
		{"rows: [sex]\n    unsafe: [{threshold: 3}]\n    protect: {suppress: {}}",
			"rows: [sex]\n    unsafe: [{threshold: 3}]\n    protect: {none: {}}",
			"tables[2].protect: must be that of tables[1]: both tables are of the same value"},
		{"rows: [sex]", "rows: [sex]\n    zeros: unsafe", "tables[2].zeros: must be left out of a table of counts"},
		{"rows: [sex]", "rows: [sex]\n    absolute: true", "tables[2].absolute: must be left out of a table of counts"},
		{"percent: 20", "percent: -20", "tables[0].interval.percent: must be at least 0, got -20"},
		{"max_disclosed: 0", "max_disclosed: 1", "gate.rules[0].max_disclosed: must be 0, got 1"},
		{"min_efficiency: 80%", "min_efficiency: 180%", "gate.rules[2].min_efficiency: must be at most 100%"},
		{"table: counts, min", "table: count, min", `gate.rules[2].table: must be * or the name of a table, got "count"`},
		{"jsonl: {path: out/tables.jsonl}", "kafka: {brokers: [b], topic: x, format: json}", "sink.kafka: must be files"},
		{"jsonl: {path: out/tables.jsonl}", "jsonl: {path: nuts.csv}", "sink.jsonl.path: must not be a hierarchy itself"},
		{"cells: out/cells.csv", "cells: out/tables.public.json",
			"report.cells: must not be the file of the public report (report.json)"},
		{"sink: {jsonl: {path: out/tables.jsonl}}", "sink: {jsonl: {path: out/tables.jsonl}, order: shuffled}",
			"sink.order: must be left out"},
		{"suppress: {cost: log", "supress: {cost: log", "is not a field here"},
	} {
		refusedTabulation(t, goodTabulation, c.from, c.to, c.want)
	}
	text := strings.NewReplacer("version: 1", "version: 2", "[15, 80]", "[80, 15]", "max_disclosed: 0",
		"max_disclosed: 1").Replace(goodTabulation)
	_, err := Parse("t.yaml", []byte(text), config.Options{})
	if errs, ok := err.(config.Errors); !ok || len(errs) != 3 {
		t.Errorf("three faults, reported: %v", err)
	}
}

// A coalition has at most as many contributors as cells keep identities of, and only audits that
// know coalitions have one.
func TestCoalitionsOfTables(t *testing.T) {
	const text = `version: 1
source: {csv: {path: in.csv}}
tables: [{name: t, rows: [region], unsafe: [{threshold: 3}], protect: {PROTECT}}]
sink: {csv: {path: out.csv}}
`
	for _, c := range []struct{ protect, more, want string }{
		{"suppress: {}", "", ""},
		{"suppress: {}", "coalition: 3\n", ""},
		{"round: {base: 3}", "coalition: 1\n", ""},
		{"suppress: {}", "coalition: 0\n", "coalition: must be between 1 and 3, got 0"},
		{"suppress: {}", "coalition: 4\n", "coalition: must be between 1 and 3, got 4"},
		{"round: {base: 3}", "coalition: 2\n",
			"coalition: must be 1: tables[0] is protected by round, which is audited against single contributors, got 2"},
		{"suppress: {}", "coalition: 2\nmap: {}\n", "coalition: must be 1 beside map"},
	} {
		p, err := Parse("t.yaml", []byte(strings.Replace(text, "PROTECT", c.protect, 1)+c.more), config.Options{})
		if c.want == "" && (err != nil || p.Coalition < 1) || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %q: error %v, want %q", c.protect, c.more, err, c.want)
		}
	}
}

// An equation is between values of tables.
func TestEquationsOfTables(t *testing.T) {
	const text = `version: 1
source: {csv: {path: in.csv}}
tables:
  - {name: d, rows: [region], value: dom, unsafe: [{threshold: 3}], protect: {suppress: {}}}
  - {name: t, rows: [region], value: total, unsafe: [{threshold: 3}], protect: {suppress: {}}}
  - {name: e, rows: [region], value: exp, unsafe: [{threshold: 3}], protect: {suppress: {}}}
  - {name: n, rows: [region], unsafe: [{threshold: 3}], protect: {suppress: {}}}
sink: {csv: {path: out.csv}}
`
	const form = "equations[1]: must be a value and the sum of others"
	for equation, want := range map[string]string{
		"total = dom + exp": "", "total=dom+exp": "", "dom = total": "",
		"total = dom + imp": `equations[1]: must be between values of tables, got "imp"`,
		"totl = dom + exp":  `equations[1]: must be between values of tables, got "totl" (did you mean "total"?)`,
		"total":             form, "": form, "= dom": form, "total = dom +": form, "total = total + dom": form,
		"total = dom + dom": form,
	} {
		_, err := Parse("t.yaml", []byte(text+"equations: ['exp = dom', '"+equation+"']\n"), config.Options{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", equation, err, want)
		}
	}
	if total, parts, ok := Equation(" a b = c + d "); !ok || total != "a b" || !slices.Equal(parts, []string{"c", "d"}) {
		t.Errorf("%q = %q, %v", total, parts, ok)
	}
}
