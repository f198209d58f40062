package tabulation

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulate"
)

// validateTabulation checks what must hold beyond the form of single fields.
func (l *loader) validateTabulation(t *Config) {
	if !l.Known("") {
		return
	}
	if l.Given("version") && l.Sound("version") && t.Version != 1 {
		l.Wrong("version", "must be 1, got %d", t.Version)
	}
	l.validateTabulated(t)
	l.validateMissing(t)
	l.validateCoalition(t)
	l.validateEquations(t)
	l.validateFinished(t)
	l.validateReleases(t)
	l.validateVariables(t)
	if l.Given("tables") && l.Sound("tables") && len(t.Tables) == 0 {
		l.Wrong("tables", "must name at least one table")
	}
	for i := range t.Tables {
		l.validateTable(t, i)
	}
	l.validateColumnsOnce(t)
	l.validateLinks(t)
	l.validateTableMap(t)
	l.validateRecordKeys(t)
	l.validateTableGate(t)
	l.validateSDMX(t)
	l.validateJJ(t)
	l.validateWindow(t)
	l.validatePaths(t)
	l.Extension(config.Sink(t.Sink))
}

// validateCoalition demands that the audit knows what a coalition of several contributors knows.
func (l *loader) validateCoalition(t *Config) {
	if !l.Sound("coalition") {
		return
	}
	var ps check.Problems
	ps.Whole("coalition", t.Coalition, 1, tabulate.MostIdentities)
	l.Within("", ps)
	if t.Coalition < 2 || len(ps) > 0 {
		return
	}
	if t.Map != nil {
		l.Wrong("coalition", "must be 1 beside map, whose methods are not all audited against several contributors, got %d",
			t.Coalition)
	}
	for i := range t.Tables {
		if p := &t.Tables[i].Protect; p.Perturbs() {
			l.Wrong("coalition",
				"must be 1: tables[%d] is protected by %s, which is audited against single contributors, got %d", i, p.Name(),
				t.Coalition)
			return
		}
	}
}

// validateEquations demands that equations are between values of tables.
func (l *loader) validateEquations(t *Config) {
	var values []string
	for _, table := range t.Tables {
		if table.Value != "" {
			values = append(values, table.Value)
		}
	}
	for i, e := range t.Equations {
		at := fmt.Sprintf("equations[%d]", i)
		total, parts, ok := Equation(e)
		if !ok {
			l.Wrong(at, "must be a value and the sum of others, such as total = domestic + export, got %q", e)
			continue
		}
		for _, name := range append([]string{total}, parts...) {
			if !slices.Contains(values, name) && l.Sound("tables") {
				l.Wrong(at, "must be between values of tables, got %q%s", name, form.Instead(name, values))
				break
			}
		}
	}
}

// validateTabulated judges where records come from and where tables go.
func (l *loader) validateTabulated(t *Config) {
	source, pipeline := l.Given("source"), l.Given("pipeline")
	switch {
	case source && pipeline:
		l.Wrong("pipeline", "must not stand beside source: a pipeline brings its own")
	case !source && !pipeline && !l.Misspelt("", "source") && !l.Misspelt("", "pipeline"):
		l.WrongAt("", "source", "is required: the records, or pipeline in its place")
	}
	if t.Source.Config != nil {
		l.Within("source."+t.Source.Kind, t.Source.Config.Check())
		if t.Source.Kind == "kafka" {
			l.Wrong("source.kafka",
				"must be files; for the tables of a topic, give instead of source a pipeline that reads the topic and lists its columns")
		}
	}
	if t.Sink.Config != nil {
		l.Within("sink."+t.Sink.Kind, t.Sink.Config.Check())
		if t.Sink.Kind == "kafka" {
			l.Wrong("sink.kafka", "must be files: tables are published as a whole or not at all")
		}
	}
	if t.Sink.Order != "" {
		l.Wrong("sink.order",
			"must be left out: cells are written in the order of their codes, which discloses nothing about the records")
	}
}

