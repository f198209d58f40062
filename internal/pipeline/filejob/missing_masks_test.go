package filejob

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// A record with a declared code in a column that a swap exchanges takes no part: it keeps all its values, and the
// others are exchanged, and measured, as in data without it. Draws by identity do not depend on the record's place.
func TestDeclaredCodesTakeNoPartInSwaps(t *testing.T) {
	racetest.Further(t)
	rows, cells := codedPeople(700)
	coded := map[string]bool{}
	for _, c := range cells {
		if c.column == 1 || c.column == 3 {
			coded[strconv.Itoa(c.row)] = true
		}
	}
	var without [][]string
	for i, row := range nulled(rows, slices.DeleteFunc(slices.Clone(cells), func(c codedCell) bool {
		return c.column == 1 || c.column == 3
	})) {
		if !coded[strconv.Itoa(i)] {
			without = append(without, row)
		}
	}
	for _, scope := range []string{"dataset", "window"} {
		dir := t.TempDir()
		writeRows(t, filepath.Join(dir, "codes.csv"), rows)
		writeRows(t, filepath.Join(dir, "without.csv"), without)
		run := func(in, out, columns string) *report.Report {
			columns = strings.Replace(columns, "id: {role: identifier}", "id: {role: other}", 1)
			return codedRun(t, dir, "csv: {path: "+dir+"/"+in+", types: {region: string, note: string}}",
				"csv: {path: "+dir+"/"+out+"}", columns,
				"\n  - swap: {columns: [income, age], keys: [region], attribute: note, rate: 0.6, policy: random, scope: "+scope+
					"}", "identity: [id]\nassess: {replicates: 5, sample: all, intruder: {inversion: false}}\n")
		}
		kept := run("codes.csv", "k.csv", codedColumns("keep"))
		others := run("without.csv", "w.csv", codedColumns("null"))
		want := map[string][]string{}
		for _, row := range readRows(t, filepath.Join(dir, "w.csv")) {
			want[row[0]] = row
		}
		moved := 0
		for i, row := range readRows(t, filepath.Join(dir, "k.csv")) {
			if coded[row[0]] {
				if !slices.EqualFunc(row, rows[i], sameCell) {
					t.Fatalf("%s: a record with a code is released as %q, was %q", scope, row, rows[i])
				}
				continue
			}
			if scope == "dataset" && !sameCell(row[1], want[row[0]][1]) || scope == "dataset" &&
				!sameCell(row[3], want[row[0]][3]) {
				t.Fatalf("%s: record %s is released as %q, and as %q in data without the records with codes", scope, row[0], row,
					want[row[0]])
			}
			if !sameCell(row[1], rows[i][1]) {
				moved++
			}
		}
		if moved < 100 {
			t.Errorf("%s: only %d values were exchanged", scope, moved)
		}
		// The records with a code in income alone keep their age.
		if a, b := riskOf(t, kept, "age", "index"), riskOf(t, others, "age", "index"); !(a.R > b.R) {
			t.Errorf("%s: R by index is %v, want more than %v: some take no part", scope, a.R, b.R)
		}
	}
}

