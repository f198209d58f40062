package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCanaryOfCategories: no category of a respondent appears in a map of categories, or in
// messages about an intruder who recovers categories, with or without success.
func TestCanaryOfCategories(t *testing.T) {
	coarse := "recode: {columns: [kind], map: {" + canaryCategories(func(k int) string {
		return fmt.Sprintf(": group%d", k%3)
	}) + "}, other: group0}"
	pram := func(keep string) string {
		return "pram: {columns: [kind], categories: [" + canaryCategories(func(int) string { return "" }) + "], keep: " +
			keep + ", other: " + canaryKind + "0}"
	}
	for _, c := range []struct {
		name, mask, vary string
		status           int
	}{
		{"joined and hidden", coarse + "}, {suppress: {keys: [kind], k: 2}", "masks.2.suppress.k: {from: 2, to: 4}", 0},
		{"hidden", "suppress: {keys: [kind], k: 2}", "masks.1.suppress.k: {from: 2, to: 4}", 0},
		{"drawn", pram("0.5"), "masks.1.pram.keep: {from: 0.2, to: 0.6, steps: 3}", 0},
		{"computed back", pram("1"), "masks.1.pram.keep: {from: 0.999, to: 1, steps: 2}", exitRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			canaryInputs(t, dir)
			canaryKinds(t, dir)
			text := canaryConfig("csv", "in.csv", "{max_entropy_lost: 1}, {max_changed: 1}")
			text = strings.Replace(text, "masks:\n  - noise: {columns: [wage], sd: 5000}\n",
				"masks: [{noise: {columns: [wage], sd: 5000}}, {"+c.mask+"}]\n", 1)
			text = strings.Replace(text, "kind: {role: other}", "kind: {role: key}", 1)
			text = strings.Replace(text, "assess: {", "assess: {intruder: {uniqueness: {}, inversion: true}, ", 1)
			text += "map: {categories: [kind], vary: {" + c.vary + "}}\n"
			if err := os.WriteFile(filepath.Join(dir, "pipeline.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"map", "--verbose", "--progress", "json", "--out", "out/map", "pipeline.yaml"},
				{"attack", "--json", "--verbose", "pipeline.yaml"},
				{"run", "--verbose", "--progress", "json", "pipeline.yaml"},
			} {
				printed, err := program(t, dir, args...).CombinedOutput()
				what := c.name + ": " + args[0]
				checkCanaries(t, what, printed, true)
				checkNoKind(t, what, printed)
				if args[0] == "run" {
					checkStatus(t, err, c.status, printed)
				}
			}
			files, err := os.ReadDir(filepath.Join(dir, "out", "map"))
			if err != nil || len(files) < 5 {
				t.Fatalf("%d files of the map, %v", len(files), err)
			}
			for _, f := range files {
				data, err := os.ReadFile(filepath.Join(dir, "out", "map", f.Name()))
				if err != nil {
					t.Fatal(err)
				}
				checkNoKind(t, f.Name(), data)
			}
		})
	}
}

func checkNoKind(t *testing.T, what string, data []byte) {
	t.Helper()
	if bytes.Contains(data, []byte(canaryKind)) || bytes.Contains(data, []byte(canaryBroken)) {
		t.Errorf("%s holds a category of a respondent: %.300s", what, data)
	}
}
