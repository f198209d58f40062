package tabling

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const exchangedTables = `version: 1
source: {csv: {path: %s/in.csv}}
hierarchies: {region: {prefix: [1, 2]}}
tables:
  - {name: t, rows: [region, sex, age], unsafe: [{threshold: 3}], protect: {METHOD}}
  - {name: u, rows: [age, region], unsafe: [{threshold: 3}], protect: {METHOD}}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json, html: %s/report.html, cells: %s/cells.csv}
`

// exchangedOf runs the tables with a method on some people.
func exchangedOf(t *testing.T, rows []string, method, more string) (dir string, res *Result) {
	t.Helper()
	dir = t.TempDir()
	people(t, dir, rows)
	text := strings.ReplaceAll(exchangedTables, "METHOD", method) + more
	if !strings.Contains(method, "simulate") {
		text += "key: {file: %s/key}\nidentity: [id]\n"
	}
	res, err := run(t, dir, text)
	if err != nil {
		t.Fatal(err)
	}
	return dir, res
}

// denseIn draws people in every region, sex and age, so that few counts are small.
func denseIn(rng *rand.Rand, n int) (rows []string) {
	for i := range n {
		region := []string{"n1", "n2", "s1"}[rng.IntN(3)]
		rows = append(rows, fmt.Sprintf("%d,%s,%s,%d", 1000+i, region, []string{"f", "m"}[rng.IntN(2)], 10*rng.IntN(6)))
	}
	return rows
}

// In the published tables, the counts by region, and those by sex and age together, are true and
// are declared as true. All sums are consistent, some other counts differ, and the order of the
// records does not matter.
func TestExchangedTablesKeepTheirMargins(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 21))
	rows := denseIn(rng, 160)
	for method, status := range map[string]string{"simulate: {}": "simulated", "markov: {theta: 0.8}": "perturbed",
		"swap: {rate: 0.5}": "swapped"} {
		words := map[string]string{"simulated": "drawn anew", "perturbed": "perturbed at random",
			"swapped": "swapped at random"}[status]
		dir, res := exchangedOf(t, rows, method, "")
		if res.Report.Withheld != "" {
			t.Fatalf("%s: withheld because %s", method, res.Report.Withheld)
		}
		counts := map[string]int{} // of the records
		for _, row := range rows {
			f := strings.Split(row, ",")
			for _, region := range []string{f[1], f[1][:1], "total"} {
				for _, sex := range []string{f[2], "total"} {
					for _, age := range []string{f[3], "total"} {
						counts[region+"|"+sex+"|"+age]++
					}
				}
			}
		}
		shown, changed := map[string]int{}, 0
		for _, row := range read(t, dir, "out.csv")[1:] {
			cell := strings.Join(row[1:4], "|")
			n, err := strconv.Atoi(row[4])
			if err != nil {
				t.Fatal(row)
			}
			if before, seen := shown[cell]; seen && before != n {
				t.Errorf("%s: %s is %d in one table, but %d in the other", method, cell, before, n)
			}
			shown[cell] = n
			margin := row[1] == "total" || row[2] == "total" && row[3] == "total"
			switch want := map[bool]string{true: "published", false: status}[margin]; {
			case row[5] != want:
				t.Errorf("%s: %s has the status %s, want %s", method, cell, row[5], want)
			case margin && n != counts[cell]:
				t.Errorf("%s: %s is %d, want %d", method, cell, n, counts[cell])
			case n != counts[cell]:
				changed++
			}
		}
		for cell, n := range shown {
			f := strings.Split(cell, "|")
			if f[0] == "n" && n != shown["n1|"+f[1]+"|"+f[2]]+shown["n2|"+f[1]+"|"+f[2]] || f[1] == "total" &&
				n != shown[f[0]+"|f|"+f[2]]+shown[f[0]+"|m|"+f[2]] {
				t.Errorf("%s: %s does not add up", method, cell)
			}
		}
		if changed < 30 {
			t.Errorf("%s: only %d counts changed, want at least 30", method, changed)
		}
		shuffled := append([]string(nil), rows...)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, _ := exchangedOf(t, shuffled, method, "")
		if a, b := read(t, dir, "out.csv"), read(t, again, "out.csv"); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: the order of the records changes the tables", method)
		}
		page, err := os.ReadFile(filepath.Join(dir, "report.public.html"))
		if err != nil ||
			!strings.Contains(string(page), "with the true counts by region, and by all other variables together; all else is "+
				words+"<") {
			t.Errorf("%s: error %v, or the page does not name the true margins: %s", method, err, page)
		}
	}
}

