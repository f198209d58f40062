package entered_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// cities rewrites the source: each region has five cities, few respondents are of the region r5, and ages are few. With
// cases, the city is a number that each respondent has alone, with a letter of the region in it.
func cities(t *testing.T, dir string, n int, cases bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 3))
	var text strings.Builder
	text.WriteString("pid,region,city,age,tax,wage\n")
	for i := range n {
		region := rng.IntN(5)
		if rng.IntN(20) == 0 {
			region = 5
		}
		wage := 2500 + 500*rng.NormFloat64()
		city := fmt.Sprintf("c%d", 5*region+rng.IntN(5))
		if cases {
			city = fmt.Sprintf("CASE-%04d-%c-%05d", 2000+i%20, 'A'+region, i*7919%10007)
		}
		fmt.Fprintf(&text, "p%d,r%d,%s,%d,%.2f,%.2f\n", i, region, city, 18+rng.IntN(8),
			wage/10+15*rng.NormFloat64(), wage)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What one release hides of a key, another one may tell by a column that is no key, or by letters of it: cells that
// are hidden, and values before they were recoded. k by the keys of all releases is then that of one release with both,
// whichever was first.
func TestKeysToldByAnotherRelease(t *testing.T) {
	racetest.Further(t)
	const few = "assess: {replicates: 2, targets: [p50], sample: all, intruder: {inversion: false}}\n"
	const suppress = "{suppress: {keys: [region, age], k: 7, importance: {age: 5}}}, "
	for name, mask := range map[string]string{
		"suppress, cases": suppress, "suppress": suppress,
		"recode": "{recode: {columns: [region], map: {r0: A, r1: A, r2: A, r3: B, r4: B, r5: B}}}, ",
	} {
		const rule = "{min_k: 3}, {max_individual_risk: 0.9}, {column: wage, max_unchanged: 1}"
		hides := release{name: "hides", masks: mask + noise, columns: "region: {role: key}, age: {role: key}", rule: rule,
			rest: few}
		tells := release{name: "tells", masks: noise, columns: "city: {role: other}, age: {role: key}", rule: rule,
			key: "k2", rest: few}
		both := hides
		both.columns += ", city: {role: other}"
		dir := records(t, 10)
		cities(t, dir, 600, strings.HasSuffix(name, "cases"))
		var unknown bool // rules on k and risk do not hold for what suppress has hidden, in the last release
		of := func(list ...release) (k, risk float64) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(dir, "ledger")); err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				for _, path := range []string{r.name + ".json", r.name + ".csv"} { // of another ledger
					if err := os.RemoveAll(filepath.Join(dir, path)); err != nil {
						t.Fatal(err)
					}
				}
				rules := r.run(t, dir).Gate.Rules
				k, risk = float64(rules[0].Found), float64(rules[1].Found)
				unknown = true
				for _, rule := range rules[:2] {
					unknown = unknown && !rule.Passed && strings.Contains(rule.Advice, "which ones is not known")
				}
			}
			return k, risk
		}
		for _, one := range []release{hides, tells} {
			if k, _ := of(one); k < 7 {
				t.Errorf("%s: %s alone has k = %v", name, one.name, k)
			}
		}
		wantK, wantRisk := of(both)
		if wantK >= 3 {
			t.Fatalf("%s: together in one release k is %v", name, wantK)
		}
		for _, list := range [][]release{{hides, tells}, {tells, hides}} {
			k, risk := of(list...)
			// Which cells an earlier release has hidden is not known: its masks are applied anew, and choose by chance.
			if want := list[0].name == "hides" && name != "recode"; unknown != want {
				t.Errorf("%s: %s after %s: k is not known: %v, want %v", name, list[1].name, list[0].name, unknown, want)
			} else if !want && (k != wantK || risk != wantRisk) {
				t.Errorf("%s: %s after %s: k %v and risk %v, want %v and %v", name, list[1].name, list[0].name, k, risk, wantK,
					wantRisk)
			}
		}
	}
}
