package filejob

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// If the masks have left every value of a sensitive text column unchanged, by chance or because
// nothing had to be done, a warning says so, and a gate that does not allow it refuses the release;
// then nothing is published. One altered value in the last record is enough to pass. Suppression is
// expected to leave values that are not rare.
func TestTextsThatStay(t *testing.T) {
	pram := func(keep string) string { return "pram: {columns: [place], keep: " + keep + ", categories: [a, b]}" }
	swap := "swap: {columns: [place], keys: [sex], attribute: half, rate: 1e-9, policy: random, scope: dataset}"
	for _, c := range []struct {
		mask, gate, role string
		warned, withheld bool
	}{
		{pram("0.999999999"), "gate: {}", "sensitive", true, true},
		{pram("0.999999999"), "gate: {rules: [{min_k: 2}]}", "sensitive", true, true},
		{pram("0.999999999"), "gate: {allow_unchanged: 0.99}", "sensitive", true, true},
		{pram("0.999999999"), "gate: {allow_unchanged: 1}\nassess: {intruder: {inversion: false}}", "sensitive", true, false},
		{pram("0.999999999"), "", "sensitive", true, false},
		{pram("0.999999999"), "gate: {}\nassess: {intruder: {inversion: false}}", "key", true, false},
		{pram("0.5"), "gate: {}", "sensitive", false, false},
		{swap, "gate: {}", "sensitive", true, true},
		{"recode: {columns: [place], map: {a: a, b: b, c: d}}", "gate: {}", "sensitive", true, true},
		{"recode: {columns: [place], map: {a: a, b: b}, other: b}", "gate: {}", "sensitive", true, true},
		{"recode: {columns: [place], map: {a: a, b: a}}", "gate: {}", "sensitive", false, false},
		{"suppress: {keys: [place], k: 2}", "gate: {}", "sensitive", false, false},
	} {
		dir := t.TempDir()
		var in strings.Builder
		in.WriteString("place,sex,half\n")
		for i := range 300 {
			fmt.Fprintf(&in, "%c,%c,%d\n", 'a'+rune(i%2), "mf"[i%3%2], i/2%2)
		}
		for name, text := range map[string]string{
			"in.csv": in.String(), "k": "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n",
			"p.yaml": `version: 1
key: {file: DIR/k}
source: {csv: {path: DIR/in.csv}}
columns: {place: {role: ROLE}, sex: {role: key}, half: {role: key}}
masks: [{MASK}]
sink: {csv: {path: DIR/out.csv}}
` + c.gate + "\n",
		} {
			text = strings.NewReplacer("DIR", dir, "ROLE", c.role, "MASK", c.mask).Replace(text)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := config.Load(filepath.Join(dir, "p.yaml"), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(context.Background(), p, pipeline.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.mask, err)
		}
		what := c.mask + ", " + c.gate + ", " + c.role
		warned := slices.Contains(res.Report.Warnings,
			"place: all of its released values are the original: its masks have left each as it is")
		if warned != c.warned || res.Report.Gate.Passed == c.withheld ||
			strings.Contains(res.Report.Withheld, "place: not all released values equal to the original") != c.withheld {
			t.Errorf("%s: warnings %q, withheld because %q", what, res.Report.Warnings, res.Report.Withheld)
		}
		if _, err := os.Stat(filepath.Join(dir, "out.csv")); (err == nil) == c.withheld {
			t.Errorf("%s: the release exists: %v, want the opposite", what, err == nil)
		}
	}
}
