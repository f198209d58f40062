package tabling

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

// shops are records with a region, a size and a turnover.
const shops = `region,size,turnover
n1,small,2
n1,big,3.5
n1,big,4
n1,big,7
n1,big,8
n2,small,5
n2,small,6
n2,small,6
n2,small,9
n2,big,11
n2,big,12
n2,big,12.25
n2,big,30
s1,small,1
s1,small,2
s1,small,3
s1,small,4
s1,big,21
`

const regions = "child,parent\nN,\nS,\nn1,N\nn2,N\ns1,S\n"

const shopTables = `version: 1
name: shops
source: {csv: {path: %s/in.csv}}
hierarchies:
  region: {file: %s/regions.csv}
tables:
  - name: by-region
    rows: [region, size]
    unsafe: [{threshold: 2}]
    interval: {absolute: 3}
    protect: {suppress: {}}
  - name: sizes
    rows: [size]
    unsafe: [{threshold: 2}]
    interval: {absolute: 3}
    protect: {suppress: {}}
  - name: turnover
    rows: [size]
    value: turnover
    unsafe: [{threshold: 2}]
    protect: {suppress: {}}
gate: {rules: [{table: by-region, min_efficiency: 0.1}, {table: "*", min_efficiency: 0.05}, {table: turnover, min_efficiency: 0.9}]}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json, html: %s/report.html, cells: %s/cells.csv}
`

func shopsIn(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "in.csv", shops)
	write(t, dir, "regions.csv", regions)
	return dir
}

// addUp is brute force: the count and turnover of a region and a size; "total" means all.
func addUp(region, size string) (n int, turnover float64) {
	above := map[string]string{"n1": "N", "n2": "N", "s1": "S"}
	for line := range strings.Lines(shops[strings.IndexByte(shops, '\n')+1:]) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if (region == "total" || region == f[0] || region == above[f[0]]) && (size == "total" || size == f[1]) {
			x, _ := strconv.ParseFloat(f[2], 64)
			n, turnover = n+1, turnover+x
		}
	}
	return n, turnover
}

