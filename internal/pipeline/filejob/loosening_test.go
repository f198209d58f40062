package filejob_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// overrides are settings that are put over random configurations, of every section and in both
// directions; of the columns, masks and rules the first ones.
var overrides = []string{
	"unlisted=drop", "unlisted=fail", "shard=false", "name=x", "identity.0=grp", "window.records=16",
	"columns.id.role=other", "columns.id.role=key", "columns.wage.role=other", "columns.wage.role=key",
	"columns.wage.unmasked=true", "columns.wage.decimals=1",
	"columns.grp.role=identifier", "columns.grp.role=other", "columns.grp.role=sensitive", "columns.age.role=other",
	"columns.age.role=identifier", "columns.age.role=key",
	"columns.left.role=other", "columns.left.role=identifier",
	"masks.0.noise.sd=%", "masks.0.noise.sd=0.01", "masks.0.noise.distribution=uniform", "masks.0.bias.phi=%",
	"masks.0.round.base=%", "masks.1.round.base=%",
	"masks.0.truncate.lower=%", "masks.1.truncate.lower=%", "masks.1.truncate.upper=%", "masks.0.truncate.upper=%",
	"masks.0.rankswap.p=%", "masks.0.microaggregate.k=%",
	"masks.0.swap.rate=1", "masks.0.swap.rate=0.1", "masks.0.topcode.upper=%", "masks.1.suppress.k=2",
	"masks.1.suppress.k=9", "masks.1.suppress.missing=any",
	"gate.max_quarantined=1", "gate.max_quarantined=0.001", "gate.max_quarantined=40%", "gate.allow_unchanged=1",
	"gate.allow_unchanged=0",
	"gate.rules.0.min_rmse=0.001", "gate.rules.0.min_rmse=1e6", "gate.rules.0.max_risk=1", "gate.rules.0.target=max",
	"gate.rules.0.knowledge=mean",
	"gate.rules.0.min_k=2", "gate.rules.0.min_k=50", "gate.rules.0.column=age",
	"gate.rules.+.column=wage gate.rules.+.max_unchanged=1", "gate.rules.+.column=wage gate.rules.+.min_rmse=0.01",
	"gate.rules.+.min_k=2",
	"gate.rules.+.column=wage gate.rules.+.min_rmse=1 gate.rules.+.knowledge=mean",
	"assess.sample=50", "assess.sample=all", "assess.keys.0=grp", "assess.targets.0=max",
	"assess.intruder.inversion=false", "assess.intruder.uniqueness.alpha=0", "assess.intruder.categorical.0=age",
	"source.csv.nulls.0=5", "source.csv.header=false", "source.csv.types.wage=string", "source.csv.types.age=string",
	"source.csv.decimal=,", "source.csv.delimiter=;",
	"sink.order=shuffled", "sink.order=source", "sink.csv.nulls=0", "sink.csv.quoting=all", "sink.csv.header=false",
	"sink.csv.delimiter=|",
	"report.publish.0=sd", "quarantine.jsonl=DIR/q.jsonl",
}

// likely are overrides that are often harmless, and are drawn as often as all others together.
var likely = []string{
	"masks.0.noise.sd=%", "masks.0.noise.sd=%", "masks.0.bias.phi=%", "masks.0.round.base=%", "masks.0.round.base=%",
	"masks.0.truncate.upper=%", "columns.grp.role=identifier",
	"columns.age.role=identifier", "gate.max_quarantined=0.001", "gate.rules.0.min_rmse=5", "gate.rules.0.min_rmse=60",
	"gate.rules.0.min_k=40",
	"gate.rules.+.column=wage gate.rules.+.min_rmse=0.01", "gate.rules.+.min_k=2", "assess.sample=all",
	"assess.replicates=300", "sink.order=shuffled",
	"sink.csv.quoting=all", "sink.csv.header=false", "sink.csv.delimiter=|", "quarantine.jsonl=DIR/q.jsonl", "name=x",
	"gate.allow_unchanged=0",
}

