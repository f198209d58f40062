package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// mapped is a pipeline without its map section, which the test appends.
const mapped = `version: 1
key: {file: release.key}
source: {parquet: {path: in.parquet}}
columns:
  wage: {role: sensitive, decimals: 2}
  bonus: {role: sensitive}
  region: {role: key}
  age: {role: key}
masks:
  - bias: {columns: [wage], range: 0.05}
  - noise: {columns: [wage], sd: 35%, tiers: [{above: 10, variance_factor: 2}, {above: 1000, variance_factor: 3}]}
  - truncate: {columns: [wage], lower: 50, upper: 100}
  - round: {columns: [wage], decimals: 0}
sink: {parquet: {path: out.parquet}}
map:
`

func parseMap(t *testing.T, section string) *Pipeline {
	t.Helper()
	p, err := Parse("map.yaml", []byte(mapped+section), Options{LookupEnv: lookup})
	if err != nil {
		t.Fatalf("%s: %v", section, err)
	}
	return p
}

func TestValuesOfAxes(t *testing.T) {
	tests := []struct {
		axis     string
		relative bool
		want     []float64
	}{
		{"masks.1.noise.sd: {from: 5%, to: 25%, steps: 5}", true, []float64{0.05, 0.1, 0.15, 0.2, 0.25}},
		{"masks.1.noise.sd: {from: 0, to: 1, steps: 2}", false, []float64{0, 1}},
		{"masks.1.noise.sd: {from: 10, to: 1000, steps: 3, scale: log}", false, []float64{10, 100, 1000}},
		{"masks.1.noise.sd: {from: 0%, to: 100%, steps: 5, scale: variance}", true,
			[]float64{0, 0.5, math.Sqrt(0.5), math.Sqrt(0.75), 1}},
		{"masks.1.noise.sd: {from: 3, to: 5, steps: 3, scale: variance}", false, []float64{3, math.Sqrt(17), 5}},
		{"masks.2.truncate.lower: {from: -1, to: 1, steps: 3}", false, []float64{-1, 0, 1}},
		{"masks.3.round.decimals: {from: -2, to: 2}", false, []float64{-2, -1, 0, 1, 2}},
		{"masks.3.round.decimals: {from: -2, to: 2, steps: 3}", false, []float64{-2, 0, 2}},
		{"masks.3.round.decimals: {from: 1, to: 4, steps: 3, scale: log}", false, []float64{1, 2, 4}},
		{"masks.1.noise.sd: {from: 1e-300, to: 1e300, steps: 3, scale: variance}", false,
			[]float64{1e-300, 1e300 * math.Sqrt(0.5), 1e300}},
	}
	for _, test := range tests {
		strategies, err := parseMap(t, "  vary:\n    "+test.axis+"\n").MapStrategies()
		if err != nil {
			t.Errorf("%s: %v", test.axis, err)
			continue
		}
		a := strategies[0].Axes[0]
		near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Abs(y) }
		if a.Relative != test.relative || !slices.EqualFunc(a.Values, test.want, near) {
			t.Errorf("%s must give %v, got %v (relative: %v)", test.axis, test.want, a.Values, a.Relative)
		}
	}
	a := parseMap(t, "  vary: {masks.1.noise.sd: {from: 5%, to: 100%}}\n")
	strategies, err := a.MapStrategies()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range strategies[0].Axes[0].Values {
		// The short decimals, not sums: 0.15, not 0.15000000000000002.
		if want := float64(5*(i+1)) / 100; v != want {
			t.Errorf("point %d must be %v, got %v", i, want, v)
		}
	}
	if len(strategies[0].Axes[0].Values) != 20 {
		t.Errorf("there must be 20 points by default, got %d", len(strategies[0].Axes[0].Values))
	}
}

