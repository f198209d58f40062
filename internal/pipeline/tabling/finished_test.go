package tabling

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// firm is a record of the tests of finished cells.
type firm struct {
	codes   []string // region, size
	who     string
	value   int
	holding string
}

const firmRegions = "child,parent\nN,\nS,\nn1,N\nn2,N\ns1,S\ns2,S\n"

// above are the codes that a region is a part of.
var above = map[string][]string{"n1": {"n1", "N", "total"}, "n2": {"n2", "N", "total"}, "s1": {"s1", "S", "total"},
	"s2": {"s2", "S", "total"}}

// finishedOf returns the finished cells of firms as CSV, tabulated by hand: of a table of region and size, and of one
// of region alone. Contributors are firms or holdings.
func finishedOf(firms []firm, holdings bool, largest int, number func(int) string) string {
	type key struct{ table, region, size string }
	cells := map[key]map[string]int{}
	for _, f := range firms {
		who := f.who
		if holdings {
			who = f.holding
		}
		for _, region := range above[f.codes[0]] {
			for _, k := range []key{{"both", region, f.codes[1]}, {"both", region, "total"}, {"regions", region, ""}} {
				if cells[k] == nil {
					cells[k] = map[string]int{}
				}
				cells[k][who] += f.value
			}
		}
	}
	var b strings.Builder
	b.WriteString("table,region,size,turnover,n")
	for i := range largest {
		fmt.Fprintf(&b, ",x%d,w%d", i, i)
	}
	b.WriteString("\n")
	for k, of := range cells { // in a random order
		var who []string
		sum := 0
		for w, v := range of {
			who = append(who, w)
			sum += v
		}
		slices.SortFunc(who, func(a, b string) int {
			if of[a] != of[b] {
				return of[b] - of[a]
			}
			return strings.Compare(a, b)
		})
		fmt.Fprintf(&b, "%s,%s,%s,%s,%d", k.table, k.region, k.size, number(sum), len(of))
		for i := range largest {
			if i < len(who) {
				fmt.Fprintf(&b, ",%s,%s", number(of[who[i]]), who[i])
			} else {
				b.WriteString(",,")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// randomFirms returns firms with different values, and their records as CSV.
func randomFirms(rng *rand.Rand, n int, number func(int) string) (firms []firm, text string) {
	var b strings.Builder
	b.WriteString("firm,holding,region,size,turnover\n")
	values := rng.Perm(1000)
	for i := range n {
		f := firm{
			codes: []string{[]string{"n1", "n2", "s1", "s2"}[rng.IntN(4)], []string{"a", "b", "c"}[min(rng.IntN(4), 2)]},
			who:   fmt.Sprintf("f%d", i), value: 1 + values[i], holding: fmt.Sprintf("h%d", rng.IntN(1+n*2/3)),
		}
		if i < 4 { // every code occurs
			f.codes = []string{[]string{"n1", "n2", "s1", "s2"}[i], []string{"a", "b", "c"}[i%3]}
		}
		firms = append(firms, f)
		fmt.Fprintf(&b, "%s,%s,%s,%s,%s\n", f.who, f.holding, f.codes[0], f.codes[1], number(f.value))
	}
	return firms, b.String()
}

const finishedTables = `version: 1
source: {csv: {path: %s/SOURCE.csv}}
hierarchies: {region: {file: %s/regions.csv}, size: {codes: [a, b, c]}}
coalition: COALITION
tables:
  - {name: both, rows: [region, size], VALUE unsafe: [RULES], protect: {suppress: {}}}
  - {name: regions, rows: [region], VALUE unsafe: [RULES], protect: {suppress: {}}}
sink: {csv: {path: %s/SOURCE-out.csv}}
report: {cells: %s/SOURCE-cells.csv, json: %s/SOURCE.json}
`

// Finished cells with their contributors give the same tables, ranges and verdicts as the records of which they were
// made, for firms and for holdings. Without names, firms are recognised by their values where these differ.
func TestFinishedCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 7))
	published, withheld, held := 0, 0, 0
	for trial := range 30 {
		dir := t.TempDir()
		number := strconv.Itoa
		if trial%4 > 1 {
			number = func(v int) string { return strconv.FormatFloat(float64(v)/4, 'f', -1, 64) }
		}
		firms, text := randomFirms(rng, 25+rng.IntN(60), number)
		holdings, coalition := trial%2 == 1, 1+trial%3
		write(t, dir, "regions.csv", firmRegions)
		write(t, dir, "records.csv", text)
		write(t, dir, "finished.csv", finishedOf(firms, holdings, 3, number))
		value, rules := "value: turnover,", "{threshold: 3}, {p_percent: 15}"
		columns := "count: n, largest: [x0, x1, x2]"
		if trial%5 == 4 {
			value, rules, columns = "", "{threshold: 3}", "count: n"
		}
		config := strings.NewReplacer("COALITION", strconv.Itoa(coalition), "VALUE", value, "RULES",
			rules).Replace(finishedTables)
		records := strings.ReplaceAll(config, "SOURCE", "records")
		if holdings {
			records += "holding: holding\n"
		}
		if holdings && value == "" {
			continue // a count of records is none of holdings
		}
		named := strings.ReplaceAll(config, "SOURCE", "finished") + "finished: {" + columns + ", who: [w0, w1, w2]}\n"
		want, err := run(t, dir, records)
		if err != nil {
			t.Fatal(err)
		}
		outs := []string{named}
		if !holdings && coalition == 1 {
			outs = append(outs, strings.Replace(named, ", who: [w0, w1, w2]", "", 1))
		}
		for _, out := range outs {
			got, err := run(t, dir, out)
			if err != nil {
				t.Fatal(err)
			}
			if got.Report.Withheld != want.Report.Withheld {
				t.Errorf("trial %d: withheld %q, of records %q", trial, got.Report.Withheld, want.Report.Withheld)
			}
			a, _ := os.ReadFile(filepath.Join(dir, "records-cells.csv"))
			b, _ := os.ReadFile(filepath.Join(dir, "finished-cells.csv"))
			if !bytes.Equal(a, b) {
				t.Errorf("trial %d: the cells differ:\n%s\n%s", trial, a, b)
			}
			if want.Report.Withheld != "" {
				withheld++
				continue
			}
			published++
			a, _ = os.ReadFile(filepath.Join(dir, "records-out.csv"))
			b, _ = os.ReadFile(filepath.Join(dir, "finished-out.csv"))
			if !bytes.Equal(a, b) {
				t.Errorf("trial %d: the tables differ:\n%s\n%s", trial, a, b)
			}
			held += want.Report.Families[0].Hidden
			os.Remove(filepath.Join(dir, "finished-out.csv"))
		}
	}
	if published < 20 || held < 100 {
		t.Errorf("%d published, %d withheld, %d cells held back: the test checks little", published, withheld, held)
	}
}

// Rows that are of no cell, cells that contradict themselves and columns that are not there are named by place, without
// the contents of the rows, which may stand in the wrong column.
func TestFinishedRowsThatDoNotFit(t *testing.T) {
	const good = "table,region,size,turnover,n,x0,x1\nboth,total,total,10,3,5,4\nboth,total,a,10,3,5,4\nboth,n1,total,10,3,5,4\nboth,n1,a,10,3,5,4\n" +
		"both,N,total,10,3,5,4\nboth,N,a,10,3,5,4\nregions,total,total,10,3,5,4\nregions,N,,10,3,5,4\nregions,n1,total,10,3,5,4\n"
	config := strings.NewReplacer("COALITION", "1", "VALUE", "value: turnover,", "RULES",
		"{threshold: 3}, {p_percent: 15}", "SOURCE", "in").Replace(finishedTables) +
		"finished: {count: n, largest: [x0, x1]}\n"
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{"both,n1,a", "other,n1,a", "source: row 4 is of no table of the configuration (column table)"},
		{"both,n1,a", "both,74185,a", "source: row 4 has a code that region does not have, or none"},
		{"both,n1,a", "both,n1,", "source: row 4 has a code that size does not have, or none"},
		{"regions,n1,total", "regions,n1,a", "source: row 9 has a code of size, which is no variable of its table"},
		{"both,n1,a,10,3,5,4", "both,n1,a,10,3,5,74185",
			"source: cell region=n1, size=a: must have its largest contributions in descending order"},
		{"both,n1,a,10,3,5,4", "both,n1,a,10,,5,4",
			"source: cell region=n1, size=a: must have a whole number of contributors"},
		{"both,n1,a,10,3,5,4", "both,n1,a,74185,3,5,4",
			"source: cell region=n1, size=a: has other contributors who would have to contribute more"},
		{"both,N,a,10,3,5,4\n", "", "source: cell region=N, size=a: is not the sum of its parts"},
		{"turnover,n,x0,x1", "turnover,n,x0,x2", "finished.largest[1]: the source has no column \"x1\""},
		{"turnover,n,x0,x1", "turnover,m,x0,x1", "finished.count: the source has no column \"n\""},
		{"table,", "tabel,", "finished: the source has no column \"table\""},
		{good[strings.Index(good, "\n")+1:], "", "source"},
	} {
		dir := t.TempDir()
		write(t, dir, "regions.csv", "child,parent\nN,\nn1,N\n")
		write(t, dir, "in.csv", strings.Replace(good, c.from, c.to, 1))
		res, err := run(t, dir, strings.Replace(config, "codes: [a, b, c]", "codes: [a]", 1))
		switch {
		case c.want == "" && (err != nil || res.Report.Withheld != ""):
			t.Error(err, res)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: error %v, want %q", c.to, err, c.want)
		case err != nil && strings.Contains(err.Error(), "74185"):
			t.Errorf("the error has the content of a row: %v", err)
		case c.want == "" &&
			(len(res.Report.Warnings) != 1 || !strings.Contains(res.Report.Warnings[0], "finished.who is not given")):
			t.Errorf("warnings %q", res.Report.Warnings)
		}
	}
}