func (l *loader) validateVariables(t *Config) {
	used := map[string]bool{}
	for _, table := range t.Tables {
		for _, v := range table.Rows {
			used[v] = true
		}
	}
	for i := range t.Hierarchies {
		v := &t.Hierarchies[i]
		at := form.Join("hierarchies", v.Name)
		if !used[v.Name] && l.Sound("tables") && len(t.Releases) == 0 {
			l.WrongName(at, "is a variable of no table")
		}
		if len(v.Codes) > 0 && (len(v.Columns) > 0 || len(v.Prefix) > 0) {
			l.Wrong(at+".codes", "must not stand beside columns or prefix, which read the codes off the records")
		}
		last := 0
		for k, n := range v.Prefix {
			if n <= last {
				l.Wrong(fmt.Sprintf("%s.prefix[%d]", at, k), "must be greater than %d, got %d", last, n)
			}
			last = n
		}
		for k, c := range v.Codes {
			if c == v.Total || c == "" || slices.Contains(v.Codes[:k], c) {
				l.Wrong(fmt.Sprintf("%s.codes[%d]", at, k), "must be a code of its own, got %q", c)
			}
		}
		if v.Total == "" {
			l.Wrong(at+".total", "must not be empty")
		}
	}
}

// validateColumnsOnce demands that no two variables are made of one column: their cells
// would be linked, and nobody would know it. Several hierarchies of one variable are.
func (l *loader) validateColumnsOnce(t *Config) {
	var names []string
	for _, table := range t.Tables {
		for _, v := range table.Rows {
			if v != "" && !slices.Contains(names, v) {
				names = append(names, v)
			}
		}
	}
	of := map[string]string{}
	for _, name := range names {
		v := t.Variable(name)
		for _, c := range append(slices.Clone(v.Columns), v.Leaf()) {
			if other, taken := of[c]; taken && other != name {
				l.Wrong("tables",
					"variables %s and %s are both made from column %s, so that cells of one can be inferred from cells of the other: make them one variable with several hierarchies", other, name, c)
			}
			of[c] = name
		}
	}
}

func (l *loader) validateTable(t *Config, i int) {
	table := &t.Tables[i]
	at := fmt.Sprintf("tables[%d]", i)
	for _, before := range t.Tables[:i] {
		if before.Name == table.Name && table.Name != "" {
			l.Wrong(at+".name", "must be a name that no other table has, got %q again", table.Name)
		}
	}
	if l.Given(at+".rows") && l.Sound(at+".rows") && len(table.Rows) == 0 {
		l.Wrong(at+".rows", "must name at least one variable")
	}
	for k, v := range table.Rows {
		path := fmt.Sprintf("%s.rows[%d]", at, k)
		switch {
		case v == "":
			l.Wrong(path, "must be the name of a variable, got \"\"")
		case slices.Contains(reservedColumns, v):
			l.Wrong(path,
				"must not be %q, which is a column of the published file; give the variable another name (hierarchies, column)", v)
		case slices.Contains(table.Rows[:k], v):
			l.Wrong(path, "must not repeat a variable, got %q again", v)
		}
	}
	if table.Decimals != nil {
		var ps check.Problems
		ps.Whole("decimals", *table.Decimals, 0, 9)
		l.Within(at, ps)
	}
	if table.Value == "" && table.Absolute {
		l.Wrong(at+".absolute", "must be left out of a table of counts")
	}
	if table.Value == "" && table.Zeros == "unsafe" {
		l.Wrong(at+".zeros", "must be left out of a table of counts: nobody is counted in a cell of value 0")
	}
	l.validatePerturbed(t, table, at)
	l.validateRules(t, table, at)
}

// reservedColumns are the columns of what is published beside the variables.
var reservedColumns = []string{"table", "value", "status"}