// If swaps are made between people of the same sex, the counts by region and sex stay true as well,
// and are declared as true; no others are, and some differ.
func TestSwapsOfThoseWhoAreAlike(t *testing.T) {
	rows := denseIn(rand.New(rand.NewPCG(16, 24)), 200)
	dir, res := exchangedOf(t, rows, "swap: {rate: 0.6, match: [sex]}", "")
	if res.Report.Withheld != "" {
		t.Fatal(res.Report.Withheld)
	}
	changed := 0
	for _, row := range read(t, dir, "out.csv")[1:] {
		n := 0
		for _, one := range rows {
			f := strings.Split(one, ",")
			if strings.HasPrefix(f[1], strings.Replace(row[1], "total", "", 1)) && (row[2] == "total" || row[2] == f[2]) &&
				(row[3] == "total" || row[3] == f[3]) {
				n++
			}
		}
		kept := row[1] == "total" || row[3] == "total"
		if want := map[bool]string{true: "published", false: "swapped"}[kept]; row[5] != want || kept &&
			row[4] != strconv.Itoa(n) {
			t.Errorf("%v: the true count is %d, want the status %s", row, n, want)
		}
		if row[4] != strconv.Itoa(n) {
			changed++
		}
	}
	if changed < 20 {
		t.Errorf("only %d counts changed, want at least 20", changed)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.public.html"))
	const want = "all else is swapped at random between records alike in sex, by which and region together counts are true, too"
	if err != nil || !strings.Contains(string(page), want) {
		t.Errorf("%q is missing in the page (error %v): %s", want, err, page)
	}
}

// A simulated table depends only on its margins: other records with the same margins give the same
// table.
func TestSimulatedTablesTellNothingButMargins(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 22))
	rows := denseIn(rng, 160)
	other := append([]string(nil), rows...)
	regions := make([]string, len(rows))
	for i, row := range rows {
		regions[i] = strings.Split(row, ",")[1]
	}
	rng.Shuffle(len(regions), func(i, j int) { regions[i], regions[j] = regions[j], regions[i] })
	for i, row := range other {
		f := strings.Split(row, ",")
		f[1] = regions[i]
		other[i] = strings.Join(f, ",")
	}
	a, one := exchangedOf(t, rows, "simulate: {}", "")
	b, two := exchangedOf(t, other, "simulate: {}", "")
	if one.Report.Withheld != "" || two.Report.Withheld != "" {
		t.Fatal(one.Report.Withheld, two.Report.Withheld)
	}
	if fmt.Sprint(read(t, a, "out.csv")) != fmt.Sprint(read(t, b, "out.csv")) {
		t.Error("records with the same margins give different tables")
	}
	if fmt.Sprint(read(t, a, "cells.csv")) == fmt.Sprint(read(t, b, "cells.csv")) {
		t.Error("the records are the same: the test checks nothing")
	}
}

