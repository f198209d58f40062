package filejob

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/transform"
)

// codedCell is a declared code in place of a value: the row, the column, and the code.
type codedCell struct {
	row, column int
	code        string
}

var codedNames = []string{"id", "income", "debt", "age", "region", "note"}

// codedPeople returns records with declared codes for missing values and with plain missing ones, and where the codes
// are. No value of a respondent is one of the codes.
func codedPeople(n int) (rows [][]string, cells []codedCell) {
	r := rand.New(rand.NewPCG(41, 1))
	for i := range n {
		row := []string{
			strconv.Itoa(i), strconv.FormatFloat(float64(100000+r.IntN(400000))/100, 'f', 2, 64),
			strconv.Itoa(1000 + r.IntN(5000)),
			strconv.Itoa(18 + r.IntN(60)), string('a' + rune(r.IntN(3))), "t" + strconv.Itoa(r.IntN(4)),
		}
		code := func(column int, share int, codes ...string) {
			if r.IntN(share) == 0 {
				c := codes[r.IntN(len(codes))]
				row[column] = c
				cells = append(cells, codedCell{i, column, c})
			}
		}
		code(1, 8, "-9", "9999999")
		if r.IntN(12) == 0 {
			row[2] = ""
		} else {
			code(2, 9, "-8")
		}
		code(3, 20, "97", "98", "99")
		code(4, 15, "refused")
		code(5, 10, "none")
		rows = append(rows, row)
	}
	return rows, cells
}

// nulled returns the rows with nothing in the cells.
func nulled(rows [][]string, cells []codedCell) [][]string {
	out := make([][]string, len(rows))
	for i := range rows {
		out[i] = slices.Clone(rows[i])
	}
	for _, c := range cells {
		out[c.row][c.column] = ""
	}
	return out
}

func writeRows(t *testing.T, path string, rows [][]string) {
	t.Helper()
	var text strings.Builder
	w := csv.NewWriter(&text)
	w.Write(codedNames)
	w.WriteAll(rows)
	write(t, path, []byte(text.String()))
}

// codedColumns is the configuration of the columns; as is keep or null.
func codedColumns(as string) string {
	return fmt.Sprintf(`columns:
  id: {role: identifier}
  income: {role: sensitive, unmasked: true, missing: {codes: [-9, 9999999], as: %[1]s}}
  debt: {role: sensitive, unmasked: true, missing: {codes: [-8], as: %[1]s}}
  age: {role: key, missing: {codes: [{from: 97, to: 99}], as: %[1]s}}
  region: {role: key, missing: {codes: [refused], as: %[1]s}}
  note: {role: other, missing: {codes: [none], as: %[1]s}}
`, as)
}