// Every table, with its pages and reports, contains the correct value of each cell, or says that it
// is suppressed. The parts of the report add up to its cells.
func TestTablesAndWhatIsToldOfThem(t *testing.T) {
	dir := shopsIn(t)
	res, err := run(t, dir, shopTables)
	if err != nil {
		t.Fatal(err)
	}
	rep := res.Report
	if rep.Withheld != "" || !rep.Gate.Passed || rep.Schema != ReportSchema || rep.Name != "shops" ||
		rep.Version != "test" || rep.Finished.Before(rep.Started) || len(rep.ConfigSHA256) != 64 || rep.KeyID != "" {
		t.Errorf("the report contains %+v", rep)
	}
	var files []string
	for _, path := range res.Files {
		files = append(files, filepath.Base(path))
	}
	if want := []string{"out.csv", "report.public.html", "report.public.json", "cells.csv", "report.html",
		"report.json"}; !slices.Equal(files, want) {
		t.Errorf("published in the order %v, want %v", files, want)
	}
	if rep.Records.Read != 18 || rep.Records.Tabulated != 18 || rep.Records.Lost() != 0 || len(rep.Records.Unknown) != 0 {
		t.Errorf("the records of the report are %+v, want 18 tabulated", rep.Records)
	}
	public, secret := read(t, dir, "out.csv"), read(t, dir, "cells.csv")
	if got := strings.Join(public[0], ","); got != "table,region,size,value,status" {
		t.Errorf("the header is %s", got)
	}
	if got := strings.Join(secret[0], ","); !strings.HasPrefix(got,
		"table,region,size,value,contributors,status,rule,need_low,need_high,low,high") {
		t.Errorf("the header of the cells is %s", got)
	}
	if len(public) != len(secret) || len(public) != 1+18+3+3 {
		t.Fatalf("%d public and %d secret lines", len(public), len(secret))
	}
	count := map[string]map[string]int{}
	for i, p := range public[1:] {
		s := secret[1+i]
		if !slices.Equal(p[:3], s[:3]) {
			t.Fatalf("line %d is the cell %v in one file and %v in the other", i, p, s)
		}
		table, region, size := p[0], p[1], p[2]
		if table != "by-region" && region != "total" {
			t.Errorf("%s sums up the regions, but has %v", table, p)
		}
		n, turnover := addUp(region, size)
		want, digits := float64(n), 0
		if table == "turnover" {
			want, digits = turnover, 2
		}
		text := strconv.FormatFloat(want, 'f', digits, 64)
		if s[3] != text || s[4] != strconv.Itoa(n) {
			t.Errorf("%v: by the records, the value is %s with %d contributors", s, text, n)
		}
		if count[table] == nil {
			count[table] = map[string]int{}
		}
		count[table][s[5]]++
		hidden := s[5] == "primary" || s[5] == "secondary"
		if shown, err := strconv.ParseFloat(p[3], 64); hidden != (p[4] == "suppressed") || hidden != (p[3] == "") ||
			!hidden && (err != nil || shown != want) {
			t.Errorf("the public line is %v, the confidential one %v", p, s)
		}
		if (s[5] == "primary") != (n == 1) || (n == 1) != (s[6] == "threshold") || (n == 1) != (s[7] != "") {
			t.Errorf("%d contributors, but the line is %v", n, s)
		}
		// one unit if zeros are never suppressed, and 3 above
		if s[5] == "primary" && table == "by-region" && (s[7] != "1" || s[8] != "4") {
			t.Errorf("the required range is %s to %s, want 1 to 4: %v", s[7], s[8], s)
		}
		if hidden {
			low, err1 := strconv.ParseFloat(s[9], 64)
			high, err2 := strconv.ParseFloat(s[10], 64)
			if err1 != nil || err2 != nil || low > want || high < want || low == high {
				t.Errorf("the inferable range is %s to %s, which does not contain the value or is one value: %v", s[9], s[10], s)
			}
		} else if s[9] != "" || s[10] != "" {
			t.Errorf("a published cell has a range: %v", s)
		}
	}
	for _, r := range rep.Tables {
		c := count[r.Name]
		if r.Primary != c["primary"] || r.Secondary != c["secondary"] || r.Rules["threshold"] != c["primary"] ||
			r.Published+r.Primary+r.Secondary+r.Empty != r.Cells || r.Empty != 0 ||
			float64(r.Efficiency) != float64(r.Published)/float64(r.Cells) {
			t.Errorf("the table report is %+v, the file has %v", r, c)
		}
		if len(r.Disclosed)+len(r.Narrow)+len(r.Respondent)+r.Unproven > 0 || r.Method != "suppress" {
			t.Errorf("%s: the audit has findings or another method: %+v", r.Name, r)
		}
	}
	if len(rep.Families) != 2 || !slices.Equal(rep.Families[0].Tables, []string{"by-region", "sizes"}) ||
		rep.Families[0].Cells != 18 || rep.Families[1].Cells != 3 ||
		rep.Families[0].Hidden != rep.Tables[0].Primary+rep.Tables[0].Secondary || rep.Families[1].Hidden != 0 ||
		len(rep.Families[0].PatternSHA256) != 64 || rep.Families[0].PatternSHA256 == rep.Families[1].PatternSHA256 {
		t.Errorf("the families are %+v", rep.Families)
	}
	// 2 rules of each table, and 2, 1 and 2 of the gate.
	if len(rep.Gate.Rules) != 2*3+2+1+2 {
		t.Errorf("%d rules are judged, want 11: %+v", len(rep.Gate.Rules), rep.Gate.Rules)
	}
	var written Report
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil || json.Unmarshal(text, &written) != nil || written.ConfigSHA256 != rep.ConfigSHA256 ||
		written.Release == nil || written.Release.Path != "out.csv" || len(written.Release.SHA256) != 64 {
		t.Errorf("report.json: error %v, release %+v", err, written.Release)
	}
	if info, err := os.Stat(filepath.Join(dir, "out.csv")); err != nil || info.Size() != written.Release.Bytes {
		t.Errorf("the report has %d bytes of the release, which is not its size", written.Release.Bytes)
	}
	if public, err := os.ReadFile(filepath.Join(dir, "report.public.json")); err == nil {
		checkPublic(t, public, rep)
	} else {
		t.Error(err)
	}
}

