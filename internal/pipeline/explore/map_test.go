package explore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mapped returns a configuration with 2,000 skewed incomes in two regions, the incomes of the north
// ten times as large. Lines are added, or replace lines with the same beginning.
func mapped(t *testing.T, dir string, lines ...string) *config.Pipeline {
	t.Helper()
	p, err := tryMapped(t, dir, lines...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryMapped(t *testing.T, dir string, lines ...string) (*config.Pipeline, error) {
	t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var data strings.Builder
	data.WriteString("id,income,region,kind\n")
	g := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		income, region := 500*math.Exp(0.5*g.NormFloat64()), "south"
		if i%4 == 0 {
			income, region = 10*income, "north"
		}
		shown := fmt.Sprintf("%.1f", income)
		switch i {
		case 17:
			shown = ""
		case 18:
			shown = "NaN" // can be neither masked nor released
		}
		fmt.Fprintf(&data, "%d,%s,%s,%d\n", i, shown, region, i%3)
	}
	write("in.csv", data.String())
	write("k", "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n")
	text := `version: 1
key: {file: DIR/k}
source: {csv: {path: DIR/in.csv, types: {income: float64}}}
columns: {income: {role: sensitive, unit: EUR, decimals: 1}, region: {role: other}, kind: {role: other}}
unlisted: drop
masks: [{noise: {columns: [income], sd: 20%}}, {truncate: {columns: [income], lower: 0}}]
sink: {csv: {path: DIR/out.csv}}
assess: {replicates: 60, targets: [p10, max]}
gate: {rules: [{column: income, target: p10, knowledge: index, record: alone, min_rmse: 150}, {column: income, min_efficiency: 0.5}]}
quarantine: {jsonl: DIR/q.jsonl}
map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 5}}}
`
	for _, line := range lines {
		field, _, _ := strings.Cut(line, ":")
		var kept []string
		for old := range strings.Lines(text) {
			if !strings.HasPrefix(old, field+":") {
				kept = append(kept, old)
			}
		}
		text = strings.Join(kept, "") + line + "\n"
	}
	write("pipeline.yaml", strings.ReplaceAll(text, "DIR", dir))
	return config.Load(filepath.Join(dir, "pipeline.yaml"), config.Options{Environ: func() []string { return nil }})
}

func mapOf(t *testing.T, p *config.Pipeline) *rumap.Map {
	t.Helper()
	m, err := Map(context.Background(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A point of the map has exactly the R and U of the report of a release with its parameters,
// without quarantined records and missing values, for all masks. The recommended point passes the
// gate.
func TestMapSaysWhatARunFinds(t *testing.T) {
	racetest.Further(t)
	for name, masks := range map[string]string{
		"noise and clip":   `[{noise: {columns: [income], sd: 22%}}, {truncate: {columns: [income], lower: 0}}]`,
		"noise and redraw": `[{noise: {columns: [income], sd: 22%, distribution: laplace}}, {truncate: {columns: [income], lower: 0, mode: redraw}}]`,
		"bias and noise":   `[{bias: {columns: [income], range: 0.2}}, {noise: {columns: [income], sd: 22%, tiers: [{above: 2000, variance_factor: 2}]}}]`,
		"other columns":    `[{noise: {columns: [kind], sd: 1}}, {noise: {columns: [kind, income], sd: 22%}}, {truncate: {columns: [income, kind], lower: 0}}]`,
		"a swap first":     `[{swap: {keys: [kind], attribute: region, columns: [income], rate: 0.3, policy: random}}, {noise: {columns: [income], sd: 22%}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := 0
			if name == "bias and noise" || name == "a swap first" || name == "other columns" {
				at = 1
			}
			p := mapped(t, dir, "masks: "+masks,
				fmt.Sprintf("map: {column: income, vary: {masks.%d.noise.sd: {from: 2%%, to: 42%%, steps: 3}}}", at), "gate: {}")
			m := mapOf(t, p)
			if len(m.Points) != 3 || m.Records != 1999 || m.Column != "income" {
				t.Fatalf("the map has %d points of %d records for the column %s", len(m.Points), m.Records, m.Column)
			}
			res, err := filejob.Run(context.Background(), p, pipeline.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := res.Report.Columns[slices.IndexFunc(res.Report.Columns, func(c assess.ColumnMeasures) bool {
				return c.Name == "income"
			})]
			got := m.Points[1]
			if got.U != c.Utility.U || got.Efficiency != c.Utility.Efficiency || m.U0 != c.Utility.U0 {
				t.Errorf("the map has U %v, efficiency %v, U0 %v; the run has %+v", got.U, got.Efficiency, m.U0, c.Utility)
			}
			risks := withoutRecord(c.Risk)
			for i, r := range got.Risk {
				w := risks[i]
				if r.Target != w.Target || r.Knowledge != w.Knowledge || r.R != w.R || r.RSE != w.SE {
					t.Errorf("the map has %+v, the run has %+v", r, w)
				}
			}
		})
	}
}

// withoutRecord leaves out the risks by the whole record: a map without a rule about them has none.
func withoutRecord(risks []assess.Risk) []assess.Risk {
	return slices.DeleteFunc(slices.Clone(risks), func(r assess.Risk) bool {
		return r.Knowledge == assess.KnowledgeRecord
	})
}

// With a rule that the whole record decides, every point has R by the record beside that by index: never
// below it, with the columns that tell, and near that of a run. kind tells nothing; region tells of the
// income. The recommended point passes the gate of a run.
func TestMapJudgesByTheRecord(t *testing.T) {
	racetest.Further(t)
	for _, gate := range []string{"knowledge: index, target: typical", "target: typical", "knowledge: record"} {
		dir := t.TempDir()
		p := mapped(t, dir, "gate: {rules: [{column: income, "+gate+", min_rmse: 100}]}")
		m := mapOf(t, p)
		res, err := filejob.Run(context.Background(), p, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for i, point := range m.Points {
			found := 0
			for k, r := range point.Risk {
				if r.Knowledge != assess.KnowledgeRecord {
					continue
				}
				found++
				if index := point.Risk[k-1]; index.Knowledge != assess.KnowledgeIndex || index.Target != r.Target || r.R < index.R {
					t.Errorf("%s: point %d: %+v behind %+v", gate, i, r, index)
				}
				if r.Target == assess.TargetTypical && point.Parameters["masks.0.noise.sd"] == 0.22 {
					for _, w := range res.Report.Columns[0].Risk {
						// Of the run the noise is 20 %, of the point 22 %: RMSE is between these and 1.1 times as
						// large, and each is of 1,999 records, with a relative SD of 1.6 %.
						if w.Knowledge == r.Knowledge && w.Target == r.Target {
							if ratio := float64(r.RMSE / w.RMSE); !(ratio > 0.93 && ratio < 1.19) {
								t.Errorf("%s: the map has %v, the run %v", gate, r.RMSE, w.RMSE)
							}
							ran++
						}
					}
				}
			}
			if found != 3 {
				t.Errorf("%s: point %d has %d risks by the record, want 3", gate, i, found)
			}
		}
		if ran != 1 || m.Recommended == nil {
			t.Errorf("%s: %d compared, recommended %+v: %s", gate, ran, m.Recommended, m.Reason)
		}
	}
}

// With more records than the sample, R and U equal those of the run, bit by bit.
func TestMapOfASampleSaysWhatARunFinds(t *testing.T) {
	p := mapped(t, t.TempDir(), "assess: {replicates: 100, targets: [min, p10, p50, p90, max], sample: 400}",
		"masks: [{noise: {columns: [income], sd: 22%}}, {truncate: {columns: [income], lower: 0}}]",
		"map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 3}}}", "gate: {}")
	m := mapOf(t, p)
	if m.Sampled != 400 {
		t.Errorf("the sample has %d records, want 400", m.Sampled)
	}
	res, err := filejob.Run(context.Background(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, got := res.Report.Columns[0], m.Points[1]
	if got.U != c.Utility.U || got.USE != c.Utility.SE || got.Bias != c.Utility.Bias || m.U0 != c.Utility.U0 {
		t.Errorf("U %v ± %v, the run has %v ± %v", got.U, got.USE, c.Utility.U, c.Utility.SE)
	}
	// The risk from the order of the records is measured for a release only.
	risks := slices.DeleteFunc(withoutRecord(c.Risk), func(r assess.Risk) bool {
		return r.Knowledge == assess.KnowledgeOrder
	})
	if len(got.Risk) != len(risks) {
		t.Fatalf("%d risks, the run has %d", len(got.Risk), len(risks))
	}
	for i, r := range got.Risk {
		w := risks[i]
		if r.Target != w.Target || r.Knowledge != w.Knowledge || r.R != w.R || r.RSE != w.SE &&
			(r.RSE == r.RSE || w.SE == w.SE) {
			t.Errorf("the map has %+v, the run has %+v", r, w)
		}
	}
}

// A run with the recommended parameters and the same key passes the gate; a run with those of the
// next better point does not.
func TestRecommendedPassesTheGate(t *testing.T) {
	for _, search := range []bool{false, true} {
		dir, steps := t.TempDir(), 25
		if testing.Short() && !search {
			steps = 9
		}
		p := mapped(t, dir,
			fmt.Sprintf("map: {vary: {masks.0.noise.sd: {from: 1%%, to: 60%%, steps: %d}}, search: %v}", steps, search))
		m := mapOf(t, p)
		if m.Recommended == nil {
			t.Fatalf("search %v: no point is recommended: %s", search, m.Reason)
		}
		best := m.Points[m.Recommended.Point]
		sd := best.Parameters["masks.0.noise.sd"]
		if b := m.Recommended.Binding; len(b) != 1 || b[0].Target != "p10" || b[0].Knowledge != assess.KnowledgeIndex {
			t.Errorf("search %v: the binding rule is %+v, want p10 by index", search, b)
		}
		if search {
			next := math.Inf(-1)
			for _, q := range m.Points {
				if v := q.Parameters["masks.0.noise.sd"]; !q.Admissible && v < sd {
					next = max(next, v)
				}
			}
			if !(sd-next <= 0.0101*sd) {
				t.Errorf("the boundary is between %v and %v, farther apart than 1 %%", next, sd)
			}
			if !slices.IsSortedFunc(m.Points, func(a, b rumap.Point) int {
				return cmp.Compare(a.Parameters["masks.0.noise.sd"], b.Parameters["masks.0.noise.sd"])
			}) {
				t.Error("the points of a search are not in the order of the parameter")
			}
			if len(m.Points) > 30 {
				t.Errorf("a search has %d points, want at most 30", len(m.Points))
			}
		}
		text, err := p.Rewritten(best.Strategy, best.Parameters)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "applied.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		applied, err := config.Load(path, config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		res, err := filejob.Run(context.Background(), applied, pipeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Refused() {
			t.Errorf("search %v: the recommended release is refused: %+v", search, res.Report.Gate)
		}
	}
}

func TestMapByGroup(t *testing.T) {
	m := mapOf(t,
		mapped(t, t.TempDir(), "map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 2}}, by: [region, kind]}"))
	for _, p := range m.Points {
		if len(p.Groups) != 6 || p.Worst == nil {
			t.Fatalf("the point has %d groups, the worst %+v, want 6", len(p.Groups), p.Worst)
		}
		names, records := map[string]bool{}, 0
		for _, g := range p.Groups {
			names[strings.Join(g.Values, " ")] = true
			records += g.Records
		}
		if !names["north 0"] || !names["south 2"] || records != 1999 {
			t.Errorf("the groups are %v with %d records", names, records)
		}
		// The noise is a share of the SD of all records: for the incomes of the south, ten times
		// smaller, the efficiency is much less than for the north.
		north, south := p.Groups[0].Efficiency, assess.Float(math.NaN())
		for _, g := range p.Groups {
			if g.Values[0] == "north" {
				north = g.Efficiency
			} else {
				south = g.Efficiency
			}
		}
		if !(south < north) {
			t.Errorf("efficiency of north is %v and of south %v, want less for south", north, south)
		}
	}
}

// Strategies are compared on one map: double variance for large incomes, the same variance for all,
// and a swap.
func TestMapComparesStrategies(t *testing.T) {
	m := mapOf(t, mapped(t, t.TempDir(),
		`map: {vary: {masks.0.noise.sd: {from: 5%, to: 40%, steps: 3}}, strategies: [`+
			`{name: unequal, masks: [{noise: {columns: [income], sd: 5%, tiers: [{above: 3500, variance_factor: 2}]}}]}, `+
			`{name: swap, masks: [{swap: {keys: [kind], attribute: region, columns: [income], rate: 0.2, policy: random}}], vary: {masks.0.swap.rate: {from: 0.1, to: 0.5, steps: 2}}}]}`))
	count := map[string]int{}
	for _, p := range m.Points {
		count[p.Strategy]++
	}
	if config.Configured != rumap.Configured || count["configured"] != 3 || count["unequal"] != 3 || count["swap"] != 2 {
		t.Errorf("points by strategy: %v, want configured 3, unequal 3, swap 2", count)
	}
	for i := range 3 {
		equal, unequal := m.Points[i], m.Points[3+i]
		if !(unequal.Risk[len(unequal.Risk)-2].R < equal.Risk[len(equal.Risk)-2].R) {
			t.Errorf("R of max by index is %+v with unequal and %+v with equal noise, want less with unequal noise",
				unequal.Risk[len(unequal.Risk)-2], equal.Risk[len(equal.Risk)-2])
		}
	}
}

func TestMapRefuses(t *testing.T) {
	for name, c := range map[string]struct{ lines, want []string }{
		"an unknown column": {[]string{"map: {column: region, vary: {masks.0.noise.sd: {from: 2%, to: 42%}}}"},
			[]string{"map.column"}},
		"a search without rules": {
			[]string{"gate: {}", "assess: {replicates: 4, targets: [max], intruder: {inversion: false}}",
				"map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%}}, search: true}"}, []string{"map.search", "income"}},
		"too many groups": {
			[]string{"columns: {income: {role: sensitive, decimals: 1}, id: {role: other}}",
				"map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%}}, by: [id]}"},
			[]string{"map.by", "1000 groups"}},
		"a strategy's mask on text": {
			[]string{
				`map: {column: income, vary: {masks.0.noise.sd: {from: 2%, to: 42%}}, strategies: [{name: wrong, masks: [{noise: {columns: [income], sd: 5%}}, {noise: {columns: [region], sd: 1}}]}]}`},
			[]string{"map.strategies[0].masks[1].noise.columns", "region is string", "pipeline.yaml:"}},
		"nothing varies": {[]string{"masks: [{truncate: {columns: [income], lower: 0}}]", "map:"}, []string{"map"}},
	} {
		dir := t.TempDir()
		p, err := tryMapped(t, dir, c.lines...)
		if err == nil {
			_, err = Map(context.Background(), p, pipeline.Options{})
		}
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if wrong := (config.Errors)(nil); !errors.As(err, &wrong) {
			t.Errorf("%s: %v is not of type config.Errors", name, err)
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not contain %q", name, err, part)
			}
		}
	}
}

// A source that can be read only once can be mapped. Its axes must be in the column's unit; if the
// masks do not contain the parameter, the error is about the axis. No point is recommended, because
// none can be tried as a run.
func TestMapOfAPipe(t *testing.T) {
	piped := func(vary bool) (*rumap.Map, error) {
		p, err := tryMapped(t, t.TempDir(), `source: {csv: {path: "-"}}`, "columns: {income: {role: sensitive, decimals: 1}}",
			"masks: [{noise: {columns: [income], sd: 20}}]",
			"gate: {rules: [{column: income, target: max, knowledge: index, max_risk: 1}]}",
			"map: {vary: {masks.0.noise.sd: {from: 10, to: 40, steps: 3}}}")
		if err != nil {
			return nil, err
		}
		if !vary {
			p.Map = nil // the program chooses the axis
		}
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer func(before *os.File) { os.Stdin = before }(os.Stdin)
		os.Stdin = in
		_, err = out.WriteString("id,income\n1,100.5\n2,200.5\n3,350.0\n4,90.5\n5,500.0\n") // the capacity of a pipe
		if err := errors.Join(err, out.Close()); err != nil {
			t.Fatal(err)
		}
		return Map(context.Background(), p, pipeline.Options{})
	}
	m, err := piped(true)
	if err != nil {
		t.Fatal(err)
	}
	if m.Recommended != nil || !strings.Contains(m.Reason, "only once") ||
		!strings.Contains(m.Reason, "would try noise.sd 10 first") || len(m.Points) != 3 {
		t.Errorf("%d points, recommended %+v: %s", len(m.Points), m.Recommended, m.Reason)
	}
	wrong := (config.Errors)(nil)
	if _, err := piped(false); !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), "map: masks.0.noise.sd varies over percentages") {
		t.Errorf("axes in percent: error %v", err)
	}
}

// A strategy with masks that do not fit the values of its columns ends the map before anything is
// read. The error names the strategy and its place in the configuration.
func TestStrategiesThatDoNotFitTheValues(t *testing.T) {
	const strategies = `map: {column: income, vary: {masks.0.noise.sd: {from: 2%, to: 42%}}, strategies: [{name: fits, masks: [{noise: {columns: [income], sd: 5%}}]}, {name: wrong, masks: [{noise: {columns: [income], sd: 5%}}, {truncate: {columns: [income], lower: 0.01, upper: 0.04}}]}]}`
	_, err := Map(context.Background(), mapped(t, t.TempDir(), strategies), pipeline.Options{})
	if want := `map.strategies[1].masks[1].truncate: strategy "wrong": column "income" has no value between the bounds in its type and decimals (`; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "pipeline.yaml:") {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Records that cannot be masked are counted in a warning; without them there is no warning.
func TestMapWarnsOfRecordsThatCannotBeMasked(t *testing.T) {
	for _, clean := range []bool{false, true} {
		dir := t.TempDir()
		p := mapped(t, dir)
		if clean {
			path := filepath.Join(dir, "in.csv")
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, bytes.Replace(text, []byte("NaN"), nil, 1), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		if _, err := Map(context.Background(), p, pipeline.Options{Log: zerolog.New(&log)}); err != nil {
			t.Fatal(err)
		}
		want := 1
		if clean {
			want = 0
		}
		if got := strings.Count(log.String(), "records could not be masked"); got != want || want == 1 &&
			!strings.Contains(log.String(), `"records":1,`) {
			t.Errorf("clean %v: the log is %s", clean, log.String())
		}
	}
}

// A column that only the intruder reads and a mask draws anew is masked in the replicates of a map too: they hold its
// codes.
func TestMapOfMasksOnTheIntrudersColumns(t *testing.T) {
	p := mapped(t, t.TempDir(),
		`columns: {income: {role: sensitive, unit: EUR, decimals: 1}, region: {role: key}, kind: {role: other}}`,
		`masks: [{microaggregate: {columns: [income], k: 5, share: 1}}, {pram: {columns: [region], categories: [south, north], keep: 0.8}}]`,
		`assess: {keys: [region], replicates: 20, targets: [p10, max]}`,
		`gate: {rules: [{column: income, min_efficiency: 0.5}]}`,
		`map: {column: income, vary: {masks.0.microaggregate.k: {from: 3, to: 6, steps: 2}}}`)
	m, err := Map(t.Context(), p, pipeline.Options{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Points) != 2 {
		t.Errorf("%d points, want 2", len(m.Points))
	}
}