func codedRun(t *testing.T, dir, source, sink, columns, masks, extra string) *report.Report {
	t.Helper()
	write(t, filepath.Join(dir, "k"), []byte(keytest.Key(3).Text()+"\n"))
	text := "version: 1\nname: test\nkey: {file: " + dir + "/k}\nsource: {" + source + "}\nsink: {" + sink + "}\n" +
		columns + "masks:" + masks + "\n" + extra
	p, err := config.Parse("test.yaml", []byte(text), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r, err := Run(context.Background(), p, pipeline.Options{})
	if err != nil {
		t.Fatalf("%s: %v", masks, err)
	}
	return r.Report
}

func readRows(t *testing.T, path string) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// figures are the measures of a report as text. Where codes are kept, those by the whole record are left out: a reader
// of the release can tell the codes apart, and plain missing values not.
func figures(t *testing.T, r *report.Report, byRecord bool) string {
	t.Helper()
	columns := slices.Clone(r.Columns)
	for i := range columns {
		if !byRecord {
			columns[i].Risk = slices.DeleteFunc(slices.Clone(columns[i].Risk), func(k assess.Risk) bool {
				return k.Knowledge == assess.KnowledgeRecord
			})
		}
		columns[i].Remark = ""
	}
	text, err := json.Marshal(struct {
		Columns     report.Columns
		Correlation assess.Correlation
		Sampled     *report.Sampling
		Records     report.Records
	}{columns, r.Correlation, r.Sampled, r.Records})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// codedMasks has masks of each kind, on columns with declared codes, that read columns with such codes too.
var codedMasks = map[string]string{
	"sample":         "\n  - sample: {rate: 0.8, by: region, rates: {a: 0.6}}\n  - noise: {columns: [income], sd: 10%}",
	"bias":           "\n  - bias: {columns: [income, debt], phi: 0.1}",
	"noise":          "\n  - noise: {columns: [income, debt, age], sd: 8%, distribution: laplace}",
	"truncate":       "\n  - noise: {columns: [income], sd: 20%}\n  - truncate: {columns: [income], lower: 900, upper: 5100, mode: redraw}",
	"round":          "\n  - round: {columns: [income, age], base: 5}",
	"recode":         "\n  - recode: {columns: [region], map: {a: x, b: x, c: z}}\n  - recode: {columns: [age], breaks: [0, 30, 50, 90]}",
	"topcode":        "\n  - topcode: {columns: [income], upper_percentile: 95, lower_percentile: 4, replace: mean}",
	"pram":           "\n  - pram: {columns: [region], keep: 0.7, categories: [a, b, c], invariant: true, by: [note]}",
	"pseudonym":      "\n  - pseudonym: {columns: [note], scope: s, form: hex}\n  - noise: {columns: [income], sd: 10%}",
	"donut":          "\n  - donut: {columns: [debt, income], unit: metres, least: 10, most: 50, records: true}\ngate: {max_quarantined: 1}",
	"date":           "\n  - date: {columns: [age], round: week, unit: days}\n  - noise: {columns: [income], sd: 10%}",
	"microaggregate": "\n  - microaggregate: {columns: [income, debt], k: 4, by: [region]}",
	"rankswap":       "\n  - rankswap: {columns: [income, debt], p: 10%}",
	"shuffle":        "\n  - shuffle: {columns: [income], on: [debt, age]}",
	"synthesise":     "\n  - synthesise: {columns: [income, debt, region], on: [age], categories: [region], method: cart, leaf: 20}",
}

// Declared codes are no values: for masks of every kind, the figures and the released values are those of the same data
// with missing values in place of the codes. The codes leave as they are, or as missing values.
func TestDeclaredCodesAreMissingValues(t *testing.T) {
	racetest.Further(t)
	rows, cells := codedPeople(700)
	// Plain missing values move with a swap and are wildcards of a suppression, codes are neither; and of calibrated
	// weights there are no figures. These tests hold the four masks with codes.
	elsewhere := map[string]func(*testing.T){
		"swap": TestDeclaredCodesTakeNoPartInSwaps, "recordswap": TestDeclaredCodesStayInTheirHouseholds,
		"suppress": TestDeclaredCodesAreSuppressed, "calibrate": TestDeclaredCodesInCalibrations,
	}
	for _, k := range transform.Kinds() {
		if elsewhere[k.Name] != nil {
			continue
		}
		masks, ok := codedMasks[k.Name]
		if !ok {
			t.Errorf("%s: not in this test", k.Name)
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			dir := t.TempDir()
			writeRows(t, filepath.Join(dir, "codes.csv"), rows)
			writeRows(t, filepath.Join(dir, "nulls.csv"), nulled(rows, cells))
			extra := "assess: {replicates: 5, sample: all}\n"
			at := func(in, out, columns string) *report.Report {
				return codedRun(t, dir,
					"csv: {path: "+dir+"/"+in+
						", types: {id: int64, income: float64, debt: int64, age: int64, region: string, note: string}, nulls: ['']}",
					"csv: {path: "+dir+"/"+out+"}", columns, masks, extra)
			}
			plain := strings.NewReplacer(", missing: {codes: [-9, 9999999], as: keep}", "", ", missing: {codes: [-8], as: keep}",
				"", ", missing: {codes: [{from: 97, to: 99}], as: keep}", "",
				", missing: {codes: [refused], as: keep}", "", ", missing: {codes: [none], as: keep}",
				"").Replace(codedColumns("keep"))
			nulls := at("nulls.csv", "n.csv", plain)
			want := readRows(t, filepath.Join(dir, "n.csv"))

			null := at("codes.csv", "c.csv", codedColumns("null"))
			if got := readRows(t, filepath.Join(dir, "c.csv")); firstDifference(got, want) != "" {
				t.Errorf("as null: the release differs from that of missing values: %s", firstDifference(got, want))
			}
			if a, b := figures(t, null, true), figures(t, nulls, true); a != b {
				t.Errorf("as null: the figures are, and those of missing values are:\n%s", apart(a, b))
			}

			keep := at("codes.csv", "k.csv", codedColumns("keep"))
			got := readRows(t, filepath.Join(dir, "k.csv"))
			if k.Name == "sample" || k.Name == "donut" { // leave records out
				if len(got) != len(want) {
					t.Fatalf("%d records are drawn, want %d", len(got), len(want))
				}
			} else {
				for _, c := range cells {
					if want[c.row][c.column-1] != "" {
						t.Fatalf("row %d, %s: a missing value is released as %q", c.row, codedNames[c.column], want[c.row][c.column-1])
					}
					want[c.row][c.column-1] = c.code
				}
				if firstDifference(got, want) != "" {
					t.Errorf("kept: the release differs: %s", firstDifference(got, want))
				}
			}
			if a, b := figures(t, keep, false), figures(t, nulls, false); a != b {
				t.Errorf("kept: the figures are, and those of missing values are:\n%s", apart(a, b))
			}
			counts := map[string]int64{}
			if k.Name != "sample" && k.Name != "donut" {
				for _, c := range cells {
					code := c.code
					if c.column == 3 {
						code = "97 to 99"
					}
					counts[codedNames[c.column]+" "+code]++
				}
				for _, m := range keep.MissingCodes {
					for _, c := range m.Codes {
						if got := c.Records; got != counts[m.Column+" "+c.Code] || got == 0 {
							t.Errorf("%s: code %s occurs %d times, want %d", m.Column, c.Code, got, counts[m.Column+" "+c.Code])
						}
					}
				}
				if len(keep.MissingCodes) != 5 {
					t.Errorf("codes of %d columns are counted, want 5", len(keep.MissingCodes))
				}
			}
		})
	}
}

func firstDifference(got, want [][]string) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d rows, want %d", len(got), len(want))
	}
	for i := range got {
		if !slices.EqualFunc(got[i], want[i], sameCell) {
			return fmt.Sprintf("row %d is %q, want %q", i, got[i], want[i])
		}
	}
	return ""
}