// Who has a declared code in what moves takes no part in a record swap; all others' areas are exchanged among
// themselves. Elsewhere a code is a category like any other.
func TestDeclaredCodesStayInTheirHouseholds(t *testing.T) {
	racetest.Further(t)
	rows, cells := codedPeople(700)
	coded := map[int]bool{}
	for _, c := range cells {
		if c.column >= 4 {
			coded[c.row] = true
		}
	}
	dir := t.TempDir()
	writeRows(t, filepath.Join(dir, "codes.csv"), rows)
	for _, as := range []string{"keep", "null"} {
		codedRun(t, dir, "csv: {path: "+dir+"/codes.csv, types: {id: int64, region: string, note: string}}",
			"csv: {path: "+dir+"/"+as+".csv}, order: shuffled",
			strings.Replace(codedColumns(as), "id: {role: identifier}", "id: {role: other}", 1),
			"\n  - recordswap: {hierarchy: [region], carry: [note], risk: [age], rate: 0.5, similar: [[]], max_left: 1}",
			"assess: {intruder: {inversion: false}}\n")
		released := map[string][]string{}
		for _, row := range readRows(t, filepath.Join(dir, as+".csv")) {
			released[row[0]] = row
		}
		places, moved := map[[2]string]int{}, 0
		for i, row := range rows {
			got := released[row[0]]
			if coded[i] {
				for _, c := range []int{4, 5} {
					code := slices.ContainsFunc(cells, func(x codedCell) bool { return x.row == i && x.column == c })
					if as == "null" && code && got[c] != "" || !(as == "null" && code) && !sameCell(got[c], row[c]) {
						t.Fatalf("as %s: record %d with a code is released as %q, was %q", as, i, got, row)
					}
				}
				continue
			}
			places[[2]string{row[4], row[5]}]++
			places[[2]string{got[4], got[5]}]--
			if got[4] != row[4] {
				moved++
			}
		}
		for place, n := range places {
			if n != 0 {
				t.Errorf("as %s: %q has %d records less than before", as, place, n)
			}
		}
		if moved < 200 {
			t.Errorf("as %s: only %d records moved", as, moved)
		}
	}
}

func riskOf(t *testing.T, r *report.Report, column, knowledge string) assess.Risk {
	t.Helper()
	for _, c := range r.Columns {
		for _, k := range c.Risk {
			if c.Name == column && k.Target == "typical" && k.Knowledge == knowledge {
				return k
			}
		}
	}
	t.Fatalf("no risk of %s by %s", column, knowledge)
	return assess.Risk{}
}

// Weights are calibrated to margins in which a declared code is a missing value, as if nothing stood in its place: the
// other weights, the totals and the account of the calibration are the same. A weight with a code takes no part; it
// leaves as it is, or as a missing value.
func TestDeclaredCodesInCalibrations(t *testing.T) {
	racetest.Further(t)
	rows, cells := codedPeople(700)
	columns := func(as string) string {
		return "weight: debt\n" + strings.NewReplacer("role: key", "role: other", "debt: {role: sensitive, unmasked: true,",
			"debt: {role: other,").Replace(codedColumns(as))
	}
	plain := strings.NewReplacer(", missing: {codes: [-9, 9999999], as: keep}", "", ", missing: {codes: [-8], as: keep}",
		"", ", missing: {codes: [{from: 97, to: 99}], as: keep}", "",
		", missing: {codes: [refused], as: keep}", "", ", missing: {codes: [none], as: keep}", "").Replace(columns("keep"))
	dir := t.TempDir()
	writeRows(t, filepath.Join(dir, "codes.csv"), rows)
	writeRows(t, filepath.Join(dir, "nulls.csv"), nulled(rows, cells))
	run := func(in, out, columns string) (*report.Report, [][]string) {
		r := codedRun(t, dir,
			"csv: {path: "+dir+"/"+in+
				", types: {id: int64, income: float64, debt: int64, age: int64, region: string, note: string}, nulls: ['']}",
			"csv: {path: "+dir+"/"+out+"}", columns,
			"\n  - sample: {rate: 0.7}\n  - noise: {columns: [income], sd: 10%}\n  - calibrate: {columns: [debt], by: [region, note], on: [age], lower: 0.5}", "identity: [id]\nassess: {replicates: 5, sample: all}\n")
		return r, readRows(t, filepath.Join(dir, out))
	}
	nulls, want := run("nulls.csv", "n.csv", plain)
	null, got := run("codes.csv", "c.csv", columns("null"))
	if firstDifference(got, want) != "" || len(want) < 400 {
		t.Errorf("as null: the release differs from that of missing values: %s", firstDifference(got, want))
	}
	keep, kept := run("codes.csv", "k.csv", columns("keep"))
	if len(kept) != len(want) {
		t.Fatalf("%d records are released, want %d", len(kept), len(want))
	}
	codes := map[string]int{}
	for i := range kept {
		for j, v := range kept[i] {
			switch {
			case slices.Contains([]string{"-9", "9999999", "-8", "97", "98", "99", "refused", "none"}, v) && want[i][j] == "":
				codes[codedNames[j+1]]++
			case !sameCell(v, want[i][j]):
				t.Fatalf("kept, row %d: %q, want %q", i, kept[i], want[i])
			}
		}
	}
	if len(codes) != 5 {
		t.Errorf("codes are kept in %v, want five columns", codes)
	}
	account := func(r *report.Report) string {
		text, err := json.Marshal(r.Masks[2].Calibration)
		if err != nil || r.Masks[2].Calibration == nil {
			t.Fatal(err, r.Masks)
		}
		return string(text)
	}
	if a := account(nulls); account(null) != a || account(keep) != a {
		t.Errorf("calibrations %s as null, %s kept, and of missing values %s", account(null), account(keep), a)
	}
	if a, b := figures(t, null, true), figures(t, nulls, true); a != b {
		t.Errorf("as null: the figures differ: %s", apart(a, b))
	}
	if a, b := figures(t, keep, false), figures(t, nulls, false); a != b {
		t.Errorf("kept: the figures differ: %s", apart(a, b))
	}
	// The totals are those of the original, by hand.
	total := func(rows [][]string, category string) (sum float64) {
		for _, row := range rows {
			if w, err := strconv.ParseFloat(row[len(row)-4], 64); err == nil && w > 0 && row[len(row)-2] == category {
				sum += w
			}
		}
		return sum
	}
	for _, category := range []string{"a", "b", "c", "refused"} {
		// A weight of the seven tenths that are drawn is 5,000 on average and rounded by half a unit at most: 1 in 10,000.
		if a, b := total(kept, category), total(rows, category); !(math.Abs(a/b-1) < 2e-4) {
			t.Errorf("%s: the weights add up to %v, and to %v in the original", category, a, b)
		}
	}
}

