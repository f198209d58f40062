package tabling

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// The public tables as SDMX-CSV equal those in other formats: the same values of the same cells, no
// value of suppressed cells, and no hint of the reason.
func TestTablesAsSDMX(t *testing.T) {
	const one = "tables: [{name: t, rows: [region, size], unsafe: [{threshold: 3}], protect: {suppress: {}}}]\n"
	const two = "tables: [{name: t, rows: [region, size], value: turnover, decimals: 2, unsafe: [{threshold: 3}], protect: {suppress: {}}}, {name: u, rows: [region], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\n"
	for _, c := range []struct{ tables, sdmx, head, front string }{
		{one, `{structure: "NSO:DF_SHOPS(1.0)"}`,
			"STRUCTURE STRUCTURE_ID ACTION region size OBS_VALUE OBS_STATUS CONF_STATUS", "dataflow NSO:DF_SHOPS(1.0) I"},
		{two, `{structure: "NSO:DF_SHOPS(1.0)", time_period: 2026-Q1, freq: Q}`,
			"STRUCTURE STRUCTURE_ID ACTION TABLE FREQ TIME_PERIOD region size OBS_VALUE OBS_STATUS CONF_STATUS",
			"dataflow NSO:DF_SHOPS(1.0) I TABLE Q 2026-Q1"},
	} {
		plain, sdmx := t.TempDir(), t.TempDir()
		for dir, more := range map[string]string{plain: "", sdmx: "sdmx: " + c.sdmx + "\n"} {
			write(t, dir, "in.csv", shops)
			res,
				err := run(t, dir, "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\n"+c.tables+more)
			if err != nil || res.Report.Withheld != "" {
				t.Fatal(err, res)
			}
		}
		want, got := read(t, plain, "out.csv"), read(t, sdmx, "out.csv")
		if head := strings.Join(got[0], " "); head != c.head || len(got) != len(want) {
			t.Fatalf("the header is %s, with %d rows, want %d", head, len(got), len(want))
		}
		front := strings.Fields(c.front)
		keys, held := map[string]bool{}, 0
		for i, row := range got[1:] {
			w := want[i+1]
			n := len(w)
			status := map[string][]string{"published": {"A", "F"}, "empty": {"A", "F"}, "suppressed": {"Q", "C"}}[w[n-1]]
			expected := slices.Concat(front, w[1:n-1], status)
			if k := slices.Index(expected, "TABLE"); k >= 0 {
				expected[k] = w[0]
			}
			if !slices.Equal(row, expected) {
				t.Errorf("the row is %v, want %v", row, expected)
			}
			if status[0] == "Q" {
				if held++; row[len(row)-3] != "" {
					t.Errorf("a suppressed row has a value: %v", row)
				}
			}
			key := fmt.Sprint(row[:len(row)-3])
			if keys[key] {
				t.Errorf("the key of the row is repeated: %v", row)
			}
			keys[key] = true
		}
		if held < 3 {
			t.Errorf("%d cells are suppressed: the test checks little", held)
		}
	}
}

