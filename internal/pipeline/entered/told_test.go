package entered_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

const toldRest = "assess: {replicates: 2, targets: [p50], sample: all, keys: [region], intruder: {inversion: true, uniqueness: {}}}\n"

// toldRules never fail for what is found.
const toldRules = "{max_posterior: 0.999999}, {column: wage, max_unchanged: 1}, {column: wage, max_exact: {share: 1, within: 1}}"

// told returns what the rule on the posterior finds of all releases, NaN where that is not known, and why it is not.
func told(t *testing.T, rep *report.Report) (p float64, why string) {
	t.Helper()
	for _, r := range rep.Gate.Rules {
		if r.Measure == "max_posterior" {
			if !strings.Contains(r.Rule, "by all releases") {
				t.Fatalf("not judged by all releases: %+v", r)
			}
			return float64(r.Found), r.Advice
		}
	}
	t.Fatal("there is no rule")
	return
}

// regions rewrites the regions of the records, with the shares 0.3, 0.25, 0.2, 0.15 and 0.1, and returns them.
func regions(t *testing.T, dir string, rng *rand.Rand) []string {
	t.Helper()
	path := filepath.Join(dir, "in.csv")
	of := table(t, path)
	var list []string
	var text strings.Builder
	text.WriteString("pid,region,age,tax,wage\n")
	for i := range of["pid"] {
		at, u := 0, rng.Float64()
		for _, share := range []float64{0.3, 0.25, 0.2, 0.15} {
			if u > share {
				at++
			}
			u -= share
			if u <= 0 {
				break
			}
		}
		list = append(list, fmt.Sprintf("r%d", at))
		fmt.Fprintf(&text, "%s,r%d,%d,%s,%s\n", of["pid"][i], at, 20+rng.IntN(3), of["tax"][i], of["wage"][i])
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}

// randomDrawn draws a release whose regions are drawn, or recoded, or both.
func randomDrawn(rng *rand.Rand, name string) release {
	r := release{name: name, key: []string{"k1", "k2"}[rng.IntN(2)], noIdentity: rng.IntN(4) == 0,
		columns: "region: {role: key}, age: {role: other}", rule: toldRules, rest: toldRest}
	pram := fmt.Sprintf("{pram: {columns: [region], keep: 0.%d, categories: [r0, r1, r2, r3, r4]}}", 3+rng.IntN(4))
	join := []string{"{r0: A, r1: A, r2: B, r3: B, r4: B}", "{r0: A, r1: B, r2: A, r3: B, r4: A}",
		"{r0: A, r1: B, r2: B, r3: A, r4: B}"}[rng.IntN(3)]
	recode := "{recode: {columns: [region], map: " + join + "}}"
	const pramJoined = ", {pram: {columns: [region], keep: 0.5, categories: [A, B]}}"
	r.masks = noise + ", " + []string{pram, pram, recode, pram + ", " + recode, recode + pramJoined}[rng.IntN(5)]
	return r
}

// The property of a ledger for categories: among the records of which the files have the same, no original category has
// a greater share than max_posterior finds, beyond four standard errors of the share of a group of at least 60 records.
// The attacker shares no code with the program.
func TestNoAttackerOfAllReleasesInfersMore(t *testing.T) {
	racetest.Further(t)
	sequences, n := 40, 3000
	if testing.Short() {
		sequences, n = 3, 1200
	}
	nearest := math.Inf(1)
	for seed := range sequences {
		rng := rand.New(rand.NewPCG(uint64(seed), 437))
		dir := records(t, n)
		original := regions(t, dir, rng)
		var stated float64
		var said, names []string
		for k := range 2 + rng.IntN(2) {
			r := randomDrawn(rng, fmt.Sprintf("r%d", k))
			var why string
			rep := r.run(t, dir)
			if stated, why = told(t, rep); stated != stated {
				t.Fatalf("sequence %d: %s", seed, why)
			}
			if stated == 1 { // recodings intersect: the release is withheld
				if rep.Gate.Passed {
					t.Errorf("sequence %d: a region is certain, and the release passes", seed)
				}
				continue
			}
			names, said = append(names, r.name), append(said, fmt.Sprintf("%s, identity %v: %s", r.key, !r.noIdentity, r.masks))
		}
		seen := make([]string, n)
		for _, name := range names {
			for i, region := range table(t, filepath.Join(dir, name+".csv"))["region"] {
				seen[i] += region + " "
			}
		}
		groups := map[string]map[string]int{}
		for i, s := range seen {
			if groups[s] == nil {
				groups[s] = map[string]int{}
			}
			groups[s][original[i]]++
		}
		for s, of := range groups {
			m, most := 0, 0
			for _, c := range of {
				m, most = m+c, max(most, c)
			}
			share := float64(most) / float64(m)
			if m < 60 {
				continue
			}
			nearest = min(nearest, stated-share)
			if share > stated+4*math.Sqrt(stated*(1-stated)/float64(m)) {
				t.Errorf("sequence %d: of %d records with %s %.3f have one region; %.3f found\n%s", seed, m, s, share, stated,
					strings.Join(said, "\n"))
			}
		}
	}
	t.Logf("the attacker is at most %.3f above what is found", -nearest)
}

// Two draws of a category under two keys, each kept with 0.6 of five that are about equally frequent: the posterior of
// one is 0.6·π/(0.6·π + 0.1·(1−π)) for the most frequent, of two 0.36·π/(0.36·π + 0.01·(1−π)), by Bayes' rule; in
// either order of a recoding that joins it with others, that of the categories joined with it only. A draw repeated
// tells nothing new, a category that was released as it is is known, and of one that this release does not have nothing
// is known.
func TestPosteriorOfAllReleases(t *testing.T) {
	racetest.Further(t)
	const pram = ", {pram: {columns: [region], keep: 0.6, categories: [r0, r1, r2, r3, r4]}}"
	const recode = ", {recode: {columns: [region], map: {r0: A, r1: B, r2: B, r3: A, r4: B}}}"
	of := func(name, key, masks string) release {
		return release{name: name, key: key, masks: noise + masks, columns: "region: {role: key}", rule: toldRules,
			rest: toldRest}
	}
	dir := records(t, 2000)
	original := regions(t, dir, rand.New(rand.NewPCG(1, 1)))
	share := map[string]float64{}
	for _, r := range original {
		share[r] += 1 / float64(len(original))
	}
	one := 0.6 * share["r0"] / (0.6*share["r0"] + 0.1*(1-share["r0"]))
	two := 0.36 * share["r0"] / (0.36*share["r0"] + 0.01*(1-share["r0"]))
	joined := 0.6 * share["r0"] / (0.6*share["r0"] + 0.1*share["r3"])
	check := func(name string, rep *report.Report, want float64) {
		t.Helper()
		// The attack takes the prior from the release, whose shares have a standard error of at most 0.03 here, or from the
		// originals; a posterior p moves by at most p(1−p)/π of that.
		if p, why := told(t, rep); !(math.Abs(p-want) < 0.03) {
			t.Errorf("%s: %.4f found, want %.4f (%s)", name, p, want, why)
		}
	}
	check("one", of("a", "k1", pram).run(t, dir), one)
	check("once more", of("b", "k1", pram).run(t, dir), one)
	check("two", of("c", "k2", pram).run(t, dir), two)
	dir2 := records(t, 2000)
	regions(t, dir2, rand.New(rand.NewPCG(1, 1)))
	of("a", "k1", pram).run(t, dir2)
	check("joined", of("b", "k2", recode).run(t, dir2), joined)
	dir3 := records(t, 2000)
	regions(t, dir3, rand.New(rand.NewPCG(1, 1)))
	of("a", "k2", recode).run(t, dir3)
	check("joined before", of("b", "k1", pram).run(t, dir3), joined)
	gone := of("c", "k1", pram)
	gone.columns = "age: {role: key}"
	gone.masks = noise + ", {pram: {columns: [age], keep: 0.6, categories: ['20', '21', '22']}}"
	gone.rest = strings.ReplaceAll(toldRest, "keys: [region], intruder: {", "keys: [age], intruder: {categorical: [age], ")
	if p, why := told(t, gone.run(t, dir3)); p == p ||
		!strings.Contains(why, "masked the categories of region, which this one does not have") {
		t.Errorf("without the column: %v, %q", p, why)
	}
	plain := of("d", "k1", "")
	plain.rule = "{column: wage, max_unchanged: 1}"
	plain.run(t, dir3)
	if p, why := told(t, of("e", "k1", pram).run(t, dir3)); p != 1 {
		t.Errorf("released as it is before: %v, %q", p, why)
	}
}