// small returns a table with two rows and two columns.
func small(t *testing.T, method, more string, counts ...int) *Result {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "key", testKey)
	var rows []string
	for at, n := range counts {
		for range n {
			rows = append(rows, fmt.Sprintf("%d,%s,%s", len(rows), []string{"x", "y"}[at/2], []string{"p", "q"}[at%2]))
		}
	}
	write(t, dir, "in.csv", "id,a,b\n"+strings.Join(rows, "\n")+"\n")
	if !strings.Contains(method, "simulate") {
		more += "key: {file: %s/key}\nidentity: [id]\n"
	}
	res,
		err := run(t, dir,
		"version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\ntables: [{name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {"+method+"}}]\n"+more)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out.csv")); (err == nil) != (res.Report.Withheld == "") {
		t.Errorf("%s of the counts %v: os.Stat of the release returns %v, withheld because %q", method, counts, err,
			res.Report.Withheld)
	}
	return res
}

// Tables are withheld if a margin, which is published unchanged, is unsafe; if an unsafe count has
// only one possible value, for everybody or for a respondent; and if a gate asks for more.
func TestExchangedTablesThatAreWithheld(t *testing.T) {
	for _, c := range []struct {
		name, method, more string
		counts             []int
		want               string // of the text; "": published
	}{
		{"the margin leaves 0 to 3", "simulate: {}", "", []int{1, 14, 2, 83}, ""},
		{"a margin is 2", "simulate: {}", "", []int{1, 14, 1, 83}, "at most 0 unsafe cells can be computed"},
		{"a total is 2", "simulate: {}", "", []int{1, 1, 17, 83}, "at most 0 unsafe cells can be computed"},
		// C(3, n) C(97, 15−n)/C(100, 15) for n = 0 to 3 are 0.61082, 0.33117, 0.05519 and 0.00281.
		{"risk is 1/entropy under independence", "simulate: {}", "gate: {rules: [{max_risk: 1.1856}]}\n", []int{1, 14, 2, 83},
			""},
		{"risk is no less", "simulate: {}", "gate: {rules: [{max_risk: 1.1855}]}\n", []int{1, 14, 2, 83},
			"risk at most 1.1855"},
		// 0 of 3 records is believed with C(585, 3)/C(600, 3) = 0.927, and is not true. Of two others in her column, the
		// respondent who is alone in her cell believes with C(585, 2)/C(599, 2) = 0.954 that both are in the other row, which
		// is true.
		{"almost certain, but of another count", "simulate: {respondents: ignore}", "", []int{1, 14, 2, 583}, ""},
		{"a respondent is almost certain", "simulate: {}", "", []int{1, 14, 2, 583},
			"at most 0 unsafe cells can be computed"},
		{"a required range", "simulate: {}", "gate: {rules: [{min_range: rule}]}\n", []int{1, 14, 2, 83},
			"reaches as far as its rule asks"},
		{"markov: a high exchange probability", "markov: {theta: 0.9}", "", []int{2, 14, 17, 83}, ""},
		{"markov: a low exchange probability", "markov: {theta: 0.001}", "", []int{2, 14, 17, 83},
			"at most 0 unsafe cells can be computed"},
		{"a swap of a third", "swap: {rate: 0.35}", "", []int{2, 14, 17, 83}, ""},
		{"a swap of nearly no records", "swap: {rate: 0.001}", "", []int{2, 400, 40, 800},
			"at most 0 unsafe cells can be computed"},
		{"a swap of all records, as many in both rows", "swap: {rate: 1}", "", []int{2, 14, 10, 6},
			"at most 0 unsafe cells can be computed"},
		{"a swap that keeps an unsafe margin", "swap: {rate: 0.35}", "", []int{1, 14, 1, 83},
			"at most 0 unsafe cells can be computed"},
		{"markov: an empty row to exchange with", "markov: {theta: 0.9}", "", []int{2, 0, 17, 83},
			"at most 0 unsafe cells can be computed"},
	} {
		res := small(t, c.method, c.more, c.counts...)
		if c.want == "" && res.Report.Withheld != "" || !strings.Contains(res.Report.Withheld, c.want) {
			t.Errorf("%s: withheld because %q, want %q", c.name, res.Report.Withheld, c.want)
		}
	}
}