func (l *loader) validateRules(t *Config, table *Table, at string) {
	for k, u := range table.Unsafe {
		path := fmt.Sprintf("%s.unsafe[%d]", at, k)
		for name, list := range map[string][]float64{"pq": u.PQ, "dominance": u.Dominance} {
			if l.Given(path+"."+name) && l.Sound(path+"."+name) && len(list) != 2 {
				l.Wrong(path+"."+name, "must be two numbers, got %d", len(list))
			}
		}
		if len(u.Dominance) == 2 && u.Dominance[0] != float64(int(u.Dominance[0])) {
			l.Wrong(path+".dominance[0]", "must be a whole number, got %v", u.Dominance[0])
		}
		if l.Given(path+".request") && t.Request == "" {
			l.WrongAt("", "request", "is required by %s.request: the column that says who has asked for protection", path)
		}
	}
	if l.Sound(at + ".unsafe") {
		var ps check.Problems
		for _, p := range (primary.Options{Rules: PrimaryRules(table.Unsafe)}).Check(table.Value == "") {
			p.Path = "unsafe" + p.Path[len("rules"):]
			ps = append(ps, p)
		}
		l.Within(at, ps)
	}
	if table.Interval != nil {
		var ps check.Problems
		ps.AtLeast("interval.absolute", table.Interval.Absolute, 0)
		ps.AtLeast("interval.percent", table.Interval.Percent, 0)
		l.Within(at, ps)
	}
}

// PrimaryRules are the rules in the form of package primary. A list without two numbers is
// left out.
func PrimaryRules(unsafe []Unsafe) []primary.Rule {
	rules := make([]primary.Rule, len(unsafe))
	for i, u := range unsafe {
		rules[i] = primary.Rule{Threshold: u.Threshold, PPercent: u.PPercent, Request: u.Request}
		if len(u.PQ) == 2 {
			rules[i].PQ = &primary.PQ{P: u.PQ[0], Q: u.PQ[1]}
		}
		if len(u.Dominance) == 2 {
			rules[i].Dominance = &primary.Dominance{N: int(u.Dominance[0]), K: u.Dominance[1]}
		}
	}
	return rules
}

// Linked reports whether two tables are of one value, so that one of them helps to infer cells
// of the other.
func (t *Table) Linked(o *Table) bool { return t.Value == o.Value && t.Weight == o.Weight }

// validateLinks demands that tables of one value have the same protection: a cell that they
// share must be hidden in both, and one method cannot take back what another one publishes.
func (l *loader) validateLinks(t *Config) {
	for i := range t.Tables {
		for k := range t.Tables[:i] {
			a, b := &t.Tables[k], &t.Tables[i]
			if !a.Linked(b) {
				continue
			}
			for _, f := range []struct {
				name string
				same bool
			}{
				{"protect", reflect.DeepEqual(a.Protect, b.Protect)}, {"unsafe", reflect.DeepEqual(a.Unsafe, b.Unsafe)},
				{"zeros", a.Zeros == b.Zeros}, {"interval", reflect.DeepEqual(a.Interval, b.Interval)},
				{"absolute", a.Absolute == b.Absolute}, {"decimals", reflect.DeepEqual(a.Decimals, b.Decimals)},
			} {
				at := fmt.Sprintf("tables[%d].%s", i, f.name)
				if !f.same && l.Sound(at, fmt.Sprintf("tables[%d].%s", k, f.name)) {
					l.Wrong(at,
						"must be that of tables[%d]: both tables are of the same value, so cells of one can be inferred from the other",
						k)
				}
			}
			break
		}
	}
}

// validateJJ demands that what is written as JJ is one set of cells, some of them held back.
func (l *loader) validateJJ(t *Config) {
	if t.Report.JJ == "" || !l.Sound("report.jj", "tables") {
		return
	}
	if !strings.HasSuffix(t.Report.JJ, ".jj") {
		l.Wrong("report.jj", "must end in .jj, by which audit-tables knows the format, got %q", t.Report.JJ)
	}
	for i := range t.Tables {
		switch p := &t.Tables[i].Protect; {
		case !t.Tables[i].Linked(&t.Tables[0]):
			l.Wrong("report.jj", "must be left out: tables[%d] is of another value than tables[0], and the format has one", i)
		case p.Perturbs():
			l.Wrong("report.jj",
				"must be left out: tables[%d] is protected by %s, and the format is for cells that are held back", i, p.Name())
		}
	}
}

