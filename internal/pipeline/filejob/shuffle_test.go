package filejob

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Two releases of the same records under one key but with different processing have different
// orders. Otherwise their records could be matched, and their noise averaged or their categories
// intersected. An identical release has the same order.
func TestReleasesOfOtherMasksAreShuffledApart(t *testing.T) {
	const noise = "\n  - noise: {columns: [income], sd: 100}"
	rows := people(200)
	order := func(masks string) []string {
		dir := t.TempDir()
		writeCSV(t, filepath.Join(dir, "in.csv"), rows)
		p := parse(t, dir,
			setup{source: "csv: {path: " + filepath.Join(dir, "in.csv") + "}",
				sink: "order: shuffled, csv: {path: " + filepath.Join(dir, "out.csv") + "}", masks: masks})
		if _, err := Run(context.Background(), p, pipeline.Options{}); err != nil {
			t.Fatal(err)
		}
		return columnOf(t, filepath.Join(dir, "out.csv"), "age")
	}
	agree := func(a, b []string) (n int) {
		for i := range min(len(a), len(b)) {
			if a[i] == b[i] {
				n++
			}
		}
		return n
	}
	all := map[string][]string{}
	for name, masks := range map[string]string{
		"noise":                 noise,
		"more noise":            "\n  - noise: {columns: [income], sd: 101}",
		"noise of another name": "\n  - name: again\n    noise: {columns: [income], sd: 100}",
		"rounded as well":       noise + "\n  - round: {columns: [debt], base: 100}",
		"coarser regions":       noise + "\n  - recode: {columns: [region], map: {north: n, south: s, east: e, west: w}}",
		"other coarser regions": noise + "\n  - recode: {columns: [region], map: {north: n, south: s, east: n, west: s}}",
		"a sample":              "\n  - sample: {rate: 0.999}" + noise,
	} {
		all[name] = order(masks)
	}
	if n := agree(all["noise"], order(noise)); n != 200 {
		t.Errorf("a repeated release agrees in %d places, want all 200", n)
	}
	for a := range all {
		for b := range all {
			// 60 ages: about 3 of 200 agree by chance, and almost never 20.
			if n := agree(all[a], all[b]); a != b && n > 20 {
				t.Errorf("the orders of %s and %s agree in %d places, want at most 20", a, b, n)
			}
		}
	}
}
