package pipeline

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// The plan for a configuration and a source does not change unnoticed: which columns are decoded
// and how, which are released, which data masks and the assessment need, and what is refused.
func TestFiguresOfPlans(t *testing.T) {
	racetest.Further(t)
	const head = "columns: {id: {role: identifier}, wage: {role: sensitive, unmasked: true, unit: EUR}, debt: {role: sensitive, unmasked: true}, age: {role: key}, region: {role: key}, kind: {role: other}, same: {role: other}}\n"
	const noise = "masks: [{noise: {columns: [wage], sd: 10%}}]\n"
	cases := map[string]string{
		"absolute":   head + "masks: [{noise: {columns: [wage], sd: 3}}]\n",
		"percent":    head + noise + "identity: [id]\n",
		"constant":   head + "masks: [{noise: {columns: [same, wage], sd: 10%}}]\n",
		"correlated": head + "masks: [{noise: {columns: [wage, debt, same], sd: 10%, correlated: true}}]\n",
		"swap": head +
			"masks: [{swap: {keys: [age, region], attribute: kind, columns: [wage, debt], rate: 0.5, policy: random}}]\nwindow: {records: 16}\n",
		"swap of all": head +
			"masks: [{swap: {keys: [age], attribute: kind, columns: [wage, region], rate: 0.5, policy: random, scope: dataset}}, {noise: {columns: [wage], sd: 5}}]\n",
		"percentiles": head + "masks: [{topcode: {columns: [debt, wage], upper_percentile: 90, replace: mean}}]\n",
		"categories": head +
			"masks: [{recode: {columns: [region], map: {r0: a, r1: a, r2: b}}}, {noise: {columns: [debt], sd: 3}}]\nassess: {keys: [region, age, debt]}\n",
		"intruder": head + noise +
			"assess: {keys: [wage, age, region], intruder: {categorical: [age], uniqueness: {sensitive: [kind], weight: debt, household: id}, linkage: {}}, sample: 20, replicates: 7, targets: [p10, max]}\n",
		"regression": head + noise +
			"assess: {intruder: {utility: {regressions: [{response: wage, predictors: [same]}]}}}\n",
		"gate":              head + noise + "gate: {allow_unchanged: 1, rules: [{max_linked: 0.1}, {min_k: 2}]}\n",
		"no numeric keys":   head + noise + "assess: {keys: [region], intruder: {linkage: {}}}\n",
		"no numeric for d1": head + noise + "assess: {keys: [region], intruder: {bayes: {}}}\n",
		"no categories":     head + noise + "assess: {keys: [wage], intruder: {uniqueness: {}}}\n",
		"a weight of text":  head + noise + "assess: {keys: [region], intruder: {uniqueness: {weight: kind}}}\n",
		"k of no categories": head + noise +
			"assess: {keys: [wage]}\ngate: {rules: [{column: wage, min_efficiency: 0.1}, {min_k: 2}]}\n",
		"links of none":     head + noise + "assess: {keys: [region]}\ngate: {rules: [{min_k: 2}, {max_linked: 0.1}]}\n",
		"a profile":         head + noise + "profile: DIR/p.yaml\n",
		"a profile of some": head + "masks: [{noise: {columns: [wage, same], sd: 10%}}]\nprofile: DIR/p.yaml\n",
		"a profile of two": head +
			"masks: [{noise: {columns: [wage, debt], sd: 10%, correlated: true}}]\nprofile: DIR/p.yaml\n",
		"no profile":      head + noise + "profile: DIR/gone.yaml\n",
		"a wrong profile": head + noise + "profile: DIR/wrong.yaml\n",
		"one value":       head + "masks: [{noise: {columns: [rare], sd: 10%}}]\nunlisted: drop\n",
	}
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("id,wage,debt,age,region,kind,same\n")
	for i := range 90 {
		debt := fmt.Sprint(i * i % 41)
		if i%8 == 3 {
			debt = ""
		}
		fmt.Fprintf(&rows, "R%d,%d.25,%s,%d,r%d,%c,7\n", i, 1000+i*i%777, debt, 20+i%6, i%3, 'a'+rune(i%4))
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("in.csv", rows.String())
	write("wrong.yaml", "canary")
	key, err := keystream.ParseKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	profile,
		err := ProfilePipeline(t.Context(),
		parsed(t, dir, strings.Replace(head, ", same: {role: other}", "", 1)+
			"unlisted: drop\nmasks: [{noise: {columns: [wage], sd: 3}}]\n"), new(Progress))
	if err != nil {
		t.Fatal(err)
	}
	var f pinned.Figures
	f.AddTree("the profile", profile, nil)
	text, err := yaml.Marshal(profile)
	if err != nil {
		t.Fatal(err)
	}
	write("p.yaml", string(text))
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		text := cases[name]
		if name == "one value" {
			text = strings.Replace(text, "same: {role: other}", "rare: {role: sensitive, decimals: 0}", 1)
			write("in.csv", "id,wage,debt,age,region,kind,rare\na,1,2,3,4,5,\nb,1,2,3,4,5,6\n")
		} else {
			write("in.csv", rows.String())
		}
		tree := planOf(t, parsed(t, dir, text), key)
		for i, line := range tree.Problems {
			tree.Problems[i] = strings.ReplaceAll(line, dir, "DIR")
		}
		f.AddTree(name, tree, nil)
	}
	f.Check(t, "testdata/figures.tsv")
}

