package filejob

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// A run measures the keys that the columns' roles declare as known to an intruder. All
// are counted, whatever their types, but for those whose mask is not covered.
func TestKeysByTheirRole(t *testing.T) {
	const still = "\n  - noise: {columns: [income], sd: 300}\n"
	const moved = still + "  - swap: {keys: [age], attribute: income, columns: [region], rate: 0.9}\n"
	for _, c := range []struct {
		name, masks, extra string
		linked, counted    []string
	}{
		{name: "both", masks: still, linked: []string{"age"}, counted: []string{"age", "region"}},
		{name: "a masked key", masks: moved, linked: []string{"age"}, counted: []string{"age"}},
		{name: "a masked key, and a rule about linkage", masks: moved, extra: "gate: {rules: [{max_linked: 1}]}",
			linked: []string{"age"}, counted: []string{"age"}},
		{name: "a masked key, and a rule about k", masks: moved,
			extra:  "assess: {intruder: {count: released}}\ngate: {rules: [{max_linked: 1}, {max_individual_risk: 1}]}",
			linked: []string{"age"}, counted: []string{"age", "region"}},
		{name: "a masked key, and a requested intruder", masks: moved,
			extra: "assess: {intruder: {uniqueness: {}, linkage: {}}}", linked: []string{"age"}, counted: []string{"age"}},
		{name: "a masked key, named in assess.keys", masks: moved, extra: "assess: {keys: [age, region]}",
			linked: []string{"age"}, counted: []string{"age"}},
		{name: "another is named", masks: moved, extra: "assess: {keys: [income]}", linked: []string{"income"}},
		{name: "a rule about k", masks: still, extra: "gate: {rules: [{min_k: 2}]}", linked: []string{"age"},
			counted: []string{"age", "region"}},
		{name: "no measure that uses keys", masks: still, extra: "assess: {intruder: {interval: [0.1]}}"},
	} {
		dir := t.TempDir()
		writeCSV(t, filepath.Join(dir, "in.csv"), people(200))
		file := filepath.Join(dir, "report.json")
		p := parse(t, dir,
			setup{source: "csv: {path: " + dir + "/in.csv}", sink: "csv: {path: " + dir + "/out.csv}", masks: c.masks,
				extra: c.extra + "\nreport: {json: " + file + "}\n"})
		_, err := Run(context.Background(), p, pipeline.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rep report.Report
		if err := json.Unmarshal(text, &rep); err != nil {
			t.Fatal(err)
		}
		var counted []string
		if u := rep.Attack.Uniqueness; u != nil {
			counted = u.Keys
		}
		if linkage := rep.Attack.Linkage != nil; !slices.Equal(rep.Attack.Keys, c.linked) ||
			!slices.Equal(counted, c.counted) || linkage != (c.linked != nil) {
			t.Errorf("%s: linked keys %q (linkage: %v), counted keys %q", c.name, rep.Attack.Keys, linkage, counted)
		}
		if warnings := strings.Join(rep.Warnings, "\n"); strings.Contains(warnings, "leave out") {
			t.Errorf("%s: unexpected warning in %q", c.name, warnings)
		}
	}
}
