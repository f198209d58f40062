package tabling

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// kind is a value whose cells can be computed from dom, exp and the number of records.
type kind struct {
	line  string
	forms [3]int64 // of dom, exp and the number of records
}

var kinds = map[string]kind{
	"dom":   {"value: dom, unsafe: [{p_percent: 15}]", [3]int64{1, 0, 0}},
	"exp":   {"value: exp, unsafe: [{p_percent: 15}]", [3]int64{0, 1, 0}},
	"total": {"value: total, unsafe: [{p_percent: 15}]", [3]int64{1, 1, 0}},
	"copy":  {"value: copy, unsafe: [{p_percent: 30}]", [3]int64{1, 0, 0}},
	// dom in other units: 0.1 of it is not exact
	"tenth":  {"value: tenth, unsafe: [{p_percent: 15}], decimals: 1", [3]int64{1, 0, 0}},
	"count":  {"unsafe: [{threshold: 3}]", [3]int64{0, 0, 1}},
	"one":    {"value: one, unsafe: [{threshold: 3}], interval: {absolute: 2}", [3]int64{0, 0, 1}},
	"weight": {"weight: one, unsafe: [{threshold: 3}], interval: {absolute: 2}", [3]int64{0, 0, 1}},
}

// dependentTables is a random configuration of tables of values that depend on one another.
type dependentTables struct {
	names   []string
	rows    map[string]string
	records [][]string // r, c, then the values
	head    string
	all     string
}

func drawDependent(rng *rand.Rand) *dependentTables {
	d := &dependentTables{rows: map[string]string{},
		head: "version: 1\nsource: {csv: {path: %s/in.csv}}\nreport: {cells: %s/cells.csv}\n"}
	for _, name := range [][]string{{"dom", "exp", "total"}, {"dom", "copy"}, {"count", "one"}, {"count", "weight"},
		{"exp", "total", "dom", "copy"}, {"dom", "tenth"}, {"count", "one", "weight", "dom", "exp", "total"}}[rng.IntN(7)] {
		d.names = append(d.names, name)
		d.rows[name] = []string{"r, c", "r, c", "r"}[rng.IntN(3)]
	}
	rng.Shuffle(len(d.names), func(i, j int) { d.names[i], d.names[j] = d.names[j], d.names[i] })
	n := 28 + rng.IntN(20)
	if rng.IntN(4) == 0 && !slices.Contains(d.names, "tenth") { // too few to see an equation
		n = 14
		if slices.Contains(d.names, "total") && !slices.Contains(d.names, "count") {
			d.head += "equations: [total = dom + exp"
			if slices.Contains(d.names, "copy") {
				d.head += ", copy = dom"
			}
			d.head += "]\n"
		} else {
			n = 28
		}
	}
	for range n {
		dom, exp := 1+rng.IntN(90), rng.IntN(40)*rng.IntN(2)
		d.records = append(d.records, []string{fmt.Sprint("r", rng.IntN(3)), fmt.Sprint("c", rng.IntN(rng.IntN(3)+1)),
			fmt.Sprint(dom), fmt.Sprint(exp), fmt.Sprint(dom + exp), fmt.Sprint(dom), fmt.Sprintf("%d.0", dom), "1"})
	}
	d.all = d.config(d.names, "out.csv")
	return d
}

// config returns the configuration of some of the tables.
func (d *dependentTables) config(names []string, out string) string {
	text := d.head
	if len(names) == 1 {
		text, _, _ = strings.Cut(text, "equations")
	}
	text += "sink: {csv: {path: %s/" + out + "}}\ntables:\n"
	for _, name := range names {
		text += fmt.Sprintf("  - {name: %s, rows: [%s], %s, protect: {suppress: {}}}\n", name, d.rows[name], kinds[name].line)
	}
	return text
}

