package tabling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The public tables as SDMX-CSV are those that are published otherwise: the same values of the same
// cells, none of what is held back, and no sign of for what it is.
func TestTablesAsSDMX(t *testing.T) {
	const one = "tables: [{name: t, rows: [region, size], unsafe: [{threshold: 3}], protect: {suppress: {}}}]\n"
	const two = "tables: [{name: t, rows: [region, size], value: turnover, decimals: 2, unsafe: [{threshold: 3}], protect: {suppress: {}}}, {name: u, rows: [region], unsafe: [{threshold: 2}], protect: {suppress: {}}}]\n"
	for _, c := range []struct{ tables, sdmx, head, front string }{
		{one, `{structure: "NSO:DF_SHOPS(1.0)"}`, "STRUCTURE STRUCTURE_ID ACTION region size OBS_VALUE OBS_STATUS CONF_STATUS", "dataflow NSO:DF_SHOPS(1.0) I"},
		{two, `{structure: "NSO:DF_SHOPS(1.0)", time_period: 2026-Q1, freq: Q}`, "STRUCTURE STRUCTURE_ID ACTION TABLE FREQ TIME_PERIOD region size OBS_VALUE OBS_STATUS CONF_STATUS", "dataflow NSO:DF_SHOPS(1.0) I TABLE Q 2026-Q1"},
	} {
		plain, sdmx := t.TempDir(), t.TempDir()
		for dir, more := range map[string]string{plain: "", sdmx: "sdmx: " + c.sdmx + "\n"} {
			write(t, dir, "in.csv", shops)
			res, err := run(t, dir, "version: 1\nsource: {csv: {path: %s/in.csv}}\nsink: {csv: {path: %s/out.csv}}\n"+c.tables+more)
			if err != nil || res.Report.Withheld != "" {
				t.Fatal(err, res)
			}
		}
		want, got := read(t, plain, "out.csv"), read(t, sdmx, "out.csv")
		if head := strings.Join(got[0], " "); head != c.head || len(got) != len(want) {
			t.Fatalf("%s, %d rows of %d", head, len(got), len(want))
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
				t.Errorf("%v, want %v", row, expected)
			}
			if status[0] == "Q" {
				if held++; row[len(row)-3] != "" {
					t.Errorf("%v is held back", row)
				}
			}
			key := fmt.Sprint(row[:len(row)-3])
			if keys[key] {
				t.Errorf("%v stands there twice", row)
			}
			keys[key] = true
		}
		if held < 3 {
			t.Errorf("%d cells are held back: it shows little", held)
		}
	}
}
