package tabling

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/rounding"
)

const respondentTables = `version: 1
source: {csv: {path: %s/in.csv}}
hierarchies: {a: {prefix: [1, 2]}}
tables: [{name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {METHOD}}]
sink: {csv: {path: %s/out.csv}}
report: {cells: %s/cells.csv}
`

// possibleCounts is the result of enumerating all tables of inner counts compatible with the published ones:
// for each cell the likelihood of its counts, for an outsider, and for a respondent with a record in an
// inner cell.
type possibleCounts struct {
	outside map[string]map[int]float64
	inside  map[string]map[string]map[int]float64
}

var (
	trialParents = map[string][]string{"x1": {"x1", "x", "total"}, "x2": {"x2", "x", "total"}, "y1": {"y1", "y", "total"}}
	trialInner   = []string{"x1|p", "x1|q", "x2|p", "x2|q", "y1|p", "y1|q"}
)

// addInner adds n to an inner cell and to all totals that contain it.
func addInner(into map[string]int, cell string, n int) {
	a, b, _ := strings.Cut(cell, "|")
	for _, up := range trialParents[a] {
		into[up+"|"+b] += n
		into[up+"|total"] += n
	}
}

// tryAll enumerates all tables. With same, cells with the same records are changed alike.
func tryAll(shown map[string]int, likelihood func(published int64) (int64, []float64), same bool) possibleCounts {
	found := possibleCounts{map[string]map[int]float64{}, map[string]map[string]map[int]float64{}}
	chance := func(cell string, v int) float64 {
		first, p := likelihood(int64(shown[cell]))
		if k := v - int(first); k >= 0 && k < len(p) {
			return p[k]
		}
		return 0
	}
	enter := func(into map[string]map[int]float64, cell string, v int, w float64) {
		if into[cell] == nil {
			into[cell] = map[int]float64{}
		}
		into[cell][v] += w
	}
	sums := map[string]int{}
	under := map[string][]string{}
	for _, cell := range trialInner {
		up := map[string]int{}
		addInner(up, cell, 1)
		for total := range up {
			under[total] = append(under[total], cell)
		}
	}
	var fill func(i int)
	fill = func(i int) {
		if i < len(trialInner) {
			cell := trialInner[i]
			first, p := likelihood(int64(shown[cell]))
			for k := range p {
				if p[k] > 0 {
					addInner(sums, cell, int(first)+k)
					fill(i + 1)
					addInner(sums, cell, -int(first)-k)
				}
			}
			return
		}
		w := 1.0
		changed := map[string]int{} // by the inner cells with records: the published count
		for cell, v := range sums {
			who := cell
			if same {
				who = ""
				for _, inner := range under[cell] {
					if sums[inner] > 0 {
						who += inner + " "
					}
				}
			}
			if y, known := changed[who]; !known {
				w *= chance(cell, v)
			} else if y != shown[cell] {
				w = 0
			}
			changed[who] = shown[cell]
		}
		if w == 0 {
			return
		}
		for cell, v := range sums {
			enter(found.outside, cell, v, w)
			for _, own := range trialInner {
				if sums[own] > 0 {
					if found.inside[own] == nil {
						found.inside[own] = map[string]map[int]float64{}
					}
					enter(found.inside[own], cell, v, w)
				}
			}
		}
	}
	fill(0)
	return found
}

