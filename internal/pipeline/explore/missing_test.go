package explore

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// On a map declared codes are missing values: its points, their verdicts and the recommendation are those of the same
// data with nulls, for numbers and for categories, whatever becomes of the codes.
func TestMapsOfDeclaredCodes(t *testing.T) {
	racetest.Further(t)
	g := rand.New(rand.NewPCG(5, 1))
	var coded, nulled strings.Builder
	for _, out := range []*strings.Builder{&coded, &nulled} {
		out.WriteString("id,income,age,region\n")
	}
	for i := range 1500 {
		values := []string{fmt.Sprintf("%.1f", 500+900*g.ExpFloat64()), fmt.Sprint(18 + g.IntN(70)),
			string('a' + rune(g.IntN(4)))}
		with := append([]string{}, values...)
		for j, code := range []string{[]string{"-9", "99999"}[g.IntN(2)], []string{"97", "98", "99"}[g.IntN(3)], "refused"} {
			if g.IntN(8) == 0 {
				with[j], values[j] = code, ""
			}
		}
		fmt.Fprintf(&coded, "%d,%s\n", i, strings.Join(with, ","))
		fmt.Fprintf(&nulled, "%d,%s\n", i, strings.Join(values, ","))
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"coded.csv": coded.String(), "nulled.csv": nulled.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const (
		rules   = "gate: {rules: [{column: income, target: p10, knowledge: index, record: alone, min_rmse: 100}, {column: income, min_efficiency: 0.5}, {column: income, max_unchanged: 0.2}]}"
		numbers = "masks: [{noise: {columns: [income], sd: 20%}}, {truncate: {columns: [income], lower: 0}}]|map: {vary: {masks.0.noise.sd: {from: 5%, to: 45%, steps: 4}}}|" + rules
		all     = "masks: [{microaggregate: {columns: [income, age], k: 3}}]|map: {column: income, vary: {masks.0.microaggregate.k: {from: 3, to: 9, steps: 3}}}|" + rules
		pram    = "masks: [{pram: {columns: [region], keep: 0.8, categories: [a, b, c, d]}}]|map: {categories: [region], vary: {masks.0.pram.keep: {from: 0.6, to: 0.9, steps: 3}}}|" +
			"gate: {rules: [{max_posterior: 0.95}]}"
		grouped = "masks: [{recode: {columns: [age], breaks: [0, 30, 60, 120]}}, {noise: {columns: [income], sd: 20%}}]|map: {column: income, vary: {masks.1.noise.sd: {from: 5%, to: 45%, steps: 3}}}|" +
			"gate: {rules: [{min_k: 3}, {column: income, min_efficiency: 0.5}]}"
	)
	for name, lines := range map[string]string{"noise": numbers, "groups": all, "categories": pram, "keys": grouped} {
		of := func(file, missing string, respondents bool) string {
			t.Helper()
			declared := func(codes string) string {
				if missing == "" {
					return ""
				}
				return ", missing: {codes: [" + codes + "], as: '" + missing + "'}"
			}
			region := "key"
			if name == "categories" {
				region = "sensitive"
			}
			columns := "columns: {income: {role: sensitive, unmasked: true, decimals: 1" + declared("-9, 99999") +
				"}, age: {role: key" + declared("{from: 97, to: 99}") + "}, region: {role: " + region + declared("refused") + "}}"
			list := append(strings.Split(lines, "|"), columns,
				"source: {csv: {path: DIR/"+file+", types: {income: float64, age: int64, region: string}}}",
				"assess: {replicates: 20, targets: [p10, max], intruder: {inversion: false}}")
			if name == "categories" {
				list = append(list[:len(list)-1],
					"assess: {replicates: 20, targets: [p10, max], keys: [region, age], intruder: {inversion: true, categorical: [age], uniqueness: {}}}")
			}
			p, err := tryMapped(t, dir, list...)
			if err != nil {
				t.Fatal(err)
			}
			m := mapOf(t, p)
			for i := range m.Points {
				if !respondents {
					m.Points[i].Respondents = nil
					m.Points[i].Risk = slices.DeleteFunc(m.Points[i].Risk, func(k rumap.Risk) bool { return k.Knowledge == "keys" })
				}
			}
			text, err := json.MarshalIndent(m, "", " ")
			if err != nil || len(m.Points) < 3 {
				t.Fatal(err, len(m.Points))
			}
			return string(text)
		}
		for _, as := range []string{"null", "keep"} {
			// A kept code is a category of its own among the keys.
			want := of("nulled.csv", "", as == "null")
			if got := of("coded.csv", as, as == "null"); got != want {
				g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
				for i := range min(len(g), len(w)) {
					if g[i] != w[i] {
						t.Errorf("%s, as %s: line %d of the map is %s, and of missing values %s", name, as, i, g[max(0, i-12):i+1],
							w[max(0, i-12):i+1])
						break
					}
				}
			}
		}
	}
}