// checkPublic compares the public report with the confidential one.
func checkPublic(t *testing.T, text []byte, rep *Report) {
	t.Helper()
	var p Public
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if p.Schema != PublicSchema || p.Name != rep.Name || p.Version != rep.Version || !p.Audited ||
		len(p.Tables) != len(rep.Tables) || p.Release == nil || *p.Release != *rep.Release {
		t.Errorf("the public report contains %+v", p)
	}
	for i, r := range rep.Tables {
		if got := p.Tables[i]; got.Name != r.Name || got.Value != r.Value || got.Method != r.Method || got.Cells != r.Cells ||
			got.Empty != r.Empty || got.Published != r.Published || got.Suppressed != r.Primary+r.Secondary ||
			!slices.Equal(got.Variables, r.Variables) {
			t.Errorf("the public report has %+v for the table %+v", got, r)
		}
	}
	if strings.Contains(string(text), "primary") || strings.Contains(string(text), "rules") {
		t.Error("the public report reveals which cells are unsafe")
	}
}

// cellsOfPage returns the cells of a page, by row.
func cellsOfPage(t *testing.T, dir, name string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range strings.Split(string(text), "<tr")[1:] {
		var cells []string
		row, _, _ = strings.Cut(row, "</tr>")
		for _, c := range strings.Split(row, "<t")[1:] {
			_, c, _ = strings.Cut(c, ">")
			c, _, _ = strings.Cut(c, "</t")
			for strings.Contains(c, "<") {
				before, rest, _ := strings.Cut(c, "<")
				_, after, _ := strings.Cut(rest, ">")
				c = before + " " + after
			}
			cells = append(cells, strings.Join(strings.Fields(c), " "))
		}
		rows = append(rows, cells)
	}
	return rows
}

