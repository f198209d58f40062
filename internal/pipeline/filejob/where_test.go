package filejob

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// R and U of noise on the records whose value is above 0 are those of just these draws, of all records and of a sample:
// the mean square of all records is λ² times their share p, that of the greatest value λ², the variance of the released
// values S² + pλ² and R of the least value, a 0 that stays, infinite. Of 100 replicates the mean of a χ² of one degree
// of freedom has a relative standard error of √(2/100) = 0.14, that of 2,000 records and 100 replicates, or 500 of
// them, is below 0.01. A gate refuses values that stay, unless told how many may.
func TestNoiseWhereThereIsAValue(t *testing.T) {
	const n, λ, p = 2000, 50.0, 0.5
	r := rand.New(rand.NewPCG(37, 9))
	var text strings.Builder
	text.WriteString("id,age,income,debt,region\n")
	var square, sum float64
	for i := range n {
		v := 0.0
		if i%2 == 1 {
			v = math.Round(500 * math.Exp(0.5*r.NormFloat64()))
		}
		sum, square = sum+v/n, square+v*v/n
		fmt.Fprintf(&text, "%d,%d,%v,%d,a\n", i, 20+r.IntN(50), v, r.IntN(100))
	}
	variance := (square - sum*sum) * n / (n - 1)
	for _, sample := range []string{"all", "500"} {
		for gate, passes := range map[string]bool{
			"": true,
			"gate: {rules: [{column: income, max_unchanged: 0.51}]}":                         true,
			"gate: {rules: [{column: income, max_unchanged: 0.49}]}":                         false,
			"gate: {rules: [{column: income, target: max, knowledge: index, min_rmse: 20}]}": false,
		} {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "in.csv"), []byte(text.String()))
			c := parse(t, dir, setup{source: "csv: {path: " + dir + "/in.csv}", sink: "csv: {path: " + dir + "/out.csv}",
				masks: "\n  - noise: {columns: [income], sd: 50, where: \"income > 0\"}\n",
				extra: "assess: {targets: [max, min], replicates: 100, sample: " + sample + ", intruder: {inversion: false}}\n" +
					gate + "\n"})
			result, err := Run(context.Background(), c, pipeline.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "out.csv")); (err == nil) != passes {
				t.Errorf("sample %s, %q: released %v, want %v", sample, gate, err == nil, passes)
			}
			if gate != "" {
				continue
			}
			m := measured(result, "income")
			for _, k := range m.Risk {
				rmse := float64(k.RMSE)
				if k.Knowledge != assess.KnowledgeIndex {
					continue
				}
				switch k.Target {
				case "typical":
					// beside the above, the share among 500 records: ± 0.022 of 0.5, two of them
					if math.Abs(rmse*rmse/(λ*λ*p)-1) > 0.1 {
						t.Errorf("sample %s: typical value known to ± %v, want %v", sample, rmse, λ*math.Sqrt(p))
					}
				case "max":
					if math.Abs(rmse*rmse/(λ*λ)-1) > 5*0.14 {
						t.Errorf("sample %s: greatest value known to ± %v, want %v", sample, rmse, λ)
					}
				case "min":
					if rmse != 0 {
						t.Errorf("sample %s: least value known to ± %v, want 0", sample, rmse)
					}
				}
			}
			if want := n / (variance + p*λ*λ); math.Abs(float64(m.Utility.U)/want-1) > 0.01 {
				t.Errorf("sample %s: U %v, want %v", sample, m.Utility.U, want)
			}
			for i, y := range columnOf(t, filepath.Join(dir, "out.csv"), "income") {
				if (y == "0") != (i%2 == 0) {
					t.Fatalf("record %d is %q", i, y)
				}
			}
		}
	}
}