// If margins of 1 are published, the first count of 2, 1, 1, 0 is 2 or 3, and a respondent who is
// one of the two next to it knows which. The same holds for those respondents' counts. Nobody else
// knows.
func TestExchangedTablesAndRespondents(t *testing.T) {
	for respondents, want := range map[string]int{"protect": 3, "ignore": 0} {
		dir := t.TempDir()
		write(t, dir, "in.csv", "a,b\nx,p\nx,p\nx,q\ny,p\n")
		write(t, dir, "safe.csv", "a,b,as\ny,total,safe\ntotal,q,safe\n")
		res, err := run(t, dir, "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\n"+
			"tables: [{name: t, rows: [a, b], apriori: %s/safe.csv, unsafe: [{threshold: 3}], protect: {simulate: {respondents: "+respondents+"}}}]\n")
		if err != nil {
			t.Fatal(err)
		}
		r := res.Report.Tables[0]
		if len(r.Respondent) != want || len(r.Disclosed) > 0 || (res.Report.Withheld != "") != (want > 0) {
			t.Errorf("%s: respondents can infer %v, disclosed cells %v, withheld because %q", respondents, r.Respondent,
				r.Disclosed, res.Report.Withheld)
		}
	}
}

// A respondent who is alone in a count is not tested for that count.
func TestNobodyIsAskedOfHerOwnCount(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", "a,b\nx,p\nx,p\nx,q\n"+strings.Repeat("y,p\n", 5))
	write(t, dir, "safe.csv", "a,b,as\ntotal,q,safe\n")
	res, err := run(t, dir, "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\n"+
		"tables: [{name: t, rows: [a, b], apriori: %s/safe.csv, unsafe: [{threshold: 2}], protect: {simulate: {}}}]\n")
	if err != nil || res.Report.Withheld != "" {
		t.Errorf("error %v, result %+v, want a release", err, res)
	}
}

// A respondent in the same square as a perturbed count can narrow its range of possible values:
// next to a single record, only one value remains.
func TestPerturbedTablesAndRespondents(t *testing.T) {
	for respondents, want := range map[string]bool{"protect": true, "ignore": false} {
		inferred := false
		for n := range 20 {
			dir := t.TempDir()
			write(t, dir, "key", testKey)
			write(t, dir, "in.csv", fmt.Sprintf("id,a,b\n1,x,p\n2,x,q\n3,y,p\n%d,y,q\n", 4+n))
			write(t, dir, "safe.csv", "a,b,as\nx,total,safe\ny,total,safe\ntotal,p,safe\ntotal,q,safe\n")
			res,
				err := run(t, dir,
				"version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\nkey: {file: %s/key}\nidentity: [id]\n"+
					"tables: [{name: t, rows: [a, b], apriori: %s/safe.csv, unsafe: [{threshold: 3}], protect: {markov: {theta: 0.5, respondents: "+respondents+"}}}]\n")
			if err != nil {
				t.Fatal(err)
			}
			inferred = inferred || len(res.Report.Tables[0].Respondent) > 0
		}
		if inferred != want {
			t.Errorf("%s: respondents can infer a cell: %v", respondents, inferred)
		}
	}
}

// Linked tables need one table with all variables.
func TestExchangesNeedATableOfAllVariables(t *testing.T) {
	dir := t.TempDir()
	people(t, dir, denseIn(rand.New(rand.NewPCG(16, 23)), 100))
	text := strings.Replace(strings.ReplaceAll(exchangedTables, "METHOD", "simulate: {}"), "rows: [region, sex, age]",
		"rows: [region, sex]", 1)
	if _, err := run(t, dir, text); err == nil ||
		!strings.Contains(err.Error(),
			"tables[0].protect.simulate: must be another method, or one table must have all variables") {
		t.Error(err)
	}
}
