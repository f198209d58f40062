package attack

import (
	"context"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	csvfile "github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// survey writes a file of n records and the configuration of a job that reads it.
func survey(t *testing.T, n int, masks, extra string) *config.Pipeline {
	t.Helper()
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("id,wage,debt,age,region,weight,house\n")
	for i := range n {
		debt := fmt.Sprint(i * i % 71)
		if i%9 == 4 {
			debt = ""
		}
		fmt.Fprintf(&rows, "R%d,%d.25,%s,%d,%s,%d,h%d\n", i, 1000+37*i%5000, debt, 20+i%7, []string{"n", "s", "w"}[i%3],
			1+i%4, i/3)
	}
	for name, text := range map[string]string{"in.csv": rows.String(),
		"k": base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := config.Parse("test.yaml", []byte(fmt.Sprintf(`version: 1
name: test
key: {file: %[1]s/k}
source: {csv: {path: %[1]s/in.csv}}
sink: {csv: {path: %[1]s/out.csv}}
columns:
  id: {role: identifier}
  wage: {role: sensitive, unmasked: true}
  debt: {role: other}
  age: {role: other}
  region: {role: other}
  weight: {role: other}
  house: {role: other}
masks: [%[2]s]
%[3]s
`, dir, masks, extra)), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// column returns a column of the file as text.
func column(t *testing.T, p *config.Pipeline, name string) (values []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(filepath.Dir(p.Sink.Config.Paths()[0]), "in.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], name)
	for _, r := range rows[1:] {
		values = append(values, r[at])
	}
	return values
}

// alike reports whether codes group records in the same way as texts.
func alike(codes []int32, texts []string) bool {
	there, back := map[int32]string{}, map[string]int32{}
	for i, code := range codes {
		if text, known := there[code]; known && text != texts[i] {
			return false
		}
		if other, known := back[texts[i]]; known && other != code {
			return false
		}
		there[code], back[texts[i]] = texts[i], code
	}
	return len(codes) == len(texts)
}

// The intruder receives the columns of the file, the masked columns after the masks' displacement,
// and the configured parts.
func TestRun(t *testing.T) {
	p := survey(t, 300, "bias: {columns: [wage], phi: 0.1}", `assess:
  sample: 5000
  keys: [age, wage, region]
  intruder: {targets: 40, interval: [0.05], linkage: {one_to_one: true, distance: ranks}, uniqueness: {sensitive: [house], weight: weight, household: house, suda2: false, alpha: 0.2, k: [4]}, utility: {regressions: [{response: wage, predictors: [debt]}]}, inversion: true}`)
	progress := new(pipeline.Progress)
	result, d, err := Run(context.Background(), p, pipeline.Options{Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	var names, linked []string
	for i, c := range d.Numeric {
		names = append(names, c.Name)
		if slices.Contains(d.Linked, i) {
			linked = append(linked, c.Name)
		}
		moved := 0
		for i, text := range column(t, p, c.Name) {
			want, err := strconv.ParseFloat(text, 64)
			if err != nil {
				want = math.NaN()
			}
			if got := c.Original[i]; got != want && (got == got || want == want) {
				t.Fatalf("%s of record %d is %v, want %v", c.Name, i, got, want)
			}
			if got := c.Released[i]; got != want && (got == got || want == want) {
				moved++
			}
		}
		if c.Name == "wage" && moved < 290 || c.Name != "wage" && moved > 0 {
			t.Errorf("%d values of %s differ from the original", moved, c.Name)
		}
		if c.Name == "wage" && c.Grid != 0.01 || c.Name != "wage" && c.Grid != 0 {
			t.Errorf("%s has the grid %v", c.Name, c.Grid)
		}
	}
	slices.Sort(linked)
	if !slices.Contains(names, "debt") || !slices.Equal(linked, []string{"age", "wage"}) {
		t.Errorf("numeric columns are %q, linked keys %q, want debt among the former and age and wage linked", names, linked)
	}
	if len(d.Categorical) != 1 || d.Categorical[0].Name != "region" ||
		!alike(d.Categorical[0].Original, column(t, p, "region")) {
		t.Error("the categories are not those of region")
	}
	if len(d.Sensitive) != 1 || !alike(d.Sensitive[0].Original, column(t, p, "house")) ||
		!alike(d.Household, column(t, p, "house")) {
		t.Error("the sensitive column and the households are not those of house")
	}
	for i, text := range column(t, p, "weight") {
		if fmt.Sprint(d.Weights[i]) != text {
			t.Fatalf("the weight of record %d is %v, want %s", i, d.Weights[i], text)
		}
	}
	if d.Records != 0 || result.Targets != 40 || result.Records != 300 || progress.Phase() != "assess" {
		t.Errorf("the data have %d records and the result is %+v, want 0 and 40 targets of 300 records", d.Records, result)
	}
	if result.Linkage == nil || result.Uniqueness == nil || result.Utility == nil || result.Inversion == nil ||
		result.Bayes != nil || len(result.Interval) != 1 {
		t.Errorf("the parts of the result are %+v", result)
	}
	if _, err := os.Stat(p.Sink.Config.Paths()[0]); err == nil {
		t.Error("an attack wrote a release")
	}
}

// If a file is larger than the sample, the intruder receives a sample and the number of all
// records.
func TestRunOnASample(t *testing.T) {
	p := survey(t, 300, "bias: {columns: [wage], phi: 0.1}", "assess: {keys: [wage], sample: 100}")
	result, d, err := Run(context.Background(), p, pipeline.Options{})
	if err != nil || d.Records != 300 || len(d.Numeric[0].Original) >= 300 || result.Linkage == nil ||
		result.Uniqueness != nil {
		t.Errorf("the sample has %d of %d records, result %+v, error %v", len(d.Numeric[0].Original), d.Records, result, err)
	}
}

// Data that cannot be attacked are an error with the place in the configuration.
func TestRunRefuses(t *testing.T) {
	const bias = "bias: {columns: [wage], phi: 0.1}"
	for _, c := range []struct{ name, masks, extra, want string }{
		{"no keys and no intruder", bias, "", "assess.keys: must be given"},
		{"a missing source", bias, "assess: {keys: [wage]}", "source: "},
		{"no records", bias, "assess: {keys: [wage]}", "the source has no records"},
		{"no key", bias, "assess: {keys: [wage]}", "key"},
	} {
		n := 20
		if c.name == "no records" {
			n = 0
		}
		p := survey(t, n, c.masks, c.extra)
		dir := filepath.Dir(p.Sink.Config.Paths()[0])
		switch c.name {
		case "a missing source":
			if err := os.Remove(filepath.Join(dir, "in.csv")); err != nil {
				t.Fatal(err)
			}
		case "no records":
			if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte("id,wage,debt,age,region,weight,house\n"), 0o600); err !=
				nil {
				t.Fatal(err)
			}
		case "no key":
			if err := os.WriteFile(filepath.Join(dir, "k"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, _, err := Run(context.Background(), p, pipeline.Options{})
		if err == nil || r != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	ctx, stop := context.WithCancelCause(context.Background())
	because := errors.New("because")
	stop(because)
	if r, _, err := Run(ctx, survey(t, 20, bias, "assess: {keys: [wage]}"), pipeline.Options{}); err == nil || r != nil {
		t.Errorf("ended context: error %v, want an error and no result", err)
	}
}

// The noise that masks add to a column, in the order of its masks: biases multiply, noises add, a
// bias after noise multiplies it, and rounding adds the noise of a step.
func TestImpliedNoise(t *testing.T) {
	for _, c := range []struct {
		masks      string
		phi, sigma float64
	}{
		{"bias: {columns: [wage], phi: 0.3}", 0.3, 0},
		{"noise: {columns: [wage], sd: 40}", 0, 40},
		{"noise: {columns: [debt, wage], sd: 40}", 0, 40},
		{"noise: {columns: [debt], sd: 40}", 0, 0},
		{"noise: {columns: [wage], sd: 30}}, {noise: {columns: [wage], sd: 40}", 0, 50},
		{"bias: {columns: [wage], phi: 0.3}}, {bias: {columns: [wage], phi: 0.4}", math.Sqrt(1.09*1.16 - 1), 0},
		{"noise: {columns: [wage], sd: 40}}, {bias: {columns: [wage], phi: 0.3}", 0.3, 40 * math.Sqrt(1.09)},
		{"bias: {columns: [wage], phi: 0.3}}, {noise: {columns: [wage], sd: 40}", 0.3, 40},
		{"round: {columns: [wage], base: 12}", 0, math.Sqrt(12)},
		{"noise: {columns: [wage], sd: 3}}, {round: {columns: [wage], base: 12}", 0, math.Sqrt(9 + 12)},
		{"noise: {columns: [wage], sd: 3}}, {truncate: {columns: [wage], lower: 0}", 0, 3},
	} {
		p := survey(t, 3, "{"+c.masks+"}", "")
		phi, sigma, err := impliedNoise(&pipeline.Plan{Config: p}, "wage")
		if err != nil || math.Abs(phi-c.phi) > 1e-12 || math.Abs(sigma-c.sigma) > 1e-12*(1+c.sigma) {
			t.Errorf("%s: φ %v, σ %v, error %v, want %v and %v", c.masks, phi, sigma, err, c.phi, c.sigma)
		}
	}
}

// For each linked key, the Bayesian intruder uses the configured parameters, or else those that
// follow from the masks; for d2 the configured priors, or else those of the paper.
func TestBayesOf(t *testing.T) {
	p := survey(t, 3, "{bias: {columns: [wage], phi: 0.3}}, {noise: {columns: [wage, debt], sd: 40}}", "")
	pl := &pipeline.Plan{Config: p}
	d := &attack.Data{Linked: []int{2, 0}, Numeric: []attack.NumericColumn{
		{Name: "wage", Released: []float64{5, -1, math.NaN(), 11}}, {Name: "age", Released: []float64{1}},
		{Name: "debt", Released: []float64{3, 3}},
	}}
	prior := &config.IntruderPrior{Shape: 3, Scale: 7}
	for _, c := range []struct {
		name string
		b    config.IntruderBayes
		want []intruder.Key // of debt, then wage
	}{
		{"of the masks", config.IntruderBayes{Knowledge: config.KnowledgeD1},
			[]intruder.Key{{Sigma: 40}, {Phi: 0.3, Sigma: 40}}},
		{
			"said of one", config.IntruderBayes{Knowledge: config.KnowledgeD1, Phi: map[string]float64{"wage": 0.5},
				Sigma: map[string]float64{"debt": 9}}, []intruder.Key{{Sigma: 9}, {Phi: 0.5, Sigma: 40}}},
		{"the paper's priors", config.IntruderBayes{Knowledge: config.KnowledgeD2}, []intruder.Key{
			{Sigma: 40, PhiPrior: intruder.InverseGammaAround(0.5 / 6)}, // a column with one value has no range
			{Phi: 0.3, Sigma: 40, PhiPrior: intruder.InverseGammaAround(0.5 / 6), SigmaPrior: intruder.InverseGammaAround(2)}}},
		{"configured priors",
			config.IntruderBayes{Knowledge: config.KnowledgeD2, PhiPrior: prior,
				SigmaPrior: &config.IntruderPrior{Shape: 4, Scale: 8}}, []intruder.Key{
				{Sigma: 40, PhiPrior: &intruder.Prior{Shape: 3, Scale: 7}, SigmaPrior: &intruder.Prior{Shape: 4, Scale: 8}},
				{Phi: 0.3, Sigma: 40, PhiPrior: &intruder.Prior{Shape: 3, Scale: 7},
					SigmaPrior: &intruder.Prior{Shape: 4, Scale: 8}}}},
	} {
		c.b.Threshold, c.b.Population = 0.25, 77
		o, err := bayesOf(pl, &c.b, d)
		if err != nil || o.Threshold != 0.25 || o.Population != 77 || len(o.Keys) != 2 {
			t.Errorf("%s: options %+v, error %v", c.name, o, err)
			continue
		}
		for i, want := range c.want {
			got := o.Keys[i]
			if math.Abs(got.Phi-want.Phi) > 1e-12 || math.Abs(got.Sigma-want.Sigma) > 1e-9 ||
				!samePrior(got.PhiPrior, want.PhiPrior) || !samePrior(got.SigmaPrior, want.SigmaPrior) {
				t.Errorf("%s: key %d is %+v, want %+v", c.name, i, got, want)
			}
		}
	}
}

func samePrior(a, b *intruder.Prior) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// The intruder gets the configured questions. Without any, these are linkage and counts for the
// existing keys.
func TestOptionsOf(t *testing.T) {
	for _, c := range []struct {
		intruder                   string
		linkage, oneToOne, unique  bool
		suda2, exact               bool
		alpha                      float64
		k, targets                 int
		bayes, utility, propensity bool
	}{
		{intruder: "", linkage: true, unique: true, suda2: true, targets: 1000},
		{intruder: "{targets: 7}", linkage: true, unique: true, suda2: true, targets: 7},
		{intruder: "{linkage: {one_to_one: true}}", linkage: true, oneToOne: true, targets: 1000},
		{intruder: "{uniqueness: {alpha: 0.3, k: [5], suda2: true, approximate: false}}", unique: true, suda2: true,
			exact: true, alpha: 0.3, k: 5, targets: 1000},
		{intruder: "{uniqueness: {approximate: true, suda2: false}}", unique: true, targets: 1000},
		{intruder: "{bayes: {}}", bayes: true, targets: 1000},
		{intruder: "{utility: {}}", utility: true, targets: 1000},
		{intruder: "{utility: {propensity: true}}", utility: true, propensity: true, targets: 1000},
	} {
		extra := "assess: {keys: [wage, region]}"
		if c.intruder != "" {
			extra = "assess: {sample: 5000, keys: [wage, region], intruder: " + c.intruder + "}"
		}
		p := survey(t, 3, "bias: {columns: [wage], phi: 0.3}", extra)
		d := &attack.Data{Linked: []int{0}, Numeric: []attack.NumericColumn{{Name: "wage", Released: []float64{1, 2}}},
			Counted: []attack.CategoricalColumn{{Name: "region"}}}
		o, err := optionsOf(&pipeline.Plan{Config: p}, d)
		if err != nil {
			t.Errorf("%q: %v", c.intruder, err)
			continue
		}
		if (o.Linkage != nil) != c.linkage || o.Linkage != nil && o.Linkage.OneToOne != c.oneToOne ||
			o.Targets != c.targets ||
			(o.Uniqueness != nil) != c.unique || (o.Bayes != nil) != c.bayes || (o.Loss != nil) != c.utility || o.Loss != nil &&
			(o.Loss.Propensity != nil) != c.propensity || o.Inversion != nil {
			t.Errorf("intruder %q: options are %+v", c.intruder, o)
		}
		if u := o.Uniqueness; u != nil &&
			((u.SUDA2 != nil) != c.suda2 || (u.Estimator == uniqueness.Exact) != c.exact || c.k > 0 &&
				(u.Alpha != c.alpha || !slices.Equal(u.K, []int{c.k}))) {
			t.Errorf("intruder %q: options of uniqueness are %+v", c.intruder, u)
		}
		// Without keys of a kind, the questions of this kind are omitted.
		o, err = optionsOf(&pipeline.Plan{Config: p}, &attack.Data{})
		if err != nil || c.intruder == "" && (o.Linkage != nil || o.Uniqueness != nil) {
			t.Errorf("intruder %q without keys: options %+v, error %v", c.intruder, o, err)
		}
	}
}

// Selected parts of the configured attack run on the pairs, and none if none is selected.
func TestSomeAndIdentify(t *testing.T) {
	if r, err := Identify(context.Background(),
		&pipeline.Plan{Config: survey(t, 3, "bias: {columns: [wage], phi: 0.3}", "")}, nil, nil, nil); r != nil || err != nil {
		t.Errorf("without keys, Identify returns %v and error %v, want nil and nil", r, err)
	}
	p := survey(t, 3, "bias: {columns: [wage], phi: 0.3}", "assess: {keys: [wage]}")
	pl := &pipeline.Plan{Config: p, Assessed: []assess.Column{{Name: "wage"}},
		Intruder: pipeline.IntruderColumns{Linked: []string{"wage"}}, Masked: []string{"wage"}}
	acc, err := assess.New(assess.Options{Columns: []assess.Column{{Name: "wage", Masked: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Identify(context.Background(), pl, nil, acc, nil); r != nil || err != nil {
		t.Errorf("without records, Identify returns %v and error %v, want nil and nil", r, err)
	}
	pairs := assess.Pairs{Complete: true, Original: [][]float64{{1, 2, 3, 10}}, Released: [][]float64{{1.1, 2.1, 3.1, 9}}}
	id, err := Some(context.Background(), pl, nil, pairs, []string{"linkage"})
	if err != nil || id == nil {
		t.Fatalf("Some returns %+v and error %v", id, err)
	}
	for _, parts := range [][]string{nil, {"uniqueness"}, {"bayes", "inversion"}} {
		if id, err := Some(context.Background(), pl, nil, pairs, parts); id != nil || err != nil {
			t.Errorf("parts %q: Some returns %+v and error %v, want nil and nil", parts, id, err)
		}
	}
}

// Missing requirements of an attack are an error, and the attack does not run.
func TestWhatAnAttackNeeds(t *testing.T) {
	const noise, keys = "{noise: {columns: [wage], sd: 50}}", "assess: {keys: [wage, age], replicates: 2}"
	path := func(p *config.Pipeline) string { return p.Source.Config.(*csvfile.SourceConfig).Path }
	rewrite := func(text string) func(*config.Pipeline) error {
		return func(p *config.Pipeline) error { return os.WriteFile(path(p), []byte(text), 0o600) }
	}
	for _, c := range []struct {
		name, extra, want string
		spoil             func(*config.Pipeline) error
	}{
		{"keys", "", "assess.keys: must be given", nil},
		{"a key", keys, "key", func(p *config.Pipeline) error {
			return os.Remove(filepath.Join(filepath.Dir(path(p)), "k"))
		}},
		{"a source", keys, "source: ", func(p *config.Pipeline) error { return os.Remove(path(p)) }},
		{"its columns", keys, "columns.", rewrite("id,wealth\n1,2\n")},
		{"records", keys, "the source has no records", rewrite("id,wage,debt,age,region,weight,house\n")},
	} {
		p := survey(t, 20, noise, c.extra)
		if c.spoil != nil {
			if err := c.spoil(p); err != nil {
				t.Fatal(err)
			}
		}
		if r, _, err := Run(context.Background(), p, pipeline.Options{}); err == nil ||
			!strings.Contains(err.Error(), c.want) || r != nil {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// A mask that is not noise implies nothing, at any place among others. If both φ and σ are
// configured, no mask is needed.
func TestNoNoiseIsImplied(t *testing.T) {
	const groups, noise = "{microaggregate: {columns: [wage], k: 3}}", "{noise: {columns: [wage], sd: 4}}"
	for _, masks := range []string{groups, groups + ", " + noise, noise + ", " + groups} {
		pl := &pipeline.Plan{Config: survey(t, 12, masks, "")}
		phi, sigma, err := impliedNoise(pl, "wage")
		if err == nil || phi != 0 || sigma != 0 ||
			!strings.HasPrefix(err.Error(), `the mask microaggregate of "wage" is no noise`) {
			t.Errorf("%s: φ %v, σ %v, error %v, want an error that the mask is no noise", masks, phi, sigma, err)
		}
		d := &attack.Data{Linked: []int{0}, Numeric: []attack.NumericColumn{{Name: "wage", Released: []float64{1, 2}}}}
		for given, b := range map[string]config.IntruderBayes{
			"nothing": {}, "φ": {Phi: map[string]float64{"wage": 0.1}}, "σ": {Sigma: map[string]float64{"wage": 2}},
			"both": {Phi: map[string]float64{"wage": 0.1}, Sigma: map[string]float64{"wage": 2}},
		} {
			b.Knowledge = config.KnowledgeD1
			o, err := bayesOf(pl, &b, d)
			if given == "both" && (err != nil || o.Keys[0].Phi != 0.1 || o.Keys[0].Sigma != 2) || given != "both" &&
				(err == nil || o != nil || !strings.HasPrefix(err.Error(), "assess.intruder.bayes: the mask ")) {
				t.Errorf("%s, given: %s: options %+v, error %v", masks, given, o, err)
			}
		}
	}
	// A mask of categories does not describe its effect on numbers.
	pl := &pipeline.Plan{
		Config: survey(t, 12,
			"{noise: {columns: [wage], sd: 4}}, {pram: {columns: [region], categories: [n, s, w], keep: 0.8}}", "")}
	if phi, sigma, err := impliedNoise(pl, "region"); err == nil || phi != 0 || sigma != 0 ||
		!strings.HasPrefix(err.Error(), "the mask pram does not say what it does to \"region\"") {
		t.Errorf("a mask of categories: φ %v, σ %v, error %v, want an error", phi, sigma, err)
	}
	p := survey(t, 20, noise, "assess: {keys: [wage, age], replicates: 2, intruder: {linkage: {}}}")
	p.Assess.Intruder.Linkage.Distance = "canary"
	if _, _, err := Run(context.Background(), p, pipeline.Options{}); err == nil ||
		!strings.HasPrefix(err.Error(), "assess.intruder.linkage.distance: ") {
		t.Errorf("an unknown distance: error %v", err)
	}
}
