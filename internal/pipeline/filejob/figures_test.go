package filejob

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// The report, the snapshots, the quarantine and the release of a run do not change unnoticed, and
// neither does the preview.
func TestFiguresOfRuns(t *testing.T) {
	racetest.Further(t)
	const out = "report: {json: DIR/r.json, publish: [sd]}\nquarantine: {jsonl: DIR/q.jsonl}\n"
	const loose = "gate: {max_quarantined: 0.5, allow_unchanged: 1}\n"
	cases := map[string]struct{ masks, extra string }{
		"passes first": {
			"\n  - swap: {keys: [age], attribute: region, columns: [income], rate: 0.7, policy: random}\n  - noise: {columns: [income], sd: 10%}\n  - topcode: {columns: [debt], upper_percentile: 90, replace: mean}\n", out + loose},
		"windows": {
			"\n  - swap: {keys: [age], attribute: region, columns: [income], rate: 0.5, policy: random}\n  - noise: {columns: [income], sd: 30, distribution: laplace}\n  - truncate: {columns: [income], lower: 500, mode: redraw}\n", out + loose + "window: {records: 16}\nassess: {sample: 30, replicates: 10, targets: [p10, p50, max]}\n"},
		"refused by the last rule": {
			noiseMasks,
			out +
				"gate: {max_quarantined: 0.5, rules: [{column: income, min_efficiency: 0.01}, {column: debt, min_efficiency: 0.999}]}\n"},
		"snapshots": {
			noiseMasks, out + loose + "assess: {every: {records: 25}, emit: [{jsonl: DIR/s.jsonl}]}\n"},
		"intruders": {
			noiseMasks,
			out + loose +
				"assess: {replicates: 10, keys: [income, age, region], intruder: {targets: 30, linkage: {}, uniqueness: {sensitive: [debt]}, interval: [0.1], inversion: true}}\n"},
		"warnings": {
			"\n  - noise: {columns: [income], sd: 2}\n  - topcode: {columns: [debt], upper: 100000}\n  - noise: {columns: [debt], sd: 1, tiers: [{above: 100000, variance_factor: 2}]}\n  - truncate: {columns: [income], upper: 3183}\n", "identity: [region]\n" + out + loose + "assess: {replicates: 10, intruder: {inversion: false}}\n"},
		"categories": {
			"\n  - recode: {columns: [region], map: {r0: a, r1: a, r2: b}}\n  - noise: {columns: [income], sd: 5%}\n",
			out + loose + "assess: {replicates: 5, keys: [age, region], intruder: {inversion: false}}\n"},
		"wholes": {
			"\n  - noise: {columns: [income, debt], sd: 10%, correlated: true}\n  - microaggregate: {columns: [age], k: 3}\n",
			out + loose + "assess: {replicates: 4, intruder: {inversion: false}}\n"},
	}
	var rows strings.Builder
	rows.WriteString("id,income,debt,age,region\n")
	for i := range 60 {
		debt := fmt.Sprint(i * i % 37)
		switch i {
		case 41:
			debt = "canary"
		case 7, 59:
			debt = ""
		}
		fmt.Fprintf(&rows, "R%d,%d.50,%s,%d,r%d\n", i, 1000+37*i, debt, 20+i%5, i%3)
	}
	var f pinned.Figures
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		dir := t.TempDir()
		in := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
		write(t, filepath.Join(dir, "in.csv"), []byte(rows.String()))
		p := parse(t, dir,
			setup{source: in("csv: {path: DIR/in.csv, types: {debt: float64}}"), sink: in("csv: {path: DIR/out.csv}"),
				masks: cases[name].masks, extra: in(cases[name].extra)})
		view, err := NewPreview(t.Context(), p, 4, new(pipeline.Progress))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.AddTree(name+": preview", view, nil)
		if _, err := Run(t.Context(), p, pipeline.Options{Version: "test"}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, file := range filesIn(t, dir) {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.ReplaceAll(text, []byte(dir), []byte("DIR"))
			switch file {
			case "out.csv":
				f.AddTree(name+": "+file, strings.Split(string(text), "\n")[:9], nil)
				continue
			case "r.public.json":
				continue // the package report tests its content
			}
			for d, i := json.NewDecoder(bytes.NewReader(text)), 0; d.More(); i++ {
				var tree any
				if err := d.Decode(&tree); err != nil {
					t.Fatal(file, err)
				}
				f.AddTree(fmt.Sprintf("%s: %s %d", name, file, i), tree, volatile)
			}
		}
	}
	f.Check(t, "testdata/figures.tsv")
}

// volatile reports whether a part of a report differs in every run, belongs to other packages
// (above all texts), or is too long to be pinned.
func volatile(path string) bool {
	at := path[strings.LastIndex(path, ".")+1:]
	_, risk, _ := strings.Cut(path, "risk[")
	return slices.Contains([]string{"started", "finished", "changed", "config_sha256", "version", "schema", "histogram",
		"pictures", "key_id", "verdict", "note", "advice", "remark", "rule", "sampled", "replicates", "knowledge", "target",
		"rmse", "realised_R"}, at) ||
		risk != "" && risk[0] > '1'
}