// Tables of perturbed counts are withheld if and only if an outsider is certain of the count of
// some unsafe cell, or a respondent with a record in an inner cell is certain of the true one:
// compared with all possible tables, over a hierarchy. Respondents are not tested for cells in
// which they are alone. With respondents: ignore only outsiders count.
func TestWhatRespondentsInferOfChangedCounts(t *testing.T) {
	racetest.Further(t)
	alone, trials := 0, 20
	if testing.Short() {
		trials = 10
	}
	for _, m := range []struct {
		method     string
		likelihood func(int64) (int64, []float64)
		most       int
	}{
		{"round: {base: 2, mode: nearest", rounding.OfNearest(2), 3},
		{"round: {base: 3, mode: nearest", rounding.OfNearest(3), 4},
		{"round: {base: 2, mode: random", rounding.OfRandom(2), 3},
		{"round: {base: 3, mode: random", rounding.OfRandom(3), 3},
		{"round: {base: 3, mode: random", rounding.OfRandom(3), 1},
		{"cell_key: {max: 1, variance: 0.4", cellKeyLikelihood(t, 1, 0.4), 2},
		{"cell_key: {max: 2, variance: 1", cellKeyLikelihood(t, 2, 1), 2},
		{"cell_key: {max: 1, variance: 0.9", cellKeyLikelihood(t, 1, 0.9), 3},
	} {
		rng := rand.New(rand.NewPCG(16, uint64(len(m.method)+m.most)))
		byRespondents, published := 0, 0
		for trial := range trials {
			dir := t.TempDir()
			var rows []string
			truth := map[string]int{}
			for _, cell := range trialInner {
				n := rng.IntN(m.most + 1)
				if trial%2 == 1 {
					n = 1 + rng.IntN(m.most)
				}
				addInner(truth, cell, n)
				for range n {
					rows = append(rows, fmt.Sprintf("%d,%s", 100*trial+len(rows), strings.Replace(cell, "|", ",", 1)))
				}
			}
			if len(rows) < 3 {
				continue
			}
			write(t, dir, "key", testKey)
			write(t, dir, "in.csv", "id,a,b\n"+strings.Join(rows, "\n")+"\n")
			text := strings.Replace(respondentTables, "hierarchies: {a: {prefix: [1, 2]}}",
				"hierarchies: {a: {file: %s/a.hrc}, b: {codes: [p, q]}}", 1)
			write(t, dir, "a.hrc", "x\n@x1\n@x2\ny\n@y1\n")
			if !strings.Contains(m.method, "nearest") {
				text += "key: {file: %s/key}\nidentity: [id]\n"
			}
			computed := func(extra string) bool {
				res, err := run(t, dir, strings.Replace(text, "METHOD", m.method+extra+"}", 1))
				if err != nil {
					t.Fatal(err)
				}
				return strings.Contains(res.Report.Withheld, "can be computed")
			}
			withheld := computed("")
			shown := map[string]int{}
			for _, row := range read(t, dir, "cells.csv")[1:] {
				shown[row[1]+"|"+row[2]], _ = strconv.Atoi(row[len(row)-1])
			}
			outsider, respondent := certainty(tryAll(shown, m.likelihood, !strings.Contains(m.method, "nearest")), truth)
			if withheld != (len(outsider)+len(respondent) > 0) {
				t.Errorf("%s, trial %d: withheld %v; outsiders are certain of %v, respondents of %v; true counts %v, published %v",
					m.method, trial, withheld, outsider, respondent, truth, shown)
			}
			if ignored := computed(", respondents: ignore"); ignored != (len(outsider) > 0) {
				t.Errorf("%s, trial %d: withheld %v without respondents; outsiders are certain of %v", m.method, trial, ignored,
					outsider)
			}
			if len(outsider) == 0 && len(respondent) > 0 {
				byRespondents++
			}
			if !withheld {
				published++
			}
		}
		t.Logf("%s: %d published, %d withheld for respondents alone", m.method, published, byRespondents)
		alone += byRespondents
	}
	if alone < 2 {
		t.Errorf("%d withheld for respondents alone: too few for this test", alone)
	}
}

// A holding knows all of its records: it is not tested for a count in which it is alone, whatever
// the rounding.
func TestHoldingsKnowTheirRecords(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("id,a,b,holding\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%d,x%d,%s,h%d\n", i, 1+i%2, []string{"p", "q"}[i/2%2], i)
	}
	b.WriteString("40,y1,p,alone\n41,y1,p,alone\n42,y1,q,g1\n43,y1,q,g2\n44,y1,q,g3\n45,y1,q,g4\n")
	write(t, dir, "in.csv", b.String())
	text := "holding: holding\n" + strings.NewReplacer("METHOD", "round: {base: 3, mode: small}", "threshold: 3",
		"threshold: 2").Replace(respondentTables)
	res, err := run(t, dir, text)
	if err != nil {
		t.Fatal(err)
	}
	if r := res.Report.Tables[0]; res.Report.Withheld != "" || r.Primary != 2 || len(r.Respondent) != 0 {
		t.Errorf("withheld because %q, table %+v", res.Report.Withheld, r)
	}
}

