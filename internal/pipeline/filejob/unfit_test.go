package filejob

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// If a snapshot or sample has too few records of a stratum for a model, a run with enough data
// continues: R and U are those of the release alone, and the report says so.
func TestSmallStrataOfASnapshotEndNoRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 15))
	var rows strings.Builder
	rows.WriteString("id,income,debt,age,region\n")
	for i := range 600 {
		region, income := "a", 1000+rng.IntN(900)
		// only this record until late, and never among the extremes, which a sample always contains
		if i == 50 || i >= 400 && i < 411 {
			region, income = "b", 1440+rng.IntN(20)
		}
		fmt.Fprintf(&rows, "R%d,%d,%d,%d,%s\n", i, income, rng.IntN(500), 20+rng.IntN(40), region)
	}
	for _, sample := range []string{"all", "50"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in.csv"), []byte(rows.String()))
		p := parse(t, dir, setup{source: "csv: {path: " + dir + "/in.csv}", sink: "csv: {path: " + dir + "/out.csv}",
			masks: "\n  - synthesise: {columns: [income], by: [region]}\n",
			extra: "assess: {replicates: 5, sample: " + sample + ", every: {records: 100}, emit: [{jsonl: " + dir +
				"/s.jsonl}]}\n"})
		res, err := Run(context.Background(), p, pipeline.Options{})
		if err != nil || res.Refused() {
			t.Fatalf("sample %s: result %v, error %v", sample, res, err)
		}
		final := measured(res, "income").Risk
		if alone := final[0].Replicates == 0; alone == (sample == "all") || alone != final[0].Approximate {
			t.Errorf("sample %s: the report has the risk %+v", sample, final[0])
		}
		text, err := os.ReadFile(filepath.Join(dir, "s.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(string(text)) {
			lines++
			var snapshot report.Report
			if err := json.Unmarshal([]byte(line), &snapshot); err != nil {
				t.Fatal(err)
			}
			risk := snapshot.Columns[0].Risk[0]
			small := lines < 5
			if sample == "all" && ((risk.Replicates == 0) != small || risk.Approximate != small) || sample != "all" &&
				!risk.Approximate || !(risk.R > 0) {
				t.Errorf("sample %s, snapshot %d: risk is %+v", sample, lines, risk)
			}
		}
		if lines != 6 {
			t.Errorf("%d snapshots, want 6", lines)
		}
	}
}