// A page has a total before its parts, in rows and columns. For a suppressed cell the public page
// has only a mark; the confidential page has its value, its rule and its range.
func TestPagesOfTables(t *testing.T) {
	dir := shopsIn(t)
	if _, err := run(t, dir, shopTables); err != nil {
		t.Fatal(err)
	}
	public, secret := cellsOfPage(t, dir, "report.public.html"), cellsOfPage(t, dir, "report.html")
	find := func(rows [][]string, first string) []string {
		i := slices.IndexFunc(rows, func(r []string) bool { return len(r) == 4 && r[0] == first })
		if i < 0 {
			t.Fatalf("no row begins with %s in %q", first, rows)
		}
		return rows[i]
	}
	if i := slices.IndexFunc(public, func(r []string) bool {
		return slices.Equal(r, []string{"region", "total", "big", "small"})
	}); i < 0 {
		t.Errorf("the header of the first table is missing in %q", public)
	} else {
		var order []string
		for _, r := range public[i+1 : i+7] {
			order = append(order, r[0])
		}
		if want := []string{"total", "N", "n1", "n2", "S", "s1"}; !slices.Equal(order, want) {
			t.Errorf("the rows are %v, want %v", order, want)
		}
	}
	for row, want := range map[string][]string{"total": {"18", "9", "9"}, "n1": {"5", "×", "×"}, "n2": {"8", "×", "×"},
		"S": {"5", "×", "×"}} {
		if got := find(public, row); !slices.Equal(got[1:], want) {
			t.Errorf("the public page has %v, want %v", got, want)
		}
	}
	if got := find(secret, "n1"); got[1] != "5" || !strings.HasPrefix(got[2], "4 ") ||
		!strings.HasPrefix(got[3], "1 threshold ") || !strings.Contains(got[3], " to ") ||
		strings.Contains(got[2], "threshold") {
		t.Errorf("the confidential page has %q", got)
	}
	if got := find(secret, "size"); !slices.Equal(got[1:], []string{"18", "9", "9"}) &&
		!slices.Equal(got[1:], []string{"146.75", "108.75", "38.00"}) {
		t.Errorf("a table of one variable has the row %q", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.public.html"))
	if err != nil || strings.Contains(string(text), "threshold") || strings.Contains(string(text), `"primary"`) ||
		!strings.Contains(string(text), "146.75") {
		t.Errorf("the public page shows which cells are unsafe, or does not show the total (error %v)", err)
	}
	if strings.Count(string(text), "<caption>Number of records</caption>") != 2 ||
		strings.Count(string(text), "<caption>turnover</caption>") != 1 {
		t.Error("the captions of the tables do not name what is counted or summed")
	}
}

// If a rule of the gate fails, no public file remains and an earlier release does not change. The
// confidential report is written, whichever rule fails.
func TestTablesAreWithheld(t *testing.T) {
	for _, c := range []struct{ name, old, with, because string }{
		{"the first rule", "min_efficiency: 0.1}", "min_efficiency: 0.99}", "by-region: efficiency at least 0.99"},
		{"the last rule", "{table: turnover, min_efficiency: 0.9}",
			"{table: turnover, min_efficiency: 1}, {table: by-region, min_efficiency: 1}", "by-region: efficiency at least 1"},
		{"unprotected", "interval: {absolute: 3}\n    protect: {suppress: {}}",
			"interval: {absolute: 3}\n    protect: {none: {}}", "by-region: at most 0 unsafe cells can be computed"},
		{"the total", "in.csv}", "one.csv}", "by-region: the total of all is safe"},
	} {
		dir := shopsIn(t)
		write(t, dir, "one.csv", "region,size,turnover\nn1,small,2\n")
		write(t, dir, "out.csv", "earlier")
		text := strings.ReplaceAll(shopTables, c.old, c.with)
		res, err := run(t, dir, text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if res.Report.Gate.Passed || !strings.HasPrefix(res.Report.Withheld, "does not hold: ") ||
			!strings.Contains(res.Report.Withheld, c.because) {
			t.Errorf("%s: withheld because %q", c.name, res.Report.Withheld)
		}
		if out, _ := os.ReadFile(filepath.Join(dir, "out.csv")); string(out) != "earlier" {
			t.Errorf("%s: the earlier release is now %q", c.name, out)
		}
		entries, _ := os.ReadDir(dir)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		sort.Strings(names)
		if want := []string{"cells.csv", "in.csv", "one.csv", "out.csv", "regions.csv", "report.html",
			"report.json"}; !slices.Equal(names, want) {
			t.Errorf("%s: the folder has the files %v", c.name, names)
		}
		if len(res.Files) != 3 || res.Report.Release != nil {
			t.Errorf("%s: the result lists the files %v with the release %v", c.name, res.Files, res.Report.Release)
		}
		for _, rule := range res.Report.Gate.Rules {
			if rule.Passed != (rule.Advice == "") {
				t.Errorf("%s: a passed rule has advice, or a failed one has none: %+v", c.name, rule)
			}
		}
	}
}

// The released values of the masks are tabulated, not the original values. Columns that a pipeline
// does not release cannot be tabulated.
func TestTablesOfWhatMasksRelease(t *testing.T) {
	const tables = `version: 1
pipeline: %s/pipeline.yaml
tables:
  - {name: t, rows: [region], value: turnover, unsafe: [{threshold: 2}], protect: {suppress: {}}}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json}
`
	const masks = `version: 1
key: {file: %s/k}
source: {csv: {path: %s/in.csv}}
columns:
  firm: {role: identifier}
  region: {role: key}
  turnover: {role: sensitive, decimals: 0}
masks:
  - truncate: {columns: [turnover], upper: 45}
sink: {csv: {path: %s/release.csv}}
`
	set := func(t *testing.T) string {
		dir := t.TempDir()
		write(t, dir, "k", base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF")))
		write(t, dir, "in.csv", "firm,region,turnover\n1,n,20\n2,n,50\n3,n,40\n4,s,70\n5,s,80\n6,s,100\n")
		write(t, dir, "pipeline.yaml", strings.ReplaceAll(masks, "%s", dir))
		return dir
	}
	dir := set(t)
	res, err := run(t, dir, tables)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, row := range read(t, dir, "out.csv")[1:] {
		got[row[1]] = row[2]
	}
	if got["total"] != "240" || got["n"] != "105" || got["s"] != "135" || res.Report.KeyID == "" {
		t.Errorf("the tables are %v with the key %q", got, res.Report.KeyID)
	}
	if _, err := os.Stat(filepath.Join(dir, "release.csv")); err == nil {
		t.Error("the pipeline's own release was written")
	}
	for _, c := range []struct{ old, with, want string }{
		{"rows: [region]", "rows: [firm]",
			`tables[0].rows[0]: must be a column that the pipeline releases, got "firm", an identifier`},
		{"rows: [region]", "rows: [regoin]", `the source has no column "regoin" (did you mean column `},
		{"value: turnover", "value: region", "must be a numeric column, got region, which is string"},
		{"pipeline.yaml", "out.yaml", "out.yaml"},
	} {
		dir := set(t)
		if _, err := run(t, dir, strings.ReplaceAll(tables, c.old, c.with)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.with, err, c.want)
		}
	}
	// Identifiers of the pipeline may distinguish contributors.
	dir = set(t)
	if res, err = run(t, dir, "holding: firm\n"+tables); err != nil || res.Report.Records.Tabulated != 6 {
		t.Errorf("with holdings: error %v, or not 6 records", err)
	}
	for _, c := range []struct{ old, with, want string }{
		{"  region: {role: key}\n", "", "not listed: column "},
		{"key: {file: %s/k}", "key: {file: %s/gone}", "gone"},
		{"in.csv}", "gone.csv}", "source: "},
		{"upper: 45", "upper: 45}\n  - noise: {columns: [region], sd: 3", "region"},
	} {
		dir := set(t)
		write(t, dir, "pipeline.yaml", strings.ReplaceAll(strings.Replace(masks, c.old, c.with, 1), "%s", dir))
		if _, err := run(t, dir, tables); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.with, err, c.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "out.csv")); err == nil {
			t.Errorf("%s: the run left a release", c.with)
		}
	}
}

// Errors of the records are all reported together, by number and never by value; with unknown: drop
// the records are omitted and counted.
func TestRecordsThatAreInNoTable(t *testing.T) {
	const broken = "region,size,turnover,weight,firm\n" +
		"n1,big,10,1,a\nn1,big,11,2,b\nn1,big,12,1,c\nn2,big,13,1,d\nn2,big,,1,e\nn2,big,4711x,1,e\nelsewhere,big,14,1,f\nN,big,15,1,g\ns1,big,16,1,h\ns1,big,17,0.5,i\ns1,big,18,1,\ns1,big,19,,k\n"
	const tables = `version: 1
source: {csv: {path: %s/in.csv, types: {turnover: float64, weight: float64}}}
holding: firm
hierarchies: {region: {file: %s/regions.csv}}
tables:
  - {name: t, rows: [region], value: turnover, weight: weight, decimals: 0, unsafe: [{threshold: 2}], protect: {suppress: {}}}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json}
`
	dir := t.TempDir()
	write(t, dir, "in.csv", broken)
	write(t, dir, "regions.csv", regions)
	_, err := run(t, dir, tables)
	var problems config.Errors
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	for _, want := range []string{
		"source: 1 record cannot be read; mend them, or leave them out (unknown: drop)",
		"tables[0].value: 1 record of no value in turnover",
		"tables[0].weight: 2 records of no weight of at least 1 in weight",
		"holding: 1 record of no holding in firm",
		"hierarchies.region: 2 records with a code that region does not have as a leaf, or with none",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is missing in\n%v", want, err)
		}
	}
	if len(problems) != 5 || strings.Contains(err.Error(), "4711") || strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("want 5 problems without values, got\n%v", err)
	}
	res, err := run(t, dir, "unknown: drop\n"+tables)
	if err != nil {
		t.Fatal(err)
	}
	r := res.Report.Records
	if r.Read != 12 || r.Malformed != 1 || r.NoValue != 1 || r.NoWeight != 2 || r.NoHolding != 1 || r.NoCode != 2 ||
		r.Lost() != 7 || r.Tabulated != 5 || len(r.Unknown) != 1 || r.Unknown["region"] != 2 {
		t.Errorf("the records of the report are %+v", r)
	}
	for _, c := range []struct{ data, old, with, want string }{
		{"region,size,turnover,weight,firm\n", "", "", "source: has no record"},
		{"region,size,turnover,weight,firm\nn1,big,0.1234567891,1,a\nn1,big,1,1,a\n", "decimals: 0, ", "",
			"tables[0].decimals: must be given: values of turnover have more than 9 decimals"},
		{broken, "regions.csv", "gone.csv", "hierarchies.region: file "},
		{broken, "hierarchies: {region: {file: %s/regions.csv}}\n", "hierarchies: {size: {prefix: [9]}}\n", ""},
	} {
		write(t, dir, "in.csv", c.data)
		_, err := run(t, dir, "unknown: drop\n"+strings.Replace(tables, c.old, c.with, 1))
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: error %v, want %s", c.with, err, c.want)
		}
	}
}