func (l *loader) validateTableGate(t *Config) {
	for i, r := range t.Gate.Rules {
		at := fmt.Sprintf("gate.rules[%d]", i)
		known := []string{"*"}
		for _, table := range t.Tables {
			known = append(known, table.Name)
		}
		if !slices.Contains(known, r.Table) && l.Sound(at+".table", "tables") {
			l.Wrong(at+".table", "must be * or the name of a table, got %q%s", r.Table, form.Instead(r.Table, known))
		}
		if r.MaxDisclosed != nil && *r.MaxDisclosed != 0 {
			l.Wrong(at+".max_disclosed", "must be 0, got %d: a table in which an unsafe cell can be computed is never published",
				*r.MaxDisclosed)
		}
		if r.MinEfficiency != nil {
			var ps check.Problems
			ps.Between("min_efficiency", *r.MinEfficiency, 0, 1)
			l.Within(at, ps)
		}
		l.validateTableRisk(r, at)
	}
}

// validatePaths demands that no output is an input and no two outputs are one
// file.
func (l *loader) validatePaths(t *Config) {
	files := l.Files()
	if t.Source.Config != nil {
		files.Input(form.Join("source", t.Source.Kind)+".path", config.PathOf(t.Source.Config), "the source")
	}
	files.Input("pipeline", t.Pipeline, "the pipeline")
	files.Input("key.file", t.Key.File, "the key")
	for i := range t.Hierarchies {
		v := &t.Hierarchies[i]
		at := form.Join("hierarchies", v.Name)
		files.Input(at+".file", v.File, "a hierarchy")
		for k, f := range v.Files {
			files.Input(fmt.Sprintf("%s.files[%d]", at, k), f, "a hierarchy")
		}
	}
	for i := range t.Tables {
		files.Input(fmt.Sprintf("tables[%d].apriori", i), t.Tables[i].Apriori, "an a-priori list")
		if c := t.Tables[i].Protect.CellKey; c != nil {
			files.Input(fmt.Sprintf("tables[%d].protect.cell_key.p_table", i), c.PTable, "a table of changes")
		}
	}
	for i := range t.Releases {
		at := fmt.Sprintf("releases[%d]", i)
		files.Input(at+".report", t.Releases[i].Report, "the report of an earlier release")
		if s := t.Releases[i].Source; s.Config != nil {
			files.Input(form.Join(at+".source", s.Kind)+".path", config.PathOf(s.Config), "the records of an earlier release")
		}
	}
	if t.Sink.Config != nil && t.Sink.Kind != "kafka" {
		for _, file := range t.Sink.Config.Paths() {
			if file != "stdout" {
				files.Output("sink."+t.Sink.Kind+".path", file, "the tables")
			}
		}
	}
	files.Output("report.json", t.Report.JSON, "the report")
	files.Output("report.html", t.Report.HTML, "the HTML report")
	files.Output("report.json", config.PublicPath(t.Report.JSON), "the public report")
	files.Output("report.html", config.PublicPath(t.Report.HTML), "the public HTML report")
	files.Output("report.jj", t.Report.JJ, "the cells as JJ")
	files.Output("report.cells", t.Report.Cells, "the confidential cells")
	files.Apart()
}

// validateMissing judges the declared codes of the source.
func (l *loader) validateMissing(t *Config) {
	for _, name := range slices.Sorted(maps.Keys(t.Missing)) {
		m := t.Missing[name]
		l.Within(form.Join("missing", name), m.Check())
	}
	if t.Pipeline != "" && l.Given("missing") {
		l.Wrong("missing", "must be left out with pipeline: its columns say which values mean that there is none")
	}
}