// planned contains the pinned parts of a plan.
type planned struct {
	Problems                          []string
	Read, Release, Columns, Assessed  []string
	Masked, Constant, Linked, Counted []string
	Identity, Carry, Carried          []int
	Released, Cut                     []int
	Index                             map[string]int
	Numbers                           map[string][]float64 // SD, mean and decimals by column
	Correlations                      map[string]float64
	Options                           []string
}

func planOf(t *testing.T, p *config.Pipeline, key keystream.Key) (tree planned) {
	t.Helper()
	src, err := OpenSource(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	refused := func(err error) planned { return planned{Problems: strings.Split(err.Error(), "\n")} }
	pl, err := newPlan(p, nil, src, true)
	if err != nil {
		return refused(err)
	}
	progress := new(Progress)
	if err := pl.Settle(t.Context(), progress); err != nil {
		return refused(err)
	}
	chain, err := pl.newChain(t.Context(), key, progress)
	if err != nil {
		return refused(err)
	}
	o, err := pl.assessOptions(key, chain)
	if err != nil {
		return refused(err)
	}
	for _, w := range pl.Layout.Read {
		tree.Read = append(tree.Read, fmt.Sprint(w))
	}
	for _, out := range pl.Layout.Release {
		tree.Release = append(tree.Release,
			fmt.Sprint(out.Field.Name, " ", out.Field.Type, " ", out.Source, out.Column, out.Masked, out.Decimals))
	}
	tree.Numbers, tree.Correlations = map[string][]float64{}, map[string]float64{}
	for _, c := range pl.Columns {
		tree.Columns = append(tree.Columns, fmt.Sprint(c.Name, " ", c.Index, " ", c.Field.Type))
		if c.SD == c.SD {
			tree.Numbers[c.Name] = []float64{c.SD, c.Mean, float64(c.Decimals)}
		} else {
			tree.Numbers[c.Name] = []float64{-1, -1, float64(c.Decimals)}
		}
	}
	for _, c := range pl.Assessed {
		tree.Assessed = append(tree.Assessed, fmt.Sprint(c))
	}
	for pair, r := range pl.Correlations() {
		tree.Correlations[pair[0]+" "+pair[1]] = r
	}
	tree.Masked, tree.Constant, tree.Linked, tree.Counted = pl.Masked, pl.Constant, pl.Intruder.Linked, pl.Intruder.Counted
	tree.Identity, tree.Carry, tree.Carried, tree.Released, tree.Index = pl.identity, pl.Carry, pl.Intruder.Carried,
		pl.Intruder.Released, pl.Intruder.Index
	tree.Cut = []int{pl.Cut.Records}
	tree.Options = []string{
		fmt.Sprint(o.Carry, o.Released, o.Sample, o.Replicates, o.Targets, o.Gated, o.AllowUnchanged != nil, o.Shuffled,
			o.Mixes, o.Entire, o.OrderBins, pl.Cut.Exact, progress.Phase(), progress.Records(), progress.Total(), pl.Measures(),
			o.Replicate != nil, len(o.Columns))}
	return tree
}
