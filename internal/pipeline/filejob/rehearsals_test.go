package filejob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Several rehearsals read the ledger once: a second release with independent draws of SD 300 is known to some ± 150
// beside the first, also where the ledger is gone since. Rehearsals that find none judge it alone, ± 234.
func TestRehearsalsReadTheLedgerOnce(t *testing.T) {
	extra := "ledger: DIR/ledger\nassess: {replicates: 20, targets: [p50]}\ngate: {max_quarantined: 0.9, rules: [{column: income, target: typical, knowledge: index, min_rmse: 30}, {column: income, max_unchanged: 1}]}\n"
	dir, p := job(t, "order: shuffled, csv: {path: DIR/out.csv}", "\n  - noise: {columns: [income], sd: 300}\n", extra)
	if result, err := Run(t.Context(), p, pipeline.Options{}); err != nil || !result.Report.Gate.Passed {
		t.Fatal(err)
	}
	in := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
	second := parse(t, dir, setup{source: in("csv: {path: DIR/in.csv, types: {debt: float64}}"),
		sink: in("order: shuffled, csv: {path: DIR/second.csv}"), masks: "\n  - noise: {columns: [income], sd: 301}\n",
		extra: in(strings.Replace(extra, "min_rmse: 30", "min_rmse: 220", 1))})
	src, err := pipeline.OpenSource(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	key, err := second.Key.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	passes := func(by *Rehearsals) bool {
		verdict, err := by.Rehearse(t.Context(), second, nil, key, new(pipeline.Progress))
		if err != nil {
			t.Fatal(err)
		}
		return verdict.Passed
	}
	by := &Rehearsals{Source: src}
	if passes(by) {
		t.Fatal("the second release passes beside the first")
	}
	if err := os.Remove(filepath.Join(dir, "ledger")); err != nil {
		t.Fatal(err)
	}
	if passes(by) {
		t.Error("the second rehearsal has read the ledger again")
	}
	if !passes(&Rehearsals{Source: src}) {
		t.Error("without a ledger the second release is refused")
	}
}