// The program's own SDMX-CSV is judged like its CSV, also if a value is missing. A file with
// several times or structures is ambiguous and is refused by line.
func TestForeignTablesAsSDMX(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", shops)
	const text = "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\n" +
		"tables: [{name: t, rows: [region, size], value: turnover, decimals: 2, unsafe: [{threshold: 3}], protect: {suppress: {}}}, {name: u, rows: [region], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\n"
	const sdmx = "sdmx: {structure: 'NSO:DF_SHOPS(1.0)', time_period: '2026'}\n"
	if res, err := run(t, dir, text+sdmx); err != nil || res.Report.Withheld != "" {
		t.Fatal(err, res)
	}
	own, err := os.ReadFile(filepath.Join(dir, "out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []string{text, text + sdmx} {
		rep, err := audited(t, dir, config, string(own))
		if err != nil || !rep.Gate.Passed || rep.Tables[0].Secondary == 0 {
			t.Fatalf("the written table itself: error %v, report %+v, want a passed gate", err, rep)
		}
		bare := strings.NewReplacer(",TIME_PERIOD", "", ",2026", "").Replace(string(own))
		if rep, err := audited(t, dir, config, bare); err != nil || !rep.Gate.Passed {
			t.Errorf("without a time: error %v, report %+v, want a passed gate", err, rep)
		}
	}
	// If only the two tables' totals are published, everything is suppressed. If one cell next to
	// each is published too, more can be computed than allowed.
	shown := strings.ReplaceAll(string(own), ",Q,C", ",A,F")
	lines := strings.Split(strings.TrimSpace(shown), "\n")
	if rep, err := audited(t, dir, text, strings.Join(append(lines[:1:1], lines[1]), "\n")); err != nil ||
		rep.Tables[0].Published != 1 {
		t.Errorf("one line alone: error %v, report %+v, want 1 published cell", err, rep)
	}
	for _, c := range []struct{ from, to, want string }{
		{",2026,", ",2025,", `table.csv:3: TIME_PERIOD must be "2026": the file must be of one structure and time`},
		{"DF_SHOPS(1.0)", "DF_SHOPS(1.1)", `table.csv:3: STRUCTURE_ID must be "NSO:DF_SHOPS(1.0)": the file`},
		{",I,", ",D,", "table.csv:3: ACTION must not be D"},
	} {
		changed := strings.Split(string(own), "\n")
		changed[2] = strings.Replace(changed[2], c.from, c.to, 1)
		_, err := audited(t, dir, text, strings.Join(changed, "\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.to, err, c.want)
		}
		if c.from == ",I," {
			continue
		}
		if _, err := audited(t, dir, text+sdmx, strings.ReplaceAll(string(own), c.from, c.to)); err == nil ||
			!strings.Contains(err.Error(), "table.csv:2: ") || !strings.Contains(err.Error(), "lines more") {
			t.Errorf("%q in every line, against the configuration: error %v", c.to, err)
		}
	}
	if _, err := audited(t, dir, text, strings.Replace(string(own), "OBS_VALUE", "value", 1)); err == nil ||
		!strings.Contains(err.Error(), "must have a column OBS_VALUE") {
		t.Error(err)
	}
	if _, err := audited(t, dir, text, strings.Replace(string(own), "TABLE", "table", 1)); err == nil ||
		!strings.Contains(err.Error(), "must have a column TABLE") {
		t.Error(err)
	}
}

// With secondary: D the cells that protect others have another status than unsafe ones, and nothing else differs.
func TestSecondarySDMX(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", shops)
	const text = "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\nreport: {cells: %s/cells.csv}\n" +
		"tables: [{name: t, rows: [region, size], value: turnover, decimals: 2, unsafe: [{threshold: 3}], protect: {suppress: {}}}]\n"
	files := map[string][][]string{}
	for _, status := range []string{"C", "D"} {
		res, err := run(t, dir, text+"sdmx: {structure: 'NSO:DF_SHOPS(1.0)', secondary: "+status+"}\n")
		if err != nil || res.Report.Withheld != "" {
			t.Fatal(err, res)
		}
		if warned := len(res.Report.Warnings) == 1; warned != (status == "D") {
			t.Errorf("%s: warnings %q", status, res.Report.Warnings)
		}
		files[status] = read(t, dir, "out.csv")
	}
	count := map[string]int{}
	for i, row := range read(t, dir, "cells.csv")[1:] {
		c, d := files["C"][i+1], files["D"][i+1]
		want := map[string]string{"primary": "C", "secondary": "D", "free": "F", "empty": "F"}[row[5]]
		last := len(d) - 1
		if d[last] != want || !slices.Equal(c[:last], d[:last]) || (c[last] == "F") != (want == "F") {
			t.Errorf("%s: %v and %v", row[5], c, d)
		}
		count[want]++
	}
	if count["C"] == 0 || count["D"] == 0 {
		t.Errorf("statuses %v", count)
	}
}

// Ends of ranges are printed rounded inward, to whole units, and 0 has no sign.
func TestPrintedRanges(t *testing.T) {
	p := &protected{ranges: &audit.Ranges{}}
	for _, c := range []struct{ value, low, high, wantLow, wantHigh float64 }{
		{15, 12.4, 17.6, 13, 17}, {15, 12, 17, 12, 17}, {15, 0, 17, 0, 17}, {15, 12.0000001, 16.9999999, 12, 17},
		{15, 14.99, 15.01, 15, 15},
		{-3, -7.5, -1.5, -7, -2}, {15, math.Inf(-1), math.Inf(1), math.Inf(-1), math.Inf(1)},
		{1e12, 1e12 - 0.5, 1e12 + 0.5, 1e12, 1e12}, {2e6, 2e6 - 7.95, 2e6 + 7.95, 2e6 - 8, 2e6 + 8},
		{2e6, 2e6 - 7.85, 2e6 + 7.85, 2e6 - 7, 2e6 + 7},
	} {
		p.question.Value, p.ranges.Low, p.ranges.High = []float64{c.value}, []float64{c.low}, []float64{c.high}
		if low, high := p.inferred(0); low != c.wantLow || high != c.wantHigh || low == 0 && math.Signbit(low) {
			t.Errorf("%v in %v to %v is printed %v to %v, want %v to %v", c.value, c.low, c.high, low, high, c.wantLow,
				c.wantHigh)
		}
	}
}