// people writes a small file: wages partly on a grid and heaped, some of them no numbers, and
// groups of different sizes.
func people(rng *rand.Rand, path string, malformed float64) error {
	var b strings.Builder
	b.WriteString("id,wage,age,grp,left\n")
	for i := range 120 {
		wage := strconv.FormatFloat(10*math.Round(100*math.Exp(0.5*rng.NormFloat64())), 'f', 2, 64)
		if i%3 == 0 {
			wage = strconv.FormatFloat(1000*math.Exp(0.5*rng.NormFloat64()), 'f', 2, 64)
		}
		if rng.Float64() < malformed {
			wage = "unknown"
		}
		fmt.Fprintf(&b, "S%03d,%s,%d,g%d,%d\n", i, wage, 20+rng.IntN(40), int(4*rng.Float64()*rng.Float64()), rng.IntN(9))
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

// configuration is a random one for people.
func configuration(rng *rand.Rand, dir string) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	first := pick("noise: {columns: [wage], sd: 50}", "noise: {columns: [wage], sd: 5}",
		"bias: {columns: [wage], phi: 0.1}", "round: {columns: [wage], base: 70}",
		"round: {columns: [wage], base: 100}", "truncate: {columns: [wage], upper: 900}",
		"rankswap: {columns: [wage], p: 0.1}",
		"microaggregate: {columns: [wage], k: 3}",
		"swap: {keys: [grp], attribute: age, columns: [wage], rate: 0.5, policy: random}",
		"noise: {columns: [wage], sd: 0.02}")
	second := pick("", "", ", {round: {columns: [wage], base: 10}}",
		", {truncate: {columns: [wage], lower: 300, upper: 3000}}", ", {suppress: {keys: [grp], k: 3}}")
	rule := pick("{column: wage, target: typical, knowledge: index, min_rmse: 45}",
		"{column: wage, target: typical, knowledge: index, min_rmse: 4}",
		"{min_k: 5}", "{min_k: 30}", "{column: wage, min_efficiency: 0.01}", "{column: wage, max_unchanged: 0.02}")
	unlisted := "left: {role: other}, "
	if rng.IntN(6) == 0 {
		unlisted = ""
	}
	return fmt.Sprintf(`version: 1
key: {file: %[1]s/k}
source: {csv: {path: %[1]s/in.csv, types: {wage: float64}}}
columns: {id: {role: identifier}, %[2]swage: {role: sensitive, decimals: 2}, age: {role: other}, grp: {role: key}}
masks: [{%[3]s}%[4]s]
sink: {csv: {path: %[1]s/out.csv}}
assess: {replicates: 20, targets: [max]}
gate: {rules: [%[5]s]}
`, dir, unlisted, first, second, rule)
}

// outcome is what a run has let out: nil where that is nothing.
type outcome struct {
	columns map[string][]string
	rows    int
}

func releasedBy(t *testing.T, dir, text string, settings []string, loosen bool) (_ *outcome, refused bool) {
	t.Helper()
	os.Remove(filepath.Join(dir, "out.csv"))
	p, err := config.Parse("p.yaml", []byte(text), config.Options{Set: settings, Environ: func() []string { return nil }})
	if err != nil || p.LooseningAllowed(loosen) != nil {
		return nil, true
	}
	if _, err := filejob.Run(context.Background(), p, pipeline.Options{AllowLoosening: loosen}); err != nil {
		return nil, false
	}
	file, err := os.Open(filepath.Join(dir, "out.csv"))
	if err != nil {
		return nil, false
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.Comma, r.FieldsPerRecord = ',', -1
	if slices.Contains(settings, "sink.csv.delimiter=|") {
		r.Comma = '|'
	}
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	names := lines[0]
	if slices.Contains(settings, "sink.csv.header=false") {
		names = []string{"wage", "age", "grp", "left"}[:len(names)]
		if len(names) == 4 {
			names = []string{"wage", "age", "grp", "left"}
		}
	} else {
		lines = lines[1:]
	}
	o := &outcome{columns: map[string][]string{}, rows: len(lines)}
	for j, name := range names {
		for _, l := range lines {
			o.columns[name] = append(o.columns[name], l[j])
		}
	}
	return o, false
}

// Whatever settings let out that the file withholds is refused: a column, a record, a wage as it
// was, or a release by a gate that is less strict. A mask or a role that settings make stricter may
// bring a release through the file's own gate.
func TestNoSettingLetsOutMore(t *testing.T) {
	racetest.Further(t)
	runs := 250
	if testing.Short() {
		runs = 60
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k"), []byte("c2VlZGVkLCBzbyB0aGF0IHJ1bnMgYXJlIGFsaWtlISE=\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(20261127, 10))
	harmless, withheld := 0, 0
	for range runs {
		if err := people(rng, filepath.Join(dir, "in.csv"), []float64{0, 0, 0.05}[rng.IntN(3)]); err != nil {
			t.Fatal(err)
		}
		text := configuration(rng, dir)
		file, _ := releasedBy(t, dir, text, nil, false)
		wages := wagesOf(t, filepath.Join(dir, "in.csv"))
		for range 8 {
			settings := fitting(rng, dir, text)
			got, refused := releasedBy(t, dir, text, settings, false)
			if refused || got == nil {
				continue
			}
			harmless++
			if file == nil {
				withheld++
				if stricter := of(settings, "masks.", "columns."); len(stricter) == len(settings) {
					continue // through all that the file demands
				} else if through, _ := releasedBy(t, dir, text, stricter, true); through == nil {
					t.Errorf("%s\n%q: released, and the file withholds it", text, settings)
				}
				continue
			}
			for name := range got.columns {
				if file.columns[name] == nil {
					t.Errorf("%s\n%q: releases column %s", text, settings, name)
				}
			}
			if got.rows > file.rows {
				t.Errorf("%s\n%q: releases %d records, and the file %d", text, settings, got.rows, file.rows)
			}
			// By chance a noise of SD 5 leaves a wage as it is with probability 0.01·0.4/5 = 0.0008: of
			// 120 more than 3 by a chance of 3·10⁻⁶.
			if a, b := asTheyWere(wages, got), asTheyWere(wages, file); !slices.Contains(settings, "sink.order=shuffled") &&
				a > b+3 {
				t.Errorf("%s\n%q: releases %d wages as they were, and the file %d", text, settings, a, b)
			}
		}
	}
	if harmless < runs || withheld == 0 {
		t.Errorf("%d settings were harmless, %d where the file withholds: the test says little", harmless, withheld)
	}
	t.Logf("%d settings were harmless, %d where the file withholds", harmless, withheld)
}

// fitting draws one or two overrides with which a configuration is valid.
func fitting(rng *rand.Rand, dir, text string) (settings []string) {
	for range 100 {
		settings = nil
		for range 1 + rng.IntN(2) {
			list := [][]string{overrides, likely}[rng.IntN(2)]
			set := strings.ReplaceAll(list[rng.IntN(len(list))], "%",
				strconv.Itoa([]int{1, 3, 10, 80, 140, 350, 1000}[rng.IntN(7)]))
			settings = append(settings, strings.Fields(strings.NewReplacer("+", "1", "DIR", dir).Replace(set))...)
		}
		if _, err := config.Parse("p.yaml", []byte(text), config.Options{Set: settings, Environ: func() []string {
			return nil
		}}); err == nil {
			break
		}
	}
	return settings
}

// of are the settings of some sections.
func of(settings []string, sections ...string) (list []string) {
	for _, s := range settings {
		for _, section := range sections {
			if strings.HasPrefix(s, section) {
				list = append(list, s)
			}
		}
	}
	return list
}

// wagesOf are the wages that are numbers, in order: others are not released.
func wagesOf(t *testing.T, path string) (wages []float64) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		if v, err := strconv.ParseFloat(strings.Split(line, ",")[1], 64); err == nil {
			wages = append(wages, v)
		}
	}
	return wages
}

func asTheyWere(wages []float64, o *outcome) (n int) {
	for i, text := range o.columns["wage"] {
		if v, err := strconv.ParseFloat(text, 64); err == nil && i < len(wages) && v == wages[i] {
			n++
		}
	}
	return n
}