// sameCell compares texts, and numbers in any spelling.
func sameCell(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return a == b || err1 == nil && err2 == nil && x == y
}

// apart shows where two texts begin to differ.
func apart(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-300)
	return fmt.Sprintf("…%s\nand\n…%s", a[from:min(len(a), i+60)], b[from:min(len(b), i+60)])
}

// In the risk by keys a kept code is a category of its own, different from missing cells and from values, under every
// mask of the key: k is that of a count by hand of the original records. As null it is a missing value.
func TestDeclaredCodesAreCategoriesOfKeys(t *testing.T) {
	racetest.Further(t)
	rows, _ := codedPeople(700)
	for _, masks := range []string{
		"\n  - noise: {columns: [income], sd: 10%}",
		"\n  - noise: {columns: [income], sd: 10%}\n  - recode: {columns: [region], map: {a: x, b: x, c: x}}",
		"\n  - noise: {columns: [income], sd: 10%}\n  - recode: {columns: [region], map: {a: x}, other: y}",
	} {
		dir := t.TempDir()
		writeRows(t, filepath.Join(dir, "in.csv"), rows)
		run := func(as string) float64 {
			r := codedRun(t, dir, "csv: {path: "+dir+"/in.csv, types: {region: string, note: string}}",
				"csv: {path: "+dir+"/out.csv}", codedColumns(as), masks,
				"assess: {keys: [region, note], replicates: 5, intruder: {uniqueness: {}}}\n")
			return r.Attack.Uniqueness.MinFrequency
		}
		got := run("keep")
		out := readRows(t, filepath.Join(dir, "out.csv"))
		count := map[string]int{}
		for _, row := range out {
			count[row[3]+"|"+row[4]]++
		}
		least := len(rows)
		for _, n := range count {
			least = min(least, n)
		}
		if got != float64(least) {
			t.Errorf("%s: k is %v, by hand %d", masks, got, least)
		}
		if null := run("null"); !(null > got) {
			t.Errorf("%s: k is %v with missing values, want more than %v with codes", masks, null, got)
		}
	}
	// Drawn at random: the code is never drawn for another category.
	dir := t.TempDir()
	writeRows(t, filepath.Join(dir, "in.csv"), rows)
	for masks, keys := range map[string]string{
		"\n  - pram: {columns: [region], keep: 0.8, categories: [a, b, c]}":                  "region",
		"\n  - pram: {columns: [region], keep: 0.8, categories: [a, b, c], invariant: true}": "region",
		"\n  - noise: {columns: [age], sd: 5}":                                               "age",
	} {
		r := codedRun(t, dir, "csv: {path: "+dir+"/in.csv, types: {region: string, note: string}}",
			"csv: {path: "+dir+"/out.csv}", codedColumns("keep"), masks,
			"gate: {rules: [{min_k: 2}], max_quarantined: 0.1}\nassess: {keys: ["+keys+
				"], sample: all, replicates: 5, intruder: {uniqueness: {}, inversion: false}}\n")
		if len(r.Attack.Uncounted) > 0 {
			t.Fatalf("%s: not counted: %v", masks, r.Attack.Uncounted)
		}
		count := map[string]int{}
		at := slices.Index(codedNames, keys)
		for _, row := range readRows(t, filepath.Join(dir, "out.csv")) {
			count[row[at-1]]++
		}
		least := len(rows)
		for _, code := range []string{"refused", "97", "98", "99"} {
			if n := count[code]; n > 0 {
				least = min(least, n)
			}
		}
		if got := r.Attack.Uniqueness.MinFrequency; got != float64(least) {
			t.Errorf("%s: k is %v, and the rarest code belongs to %d records", masks, got, least)
		}
	}
}

