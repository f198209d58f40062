package filejob

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Texts are synthesised from file to file: rare values are not released, missing values stay
// missing, a number depends on its text, and guesses of texts are in the report. A rule about them
// withholds the release if it fails.
func TestTextsAreSynthesised(t *testing.T) {
	racetest.Further(t)
	const n = 1200
	rng := rand.New(rand.NewPCG(10, 15))
	var csv, jsonl strings.Builder
	csv.WriteString("id,income,debt,age,region\n")
	for i := range n {
		region := []string{"north", "south", "\u00e9st"}[rng.IntN(3)]
		income := 1000 + 100*len(region) + rng.IntN(40)
		switch {
		case i < 3:
			region = "atlantis" // fewer than any model uses
		case i%50 == 7:
			region = ""
		}
		age, debt := 20+rng.IntN(30), rng.IntN(50)
		fmt.Fprintf(&csv, "R%d,%d,%d,%d,%s\n", i, income, debt, age, region)
		text := fmt.Sprintf("%q", region)
		if region == "" {
			text = "null"
		}
		fmt.Fprintf(&jsonl, "{\"id\":\"R%d\",\"income\":%d,\"debt\":%d,\"age\":%d,\"region\":%s}\n", i, income, debt, age,
			text)
	}
	for _, c := range []struct {
		source, rule, sample string
		refused              bool
	}{
		{"csv", "{max_attribute_disclosure: 0.3}, {max_ks: 0.1}, {min_overlap: 0.1}", "all", false},
		{"jsonl", "{max_attribute_disclosure: 0.3}", "all", false},
		{"csv", "{max_attribute_disclosure: 0.001}", "all", true}, {"csv", "{max_attribute_disclosure: 0.3}", "500", true},
		{"csv", "{max_ks: 0.0001}", "all", true}, {"csv", "{min_overlap: 0.9999}", "all", true},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in.csv"), []byte(csv.String()))
		write(t, filepath.Join(dir, "in.jsonl"), []byte(jsonl.String()))
		p := parse(t, dir,
			setup{source: c.source + ": {path: " + dir + "/in." + c.source + "}", sink: "csv: {path: " + dir + "/out.csv}",
				masks: "\n  - synthesise: {columns: [region, income], on: [age], categories: [region], held_out: 0.2}\n",
				extra: "assess: {replicates: 3, sample: " + c.sample +
					", keys: [age, debt], intruder: {attribute: {}, utility: {regressions: [{response: income, predictors: [age]}]}}}\ngate: {rules: [" + c.rule + "], allow_unchanged: 1}\n"})
		res, err := Run(context.Background(), p, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Refused() != c.refused {
			t.Errorf("%s, rule %s, sample %s: withheld because %q", c.source, c.rule, c.sample, res.Report.Withheld)
		}
		d := res.Report.Attack.Attribute
		if len(d.Columns) != 2 || d.Columns[0].Name != "region" || d.Columns[0].Learnt.Right < 100 ||
			d.Columns[0].HeldOut.Targets < 50 {
			t.Errorf("%s: attribute disclosure is %+v", c.source, d)
		}
		if c.refused {
			continue
		}
		regions, income := columnOf(t, filepath.Join(dir, "out.csv"), "region"),
			columnOf(t, filepath.Join(dir, "out.csv"), "income")
		var words []string
		mean, count := map[string]float64{}, map[string]float64{}
		for i, r := range regions {
			if (r == "") != (i >= 3 && i%50 == 7) {
				t.Fatalf("record %d has the region %q, want it missing in every 50th record from 7 alone", i, r)
			}
			if !slices.Contains(words, r) {
				words = append(words, r)
			}
			var v float64
			if _, err := fmt.Sscan(income[i], &v); err != nil {
				t.Fatal(err)
			}
			mean[r], count[r] = mean[r]+v, count[r]+1
		}
		if slices.Sort(words); !slices.Equal(words, []string{"", "north", "south", "\u00e9st"}) {
			t.Errorf("%s: the release has the regions %q", c.source, words)
		}
		// The mean of 1520 to 1539: SD of at least 12, for about 400 records.
		for r, want := range map[string]float64{"north": 1519.5, "south": 1519.5, "\u00e9st": 1419.5} {
			if !(math.Abs(mean[r]/count[r]-want) <= 12) {
				t.Errorf("%s: the mean income of %s is %v, want about %v", c.source, r, mean[r]/count[r], want)
			}
		}
	}
}