// A written value is read back as the same value, so the release is made with the parameter that was
// mapped.
func TestValuesAreReadBackAsTheyWere(t *testing.T) {
	for _, scale := range []string{Linear, Log, Variance} {
		for _, ends := range [][2]string{{"1%", "33.3%"}, {"0.017", "1234.5"}, {"7%", "700%"}, {"1e-9", "1e17"}} {
			section := fmt.Sprintf("  vary: {masks.1.noise.sd: {from: %s, to: %s, steps: 500, scale: %s}}\n", ends[0], ends[1],
				scale)
			p := parseMap(t, section)
			v, _ := p.variant(Configured)
			values := v.axes[0].values()
			if len(values) != 500 {
				t.Errorf("%s: %d points", section, len(values))
			}
			for _, value := range values {
				var back transform.Amount
				text := v.axes[0].written(value)
				if err := back.UnmarshalText([]byte(text)); err != nil || back.Value != value {
					t.Errorf("%s: %v is written as %s, which is %v", section, value, text, back.Value)
				}
			}
		}
	}
	// Another value, for example from a search, is written as a percentage with a relative error of
	// 1e-12.
	for _, value := range []float64{1. / 3, math.Pi / 10, 2. / 3 * 1e-4, 12.3456789012345678} {
		var back transform.Amount
		if err := back.UnmarshalText([]byte(percentage(value))); err != nil || math.Abs(back.Value-value) > 1e-12 {
			t.Errorf("%v is written as %s, which is %v", value, percentage(value), back.Value)
		}
	}
	for value, want := range map[float64]string{0.35: "35%", 0.1 + 0.2: "30%", 0: "0%", 1e-10: "1e-08%", 0.07: "7%",
		1: "100%", 0.125: "12.5%"} {
		if got := percentage(value); got != want {
			t.Errorf("%v must be written as %s, got %s", value, want, got)
		}
	}
}