// After a suppression each combination of the keys belongs to at least k records, and a kept code is a category in it
// like any other; it may be set missing.
func TestDeclaredCodesAreSuppressed(t *testing.T) {
	racetest.Further(t)
	rows, cells := codedPeople(700)
	const k = 5
	dir := t.TempDir()
	writeRows(t, filepath.Join(dir, "in.csv"), rows)
	r := codedRun(t, dir, "csv: {path: "+dir+"/in.csv, types: {region: string, note: string}}",
		"csv: {path: "+dir+"/out.csv}", codedColumns("keep"),
		fmt.Sprintf(
			"\n  - recode: {columns: [age], breaks: [0, 30, 50, 90]}\n  - suppress: {keys: [age, region, note], k: %d, missing: any}", k), "gate: {rules: [{min_k: 5}]}\nassess: {keys: [age, region, note]}\n")
	got := readRows(t, filepath.Join(dir, "out.csv"))
	kept, hidden := 0, 0
	for _, c := range cells {
		switch v := got[c.row][c.column-1]; {
		case c.column < 3:
		case v == c.code:
			kept++
		case v == "":
			hidden++
		default:
			t.Fatalf("the code %q is released as %q", c.code, v)
		}
	}
	if kept == 0 || hidden == 0 {
		t.Errorf("%d codes are kept and %d hidden, want some of both", kept, hidden)
	}
	least := len(got)
	for _, a := range got {
		n := 0
		for _, b := range got {
			match := true
			for _, j := range []int{2, 3, 4} {
				match = match && (a[j] == b[j] || a[j] == "" || b[j] == "")
			}
			if match {
				n++
			}
		}
		least = min(least, n)
	}
	if least < k {
		t.Errorf("a combination belongs to %d records, want at least %d", least, k)
	}
	if !r.Gate.Passed {
		t.Errorf("the gate: %+v", r.Gate.Rules)
	}
}
