package tabling

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// firmRecords returns records of firms: some of one holding, some that request protection, values
// with both signs, and two records that a table refuses.
func firmRecords(n int) string {
	rng := rand.New(rand.NewPCG(12, 7))
	var b strings.Builder
	b.WriteString("id,nuts1,region,size,wages,balance,weight,holding,request\n")
	for i := range n {
		region := []string{"n1", "n2", "s1", "s2", "w1"}[min(int(rng.ExpFloat64()*1.4), 4)]
		size := []string{"small", "medium", "big"}[min(int(rng.ExpFloat64()), 2)]
		wages := 10 + 400*rng.ExpFloat64()*rng.ExpFloat64()
		request := []string{"no", "yes", "0", "1", ""}[rng.IntN(5)]
		fmt.Fprintf(&b, "%d,%s,%s,%s,%.2f,%.1f,%d.5,h%d,%s\n", 1000+i, region[:1], region, size, wages, 100*rng.NormFloat64(),
			1+rng.IntN(3), i/2, request)
	}
	b.WriteString("1,n,n1,small,,1,1,h0,no\n2,e,east,,1,1,1,h0,no\n")
	return b.String()
}

// Reports, public reports, files of cells and pages do not change unnoticed for tables of every
// kind. None of them depends on which cells a search suppresses.
func TestFiguresOfTables(t *testing.T) {
	racetest.Further(t)
	table := func(more, protect string) string {
		return "tables: [{name: t, rows: [region, size], " + more + ", protect: {" + protect + "}}]\n"
	}
	const none, nuts = "none: {}", "hierarchies: {region: {columns: [nuts1]}, size: {total: all}}\n"
	two := func(protect string) string {
		return nuts + "tables: [{name: t, rows: [region, size], unsafe: [{threshold: 4}], protect: {" + protect +
			"}}, {name: u, rows: [size], unsafe: [{threshold: 4}], protect: {" + protect + "}}]\n"
	}
	var f pinned.Figures
	cases := map[string]string{
		"threshold": nuts + table("unsafe: [{threshold: 4}]", none),
		"zeros": table(
			"value: balance, absolute: true, zeros: unsafe, unsafe: [{threshold: 3}, {dominance: [1, 60]}]", none),
		"p percent": nuts + table("value: wages, unsafe: [{p_percent: 20}], interval: {percent: 15}", none),
		"pq": table(
			"value: wages, decimals: 0, unsafe: [{threshold: 3}, {pq: [10, 50]}], interval: {absolute: 25, percent: 10}", none),
		"dominance": nuts + table("value: wages, unsafe: [{dominance: [2, 70]}, {threshold: 3}]", none),
		"weights":   table("value: wages, weight: weight, unsafe: [{p_percent: 10}]", none),
		"weighed":   table("weight: weight, unsafe: [{threshold: 5}], interval: {absolute: 3}", none),
		"holdings": "holding: holding\nrequest: request\n" +
			table("value: wages, unsafe: [{threshold: 2}, {request: 30}]", none),
		"apriori":  table("value: wages, unsafe: [{threshold: 2}], apriori: %s/apriori.csv", none),
		"cell key": two("cell_key: {max: 4, variance: 2, least: 2}"),
		"nearest":  two("round: {base: 5, mode: nearest}") + "gate: {rules: [{min_range: rule}, {max_risk: 0.2}]}\n",
		"random": two("round: {base: 3, mode: random}") +
			"gate: {rules: [{table: t, max_risk: 2}, {table: u, min_utility: 0.1}]}\n",
		"small": two("round: {base: 4, mode: small}") +
			"gate: {rules: [{table: u, min_efficiency: 0.9}, {table: t, min_utility: 10}]}\n",
		"controlled":    table("unsafe: [{threshold: 3}]", "round: {base: 3}"),
		"adjusted":      two("adjust: {}") + "gate: {rules: [{table: u, min_utility: 0.1}]}\n",
		"simulated":     two("simulate: {variable: size}") + "gate: {rules: [{table: t, max_risk: 2}]}\n",
		"markov":        two("markov: {theta: 0.5}") + "gate: {rules: [{min_range: rule}]}\n",
		"swapped":       "tables: [{name: t, rows: [region, size, nuts1], unsafe: [{threshold: 4}], protect: {swap: {rate: 0.4, match: [nuts1], variable: size}}}]\n",
		"sampled":       two("sample: {one_in: 3}") + "gate: {rules: [{table: t, max_risk: 0.6}]}\n",
		"one dimension": "tables: [{name: t, rows: [region], unsafe: [{threshold: 30}], protect: {none: {}}}, {name: u, rows: [size], value: wages, unsafe: [{threshold: 2}], protect: {none: {}}}]\n",
		"three":         "tables: [{name: t, rows: [nuts1, size, request], unsafe: [{threshold: 3}], protect: {none: {}}}]\n",
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		text := cases[name]
		dir := t.TempDir()
		write(t, dir, "in.csv", firmRecords(160))
		write(t, dir, "key", testKey)
		write(t, dir, "apriori.csv",
			"region,size,as,up,down\nn1,small,unsafe,100,50.5\ns1,total,published,,\nn2,medium,unsafe,,\n")
		head :=
			"version: 1\nname: firms\nunknown: drop\nsource: {csv: {path: %s/in.csv, types: {wages: float64, balance: float64, weight: float64}}}\nsink: {csv: {path: %s/out.csv}}\nreport: {json: %s/report.json, html: %s/report.html, cells: %s/cells.csv}\n"
		if strings.Contains(text, "cell_key") || strings.Contains(text, "random") || strings.Contains(text, "markov") ||
			strings.Contains(text, "swap") || strings.Contains(text, "sample") {
			head += "key: {file: %s/key}\nidentity: [id]\n"
		}
		res, err := run(t, dir, head+text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.AddTree(name, res.Report, func(path string) bool {
			for _, other := range []string{".started", ".finished", ".config_sha256", ".release", ".programs", ".steps",
				".components", ".largest"} {
				if strings.HasSuffix(path, other) {
					return true
				}
			}
			return false
		})
		f.AddTree(name+": public", res.Report.Public(), func(path string) bool { return strings.HasSuffix(path, ".release") })
		for _, file := range []string{"cells.csv", "out.csv"} {
			if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
				f.AddTree(name+": "+file, lines(read(t, dir, file)), nil)
			}
		}
		for _, file := range []string{"report.html", "report.public.html"} {
			if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
				f.AddTree(name+": "+file, lines(cellsOfPage(t, dir, file)), nil)
			}
		}
	}
	f.Check(t, "testdata/figures.tsv")
}

func lines(rows [][]string) (out []string) {
	for _, row := range rows {
		out = append(out, strings.Join(row, " | "))
	}
	return out
}