func TestMapStrategies(t *testing.T) {
	p := parseMap(t, `  column: wage
  vary:
    masks[1].noise.sd: {from: 10%, to: 20%, steps: 2}
    masks.1.noise.tiers.1.variance_factor: {from: 1, to: 4, steps: 2, scale: log}
  strategies:
    - name: equal
      masks:
        - bias: {columns: [wage], phi: 0.01}
        - noise: {columns: [wage], sd: 5, distribution: laplace}
    - name: other kind
      masks:
        - noise: {columns: [wage], sd: 5}
        - round: {columns: [wage], base: 5}
    - name: swap
      masks: [{swap: {keys: [age], attribute: region, columns: [wage], rate: 0.1}}]
      vary: {masks.0.swap.rate: {from: 10%, to: 0.3, steps: 3}}
    - name: still
      masks: [{round: {columns: [wage], base: 5}}, {noise: {columns: [wage], sd: 5}}]
      vary: {}
`)
	strategies, err := p.MapStrategies()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range strategies {
		line := s.Name + " " + s.Path
		for _, a := range s.Axes {
			line += fmt.Sprintf(" %s %v %v %s", a.Path, a.Relative, a.Values, a.Scale)
		}
		got = append(got, line)
	}
	want := []string{
		"configured masks masks.1.noise.sd true [0.1 0.2] linear masks.1.noise.tiers.1.variance_factor false [1 4] log",
		"equal map.strategies[0].masks masks.1.noise.sd true [0.1 0.2] linear",
		"other kind map.strategies[1].masks",
		"swap map.strategies[2].masks masks.0.swap.rate false [0.1 0.2 0.3] linear",
		"still map.strategies[3].masks",
	}
	if !slices.Equal(got, want) {
		t.Errorf("must compare\n%s\ngot\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}

	masks, err := strategies[0].Masks([]float64{0.15, 3.5})
	if err != nil {
		t.Fatal(err)
	}
	n := masks[1].Params.(*transform.Noise)
	if *n.SD != (transform.Amount{Value: 0.15, Relative: true}) || *n.Tiers[1].VarianceFactor != 3.5 ||
		*n.Tiers[0].VarianceFactor != 2 || len(masks) != 4 {
		t.Errorf("values must be in their places, got %+v", n)
	}
	before := p.Masks[1].Params.(*transform.Noise)
	if before.SD.Value != 0.35 || *before.Tiers[1].VarianceFactor != 3 {
		t.Error("the pipeline's own masks must stay as they are")
	}
	equal, err := strategies[1].Masks([]float64{0.15})
	if n := equal[1].Params.(*transform.Noise); err != nil || !n.SD.Relative || n.SD.Value != 0.15 ||
		n.Distribution != "laplace" {
		t.Errorf("the strategy must keep the parameters that do not vary, got %+v, %v", n, err)
	}
	if still, err := strategies[4].Masks(nil); err != nil || !reflect.DeepEqual(still, p.Map.Strategies[3].Masks) {
		t.Errorf("a strategy without axes is its masks, got %v, %v", still, err)
	}
	if _, err := strategies[4].Masks([]float64{1}); err == nil ||
		!strings.Contains(err.Error(), "one value for each of 0 parameters, got 1 value") {
		t.Errorf("a value too many must be an error, got %v", err)
	}
}

func TestMasksRefuseImpossibleValues(t *testing.T) {
	p := parseMap(t, `  vary:
    masks.2.truncate.lower: {from: 0, to: 60}
    masks.3.round.decimals: {from: 0, to: 3}
    masks.1.noise.tiers.0.above: {from: 1, to: 999}
`)
	strategies, err := p.MapStrategies()
	if err != nil {
		t.Fatal(err)
	}
	place := strategies[0].Masks
	if masks, err := place([]float64{100, 1.6, 1}); err != nil || *masks[3].Params.(*transform.Round).Decimals != 2 {
		t.Errorf("a whole number must be rounded, got %v", err)
	}
	for _, test := range []struct {
		values []float64
		want   string
	}{
		{[]float64{101, 0, 1},
			`map.vary.masks.2.truncate.lower: makes the masks of "configured" impossible: masks[2].truncate.upper must be at least 101, which is lower, got 100 (map.yaml:17:29)`},
		{[]float64{math.NaN(), 0, 1}, `masks[2].truncate.lower must be a finite number`},
		{[]float64{0, 16, 1},
			`map.vary.masks.3.round.decimals: makes the masks of "configured" impossible: masks[3].round.decimals must be between -15 and 15, got 16`},
		{[]float64{0, 1e300, 1}, `masks[3].round.decimals must be between -15 and 15`},
		{[]float64{0, 0, 1000},
			`map.vary.masks.1.noise.tiers.0.above: makes the masks of "configured" impossible: masks[1].noise.tiers[1].above must be greater than 1000`},
	} {
		if _, err := place(test.values); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v must fail with\n%s\ngot\n%v", test.values, test.want, err)
		}
	}
}

func TestMapErrors(t *testing.T) {
	const swap = "{swap: {keys: [age], attribute: region, columns: [bonus], rate: 0.1}}"
	tests := []struct{ section, want string }{
		{"  vary: {masks.1.noise.sd: {from: 5%, to: 100}}\n",
			"map.vary.masks.1.noise.sd.to: must be written as from is, both as percentages or both as numbers, got 5% and 100 (map.yaml:16:43)"},
		{"  strategies: [{name: a, masks: [" + swap + "], vary: {masks.0.swap.rate: {from: 30%, to: 0.1}}}]\n",
			"masks.0.swap.rate.to: must be greater than from, which is 0.3, got 0.1"},
		{"  strategies: [{name: a, masks: [" + swap + "], vary: {masks.0.swap.rate: {from: 30%, to: 130%}}}]\n",
			"makes the masks of \"a\" impossible: map.strategies[0].masks[0].swap.rate must be between 0 and 1, got 1.3"},
		{"  vary: {masks.2.truncate.lower: {from: 1%, to: 5%}}\n",
			"must be a number, got 1%: masks.2.truncate.lower takes no percentage"},
		{"  columnn: wage\n  vary: {masks.1.noise.sd: {from: 1%, to: 5%}}\n",
			"map.columnn: is not a field here (did you mean \"column\"?) (map.yaml:16:3)"},
		{"  vary: {masks.1.noise.sd: {from: 50%, to: 5%}}\n", "must be greater than from, which is 50%, got 5%"},
		{"  vary: {masks.1.noise.sd: {from: -5%, to: 5%}}\n",
			`makes the masks of "configured" impossible: masks[1].noise.sd must be at least 0%, got -5%`},
		{"  vary: {masks.0.bias.phi: {from: 0.01, to: 0.02}}\n",
			`map.vary.masks.0.bias.phi: makes the masks of "configured" impossible: masks[0].bias must have phi or range, got both (map.yaml:16:28)`},
		{"  vary: {masks.2.truncate.lower: {from: 0, to: 101}}\n",
			"masks[2].truncate.upper must be at least 101, which is lower, got 100"},
		{"  vary: {masks.2.truncate.lower: {from: 0, to: 50}, masks.2.truncate.upper: {from: 49, to: 60}}\n",
			"must be at least 50, which is lower, got 49"},
		{
			"  strategies: [{name: a, masks: [{noise: {columns: [wage], sd: 1}}], vary: {masks.0.bias.phi: {from: 0, to: 1}}}]\n", "must name a parameter of the strategy's own masks, but masks.0 is noise, not bias (map.yaml:16:77)"},
		{
			"  strategies: [{name: a, masks: [{noise: {columns: [wage], sd: 1}}], vary: {masks.1.noise.sd: {from: 0, to: 1}}}]\n", "but there is 1 mask, and masks.1 is not among them"},
		{
			"  strategies: [{name: a, masks: [{noise: {columns: [wage], sd: 1}}], vary: {masks.0.noise.tiers.0.above: {from: 0, to: 1}}}]\n", "but masks.0.noise.tiers has 0 elements"},
		{"  column: age\n  vary: {masks.1.noise.sd: {from: 1, to: 2}}\n",
			`map.column: must be a column that is masked, got "age"; there are wage (map.yaml:16:11)`},
		{"  column: wages\n  vary: {masks.1.noise.sd: {from: 1, to: 2}}\n",
			`must be one of the listed columns, got "wages" (did you mean "wage"?)`},
		{
			"  column: bonus\n  strategies: [{name: a, masks: [" + swap +
				"]}, {name: b, masks: [{round: {columns: [wage], base: 1}}]}]\n",
			`must be masked by the configured masks or by every strategy, and neither they nor "b" mask "bonus"`},
		{"  strategies: [{name: a, masks: [{round: {columns: [bonus], base: 1}}]}]\n",
			"map.column: is required, since several columns are masked: wage, bonus (map.yaml:16:3)"},
		{"  search: true\n  strategies: [{name: a, masks: [" + swap + "]}]\n", "map.search: needs vary"},
		{"  by: [wage]\n  strategies: [{name: a, masks: [" + swap + "]}]\n",
			`map.by[0]: must not be the column that is mapped, got "wage"`},
		{"  vary: {masks.1.noise.sd: {from: 1, to: 2, steps: 1000}, masks.0.bias.range: {from: 0, to: 1, steps: 11}}\n",
			"map: must have at most 10000 points"},
		{
			"  vary: {masks.1.noise.sd: {from: 1, to: 2, steps: 100}, masks.0.bias.range: {from: 0, to: 1, steps: 100}}\n  strategies: [{name: a, masks: [" + swap + "]}]\n", "map: must have at most 10000 points"},
		{"  margin: .inf\n  vary: {masks.1.noise.sd: {from: 1, to: 2}}\n", "map.margin: must be a number"},
		{"  vary: 5\n", "map.vary: must be a mapping"},
	}
	for _, test := range tests {
		_, err := Parse("map.yaml", []byte(mapped+test.section), Options{LookupEnv: lookup})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%smust fail with\n%s\ngot\n%v", test.section, test.want, err)
		}
	}
}