func cellKeyLikelihood(t *testing.T, most int, variance float64) func(int64) (int64, []float64) {
	t.Helper()
	table, problems := perturb.NewTable(perturb.Noise{Max: most, Variance: variance})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return table.Likelihood
}

// certainty lists the unsafe cells with a count of which an outsider, or with a true count of which
// a respondent, is certain: with more than 0.9 of the total likelihood.
func certainty(found possibleCounts, truth map[string]int) (outsider, respondent []string) {
	share := func(values map[int]float64, v int) float64 {
		sum := 0.0
		for _, w := range values {
			sum += w
		}
		return values[v] / sum
	}
	for cell, x := range truth {
		if x == 0 || x >= 3 {
			continue
		}
		for v := range found.outside[cell] {
			if share(found.outside[cell], v) > 0.9 {
				outsider = append(outsider, cell)
				break
			}
		}
		for _, own := range trialInner {
			mine := map[string]int{}
			addInner(mine, own, 1)
			if truth[own] == 0 || x == 1 && mine[cell] == 1 { // empty, or alone in the cell
				continue
			}
			if share(found.inside[own][cell], x) > 0.9 {
				respondent = append(respondent, cell+" by one of "+own)
			}
		}
	}
	slices.Sort(outsider)
	slices.Sort(respondent)
	return outsider, respondent
}

// A holding has 5 of 6 records, counts almost always change by 1, and 5 is published. The holding
// knows that the count is not 4, and so is certain of 6; an outsider is not.
func TestALargeHoldingInfersTheRest(t *testing.T) {
	const tables = `version: 1
source: {csv: {path: %s/in.csv}}
key: {file: %s/key}
identity: [id]
holding: holding
tables: [{name: t, rows: [a], unsafe: [{threshold: 3}], protect: {cell_key: {max: 1, variance: 0.96RESPONDENTS}}}]
sink: {csv: {path: %s/out.csv}}
report: {cells: %s/cells.csv}
`
	dir := t.TempDir()
	write(t, dir, "key", testKey)
	for trial := range 60 {
		var b strings.Builder
		b.WriteString("id,a,holding\n")
		for i := range 36 {
			a, holding := []string{"y", "z"}[i%2], fmt.Sprint("g", i)
			if i < 6 {
				a, holding = "x", "h"+strconv.Itoa(i/5) // 5 of h0, 1 of h1
			}
			fmt.Fprintf(&b, "%d,%s,%s\n", 100*trial+i, a, holding)
		}
		write(t, dir, "in.csv", b.String())
		res, err := run(t, dir, strings.Replace(tables, "RESPONDENTS", ", respondents: ignore", 1))
		if err != nil {
			t.Fatal(err)
		}
		rows := read(t, dir, "cells.csv")
		at := slices.IndexFunc(rows, func(row []string) bool { return row[1] == "x" })
		if res.Report.Withheld != "" || rows[at][len(rows[at])-1] != "5" {
			continue
		}
		if res, err = run(t, dir, strings.Replace(tables, "RESPONDENTS", "", 1)); err != nil {
			t.Fatal(err)
		}
		if r := res.Report.Tables[0]; !strings.Contains(res.Report.Withheld, "can be computed") ||
			!slices.Equal(r.Respondent, []string{"a=x"}) || len(r.Disclosed) != 0 {
			t.Errorf("withheld because %q, table %+v", res.Report.Withheld, r)
		}
		return
	}
	t.Error("no table without certainty for outsiders has x published as 5")
}