// A value that a mask makes a declared code would be taken for none: its record goes to quarantine.
func TestValuesDoNotBecomeCodes(t *testing.T) {
	rows, _ := codedPeople(700)
	dir := t.TempDir()
	writeRows(t, filepath.Join(dir, "in.csv"), rows)
	run := func(as string) (*report.Report, int) {
		r := codedRun(t, dir, "csv: {path: "+dir+"/in.csv, types: {region: string, note: string}}",
			"csv: {path: "+dir+"/out.csv}", codedColumns(as),
			"\n  - noise: {columns: [age], sd: 20}",
			"gate: {max_quarantined: 0.5}\nassess: {replicates: 5, intruder: {inversion: false}}\nquarantine: {jsonl: "+dir+
				"/q.jsonl}\n")
		n := 0
		for _, row := range readRows(t, filepath.Join(dir, "out.csv")) {
			if age, err := strconv.Atoi(row[2]); err == nil && age >= 97 && age <= 99 {
				n++
			}
		}
		return r, n
	}
	kept, n := run("keep")
	var codes int64
	for _, m := range kept.MissingCodes {
		if m.Column == "age" {
			codes = m.Codes[0].Records
		}
	}
	lost := kept.Records.Quarantined
	if int64(n) != codes || lost == 0 {
		t.Errorf("%d ages are released as 97 to 99, of which %d are codes; %d records in quarantine", n, codes, lost)
	}
	if reason := "age: would be released with a declared code for a missing value, and be taken for one"; kept.Records.Reasons[reason] != lost {
		t.Errorf("the reasons are %v", kept.Records.Reasons)
	}
	// As null the same values leave: nothing else has the code.
	if null, n := run("null"); int64(n) != lost || null.Records.Quarantined != 0 {
		t.Errorf("as null %d values and %d in quarantine, want %d and none", n, null.Records.Quarantined, lost)
	}
}