// Codes are read off the rows: totals are not leaves, neither by their code nor by the length of a prefix. What another
// tool published of the cells is judged like that of records.
func TestFinishedCodes(t *testing.T) {
	dir := t.TempDir()
	rows := "nace,size,n\nall,all,20\n"
	for _, c := range []struct {
		nace string
		a, b int
	}{{"A", 9, 2}, {"B", 5, 4}, {"A1", 5, 1}, {"A2", 4, 1}, {"B1", 3, 2}, {"B2", 2, 2}} {
		rows += fmt.Sprintf("%[1]s,all,%[4]d\n%[1]s,a,%[2]d\n%[1]s,b,%[3]d\n", c.nace, c.a, c.b, c.a+c.b)
	}
	rows += "all,a,14\nall,b,6\n"
	write(t, dir, "in.csv", rows)
	const text = "version: 1\nsource: {csv: {path: %s/in.csv}}\nfinished: {count: n}\nhierarchies: {nace: {prefix: [1, 2], total: all}, size: {total: all}}\n" +
		"tables: [{name: t, rows: [nace, size], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\nsink: {csv: {path: %s/out.csv}}\n"
	res, err := run(t, dir, text)
	if err != nil || res.Report.Withheld != "" || res.Report.Tables[0].Cells != 21 || res.Report.Tables[0].Primary != 2 {
		t.Fatal(err, res)
	}
	own, err := os.ReadFile(filepath.Join(dir, "out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := audited(t, dir, text, string(own)); err != nil || !rep.Gate.Passed {
		t.Errorf("own tables: %v, %v", err, rep)
	}
	if rep, err := audited(t, dir, text,
		strings.Replace(string(own), "t,A1,a,,suppressed", "t,A1,a,5,published", 1)); err != nil || rep.Gate.Passed ||
		len(rep.Tables[0].Disclosed) == 0 {
		t.Errorf("tables that disclose: %v, %v", err, rep)
	}
	rounded := strings.Replace(text, "protect: {suppress: {}}", "protect: {round: {base: 5, mode: small}}", 1)
	if res, err := run(t, dir, rounded); err != nil || res.Report.Tables[0].Method != "round: small" {
		t.Error(err, res)
	}
}