// A map of several samples of the records cannot be a map of categories or groups, and is not
// searched along a rate.
func TestMapsOfSeveralSamples(t *testing.T) {
	const noise = "{noise: {columns: [wage], sd: 5}}"
	const two = "  strategies: [{name: a, masks: [{sample: {rate: 0.5}}, " + noise +
		"], vary: {}}, {name: b, masks: [{sample: {rate: 0.5}}, " + noise + "], vary: {}}"
	rates := "  strategies: [{name: a, masks: [{sample: {rate: 0.5}}, " + noise +
		"], vary: {masks.0.sample.rate: {from: 0.1, to: 1}}}]\n"
	for section, want := range map[string]string{
		rates:                   "",
		two + "]\n":             "",
		rates + "  by: [age]\n": "map.by: must not be given if the points have different samples",
		// the configured masks have none
		two + "]\n  by: [age]\n": "map.by: must not be given if the points have different samples",
		"  by: [age]\n  vary: {masks.1.noise.sd: {from: 5%, to: 9%}}\n": "",
		rates +
			"  search: true\n": `map.search: seeks the boundary along the first axis of "a", which must not be masks.0.sample.rate`,
		"  search: true\n  strategies: [{name: a, masks: [{sample: {rate: 0.5}}, " + noise +
			"], vary: {masks.1.noise.sd: {from: 1, to: 5}, masks.0.sample.rate: {from: 0.1, to: 1}}}]\n": "",
		strings.Replace(rates, "to: 1}", "to: 110%}",
			1): "masks[0].sample.rate must be a probability above 0 and at most 1, got 1.1",
		strings.Replace(rates, "from: 0.1", "from: 0",
			1): "masks[0].sample.rate must be a probability above 0 and at most 1, got 0",
	} {
		_, err := Parse("map.yaml", []byte(mapped+section), Options{LookupEnv: lookup})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%sgot %v, want %q", section, err, want)
		}
	}
	same,
		err := Parse("map.yaml",
		[]byte(strings.Replace(mapped, "masks:\n", "masks:\n  - sample: {rate: 0.5}\n", 1)+strings.Replace(two, "vary: {}",
			"vary: {masks.1.noise.sd: {from: 1, to: 2}}", 2)+"]\n  by: [age]\n"), Options{LookupEnv: lookup})
	if err != nil || len(same.Map.By) != 1 {
		t.Errorf("one sample everywhere: %v", err)
	}
}

