package filejob

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Unique combinations of keys that occur in a synthetic release are counted as in the files. A rule
// withholds the release if there are too many, or if a sample cannot tell.
func TestReplicatedUniquesOfSyntheticKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 15))
	var rows strings.Builder
	rows.WriteString("id,income,debt,age,region\n")
	for i := range 400 {
		fmt.Fprintf(&rows, "R%d,%d,%d,%d,%d\n", i, 1000+rng.IntN(900), rng.IntN(50), 20+rng.IntN(12), rng.IntN(9)*rng.IntN(9))
	}
	for _, c := range []struct {
		rule, sample string
		refused      bool
	}{{"", "all", false}, {"{max_replicated_uniques: 1}", "all", false}, {"{max_replicated_uniques: 0.01}", "all", true},
		{"{max_replicated_uniques: 1}", "100", true}} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in.csv"), []byte(rows.String()))
		p := parse(t, dir, setup{source: "csv: {path: " + dir + "/in.csv}", sink: "csv: {path: " + dir + "/out.csv}",
			masks: "\n  - synthesise: {columns: [age], categories: [age]}\n",
			extra: "assess: {replicates: 3, sample: " + c.sample +
				", intruder: {categorical: [age, region], uniqueness: {}}}\ngate: {rules: [" + c.rule + "], allow_unchanged: 1}\n"})
		res, err := Run(context.Background(), p, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Refused() != c.refused {
			t.Errorf("rule %s, sample %s: withheld because %q", c.rule, c.sample, res.Report.Withheld)
		}
		found := res.Report.Attack.Replicated
		if c.sample != "all" {
			if found != nil {
				t.Errorf("with a sample, the measure is %+v, want none", found)
			}
			continue
		}
		if c.refused {
			continue
		}
		age, region := columnOf(t, filepath.Join(dir, "in.csv"), "age"), columnOf(t, filepath.Join(dir, "in.csv"), "region")
		drawn := columnOf(t, filepath.Join(dir, "out.csv"), "age")
		in, out := map[string]int{}, map[string]int{}
		for i := range age {
			in[age[i]+" "+region[i]]++
			out[drawn[i]+" "+region[i]]++
		}
		uniques, standing := 0, 0
		for k, n := range in {
			if n == 1 {
				uniques++
				if out[k] > 0 {
					standing++
				}
			}
		}
		if uniques < 20 || standing == 0 || standing == uniques || found == nil || found.Uniques != uniques ||
			found.Standing != standing {
			t.Errorf("the report has %+v; by the files %d of %d uniques are replicated", found, standing, uniques)
		}
	}
}
