package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMapCanary: however a map ends, no value of a respondent appears in what it prints, logs or
// writes. The one exception is a column named by map.by, because its values are the groups' names:
// they are in the files of the map, which only their owner can read, and never on stderr.
func TestMapCanary(t *testing.T) {
	const section = "map: {vary: {masks.0.noise.sd: {from: 1000, to: 9000, steps: 3}}, by: [kind]}\n"
	const admits, refuses = "{column: wage, min_rmse: 1000, knowledge: index}", "{column: wage, min_rmse: 1e9}"
	for i, format := range canaryFormats {
		for k, c := range []struct {
			name, input, rule string
			change            func(string) string
			status            int
		}{
			{name: "recommended", input: "in." + format, rule: admits},
			{name: "quarantine", input: "broken." + format, rule: admits},
			{name: "none", input: "in." + format, rule: refuses, status: exitRefused},
			{name: "search", input: "in." + format, rule: admits,
				change: func(s string) string { return strings.Replace(s, "by: [kind]", "search: true", 1) }},
			{name: "swap", input: "in." + format, rule: "{column: wage, min_efficiency: 0.1}",
				change: func(s string) string {
					return strings.NewReplacer("noise: {columns: [wage], sd: 5000}",
						"swap: {keys: [kind], attribute: note, columns: [wage], rate: 0.5, policy: random}",
						"noise.sd: {from: 1000, to: 9000", "swap.rate: {from: 0.1, to: 0.9", "assess: {",
						"assess: {intruder: {inversion: false}, ", "kind: {role: other}",
						"kind: {role: key}\n  note: {role: key}").Replace(s)
				}},
			{name: "losses", input: "in." + format, rule: admits,
				change: func(s string) string {
					return strings.NewReplacer("wage: {role: sensitive", "wage: {role: key", "assess: {",
						"assess: {intruder: {utility: {propensity: true}}, ").Replace(s)
				}},
			{name: "truncated", input: "truncated." + format, rule: admits, status: -1},
			{name: "missing column", input: "in." + format, rule: admits, status: exitUsage,
				change: func(s string) string { return strings.Replace(s, "kind: {", "kinds: {", 1) }},
			{name: "wrong type", input: "in." + format, rule: admits, status: exitUsage,
				change: func(s string) string { return strings.Replace(s, "columns: [wage], sd", "columns: [kind], sd", 1) }},
			{name: "an identifier forms groups", input: "in." + format, rule: admits, status: exitUsage,
				change: func(s string) string { return strings.Replace(s, "by: [kind]", "by: [name]", 1) }},
		} {
			if !takesPart(k, i, len(canaryFormats)) {
				continue
			}
			t.Run(format+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				canaryInputs(t, dir)
				text := canaryConfig(format, c.input, c.rule) + section
				if c.change != nil {
					text = c.change(text)
				}
				if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, args := range [][]string{
					{"map", "--verbose", "--progress", "json", "--out", "out/map", "--apply=out/applied.yaml", "pipeline.yaml"},
					{"map", "--json", "--apply=out/applied.yaml", "pipeline.yaml"},
				} {
					printed, err := program(t, dir, args...).CombinedOutput()
					checkCanaries(t, strings.Join(args, " "), printed, true)
					checkStatus(t, err, c.status, printed)
				}
				checkFiles(t, filepath.Join(dir, "out"))
				if c.status == 0 || c.status == exitRefused {
					checkMapFiles(t, filepath.Join(dir, "out", "map"))
				}
			})
		}
	}
}

// The names of groups are values of a column: they are in the files only.
func TestMapCanaryOfGroups(t *testing.T) {
	dir := t.TempDir()
	canaryInputs(t, dir)
	for name, by := range map[string]string{"groups": "note", "too many groups": "note, wide"} {
		text := strings.Replace(canaryConfig("csv", "in.csv", "{column: wage, min_rmse: 2000, knowledge: index}"),
			"kind: {role: other}", "kind: {role: other}\n  note: {role: other}", 1) +
			"map: {vary: {masks.0.noise.sd: {from: 1000, to: 9000, steps: 3}}, by: [" + by + "]}\n"
		status := exitDone
		if name != "groups" {
			wide(t, dir)
			text = strings.NewReplacer("in.csv", "wide.csv", "  note: {", "  wide: {role: other}\n  note: {").Replace(text)
			status = exitUsage
		}
		if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := program(t, dir, "map", "--quiet", "--progress", "json", "--out", "out/map", "pipeline.yaml")
		printed, err := cmd.CombinedOutput()
		checkStatus(t, err, status, printed)
		checkCanaries(t, name, printed, true)
	}
	found, err := os.ReadFile(filepath.Join(dir, "out/map/map.json"))
	if err != nil || !bytes.Contains(found, []byte(canaryNote+"7")) {
		t.Errorf("map.json does not name the groups: %v", err)
	}
	checkMapFiles(t, filepath.Join(dir, "out", "map"))
}

// wide writes the records with a column of 1,200 groups.
func wide(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "in.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var out strings.Builder
	out.WriteString(lines[0] + ",wide\n")
	for _, suffix := range []string{"x", "y", "z"} {
		for _, line := range lines[1:] {
			out.WriteString(line + "," + suffix + "\n")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "wide.csv"), []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkMapFiles checks that the files of a map exist and only their owner can read them.
func checkMapFiles(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"map.json", "map.csv", "map.svg", "map.png", "map.html"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, want mode 0600", name, info)
		}
	}
}