// breaches returns the unsafe cells, by the confidential file, whose value follows by linear equations alone from all
// published cells: for outsiders, and for each record that is alone in cells.
func (d *dependentTables) breaches(lines [][]string, unsafe map[string]bool) (found []string) {
	head := lines[0]
	column := func(line []string, name string) string {
		if i := slices.Index(head, name); i >= 0 {
			return line[i]
		}
		return "total"
	}
	var vectors [][]int64
	var who [][]int
	for _, line := range lines[1:] {
		v := make([]int64, 27)
		r, c := column(line, "r"), column(line, "c")
		for i := range 9 {
			if in := (r == "total" || r == fmt.Sprint("r", i/3)) && (c == "total" || c == fmt.Sprint("c", i%3)); in {
				for k, f := range kinds[line[0]].forms {
					v[3*i+k] = f
				}
			}
		}
		var in []int
		for i, x := range d.records {
			if (r == "total" || x[0] == r) && (c == "total" || x[1] == c) {
				in = append(in, i)
			}
		}
		vectors, who = append(vectors, v), append(who, in)
	}
	for k := -1; k < len(d.records); k++ {
		known, more := &span{}, false
		for i, line := range lines[1:] {
			own := len(who[i]) == 1 && who[i][0] == k
			more = more || own
			if column(line, "status") != "suppressed" || own {
				known.add(vectors[i])
			}
		}
		if k >= 0 && !more {
			continue
		}
		for i, line := range lines[1:] {
			own := len(who[i]) == 1 && who[i][0] == k
			if name := line[0] + "," + column(line, "r") + "," + column(line, "c"); unsafe[name] && !own &&
				known.has(vectors[i]) {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// No unsafe cell can be computed from the tables of all values together, for outsiders and respondents,
// where one value is the sum of others, a copy, a column of ones beside counts or weighted by it. Tables that were
// protected one by one mostly allow it; audit-tables names their cells.
func TestDependentValuesAreProtectedTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 4))
	published, open := 0, 0
	n := inShort(*configurations / 2)
	for trial := range n {
		d := drawDependent(rng)
		dir := t.TempDir()
		lines := []string{"r,c,dom,exp,total,copy,tenth,one"}
		for _, r := range d.records {
			lines = append(lines, strings.Join(r, ","))
		}
		write(t, dir, "in.csv", strings.Join(lines, "\n")+"\n")
		unsafe := func() map[string]bool {
			of := map[string]bool{}
			cells := read(t, dir, "cells.csv")
			for _, line := range cells[1:] {
				if line[slices.Index(cells[0], "status")] == "primary" {
					c := "total"
					if i := slices.Index(cells[0], "c"); i >= 0 {
						c = line[i]
					}
					of[line[0]+","+line[slices.Index(cells[0], "r")]+","+c] = true
				}
			}
			return of
		}
		res, err := run(t, dir, d.all)
		if err != nil {
			t.Fatal(err)
		}
		if res.Report.Withheld == "" {
			published++
			if found := d.breaches(read(t, dir, "out.csv"), unsafe()); len(found) > 0 {
				t.Fatalf("configuration %d: %v can be computed\n%s\n%s", trial, found, d.all, strings.Join(lines, "\n"))
			}
		} else if strings.Contains(res.Report.Withheld, "protected apart") {
			t.Errorf("configuration %d: %s", trial, res.Report.Withheld)
		}
		all := unsafe()
		var apart [][]string
		for i, name := range d.names {
			if res, err = run(t, dir, d.config([]string{name}, name+".csv")); err != nil {
				t.Fatal(err)
			}
			if res.Report.Withheld != "" {
				apart = nil
				break
			}
			own := read(t, dir, name+".csv")
			if i == 0 {
				apart = [][]string{{"table", "r", "c", "value", "status"}}
			}
			for _, line := range own[1:] {
				if len(line) == 4 { // without c
					line = []string{line[0], line[1], "total", line[2], line[3]}
				}
				apart = append(apart, line)
			}
		}
		if apart == nil {
			continue
		}
		found := d.breaches(apart, all)
		if len(found) == 0 {
			continue
		}
		open++
		text := ""
		for _, line := range apart {
			text += strings.Join(line, ",") + "\n"
		}
		write(t, dir, "apart.csv", text)
		rep, err := Audit(t.Context(), configured(t, dir, d.all), Foreign{Path: filepath.Join(dir, "apart.csv")},
			pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			parts := strings.Split(name, ",")
			ok := false
			for _, table := range rep.Tables {
				if table.Name == parts[0] {
					for _, cell := range slices.Concat(table.Disclosed, table.Respondent) {
						ok = ok || cell == "r="+parts[1]+", c="+parts[2] || cell == "r="+parts[1]
					}
				}
			}
			if !ok {
				t.Fatalf("configuration %d: %s can be computed, audit-tables does not say so: %+v\n%s", trial, name, rep.Tables,
					d.all)
			}
		}
	}
	t.Logf("%d published, %d would be open if protected one by one", published, open)
	if published < n/3 || open < n/5 {
		t.Errorf("%d published, %d open: the test shows little", published, open)
	}
}

// Tables of values that depend on one another in a way in which they cannot be protected together are
// withheld, unless all cells of all of them are published; a declared equation that does not hold is an error
// with codes and without values.
func TestDependentValuesThatCannotBeJoined(t *testing.T) {
	dir := t.TempDir()
	lines := "r,dom,exp,total,twice,back\n"
	for i := range 40 {
		dom, exp := 1000+7*i*i%311, 500+i
		if i < 2 {
			dom = 9000 + i
		}
		lines += fmt.Sprintf("r%d,%d,%d,%d,%d,%d\n", min(i/2, 3), dom, exp, dom+exp, 2*dom, dom+exp+3*dom)
	}
	write(t, dir, "in.csv", lines)
	table := func(value, unsafe, protect string) string {
		return fmt.Sprintf("  - {name: %s, rows: [r], value: %s, unsafe: [%s], protect: {%s}}\n", value, value, unsafe,
			protect)
	}
	const few, none = "{threshold: 3}", "{threshold: 2}"
	for _, c := range []struct {
		name, tables, more, withheld, refused string
	}{
		{"one is the sum", table("dom", few, "suppress: {}") + table("exp", few, "suppress: {}") +
			table("total", few, "suppress: {}"), "", "", ""},
		{"another factor", table("dom", few, "suppress: {}") + table("twice", few, "suppress: {}"), "",
			"dom: its cells do not follow from tables that are protected apart", ""},
		{"another factor, all published", table("dom", none, "suppress: {}") + table("twice", none, "suppress: {}"), "", "",
			""},
		{"several factors", table("dom", few, "suppress: {}") + table("exp", none, "suppress: {}") +
			table("back", none, "suppress: {}"), "", "back: its cells do not follow", ""},
		{"another cost", table("dom", few, "suppress: {}") + table("exp", none, "suppress: {}") +
			table("total", none, "suppress: {cost: log}"), "", "total: its cells do not follow", ""},
		{"another method", table("dom", few, "suppress: {}") + table("exp", none, "none: {}") +
			table("total", none, "none: {}"), "", "exp: its cells do not follow", ""},
		{"not an equation", table("dom", few, "suppress: {}") + table("exp", few, "suppress: {}") +
			table("twice", few, "suppress: {}"), "equations: [twice = dom + exp]\n", "",
			"equations[0]: must hold in the records: it does not in cell r=total, nor in 4 others"},
		{"contradictory equations", table("dom", few, "suppress: {}") + table("exp", few, "suppress: {}") +
			table("total", few, "suppress: {}"), "equations: [total = dom + exp, dom = total + exp]\n", "",
			"equations[1]: must hold in the records: it does not in cell r=total, nor in 4 others"},
	} {
		res,
			err := run(t, dir, "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\n"+c.more+
			"tables:\n"+c.tables)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) || strings.Contains(err.Error(), "9000") {
				t.Errorf("%s: error %v, want %s", c.name, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := res.Report.Withheld; c.withheld == "" && got != "" || !strings.Contains(got, c.withheld) {
			t.Errorf("%s: withheld %q, want %q", c.name, got, c.withheld)
		}
		for _, f := range res.Report.Families {
			if len(f.Related) == 0 {
				t.Errorf("%s: the report names no relation of %v", c.name, f.Tables)
			}
		}
	}
}

// A map of tables on which others depend recommends nothing: it protects them apart.
func TestMapsOfDependentValues(t *testing.T) {
	dir := t.TempDir()
	lines := "r,dom,copy,other\n"
	for i := range 60 {
		lines += fmt.Sprintf("r%d,%d,%d,%d\n", i/2%4, 1000+7*i*i%311, 1000+7*i*i%311, 1000+11*i*i%433)
	}
	write(t, dir, "in.csv", lines)
	for other, want := range map[string]bool{"copy": false, "other": true} {
		text := `version: 1
source: {csv: {path: %s/in.csv}}
sink: {csv: {path: %s/out.csv}}
gate: {rules: [{table: t, min_range: rule}]}
map: {table: t, methods: [{suppress: {}}]}
tables:
  - {name: t, rows: [r], value: dom, unsafe: [{threshold: 3}], protect: {suppress: {}}}
  - {name: u, rows: [r], value: ` + other + `, unsafe: [{threshold: 3}], protect: {suppress: {}}}
`
		m, err := Map(t.Context(), configured(t, dir, text), pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Recommended != nil; got != want {
			t.Errorf("%s: recommended %v, want %v: %+v", other, got, want, m)
		}
	}
}