// The release and its figures are the same from every format into every format.
func TestDeclaredCodesInEveryFormat(t *testing.T) {
	racetest.Further(t)
	rows, cells := codedPeople(700)
	dir := t.TempDir()
	writeRows(t, filepath.Join(dir, "in.csv"), rows)
	csvIn := "csv: {path: " + dir + "/in.csv, types: {region: string, note: string}}"
	plain :=
		"columns:\n  id: {role: other}\n  income: {role: other}\n  debt: {role: other}\n  age: {role: other}\n  region: {role: other}\n  note: {role: other}\n"
	sources := map[string]string{"csv": csvIn}
	for _, f := range []string{"parquet", "arrow", "jsonl"} {
		codedRun(t, dir, csvIn, f+": {path: "+dir+"/in."+f+"}", plain, " []", "")
		sources[f] = f + ": {path: " + dir + "/in." + f + "}"
	}
	var quoted strings.Builder
	for _, row := range append([][]string{codedNames}, rows...) {
		for j, v := range row {
			if j > 0 {
				quoted.WriteString(",")
			}
			if v != "" {
				v = strconv.Quote(v)
			}
			quoted.WriteString(v)
		}
		quoted.WriteString("\n")
	}
	write(t, filepath.Join(dir, "quoted.csv"), []byte(quoted.String()))
	sources["quoted"] = "csv: {path: " + dir + "/quoted.csv, types: {region: string, note: string}}"
	masks :=
		"\n  - noise: {columns: [income, debt], sd: 10%}\n  - pram: {columns: [region], keep: 0.8, categories: [a, b, c]}"
	for i, as := range []string{"keep", "null"} {
		for j, order := range []string{"source", "shuffled"} {
			first, want := "", []string(nil)
			for k, from := range []string{"csv", "quoted", "jsonl", "parquet", "arrow"} {
				for l, to := range []string{"csv", "jsonl", "parquet", "arrow"} {
					if testing.Short() && first != "" && (i+2*j+k+l)%4 > 0 {
						continue // each pair of formats once
					}
					out := filepath.Join(dir, "out-"+from+"."+to)
					r := codedRun(t, dir, sources[from], to+": {path: "+out+"}, order: "+order, codedColumns(as), masks,
						"assess: {replicates: 5, sample: all}\n")
					text, got := figures(t, r, true), rowsOf(t, out)
					if order == "shuffled" {
						slices.Sort(got) // the order depends on the source
					}
					if first == "" {
						first, want = text, got
						n := strings.Count(strings.Join(got, " "), "income=-9 ") +
							strings.Count(strings.Join(got, " "), "income=9.999999e+06 ")
						incomes := 0
						for _, c := range cells {
							if c.column == 1 && as == "keep" {
								incomes++
							}
						}
						if n != incomes {
							t.Errorf("%s: %d codes of income are released", as, n)
						}
					}
					if from != "csv" && from != "quoted" && (text != first) {
						t.Errorf("%s, %s to %s: the figures are, and those of CSV are:\n%s", as, from, to, apart(text, first))
					}
					sameRows(t, fmt.Sprintf("%s, %s, %s to %s", as, order, from, to), got, want)
				}
			}
		}
	}
}
