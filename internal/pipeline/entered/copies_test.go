package entered_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ε of a column is that of its values, whatever the columns are called that carry them: a copy of it, in the same release
// or in an earlier one, in this unit or another, adds its own, and one that leaves as it is leaves none. A column that is
// near it only adds nothing. √2·3000/4000 = 1.0607, and half of it with an SD of 8,000.
func TestCopiesOfAColumnAddUp(t *testing.T) {
	const one, half = 1.0607, 0.5303
	laplace := func(column string, by float64, sd int) string {
		return fmt.Sprintf(
			"{truncate: {columns: [%s], lower: %v, upper: %v}}, {noise: {columns: [%s], sd: %v, distribution: laplace}}", column,
			1000*by, 4000*by, column, float64(sd)*by)
	}
	dp := func(name, key, columns, masks string) release {
		return release{name: name, key: key, columns: columns, masks: masks,
			rest: "assess: {replicates: 2, sample: all, targets: [p50], intruder: {inversion: false}, privacy: {records: 1}}\n",
			rule: "{column: wage, max_epsilon: 100}, {column: wage, max_unchanged: 1}"}
	}
	for name, c := range map[string]struct {
		by                float64 // tax is wage times that; 0: near a tenth
		asItIs            bool
		before, afterward float64 // ε of wage in the first release, and in the second beside it
	}{
		"a copy":        {by: 1, before: half + one, afterward: half + one + one},
		"another unit":  {by: 100, before: half + one, afterward: half + one + one},
		"another value": {by: 0, before: half, afterward: half + one},
		"as it is":      {by: 1, asItIs: true, before: math.Inf(1), afterward: math.Inf(1)},
	} {
		dir := records(t, 300)
		of := table(t, filepath.Join(dir, "in.csv"))
		if c.by > 0 {
			var text strings.Builder
			text.WriteString("pid,region,age,tax,wage\n")
			for i, wage := range numbersOf(of["wage"]) {
				fmt.Fprintf(&text, "%s,%s,%s,%.2f,%.2f\n", of["pid"][i], of["region"][i], of["age"][i], c.by*wage, wage)
			}
			if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		masks := laplace("wage", 1, 8000)
		if !c.asItIs {
			masks += ", " + laplace("tax", max(c.by, 1), 4000)
		}
		same := func(got, want float64) bool { return got == want || math.Abs(got-want) < 0.001 }
		decimals := 2
		if c.by == 100 {
			decimals = 0
		}
		earlier := dp("a", "k1", fmt.Sprintf("tax: {role: other, decimals: %d}", decimals), masks)
		earlier.rule = "{column: wage, max_unchanged: 1}" // so that it is entered
		first := earlier.run(t, dir)
		if got := float64(first.Privacy.Of("wage").Epsilon); !same(got, c.before) {
			t.Errorf("%s: ε in the first release is %v, want %v: %s", name, got, c.before, first.Privacy.Of("wage").Not)
		}
		rep := dp("b", "k2", "age: {role: other}", laplace("wage", 1, 4000)).run(t, dir)
		if got := float64(rep.Ledger.Privacy.Of("wage").Epsilon); !same(got, c.afterward) {
			t.Errorf("%s: ε together is %v, want %v: %s", name, got, c.afterward, rep.Ledger.Privacy.Of("wage").Not)
		}
		if got := rep.Gate.Rules[0]; !same(float64(got.Found), c.afterward) || got.Passed == c.asItIs {
			t.Errorf("%s: the rule finds %+v, want %v", name, got, c.afterward)
		}
		// The distance at which noise of λ tells is that of the column, whatever the unit of its copy.
		if !c.asItIs {
			want := math.Sqrt2/8000 + math.Sqrt2/4000
			if c.by > 0 {
				want += math.Sqrt2 / 4000
			}
			if got := float64(rep.Ledger.Privacy.Of("wage").Metric); !(math.Abs(got-want) < 1e-9) {
				t.Errorf("%s: ε by distance is %v, want %v", name, got, want)
			}
		}
	}
}