func TestMapColumnIsFound(t *testing.T) {
	for section, want := range map[string]string{
		"  vary: {masks.1.noise.sd: {from: 1, to: 2}}\n":                            "wage",
		"  strategies: [{name: a, masks: [{round: {columns: [wage], base: 1}}]}]\n": "wage",
		// bonus may be text
		"  strategies: [{name: a, masks: [{swap: {keys: [age], attribute: region, columns: [bonus], rate: 0.1}}]}]\n":                  "wage",
		"  column: bonus\n  strategies: [{name: a, masks: [{swap: {keys: [age], attribute: region, columns: [bonus], rate: 0.1}}]}]\n": "bonus",
	} {
		if got := parseMap(t, section).Map.Column; got != want {
			t.Errorf("%s: the column must be %s, got %s", section, want, got)
		}
	}
}

// An axis that fits no mask makes the map fail, but not the run.
func TestIdleAxes(t *testing.T) {
	p := parseMap(t,
		"  vary: {masks.0.noise.sd: {from: 1, to: 2}}\n  strategies: [{name: a, masks: [{noise: {columns: [wage], sd: 1}}], vary: {}}]\n")
	const what = "must name a parameter of the configured masks or of a strategy without vary of its own, but masks.0 is bias, not noise"
	if len(p.Warnings) != 1 || p.Warnings[0] != "map.vary.masks.0.noise.sd "+what {
		t.Errorf("must warn, got %q", p.Warnings)
	}
	if _, err := p.MapStrategies(); err == nil || err.Error() != "map.vary.masks.0.noise.sd: "+what+" (map.yaml:16:28)" {
		t.Errorf("must be an error of the map, got %v", err)
	}
	p, err := Parse("p.yaml", []byte(base), Options{LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.MapStrategies(); p.Map != nil || err == nil || !strings.Contains(err.Error(), "map: must be given") {
		t.Errorf("without a section there is no map, got %v", err)
	}
}

// A pipeline without masks can still compare strategies.
func TestMapWithoutConfiguredMasks(t *testing.T) {
	text := strings.Replace(base, "masks:\n  - noise: {columns: [wage], sd: 35%}\n", "", 1)
	p,
		err := Parse("p.yaml", []byte(text+"map: {strategies: [{name: a, masks: [{round: {columns: [wage], base: 1}}]}]}\n"),
		Options{LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	if strategies, err := p.MapStrategies(); err != nil || len(strategies) != 1 || strategies[0].Name != "a" {
		t.Errorf("must compare a alone, got %v, %v", strategies, err)
	}
}

func TestSetReachesAxes(t *testing.T) {
	p, err := Parse("p.yaml", []byte(mapped+"  vary: {\"masks[1].noise.sd\": {from: 5%, to: 50%}}\n"),
		Options{LookupEnv: lookup,
			Set: []string{"map.vary.masks.1.noise.sd.steps=3", "map.vary.masks[1].noise.sd.to=15%",
				"map.vary.masks.0.bias.range.from=0", "map.vary.masks.0.bias.range.to=1"}})
	if err != nil {
		t.Fatal(err)
	}
	strategies, err := p.MapStrategies()
	if err != nil || len(strategies[0].Axes) != 2 ||
		!slices.Equal(strategies[0].Axes[0].Values, []float64{0.05, 0.1, 0.15}) {
		t.Errorf("settings must reach the axes, got %+v, %v", strategies, err)
	}
}

// A field that is not a single number is refused with a suitable message: a mapping of numbers, which
// belong together, or a field that is true or false.
func TestAxesThatAreNoNumbers(t *testing.T) {
	for path, want := range map[string]string{
		"masks.0.pram.matrix":              "those of masks.0.pram.matrix belong together",
		"masks.0.pram.matrix.a.b":          "those of masks.0.pram.matrix belong together",
		"masks.0.pram.frequencies.a":       "those of masks.0.pram.frequencies belong together",
		"masks.2.suppress.importance.age":  "those of masks.2.suppress.importance belong together",
		"masks.0.recode.map.a":             "those of masks.0.recode.map belong together",
		"masks.0.pram.invariant":           "masks.0.pram.invariant is true or false; give it in map.strategies",
		"masks.0.synthesise.method":        "masks.0.synthesise.method is text",
		"masks.0.sample.rate":              "",
		"masks.0.sample.rates.a":           "those of masks.0.sample.rates belong together",
		"masks.0.recode.level":             "",
		"masks.0.recode.breaks.1":          "",
		"masks.0.synthesise.leaf":          "",
		"masks.0.synthesise.held_out":      "",
		"masks.0.topcode.upper_percentile": "",
		"masks.0.suppress.max_share":       "",
		"masks.0.rankswap.p":               "",
		"masks.0.pram.keep":                "",
	} {
		if _, wrong := parseParameter(path); (want == "") != (wrong == "") || !strings.Contains(wrong, want) {
			t.Errorf("%s: %q, want %q", path, wrong, want)
		}
	}
}
