package tabling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

const sampledTables = `version: 1
source: {csv: {path: %s/in.csv}}
hierarchies: {region: {prefix: [1, 2]}}
key: {file: %s/key}
identity: [id]
tables:
  - {name: t, rows: [region, sex], unsafe: [{threshold: 15}], protect: {sample: {one_in: ONE}}}
  - {name: u, rows: [age], unsafe: [{threshold: 15}], protect: {sample: {one_in: ONE}}}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json, html: %s/report.html, cells: %s/cells.csv}
`

// sampledOf returns the published counts, by their codes.
func sampledOf(t *testing.T, rows []string, oneIn int) (shown map[string]int, res *Result) {
	t.Helper()
	dir := t.TempDir()
	people(t, dir, rows)
	res,
		err := run(t, dir,
		strings.Replace(strings.Replace(sampledTables, "ONE", strconv.Itoa(oneIn), 1), "ONE", strconv.Itoa(oneIn), 1))
	if err != nil || res.Report.Withheld != "" {
		t.Fatal(err, res.Report.Withheld)
	}
	shown = map[string]int{}
	for _, row := range read(t, dir, "out.csv")[1:] {
		n, err := strconv.Atoi(row[4])
		if err != nil || n < 0 || n%oneIn != 0 || row[5] != "sampled" {
			t.Fatalf("the published line is %v", row)
		}
		shown[strings.Join(row[1:4], "|")] = n
	}
	return shown, res
}

// The published counts of all tables come from one sample, for any order of the records and any
// other tables: they add up, half of the records give their own share, and a smaller sample is a
// subset of a larger one.
func TestSampledTablesAreOfOneSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 91))
	rows := drawPeople(rng, 600)
	whole, res := sampledOf(t, rows, 2)
	sum := map[string]int{}
	for cell, n := range whole {
		f := strings.Split(cell, "|")
		if f[0] != "total" && len(f[0]) == 2 && f[1] != "total" {
			sum["total|total|total"] += n
			sum[f[0][:1]+"|total|total"] += n
		}
		if f[2] != "total" {
			sum["ages"] += n
		}
	}
	for cell, n := range sum {
		if cell == "ages" {
			cell = "total|total|total"
		}
		if whole[cell] != n {
			t.Errorf("%s is %d, but its parts sum to %d", cell, whole[cell], n)
		}
	}
	if n := whole["total|total|total"]; !(math.Abs(float64(n)-600) <= 5*math.Sqrt(600)) { // variance n(k−1), k = 2
		t.Errorf("the estimated total is %d, want about 600", n)
	}
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	again, _ := sampledOf(t, rows, 2)
	first, _ := sampledOf(t, rows[:300], 2)
	second, _ := sampledOf(t, rows[300:], 2)
	fewer, _ := sampledOf(t, rows, 6)
	for cell, n := range whole {
		if again[cell] != n || first[cell]+second[cell] != n || fewer[cell]/6 > n/2 {
			t.Errorf("%s is %d, in another order %d, in the halves %d and %d, with one in six %d", cell, n, again[cell],
				first[cell], second[cell], fewer[cell])
		}
	}
	r := res.Report.Tables[0]
	if r.Method != "sample" || r.Parameters["one_in"] != 2 || r.Primary == 0 || len(r.Disclosed)+len(r.Respondent) > 0 {
		t.Errorf("the table report is %+v", r)
	}
}

// The risk is that of the negative binomial distribution for the most certain unsafe count. If no
// record of it was drawn, it is geometric, with entropy (−f ln f − (1−f) ln(1−f))/f and expected
// squared error (1−f)(2−f)/f² − 2n(1−f)/f + n². A gate with a lower limit withholds the tables.
func TestRiskOfASample(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "key", testKey)
	var b strings.Builder
	b.WriteString("id,a\n1,x\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%d,y\n", 2+i)
	}
	write(t, dir, "in.csv", b.String())
	const text = "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\nkey: {file: %s/key}\nidentity: [id]\ntables: [{name: t, rows: [a], unsafe: [{threshold: 2}], protect: {sample: {one_in: 4}}}]\n"
	res, err := run(t, dir, text)
	if err != nil || res.Report.Withheld != "" {
		t.Fatal(err, res.Report.Withheld)
	}
	if v := read(t, dir, "out.csv")[2]; v[1] != "x" || v[2] != "0" { // a fixed key that does not draw record 1
		t.Fatalf("the published line is %v", v)
	}
	const f, n = 0.25, 1.0
	risk := f / (-f*math.Log(f) - (1-f)*math.Log(1-f))
	square := (1-f)*(2-f)/(f*f) - 2*n*(1-f)/f + n*n
	r := res.Report.Tables[0]
	if !(math.Abs(float64(r.Risk)-risk) <= 1e-9 && math.Abs(float64(r.Error)-square) <= 1e-8) {
		t.Errorf("the risk is %v, want %v; the expected squared error is %v, want %v", r.Risk, risk, r.Error, square)
	}
	for limit, withheld := range map[float64]bool{risk + 1e-6: false, risk - 1e-6: true} {
		res, err := run(t, dir, text+fmt.Sprintf("gate: {rules: [{max_risk: %v}]}\n", limit))
		if err != nil || (res.Report.Withheld != "") != withheld {
			t.Errorf("max_risk %v: error %v, withheld because %q", limit, err, res.Report.Withheld)
		}
	}
}

// A map draws all of its samples in one pass, and each equals the sample that a run publishes.
func TestMapOfSamples(t *testing.T) {
	dir := t.TempDir()
	rows := drawPeople(rand.New(rand.NewPCG(16, 92)), 300)
	people(t, dir, rows)
	text := strings.ReplaceAll(sampledTables, "ONE", "4") + "map: {methods: [{sample: {one_in: [9, 2]}}]}\n"
	m, _, err := mapOf(t, dir, text)
	if err != nil || len(m.Points) != 3 {
		t.Fatal(m, err)
	}
	for i, oneIn := range []int{4, 9, 2} {
		_, res := sampledOf(t, rows, oneIn)
		square, cells := 0.0, 0
		for _, r := range res.Report.Tables {
			n := r.Cells - r.Empty
			square, cells = square+float64(n)/float64(r.Utility), cells+n
		}
		worst := max(res.Report.Tables[0].Risk, res.Report.Tables[1].Risk)
		if p := m.Points[i]; p.Setting != fmt.Sprintf("sample: {one_in: %d}", oneIn) ||
			!(math.Abs(float64(p.R-worst)) <= 1e-12) || p.U <= 0 || cells == 0 {
			t.Errorf("the point is %+v, a run has the risk %v", p, worst)
		}
	}
	if m.Points[1].R >= m.Points[2].R || m.Points[1].U >= m.Points[2].U {
		t.Errorf("want less risk and less utility with one in nine %+v than with one in two %+v", m.Points[1], m.Points[2])
	}
}
