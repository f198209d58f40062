package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline/tabling"
)

// TestTableMapCanary: however a map of tables ends, no contribution, and no total of any cell,
// published or not, appears in what it prints, logs or writes. Tables publish the protection that
// it applies.
func TestTableMapCanary(t *testing.T) {
	text, values := canaryFirms()
	const gate = "gate: {rules: [{max_risk: 1.2}]}\n"
	for _, c := range []struct {
		name, source, settings string
		change                 []string
		status                 int
	}{
		{name: "values", source: "csv: {path: in.csv}", settings: gate + "map: {table: turnover}\n"},
		{name: "counts", source: "csv: {path: in.csv}",
			settings: gate + "key: {file: key}\nidentity: [firm]\nmap: {table: firms}\n"},
		{name: "not said of which", source: "csv: {path: in.csv}", settings: gate, status: exitUsage},
		{name: "nothing is recommended", source: "csv: {path: in.csv}", settings: "map: {table: firms}\n",
			status: exitRefused},
		{name: "broken", source: "csv: {path: broken.csv}", settings: gate + "map: {table: firms}\n", status: exitUsage},
		{name: "broken left out", source: "csv: {path: broken.csv, types: {turnover: int64}}",
			settings: "unknown: drop\n" + gate + "map: {table: turnover}\n"},
		{name: "too large", source: "csv: {path: in.csv}", settings: gate + "map: {table: firms}\n",
			change: []string{"value: turnover", "value: turnover, decimals: 9"}, status: exitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			config := strings.NewReplacer(c.change...).Replace(
				fmt.Sprintf(canaryTables, c.source, "suppress: {}", "csv: {path: out/tables.csv}")) + c.settings
			broken := strings.Replace(text, "trade", "Canarycode", 1)
			broken = strings.Replace(broken, "\n", "\nCanaryfirm0,south,farms,73184Canarybad\n", 1)
			for name, content := range map[string]string{"in.csv": text, "broken.csv": broken, "tables.yaml": config,
				"key": canaryTableKey + "\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range [][]string{
				{"map", "--verbose", "--progress", "json", "--out", "out/map", "--apply=out/applied.yaml", "tables.yaml"},
				{"map", "--json", "--apply=out/applied.yaml", "tables.yaml"},
			} {
				printed, err := program(t, dir, args...).CombinedOutput()
				checkStatus(t, err, c.status, printed)
				checkTableCanaries(t, strings.Join(args, " "), string(printed), values, nil)
			}
			written, err := filepath.Glob(filepath.Join(dir, "out", "map", "*"))
			if err != nil || (c.status == 0 || c.status == exitRefused) != (len(written) == 5) {
				t.Fatalf("%v, %v", written, err)
			}
			for _, path := range written {
				content, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				checkTableCanaries(t, path, string(content), values, nil)
				for cell, v := range values {
					if holdsNumber(string(content), v) {
						t.Errorf("%s holds the value of %s", path, cell)
					}
				}
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v", path, info.Mode().Perm())
				}
			}
			if c.status != 0 {
				return
			}
			// A configuration uses paths relative to its own folder.
			if err := os.Rename(filepath.Join(dir, "out", "applied.yaml"), filepath.Join(dir, "applied.yaml")); err != nil {
				t.Fatal(err)
			}
			status := exitDone
			if strings.HasPrefix(c.settings, "unknown") {
				status = exitQuarantined
			}
			printed, err := program(t, dir, "tables", "applied.yaml").CombinedOutput()
			checkStatus(t, err, status, printed)
		})
	}
}

// A map of tables from standard input changes nothing; --dry-run prints what --apply would write.
func TestTableMapOfStandardInput(t *testing.T) {
	dir := t.TempDir()
	text, _ := canaryFirms()
	config := fmt.Sprintf(canaryTables, "csv: {path: in.csv}", "suppress: {}", "csv: {path: out/tables.csv}") +
		"gate: {rules: [{min_range: rule}]}\nmap: {table: firms, methods: [{round: {base: [5]}}]}\n"
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, dir, "map", "--json", "-")
	cmd.Stdin = strings.NewReader(config)
	printed, err := cmd.Output()
	checkStatus(t, err, 0, printed)
	m := new(tabling.Mapped)
	if err := json.Unmarshal(printed, m); err != nil || m.Schema != tabling.MapSchema || len(m.Points) != 2 ||
		!m.Points[0].Configured || !slices.Equal(m.Tables, []string{"firms"}) {
		t.Fatalf("%v: %s", err, printed)
	}
	cmd = program(t, dir, "map", "--apply", "--dry-run", "-")
	cmd.Stdin = strings.NewReader(config)
	printed, err = cmd.Output()
	checkStatus(t, err, 0, printed)
	if m.Recommended == nil || !strings.Contains(string(printed), "protect: {"+m.Points[*m.Recommended].Setting+"}") {
		t.Errorf("recommended is %v of %+v, printed\n%s", m.Recommended, m.Points, printed)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("remaining files: %v, %v", left, err)
	}
}
